"""LIBLINEAR by its own package: the default solver (L2-regularised, squared hinge), with a bias.

Scaled as for LinearSVC, which is the same algorithm behind another face.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "liblinear"
    needs = "liblinear-official"
    module = "liblinear.liblinearutil"

    def fit(self, rows: Any, y: Any) -> None:
        from liblinear.liblinearutil import train

        self.scaler = StandardScaler().fit(rows) if self.task.scale else None
        self.model = train(y, self.sparse(rows), "-s 1 -B 1 -q")

    def predict(self, rows: Any) -> Any:
        from liblinear.liblinearutil import predict

        return predict([], self.sparse(rows), self.model, "-q")[0]

    def model_bytes(self) -> int:
        from liblinear.liblinearutil import save_model

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            save_model(path, self.model)
            return os.path.getsize(path)

    def sparse(self, rows: Any) -> Any:
        """As its interface takes them without a Python loop over the values."""
        return sp.csr_matrix(rows if self.scaler is None else self.scaler.transform(rows))
