"""GAMM paper, Figure 3a: accuracy on the 4×4 checkerboard as labels become random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...catalogue import Config, Task
from ...records import Record
from .. import sweep
from ..classifiers import board
from ..sweep import Curves

GAMM, AMM = ("GAMM", "paper"), ("AMM", "paper")

tasks = sweep.tasks


def measure(task: Task, config: Config) -> Iterator[Record]:
    return sweep.measure(task, config, data)


def data(noise: float, seed: int, config: Config) -> tuple[Any, ...]:
    return board("4x4", config["rows"], seed, noise)


def draw(records: list[Record], path: Path) -> None:
    title = "4×4 checkerboard: accuracy without noise after training with it"
    sweep.draw(records, path, "share of training rows with a random label", title)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    curves = Curves(records)
    some, clean = curves.mean(0.25, GAMM), curves.mean(0, GAMM)
    # Where the mean lead is less than two of its standard errors, it may be chance.
    even = [p for p in curves.points(GAMM, AMM) if not _clear(curves.lead(p, GAMM, AMM))]
    return [
        (
            "GAMM is very robust to noise",
            clean - some <= 5,
            f"{clean:.1f} % without noise, {some:.1f} % with a quarter of the labels random",
        ),
        (
            "GAMM is clearly better than AMM until noise is prohibitively high",
            not even or even[0] > 0.5,
            f"by more than two standard errors up to a noise of {_last(curves, even):g}",
        ),
    ]


def _clear(lead: Any) -> bool:
    return bool(lead.mean() > 2 * lead.std(ddof=1) / np.sqrt(len(lead)))


def _last(curves: Curves, even: list[float]) -> float:
    points = curves.points(GAMM, AMM)
    return max((p for p in points if not even or p < even[0]), default=0)
