"""Two workers against one, and the bytes that go between them.

    python -m benchmarks.dask_scaling [NAME] [ROWS] [COLUMNS]

Trains a classifier of `multiplane.dask` (AMMClassifier by default) on a cluster of one process and
on one of two, of one thread each, alternately, on rows that the workers make themselves. The least
time of three counts; partitions are in memory and everything has been imported beforehand. Then,
for each round, or for those of a pass in the mean: the pickled state and result, and what workers
sent to each other and to the client by their own counters, beside what follows from the sizes, if
deltas are as large as the result: the state to all workers but the one that got it first, the
deltas of the partitions that are elsewhere than the merge, and the result to the client. `finish`
may make the result smaller or larger than the deltas. Headers of messages are not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import multiplane.dask as on_dask
from multiplane.dask import _estimators

N_PARTS = 4
REPEATS = 3
PARAMETERS: dict[str, dict[str, Any]] = {
    "AMMClassifier": {"max_iter": 5, "rounds": 16},
    "GeneralizedLeastSquaresClassifier": {"max_iter": 20, "tol": 0.0},
}


def rows(n: int, d: int, block_id: tuple[int, ...] = (0, 0)) -> Any:
    """A 4×4 checkerboard in the first two columns, noise in the others."""
    X = np.random.default_rng(block_id[0]).random((n, d), dtype=np.float32)
    X[:, 2:] -= 0.5
    X[:, 2:] *= 0.2
    return X


def labels(X: Any) -> Any:
    return np.floor(4 * X[:, :2]).sum(axis=1).astype(np.int32) % 2


class Counting(on_dask.DaskEngine):
    """Notes what the workers' counters say of each call, and of which rounds it was."""

    counted: list[tuple[int, slice]]

    def run(self, *args: Any, **options: Any) -> Any:
        with self._counting():
            return super().run(*args, **options)

    def rounds(self, *args: Any) -> Iterator[Any]:
        with self._counting():
            yield from super().rounds(*args)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        before, first = self._sent(), len(self.traffic)
        yield
        call = self._sent() - before, slice(first, len(self.traffic))
        self.counted = [*getattr(self, "counted", []), call]
        type(self).last = self

    def _sent(self) -> int:
        return sum(self.client.run(_sent_by).values())


def _sent_by(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def trained(client: Client, name: str, X: Any, y: Any) -> tuple[float, Any]:
    make = getattr(on_dask, name)
    clf = make(random_state=0, client=client, **PARAMETERS.get(name, {}))
    start = time.perf_counter()
    clf.fit(X, y)
    return time.perf_counter() - start, clf


def main(name: str = "AMMClassifier", n_rows: int = 5_000_000, n_columns: int = 100) -> None:
    times: dict[int, list[float]] = {1: [], 2: []}
    size = n_rows // N_PARTS
    for _ in range(REPEATS):
        for n_workers, own in times.items():
            with (
                LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster) as client,
            ):
                X = da.map_blocks(
                    rows,
                    size,
                    n_columns,
                    dtype=np.float32,
                    chunks=((size,) * N_PARTS, (n_columns,)),
                    meta=np.empty((0, 0), np.float32),
                ).persist()
                y = X.map_blocks(labels, drop_axis=1, dtype=np.int32).persist()
                trained(client, name, X[: size // 100], y[: size // 100])  # imports
                seconds, clf = trained(client, name, X, y)
                own.append(seconds)
                print(
                    f"{n_workers} workers: {seconds:.2f} s, error "
                    f"{100 * (1 - clf.score(X[:size], y[:size])):.2f} %",
                    flush=True,
                )
                if n_workers == 2 and len(own) == REPEATS:
                    _estimators.DaskEngine = Counting
                    trained(client, name, X, y)
                    table(Counting.last)
    print(f"{name}, {n_rows:,} rows of {n_columns}: {min(times[1]) / min(times[2]):.2f} × as fast")


def table(engine: Counting) -> None:
    print(f"{'rounds':<44} {'state':>10} {'result':>10} {'sent':>12} {'predicted':>12}")
    for sent, which in engine.counted:
        entries = engine.traffic[which]
        n, sizes = len(entries), []
        for entry in entries:
            moved = engine.n_parts - engine.n_parts // entry.n_workers
            sizes.append(entry.state * (entry.n_workers - 1) + entry.result * (moved + 1))
        state, result = sum(e.state for e in entries) // n, sum(e.result for e in entries) // n
        name = entries[0].name if n == 1 else f"{entries[0].name} and {n - 1} more"
        print(f"{name:<44} {state:>10,} {result:>10,} {sent // n:>12,} {sum(sizes) // n:>12,}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *(int(number) for number in sys.argv[2:]))
