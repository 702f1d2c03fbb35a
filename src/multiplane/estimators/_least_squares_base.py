"""What the least-squares classifiers share: checks, targets, weights, steps, prediction."""

from __future__ import annotations

import copy
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

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

from multiplane._arrays import (
    NUMPY,
    Place,
    detached,
    floats_for,
    numpy_dtype,
    some_rows,
    to_numpy,
)
from multiplane.estimators._callbacks import CallbackSupportMixin, with_callbacks
from multiplane.estimators._checks import (
    NO_TRAINING,
    NO_WEIGHT,
    UNFINISHED,
    check_can_stop_early,
    class_weights,
    new_seed,
    unchanged_on_error,
)
from multiplane.estimators._labels import (
    check_alike,
    check_number,
    check_several,
    codes_of,
    encode,
    find,
)
from multiplane.estimators._monitor import Monitor
from multiplane.features._base import FeatureGenerator, Source
from multiplane.links import probabilities, project_cube, project_simplex
from multiplane.models._maps import FeatureMap, Same
from multiplane.progress import Event
from multiplane.solvers._engine import Engine, Here, Part
from multiplane.solvers._least_squares import Design, Factor, Step, Task, standard
from multiplane.solvers._rows import Given, Reading, Rows
from multiplane.solvers._sums import Targets

if TYPE_CHECKING:
    from multiplane.estimators._parts import Seen

GO_ON = "set warm_start=False to start anew"
ONE_LABEL = "class_weight is for one label a row; pass sample_weight for several"


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
                self._forget(numpy_dtype(X).name)
            values = self._check_targets(y, again)
            check_consistent_length(X, values)
            weight, val_weight = self._weights(sample_weight, X, values), None
            if self.early_stopping and X_val is None and y_val is None:
                (X, values, weight), (X_val, y_val, val_weight) = self._hold_out(X, values, weight)
            else:
                X_val, y_val = self._check_both(X_val, y_val)
            reading = Reading(
                int(X.shape[1]),
                np.dtype(self._dtype),
                sp.issparse(X),
                None if weight is None else float(weight.max()),
            )
            part = Part(None, Given(X, values, weight))  # type: ignore[arg-type]
            task = Task(
                Rows(Here([part]), reading),
                self._n_targets(),
                float(X.shape[0] if weight is None else weight.sum()),
                place,
            )
            self._begin(task, again)
            monitor = self._monitor(X, y, X_val, y_val, val_weight, sample_weight)
            part.watch = monitor.rows_seen
            self._train(task, monitor, again)
        return self._ended()

    @with_callbacks
    def _fit_parts(
        self, engine: Engine, *, X_val: Any = None, y_val: Any = None, checkpoint: Any = None
    ) -> Self:
        """Learn from rows that lie in several places; the result is that of `fit` but for rounding.

        Validation data are arrays here. `checkpoint.write(estimator)` is called after each step,
        and `checkpoint.resume(estimator)` at the beginning: whether it has given the estimator what
        an earlier call had learnt.
        """
        from multiplane.estimators._parts import survey  # it needs the compiled module

        self._validate_params()
        check_can_stop_early(self, X_val, y_val)
        with unchanged_on_error(self):
            resumed = checkpoint is not None and checkpoint.resume(self)
            if resumed and self.stop_reason_ != UNFINISHED:
                return self
            again = resumed or (self.warm_start and hasattr(self, "_model"))
            seen = survey(engine, several=True)
            if again:
                self._check_same_parameters()
                self._check_width(seen)
            else:
                self._forget(seen.dtype.name)
                self.__dict__.pop("feature_names_in_", None)
                self.n_features_in_ = seen.n_features
            self._check_labels(seen.labels, seen.n_labels, again)
            reading, n_rows = self._reading(seen)
            task = Task(Rows(engine, reading), self._n_targets(), n_rows, Place(NUMPY, None))
            X_val, y_val = self._check_both(X_val, y_val)
            self._begin(task, again, self._begun if resumed else None)
            monitor = self._monitor(None, None, X_val, y_val)
            self._train(task, monitor, again, checkpoint)
        return self._ended()

    def _forget(self, dtype: str) -> None:
        """Begin a training anew, with this type of float."""
        self.__dict__.pop("_model", None)  # of an earlier fit; back again on an error
        self._dtype = dtype  # "float32" or "float64"
        self._seed = new_seed(check_random_state(self.random_state))
        self._began = self._fixed_parameters()

    def _begin(self, task: Task, again: bool, begun: int | None = None) -> None:
        """The source of features, and where the training stands: after `begun` steps, or here."""
        if again:
            self._source = copy.deepcopy(self._source)
            self._model = self._model.at(task.place)
            self.history_ = [e for e in self.history_ if e["n_iter"] <= self.n_iter_]
        else:
            self._source = self._prepare(task.rows)
            self.history_, self.n_iter_ = [], 0
        self._source.input = self._source.input.to(task.place)
        self._begun = self.n_iter_ if begun is None else begun

    def _monitor(
        self,
        X: Any,
        y: Any,
        X_val: Any,
        y_val: Any,
        val_weight: Any = None,
        sample_weight: Any = None,
    ) -> Monitor:
        return Monitor(
            self,
            X,
            y,
            task=self._task_name,
            n_tasks=self._n_tasks(),
            score=None if X_val is None else self._scorer(X_val, y_val, val_weight),
            attributes=lambda event: {"_model": self._model},
            sample_weight=sample_weight,
        )

    def _train(self, task: Task, monitor: Monitor, again: bool, checkpoint: Any = None) -> None:
        task = replace(task, rows=task.rows.through(self._source.input))
        steps = self._steps(task, self._model if again else None)
        self._run(steps, monitor, checkpoint)
        monitor.finish()

    def _ended(self) -> Self:
        if self.stop_reason_ == "interrupted":
            raise KeyboardInterrupt(
                f"{type(self).__name__} is fitted with what {self.n_iter_} {self._task_name}s found"
            )
        return self

    def _run(self, steps: Iterator[Step], monitor: Monitor, checkpoint: Any) -> None:
        """Step by step, until the solver, the monitor or the user says stop.

        The source of features belongs to the model: it knows which ones have been given.
        """
        reason, number, seconds = None, self.n_iter_, 0.0
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
                reason = step.reason or stop
                if not self.early_stopping or score > best:
                    best, kept = score, self._now()
                    if checkpoint is not None and reason is None:
                        self.stop_reason_ = UNFINISHED
                        checkpoint.write(self)
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
                    stacklevel=5,
                )
            reason = f"{reason}{_dependence(step.factor)}"
        self.__dict__.update(kept)
        self.stop_reason_ = reason
        if checkpoint is not None and reason != "interrupted":
            checkpoint.write(self)

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

    def _left(self) -> int:
        """Steps that may still be done."""
        return self._begun + self._n_tasks() - self.n_iter_

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
        if y.ndim == 2:
            self._check_labels(None, y.shape[1], again)
            return np.asarray(y)
        if again:
            self._check_labels(y[:0], None, again)
            return codes_of(y, self.classes_, GO_ON)
        classes, codes = encode(y)
        self._check_labels(classes, None, again)
        return codes

    def _check_labels(self, labels: Any, n_labels: int | None, again: bool) -> None:
        """`labels` are all that there are; of several a row only their number is known."""
        several = n_labels is not None
        if again:
            if several != self._multilabel or (several and n_labels != len(self.classes_)):
                raise ValueError(f"y has another kind or number of labels than before; {GO_ON}")
            if not several and len(labels):
                codes_of(labels, self.classes_, GO_ON)
            return
        self._multilabel = several
        self.classes_ = labels if n_labels is None else np.arange(n_labels)
        check_number(self.classes_)
        if not several:
            check_several(labels, self)

    def _n_targets(self) -> int:
        return len(self.classes_)

    def _reading(self, seen: Seen) -> tuple[Reading, float]:
        """How parts are to be read, and how many rows they stand for."""
        given, largest = seen.weight, seen.largest_weight
        class_weight = None
        if self.class_weight is not None:
            if seen.labels is None:
                raise ValueError(ONE_LABEL)
            each = class_weights(self.class_weight, seen.labels, self.classes_, given)
            class_weight = np.zeros(len(self.classes_))
            class_weight[find(seen.labels, self.classes_)] = each
            given, largest = given * each, float(each.max()) * (largest or 1.0)
        n_rows = float(given.sum())
        if largest is not None:
            check_sum(n_rows, largest)
        values = partial(values_of, classes=self.classes_, several=self._multilabel)
        reading = Reading(
            self.n_features_in_, np.dtype(self._dtype), seen.sparse, largest, values, class_weight
        )
        return reading, n_rows

    def _check_width(self, seen: Seen) -> None:
        d = self.n_features_in_
        if seen.n_features > d or (seen.n_features < d and not seen.sparse):
            raise ValueError(
                f"X has {seen.n_features} features, but {type(self).__name__} is expecting {d} "
                f"features as input"
            )

    def _check_both(self, X_val: Any, y_val: Any) -> tuple[Any, Any]:
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val are needed together, got only one of them")
        if X_val is None:
            return None, None
        X_val = self._check(X_val, reset=False)
        y_val = self._check_validation(y_val)
        check_consistent_length(X_val, y_val)
        return X_val, y_val

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
                raise ValueError(ONE_LABEL)
            labels = self.classes_[values]
            weight = weight * class_weights(self.class_weight, labels, self.classes_, weight)
        check_sum(float(weight.sum()), float(weight.max()))
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

    def _prepare(self, rows: Rows) -> Source:
        if self.features is None:
            return Source(Same(rows.n_features))
        return learnt(self.features, rows, self._seed)

    def _map(self, task: Task) -> FeatureMap:
        """All features at once."""
        if self.features is None:
            return standard(task, bool(self.fit_intercept))
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


def learnt(generator: FeatureGenerator, rows: Rows, seed: int) -> Source:
    generator = clone(generator)
    generator._validate_params()
    return generator.learn(rows, np.random.RandomState(seed))


def values_of(y: Any, classes: NDArray[Any], several: bool) -> NDArray[Any]:
    """Codes (n,), or zeros and ones (n, n_labels), of a part's labels."""
    y = np.asarray(y)
    if not len(y):  # of no rows nothing is known
        return np.zeros((0, len(classes)) if several else 0, dtype=np.int32)
    return y.astype(np.uint8) if several else codes_of(y, classes, GO_ON)


def check_sum(total: float, largest: float) -> None:
    """Of weights, and the largest."""
    if not np.isfinite(total) or not np.isfinite(largest):
        raise ValueError(
            "sample weights times class weights must be finite, got infinity; scale them down"
        )
    if not total > 0:
        raise ValueError(NO_WEIGHT)
