"""The classifier that a report is about, and what it can be asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from multiplane._arrays import detached, to_numpy
from multiplane.estimators._checks import as_local
from multiplane.estimators._labels import find


@dataclass(frozen=True)
class Subject:
    """`model` as it was given, and the `estimator` in it that decides.

    They differ for a Pipeline, whose last step decides, and for an `AutoClassifier`, whose choice
    does; that may be a Pipeline again.
    """

    model: Any
    steps: Pipeline | None  # what rows go through before the estimator gets them
    estimator: Any

    @classmethod
    def of(cls, model: Any) -> Subject:
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise TypeError(
                f"report needs a fitted classifier, got {model!r}; pass what fit returned"
            )
        model = as_local(model)
        check_is_fitted(model)
        before, estimator = _taken_apart(model)
        steps = Pipeline(before) if before else None
        if not hasattr(estimator, "classes_"):
            raise TypeError(
                f"report needs a classifier, but {type(estimator).__name__} has no classes_"
            )
        return cls(model, steps, estimator)

    # --- labels and names ------------------------------------------------------------------

    @property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.estimator.classes_)

    @property
    def multilabel(self) -> bool:
        return bool(getattr(self.estimator, "_multilabel", False))

    def label(self, code: int) -> str:
        if self.multilabel:
            return f"label {self.classes[code]}"
        return "not known" if code < 0 else str(self.classes[code]) or "(empty)"

    def names(self, n_features: int) -> list[str]:
        """Of the features that the estimator is given."""
        given = getattr(self.model, "feature_names_in_", None)
        own = getattr(self.estimator, "feature_names_in_", None)
        if own is None and self.steps is not None:
            try:
                own = self.steps.get_feature_names_out(given)
            except (AttributeError, ValueError):  # not all transformers know
                own = None
        own = given if own is None else own
        if own is None or len(own) != n_features:
            return [f"x{i}" for i in range(n_features)]
        return [str(name) for name in own]

    # --- rows ------------------------------------------------------------------------------

    def rows(self, X: Any) -> Any:
        """Rows as the estimator is given them: an array of floats, or CSR."""
        if self.steps is not None:
            with _names_do_not_matter():
                X = self.steps.transform(X)
        X = to_numpy(detached(X))
        floats = (np.float64, np.float32)
        X = check_array(X, accept_sparse="csr", dtype=floats, ensure_all_finite=False)
        wide = getattr(self.estimator, "n_features_in_", X.shape[1])
        if sp.issparse(X) and X.shape[1] < wide:  # LIBSVM files end with the last index they use
            X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], wide))
        return X

    def predict(self, X: Any) -> NDArray[Any]:
        """Codes of classes (n,); for several labels a row, zeros and ones (n, n_labels)."""
        predicted = np.asarray(to_numpy(self.model.predict(X)))
        return predicted if self.multilabel else find(predicted, self.classes)

    def regions(self, rows: NDArray[Any]) -> NDArray[np.int32]:
        """Codes for rows as the estimator is given them."""
        with _names_do_not_matter():
            predicted = self.estimator.predict(rows)
        return find(np.asarray(predicted), self.classes)

    @property
    def has_probabilities(self) -> bool:
        return hasattr(self.model, "predict_proba")

    def scores(self, X: Any) -> NDArray[Any] | None:
        """Probabilities, or else scores, (n, n_classes); None where there are neither."""
        if self.has_probabilities:
            return np.asarray(to_numpy(self.model.predict_proba(X)))
        if not hasattr(self.model, "decision_function"):
            return None
        scores = np.asarray(to_numpy(self.model.decision_function(X)))
        return np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores

    def winners(self, X: Any) -> NDArray[np.int32]:
        """Which hyperplane decides each row."""
        rows = X if self.steps is None else self.rows(X)
        with _names_do_not_matter():
            winners: NDArray[np.int32] = self.estimator.apply(rows)
        return winners

    # --- what it is made of ----------------------------------------------------------------

    @property
    def n_hyperplanes(self) -> int:
        """0 for those that have none."""
        return int(getattr(self.estimator, "n_hyperplanes_", 0))

    @property
    def n_support(self) -> int:
        return int(getattr(self.estimator, "n_support_", 0)) if self.is_kernel else 0

    @property
    def is_kernel(self) -> bool:
        return type(self.estimator).__module__ == "multiplane.estimators._kernels"

    @property
    def is_own(self) -> bool:
        return type(self.estimator).__module__.startswith("multiplane.")

    def owned(self) -> tuple[str, NDArray[np.int64]] | None:
        """What a class has: its name, and how many of them, (n_classes,)."""
        k = len(self.classes)
        if self.n_hyperplanes:
            return "hyperplanes", np.bincount(self.estimator._fitted_model().owner, minlength=k)
        if self.is_kernel:  # those that speak for a class
            return "support vectors", np.count_nonzero(self.estimator.dual_coef_ > 0, axis=0)
        return None

    def weights(self, n_features: int) -> tuple[NDArray[Any], NDArray[np.int32]] | None:
        """Weights of features (m, n_features), and whose they are (m,).

        A weight that all share changes no decision: their mean is subtracted, but for several
        labels a row, which have no rivals. Times the scaler's factor, if there is one, so that
        they are for rows as the estimator is given them.
        """
        if self.n_hyperplanes:
            model = self.estimator._fitted_model()
            coef, owner = model.coef, model.owner
        elif hasattr(self.estimator, "coef_") and not self.is_kernel:
            coef = np.asarray(to_numpy(self.estimator.coef_))
            if coef.ndim == 2 and len(coef) == 1 and len(self.classes) == 2:
                coef = np.concatenate([-coef, coef])
            owner = np.arange(len(coef))
            if len(coef) != len(self.classes):
                return None
        else:
            return None
        if coef.ndim != 2 or coef.shape[1] != n_features:
            return None  # of features that nobody knows by name
        if not self.multilabel:
            coef = coef - coef.mean(axis=0, dtype=np.float64)
        scaler = getattr(self.estimator, "scaler_", None)
        return (coef if scaler is None else coef * scaler.factor), np.asarray(owner, np.int32)


def _taken_apart(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    if isinstance(model, Pipeline):
        before, estimator = _taken_apart(model.steps[-1][1])
        return [*model.steps[:-1], *before], estimator
    if hasattr(model, "exploration_"):  # an AutoClassifier
        return _taken_apart(model.estimator_)
    return [], model


@contextmanager
def _names_do_not_matter() -> Iterator[None]:
    """Arrays for an estimator that was fitted with a frame, or the other way round."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
        yield
