"""scikit-learn's boosted trees. Defaults; trees need no scaling."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "HistGradientBoosting"

    def make(self) -> Any:
        return HistGradientBoostingClassifier(random_state=0)

    def skip(self) -> str | None:
        if self.task.sparse and self.task.n_features > 10_000:
            return "takes dense arrays alone"
        return None

    def rows(self, X: Any, y: Any = None) -> Any:
        return X.toarray() if self.task.sparse else X
