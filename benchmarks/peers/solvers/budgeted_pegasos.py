"""A kernel SVM of at most 500 support vectors.

λ and γ by trial on some training rows, on the clock; one pass, ten with fewer than 100,000 rows.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import BudgetedPegasosClassifier


class Solver(Ours):
    title = "BudgetedPegasos"

    def make(self) -> Any:
        n_passes = 10 if self.task.n_rows < 100_000 else 1
        return self.scaled(
            BudgetedPegasosClassifier("auto", gamma="auto", max_iter=n_passes, random_state=0)
        )

    def skip(self) -> str | None:
        if self.task.n_features > 10_000:
            return "keeps support vectors whole: not for more than 10,000 features"
        return None
