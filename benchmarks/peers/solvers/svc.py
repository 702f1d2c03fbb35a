"""scikit-learn's LIBSVM, RBF kernel, C and γ by cross-validation, as LIBSVM's guide advises.

The grid is searched on 3,000 training rows, so that it costs seconds; then all rows are fitted. Its
guide advises to scale, and a larger cache where there is memory: 1 GB instead of 200 MB. What the
defaults do without a search is in the rows of libsvm.
"""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.svm import SVC

from benchmarks.peers.solvers import _base
from benchmarks.peers.solvers._base import gamma_scale, too_many_rows

SAMPLE = 3_000


class Solver(_base.Solver):
    title = "SVC (RBF), grid"

    def skip(self) -> str | None:
        return too_many_rows(self.task)

    def fit(self, rows: Any, y: Any) -> None:
        usual = 1 / self.task.n_features if self.task.scale else gamma_scale(rows)
        model = self.scaled(SVC(cache_size=1000))
        prefix = "svc__" if self.task.scale else ""
        gammas = [multiple * usual for multiple in (1 / 4, 1, 4, 16)]
        grid = {f"{prefix}C": [1, 10, 100], f"{prefix}gamma": gammas}
        search = GridSearchCV(model, grid, cv=3, refit=False)
        if len(y) > SAMPLE:
            some = next(StratifiedShuffleSplit(1, train_size=SAMPLE, random_state=0).split(y, y))[0]
            search.fit(rows[some], y[some])
        else:
            search.fit(rows, y)
        self.estimator = model.set_params(**search.best_params_).fit(rows, y)
