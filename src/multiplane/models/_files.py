"""Model files as far as prediction needs them: no estimators, no scikit-learn.

What is in them is told in docs/model-files.md; how they lie on the disk, in `_container`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane.models import _container
from multiplane.models._container import Arrays, Document, ModelFileError, Source
from multiplane.models._steps import STEPS, width
from multiplane.models._tree import Kinds, decode, encode

_KEYS = {
    "format",
    "multiplane",
    "class",
    "parameters",
    "classes",
    "n_features",
    "feature_names",
    "scaler",
    "steps",
    "model",
    "probabilities",
    "dtype",
    "multilabel",
    "fitted",
    "training",
}


def family_of(dtype: Any) -> Any:
    """What is known of the models that go with a `dtype`: None but for least squares. Each family
    is imported where it is needed."""
    name = "_stream_kinds" if dtype is None else "_least_squares_kinds"
    return import_module(f"multiplane.models.{name}")


@dataclass(frozen=True)
class Fitted:
    """A fitted classifier, without how it was made: all that prediction needs."""

    classes: NDArray[Any]
    n_features: int
    feature_names: NDArray[Any] | None
    scaler: Any  # a Scaling, or None
    model: Any
    probabilities: Any = None  # a link or a projection; None: it knows none
    dtype: str | None = None  # of least squares: rows are converted to it
    multilabel: bool = False
    n_jobs: int | None = None
    steps: tuple[Any, ...] = ()  # scalers of scikit-learn's that come before all

    def __post_init__(self) -> None:
        """ValueError if the parts do not fit each other."""
        family = family_of(self.dtype)
        family.takes(self.model, self.n_features)
        k = family.n_outputs(self.model)
        if len(self.classes) != k:
            raise ValueError(f"there are {len(self.classes)} classes, and the model has {k}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(
                f"there are {len(self.feature_names)} names of {self.n_features} features"
            )
        if self.scaler is not None and len(self.scaler.shift) != self.n_features:
            raise ValueError(f"the scaler is for {len(self.scaler.shift)} features")
        for step in self.steps:
            if width(step) not in (None, self.n_features):
                raise ValueError(f"a scaler is for {width(step)} features")


def written(
    document: Document, fitted: Fitted, kinds: Kinds, more: dict[str, Any]
) -> tuple[Document, Arrays]:
    """A document with what prediction needs and with more, and the arrays that belong to it."""
    arrays: Arrays = {}
    values = {
        "classes": fitted.classes,
        "feature_names": fitted.feature_names,
        "scaler": fitted.scaler,
        "steps": fitted.steps,
        "model": fitted.model,
        "probabilities": fitted.probabilities,
        **more,
    }
    trees = {name: encode(value, name, arrays, kinds) for name, value in values.items()}
    facts = {
        "format": _container.FORMAT,
        "n_features": int(fitted.n_features),
        "dtype": fitted.dtype,
        "multilabel": fitted.multilabel,
    }
    return document | facts | trees, arrays


@contextmanager
def blaming(source: Source) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except RecursionError:
        raise ModelFileError(f"{_name(source)}: its document is nested too deeply") from None
    except ModelFileError as error:
        raise ModelFileError(f"{_name(source)}: {error}") from None


def _name(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "model"))


def read(source: Source) -> tuple[Document, Arrays]:
    document, arrays = _container.read(source)
    check_keys(document)
    return document, arrays


def check_keys(document: Document) -> None:
    if set(document) != _KEYS:
        odd = sorted(set(document) ^ _KEYS)
        raise ModelFileError(
            f"its document lacks, or does not know, {', '.join(map(str, odd[:5]))}"
        )


def fitted_of(document: Document, arrays: Arrays) -> Fitted:
    """What prediction needs, checked. Takes its arrays out of `arrays`."""
    family = family_of(document["dtype"])
    names = ("classes", "feature_names", "scaler", "steps", "model", "probabilities")
    found = {name: decode(document[name], arrays, family.KINDS) for name in names}
    _check_types(document, found, family)
    n_jobs = _at(document, "parameters", "dict", "n_jobs")
    try:
        return Fitted(
            n_features=document["n_features"],
            dtype=document["dtype"],
            multilabel=document["multilabel"],
            n_jobs=n_jobs if type(n_jobs) is int and n_jobs != 0 else None,
            **found,
        )
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _at(tree: Any, *keys: str) -> Any:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def load_fitted(source: Source) -> Fitted:
    with blaming(source):
        return fitted_of(*read(source))


def _check_types(document: Document, found: dict[str, Any], family: Any) -> None:
    def need(condition: bool, name: str, wanted: str) -> None:
        if not condition:
            raise ModelFileError(f"{name} must be {wanted}")

    kind_of = family.KINDS.name_of
    classes, names = found["classes"], found["feature_names"]
    need(isinstance(found["model"], family.MODELS), "model", "a model that goes with its dtype")
    need(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes", "labels in a row")
    need(bool(np.all(classes[1:] > classes[:-1])), "classes", "sorted, each of them once")
    named = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype.kind == "O"
    need(names is None or named, "feature_names", "strings, or null")
    scaler = found["scaler"]
    need(scaler is None or kind_of(scaler) == "Scaling", "scaler", "a Scaling, or null")
    steps = found["steps"]
    need(isinstance(steps, tuple) and all(isinstance(s, STEPS) for s in steps), "steps", "scalers")
    need(
        type(document["n_features"]) is int and document["n_features"] > 0, "n_features", "above 0"
    )
    need(isinstance(document["multilabel"], bool), "multilabel", "true or false")
    if document["dtype"] is None:
        need(found["probabilities"] is None, "probabilities", "null but for least squares")
        need(not document["multilabel"], "multilabel", "false but for least squares")
        return
    need(document["dtype"] in ("float32", "float64"), "dtype", "float32, float64 or null")
    by = found["probabilities"]
    known = kind_of(by) in ("Identity", "Softmax", "Logistic")
    projection = by in [family.KINDS.functions[n] for n in ("project_simplex", "project_cube")]
    need(known or projection, "probabilities", "a link or a projection")
