"""Millions of deformed digits, round or not: rows are made when they are learnt, and not kept."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone

from multiplane.datasets import load_mnist, make_infinite_digits, round_digits

from .. import protocol
from ..catalogue import Config
from .classifiers import Choice

BLOCK = 10_000  # rows; of no consequence for the model
HELD_OUT = 10_000  # of the 60,000 images, the last: other writers, as in the test set
TRIAL_SEED = 1_000  # no run has it


def cell(model: Any, mode: str, config: Config) -> tuple[Choice, dict[str, list[float]]]:
    """λ by trials on fewer rows, then one pass over all of them, judged by the true test images.

    `config` names `alphas`, `trial_rows`, `rows` and `seeds`. Seconds are those of learning.
    """
    model = clone(model).set_params(average=mode == "defaults")
    _, _, X_test, y_test = mnist(config["download"])
    models = [clone(model).set_params(alpha=alpha) for alpha in config["alphas"]]
    errors = [trial(candidate, config) for candidate in models]
    best = models[int(np.argmin(errors))]
    found: dict[str, list[float]] = {"error": [], "seconds": [], "hyperplanes": []}
    for seed in range(config["seeds"]):
        fitted = protocol.seeded(best, seed)
        found["seconds"].append(learn(fitted, digits(seed, config["rows"])))
        found["error"].append(protocol.error(fitted, X_test, round_digits(y_test)))
        found["hyperplanes"].append(fitted.n_hyperplanes_)
    return {"alpha": best.alpha, "held_out": [round(error, 2) for error in errors]}, found


@lru_cache(maxsize=1)
def mnist(download: bool) -> tuple[Any, ...]:
    data: tuple[Any, ...] = load_mnist(return_X_y=True, download_if_missing=download)
    return data


@lru_cache(maxsize=1)
def digits(seed: int, n: int) -> Any:
    return make_infinite_digits(seed, n, block_size=BLOCK)


@lru_cache(maxsize=1)
def trial_digits(n: int, download: bool) -> Any:
    """Deformations of the images that are not held out."""
    from multiplane.datasets._digit_source import DigitSource

    X, y, _, _ = mnist(download)
    images = np.rint(255 * X[:-HELD_OUT]).astype(np.uint8)
    return DigitSource(images, y[:-HELD_OUT], TRIAL_SEED, n, BLOCK)


def trial(model: Any, config: Config) -> float:
    """Error (%) on the images that are held out, after deformations of the others."""
    fitted = protocol.seeded(model, TRIAL_SEED)
    learn(fitted, trial_digits(config["trial_rows"], config["download"]))
    X, y, _, _ = mnist(config["download"])
    return protocol.error(fitted, X[-HELD_OUT:], round_digits(y[-HELD_OUT:]))


def learn(model: Any, rows: Iterable[Any]) -> float:
    """One pass; seconds of the processor for it, without the making of the rows."""
    seconds = 0.0
    for X, y, _ in rows:
        start = time.process_time()
        model.partial_fit(X, round_digits(y), classes=[0, 1])
        seconds += time.process_time() - start
    return seconds
