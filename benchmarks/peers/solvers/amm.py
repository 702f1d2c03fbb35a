"""Adaptive multi-hyperplane machine. Defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import AMMClassifier


class Solver(Ours):
    title = "AMM"

    def make(self) -> Any:
        return self.scaled(AMMClassifier(random_state=0))
