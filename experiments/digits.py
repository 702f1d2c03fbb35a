"""Millions of deformed digits: rows are made when they are learnt, and nothing is kept of them."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from multiplane.data import Examples, Matrix
from multiplane.datasets import load_mnist, make_infinite_digits, round_digits
from multiplane.estimators._monitor import Recorder
from multiplane.solvers._sgd import one_pass

from . import protocol
from .catalogue import Config

Labels = Callable[[Any], NDArray[Any]]  # from digits to classes 0, 1, …
TASKS: dict[str, Labels] = {"mnist8m_bin": round_digits, "mnist8m_mc": np.asarray}

BLOCK = 10_000  # rows; of no consequence for the models
HELD_OUT = 10_000  # of the 60,000 images, the last: other writers, as in the test set
TRIAL_SEED = 1_000  # no run has it


class Online:
    """A classifier that learns row after row; `seconds` of it, without the making of the rows."""

    def __init__(self, model: Any, labels: Labels) -> None:
        self.model, self.labels = model, labels
        self.classes = np.unique(labels(np.arange(10)))
        self.seconds = 0.0

    def pass_begins(self, number: int) -> None:
        pass

    def learn(self, X: NDArray[np.float32], digits: NDArray[Any]) -> None:
        y = self.labels(digits)
        start = time.process_time()
        self._learn(X, y)
        self.seconds += time.process_time() - start

    def _learn(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        self.model.partial_fit(X, y, self.classes)


class Batch(Online):
    """AMM's Algorithm 1, in which a row keeps its hyperplane for a pass, without all rows at hand.

    The first pass is an online one; its choices are recorded, and hold for the second. After that a
    row is assigned by the model that the pass began with, when it is its turn: by a copy of the
    learner, with the same outcome as if all rows had been assigned beforehand.
    """

    obey = False
    z: Any = None

    def __init__(self, model: Any, labels: Labels) -> None:
        super().__init__(model, labels)
        self._recorded: list[NDArray[np.int32]] = []  # of each block

    def pass_begins(self, number: int) -> None:
        self._number, self._block, self.obey = number, 0, number > 1
        if number < 3:
            return
        start, learner = time.process_time(), self.model._training.learner
        self._recorded = []
        # Rows for which no hyperplane of their class is above zero share the one in reserve.
        reserved = [learner.reserved_id(code) for code in range(len(self.classes))]
        self._reserved = np.array(reserved, dtype=np.int32)
        self._beginning = copy.deepcopy(learner)
        self.seconds += time.process_time() - start

    def _learn(self, X: NDArray[np.float32], y: NDArray[Any]) -> None:
        examples, model = Examples(Matrix(X), y.astype(np.int32)), self.model
        if not hasattr(model, "_training"):
            model.n_features_in_, model.classes_, model.history_ = X.shape[1], self.classes, []
            model._start(examples, len(self.classes), 0)
        self.z = self._assigned(examples)
        settings, recorder, training = model._settings(), Recorder(model.history_), model._training
        one_pass(
            training.learner, examples, examples.rows(), self, settings, recorder, training.tally
        )
        self._block += 1

    def _assigned(self, examples: Examples) -> NDArray[np.int32]:
        if self._number == 1:  # filled in as the rows are met
            self._recorded.append(np.full(len(examples), -1, dtype=np.int32))
        if self._number < 3:
            return self._recorded[self._block]
        (_, rows), *_ = examples.X.chunks()
        z: NDArray[np.int32] = self._beginning.assign(rows, examples.y, 1)
        return np.where(z < 0, self._reserved[examples.y], z)

    def prepare(self, *_: Any) -> None:
        """A solver's assignment has this; passes begin elsewhere here."""


def learner(model: Any, labels: Labels) -> Online:
    kind = Batch if getattr(model, "mode", "online") == "batch" else Online
    return kind(model, labels)


def passes(source: Any, learners: list[Online], n_passes: int) -> Iterator[int]:
    """Teach them all the same rows; after each block the number of rows so far is given."""
    n_rows = 0
    for number in range(1, n_passes + 1):
        for each in learners:
            each.pass_begins(number)
        for X, digits, _ in source:
            for each in learners:
                each.learn(X, digits)
            n_rows += len(digits)
            yield n_rows


@cache
def images() -> tuple[Any, ...]:
    """MNIST as it is: X, digits, X_test, digits_test."""
    return tuple(load_mnist(return_X_y=True))


@cache
def deformed(seed: int, n: int) -> Any:
    return make_infinite_digits(seed, n, block_size=BLOCK)


@cache
def trial_rows(n: int) -> Any:
    """Deformations of the images that are not held out."""
    from multiplane.datasets._digit_source import DigitSource

    X, y, _, _ = images()
    grey = np.rint(255 * X[:-HELD_OUT]).astype(np.uint8)
    return DigitSource(grey, y[:-HELD_OUT], TRIAL_SEED, n, BLOCK)


def held_out_error(trial: Online) -> float:
    """In %, on images that nothing was learnt of, as they are: by other writers, as in the test."""
    X, y, _, _ = images()
    return protocol.error(trial.model, X[-HELD_OUT:], trial.labels(y[-HELD_OUT:]))


def choose(models: list[Any], labels: Labels, n_passes: int, n: int) -> tuple[Any, list[float]]:
    """The candidate with the least error on held-out images after n rows; errors (%) of all."""
    trials = [learner(model, labels) for model in models]
    for _ in passes(trial_rows(n), trials, n_passes):
        pass
    errors = [held_out_error(trial) for trial in trials]
    return models[int(np.argmin(errors))], [round(error, 2) for error in errors]


def chosen(
    model: Any, mode: str, labels: Labels, n_passes: int, config: Config
) -> tuple[Any, dict[str, Any]]:
    """A model as it was, with λ by trials; and the choice for the record."""
    model = clone(model).set_params(average=mode == "defaults", random_state=0)
    models = [clone(model).set_params(alpha=alpha) for alpha in config["alphas"]]
    best, errors = choose(models, labels, n_passes, config["digit_trials"] // n_passes)
    return clone(best), {"alpha": best.alpha, "held_out": errors}


def cell(
    model: Any, labels: Labels, n_passes: int, config: Config
) -> dict[str, tuple[dict[str, Any], dict[str, list[float]]]]:
    """By mode: the choice, and error, seconds and hyperplanes after all rows.

    Both modes learn in one reading: rows take as long to be made as to be learnt.
    """
    picked = {mode: chosen(model, mode, labels, n_passes, config) for mode in ("paper", "defaults")}
    _, _, X_test, digits_test = images()
    found: dict[str, dict[str, list[float]]] = {mode: {} for mode in picked}
    for seed in range(config["digit_seeds"]):
        learners = {mode: learner(clone(best), labels) for mode, (best, _) in picked.items()}
        start = time.process_time()
        for _ in passes(deformed(seed, config["digits"]), list(learners.values()), n_passes):
            pass
        making = time.process_time() - start - sum(each.seconds for each in learners.values())
        for mode, each in learners.items():
            quantities = {
                "error": protocol.error(each.model, X_test, labels(digits_test)),
                "seconds": each.seconds,
                "hyperplanes": each.model.n_hyperplanes_,
            }
            for name, value in quantities.items():
                found[mode].setdefault(name, []).append(value)
            picked[mode][1].setdefault("seconds_of_making_rows", []).append(round(making, 1))
    return {mode: (picked[mode][1], found[mode]) for mode in picked}
