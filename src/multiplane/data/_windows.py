"""The rows of a source in a random order, as far as memory allows.

Blocks come in a random order where the source can give them so, and the rows of some neighbouring
ones, a *window*, are shuffled together. A file sorted by label is then mixed as long as some
windows hold a block of each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from multiplane.data._source import Block, Source, stack, taken
from multiplane.data._threads import prefetched


@dataclass(frozen=True)
class Window:
    """Rows to be learnt together, and how far the reading had come after them."""

    number: int  # in the present pass, from 0
    rows: Block
    bytes_read: int


def windows(
    source: Source, n_blocks: int, seed: tuple[int, ...] | None, first: int = 0
) -> Iterator[Window]:
    """Windows of so many blocks from the `first` on, made one ahead by another thread.

    A seed shuffles, and gives the same order each time; None leaves the rows where they are.
    """
    return prefetched(_windows(source, n_blocks, seed, first), 1)


def _windows(
    source: Source, n_blocks: int, seed: tuple[int, ...] | None, first: int
) -> Iterator[Window]:
    if source.n_blocks is not None:
        order = np.arange(source.n_blocks)
        if seed is not None:
            order = np.random.RandomState(seed).permutation(order)
        blocks = source.read(order[first * n_blocks :].tolist())
    else:
        blocks = islice(source.read(), first * n_blocks, None)
    number = first
    while some := list(islice(blocks, n_blocks)):
        filled = [block for block in some if block.n_rows]
        if filled:
            rows = stack(filled)
            if seed is not None:
                random = np.random.RandomState((*seed, number))
                rows = taken(rows, random.permutation(rows.n_rows))
            yield Window(number, rows, source.bytes_read)
        number += 1
