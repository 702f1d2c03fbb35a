"""Least-squares paper, Figure 2: stagewise updates, VW and six solvers of LIBLINEAR on mnist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from multiplane.features import RandomFourier

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import plain_numbers, save
from ...records import Record, mean, missing, record
from .. import peers
from ..fourier import UPDATES, mnist, stages

LIBLINEAR = {
    "L2R logistic": 0,
    "L2R L2-loss SVC, dual": 1,
    "L2R L2-loss SVC, primal": 2,
    "L2R L1-loss SVC, dual": 3,
    "Crammer–Singer": 4,
    "L1R L2-loss SVC": 5,
}
PEERS = ("VW", *LIBLINEAR)


def tasks(config: Config) -> list[Task]:
    """Ours pass all numbers of features in one run."""
    ours = [Task("all features", update, "paper") for update in UPDATES]
    rows = [f"{n} features" for n in config["features"]]
    return ours + [Task(row, peer, "peer") for row in rows for peer in PEERS]


def measure(task: Task, config: Config) -> Iterator[Record]:
    yield from (_ours if task.mode == "paper" else _peer)(task, config)


def _ours(task: Task, config: Config) -> Iterator[Record]:
    counts = [*config["features"], *config["more_features"]]
    seeds = list(range(config["draws"]))
    sizes = config["block"], counts[-1], config["n_components"], config["inner"]
    runs = [stages(task.column, *sizes, seed, config["rows"]) for seed in seeds]
    for n in counts:
        at = [next(point for point in run if point[0] == n) for run in runs]
        _, seconds, errors = (list(column) for column in zip(*at, strict=True))
        row = f"{n} features"
        yield record(row, task.column, "paper", seeds=seeds, error=errors, seconds=seconds)


def _peer(task: Task, config: Config) -> Iterator[Record]:
    choice = chosen(task.column, protocol.hashable(config))
    n_features = int(task.row.split()[0])
    found = peers.limited(config["limit"], train, task.column, choice, n_features, config)
    if found is None:
        limit = config["limit"]
        yield missing(*task, f"its training takes more than {limit} s") | {"limit": limit}
        return
    error, seconds = found
    yield record(*task, seeds=[0], chosen=choice, error=[error], seconds=[seconds])


# --- the peers ----------------------------------------------------------------------------------


def train(
    column: str, choice: Any, n_features: int, config: Config, ready: Callable[[], Any]
) -> peers.Run:
    data = features(mnist(config["rows"]), n_features, config["n_components"])
    if column == "VW":
        loss, passes = choice
        return peers.vowpal_wabbit(data, _vw(config, loss), passes, ready)[-1]
    return peers.liblinear(data, f"-s {LIBLINEAR[column]} -c {choice}", ready)


def features(data: tuple[Any, ...], n_features: int, n_components: int) -> tuple[Any, ...]:
    X, y, X_test, y_test = data
    fourier = RandomFourier(n_features, n_components=n_components, random_state=0)
    return fourier.fit_transform(X), y, fourier.transform(X_test), y_test


@cache
def chosen(column: str, key: tuple[Any, ...]) -> Any:
    """C, or loss and passes, by the error on held-out training rows."""
    config = dict(key)
    X, y, *_ = mnist(config["rows"])
    X, y = X[: config["choice_rows"]], y[: config["choice_rows"]]
    n = len(y) - len(y) // config["held_out"]
    data = X[:n], y[:n], X[n:], y[n:]
    data = features(data, config["choice_features"], config["n_components"])
    errors: dict[Any, float] = {}
    if column == "VW":
        for loss in config["losses"]:
            runs = peers.vowpal_wabbit(data, _vw(config, loss), config["passes"], _nothing)
            errors |= {(loss, i): error for i, (error, _) in enumerate(runs, 1)}
    else:
        for C in config["Cs"]:
            errors[C] = peers.liblinear(data, f"-s {LIBLINEAR[column]} -c {C}", _nothing)[0]
    return min(errors, key=lambda option: errors[option])


def _vw(config: Config, loss: str) -> str:
    return f"{config['vw']} --loss_function {loss}"


def _nothing() -> None:
    """Nobody waits."""


# --- the picture --------------------------------------------------------------------------------


def draw(records: list[Record], path: Path) -> None:
    picture(records, path, "error", "test error, %")


def picture(records: list[Record], path: Path, quantity: str, label: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for number, column in enumerate((*UPDATES, *PEERS)):
        found = [r for r in records if r["column"] == column and "missing" not in r]
        if not found:
            continue
        counts = [features_of(r) for r in found]
        line = "o-" if column in UPDATES else "s--" if column == "VW" else "v:"
        figures = [mean(r, quantity) for r in found]
        axes.plot(counts, figures, line, color=f"C{number}", lw=1.2, ms=4, label=column)
    counts = sorted({features_of(r) for r in records})
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [f"{n:,}" for n in counts])
    axes.set(yscale="log", xlabel="random Fourier features", ylabel=label)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.grid(alpha=0.3)
    plain_numbers(axes.yaxis)
    save(figure, path)


def features_of(found: Record) -> int:
    return int(found["row"].split()[0])


# --- what the paper says ------------------------------------------------------------------------


def by_features(records: list[Record], column: str) -> dict[int, Record]:
    return {features_of(r): r for r in records if r["column"] == column and "missing" not in r}


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    errors = {
        column: {n: mean(r, "error") for n, r in by_features(records, column).items()}
        for column in (*UPDATES, *PEERS)
    }
    linear, logistic = errors["linear"], errors["logistic"]
    if not linear or not logistic:
        return
    for update in ("logistic", "calibrated"):
        yield (
            f"for as many features {update} has a lower error than linear",
            all(errors[update][n] < linear[n] for n in linear),
            ", ".join(f"{n:,}: {errors[update][n]:.2f} against {linear[n]:.2f} %" for n in linear),
        )
    theirs = {column: errors[column] for column in PEERS if errors[column]}
    if not theirs:
        return
    counts = sorted(set.intersection(*(set(own) for own in (logistic, *theirs.values()))))
    best = {n: min(theirs, key=lambda column: theirs[column][n]) for n in counts}
    yield (
        "the logistic update is as accurate as the best of the peers, within a tenth of its error",
        all(logistic[n] <= 1.1 * theirs[best[n]][n] for n in counts),
        ", ".join(
            f"{n:,}: {logistic[n]:.2f} against {theirs[best[n]][n]:.2f} % of {best[n]}"
            for n in counts
        ),
    )
    least = min(min(errors[update].values()) for update in UPDATES)
    other = min(min(own.values()) for own in theirs.values())
    yield (
        "none of the peers comes down to our least error",
        least < other,
        f"{least:.2f} % with {max(linear):,} features; {other:.2f} % with {max(counts):,}",
    )
