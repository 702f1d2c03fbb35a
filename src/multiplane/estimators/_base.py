"""What all classifiers that learn row by row share: checks, fit, partial_fit, prediction."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from multiplane import _native
from multiplane.data import Examples, Matrix, Source, check_sparse, filled, open_source, widened
from multiplane.estimators._callbacks import CallbackSupportMixin, with_callbacks
from multiplane.estimators._checks import (
    NO_WEIGHT,
    NoWeightError,
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
    stretches,
)
from multiplane.estimators._monitor import Monitor, Recorder
from multiplane.estimators._parts_training import PartsTraining
from multiplane.estimators._rounds import Mixing, Reading, narrow
from multiplane.estimators._streams import Callback, Plan, Printed, StreamTraining, check_scale
from multiplane.estimators._training import Maker, Training, Validation
from multiplane.models._scaling import Scaling
from multiplane.progress import Event
from multiplane.solvers._engine import Engine
from multiplane.solvers._mixing import Rule
from multiplane.solvers._selection import progressive
from multiplane.solvers._sgd import Assignment, Online, Result, Settings, fit, one_pass
from multiplane.solvers._tally import Learner, Tally

# Dense input of other types than these becomes float32.
_DTYPES = (np.float32, np.float64)
_ALIKE = 16  # times the steps of a trial: until then a training has the same λ times steps


@dataclass(frozen=True)
class Stretch:
    """The next rows of a stream, checked: `parts` are slices with the classes known in each."""

    X: Any
    y: NDArray[Any]
    examples: Examples
    parts: list[tuple[slice, NDArray[Any]]]

    def cut(self, n: int) -> tuple[Stretch, Stretch | None]:
        """A copy of the rows up to the n-th that takes part, and what comes after, if anything."""
        order = self.examples.rows()
        if len(order) <= n:
            return self._piece(0, len(self.y), copy=True), None
        end = int(order[max(n, 0)])
        return self._piece(0, end, copy=True), self._piece(end, len(self.y))

    def _piece(self, start: int, stop: int, copy: bool = False) -> Stretch:
        rows = slice(start, stop)
        X, y, weight = self.X[rows], self.y[rows], self.examples.weight
        weight = None if weight is None else weight[rows]
        codes = np.zeros(stop - start, dtype=np.int32)
        parts = []
        for part, known in self.parts:
            first, last, _ = part.indices(len(self.y))
            first, last = max(first, start), min(last, stop)
            if first < last:
                parts.append((slice(first - start, last - start), known))
        if copy:
            X, y = X.copy(), y.copy()
        return Stretch(X, y, Examples(Matrix(X), codes, weight), parts)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "examples": self.examples.weight}

    def __setstate__(self, state: dict[str, Any]) -> None:
        codes = np.zeros(len(state["y"]), dtype=np.int32)
        examples = Examples(Matrix(state["X"]), codes, state["examples"])
        self.__dict__.update({**state, "examples": examples})


class StreamClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base class. A subclass names its parameters and, in `_make_learner`, its algorithm."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "verbose": ["verbose"],
    }

    _model_type: ClassVar[Maker]
    # What alpha="auto" chooses from; among equals the first.
    _alphas: ClassVar[tuple[float, ...]] = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
    _trial_rows: ClassVar[int] = 20_000
    # Whether `_start` looks at the values of all rows, which must then have been checked.
    _looks_at_values: ClassVar[bool] = False

    max_iter: int
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
    alpha_: float
    _training: Training
    history_: list[dict[str, Any]]

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

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C raises KeyboardInterrupt as usual, but leaves the estimator fitted with what was
        learnt so far (``stop_reason_ == "interrupted"``).

        Callbacks (``set_callbacks``, as in scikit-learn 1.9) see one task "fit" with a task "pass"
        for each pass; a true value from ``on_fit_task_end`` of a pass stops the training.
        ``estimator.history_[-1]`` tells what happened in the pass.
        """
        self._validate_params()
        with unchanged_on_error(self):
            again = self.warm_start and self._can_go_on()
            random = check_random_state(self.random_state)
            if not again:
                self.__dict__.pop("scaler_", None)
            X, y = self._check_examples(X, y, reset=not again)
            classes, codes = self._known(y) if again else encode(y)
            check_several(classes, self)
            self._check_classes(classes)
            held_out = self.early_stopping and X_val is None and y_val is None
            weighted = sample_weight is not None or self.class_weight is not None
            # A new learner can be thrown away if a row turns out bad; one that goes on cannot,
            # rows that take no part would never be looked at, and trials number them anew.
            tried = bool(self._found_by_trial())
            at_once = again or held_out or weighted or tried or self._looks_at_values
            matrix = Matrix(X, check_later=not at_once)
            weight = self._weights(sample_weight, matrix, X, y, classes)
            validation, rows = self._validation(X_val, y_val, classes), None
            if held_out:
                rows, validation = self._hold_out(X, codes, weight, random)
            examples = Examples(matrix, codes, weight, rows)
            if again:  # a copy, so that an error leaves the old one as it was
                self._go_on(examples)
                self._training = copy.deepcopy(self._training)
                self.history_ = list(self.history_)
            else:
                self.classes_ = classes
                self.history_ = []
                self._start(examples, len(classes), new_seed(random))
            training, settings = self._training, self._settings()
            given, examples = examples, self._as_learnt(examples)
            assignment = self._assignment(training.learner, examples, random)
            monitor = self._monitor(X, y, validation, sample_weight)
            result = fit(
                training.learner,
                examples,
                assignment,
                settings,
                random,
                monitor,
                training.tally,
            )
            self._tidy_up(given)
            monitor.finish()
        self._finish(result)
        return self

    @with_callbacks
    def _fit_parts(
        self,
        engine: Engine,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        mixing: Rule | None = None,
        rounds: int | None = None,
    ) -> Self:
        """Learn from rows that lie in several places, in rounds: each part learns a share of its
        rows, and what they have learnt is mixed.

        Validation data are arrays here. `mixing` and `rounds` (a pass; for the sum: in the first
        pass, and after that in inverse proportion to its number; for the chain: of each part): see
        solvers/_mixing.py; None: as is best for the algorithm. `checkpoint.write(estimator)` is
        called after each round, and `checkpoint.resume(estimator)` at the beginning: whether it has
        given the estimator what an earlier call had learnt.
        """
        self._validate_params()
        check_can_stop_early(self, X_val, y_val)
        with unchanged_on_error(self):
            for name in [name for name in vars(self) if _is_learnt(name)]:
                delattr(self, name)
            training = PartsTraining(self, engine, mixing, rounds, checkpoint)
            if not training.begin():
                return self
            validation = self._validation(X_val, y_val, self.classes_)
            monitor = self._monitor(None, None, validation)
            monitor.recall()
            result = training.run(monitor)
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
        the same bytes as one, and as ``fit`` with ``max_iter=1, shuffle=False`` (a kernel machine
        with ``gamma="scale"`` excepted, whose width ``fit`` finds from all rows and a stream from
        its first 256; and `MultiplaneClassifier`, which needs some rows to start from). An error
        leaves the model as it was. After Ctrl-C ``t_ - 1`` rows have been learnt, and
        ``stop_reason_`` is "interrupted".

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; one row is enough.
        classes : array, optional
            All labels that will ever come; needed at the first call only.
        allow_new_classes : bool, default=False
            Accept labels that were not announced; ``classes`` may then be left out.
        """
        return self._partial_fit(
            X, y, classes, sample_weight, allow_new_classes=allow_new_classes, from_source=False
        )

    def _partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        allow_new_classes: bool,
        from_source: bool,
    ) -> Self:
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
        tried = self._found_by_trial() if first and not from_source else ()
        if tried:
            raise ValueError(
                f"{tried[0]}='auto' is found by trial among all rows, which a stream does not "
                f"have; pass a number, for example the {tried[0]}_ that fit finds with the first "
                f"rows"
            )
        with unchanged_on_error(self):
            X, y = self._check_examples(X, y, reset=first)
            announced = np.unique(column_or_1d(classes)) if classes is not None else None
            if not first:
                self._check_same_learner()
            known = self._known_so_far(y, announced, first)
            if allow_new_classes:
                check_alike(y, known)
            parts = list(stretches(y, known)) if allow_new_classes else [(slice(None), known)]
            codes = codes_of(y, parts[-1][1], "pass allow_new_classes=True to accept new ones")
            self._check_classes(parts[-1][1])
            matrix = Matrix(X)
            weight = self._weights(sample_weight, matrix, X, y, None)
            stretch = Stretch(X, y, Examples(matrix, codes, weight), parts)
            self._check_stretch(stretch)

        # Everything has been checked: only now the state changes.
        if first:
            self.n_iter_ = 0
            self.history_ = []
        self.stop_reason_ = "partial_fit"
        recorder = Recorder(self.history_)
        before = Tally() if first else self._training.tally.copy()
        try:
            before = self._learn_stream(stretch, recorder)
        except KeyboardInterrupt:
            self.stop_reason_ = "interrupted"
            raise
        finally:  # after Ctrl-C too the attributes tell of what has been learnt
            if hasattr(self, "_training"):
                learner = self._training.learner
                event = self._training.tally.since(before, "partial_fit", self.n_iter_, learner)
                recorder.pass_ended(event)
                self.t_ = learner.t
        return self

    def fit_stream(
        self,
        source: Any,
        *,
        max_iter: int | None = None,
        shuffle: bool | None = None,
        classes: ArrayLike | None = None,
        scale: Literal["minmax", "standard", "maxabs"] | None = None,
        window: int = 8,
        callback: Callback | None = None,
    ) -> Self:
        """Learn from data that need not fit into memory, block by block.

        Blocks are read, unpacked and parsed by other threads while this one learns. Labels and
        features may turn up on the way. With ``shuffle=False, max_iter=1`` and `classes` the model
        is that of `partial_fit` with the same rows (kernel machines with ``gamma="scale"`` and
        `MultiplaneClassifier` excepted, which look at more of the first rows here).

        Parameters
        ----------
        source : path, list of paths, arrays (X, y), iterable of blocks, function or Source
            Whatever `multiplane.data.open_source` opens.
        max_iter : int, optional
            Passes; by default the parameter of this name, and 1 if the source can be read only
            once.
        shuffle : bool, optional
            Read the blocks in a random order, if the source has one, and shuffle the rows of each
            window; by default the parameter of this name.
        classes : array, optional
            Labels to begin with; by default those of the first window. Others may come later.
        scale : "minmax", "standard", "maxabs" or None
            Scale each feature to [−1, 1], to mean 0 and variance 1, or to [−1, 1] by a factor
            alone. It takes one more reading of the source (or the first window, if it can be read
            only once), and becomes part of the model (``scaler_``): `predict` takes rows as they
            are in the source. Sparse rows are never shifted.
        window : int, default=8
            Blocks whose rows are shuffled together: raise it for files sorted by label.
        callback : callable, optional
            Called with a `Progress` now and then: rows, error so far, share of the work.

        Returns
        -------
        self
            After Ctrl-C too it is fitted, with what was learnt so far. After an error it is as it
            was before.
        """
        training = self._stream_training(open_source(source), max_iter, shuffle, scale, window)
        if classes is not None:
            training.classes = np.unique(column_or_1d(classes))
        printed = Printed(type(self).__name__) if self.verbose and callback is None else callback
        try:
            training.run(printed)
        except KeyboardInterrupt:
            self._become(training.estimator)
            raise
        self._become(training.estimator)
        return self

    def _stream_training(
        self,
        source: Source,
        max_iter: int | None,
        shuffle: bool | None,
        scale: str | None,
        window: int,
    ) -> StreamTraining:
        """A training of another estimator with the same parameters."""
        self._validate_params()
        check_scale(scale)
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True needs validation data, which a source does not have; set it "
                "to False, or use fit"
            )
        if max_iter is None:
            max_iter = 1 if source.once else self._stream_passes(source)
        elif source.once and max_iter != 1:
            raise ValueError(
                f"{source.name} can be read only once, but max_iter={max_iter}; write it to a "
                f"file or a cache first, or use max_iter=1"
            )
        for name, value in (("max_iter", max_iter), ("window", window)):
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        plan = Plan(
            max_iter=int(max_iter),
            shuffle=bool(self.shuffle if shuffle is None else shuffle),
            window=int(window),
            scale=scale,
            seed=new_seed(check_random_state(self.random_state)),
        )
        return StreamTraining(type(self)(**self.get_params(deep=False)), source, plan)

    def _become(self, other: Self) -> None:
        """Take over what another one, with the same parameters, has learnt."""
        if not hasattr(other, "_training"):
            return
        for name in [name for name in vars(self) if _is_learnt(name)]:
            delattr(self, name)
        for name, value in vars(other).items():
            if _is_learnt(name):
                setattr(self, name, value)

    def _learn_stream(self, stretch: Stretch, recorder: Recorder) -> Tally:
        """Learn; returns the counts from before."""
        if not hasattr(self, "_training"):
            self.classes_ = stretch.parts[0][1]
            seed = new_seed(check_random_state(self.random_state))
            self._start(stretch.examples, len(self.classes_), seed)
        training = self._training
        before = training.tally.copy()
        examples = self._as_learnt(stretch.examples)
        order, codes = examples.rows(), examples.y
        for rows, classes_then in stretch.parts:
            # The learner knows a label from its first row on, however the stream is cut.
            self._extend_classes(classes_then)
            codes[rows] = find(stretch.y[rows], classes_then)
            first_row, last_row = np.searchsorted(order, rows.indices(len(codes))[:2])
            one_pass(
                training.learner,
                examples,
                order[first_row:last_row],
                Online(),
                self._settings(),
                recorder,
                training.tally,
            )
        return before

    # --- prediction ------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Score of each class.

        Shape (n_samples, n_classes), columns as in ``classes_``; for two classes (n_samples,):
        the second class's score less the first's.
        """
        matrix = self._check_rows(X)
        scores: NDArray[np.float32] = self._fitted_model().decision(matrix, self._n_threads())
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @property
    def predict_proba(self) -> NoReturn:
        """There is none, as for scikit-learn's SVMs; asking tells what to do."""
        raise AttributeError(
            f"{type(self).__name__} has scores, but no probabilities: wrap it in "
            f"sklearn.calibration.CalibratedClassifierCV, or take a classifier of least squares"
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, shape (n_samples,).

        A sparse X may lack trailing columns, which are then zeros: files in LIBSVM format end with
        the highest feature that they use.
        """
        matrix = self._check_rows(X)
        codes = self._fitted_model().predict(matrix, self._n_threads())
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_training")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- inside ----------------------------------------------------------------------------

    # Whether `_resize` can give a learner more features.
    _can_widen: ClassVar[bool] = False
    # While a source is learnt from: how many rows it may have, and passes over them.
    _expected: tuple[int, int] | None = None
    _length_known = True  # of a stream
    scaler_: Scaling | None

    def _resize(self, n_features: int) -> None:
        """Give a learner more features, or take those from it that have never mattered."""
        learner = self._training.learner
        assert isinstance(learner, _native.Learner)
        learner.resize(n_features)
        self.n_features_in_ = n_features
        if (scaler := getattr(self, "scaler_", None)) is not None:
            self.scaler_ = scaler.resized(n_features)

    def _stream_passes(self, source: Source) -> int:
        return int(self.max_iter)

    def _looks_at_first_rows(self) -> bool:
        """Whether the first piece of a source should be as large as it can be."""
        return bool(self._found_by_trial())

    def _sample_size(self, n_rows: int, n_features: int) -> int:
        """Rows of parts that a training is started with."""
        return int(np.clip(n_rows // 5, 10_000, 40_000))

    def _learner_settings(self, done: float) -> dict[str, Any]:
        """What changes in the learner on the way, when so much of a training is behind: before each
        window of a source, and before each round."""
        return {}

    def _stream_ended(self, rows: Iterable[Any] | None) -> None:
        """Called after the last pass over a source; `rows`: all of them once more, block by block,
        where that is little work beside the passes before."""

    # How parts are mixed: what measured best (decision 15).
    _mixing_rule: ClassVar[Rule] = "mean"

    def _rounds(self, rule: Rule, n_rows: int) -> int:
        """Of the first pass over parts; fewer where a round would have but a few rows."""
        return min(128, 1 + n_rows // 64) if rule == "mean" else min(2048, 1 + n_rows // 16)

    def _mixing(self, n_parts: int, rule: Rule, n_iter: int) -> Mixing:
        raise NotImplementedError(f"{type(self).__name__} cannot learn in several places")

    def _final_reading(self, reading: Reading) -> Reading:
        """How rows are read once the learner is there."""
        return reading

    def _parts_passes(self) -> int:
        """Passes over parts, as far as they are known before the start."""
        return int(self.max_iter)

    def _passes_known(self, n_rows: int, n_features: int) -> None:
        """For those who choose the number of passes once the learner is there."""

    def _tidy_up_parts(self, engine: Engine, reading: Reading) -> None:
        """Called after the last pass over parts."""

    def _make_learner(self, examples: Examples, n_classes: int, seed: int) -> Learner:
        raise NotImplementedError

    def _fixed_parameters(self) -> dict[str, Any]:
        """Parameters that are part of the learner's state, by name."""
        raise NotImplementedError

    def _reach(self, matrix: Matrix) -> float:
        """The greatest number, weights apart, whose square the learner's sums may contain."""
        return max(matrix.largest(), 1.0)

    def _check_examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        check_sparse(X)
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
        return self._scaled(X), y

    def _scaled(self, X: Any) -> Any:
        scaler = getattr(self, "scaler_", None)
        return X if scaler is None else scaler(filled(X) if scaler.fills(X) else X)

    def _check_classes(self, classes: NDArray[Any]) -> None:
        """Of their number, and for parameters that speak of classes."""
        check_number(classes)

    def _check_stretch(self, stretch: Stretch) -> None:
        """For algorithms that cannot take all numbers: the last check before a stream goes on."""

    def _go_on(self, examples: Examples) -> None:
        """Called before a `fit` with a warm start."""

    def _as_learnt(self, examples: Examples) -> Examples:
        """For algorithms that learn from something made of the rows."""
        return examples

    def _tidy_up(self, examples: Examples) -> None:
        """Called after the last pass of `fit`."""

    def _classes_changed(self, learner: Any) -> None:
        """For algorithms whose classes must own something from the start."""

    def _known_so_far(
        self, y: NDArray[Any], announced: NDArray[Any] | None, first: bool
    ) -> NDArray[Any]:
        """The classes that the learner knows before the first row of a `partial_fit`."""
        if not first:
            # Labels that came on the way have been added to those announced.
            if announced is not None and np.any(find(announced, self.classes_) < 0):
                raise ValueError(
                    f"classes={announced} is not the same as on the first call to partial_fit: "
                    f"{self.classes_}"
                )
            return self.classes_
        if announced is None:
            return y[:1].copy()
        if len(announced) < 2:
            raise ValueError(f"at least two classes are needed, got {announced}")
        return announced

    def _extend_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) == len(self.classes_):
            return
        code = np.searchsorted(classes, self.classes_).tolist()
        self.classes_ = classes
        self._training.learner.relabel(code, len(classes))
        self._classes_changed(self._training.learner)

    def _assignment(
        self, learner: Any, examples: Examples, random: np.random.RandomState
    ) -> Assignment:
        return Online()

    def _start(self, examples: Examples, n_classes: int, seed: int) -> None:
        if hasattr(self, "alpha"):  # Projectron has none
            self.alpha_ = self._find_alpha(examples, n_classes, seed)
        learner = self._make_learner(examples, n_classes, seed)
        self._classes_changed(learner)
        self._training = Training(learner, self._maker(), self._fixed_parameters())

    def _maker(self) -> Maker:
        """What makes models of the learner."""
        return self._model_type

    def _patience(self) -> int:
        """Passes without a better validation score, before early stopping stops."""
        return int(self.n_iter_no_change)

    def _can_go_on(self) -> bool:
        """Whether there is something that a `fit` with a warm start can go on from."""
        return hasattr(self, "_training")

    def _found_by_trial(self) -> tuple[str, ...]:
        """Parameters that `fit` finds with all rows, so that a stream cannot begin with them."""
        return tuple(name for name in ("alpha", "gamma") if getattr(self, name, None) == "auto")

    def _find_alpha(self, examples: Examples, n_classes: int, seed: int) -> float:
        """λ; "auto": the best of some by progressive validation, in one reading of a sample."""
        alpha: Any = getattr(self, "alpha")  # noqa: B009 - not all subclasses have it
        if alpha != "auto":
            return float(alpha)
        order = np.random.RandomState(seed).permutation(examples.rows())[: self._trial_rows]
        best = self._best("alpha_", self._alphas, examples, n_classes, seed, order)
        n_rows, n_passes = self._expected or (len(examples.rows()), int(self.max_iter))
        longer = n_rows * n_passes / (len(order) * self._trial_passes())
        # λ times the number of steps is what such a trial can tell; but when a training is very
        # much longer, its last steps must be smaller: the noise of many rows is to be averaged.
        return best / min(longer, float(np.sqrt(_ALIKE * longer)))

    def _trial_passes(self) -> int:
        return 1

    def _best(
        self,
        name: str,
        values: tuple[float, ...],
        examples: Examples,
        n_classes: int,
        seed: int,
        order: NDArray[np.int64],
    ) -> float:
        """The first of the values that is not worse than the best by more than chance."""
        learners = []
        for value in values:
            setattr(self, name, value)
            learners.append(self._make_learner(examples, n_classes, seed))
            self._classes_changed(learners[-1])
        wrong = progressive(learners, self._model_type, examples, order, self._trial_passes())
        limit = min(wrong) + min(wrong) ** 0.5
        return next(v for v, n in zip(values, wrong, strict=True) if n <= limit)

    def _check_same_learner(self) -> None:
        """Parameters that are part of the state cannot change while training goes on."""
        began, now = self._training.parameters, self._fixed_parameters()
        changes = [f"{k} was {began[k]} and is {now[k]}" for k in now if now[k] != began[k]]
        if changes:
            raise ValueError(
                f"parameters changed while the training goes on: {', '.join(changes)}; change "
                f"them back, or start anew: with fit (and warm_start=False) or with a clone"
            )

    def _monitor(
        self, X: Any, y: Any, validation: Validation | None, sample_weight: Any = None
    ) -> Monitor:
        return Monitor(
            self,
            X,
            y,
            task="pass",
            n_tasks=self._settings().max_iter,
            score=None if validation is None else partial(self._accuracy, *validation),
            attributes=self._attributes_then,
            tol=self.tol or 0.0,
            patience=self._patience(),
            sample_weight=sample_weight,
        )

    def _accuracy(self, X: Matrix, codes: NDArray[np.int32]) -> float:
        predicted = self._training.model().predict(X, self._n_threads())
        return float(np.mean(predicted == codes))

    def _attributes_then(self, event: Event) -> dict[str, Any]:
        """Those of a copy that stays as it is while the training goes on."""
        return {"_training": copy.deepcopy(self._training), "t_": event.facts["t"]}

    def _settings(self) -> Settings:
        return Settings(max_iter=int(self.max_iter), shuffle=bool(self.shuffle))

    def _finish(self, result: Result) -> None:
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        self.t_ = self._training.learner.t
        if result.stop_reason == "interrupted":
            # The model is there for whoever catches this; a grid search must not go on with it.
            raise KeyboardInterrupt(
                f"{type(self).__name__} is fitted with what was learnt in {self.t_ - 1} steps"
            )

    def _weights(
        self,
        sample_weight: ArrayLike | None,
        matrix: Matrix,
        X: Any,
        y: NDArray[Any],
        classes: NDArray[Any] | None,
    ) -> NDArray[np.float32] | None:
        """sample_weight × class_weight; `classes` where all of them are known."""
        if sample_weight is None and self.class_weight is None:
            return None
        if sample_weight is not None and not np.any(np.asarray(sample_weight)):
            raise NoWeightError(NO_WEIGHT)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weight = weight * class_weights(self.class_weight, y, classes)
        found = narrow(weight, self._reach(matrix))
        if not np.any(found > 0):
            raise NoWeightError(NO_WEIGHT)
        return found

    def _validation(self, X: Any, y: Any, classes: NDArray[Any]) -> Validation | None:
        if (X is None) != (y is None):
            raise ValueError("X_val and y_val are needed together, got only one of them")
        if X is None:
            return None
        check_sparse(X)
        X, y = self._check_examples(widened(X, self.n_features_in_), y, reset=False)
        check_alike(y, classes)
        # A label that training never saw is simply one that no prediction can meet.
        return Matrix(X), find(y, classes)

    def _hold_out(
        self,
        X: Any,
        codes: NDArray[Any],
        weight: NDArray[np.float32] | None,
        random: np.random.RandomState,
    ) -> tuple[NDArray[np.int64], Validation]:
        rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
        train, held = train_test_split(
            rows,
            test_size=self.validation_fraction,
            stratify=codes[rows],
            random_state=random,
        )
        held = np.sort(held)
        return np.sort(train), (Matrix(X[held]), codes[held])

    def _known(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
        self._check_same_learner()
        advice = "set warm_start=False to start anew"
        return self.classes_, codes_of(y, self.classes_, advice)

    def _check_rows(self, X: Any) -> Matrix:
        check_is_fitted(self)
        check_sparse(X)
        X = validate_data(
            self,
            widened(X, self.n_features_in_),
            accept_sparse="csr",
            dtype=_DTYPES,
            ensure_all_finite=False,
            accept_large_sparse=True,
            reset=False,
        )
        return Matrix(self._scaled(X), check_later=True)

    def _fitted_model(self) -> Any:
        if not hasattr(self, "_training"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet; call fit or partial_fit"
            )
        return self._training.model()

    def _n_threads(self) -> int:
        return min(int(effective_n_jobs(self.n_jobs)), 2**31 - 1)


def _is_learnt(name: str) -> bool:
    learnt = ("_training", "_opening", "_scaling", "_work", "_n_passes")
    return name in learnt or (name.endswith("_") and not name.startswith("_"))
