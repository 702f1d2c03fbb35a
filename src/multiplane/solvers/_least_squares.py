"""Least squares, again and again: generalized, calibrated and stagewise ([LS] Algorithms 1 to 3).

    minimise   1/v Σᵢ vᵢ (Φ(Wxᵢ) − yᵢ·Wxᵢ)  +  ½ Σⱼ ridgeⱼ ‖Wⱼ‖²,     v = Σᵢ vᵢ

Given
    a `Design`: rows of features with targets yᵢ and weights vᵢ, chunk by chunk,
    a link g = ∇Φ (multiplane.links), or a basis to find one,
each solver is a generator: it yields a `Step` with the model after each iteration or stage, and a
reason in the last one. Whoever runs it may stop earlier.

A. *Sums.* Products of chunks are made in the features' own type of float, sums of them in float64.
   Features are made anew in each pass over the rows and never kept.
B. *One factorisation.* The majoriser M = L Σ + ridge (Σ the second moment of the features) does not
   depend on W: it is factored once for all iterations of a stage (`Factor`).
C. *The intercept* is one more feature, constant and without ridge: the last row of W.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from multiplane._arrays import (
    Place,
    add_to_diagonal,
    chunks,
    dense,
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
    expand,
    within,
)
from multiplane.models._maps import FeatureMap, chunk_size

Array = Any
LARGEST_BLOCK = 40_000  # 12.8 GB in float64
SCALE = 1e-5  # of a feature's mean square: the least ridge, unless alpha is given
CROWD = 0.2  # times (features / rows)³ is added: see decision 6
Watcher = Callable[[int, int], None]  # rows done, of how many


@dataclass(frozen=True)
class Step:
    """Where a solver stands."""

    number: int
    model: Any
    facts: dict[str, Any]
    factor: Factor  # of the features: whether they depend on each other
    reason: str | None = None  # of stopping here


@dataclass(frozen=True)
class Targets:
    """What is to be predicted: codes of classes (n,), or an indicator matrix (n, n_classes)."""

    values: Array
    n_classes: int
    dtype: Any

    def rows(self, part: slice) -> Array:
        """Y, shape (m, n_classes)."""
        xp = Place.of(self.values).xp
        if self.values.ndim == 2:
            return xp.astype(self.values[part, :], self.dtype)
        hot = self.values[part][:, None] == Place.of(self.values).put(range(self.n_classes))
        return xp.astype(hot, self.dtype)

    def mistakes(self, part: slice, S: Array) -> Array:
        """Where the highest score (or for several labels: any score's side of ½) is wrong."""
        xp = Place.of(S).xp
        if self.values.ndim == 2:
            return xp.any((S >= 0.5) != (self.values[part, :] != 0), axis=1)
        return xp.argmax(S, axis=1) != self.values[part]


@dataclass(frozen=True)
class Task:
    """All rows, before features are made of them."""

    X: Array  # (n, d), dense or CSR
    targets: Targets
    weight: Array | None  # (n,) in X's type; only ratios count
    n_rows: float  # that these rows stand for: the sum of the weights as they were given
    watch: Watcher = field(default=lambda done, total: None)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def place(self) -> Place:
        return Place.of(self.targets.values)

    @property
    def total(self) -> float:
        if self.weight is None:
            return float(self.n)
        return float(self.place.xp.sum(self.weight, dtype=self.place.float64))

    def part_of_weight(self, part: slice) -> Array | None:
        return None if self.weight is None else self.weight[part]


class Design:
    """Features of all rows, made whenever they are looked at."""

    def __init__(
        self,
        task: Task,
        map: FeatureMap,
        alpha: float | None,
        intercept: bool = True,
        extra: Callable[[slice], Array] | None = None,
        n_extra: int = 0,
    ) -> None:
        self.task, self.map, self.extra = task, map.to(task.place), extra
        self.alpha, self.intercept = alpha, intercept
        self.n_features = map.n_features + n_extra  # p
        self.sparse = sp.issparse(task.X)
        self.ridge: Array = None  # (p + intercept,), float64; known with the moments
        # Each chunk costs an addition of p × p numbers: some hundred rows are worth that.
        n_others = 8 * (task.targets.n_classes + n_extra)
        self.size = max(256, chunk_size(map, task.place, n_others))
        self.total = task.total
        check_gram_fits(self.n_features)

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their features (m, p), dense or CSR."""
        for part in chunks(self.task.n, self.size):
            F = self.map(self.task.X[part, :])
            if F.shape[1] != self.map.n_features:
                raise ValueError(
                    f"{type(self.map).__name__} must make {self.map.n_features} features of each "
                    f"row, as its n_features says, got {F.shape[1]}"
                )
            if self.extra is not None:
                F = self.task.place.xp.concat([dense(F), self.extra(part)], axis=1)
            yield part, F
            self.task.watch(part.stop, self.task.n)

    def scores(self, F: Array, W: Array) -> Array:
        """F W, and the intercept's row of W."""
        own = self.task.place.xp.astype(W, self.task.targets.dtype)
        return F @ own[: self.n_features, :] + (own[-1, :] if self.intercept else 0)

    def moments(self, residual: Callable[[slice], Array]) -> tuple[Array, Array]:
        """G = Σ vᵢxᵢxᵢᵀ (p, p) and B = Σ vᵢxᵢrᵢᵀ (p, k), intercept included, in one pass."""
        place, p = self.task.place, self.n_features
        size, k = p + self.intercept, self.task.targets.n_classes
        G = place.zeros((size, size), place.float64)
        B = place.zeros((size, k), place.float64)
        for part, F in self:
            R = residual(part)
            ones = place.xp.ones_like(R[:, :1])
            weight = self.task.part_of_weight(part)
            if weight is not None:  # half of the weight on each side keeps the product symmetric
                root = place.xp.sqrt(weight)[:, None]
                F, R, ones = scaled_rows(F, root), R * root, root
            G[:p, :p] += gram(F)
            if not self.intercept:
                B += F.T @ R
                continue
            last = F.T @ place.xp.concat([R, ones], axis=1)  # the constant feature's column too
            B[:p, :] += last[:, :k]
            G[:p, p] += last[:, k]
            B[p, :] += place.xp.sum(R * ones, axis=0)
            G[p, p] += place.xp.sum(ones * ones)
        if self.intercept:
            G[p, :p] = G[:p, p]
        self.ridge = self._ridge(place.xp.linalg.diagonal(G) / self.total)
        return G, B

    def _ridge(self, square: Array) -> Array:
        """Of features with these mean squares; none for the intercept."""
        crowd = min(1.0, SCALE + CROWD * (self.n_features / self.task.n_rows) ** 3)
        ridge = square * crowd
        if self.alpha is None and self.sparse:
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

    def products(self, residual: Callable[[slice], Array]) -> Array:
        """B alone."""
        place, p = self.task.place, self.n_features
        B = place.zeros((p + self.intercept, self.task.targets.n_classes), place.float64)
        for part, F in self:
            R, weight = residual(part), self.task.part_of_weight(part)
            R = R if weight is None else R * weight[:, None]
            B[:p, :] += F.T @ R
            if self.intercept:
                B[p, :] += place.xp.sum(R, axis=0)
        return B

    def linear(self, W: Array) -> Linear:
        """W as part of a model."""
        own = self.task.place.xp.astype(W, self.task.targets.dtype)
        b = own[-1, :] if self.intercept else self.task.place.xp.zeros_like(own[0, :])
        return Linear(own[: self.n_features, :], b)

    def factor(self, G: Array, L: float = 1.0) -> Factor:
        """M = L Σ + ridge, factored; G is used up."""
        G *= L / self.total
        eps = float(self.task.place.xp.finfo(self.task.targets.dtype).eps)
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

    def __init__(self, M: Array, ridge: Array, noise: float, constant: bool = False) -> None:
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


def gram(F: Array) -> Array:
    """FᵀF, dense."""
    return dense(F.T @ F)


def scaled_rows(F: Array, scale: Array) -> Array:
    return F.multiply(scale).tocsr() if sp.issparse(F) else F * scale


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
    offset: Array | None = None,
) -> Iterator[Step]:
    """Generalized least squares: W ← W − M⁻¹ ∇, M = L Σ + ridge a majoriser of the Hessian (14).

    Accelerated: the step is taken from V = W + momentum (Nesterov's, in the metric of M; [LS] §4).
    Where the loss at V turns out higher than before, V is W, and the momentum starts anew: the loss
    never rises. With a link whose L = μ (identity) one step is all.
    """
    task, place = design.task, design.task.place
    k = task.targets.n_classes

    def start_scores(part: slice) -> Array:
        if offset is not None:
            return offset[part, :]
        return place.zeros((part.stop - part.start, k), task.targets.dtype)

    def evaluate(W: Array) -> tuple[float, float, Array]:
        """Loss, share of mistakes, gradient."""
        loss = wrong = 0.0
        B = place.zeros((design.n_features + design.intercept, k), place.float64)
        for part, F in design:
            Y, S = task.targets.rows(part), start_scores(part) + design.scores(F, W)
            weight = task.part_of_weight(part)
            each = link.value(S) - place.xp.sum(Y * S, axis=1)
            P = link.link(S)
            R, error = P - Y, place.xp.astype(task.targets.mistakes(part, P), S.dtype)
            if weight is not None:
                each, error, R = each * weight, error * weight, R * weight[:, None]
            loss += float(place.xp.sum(each, dtype=place.float64))
            wrong += float(place.xp.sum(error, dtype=place.float64))
            B[: design.n_features, :] += F.T @ R
            if design.intercept:
                B[-1, :] += place.xp.sum(R, axis=0)
        penalty = 0.5 * float(place.xp.sum(design.ridge[:, None] * W * W))
        gradient = B / design.total + design.ridge[:, None] * W
        return loss / design.total + penalty, wrong / design.total, gradient

    G, B = design.moments(lambda part: task.targets.rows(part) - link.link(start_scores(part)))
    factor = design.factor(G, link.L)
    del G
    W = V = place.zeros(B.shape, place.float64) if start is None else start
    one_step = getattr(link, "mu", 0.0) == link.L
    before, gradient = np.inf, -B / design.total
    if start is not None:
        before, _, gradient = evaluate(W)
    momentum, settled = 1.0, False
    for number in range(1, max_iter + 1):
        old, W = W, V - factor.solve(gradient)
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        V = W + (momentum - 1) / after * (W - old) if accelerated and not one_step else W
        momentum = after
        loss, error, gradient = evaluate(V)
        if loss > before and V is not W:
            V, momentum = W, 1.0
            loss, error, gradient = evaluate(V)
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
    predictions: Array | None = None,
) -> Iterator[Step]:
    """Calibrated least squares: the link is found along with the weights.

    Each round fits the residual y − ŷ with the features (18), then what is still left with
    functions G of the predictions (19), and projects the result onto the simplex. Fitting what is
    left, and not y, puts the identity into G in any case, and a ridge then draws the calibration
    towards doing nothing, so that the loss never rises.
    """
    task, place = design.task, design.task.place
    k, dtype = task.targets.n_classes, task.targets.dtype
    P = place.zeros((task.n, k), dtype) if predictions is None else predictions
    done = list(rounds)
    factor = None
    before = np.inf
    for number in range(len(done) + 1, len(done) + max_iter + 1):
        if factor is None:
            G, B = design.moments(lambda part: task.targets.rows(part) - P[part, :])
            factor = design.factor(G)
            del G
        else:
            B = design.products(lambda part: task.targets.rows(part) - P[part, :])
        W = factor.solve(B / design.total)
        # Functions of predictions, and y, in float64: few columns, powers of each other.
        size = len(basis) * k + 1
        H, C = place.zeros((size, size), place.float64), place.zeros((size, k), place.float64)
        for part, F in design:
            P[part, :] = within(P[part, :] + design.scores(F, W))
            E = expand(basis, place.xp.astype(P[part, :], place.float64))
            E = place.xp.concat([E, place.xp.ones_like(E[:, :1])], axis=1)
            weight = task.part_of_weight(part)
            weighted = E if weight is None else E * place.xp.astype(weight, E.dtype)[:, None]
            H += E.T @ weighted
            C += weighted.T @ place.xp.astype(task.targets.rows(part) - P[part, :], E.dtype)
        none = place.zeros((size,), place.float64)
        A = Factor(H / design.total, none, noise=SCALE).solve(C / design.total)
        calibration = Linear(place.xp.astype(A[:-1, :], dtype), place.xp.astype(A[-1, :], dtype))
        loss = wrong = 0.0
        for part in chunks(task.n, design.size):
            Y = task.targets.rows(part)
            P[part, :] = project(P[part, :] + calibration(expand(basis, P[part, :])))
            each = place.xp.sum((Y - P[part, :]) ** 2, axis=1)
            error = place.xp.astype(task.targets.mistakes(part, P[part, :]), dtype)
            weight = task.part_of_weight(part)
            if weight is not None:
                each, error = each * weight, error * weight
            loss += float(place.xp.sum(each, dtype=place.float64)) / design.total
            wrong += float(place.xp.sum(error, dtype=place.float64)) / design.total
        done.append(Round(design.linear(W), calibration))
        reason = None
        if before - loss <= tol * loss:
            reason = "converged"
        elif number == len(rounds) + max_iter:
            reason = "max_iter"
        before = loss
        facts = {"loss": loss, "error": wrong}
        yield Step(number, tuple(done), facts, factor, reason)
        if reason:
            return


# --- Algorithm 3 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Update:
    """How a stage is fitted: "linear", "calibrated" or "logistic"."""

    kind: str
    link: Link  # of "logistic"
    max_iter: int  # inner iterations of "logistic"
    basis: Basis = ()  # of the predictions so far, features of "calibrated"


def stage(
    task: Task,
    map: FeatureMap,
    P: Array,
    update: Update,
    alpha: float | None,
    intercept: bool,
) -> tuple[Stage, Array, Factor]:
    """Fit one block of features to what the predictions P lack, and add it to them."""
    n_extra = len(update.basis) * task.targets.n_classes
    extra = (lambda part: expand(update.basis, P[part, :])) if update.basis else None
    design = Design(task, map, alpha, intercept, extra, n_extra)
    if update.kind == "logistic":
        for step in generalized(
            design, update.link, max_iter=update.max_iter, tol=1e-4, accelerated=True, offset=P
        ):
            W, factor = step.model, step.factor
    else:
        G, B = design.moments(lambda part: task.targets.rows(part) - P[part, :])
        factor = design.factor(G)
        del G
        W = factor.solve(B / design.total)
    for part, F in design:
        P[part, :] += design.scores(F, W)
    return Stage(design.map, design.linear(W), update.basis), P, factor


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
    sums: Sequence[Sequence[Stage]],
    predictions: Sequence[Array],
) -> Iterator[Step]:
    """Stagewise regression: one block of features after the other, for each model of its own.

    `sums` are the stages that each model has already, `predictions` (n, k) what they add up to.
    """
    models, P = [list(stages) for stages in sums], list(predictions)
    for number in range(len(models[0]) + 1, n_stages + 1):
        factors = []
        for m, stages in enumerate(models):
            random = stream(seed, m, number)
            own = P[m]
            slope = partial(gradient, task, own, update)
            map = source.draw(block_size, random, slope)
            new, P[m], factor = stage(task, map, own, update, alpha, intercept)
            stages.append(new)
            factors.append(factor)
        facts = judge(task, P, update)
        reason = "n_stages" if number == n_stages else None
        worst = max(factors, key=lambda factor: factor.dependent)
        yield Step(number, tuple(tuple(stages) for stages in models), facts, worst, reason)


def stream(seed: int, model: int, stage: int) -> np.random.RandomState:
    """Random numbers of one stage of one model, whatever was drawn before."""
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, model, stage])))


def residual(task: Task, part: slice, P: Array, update: Update) -> Array:
    g = update.link.link(P[part, :]) if update.kind == "logistic" else P[part, :]
    return task.targets.rows(part) - g


def gradient(task: Task, P: Array, update: Update) -> Any:
    """‖Σᵢ vᵢ rᵢ xᵢⱼ‖ for each column j of X, in NumPy."""
    total: Array = 0
    for part in chunks(task.n, 4096):
        R, weight = residual(task, part, P, update), task.part_of_weight(part)
        total = total + task.X[part, :].T @ (R if weight is None else R * weight[:, None])
    return np.linalg.norm(to_numpy(total), axis=1)


def judge(task: Task, P: Sequence[Array], update: Update) -> dict[str, Any]:
    """Mean loss and error of the mean of the models."""
    xp, dtype = task.place.xp, task.targets.dtype
    loss = wrong = 0.0
    for part in chunks(task.n, 4096):
        S = sum(p[part, :] for p in P) / len(P)
        Y = task.targets.rows(part)
        if update.kind == "logistic":
            each = update.link.value(S) - xp.sum(Y * S, axis=1)
            S = update.link.link(S)
        else:
            each = xp.sum((Y - S) ** 2, axis=1)
        error = xp.astype(task.targets.mistakes(part, S), dtype)
        weight = task.part_of_weight(part)
        if weight is not None:
            each, error = each * weight, error * weight
        loss += float(xp.sum(each, dtype=task.place.float64))
        wrong += float(xp.sum(error, dtype=task.place.float64))
    return {"loss": loss / task.total, "error": wrong / task.total}
