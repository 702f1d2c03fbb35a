"""A compiled predictor: single rows against scikit-learn's linear models, and its start."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

import multiplane
from benchmarks.data import dense_clusters
from benchmarks.measure import Outcome, alternately
from multiplane import MMClassifier

_CALLS = 2_000
_START = "import sys, multiplane; multiplane.compile(sys.argv[1])"


def fitted() -> tuple[MMClassifier, np.ndarray, np.ndarray]:
    """64 features, 30 hyperplanes."""
    X, y = dense_clusters(n=5_000, d=64, n_classes=10)
    return MMClassifier(3, max_iter=1, random_state=0).fit(X, y), X, y


def single_rows() -> list[Outcome]:
    clf, X, y = fitted()
    predictor, x = multiplane.compile(clf), X[0]
    svc, sgd = LinearSVC(max_iter=5).fit(X, y), SGDClassifier(max_iter=2, tol=None).fit(X, y)

    def repeated(call: Callable[[np.ndarray], Any], row: np.ndarray) -> Callable[[], None]:
        def run() -> None:
            for _ in range(_CALLS):
                call(row)

        return run

    ours, one, many, linear, peer = (
        seconds / _CALLS
        for seconds in alternately(
            repeated(predictor.predict_one, x),
            repeated(predictor._one, x),
            repeated(predictor.predict, x[None]),
            repeated(svc.predict, x[None]),
            repeated(sgd.predict, x[None]),
        )
    )
    note = f"{1e6 * ours:.2f} µs against {1e6 * linear:.0f} and {1e6 * peer:.0f} µs"
    return [
        Outcome("row: LinearSVC / predict_one", linear / ours, 20, True, note),
        Outcome("row: SGDClassifier / predict_one", peer / ours, 20, True, note),
        Outcome("predict_one, microseconds", 1e6 * ours, 3, False, "64 features, 30 hyperplanes"),
        Outcome("its native part, microseconds", 1e6 * one, 1.5, False, "with the call of it"),
        Outcome("row: LinearSVC / predict", linear / many, 2, True, f"{1e6 * many:.0f} µs"),
    ]


def many_rows() -> list[Outcome]:
    clf, X, _ = fitted()
    predictor = multiplane.compile(clf)
    ours, theirs = alternately(lambda: predictor.predict(X), lambda: clf.predict(X))
    note = f"{len(X):,} rows, {1e3 * ours:.2f} ms"
    return [Outcome("rows: predictor / estimator", ours / theirs, 1.1, False, note)]


def start() -> list[Outcome]:
    """A process that loads a model, less one that imports NumPy alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mpl"
        multiplane.save(fitted()[0], path)

        def seconds(*command: str) -> float:
            began = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True)
            return time.perf_counter() - began

        ours = min(seconds("-c", _START, str(path)) for _ in range(7))
        numpy = min(seconds("-c", "import numpy") for _ in range(7))
    note = f"of which Python and NumPy {numpy:.2f} s"
    return [Outcome("start with a model, seconds", ours, 0.3, False, note)]


BENCHMARKS = (single_rows, many_rows, start)
