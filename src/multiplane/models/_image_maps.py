"""Maps from images to features: patches, filters, pooling, products ([LS] §3.2).

What they compute is told in `multiplane.features._patches`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane._arrays import Place, chunks, dense, like, numpy_dtype
from multiplane.models._maps import FeatureMap, floats_at_once

_FLOOR = 0.01  # added before the square root, which otherwise blows up rounding errors near zero


# --- where patches lie --------------------------------------------------------------------


@dataclass(frozen=True)
class Geometry:
    """Patches of an image whose row holds height × width × channels, channels running fastest."""

    height: int
    width: int
    channels: int
    patch: int
    stride: int
    pool: int

    @property
    def grid(self) -> tuple[int, int]:
        """Positions of patches, downwards and across."""
        return (
            (self.height - self.patch) // self.stride + 1,
            (self.width - self.patch) // self.stride + 1,
        )

    @property
    def positions(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def inputs(self) -> int:
        """Numbers in a patch."""
        return self.patch * self.patch * self.channels


@lru_cache(maxsize=8)
def patch_columns(geometry: Geometry, mirrored: bool = False) -> NDArray[np.int64]:
    """Which column of a row is which number of which patch, (positions, inputs).

    Of the image in a mirror, if so wanted.
    """
    g = geometry
    columns = np.arange(g.height * g.width * g.channels).reshape(g.height, g.width, g.channels)
    columns = columns[:, ::-1] if mirrored else columns
    windows = np.lib.stride_tricks.sliding_window_view(columns, (g.patch, g.patch), axis=(0, 1))
    windows = windows[:: g.stride, :: g.stride]  # (down, across, channels, patch, patch)
    return windows.transpose(0, 1, 3, 4, 2).reshape(g.positions, g.inputs).copy()


@lru_cache(maxsize=8)
def pooling_matrix(geometry: Geometry) -> NDArray[np.float64]:
    """Takes the mean over each cell of a pool × pool grid, (pool², positions)."""
    sides = []
    for n in geometry.grid:
        cell = np.arange(n) * geometry.pool // n
        member = (cell == np.arange(geometry.pool)[:, None]).astype(np.float64)  # (pool, n)
        sides.append(member / member.sum(axis=1, keepdims=True))
    return np.kron(*sides)


# --- maps ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooled(FeatureMap):
    """Rectified responses to filters, averaged over the cells of a grid.

    With b the offset and τ the threshold, the two rectified responses are

        max(r + b − τ, 0) = max(r, high) − high,    high = τ − b
        max(−r − b − τ, 0) = low − min(r, low),     low = −τ − b

    and the subtractions are done after pooling, on a hundredth of the numbers.
    """

    geometry: Geometry
    shift: float  # subtracted from all pixels, for the sake of rounding
    filters: Any  # (inputs, n_filters)
    high: Any  # (n_filters,)
    low: Any  # (n_filters,)
    flat: float | None  # added to the variance of a patch before it is divided by; None: it is not
    root: bool
    mirror: bool

    @property
    def n_features(self) -> int:
        return 2 * int(self.filters.shape[1]) * self.geometry.pool**2

    @property
    def floats_per_row(self) -> int:
        """Of what is alive from one step to the next. Patches are made for a few rows at a time."""
        g = self.geometry
        return max(self.n_features, g.height * g.width * g.channels)

    def __call__(self, rows: Any) -> Any:
        place, g = Place.of(rows), self.geometry
        dtype = numpy_dtype(rows)
        sides = (False, True) if self.mirror else (False,)
        columns = [place.put(patch_columns(g, mirrored).reshape(-1)) for mirrored in sides]
        cells = place.put(pooling_matrix(g).astype(dtype))
        mean = place.put(np.full(g.inputs, 1 / g.inputs, dtype))
        # Patches and their squares, responses, rectified responses.
        floats = g.positions * (2 * g.inputs + 2 * int(self.filters.shape[1]))
        size = max(1, floats_at_once(place) // floats)
        parts = [
            self._pool(dense(rows[part, :]), columns, cells, mean)
            for part in chunks(rows.shape[0], size)
        ]
        return parts[0] if len(parts) == 1 else place.xp.concat(parts)

    def _pool(self, rows: Any, columns: list[Any], cells: Any, mean: Any) -> Any:
        pooled = self._cells(rows, columns[0], cells, mean)
        for mirrored in columns[1:]:
            pooled = (pooled + self._cells(rows, mirrored, cells, mean)) / 2
        xp = Place.of(rows).xp
        return xp.sqrt(xp.clip(pooled, 0, None) + _FLOOR) if self.root else pooled

    def _cells(self, rows: Any, columns: Any, cells: Any, mean: Any) -> Any:
        xp, g, m = Place.of(rows).xp, self.geometry, rows.shape[0]
        P = xp.take(rows - self.shift, columns, axis=1)
        P = xp.reshape(P, (m * g.positions, g.inputs))
        R = P @ like(self.filters, rows)
        if self.flat is not None:
            variance = xp.clip((P * P) @ mean - (P @ mean) ** 2, 0, None)
            R /= xp.sqrt(variance + self.flat)[:, None]
        R = xp.reshape(R, (m, g.positions, R.shape[1]))
        high, low = like(self.high, rows), like(self.low, rows)
        up = cells @ xp.maximum(R, high) - high  # (m, pool², n_filters)
        down = low - cells @ xp.minimum(R, low)
        return xp.reshape(xp.concat([up, down], axis=2), (m, self.n_features))


@dataclass(frozen=True)
class Pairs(FeatureMap):
    """Inputs, standardised, and products of two of them, standardised too."""

    mean: Any  # of the inputs, (n_inputs,)
    scale: Any
    kept: Any  # which inputs are features, (n_kept,)
    left: Any  # factors of the products, (n_products,)
    right: Any
    product_mean: Any  # (n_products,)
    product_scale: Any

    @property
    def n_features(self) -> int:
        return int(self.kept.shape[0]) + int(self.left.shape[0])

    @property
    def floats_per_row(self) -> int:
        return int(self.mean.shape[0]) + self.n_features

    def __call__(self, rows: Any) -> Any:
        xp = Place.of(rows).xp
        Z = (rows - like(self.mean, rows)) * like(self.scale, rows)
        products = xp.take(Z, self.left, axis=1)
        products *= xp.take(Z, self.right, axis=1)
        products -= like(self.product_mean, rows)
        products *= like(self.product_scale, rows)
        return xp.concat([xp.take(Z, self.kept, axis=1), products], axis=1)
