"""Kernel machines that learn from streams in constant memory."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.estimators._base import StreamClassifier, Stretch
from multiplane.estimators._checks import new_seed
from multiplane.estimators._docs import COMMON, fill
from multiplane.estimators._monitor import Recorder
from multiplane.estimators._rounds import Reading
from multiplane.models._kernels import KernelModel
from multiplane.solvers._kernel_mixing import KernelMixing
from multiplane.solvers._tally import Tally

# Kernel values beyond this could leave float32 in sums.
_LARGEST_KERNEL = 1e30

# γ‖x‖², the part of an RBF exponent that cancels, above which 5 % of a value may be rounding.
_FAR_AWAY = 0.05 * 2**22
# What gamma="auto" tries, in units of gamma="scale", the first among equals.
_MULTIPLES = (4.0, 1.0, 0.25, 16.0)
# One pass likes narrow kernels and large λ more than several do: on 3,750 rows of letter it has
# 14.8 % with 16 and 15.2 with 4; ten passes have 11.6 and 7.8.
_TRIAL_PASSES = 5
# Rows of a stream from which gamma="scale" is found.
_OPENING = 256


@dataclass(frozen=True)
class Opening:
    """The first rows of a stream, from which gamma="scale" is found.

    The width of the kernel must not depend on how the stream is cut into calls. Until so many rows
    have come, each call learns all of them anew with the width that they ask for; from then on it
    stays.
    """

    classes: NDArray[Any]
    seed: int
    rows: tuple[Stretch, ...] = ()


class KernelClassifier(StreamClassifier):
    """What kernel machines share: the kernel, and prediction."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamClassifier._parameter_constraints,
        "kernel": [StrOptions(set(_native.KERNELS))],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, _LARGEST_KERNEL, closed="neither"),
        ],
        "degree": [Interval(Integral, 0, 100, closed="both")],
        "coef0": [Interval(Real, -_LARGEST_KERNEL, _LARGEST_KERNEL, closed="both")],
    }
    _model_type = KernelModel
    _looks_at_values = True
    _alphas = (1e-3, 1e-4, 1e-2, 1e-5)  # smaller ones are too small where no kernel value is large
    _trial_rows = 5_000

    kernel: str
    gamma: Literal["scale", "auto"] | float
    degree: int
    coef0: float
    gamma_: float
    _opening: Opening | None

    @property
    def support_vectors_(self) -> NDArray[np.float32]:
        """Support vectors, shape (n_support, n_features)."""
        vectors: NDArray[np.float32] = self._fitted_model().support_vectors
        return vectors

    @property
    def dual_coef_(self) -> NDArray[np.float32]:
        """Coefficients, shape (n_support, n_classes): f_c(x) is the sum of their c-th k(v_j, x)."""
        coef: NDArray[np.float32] = self._fitted_model().dual_coef
        return coef

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        return len(self._fitted_model())

    # --- inside ----------------------------------------------------------------------------

    def _kernel(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "gamma": self.gamma_,
            "degree": int(self.degree),
            "coef0": float(self.coef0),
        }

    def _fixed_parameters(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "degree": int(self.degree),
            "coef0": float(self.coef0),
        }

    def _start(self, examples: Examples, n_classes: int, seed: int) -> None:
        self._check_kernel()
        self.gamma_ = self._find_gamma(examples)
        if "gamma" in self._found_by_trial():
            self.gamma_ = self._try_gammas(examples, n_classes, seed)
        self._check_numbers(examples, self.gamma_)
        self._opening = None
        super()._start(examples, n_classes, seed)

    def _go_on(self, examples: Examples) -> None:
        self._check_numbers(examples, self.gamma_)
        self._opening = None  # more than the first rows of a stream will have been seen

    def _check_stretch(self, stretch: Stretch) -> None:
        self._check_kernel()
        if self._is_opening():
            rows, _ = self._opened(stretch)
            gamma = self._find_gamma(*(part.examples for part in rows))
            for part in rows:
                self._check_numbers(part.examples, gamma)
        elif hasattr(self, "_training"):
            gamma = self.gamma_
        else:
            gamma = self._find_gamma(stretch.examples)
        self._check_numbers(stretch.examples, gamma)

    def _find_gamma(self, *parts: Examples) -> float:
        """A number, or "scale" as in scikit-learn's SVC: where "auto" begins, too."""
        if isinstance(self.gamma, Real):
            return float(self.gamma)
        n_features = parts[0].X.shape[1]
        n_values, moments = 0, (0.0, 0.0)
        for part in parts:
            rows = part.rows()
            n_values += len(rows) * n_features
            moments = part.X.moments(rows, moments)
        total, squares = moments
        variance = squares / n_values - (total / n_values) ** 2
        # Rounding alone can leave a little where all values are equal.
        if variance <= 1e-12 * squares / n_values:
            return 1.0
        return float(np.clip(1 / (n_features * variance), 1e-30, _LARGEST_KERNEL))

    def _found_by_trial(self) -> tuple[str, ...]:
        found = super()._found_by_trial()
        return tuple(name for name in found if name != "gamma" or self.kernel != "linear")

    def _try_gammas(self, examples: Examples, n_classes: int, seed: int) -> float:
        """One that is as good as the best of some, by progressive validation."""
        order = np.random.RandomState(seed).permutation(examples.rows())[: self._trial_rows]
        if hasattr(self, "alpha"):  # Projectron has none; to be found: as many steps as 1/λ
            n_steps = len(order) * self._trial_passes()
            self.alpha_ = 1 / n_steps if isinstance(self.alpha, str) else float(self.alpha)
        gammas = [float(self.gamma_ * multiple) for multiple in _MULTIPLES]
        fit = [g for g in gammas if self._largest_kernel(examples.X, g) <= _LARGEST_KERNEL]
        if not fit:
            return self.gamma_  # and an error follows
        return self._best("gamma_", tuple(fit), examples, n_classes, seed, order)

    def _trial_passes(self) -> int:
        n_passes = int(self.max_iter) if self._expected is None else self._expected[1]
        return min(n_passes, _TRIAL_PASSES)

    def _is_opening(self) -> bool:
        """Whether the width of the kernel is still to be found."""
        begun = hasattr(self, "_training")
        if not begun and self._expected is not None:  # a source has as many rows as are wanted
            return False
        return self.gamma == "scale" and (not begun or self._opening is not None)

    def _looks_at_first_rows(self) -> bool:
        return isinstance(self.gamma, str) or super()._looks_at_first_rows()

    def _opened(self, stretch: Stretch) -> tuple[tuple[Stretch, ...], Stretch | None]:
        """The first rows of the stream as far as they have come, and what comes after them."""
        opening = self._opening if hasattr(self, "_training") else None
        seen = () if opening is None else opening.rows
        now, later = stretch.cut(_OPENING - _number_of_rows(seen))
        return (*seen, now), later

    def _learn_stream(self, stretch: Stretch, recorder: Recorder) -> Tally:
        if not self._is_opening():
            return super()._learn_stream(stretch, recorder)
        rows, later = self._opened(stretch)
        opening = self._opening if hasattr(self, "_training") else None
        if opening is None:
            opening = Opening(stretch.parts[0][1], new_seed(check_random_state(self.random_state)))
        # Learnt by a copy: neither Ctrl-C nor another thread finds a model of half of the rows.
        anew = copy.copy(self)
        anew._opening = replace(opening, rows=rows) if _number_of_rows(rows) < _OPENING else None
        anew.gamma_ = anew._find_gamma(*(part.examples for part in rows))
        anew.classes_ = opening.classes
        super(KernelClassifier, anew)._start(rows[0].examples, len(opening.classes), opening.seed)
        before = Tally()
        for part in rows:
            before = super(KernelClassifier, anew)._learn_stream(part, Recorder([]))
        for name in ("gamma_", "alpha_", "classes_", "_training", "_opening"):
            if hasattr(anew, name):
                setattr(self, name, getattr(anew, name))
        if later is not None:
            super()._learn_stream(later, recorder)
        return before

    def _check_kernel(self) -> None:
        """For algorithms that cannot take all kernels."""

    def _check_numbers(self, examples: Examples, gamma: float) -> None:
        """‖α‖² k(v, v) of a support vector must fit into float32, and so must distances."""
        if self.kernel == "rbf" and gamma * examples.X.largest_squared_norm() > _FAR_AWAY:
            warnings.warn(
                "rows are so far from the origin that their distances get lost in float32; centre "
                "the features, for example with StandardScaler",
                stacklevel=4,
            )
        largest = self._largest_kernel(examples.X, gamma)
        if not largest <= _LARGEST_KERNEL:
            raise ValueError(
                f"kernel='{self.kernel}' has values up to {largest:g} on this data, too large for "
                f"float32; scale the features, for example with StandardScaler, or choose a "
                f"smaller gamma, coef0 or degree"
            )
        weight = 1.0 if examples.weight is None else float(examples.weight.max())
        if not weight**2 * max(1.0, largest) <= _LARGEST_KERNEL:
            raise ValueError(
                f"squares of sample weights up to {weight:g} times kernel values up to "
                f"{largest:g} leave float32; scale the weights or the features"
            )

    def _largest_kernel(self, matrix: Matrix, gamma: float) -> float:
        """A bound, by Cauchy and Schwarz, on |k(x, v)| for rows x and v of the data."""
        if self.kernel not in ("linear", "poly"):
            return 1.0
        norm = matrix.largest_squared_norm()
        if self.kernel == "linear":
            return norm
        with np.errstate(over="ignore"):
            return float(np.power(gamma * norm + abs(float(self.coef0)), float(self.degree)))

    def _reach(self, matrix: Matrix) -> float:
        return 1.0  # `_check_numbers` looks at weights and kernel values together


def _number_of_rows(parts: tuple[Stretch, ...]) -> int:
    return sum(len(part.examples.rows()) for part in parts)


_KERNEL = """    kernel : {"rbf", "poly", "linear", "sigmoid"}, default="rbf"
        exp(−γ‖x − v‖²), (γ x·v + coef0)^degree, x·v or tanh(γ x·v + coef0).
    gamma : "scale", "auto" or float, default="scale"
        γ. "scale" is 1 / (n_features · variance of X), as in `SVC`; on a stream, of its first 256
        rows. "auto" (not as in `SVC`) tries 16, 4, 1 and 1/4 times that on at most 5,000 rows, of
        which a quarter is held out, in `fit` alone. Raise it for finer structure.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial and the sigmoid kernel."""

_ATTRIBUTES = """    classes_ : labels, sorted
    support_vectors_ : (n_support, n_features); a copy that cannot be written to
    dual_coef_ : coefficients, (n_support, n_classes); likewise
    n_support_ : number of support vectors
    gamma_ : γ in use
    t_ : number of the next step
    n_iter_ : passes made
    history_ : list of dictionaries, one a pass or a call of `partial_fit` (``event``): ``t``
        (steps, the axis for plots), ``support_vectors``, ``error``, ``loss`` and ``updates`` met
        since the last entry, ``seconds`` of training so far and, with validation data,
        ``validation_score``; neighbouring entries of calls are joined when there are 2,000
    stop_reason_ : "max_iter", "validation score no longer improves", "callback", "interrupted" or
        "partial_fit"
    n_features_in_, feature_names_in_ : as in scikit-learn"""


@fill(kernel=_KERNEL, common=COMMON, attributes=_ATTRIBUTES)
class BudgetedPegasosClassifier(KernelClassifier):
    """Multi-class kernel SVM that learns from a stream in constant memory and time a row.

    Minimises λ/2 ‖w‖² + mean of max(0, 1 + max_{k≠y} f_k(x) − f_y(x)) by steps of 1/(λt). A row
    with a loss becomes a support vector; when there are more than ``budget`` of them, maintenance
    makes them one fewer and changes the model as little as it can. Choose it where classes are
    strongly nonlinear and rows are many: `SVC` is better on 10,000 rows, cannot take 10,000,000,
    and its model grows with the data. Standardise the features first.

    A row costs ``budget`` kernel values and, if it becomes a support vector, about three times as
    much for merging, or ``budget ** 2`` multiplications for projection. Support vectors are kept
    whole, so sparse rows of many thousand features are slow: use `AMMClassifier` for text.

    The defaults are for long streams. With fewer rows than 1/λ raise ``alpha`` to 1e-2 or 1e-3 and
    ``max_iter`` to 10. Weights should be around 1: they scale the steps.

    Parameters
    ----------
    alpha : float or "auto", default=1e-4
        Regularisation, λ in the paper. "auto" as in `AMMClassifier`, with four values on at most
        5,000 rows, in five passes at most.
    {kernel}
    budget : int or None, default=500
        Support vectors at most, B in the paper; ``None`` for as many as come. Raise it for
        accuracy; cost is proportional.
    maintenance : {"merge", "project", "remove", "random"}, default="merge"
        What happens to the smallest support vector, the one with the least ‖α‖² k(v, v), when the
        budget is exceeded. "merge": it is merged with the partner that costs least (RBF only).
        "project": it is projected onto all others, which is slower and, at budgets of 100 or so,
        often more accurate. "remove": it goes. "random": any one goes.
    merge_search : {"smallest", "all"}, default="smallest"
        "all" looks for the best of all pairs instead: ``budget`` times slower, and seldom better.
    ball_projection : bool, default=True
        Keep ‖w‖ ≤ 1/√λ, where the optimum is known to lie, after each step (φ in Algorithm 1).
    average : bool or "auto", default="auto"
        Predict with a weighted average of all models met, in which the t-th has the weight t⁴.
        "auto": for merging and projection, which it makes more accurate. Of a support vector that
        has been removed nothing is left to average. ``False`` is the published algorithm.
    max_iter : int, default=1
        Passes over the data.
    {common}

    Attributes
    ----------
    degradation_ : mean over all steps of ‖E_t‖ = ‖Δw_t‖ / η_t, how far maintenance has moved the
        model, in units of a step; in ``history_`` too
    {attributes}

    References
    ----------
    Wang, Crammer and Vucetic, "Multi-class Pegasos on a budget", ICML 2010, Algorithm 1.

    Examples
    --------
    >>> from multiplane import BudgetedPegasosClassifier
    >>> from multiplane.datasets import stream_checkerboard
    >>> clf = BudgetedPegasosClassifier(budget=100, gamma=32, random_state=0)
    >>> for X, y in stream_checkerboard(4, 4, n=100_000, random_state=0):
    ...     clf = clf.partial_fit(X, y, classes=[0, 1])
    >>> clf.n_support_, bool(clf.score(X, y) > 0.95)
    (100, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "alpha": [Interval(Real, 1e-20, None, closed="left"), StrOptions({"auto"})],
        "budget": [Interval(Integral, 1, 2**30, closed="both"), None],
        "maintenance": [StrOptions({"merge", "project", "remove", "random"})],
        "merge_search": [StrOptions({"smallest", "all"})],
        "ball_projection": ["boolean"],
        "average": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        alpha: float | Literal["auto"] = 1e-4,
        *,
        kernel: str = "rbf",
        gamma: Literal["scale", "auto"] | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int | None = 500,
        maintenance: Literal["merge", "project", "remove", "random"] = "merge",
        merge_search: Literal["smallest", "all"] = "smallest",
        ball_projection: bool = True,
        average: bool | Literal["auto"] = "auto",
        max_iter: int = 1,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.maintenance = maintenance
        self.merge_search = merge_search
        self.ball_projection = ball_projection
        self.average = average
        self.max_iter = max_iter
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

    @property
    def degradation_(self) -> float:
        """Mean of ‖E_t‖ over all steps (Theorem 1 of the paper)."""
        self._fitted_model()
        return self._training.degradation

    def _make_learner(self, examples: Examples, n_classes: int, seed: int) -> _native.KernelLearner:
        merges = self.budget is not None and self.maintenance == "merge"
        search = "-all" if merges and self.merge_search == "all" else ""
        return _native.KernelLearner(
            n_features=examples.X.shape[1],
            n_classes=n_classes,
            lam=self.alpha_,
            budget=int(self.budget or 0),
            maintenance=(self.maintenance if self.budget else "remove") + search,
            ball_projection=bool(self.ball_projection),
            average=self._averages(),
            seed=seed,
            **self._kernel(),
        )

    def _mixing(self, n_parts: int, rule: Any, n_iter: int) -> KernelMixing:
        return KernelMixing(n_parts)

    def _final_reading(self, reading: Reading) -> Reading:
        return reading.changed(check=partial(clone(self)._check_numbers, gamma=self.gamma_))

    def _averages(self) -> bool:
        if self.average == "auto":
            return self.budget is None or self.maintenance in ("merge", "project")
        return bool(self.average)

    def _fixed_parameters(self) -> dict[str, Any]:
        return {
            **super()._fixed_parameters(),
            "alpha": self.alpha,
            "budget": self.budget,
            "maintenance": self.maintenance,
            "merge_search": self.merge_search,
            "ball_projection": bool(self.ball_projection),
            "average": self._averages(),
        }

    def _check_kernel(self) -> None:
        if self.budget is None:
            return
        if self.maintenance == "merge" and self.kernel != "rbf":
            raise ValueError(
                f"maintenance='merge' needs kernel='rbf', for only there the best place of a "
                f"merged support vector lies on the line between the two; with "
                f"kernel='{self.kernel}' use maintenance='project', 'remove' or 'random', or "
                f"budget=None"
            )
        negative = self.kernel == "poly" and self.coef0 < 0
        if self.maintenance == "project" and (negative or not _native.KERNELS[self.kernel]):
            coef0 = f" with coef0={self.coef0}" if negative else ""
            raise ValueError(
                f"maintenance='project' needs a positive definite kernel, which "
                f"kernel='{self.kernel}'{coef0} is not; use maintenance='remove'"
            )


@fill(kernel=_KERNEL, common=COMMON, attributes=_ATTRIBUTES)
class ProjectronClassifier(KernelClassifier):
    """Projectron++: a kernel perceptron whose support set grows only where it must.

    The update of a mistake is projected onto the support vectors that are there already if that
    loses at most ``eta``; otherwise the row becomes a support vector. Rows that are right by a
    margin of less than 1 make projected updates. There is nothing to regularise, and the number of
    support vectors is bounded, though not known in advance. It is here to be compared with:
    `BudgetedPegasosClassifier` is more accurate at the same size and its size can be chosen.

    A row that makes an update costs n_support_² multiplications, and on noisy data there can be
    thousands of support vectors: raise ``eta`` then. The kernel must be positive definite, so
    "sigmoid" is not among them.

    Parameters
    ----------
    eta : float, default=0.1
        What a projection may lose, as the norm of the residual for each of the two classes of an
        update (of at most √k(x, x), which is 1 for RBF). Lower it for more support vectors.
    {kernel}
    max_iter : int, default=1
        Passes over the data.
    {common}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", JMLR 10, 2009; the baseline
    of Wang, Crammer and Vucetic, "Multi-class Pegasos on a budget", ICML 2010, Table 1.

    Examples
    --------
    >>> from multiplane import ProjectronClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(4, 4, n=5_000, random_state=0)
    >>> clf = ProjectronClassifier(eta=0.3, gamma=8, random_state=0).fit(X, y)
    >>> clf.n_support_ < 500, bool(clf.score(X, y) > 0.9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "kernel": [StrOptions({name for name, definite in _native.KERNELS.items() if definite})],
        "eta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        eta: float = 0.1,
        *,
        kernel: str = "rbf",
        gamma: Literal["scale", "auto"] | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_iter: int = 1,
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
        self.eta = eta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
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

    def _make_learner(self, examples: Examples, n_classes: int, seed: int) -> _native.Projectron:
        return _native.Projectron(
            n_features=examples.X.shape[1],
            n_classes=n_classes,
            eta=float(self.eta),
            **self._kernel(),
        )

    def _fixed_parameters(self) -> dict[str, Any]:
        return {**super()._fixed_parameters(), "eta": float(self.eta)}

    def _check_kernel(self) -> None:
        if self.kernel == "poly" and self.coef0 < 0:
            raise ValueError(
                f"kernel='poly' with coef0={self.coef0} is not positive definite, which projection "
                f"needs; use coef0 of at least 0"
            )
        if self.kernel == "rbf" and self.eta >= 1:
            raise ValueError(
                f"eta must be below 1 with kernel='rbf', got {self.eta}: no projection can lose "
                f"more than √k(x, x) = 1, so no row would ever become a support vector"
            )
