"""LightGBM. Defaults: 100 trees of 31 leaves a class; trees need no scaling."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "LightGBM"
    needs = module = "lightgbm"

    def make(self) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)

    def predict_one(self, row: Any) -> Any:
        return self.estimator.booster_.predict(row)
