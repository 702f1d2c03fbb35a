"""Examples for the learners: a matrix of any kind, class codes and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane._arrays import issparse
from multiplane._csr import Csr

Index = NDArray[np.int64]

# Rows of a matrix that has to be converted are converted in chunks of about this size, so that
# no second copy of the data is ever held.
_CHUNK_BYTES = 8 << 20


class Matrix:
    """A dense or CSR matrix as rows of float32.

    C-contiguous float32 arrays and CSR matrices of float32 are used as they are. Other dense
    arrays are converted chunk by chunk as the rows are asked for; other CSR matrices get a
    float32 copy of their values.

    Raises ValueError, naming the place, for NaN, infinity, values too large for float32
    arithmetic and index arrays that point outside of the matrix. With `check_later` the values
    are looked at when a learner first meets the rows, which saves one trip through memory; the
    error then comes from `Examples.learn`.
    """

    def __init__(self, X: Any, check_later: bool = False) -> None:
        self.shape: tuple[int, int] = X.shape
        self.source = X  # as it came
        self._whole: _native.Rows | None = None
        self._dense: NDArray[Any] | None = None
        if issparse(X):
            self._whole = _csr(X)
        elif X.dtype == np.float32 and X.flags.c_contiguous:
            self._whole = _native.dense_rows(_readable(X))
        else:
            self._dense = X
        # Converted rows are numbered within their chunk: they are checked at once.
        self.checked = self._whole is None or not check_later
        if self.checked:
            for first, rows in self.chunks():
                rows.check_values(first)

    def chunks(self) -> Iterator[tuple[int, _native.Rows]]:
        """All rows in their order, as (number of the first row, rows)."""
        if self._whole is not None:
            yield 0, self._whole
            return
        size = self.chunk_size
        for first in range(0, self.shape[0], size):
            yield first, self._convert(slice(first, first + size))

    def largest(self) -> float:
        """Greatest absolute value."""
        return max((rows.largest() for _, rows in self.chunks()), default=0.0)

    def largest_squared_norm(self) -> float:
        """Of the rows."""
        return max((rows.largest_squared_norm() for _, rows in self.chunks()), default=0.0)

    def moments(self, order: Index, start: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
        """Sums of the values in the rows `order` and of their squares, added to `start` one by
        one: the same bits whether the rows come in one matrix or in several."""
        for first in range(0, len(order), self.chunk_size):
            rows, within = self.select(order[first : first + self.chunk_size])
            start = rows.moments(within, *start)
        return start

    @property
    def chunk_size(self) -> int:
        """The most rows to ask for at once."""
        if self._whole is not None:
            return max(1, self.shape[0])
        return max(1, _CHUNK_BYTES // (4 * max(1, self.shape[1])))

    def select(self, order: Index) -> tuple[_native.Rows, Index | None]:
        """Rows `order`: (rows, order) to be read through, or (just these rows, None)."""
        if self._whole is not None:
            return self._whole, order
        return self._convert(order), None

    def _convert(self, index: slice | Index) -> _native.Rows:
        assert self._dense is not None
        with np.errstate(over="ignore"):  # becomes infinity, which check_values reports
            rows = np.ascontiguousarray(self._dense[index], dtype=np.float32)
        return _native.dense_rows(_readable(rows))


def check_sparse(X: Any) -> None:
    """Refuse index arrays that point outside of a matrix before SciPy converts it: it would
    follow them. CSR matrices are not converted and are checked by `Matrix`."""
    if not issparse(X) or X.format == "csr":
        return
    if hasattr(X, "check_format"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"corrupt {X.format.upper()} matrix: {error}") from None
    elif X.format == "coo":
        for index, size in zip(X.coords, X.shape, strict=True):
            if len(index) and (index.min() < 0 or index.max() >= size):
                raise ValueError(f"corrupt COO matrix: an index is not within 0 … {size - 1}")


def widened(X: Any, n_features: int) -> Any:
    """A sparse matrix with so many columns at least: files in LIBSVM format end with the highest
    index that they use, and what is missing is zero."""
    if not issparse(X) or X.shape[1] >= n_features:
        return X
    if isinstance(X, Csr):
        return X.with_width(n_features)
    import scipy.sparse as sp

    X = sp.csr_matrix(X)
    X.check_format(full_check=True)  # against its own shape
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def filled(X: Any) -> Any:
    """CSR rows as an array; those that point outside of it are refused."""
    _csr(X)
    return X.toarray()


def _readable(a: NDArray[Any]) -> NDArray[Any]:
    # A view of a read-only memory map is fine to read, but must be aligned and in native order.
    return np.require(a, requirements=["C", "A"])


def _csr(X: Any) -> _native.Rows:
    with np.errstate(over="ignore"):  # as above
        values = _readable(X.data.astype(np.float32, copy=False))
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if len(indptr) != X.shape[0] + 1:
        raise ValueError(
            f"corrupt CSR matrix: {X.shape[0]} rows need an indptr of {X.shape[0] + 1} "
            f"entries, got {len(indptr)}"
        )
    rows = _native.csr_rows(values, _readable(indices), _readable(indptr), X.shape[1])
    if rows.canonical:
        return rows
    # Entries out of order or in parts: a tidy copy, so that they score like the dense row.
    tidy = X.copy()
    tidy.has_canonical_format = False  # the flag may be out of date
    tidy.has_sorted_indices = False
    tidy.sum_duplicates()
    return _csr(tidy)


@dataclass(frozen=True)
class Examples:
    """Rows with class codes and, if they are not all 1, weights; `subset`: who takes part."""

    X: Matrix
    y: NDArray[np.int32]
    weight: NDArray[np.float32] | None = None
    subset: Index | None = None

    def __len__(self) -> int:
        return len(self.y)

    def rows(self) -> Index:
        """Numbers of the rows that take part: a row of weight zero is as good as absent."""
        rows = np.arange(len(self.y)) if self.subset is None else self.subset
        if self.weight is not None:
            rows = rows[self.weight[rows] > 0]
        return rows.astype(np.int64, copy=False)

    def learn(
        self,
        learner: Any,
        order: Index,
        z: NDArray[np.int32] | None = None,
        obey: bool = False,
        so_far: tuple[float, float] = (0.0, 0.0),
    ) -> dict[str, Any]:
        """Let the learner see the rows `order`, once each; `so_far`: sums of losses and weights, to
        which those of these rows are added one by one."""
        rows, within = self.X.select(order)
        if within is not None:
            assigned = {} if z is None else {"z": z, "obey": obey}
            check = not self.X.checked
            counts: dict[str, Any] = learner.learn(
                rows,
                self.y,
                order=within,
                weight=self.weight,
                check=check,
                so_far=so_far,
                **assigned,
            )
            return counts
        weight = None if self.weight is None else self.weight[order]
        if z is None:
            counts = learner.learn(rows, self.y[order], weight=weight, so_far=so_far)
            return counts
        part = z[order]
        counts = learner.learn(rows, self.y[order], weight=weight, z=part, obey=obey, so_far=so_far)
        if not obey:
            z[order] = part
        return counts

    def assign(self, learner: _native.Learner, n_threads: int) -> NDArray[np.int32]:
        """Ids of the best hyperplane of its own class, for every row.

        Rows of a class for which its reserved zero hyperplane is the best share the id of that.
        """
        z = np.concatenate(
            [
                learner.assign(rows, self.y[first : first + rows.shape[0]], n_threads)
                for first, rows in self.X.chunks()
            ]
        )
        without = z < 0
        codes, position = np.unique(self.y[without], return_inverse=True)
        reserved = [learner.reserved_id(int(code)) for code in codes]
        z[without] = np.array(reserved, dtype=np.int32)[position]
        return z
