"""Maps from rows to features: small frozen objects, which models keep.

How they come about is told in `multiplane.features`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from multiplane._arrays import Place, issparse, like, moved


@dataclass(frozen=True)
class FeatureMap:
    """Rows to features. Arrays are fields, in NumPy until `to` moves them."""

    @property
    def n_features(self) -> int:
        raise NotImplementedError

    @property
    def floats_per_row(self) -> int:
        """The most numbers that one row is turned into on the way: decides the size of chunks."""
        return self.n_features

    def __call__(self, rows: Any) -> Any:
        """Features (m, n_features) of rows (m, d), where the rows live, in their type of float."""
        raise NotImplementedError

    def to(self, place: Place) -> Self:
        return moved(self, place)


@dataclass(frozen=True)
class Same(FeatureMap):
    """The rows as they are."""

    n_inputs: int

    @property
    def n_features(self) -> int:
        return self.n_inputs

    def __call__(self, rows: Any) -> Any:
        return rows


@dataclass(frozen=True)
class Chain(FeatureMap):
    """One map after another."""

    first: FeatureMap
    then: FeatureMap

    @property
    def n_features(self) -> int:
        return self.then.n_features

    @property
    def floats_per_row(self) -> int:
        return max(self.first.floats_per_row, self.then.floats_per_row)

    def __call__(self, rows: Any) -> Any:
        return self.then(self.first(rows))

    def to(self, place: Place) -> Chain:
        return Chain(self.first.to(place), self.then.to(place))


@dataclass(frozen=True)
class Project(FeatureMap):
    """Vᵀ(x − μ): rows seen from their mean, along orthogonal axes."""

    mean: Any  # (n_inputs,)
    axes: Any  # (n_inputs, n_components)

    @property
    def n_features(self) -> int:
        return int(self.axes.shape[1])

    @property
    def floats_per_row(self) -> int:
        return int(self.axes.shape[0])

    def __call__(self, rows: Any) -> Any:
        mean, axes = like(self.mean, rows), like(self.axes, rows)
        if issparse(rows):  # centred, they would not be sparse
            return rows @ axes - mean @ axes
        return (rows - mean) @ axes


@dataclass(frozen=True)
class Fourier(FeatureMap):
    """√(2/n_features)·[cos xᵀω₁, …, sin xᵀω₁, …]."""

    weights: Any  # ω in columns, (n_inputs, cosines)
    n_sines: int  # as many as cosines, or one less

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[1]) + self.n_sines

    def __call__(self, rows: Any) -> Any:
        place = Place.of(rows)
        angles = rows @ like(self.weights, rows)  # (m, cosines)
        if place.is_numpy:
            # Straight into the halves: joining them afterwards costs a fifth of all.
            m, half = angles.shape
            features = np.empty((m, self.n_features), angles.dtype)
            np.cos(angles, out=features[:, :half])
            np.sin(angles[:, : self.n_sines], out=features[:, half:])
        else:
            xp = place.xp
            parts = [xp.cos(angles), xp.sin(angles[:, : self.n_sines])]
            features = xp.concat(parts, axis=1)
        features *= float(np.sqrt(2 / self.n_features))
        return features


@dataclass(frozen=True)
class Products(FeatureMap):
    """Products of `degree` linear functions each."""

    weights: Any  # (n_inputs, degree·n_features): first factors, second factors, …
    offsets: Any  # (degree·n_features,)
    degree: int

    @property
    def n_features(self) -> int:
        return int(self.offsets.shape[0]) // self.degree

    @property
    def floats_per_row(self) -> int:
        return int(self.offsets.shape[0])

    def __call__(self, rows: Any) -> Any:
        factors = rows @ like(self.weights, rows)
        factors += like(self.offsets, rows)
        p = self.n_features
        features = factors[:, :p]
        for start in range(p, self.degree * p, p):
            features = features * factors[:, start : start + p]
        return features


@dataclass(frozen=True)
class Logits(FeatureMap):
    """1/(1 + exp(−(wᵀx + b))) = ½ + ½ tanh(½(wᵀx + b)); the halves are in the weights already."""

    weights: Any  # ½w in columns, (n_inputs, n_features)
    offsets: Any  # ½b, (n_features,)

    @property
    def n_features(self) -> int:
        return int(self.offsets.shape[0])

    def __call__(self, rows: Any) -> Any:
        features = rows @ like(self.weights, rows)
        features += like(self.offsets, rows)
        features = Place.of(rows).xp.tanh(features)  # never overflows, and has a vector loop
        features *= 0.5
        features += 0.5
        return features


@dataclass(frozen=True)
class Columns(FeatureMap):
    """Some of the columns, in a given order. Of sparse rows they are sparse."""

    columns: Any  # (n_features,)

    @property
    def n_features(self) -> int:
        return int(self.columns.shape[0])

    def __call__(self, rows: Any) -> Any:
        if issparse(rows):
            return rows[:, self.columns]
        return Place.of(rows).xp.take(rows, self.columns, axis=1)


def floats_at_once(place: Place) -> int:
    """Numbers worth having in memory together."""
    on_cpu = place.is_numpy or "cpu" in str(place.device).lower()
    return 2**21 if on_cpu else 2**26  # 8 MB stay in a processor's cache


def chunk_size(map: FeatureMap, place: Place, others: int = 0) -> int:
    """Rows at a time, if a map and `others` make so many numbers of one."""
    return max(16, floats_at_once(place) // max(1, map.floats_per_row, others))
