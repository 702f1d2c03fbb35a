"""The same that grows. Defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import GAMMClassifier


class Solver(Ours):
    title = "GAMM"

    def make(self) -> Any:
        return self.scaled(GAMMClassifier(random_state=0))
