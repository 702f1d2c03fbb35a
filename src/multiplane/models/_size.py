"""How large a model is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any


def n_numbers(classifier: Any) -> int:
    """Numbers that a fitted classifier of this library needs to predict with."""
    return sum(prod(int(n) for n in array.shape) for array in _arrays_of(classifier))


def n_bytes(classifier: Any) -> int:
    """What these numbers take in memory."""
    return sum(
        prod(int(n) for n in array.shape) * int(array.dtype.itemsize)
        for array in _arrays_of(classifier)
    )


def _arrays_of(classifier: Any) -> Iterator[Any]:
    if hasattr(classifier, "coef_") and hasattr(classifier, "hyperplane_class_"):
        yield from (classifier.coef_, classifier.intercept_)
    elif hasattr(classifier, "support_vectors_"):
        yield from (classifier.support_vectors_, classifier.dual_coef_)
    else:
        yield from _arrays_in(classifier._model)


def _arrays_in(thing: Any) -> Iterator[Any]:
    """Wherever they are in a dataclass."""
    if hasattr(thing, "shape"):
        yield thing
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from _arrays_in(getattr(thing, field.name))
    elif isinstance(thing, tuple):
        for part in thing:
            yield from _arrays_in(part)
