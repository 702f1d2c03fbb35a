"""River's Hoeffding tree: any classes, no scaling, row after row in one pass. Defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "river: Hoeffding tree"
    needs = module = "river"

    def skip(self) -> str | None:
        if not self.task.sparse and self.task.n_rows * self.task.n_features > 5_000_000:
            return "not tried with more than 5 million values: each is an entry of a dictionary"
        return None

    def fit(self, rows: Any, y: Any) -> None:
        from river.tree import HoeffdingTreeClassifier

        self.estimator = HoeffdingTreeClassifier()
        for x, label in zip(as_dicts(rows), y.tolist(), strict=True):
            self.estimator.learn_one(x, label)

    def predict(self, rows: Any) -> Any:
        return np.array([self.estimator.predict_one(x) for x in as_dicts(rows)])


def as_dicts(rows: Any) -> Iterator[dict[int, float]]:
    if sp.issparse(rows):
        for first, last in zip(rows.indptr, rows.indptr[1:], strict=False):
            columns, values = rows.indices[first:last], rows.data[first:last]
            yield dict(zip(columns.tolist(), values.tolist(), strict=True))
    else:
        for row in rows:
            yield dict(enumerate(row.tolist()))
