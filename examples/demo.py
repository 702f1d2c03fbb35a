"""MultiplaneClassifier and relatives beside scikit-learn's LinearSVC and SVC: tables, a picture.

Run it with ``make demo``. The data is made here or ships with scikit-learn. MultiplaneClassifier is
left to itself; of the others λ is the default but for the checkerboard, where it is 1e-5.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    GAMMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    show_config,
)
from multiplane.datasets import make_checkerboard

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path("out/demo.png")
DRAWN = ("Multiplane", "scikit-learn SVC (RBF)", "GAMM", "AMM")


def models(alpha: float, C: float, gamma: float) -> dict[str, Any]:
    return {
        "Multiplane": MultiplaneClassifier(random_state=2),
        "Pegasos (linear)": PegasosClassifier(alpha=alpha, random_state=2),
        "AMM": AMMClassifier(alpha=alpha, random_state=2),
        "GAMM": GAMMClassifier(alpha=alpha, random_state=2),
        "Budgeted Pegasos (RBF)": BudgetedPegasosClassifier(
            alpha, gamma=gamma, budget=100, max_iter=5, random_state=2
        ),
        "scikit-learn LinearSVC": LinearSVC(random_state=0),
        "scikit-learn SVC (RBF)": SVC(C=C, gamma=gamma),
    }


def size(model: Any) -> str:
    """How large the model is, in its own units."""
    if hasattr(model, "support_vectors_"):
        return f"{len(model.support_vectors_)} support vectors"
    n = len(model.coef_)
    return f"{n} hyperplane{'s' * (n > 1)}"


def measure(model: Any, data: tuple[Any, ...]) -> str:
    X, X_test, y, y_test = data
    start = time.perf_counter()
    model.fit(X, y)
    trained = time.perf_counter() - start
    model.predict(X_test)  # once off the clock
    start = time.perf_counter()
    wrong = float(np.mean(model.predict(X_test) != y_test))
    each = 1e6 * (time.perf_counter() - start) / len(y_test)
    return f"{100 * wrong:7.2f} %  {trained:8.3f} s  {each:9.2f} µs  {size(model)}"


def compare(title: str, data: tuple[Any, ...], contestants: dict[str, Any]) -> None:
    print(f"\n{title}\n  {'':24}{'error':>9}{'training':>12}{'a row':>14}  model")
    for name, model in contestants.items():
        print(f"  {name:<24}{measure(model, data)}", flush=True)


def draw(contestants: dict[str, Any], X: Any, y: Any) -> None:
    """Decision regions with some of the data; where hyperplanes take over from one another, or the
    support vectors."""
    side = np.linspace(-1, 1, 400, dtype=np.float32)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    shape = (4 * len(DRAWN), 4.5)
    figure, axes = plt.subplots(1, len(DRAWN), figsize=shape, layout="constrained")
    for axis, name in zip(axes, DRAWN, strict=True):
        model = contestants[name]
        regions = model.predict(grid).reshape(len(side), len(side))
        axis.imshow(
            regions,
            extent=(-1, 1, -1, 1),
            origin="lower",
            cmap="coolwarm",
            alpha=0.55,
            vmin=0,
            vmax=1,
        )
        if hasattr(model, "apply"):
            winner = model.apply(grid).reshape(len(side), len(side))
            border = (winner[:-1, :-1] != winner[1:, :-1]) | (winner[:-1, :-1] != winner[:-1, 1:])
            axis.contour(side[:-1], side[:-1], border, levels=[0.5], colors="black", linewidths=0.7)
            axis.scatter(*X[:600].T, c=y[:600], cmap="coolwarm", s=6, linewidths=0)
        else:
            axis.scatter(*model.support_vectors_.T, c="black", s=8, linewidths=0)
        axis.set_title(f"{name}\n{size(model)}", fontsize=11)
        axis.set_xticks([])
        axis.set_yticks([])
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=80, bbox_inches="tight")


def main() -> None:
    show_config()
    X, y = make_checkerboard(4, 4, n=20_000, random_state=0)
    board = train_test_split(X, y, test_size=5_000, random_state=0)
    contestants = models(alpha=1e-5, C=100.0, gamma=10.0)
    compare("4×4 checkerboard, 15,000 rows", board, contestants)
    draw(contestants, X, y)

    X, y = load_digits(return_X_y=True)
    digits = train_test_split(
        (X / 16).astype(np.float32), y, test_size=0.4, stratify=y, random_state=0
    )
    compare("scikit-learn's digits, 1,078 rows", digits, models(alpha=1e-4, C=10.0, gamma=0.5))
    print(f"\nDecision regions on the checkerboard: {PICTURE}")


if __name__ == "__main__":
    main()
