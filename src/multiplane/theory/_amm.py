"""Bounds of [AMM]: regret with and without pruning, risk.

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
from typing import Literal

from numpy.typing import ArrayLike

from multiplane.theory._common import check_bound, check_risk, pairs, threshold


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
    check_bound(version, ("printed", "sharp"), T, alpha)
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
    the theorem is true: the sharp bound, proved at the head of this file, is never above it.
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
    check_bound(version, ("printed", "appendix", "sharp"), T, alpha)
    c, log_term = threshold(prune_threshold), (math.log(T) + 1) / (alpha * T)
    if prune_every < 1:
        raise ValueError(f"prune_every must be at least 1, got {prune_every}")
    if version == "sharp":
        return 4 * log_term + 2 * math.sqrt(2) * c / (prune_every * alpha)
    factor = 8 + c if version == "printed" else (6 + c) ** 2 / 2
    return factor * log_term + 2 * (4 + c) * c / (prune_every * alpha)


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
    b = check_risk(n_samples, norm, counts, delta)
    N = float(n_samples)
    B = b.sum() + 1 + b.max() ** 2 - b.max() - b.min()
    K = pairs(b) / 2
    # log(2 (2N)^K / δ) is taken apart: (2N)^K soon leaves the range of floats.
    count_term = math.log(2 / delta) + K * math.log(2 * N)
    norm_term = norm**2 * B * (1 + math.log(4 * N)) * math.log(4 * N)
    unit = math.log(base)
    return float(130 / N * (norm_term / unit**2 + count_term / unit))
