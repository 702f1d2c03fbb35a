"""Bounds of [GAMM], with duplications, and its proof of representability: tangent machines.

The sharp regret bound is proved at the head of `_amm.py`.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from multiplane.theory import _common
from multiplane.theory._amm import regret_bound_pruned
from multiplane.theory._common import Floats, Ints, check_bound, check_risk, pairs, threshold

# --- bounds -------------------------------------------------------------------------------------


def regret_bound_gamm(
    T: int,
    alpha: float,
    prune_threshold: float | None,
    growth: float,
    growth_decay: float,
    *,
    version: Literal["printed", "sharp"] = "printed",
    prune_every: int | None = None,
    n_duplications: float | None = None,
) -> float:
    """As `regret_bound_pruned` when hyperplanes are also duplicated.

    Needs ‖x‖ ≤ 1, the constant feature included, and ``average=False``.

    Parameters
    ----------
    T, alpha, prune_threshold
        Steps, λ and c (None: no pruning).
    growth, growth_decay : float
        p and β: a step with a loss duplicates with probability p, then p ← βp.
    version : {"printed", "sharp"}
        "printed": with r = p/(1−β),
        (2+c)²(2+r)/λ + (2+c)²(2+r)²/(2Tλ) · (p(2β+3)/(1−β)² + ln T + 1).
        "sharp": with n duplications,
        [(√(2+n) + √2)²/2 · (ln T + 1)/T + (½ + √2) n + 2√2 c/k] / λ.
    prune_every : int
        k, for "sharp" with pruning.
    n_duplications : float
        n, for "sharp". Default: `expected_duplications`, which bounds the expected regret; the
        number of a run (``history_[-1]["duplicated"]``) bounds the regret of that run.

    Notes
    -----
    Both are loose: neither falls to zero as T grows. The printed one is not true in general. It
    counts p/(1−β) duplications, the sum of p βʲ; but p falls only when a duplication happens, so
    that after T losses there are about ln(1 + T p (1/β − 1)) / ln(1/β), and what they add to
    λ‖W‖² tends to 1/(2(1−β)), whatever p is. With c = 0, p = 0.01, β = 0.996, λ = 1.001 and the
    same unit row 80,000 times over, GAMM's regret is 24 where (15) promises 19.6. With the values
    used in practice, c = 50 and p = 0.2, it is far from being reached.

    References
    ----------
    [GAMM], Theorem 2, eq. (15). We do not have the appendix with its proof.

    Examples
    --------
    >>> round(regret_bound_gamm(1000, 0.1, 0.0, 0.2, 0.9), 1)
    193.3
    >>> regret_bound_gamm(1000, 0.1, 1.0, 0.0, 0.9, version="sharp", prune_every=50) == (
    ...     regret_bound_pruned(1000, 0.1, 1.0, 50, version="sharp"))
    True
    """
    check_bound(version, ("printed", "sharp"), T, alpha)
    c, p, beta = threshold(prune_threshold), growth, growth_decay
    if version == "printed":
        if not (0 <= p <= 1 and 0 < beta < 1):
            raise ValueError(f"needed 0 ≤ growth ≤ 1 and 0 < growth_decay < 1, got {p} and {beta}")
        a = (2 + c) ** 2
        r = 2 + p / (1 - beta)
        early = p * (2 * beta + 3) / (1 - beta) ** 2
        return a * r / alpha + a * r**2 / (2 * T * alpha) * (early + math.log(T) + 1)
    if c > 0 and prune_every is None:
        raise ValueError("the sharp bound with pruning needs prune_every, got None")
    n = expected_duplications(T, p, beta) if n_duplications is None else n_duplications
    pruned = regret_bound_pruned(T, alpha, c, prune_every or 1, version="sharp")
    # What n duplications add; (√(2+n) + √2)²/2 is 4, the factor in `pruned`, at n = 0.
    steeper = (math.sqrt(2 + n) + math.sqrt(2)) ** 2 / 2 - 4 if n else 0.0
    grown = steeper * (math.log(T) + 1) / T + (0.5 + math.sqrt(2)) * n
    return float(pruned + grown / alpha)


def expected_duplications(T: int, growth: float, growth_decay: float) -> float:
    """An upper bound on the expected number of duplications in T steps.

    ln(1 + T p (1/β − 1)) / ln(1/β). Every duplication multiplies β⁻ᴺ by 1/β and happens with a
    probability of at most p βᴺ, so E[β⁻ᴺ] ≤ 1 + T p (1/β − 1); the rest is Jensen's inequality.
    If every step has a loss it is nearly attained. For β = 1 it is T p.

    Examples
    --------
    >>> round(expected_duplications(15 * 15_000, 0.2, 0.99))
    609
    """
    p, beta = growth, growth_decay
    if not (0 <= p <= 1 and 0 < beta <= 1 and T >= 0):
        raise ValueError(
            f"needed T ≥ 0, 0 ≤ growth ≤ 1 and 0 < growth_decay ≤ 1, got {T}, {p} and {beta}"
        )
    if beta == 1:
        return T * p
    return math.log1p(T * p * (1 / beta - 1)) / -math.log(beta)


def risk_bound_gamm(
    empirical_risk: float,
    n_samples: int,
    norm: float,
    counts: ArrayLike,
    delta: float = 0.05,
) -> float:
    """Upper bound on the error on unseen data of any model.

    With probability 1 − δ it is R_N + (4 + 4K‖W‖)/√N + (‖W‖ + 1) √(ln(1/δ)/(2N)) at most, where
    K = Σ_i b_i Σ_{j≠i} b_j. Needs ‖x‖ ≤ 1, the constant feature included.

    Parameters
    ----------
    empirical_risk : float
        R_N. Pass the mean hinge loss, ``objective(clf, X, y, alpha=0)``: see Notes.
    n_samples, norm, counts, delta
        As in `risk_bound_amm`; note that K is twice the K there.

    Notes
    -----
    The paper's R_N is the share of wrong predictions. That cannot be meant, as shrinking W changes
    no prediction and lowers the bound to R_N + 4/√N + √(ln(1/δ)/(2N)), however many hyperplanes
    there are: a `TangentMachine` that has memorised random labels would be right on new ones. A
    loss with a margin does not shrink along.

    References
    ----------
    [GAMM], Theorem 3, eq. (17).

    Examples
    --------
    >>> round(risk_bound_gamm(0.1, 10**6, 3.0, [2, 2]), 3)
    0.205
    """
    b = check_risk(n_samples, norm, counts, delta)
    root = math.sqrt(n_samples)
    deviation = math.sqrt(math.log(1 / delta) / 2) / root
    return float(empirical_risk + (4 + 4 * pairs(b) * norm) / root + (norm + 1) * deviation)


# --- tangent machines ---------------------------------------------------------------------------


class TangentMachine(ClassifierMixin, BaseEstimator):
    """A multi-hyperplane machine that classifies any consistent training set without an error.

    Every distinct training row x_i, in coordinates centred at the mean μ, gives the tangent to
    h(x) = ½‖x − μ‖² at it: w = x_i − μ, b = −w·μ − ½‖w‖², labelled by its class. A tangent
    touches a strictly convex function at one point and lies below it elsewhere, so at x_i no
    other is as high. It is the proof that multi-hyperplane machines can represent anything and the
    nearest-neighbour rule in disguise: h(x) less the tangent's height is ½‖x − x_i‖². It learns
    nothing; for that there are `AMMClassifier` and `GAMMClassifier`.

    A prediction costs n_hyperplanes × n_features, memory is the training data.

    Attributes
    ----------
    classes_ : labels, sorted
    coef_, intercept_ : hyperplanes, (n_hyperplanes, n_features) and (n_hyperplanes,)
    hyperplane_class_ : label of each hyperplane's class
    n_hyperplanes_ : number of distinct training rows
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    w·x + b is a difference of large numbers when rows lie close together: two rows 1e-8 apart in
    the unit cube have tangents that differ by less than float64 resolves. Predictions are
    therefore made from x − x_i directly, which is exact where it matters: it is zero for equal
    rows alone. ``coef_`` and ``intercept_`` are the same machine for use elsewhere, with the usual
    rounding.

    References
    ----------
    [GAMM], Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.arange(100) % 7
    >>> TangentMachine().fit(X, y).score(X, y)
    1.0
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """One tangent for each distinct row.

        Raises ValueError if two equal rows have different labels.
        """
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        _check_squares(X)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        contradicted = np.flatnonzero(codes != codes[first[group]])
        if len(contradicted):
            other = int(contradicted[0])
            one = int(first[group[other]])
            names = labels[[one, other]].tolist()
            raise ValueError(
                f"equal rows must have equal labels, but rows {one} and {other} are equal and "
                f"labelled {names[0]!r} and {names[1]!r}; remove one of them"
            )
        first = np.sort(first)  # hyperplanes in the order of the rows
        self._points: Floats = X[first]
        self._owner: Ints = codes[first].astype(np.int64)
        centre = self._points.mean(axis=0)
        self.coef_ = self._points - centre
        self.intercept_ = -self.coef_ @ centre - np.sum(self.coef_**2, axis=1) / 2
        self.hyperplane_class_ = self.classes_[self._owner]
        self.n_hyperplanes_ = len(first)
        return self

    def decision_function(self, X: Any) -> Floats:
        """How far the highest tangent of each class lies below h: −½‖x − x_i‖², at most 0.

        Shape (n_samples, n_classes), columns as in ``classes_``; for two classes (n_samples,):
        the second class's less the first's.
        """
        gaps = self._gaps(X)
        return gaps[:, 1] - gaps[:, 0] if len(self.classes_) == 2 else gaps

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, shape (n_samples,)."""
        gaps = self._gaps(X)
        labels: NDArray[Any] = self.classes_[gaps.argmax(axis=1)]
        return labels

    def _gaps(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        order = np.argsort(self._owner, kind="stable")
        points = self._points[order]
        starts = np.searchsorted(self._owner[order], np.arange(len(self.classes_)))
        gaps = np.empty((len(X), len(self.classes_)))
        size = max(1, _common.CHUNK // len(points))
        for k in range(0, len(X), size):
            squared = cdist(X[k : k + size], points, "sqeuclidean")  # of differences, not of dots
            gaps[k : k + size] = np.minimum.reduceat(squared, starts, axis=1) / -2
        return gaps


def tangent_machine(X: Any, y: ArrayLike) -> TangentMachine:
    """A fitted `TangentMachine`: no error on (X, y), whatever the labels.

    Examples
    --------
    >>> xor = tangent_machine([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> xor.predict([[0.1, 0.2], [0.9, 0.2]])
    array([0, 1])
    """
    return TangentMachine().fit(X, y)


def _check_squares(X: Floats) -> None:
    """Squares of differences must neither overflow nor vanish."""
    size = np.abs(X[X != 0])
    if len(size) and not (size.min() > 1e-140 and size.max() < 1e140):
        raise ValueError(
            f"values must be 0 or between 1e-140 and 1e140 in size for their squares to be exact "
            f"enough, got sizes from {size.min():g} to {size.max():g}; rescale the features"
        )
