"""From a few subsamples to all rows: straight lines on paper with logarithmic axes.

    log v(n) = a + b·log n + noise

Learning curves and training times are close to powers of the number of rows, over the factor of
ten or so that matters here. b has a prior, because two points with noise say little of it; points
far from where the line is asked for count less, because a power is only nearly right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_DRIFT = 0.07  # what a line is wrong by, for each factor e in n


@dataclass(frozen=True)
class Prior:
    slope: float
    spread: float
    highest: float = np.inf


ERRORS = Prior(-0.25, 0.15, highest=0.0)  # more rows do no harm
SECONDS = Prior(0.9, 0.2)


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
        self.last = float(np.log(n[-1]))
        x, v = np.log(n) - self.last, np.log(value)
        precision = 1 / (noise**2 + (_DRIFT * x) ** 2)
        # Minimise Σ precision (v − a − b·x)² + (b − slope)²/spread².
        A = np.array([[precision.sum(), precision @ x], [precision @ x, precision @ x**2]])
        A[1, 1] += 1 / prior.spread**2
        right = np.array([precision @ v, precision @ (x * v) + prior.slope / prior.spread**2])
        self.a, self.b = np.linalg.solve(A, right)
        if self.b > prior.highest:
            self.b = prior.highest
            self.a = float(precision @ (v - self.b * x) / precision.sum())
        self.covariance = np.linalg.inv(A)

    def at(self, n: float) -> Forecast:
        x = float(np.log(n)) - self.last
        direction = np.array([1.0, x])
        variance = direction @ self.covariance @ direction + (_DRIFT * x) ** 2
        return Forecast(float(self.a + self.b * x), float(np.sqrt(variance)))

    def where(self, value: float) -> float:
        """The n at which the line reaches a value."""
        slope = max(self.b, 0.1)
        return float(np.exp(min(self.last + (np.log(value) - self.a) / slope, 60.0)))
