"""Fewer features: the directions in which rows vary most, found by subspace iteration.

Hyperplanes see nothing of rows but inner products, and an orthonormal basis keeps these, but for
what lies outside of it. From random directions Q, (k, d),

    Q ← orthonormal(C Q),     C = Σ (x − mean)(x − mean)ᵀ over some of the rows,

three times over come near enough to the first k principal components (Halko, Martinsson and Tropp,
"Finding structure with randomness", SIAM Review 2011). Inner products are those of the compiled
scorer and all else goes number by number, so that a seed gives the same basis on every machine,
which LAPACK's decompositions do not promise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Matrix

Floats = NDArray[np.float32]

_ROUNDS = 3
_ROWS = 2_048  # that are looked at
_NOTHING = 1e-5  # of a vector, is rounding


def leading(X: Floats, n: int, random: np.random.RandomState) -> tuple[Floats, float]:
    """At most n orthonormal directions, (n, d), and their share of the variance of the rows."""
    some = X[:: -(-len(X) // _ROWS)].astype(np.float64)
    some -= np.cumsum(some, axis=0)[-1] / len(some)
    # Sums of squares must stay in float32: by a power of two, which leaves the bits as they are.
    some = np.ldexp(some, -int(np.frexp(np.abs(some).max(initial=0))[1]))
    rows = some.astype(np.float32)  # (s, d)
    columns = np.ascontiguousarray(rows.T)
    variance = _sum_of_squares(rows)
    found = orthonormal((random.random_sample((n, X.shape[1])) - 0.5).astype(np.float32))
    for _ in range(_ROUNDS):
        found = orthonormal(products(products(found, rows), columns))  # Q Σ x xᵀ
    return found, _sum_of_squares(products(rows, found)) / variance if len(found) else 0.0


def products(A: Floats, B: Floats) -> Floats:
    """A Bᵀ, with the same bits everywhere; of rows that are hyperplanes without a constant."""
    if not len(A) or not len(B):
        return np.zeros((len(A), len(B)), dtype=np.float32)
    planes = np.append(B, np.zeros((len(B), 1), dtype=np.float32), axis=1)
    scorer = _native.Hyperplanes(planes, np.arange(len(B), dtype=np.int32), 1.0)
    [(_, rows)] = Matrix(A).chunks()
    return scorer.decision(rows, len(B))


def orthonormal(vectors: Floats) -> Floats:
    """One after the other, without what it shares with those before it (Gram and Schmidt, modified)
    and without those of which nothing is left."""
    left, before = vectors.copy(), _norms(vectors)
    kept = []
    for j in range(len(left)):
        norm = _norms(left[j : j + 1])[0]
        if norm > _NOTHING * before[j]:
            left[j] /= norm
            left[j + 1 :] -= products(left[j + 1 :], left[j : j + 1]) * left[j]
            kept.append(j)
    return left[kept]


def _norms(vectors: Floats) -> NDArray[np.float32]:
    squares = np.cumsum(vectors.astype(np.float64) ** 2, axis=1)[:, -1]
    return np.sqrt(squares).astype(np.float32)


def _sum_of_squares(numbers: Floats) -> float:
    return float(np.cumsum(numbers.astype(np.float64).ravel() ** 2)[-1])
