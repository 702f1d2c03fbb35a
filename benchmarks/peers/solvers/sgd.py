"""A linear SVM by stochastic gradients. Defaults; its guide advises to scale."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "SGDClassifier"

    def make(self) -> Any:
        return self.scaled(SGDClassifier(random_state=0))
