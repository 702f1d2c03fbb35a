"""Figure 3's panels: accuracy of all classifiers along one property of the data.

A panel's run.py tells its data; points, repetitions and grids are in its config.toml. Slow
classifiers are run at some of the points, a few times. All see the same data, so that differences
are taken within repetitions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import protocol
from ..catalogue import Config, Task
from ..pictures import save
from ..records import Record, record
from .classifiers import MODES, chosen

# (point, seed, config): X, y, X_test, y_test.
Data = Callable[[float, int, Config], tuple[Any, ...]]
Line = tuple[str, str]  # column, mode

# In the order of the legend: colour, style.
LINES: dict[Line, tuple[str, str]] = {
    ("Multiplane", "defaults"): ("#7b3294", "-"),
    ("GAMM", "defaults"): ("#b2182b", "--"),
    ("GAMM", "paper"): ("#b2182b", "-"),
    ("GAMM, ten times the rows", "paper"): ("#b2182b", ":"),
    ("AMM", "defaults"): ("#ef8a62", "--"),
    ("AMM", "paper"): ("#ef8a62", "-"),
    ("RBF-SVM", "peer"): ("#2166ac", "-"),
    ("NN", "peer"): ("#1b7837", "-"),
    ("random forest", "peer"): ("#7fbf7b", "-"),
    ("boosting", "peer"): ("#a6761d", "-"),
    ("LVQ2.1", "peer"): ("#666666", "-"),
    ("linear SVM", "peer"): ("#67a9cf", "-"),
    ("guess", "peer"): ("#bbbbbb", ":"),
}


def tasks(config: Config) -> list[Task]:
    return [
        Task(f"{point:g}", column, mode)
        for point in config["points"]
        for column in [*config["fast"], *config["slow"]]
        if column in config["fast"] or point in config["slow_points"]
        for mode in MODES.get(column, ("peer",))
    ]


def measure(task: Task, config: Config, data: Data) -> Iterator[Record]:
    point, slow = float(task.row), task.column in config["slow"]
    X, y, _, _ = data(point, 0, config)
    # A network that has not settled after 200 passes is as its makers' defaults leave it.
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model, choice = chosen(task.column, task.mode, X, y, config)
        seeds = list(range(config["slow_repetitions" if slow else "repetitions"]))
        accuracy = []
        for seed in seeds:
            X, y, X_test, y_test = data(point, seed, config)
            fitted = protocol.seeded(model, seed).fit(X, y)
            accuracy.append(100 - protocol.error(fitted, X_test, y_test))
    yield record(
        task.row, task.column, task.mode, seeds=seeds, chosen=choice or None, accuracy=accuracy
    )


class Curves:
    """What was found, to be looked up by point and line."""

    def __init__(self, records: list[Record]) -> None:
        self._values = {
            (float(r["row"]), (r["column"], r["mode"])): r["quantities"]["accuracy"]["values"]
            for r in records
            if "quantities" in r
        }

    def points(self, *lines: Line) -> list[float]:
        """Where all of these were measured."""
        everywhere = {point for point, _ in self._values}
        return sorted(p for p in everywhere if all((p, line) in self._values for line in lines))

    def mean(self, point: float, line: Line) -> float:
        return float(np.mean(self._values[point, line]))

    def lead(self, point: float, line: Line, other: Line) -> NDArray[np.float64]:
        """How much better than the other, by repetition, as far as both were run."""
        mine, theirs = self._values[point, line], self._values[point, other]
        n = min(len(mine), len(theirs))
        gaps: NDArray[np.float64] = np.array(mine[:n]) - np.array(theirs[:n])
        return gaps

    def band(self, line: Line) -> tuple[list[float], NDArray[Any], NDArray[Any]]:
        """Points, means and two standard deviations."""
        points = self.points(line)
        values = [self._values[point, line] for point in points]
        means = np.array([np.mean(each) for each in values])
        spread = np.array([2 * np.std(each, ddof=1) if len(each) > 1 else 0 for each in values])
        return points, means, spread


def draw(records: list[Record], path: Path, xlabel: str, title: str) -> None:
    from matplotlib.figure import Figure

    curves = Curves(records)
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for line, (colour, style) in LINES.items():
        points, means, spread = curves.band(line)
        if not points:
            continue
        column, mode = line
        name = f"{column}, paper mode" if mode == "paper" and "," not in column else column
        own = mode != "peer"
        # Bands of our own alone: a dozen would hide each other.
        if own:
            axes.fill_between(
                points, means - spread, means + spread, color=colour, alpha=0.1, linewidth=0
            )
        axes.plot(
            points,
            means,
            style,
            color=colour,
            marker="o" if own else "s",
            markersize=3,
            linewidth=1.6 if own else 1,
            label=name,
        )
    axes.set_xlabel(xlabel)
    axes.set_ylabel("test accuracy, %")
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    save(figure, path)


def listed(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.1f} ({name})" for name, value in values.items())
