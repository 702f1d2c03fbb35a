"""Fitted least-squares models: rows to scores, chunk by chunk, wherever the rows live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multiplane._arrays import Place, chunks, dense, issparse, moved, to_numpy
from multiplane.models._maps import FeatureMap, Same, chunk_size

Array = Any
Basis = tuple[Callable[[Array], Array], ...]  # functions of predictions, entry by entry
Projection = Callable[[Array], Array]  # onto the simplex or the cube


def square(Y: Array) -> Array:
    return Y * Y


def cube(Y: Array) -> Array:
    return Y * Y * Y


def identity(Y: Array) -> Array:
    return Y


def expand(basis: Basis, Y: Array) -> Array:
    """G(Y): all functions of all predictions side by side, (m, |basis| · k)."""
    parts = [function(Y) for function in basis]
    return parts[0] if len(parts) == 1 else Place.of(Y).xp.concat(parts, axis=1)


class Model:
    """Something with arrays at one place, that can be had at another."""

    @property
    def place(self) -> Place:
        raise NotImplementedError

    def to(self, place: Place) -> Self:
        raise NotImplementedError

    def at(self, place: Place) -> Self:
        return self if place == self.place else self.to(place)


@dataclass(frozen=True)
class Linear:
    """Weights of features, and a constant: F W + b."""

    W: Array  # (p, k)
    b: Array  # (k,)

    def __post_init__(self) -> None:
        # A part of a solution lies in memory otherwise than its copy, and BLAS rounds otherwise
        # with it on some processors: what is saved would not predict the same to the last bit.
        if isinstance(self.W, np.ndarray):
            object.__setattr__(self, "W", np.ascontiguousarray(self.W))

    def __call__(self, F: Array) -> Array:
        return F @ self.W + self.b

    def to(self, place: Place) -> Linear:
        return moved(self, place)


@dataclass(frozen=True)
class Stage:
    """A block of features with its weights; predictions of the stages before may be features."""

    map: FeatureMap
    linear: Linear
    basis: Basis = ()

    def __call__(self, rows: Array, before: Array) -> Array:
        """What the stage adds to the scores."""
        F = self.map(rows)
        if self.basis:
            F = Place.of(before).xp.concat([dense(F), expand(self.basis, before)], axis=1)
        return self.linear(F)

    def to(self, place: Place) -> Stage:
        return replace(self, map=self.map.to(place), linear=self.linear.to(place))


def add_stages(P: Array, stages: tuple[Stage, ...], rows: Array) -> Array:
    """Scores P of rows, with some more stages added, chunk by chunk."""
    place = Place.of(P)
    for stage in stages:
        parts = [
            P[part, :] + stage(rows[part, :], P[part, :])
            for part in chunks(rows.shape[0], chunk_size(stage.map, place, 8 * P.shape[1]))
        ]
        P = parts[0] if len(parts) == 1 else place.xp.concat(parts)
    return P


@dataclass(frozen=True)
class StagewiseModel(Model):
    """The mean of sums of stages ([LS] Algorithm 3). One sum of one stage: a linear model."""

    input: FeatureMap
    sums: tuple[tuple[Stage, ...], ...]  # one for each model
    n_classes: int

    @property
    def place(self) -> Place:
        return Place.of(self.sums[0][0].linear.b)

    def to(self, place: Place) -> Self:
        sums = tuple(tuple(stage.to(place) for stage in stages) for stages in self.sums)
        return replace(self, input=self.input.to(place), sums=sums)

    def scores(self, X: Array) -> Array:
        """(n, n_classes)."""
        maps = [stage.map for stages in self.sums for stage in stages]
        widest = max(maps, key=lambda map: map.floats_per_row)
        k = self.n_classes
        return in_chunks(X, widest, lambda rows: self._scores(self.input(rows)), k)

    def _scores(self, rows: Array) -> Array:
        total: Array = 0
        for stages in self.sums:
            total = total + self.sum_of(stages, rows)
        return total / len(self.sums)

    def sum_of(self, stages: tuple[Stage, ...], rows: Array) -> Array:
        """One model's scores of rows that have gone through `input`."""
        return add_stages(self.nothing(rows), stages, rows)

    def nothing(self, rows: Array) -> Array:
        """Scores before the first stage."""
        b = self.sums[0][0].linear.b
        return Place.of(b).zeros((rows.shape[0], self.n_classes), b.dtype)


def within(P: Array) -> Array:
    """Predictions no further than 1 from where probabilities can be.

    What lies beyond says no more, and its cube could say anything. Nothing between 0 and 1 gets
    further away by it, so that the loss does not rise.
    """
    return Place.of(P).xp.clip(P, -1, 2)


@dataclass(frozen=True)
class Round:
    """One round of [LS] Algorithm 2: fit the residual (18), then calibrate (19)."""

    fit: Linear  # of the features
    calibration: Linear  # of functions of the predictions, added to them

    def to(self, place: Place) -> Round:
        return Round(self.fit.to(place), self.calibration.to(place))


@dataclass(frozen=True)
class CalibratedModel(Model):
    input: FeatureMap
    map: FeatureMap
    rounds: tuple[Round, ...]
    basis: Basis
    project: Projection

    @property
    def place(self) -> Place:
        return Place.of(self.rounds[0].fit.b)

    def to(self, place: Place) -> Self:
        rounds = tuple(r.to(place) for r in self.rounds)
        return replace(self, input=self.input.to(place), map=self.map.to(place), rounds=rounds)

    def scores(self, X: Array) -> Array:
        """Predictions before the last projection, which keeps their order."""
        return in_chunks(X, self.map, lambda rows: self._scores(self.map(self.input(rows))), self.k)

    @property
    def k(self) -> int:
        """Numbers on the way for each of eight: classes, times functions of predictions."""
        return int(self.rounds[0].fit.b.shape[0]) * len(self.basis)

    def _scores(self, F: Array) -> Array:
        P: Array = 0
        for number, r in enumerate(self.rounds):
            P = within((self.project(P) if number else P) + r.fit(F))
            P = P + r.calibration(expand(self.basis, P))
        return P


@dataclass(frozen=True)
class Standard(FeatureMap):
    """Columns about their means, in units of a power of two near their deviation.

    Sums of squares then neither leave float32 nor cancel, whatever the data's origin and units.
    Sparse rows are not moved: they would become dense. They do where the training rows were dense.
    """

    shift: Array  # (d,)
    scale: Array  # (d,)

    @property
    def n_features(self) -> int:
        return int(self.shift.shape[0])

    def __call__(self, rows: Array) -> Array:
        if issparse(rows) and not self.shift.any():
            return rows.multiply(self.scale[None, :]).tocsr()
        return (dense(rows) - self.shift) * self.scale

    @classmethod
    def of(cls, shift: Array, square: Array, dtype: np.dtype[Any]) -> Standard:
        """For columns with these means, and mean squares about them."""
        scale = near_power(to_numpy(square), to_numpy(shift), dtype)
        place = Place.of(shift)
        own = getattr(place.xp, dtype.name)
        return cls(place.xp.astype(shift, own), place.put(scale, own))


def near_power(square: Any, shift: Any, dtype: Any) -> Any:
    """A power of two near 1/√square: multiplying with it rounds nothing.

    0 for a column that did not vary but for the rounding of its mean: what it may be later cannot
    matter. Not so far out that its own square would leave the type of float.
    """
    if not np.all(np.isfinite(square)):
        raise ValueError("squares of X must be finite, but some are not: scale the features")
    varies = square > (64 * np.finfo(np.float64).eps * np.abs(shift)) ** 2
    most = 0.9 * np.log2(np.finfo(dtype).max)
    exponent = -np.round(np.log2(np.where(varies, square, 1.0)) / 2)
    return np.where(varies, 2.0 ** np.clip(exponent, -most, most), 0.0)


def through(input: FeatureMap, X: Array) -> Array:
    """All rows, mapped chunk by chunk."""
    return X if isinstance(input, Same) else in_chunks(X, input, input, input.n_features)


def in_chunks(X: Array, widest: FeatureMap, scores: Callable[[Array], Array], n_out: int) -> Array:
    place = Place.of(X)
    size = chunk_size(widest, place, 8 * n_out)
    parts = [scores(X[part, :]) for part in chunks(X.shape[0], size)]
    return parts[0] if len(parts) == 1 else place.xp.concat(parts)
