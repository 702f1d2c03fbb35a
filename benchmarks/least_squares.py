"""Stagewise least squares against the bare parts it is made of, and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from benchmarks.measure import ROUNDS, Outcome
from multiplane import StagewiseLeastSquaresClassifier
from multiplane.features import RandomFourier

ROWS, INPUTS, FEATURES, CLASSES = 60_000, 50, 512, 10
CHUNK = 4096


def rows() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    random = np.random.RandomState(0)
    return random.randn(ROWS, INPUTS).astype(np.float32), random.randint(CLASSES, size=ROWS)


def bare_parts(X: NDArray[np.float32], y: NDArray[np.int64]) -> list[float]:
    """Seconds of: product, cosines and sines, symmetric product, solve, update; each once."""
    random = np.random.RandomState(1)
    weights = (random.randn(INPUTS, FEATURES // 2) / 7).astype(np.float32)
    Y = np.eye(CLASSES, dtype=np.float32)[y]
    G, B = np.zeros((FEATURES, FEATURES)), np.zeros((FEATURES, CLASSES))
    P = np.zeros((len(y), CLASSES), np.float32)
    W = random.randn(FEATURES, CLASSES).astype(np.float32)
    F = np.empty((CHUNK, FEATURES), np.float32)
    seconds = [0.0] * 5

    def clock(part: int, start: float) -> float:
        now = time.perf_counter()
        seconds[part] += now - start
        return now

    for first in range(0, len(y), CHUNK):
        part = slice(first, min(first + CHUNK, len(y)))
        f = F[: part.stop - part.start]
        now = time.perf_counter()
        angles = X[part] @ weights
        now = clock(0, now)
        np.cos(angles, out=f[:, : FEATURES // 2])
        np.sin(angles, out=f[:, FEATURES // 2 :])
        now = clock(1, now)
        G += f.T @ f
        now = clock(2, now)
        B += f.T @ Y[part]
        P[part] += f @ W
        clock(4, now)
    now = time.perf_counter()
    scipy.linalg.cho_solve(scipy.linalg.cho_factor(G + np.eye(FEATURES)), B)
    clock(3, now)
    return seconds


def one_stage() -> list[Outcome]:
    """Ours makes the features twice, once to fit and once to update, and checks its input."""
    X, y = rows()
    clf = StagewiseLeastSquaresClassifier(
        features=RandomFourier(width=7.0), block_size=FEATURES, n_stages=1, random_state=0
    )
    ours, bare = np.inf, [np.inf] * 5
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        clf.fit(X, y)
        ours = min(ours, time.perf_counter() - start)
        bare = [min(a, b) for a, b in zip(bare, bare_parts(X, y), strict=True)]
    note = f"{1e3 * ours:.0f} ms against " + " + ".join(f"{1e3 * s:.0f}" for s in bare)
    return [Outcome("stage of 512 features / bare parts", ours / sum(bare), 1.7, False, note)]


def generated_memory() -> list[Outcome]:
    """Peak of resident memory while 60,000 × 20,000 features are generated, beyond the data's."""
    out = subprocess.run(
        [sys.executable, "-c", f"import benchmarks.least_squares as b; b.{watched.__name__}()"],
        capture_output=True,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(out.stdout)
    note = f"60,000 × 20,000 features in blocks of 1,000; data {seen['data']:.0f} MB"
    return [Outcome("memory of generated features, MB", seen["peak"], 1500.0, False, note)]


def watched() -> None:
    """In a process of its own: prints MB."""
    import resource

    X, y = rows()
    StagewiseLeastSquaresClassifier(block_size=1000, n_stages=20, random_state=0).fit(X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"data": X.nbytes / 2**20, "peak": peak}))


BENCHMARKS = (one_stage, generated_memory)
