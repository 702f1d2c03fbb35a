"""One solver on one data set, in a process of its own; `benchmarks.peers` starts it.

Called with the names of both and a limit in seconds. Prints a line of JSON after each stage. The
kernel ends the process (SIGPROF) when training or prediction takes longer than the limit, whatever
a library does at that moment; the last line tells how far it came.

Seconds are those of the processor: with one thread on one core they are the clock's, and what else
runs on the machine disturbs them less. Less than one are the clock's, the least of three trials.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import peak, resident
from benchmarks.peers.datasets import load
from benchmarks.peers.objective import error
from benchmarks.peers.solvers import Solver, find

MEMORY = 12 * 2**30  # bytes of data that a process may have
WARM = 4  # rows of each class before the clock runs: too few for a tree to split, on many columns
SINGLE = 300  # predictions of one row, or as many as fit into two seconds


def say(**found: Any) -> None:
    print(json.dumps(found), flush=True)


def main() -> None:
    name, solver_name, limit = sys.argv[1], sys.argv[2], float(sys.argv[3])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    kind = find(solver_name)
    say(title=kind.title, ours=kind.ours)
    try:
        import_module(kind.module)
    except ImportError as problem:
        missing = isinstance(problem, ModuleNotFoundError)
        say(reason=f"{kind.needs} {'is not installed' if missing else f'cannot run: {problem}'}")
        return
    say(version=version_of(kind.needs))
    try:
        measure(name, kind, limit)
    except FileNotFoundError as problem:
        say(reason=str(problem).splitlines()[0])
    except MemoryError:
        say(reason=f"needs more than {MEMORY / 2**30:.0f} GiB", declined=True)


def measure(name: str, kind: type[Solver], limit: float) -> None:
    task, (X, y, X_test, y_test) = load(name)
    say(rows=task.n_rows, features=task.n_features, classes=task.n_classes)
    reason = kind(task).skip()
    if reason:
        say(reason=reason, declined=True)
        return
    warm_up(kind(task), X, y, X_test)
    solver = kind(task)
    rows = solver.rows(X, y)
    before = resident(reset_peak=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds = timed(lambda: solver.fit(rows, y), limit)
    say(peak_mb=max(0.0, peak() - before))
    say(seconds=min([seconds, *again(lambda: solver.fit(rows, y), seconds)]))
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        say(note="stopped before it converged")
    say(model_bytes=solver.model_bytes())
    predict(solver, X_test, y_test, limit)


def warm_up(solver: Solver, X: Any, y: Any, X_test: Any) -> None:
    """Imports, compilation, first allocations; nothing of it is kept."""
    some = np.sort(np.concatenate([np.flatnonzero(y == c)[:WARM] for c in np.unique(y)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.fit(solver.rows(X[some], y[some]), y[some])
        solver.predict(solver.rows(X_test[:10]))


def predict(solver: Solver, X_test: Any, y_test: Any, limit: float) -> None:
    singles = [solver.rows(X_test[i : i + 1]) for i in range(min(SINGLE, len(y_test)))]
    solver.predict_one(singles[0])
    taken: list[float] = []
    while singles and sum(taken) < 2:
        row = singles.pop()
        start = time.perf_counter()  # finer than the other clock; the median forgets disturbances
        solver.predict_one(row)
        taken.append(time.perf_counter() - start)
    say(single_us=1e6 * float(np.median(taken)))
    rows = solver.rows(X_test)
    predicted: list[Any] = []
    seconds = timed(lambda: predicted.append(solver.predict(rows)), limit)
    seconds = min([seconds, *again(lambda: solver.predict(rows), seconds)])
    say(batch_us=1e6 * seconds / len(y_test), error=error(y_test, predicted[0]))


def again(work: Callable[[], Any], seconds: float) -> list[float]:
    """Twice more, what takes less than a second: other processes disturb it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [timed(work, 60) for _ in range(2)] if seconds < 1 else []


def timed(work: Callable[[], Any], limit: float) -> float:
    signal.setitimer(signal.ITIMER_PROF, limit)  # while it is set, the processor's time is coarse
    start, clock = time.process_time(), time.perf_counter()
    work()
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    signal.setitimer(signal.ITIMER_PROF, 0)
    return clock if clock < 1 else seconds


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # the sources alone
        return "–"


if __name__ == "__main__":
    main()
