"""Rates of one core for docs/scale.md: rows of 1,000 features, and a round of Dask's.

python -m benchmarks.scale
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from multiplane import AMMClassifier, GeneralizedLeastSquaresClassifier
from multiplane.dask import DaskEngine
from multiplane.dask._inputs import parts_of, rows_of

N, D, CLASSES = 200_000, 1_000, 10


def least(work: Callable[[], Any], n: int = 3) -> float:
    seconds = []
    for _ in range(n):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def nothing(state: Any, part: Any) -> int:
    return 0


def first(deltas: Sequence[int]) -> int:
    return deltas[0]


def main() -> None:
    random = np.random.default_rng(0)
    X = random.random((N, D), dtype=np.float32) - 0.5
    centres = random.standard_normal((3 * CLASSES, D), dtype=np.float32)
    y = np.argmax(X @ centres.T, axis=1) % CLASSES
    amm = AMMClassifier(random_state=0, max_iter=2)
    seconds = least(lambda: amm.fit(X, y))
    print(f"AMM, {amm.n_hyperplanes_} hyperplanes: {1e6 * seconds / 2 / N:.2f} µs a row")
    for number in (1, 11):
        clf = GeneralizedLeastSquaresClassifier(max_iter=number, tol=0.0)
        print(f"least squares, {number}: {1e6 * least(lambda: clf.fit(X, y)) / N:.2f} µs a row")  # noqa: B023
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = rows_of(client, X[:100], y[:100])
        engine = DaskEngine(client, parts_of(client, rows))
        for _ in range(10):
            engine.run(nothing, b"", first)
        seconds = least(lambda: [engine.run(nothing, b"", first) for _ in range(50)])
        print(f"a round of two partitions without work: {1e3 * seconds / 50:.1f} ms")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
