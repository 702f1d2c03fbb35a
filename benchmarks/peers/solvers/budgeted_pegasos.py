"""A kernel SVM of at most 500 support vectors.

γ by trial on some training rows, on the clock. One pass; with fewer than 100,000 rows ten, and λ by
trial too.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import BudgetedPegasosClassifier


class Solver(Ours):
    title = "BudgetedPegasos"

    def make(self) -> Any:
        more: dict[str, Any] = {"max_iter": 10, "alpha": "auto"}
        more = more if self.task.n_rows < 100_000 else {}
        return self.scaled(BudgetedPegasosClassifier(gamma="auto", random_state=0, **more))

    def skip(self) -> str | None:
        if self.task.n_features > 10_000:
            return "keeps support vectors whole: not for more than 10,000 features"
        return None
