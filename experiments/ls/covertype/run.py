"""Covertype: test error against training time, one thread; draws docs/covertype.png.

Of 500,000 random training rows the first 200,000 are used, for time; the other 81,012 rows are for
testing. All 54 columns are standardised. Stagewise least squares on random cosines stands beside
histogram gradient boosting and a Nyström map with a linear support vector machine of the same
kernel. The kernel's width and C are chosen on training rows (N_CHOICE of them, a fifth held out).

    python -m experiments.ls.covertype.run [--quick] [--only NAME]
    python -m experiments.ls.covertype.run --only figure     draws again from results.json
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_covtype
from multiplane.features import RandomFourier

from ... import protocol

RESULTS = Path(__file__).with_name("results.json")
PICTURE = Path(__file__).parents[3] / "docs" / "covertype.png"
N_SPLIT, N_USED, N_CHOICE = 500_000, 200_000, 50_000
N_CURVE = 20_000  # test rows on which curves are drawn; errors in the table are on all
BLOCK, N_STAGES = 1024, 30
WIDTHS = (1.0, 0.5, 0.3, 0.2, 0.1)  # times the median distance
N_LANDMARKS = (100, 250)
CS = (0.1, 1.0, 10.0)
TREES = (25, 50, 100, 200, 300)  # rounds of boosting

Point = tuple[float, float]  # seconds, error in percent
Data = tuple[Any, Any, Any, Any]


def load(n: int) -> Data:
    X, y = load_covtype(return_X_y=True)
    rows = np.random.RandomState(0).permutation(len(y))
    train, test = rows[:N_SPLIT][:n], rows[N_SPLIT:]
    scale = StandardScaler().fit(X[train].astype(np.float64))

    def standard(rows: Any) -> Any:
        return scale.transform(X[rows].astype(np.float64)).astype(np.float32)

    return standard(train), y[train], standard(test), y[test]


def median_distance(X: Any) -> float:
    """Between two of a thousand rows."""
    return float(np.median(pairwise_distances(X[:1000])[np.triu_indices(1000, 1)]))


def stagewise(width: float, n_stages: int) -> StagewiseLeastSquaresClassifier:
    return StagewiseLeastSquaresClassifier(
        "linear", RandomFourier(width=width), BLOCK, n_stages, random_state=0
    )


def nystroem(width: float, n_landmarks: int, C: float) -> Any:
    kernel = Nystroem(gamma=0.5 / width**2, n_components=n_landmarks, random_state=0)
    return make_pipeline(kernel, LinearSVC(C=C, dual=False, random_state=0))


def held_out(data: Data, n: int) -> Data:
    X, y, *_ = data
    cut, end = 4 * n // 5, n
    return X[:cut], y[:cut], X[cut:end], y[cut:end]


def least(options: Any, model: Callable[[Any], Any], data: Data) -> tuple[Any, dict[str, float]]:
    """The option with the least error on held-out rows, and all errors."""
    X, y, X_held, y_held = data
    errors = [protocol.error(model(option).fit(X, y), X_held, y_held) for option in options]
    table = {f"{option:g}": round(e, 2) for option, e in zip(options, errors, strict=True)}
    return options[int(np.argmin(errors))], table


# --- curves -----------------------------------------------------------------------------------


def timed(model: Any, data: Data) -> tuple[Any, list[Point]]:
    X, y, X_test, y_test = data
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return model, [(seconds, protocol.error(model, X_test[:N_CURVE], y_test[:N_CURVE]))]


def stages(model: Any, data: Data) -> tuple[Any, list[Point]]:
    """Validation rows only watch: their scoring is not in the seconds, and nothing is chosen."""
    X, y, X_test, y_test = data
    model.fit(X, y, X_val=X_test[:N_CURVE], y_val=y_test[:N_CURVE])
    curve = [(h["seconds"], 100 * (1 - h["validation_score"])) for h in model.history_]
    return model, curve


def boosting(n_trees: tuple[int, ...], data: Data) -> tuple[Any, list[Point]]:
    model = HistGradientBoostingClassifier(early_stopping=False, warm_start=True, random_state=0)
    seconds, curve = 0.0, []
    for n in n_trees:
        _, [(more, error)] = timed(model.set_params(max_iter=n), data)
        seconds += more
        curve.append((seconds, error))
    return model, curve


def contestants(data: Data, quick: bool) -> Any:
    """Names, what was chosen, and how to train."""
    inner = held_out(data, min(N_CHOICE, len(data[1])))
    median = median_distance(data[0])
    tenth = 2 if quick else 8  # stages on which the width is judged
    share, errors = least(WIDTHS, lambda s: stagewise(s * median, tenth), inner)
    width = share * median
    chosen = {"width": share, "held_out": errors}
    n_stages = 4 if quick else N_STAGES
    yield "stagewise", chosen, lambda: stages(stagewise(width, n_stages), data)
    default = HistGradientBoostingClassifier(random_state=0)
    yield "boosting, defaults", {}, lambda: timed(default, data)
    trees = (10,) if quick else TREES
    yield "boosting, not stopped early", {"rounds": trees}, lambda: boosting(trees, data)
    for n in (20,) if quick else N_LANDMARKS:
        small = held_out(data, min(N_CHOICE // 5, len(data[1])))
        C, errors = least(CS, lambda C, n=n: nystroem(width, n, C), small)
        chosen = {"C": C, "held_out": errors}
        yield f"Nyström {n} + SVM", chosen, lambda n=n, C=C: timed(nystroem(width, n, C), data)


# --- the record -------------------------------------------------------------------------------


def cell(name: str, chosen: dict[str, Any], train: Any, data: Data) -> dict[str, Any]:
    model, curve = train()
    return {
        "model": name,
        "error": round(protocol.error(model, *data[2:]), 3),
        "seconds": round(curve[-1][0], 2),
        "chosen": chosen,
        "curve": [[round(seconds, 2), round(error, 3)] for seconds, error in curve],
    }


def line(cell: dict[str, Any]) -> str:
    return (
        f"{cell['model']:<28} {cell['error']:6.2f} %  {cell['seconds']:7.1f} s   {cell['chosen']}"
    )


def draw() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    joined: dict[str, list[Any]] = {}
    for record in json.loads(RESULTS.read_text())["cells"]:
        name = "Nyström + SVM" if record["model"].startswith("Nyström") else record["model"]
        joined.setdefault(name, []).extend(record["curve"])
    for name, curve in joined.items():
        seconds, errors = zip(*curve, strict=True)
        axis.plot(seconds, errors, "o-", markersize=3, linewidth=1.2, label=name)
    axis.set_xscale("log")
    axis.set_xlabel("seconds of training, one thread")
    axis.set_ylabel("test error, %")
    axis.set_title(f"covertype, {N_USED:,} rows", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)
    figure.savefig(PICTURE, dpi=90)
    print(PICTURE)


def main() -> None:
    options = protocol.arguments(__doc__ or "")
    if options.only == "figure":
        draw()
        return
    data = load(10_000 if options.quick else N_USED)
    cells = []
    with threadpool_limits(1):
        for name, chosen, train in contestants(data, options.quick):
            if options.only in name:
                cells.append(cell(name, chosen, train, data))
                print(line(cells[-1]), flush=True)
    if not (options.quick or options.only):
        protocol.save(RESULTS, cells, rows=N_USED, block_size=BLOCK)
        draw()


if __name__ == "__main__":
    main()
