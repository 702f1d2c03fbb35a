"""scikit-learn's scalers without scikit-learn: what a pipeline does to rows before the model.

The same arithmetic in the same types, so that a classifier behind one predicts the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multiplane._arrays import issparse
from multiplane.models._tree import NUMBER, Kind, of_dataclass

_FLOATS = (np.float64, np.float32, np.float16)


def _floats(X: Any) -> Any:
    """A copy, of floats: whole numbers become float64."""
    return X.astype(X.dtype if X.dtype in _FLOATS else np.float64)


def _scale_columns(X: Any, factor: Any) -> Any:
    X.data *= factor.take(X.indices, mode="clip")
    return X


@dataclass(frozen=True)
class Standardize:
    """StandardScaler: (x − mean) / scale."""

    mean: Any  # (d,) or None; so are the next two
    scale: Any
    variance: Any
    n_seen: Any  # a number, or one for each column
    with_mean: bool
    with_std: bool

    def __call__(self, X: Any) -> Any:
        X = _floats(X)
        if issparse(X):
            if self.with_mean:
                raise ValueError("sparse rows cannot be centred; pass X.toarray()")
            return X if self.scale is None else _scale_columns(X, 1 / self.scale)
        if self.with_mean:
            X -= self.mean.astype(X.dtype)
        if self.with_std:
            X /= self.scale.astype(X.dtype)
        return X


@dataclass(frozen=True)
class DivideByLargest:
    """MaxAbsScaler: x / the greatest |x| of each column."""

    scale: Any  # (d,)
    largest: Any  # (d,): scale, but 0 where that is 1 for want of anything else
    n_seen: int

    def __call__(self, X: Any) -> Any:
        X = _floats(X)
        if issparse(X):
            return _scale_columns(X, 1.0 / self.scale)
        X /= self.scale
        return X


@dataclass(frozen=True)
class Normalize:
    """Normalizer: rows of length 1."""

    norm: str  # "l1", "l2" or "max"

    def __call__(self, X: Any) -> Any:
        X = _floats(X)
        if issparse(X):
            return self._sparse(X)
        if self.norm == "l2":
            norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        else:
            size = np.abs(X)
            norms = size.sum(axis=1) if self.norm == "l1" else size.max(axis=1)
        norms[norms < 10 * np.finfo(norms.dtype).eps] = 1.0
        X /= norms[:, None]
        return X

    def _sparse(self, X: Any) -> Any:
        size = X.data * X.data if self.norm == "l2" else np.abs(X.data)
        lengths = np.diff(X.indptr)
        norms = np.zeros(len(lengths))
        for k in range(lengths.max(initial=0)):  # one entry of each row after the other
            rows = np.flatnonzero(lengths > k)
            entries = size[X.indptr[rows] + k]
            norms[rows] = (
                np.maximum(norms[rows], entries) if self.norm == "max" else norms[rows] + entries
            )
        norms = np.sqrt(norms) if self.norm == "l2" else norms
        norms[norms == 0] = 1.0
        X.data /= np.repeat(norms, lengths)
        return X


def _norm(value: Any) -> bool:
    """ "l1", "l2" or "max\""""
    return value in ("l1", "l2", "max")


def _check_standardize(step: Standardize) -> None:
    if (step.with_mean and step.mean is None) or (step.with_std and step.scale is None):
        raise ValueError("a scaler lacks what it scales by")
    given = [array for array in (step.mean, step.scale, step.variance) if array is not None]
    if any(array.ndim != 1 or array.dtype.kind != "f" for array in given):
        raise ValueError("a scaler needs one number for each column")
    if len({len(array) for array in given}) > 1:
        raise ValueError("a scaler is for several numbers of columns")
    if step.scale is not None and np.any(step.scale == 0):
        raise ValueError("a scaler divides by zero")


def _check_divide(step: DivideByLargest) -> None:
    if np.any(step.scale == 0):
        raise ValueError("a scaler divides by zero")


def width(step: Any) -> int | None:
    """How many columns a step takes; None: any."""
    for name in ("mean", "scale"):
        array = getattr(step, name, None)
        if array is not None:
            return len(array)
    return None


_MAYBE = (np.ndarray, type(None))
STEPS = (Standardize, DivideByLargest, Normalize)
STEP_KINDS: dict[str, Kind] = {
    "Standardize": of_dataclass(
        Standardize,
        _check_standardize,
        mean=_MAYBE,
        scale=_MAYBE,
        variance=_MAYBE,
        n_seen=(*NUMBER, np.ndarray),
        with_mean=bool,
        with_std=bool,
    ),
    "DivideByLargest": of_dataclass(
        DivideByLargest, _check_divide, scale="float d", largest="float d", n_seen=int
    ),
    "Normalize": of_dataclass(Normalize, norm=_norm),
}
