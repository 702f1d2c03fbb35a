"""Workers that are killed in the middle of a round cost time, and nothing else."""

import copy
import io
import os
import signal
import threading
import time

import numpy as np
import pytest
from engines import cut
from helpers import problem

import multiplane
from multiplane.solvers._engine import Here

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
mpd = pytest.importorskip("multiplane.dask")

# Together ten kills.
TRAININGS = {
    "AMMClassifier": {"max_iter": 12},
    "GeneralizedLeastSquaresClassifier": {"max_iter": 12, "tol": 0.0},
}
TRAININGS = {k: v for k, v in TRAININGS.items() if hasattr(getattr(multiplane, k), "_fit_parts")}
KILLS = 10 // len(TRAININGS)


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
    """Kills a worker in each of the first rounds: at a random moment, or at the next one's if the
    round is over by then."""

    cluster, random, n_kills = None, np.random.RandomState(), 0

    def run(self, *args):
        while self.n_kills < KILLS and len(alive(self.cluster)) < 2:
            time.sleep(0.05)
        timer = threading.Timer(self.random.exponential(0.1), self.kill)
        if self.n_kills < KILLS and self.traffic:  # there has been a round: all is imported
            timer.start()
        try:
            return super().run(*args)
        finally:
            timer.cancel()

    def kill(self):
        os.kill(self.random.choice(alive(self.cluster)).pid, signal.SIGKILL)
        Killing.n_kills += 1


def saved(model):
    """The bytes of a model file. A copy, whose arrays lie in order, as all that have travelled."""
    file = io.BytesIO()
    multiplane.save(copy.deepcopy(model), file)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TRAININGS)
def test_the_model_is_that_without_kills(cluster, monkeypatch, name):
    X, y = problem(n=40_000, d=40)
    parameters = {"random_state": 0, **TRAININGS[name]}
    parts = cut(X, y, range(5000, 40_000, 5000))
    expected = getattr(multiplane, name)(**parameters)._fit_parts(Here(parts))
    monkeypatch.setattr(Killing, "cluster", cluster)
    monkeypatch.setattr(Killing, "n_kills", 0)
    monkeypatch.setattr("multiplane.dask._estimators.DaskEngine", Killing)
    with distributed.Client(cluster) as client:
        model = getattr(mpd, name)(**parameters, client=client)
        model.fit(da.from_array(X, chunks=(5000, 40)), da.from_array(y, chunks=5000))
    assert saved(model) == saved(expected)
    assert Killing.n_kills == KILLS
