"""What a solver is judged by. It hands over predictions and does not see the labels of the test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def error(y: Any, predicted: Any) -> float:
    """Test error in percent."""
    predicted = np.asarray(predicted)
    if predicted.shape != y.shape:
        raise ValueError(
            f"predictions must have the shape {y.shape}, got {predicted.shape}; one code a row"
        )
    return float(100 * np.mean(predicted != y))


def pareto(cells: Iterable[dict[str, Any]]) -> set[str]:
    """Solvers of one data set that none beats in both error and training time."""
    best, chosen = np.inf, set()
    for cell in sorted(cells, key=lambda cell: (cell["seconds"], cell["error"])):
        if cell["error"] < best:
            best = cell["error"]
            chosen.add(cell["solver"])
    return chosen
