"""Budgeted kernel machines against SVC and against bare kernel values in NumPy."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.measure import Outcome, all_cores, alternately, peak
from multiplane import BudgetedPegasosClassifier
from multiplane.datasets import load_covtype, stream_checkerboard

BUDGET = 500


@functools.cache
def covertype(n: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Random rows, standardised."""
    X, y = load_covtype(return_X_y=True, download_if_missing=False)
    rows = np.random.RandomState(0).permutation(len(y))[:n]
    X = X[rows].toarray() if hasattr(X, "toarray") else np.asarray(X[rows])
    X = StandardScaler().fit_transform(X.astype(np.float64))
    return np.ascontiguousarray(X, dtype=np.float32), np.asarray(y)[rows]


def budgeted(d: int) -> BudgetedPegasosClassifier:
    return BudgetedPegasosClassifier(gamma=4 / d, budget=BUDGET, random_state=0)


def bare_kernels(X: NDArray[np.float32], vectors: NDArray[np.float32]) -> Callable[[], None]:
    """A float32 product of blocks of rows with the vectors, plus exp: nothing else."""
    by = np.ascontiguousarray(vectors.T) / np.float32(-X.shape[1])

    def run() -> None:
        for first in range(0, len(X), 256):
            products = X[first : first + 256] @ by
            np.exp(products, out=products)

    return run


def covertype_training() -> list[Outcome]:
    X, y = covertype(50_000)
    clf = budgeted(X.shape[1])
    ours, bare = alternately(lambda: clf.fit(X, y), bare_kernels(X, X[:BUDGET]), rounds=5)
    start = time.perf_counter()
    SVC(gamma=4 / X.shape[1], cache_size=1000).fit(X, y)
    theirs = time.perf_counter() - start
    micro = 1e6 / len(y)
    updates = f"{100 * clf.history_[-1]['updates']:.0f} % updates"
    X, y = covertype(400_000)
    longer, bare_longer = alternately(lambda: clf.fit(X, y), bare_kernels(X, X[:BUDGET]), rounds=2)
    return [
        Outcome(
            "covertype: SVC / budgeted Pegasos",
            theirs / ours,
            50.0,
            True,
            f"50,000 rows: {theirs:.0f} s against {ours:.2f} s",
        ),
        Outcome(
            "covertype pass / bare kernels",
            ours / bare,
            3.0,
            False,
            f"50,000 rows, {updates}: {micro * ours:.2f} against {micro * bare:.2f} µs a row",
        ),
        Outcome(
            "the same on 400,000 rows",
            longer / bare_longer,
            3.0,
            False,
            f"{1e6 * longer / len(y):.2f} against {1e6 * bare_longer / len(y):.2f} µs a row",
        ),
    ]


def checkerboard_stream() -> list[Outcome]:
    def learn(n: int) -> float:
        """Seconds of learning alone, a row."""
        clf = BudgetedPegasosClassifier(gamma=8, budget=100, random_state=0)
        seconds = 0.0
        for X, y in stream_checkerboard(4, 4, n=n, block_size=100_000, random_state=0):
            start = time.perf_counter()
            clf.partial_fit(X, y, classes=[0, 1])
            seconds += time.perf_counter() - start
        return seconds / n

    X, y = next(stream_checkerboard(4, 4, n=20_000, block_size=20_000, random_state=0))
    times: list[list[float]] = [[], [], []]
    for _ in range(3):
        times[0].append(learn(1_000_000))
        times[1].append(learn(10_000_000))
        start = time.perf_counter()
        SVC(C=1000, gamma=8).fit(X, y)
        times[2].append((time.perf_counter() - start) / len(y))
    million, ten, svc = map(min, times)
    note = f"{1e6 * svc:.1f} against {1e6 * million:.2f} µs a row"
    return [
        Outcome("checkerboard: SVC / budget 100", svc / million, 20.0, True, note),
        Outcome(
            "a row of 10 M / a row of 1 M", ten / million, 1.15, False, f"{1e6 * ten:.2f} µs a row"
        ),
    ]


def kernel_prediction() -> list[Outcome]:
    X, y = covertype(50_000)
    clf = budgeted(X.shape[1]).fit(X, y)
    ours, bare = alternately(lambda: clf.predict(X), bare_kernels(X, clf.support_vectors_))
    note = f"{1e6 * ours / len(y):.2f} against {1e6 * bare / len(y):.2f} µs a row"
    outcomes = [Outcome("kernel predict / bare kernels", ours / bare, 1.0, False, note)]
    two = budgeted(X.shape[1]).set_params(n_jobs=2).fit(X, y)
    with all_cores():
        one_thread, two_threads = alternately(lambda: clf.predict(X), lambda: two.predict(X))
    note = f"{1e3 * one_thread:.0f} ms, {1e3 * two_threads:.0f} ms"
    speedup = one_thread / two_threads
    return [*outcomes, Outcome("two threads / one, kernel predict", speedup, 1.8, True, note)]


def stream_memory() -> list[Outcome]:
    """Peak of resident memory from 1 M to 10 M rows of a stream, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.kernels"], capture_output=True, text=True, check=True
    )
    seen = json.loads(run.stdout)
    note = f"{seen['early']:.1f} MB after 1 M rows, {seen['late']:.1f} MB after 10 M"
    grown = seen["late"] - seen["early"]
    return [Outcome("memory grown while streaming, MB", grown, 1.0, False, note)]


def peaks() -> Iterator[float]:
    """Peak of resident memory in MB, after each million of rows."""
    clf = BudgetedPegasosClassifier(gamma=8, budget=100, random_state=0)
    blocks = stream_checkerboard(4, 4, n=10_000_000, block_size=10_000, random_state=0)
    for number, (X, y) in enumerate(blocks, start=1):
        clf.partial_fit(X, y, classes=[0, 1])
        if number % 100 == 0:
            yield peak()


BENCHMARKS = (covertype_training, checkerboard_stream, kernel_prediction, stream_memory)

if __name__ == "__main__":
    seen = list(peaks())
    print(json.dumps({"early": seen[0], "late": seen[-1]}))
