"""Budgeted Pegasos paper, Figure 3: running time against the length of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...catalogue import Config, Task
from ...pictures import save
from ...records import Record, record
from ..curves import COLOURS
from ..learning import cut, find_eta, learn, make, parts
from ..streams import load

BUDGET = 500  # the larger of the paper's: where B and B² differ most
SLOW = ("no budget", "projection", "Projectron++")
Curve = list[list[float]]  # rows, seconds
TAIL = 8  # the slope is that of the last points, from an eighth of the longest stream on


def tasks(config: Config) -> list[Task]:
    return [Task("waveform", _column(method)) for method in COLOURS]


def _column(method: str) -> str:
    return method if method == "no budget" else f"{method}, {BUDGET}"


def measure(task: Task, config: Config) -> Iterator[Record]:
    data = load(task.row, config["rows"])
    method, _ = parts(task.column)
    most = config["slow_rows" if method in SLOW else "rows"]
    marks = [most // 2**i for i in range(20) if most // 2**i >= config["first"]][::-1]
    gamma, eta = config["width"] / data.n_features, None
    if method == "Projectron++":
        eta = find_eta(BUDGET, data.repetition(1_000)[0], most, data.classes, gamma)
    runs, vectors = [], []
    for _ in range(config["seeds"]):
        model = make(task.column, gamma, 0, config["alpha"], eta)
        if method != "Projectron++":
            model.set_params(average=False)
        blocks, _test = data.repetition(0)
        runs.append(learn(model, cut(blocks, most, marks), data.classes, marks))
        vectors.append(model.n_support_)
    fastest = np.min([[point["seconds"] for point in run.curve] for run in runs], axis=0)
    yield record(
        task.row,
        task.column,
        "paper",
        seeds=[0] * config["seeds"],
        curve=[list(point) for point in zip(marks, fastest.tolist(), strict=True)],
        seconds=[run.seconds for run in runs],
        support_vectors=vectors,
    )


def slope(curve: Curve) -> float:
    """In log-log, of the last part."""
    rows, seconds = np.log([point for point in curve if point[0] * TAIL >= curve[-1][0]]).T
    return float(np.polyfit(rows, seconds, 1)[0])


def microseconds(curve: Curve) -> list[float]:
    """A row, in each of the last two doublings: alike where the time grows linearly."""
    rows, seconds = np.transpose(curve[-3:])
    return list(1e6 * np.diff(seconds) / np.diff(rows))


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    curves = {parts(r["column"])[0]: r["curve"] for r in records}
    slopes = {method: slope(curve) for method, curve in curves.items()}
    costs = {method: microseconds(curve) for method, curve in curves.items()}
    linear = ("merging", "projection")
    return [
        (
            "without a budget the time grows fastest, about as N²",
            max(slopes, key=slopes.__getitem__) == "no budget" and slopes["no budget"] > 1.75,
            ", ".join(f"{method} N^{slope:.2f}" for method, slope in slopes.items()),
        ),
        (
            "with merging and with projection it grows linearly: the last rows cost what those "
            "before them cost, within a fifth",
            all(abs(costs[method][1] / costs[method][0] - 1) < 0.2 for method in linear),
            ", ".join(
                f"{method} {costs[method][0]:.1f} and {costs[method][1]:.1f} µs a row"
                for method in (*linear, "no budget")
            ),
        ),
        (
            "merging has the better constant",
            costs["merging"][1] < costs["projection"][1],
            f"{costs['projection'][1] / costs['merging'][1]:.0f} times",
        ),
    ]


def draw(records: list[Record], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for each in records:
        method, _ = parts(each["column"])
        label = f"{method}: $N^{{{slope(each['curve']):.2f}}}$"
        axis.plot(*zip(*each["curve"], strict=True), ".-", color=COLOURS[method], label=label)
    axis.set(xscale="log", yscale="log", xlabel="rows learnt", ylabel="training time in seconds")
    axis.set_title(f"waveform, budget {BUDGET}")
    axis.grid(alpha=0.3)
    figure.legend(loc="outside right center", frameon=False)
    save(figure, path, colours=64)
