"""Small files stay in memory after their first reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from multiplane.data._source import Block, Source

# Of arrays. What is larger is read anew in every pass, at the speed of the disk or of parsing.
_MOST_BYTES = 128 << 20
# Text takes more room than the numbers in it, but seldom four times as much.
_HOPELESS = 4 * _MOST_BYTES


def kept(source: Source) -> Source:
    """The same rows in the same order; later readings come from memory, if they fit into it."""
    hopeless = source.n_bytes is not None and source.n_bytes > _HOPELESS
    return source if hopeless or source.once or not source.dear else _Kept(source)


class _Kept(Source):
    def __init__(self, source: Source) -> None:
        self._source = source
        for name in (
            "name",
            "n_features",
            "n_rows",
            "n_blocks",
            "n_bytes",
            "feature_names",
            "identity",
        ):
            setattr(self, name, getattr(source, name))
        self._blocks: dict[int, tuple[Block, int]] | None = {}  # None: too large
        self._size = 0
        self._complete = False

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        self.bytes_read = 0
        if self._complete and self._blocks is not None:
            for number in range(len(self._blocks)) if order is None else order:
                block, size = self._blocks[number]
                self.bytes_read += size
                yield block
            return
        n_read = 0
        for n_read, block in enumerate(self._source.read(order), start=1):
            number = n_read - 1 if order is None else order[n_read - 1]
            self._keep(number, block, self._source.bytes_read - self.bytes_read)
            self.bytes_read = self._source.bytes_read
            self.feature_names = self._source.feature_names
            yield block
        whole = self.n_blocks if self.n_blocks is not None else n_read
        self._complete = self._blocks is not None and len(self._blocks) == whole

    def _keep(self, number: int, block: Block, size: int) -> None:
        if self._blocks is None or number in self._blocks:
            return
        self._size += _bytes(block)
        if self._size > _MOST_BYTES:
            self._blocks = None
        else:
            self._blocks[number] = block, size


def _bytes(block: Block) -> int:
    total = 0
    for array in block:
        for part in ("data", "indices", "indptr") if hasattr(array, "indptr") else (None,):
            own = array if part is None else getattr(array, part)
            total += own.nbytes if isinstance(own, np.ndarray) else 0
    return total
