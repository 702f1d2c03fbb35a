"""Vowpal Wabbit: logistic regression, one against all, ten passes.

Its updates are normalised, so columns are not scaled. It reads text of its own; that is written,
and parsed into its cache, off the clock. Predictions in a batch are from text, parsing included.
"""

from __future__ import annotations

import math
import os
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.solvers import _base


class Solver(_base.Solver):
    title = "Vowpal Wabbit"
    needs = module = "vowpalwabbit"

    def rows(self, X: Any, y: Any = None) -> Any:
        """One row is a line; more are a file."""
        X = sp.csr_matrix(X)
        labels = [""] * X.shape[0] if y is None else (y + 1).tolist()
        if X.shape[0] == 1:
            return line("", X.indices, X.data)
        path = tempfile.mkstemp(suffix=".vw")[1]
        with open(path, "w") as file:
            for label, first, last in zip(labels, X.indptr, X.indptr[1:], strict=False):
                file.write(line(label, X.indices[first:last], X.data[first:last]) + "\n")
        if y is not None:
            workspace(f"{self.learner()} -k -c -d {path}").finish()  # leaves the cache behind
        return path

    def fit(self, rows: Any, y: Any) -> None:
        self.path = tempfile.mkstemp(suffix=".model")[1]
        workspace(
            f"{self.learner()} --passes 10 --holdout_off -c -d {rows} -f {self.path}"
        ).finish()
        self.one = workspace(f"-t -i {self.path}")

    def predict(self, rows: Any) -> Any:
        workspace(f"-t -i {self.path} -d {rows} -p {rows}.p").finish()
        return np.loadtxt(f"{rows}.p", dtype=np.int64) - 1

    def predict_one(self, row: Any) -> Any:
        return self.one.predict(row) - 1

    def model_bytes(self) -> int:
        return os.path.getsize(self.path)

    def learner(self) -> str:
        # Room for a weight of each feature and class; 18 bits is the default.
        bits = max(18, math.ceil(math.log2(2 * self.task.n_features * self.task.n_classes)))
        return f"--oaa {self.task.n_classes} --loss_function logistic -b {bits}"


def workspace(options: str) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"{options} --quiet")


def line(label: Any, columns: Any, values: Any) -> str:
    pairs = zip(columns.tolist(), values.tolist(), strict=True)
    return f"{label} | " + " ".join([f"{column}:{value:.6g}" for column, value in pairs])
