"""The five data sets of the paper, standardised, as streams of blocks.

`repetition` is what a cell is measured on, `trial` what its parameters are chosen on: training rows
only, or, where data are generated, streams with seeds of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from multiplane.datasets import (
    load_covtype,
    load_letter,
    load_usps,
    stream_checkerboard,
    stream_waveform,
)

from ..protocol import some_rows

Block = tuple[Any, Any]
BLOCK = 50_000
TEST_ROWS, HELD_ROWS = 100_000, 50_000  # of generated data; the second at most, of others
SCALE_ROWS = 50_000  # of a stream, for its mean and standard deviation


class Rows:
    """Rows that are there, with a test set: repetitions are permutations of the training rows."""

    def __init__(self, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
        mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        deviation[deviation == 0] = 1

        def scale(rows: Any) -> Any:
            return ((rows - mean) / deviation).astype(np.float32)

        self.X, self.y, self.n_rows = scale(X), y, len(y)
        self.test = scale(X_test), y_test
        self.n_features, self.classes = X.shape[1], np.unique(y)

    def repetition(self, seed: int) -> tuple[Iterator[Block], Block]:
        order = np.random.RandomState(seed).permutation(self.n_rows)
        return self._blocks(order), self.test

    def trial(self, seed: int) -> tuple[Iterator[Block], Block]:
        order = np.random.RandomState(1_000 + seed).permutation(self.n_rows)
        held = order[: min(self.n_rows // 5, HELD_ROWS)]
        return self._blocks(order[len(held) :]), (self.X[held], self.y[held])

    def _blocks(self, order: Any) -> Iterator[Block]:
        for begin in range(0, len(order), BLOCK):
            rows = order[begin : begin + BLOCK]
            yield self.X[rows], self.y[rows]


class Generated:
    """A stream: repetitions are other seeds, for training and for test rows."""

    def __init__(self, stream: Callable[..., Iterator[Block]], n_rows: int, most: int) -> None:
        self.stream, self.most = stream, most or n_rows
        self.n_rows = min(n_rows, self.most)
        X, y = next(stream(block_size=1_000, random_state=0))
        self.n_features, self.classes = X.shape[1], np.unique(y)

    def repetition(self, seed: int) -> tuple[Iterator[Block], Block]:
        return self._scaled(seed, 10_000 + seed, TEST_ROWS)

    def trial(self, seed: int) -> tuple[Iterator[Block], Block]:
        return self._scaled(20_000 + seed, 30_000 + seed, HELD_ROWS)

    def _scaled(self, seed: int, test_seed: int, n_test: int) -> tuple[Iterator[Block], Block]:
        X, _ = next(self.stream(block_size=min(SCALE_ROWS, self.most), random_state=seed))
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        X, y = next(self.stream(block_size=min(n_test, self.most), random_state=test_seed))
        blocks = self.stream(n=self.n_rows, block_size=BLOCK, random_state=seed)
        return (
            (((rows - mean) / deviation, labels) for rows, labels in blocks),
            ((X - mean) / deviation, y),
        )


def _covertype() -> list[Any]:
    """One split for all repetitions, or a row could help to choose and be tested on."""
    X, y = load_covtype(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    return [X, y, X_test, y_test]


def _checkerboard(**arguments: Any) -> Iterator[Block]:
    return stream_checkerboard(4, 4, **arguments)


REAL = {
    "usps": lambda: load_usps(return_X_y=True),
    "letter": lambda: load_letter(return_X_y=True),
    "covertype": _covertype,
}
GENERATED: dict[str, tuple[Callable[..., Iterator[Block]], int]] = {
    "waveform": (stream_waveform, 2_000_000),
    "checkerboard": (_checkerboard, 10_000_000),
}


@lru_cache(maxsize=1)
def load(name: str, most: int) -> Rows | Generated:
    """A data set, or of its training and its test rows at most so many; 0: all."""
    if name in GENERATED:
        return Generated(*GENERATED[name], most)
    return Rows(*some_rows(tuple(REAL[name]()), most))
