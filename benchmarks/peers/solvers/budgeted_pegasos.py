"""A kernel SVM of at most 500 support vectors.

Defaults for 100,000 rows and more; for fewer what the README advises: ten passes, λ and γ by trial.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import Ours
from multiplane import BudgetedPegasosClassifier


class Solver(Ours):
    title = "BudgetedPegasos"

    def make(self) -> Any:
        few = {"max_iter": 10, "alpha": "auto", "gamma": "auto"}
        more: dict[str, Any] = few if self.task.n_rows < 100_000 else {}
        return self.scaled(BudgetedPegasosClassifier(**more, random_state=0))

    def skip(self) -> str | None:
        if self.task.n_features > 10_000:
            return "keeps support vectors whole: not for more than 10,000 features"
        return None
