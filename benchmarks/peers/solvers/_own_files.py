"""LIBLINEAR's and LIBSVM's own packages, whose faces are alike."""

from __future__ import annotations

import os
import pickle
import tempfile
from typing import Any

import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.solvers import _base


class OwnFiles(_base.Solver):
    """Trained and saved by functions; a scaler, where one is wanted, goes beside the model."""

    def train(self, rows: Any, y: Any) -> Any:
        raise NotImplementedError

    def save(self, path: str) -> None:
        raise NotImplementedError

    def fit(self, rows: Any, y: Any) -> None:
        self.scaler = StandardScaler().fit(rows) if self.task.scale else None
        self.model = self.train(self.sparse(rows), y)

    def model_bytes(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.save(path)
            beside = len(pickle.dumps(self.scaler, protocol=5)) if self.scaler else 0
            return os.path.getsize(path) + beside

    def sparse(self, rows: Any) -> Any:
        """As their interfaces take them without a Python loop over the values."""
        return sp.csr_matrix(rows if self.scaler is None else self.scaler.transform(rows))
