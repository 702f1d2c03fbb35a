"""What the least-squares classifiers share: checks, targets, weights, steps, prediction."""

from __future__ import annotations

import copy
import re
import time
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from multiplane._arrays import Place, detached, floats_for, some_rows, to_numpy
from multiplane.estimators._callbacks import CallbackSupportMixin, with_callbacks
from multiplane.estimators._checks import NO_TRAINING, class_weights, unchanged_on_error
from multiplane.estimators._labels import check_alike, codes_of, encode, find
from multiplane.estimators._monitor import Monitor
from multiplane.features._base import FeatureGenerator, Source
from multiplane.links import probabilities, project_cube, project_simplex
from multiplane.models._least_squares import (
    Standard,
    through,
)
from multiplane.models._maps import FeatureMap, Same
from multiplane.progress import Event
from multiplane.solvers._least_squares import (
    Design,
    Factor,
    Step,
    Targets,
    Task,
)


class LeastSquaresClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base class. A subclass says which solver makes which model, in `_steps`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"scale"})],
        "features": [HasMethods(["prepare", "fit", "transform"]), None],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }
    _task_name: ClassVar[str] = "iteration"
    _warns: ClassVar[bool] = False  # when it ends before it has converged

    alpha: Any
    features: Any
    fit_intercept: bool
    class_weight: Any
    random_state: Any
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    verbose: int
    classes_: NDArray[Any]
    n_features_in_: int
    n_iter_: int
    stop_reason_: str
    history_: list[dict[str, Any]]
    _multilabel: bool
    _dtype: str
    _seed: int
    _source: Source

    # --- training --------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            float32 is computed with as it is, at twice the speed of float64. Arrays of PyTorch,
            CuPy and others are computed with where they live, if scikit-learn is told so:
            ``sklearn.set_config(array_api_dispatch=True)``.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Labels of any kind; or for several labels a row, a matrix of zeros and ones.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 is as good as two rows.
        X_val, y_val : optional
            Validation data: its score goes into ``history_`` and, with ``early_stopping=True``,
            decides when to stop and which model to keep.

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C raises KeyboardInterrupt as usual, but leaves the estimator fitted with what was
        learnt so far, if anything (``stop_reason_ == "interrupted"``).
        """
        self._validate_params()
        with unchanged_on_error(self):
            again = self.warm_start and hasattr(self, "_model")
            X = self._check(X, reset=not again)
            place = Place.of(X)
            if again:
                self._check_same_parameters()
            else:
                self.__dict__.pop("_model", None)  # of an earlier fit; back again on an error
                self._dtype = str(to_numpy(X[:1, :]).dtype)  # "float32" or "float64"
                random = check_random_state(self.random_state)
                self._seed = int(random.randint(np.iinfo(np.int32).max))
                self._began = self._fixed_parameters()
            values = self._check_targets(y, again)
            check_consistent_length(X, values)
            weight, val_weight = self._weights(sample_weight, X, values), None
            if self.early_stopping and X_val is None and y_val is None:
                (X, values, weight), (X_val, y_val, val_weight) = self._hold_out(X, values, weight)
            elif (X_val is None) != (y_val is None):
                raise ValueError("X_val and y_val are needed together, got only one of them")
            elif X_val is not None:
                X_val = self._check(X_val, reset=False)
                y_val = self._check_validation(y_val)
                check_consistent_length(X_val, y_val)
            if again:
                self._source, self._model = copy.deepcopy(self._source), self._model.at(place)
                self.history_ = [e for e in self.history_ if e["n_iter"] <= self.n_iter_]
            else:
                self._source = self._prepare(X, weight, values)
                self.history_, self.n_iter_ = [], 0
            self._source.input = self._source.input.to(place)
            self._begun = self.n_iter_
            codes = place.put(values)
            n_classes = values.shape[1] if self._multilabel else len(self.classes_)
            monitor = Monitor(
                self,
                X,
                y,
                task=self._task_name,
                n_tasks=self._n_tasks(),
                score=None if X_val is None else self._scorer(X_val, y_val, val_weight),
                attributes=lambda event: {"_model": self._model},
                sample_weight=sample_weight,
            )
            task = Task(
                through(self._source.input, X),
                Targets(codes, n_classes, X.dtype),
                None if weight is None else place.put(weight / weight.max(), X.dtype),
                float(X.shape[0] if weight is None else weight.sum()),
                monitor.rows_seen,
            )
            steps = self._steps(task, self._model if again else None)
            self._run(steps, monitor)
            monitor.finish()
        if self.stop_reason_ == "interrupted":
            raise KeyboardInterrupt(
                f"{type(self).__name__} is fitted with what {self.n_iter_} {self._task_name}s found"
            )
        return self

    def _run(self, steps: Iterator[Step], monitor: Monitor) -> None:
        """Step by step, until the solver, the monitor or the user says stop.

        The source of features belongs to the model: it knows which ones have been given.
        """
        reason, number, seconds = None, self._begun, 0.0
        kept: dict[str, Any] = {}  # what the estimator is left with
        best = -np.inf
        if hasattr(self, "_model"):
            kept = self._now()
            if self.early_stopping and monitor.score is not None:
                best = monitor.score()
        try:
            while reason is None:
                monitor.pass_begins(number + 1)
                start = time.perf_counter()
                step = next(steps)
                seconds += time.perf_counter() - start
                self._model = step.model
                self.n_iter_ = number = step.number
                words = f"loss {step.facts['loss']:.5f}  error {100 * step.facts['error']:.2f} %"
                event = Event(self._task_name, number, step.facts, seconds, words)
                stop = monitor.pass_ended(event)
                score = event.extra.get("validation_score", np.inf)
                if not self.early_stopping or score > best:
                    best, kept = score, self._now()
                reason = step.reason or stop
        except KeyboardInterrupt:
            if not kept:
                raise
            reason = "interrupted"
        else:
            if reason == "max_iter" and self._warns:
                warnings.warn(
                    f"{type(self).__name__} had not converged after {number} iterations: raise "
                    f"max_iter or tol, or use warm_start=True to go on",
                    ConvergenceWarning,
                    stacklevel=4,
                )
            reason = f"{reason}{_dependence(step.factor)}"
        self.__dict__.update(kept)
        self.stop_reason_ = reason

    def _now(self) -> dict[str, Any]:
        source = copy.deepcopy(self._source)
        return {"_model": self._model, "n_iter_": self.n_iter_, "_source": source}

    # --- prediction ------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Any:
        """Score of each class.

        Shape (n_samples, n_classes), columns as in ``classes_``; for two classes (n_samples,):
        the second class's score less the first's. For several labels a row, one column each.
        """
        return self._decision(self._scores(X))

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, or of each label; shape (n_samples, n_classes)."""
        return self._probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`; −∞ where a projection gives 0."""
        P = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return Place.of(P).xp.log(P)

    def predict(self, X: Any) -> Any:
        """Labels, shape (n_samples,); for several labels a row, a matrix of zeros and ones."""
        return self._predict(self._scores(X))

    def _decision(self, scores: Any) -> Any:
        if len(self.classes_) == 2 and not self._multilabel:
            return scores[:, 1] - scores[:, 0]
        return scores

    def _predict(self, scores: Any) -> Any:
        place = Place.of(scores)
        if self._multilabel:
            half = self._probabilities(scores) >= 0.5
            return place.xp.astype(half, place.xp.int64)
        codes = place.xp.argmax(scores, axis=1)
        labels = self.classes_[to_numpy(codes)]
        return labels if place.is_numpy or labels.dtype.kind not in "biuf" else place.put(labels)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.array_api_support = True
        return tags

    # --- what subclasses say ---------------------------------------------------------------

    def _n_tasks(self) -> int:
        raise NotImplementedError

    def _steps(self, task: Task, before: Any) -> Iterator[Step]:
        """The solver's steps, each with a model; `before`: the model from which to go on."""
        raise NotImplementedError

    def _to_probabilities(self) -> Any:
        """What makes probabilities of scores: a link, or a projection."""
        return self._project()

    # --- inside ----------------------------------------------------------------------------

    _model: Any

    def _probabilities(self, scores: Any) -> Any:
        return probabilities(self._to_probabilities(), scores)

    def _project(self) -> Callable[[Any], Any]:
        return project_cube if self._multilabel else project_simplex

    def _check(self, X: Any, reset: bool) -> Any:
        X = detached(X)
        xp = Place.of_input(X).xp
        dtype = floats_for(X, xp) if reset else getattr(xp, self._dtype)
        return validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=reset)

    def _check_targets(self, y: Any, again: bool) -> NDArray[Any]:
        """Codes (n,), or zeros and ones (n, n_labels)."""
        y = self._labels(y)
        multilabel = y.ndim == 2
        if again:
            if multilabel != self._multilabel or (multilabel and y.shape[1] != len(self.classes_)):
                raise ValueError(
                    "y has another kind or number of labels than before; set warm_start=False to "
                    "start anew"
                )
            if multilabel:
                return np.asarray(y)
            return codes_of(y, self.classes_, "set warm_start=False to start anew")
        self._multilabel = multilabel
        if multilabel:
            self.classes_ = np.arange(y.shape[1])
            return np.asarray(y)
        self.classes_, codes = encode(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs examples of at least two classes; the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        return codes

    def _labels(self, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = y.toarray() if sp.issparse(y) else to_numpy(detached(y))
        if type_of_target(y, input_name="y") == "multilabel-indicator":
            y = check_array(y, dtype=None, input_name="y")
            if not np.all((y == 0) | (y == 1)):
                raise ValueError(
                    f"several labels a row must be a matrix of zeros and ones, got the values "
                    f"{np.unique(y)[:4].tolist()}; use (Y > 0).astype(int), say"
                )
            return np.asarray(y, dtype=np.uint8)
        y = _check_y(y)
        check_classification_targets(y)
        return np.asarray(y)

    def _check_validation(self, y: Any) -> NDArray[Any]:
        y = self._labels(y)
        if (y.ndim == 2) != self._multilabel:
            raise ValueError("y_val must be of the same kind as y: classes, or zeros and ones")
        if self._multilabel and y.shape[1] != len(self.classes_):
            raise ValueError(
                f"y_val must have as many labels a row as y, {len(self.classes_)}, got {y.shape[1]}"
            )
        if self._multilabel:
            return np.asarray(y)
        check_alike(y, self.classes_)
        return find(y, self.classes_)  # a label that training never saw is never predicted

    def _weights(self, sample_weight: Any, X: Any, values: NDArray[Any]) -> Any:
        if sample_weight is None and self.class_weight is None:
            return None
        n = np.empty((X.shape[0], 1))
        given = None if sample_weight is None else to_numpy(detached(sample_weight))
        weight = _check_sample_weight(given, n, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            if self._multilabel:
                raise ValueError(
                    "class_weight is for one label a row; pass sample_weight for several"
                )
            labels = self.classes_[values]
            weight = weight * class_weights(self.class_weight, labels, self.classes_, weight)
        if not np.all(np.isfinite(weight)):
            raise ValueError(
                "sample weights times class weights must be finite, got infinity; scale them down"
            )
        if not np.any(weight > 0):
            raise ValueError("at least one sample weight must be above zero, got zeros only")
        return weight

    def _hold_out(self, X: Any, values: NDArray[Any], weight: Any) -> tuple[Any, Any]:
        """Rows to learn from and rows to judge by; going on later, the same ones again."""
        rows = np.arange(len(values)) if weight is None else np.flatnonzero(weight)
        train, held = train_test_split(
            rows,
            test_size=self.validation_fraction,
            stratify=None if self._multilabel else values[rows],
            random_state=self._seed,
        )

        def part(index: NDArray[Any]) -> tuple[Any, ...]:
            index = np.sort(index)
            return some_rows(X, index), values[index], None if weight is None else weight[index]

        return part(train), part(held)

    def _fixed_parameters(self) -> dict[str, str]:
        """Those that the model so far depends on, in a form that can be compared."""
        names = ("features", "fit_intercept", "update", "basis")
        words = {name: repr(getattr(self, name)) for name in names if hasattr(self, name)}
        # A copy's generator of random numbers lies elsewhere.
        return {name: re.sub(r"(RandomState\(\w+\)) at \w+", r"\1", w) for name, w in words.items()}

    def _check_has_training(self) -> None:
        if not hasattr(self, "_source"):
            raise ValueError(NO_TRAINING)

    def _check_same_parameters(self) -> None:
        self._check_has_training()
        now = self._fixed_parameters()
        changes = [f"{k} was {v} and is {now[k]}" for k, v in self._began.items() if now[k] != v]
        if changes:
            raise ValueError(
                f"parameters changed while the training goes on: {', '.join(changes)}; change "
                f"them back, or set warm_start=False to start anew"
            )

    def _prepare(self, X: Any, weight: Any, y: Any) -> Source:
        if self.features is None:
            return Source(Same(X.shape[1]))
        return prepared(self.features, X, weight, y, self._seed)

    def _map(self, task: Task) -> FeatureMap:
        """All features at once."""
        if self.features is None:
            return Standard.of(task.X, task.weight, bool(self.fit_intercept))
        random = np.random.RandomState(self._seed)
        return self._source.draw(int(self.features.n_features), random)

    def _design(self, task: Task, map: FeatureMap) -> Design:
        return Design(task, map, self._alpha(), bool(self.fit_intercept))

    def _alpha(self) -> float | None:
        return None if self.alpha == "scale" else float(self.alpha)

    def _scores(self, X: Any) -> Any:
        X = self._check_fitted(X)
        return self._model.at(Place.of(X)).scores(X)

    def _check_fitted(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._check(X, reset=False)

    def _scorer(self, X: Any, values: Any, weight: Any) -> Callable[[], float]:
        """How good the model is at the moment on validation data."""
        return lambda: self._accuracy(self._model.at(Place.of(X)).scores(X), values, weight)

    def _accuracy(self, scores: Any, values: Any, weight: Any) -> float:
        targets = Targets(Place.of(scores).put(values), scores.shape[1], scores.dtype)
        wrong = targets.mistakes(slice(None), self._probabilities(scores))
        return float(np.average(~to_numpy(wrong), weights=weight))


def _dependence(factor: Factor) -> str:
    if not factor.dependent:
        return ""
    return (
        f"; {factor.dependent} of {factor.scale.shape[0]} features depend on others: "
        f"ridge of {factor.lift:.0e} of their mean squares was added"
    )


def prepared(generator: FeatureGenerator, X: Any, weight: Any, y: Any, seed: int) -> Source:
    generator = clone(generator)
    generator._validate_params()
    return generator.prepare(X, np.random.RandomState(seed), weight, y)
