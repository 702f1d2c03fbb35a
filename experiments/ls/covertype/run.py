"""Covertype: test error against training time, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_covtype
from multiplane.features import RandomFourier

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import save
from ...records import Record, record

Point = tuple[float, float]  # seconds, error in percent
Data = tuple[Any, Any, Any, Any]


def tasks(config: Config) -> list[Task]:
    nystroem = [f"Nyström {n} + SVM" for n in config["landmarks"]]
    peers = ("boosting, defaults", "boosting, not stopped early", *nystroem)
    return [
        Task("covertype", "stagewise", "defaults"),
        *(Task("covertype", peer, "peer") for peer in peers),
    ]


@lru_cache(maxsize=1)
def load(split: int, n: int, n_test: int) -> Data:
    X, y = load_covtype(return_X_y=True, download_if_missing=False)
    rows = np.random.RandomState(0).permutation(len(y))
    train, test = rows[:split][:n], rows[split:][:n_test]
    scale = StandardScaler().fit(X[train].astype(np.float64))

    def standard(rows: Any) -> Any:
        return scale.transform(X[rows].astype(np.float64)).astype(np.float32)

    return standard(train), y[train], standard(test), y[test]


def _data(config: Config) -> Data:
    return load(config["split"], config["rows"], config["test_rows"])


def held_out(data: Data, n: int, share: int) -> Data:
    X, y, *_ = data
    cut, end = n - n // share, n
    return X[:cut], y[:cut], X[cut:end], y[cut:end]


def least(options: Any, model: Callable[[Any], Any], data: Data) -> tuple[Any, dict[str, float]]:
    """The option with the least error on held-out rows, and all errors."""
    X, y, X_held, y_held = data
    errors = [protocol.error(model(option).fit(X, y), X_held, y_held) for option in options]
    table = {f"{option:g}": round(e, 2) for option, e in zip(options, errors, strict=True)}
    return options[int(np.argmin(errors))], table


# --- models -------------------------------------------------------------------------------------


def stagewise(width: float, n_stages: int, block: int) -> StagewiseLeastSquaresClassifier:
    return StagewiseLeastSquaresClassifier(
        "linear", RandomFourier(width=width), block, n_stages, random_state=0
    )


def nystroem(width: float, n_landmarks: int, C: float) -> Any:
    kernel = Nystroem(gamma=0.5 / width**2, n_components=n_landmarks, random_state=0)
    return make_pipeline(kernel, LinearSVC(C=C, dual=False, random_state=0))


def median_distance(X: Any) -> float:
    """Between two of a thousand rows."""
    return float(np.median(pairwise_distances(X[:1000])[np.triu_indices(len(X[:1000]), 1)]))


@lru_cache(maxsize=1)
def width(key: tuple[Any, ...]) -> tuple[float, float, dict[str, float]]:
    """Of the kernel, as a share of the median too; all errors on held-out rows."""
    config = dict(key)
    data = _data(config)
    median = median_distance(data[0])
    share, errors = least(
        config["widths"],
        lambda s: stagewise(s * median, config["choice_stages"], config["block"]),
        held_out(data, config["choice_rows"], config["held_out"]),
    )
    return share * median, share, errors


# --- curves -------------------------------------------------------------------------------------


def timed(model: Any, data: Data, curve_rows: int) -> tuple[Any, list[Point]]:
    X, y, X_test, y_test = data
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return model, [(seconds, protocol.error(model, X_test[:curve_rows], y_test[:curve_rows]))]


def stages(model: Any, data: Data, curve_rows: int) -> tuple[Any, list[Point]]:
    """Validation rows only watch: their scoring is not in the seconds, and nothing is chosen."""
    X, y, X_test, y_test = data
    model.fit(X, y, X_val=X_test[:curve_rows], y_val=y_test[:curve_rows])
    return model, [(h["seconds"], 100 * (1 - h["validation_score"])) for h in model.history_]


def boosting(trees: list[int], data: Data, curve_rows: int) -> tuple[Any, list[Point]]:
    model = HistGradientBoostingClassifier(early_stopping=False, warm_start=True, random_state=0)
    seconds, curve = 0.0, []
    for n in trees:
        _, [(more, error)] = timed(model.set_params(max_iter=n), data, curve_rows)
        seconds += more
        curve.append((seconds, error))
    return model, curve


def measure(task: Task, config: Config) -> Iterator[Record]:
    yield _measured(task, config)


def _measured(task: Task, config: Config) -> Record:
    data, shown = _data(config), config["curve_rows"]
    chosen: Any = None
    if task.column == "boosting, defaults":
        fitted, curve = timed(HistGradientBoostingClassifier(random_state=0), data, shown)
    elif task.column.startswith("boosting"):
        fitted, curve = boosting(config["trees"], data, shown)
    else:
        own, share, errors = width(protocol.hashable(config))
        if task.column == "stagewise":
            chosen = {"width": share, "held_out": errors}
            fitted, curve = stages(stagewise(own, config["stages"], config["block"]), data, shown)
        else:
            n = int(task.column.split()[1])
            few = held_out(data, config["nystroem_choice_rows"], config["held_out"])
            C, errors = least(config["Cs"], lambda C: nystroem(own, n, C), few)
            chosen = {"C": C, "held_out": errors}
            fitted, curve = timed(nystroem(own, n, C), data, shown)
    return record(
        *task,
        seeds=[0],
        chosen=chosen,
        curve=curve,
        error=[protocol.error(fitted, *data[2:])],
        seconds=[curve[-1][0]],
    )


def draw(records: list[Record], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    joined: dict[str, list[Point]] = {}
    for found in records:
        if "missing" not in found:
            name = found["column"]
            name = "Nyström + SVM" if name.startswith("Nyström") else name
            joined.setdefault(name, []).extend(found["curve"])
    for name, curve in joined.items():
        seconds, errors = zip(*curve, strict=True)
        axes.plot(seconds, errors, "o-", markersize=3, linewidth=1.2, label=name)
    axes.set(xscale="log", xlabel="seconds of training, one thread", ylabel="test error, %")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    save(figure, path)
