"""What several papers' files share: array types, the size of a chunk, checks of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Scores and rows are held in float64 for about this many numbers at a time (32 MiB).
CHUNK = 1 << 22


def encode(labels: ArrayLike, classes: NDArray[Any]) -> Ints:
    """Positions of the labels among the sorted classes."""
    labels = np.asarray(labels)
    if len(labels) == 0:
        return np.zeros(0, dtype=np.int64)
    position = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = classes[position] != labels
    if np.any(unknown):
        raise ValueError(
            f"y may contain the model's classes {classes.tolist()} alone, got "
            f"{labels[unknown].tolist()[0]!r} in row {int(np.flatnonzero(unknown)[0])}"
        )
    return position.astype(np.int64)


def pairs(b: Floats) -> float:
    """Σ_i b_i Σ_{j≠i} b_j."""
    return float(b.sum() ** 2 - np.sum(b**2))


def check_bound(version: str, versions: Sequence[str], T: int, alpha: float) -> None:
    if version not in versions:
        raise ValueError(f"version must be one of {', '.join(versions)}, got {version!r}")
    if T < 1 or alpha <= 0:
        raise ValueError(f"T must be at least 1 and alpha above 0, got {T} and {alpha}")


def threshold(prune_threshold: float | None) -> float:
    c = 0.0 if prune_threshold is None else float(prune_threshold)
    if c < 0:
        raise ValueError(f"prune_threshold must not be below 0, got {c}")
    return c


def check_risk(n_samples: int, norm: float, counts: ArrayLike, delta: float) -> Floats:
    b = np.asarray(counts, dtype=np.float64)
    if b.ndim != 1 or len(b) < 2 or np.any(b < 0):
        raise ValueError(f"counts must be the numbers of hyperplanes of two or more classes: {b}")
    if n_samples < 1 or norm < 0 or not 0 < delta < 1:
        raise ValueError(
            f"needed n_samples ≥ 1, norm ≥ 0 and 0 < delta < 1, got {n_samples}, {norm}, {delta}"
        )
    return b
