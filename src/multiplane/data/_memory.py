"""Rows that Python has already: arrays, iterables, functions that make iterables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from multiplane._arrays import issparse
from multiplane.data._errors import DataError
from multiplane.data._examples import check_sparse
from multiplane.data._source import Block, Source, taken

_BLOCK_VALUES = 1 << 20  # of arrays, in one block


class ArraySource(Source):
    """Arrays, in blocks of neighbouring rows. Memory maps are read as they are asked for."""

    def __init__(
        self, X: Any, y: Any = None, sample_weight: Any = None, name: str = "arrays"
    ) -> None:
        self._all = _block((X, y, sample_weight), name)
        X = self._all.X
        self.name = name
        self.n_rows, self.n_features = X.shape
        values = X.nnz / max(1, X.shape[0]) if issparse(X) else X.shape[1]
        self._size = max(1, int(_BLOCK_VALUES / max(1.0, values)))
        self.n_blocks = -(-X.shape[0] // self._size)
        self.n_bytes = _n_bytes(X)

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        self.bytes_read = 0
        for number in range(self.n_blocks or 0) if order is None else order:
            block = taken(self._all, slice(number * self._size, (number + 1) * self._size))
            self.bytes_read += _n_bytes(block.X)
            yield block


class IterableSource(Source):
    """Blocks ``(X, y)`` or ``(X, y, sample_weight)`` from an iterable, or from what a function
    returns each time it is called. An iterator can be gone through once only."""

    def __init__(self, blocks: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._blocks = blocks
        self.name = getattr(blocks, "__name__", type(blocks).__name__)
        self.once = not callable(blocks) and iter(blocks) is blocks
        self._begun = False

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        if order is not None:
            raise ValueError(f"{self.name} can only be read in its own order")
        if self.once and self._begun:
            raise DataError(
                "an iterator can be gone through only once; pass a list, or a function that "
                "returns a new iterator"
            )
        self._begun = True
        for item in self._blocks() if callable(self._blocks) else self._blocks:
            if not isinstance(item, tuple) or not 1 <= len(item) <= 3:
                raise DataError(
                    f"{self.name}: a block must be a tuple (X, y) or (X, y, sample_weight), got "
                    f"{type(item).__name__}"
                )
            yield _block(item, self.name)


def _block(item: tuple[Any, ...], name: str) -> Block:
    for part in item:
        check_sparse(part)
    arrays = [
        part if part is None else part.tocsr() if issparse(part) else np.asanyarray(part)
        for part in item
    ]
    return Block(*arrays).checked(name)


def _n_bytes(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes if issparse(X) else X.nbytes)
