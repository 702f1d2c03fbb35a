"""Time and memory against rows, features, classes, non-zeros, hyperplanes, budget and threads.

    python -m benchmarks.scaling [--only AXIS] [--quick]

One axis grows, the others stay. Each point is a process of its own, pinned to one core (but for the
axis of threads). Exponents are the slopes of straight lines fitted to the logarithms. Writes
benchmarks/scaling.json, docs/scaling.md and docs/scaling.png; other axes stay as they were. --quick
writes nothing.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import multiplane
from benchmarks.data import dense_clusters, sparse_topics
from benchmarks.measure import ALL, peak, resident
from benchmarks.peers.__main__ import conditions
from experiments import records
from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    MMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
)

RESULTS = Path(__file__).with_name("scaling.json")
DOCS = Path(__file__).parents[1] / "docs"
N_ROWS, N_FEATURES, N_CLASSES = 10_000, 64, 8  # where they do not grow

Problem = tuple[Any, Any]
# The defaults, but for what would make small and large points incomparable or long.
HYPERPLANES: dict[str, Callable[[], Any]] = {
    "Pegasos": lambda: PegasosClassifier(random_state=0),
    "AMM": lambda: AMMClassifier(random_state=0),
    "GAMM": lambda: GAMMClassifier(random_state=0),
    "Multiplane": lambda: MultiplaneClassifier(random_state=0),
}
FAMILIES: dict[str, Callable[[], Any]] = {
    **HYPERPLANES,
    "budgeted Pegasos": lambda: BudgetedPegasosClassifier(budget=200, random_state=0),
    "calibrated": lambda: CalibratedLeastSquaresClassifier(random_state=0),
    "stagewise, 4 stages": lambda: StagewiseLeastSquaresClassifier(n_stages=4, random_state=0),
}


def clusters(n: int = N_ROWS, d: int = N_FEATURES, n_classes: int = N_CLASSES) -> Problem:
    """Five clusters a class: none is linear."""
    return dense_clusters(n, d, n_classes, 5 * n_classes)


def of(makers: dict[str, Callable[[], Any]]) -> Callable[[int], dict[str, Any]]:
    return lambda value: {name: make() for name, make in makers.items()}


@dataclass
class Axis:
    name: str
    values: Sequence[int]
    problem: Callable[[int], Problem]
    models: Callable[[int], dict[str, Any]]
    predicting: bool = False  # what is timed; training is the rule


AXES = [
    Axis("rows", (5_000, 10_000, 20_000, 40_000, 80_000), clusters, of(FAMILIES)),
    Axis("features", (64, 128, 256, 512, 1024), lambda d: clusters(d=d), of(FAMILIES)),
    Axis("classes", (4, 8, 16, 32, 64), lambda k: clusters(n_classes=k), of(FAMILIES)),
    Axis(
        "non-zeros a row",
        (20, 40, 80, 160, 320),
        lambda v: sparse_topics(n=N_ROWS, n_values=v),
        of(HYPERPLANES),
    ),
    Axis(
        "hyperplanes a class",
        (1, 2, 4, 8, 16, 32, 64),
        lambda _: clusters(),
        lambda m: {"MM": MMClassifier(m, random_state=0)},
    ),
    Axis(
        "budget",
        (100, 200, 400, 800, 1600),
        lambda _: clusters(),
        lambda b: {"budgeted Pegasos": BudgetedPegasosClassifier(budget=b, random_state=0)},
    ),
    Axis(
        "threads",
        [n for n in (1, 2, 4, 8, 16, 32) if n <= len(ALL)],
        lambda _: clusters(400_000),
        lambda t: {
            "AMM, predict": AMMClassifier(random_state=0, max_iter=1, n_jobs=t),
            "budgeted Pegasos, predict": BudgetedPegasosClassifier(
                budget=200, random_state=0, n_jobs=t
            ),
        },
        predicting=True,
    ),
]


def point(axis: Axis, value: int, name: str) -> dict[str, float]:
    """Seconds (the least of three, once if long), bytes of the model, MB beyond the data."""
    os.sched_setaffinity(0, ALL if axis.predicting else {max(ALL)})
    threadpool_limits(1)  # of BLAS, whose threads would spin on the one core; ours are `n_jobs`
    X, y = axis.problem(value)
    model = axis.models(value)[name]
    model.fit(X[:2000], y[:2000])
    if axis.predicting:
        model.fit(X[:20_000], y[:20_000]).predict(X[:2000])
    # One thread on one core: the processor's time is the clock's, and less disturbed by others.
    clock = time.perf_counter if axis.predicting else time.process_time
    seconds: list[float] = []
    before = resident(reset_peak=True)
    while len(seconds) < 3 and sum(seconds) < 2:
        start = clock()
        model.predict(X) if axis.predicting else model.fit(X, y)
        seconds.append(clock() - start)
    file = io.BytesIO()
    multiplane.save(model, file)
    return {
        "seconds": min(seconds),
        "model_bytes": file.getbuffer().nbytes,
        "peak_mb": max(0.0, peak() - before),
    }


def apart(work: Callable[[], Any]) -> Any:
    """In a process of its own: memory that one point leaves behind is not another's."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=lambda: send.send(work()))
    process.start()
    send.close()
    try:
        return receive.recv()
    finally:
        process.join()


def exponent(values: Sequence[float], costs: Sequence[float]) -> float | None:
    """b of cost ≈ a · value^b; None where a cost is too small to tell."""
    if len(values) < 2 or min(costs) <= 0:
        return None
    return float(np.polyfit(np.log(values), np.log(costs), 1)[0])


def shrunk(axis: Axis) -> Axis:
    """Two points and few rows: whether it runs."""

    def problem(value: int) -> Problem:
        X, y = axis.problem(value)
        return X[-3_000:], y[-3_000:]

    return replace(axis, values=axis.values[:2], problem=problem)


def measure(axis: Axis) -> list[dict[str, Any]]:
    curves: list[dict[str, Any]] = []
    values = axis.values
    for name in axis.models(values[0]):
        points = [
            apart(lambda value=value, name=name: point(axis, value, name)) for value in values
        ]
        costs = {key: [found[key] for found in points] for key in points[0]}
        slopes = {key: exponent(values, column) for key, column in costs.items()}
        if min(costs["peak_mb"]) < 1:  # pages that were there before
            slopes["peak_mb"] = None
        curves.append(
            {"axis": axis.name, "model": name, "values": list(values), **costs, "exponents": slopes}
        )
        print(line(curves[-1]), flush=True)
    return curves


def shown(slope: float | None) -> str:
    return "–" if slope is None else f"{slope:.2f}"


def line(curve: dict[str, Any]) -> str:
    slopes = curve["exponents"]
    return (
        f"{curve['axis']:<20} {curve['model']:<26} {curve['seconds'][0]:7.3f} s at "
        f"{curve['values'][0]:<6,} {curve['seconds'][-1]:8.3f} s at {curve['values'][-1]:<7,} "
        f"exponents: time {shown(slopes['seconds'])}, model {shown(slopes['model_bytes'])}, "
        f"memory {shown(slopes['peak_mb'])}"
    )


# --- the page --------------------------------------------------------------------------------


def page(record: dict[str, Any]) -> str:
    said = record["conditions"]
    lines = [
        "# How it grows",
        f"`python -m benchmarks.scaling` on {said['date']} at {said['commit']}: {said['machine']}, "
        "one core and one thread (the axis of threads: as many). One axis grows; "
        f"otherwise there are {N_ROWS:,} rows of {N_FEATURES} features in {N_CLASSES} classes of "
        "five Gaussian clusters each, and for non-zeros rows like short texts "
        "of 47,236 words in two classes. Defaults, but for the budget (200) and the stages (4); on "
        "the axis of threads prediction of 400,000 rows is timed, elsewhere training. "
        "An exponent is the slope of a straight line fitted to the logarithms: 1 is proportional. "
        "Memory is the most that training adds to the data.",
        "![Time against each](scaling.png)",
        "| grows | from … to | model | seconds | memory, MB | time | model bytes | memory |\n"
        "|---|---|---|---|---|---|---|---|\n" + "\n".join(row(curve) for curve in record["curves"]),
        "The last three columns are exponents; – is memory of less than a megabyte. Curves need "
        "not be straight: `Multiplane` trains for its trials as well, and chooses hyperplanes and "
        "passes anew for each problem; AMM and GAMM have as many hyperplanes as it asks for.",
    ]
    return "\n\n".join(lines) + "\n"


def row(curve: dict[str, Any]) -> str:
    slopes, values, seconds = curve["exponents"], curve["values"], curve["seconds"]
    return (
        f"| {curve['axis']} | {values[0]:,} … {values[-1]:,} | {curve['model']} "
        f"| {seconds[0]:.2g} … {seconds[-1]:.2g} "
        f"| {curve['peak_mb'][0]:.0f} … {curve['peak_mb'][-1]:.0f} | {shown(slopes['seconds'])} "
        f"| {shown(slopes['model_bytes'])} | {shown(slopes['peak_mb'])} |"
    )


def picture(record: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(curve["axis"] for curve in record["curves"]))
    figure, panels = plt.subplots(2, 4, figsize=(12, 5.6), layout="constrained")
    for panel, name in zip(panels.flat, names, strict=False):
        for curve in record["curves"]:
            if curve["axis"] == name:
                label = f"{curve['model']}  {shown(curve['exponents']['seconds'])}"
                panel.loglog(curve["values"], curve["seconds"], "o-", ms=3, lw=1, label=label)
        panel.set(title=name, ylabel="seconds")
        panel.legend(fontsize=6, title="exponent of time", title_fontsize=6)
    for panel in panels.flat[len(names) :]:
        panel.set_axis_off()
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="axes whose name contains this")
    parser.add_argument("--quick", action="store_true", help="two points an axis")
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"curves": []}
    for axis in AXES:
        if options.only not in axis.name:
            continue
        if len(axis.values) < 2:
            print(f"{axis.name}: left out, there is one core")
            continue
        curves = measure(shrunk(axis) if options.quick else axis)
        others = [curve for curve in record["curves"] if curve["axis"] != axis.name]
        record["curves"] = sorted(others + curves, key=place)
        if not options.quick:
            save(record)


def save(record: dict[str, Any]) -> None:
    here = records.conditions()
    record["conditions"] = conditions() | {name: here[name] for name in ("date", "commit")}
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    (DOCS / "scaling.md").write_text(page(record))
    picture(record, DOCS / "scaling.png")


def place(curve: dict[str, Any]) -> int:
    return [axis.name for axis in AXES].index(curve["axis"])


if __name__ == "__main__":
    main()
