"""GAMM paper, Figure 1b: hyperplanes over a line of seven blocks, and their envelope."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane.datasets import make_xor_strip

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import CLASSES, save
from ...records import Record, mean, record
from ..classifiers import MODES, STANDARD, chosen

N_BLOCKS = 7


def tasks(config: Config) -> list[Task]:
    return [Task("1x7", "GAMM", mode) for mode in MODES["GAMM"]]


def strip(n: int, seed: int) -> tuple[Any, ...]:
    X, y = make_xor_strip(N_BLOCKS, n + n // 3, random_state=1000 + seed)
    X = X * STANDARD
    return X[:n], y[:n], X[n:], y[n:]


def measure(task: Task, config: Config) -> Iterator[Record]:
    X, y, _, _ = strip(config["rows"], 0)
    model, choice = chosen(task.column, task.mode, X, y, config)
    found: dict[str, list[float]] = {}
    pictured = None
    for seed in range(config["repetitions"]):
        X, y, X_test, y_test = strip(config["rows"], seed)
        fitted = protocol.seeded(model, seed).fit(X, y)
        # On [-1, 1], where the strip was before it was standardised.
        lines = np.column_stack([fitted.coef_ * STANDARD, fitted.intercept_])  # (m, 2)
        pictured = pictured or {
            "lines": lines.tolist(),
            "owner": fitted.hyperplane_class_.tolist(),
        }
        x, winner, height = envelope(lines)
        values = {
            "error": protocol.error(fitted, X_test, y_test),
            "hyperplanes": fitted.n_hyperplanes_,
            "hyperplanes in the envelope": len(set(winner.tolist())),
            "lowest point": float(x[height.argmin()]),
        }
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    seeds = list(range(config["repetitions"]))
    yield record(*task, seeds=seeds, chosen=choice, curve=pictured, **found)


def envelope(lines: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Along [-1, 1]: the place, the line that is above all others there, and its height."""
    x = np.linspace(-1, 1, 2001)
    heights = np.outer(x, lines[:, 0]) + lines[:, 1]
    return x, heights.argmax(axis=1), heights.max(axis=1)


def draw(records: list[Record], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(records), squeeze=False)[0]
    for axes, each in zip(panels, records, strict=True):
        _draw_one(axes, np.array(each["curve"]["lines"]), np.array(each["curve"]["owner"]))
        mode = "paper mode" if each["mode"] == "paper" else "defaults"
        error = each["quantities"]["error"]["values"][0]
        axes.set_title(f"GAMM, {mode}: error {error:.2f} %", fontsize=10, loc="left")
    save(figure, path, colours=48)


def _draw_one(axes: Any, lines: NDArray[Any], owner: NDArray[Any]) -> None:
    x, winner, height = envelope(lines)
    for block in range(N_BLOCKS):
        left = 2 * block / N_BLOCKS - 1
        axes.axvspan(left, left + 2 / N_BLOCKS, color=CLASSES[block % 2], alpha=0.12, linewidth=0)
    for j in set(range(len(lines))) - set(winner.tolist()):
        axes.plot([-1, 1], lines[j, 1] + lines[j, 0] * np.array([-1, 1]), color="0.75", lw=0.3)
    for j in set(winner.tolist()):
        colour, mine = CLASSES[owner[j]], winner == j
        axes.plot(x, lines[j, 0] * x + lines[j, 1], color=colour, lw=0.7, alpha=0.6)
        axes.plot(x[mine], height[mine], color=colour, lw=3, solid_capstyle="butt")
    room = 0.15 * (height.max() - height.min())
    axes.set_xlim(-1, 1)
    axes.set_ylim(height.min() - 3 * room, height.max() + room)
    axes.set_xlabel("x")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    each = next(r for r in records if r["mode"] == "paper")
    lowest = each["quantities"]["lowest point"]["values"]
    inside = sum(abs(x) < 3 / N_BLOCKS for x in lowest)
    idle = mean(each, "hyperplanes") - mean(each, "hyperplanes in the envelope")
    return [
        (
            "the envelope of the hyperplanes is lowest near the central block",
            inside == len(lowest),
            f"in it or in a block beside it in {inside} of {len(lowest)} repetitions, from "
            f"{min(lowest):.2f} to {max(lowest):.2f}",
        ),
        (
            "there are also hyperplanes below the envelope that decide nothing",
            idle > 0,
            f"{idle:.0f} of {mean(each, 'hyperplanes'):.0f}",
        ),
    ]
