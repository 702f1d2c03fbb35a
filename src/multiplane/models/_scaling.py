"""Features brought to a common scale: a part of a linear model that nobody sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane._arrays import issparse
from multiplane._csr import Csr
from multiplane.models._hyperplanes import HyperplaneModel

_CHUNK = 1 << 20  # numbers converted at once
_SQUARED_NORM = 4.0  # of a row, in the mean: beside the constant feature, which is 1
_LARGEST_FACTOR = 1e20  # times a weight must stay in float32
_CONSTANT = 1e-24  # times the mean's square: variance that is rounding


@dataclass(frozen=True)
class Scaling:
    """x ↦ (x − shift) · factor, feature by feature; sparse rows are never shifted."""

    shift: NDArray[np.float64]  # (d,)
    factor: NDArray[np.float64]  # (d,)

    @classmethod
    def learnt(cls, X: Any, rows: NDArray[np.int64], kind: str | None) -> Scaling:
        """From some rows; "standard": all features get one variance, "uniform": one factor."""
        if kind is None:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        mean, variance = _moments(X, rows)
        varies = variance > _CONSTANT * mean**2
        total = float(np.cumsum(np.append(0.0, variance[varies]))[-1])
        if total == 0:
            return cls(mean, np.ones(len(mean)))
        # A feature that has not varied yet may do so in the next rows.
        usual = total / np.count_nonzero(varies)
        if kind == "uniform":
            factor = min(np.sqrt(_SQUARED_NORM / total), _LARGEST_FACTOR)
            return cls(mean, np.full(len(mean), factor))
        variance = np.where(varies, variance, usual)
        factor = np.sqrt(_SQUARED_NORM / np.count_nonzero(varies) / variance)
        return cls(mean, np.minimum(factor, _LARGEST_FACTOR))

    def resized(self, n_features: int) -> Scaling:
        """For more features, which stay as they are, or for fewer."""
        more = max(0, n_features - len(self.shift))
        return Scaling(
            np.append(self.shift[:n_features], np.zeros(more)),
            np.append(self.factor[:n_features], np.ones(more)),
        )

    def fills(self, X: Any) -> bool:
        """Whether zeros of sparse rows become something else."""
        return bool(issparse(X) and self.shift.any())

    def __call__(self, X: Any) -> Any:
        """Rows of float32, dense and C-contiguous or CSR, as X is."""
        if issparse(X):
            values = (X.data * self.factor[X.indices]).astype(np.float32)
            if isinstance(X, Csr):
                return X.with_data(values)
            import scipy.sparse as sp

            return sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
        out = np.empty(X.shape, dtype=np.float32)
        for rows in _chunks(X.shape):
            out[rows] = (X[rows].astype(np.float64) - self.shift) * self.factor
        return out

    def of(self, learner: _native.Learner) -> HyperplaneModel:
        """The model of a learner that has seen scaled rows, for rows as they come."""
        scaled = HyperplaneModel.of(learner)
        coef, intercept = scaled.coef.copy(), scaled.intercept.copy()
        for i, row in enumerate(coef):  # one by one: they can be wide
            exact = row * self.factor
            intercept[i] -= np.cumsum(np.append(0.0, exact * self.shift))[-1]
            coef[i] = exact
        return HyperplaneModel.from_arrays(coef, intercept, scaled.owner, scaled.n_classes)


def _moments(X: Any, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of each feature; of sparse rows zeros and mean squares. Rows are added
    one after the other, so that every processor finds the same."""
    n_features = X.shape[1]
    if issparse(X):
        square = X[rows].astype(np.float64)
        square.data **= 2
        return np.zeros(n_features), np.ones(len(rows)) @ square / len(rows)

    def total(of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        out = np.zeros(n_features)
        for part in _chunks((len(rows), n_features)):
            out += of(X[rows[part]].astype(np.float64)).sum(axis=0)
        return out

    mean = total(lambda x: x) / len(rows)
    return mean, total(lambda x: (x - mean) ** 2) / len(rows)


def _chunks(shape: tuple[int, int]) -> list[slice]:
    size = max(1, _CHUNK // max(1, shape[1]))
    return [slice(first, first + size) for first in range(0, shape[0], size)]
