"""Bounds of [BPegasos]: regret and mistakes of kernel Pegasos on a budget.

All of them in one argument
---------------------------
Step t is w⁽ᵗ⁺¹⁾ = φ (w⁽ᵗ⁾ − (∇ + E)/(λt)): ∇ is a subgradient of P⁽ᵗ⁾ at w⁽ᵗ⁾, E/(λt) what budget
maintenance takes away, and φ ≤ 1 projects onto the ball of radius 1/√λ, if one wants that. With
k(x, x) ≤ R² and sample weights ≤ s the loss has subgradients of norm ≤ g = √2 R s. If w* lies in
the ball, λ-strong convexity lets the distances to it telescope ([BPegasos], eq. 9–12) and leaves

    Σₜ P⁽ᵗ⁾(w⁽ᵗ⁾) − P⁽ᵗ⁾(w*)  ≤  Σₜ ‖∇ + E‖²/(2λt) + Σₜ E·(w* − w⁽ᵗ⁾)
                              ≤  Σₜ (λρ + g + e)²/(2λt) + Σₜ ‖E‖ (ρ + ‖w*‖),

ρ and e being the largest ‖w⁽ᵗ⁾‖ and ‖E‖. *Orthogonal* maintenance leaves a w at right angles to
what it took, as the projection of a support vector by least squares onto all others does. Then
the distance to w* grows by 2E·w*/(λt) − ‖E‖²/(λt)² at most, which leaves

    Σₜ (λρ + g)²/(2λt) + Σₜ ‖E‖ ‖w*‖.

*How large w is.* At most 1/√λ after projections onto the ball. With or without them
λt w⁽ᵗ⁺¹⁾ is λ(t−1) w⁽ᵗ⁾ and a step of length g and E, so λρ ≤ g + e; orthogonal maintenance only
shortens w, so that λρ ≤ g.

*How large E is.* Maintenance follows upon a new support vector of norm ≤ g/(λt), so the smallest
of all is not larger: to remove it costs ‖E‖ ≤ g. To project it costs no more, as coefficients of
zero are among the choices, and to merge it with another one no more, as long as the other one's
place is among the places tried and the least degradation decides. A support vector that is drawn
at random may be removed at that cost too if coefficients have only ever shrunk: without merges and
projections, and when a row that is met again is a support vector of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from multiplane.theory._common import Floats, check_bound, encode

# Norms and degradations that a model in float32 reports can be off by this share of themselves.
_ROUNDING = 1e-3


# --- bounds -------------------------------------------------------------------------------------


def optimum_radius(
    alpha: float,
    *,
    loss: float = 0.0,
    mean_weight: float = 1.0,
    kernel_bound: float = math.inf,
) -> float:
    """In which ball around zero the optimum of a multi-class SVM lies: 1/√λ.

    w* minimises P(w) = λ/2 ‖w‖² + mean of sₙ max(0, 1 + max_{k≠y} w_k·Φ(x) − w_y·Φ(x)).

    Parameters
    ----------
    alpha : float
        λ.
    loss : float, default=0.0
        Mean loss of w*, or anything below it. The larger, the smaller the ball.
    mean_weight : float, default=1.0
        Mean sample weight: the radius grows with its square root, beyond the ball that Pegasos
        projects onto when it is above 1.
    kernel_bound : float, default=inf
        Largest k(x, x), R². If it is known, √2 R mean_weight/λ can be the smaller radius.

    Notes
    -----
    The paper's dual, eq. (5) and (6), must have δ/N where δ is printed. With that the lemma is
    right, and asks nothing of ‖Φ(x)‖. Shorter: λw* is a mean of −sₙ ∇ℓ, and −∇ℓ·w* ≤ 1 − ℓ as the
    loss is 1 plus something linear wherever it has a slope; so λ‖w*‖² ≤ mean of sₙ (1 − ℓ).

    References
    ----------
    [BPegasos], Lemma 1.

    Examples
    --------
    >>> optimum_radius(0.01)
    10.0
    """
    if alpha <= 0 or mean_weight <= 0 or kernel_bound < 0:
        raise ValueError(
            f"alpha and mean_weight must be above 0 and kernel_bound not below 0, got {alpha}, "
            f"{mean_weight} and {kernel_bound}"
        )
    if not 0 <= loss <= mean_weight:
        raise ValueError(
            f"the loss of an optimum lies between 0 and that of w = 0, {mean_weight}, got {loss}"
        )
    steep = math.sqrt(2 * kernel_bound) * mean_weight / alpha
    return min(math.sqrt((mean_weight - loss) / alpha), steep)


def regret_bound_bpegasos(
    T: int,
    alpha: float,
    degradation: float,
    *,
    version: Literal["printed", "sharp"] = "printed",
    max_degradation: float | None = None,
    max_norm: float | None = None,
    ball_projection: bool = True,
    orthogonal: bool = False,
    kernel_bound: float = 1.0,
    max_weight: float = 1.0,
    mean_weight: float = 1.0,
) -> float:
    """How far the mean of T steps of kernel Pegasos on a budget can lie above the optimum.

    1/T Σₜ P⁽ᵗ⁾(w⁽ᵗ⁾) − 1/T Σₜ P⁽ᵗ⁾(w*) ≤ G² (ln T + 1) / (2λT) + 2Ē/√λ with G = √λ + 2 + √2, where
    P⁽ᵗ⁾ is the objective on row t alone, w⁽ᵗ⁾ the model before it and w* the minimiser of the
    mean, or any other w in the ball of radius 1/√λ. The model is the last one, not an average. As
    w = 0 has an objective of 1, this is empty unless Ē < √λ/2. See `bpegasos_sides` for a run.

    Parameters
    ----------
    T, alpha
        Steps and λ.
    degradation : float
        Ē, the mean of ‖Eₜ‖ = λt ‖Δwₜ‖ over all steps, those without maintenance included
        (``degradation_`` of a budgeted classifier).
    version : {"printed", "sharp"}
        "printed": as above. It needs the ball projection, and max_degradation ≤ 2 for
        kernel_bound and max_weight ≤ 1.
        "sharp": (λρ + g + e)² (ln T + 1)/(2λT) + (ρ + r) Ē, or with ``orthogonal``
        (λρ + g)² (ln T + 1)/(2λT) + r Ē. g = √(2 kernel_bound) max_weight, ρ is max_norm, e is
        max_degradation and r `optimum_radius`. Never above the printed one.
    max_degradation : float, optional
        The largest ‖Eₜ‖. Default: g, which holds for removal, projection or merging of the
        smallest support vector and for removal at random; not for other kinds of maintenance,
        and not for merging as the paper does it (see Notes).
    max_norm : float, optional
        The largest ‖w⁽ᵗ⁾‖. Default: 1/√λ with ball projection or (g + e)/λ, g/λ if orthogonal,
        whichever is smaller.
    ball_projection : bool, default=True
        Whether every step ends with a projection onto the ball of radius 1/√λ.
    orthogonal : bool, default=False
        Whether w is at right angles to Δw after each maintenance. That is so for projection onto
        all other support vectors, solved exactly: not with a ridge, and for no other kind.
    kernel_bound : float, default=1.0
        Largest k(x, x); 1 for the Gaussian kernel.
    max_weight, mean_weight : float, default=1.0
        Of the sample weights. With ball projection the mean must not be above 1.

    Notes
    -----
    The theorem is right, under conditions that it leaves out.

    - It bounds the norm of the loss's subgradient by 2 where it is √2, and ‖Eₜ‖ by √2. So there
      is room for ‖Eₜ‖ ≤ 2, but none for larger rows: with k(x, x) > 1 it is false.
    - ‖Eₜ‖ ≤ √2 is shown in eq. (10), whose first η must be that of step t′, for removal alone. It
      uses that coefficients only shrink, which is no longer so when projections and merges add to
      them. What saves it is that the new support vector is among the candidates: the smallest
      cannot be larger.
    - It does not hold for merging by eq. (18)–(21). These choose the place by another criterion
      than the degradation; with three classes, and coefficients that nearly cancel in one of
      them, the larger support vector of the two is all but lost and ‖Eₜ‖ can be anything.
    - The factor φ must be computed from the norm after maintenance. Section 2.1 has it before;
      removal can make w longer, and it could then leave the ball.
    - Sample weights: with a mean above 1 the optimum can lie outside of the ball.

    References
    ----------
    [BPegasos], Theorem 1, eq. (8)–(13). The sharp bounds are proved at the head of this file.

    Examples
    --------
    >>> [round(regret_bound_bpegasos(10_000, 0.1, 0.02, version=v), 3)
    ...  for v in ("printed", "sharp")]
    [0.198, 0.177]
    >>> round(regret_bound_bpegasos(10_000, 0.1, 0.02, version="sharp", orthogonal=True), 3)
    0.079
    """
    check_bound(version, ("printed", "sharp"), T, alpha)
    _check_scales(kernel_bound, max_weight, mean_weight)
    g = math.sqrt(2 * kernel_bound) * max_weight
    e = g if max_degradation is None else float(max_degradation)
    _check_degradation(degradation, e, max_degradation is None)
    ball = 1 / math.sqrt(alpha)
    if ball_projection and mean_weight > 1:
        raise ValueError(
            f"with weights of mean {mean_weight:g} the optimum can lie outside of the ball of "
            f"radius 1/√λ; divide the weights and alpha by it, which is the same problem"
        )
    if max_norm is not None and ball_projection and max_norm > ball * (1 + _ROUNDING):
        raise ValueError(
            f"ball projection keeps ‖w‖ at 1/√λ = {ball:g} or below, got {max_norm:g}; "
            f"pass ball_projection=False"
        )
    log_term = (math.log(T) + 1) / (2 * alpha * T)
    if version == "printed":
        _check_printed(e, ball_projection, kernel_bound, max_weight)
        return (math.sqrt(alpha) + 2 + math.sqrt(2)) ** 2 * log_term + 2 * degradation * ball
    lost = 0.0 if orthogonal else e
    rho = (g + lost) / alpha
    if ball_projection:
        rho = min(rho, ball)
    if max_norm is not None:
        rho = float(max_norm)
    radius = optimum_radius(alpha, mean_weight=mean_weight, kernel_bound=kernel_bound)
    gap = radius if orthogonal else rho + radius
    return (alpha * rho + g + lost) ** 2 * log_term + gap * degradation


def mistake_bound_bpegasos(
    optimum: float, T: int, alpha: float, degradation: float, **assumptions: Any
) -> float:
    """How many of T rows kernel Pegasos on a budget can get wrong, each predicted before learnt.

    T P(w*) + T `regret_bound_bpegasos`: a mistake has a loss of at least 1. With sample weights
    the sum of the weights of the rows that are wrong.

    Parameters
    ----------
    optimum : float
        P(w*), the mean of P⁽ᵗ⁾(w*) over the T rows: see `kernel_optimum`.
    T, alpha, degradation
        Steps, λ and Ē.
    **assumptions
        As in `regret_bound_bpegasos`, ``version`` among them.

    Notes
    -----
    A tie between the right class and another one is a mistake here, whatever is predicted.

    References
    ----------
    [BPegasos], Corollary 1.

    Examples
    --------
    >>> round(mistake_bound_bpegasos(0.15, 10_000, 0.1, 0.02))
    3475
    """
    if optimum < 0:
        raise ValueError(f"optimum must be P(w*), at least 0, got {optimum}")
    return T * (optimum + regret_bound_bpegasos(T, alpha, degradation, **assumptions))


def _check_scales(kernel_bound: float, max_weight: float, mean_weight: float) -> None:
    if kernel_bound < 0 or max_weight <= 0:
        raise ValueError(
            f"kernel_bound must not be below 0 and max_weight be above 0, got {kernel_bound} and "
            f"{max_weight}"
        )
    if not 0 < mean_weight <= max(max_weight, 1.0):
        raise ValueError(
            f"mean_weight must be above 0 and not above max_weight, got {mean_weight} and "
            f"{max_weight}"
        )


def _check_degradation(degradation: float, e: float, by_default: bool) -> None:
    if degradation < 0 or degradation > e * (1 + _ROUNDING):
        advice = "; pass max_degradation, the largest ‖E‖ of the run" if by_default else ""
        raise ValueError(
            f"a mean degradation lies between 0 and the largest, {e:g}, got {degradation:g}{advice}"
        )


def _check_printed(e: float, ball_projection: bool, kernel_bound: float, max_weight: float) -> None:
    if not ball_projection or kernel_bound > 1 or max_weight > 1 or e > 2 * (1 + _ROUNDING):
        raise ValueError(
            f"the printed bound needs ball projection, kernel_bound and max_weight ≤ 1 and "
            f"max_degradation ≤ 2, got {ball_projection}, {kernel_bound:g}, {max_weight:g} and "
            f"{e:g}; use version='sharp'"
        )


# --- a run beside its bounds --------------------------------------------------------------------


@dataclass(frozen=True)
class BudgetedRun:
    """What the theorems ask of a run, as sums: keep them as you go, or see `budgeted_run`.

    ``part + next_part`` is the run of both, one after the other.

    Examples
    --------
    >>> part = BudgetedRun(0.1, 2, 1.0, 1.0, 0.0, 0.0, squared_norms=4.0, max_norm=2.0)
    >>> part.objective, (part + part).T
    (0.6, 4)
    """

    alpha: float
    T: int  # steps
    losses: float  # Σ sₜ ℓ(w⁽ᵗ⁾), w⁽ᵗ⁾ the model before row t
    mistakes: float  # Σ sₜ over rows with ℓ ≥ 1
    degradations: float  # Σ ‖Eₜ‖
    max_degradation: float
    squared_norms: float  # Σ ‖w⁽ᵗ⁾‖²
    max_norm: float
    weights: float | None = None  # Σ sₜ; None: all are 1
    max_weight: float = 1.0

    @property
    def objective(self) -> float:
        """1/T Σₜ P⁽ᵗ⁾(w⁽ᵗ⁾)."""
        return (self.alpha / 2 * self.squared_norms + self.losses) / self.T

    @property
    def degradation(self) -> float:
        """Ē, the mean of ‖Eₜ‖."""
        return self.degradations / self.T

    @property
    def mean_weight(self) -> float:
        """Of the sample weights sₜ."""
        return 1.0 if self.weights is None else self.weights / self.T

    def __add__(self, other: BudgetedRun) -> BudgetedRun:
        if self.alpha != other.alpha:
            raise ValueError(f"parts of a run have one alpha, got {self.alpha} and {other.alpha}")
        return BudgetedRun(
            self.alpha,
            self.T + other.T,
            self.losses + other.losses,
            self.mistakes + other.mistakes,
            self.degradations + other.degradations,
            max(self.max_degradation, other.max_degradation),
            self.squared_norms + other.squared_norms,
            max(self.max_norm, other.max_norm),
            self.mean_weight * self.T + other.mean_weight * other.T,
            max(self.max_weight, other.max_weight),
        )


def budgeted_run(
    norms: ArrayLike,
    losses: ArrayLike,
    degradations: ArrayLike,
    alpha: float,
    *,
    sample_weight: ArrayLike | None = None,
) -> BudgetedRun:
    """The sums of a run from what was seen at each of its T steps.

    Parameters
    ----------
    norms : array of shape (T,)
        ‖w⁽ᵗ⁾‖, of the model before row t; 0 at first.
    losses : array of shape (T,)
        Hinge losses of that model on row t, without sample weights.
    degradations : array of shape (T,)
        ‖Eₜ‖ = λt ‖Δwₜ‖, 0 where there was no maintenance.
    alpha : float
        λ.
    sample_weight : array of shape (T,), optional

    Examples
    --------
    >>> run = budgeted_run([0, 2, 2], [1, 0.5, 0], [0, 0, 1.2], 0.1)
    >>> round(run.objective, 3), round(run.degradation, 3), run.mistakes
    (0.633, 0.4, 1.0)
    """
    given = [np.asarray(a, dtype=np.float64) for a in (norms, losses, degradations)]
    s = np.ones_like(given[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    shapes = [a.shape for a in (*given, s)]
    if given[0].ndim != 1 or len(given[0]) == 0 or len(set(shapes)) > 1:
        raise ValueError(
            f"norms, losses, degradations and sample_weight need one number a step, got {shapes}"
        )
    low = min(float(a.min()) for a in (*given, s))
    if not low >= 0 or not all(np.isfinite(a).all() for a in (*given, s)):
        raise ValueError("norms, losses, degradations and weights must be finite and at least 0")
    w, loss, E = given
    return BudgetedRun(
        alpha=float(alpha),
        T=len(w),
        losses=float(s @ loss),
        mistakes=float(s[loss >= 1].sum()),
        degradations=float(E.sum()),
        max_degradation=float(E.max()),
        squared_norms=float(w @ w),
        max_norm=float(w.max()),
        weights=float(s.sum()),
        max_weight=float(s.max()),
    )


class Sides(NamedTuple):
    """Left and right side of the theorem, ``objective`` ≤ ``bound``, and of its corollary."""

    objective: float  # 1/T Σₜ P⁽ᵗ⁾(w⁽ᵗ⁾)
    bound: float
    mistakes: float
    mistake_bound: float


def bpegasos_sides(
    run: BudgetedRun,
    optimum: float,
    *,
    version: Literal["printed", "sharp"] = "printed",
    ball_projection: bool = True,
    orthogonal: bool = False,
    kernel_bound: float = 1.0,
) -> Sides:
    """Both sides of Theorem 1 and Corollary 1 for a run: do they hold, and with how much room?

    Parameters
    ----------
    run : BudgetedRun
        From `budgeted_run`. Its largest degradation, largest norm and weights are what the bounds
        are computed with, so that "sharp" holds for every kind of maintenance.
    optimum : float
        P(w*): `kernel_optimum` for the rows of the run. With its ``lower_bound`` the test is the
        strictest, ``value`` is that of a w that can be looked at.
    version, ball_projection, orthogonal, kernel_bound
        As in `regret_bound_bpegasos`.

    References
    ----------
    [BPegasos], Theorem 1 and Corollary 1.

    Examples
    --------
    >>> import numpy as np
    >>> T = 1000
    >>> run = budgeted_run(np.full(T, 1.5), np.full(T, 0.2), np.full(T, 0.01), 0.1)
    >>> sides = bpegasos_sides(run, 0.3, version="sharp")
    >>> [round(v, 3) for v in sides]
    [0.312, 0.445, 0.0, 444.606]
    """
    assumptions: dict[str, Any] = {
        "version": version,
        "max_degradation": run.max_degradation,
        "max_norm": run.max_norm,
        "ball_projection": ball_projection,
        "orthogonal": orthogonal,
        "kernel_bound": kernel_bound,
        "max_weight": run.max_weight,
        "mean_weight": run.mean_weight,
    }
    mistakes = mistake_bound_bpegasos(optimum, run.T, run.alpha, run.degradation, **assumptions)
    return Sides(run.objective, mistakes / run.T, run.mistakes, mistakes)


# --- the optimum --------------------------------------------------------------------------------


class KernelOptimum(NamedTuple):
    """The minimiser of a kernel SVM's objective, and between which values that lies."""

    beta: Floats  # (n, n_classes), w_k = Σ_j beta[j, k] Φ(x_j)
    value: float  # of beta, at least the minimum
    lower_bound: float  # of the dual problem, at most the minimum


def kernel_optimum(
    K: ArrayLike,
    y: ArrayLike,
    alpha: float,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> KernelOptimum:
    """The multi-class kernel SVM that Pegasos walks towards, computed to a duality gap.

    Minimises P(w) = λ/2 ‖w‖² + mean of sₙ max(0, 1 + max_{k≠y} f_k(x) − f_y(x)) through its dual:
    the coefficients of a row are sₙ/(λn) (δ_y − γ), γ ≥ 0 of sum 1, and those of one row after
    the other are set to the best there is, all others fixed. A pass costs n² n_classes, memory is
    K in float64: for some thousand rows.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j). Rows that a run meets again need not be repeated if each is met equally often.
    y : labels, (n,)
    alpha : float
        λ.
    classes : labels, optional
        All that there are, if some have no row: they are rivals too.
    sample_weight : array of shape (n,), optional
    tol : float, default=1e-3
        Stop at a gap of ``tol`` times the objective.
    max_iter : int, default=1000
        Passes; the gap is what it is after them.

    References
    ----------
    [BPegasos], eq. (1) and, with δ/N for δ, eq. (5) and (6).

    Examples
    --------
    >>> import numpy as np
    >>> beta, value, lower_bound = kernel_optimum(np.eye(2), [0, 1], 1.0)
    >>> beta.round(2).tolist(), round(value, 2)
    ([[0.5, -0.5], [-0.5, 0.5]], 0.5)
    """
    K, labels = np.asarray(K, dtype=np.float64), np.asarray(y)
    n = len(labels)
    if K.shape != (n, n) or n == 0 or alpha <= 0:
        raise ValueError(
            f"K must have a row and a column a label and alpha be above 0, got {K.shape} for "
            f"{n} labels and {alpha}"
        )
    known = np.unique(labels) if classes is None else np.unique(np.asarray(classes))
    codes = encode(labels, known)
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n,) or not np.all(s >= 0) or len(known) < 2:
        raise ValueError(
            f"needed two or more classes and {n} weights of at least 0, got {known.tolist()} and "
            f"weights of shape {s.shape}"
        )
    own = np.eye(len(known))[codes]  # (n, n_classes)
    most = s / (alpha * n)  # of a coefficient
    squared = np.maximum(np.diag(K), 1e-100)  # Φ(x) = 0: no coefficient of it matters
    beta = np.zeros((n, len(known)))
    F = np.zeros_like(beta)  # K @ beta, the scores
    best = KernelOptimum(beta.copy(), float(s.mean()), 0.0)  # w = 0: a loss of 1 everywhere
    for _ in range(max_iter):
        for i in np.flatnonzero(s):
            others = F[i] - squared[i] * beta[i]
            gamma = _onto_simplex(own[i] + (others - own[i]) / (most[i] * squared[i]))
            change = most[i] * (own[i] - gamma) - beta[i]
            if np.any(change):
                beta[i] += change
                F += np.outer(K[:, i], change)
        regulariser = alpha / 2 * float(np.sum(beta * F))
        rivals = np.where(own > 0, -np.inf, F).max(axis=1)
        losses = np.maximum(0, 1 + rivals - np.sum(own * F, axis=1))
        value = regulariser + float(s @ losses) / n
        if value < best.value:
            best = best._replace(beta=beta.copy(), value=value)
        lower = alpha * float(np.sum(own * beta)) - regulariser
        # At the optimum both are equal, but for rounding.
        best = best._replace(lower_bound=min(best.value, max(best.lower_bound, lower)))
        if best.value - best.lower_bound <= tol * best.value:
            break
    return best


def _onto_simplex(q: Floats) -> Floats:
    """The nearest point of {γ ≥ 0, Σ γ = 1}: all of q less one number, cut at zero."""
    q = q - q.max()  # nothing but differences counts, and large numbers would swallow the 1
    down = np.sort(q)[::-1]
    excess = (np.cumsum(down) - 1) / np.arange(1, len(q) + 1)
    last = int(np.flatnonzero(down > excess)[-1])
    gamma: Floats = np.maximum(q - excess[last], 0)
    return gamma
