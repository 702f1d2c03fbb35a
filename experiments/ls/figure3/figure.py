"""Draws docs/cifar.png from results.json.

python -m experiments.ls.figure3.figure
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__)
LABELS = {
    "best": "patches as filters",
    "kmeans": "k-means filters, products",
    "random": "random filters, products",
}


def main() -> None:
    cells = json.loads(HERE.with_name("results.json").read_text())["cells"]
    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    for cell in cells:
        thousands = [n / 1000 for n in cell["features"]]
        axes.plot(thousands, cell["accuracy"], ".-", label=LABELS[cell["name"]])
    axes.axhline(85, color="0.6", lw=0.8, ls="--")
    axes.set(
        xlabel="features, thousands", ylabel="test accuracy, %", title="CIFAR-10, least squares"
    )
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(HERE.parents[3] / "docs" / "cifar.png", dpi=120)


if __name__ == "__main__":
    main()
