"""Least-squares paper, Figure 3: accuracy on CIFAR-10 by number of convolutional features."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_cifar10, load_cifar10_small
from multiplane.features import ConvolutionalPatches

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import save
from ...records import Record, mean, record
from .. import device

MASKS = {"random masks": "random", "k-means masks": "kmeans", "patches as masks": "patches"}
CLOSE_TO_400 = 512  # masks of a stage with products


def tasks(config: Config) -> list[Task]:
    return [
        Task(row, "stagewise", "defaults" if masks == "patches" else "paper")
        for row, masks in MASKS.items()
    ]


def model(row: str, config: Config) -> StagewiseLeastSquaresClassifier:
    own = config[MASKS[row]]
    shared = {name: config[name] for name in ("pool", "contrast", "threshold")}
    masks = ConvolutionalPatches(filters=MASKS[row], degree=own["degree"], mirror=True, **shared)
    return StagewiseLeastSquaresClassifier(
        "linear", masks, config["block"], own["stages"], alpha=own["alpha"], random_state=0
    )


def images(config: Config) -> tuple[Any, ...]:
    load = load_cifar10 if config["data"] == "full" else load_cifar10_small
    data = load(return_X_y=True, download_if_missing=False)
    return tuple(map(device.put, protocol.some_rows(data, config["rows"])))


def measure(task: Task, config: Config) -> Iterator[Record]:
    """By stage: the test images are looked at after each."""
    X, y, X_test, y_test = images(config)
    fitted, seconds = device.timed_fit(model(task.row, config), X, y)
    accuracy = [100 - device.percent_wrong(p, y_test) for p in fitted.staged_predict(X_test)]
    features = [fitted.block_size * (i + 1) for i in range(len(accuracy))]
    yield record(
        *task,
        seeds=[0],
        chosen=device.described(fitted),
        conditions=device.conditions(),
        curve=list(zip(features, accuracy, strict=True)),
        accuracy=[accuracy[-1]],
        seconds=[seconds],
    )


def draw(records: list[Record], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    for found in records:
        if "missing" not in found:
            features, accuracy = zip(*found["curve"], strict=True)
            thousands = [n / 1000 for n in features]
            axes.plot(thousands, accuracy, ".-", label=found["row"])
    axes.axhline(85, color="0.6", lw=0.8, ls="--")
    axes.set(xlabel="features, thousands", ylabel="test accuracy, %")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    save(figure, path)


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    found = {r["row"]: r for r in records}
    if len(found) < len(MASKS):
        return
    best = {row: mean(r, "accuracy") for row, r in found.items()}
    yield (
        "linear regression has over 85 %, and the training set is not enlarged (the paper's masks)",
        max(best["random masks"], best["k-means masks"]) > 85,
        ", ".join(f"{row} {accuracy:.2f} %" for row, accuracy in best.items()),
    )
    (_, first), (_, second) = found["k-means masks"]["curve"][:2]
    yield (
        "some 400 masks with products of features have over 80 %",
        first > 80,
        f"{first:.2f} % with {CLOSE_TO_400}, {second:.2f} % with {2 * CLOSE_TO_400} k-means masks",
    )
