"""How many rounds a pass over a few thousand rows needs, in several places (decision 15).

Test errors in %, mean of three seeds, by partitions: in as many rounds as with many rows (128, with
GAMM's sum 2048; a round has a row at least), in one for 16 rows, in one for 64, and on one machine.

    python -m experiments.decisions.few_rows
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier
from multiplane.data import Block
from multiplane.datasets import make_checkerboard, make_waveform
from multiplane.solvers._engine import Here, Part

SEEDS = range(3)


def problems() -> Iterator[tuple[str, Any, Any, int]]:
    """Name, rows, labels, and how many of them are to be learnt; the others test."""
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    yield "digits", (X[order] / 16).astype(np.float32), y[order], 1000
    yield "board", *make_checkerboard(2, 2, n=6000, random_state=0), 2000
    X, y = make_waveform(9000, random_state=1)
    yield "waveform", (X / 5).astype(np.float32), y, 4000


def main() -> None:
    print(f"{'':29s}   many    /16    /64   one machine")
    for name, X, y, n in problems():

        def error(fit: Any, X: Any = X, y: Any = y, n: int = n) -> float:
            return float(100 * (1 - fit.score(X[n:], y[n:])))

        for n_parts in (4, 8):
            cuts = [n * i // n_parts for i in range(n_parts + 1)]
            blocks = [Block(X[a:b], y[a:b], None) for a, b in pairwise(cuts)]
            for kind in (PegasosClassifier, AMMClassifier, GAMMClassifier):
                models = [clone(kind()).set_params(random_state=seed) for seed in SEEDS]
                many = 2048 if kind is GAMMClassifier else 128
                found = [
                    np.mean([error(clone(m)._fit_parts(engine(blocks), rounds=r)) for m in models])
                    for r in (many, n // 16, n // 64)
                ]
                found.append(np.mean([error(m.fit(X[:n], y[:n])) for m in models]))
                title = f"{name:9s} {n_parts} {kind.__name__:18s}"
                print(title + "".join(f" {value:6.2f}" for value in found), flush=True)


def engine(blocks: list[Block]) -> Here:
    return Here([Part(i, block) for i, block in enumerate(blocks)])


if __name__ == "__main__":
    main()
