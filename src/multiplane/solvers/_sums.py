"""What a part does for least squares: sums over its rows, and predictions that stay with it.

Functions of a `Local` and a state, which return tuples of sums (`multiplane.solvers._rows`).

    moments          G = Σ vᵢxᵢxᵢᵀ and B = Σ vᵢxᵢrᵢᵀ
    products         B alone
    evaluate         loss, mistakes and gradient of a linear function
    powers           moments of functions of the predictions
    judge            loss and mistakes of the predictions
    slope            B for the columns of X themselves
    column_sums, column_squares

Predictions (n × n_classes) are never sent anywhere. A state says what was learnt so far (`Past`),
and a part adds to its predictions what they do not contain yet: so they are updated, and so they
are made anew where they have been lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from multiplane._arrays import Place, chunks, dense
from multiplane.links import Link
from multiplane.models._least_squares import (
    Basis,
    Linear,
    Projection,
    Round,
    Stage,
    expand,
    within,
)
from multiplane.models._maps import FeatureMap, chunk_size
from multiplane.solvers._rows import Local

Array = Any


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


# --- predictions -----------------------------------------------------------------------------


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


# --- features --------------------------------------------------------------------------------


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


# --- sums ------------------------------------------------------------------------------------

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


def gram(F: Array) -> Array:
    """FᵀF, dense."""
    return dense(F.T @ F)


def scaled_rows(F: Array, scale: Array) -> Array:
    return F.multiply(scale).tocsr() if sp.issparse(F) else F * scale
