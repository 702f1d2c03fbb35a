"""Accuracy against the rows that were learnt: Figures 1 and 2, from the records of Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..pictures import save
from ..records import Record
from .learning import BUDGETS, is_averaged

# From the best to the worst, as in the legend; the same colours in all figures.
COLOURS = {
    "merging": "#d62728",
    "projection": "#1f77b4",
    "no budget": "black",
    "Projectron++": "#2ca02c",
    "smallest removed": "#ff7f0e",
    "random removal": "#9467bd",
}
TICKS = (80, 90, 95, 98, 99, 99.5, 99.8, 99.9)

Curves = dict[tuple[str, str], list[list[float]]]  # by column and mode: rows, accuracy


def curves(records: list[Record], row: str) -> Curves:
    found = (r for r in records if r["row"] == row and "curve" in r)
    return {(r["column"], r["mode"]): r["curve"] for r in found}


def draw(records: list[Record], path: Path, row: str, bayes: float) -> None:
    """`bayes` is the accuracy that nobody exceeds in the long run."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = curves(records, row)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for axis, budget in zip(axes, BUDGETS, strict=True):
        for method, colour in COLOURS.items():
            column = method if method == "no budget" else f"{method}, {budget}"
            axis.plot(*_points(found, column, "paper"), color=colour, label=method)
            if is_averaged(column):
                averaged = _points(found, column, "defaults")
                axis.plot(*averaged, color=colour, linestyle=":", label=f"{method}, averaged")
        axis.set(xscale="log", xlabel="rows learnt", title=f"budget {budget}")
        axis.grid(alpha=0.3)
        if bayes < 100:
            axis.axhline(bayes, color="gray", linewidth=0.8, linestyle="--", label="Bayes")
            axis.set_ylim(75, 88)
    if bayes == 100:  # errors on a logarithmic axis: the last tenths can be told apart
        axes[0].set_yscale("function", functions=(_logarithm, _power))
        axes[0].set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes[0].set_ylim(70, 99.92)
    axes[0].set_ylabel(f"test accuracy in %, {row}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    save(figure, path, colours=64)


def _points(found: Curves, column: str, mode: str) -> tuple[list[float], list[float]]:
    points = found.get((column, mode), [])
    return [rows for rows, _ in points], [accuracy for _, accuracy in points]


def _logarithm(accuracy: Any) -> Any:
    return -np.log10(np.maximum(100 - accuracy, 0.01))


def _power(position: Any) -> Any:
    return 100 - 10**-position


def claims(records: list[Record], row: str) -> list[tuple[str, bool, str]]:
    """In paper mode, at the end of each curve; the figures for both budgets."""
    found = curves(records, row)
    ends = {column: points[-1][1] for (column, mode), points in found.items() if mode == "paper"}

    def told(*methods: str) -> str:
        columns = [f"{method}, {budget}" for method in methods for budget in BUDGETS]
        return "; ".join(
            f"{column}: {ends[column]:.2f} after {found[column, 'paper'][-1][0]:,} rows"
            for column in ("no budget", *columns)
        )

    removed = ("random removal", "smallest removed")
    return [
        *(
            (
                f"{method} follows the learner without a budget and passes it at last (with 500)",
                ends[f"{method}, 500"] > ends["no budget"],
                told(method),
            )
            for method in ("merging", "projection")
        ),
        (
            "removal does not do well (with either budget)",
            all(ends[f"{m}, {b}"] < ends["no budget"] - 1 for m in removed for b in BUDGETS),
            told(*removed),
        ),
    ]
