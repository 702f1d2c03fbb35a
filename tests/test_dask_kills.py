"""Workers that are killed in the middle of a round cost time, and nothing else."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from helpers import problem

from multiplane.data import Block
from multiplane.solvers._engine import Here, Part

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytest.importorskip("multiplane.dask")

from multiplane.dask._engine import DaskEngine  # noqa: E402
from multiplane.dask._inputs import parts_of, rows_of  # noqa: E402

KILLS = 10


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.scheduler.allowed-failures": 100,  # a task may meet all of the kills
        # Workers that look lost now and then are not to be given up.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
    ):
        yield cluster


def killed(cluster, random):
    """SIGKILL for one of the workers, whatever it does; its nanny starts another.

    One that is just being started is spared: nannies give up on those that do not come up. So is
    the last one, as waiting for another takes seconds.
    """
    nannies = [
        nanny
        for nanny in list(cluster.workers.values())
        if nanny.process is not None
        and nanny.process.status == distributed.Status.running
        and nanny.worker_address in cluster.scheduler.workers
    ]
    if len(nannies) < 2:
        return False
    os.kill(nannies[random.randint(2)].pid, signal.SIGKILL)
    return True


class Killing(DaskEngine):
    """Kills a worker at a random moment in each of the first rounds."""

    def __init__(self, cluster, *args, random):
        super().__init__(*args)
        self.cluster, self.random, self.n_kills = cluster, random, 0

    def run(self, *args):
        timer = threading.Timer(self.random.uniform(0, 0.4), self.kill)
        if self.n_kills < KILLS:
            timer.start()
        try:
            return super().run(*args)
        finally:
            timer.cancel()

    def kill(self):
        self.n_kills += killed(self.cluster, self.random)


def descent(state, part):
    """A step of gradient descent, slow, which remembers what it can make again."""
    X, y, _ = part.rows
    if "XX" not in part.memory:
        part.memory["XX"] = X.T @ X, X.T @ y
    XX, Xy = part.memory["XX"]
    time.sleep(0.05)
    return XX @ state - Xy


def added(deltas):
    return np.sum(deltas, axis=0)


def rounds(engine, enough=lambda n: n >= 15):
    state, n = np.zeros(7), 0
    while not enough(n):
        state = state - 1e-3 * engine.run(descent, state, added)
        n += 1
    return state, n


def test_the_result_is_that_without_kills(cluster):
    X, y = problem(n=800)
    X = X.astype(np.float64)
    edges = range(0, 800, 100)
    with distributed.Client(cluster) as client:
        cut = da.from_array(X, chunks=(100, 7)), da.from_array(y, chunks=100)
        random = np.random.RandomState()
        engine = Killing(cluster, client, parts_of(client, rows_of(client, *cut)), random=random)
        found, n = rounds(engine, lambda n: engine.n_kills == KILLS)
        n_tries = len(engine.traffic)
    here = Here([Part(i, Block(X[a : a + 100], y[a : a + 100])) for i, a in enumerate(edges)])
    expected, _ = rounds(here, lambda done: done == n)
    assert found.tobytes() == expected.tobytes()
    assert n_tries == n
