"""Rows that come in blocks, as often as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiplane._arrays import issparse
from multiplane._csr import Csr
from multiplane.data._errors import DataError
from multiplane.data._examples import widened


class Block(NamedTuple):
    """Some rows, dense or CSR; labels and weights where there are any."""

    X: Any  # (n, d)
    y: Any = None  # (n,), or an indicator matrix (n, n_labels)
    sample_weight: NDArray[Any] | None = None  # (n,)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def checked(self, name: str) -> Block:
        """This block, if its parts belong together."""
        if self.X.ndim != 2:
            raise DataError(f"{name}: X must have two dimensions, got {self.X.ndim}")
        for what, array in (("y", self.y), ("sample_weight", self.sample_weight)):
            if array is not None and array.shape[:1] != self.X.shape[:1]:
                raise DataError(
                    f"{name}: X has {self.n_rows} rows, but {what} has shape {array.shape}"
                )
        if issparse(self.X):  # SciPy would follow whatever it says
            check_structure(self.X, name)
        return self


def check_structure(X: Any, name: str) -> None:
    """DataError if a CSR matrix points outside of itself."""
    begin, indices = np.asarray(X.indptr), np.asarray(X.indices)
    sound = len(begin) == X.shape[0] + 1 and begin[0] == 0 and begin[-1] <= len(X.data)
    if not sound or np.any(np.diff(begin) < 0) or len(indices) != len(X.data):
        raise DataError(f"{name}: corrupt CSR matrix: its rows end before they begin")
    if len(indices) and (indices.min() < 0 or indices.max() >= X.shape[1]):
        raise DataError(f"{name}: corrupt CSR matrix: an index is not within 0 … {X.shape[1] - 1}")


class Source:
    """A re-iterable source of row blocks ``(X, y, sample_weight)``: the base of all readers.

    A subclass gives `read`, and says what it knows beforehand. Sparse blocks may be narrower than
    others: what lies beyond is zero.

    Attributes
    ----------
    name : str
        For messages: a file's name, usually.
    n_features, n_rows : int or None
        None: not known before the end.
    n_blocks : int or None
        Blocks that can be read in any order; None: they come in their own order only.
    n_bytes : int or None
        Of all files together.
    bytes_read : int
        Of them, how many the blocks given so far in the present reading came from.
    feature_names : list of str or None
    once : bool
        Whether it can be read only once, as a pipe can.
    dear : bool
        Whether reading takes work that is worth saving: unpacking, parsing.
    identity : anything that JSON can say, or None
        By which it is seen whether two sources are the same files, read in the same way.
    """

    name: str = "rows"
    n_features: int | None = None
    n_rows: int | None = None
    n_blocks: int | None = None
    n_bytes: int | None = None
    bytes_read: int = 0
    feature_names: list[str] | None = None
    once: bool = False
    dear: bool = False
    identity: Any = None

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        """All blocks, or those of these numbers in this order; some may have no rows."""
        for block in self._light(order):
            yield block._replace(X=block.X.to_scipy()) if isinstance(block.X, Csr) else block

    def _light(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        """The same, but sparse rows may be a `Csr`: for those who can do without SciPy. A subclass
        gives either this one or `read`."""
        return self.read(order)

    def __iter__(self) -> Iterator[Block]:
        return (block for block in self.read() if block.n_rows)

    def load(self) -> Block:
        """All rows in one block."""
        blocks = list(self)
        if not blocks:
            raise DataError(f"{self.name}: there are no rows")
        return stack(blocks)


def stack(blocks: Sequence[Block]) -> Block:
    """One block of several."""
    if len(blocks) == 1:
        return blocks[0]
    X = _stack([block.X for block in blocks])
    labelled = [block.y for block in blocks if block.y is not None]
    if len(labelled) not in (0, len(blocks)):
        raise DataError("some blocks have labels and others have not")
    y = _stack(labelled) if labelled else None
    if all(block.sample_weight is None for block in blocks):
        return Block(X, y)
    weights = [
        np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight
        for block in blocks
    ]
    return Block(X, y, np.concatenate(weights))


def _stack(parts: list[Any]) -> Any:
    if not any(issparse(part) for part in parts):
        kinds = {(part.shape[1:], part.dtype.kind in "USO") for part in parts}
        if len(kinds) > 1:
            found = sorted({f"{part.dtype} {part.shape[1:]}" for part in parts})
            raise DataError(f"blocks do not go together: rows of {' and '.join(found)}")
        return np.concatenate(parts)
    import scipy.sparse as sp

    width = max(part.shape[1] for part in parts)
    parts = [part if issparse(part) else sp.csr_matrix(part) for part in parts]
    return sp.vstack([widened(part, width) for part in parts], format="csr")


def taken(block: Block, rows: Any) -> Block:
    """Some rows of a block, in this order; a slice is not copied."""
    X, y, weight = block
    part = _slice(X, rows) if isinstance(rows, slice) and issparse(X) else X[rows]
    return Block(part, None if y is None else y[rows], None if weight is None else weight[rows])


def _slice(X: Any, rows: slice) -> Any:
    """Neighbouring rows of a CSR matrix as a view. SciPy copies, and does not survive it where
    memory ends."""
    import scipy.sparse as sp

    start, stop, _ = rows.indices(X.shape[0])
    begin = X.indptr[start : stop + 1]
    values = slice(begin[0], begin[-1])
    parts = (X.data[values], X.indices[values], begin - begin[0])
    part = sp.csr_matrix(parts, shape=(stop - start, X.shape[1]))
    part.has_canonical_format = X.has_canonical_format
    return part
