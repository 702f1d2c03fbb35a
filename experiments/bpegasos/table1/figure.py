"""Budgeted Pegasos paper, Figure 1: accuracy on the checkerboard against rows, from results.json.

python -m experiments.bpegasos.table1.figure      # draws docs/bpegasos.png
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from .run import BUDGETS, RESULTS

PICTURE = Path(__file__).parents[3] / "docs" / "bpegasos.png"
# name, method, mode, colour and style; from the best to the worst, as in the legend
LINES = (
    ("merge", "merge", "ours", "C3", "-"),
    ("merge, not averaged", "merge", "paper", "C3", ":"),
    ("project", "project", "ours", "C0", "-"),
    ("project, not averaged", "project", "paper", "C0", ":"),
    ("no budget", "pegasos", "ours", "black", "-"),
    ("no budget, not averaged", "pegasos", "paper", "black", ":"),
    ("Projectron++", "projectron", "both", "C2", "-"),
    ("remove the smallest", "remove", "both", "C1", "-"),
    ("remove one at random", "random", "both", "C4", "-"),
)
TICKS = (50, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9)


def main() -> None:
    records = json.loads(RESULTS.read_text())["cells"]
    curves = {
        (r["method"], r["mode"], r["budget"]): r["curve"]
        for r in records
        if r["data"] == "checkerboard"
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
    for axis, budget in zip(axes, BUDGETS, strict=True):
        for label, method, mode, colour, style in LINES:
            curve = curves[method, mode, None if method == "pegasos" else budget]
            # Errors on a logarithmic axis, upside down: 99.8 and 99.9 % can be told apart.
            axis.plot(
                [point["rows"] for point in curve],
                [max(100 - point["accuracy"], 0.01) for point in curve],
                color=colour,
                linestyle=style,
                label=label,
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_yticks([100 - tick for tick in TICKS], [f"{tick:g} %" for tick in TICKS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.set_title(f"{budget} support vectors")
        axis.set_xlabel("rows learnt")
    axes[0].set_ylabel("test accuracy, 4×4 checkerboard")
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.savefig(PICTURE, dpi=80)
    print(PICTURE)


if __name__ == "__main__":
    main()
