"""A start for multi-hyperplane machines: tangent planes at the centres of each class.

The plane that touches ½‖x‖² at μ is μ·x − ½‖μ‖². Among such planes the highest at x belongs to the
nearest μ, so centres found by k-means in each class make a multi-hyperplane machine that is right
wherever the nearest centre is of the right class: GAMM's proof that hyperplanes can represent
anything, turned into a place to start from.

    W  = a (μ, −½‖μ‖²),     a  = 1 / median squared distance of a row to the nearest centre,
    t0 = 1/(λ η0),          η0 = step / mean ‖(x, 1)‖²,

so that the first SGD steps move a row's scores by some margins, and not by ‖x‖²/λ.

Centres (native/centres.hpp) and scores come from the compiled loops, and sums are made in a fixed
order: a seed gives the same start on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Matrix

_ITERATIONS = 10  # of k-means
_LATEST = 2.0**53  # step
_SAME = 1e-6  # relative to its squared norm: a row nearer than that is no different row


@dataclass(frozen=True)
class Start:
    hyperplanes: NDArray[np.float32]  # (m, d + 1): W
    owner: NDArray[np.int32]  # (m,)
    squared_norm: float  # mean ‖(x, 1)‖²

    def begin(self, learner: _native.Learner, step: float) -> None:
        t0 = round(min(max(self.squared_norm / (step * learner.lam), 1.0), _LATEST))
        learner.start(_native.Hyperplanes(self.hyperplanes, self.owner, 1.0), t0)


def tangents(
    X: Any,
    y: NDArray[np.int32],
    n_classes: int,
    n_centres: NDArray[np.int64],
    random: np.random.RandomState,
) -> Start:
    """At most `n_centres[k]` hyperplanes of class k, from rows X, float32 and dense or CSR."""
    [(_, rows)] = Matrix(X).chunks()
    centres = [_centres(rows, y == k, int(n_centres[k]), random) for k in range(n_classes)]
    owner = np.repeat(np.arange(n_classes, dtype=np.int32), [len(c) for c in centres])
    planes = _planes(np.concatenate(centres))
    scores = _native.Hyperplanes(planes, owner, 1.0).decision(rows, n_classes, 1, False)
    squares = rows.squared_norms()
    distance = squares - 2 * scores.max(axis=1).astype(np.float64)
    norm = float(np.cumsum(squares)[-1] / len(squares))
    # Where most rows are alike they sit on their centres: the mean tells of the others.
    mean = float(np.cumsum(np.maximum(distance, 0))[-1] / len(distance))
    nearest = max(float(np.median(distance)), mean / 10, _SAME * norm, 1e-30)
    return Start((planes / np.float32(nearest)).astype(np.float32), owner, norm + 1.0)


def _centres(
    rows: _native.Rows, member: NDArray[np.bool_], n: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    """k-means within some of the rows."""
    members = np.flatnonzero(member)
    if len(members) == 0:
        return np.zeros((0, rows.shape[1]))
    first = int(random.randint(len(members)))
    return rows.centres(members, n, first, random.random_sample(n - 1), _ITERATIONS)


def _planes(centres: NDArray[np.float64]) -> NDArray[np.float32]:
    squares = np.cumsum(np.append(np.zeros((len(centres), 1)), centres**2, axis=1), axis=1)[:, -1:]
    return np.ascontiguousarray(np.concatenate([centres, -0.5 * squares], axis=1), dtype=np.float32)
