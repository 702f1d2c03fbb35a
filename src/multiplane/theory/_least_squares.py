"""Bounds of [LS]: how fast generalized and calibrated least squares learn.

*The metric.* With an L-Lipschitz link, f(W) = mean of Φ(Wx) − y·Wx + ½ Σⱼ ridgeⱼ ‖Wⱼ‖² is 1-smooth
in the norm ‖W‖² = L · mean of ‖Wx‖² + Σⱼ ridgeⱼ ‖Wⱼ‖², and a step of Algorithm 1 is one of gradient
descent in it, W⁽ᵗ⁺¹⁾ = W⁽ᵗ⁾ − gₜ, gₜ the gradient at W⁽ᵗ⁾. All norms and products of W below are
those. For all A and B

    f(A) ≥ f(B) + ∇f(B)·(A − B) + ½ ‖∇f(A) − ∇f(B)‖².                                       (*)

*Plain steps.* Add up (*) λᵢ = i/(2t+1−i) times for A = W⁽ⁱ⁻¹⁾, B = W⁽ⁱ⁾, 0 < i ≤ t, and
τᵢ = λᵢ₊₁ − λᵢ times for A = W*, B = W⁽ⁱ⁾, 0 ≤ i ≤ t, with λ₀ = 0 and λₜ₊₁ = 1. From W⁽⁰⁾ = 0,

    f(W⁽ᵗ⁾) − f(W*) ≤ − Σ ½ λᵢ (‖gᵢ₋₁‖² + ‖gᵢ‖²) − Σ τᵢ (½ ‖gᵢ‖² + gᵢ·(W* + g₀ + … + gᵢ₋₁))

remains. As −W*·Σ τᵢgᵢ ≤ ‖W*‖²/(4t+2) + (t+½) ‖Σ τᵢgᵢ‖², it is at most ‖W*‖²/(4t+2) less a
quadratic form in g₀ … gₜ. That has no positive coefficient off the diagonal and rows of sum 0, so
it is never negative (Drori and Teboulle, Mathematical Programming 2014). With another W for W*,
whose gradient is not 0, all ½ τᵢ‖gᵢ‖² go, and the same is true with 4t for 4t + 2. Both are
attained: by a link that is linear and then constant, and by a constant one.

*Strongly monotone links.* If f is μ-strongly convex in this norm, then a step takes W − W* to
(1 − μ)(W − W*) − q, q the change of a gradient that is (1 − μ)-Lipschitz and monotone, so that
(1 − μ)(W − W*)·q ≥ ‖q‖². So ‖W⁽ᵗ⁾ − W*‖ ≤ (1 − μ)ᵗ ‖W*‖, and f(W⁽ᵗ⁾) − f(W*) is half its square
at most.

*Accelerated steps.* W⁽ᵗ⁾ = Vₜ − gₜ with gₜ the gradient at Vₜ, t = 1, 2, …, V₁ = 0, and
Vₜ₊₁ = W⁽ᵗ⁾ + (W⁽ᵗ⁾ − W⁽ᵗ⁻¹⁾)(θₜ − 1)/θₜ₊₁, where θ₁ = 1 and θₜ₊₁² − θₜ₊₁ = θₜ². Put
Uₜ = −Σ_{i≤t} θᵢgᵢ; then θₜVₜ = (θₜ − 1)W⁽ᵗ⁻¹⁾ + Uₜ₋₁. Taking (*) θₜ² − θₜ times from Vₜ₋₁ to Vₜ and
θₜ times from W* to Vₜ shows, with dₜ = f(Vₜ) − f(W*), that

    θₜ² dₜ + ½ ‖Uₜ − W*‖²  ≤  θₜ₋₁² (dₜ₋₁ − ½ ‖gₜ₋₁‖²) + ½ ‖Uₜ₋₁ − W*‖²  ≤ … ≤  ½ ‖W*‖².

After t steps the learner stands at Vₜ₊₁, and θₜ₊₁ ≥ t/2 + 1.

*Restarts.* Where f(Vₘ₊₁) > f(Vₘ) the learner goes back to W⁽ᵐ⁾ and begins there with θ = 1, so the
loss never rises. W⁽ᵐ⁾ is the mean of U₁ … Uₘ with weights θᵢ, whose sum is θₘ². If the last loss is
d above f(W*), all before are, and ‖W⁽ᵐ⁾ − W*‖² ≤ ‖W*‖² − 2 d aₘ with aₘ = Σ θᵢ³ / θₘ². Stretches of
m₁, …, mᵣ steps and k more steps leave d ≤ ½ ‖W*‖² / (aₘ₁ + … + aₘᵣ + θₖ₊₁²). Now
2 Σ θᵢ³ = θₘ⁴ + Σ θᵢ², so that aₘ ≥ m, and d ≤ ½ ‖W*‖²/(t + 1) for all restarts there may be.

*Calibration.* Norms are Euclidean here and M the mean over rows. Let h = g⁻¹, y = g(W*x), e = ỹ − y
after (18), ε = M‖e‖², D = h(ỹ) − h(y), and v² = M‖W*x‖². By (18) e is at right angles to
h(y) = W*x, so a = M e·h(ỹ) = M e·D, and a ≥ ε/L and a ≥ μ M‖D‖². Now ỹ − β h(ỹ) is among the fits
of (19), and with the best β the error falls by a²/M‖h(ỹ)‖² or more. As M‖h(ỹ)‖² ≤ (√(a/μ) + v)²
this is ε²/(√(κε) + Lv)² or more. Projections and the next (18) add no error; from ε₁ on, with
C = (√(κε₁) + Lv)², the error of ŷ⁽ᵗ⁾ is at most 1/(1/ε₁ + t/C).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from multiplane.links import Link
from multiplane.theory._common import Floats

# --- bounds -------------------------------------------------------------------------------------


def loss_bound_least_squares(
    t: int,
    L: float,
    norm: float,
    *,
    mu: float = 0.0,
    accelerated: bool = False,
    restarts: Sequence[int] | None = None,
    version: Literal["printed", "sharp", "comparator"] = "printed",
) -> float:
    """How far generalized least squares can lie above the optimum after t steps from W = 0.

    ℓ_n(W⁽ᵗ⁾) − ℓ_n(W*) ≤ 2L‖W*‖²/(t + 4), and with a μ-strongly monotone link, κ = L/μ, at most
    L/2 ((κ − 1)/(κ + 1))ᵗ ‖W*‖². Scores are all that counts: the rate is the same however the
    data are conditioned.

    Parameters
    ----------
    t : int
        Iterations, from 0.
    L : float
        The constant that the steps are made with, at least the link's Lipschitz constant.
    norm : float
        ‖W*‖ in the metric of Σ, the second moment of the features: see `mahalanobis_norm`. With a
        ridge, ``mahalanobis_norm(W, X, L=L, ridge=ridge)`` and here 1 for L.
    mu : float, default=0.0
        How strongly monotone the link is. With a ridge, the share of LΣ + diag(ridge) that
        μΣ + diag(ridge) has in every direction: (μs + r)/(Ls + r) for one ridge r on all weights,
        s the largest eigenvalue of Σ. The bounds of accelerated steps do not depend on it.
    accelerated : bool, default=False
        With Nesterov's momentum. The loss is that of the point from which the next step is made.
    restarts : sequence of int, optional
        Iterations at which the momentum was dropped because the loss had risen; those after t do
        not matter. For "sharp"; None: not known.
    version : {"printed", "sharp", "comparator"}
        "printed": as above; 2L‖W*‖²/(t + 1)² with momentum, for which the paper names the rate
        alone: it is that of Beck and Teboulle, without restarts.
        "sharp": L‖W*‖²/(4t + 2) or L/2 (1 − 1/κ)²ᵗ ‖W*‖², whichever is smaller. With momentum
        L/2 ‖W*‖²/θ² with θ ≥ t/2 + 1 if there were no restarts, L/2 ‖W*‖²/(t + 1) whatever
        there were. Never above the printed one, unless there may have been restarts.
        "comparator": L‖W‖²/(4t) above any W, for plain steps: for data that can be separated, say,
        where there is no W* and the loss falls for ever.

    Notes
    -----
    The theorem is right for the norm in the metric of Σ. It prints ‖W*‖ and ‖W*‖_F, and is false
    for these as soon as features are large: 100 times the features have the same losses and
    1/100 of W*. It is true for them if no eigenvalue of Σ is above 1, as with ‖x‖ ≤ 1.

    - The norm of its appendix needs a square on the left, and the rows of W, not its columns. In
      (14) the residual's moment needs a transpose.
    - Where Σ has no inverse any solution of the least-squares problem will do: scores are the same.
    - W* need not exist. Every W can take its place, at the price in "comparator".
    - The loss falls at each step if 2L is above the Lipschitz constant; bounds need L itself.
    - Momentum with restarts can lie above 2L‖W*‖²/(t + 1)²: a restart throws away speed.
    - √κ in place of κ with momentum, of which section 4 speaks, is for another momentum that knows
      μ.

    References
    ----------
    [LS], Theorem 1 and section 4. The sharp bounds are proved at the head of this file.

    Examples
    --------
    >>> [round(loss_bound_least_squares(10, 0.5, 3.0, version=v), 3)
    ...  for v in ("printed", "sharp", "comparator")]
    [0.643, 0.107, 0.113]
    >>> round(loss_bound_least_squares(10, 0.5, 3.0, accelerated=True), 3)
    0.074
    """
    _check_loss_bound(t, L, norm, mu, accelerated, version)
    size = L * norm**2
    if version == "printed":
        if accelerated:
            return 2 * size / (t + 1) ** 2
        return 2 * size / (t + 4) if mu == 0 else size / 2 * ((L - mu) / (L + mu)) ** t
    if version == "comparator":
        return size / (4 * t) if t else math.inf
    if accelerated:
        return size / (2 * (t + 1 if restarts is None else _speed(t, restarts)))
    return size / 2 * min(1 / (2 * t + 1), (1 - mu / L) ** (2 * t))


def _speed(t: int, restarts: Sequence[int]) -> float:
    """The largest aₘ₁ + … + θ² that the stretches of a run, or the first few of them, give."""
    ends = sorted({int(r) for r in restarts if 0 < r <= t})
    theta = [0.0]
    for _ in range(t + 1):
        theta.append((1 + math.sqrt(1 + 4 * theta[-1] ** 2)) / 2)
    best = before = 0.0
    for start, end in itertools.pairwise([0, *ends]):
        squared = theta[end - start] ** 2
        best = max(best, before + squared)
        before += sum(v**3 for v in theta[: end - start + 1]) / squared
    last = ends[-1] if ends else 0
    return max(best, before + theta[t - last + 1] ** 2)


def error_bound_calibrated(
    t: int,
    L: float,
    mu: float,
    *,
    norm: float | None = None,
    first_error: float = 1.0,
    version: Literal["printed", "sharp"] = "printed",
) -> float:
    """How far calibrated least squares can be from noiseless targets after t rounds.

    Mean of ‖ŷ⁽ᵗ⁾ − y‖² ≤ 22κ²/t, κ = L/μ, if y = g(W*x) for a link g that is L-Lipschitz and
    μ-strongly monotone. Predictions before the first round are 0.

    Parameters
    ----------
    t : int
        Rounds, from 1.
    L, mu : float
        Of the link, which nobody needs to know.
    norm : float, optional
        ‖W*‖ in the metric of Σ, see `mahalanobis_norm`. Default: 1/μ, as for g(0) = (1/k, …, 1/k).
    first_error : float, default=1.0
        Mean of ‖ỹ⁽¹⁾ − y‖², that of plain least squares. Not above 1 on the simplex.
    version : {"printed", "sharp"}
        "printed": as above. It asks for g(0) = (1/k, …, 1/k).
        "sharp": 1/(1/first_error + t/C) with C = (√(κ first_error) + L norm)². Below first_error
        from the first round on, and never above the printed one, which is empty for t < 22κ².

    Notes
    -----
    The theorem is right, under conditions of which it leaves some out:

    - All y are in the simplex. g(W*x) is so for few W* and x: a strongly monotone g is onto ℝᵏ.
    - Least squares (18) and (19) are solved without a ridge, and lin(G) has both g⁻¹ and the
      identity. If not, the error need not vanish; with the identity alone it never rises.
    - (21) and (22) are needed for the pairs ỹ, y, and ỹ can be outside of the simplex. So g⁻¹ must
      be defined there: softmax, which is not strongly monotone either, is not covered.
    - Targets are not noisy. Classes are covered only if W*x takes no other values than the k that
      g⁻¹ has at the corners of the simplex.

    In the proof:

    - y "has a one in precisely one place", which noiseless targets do not. ‖y‖ ≤ 1 is enough.
    - Two points of the simplex are √2 apart, and (28) is true with 14n/μ². The factor k in it comes
      from nowhere, goes along to 22kκ²/t and is dropped in the last line, rightly.
    - ε is the error of ỹ⁽ᵗ⁾, after (18); ŷ⁽ᵗ⁾ comes later and is better. The ŷ⁽ᵗ⁾ before (28) must
      be ŷ⁽ᵗ⁻¹⁾, which is not in the simplex for t = 1, but 0. W₀ is of no account: ỹ⁽¹⁾ is the
      least-squares fit whatever it is.
    - (31) must have squares inside of the sum.

    References
    ----------
    [LS], Theorem 2. The sharp bound is proved at the head of this file.

    Examples
    --------
    >>> [round(error_bound_calibrated(100, 1.0, 0.5, version=v), 3) for v in ("printed", "sharp")]
    [0.88, 0.104]
    """
    if version not in ("printed", "sharp"):
        raise ValueError(f"version must be one of printed, sharp, got {version!r}")
    if t < 1 or not 0 < mu <= L or first_error < 0:
        raise ValueError(
            f"needed t ≥ 1, 0 < mu ≤ L and first_error ≥ 0, got {t}, {mu}, {L} and {first_error}; "
            f"a link that is not strongly monotone is not covered"
        )
    if version == "printed":
        return 22 * (L / mu) ** 2 / t
    if norm is None:
        if first_error > 1:
            raise ValueError(
                f"first_error is at most 1 for targets in the simplex, got {first_error:g}; "
                f"pass norm for other targets"
            )
        norm = 1 / mu
    C = (math.sqrt(first_error * L / mu) + L * norm) ** 2
    return 1 / (1 / first_error + t / C) if first_error > 0 else 0.0


def _check_loss_bound(
    t: int, L: float, norm: float, mu: float, accelerated: bool, version: str
) -> None:
    versions = ("printed", "sharp", "comparator")
    if version not in versions:
        raise ValueError(f"version must be one of {', '.join(versions)}, got {version!r}")
    if t < 0 or norm < 0 or not 0 <= mu <= L or L == 0:
        raise ValueError(
            f"needed t ≥ 0, norm ≥ 0, L > 0 and 0 ≤ mu ≤ L, got {t}, {norm}, {L} and {mu}"
        )
    if accelerated and version == "comparator":
        raise ValueError(
            "version='comparator' is for plain steps, got accelerated=True; a small ridge makes "
            "sure that there is a W*, for version='sharp'"
        )


# --- what the bounds are about ------------------------------------------------------------------


def calibrated_loss(
    link: Link,
    W: ArrayLike,
    X: Any,
    Y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: ArrayLike = 0.0,
) -> float:
    """What generalized least squares minimises.

    ℓ_n(W) = mean of Φ(Wx) − y·Wx, plus ½ Σⱼ ridgeⱼ ‖Wⱼ‖². If E[y | x] = g(W*x) then W* minimises
    its expectation, and g(Wx) = E[y | x] for every W that does.

    Parameters
    ----------
    link : object with ``value`` and ``link``
        Φ and g: one of `multiplane.links`, or your own.
    W : array of shape (n_classes, d)
        An intercept is the weight of a column of ones.
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, n_classes)
        Indicators of classes, or any numbers.
    sample_weight : array of shape (n,), optional
        The mean is a weighted one.
    ridge : float or array of shape (d,), default=0.0
        One for each feature, 0 for an intercept.

    References
    ----------
    [LS], eq. (13) and (15), Lemmas 1 and 2. In (3) a factor x is missing.

    Examples
    --------
    >>> from multiplane.links import Softmax
    >>> X, Y = [[1.0], [2.0]], [[1, 0], [0, 1]]
    >>> round(calibrated_loss(Softmax(), [[0.0], [0.0]], X, Y), 3)  # log 2
    0.693
    """
    weights, S = _read(W, X)
    Y = np.asarray(Y, dtype=np.float64)
    if Y.shape != S.shape:
        raise ValueError(
            f"Y must have a row for each of X and a column for each row of W, {S.shape}, got "
            f"{Y.shape}; np.eye(n_classes)[codes] makes it from codes of classes"
        )
    each = np.asarray(link.value(S)) - np.sum(Y * S, axis=1)
    return _mean(each, sample_weight) + 0.5 * _ridge_term(weights, ridge)


def mahalanobis_norm(
    W: ArrayLike,
    X: Any,
    *,
    sample_weight: ArrayLike | None = None,
    L: float = 1.0,
    ridge: ArrayLike = 0.0,
) -> float:
    """The length of W in the metric LΣ + diag(ridge), Σ = mean of xxᵀ.

    ‖W‖² = tr(W(LΣ + diag(ridge))Wᵀ) = L · mean of ‖Wx‖² + Σⱼ ridgeⱼ ‖Wⱼ‖²: for L = 1 without ridge
    the root of the mean squared length of the scores. It does not change with the units of X.

    Parameters
    ----------
    W, X, sample_weight, ridge
        As in `calibrated_loss`.
    L : float, default=1.0

    References
    ----------
    [LS], appendix A.1.

    Examples
    --------
    >>> mahalanobis_norm([[3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    3.5355339059327378
    """
    weights, S = _read(W, X)
    squared = L * _mean(np.sum(S**2, axis=1), sample_weight)
    return math.sqrt(squared + _ridge_term(weights, ridge))


class LinkConstants(NamedTuple):
    """What a search has found: the steepest and the flattest chord of a link."""

    L: float  # the Lipschitz constant is this or more
    mu: float  # the link is not more strongly monotone than this


def link_constants(
    link: Link, n_classes: int, *, n_points: int = 200, random_state: int = 0
) -> LinkConstants:
    """Search for the constants L and μ of a link, to see whether those it claims can be true.

    ‖g(u) − g(v)‖ ≤ L ‖u − v‖ and (g(u) − g(v))·(u − v) ≥ μ ‖u − v‖² for all scores u and v. They
    are tried at random scores of all sizes, with and without ties, in the directions in which g
    changes most and least. ``link.L`` should be no smaller, and ``link.mu`` no larger, than what
    is found: to eight digits or so, chords being short.

    Parameters
    ----------
    link : object with ``link``
    n_classes : int
        Cost is n_points · n_classes³.
    n_points : int, default=200
    random_state : int, default=0

    References
    ----------
    [LS], eq. (16), (17) and footnote 3.

    Examples
    --------
    >>> from multiplane.links import Softmax
    >>> L, mu = link_constants(Softmax(), 5)
    >>> round(L, 6), abs(round(mu, 6))
    (0.5, 0.0)
    """
    if n_classes < 1 or n_points < 1:
        raise ValueError(
            f"n_classes and n_points must be at least 1, got {n_classes} and {n_points}"
        )
    random, step = np.random.default_rng(random_state), 1e-4
    U = random.normal(size=(n_points, n_classes)) * 10 ** random.uniform(-2, 2, size=(n_points, 1))
    for u in U[1::2] if n_classes > 1 else []:
        # Softmax is steepest where two classes share all of the probability.
        u[random.choice(n_classes, 2, replace=False)] = np.abs(u).max()
    U[0] = 0

    def change(directions: Floats) -> tuple[Floats, Floats]:
        """Chords of scores and of the link, (n_points, m, n_classes), for m directions a point."""
        ahead, behind = U[:, None] + step * directions, U[:, None] - step * directions
        flat = [np.asarray(link.link(P.reshape(-1, n_classes))) for P in (ahead, behind)]
        return ahead - behind, (flat[0] - flat[1]).reshape(ahead.shape)

    _, columns = change(np.broadcast_to(np.eye(n_classes), (n_points, n_classes, n_classes)))
    J = columns / (2 * step)
    V = np.linalg.eigh((J + J.swapaxes(1, 2)) / 2)[1]  # of a symmetric matrix, but for rounding
    du, dg = change(V.swapaxes(1, 2))
    length = np.linalg.norm(du, axis=2)
    steepest = np.linalg.norm(dg, axis=2) / length
    flattest = np.sum(du * dg, axis=2) / length**2
    return LinkConstants(float(steepest.max()), float(flattest.min()))


def _read(W: ArrayLike, X: Any) -> tuple[Floats, Floats]:
    """W, and the scores of all rows."""
    weights = np.asarray(W, dtype=np.float64)
    rows = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if weights.ndim != 2 or rows.ndim != 2 or weights.shape[1] != rows.shape[1]:
        raise ValueError(
            f"W must be (n_classes, d) and X (n, d), got {weights.shape} and {rows.shape}; an "
            f"intercept is the weight of a column of ones"
        )
    scores: Floats = np.asarray(rows @ weights.T)
    return weights, scores


def _mean(each: Floats, sample_weight: ArrayLike | None) -> float:
    s = np.ones_like(each) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if s.shape != each.shape or not np.all(s >= 0) or not s.sum() > 0:
        raise ValueError(
            f"needed {len(each)} weights of at least 0, not all of them 0, got shape {s.shape} "
            f"and {s.tolist()[:5]} …"
        )
    return float(s @ each / s.sum())


def _ridge_term(W: Floats, ridge: ArrayLike) -> float:
    """Σⱼ ridgeⱼ ‖Wⱼ‖²."""
    r = np.asarray(ridge, dtype=np.float64)
    if r.shape not in ((), (W.shape[1],)) or np.any(r < 0):
        raise ValueError(
            f"ridge must be a number or one for each of {W.shape[1]} features, not below 0, got "
            f"{r.tolist()}"
        )
    return float(np.sum(r * np.sum(W**2, axis=0)))
