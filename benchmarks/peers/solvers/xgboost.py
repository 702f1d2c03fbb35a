"""XGBoost. Defaults: 100 trees of depth 6 a class, by histograms; trees need no scaling."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "XGBoost"
    needs = module = "xgboost"

    def make(self) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, random_state=0)

    def predict_one(self, row: Any) -> Any:
        return self.estimator.get_booster().inplace_predict(row)
