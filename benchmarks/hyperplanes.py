"""Multi-hyperplane machines against SGDClassifier and a product of matrices."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.data import dense_clusters, sparse_topics
from benchmarks.measure import Outcome, all_cores, alternately
from multiplane import AMMClassifier
from multiplane.data import Matrix
from multiplane.datasets import load_mnist
from multiplane.models._hyperplanes import HyperplaneModel


def product() -> tuple[Callable[[], Any], float]:
    """The yardstick of dense arithmetic: a float32 product, and its operations."""
    random = np.random.RandomState(0)
    a = random.standard_normal((8192, 784)).astype(np.float32)
    b = random.standard_normal((784, 64)).astype(np.float32)
    return (lambda: a @ b), 2.0 * 8192 * 784 * 64


def peer() -> Any:
    return SGDClassifier(loss="hinge", max_iter=1, tol=None, random_state=0)


def one_pass(alpha: float) -> AMMClassifier:
    return AMMClassifier(alpha=alpha, max_iter=1, random_state=0)


def size(clf: AMMClassifier) -> str:
    return f"{clf.n_hyperplanes_} hyperplanes, {100 * clf.history_[-1]['updates']:.0f} % updates"


def sparse_training() -> list[Outcome]:
    X, y = sparse_topics()
    # Without an intercept and without pruning, so that there are about twenty hyperplanes.
    clf = one_pass(1e-5).set_params(fit_intercept=False, prune_threshold=None)
    ours, theirs = alternately(lambda: clf.fit(X, y), lambda: peer().fit(X, y))
    note = f"{size(clf)}; {1e3 * ours:.0f} ms against {1e3 * theirs:.0f} ms"
    return [Outcome("sparse pass / SGDClassifier pass", ours / theirs, 1.0, False, note)]


def mnist_training() -> list[Outcome]:
    X, y, *_ = load_mnist(return_X_y=True, download_if_missing=False)
    clf = one_pass(1e-5)
    ours, theirs = alternately(lambda: clf.fit(X, y), lambda: peer().fit(X, y))
    note = f"{size(clf)}; {1e3 * ours:.0f} ms against {1e3 * theirs:.0f} ms"
    return [Outcome("mnist: SGDClassifier pass / pass", theirs / ours, 20.0, True, note)]


def finding_alpha() -> list[Outcome]:
    """Six values of λ tried, against a fit with the one that is found."""
    X, y, *_ = load_mnist(return_X_y=True, download_if_missing=False)
    auto = AMMClassifier(alpha="auto", random_state=0).fit(X, y)
    given = AMMClassifier(alpha=auto.alpha_, random_state=0)
    with_search, without = alternately(lambda: auto.fit(X, y), lambda: given.fit(X, y), rounds=2)
    note = f"λ = {auto.alpha_:.1e}: {with_search:.2f} s against {without:.2f} s"
    return [Outcome('mnist: alpha="auto" / a fit', with_search / without, 2.5, False, note)]


def dense_training() -> list[Outcome]:
    # Without pruning there are 46 hyperplanes; at this λ about 2 % of the rows update.
    X, y = dense_clusters(n_clusters=240)
    clf = one_pass(1e-5).set_params(prune_threshold=None)
    multiply, operations = product()
    ours, theirs = alternately(lambda: clf.fit(X, y), multiply)
    work = 2.0 * clf.n_hyperplanes_ * X.shape[1] * len(y)
    note = f"{size(clf)}; {work / ours / 1e9:.0f} against {operations / theirs / 1e9:.0f} GFLOP/s"
    rate = (work / ours) / (operations / theirs)
    return [Outcome("dense pass / NumPy product", rate, 0.5, True, note)]


def mnist_prediction() -> list[Outcome]:
    X, *_ = load_mnist(return_X_y=True, download_if_missing=False)
    random = np.random.RandomState(0)
    model = HyperplaneModel.from_arrays(
        random.standard_normal((200, 784)).astype(np.float32),
        random.standard_normal(200).astype(np.float32),
        (np.arange(200) % 10).astype(np.int32),
        10,
    )
    multiply, operations = product()

    def predict(n_threads: int) -> Any:
        return model.predict(Matrix(X, check_later=True), n_threads)

    ours, theirs = alternately(lambda: predict(1), multiply)
    rate = (2.0 * 200 * 784 * len(X) / ours) / (operations / theirs)
    outcomes = [
        Outcome(
            "mnist predict / NumPy product", rate, 0.7, True, f"{1e9 * ours / len(X):.0f} ns a row"
        )
    ]
    with all_cores():
        one, two = alternately(lambda: predict(1), lambda: predict(2))
    note = f"{1e3 * one:.0f} ms, {1e3 * two:.0f} ms"
    return [*outcomes, Outcome("two threads / one, predict", one / two, 1.8, True, note)]


def memory() -> list[Outcome]:
    """Peak of resident memory during fit beyond data and model, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory"], capture_output=True, text=True, check=True
    )
    seen = json.loads(run.stdout)
    note = f"data {seen['data']:.0f} MB, model {seen['model']:.1f} MB"
    return [Outcome("extra memory of fit, MB", seen["extra"], 64.0, False, note)]


BENCHMARKS = (
    sparse_training,
    mnist_training,
    finding_alpha,
    dense_training,
    mnist_prediction,
    memory,
)
