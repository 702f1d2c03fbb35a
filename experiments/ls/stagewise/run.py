"""Least-squares paper, section 3.1: the least error of stagewise regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_letter, load_mnist
from multiplane.features import RandomFourier, RandomPolynomial

from ... import protocol
from ...catalogue import Config, Task
from ...records import Record, record
from .. import device


def tasks(config: Config) -> list[Task]:
    return [
        Task("mnist", "one model", "paper"),
        Task("mnist", "four models", "paper"),
        Task("letter", "one model", "paper"),
    ]


def model(row: str, column: str, config: Config) -> StagewiseLeastSquaresClassifier:
    features: Any = RandomPolynomial(degree=4, n_components=config["n_components"])
    stages = config["mnist_stages"]
    if row == "letter":
        features, stages = RandomFourier(width="0.35*median"), config["letter_stages"]
    n_models = config["n_models"] if column == "four models" else 1
    return StagewiseLeastSquaresClassifier(
        "calibrated", features, config["block"], stages, n_models
    )


def data(row: str, most: int) -> tuple[Any, ...]:
    load = load_letter if row == "letter" else load_mnist
    parts = load(return_X_y=True, download_if_missing=False)
    X, y, X_test, y_test = protocol.some_rows(parts, most)
    if row == "mnist":
        X, X_test = normalize(X), normalize(X_test)
    parts = X.astype(np.float32), y, X_test.astype(np.float32), y_test
    return tuple(map(device.put, parts))


def measure(task: Task, config: Config) -> Iterator[Record]:
    X, y, X_test, y_test = data(task.row, config["rows"])
    chosen, seeds = model(task.row, task.column, config), list(range(config["draws"]))
    device.timed_fit(chosen, X[:2000], y[:2000])  # libraries warm up
    runs = [device.timed_fit(protocol.seeded(chosen, seed), X, y) for seed in seeds]
    yield record(
        *task,
        seeds=seeds,
        chosen=device.described(chosen),
        conditions=device.conditions(),
        error=[device.error(fitted, X_test, y_test) for fitted, _ in runs],
        seconds=[seconds for _, seconds in runs],
    )
