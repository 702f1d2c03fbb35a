"""What the papers prove, as functions: objectives, regret and risk bounds, tangent machines.

A. *Objectives.* P(W) and its convex upper bound P(W | z), of a fitted classifier or of arrays, in
   float64 and chunk by chunk: a witness that shares no code with the solvers.
B. *Bounds.* Each is computed as its theorem prints it. Where the printed statement and its proof
   part ways, the docstring says so, and ``version="sharp"`` is what we can prove.
C. *Measured regret.* A real training run, row by row through `partial_fit`, beside the best
   fixed model in hindsight.
D. *Tangent machines.* The construction that proves that every consistent training set can be
   represented, as a classifier.

[AMM] is Wang, Djuric, Crammer and Vucetic, "Trading representability for scalability", KDD 2011;
[GAMM] is Djuric, Wang and Vucetic, "Growing Adaptive Multi-Hyperplane Machines", ICML 2020.

The sharp regret bounds, in one argument
----------------------------------------
Write U = λ(t−1) W. A step adds x to one row of U and −x to another, so with ‖x‖ ≤ 1 the loss has
subgradients of norm ≤ √2, every row of U has norm ≤ t − 1 and, without duplications,
λ‖W⁽ᵗ⁾‖ ≤ √2; removing rows only lowers that. The minimiser has λ‖W*‖ ≤ √2 too. With the steps
1/(λt) and λ-strong convexity the distances to W* telescope ([AMM], eq. 16–17) and leave

    Σₜ P⁽ᵗ⁾(W⁽ᵗ⁾) − P⁽ᵗ⁾(W*)  ≤  Σₜ G²/(2λt) + Σ_prunings λt ‖Δ‖ ‖W*‖
                                  + Σ_duplications λt (‖D‖²/2 + ‖D‖ ‖W*‖),

G = max λ‖W⁽ᵗ⁾‖ + √2. The rows Δ that a pruning removes are rows of W: Δ·W = ‖Δ‖², so the distance
to W* grows by 2Δ·W* − ‖Δ‖² at most, and not by the far larger 2‖Δ‖ ‖W − W*‖ of the paper. A copy D
lies where W was zero. Nothing here asks z to be chosen beforehand: the bounds hold for online
training, z being what it chose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from multiplane.estimators import AMMClassifier

__all__ = [
    "Optimum",
    "TangentMachine",
    "Trace",
    "assignments",
    "convex_objective",
    "expected_duplications",
    "fixed_optimum",
    "hyperplane_counts",
    "measured_regret",
    "objective",
    "regret_bound_amm",
    "regret_bound_gamm",
    "regret_bound_pruned",
    "risk_bound_amm",
    "risk_bound_gamm",
    "tangent_machine",
    "trace",
    "weight_norm",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Scores and rows are held in float64 for about this many numbers at a time (32 MiB).
_CHUNK = 1 << 22


# --- A. objectives ------------------------------------------------------------------------------


def objective(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    alpha: float | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
    reserve: bool | None = None,
) -> float:
    """What a multi-hyperplane machine minimises.

    P(W) = λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − g(y, x)), where g(k, x) is the highest
    score among the hyperplanes of class k. Not convex as soon as a class has two hyperplanes.

    Parameters
    ----------
    model : fitted classifier, or array of shape (m, d)
        Of a classifier ``coef_``, ``intercept_``, ``hyperplane_class_``, ``classes_`` and
        ``alpha`` are used. An array is W, and ``owner`` and ``alpha`` are needed.
    X, y : array or sparse matrix of shape (n, d), and labels
    owner : array of shape (m,)
        Label of each hyperplane's class.
    alpha : float
        λ; by default the classifier's.
    intercept : array of shape (m,), default zeros
    intercept_scaling : float, default=1.0
        The constant feature that the intercepts belong to, for arrays. Intercepts are regularised
        in the papers: ‖W‖² contains (intercept / intercept_scaling)².
    reserve : bool, optional
        Whether every class also has a hyperplane that is zero, so that g(k, x) ≥ 0. In [AMM],
        section 3.2, it has infinitely many, so True is what AMM and GAMM minimise; False is the
        multi-hyperplane machine of eq. (5). Default: True for an `AMMClassifier` or
        `GAMMClassifier`, False for other classifiers and for arrays.

    References
    ----------
    [AMM], eq. (3)–(6).

    Examples
    --------
    >>> W, owner = [[1.0, 0.0], [0.0, 1.0]], [0, 1]
    >>> objective(W, [[0.5, 0.0], [0.0, 2.0]], [0, 1], owner=owner, alpha=0.1)
    0.35
    """
    m = _read(model, y, owner, alpha, intercept, intercept_scaling, reserve)
    return m.regulariser + float(np.mean(_losses(m, X, _codes(y, m.classes), None)))


def convex_objective(
    model: Any,
    X: Any,
    y: ArrayLike,
    z: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    alpha: float | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
    reserve: bool | None = None,
) -> float:
    """The convex upper bound in which every row is assigned to one hyperplane of its class.

    P(W | z) = λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − w_z·x) ≥ P(W), with equality at
    the assignments of `assignments`.

    Parameters
    ----------
    z : int array of shape (n,)
        Row numbers of W; −1 for a zero hyperplane out of the reserve.
    model, X, y, owner, alpha, intercept, intercept_scaling, reserve
        As in `objective`.

    References
    ----------
    [AMM], eq. (7) and (8).

    Examples
    --------
    >>> W, owner = [[1.0], [-1.0], [0.0]], [0, 0, 1]
    >>> X, y = [[2.0], [-3.0]], [0, 0]
    >>> convex_objective(W, X, y, [0, 1], owner=owner, alpha=0.1)
    0.1
    >>> convex_objective(W, X, y, [1, 1], owner=owner, alpha=0.1)
    1.6
    """
    m = _read(model, y, owner, alpha, intercept, intercept_scaling, reserve)
    codes, ids = _codes(y, m.classes), np.asarray(z)
    _check_assignments(ids, codes, m)
    return m.regulariser + float(np.mean(_losses(m, X, codes, ids.astype(np.int64))))


def assignments(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
    reserve: bool | None = None,
) -> Ints:
    """The best hyperplane of its own class for every row: argmax over j of w_{y,j}·x.

    Row numbers of W, or −1 where zero hyperplanes compete (``reserve``) and none scores above
    zero. Parameters as in `objective`; [AMM], eq. (10).

    Examples
    --------
    >>> W, owner = [[1.0], [-1.0], [0.0]], [0, 0, 1]
    >>> assignments(W, [[2.0], [-3.0], [1.0]], [0, 0, 1], owner=owner)
    array([0, 1, 2])
    """
    m = _read(model, y, owner, 0.0, intercept, 1.0, reserve)
    codes = _codes(y, m.classes)
    _check_owned(m, codes)
    z = np.empty(len(codes), dtype=np.int64)
    for rows, S in _scores(m, X, len(codes)):
        if len(m.owner) == 0:
            z[rows] = -1
            continue
        own = np.where(m.owner == codes[rows, None], S, -np.inf)  # (p, m)
        z[rows] = own.argmax(axis=1)
        if m.reserve:
            z[rows][own.max(axis=1) <= 0] = -1
    return z


def weight_norm(
    model: Any,
    *,
    owner: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
) -> float:
    """‖W‖, the constant feature's weights included. Parameters as in `objective`.

    Examples
    --------
    >>> weight_norm([[3.0, 0.0], [0.0, 4.0]], owner=[0, 1])
    5.0
    """
    m = _read(model, (), owner, 2.0, intercept, intercept_scaling, None)
    return math.sqrt(m.regulariser)


def hyperplane_counts(
    model: Any, *, owner: ArrayLike | None = None, reserve: bool | None = None
) -> Ints:
    """Hyperplanes of each class, b in the papers; with ``reserve`` one zero hyperplane more.

    [AMM], section 3.3, counts the reserved one. Parameters as in `objective`.

    Examples
    --------
    >>> hyperplane_counts([[1.0], [2.0], [3.0]], owner=["a", "a", "b"], reserve=True)
    array([3, 2])
    """
    m = _read(model, (), owner, 0.0, None, 1.0, reserve)
    return np.bincount(m.owner, minlength=len(m.classes)).astype(np.int64) + int(m.reserve)


@dataclass(frozen=True)
class _Machine:
    """A model in float64, whatever it came from."""

    W: Floats  # (m, d)
    intercept: Floats  # (m,)
    owner: Ints  # (m,), codes
    classes: NDArray[Any]
    reserve: bool
    regulariser: float  # λ/2 ‖W‖²


def _read(
    model: Any,
    y: ArrayLike,
    owner: ArrayLike | None,
    alpha: float | None,
    intercept: ArrayLike | None,
    intercept_scaling: float,
    reserve: bool | None,
) -> _Machine:
    if hasattr(model, "hyperplane_class_"):
        if owner is not None or intercept is not None:
            raise ValueError("owner and intercept belong to arrays; a classifier brings its own")
        W, b, labels = model.coef_, model.intercept_, model.hyperplane_class_
        classes = model.classes_
        alpha = getattr(model, "alpha", None) if alpha is None else alpha
        intercept_scaling = getattr(model, "intercept_scaling", 1.0)
        reserve = isinstance(model, AMMClassifier) if reserve is None else reserve
    elif isinstance(model, BaseEstimator):
        check_is_fitted(model)
        raise TypeError(f"{type(model).__name__} has no hyperplanes (coef_, hyperplane_class_)")
    else:
        if owner is None:
            raise ValueError("an array W needs owner=, the label of each hyperplane's class")
        W, labels = model, np.asarray(owner)
        b = np.zeros(len(labels)) if intercept is None else intercept
        # An empty list is of type float: joined with labels it would turn them into floats.
        parts = [a for a in (labels, np.asarray(y)) if len(a)]
        classes = np.unique(np.concatenate(parts)) if parts else labels
    if alpha is None:
        raise ValueError("alpha (λ) is needed; only a classifier with one of its own goes without")
    W, b = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if W.ndim != 2 or b.shape != (len(W),) or labels.shape != (len(W),):
        raise ValueError(
            f"m hyperplanes need W (m, d), owner (m,) and intercept (m,), got {W.shape}, "
            f"{labels.shape} and {b.shape}"
        )
    squared = float(np.sum(W**2) + np.sum((b / intercept_scaling) ** 2))
    return _Machine(
        W, b, _codes(labels, classes), classes, bool(reserve), float(alpha) / 2 * squared
    )


def _codes(labels: ArrayLike, classes: NDArray[Any]) -> Ints:
    """Positions of the labels among the sorted classes."""
    labels = np.asarray(labels)
    if len(labels) == 0:
        return np.zeros(0, dtype=np.int64)
    position = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = classes[position] != labels
    if np.any(unknown):
        raise ValueError(
            f"y may contain the model's classes {classes.tolist()} alone, got "
            f"{labels[unknown].tolist()[0]!r} in row {int(np.flatnonzero(unknown)[0])}"
        )
    return position.astype(np.int64)


def _check_owned(m: _Machine, codes: Ints) -> None:
    missing = np.setdiff1d(codes, m.owner)
    if len(missing) and not m.reserve:
        raise ValueError(
            f"class {m.classes[missing].tolist()[0]!r} has rows but no hyperplane, so its loss is "
            f"infinite; pass reserve=True to let zero hyperplanes compete, as in AMM"
        )


def _check_assignments(z: NDArray[Any], codes: Ints, m: _Machine) -> None:
    if z.shape != codes.shape or not np.issubdtype(z.dtype, np.integer):
        raise ValueError(
            f"z must be {len(codes)} row numbers of W, got shape {z.shape} of {z.dtype}"
        )
    lowest = -1 if m.reserve else 0
    outside = (z < lowest) | (z >= len(m.owner))
    if np.any(outside):
        raise ValueError(
            f"z must lie between {lowest} and {len(m.owner) - 1}, got {z[outside][0]} in row "
            f"{int(np.flatnonzero(outside)[0])}"
        )
    own = z >= 0
    foreign = np.flatnonzero(own)[m.owner[z[own]] != codes[own]]
    if len(foreign):
        raise ValueError(
            f"z must name hyperplanes of the rows' own classes; in row {foreign[0]} it does not"
        )


def _scores(m: _Machine, X: Any, n: int) -> Iterator[tuple[slice, Floats]]:
    """(rows, their scores (p, m)), chunk by chunk."""
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.shape != (n, m.W.shape[1]):
        raise ValueError(
            f"X must have one row a label and one column a weight, {(n, m.W.shape[1])}, "
            f"got {X.shape}"
        )
    size = max(1, _CHUNK // max(1, *m.W.shape))
    for first in range(0, n, size):
        rows = slice(first, min(first + size, n))
        yield rows, X[rows].astype(np.float64) @ m.W.T + m.intercept


def _losses(m: _Machine, X: Any, codes: Ints, z: Ints | None) -> Floats:
    """Hinge losses, (n,): eq. (4) or, with z, eq. (8)."""
    if z is None:
        _check_owned(m, codes)
    order = np.argsort(m.owner, kind="stable")  # hyperplanes class by class
    present, starts = np.unique(m.owner[order], return_index=True)
    losses = np.empty(len(codes))
    for rows, S in _scores(m, X, len(codes)):
        i, y = np.arange(len(S)), codes[rows]
        best = np.full((len(S), len(m.classes)), -np.inf)  # g(k, x)
        if len(present):
            best[:, present] = np.maximum.reduceat(S[:, order], starts, axis=1)
        if m.reserve:
            np.maximum(best, 0, out=best)
        own = best[i, y]
        best[i, y] = -np.inf
        if z is not None:
            own = np.where(z[rows] < 0, 0.0, S[i, z[rows]] if len(present) else 0.0)
        losses[rows] = np.maximum(0, 1 + best.max(axis=1) - own)
    return losses


# --- B. bounds ----------------------------------------------------------------------------------


def regret_bound_amm(
    T: int, alpha: float, *, version: Literal["printed", "sharp"] = "printed"
) -> float:
    """How far the mean of T steps can lie above the best fixed model: no pruning, no duplication.

    1/T Σₜ P⁽ᵗ⁾(W⁽ᵗ⁾ | z) − 1/T Σₜ P⁽ᵗ⁾(W* | z) ≤ 8 (ln T + 1) / (λT), where P⁽ᵗ⁾ is the objective
    on row t alone and W⁽ᵗ⁾ the model before it. Needs ‖x‖ ≤ 1, the constant feature included,
    and the last model instead of an average (``average=False``). Compare `measured_regret`.

    Parameters
    ----------
    T : int
        Steps.
    alpha : float
        λ.
    version : {"printed", "sharp"}
        "sharp" has 4 for 8: the proof bounds the norm of (x, −x) by 2 where it is √2.

    References
    ----------
    [AMM], Theorem 1; the proof supports it, with G = 4 (the 6 + c there is for pruning).

    Examples
    --------
    >>> round(regret_bound_amm(1000, 0.1), 4)
    0.6326
    """
    _check_bound(version, ("printed", "sharp"), T, alpha)
    return (8 if version == "printed" else 4) * (math.log(T) + 1) / (alpha * T)


def regret_bound_pruned(
    T: int,
    alpha: float,
    prune_threshold: float | None,
    prune_every: int,
    *,
    version: Literal["printed", "appendix", "sharp"] = "printed",
) -> float:
    """As `regret_bound_amm` when small hyperplanes are pruned every k steps.

    Needs ‖x‖ ≤ 1, the constant feature included, and ``average=False``.

    Parameters
    ----------
    T, alpha
        Steps and λ.
    prune_threshold : float or None
        c: what a pruning removes has a norm of at most c / (λ(t−1)). (The classifiers remove at
        most c / (λt).) None: no pruning.
    prune_every : int
        k.
    version : {"printed", "appendix", "sharp"}
        "printed": (8 + c)(ln T + 1)/(λT) + 2(4 + c)c/(kλ).
        "appendix": what the proof's G = 6 + c gives, (6 + c)²/2 for 8 + c.
        "sharp": 4 (ln T + 1)/(λT) + 2√2 c/(kλ).

    Notes
    -----
    The theorem does not follow from its proof, whose G = 6 + c enters as G²/2 and is 18, not 8,
    at c = 0; nor is ‖E‖ ≤ 2c below the 2 + c used there unless c ≤ 2 or prunings begin late. But
    the theorem is true: the sharp bound, proved at the head of this module, is never above it.
    (For k = 1 it needs the classifiers' rule: c / (λ(t−1)) says nothing at t = 1.)

    References
    ----------
    [AMM], Theorem 3 and appendix, eq. (15)–(18).

    Examples
    --------
    >>> [round(regret_bound_pruned(1000, 0.1, 1.0, 50, version=v), 3)
    ...  for v in ("printed", "appendix", "sharp")]
    [2.712, 3.937, 0.882]
    """
    _check_bound(version, ("printed", "appendix", "sharp"), T, alpha)
    c, log_term = _threshold(prune_threshold), (math.log(T) + 1) / (alpha * T)
    if prune_every < 1:
        raise ValueError(f"prune_every must be at least 1, got {prune_every}")
    if version == "sharp":
        return 4 * log_term + 2 * math.sqrt(2) * c / (prune_every * alpha)
    factor = 8 + c if version == "printed" else (6 + c) ** 2 / 2
    return factor * log_term + 2 * (4 + c) * c / (prune_every * alpha)


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
    _check_bound(version, ("printed", "sharp"), T, alpha)
    c, p, beta = _threshold(prune_threshold), growth, growth_decay
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


def risk_bound_amm(
    n_samples: int,
    norm: float,
    counts: ArrayLike,
    delta: float = 0.05,
    *,
    base: float = math.e,
) -> float:
    """Upper bound on the error on unseen data of a model without loss on its training data.

    With probability 1 − δ it is 130/N (‖W‖² B log(4eN) log(4N) + log(2(2N)ᴷ/δ)) at most, where
    B = Σ b + 1 + b_max² − b_max − b_min and K = ½ Σ_i b_i Σ_{j≠i} b_j. Needs ‖x‖ ≤ 1, the constant
    feature included. Above 1, and so empty, unless N is huge.

    Parameters
    ----------
    n_samples : int
        N, training rows drawn independently.
    norm : float
        ‖W‖, see `weight_norm`.
    counts : array of shape (n_classes,)
        b, see `hyperplane_counts`; AMM's reserved zero hyperplanes count.
    delta : float, default=0.05
    base : float, default=e
        Of the logarithms, which the paper leaves open; 2 is the cautious reading.

    Notes
    -----
    The paper asks for training rows that are *classified correctly*. That cannot be enough, as
    shrinking W changes no prediction but lowers the bound: the margin must be 1, no hinge loss.
    B is larger than needed: Σ_{pairs of two classes} ‖w − w′‖² ≤ (Σ b) ‖W‖².

    References
    ----------
    [AMM], Theorem 2.

    Examples
    --------
    >>> round(risk_bound_amm(10**6, 3.0, [2, 2]), 2)
    1.45
    """
    b = _check_risk(n_samples, norm, counts, delta)
    N = float(n_samples)
    B = b.sum() + 1 + b.max() ** 2 - b.max() - b.min()
    K = _pairs(b) / 2
    # log(2 (2N)^K / δ) is taken apart: (2N)^K soon leaves the range of floats.
    count_term = math.log(2 / delta) + K * math.log(2 * N)
    norm_term = norm**2 * B * (1 + math.log(4 * N)) * math.log(4 * N)
    unit = math.log(base)
    return float(130 / N * (norm_term / unit**2 + count_term / unit))


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
    b = _check_risk(n_samples, norm, counts, delta)
    root = math.sqrt(n_samples)
    deviation = math.sqrt(math.log(1 / delta) / 2) / root
    return float(empirical_risk + (4 + 4 * _pairs(b) * norm) / root + (norm + 1) * deviation)


def _pairs(b: Floats) -> float:
    """Σ_i b_i Σ_{j≠i} b_j."""
    return float(b.sum() ** 2 - np.sum(b**2))


def _check_bound(version: str, versions: Sequence[str], T: int, alpha: float) -> None:
    if version not in versions:
        raise ValueError(f"version must be one of {', '.join(versions)}, got {version!r}")
    if T < 1 or alpha <= 0:
        raise ValueError(f"T must be at least 1 and alpha above 0, got {T} and {alpha}")


def _threshold(prune_threshold: float | None) -> float:
    c = 0.0 if prune_threshold is None else float(prune_threshold)
    if c < 0:
        raise ValueError(f"prune_threshold must not be below 0, got {c}")
    return c


def _check_risk(n_samples: int, norm: float, counts: ArrayLike, delta: float) -> Floats:
    b = np.asarray(counts, dtype=np.float64)
    if b.ndim != 1 or len(b) < 2 or np.any(b < 0):
        raise ValueError(f"counts must be the numbers of hyperplanes of two or more classes: {b}")
    if n_samples < 1 or norm < 0 or not 0 < delta < 1:
        raise ValueError(
            f"needed n_samples ≥ 1, norm ≥ 0 and 0 < delta < 1, got {n_samples}, {norm}, {delta}"
        )
    return b


# --- C. measured regret -------------------------------------------------------------------------


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
        best = best._replace(lower_bound=max(best.lower_bound, lower))
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


# --- D. tangent machines ------------------------------------------------------------------------


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
    coef_, intercept_ : hyperplanes, (n_hyperplanes, n_features_in_) and (n_hyperplanes,)
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
        size = max(1, _CHUNK // len(points))
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
