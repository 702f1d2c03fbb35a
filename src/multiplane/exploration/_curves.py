"""From a few subsamples to all rows: nearly straight lines on paper with logarithmic axes.

    log v(n) = a + b·x + noise,   x = (1 − exp(−k·log(n/m))) / k

m is the last number of rows at which v is known, and b the slope there. Times are powers of the
number of rows (k = 0, x = log(n/m)); learning curves get flatter on the way: on mnist, with 8,192
Fourier features, the slope is −0.43 between 1,400 and 4,200 rows, −0.28 between those and 12,700,
−0.17 beyond. (Less so where models grow with the rows: on covertype the flagship has −0.16 at 3,000
rows and −0.18 at 300,000.) b has a prior, because two points with noise say little of it; points
far from where the line is asked for count less, because it is only nearly right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Prior:
    slope: float
    spread: float
    drift: float  # what a line is wrong by, for each factor e in n
    highest: float = np.inf
    flattening: float = 0.0  # k


ERRORS = Prior(-0.25, 0.15, drift=0.07, highest=0.0)  # more rows do no harm
SECONDS = Prior(0.9, 0.2, drift=0.2)  # trials and the like end, models grow


@dataclass(frozen=True)
class Forecast:
    """exp(mean ± spread)."""

    mean: float
    spread: float

    @property
    def value(self) -> float:
        return float(np.exp(self.mean))

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        return float(np.exp(self.mean - z * self.spread)), float(
            np.exp(self.mean + z * self.spread)
        )


class Line:
    """Through (n, v, relative error of v)."""

    def __init__(self, points: Sequence[tuple[float, float, float]], prior: Prior) -> None:
        n, value, noise = np.asarray(points, dtype=np.float64).T
        self.last, self.prior = float(np.log(n[-1])), prior
        x, v = self._x(n), np.log(value)
        precision = 1 / (noise**2 + (prior.drift * x) ** 2)
        # Minimise Σ precision (v − a − b·x)² + (b − slope)²/spread².
        A = np.array([[precision.sum(), precision @ x], [precision @ x, precision @ x**2]])
        A[1, 1] += 1 / prior.spread**2
        right = np.array([precision @ v, precision @ (x * v) + prior.slope / prior.spread**2])
        self.a, self.b = np.linalg.solve(A, right)
        if self.b > prior.highest:
            self.b = prior.highest
            self.a = float(precision @ (v - self.b * x) / precision.sum())
        self.covariance = np.linalg.inv(A)

    def _x(self, n: Any) -> Any:
        x, k = np.log(n) - self.last, self.prior.flattening
        return -np.expm1(-k * x) / k if k else x

    def at(self, n: float) -> Forecast:
        x = float(self._x(n))
        direction = np.array([1.0, x])
        variance = direction @ self.covariance @ direction + (self.prior.drift * x) ** 2
        return Forecast(float(self.a + self.b * x), float(np.sqrt(variance)))

    def where(self, value: float) -> float:
        """The n at which a straight line reaches a value."""
        slope = max(self.b, 0.1)
        return float(np.exp(min(self.last + (np.log(value) - self.a) / slope, 60.0)))
