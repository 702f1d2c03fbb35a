"""The recommended estimator, as an estimator."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from multiplane.estimators._checks import new_seed, unchanged_on_error
from multiplane.estimators._multiplane import MultiplaneClassifier
from multiplane.exploration._explore import DTYPES, Exploration, checked, explored, forecast
from multiplane.exploration._race import FAILURES, MARGIN, OFTEN, fitted

_LEAST = 0.05  # of the time, for the last training, even if it is over
_WORTH_MORE = 1.5  # times the rows, for training once more


def _has(name: str) -> Any:
    return lambda self: hasattr(self.estimator_, name)


def _trained(
    make: Callable[[], Any],
    some: Callable[[int], Any],
    X: Any,
    y: NDArray[Any],
    n_rows: int,
    deadline: float,
    done: tuple[Any, int] | None = None,
) -> tuple[Any, int]:
    """An estimator, and how many rows it is trained with: if that takes less time than expected,
    once more with more of them. Time grows at most as they do. What is `done` is the answer, if
    more cannot be done in time."""
    while True:
        start, rows = time.perf_counter(), some(n_rows)
        try:
            estimator = fitted(make(), X[rows], y[rows], deadline)
        except FAILURES:
            if done is None:
                raise
            return done
        if done is not None and _cut_short(estimator):
            return done
        done = estimator, len(y[rows])
        now = time.perf_counter()
        growth = MARGIN * (deadline - now) / max(now - start, 1e-9)
        if n_rows == len(y) or growth < _WORTH_MORE:
            return done
        n_rows = int(min(growth * n_rows, len(y)))


def _cut_short(estimator: Any) -> bool:
    """For want of time; the flagship fits its passes into it, and half of them are a good model."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if getattr(classifier, "stop_reason_", "") != "out of time":
        return False
    return bool(classifier.n_iter_ < getattr(classifier, "_n_passes", np.inf) / 2)


class AutoClassifier(ClassifierMixin, BaseEstimator):
    """The family that suits the data, found and trained within a time.

    `explore` leaves enough time, half of it at most, for training what it recommends on all rows,
    or on as many as the time allows. Of 200,000 rows and more it trains on nearly all, and that
    model is taken if there is no time for another. Choose it when you do not want to choose.
    Probabilities are those of least squares, if they are recommended; otherwise there is no
    `predict_proba`: wrap it in scikit-learn's `CalibratedClassifierCV`.

    Parameters
    ----------
    time_budget : float or None, default=60
        Seconds for `fit`. ``None``: no limit; then a seed gives the same model at each run, while
        with a limit it depends on the machine, too.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1: a line for each model that is tried.

    Attributes
    ----------
    estimator_ : the recommended estimator, fitted
    exploration_ : the `Exploration` that led to it; this and the next are None if there were too
        few rows to explore
    forecast_ : what was expected of it, a dictionary as in ``exploration_.forecast``
    n_rows_ : rows that it was trained with: all, if there was time
    classes_ : labels, sorted
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from multiplane import AutoClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3, 3, n=4000, random_state=0)
    >>> clf = AutoClassifier(time_budget=10, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    estimator_: Any
    exploration_: Exploration | None
    forecast_: dict[str, Any] | None
    n_rows_: int
    classes_: NDArray[Any]

    def __init__(
        self, time_budget: float | None = 60, *, random_state: Any = None, verbose: int = 0
    ) -> None:
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Explore, then train the recommended estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of any kind.
        """
        began = time.perf_counter()
        self._validate_params()
        with unchanged_on_error(self):
            self._fit(X, y, began)
        return self

    def _fit(self, X: Any, y: Any, began: float) -> None:
        random = check_random_state(self.random_state)
        X, y, classes, codes = checked(self, X, y)
        limit = np.inf if self.time_budget is None else float(self.time_budget)
        seed = new_seed(random)
        race = explored(X, codes, classes, limit, random, int(self.verbose), began, final=True)
        if race is None:
            self.exploration_ = self.forecast_ = None
            clf = MultiplaneClassifier(random_state=seed)
            self.estimator_, self.n_rows_ = fitted(clf, X, np.asarray(y), began + limit), len(codes)
        else:
            self.exploration_ = Exploration(race, classes)
            left = max(limit - (time.perf_counter() - began), _LEAST * limit)
            choice = race.choices(MARGIN * left)[0]
            self.forecast_ = forecast(choice)
            done = race.models.get(choice.runner.candidate.key)
            if done is not None and OFTEN * choice.known.fit_seconds > left:
                self.estimator_, self.n_rows_ = done
            else:
                race.models.clear()  # their memory may be wanted
                self.estimator_, self.n_rows_ = _trained(
                    lambda: choice.runner.candidate.make(seed),
                    lambda n: race.in_proportion(n) if n < len(codes) else slice(None),
                    X,
                    np.asarray(y),
                    choice.n_rows,
                    race.deadline,
                    done,
                )
        self.classes_ = self.estimator_.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, shape (n_samples,)."""
        X = self._check(X)
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score of each class; for two classes the second's less the first's."""
        X = self._check(X)
        scores: NDArray[Any] = self.estimator_.decision_function(X)
        return scores

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probability of each class, if the recommended estimator knows it."""
        X = self._check(X)
        probabilities: NDArray[Any] = self.estimator_.predict_proba(X)
        return probabilities

    def _check(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
