"""LIBSVM by its own package: C-SVC with the RBF kernel, its defaults.

Scaled, γ and cache as for SVC, which is the same algorithm behind another face.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._base import gamma_scale, too_many_rows
from benchmarks.peers.solvers._own_files import OwnFiles


class Solver(OwnFiles):
    title = "libsvm"
    needs = "libsvm-official"
    module = "libsvm.svmutil"

    def skip(self) -> str | None:
        return too_many_rows(self.task)

    def train(self, rows: Any, y: Any) -> Any:
        from libsvm.svmutil import svm_train

        return svm_train(y, rows, f"-g {gamma_scale(rows)} -m 1000 -q")

    def predict(self, rows: Any) -> Any:
        from libsvm.svmutil import svm_predict

        return svm_predict([], self.sparse(rows), self.model, "-q")[0]

    def save(self, path: str) -> None:
        from libsvm.svmutil import svm_save_model

        svm_save_model(path, self.model)
