"""Sparse rows without SciPy, whose import takes longer than most predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Csr:
    """Rows by their non-zeros, with the names of SciPy's CSR matrices."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    format: ClassVar[str] = "csr"
    ndim: ClassVar[int] = 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        return len(self.data)

    def tocsr(self) -> Self:
        return self

    def with_width(self, n_features: int) -> Self:
        """More columns, all zero; or fewer."""
        shape = (self.shape[0], n_features)
        if n_features >= self.shape[1]:
            return replace(self, shape=shape)
        kept = self.indices < n_features
        begin = np.concatenate([[0], np.cumsum(kept)])[self.indptr].astype(self.indptr.dtype)
        return replace(
            self, data=self.data[kept], indices=self.indices[kept], indptr=begin, shape=shape
        )

    def with_data(self, data: NDArray[Any]) -> Self:
        return replace(self, data=data)

    def toarray(self) -> NDArray[Any]:
        out = np.zeros(self.shape, dtype=self.dtype)
        out[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return out

    def to_scipy(self) -> Any:
        import scipy.sparse as sp

        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)
