"""Least squares with a learnt link on the columns as they are. Defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import CalibratedLeastSquaresClassifier


class Solver(Ours):
    title = "CalibratedLeastSquares"

    def make(self) -> Any:
        return self.scaled(CalibratedLeastSquaresClassifier(random_state=0))

    def skip(self) -> str | None:
        if self.task.n_features > 10_000:
            return "factors a matrix of the columns: not for more than 10,000"
        return None
