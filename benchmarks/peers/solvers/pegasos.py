"""A linear SVM: one hyperplane a class. Defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import PegasosClassifier


class Solver(Ours):
    title = "Pegasos"

    def make(self) -> Any:
        return self.scaled(PegasosClassifier(random_state=0))
