"""Workers that are killed in the middle of a round cost time, and nothing else."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from engines import cut, local_cluster
from helpers import problem, saved
from threadpoolctl import threadpool_limits

import multiplane
from multiplane.solvers._engine import Here

pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
mpd = pytest.importorskip("multiplane.dask")

# Together fifteen kills.
TRAININGS = {
    "AMMClassifier": {"max_iter": 4},
    "MultiplaneClassifier": {
        "max_iter": 4,
        "n_hyperplanes": 4,
        "alpha": 1e-6,
        "scale": "standard",
    },
    "GeneralizedLeastSquaresClassifier": {"max_iter": 12, "tol": 0.0},
}
ROUNDS = {"AMMClassifier": {"rounds": 3}}
KILLS = 5


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.scheduler.allowed-failures": 100,  # a task may meet all of the kills
        # Workers that look lost now and then are not to be given up.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with local_cluster(**settings) as cluster:
        yield cluster


def alive(cluster):
    """Nannies whose workers are at work. Those whose workers are starting up would give up."""
    return [
        nanny
        for nanny in list(cluster.workers.values())
        if nanny.process is not None
        and nanny.process.status == distributed.Status.running
        and nanny.worker_address in cluster.scheduler.workers
    ]


class Killing(mpd.DaskEngine):
    """Kills a worker in each of the first rounds, at a random moment: they take as long as the
    shortest one so far, or the next one is tried."""

    cluster, random, n_kills, shortest = None, np.random.RandomState(), 0, np.inf

    def run(self, *args, **options):
        return self.interrupted(super().run, *args, **options)

    def rounds(self, *args):
        going = super().rounds(*args)
        while (state := self.interrupted(next, going, None)) is not None:
            yield state

    def exchange(self, *args):
        self.interrupted(super().exchange, *args)

    def interrupted(self, work, *args, **options):
        while self.n_kills < KILLS and len(alive(self.cluster)) < 2:
            time.sleep(0.05)
        began, kills = time.perf_counter(), bool(self.n_kills < KILLS and self.traffic)
        if kills:  # there has been a round: all is imported
            timer = threading.Timer(self.random.uniform(0, self.shortest), self.kill)
            timer.start()
        try:
            return work(*args, **options)
        finally:
            self.shortest = min(self.shortest, time.perf_counter() - began)
            if kills:
                timer.cancel()
                timer.join()  # in the middle of a kill

    def kill(self):
        os.kill(self.random.choice(alive(self.cluster)).pid, signal.SIGKILL)
        Killing.n_kills += 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TRAININGS)
def test_the_model_is_that_without_kills(cluster, monkeypatch, name):
    X, y = problem(n=40_000, d=40)
    parameters = {"random_state": 0, **TRAININGS[name]}
    parts = cut(X, y, range(5000, 40_000, 5000))
    expected = getattr(multiplane, name)(**parameters)
    with threadpool_limits(1):  # as on the workers: products of matrices have other bits with more
        expected._fit_parts(Here(parts), **ROUNDS.get(name, {}))
    monkeypatch.setattr(Killing, "cluster", cluster)
    monkeypatch.setattr(Killing, "n_kills", 0)
    monkeypatch.setattr("multiplane.dask._estimators.DaskEngine", Killing)
    with distributed.Client(cluster) as client, threadpool_limits(1):
        model = getattr(mpd, name)(**parameters, **ROUNDS.get(name, {}), client=client)
        model.fit(da.from_array(X, chunks=(5000, 40)), da.from_array(y, chunks=5000))
    assert saved(model) == saved(expected)
    assert Killing.n_kills == KILLS
