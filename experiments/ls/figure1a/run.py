"""Least-squares paper, Figure 1(a): stages of 512 and of 1,024 features, three updates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...catalogue import Config, Task
from ...pictures import plain_numbers, save
from ...records import Record, mean, record
from ..fourier import UPDATES, stages


def tasks(config: Config) -> list[Task]:
    return [
        Task(f"blocks of {block}", update, "paper")
        for update in UPDATES
        for block in config["blocks"]
    ]


def measure(task: Task, config: Config) -> Iterator[Record]:
    most = config["logistic_features" if task.column == "logistic" else "features"]
    block, seed = int(task.row.split()[-1]), config["seed"]
    points = stages(
        task.column, block, most, config["n_components"], config["inner"], seed, config["rows"]
    )
    features, seconds, error = points[-1]
    yield record(
        *task,
        seeds=[seed],
        curve=points,
        error=[error],
        seconds=[seconds],
        features=[features],
    )


def draw(records: list[Record], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    colours = dict(zip(UPDATES, ("C0", "C2", "C3"), strict=True))
    for found in records:
        _, seconds, errors = zip(*found["curve"], strict=True)
        line = "-" if found["row"] == records[0]["row"] else "--"
        label = f"{found['column']}, {found['row']}"
        axes.plot(seconds, errors, line, color=colours[found["column"]], lw=1.2, label=label)
    axes.set(xscale="log", yscale="log", xlabel="processor seconds", ylabel="test error, %")
    ticks = (1.2, 1.5, 2, 3, 4, 6)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.yaxis.minorticks_off()
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    plain_numbers(axes.xaxis)
    save(figure, path)


# --- what the paper says ------------------------------------------------------------------------


def at_features(found: Record, features: int) -> float:
    return float(next(error for n, _, error in found["curve"] if n == features))


def until(found: Record, seconds: float) -> float:
    """The error that is reached in so many seconds; that of nothing, if no stage is done."""
    return min((error for _, own, error in found["curve"] if own <= seconds), default=90.0)


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    found = {(r["row"], r["column"]): r for r in records}
    rows = list(dict.fromkeys(r["row"] for r in records))
    if len(found) < 2 * len(UPDATES):
        return
    for row in rows:
        logistic = found[row, "logistic"]
        features, seconds = logistic["curve"][-1][0], mean(logistic, "seconds")
        errors = {update: at_features(found[row, update], features) for update in UPDATES}
        yield (
            f"for as many features logistic has a lower error than linear, {row}",
            errors["logistic"] < errors["linear"],
            f"{errors['logistic']:.2f} against {errors['linear']:.2f} % at {features:,} features",
        )
        yield (
            f"for as many features calibrated has a lower error than linear, {row}",
            errors["calibrated"] < errors["linear"],
            f"{errors['calibrated']:.2f} against {errors['linear']:.2f} % at {features:,} features",
        )
        for update in ("linear", "calibrated"):
            ours, theirs = until(found[row, update], seconds), until(logistic, seconds)
            yield (
                f"for as much time {update} has a lower error than logistic, {row}",
                ours < theirs,
                f"{ours:.2f} against {theirs:.2f} % after {seconds:.0f} s",
            )
    for update in UPDATES:
        small, large = (found[row, update] for row in rows)
        seconds = min(mean(small, "seconds"), mean(large, "seconds"))
        ours, theirs = until(small, seconds), until(large, seconds)
        yield (
            f"small blocks are the better trade-off, {update}",
            ours < theirs,
            f"{ours:.2f} against {theirs:.2f} % after {seconds:.0f} s",
        )
