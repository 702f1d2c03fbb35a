"""Pegasos, MM, AMM and GAMM: one learner, four ways of having hyperplanes."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.estimators._base import StreamClassifier
from multiplane.estimators._docs import COMMON, fill
from multiplane.estimators._streams import StreamTraining
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.solvers._mixing import Best, Drawn, HyperplaneMixing, Rule, drawn
from multiplane.solvers._sgd import Alternating, Assignment, Online, Settings

_ALPHA = """    alpha : float or "auto", default=1e-4
        Regularisation, λ in the papers. Raise it for smoother, more robust models; lower it, by
        factors of ten, when the training error is too high. "auto" lets 0.01, 0.001 … 1e-7 learn
        from at most 20,000 rows, each row predicted by all before they learn it, takes the largest
        that is as good as the best, and divides it by how many times more steps `fit` will make,
        beyond 16 times by less; not for `partial_fit`.
    max_iter : int, default=15
        Passes over the data."""

_PRUNING = """    prune_every : int, default=10_000
        Steps between prunings, k in the papers.
    prune_threshold : float or None, default={c}
        c in the papers: the smallest hyperplanes are removed while the norm of what is removed
        stays within c / (λ t). Raise it for fewer hyperplanes; ``None`` switches pruning off."""

_MODEL = """    average : bool, default=True
        Predict with a weighted average of all models met, in which the t-th has the weight t⁴.
        Much more accurate than the last model at the cost of one more addition an update.
        ``False`` is the published algorithm.
    fit_intercept : bool, default=True
        Give every row a constant feature, regularised like the others, as in the papers.
    intercept_scaling : float, default=1.0
        The constant; raise it to regularise the intercept less."""

ATTRIBUTES = """    classes_ : labels, sorted
    coef_, intercept_ : hyperplanes, (n_hyperplanes, n_features) and (n_hyperplanes,);
        copies that cannot be written to
    hyperplane_class_ : label of each hyperplane's class
    n_hyperplanes_ : how many there are, all classes together
    alpha_ : λ, as given or found
    t_ : number of the next step
    n_iter_ : passes made
    history_ : list of dictionaries, one a pass, a pruning or a call of `partial_fit` (``event``):
        ``t`` (steps, the axis for plots), ``error``, ``loss`` and ``updates`` met since the last
        entry of its kind, ``hyperplanes`` alive, ``created``, ``duplicated`` and ``pruned`` so far,
        ``seconds`` of training so far and, with validation data, ``validation_score``; neighbouring
        entries of prunings and calls are joined when there are 2,000
    stop_reason_ : "max_iter", "validation score no longer improves", "assignments no longer
        change", "callback", "interrupted" or "partial_fit"
    n_features_in_, feature_names_in_ : as in scikit-learn"""

_fill = partial(fill, alpha=_ALPHA, model=_MODEL, common=COMMON, attributes=ATTRIBUTES)


class HyperplaneClassifier(StreamClassifier):
    """What Pegasos, MM, AMM and GAMM share; they differ in `_algorithm`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamClassifier._parameter_constraints,
        # Below that, W = U / (λt) could leave float32.
        "alpha": [Interval(Real, 1e-20, None, closed="left"), StrOptions({"auto"})],
        "prune_every": [Interval(Integral, 1, None, closed="left")],
        "prune_threshold": [Interval(Real, 0, None, closed="left"), None],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, _native.LARGEST, closed="right")],
    }
    _model_type = HyperplaneModel
    _can_widen = True

    # Set by the subclasses' __init__; Pegasos, which has nothing to prune, keeps these two.
    prune_every: int = 10_000
    prune_threshold: float | None = None
    alpha: float | Literal["auto"]
    average: bool
    fit_intercept: bool
    intercept_scaling: float

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Which hyperplane decided, shape (n_samples,): a row number of ``coef_``."""
        matrix = self._check_rows(X)
        winners: NDArray[np.int32] = self._fitted_model().winners(matrix, self._n_threads())
        return winners

    @property
    def coef_(self) -> NDArray[np.float32]:
        """Hyperplanes, shape (n_hyperplanes, n_features)."""
        coef: NDArray[np.float32] = self._fitted_model().coef
        return coef

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """Intercepts, shape (n_hyperplanes,)."""
        intercept: NDArray[np.float32] = self._fitted_model().intercept
        return intercept

    @property
    def hyperplane_class_(self) -> NDArray[Any]:
        """Label of each hyperplane's class, shape (n_hyperplanes,)."""
        labels: NDArray[Any] = self.classes_[self._fitted_model().owner]
        return labels

    @property
    def n_hyperplanes_(self) -> int:
        """Number of hyperplanes, all classes together."""
        return len(self._fitted_model())

    def _algorithm(self) -> dict[str, Any]:
        """Settings of the native learner that make the one algorithm or the other."""
        raise NotImplementedError

    def _make_learner(self, examples: Examples, n_classes: int, seed: int) -> _native.Learner:
        return _native.Learner(
            n_features=examples.X.shape[1],
            n_classes=n_classes,
            bias=self._bias(),
            lam=self.alpha_,
            average=bool(self.average),
            seed=seed,
            **{
                "adaptive": True,
                "ball_projection": False,
                "growth": 0.0,
                "growth_decay": 1.0,
                **self._algorithm(),
            },
        )

    def _fixed_parameters(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "average": bool(self.average),
            "intercept": self._bias(),
        }

    def _bias(self) -> float:
        """The constant feature, as the learner has it."""
        return float(np.float32(self.intercept_scaling)) if self.fit_intercept else 0.0

    def _reach(self, matrix: Matrix) -> float:
        return max(super()._reach(matrix), self._bias())

    def _settings(self) -> Settings:
        return Settings(
            max_iter=int(self.max_iter),
            prune_every=int(self.prune_every),
            prune_threshold=self.prune_threshold,
            shuffle=bool(self.shuffle),
        )

    def _mixing(self, n_parts: int, rule: Rule, n_iter: int) -> HyperplaneMixing:
        return HyperplaneMixing(n_parts, rule)


@_fill()
class PegasosClassifier(HyperplaneClassifier):
    """Multi-class linear SVM by stochastic gradient descent: one hyperplane a class.

    Minimises λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} w_k·x − w_y·x) (Crammer and Singer's hinge)
    by steps of 1/(λt). Choose it where classes are linearly separable, as in text; otherwise
    `AMMClassifier` costs little more and can bend. A pass costs one product of the rows with the
    hyperplanes; memory is the model alone.

    Parameters
    ----------
    {alpha}
    {model}
    {common}
    ball_projection : bool, default=False
        Keep ‖W‖ ≤ 1/√λ, where the optimum is known to lie, after each step.

    Attributes
    ----------
    {attributes}

    References
    ----------
    Wang, Crammer and Vucetic, "Multi-class Pegasos on a budget", ICML 2010, section 2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multiplane import PegasosClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PegasosClassifier(max_iter=50, alpha=1e-3, random_state=0).fit(X, y)
    >>> clf.n_hyperplanes_, bool(clf.score(X, y) > 0.9)
    (3, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in HyperplaneClassifier._parameter_constraints.items()
            if not name.startswith("prune")
        },
        "ball_projection": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float | Literal["auto"] = 1e-4,
        max_iter: int = 15,
        ball_projection: bool = False,
        average: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.ball_projection = ball_projection
        self.average = average
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _algorithm(self) -> dict[str, Any]:
        return {"adaptive": False, "ball_projection": bool(self.ball_projection)}

    def _classes_changed(self, learner: _native.Learner) -> None:
        for code in np.flatnonzero(learner.class_counts == 0):
            learner.add_hyperplane(int(code))


@_fill(pruning=_PRUNING.format(c=None))
class MMClassifier(HyperplaneClassifier):
    """Multi-hyperplane Machine: a fixed number of hyperplanes for each class.

    Minimises λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − g(y, x)), g(k, x) being the
    highest score among the hyperplanes of class k. Each row is assigned to a hyperplane of its
    class, at random at first; then, in turns, one pass of stochastic gradient descent solves the
    convex problem for these assignments and every row moves to its best hyperplane. On a stream
    (`fit_stream`, `partial_fit`) a row takes its best hyperplane when it is met. Choose
    `AMMClassifier` unless the numbers are known: it finds them.

    Parameters
    ----------
    n_hyperplanes : int or dict of label → int, default=5
        Hyperplanes of each class.
    {alpha}
    {pruning}
    {model}
    {common}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Aiolli and Sperduti, "Multi-class classification with multi-prototype support vector
    machines", JMLR 2005; Wang et al., "Trading representability for scalability", KDD 2011,
    sections 2.2 and 2.3 (there the sub-problems are solved by SMO).

    Examples
    --------
    >>> from multiplane import MMClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(1, 3, n=2000, random_state=0)
    >>> clf = MMClassifier(n_hyperplanes={0: 2, 1: 1}, max_iter=30, random_state=0).fit(X, y)
    >>> clf.n_hyperplanes_, bool(clf.score(X, y) > 0.9)
    (3, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HyperplaneClassifier._parameter_constraints,
        "n_hyperplanes": [Interval(Integral, 1, None, closed="left"), dict],
    }

    def __init__(
        self,
        n_hyperplanes: int | dict[Any, int] = 5,
        *,
        alpha: float | Literal["auto"] = 1e-4,
        max_iter: int = 15,
        prune_every: int = 10_000,
        prune_threshold: float | None = None,
        average: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.alpha = alpha
        self.max_iter = max_iter
        self.prune_every = prune_every
        self.prune_threshold = prune_threshold
        self.average = average
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _algorithm(self) -> dict[str, Any]:
        return {"adaptive": False}

    def _classes_changed(self, learner: _native.Learner) -> None:
        counts = learner.class_counts
        for code, label in enumerate(self.classes_):
            if counts[code] == 0:
                for _ in range(self._number_for(label)):
                    learner.add_hyperplane(code)

    def _check_classes(self, classes: NDArray[Any]) -> None:
        super()._check_classes(classes)
        for label in classes:
            self._number_for(label)

    def _number_for(self, label: Any) -> int:
        if not isinstance(self.n_hyperplanes, dict):
            return int(self.n_hyperplanes)
        number = self.n_hyperplanes.get(label)
        if not isinstance(number, Real) or not 1 <= number < np.inf or number != int(number):
            raise ValueError(
                f"n_hyperplanes must give every class a whole number of at least 1, got "
                f"{number!r} for class {label!r}"
            )
        return int(number)

    def _assignment(
        self, learner: _native.Learner, examples: Examples, random: np.random.RandomState
    ) -> Assignment:
        if learner.t > 1:  # a warm start: the hyperplanes mean something already
            return Alternating(examples.assign(learner, self._n_threads()), self._n_threads())
        return Alternating(drawn(learner, examples, random), self._n_threads())

    def _mixing(self, n_parts: int, rule: Rule, n_iter: int) -> HyperplaneMixing:
        return HyperplaneMixing(n_parts, rule, Best() if n_iter else Drawn())


@_fill(pruning=_PRUNING.format(c=10.0))
class AMMClassifier(HyperplaneClassifier):
    """Adaptive Multi-hyperplane Machine: as many hyperplanes a class as the problem asks for.

    Minimises λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − g(y, x)), g(k, x) being the
    highest score among the hyperplanes of class k. Every class has zero hyperplanes in reserve;
    one comes to life when none of its class's hyperplanes scores above zero, and small ones are
    pruned. Training and prediction cost as much as for a linear model with that many hyperplanes.
    Choose `GAMMClassifier` for strongly nonlinear problems.

    Parameters
    ----------
    mode : {"online", "batch"}, default="online"
        How a row chooses among the hyperplanes of its own class. "online": the best one whenever
        the row is met (Algorithm 2). "batch": fixed during a pass and chosen anew between passes
        (Algorithm 1), the first pass being an online one; ends when the choices settle. It
        needs all rows at hand: `fit_stream` and `partial_fit` know the first pass alone.
    {alpha}
    {pruning}
    {model}
    {common}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Two places where the paper leaves a choice: when the zero hyperplanes of several rival classes
    tie, the class with the highest hyperplane below zero takes the step; and the reserve does not
    compete in prediction, where it could only make ties.

    References
    ----------
    Wang, Djuric, Crammer and Vucetic, "Trading representability for scalability: Adaptive
    Multi-Hyperplane Machine for nonlinear classification", KDD 2011, Algorithms 1 and 2.

    Examples
    --------
    >>> from multiplane import AMMClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(2, 2, n=4000, random_state=0)
    >>> clf = AMMClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HyperplaneClassifier._parameter_constraints,
        "mode": [StrOptions({"online", "batch"})],
    }

    def __init__(
        self,
        mode: Literal["online", "batch"] = "online",
        *,
        alpha: float | Literal["auto"] = 1e-4,
        max_iter: int = 15,
        prune_every: int = 10_000,
        prune_threshold: float | None = 10.0,
        average: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.mode = mode
        self.alpha = alpha
        self.max_iter = max_iter
        self.prune_every = prune_every
        self.prune_threshold = prune_threshold
        self.average = average
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _algorithm(self) -> dict[str, Any]:
        return {}

    def _assignment(
        self, learner: _native.Learner, examples: Examples, random: np.random.RandomState
    ) -> Assignment:
        if self.mode == "batch":
            return Alternating(n_threads=self._n_threads())
        return Online()

    def _mixing(self, n_parts: int, rule: Rule, n_iter: int) -> HyperplaneMixing:
        batch = self.mode == "batch" and n_iter > 0
        return HyperplaneMixing(n_parts, rule, Best() if batch else None)

    def _stream_training(self, *args: Any) -> StreamTraining:
        training = super()._stream_training(*args)
        if self.mode == "batch" and training.plan.max_iter > 1:
            raise ValueError(
                "mode='batch' keeps the choice of every row from pass to pass, which a source of "
                "any length does not allow; use mode='online', or fit"
            )
        return training


@_fill(pruning=_PRUNING.format(c=50.0))
class GAMMClassifier(AMMClassifier):
    """Growing AMM: hyperplanes are also duplicated, for strongly nonlinear problems.

    As `AMMClassifier`, and whenever a row has a loss, the hyperplane of its class that takes the
    step is duplicated with probability p; then p ← βp. The two copies drift apart and share the
    work. Choose `AMMClassifier` where a handful of hyperplanes is enough: it is faster and
    smaller.

    Parameters
    ----------
    mode : {"online", "batch"}, default="online"
        As in `AMMClassifier`.
    growth : float, default=0.2
        p, the first probability of a duplication. Raise it for more hyperplanes; 0 is AMM.
    growth_decay : float, default=0.99
        β: about 1/(1 − β) duplications reduce p to a third.
    {alpha}
    {pruning}
    {model}
    {common}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Djuric, Wang and Vucetic, "Growing Adaptive Multi-Hyperplane Machines", ICML 2020,
    Algorithm 1 and section 5.2.

    Examples
    --------
    >>> from multiplane import GAMMClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3, 3, n=9000, random_state=0)
    >>> clf = GAMMClassifier(alpha=1e-5, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """

    _mixing_rule = "sum"  # many hyperplanes, few rows for each: nothing to take the mean of
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AMMClassifier._parameter_constraints,
        "growth": [Interval(Real, 0, 1, closed="both")],
        "growth_decay": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        mode: Literal["online", "batch"] = "online",
        *,
        growth: float = 0.2,
        growth_decay: float = 0.99,
        alpha: float | Literal["auto"] = 1e-4,
        max_iter: int = 15,
        prune_every: int = 10_000,
        prune_threshold: float | None = 50.0,
        average: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            mode,
            alpha=alpha,
            max_iter=max_iter,
            prune_every=prune_every,
            prune_threshold=prune_threshold,
            average=average,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            shuffle=shuffle,
            random_state=random_state,
            class_weight=class_weight,
            warm_start=warm_start,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.growth = growth
        self.growth_decay = growth_decay

    def _algorithm(self) -> dict[str, Any]:
        return {"growth": float(self.growth), "growth_decay": float(self.growth_decay)}
