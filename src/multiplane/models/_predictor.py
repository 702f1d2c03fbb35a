"""Prediction without scikit-learn: a fitted model, the labels, and checks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane._arrays import issparse
from multiplane._csr import Csr
from multiplane._jobs import number_of_threads
from multiplane.models._files import Fitted


class Predictor:
    """A fitted classifier that only predicts: small, quick to load, quick for single rows.

    Made by `multiplane.compile`. It gives the same labels and scores as the classifier, bit for
    bit, and needs no scikit-learn. Nothing in it changes: any number of threads may use it at once.

    Attributes
    ----------
    classes_ : labels, sorted
    n_features_in_ : number of columns
    feature_names_in_ : their names, or None
    """

    def __init__(self, fitted: Fitted, n_jobs: int | None = None) -> None:
        self._fitted = fitted
        self._n_jobs = fitted.n_jobs if n_jobs is None else n_jobs
        self._n_threads = number_of_threads(self._n_jobs)
        self.classes_ = fitted.classes
        self.n_features_in_ = fitted.n_features
        self.feature_names_in_ = fitted.feature_names
        self._labels = list(fitted.classes)
        self._one = _one_row(fitted)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, shape (n_samples,); for several labels a row, a matrix of zeros and ones."""
        model, rows = self._fitted.model, self._rows(X)
        if self._fitted.dtype is None:
            codes = model.predict(rows, self._n_threads)
        elif self._fitted.multilabel:
            return (self._probabilities(model.scores(rows)) >= 0.5).astype(np.int64)
        else:
            codes = np.argmax(model.scores(rows), axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_one(self, x: Any) -> Any:
        """The label of one row, shape (n_features,): a microsecond or two for a C-contiguous
        array of float32 and a model of hyperplanes."""
        if self._one is not None:
            try:
                return self._labels[self._one(x)]
            except TypeError:  # a list, floats of another kind, or not close together
                pass
        row = np.asarray(x)
        if row.shape != (self.n_features_in_,):
            raise ValueError(
                f"predict_one takes one row of {self.n_features_in_} numbers, got an array of "
                f"shape {row.shape}; use predict for several rows"
            )
        # Rows of float64 are scaled as such, and become float32 then.
        wide = self._fitted.scaler is not None and row.dtype != np.float32
        if self._one is None or wide:
            return self.predict(row[None, :])[0]
        with np.errstate(over="ignore"):  # becomes infinity, which is reported
            return self._labels[self._one(np.ascontiguousarray(row, dtype=np.float32))]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score of each class, as of the classifier."""
        model, rows = self._fitted.model, self._rows(X)
        scores: NDArray[Any]
        if self._fitted.dtype is None:
            scores = model.decision(rows, self._n_threads)
        else:
            scores = model.scores(rows)
        if len(self.classes_) == 2 and not self._fitted.multilabel:
            scores = scores[:, 1] - scores[:, 0]
        return scores

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[Any]]:
        """Probability of each class, or of each label; for least squares alone."""
        if self._fitted.probabilities is None:
            raise AttributeError(
                "this model knows no probabilities: those of least squares do; wrap others in "
                "scikit-learn's CalibratedClassifierCV"
            )
        return lambda X: self._probabilities(self._fitted.model.scores(self._rows(X)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Predictor, (self._fitted, self._n_jobs)

    def __repr__(self) -> str:
        name = type(self._fitted.model).__name__
        return f"Predictor({name}, {self.n_features_in_} features, {len(self.classes_)} classes)"

    # --- inside ----------------------------------------------------------------------------

    def _probabilities(self, scores: Any) -> NDArray[Any]:
        from multiplane.links import probabilities

        found: NDArray[Any] = probabilities(self._fitted.probabilities, scores)
        return found

    def _rows(self, X: Any) -> Any:
        """Rows as the model wants them: a `Matrix`, or an array or CSR matrix of its floats."""
        self._check_names(X)
        least_squares = self._fitted.dtype is not None
        if isinstance(X, Csr):
            X = self._of_text(X)
        if not issparse(X):
            X = np.asarray(X)
        elif least_squares:
            X = X.tocsr()
            X.check_format(full_check=True)
        else:
            from multiplane.data import check_sparse, widened

            check_sparse(X)
            X = widened(X, self.n_features_in_).tocsr()
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must be rows of {self.n_features_in_} features, as in training, got an array "
                f"of shape {X.shape}; use predict_one for a single row"
            )
        for step in self._fitted.steps:
            X = step(X)
        return self._finite(X) if least_squares else self._matrix(X)

    def _of_text(self, X: Csr) -> Any:
        """Text is sparse even if its rows never were; a model that centres them says so."""
        X = X.with_width(max(X.shape[1], self.n_features_in_))
        if any(getattr(step, "with_mean", False) for step in self._fitted.steps):
            return X.toarray()
        light = self._fitted.dtype is None and not self._fitted.steps
        return X if light else X.to_scipy()

    def _matrix(self, X: Any) -> Any:
        from multiplane.data import Matrix, filled

        if X.dtype not in (np.float32, np.float64) or X.shape[0] == 0:
            X = X.astype(np.float32)
        if self._fitted.scaler is not None:
            scaler = self._fitted.scaler
            X = scaler(filled(X) if scaler.fills(X) else X)
        return Matrix(X, check_later=True)

    def _finite(self, X: Any) -> Any:
        with np.errstate(over="ignore"):
            X = X.astype(self._fitted.dtype, copy=False)
        values = X.data if issparse(X) else X
        if not np.all(np.isfinite(values)):
            too_large = f"infinity or a value too large for {self._fitted.dtype}"
            what = "NaN" if np.any(np.isnan(values)) else too_large
            raise ValueError(f"Input X contains {what}; remove or replace such rows")
        return X

    def _check_names(self, X: Any) -> None:
        names = getattr(X, "columns", None)
        if self.feature_names_in_ is None or names is None:
            return
        if list(names) != list(self.feature_names_in_):
            raise ValueError(
                f"the columns of X must be those of training, in their order: "
                f"{_some(self.feature_names_in_)}, got {_some(names)}"
            )


def _some(names: Any) -> str:
    return ", ".join(map(str, list(names)[:5])) + (", …" if len(names) > 5 else "")


def _one_row(fitted: Fitted) -> Callable[[Any], int] | None:
    """The fast way for single rows, where there is one."""
    if fitted.dtype is not None or fitted.steps:
        return None
    from multiplane import _native

    model = fitted.model
    own = model.machine if hasattr(model, "machine") else model.hyperplanes
    if fitted.scaler is None:
        return _native.OneRow(own)
    return _native.OneRow(own, fitted.scaler.shift, fitted.scaler.factor)
