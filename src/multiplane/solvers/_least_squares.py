"""Least squares, again and again: generalized, calibrated and stagewise ([LS] Algorithms 1 to 3).

    minimise   1/v Σᵢ vᵢ (Φ(Wxᵢ) − yᵢ·Wxᵢ)  +  ½ Σⱼ ridgeⱼ ‖Wⱼ‖²,     v = Σᵢ vᵢ

Given
    a `Design`: rows of features with targets yᵢ and weights vᵢ, wherever they lie,
    a link g = ∇Φ (multiplane.links), or a basis to find one,
each solver is a generator: it yields a `Step` with the model after each iteration or stage, and a
reason in the last one. Whoever runs it may stop earlier.

A. *Sums.* Whatever is asked of the rows is a sum over them. Products of chunks are made in the
   features' own type of float, sums of them in float64: for float64 rows the answer is the same to
   rounding however they are cut into parts, for float32 rows to float32's. Features are made anew
   in each pass over the rows and never kept.
B. *One factorisation.* The majoriser M = L Σ + ridge (Σ the second moment of the features) does not
   depend on W: it is factored once for all iterations of a stage (`Factor`).
C. *The intercept* is one more feature, constant and without ridge: the last row of W.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multiplane._arrays import (
    Place,
    add_to_diagonal,
    solve_triangular,
    to_numpy,
)
from multiplane.features._base import Source
from multiplane.links import Link
from multiplane.models._least_squares import (
    Basis,
    Linear,
    Projection,
    Round,
    Stage,
    Standard,
)
from multiplane.models._maps import FeatureMap
from multiplane.solvers._rows import Rows
from multiplane.solvers._sums import (
    Features,
    Past,
    Rounds,
    Stages,
    column_squares,
    column_sums,
    evaluate,
    judge,
    moments,
    powers,
    products,
    slope,
)

Array = Any
LARGEST_BLOCK = 40_000  # 12.8 GB in float64
SCALE = 1e-5  # of a feature's mean square: the least ridge, unless alpha is given
CROWD = 0.2  # times (features / rows)³ is added: see decision 6


@dataclass(frozen=True)
class Step:
    """Where a solver stands."""

    number: int
    model: Any
    facts: dict[str, Any]
    factor: Factor  # of the features: whether they depend on each other
    reason: str | None = None  # of stopping here


@dataclass(frozen=True)
class Task:
    """All rows, before features are made of them."""

    rows: Rows
    n_classes: int
    n_rows: float  # that they stand for: the sum of the weights as they were given
    place: Place  # where sums are put together: that of the rows, or NumPy's

    @property
    def dtype(self) -> Any:
        return getattr(self.place.xp, self.rows.dtype.name)

    @property
    def total(self) -> float:
        """Σ vᵢ, of the weights that the steps see."""
        return self.n_rows / (self.rows.reading.largest or 1.0)


def standard(task: Task, centred: bool) -> Standard:
    """The columns in standard units; about their means, if they are `centred` and not sparse."""
    place, rows = task.place, task.rows
    shift = place.zeros((rows.n_features,), place.float64)
    if centred and not rows.reading.sparse:
        shift = rows.add(column_sums)[0] / task.total
    square = rows.add(column_squares, shift)[0] / task.total
    return Standard.of(shift, square, rows.dtype)


class Design:
    """Features of all rows, made whenever they are looked at."""

    def __init__(
        self,
        task: Task,
        map: FeatureMap,
        alpha: float | None,
        intercept: bool = True,
        basis: Basis = (),
    ) -> None:
        self.task, self.alpha, self.intercept = task, alpha, intercept
        self.features = Features(map.to(task.place), intercept, task.n_classes, basis)
        self.map, self.n_features = self.features.map, self.features.n_features  # p
        self.ridge: Array = None  # (p + intercept,), float64; known with the moments
        self.total = task.total
        check_gram_fits(self.n_features)

    def moments(self, past: Past | None, link: Link | None = None) -> tuple[Array, Array]:
        """G and B of the features and of y − g(predictions so far)."""
        G, B = self.task.rows.add(moments, (self.features, past, link))
        if self.task.place.is_numpy and not G.flags.writeable:  # it came from elsewhere
            G = G.copy()
        self.ridge = self._ridge(self.task.place.xp.linalg.diagonal(G) / self.total)
        return G, B

    def _ridge(self, square: Array) -> Array:
        """Of features with these mean squares; none for the intercept."""
        crowd = min(1.0, SCALE + CROWD * (self.n_features / self.task.n_rows) ** 3)
        ridge = square * crowd
        if self.alpha is None and self.task.rows.reading.sparse:
            # A rare word's own square is no measure of how little is known of it.
            total = float(self.task.place.xp.sum(square[: self.n_features]))
            ridge = square * 0 + total / self.task.n_rows
        if self.alpha is not None:  # meant for weights of the features as they came
            units = self.map.scale if isinstance(self.map, Standard) else None
            ridge = ridge * 0 + self.alpha
            if units is not None:
                ridge[: self.n_features] *= self.task.place.xp.astype(units, square.dtype) ** 2
        if self.intercept:
            ridge[-1] = 0.0
        return ridge

    def products(self, past: Past) -> Array:
        """B alone."""
        return self.task.rows.add(products, (self.features, past, None))[0]

    def evaluate(self, W: Array, past: Past | None, link: Link) -> tuple[float, float, Array]:
        """Mean loss with the penalty, share of mistakes, and gradient at W."""
        state = self.features, past, link, self.linear(W)
        loss, wrong, B = self.task.rows.add(evaluate, state)
        penalty = 0.5 * float(self.task.place.xp.sum(self.ridge[:, None] * W * W))
        gradient = B / self.total + self.ridge[:, None] * W
        return loss / self.total + penalty, wrong / self.total, gradient

    def linear(self, W: Array) -> Linear:
        """W as part of a model."""
        own = self.task.place.xp.astype(W, self.task.dtype)
        b = own[-1, :] if self.intercept else self.task.place.xp.zeros_like(own[0, :])
        return Linear(own[: self.n_features, :], b)

    def factor(self, G: Array, L: float = 1.0) -> Factor:
        """M = L Σ + ridge, factored; G is used up."""
        G *= L / self.total
        eps = float(self.task.place.xp.finfo(self.task.dtype).eps)
        # Rounding of sums over chunks, some eps an entry, moves eigenvalues by √p times that.
        return Factor(G, self.ridge, 8 * eps * math.sqrt(G.shape[0]), self.intercept)


class Factor:
    """A symmetric positive semi-definite matrix M + diag(ridge), factored once, solved often.

    It is scaled to a unit diagonal first, so that features may differ by any power, and then lifted
    by `noise`, what rounding may have taken from it: features that are constant, doubled or
    otherwise depend on others get finite weights, and nothing else is changed that the arithmetic
    could tell. Should the matrix be further from positive than that, the lift is raised. M itself
    is overwritten: two matrices of its size are all that there ever is.
    """

    def __init__(
        self, M: Array, ridge: Array | float, noise: float, constant: bool = False
    ) -> None:
        place = Place.of(M)
        xp, n = place.xp, M.shape[0]
        add_to_diagonal(M, ridge)
        diagonal = xp.linalg.diagonal(M)
        if not bool(xp.all(xp.isfinite(diagonal))):
            raise ValueError(
                "products of features must be finite, but some are not: scale the features (by "
                "StandardScaler, say), or use float64"
            )
        self.scale = xp.where(diagonal > 0, 1 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0)), 1.0)
        M *= self.scale[:, None]
        M *= self.scale
        self.lift, lifted = noise, 0.0
        while True:
            add_to_diagonal(M, self.lift - lifted)
            self.L = cholesky(M)
            if self.L is not None:
                break
            lifted, self.lift = self.lift, 10 * self.lift
            if self.lift > 1e9:  # of a diagonal of ones: not to be mended so
                raise ValueError("the features' second moment has no Cholesky factor")
        # What is left of a feature, given those before: twice the lift, if it is there already.
        # The constant feature, which comes last, always is when there are many others.
        pivots = xp.linalg.diagonal(self.L)[: n - constant] ** 2
        self.dependent = int(xp.sum(xp.astype(pivots < 2.5 * self.lift, xp.int64)))

    def solve(self, B: Array) -> Array:
        half = solve_triangular(self.L, B * self.scale[:, None])
        return solve_triangular(self.L, half, transposed=True) * self.scale[:, None]


def check_gram_fits(n_features: int) -> None:
    if n_features > LARGEST_BLOCK:
        raise ValueError(
            f"{n_features} features at once need a matrix of {n_features}² numbers; at most "
            f"{LARGEST_BLOCK} are allowed: use StagewiseLeastSquaresClassifier, which takes them "
            f"in blocks (features=FeatureSubset() for sparse data)"
        )


def cholesky(A: Array) -> Array | None:
    """Lower triangle, or None where A is not positive definite."""
    xp = Place.of(A).xp
    try:
        L = xp.linalg.cholesky(A)
    except Exception as error:
        if (
            "LinAlgError" not in type(error).__name__
        ):  # NumPy's and PyTorch's have only that in common
            raise
        return None
    return L if bool(xp.all(xp.isfinite(L))) else None  # CuPy does not raise


# --- Algorithm 1 -----------------------------------------------------------------------------


def generalized(
    design: Design,
    link: Link,
    *,
    max_iter: int,
    tol: float,
    accelerated: bool,
    start: Array | None = None,
    past: Past | None = None,
) -> Iterator[Step]:
    """Generalized least squares: W ← W − M⁻¹ ∇, M = L Σ + ridge a majoriser of the Hessian (14).

    Accelerated: the step is taken from V = W + momentum (Nesterov's, in the metric of M; [LS] §4).
    Where the loss at V turns out higher than before, V is W, and the momentum starts anew: the loss
    never rises. With a link whose L = μ (identity) one step is all.
    """
    place = design.task.place
    G, B = design.moments(past, link)
    factor = design.factor(G, link.L)
    del G
    W = V = place.zeros(B.shape, place.float64) if start is None else start
    one_step = getattr(link, "mu", 0.0) == link.L
    before, gradient = np.inf, -B / design.total
    if start is not None:
        before, _, gradient = design.evaluate(W, past, link)
    momentum, settled = 1.0, False
    for number in range(1, max_iter + 1):
        old, W = W, V - factor.solve(gradient)
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        V = W + (momentum - 1) / after * (W - old) if accelerated and not one_step else W
        momentum = after
        loss, error, gradient = design.evaluate(V, past, link)
        if loss > before and V is not W:
            V, momentum = W, 1.0
            loss, error, gradient = design.evaluate(V, past, link)
        flat = before - loss <= tol * abs(loss)
        reason = None
        if one_step:
            reason = "solved"
        elif loss > before + 1e-6 * abs(before):  # of a plain step: those of momentum went back
            reason = "the loss rises: the link's L is too small"
        elif flat and (settled or not accelerated):
            reason = "converged"
        elif number == max_iter:
            reason = "max_iter"
        elif flat:  # with momentum this may be a crest: see whether a plain step is flat too
            W, momentum = V, 1.0
        settled = flat
        before = loss
        facts = {"loss": loss, "error": error}
        yield Step(number, V, facts, factor, reason)
        if reason:
            return


# --- Algorithm 2 -----------------------------------------------------------------------------


def calibrated(
    design: Design,
    basis: Basis,
    project: Projection,
    *,
    max_iter: int,
    tol: float,
    rounds: Sequence[Round] = (),
) -> Iterator[Step]:
    """Calibrated least squares: the link is found along with the weights.

    Each round fits the residual y − ŷ with the features (18), then what is still left with
    functions G of the predictions (19), and projects the result onto the simplex. Fitting what is
    left, and not y, puts the identity into G in any case, and a ridge then draws the calibration
    towards doing nothing, so that the loss never rises.
    """
    task, place, k = design.task, design.task.place, design.task.n_classes
    past = Rounds(design.map, tuple(rounds), None, basis, project, k)
    # Predictions of a class without weight are rounding, whose square this hides. Without it they
    # became features like others: two cuts of the same float64 rows differed by 0.3.
    least = 0.1 * float(place.xp.finfo(task.dtype).eps)
    factor = None
    before = np.inf
    for number in range(len(rounds) + 1, len(rounds) + max_iter + 1):
        if factor is None:
            G, B = design.moments(past)
            factor = design.factor(G)
            del G
        else:
            B = design.products(past)
        fit = design.linear(factor.solve(B / design.total))
        H, C = task.rows.add(powers, replace(past, fit=fit))
        A = Factor(H / design.total, least, noise=SCALE).solve(C / design.total)
        A = place.xp.astype(A, task.dtype)
        done = Round(fit, Linear(A[:-1, :], A[-1, :]))
        past = replace(past, rounds=(*past.rounds, done))
        facts = judged(task, [past], None)
        loss = facts["loss"]
        reason = None
        if before - loss <= tol * loss:
            reason = "converged"
        elif number == len(rounds) + max_iter:
            reason = "max_iter"
        before = loss
        yield Step(number, past.rounds, facts, factor, reason)
        if reason:
            return


def judged(task: Task, pasts: Sequence[Past], link: Link | None) -> dict[str, Any]:
    """Mean loss and error of the mean of the models."""
    loss, wrong = task.rows.add(judge, (tuple(pasts), task.n_classes, link))
    return {"loss": loss / task.total, "error": wrong / task.total}


# --- Algorithm 3 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Update:
    """How a stage is fitted."""

    link: Link | None  # of logistic regression; None: least squares
    max_iter: int  # inner iterations of logistic regression
    basis: Basis = ()  # of the predictions so far, features too


def stage(
    task: Task, map: FeatureMap, past: Stages, update: Update, alpha: float | None, intercept: bool
) -> tuple[Stage, Factor]:
    """Fit one block of features to what the predictions so far lack."""
    design = Design(task, map, alpha, intercept, update.basis)
    if update.link is not None:
        for step in generalized(
            design, update.link, max_iter=update.max_iter, tol=1e-4, accelerated=True, past=past
        ):
            W, factor = step.model, step.factor
    else:
        G, B = design.moments(past)
        factor = design.factor(G)
        del G
        W = factor.solve(B / design.total)
    return Stage(design.map, design.linear(W), update.basis), factor


def stagewise(
    task: Task,
    source: Source,
    update: Update,
    *,
    alpha: float | None,
    intercept: bool,
    block_size: int,
    n_stages: int,
    seed: int,
    sums: Sequence[tuple[Stage, ...]],
) -> Iterator[Step]:
    """Stagewise regression: one block of features after the other, for each model of its own.

    `sums` are the stages that each model has already.
    """
    pasts = [Stages(stages, task.n_classes, number) for number, stages in enumerate(sums)]
    for number in range(len(sums[0]) + 1, n_stages + 1):
        factors = []
        for m, past in enumerate(pasts):
            random = stream(seed, m, number)
            map = source.draw(block_size, random, partial(gradient, task, past, update.link))
            new, factor = stage(task, map, past, update, alpha, intercept)
            pasts[m] = replace(past, stages=(*past.stages, new))
            factors.append(factor)
        facts = judged(task, pasts, update.link)
        reason = "n_stages" if number == n_stages else None
        worst = max(factors, key=lambda factor: factor.dependent)
        yield Step(number, tuple(past.stages for past in pasts), facts, worst, reason)


def stream(seed: int, model: int, stage: int) -> np.random.RandomState:
    """Random numbers of one stage of one model, whatever was drawn before."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, model, stage])))


def gradient(task: Task, past: Past, link: Link | None) -> Any:
    """‖Σᵢ vᵢ rᵢ xᵢⱼ‖ for each column j of X, in NumPy."""
    (total,) = task.rows.add(slope, (past, task.n_classes, link))
    return np.linalg.norm(to_numpy(total), axis=1)
