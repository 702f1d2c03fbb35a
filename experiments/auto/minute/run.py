"""AutoClassifier in a minute, beside each family at its best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.model_selection import train_test_split

from multiplane import AutoClassifier, Exploration, datasets
from multiplane.exploration._race import fitted

from ...catalogue import Config, Task
from ...flagship.errors.run import Split, bundled, covertype
from ...protocol import error, some_rows
from ...records import Record, mean, missing, record

OURS = "AutoClassifier"
ALLOWED = 1.1  # times the best family's error


def waveform(seed: int) -> Split:
    X, y = datasets.load_waveform(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    return X, y, X_test, y_test


LOAD: dict[str, Callable[[int], Split]] = {
    **{name: bundled(name) for name in ("letter", "ijcnn1", "a9a", "usps", "news20", "mnist")},
    "waveform": waveform,
    "cifar10-small": bundled("cifar10_small"),
    "covertype": covertype,
}


def tasks(config: Config) -> list[Task]:
    return [Task(name, OURS) for name in config["data"]]


def measure(task: Task, config: Config) -> Iterator[Record]:
    seeds = list(range(config["seeds"]))
    errors, seconds, rows, chosen = [], [], [], []
    families: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        X, y, X_test, y_test = some_rows(LOAD[task.row](seed), config["rows"])
        start = time.perf_counter()  # by the clock, like the time that it is given
        clf = AutoClassifier(config["seconds"], random_state=seed).fit(X, y)
        seconds.append(time.perf_counter() - start)
        errors.append(error(clf, X_test, y_test))
        rows.append(clf.n_rows_)
        assert clf.forecast_ is not None
        chosen.append(clf.forecast_["name"])
        if seed == 0:
            assert clf.exploration_ is not None
            promising = most_promising(clf.exploration_)
        for family, (candidate, expected) in promising.items():
            found = families.setdefault(family, {"error": [], "seconds": []})
            if expected > config["too_slow"] or max(found["seconds"], default=0) > config["slow"]:
                continue
            start = time.perf_counter()
            model = fitted(candidate.make(seed), X, y)
            found["seconds"].append(time.perf_counter() - start)
            found["error"].append(error(model, X_test, y_test))
    limits: dict[str, Any] = {"seconds": config["seconds"], "rows": len(y)}
    yield record(
        *task[:2],
        "defaults",
        seeds=seeds,
        chosen=limits | {"candidates": chosen},
        error=errors,
        seconds=seconds,
        rows=rows,
    )
    for family, found in families.items():
        ran = len(found["error"])
        if not ran:
            yield missing(task.row, family, "defaults", "it was expected to take too long")
        else:
            name = promising[family][0].name
            yield record(task.row, family, "defaults", seeds=seeds[:ran], chosen=name, **found)


def most_promising(found: Exploration) -> dict[str, tuple[Any, float]]:
    """Of each family: the candidate, and the seconds that it is expected to take."""
    best: dict[str, tuple[Any, float]] = {}
    for choice in found._choices:
        candidate = choice.runner.candidate
        best.setdefault(candidate.family, (candidate, choice.seconds.value))
    return best


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    """Our aim, by data set."""
    told = []
    for ours in (r for r in records if r["column"] == OURS):
        others = [r for r in records if r["row"] == ours["row"] and r is not ours]
        best = min(others, key=lambda r: mean(r, "error"))
        error, least = mean(ours, "error"), mean(best, "error")
        took = max(ours["quantities"]["seconds"]["values"])
        told.append(
            (
                f"{ours['row']}: within a tenth of the best family, in time",
                error <= ALLOWED * least and took <= ours["chosen"]["seconds"],
                f"{error:.2f} after {took:.0f} s; {best['column']} {least:.2f}",
            )
        )
    return told
