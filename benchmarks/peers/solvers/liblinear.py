"""LIBLINEAR by its own package: the default solver (L2-regularised, squared hinge), with a bias.

Scaled as for LinearSVC, which is the same algorithm behind another face.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.solvers._own_files import OwnFiles


class Solver(OwnFiles):
    title = "liblinear"
    needs = "liblinear-official"
    module = "liblinear.liblinearutil"

    def train(self, rows: Any, y: Any) -> Any:
        from liblinear.liblinearutil import train

        return train(y, rows, "-s 1 -B 1 -q")

    def predict(self, rows: Any) -> Any:
        from liblinear.liblinearutil import predict

        return predict([], self.sparse(rows), self.model, "-q")[0]

    def save(self, path: str) -> None:
        from liblinear.liblinearutil import save_model

        save_model(path, self.model)
