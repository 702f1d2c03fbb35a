"""GAMM paper, Figure 2: the 4×4 checkerboard and the regions that are learnt of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import CLASSES, save
from ...records import Record, mean, record
from ..classifiers import MODES, STANDARD, board, chosen

SIDE = 128  # pixels of a picture
COLUMNS = ("AMM", "GAMM", "Multiplane", "RBF-SVM")

PANELS = (
    (1, "b", ("AMM", "paper")),
    (2, "c", ("GAMM", "paper")),
    (3, "d", ("RBF-SVM", "peer")),
    (5, "e", ("AMM", "defaults")),
    (6, "f", ("GAMM", "defaults")),
    (7, "g", ("Multiplane", "defaults")),
)


def tasks(config: Config) -> list[Task]:
    modes = {column: MODES.get(column, ("peer",)) for column in COLUMNS}
    return [Task("4x4", column, mode) for column in COLUMNS for mode in modes[column]]


def measure(task: Task, config: Config) -> Iterator[Record]:
    X, y, _, _ = board("4x4", config["rows"], 0)
    model, choice = chosen(task.column, task.mode, X, y, config)
    accuracy, regions = [], ""
    seeds = list(range(config["repetitions"]))
    for seed in seeds:
        X, y, X_test, y_test = board("4x4", config["rows"], seed)
        fitted = protocol.seeded(model, seed).fit(X, y)
        accuracy.append(100 - protocol.error(fitted, X_test, y_test))
        regions = regions or packed(fitted.predict(grid()))
    yield record(*task, seeds=seeds, chosen=choice or None, curve=regions, accuracy=accuracy)


def grid() -> NDArray[np.float32]:
    """The centres of the pixels, row by row from below."""
    ticks = (np.arange(SIDE) + 0.5) * (2 / SIDE) - 1
    across, up = np.meshgrid(ticks, ticks)
    points = np.column_stack([across.ravel(), up.ravel()]) * STANDARD
    return points.astype(np.float32)


def packed(classes: NDArray[Any]) -> str:
    """A picture of two classes as text, eight pixels in two letters."""
    return np.packbits(classes == 1).tobytes().hex()


def unpacked(text: str) -> NDArray[np.uint8]:
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8))
    return bits[: SIDE * SIDE].reshape(SIDE, SIDE)


def draw(records: list[Record], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    panels = figure.subplots(2, 4).ravel()
    _, _, X, y = board("4x4", 3_000, 0)
    for code, colour in enumerate(CLASSES):
        panels[0].plot(*(X[y == code] / STANDARD).T, ".", color=colour, markersize=2.5)
    panels[0].set_title("(a) the data", fontsize=9)
    # The paper's three first; below them what is learnt with the defaults.
    found = {(r["column"], r["mode"]): r for r in records if "curve" in r}
    for place, letter, cell in PANELS:
        if cell in found:
            _draw_one(panels[place], found[cell], letter)
        else:
            panels[place].set_visible(False)
    panels[4].set_visible(False)
    for axes in panels:
        axes.set(xticks=[], yticks=[], xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    save(figure, path)


def _draw_one(axes: Any, each: Record, letter: str) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(
        unpacked(each["curve"]),
        cmap=ListedColormap(CLASSES),
        alpha=0.75,
        origin="lower",
        extent=(-1, 1, -1, 1),
        interpolation="nearest",
    )
    name = each["column"] + (", paper mode" if each["mode"] == "paper" else "")
    accuracy = each["quantities"]["accuracy"]["values"][0]
    axes.set_title(f"({letter}) {name}: {accuracy:.1f} %", fontsize=9)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    found = {(r["column"], r["mode"]): mean(r, "accuracy") for r in records}
    amm, gamm, rbf = found["AMM", "paper"], found["GAMM", "paper"], found["RBF-SVM", "peer"]
    return [
        ("AMM cannot solve this problem", amm < 80, f"{amm:.1f} % right"),
        (
            "GAMM separates the classes nearly perfectly",
            gamm >= 100 - 7.38 - 2 * 1.53,  # what it calls so: the error of its Table 1, and 2 sd
            f"{gamm:.1f} % right; in the paper's Table 1 92.6 ± 1.5",
        ),
        ("the RBF-SVM has nearly 99.9 %", rbf > 99.5, f"{rbf:.2f} %"),
    ]
