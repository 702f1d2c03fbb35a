"""What all hyperplane classifiers share: checks, fit, partial_fit, prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.estimators._callbacks import CallbackSupportMixin, with_callbacks
from multiplane.models import HyperplaneModel
from multiplane.progress import Event, Printer, Tally
from multiplane.solvers import Alternating, Assignment, Online, Result, Settings, fit, one_pass

# Dense input of other types than these becomes float32.
_DTYPES = (np.float32, np.float64)


class Training:
    """A learner with what has been counted, and the model it stands for.

    The model is made when it is first asked for after a change: a stream of `partial_fit` calls
    does not pay for models that nobody looks at.
    """

    def __init__(self, learner: _native.Learner, tally: Tally | None = None) -> None:
        self.learner = learner
        self.tally = tally or Tally()
        self._model: HyperplaneModel | None = None

    def model(self) -> HyperplaneModel:
        model = self._model
        if model is None:
            n_classes = len(self.learner.class_counts)
            model = self._model = HyperplaneModel(self.learner.snapshot(), n_classes)
        return model

    def forget_model(self) -> None:
        self._model = None

    def frozen(self) -> Training:
        """A copy for prediction alone: it keeps the model of now while the training goes on."""
        copy = Training(self.learner, self.tally)
        copy._model = self.model()
        return copy


class HyperplaneClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base class. A subclass names its parameters and, in `_make_learner`, its algorithm."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "prune_every": [Interval(Integral, 1, None, closed="left")],
        "prune_threshold": [Interval(Real, 0, None, closed="left"), None],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [dict, str, None],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # Set by the subclasses' __init__; Pegasos, which has nothing to prune, keeps these two.
    prune_every: int = 10_000
    prune_threshold: float | None = None
    alpha: float
    max_iter: int
    average: bool
    fit_intercept: bool
    intercept_scaling: float
    shuffle: bool
    random_state: Any
    class_weight: Any
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float | None
    n_jobs: int | None
    verbose: int
    classes_: NDArray[Any]
    n_features_in_: int

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
        """Learn from all rows, `max_iter` times over.

        Parameters
        ----------
        X : array or CSR/CSC matrix of shape (n_samples, n_features)
            C-contiguous float32 arrays and CSR matrices of float32 are used without a copy.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; a row of weight 0 is as good as absent.
        X_val, y_val : optional
            Validation data: its score after each pass goes into ``history_`` and, with
            ``early_stopping=True``, decides when to stop.
        """
        self._validate_params()
        with self._unchanged_on_error():
            again = self.warm_start and hasattr(self, "_training")
            random = check_random_state(self.random_state)
            X, y = self._check_examples(X, y, reset=not again)
            classes, codes = self._known(y) if again else _encode(y)
            if len(classes) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs examples of at least two classes; the data "
                    f"contains only one class: {classes[0]!r}"
                )
            weight = self._weights(sample_weight, X, y, classes)
            validation = self._validation(X_val, y_val, classes)
            rows = None
            if self.early_stopping and validation is None:
                rows, validation = self._hold_out(X, codes, random)
            # A new learner can be thrown away if a row turns out bad; one that goes on cannot.
            check_later = not again and weight is None and rows is None
            examples = Examples(Matrix(X, check_later), codes, weight, rows)
            if not again:
                self.classes_ = classes
                self._start(X.shape[1], len(classes), random)
            training = self._training
            assignment = self._assignment(training.learner, examples, random)
            monitor = _Monitor(self, X, y, validation)
            result = fit(
                training.learner,
                examples,
                assignment,
                self._settings(),
                random,
                monitor,
                training.tally,
            )
            monitor.finish()
        self._finish(result)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        allow_new_classes: bool = False,
    ) -> Self:
        """Go on learning from the next rows of a stream, each seen once, in their order.

        The model depends on the stream alone, not on how it is cut into calls: many calls give
        the same bytes as one, and as ``fit`` with ``max_iter=1, shuffle=False``. An error leaves
        the model as it was.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; one row is enough.
        classes : array, optional
            All labels that will ever come; needed at the first call only.
        allow_new_classes : bool, default=False
            Accept labels that were not announced; ``classes`` may then be left out.
        """
        self._validate_params()
        first = not hasattr(self, "_training")
        if first and classes is None and not allow_new_classes:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that will "
                "ever come, or allow_new_classes=True if they are not known"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels and does not work with partial_fit; "
                "pass a dictionary of weights, or sample_weight"
            )
        with self._unchanged_on_error():
            X, y = self._check_examples(X, y, reset=first)
            known = np.unique(column_or_1d(classes)) if classes is not None else None
            if first:
                old = known if known is not None else np.unique(y)
            else:
                self._check_same_learner()
                old = self.classes_
                if known is not None and not np.array_equal(known, old):
                    raise ValueError(
                        f"classes={known} is not the same as on the first call to partial_fit: "
                        f"{old}"
                    )
            all_classes = np.union1d(old, y) if allow_new_classes else old
            codes = _codes(y, all_classes, "pass allow_new_classes=True to accept new ones")
            if first and not allow_new_classes and len(all_classes) < 2:
                raise ValueError(f"at least two classes are needed, got {all_classes}")
            weight = self._weights(sample_weight, X, y, all_classes)
            examples = Examples(Matrix(X), codes, weight)

        # Everything has been checked: only now the state changes.
        self.classes_ = all_classes
        if first:
            self._start(X.shape[1], len(all_classes), check_random_state(self.random_state))
            self.n_iter_ = 0
            self.history_: list[dict[str, Any]] = []
            self.stop_reason_ = "partial_fit"
        elif len(all_classes) > len(old):
            code = np.searchsorted(all_classes, old).tolist()
            self._training.learner.relabel(code, len(all_classes))
            self._add_missing_hyperplanes(self._training.learner)
        training = self._training
        training.forget_model()
        before = Tally(**vars(training.tally))
        recorder = _Recorder(self.history_)
        one_pass(
            training.learner,
            examples,
            examples.rows(),
            Online(),
            self._settings(),
            recorder,
            training.tally,
        )
        event = training.tally.since(before, "partial_fit", self.n_iter_, training.learner)
        recorder.pass_ended(event)
        self.t_ = training.learner.t
        return self

    # --- prediction ------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Highest score among the hyperplanes of each class.

        Shape (n_samples, n_classes), columns as in ``classes_``; for two classes (n_samples,):
        the second class's score less the first's.
        """
        matrix = self._check_rows(X)
        scores = self._fitted_model().decision(matrix, self._n_threads())
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, shape (n_samples,)."""
        matrix = self._check_rows(X)
        codes = self._fitted_model().predict(matrix, self._n_threads())
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Which hyperplane decided, shape (n_samples,): a row number of ``coef_``."""
        matrix = self._check_rows(X)
        return self._fitted_model().winners(matrix, self._n_threads())

    @property
    def coef_(self) -> NDArray[np.float32]:
        """Hyperplanes, shape (n_hyperplanes_, n_features_in_)."""
        return self._fitted_model().coef

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """Intercepts, shape (n_hyperplanes_,)."""
        return self._fitted_model().intercept

    @property
    def hyperplane_class_(self) -> NDArray[Any]:
        """Label of each hyperplane's class, shape (n_hyperplanes_,)."""
        labels: NDArray[Any] = self.classes_[self._fitted_model().owner]
        return labels

    @property
    def n_hyperplanes_(self) -> int:
        """Number of hyperplanes, all classes together."""
        return len(self._fitted_model())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_training")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- inside ----------------------------------------------------------------------------

    def _make_learner(self, **common: Any) -> _native.Learner:
        raise NotImplementedError

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Checks write attributes (`n_features_in_`); if one fails, none is left behind."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=_DTYPES,
            ensure_all_finite=False,
            accept_large_sparse=True,
            reset=reset,
        )
        if y.dtype.kind not in "biu":  # whole numbers need no further look
            check_classification_targets(y)
        return X, y

    def _add_missing_hyperplanes(self, learner: _native.Learner) -> None:
        """For algorithms whose classes must own hyperplanes from the start."""

    def _assignment(
        self, learner: _native.Learner, examples: Examples, random: np.random.RandomState
    ) -> Assignment:
        if getattr(self, "mode", "online") == "batch":
            return Alternating(n_threads=self._n_threads())
        return Online()

    def _start(self, n_features: int, n_classes: int, random: np.random.RandomState) -> None:
        learner = self._make_learner(
            n_features=n_features,
            n_classes=n_classes,
            bias=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            lam=float(self.alpha),
            average=bool(self.average),
            seed=int(random.randint(np.iinfo(np.int32).max)),
        )
        self._add_missing_hyperplanes(learner)
        self._training = Training(learner)

    def _check_same_learner(self) -> None:
        """Parameters that are part of the state cannot change while training goes on."""
        learner = self._training.learner
        began = (learner.lam, learner.average)
        now = (float(self.alpha), bool(self.average))
        if now != began:
            raise ValueError(
                f"training began with alpha={began[0]} and average={began[1]}, but they are now "
                f"{now[0]} and {now[1]}; fit anew (warm_start=False) to change them"
            )

    def _settings(self) -> Settings:
        return Settings(
            max_iter=int(self.max_iter),
            prune_every=int(self.prune_every),
            prune_threshold=self.prune_threshold,
            shuffle=bool(self.shuffle),
        )

    def _finish(self, result: Result) -> None:
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        self.t_ = self._training.learner.t
        if result.stop_reason == "interrupted":
            warnings.warn(
                f"{type(self).__name__}: training was interrupted; the model is what was learnt "
                f"in {self.t_ - 1} steps",
                stacklevel=3,
            )

    def _weights(
        self, sample_weight: ArrayLike | None, X: Any, y: NDArray[Any], classes: NDArray[Any]
    ) -> NDArray[np.float32] | None:
        if sample_weight is None and self.class_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            present = np.unique(y)
            by_class = compute_class_weight(self.class_weight, classes=present, y=y)
            weight = weight * by_class[np.searchsorted(present, y)]
        if not np.any(weight > 0):
            raise ValueError("at least one sample weight must be above zero, got zeros only")
        if weight.max() > _native.LARGEST:
            raise ValueError(f"sample weights must be below 1e15, got {weight.max():g}")
        return np.ascontiguousarray(weight, dtype=np.float32)

    def _validation(
        self, X: Any, y: Any, classes: NDArray[Any]
    ) -> tuple[Matrix, NDArray[np.int32]] | None:
        if (X is None) != (y is None):
            raise ValueError("X_val and y_val are needed together, got only one of them")
        if X is None:
            return None
        X, y = self._check_examples(X, y, reset=False)
        # A label that training never saw is simply one that no prediction can meet.
        position = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        return Matrix(X), np.where(classes[position] == y, position, -1).astype(np.int32)

    def _hold_out(
        self, X: Any, codes: NDArray[Any], random: np.random.RandomState
    ) -> tuple[NDArray[np.int64], tuple[Matrix, NDArray[np.int32]]]:
        train, held = train_test_split(
            np.arange(len(codes)),
            test_size=self.validation_fraction,
            stratify=codes,
            random_state=random,
        )
        held = np.sort(held)
        return np.sort(train), (Matrix(X[held]), codes[held].astype(np.int32))

    def _known(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
        self._check_same_learner()
        advice = "set warm_start=False to start anew"
        return self.classes_, _codes(y, self.classes_, advice)

    def _check_rows(self, X: Any) -> Matrix:
        check_is_fitted(self)
        if sp.issparse(X) and X.shape[1] < self.n_features_in_:
            # LIBSVM files end with the highest index they use: missing columns are zeros.
            X = sp.csr_matrix(X)
            X = sp.csr_matrix(
                (X.data, X.indices, X.indptr), shape=(X.shape[0], self.n_features_in_)
            )
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=_DTYPES,
            ensure_all_finite=False,
            accept_large_sparse=True,
            reset=False,
        )
        return Matrix(X)

    def _fitted_model(self) -> HyperplaneModel:
        if not hasattr(self, "_training"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet; call fit or partial_fit"
            )
        return self._training.model()

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))


def _encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Sorted classes and codes. Small whole numbers are counted, not sorted: ten times faster."""
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        if high - low <= 4 * len(y):
            shifted = (y - y.dtype.type(low)).astype(np.intp)
            present = np.bincount(shifted) > 0
            code = np.cumsum(present, dtype=np.int32) - np.int32(1)
            return (np.flatnonzero(present) + low).astype(y.dtype), code[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def _codes(y: NDArray[Any], classes: NDArray[Any], advice: str) -> NDArray[np.int32]:
    position = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    unknown = classes[position] != y
    if np.any(unknown):
        labels = np.unique(y[unknown])
        shown = ", ".join(map(repr, labels[:5].tolist())) + (", …" if len(labels) > 5 else "")
        raise ValueError(
            f"y contains labels that are not among the known classes: {shown}; {advice}"
        )
    return position.astype(np.int32)


class _Recorder:
    """Writes prunings into a history; deaf to the rest."""

    def __init__(self, history: list[dict[str, Any]]) -> None:
        self.history = history

    def pass_begins(self, number: int) -> None:
        pass

    def rows_seen(self, done: int, total: int) -> None:
        pass

    def pruned(self, event: Event) -> None:
        self.history.append(event.as_dict())

    def pass_ended(self, event: Event) -> str | None:
        self.history.append(event.as_dict())
        return None


class _Monitor(_Recorder):
    """History, validation, early stopping, printing and callbacks of one `fit`."""

    def __init__(
        self,
        estimator: HyperplaneClassifier,
        X: Any,
        y: Any,
        validation: tuple[Matrix, NDArray[np.int32]] | None,
    ) -> None:
        if not (estimator.warm_start and hasattr(estimator, "history_")):
            estimator.history_ = []
        super().__init__(estimator.history_)
        self.estimator, self.X, self.y, self.validation = estimator, X, y, validation
        self.printer = Printer(
            type(estimator).__name__, int(estimator.max_iter), int(estimator.verbose)
        )
        self.best, self.since_best = -np.inf, 0
        self.root = estimator._init_callback_context(max_subtasks=int(estimator.max_iter))
        self.root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def pass_begins(self, number: int) -> None:
        self.task = self.root.subcontext(task_name="pass")
        self.task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        self.printer.pass_begins(number)

    def rows_seen(self, done: int, total: int) -> None:
        self.printer.rows_seen(done % max(total, 1) or total, total)

    def pass_ended(self, event: Event) -> str | None:
        self.estimator._training.forget_model()
        reason = self._validate(event)
        super().pass_ended(event)
        if self.estimator.verbose:
            self.printer.pass_ended(event)
        stop = self.task.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            metadata=event.as_dict(),
            reconstruction_attributes=lambda: self._fitted_attributes(event),
        )
        return "callback" if stop else reason

    def finish(self) -> None:
        self.estimator._training.forget_model()  # an interrupted pass is part of the model too
        self.root.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=dict,
        )

    def _fitted_attributes(self, event: Event) -> dict[str, Any]:
        training = self.estimator._training.frozen()
        return {"_training": training, "t_": event.t, "n_iter_": event.n_iter}

    def _validate(self, event: Event) -> str | None:
        if self.validation is None:
            return None
        X, codes = self.validation
        model = self.estimator._training.model()
        score = float(np.mean(model.predict(X, self.estimator._n_threads()) == codes))
        event.extra["validation_score"] = score
        tol = self.estimator.tol or 0.0
        if score > self.best + tol:
            self.since_best = 0
        else:
            self.since_best += 1
        self.best = max(self.best, score)
        if self.estimator.early_stopping and self.since_best >= self.estimator.n_iter_no_change:
            return "validation score no longer improves"
        return None
