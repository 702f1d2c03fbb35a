"""LIBSVM by its own package: C-SVC with the RBF kernel, its defaults.

Scaled, γ and cache as for SVC, which is the same algorithm behind another face.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.solvers import _base
from benchmarks.peers.solvers._base import gamma_scale, too_many_rows


class Solver(_base.Solver):
    title = "libsvm"
    needs = "libsvm-official"
    module = "libsvm.svmutil"

    def skip(self) -> str | None:
        return too_many_rows(self.task)

    def fit(self, rows: Any, y: Any) -> None:
        from libsvm.svmutil import svm_train

        self.scaler = StandardScaler().fit(rows) if self.task.scale else None
        rows = self.sparse(rows)
        self.model = svm_train(y, rows, f"-g {gamma_scale(rows)} -m 1000 -q")

    def predict(self, rows: Any) -> Any:
        from libsvm.svmutil import svm_predict

        return svm_predict([], self.sparse(rows), self.model, "-q")[0]

    def model_bytes(self) -> int:
        from libsvm.svmutil import svm_save_model

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            svm_save_model(path, self.model)
            return os.path.getsize(path)

    def sparse(self, rows: Any) -> Any:
        """As its interface takes them without a Python loop over the values."""
        return sp.csr_matrix(rows if self.scaler is None else self.scaler.transform(rows))
