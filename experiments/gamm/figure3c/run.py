"""GAMM paper, Figure 3c: accuracy on the weights data as the classes interlock more and more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...catalogue import Config, Task
from ...records import Record
from .. import sweep
from ..classifiers import weights
from ..sweep import Curves

GAMM, AMM = ("GAMM", "paper"), ("AMM", "paper")
RIVALS = [(name, "peer") for name in ("NN", "linear SVM", "RBF-SVM")]

tasks = sweep.tasks


def measure(task: Task, config: Config) -> Iterator[Record]:
    return sweep.measure(task, config, data)


def data(n_weights: float, seed: int, config: Config) -> tuple[Any, ...]:
    return weights(config["features"], int(n_weights), config["rows"], seed)


def draw(records: list[Record], path: Path) -> None:
    sweep.draw(records, path, "weights $n_w$", "weights data, 20 features")


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    curves = Curves(records)
    points = curves.points(GAMM, AMM, *RIVALS)
    few, many = points[0], points[-1]
    least = {line[0]: min(curves.lead(p, GAMM, line).mean() for p in points) for line in RIVALS}
    loss = curves.mean(few, AMM) - curves.mean(many, AMM)
    return [
        (
            "GAMM is better than the network and both SVMs throughout",
            min(least.values()) > 0,
            f"at least by {sweep.listed(least)} points",
        ),
        (
            "AMM falls sharply as weights are added",
            loss > 10,
            f"by {loss:.1f} points from {few:g} to {many:g} weights",
        ),
    ]
