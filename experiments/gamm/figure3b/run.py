"""GAMM paper, Figure 3b: accuracy on the weights data as features are added."""

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
RBF, NN, LINEAR, GUESS = ((name, "peer") for name in ("RBF-SVM", "NN", "linear SVM", "guess"))
WEAK = [(name, "peer") for name in ("boosting", "random forest", "LVQ2.1")]

# Not in the paper: whether GAMM falls for want of rows.
MORE = ("GAMM, ten times the rows", "paper")


def tasks(config: Config) -> list[Task]:
    more = [Task(f"{point:g}", *MORE) for point in config["slow_points"]]
    return sweep.tasks(config) + more


def measure(task: Task, config: Config) -> Iterator[Record]:
    if task[1:] != MORE:
        yield from sweep.measure(task, config, data)
        return
    larger = {"rows": 10 * config["rows"], "repetitions": config["slow_repetitions"]}
    for each in sweep.measure(Task(task.row, *GAMM), config | larger, data):
        yield each | {"column": task.column}


def data(n_features: float, seed: int, config: Config) -> tuple[Any, ...]:
    return weights(int(n_features), config["weights"], config["rows"], seed)


def draw(records: list[Record], path: Path) -> None:
    sweep.draw(records, path, "features D", "weights data, 50 hyperplanes")


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    curves = Curves(records)
    points = curves.points(AMM, NN, RBF, LINEAR)
    least = {
        line[0]: min(curves.lead(p, line, LINEAR).mean() for p in points) for line in (AMM, NN, RBF)
    }
    few, many = points[0], points[-1]
    ahead = curves.lead(few, RBF, GAMM).mean()
    loss = {line[0]: curves.mean(few, line) - curves.mean(many, line) for line in (GAMM, NN, RBF)}
    gaps = [curves.lead(p, GAMM, AMM).mean() for p in (few, many)]
    weak = {line[0]: curves.lead(many, line, GUESS).mean() for line in WEAK}
    return [
        (
            "AMM, the network and the RBF-SVM are much better than a linear SVM",
            min(least.values()) > 5,
            f"at least by {sweep.listed(least)} points",
        ),
        (
            f"with {few:g} features the RBF-SVM is slightly better than GAMM",
            ahead > 0,
            f"by {ahead:.1f} points",
        ),
        (
            "with more features the network and the RBF-SVM fall sharply, GAMM stays",
            loss["GAMM"] < min(loss["NN"], loss["RBF-SVM"]) and loss["GAMM"] < 5,
            f"from {few:g} to {many:g} features they lose {sweep.listed(loss)} points; 15,000 rows "
            f"are too few: with ten times as many GAMM has {curves.mean(many, MORE):.1f} % instead "
            f"of {curves.mean(many, GAMM):.1f} %",
        ),
        (
            "with many features AMM comes up to GAMM",
            gaps[1] < gaps[0] and gaps[1] <= 2,
            f"GAMM leads by {gaps[0]:.1f} points with {few:g} features, by {gaps[1]:.1f} with "
            f"{many:g}",
        ),
        (
            "boosting, random forest and LVQ2.1 are little better than a guess with many features",
            max(weak.values()) < 10,
            f"by {sweep.listed(weak)} points with {many:g}",
        ),
    ]
