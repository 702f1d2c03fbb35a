"""AMM paper, Figure 2: error, time and hyperplanes of online AMM, pass by pass."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from multiplane import AMMClassifier

from ... import digits, protocol
from ...catalogue import Config, Task
from ...pictures import save
from ...records import Record, mean, record
from ..data import LOADERS, rows

DATA = (*digits.TASKS, *LOADERS)
PUBLISHED = ("mnist8m_bin", "url")
COLUMN = "AMM online"


def tasks(config: Config) -> list[Task]:
    return [Task(data, COLUMN, "paper") for data in DATA]


def measure(task: Task, config: Config) -> Iterator[Record]:
    curve, chosen = (of_digits if task.row in digits.TASKS else of_rows)(task.row, config)
    names = ("error", "seconds", "hyperplanes", "created", "pruned")
    last: dict[str, list[float]] = {name: [curve[name][-1]] for name in names}
    yield record(task.row, COLUMN, "paper", seeds=[0], chosen=chosen, curve=curve, **last)


def of_digits(data: str, config: Config) -> tuple[dict[str, list[float]], Any]:
    labels, n_passes = digits.TASKS[data], config["passes"]
    own, chosen = digits.chosen(AMMClassifier(), "paper", labels, n_passes, config)
    _, _, X_test, digits_test = digits.images()
    learner, curve = digits.learner(own, labels), Curve(X_test, labels(digits_test))
    every = config["digits"] // config["points"]
    source = digits.deformed(0, config["digits"])
    for n_rows in digits.passes(source, [learner], n_passes):
        if n_rows % every == 0:
            curve.add(n_rows / config["digits"], own, learner.seconds)
    return curve.values, chosen


def of_rows(data: str, config: Config) -> tuple[dict[str, list[float]], Any]:
    X, y, X_test, y_test = rows(data, config["rows"])
    model = AMMClassifier(max_iter=config["passes"], average=False)
    models = [clone(model).set_params(alpha=alpha) for alpha in config["alphas"]]
    best, errors = protocol.choose(models, X, y, config["folds"], config["fold_repeats"])
    model, curve = clone(best), Curve(X_test, y_test)
    classes, seconds = np.unique(y), 0.0
    for number in range(config["passes"]):
        order = np.random.RandomState(number).permutation(len(y))
        for k, part in enumerate(np.array_split(order, config["points"]), 1):
            start = time.process_time()
            model.partial_fit(X[part], y[part], classes)
            seconds += time.process_time() - start
            curve.add(number + k / config["points"], model, seconds)
    return curve.values, protocol.describe(best) | {"cross_validation": errors}


class Curve:
    """What is to be seen of a model while it learns."""

    def __init__(self, X_test: Any, y_test: Any) -> None:
        self.test = X_test, y_test
        self.values: dict[str, list[float]] = {}

    def add(self, passes: float, model: Any, seconds: float) -> None:
        now = model.history_[-1]
        point = {name: now[name] for name in ("hyperplanes", "created", "pruned")}
        point |= {"passes": passes, "seconds": seconds}
        point["error"] = protocol.error(model, *self.test)
        for name, value in point.items():
            self.values.setdefault(name, []).append(value)


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    for found in records:
        if found["row"] not in PUBLISHED:
            continue
        row, curve = found["row"], found["curve"]
        passes, error, seconds = (np.array(curve[n]) for n in ("passes", "error", "seconds"))
        first = int(np.argmax(passes >= 1))
        early, one, last = error[0], error[first], error[-1]
        yield (
            f"{row}: the error falls fast in the first pass, and somewhat more after it",
            bool(early - one > one - last >= 0),
            f"{early:.2f} % after {passes[0]:g} passes, {one:.2f} after 1, {last:.2f} after "
            f"{passes[-1]:g}",
        )
        times = seconds[-1] / seconds[first]
        yield (
            f"{row}: training time goes with the number of passes",
            bool(0.8 * passes[-1] < times < 1.2 * passes[-1]),
            f"{passes[-1]:g} passes take {times:.1f} times as long as one",
        )
        alive = curve["hyperplanes"]
        yield (
            f"{row}: pruning keeps the number of hyperplanes in check",
            bool(alive[-1] <= 1.2 * alive[first] and curve["pruned"][-1] > 0),
            f"{mean(found, 'created'):g} created, {mean(found, 'pruned'):g} pruned; "
            f"{alive[first]:g} after one pass, {alive[-1]:g} at the end",
        )


def draw(records: list[Record], path: Path) -> None:
    from matplotlib.figure import Figure

    shown = [found for found in records if "missing" not in found]
    figure = Figure(figsize=(9, 2.3 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 2, squeeze=False)
    for found, (left, right) in zip(shown, axes, strict=True):
        curve = found["curve"]
        left.plot(curve["passes"], curve["error"], "C0")
        left.set(title=found["row"], xlabel="passes", ylabel="test error, %", ylim=(0, None))
        clock = left.twinx()
        clock.plot(curve["passes"], curve["seconds"], "C1--")
        clock.set(ylabel="training time, s (dashed)", ylim=(0, None))
        for name, label in (("created", "created"), ("pruned", "pruned"), ("hyperplanes", "alive")):
            right.plot(curve["passes"], curve[name], label=label)
        right.set(title=found["row"], xlabel="passes", ylabel="hyperplanes", ylim=(0, None))
        right.legend(frameon=False)
    save(figure, path, colours=64)
