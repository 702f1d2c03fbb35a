"""A network of one hidden layer of 100. Defaults; its guide insists on scaling.

Two thirds of its pickle are the optimiser's moments.
"""

from __future__ import annotations

from typing import Any

from sklearn.neural_network import MLPClassifier

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "MLPClassifier"

    def make(self) -> Any:
        return self.scaled(MLPClassifier(random_state=0))
