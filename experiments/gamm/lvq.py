"""LVQ2.1, a baseline: prototypes that are drawn to points of their class and driven from others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

Doubles = NDArray[np.float64]


class LVQ21(ClassifierMixin, BaseEstimator):
    """Learning vector quantization, version 2.1.

    The class of a point is that of the nearest prototype. In training, if of the two nearest ones,
    at distances r and s, just one is of the point's class, and the point lies near the middle,

        min(r/s, s/r) > (1 − window) / (1 + window),

    then that one moves towards the point by a share `rate` of the way, and the other one away from
    it. The rate falls linearly to 0. Prototypes start at the centres of k-means in each class.

    Parameters
    ----------
    n_prototypes : int
        A class.
    window : float
        From 0 to 1: the wider, the more points count.
    rate : float
        The first one.
    max_iter : int
        Passes. With many the rule drives prototypes away; it is meant for few.
    random_state : int
        Of k-means and of the order of the rows.

    References
    ----------
    T. Kohonen, Learning vector quantization, in The handbook of brain theory and neural networks,
    MIT Press, 1995.
    """

    def __init__(
        self,
        n_prototypes: int = 20,
        window: float = 0.2,
        rate: float = 0.05,
        max_iter: int = 5,
        random_state: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.window = window
        self.rate = rate
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> LVQ21:
        points: Doubles = np.asarray(X, dtype=np.float64)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        starts = [self._centres(points[codes == code]) for code in range(len(self.classes_))]
        self.prototypes_ = np.concatenate(starts)  # (m, d)
        self.owner_ = np.repeat(np.arange(len(starts)), [len(each) for each in starts])
        rng, n_steps = check_random_state(self.random_state), self.max_iter * len(points)
        order = np.concatenate([rng.permutation(len(points)) for _ in range(self.max_iter)])
        for t, i in enumerate(order):
            rate = self.rate * (1 - t / n_steps)
            step(self.prototypes_, self.owner_, points[i], codes[i], rate, self.window)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        points: Doubles = np.asarray(X, dtype=np.float64)
        # |x − p|² less |x|², which is the same for all prototypes.
        scores = points @ self.prototypes_.T - (self.prototypes_**2).sum(axis=1) / 2
        nearest: NDArray[Any] = self.classes_[self.owner_[scores.argmax(axis=1)]]
        return nearest

    def _centres(self, points: Doubles) -> Doubles:
        size = min(self.n_prototypes, len(points))
        means = KMeans(size, n_init=1, random_state=self.random_state).fit(points)
        centres: Doubles = means.cluster_centers_
        return centres


def step(
    prototypes: Doubles, owner: NDArray[Any], x: Doubles, code: int, rate: float, window: float
) -> None:
    """Show one point of class `code`; two prototypes move, or none."""
    gaps = x - prototypes  # (m, d)
    squares = np.einsum("ij,ij->i", gaps, gaps)
    first, second = np.argpartition(squares, 1)[:2]
    if (owner[first] == code) == (owner[second] == code):
        return
    if squares[first] <= ((1 - window) / (1 + window)) ** 2 * squares[second]:
        return
    right, wrong = (first, second) if owner[first] == code else (second, first)
    prototypes[right] += rate * gaps[right]
    prototypes[wrong] -= rate * gaps[wrong]
