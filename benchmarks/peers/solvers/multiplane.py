"""The flagship. Defaults; it scales by itself, where a trial says so."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import MultiplaneClassifier


class Solver(Ours):
    title = "Multiplane"

    def make(self) -> Any:
        return MultiplaneClassifier(random_state=0)
