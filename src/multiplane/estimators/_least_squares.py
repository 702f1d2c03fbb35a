"""The least-squares family: generalized, calibrated, stagewise."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from multiplane._arrays import Place
from multiplane.estimators._docs import fill
from multiplane.estimators._least_squares_base import LeastSquaresClassifier, learnt
from multiplane.estimators._monitor import Monitor
from multiplane.features import FeatureSubset, RandomFourier
from multiplane.features._base import Source
from multiplane.links import Identity, Link, Logistic, Softmax
from multiplane.models._least_squares import (
    Basis,
    CalibratedModel,
    Linear,
    Stage,
    StagewiseModel,
    Standard,
    add_stages,
    cube,
    identity,
    square,
    through,
)
from multiplane.models._maps import FeatureMap
from multiplane.solvers._least_squares import (
    Step,
    Task,
    Update,
    calibrated,
    generalized,
    stagewise,
)
from multiplane.solvers._rows import Rows

_FUNCTIONS = {"identity": identity, "square": square, "cube": cube}

_ALPHA = """    alpha : float or "scale", default="scale"
        Ridge, λ: raising it makes weights smaller and the model smoother. "scale": each feature's
        is 1e-5 + 0.2 (p/n)³, at most 1, of its mean square for p features and n rows, so that units
        do not matter; for sparse rows, their mean squared length over n for all features. Against
        rounding, about 1e-5 of each feature's mean square is added in float32, 1e-13 in float64."""

_FEATURES = """    features : generator or None, default=None
        From `multiplane.features`: features are made from the rows, chunk by chunk, and never kept:
        a few thousand rows are faster with the features made beforehand, in a Pipeline.
        None: the columns of X."""

_SHARED = """    fit_intercept : bool, default=True
        Add a constant feature, which has no ridge.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState or None, default=None
        For the generator, whose own ``random_state`` does not count here, and for the choice of
        validation rows.
    warm_start : bool, default=False
        Let ``fit`` go on from where the last one ended.
    early_stopping : bool, default=False
        Stop when the score on validation data has not risen for ``n_iter_no_change`` times, and
        keep the best model. The data is what `fit` gets as ``X_val, y_val`` or else held out of the
        training data.
    validation_fraction : float, default=0.1
        Share of the training data to hold out.
    n_iter_no_change : int, default=5
        Patience of early stopping.
    verbose : int, default=0
        1: a line for each iteration or stage; 2: also progress inside long ones."""

_ATTRIBUTES = """    classes_ : array of shape (n_classes,)
        Labels; for several labels a row, their numbers.
    n_iter_ : int
        Iterations, rounds or stages of the model: those done, or with early stopping the best.
    stop_reason_ : str
        Why the training ended, and whether features depended on each other.
    history_ : list of dict
        For each iteration or stage: loss and error on the training rows, validation score, seconds.
    n_features_in_ : int
        Number of columns of X."""

_REFERENCE = """    .. [1] A. Agarwal, S. M. Kakade, N. Karampatziakis, L. Song and G. Valiant,
       "Least squares revisited: scalable approaches for multi-class prediction", ICML 2014."""

_LINKS: dict[str, type[Link]] = {"identity": Identity, "softmax": Softmax}


@fill(
    alpha=_ALPHA, features=_FEATURES, shared=_SHARED, attributes=_ATTRIBUTES, reference=_REFERENCE
)
class GeneralizedLeastSquaresClassifier(LeastSquaresClassifier):
    """Multinomial logistic and least-squares regression by repeated least squares.

    Minimises

        1/n Σᵢ (Φ(Wxᵢ) − yᵢ·Wxᵢ)  +  alpha/2 ‖W‖²

    for a link g = ∇Φ by the steps W ← W − (L Σ + alpha)⁻¹ ∇, where Σ is the second moment of the
    features ([1]_, Algorithm 1). The matrix is factored once; there is no step size to tune, and
    the number of iterations does not depend on how the data is conditioned. Costs O(p²) memory and
    O(np² + p³) time at first for p features, and O(npk) an iteration. For more than some ten
    thousand features take `StagewiseLeastSquaresClassifier`; for sparse, well-conditioned text a
    first-order method such as `PegasosClassifier` is faster.

    Parameters
    ----------
    link : {"softmax", "identity"} or object, default="softmax"
        How scores become predictions. "softmax": logistic regression (for several labels a row, one
        of its own for each label). "identity": ridge regression of zeros and ones, in one step. Or
        an object as in `multiplane.links`, such as ``Softmax(L=1)``, the paper's constant.
    {alpha}
    accelerated : bool, default=True
        Nesterov's acceleration in the metric of Σ ([1]_ §4); restarted where the loss would rise.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-2
        Stop when an iteration lowers the loss by less than this share of it. Stopping early is a
        regulariser too: on held-out rows of mnist 1e-1 did best for Fourier features, 1e-3 for raw
        pixels.
    {features}
    {shared}

    Attributes
    ----------
    {attributes}
    coef_ : array of shape (n_classes, p)
        Weights of the columns of X, or of the generated features.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multiplane import GeneralizedLeastSquaresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GeneralizedLeastSquaresClassifier(alpha=1e-3).fit(X[:1000], y[:1000])
    >>> round(clf.score(X[1000:], y[1000:]), 2)
    0.92
    """

    _warns = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LeastSquaresClassifier._parameter_constraints,
        "link": [StrOptions(set(_LINKS)), HasMethods(["value", "link"])],
        "accelerated": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        link: Any = "softmax",
        alpha: Any = "scale",
        *,
        accelerated: bool = True,
        max_iter: int = 200,
        tol: float = 1e-2,
        features: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        verbose: int = 0,
    ) -> None:
        self.link = link
        self.alpha = alpha
        self.accelerated = accelerated
        self.max_iter = max_iter
        self.tol = tol
        self.features = features
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose

    @property
    def coef_(self) -> Any:
        linear, map = self._linear()
        coef = linear.W.T
        return coef * map.scale if isinstance(map, Standard) else coef

    @property
    def intercept_(self) -> Any:
        linear, map = self._linear()
        if not isinstance(map, Standard) or not self.fit_intercept:
            return linear.b
        wide = Place.of(linear.b).float64
        shift, coef = (Place.of(a).xp.astype(a, wide) for a in (map.shift, self.coef_))
        return Place.of(linear.b).xp.astype(linear.b - coef @ shift, linear.b.dtype)

    def _linear(self) -> tuple[Linear, FeatureMap]:
        if not hasattr(self, "_model"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet")
        only: Stage = self._model.sums[0][0]
        return only.linear, only.map

    def _n_tasks(self) -> int:
        return int(self.max_iter)

    def _link(self) -> Link:
        if self._multilabel and self.link == "softmax":
            return Logistic()
        link: Link = _LINKS[self.link]() if isinstance(self.link, str) else self.link
        if not 0 < getattr(link, "L", 0) < np.inf:
            raise ValueError(
                f"a link must have a Lipschitz constant L above 0, got {link!r} without one; see "
                f"multiplane.links"
            )
        return link

    def _steps(self, task: Task, before: Any) -> Iterator[Step]:
        start, done = None, self.n_iter_
        map = self._map(task) if before is None else self._linear()[1]
        if before is not None:
            linear, xp = self._linear()[0], task.place.xp
            parts = [linear.W, linear.b[None, :]] if self.fit_intercept else [linear.W]
            start = xp.astype(xp.concat(parts), task.place.float64)
        design = self._design(task, map)
        for step in generalized(
            design,
            self._link(),
            max_iter=self._left(),
            tol=float(self.tol),
            accelerated=bool(self.accelerated),
            start=start,
        ):
            stage = Stage(design.map, design.linear(step.model))
            model = StagewiseModel(self._source.input, ((stage,),), task.n_classes)
            yield replace(step, model=model, number=done + step.number)

    def _to_probabilities(self) -> Any:
        link = self._link()
        return self._project() if isinstance(link, Identity) else link


@fill(
    alpha=_ALPHA, features=_FEATURES, shared=_SHARED, attributes=_ATTRIBUTES, reference=_REFERENCE
)
class CalibratedLeastSquaresClassifier(LeastSquaresClassifier):
    """Least squares that finds the link along with the weights.

    Rounds of two regressions ([1]_, Algorithm 2): the residual y − ŷ on the features (18), then y
    on functions G of the predictions, such as their squares and cubes (19); the result is projected
    onto the probability simplex (for several labels a row: onto the cube). The squared error never
    rises. Its predictions are probabilities from the first round on, some of them exactly 0 (for a
    small log loss take `GeneralizedLeastSquaresClassifier`, or wrap it in scikit-learn's
    `CalibratedClassifierCV`). The accuracy is similar, in fewer iterations; the model is a chain of
    rounds, not one matrix. Costs as there, two passes over the rows a round.

    Parameters
    ----------
    basis : tuple, default=("identity", "square", "cube")
        The functions G of predictions, applied to each entry: names, or callables from an array to
        an array of the same shape.
    {alpha}
    max_iter : int, default=10
        Most rounds. More lower the squared error further, and after some the test error no longer:
        on mnist ten are enough for thousands of Fourier features, for raw pixels 300 are not.
    tol : float, default=1e-3
        Stop when a round lowers the squared error by less than this share of it.
    {features}
    {shared}

    Attributes
    ----------
    {attributes}

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multiplane import CalibratedLeastSquaresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = CalibratedLeastSquaresClassifier(alpha=0.1).fit(X[:1000], y[:1000])
    >>> round(clf.score(X[1000:], y[1000:]), 1)
    0.9
    """

    _task_name = "round"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LeastSquaresClassifier._parameter_constraints,
        "basis": [tuple, list],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        basis: Any = ("identity", "square", "cube"),
        alpha: Any = "scale",
        *,
        max_iter: int = 10,
        tol: float = 1e-3,
        features: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.features = features
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose

    def _n_tasks(self) -> int:
        return int(self.max_iter)

    def _steps(self, task: Task, before: Any) -> Iterator[Step]:
        map = self._map(task) if before is None else before.map
        basis, project = functions(self.basis), self._project()
        design = self._design(task, map)
        for step in calibrated(
            design,
            basis,
            project,
            max_iter=self._left(),
            tol=float(self.tol),
            rounds=() if before is None else before.rounds,
        ):
            model = CalibratedModel(self._source.input, design.map, step.model, basis, project)
            yield replace(step, model=model)


@fill(
    alpha=_ALPHA, features=_FEATURES, shared=_SHARED, attributes=_ATTRIBUTES, reference=_REFERENCE
)
class StagewiseLeastSquaresClassifier(LeastSquaresClassifier):
    """Least squares on one block of generated features after the other.

    Each stage draws new features and fits them to what the stages before left over ([1]_,
    Algorithm 3). Tens of thousands of features cost a p × p matrix for the block alone; memory is
    the predictions, that matrix, and one chunk of rows. With random Fourier features it comes near
    a kernel machine on dense data. A stage costs O(np²) for a block of p features.

    Parameters
    ----------
    update : {"linear", "calibrated", "logistic"}, default="linear"
        How a stage is fitted. "linear": ridge regression of the residual. "calibrated": the same,
        and functions of the predictions so far are features too. "logistic": multinomial logistic
        regression beside the scores so far; better for a given number of features, slower.
    features : generator or None, default=None
        From `multiplane.features`. None: ``RandomFourier()`` for arrays, ``FeatureSubset()`` for
        sparse matrices. (Columns of a subset are not centred: do so for dense data far from 0.)
    block_size : int, default=512
        Features of a stage, p (in the place of the generator's ``n_features``). Fewer, if there are
        not many times as many rows.
    n_stages : int, default=20
        Number of stages. With ``warm_start`` raise it to add stages.
    n_models : int, default=1
        Average of so many models, each with features of its own.
    {alpha}
    basis : tuple, default=("identity",)
        For "calibrated": functions of the predictions so far.
    max_inner : int, default=50
        For "logistic": most iterations in a stage.
    {shared}

    Attributes
    ----------
    {attributes}

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from multiplane import StagewiseLeastSquaresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = StagewiseLeastSquaresClassifier(n_stages=8, block_size=128, random_state=0)
    >>> round(clf.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]), 2)
    0.95
    """

    _task_name = "stage"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LeastSquaresClassifier._parameter_constraints,
        "update": [StrOptions({"linear", "calibrated", "logistic"})],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "basis": [tuple, list],
        "max_inner": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        update: str = "linear",
        features: Any = None,
        block_size: int = 512,
        n_stages: int = 20,
        n_models: int = 1,
        alpha: Any = "scale",
        *,
        basis: Any = ("identity",),
        max_inner: int = 50,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        verbose: int = 0,
    ) -> None:
        self.update = update
        self.features = features
        self.block_size = block_size
        self.n_stages = n_stages
        self.n_models = n_models
        self.alpha = alpha
        self.basis = basis
        self.max_inner = max_inner
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose

    def _n_tasks(self) -> int:
        return int(self.n_stages)

    def _prepare(self, rows: Rows) -> Source:
        generator = self.features
        if generator is None:
            generator = FeatureSubset() if rows.reading.sparse else RandomFourier()
        return learnt(generator, rows, self._seed)

    def _update(self) -> Update:
        basis = functions(self.basis) if self.update == "calibrated" else ()
        return Update(self._stage_link(), int(self.max_inner), basis)

    def _stage_link(self) -> Link | None:
        if self.update != "logistic":
            return None
        return Logistic() if self._multilabel else Softmax()

    def _steps(self, task: Task, before: Any) -> Iterator[Step]:
        sums: Any = ((),) * int(self.n_models)
        if before is not None:
            sums = before.sums
        for step in stagewise(
            task,
            self._source,
            self._update(),
            alpha=self._alpha(),
            intercept=bool(self.fit_intercept),
            block_size=int(self.block_size),
            n_stages=int(self.n_stages),
            seed=self._seed,
            sums=sums,
        ):
            yield replace(
                step, model=StagewiseModel(self._source.input, step.model, task.n_classes)
            )

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Scores after each stage; shapes as of ``decision_function``."""
        for scores in self._staged(self._check_fitted(X)):
            yield self._decision(scores)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Labels after each stage."""
        for scores in self._staged(self._check_fitted(X)):
            yield self._predict(scores)

    def _staged(self, X: Any) -> Iterator[Any]:
        model = self._model.at(Place.of(X))
        rows = through(model.input, X)
        P = [model.nothing(rows) for _ in model.sums]
        for number in range(len(model.sums[0])):
            P = [
                add_stages(own, stages[number : number + 1], rows)
                for own, stages in zip(P, model.sums, strict=True)
            ]
            yield sum(P) / len(P)

    def _scorer(self, X: Any, values: Any, weight: Any) -> Callable[[], float]:
        """Stages are added to the scores of those before, not to nothing each time."""
        rows = through(self._source.input.to(Place.of(X)), X)
        P: list[Any] = []
        done = 0

        def score() -> float:
            nonlocal P, done
            model = self._model.at(Place.of(X))
            P = [
                add_stages(own, stages[done:], rows)
                for own, stages in zip(
                    P or [model.nothing(rows)] * len(model.sums), model.sums, strict=True
                )
            ]
            done = len(model.sums[0])
            return self._accuracy(sum(P) / len(P), values, weight)

        return score

    def _train(self, task: Task, monitor: Monitor, again: bool, checkpoint: Any = None) -> None:
        if again and not self._has_more_to_learn():
            warnings.warn(
                f"all n_stages={self.n_stages} stages are there: nothing is learnt; raise n_stages "
                f"to go on, or set warm_start=False to start anew",
                stacklevel=4,
            )
            self.stop_reason_ = "n_stages"
            monitor.finish()
            return
        super()._train(task, monitor, again, checkpoint)

    def _has_more_to_learn(self) -> bool:
        n_stages, n_models = len(self._model.sums[0]), len(self._model.sums)
        if n_models != self.n_models:
            raise ValueError(
                f"n_models was {n_models} and is {self.n_models}; change it back, or set "
                f"warm_start=False to start anew"
            )
        if self.n_stages < n_stages:
            raise ValueError(
                f"n_stages={self.n_stages} is below the {n_stages} stages that are there; raise it "
                f"to go on, or set warm_start=False to start anew"
            )
        return self.n_stages > n_stages

    def _to_probabilities(self) -> Any:
        return self._stage_link() or super()._to_probabilities()


def functions(basis: Any) -> Basis:
    """Names and callables to callables."""
    names = [f for f in basis if not callable(f)]
    unknown = [f for f in names if not isinstance(f, str) or f not in _FUNCTIONS]
    if unknown or not len(basis):
        raise ValueError(
            f"basis must hold callables or names among {sorted(_FUNCTIONS)}, got {basis!r}"
        )
    return tuple(f if callable(f) else _FUNCTIONS[f] for f in basis)
