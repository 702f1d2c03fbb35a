"""A start for multi-hyperplane machines: tangent planes at the centres of each class.

The plane that touches ½‖x‖² at μ is μ·x − ½‖μ‖². Among such planes the highest at x belongs to the
nearest μ, so centres found by k-means in each class make a multi-hyperplane machine that is right
wherever the nearest centre is of the right class: GAMM's proof that hyperplanes can represent
anything, turned into a place to start from.

    W  = a (μ, −½‖μ‖²),     a  = 1 / median squared distance of a row to the nearest centre,
    t0 = 1/(λ η0),          η0 = step / mean ‖(x, 1)‖²,

so that the first SGD steps move a row's scores by some margins, and not by ‖x‖²/λ.

Scores come from the compiled loops and sums are made in a fixed order: a seed gives the same start
on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
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
    centres = [_centres(X[y == k], int(n_centres[k]), random) for k in range(n_classes)]
    owner = np.repeat(np.arange(n_classes, dtype=np.int32), [len(c) for c in centres])
    planes = _planes(np.concatenate(centres))
    scores = _native.Hyperplanes(planes, owner, 1.0).decision(_rows(X), n_classes, 1, False)
    squares = _squared_norms(X)
    distance = squares - 2 * scores.max(axis=1).astype(np.float64)
    norm = float(np.cumsum(squares)[-1] / len(squares))
    # Where most rows are alike they sit on their centres: the mean tells of the others.
    mean = float(np.cumsum(np.maximum(distance, 0))[-1] / len(distance))
    nearest = max(float(np.median(distance)), mean / 10, _SAME * norm, 1e-30)
    return Start((planes / np.float32(nearest)).astype(np.float32), owner, norm + 1.0)


def _centres(X: Any, n: int, random: np.random.RandomState) -> NDArray[np.float64]:
    """k-means: rows drawn by squared distance to those drawn before, then Lloyd's iterations."""
    if X.shape[0] == 0:
        return np.zeros((0, X.shape[1]))
    if n == 1:
        mean: NDArray[np.float64] = _sums(X, np.zeros(X.shape[0], dtype=np.int32)) / X.shape[0]
        return mean
    rows, squares = _rows(X), _squared_norms(X)
    drawn = [int(random.randint(X.shape[0]))]
    distance = np.full(X.shape[0], np.inf)
    while len(drawn) < n:
        plane = _native.Hyperplanes(_planes(_dense(X[drawn[-1:]])), np.zeros(1, np.int32), 1.0)
        score = plane.decision(rows, 1, 1, False)[:, 0].astype(np.float64)
        distance = np.minimum(distance, squares - 2 * score)
        total = np.cumsum(np.where(distance > _SAME * squares, distance, 0.0))
        if not total[-1] > 0:  # no more different rows
            break
        drawn.append(int(np.searchsorted(total, random.random_sample() * total[-1], "right")))
    centres = _dense(X[drawn])
    for _ in range(_ITERATIONS):
        planes = _native.Hyperplanes(_planes(centres), np.zeros(len(centres), np.int32), 1.0)
        present, nearest = np.unique(planes.winners(rows, 1, False), return_inverse=True)
        old, centres = centres, _sums(X, nearest) / np.bincount(nearest)[:, None]
        if len(present) == len(old) and np.array_equal(old, centres):
            break
    return centres


def _planes(centres: NDArray[np.float64]) -> NDArray[np.float32]:
    planes = np.concatenate([centres, -0.5 * _squared_norms(centres)[:, None]], axis=1)
    return np.ascontiguousarray(planes, dtype=np.float32)


def _sums(X: Any, group: NDArray[np.integer]) -> NDArray[np.float64]:
    """Of the rows of each group, in their order."""
    if sp.issparse(X):
        member = (np.ones(len(group)), group, np.arange(len(group) + 1))
        sums: NDArray[np.float64] = (sp.csr_matrix(member).T @ X.astype(np.float64)).toarray()
        return sums
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(group.max() + 1))
    return np.add.reduceat(X[order].astype(np.float64), first, axis=0)


def _squared_norms(X: Any) -> NDArray[np.float64]:
    """Added up from the first feature to the last."""
    if sp.issparse(X):
        squares = X.astype(np.float64)
        squares.data **= 2
        norms: NDArray[np.float64] = squares @ np.ones(X.shape[1])
        return norms
    out = np.zeros(len(X))
    size = max(1, (1 << 20) // max(1, X.shape[1]))
    for first in range(0, len(X) if X.shape[1] else 0, size):
        rows = slice(first, first + size)
        out[rows] = np.cumsum(X[rows].astype(np.float64) ** 2, axis=1)[:, -1]
    return out


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _rows(X: Any) -> _native.Rows:
    [(_, rows)] = Matrix(X).chunks()
    return rows
