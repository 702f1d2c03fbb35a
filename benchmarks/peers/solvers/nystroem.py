"""Nyström features and a linear SVM, as in scikit-learn's guide: 300 components.

The default γ, 1 / d, is meant for standardised columns; elsewhere it is what SVC would take.
"""

from __future__ import annotations

from typing import Any

from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.peers.solvers import _base
from benchmarks.peers.solvers._base import gamma_scale

COMPONENTS = 300


class Solver(_base.Solver):
    title = "Nystroem + LinearSVC"

    def skip(self) -> str | None:
        gigabytes = self.task.n_rows * COMPONENTS * 12 / 2**30  # as float32, and as float64
        if gigabytes > 8:
            return f"holds all features: {gigabytes:.0f} GiB"
        return None

    def fit(self, rows: Any, y: Any) -> None:
        gamma = None if self.task.scale else gamma_scale(rows)
        features = Nystroem(gamma=gamma, n_components=COMPONENTS, random_state=0)
        model = make_pipeline(features, LinearSVC(random_state=0))
        self.estimator = self.scaled(model).fit(rows, y)
