"""Stages of random Fourier features on mnist, and how error and time go on from one to the next."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from sklearn.base import clone

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_mnist
from multiplane.features import RandomFourier

from .. import protocol
from .device import percent_wrong

UPDATES = ("linear", "calibrated", "logistic")
_WARM_ROWS = 1000

Point = tuple[int, float, float]  # features, processor seconds, test error in percent


@lru_cache(maxsize=1)
def mnist(most: int) -> tuple[Any, ...]:
    return protocol.some_rows(load_mnist(return_X_y=True, download_if_missing=False), most)


class Clock:
    """A callback: processor time at the end of each stage, which a busy machine does not change."""

    def __init__(self) -> None:
        self.start = time.process_time()
        self.seconds: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A stage begins where the last one ended."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if context.task_name == "stage":
            self.seconds.append(time.process_time() - self.start)


def stages(
    update: str, block: int, n_features: int, n_components: int, inner: int, seed: int, most: int
) -> list[Point]:
    """After each stage. Seconds are all that it takes: principal axes, width, features, fit."""
    X, y, X_test, y_test = mnist(most)
    model = StagewiseLeastSquaresClassifier(
        update,
        RandomFourier(n_components=n_components),
        block,
        n_features // block,
        max_inner=inner,
        random_state=seed,
    )
    clone(model).set_params(n_stages=1).fit(X[:_WARM_ROWS], y[:_WARM_ROWS])  # libraries warm up
    clock = Clock()
    model.set_callbacks(clock).fit(X, y)
    errors = [percent_wrong(labels, y_test) for labels in model.staged_predict(X_test)]
    counts = [block * (i + 1) for i in range(len(errors))]
    return list(zip(counts, clock.seconds, errors, strict=True))
