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
D. *Predictions* (n × n_classes) stay with the parts. A step says what was learnt so far (`Past`),
   and a part adds to its predictions what they do not contain yet: so they are updated, and so they
   are made anew where they have been lost.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

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
from multiplane.solvers._rows import Local, Rows

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


# --- what a part does ------------------------------------------------------------------------


class Past(Protocol):
    """What was learnt so far, and with it the predictions for a part's rows."""

    def predictions(self, local: Local) -> Array:
        """(n, n_classes). The part keeps them and changes them in place."""
        ...


@dataclass(frozen=True)
class Stages:
    """The stages of one model. Their sum is remembered, and only new ones are added to it."""

    stages: tuple[Stage, ...]
    n_classes: int
    number: int = 0  # of the model

    def predictions(self, local: Local) -> Array:
        name = "predictions", self.number
        # Out of the memory while they are worked on: what was left half done is not found there.
        done, P = local.memory.pop(name, (0, None))
        if P is None or done > len(self.stages):
            done, P = 0, local.place.zeros((local.n, self.n_classes), local.X.dtype)
        for stage in self.stages[done:]:
            n_extra = len(stage.basis) * self.n_classes
            for part in in_parts(local, stage.map, self.n_classes + n_extra):
                P[part, :] += stage(local.X[part, :], P[part, :])
        local.memory[name] = len(self.stages), P
        return P


@dataclass(frozen=True)
class Rounds:
    """Rounds of calibration, and maybe the first half of the next one."""

    map: FeatureMap
    rounds: tuple[Round, ...]
    fit: Linear | None
    basis: Basis
    project: Projection
    n_classes: int

    def predictions(self, local: Local) -> Array:
        halves = [half for r in self.rounds for half in (r.fit, r.calibration)]
        halves += [] if self.fit is None else [self.fit]
        done, P = local.memory.pop("predictions", (0, None))
        if P is None or done > len(halves):
            done, P = 0, local.place.zeros((local.n, self.n_classes), local.X.dtype)
        fits = range(done + done % 2, len(halves), 2)
        for part in in_parts(local, self.map, self.n_classes, quiet=not fits):
            F = self.map(local.X[part, :]) if fits else None
            for number, half in enumerate(halves[done:], start=done):
                own = P[part, :]
                if number % 2:
                    P[part, :] = self.project(own + half(expand(self.basis, own)))
                else:
                    P[part, :] = within(own + half(F))
        local.memory["predictions"] = len(halves), P
        return P


def in_parts(local: Local, map: FeatureMap, n_others: int, quiet: bool = False) -> Iterator[slice]:
    """Chunks of rows, for so many features and `n_others` numbers beside them."""
    # Each chunk costs an addition of p × p numbers: some hundred rows are worth that.
    size = max(256, chunk_size(map, local.place, 8 * n_others))
    for part in chunks(local.n, size):
        yield part
        if not quiet:
            local.watch(part.stop, local.n)


@dataclass(frozen=True)
class Features:
    """How a part makes features, and knows what they are to predict."""

    map: FeatureMap
    intercept: bool
    n_classes: int
    basis: Basis = ()  # functions of the predictions so far, which are features too

    @property
    def n_features(self) -> int:
        """p."""
        return self.map.n_features + len(self.basis) * self.n_classes

    def of(self, local: Local, P: Array) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their features (m, p), dense or CSR."""
        n_others = self.n_classes * (1 + len(self.basis))
        for part in in_parts(local, self.map, n_others):
            F = self.map(local.X[part, :])
            if F.shape[1] != self.map.n_features:
                raise ValueError(
                    f"{type(self.map).__name__} must make {self.map.n_features} features of each "
                    f"row, as its n_features says, got {F.shape[1]}"
                )
            if self.basis:
                F = local.place.xp.concat([dense(F), expand(self.basis, P[part, :])], axis=1)
            yield part, F


def targets_of(local: Local, n_classes: int) -> Targets:
    values = local.recall("targets", lambda: local.place.put(local.y))
    return Targets(values, n_classes, local.X.dtype)


def weight_of(local: Local) -> Array | None:
    """In the rows' type of float, where they live."""
    return local.recall(
        "weight",
        lambda: None if local.weight is None else local.place.put(local.weight, local.X.dtype),
    )


def total_of(local: Local, values: Array) -> float:
    return float(local.place.xp.sum(values, dtype=local.place.float64))


def start(local: Local, past: Past | None, n_classes: int) -> tuple[Array, Any]:
    """Predictions so far, and a function that cuts them; without a past, zeros."""
    if past is None:
        place, dtype = local.place, local.X.dtype
        return None, lambda part: place.zeros((part.stop - part.start, n_classes), dtype)
    P = past.predictions(local)
    return P, lambda part: P[part, :]


Residual = tuple[Features, Past | None, Link | None]  # y − g(P); None: the identity


def moments(local: Local, state: Residual) -> tuple[Array, Array]:
    """G = Σ vᵢxᵢxᵢᵀ (p, p) and B = Σ vᵢxᵢrᵢᵀ (p, k), intercept included, in one pass."""
    features, past, link = state
    place, p, k = local.place, features.n_features, features.n_classes
    size = p + features.intercept
    targets, weights = targets_of(local, k), weight_of(local)
    P, so_far = start(local, past, k)
    G = place.zeros((size, size), place.float64)
    B = place.zeros((size, k), place.float64)
    for part, F in features.of(local, P):
        R = targets.rows(part) - (so_far(part) if link is None else link.link(so_far(part)))
        ones = place.xp.ones_like(R[:, :1])
        if weights is not None:  # half of the weight on each side keeps the product symmetric
            root = place.xp.sqrt(weights[part])[:, None]
            F, R, ones = scaled_rows(F, root), R * root, root
        G[:p, :p] += gram(F)
        if not features.intercept:
            B += F.T @ R
            continue
        last = F.T @ place.xp.concat([R, ones], axis=1)  # the constant feature's column too
        B[:p, :] += last[:, :k]
        G[:p, p] += last[:, k]
        B[p, :] += place.xp.sum(R * ones, axis=0)
        G[p, p] += place.xp.sum(ones * ones)
    if features.intercept:
        G[p, :p] = G[:p, p]
    return G, B


def products(local: Local, state: Residual) -> tuple[Array]:
    """B alone."""
    features, past, _ = state
    place, p, k = local.place, features.n_features, features.n_classes
    targets, weights = targets_of(local, k), weight_of(local)
    P, so_far = start(local, past, k)
    B = place.zeros((p + features.intercept, k), place.float64)
    for part, F in features.of(local, P):
        R = targets.rows(part) - so_far(part)
        R = R if weights is None else R * weights[part][:, None]
        B[:p, :] += F.T @ R
        if features.intercept:
            B[p, :] += place.xp.sum(R, axis=0)
    return (B,)


def evaluate(
    local: Local, state: tuple[Features, Past | None, Link, Linear]
) -> tuple[float, float, Array]:
    """Loss, weight of the mistakes and gradient of a linear function beside the predictions."""
    features, past, link, linear = state
    place, k = local.place, features.n_classes
    targets, weights = targets_of(local, k), weight_of(local)
    loss = wrong = 0.0
    B = place.zeros((features.n_features + features.intercept, k), place.float64)
    before, so_far = start(local, past, k)
    for part, F in features.of(local, before):
        Y, S = targets.rows(part), so_far(part) + linear(F)
        each = link.value(S) - place.xp.sum(Y * S, axis=1)
        P = link.link(S)
        R, error = P - Y, place.xp.astype(targets.mistakes(part, P), S.dtype)
        if weights is not None:
            weight = weights[part]
            each, error, R = each * weight, error * weight, R * weight[:, None]
        loss += total_of(local, each)
        wrong += total_of(local, error)
        B[: features.n_features, :] += F.T @ R
        if features.intercept:
            B[-1, :] += place.xp.sum(R, axis=0)
    return loss, wrong, B


def powers(local: Local, past: Rounds) -> tuple[Array, Array]:
    """Moments of functions of predictions, and of them with what is left of y.

    In float64: few columns, powers of each other.
    """
    place, k = local.place, past.n_classes
    xp, wide = place.xp, place.float64
    targets, P, weights = targets_of(local, k), past.predictions(local), weight_of(local)
    size = len(past.basis) * k + 1
    H, C = place.zeros((size, size), wide), place.zeros((size, k), wide)
    for part in in_parts(local, past.map, k, quiet=True):
        E = expand(past.basis, xp.astype(P[part, :], wide))
        E = xp.concat([E, xp.ones_like(E[:, :1])], axis=1)
        weighted = E if weights is None else E * xp.astype(weights[part], wide)[:, None]
        H += E.T @ weighted
        C += weighted.T @ xp.astype(targets.rows(part) - P[part, :], wide)
    return H, C


def judge(local: Local, state: tuple[Sequence[Past], int, Link | None]) -> tuple[float, float]:
    """Loss and weight of the mistakes of the mean of some models; without a link, squared loss."""
    pasts, k, link = state
    xp, dtype = local.place.xp, local.X.dtype
    P = [past.predictions(local) for past in pasts]
    targets, weights = targets_of(local, k), weight_of(local)
    loss = wrong = 0.0
    for part in chunks(local.n, 4096):
        S = sum(p[part, :] for p in P) / len(P)
        Y = targets.rows(part)
        if link is None:
            each = xp.sum((Y - S) ** 2, axis=1)
        else:
            each = link.value(S) - xp.sum(Y * S, axis=1)
            S = link.link(S)
        error = xp.astype(targets.mistakes(part, S), dtype)
        if weights is not None:
            each, error = each * weights[part], error * weights[part]
        loss += total_of(local, each)
        wrong += total_of(local, error)
    return loss, wrong


def slope(local: Local, state: tuple[Past, int, Link | None]) -> tuple[Array]:
    """Σᵢ vᵢ xᵢ rᵢᵀ for the columns of X themselves, (d, k)."""
    past, k, link = state
    place, weights, P = local.place, weight_of(local), past.predictions(local)
    targets = targets_of(local, k)
    total = place.zeros((local.X.shape[1], k), place.float64)
    for part in chunks(local.n, 4096):
        R = targets.rows(part) - (P[part, :] if link is None else link.link(P[part, :]))
        total += local.X[part, :].T @ (R if weights is None else R * weights[part][:, None])
    return (total,)


# --- standard columns ------------------------------------------------------------------------


def standard(task: Task, centred: bool) -> Standard:
    """The columns in standard units; about their means, if they are `centred` and not sparse."""
    place, rows = task.place, task.rows
    shift = place.zeros((rows.n_features,), place.float64)
    if centred and not rows.reading.sparse:
        shift = rows.add(column_sums)[0] / task.total
    square = rows.add(column_squares, shift)[0] / task.total
    return Standard.of(shift, square, rows.dtype)


def column_sums(local: Local, shift: None) -> tuple[Array]:
    return (_sums(local, lambda rows: rows),)


def column_squares(local: Local, shift: Array) -> tuple[Array]:
    if sp.issparse(local.X):
        weight = np.ones(local.n) if local.weight is None else local.weight
        return (local.X.astype(np.float64).power(2).T @ weight,)
    return (_sums(local, lambda rows: (rows - shift) ** 2),)


def _sums(local: Local, values: Callable[[Array], Array]) -> Array:
    """In float64, of columns of dense rows."""
    place, X = local.place, local.X
    xp, wide = place.xp, place.float64
    sums = place.zeros((X.shape[1],), wide)
    for part in chunks(local.n, max(16, 2**20 // X.shape[1])):
        rows = values(xp.astype(X[part, :], wide))
        if local.weight is not None:
            rows = rows * place.put(local.weight[part], wide)[:, None]
        sums += xp.sum(rows, axis=0)
    return sums


# --- what is done with their sums ------------------------------------------------------------


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
