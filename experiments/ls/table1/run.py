"""Least-squares paper, Table 1: linear, logistic and calibrated regression on mnist."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from sklearn.preprocessing import normalize

from multiplane import CalibratedLeastSquaresClassifier, GeneralizedLeastSquaresClassifier
from multiplane.datasets import load_mnist
from multiplane.features import RandomFourier

from ... import protocol
from ...catalogue import Config, Task
from ...records import Record, mean, record
from .. import device

COLUMNS = ("Linear", "Logistic", "Calibrated")


def tasks(config: Config) -> list[Task]:
    return [
        Task(row, column, mode)
        for mode in ("paper", "defaults")
        for row in config["dims"]
        for column in COLUMNS
    ]


def default(column: str, features: Any) -> Any:
    if column == "Linear":
        return GeneralizedLeastSquaresClassifier("identity", features=features)
    if column == "Logistic":
        return GeneralizedLeastSquaresClassifier(features=features)
    return CalibratedLeastSquaresClassifier(features=features)


def candidates(row: str, column: str, config: Config) -> list[Any]:
    """What the paper does not tell: width, ridge and when to stop."""
    dims, raw = config["dims"][row], row == "raw pixels"
    generators = [
        RandomFourier(dims, width=width, n_components=config["n_components"])
        for width in config["widths"]
    ]
    return [
        default(column, features).set_params(alpha=alpha, **stop)
        for features in ([None] if raw else generators)
        for alpha in config["raw_alphas" if raw else "alphas"]
        for stop in _stops(column, raw, config)
    ]


def _stops(column: str, raw: bool, config: Config) -> list[dict[str, Any]]:
    most = {"max_iter": config["raw_max_iter"]} if raw else {}
    if column == "Linear":
        return [most]  # one step is all
    if column == "Logistic":
        return [{"tol": tol, **most} for tol in config["tols"]]
    rounds = [config["raw_max_iter"]] if raw else config["rounds"]
    return [{"max_iter": n, "tol": 1e-5} for n in rounds]


@lru_cache(maxsize=2)
def data(most: int, length: str) -> tuple[Any, ...]:
    parts = load_mnist(return_X_y=True, download_if_missing=False)
    X, y, X_test, y_test = protocol.some_rows(parts, most)
    if length == "of unit length":
        X, X_test = normalize(X), normalize(X_test)
    return tuple(map(device.put, (X, y, X_test, y_test)))


def least(choices: list[tuple[str, Any]], seeds: list[int], config: Config) -> tuple[str, Any]:
    """Length of rows and model with the least error on the last rows, over the same draws."""
    if len(choices) == 1:
        return choices[0]

    def held_out(choice: tuple[str, Any]) -> float:
        length, model = choice
        X, y, *_ = data(config["rows"], length)
        n = len(y) - len(y) // config["held_out"]
        fits = (device.timed_fit(protocol.seeded(model, s), X[:n], y[:n])[0] for s in seeds)
        return sum(device.error(fitted, X[n:], y[n:]) for fitted in fits)

    return min(choices, key=held_out)


def measure(task: Task, config: Config) -> Iterator[Record]:
    raw = task.row == "raw pixels"
    seeds = list(range(1 if raw else config["draws"]))
    if task.mode == "paper":
        models = candidates(task.row, task.column, config)
        lengths = ["as they are"] if raw else config["lengths"]
        choices = [(length, model) for length in lengths for model in models]
        length, model = least(choices, seeds, config)
    else:
        dims = config["dims"][task.row]
        features = None if raw else RandomFourier(dims, n_components=config["n_components"])
        length, model = "as they are", default(task.column, features)
    X, y, X_test, y_test = data(config["rows"], length)
    runs = [device.timed_fit(protocol.seeded(model, seed), X, y) for seed in seeds]
    yield record(
        *task,
        seeds=seeds,
        chosen=f"{device.described(model)}, rows {length}",
        conditions=device.conditions(),
        error=[device.error(fitted, X_test, y_test) for fitted, _ in runs],
        iterations=[fitted.n_iter_ for fitted, _ in runs],
        seconds=[seconds for _, seconds in runs],
    )


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    found = {(r["row"], r["column"]): mean(r, "error") for r in records if r["mode"] == "paper"}
    rows = dict.fromkeys(row for row, _ in found)
    if not rows or len(found) < len(COLUMNS) * len(rows):
        return
    for column in COLUMNS[1:]:
        pairs = [(found[row, column], found[row, "Linear"]) for row in rows]
        yield (
            f"{column.lower()} regression is better than linear on all features",
            all(ours < linear for ours, linear in pairs),
            ", ".join(f"{ours:.2f} against {linear:.2f} %" for ours, linear in pairs),
        )
    most = max(abs(found[row, "Logistic"] - found[row, "Calibrated"]) for row in rows)
    yield "logistic and calibrated errors are similar", most < 0.5, f"at most {most:.2f} apart"
