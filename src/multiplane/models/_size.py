"""How large a model is."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def n_numbers(classifier: Any) -> int:
    """Numbers that a fitted classifier of this library needs to predict with."""
    if hasattr(classifier, "coef_") and hasattr(classifier, "hyperplane_class_"):
        return int(classifier.coef_.size + classifier.intercept_.size)
    if hasattr(classifier, "support_vectors_"):
        return int(classifier.support_vectors_.size + classifier.dual_coef_.size)
    return _count(classifier._model)


def _count(thing: Any) -> int:
    """In arrays, wherever they are in a dataclass."""
    if hasattr(thing, "shape"):
        size = 1
        for length in thing.shape:
            size *= int(length)
        return size
    if is_dataclass(thing):
        return sum(_count(getattr(thing, field.name)) for field in fields(thing))
    return sum(_count(part) for part in thing) if isinstance(thing, tuple) else 0
