"""Least squares on one block of generated features after the other. Defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import StagewiseLeastSquaresClassifier


class Solver(Ours):
    title = "StagewiseLeastSquares"

    def make(self) -> Any:
        return self.scaled(StagewiseLeastSquaresClassifier(random_state=0))
