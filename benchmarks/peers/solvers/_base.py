"""The face of a solver."""

from __future__ import annotations

import io
import pickle
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multiplane
from benchmarks.peers.datasets import Task


class Solver:
    """What is trained, predicts and is saved. Most only say how their estimator is made."""

    title: str  # in tables
    needs = "scikit-learn"  # the package on PyPI
    module = "sklearn"  # and what to import of it
    ours = False

    def __init__(self, task: Task) -> None:
        self.task = task

    def make(self) -> Any:
        """An estimator with scikit-learn's face, not yet fitted."""
        raise NotImplementedError

    def skip(self) -> str | None:
        """Why this task is not for it, if so."""
        return None

    def rows(self, X: Any, y: Any = None) -> Any:
        """Rows in a form that the library reads; off the clock, as reading is for everybody."""
        return X

    def fit(self, rows: Any, y: Any) -> None:
        self.estimator = self.make().fit(rows, y)

    def predict(self, rows: Any) -> Any:
        return self.estimator.predict(rows)

    def predict_one(self, row: Any) -> Any:
        """One row (a matrix of one), by the library's shortest documented way."""
        return self.predict(row)

    def model_bytes(self) -> int:
        """Of the saved model, as the library advises to save it, not compressed."""
        return len(pickle.dumps(self.estimator, protocol=5))

    def scaled(self, estimator: Any) -> Any:
        """Behind a StandardScaler, where columns have units of their own."""
        return make_pipeline(StandardScaler(), estimator) if self.task.scale else estimator


class Ours(Solver):
    """Of this library: single rows by a compiled predictor, models in its own files."""

    needs = module = "multiplane"
    ours = True
    predictor: Any = None

    def predict_one(self, row: Any) -> Any:
        if self.predictor is None:  # with the first call, which is not timed
            self.predictor = multiplane.compile(self.estimator)
        return (
            self.predictor.predict(row) if self.task.sparse else self.predictor.predict_one(row[0])
        )

    def model_bytes(self) -> int:
        file = io.BytesIO()
        multiplane.save(self.estimator, file)
        return file.getbuffer().nbytes


def gamma_scale(X: Any) -> float:
    """SVC's gamma="scale", 1 / (d · variance), for libraries that have another default."""
    if hasattr(X, "tocsr"):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var(dtype="float64")
    return float(1 / (X.shape[1] * variance))


def too_many_rows(task: Task) -> str | None:
    """For exact kernel machines, whose time grows with the square of the rows and faster."""
    if task.n_rows > 200_000:
        return "not tried with more than 200,000 rows: time grows with their square"
    return None
