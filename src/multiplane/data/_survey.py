"""One look at all rows: how many features there are, and on which scale each of them lives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane._arrays import issparse
from multiplane.data._errors import DataError

Numbers = NDArray[np.float64]

SCALES = ("minmax", "standard", "maxabs")


class Survey:
    """What blocks of rows have in common, gathered one after the other.

    Features that no block has had yet are zero in all of its rows.
    """

    def __init__(self, names: list[str] | None = None) -> None:
        self.names = names  # of features, for errors
        self.n_rows, self.sparse, self.n_values = 0, True, 0
        self.low, self.high, self.mean, self.spread = (np.zeros(0) for _ in range(4))

    @property
    def n_features(self) -> int:
        return len(self.low)

    def add(self, X: Any) -> None:
        n = X.shape[0]
        if not n:
            return
        self._widen(X.shape[1])
        if issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values, width = (X.data if issparse(X) else X), X.shape[1]
        if not np.all(np.abs(values) <= _native.LARGEST):
            raise DataError(self._fault(X, values))
        low, high, mean, spread = _of_sparse(X) if issparse(X) else _of_dense(X)
        rest = self.n_features - width  # zeros, in these rows
        low, high, mean, spread = (np.append(a, np.zeros(rest)) for a in (low, high, mean, spread))
        first, total = self.n_rows == 0, self.n_rows + n
        self.low = low if first else np.minimum(self.low, low)
        self.high = high if first else np.maximum(self.high, high)
        # Chan, Golub and LeVeque: sums of squares about the mean, joined without cancellation.
        apart = mean - self.mean
        self.mean = self.mean + apart * (n / total)
        self.spread = self.spread + spread + apart**2 * (self.n_rows * n / total)
        self.n_rows, self.sparse = total, self.sparse and issparse(X)
        self.n_values += values.size

    def _fault(self, X: Any, values: Any) -> str:
        """Which value cannot be learnt from, and where it is."""
        bad = ~(np.abs(values) <= _native.LARGEST)
        if issparse(X):
            place = int(np.argmax(bad))
            row, column = np.searchsorted(X.indptr, place, "right") - 1, X.indices[place]
            value = values[place]
        else:
            row, column = np.argwhere(bad)[0]
            value = values[row, column]
        name = f" ({self.names[column]})" if self.names is not None else ""
        return f"row {self.n_rows + row}, column {column}{name}: {value} is not a feature's value"

    @property
    def fill(self) -> float:
        """Share of the values that are there; all of them in dense rows."""
        return self.n_values / max(1, self.n_rows * self.n_features)

    def _widen(self, n_features: int) -> None:
        more = n_features - self.n_features
        if more > 0:
            for name in ("low", "high", "mean", "spread"):
                setattr(self, name, np.append(getattr(self, name), np.zeros(more)))

    def scale(self, kind: str, shifted: bool) -> tuple[Numbers, Numbers]:
        """(shift, factor) of x ↦ (x − shift) · factor.

        "minmax": to [−1, 1]; "standard": to mean 0 and variance 1; "maxabs": to [−1, 1] by a factor
        alone. Rows that stay sparse are not `shifted`, so that "minmax" is "maxabs" for them. A
        feature that does not vary keeps its factor 1.
        """
        shift = np.zeros(self.n_features)
        if kind == "standard":
            size = np.sqrt(self.spread / max(1, self.n_rows))
            # What is left of a constant is the rounding of its mean.
            size[size <= 1e-12 * np.abs(self.mean)] = 0
            shift = self.mean if shifted else shift
        elif kind == "minmax" and shifted:
            shift, size = (self.low + self.high) / 2, (self.high - self.low) / 2
        else:
            size = np.maximum(np.abs(self.low), np.abs(self.high))
        factor = np.divide(1.0, size, out=np.ones_like(size), where=size > 0)
        return shift, np.minimum(factor, 1e20)  # times a value must stay in float32


def _of_dense(X: Any) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    wide = X.astype(np.float64)
    mean = wide.mean(axis=0)
    spread = ((wide - mean) ** 2).sum(axis=0)
    return wide.min(axis=0), wide.max(axis=0), mean, spread


def _of_sparse(X: Any) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    n, width = X.shape
    wide = X.data.astype(np.float64)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(low, X.indices, wide)
    np.maximum.at(high, X.indices, wide)
    count = np.bincount(X.indices, minlength=width)
    some_zero = count < n
    low[some_zero] = np.minimum(low[some_zero], 0)
    high[some_zero] = np.maximum(high[some_zero], 0)
    mean = np.bincount(X.indices, weights=wide, minlength=width) / n
    apart = (wide - mean[X.indices]) ** 2
    spread = np.bincount(X.indices, weights=apart, minlength=width) + (n - count) * mean**2
    return low, high, mean, spread
