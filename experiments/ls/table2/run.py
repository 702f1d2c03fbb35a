"""Least-squares paper, Table 2: stagewise regression on words beside VW and LIBLINEAR."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_news20, load_rcv1_topics
from multiplane.features import FeatureSubset

from ... import protocol
from ...catalogue import Config, Task
from ...records import Record, mean, record
from .. import peers

Data = tuple[Any, Any, Any, Any]
Trial = tuple[Any, float, float]  # what was chosen, test error in percent, processor seconds


def tasks(config: Config) -> list[Task]:
    rows = ("NEWS20", "NEWS20, tf-idf", "RCV1")
    modes = (
        ("Stagewise", "paper"),
        ("Stagewise", "defaults"),
        ("VW", "peer"),
        ("Liblinear", "peer"),
    )
    return [
        Task(row, column, mode)
        for row, (column, mode) in product(rows, modes)
        if (row, mode) != ("NEWS20, tf-idf", "paper")
    ]


# --- rows ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def posts(most: int) -> tuple[Any, Any]:
    """Both parts of NEWS20, as counts."""
    X, y, X_test, y_test = load_news20(return_X_y=True, download_if_missing=False)
    counts, y = sp.vstack([X, X_test], format="csr"), np.concatenate([y, y_test])
    rows = np.random.RandomState(0).permutation(len(y))[:most] if most else slice(None)
    return counts[rows], y[rows]


def split(row: str, seed: int, config: Config) -> Data:
    """Counts of NEWS20, values of RCV1."""
    if row == "RCV1":
        try:
            data = load_rcv1_topics(return_X_y=True, download_if_missing=False)
        except FileNotFoundError:
            raise FileNotFoundError("RCV1/*.pkl of scikit-learn's fetch_rcv1") from None
        return protocol.some_rows(data, config["most"])
    counts, y = posts(config["most"])
    rows = np.random.RandomState(seed).permutation(len(y))
    train, test = rows[: config["train_rows"]], rows[config["train_rows"] :]
    return counts[train], y[train], counts[test], y[test]


def inner(data: Data, share: int) -> Data:
    """The last of the training rows in the place of the test rows."""
    X, y, *_ = data
    n = len(y) - len(y) // share
    return X[:n], y[:n], X[n:], y[n:]


def values(row: str, data: Data, fewest: int) -> Data:
    """Counts to values; words and their weights are found in the training rows alone."""
    if row == "RCV1":
        return data
    X, y, X_test, y_test = data
    kept = np.asarray(X.sum(axis=0)).ravel() >= fewest
    X, X_test = X[:, kept].astype(np.float32), X_test[:, kept].astype(np.float32)
    if row == "NEWS20":
        return X.log1p(), y, X_test.log1p(), y_test
    weigh = TfidfTransformer(sublinear_tf=True).fit(X)
    return weigh.transform(X), y, weigh.transform(X_test), y_test


# --- learners -----------------------------------------------------------------------------------


def options(task: Task, config: Config) -> list[Any]:
    if task.column == "Liblinear":
        return list(config["Cs"])
    if task.column == "VW":
        return list(config["losses"])
    if task.mode == "paper":
        return [["gradient", config["lam"]]]
    return [list(pair) for pair in product(config["orders"], config["lams"])]


def trials(task: Task, option: Any, data: Data, seed: int, config: Config) -> Iterator[Trial]:
    """One option; of VW after each pass."""
    if task.column == "Liblinear":
        yield option, *peers.liblinear(data, f"-s 1 -c {option}", lambda: None)
    elif task.column == "VW":
        settings = f"{config['vw']} --loss_function {option}"
        runs = peers.vowpal_wabbit(data, settings, config["passes"], lambda: None)
        for passes, found in enumerate(runs, 1):
            yield [option, passes], *found
    else:
        X, y, X_test, y_test = data
        model = stagewise(task.row, option, X.shape, config).set_params(random_state=seed)
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        yield option, protocol.error(model, X_test, y_test), seconds


def stagewise(row: str, option: Any, shape: tuple[int, int], config: Config) -> Any:
    (order, lam), (n, d) = option, shape
    if row == "RCV1":
        features = FeatureSubset(order=order, reorder="block")
        block, stages = config["RCV1_block"], config["RCV1_stages"]
    else:
        features, block = FeatureSubset(order=order), config["NEWS20_block"]
        stages = config["NEWS20_passes"] * -(-d // block)
    return StagewiseLeastSquaresClassifier("linear", features, block, stages, alpha=lam / n)


def measure(task: Task, config: Config) -> Iterator[Record]:
    seeds = list(range(1 if task.row == "RCV1" else config["splits"]))
    found = [_run(task, seed, config) for seed in seeds]
    chosen, errors, seconds = (list(column) for column in zip(*found, strict=True))
    yield record(*task, seeds=seeds, chosen=chosen, error=errors, seconds=seconds)


def _run(task: Task, seed: int, config: Config) -> Trial:
    data, few = split(task.row, seed, config), config["fewest"]
    choices, chosen = options(task, config), None
    if len(choices) > 1 or task.column == "VW":
        held = values(task.row, inner(data, config["held_out"]), few)
        tried = [t for option in choices for t in trials(task, option, held, seed, config)]
        chosen = min(tried, key=lambda trial: trial[1])[0]
        choices = [chosen[0] if task.column == "VW" else chosen]
    whole = values(task.row, data, few)
    found = list(trials(task, choices[0], whole, seed, config))
    return next(trial for trial in found if chosen in (None, trial[0]))


# --- what the paper says ------------------------------------------------------------------------


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    found = {(r["column"], r["mode"]): r for r in records if r["row"] == "NEWS20"}
    ours = found.get(("Stagewise", "paper"))
    for column in ("VW", "Liblinear"):
        peer = found.get((column, "peer"))
        if ours is None or peer is None:
            continue
        errors = mean(ours, "error"), mean(peer, "error")
        yield (
            f"NEWS20: the stagewise error is below that of {column}",
            errors[0] < errors[1],
            "{:.2f} against {:.2f} %".format(*errors),
        )
        times = mean(ours, "seconds"), mean(peer, "seconds")
        yield (
            f"NEWS20: {column} is faster",
            times[1] < times[0],
            "{1:.1f} against {0:.1f} s".format(*times),
        )
