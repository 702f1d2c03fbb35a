"""Measured regret: a real training run beside the best fixed model in hindsight.

For [AMM] and [GAMM] alike, whose theorems have the same left side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from multiplane.estimators._hyperplanes import AMMClassifier
from multiplane.theory._common import Floats, Ints
from multiplane.theory._objectives import convex_objective


@dataclass(frozen=True)
class Trace:
    """A training run, row by row, with an identity for every hyperplane that ever lived."""

    rows: Floats  # (T, d + 1), as met, the constant feature last
    y: Ints  # (T,), class codes
    z: Ints  # (T,), the hyperplane of its class that a row was assigned to
    rival: Ints  # (T,), the hyperplane that a step pushed away; -1 where there was no loss
    objective: Floats  # (T,), P⁽ᵗ⁾(W⁽ᵗ⁾ | z)
    owner: Ints  # (m,), class codes
    copied: NDArray[np.bool_]  # (m,), born as a duplicate
    pruned_at: Ints  # (m,), the step after which it was pruned; 0 if it was not
    alpha: float
    reserve: bool


class Optimum(NamedTuple):
    """The best fixed model in hindsight, and between which values its objective lies."""

    W: Floats  # (m, d + 1)
    value: float  # of W, at least the minimum
    lower_bound: float  # of the dual problem, at most the minimum


def trace(clf: Any, X: ArrayLike, y: ArrayLike) -> Trace:
    """Train a fresh copy of a classifier on each row once, in order, and watch every step.

    The copy learns through `partial_fit`, a row at a time. Its weights before and after each row
    are read from ``coef_`` and ``intercept_``, and have to differ by one subgradient step
    ([AMM], eq. 11 and 13), a duplication and a pruning, or a RuntimeError is raised. Takes about
    a millisecond a row.

    Parameters
    ----------
    clf : PegasosClassifier, MMClassifier without pruning, AMMClassifier or GAMMClassifier
        With ``average=False``, without class weights and ball projection. Need not be fitted.
    X, y : arrays of shape (T, d) and (T,)
        For the theorems to apply, ‖x‖² + intercept_scaling² ≤ 1.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane import AMMClassifier
    >>> clf = AMMClassifier(alpha=0.1, average=False, fit_intercept=False)
    >>> run = trace(clf, np.eye(2), [0, 1])
    >>> run.z, run.objective.round(2), run.owner
    (array([0, 2]), array([ 1., 11.]), array([0, 1, 1]))
    """
    _check_traceable(clf)
    clf = clone(clf)
    X, labels = np.asarray(X, dtype=np.float32), np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    bias = float(clf.intercept_scaling) if clf.fit_intercept else 0.0
    rows = np.column_stack([X, np.full(len(X), bias)]).astype(np.float64)
    watcher = _Watcher(float(clf.alpha), isinstance(clf, AMMClassifier))
    z, rival = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    values = np.empty(len(rows))
    for i, (x, code) in enumerate(zip(rows, codes.tolist(), strict=True)):
        clf.partial_fit(X[i : i + 1], labels[i : i + 1], classes=classes)
        constant = clf.intercept_ / bias if bias else clf.intercept_
        after = np.column_stack([clf.coef_, constant]).astype(np.float64)
        owner = np.searchsorted(classes, clf.hyperplane_class_)
        duplicated = clf.history_[-1]["duplicated"]
        z[i], rival[i], values[i] = watcher.step(x, code, after, owner, duplicated)
    return Trace(
        rows=rows,
        y=codes.astype(np.int64),
        z=z,
        rival=rival,
        objective=values,
        owner=np.asarray(watcher.owner, dtype=np.int64),
        copied=np.asarray(watcher.copied, dtype=bool),
        pruned_at=np.asarray(watcher.pruned_at, dtype=np.int64),
        alpha=watcher.lam,
        reserve=watcher.adaptive,
    )


def fixed_optimum(run: Trace, *, tol: float = 1e-3, max_iter: int = 1000) -> Optimum:
    """The model that would have been best for a run's rows and assignments, all known beforehand.

    Minimises 1/T Σₜ P⁽ᵗ⁾(W | z), a convex problem, through its dual: every row spreads a weight of
    1 over its possible losses (one a rival hyperplane, and no loss), and the weights of one
    row move from the smallest to the largest of them until the duality gap is small.

    Parameters
    ----------
    run : Trace
    tol : float, default=1e-3
        Stop at a gap of ``tol`` times the objective.
    max_iter : int, default=1000
        Passes; the gap is what it is after them.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane import PegasosClassifier
    >>> clf = PegasosClassifier(alpha=1.0, average=False, fit_intercept=False)
    >>> W, value, lower_bound = fixed_optimum(trace(clf, np.eye(2), [0, 1]))
    >>> W.round(2)[:, :2].tolist(), round(value, 2)
    ([[0.5, -0.5], [-0.5, 0.5]], 0.5)
    """
    X, z, n, m = run.rows, run.z, len(run.y), len(run.owner)
    squared = np.sum(X**2, axis=1)
    # Losses of a row, by column: with each of m rivals, with a zero hyperplane, none at all.
    allowed = np.ones((n, m + 2), dtype=bool)
    allowed[:, :m] = run.owner != run.y[:, None]
    allowed[:, m] = run.reserve
    A = np.zeros((n, m + 2))  # dual weights
    A[:, m + 1] = 1
    A[squared == 0, m + 1] = 0  # a row of zeros has a loss of 1, whatever W is
    W = np.zeros((m + 2, X.shape[1]))  # the last two stand for no hyperplane and stay zero
    gain = 1 / (run.alpha * n)
    best = Optimum(W[:m].copy(), 1.0, 0.0)  # the zero model: a loss of 1 everywhere
    for _ in range(max_iter):
        for i in np.flatnonzero(squared):
            s = W @ X[i]
            L = np.where(allowed[i], 1 + s - s[z[i]], -np.inf)  # (m + 2,)
            L[m + 1] = 0
            up, down = int(L.argmax()), int(np.where(A[i] > 0, L, np.inf).argmin())
            change = _feature(up, z[i], m) - _feature(down, z[i], m)  # of W, along x
            curvature = gain * squared[i] * (change @ change)
            if L[up] > L[down] and curvature > 0:
                step = min(float(A[i, down]), float(L[up] - L[down]) / curvature)
                A[i, up] += step
                A[i, down] -= step
                W += np.outer(gain * step * change, X[i])
        regulariser = run.alpha / 2 * float(np.sum(W**2))
        S = X @ W.T
        L = np.where(allowed, 1 + S - S[np.arange(n), z][:, None], -np.inf)
        L[:, m + 1] = 0
        value = regulariser + float(np.mean(L.max(axis=1)))
        lower = float(np.mean(1 - A[:, m + 1])) - regulariser
        if value < best.value:
            best = best._replace(W=W[:m].copy(), value=value)
        # At the optimum both are equal, but for rounding.
        best = best._replace(lower_bound=min(best.value, max(best.lower_bound, lower)))
        if best.value - best.lower_bound <= tol * best.value:
            break
    return best


def _feature(column: int, z: int, m: int) -> Floats:
    """Minus the gradient of a loss by the scores: +1 at z, −1 at the rival."""
    e = np.zeros(m + 2)
    if column <= m:
        e[z], e[column] = 1, -1
    e[m:] = 0
    return e


def measured_regret(run: Trace, W: ArrayLike | None = None) -> float:
    """1/T Σₜ P⁽ᵗ⁾(W⁽ᵗ⁾ | z) − 1/T Σₜ P⁽ᵗ⁾(W | z): the left side of the regret theorems.

    Parameters
    ----------
    run : Trace
        From `trace`.
    W : array of shape (m, d + 1), optional
        What to compare with: a weight for every identity of the run, ``run.owner``. The regret
        relative to any W is a lower bound on that relative to the minimiser W*, which the theorems
        speak of. Default: the dual bound of `fixed_optimum`, so that what is returned
        is never less than the regret relative to W*. If that is below a theorem's bound, the
        theorem holds for this run.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane import PegasosClassifier
    >>> from multiplane.theory import regret_bound_amm
    >>> clf = PegasosClassifier(alpha=0.5, average=False, fit_intercept=False)
    >>> regret = measured_regret(trace(clf, np.tile(np.eye(2), (50, 1)), [0, 1] * 50))
    >>> round(regret, 2), round(regret_bound_amm(100, 0.5), 2)
    (0.07, 0.9)
    """
    mean = float(np.mean(run.objective))
    if W is None:
        return mean - fixed_optimum(run).lower_bound
    W = np.asarray(W, dtype=np.float64)
    shape = (len(run.owner), run.rows.shape[1])
    if W.shape != shape:
        raise ValueError(f"W must have a row a hyperplane of the run, {shape}, got {W.shape}")
    return mean - convex_objective(
        W, run.rows, run.y, run.z, owner=run.owner, alpha=run.alpha, reserve=run.reserve
    )


class _Watcher:
    """Follows a learner in scaled space, U = λ(t−1)W, and knows its hyperplanes by identity."""

    def __init__(self, lam: float, adaptive: bool) -> None:
        self.lam, self.adaptive, self.t = lam, adaptive, 1
        self.owner: list[int] = []  # of every identity
        self.copied: list[bool] = []
        self.pruned_at: list[int] = []
        self.alive: list[int] = []  # identities of the rows of U
        self.U: Floats = np.zeros((0, 0))
        self.duplicated = 0

    def step(
        self, x: Floats, code: int, after: Floats, owner: Ints, duplicated: int
    ) -> tuple[int, int, float]:
        """Row x of a class was learnt and W is now `after`: (z, rival, P⁽ᵗ⁾(W⁽ᵗ⁾ | z))."""
        if self.t == 1:
            self.U = np.zeros((0, len(x)))
            for k in [] if self.adaptive else owner.tolist():  # owned from the start
                self._give_birth(k, np.zeros(len(x)))
        scale = 1 / (self.lam * (self.t - 1)) if self.t > 1 else 0.0
        right, right_score, rival, rival_score, rival_class = self._choose(x, code)
        loss = max(0.0, 1 + scale * (rival_score - right_score))
        value = self.lam / 2 * scale**2 * float(np.sum(self.U**2)) + loss
        if loss > 0 and np.any(x):  # eq. (13); the order of births is the learner's
            if right is None:
                right = self._give_birth(code, np.zeros(len(x)))
            elif duplicated > self.duplicated:
                self._give_birth(code, self.U[right], copy=True)
            if rival is None:
                rival = self._give_birth(rival_class, np.zeros(len(x)))
            self.U[right] += x
            self.U[rival] -= x
        else:
            rival = None
        z = self.alive[right] if right is not None else -1
        pushed = self.alive[rival] if rival is not None else -1
        self.duplicated = duplicated
        self._compare(self.lam * self.t * after, owner)
        self.t += 1
        return z, pushed, value

    def _choose(self, x: Floats, code: int) -> tuple[int | None, float, int | None, float, int]:
        """Right and rival, as rows of U, with their scores; None: a zero hyperplane."""
        scores, owner = self.U @ x, np.asarray([self.owner[i] for i in self.alive], dtype=np.int64)
        own, other = np.flatnonzero(owner == code), np.flatnonzero(owner != code)
        right = int(own[scores[own].argmax()]) if len(own) else None
        rival = int(other[scores[other].argmax()]) if len(other) else None
        # Without a rival the learner takes the first other class.
        rival_class = int(owner[rival]) if rival is not None else int(code == 0)
        if self.adaptive and right is not None and scores[right] <= 0:
            right = None
        if self.adaptive and rival is not None and scores[rival] < 0:
            rival = None
        right_score = float(scores[right]) if right is not None else 0.0
        rival_score = float(scores[rival]) if rival is not None else 0.0
        return right, right_score, rival, rival_score, rival_class

    def _give_birth(self, code: int, u: Floats, copy: bool = False) -> int:
        self.alive.append(len(self.owner))
        self.owner.append(code)
        self.copied.append(copy)
        self.pruned_at.append(0)
        self.U = np.concatenate([self.U, u[None]])
        return len(self.alive) - 1

    def _compare(self, seen: Floats, seen_owner: Ints) -> None:
        """Go on from what the learner has, once every row of it has been recognised."""
        owner = [self.owner[i] for i in self.alive]
        kept = _align(self.U, owner, seen, seen_owner, self.t)
        for lost in set(range(len(owner))) - set(kept):
            self.pruned_at[self.alive[lost]] = self.t
        self.alive, self.U = [self.alive[i] for i in kept], seen


def _align(U: Floats, owner: list[int], seen: Floats, seen_owner: Ints, t: int) -> list[int]:
    """Which rows of U are still there, in their order."""
    # The model is kept in float32: a few of its roundings relative to the largest weight.
    near = 1e-6 * (1 + np.abs(U).max(initial=0))
    kept: list[int] = []
    candidates = iter(range(len(U)))
    for row, code in zip(seen, seen_owner.tolist(), strict=True):
        for i in candidates:
            if owner[i] == code and np.abs(U[i] - row).max() <= near:
                kept.append(i)
                break
        else:
            raise RuntimeError(
                f"step {t} was not a subgradient step (AMM eq. 11, 13); in exact ties between "
                f"hyperplanes, which rounding decides, it can look so: perturb the rows"
            )
    return kept


def _check_traceable(clf: Any) -> None:
    name = type(clf).__name__
    if not hasattr(clf, "partial_fit") or not hasattr(clf, "average"):
        raise TypeError(f"trace needs one of the hyperplane classifiers, got {name}")
    if clf.average:
        raise ValueError(
            f"trace needs the published algorithm, got averaging; use {name}(average=False)"
        )
    if clf.class_weight is not None or getattr(clf, "ball_projection", False):
        raise ValueError("trace needs plain steps: class_weight=None, no ball_projection")
    if not isinstance(clf, AMMClassifier) and clf.prune_threshold is not None:
        raise ValueError(f"{name} has no zero hyperplanes: trace needs prune_threshold=None")
