"""scikit-learn's liblinear. Defaults; its guide advises to scale."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "LinearSVC"

    def make(self) -> Any:
        return self.scaled(LinearSVC(random_state=0))
