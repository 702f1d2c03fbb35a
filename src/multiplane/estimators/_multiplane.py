"""The flagship: hyperplanes that start where the data is, with nothing to tune."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from multiplane import _native
from multiplane.data import Examples, Matrix, Source
from multiplane.estimators._base import StreamClassifier, Stretch
from multiplane.estimators._checks import new_seed
from multiplane.estimators._docs import COMMON, fill
from multiplane.estimators._hyperplanes import ATTRIBUTES, HyperplaneClassifier
from multiplane.estimators._labels import find, ranks
from multiplane.estimators._monitor import Recorder
from multiplane.estimators._rounds import FEW, Reading, Winners, united, winners
from multiplane.estimators._training import Training
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._scaling import Scaling
from multiplane.solvers._engine import Engine
from multiplane.solvers._leading import leading, products
from multiplane.solvers._mixing import Rule
from multiplane.solvers._selection import Fold, Search, Trial, enough, folds
from multiplane.solvers._sgd import Annealed, Assignment, Settings, annealed
from multiplane.solvers._tally import Tally
from multiplane.solvers._tangents import Start, tangents

_ROWS_A_HYPERPLANE = 8  # in a class, at least, at the start
_ROWS_A_ROUND = 4_096  # of all parts, at least
_OPENING = 2_048  # rows of a stream, before its centres are placed
_WORK = 2e10  # products of a weight and a feature, for max_iter="auto"
_FEW_STEPS = 0.15  # of the rows in the last pass of a trial: then half of that is enough
_MORE = 3  # times as many passes, where they are few and a trial tells that they pay
_SHORT = 5  # times the work: then any gain will do, else it must be more than chance
_TRIAL_WORK, _TRIAL_PASSES = 4e9, 25
_LONG = 1_000_000  # rows of a stream of which nobody knows how long it is
_SAMPLE_NUMBERS = 1 << 26  # in a sample of more than 40,000 rows: 256 MB
_MANY_TESTED = 10_000
_MANY_TIMES = 30  # the median spread of features: not all are in one unit
_STREAM_BYTES = 2e9  # of a source to be read altogether, for max_iter="auto"
_FAR = 1e5  # standard deviations from zero: two digits are left
_MOST_NUMBERS = 1 << 24  # in a start: 64 MB

# What "auto" tries, and where it begins; of alpha, λ times the number of steps: by that, steps have
# shrunk in the end (decision 7).
_WAYS: dict[str, tuple[Any, ...]] = {
    "scale": ("standard", "uniform"),
    "alpha": (0.3, 6.0, 30.0, 300.0),
    "n_hyperplanes": (1, 2, 8, 30, 90, 270),
}
_BEGIN = {"scale": "uniform", "alpha": 6.0, "n_hyperplanes": 30}
_FAR_BEHIND, _CLEARLY, _BY_CHANCE, _OF_FEW = 3.0, 2.0, 0.5, 1.5  # standard errors
_FEW_TESTED = 250  # rows
# Trials see rows by an eighth as many directions, if these have so much of the variance, and so
# many rows to be found by; a small model tells whether they will do.
_FEATURES_A_DIRECTION, _LEAST_DIRECTIONS, _MOST_DIRECTIONS = 8, 8, 128
_LEAST_VARIANCE, _ROWS_A_FEATURE = 0.9, 4
_SMALL, _SMALL_PASSES = 8, 8
# Without trials, for the first rows of a stream, which are seen several times.
_WHILE_OPENING = {"alpha": 1e-4, "n_hyperplanes": 8}
_OPENING_PASSES = 10


@dataclass(frozen=True)
class Opening:
    """The first rows of a stream, in which the centres are placed.

    Before so many rows have come, the model is that of the first ones, at least four fifths of
    them: of 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 …, however the stream is cut into calls.
    """

    seed: int
    parts: tuple[Stretch, ...] = ()
    n_rows: int = 0

    def followed_by(self, part: Stretch) -> Opening:
        n_rows = self.n_rows + len(part.examples.rows())
        return Opening(self.seed, (*self.parts, part), n_rows)

    @property
    def n_learnt(self) -> int:
        spare = max(0, self.n_rows.bit_length() - 3)
        return self.n_rows >> spare << spare

    def first(self, n: int, classes: NDArray[Any]) -> Examples:
        """The first n rows that take part."""
        parts, weights, labels = [], [], []
        for part in self.parts:
            rows = part.examples.rows()[:n]
            n -= len(rows)
            parts.append(part.X[rows])
            labels.append(part.y[rows])
            weight = part.examples.weight
            weights.append(np.ones(len(rows), np.float32) if weight is None else weight[rows])
        if any(sp.issparse(part) for part in parts):
            X = sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
        else:
            X = np.concatenate(parts)
        return Examples(Matrix(X), find(np.concatenate(labels), classes), np.concatenate(weights))


@fill(common=COMMON, attributes=ATTRIBUTES)
class MultiplaneClassifier(HyperplaneClassifier):
    """Hyperplanes with the accuracy of kernel machines: choose this one first.

    A multi-hyperplane machine, as `AMMClassifier`, trained differently: it starts from the tangent
    planes to ½‖x‖² at centres of each class (k-means on a sample), so that the nearest centre
    decides; goes on by stochastic gradient descent in steps that begin small, each shared by all
    hyperplanes that come near the winner; averages; and drops what never wins. Features are scaled
    inside. How many centres, how to scale and how much to regularise is found by trial on a sample
    of the training data.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        Hyperplanes of each class at the start. "auto" tries 1, 2, 8, 30, 90 and 270 on a sample and
        takes more where there are more rows: as the square root of their number, 270 at most.
    alpha : float or "auto", default="auto"
        Regularisation, λ. "auto" tries 0.3, 6, 30 and 300 divided by the number of steps on a
        sample, as long as the next one is better.
    scale : {"auto", "standard", "uniform"} or None, default="auto"
        How features are brought to a common scale, inside: "standard" gives all of them the same
        variance, "uniform" multiplies all by one factor, for images and other features in one
        unit; "auto" tries both; ``None``: not at all. Sparse data is not centred.
    step : float, default=3.0
        How far a step moves a row's scores at first, in margins.
    sharing : float, default=2.0
        Hyperplanes this many margins below the winner, or nearer, get a share of its step. In `fit`
        it shrinks to nothing during the first half of the passes. 0: steps are the winner's alone.
    max_iter : int or "auto", default="auto"
        Passes over the data. "auto": 20 to 100, the more the smaller data and model are; fewer
        where trials had little left to learn at their end, and three times as many, 100 at most,
        where a trial tells that they pay.
    {common}

    Attributes
    ----------
    {attributes}
    settings_ : dict of what was chosen for ``n_hyperplanes``, ``alpha`` and ``scale``
    trials_ : list of dictionaries: settings tried, and their ``error`` on held-out rows of the
        sample. One setting is changed after the other as long as it helps; fewer hyperplanes must
        be clearly better, for a trial sees fewer rows than `fit`. If the linear model comes near,
        then that and its rival are tested once more, on all rows of the sample. At the end are
        those with three times the passes, if they were tried

    Notes
    -----
    `partial_fit` keeps the first 2,048 rows of a stream, places its centres by them, learns them,
    and from then on each row as it comes. Before that, it predicts by a rough model of the rows so
    far, or of four fifths of them at least. With fewer rows than that use `fit`.
    A class that comes later gets one hyperplane. `fit` holds a scaled copy of the data while it
    works. Early stopping waits for half of the passes at least: before that, steps do not get
    smaller. Centres are placed by a sample of 10,000 to 100,000 rows, one for 8 rows of a class at
    most.

    References
    ----------
    Djuric, Wang and Vucetic, "Growing Adaptive Multi-Hyperplane Machines", ICML 2020: the tangent
    planes are those of the proof of Theorem 1.

    Examples
    --------
    >>> from multiplane import MultiplaneClassifier
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(4, 4, n=8000, random_state=0)
    >>> clf = MultiplaneClassifier(random_state=0).fit(X, y)
    >>> clf.n_hyperplanes_, bool(clf.score(X, y) > 0.98)
    (16, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamClassifier._parameter_constraints,
        "n_hyperplanes": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 1e-12, 1e3, closed="both"), StrOptions({"auto"})],
        "scale": [StrOptions({"auto", *_WAYS["scale"]}), None],
        "step": [Interval(Real, 1e-6, 1e6, closed="both")],
        "sharing": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }
    _looks_at_values = True
    _can_widen = False  # the scale of a feature is found from the first rows

    # A model without an average or a constant feature is not offered.
    average = True
    fit_intercept = True
    intercept_scaling = 1.0

    settings_: dict[str, Any]
    trials_: list[dict[str, Any]]
    _scaling: Scaling
    _work = _WORK  # of a training
    _n_passes: int
    _opening: Opening | None

    def __init__(
        self,
        n_hyperplanes: int | Literal["auto"] = "auto",
        *,
        alpha: float | Literal["auto"] = "auto",
        scale: Literal["auto", "standard", "uniform"] | None = "auto",
        step: float = 3.0,
        sharing: float = 2.0,
        max_iter: int | Literal["auto"] = "auto",
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
        self.scale = scale
        self.step = step
        self.sharing = sharing
        self.max_iter = max_iter  # type: ignore[assignment]
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

    # --- starting --------------------------------------------------------------------------

    def _start(self, examples: Examples, n_classes: int, seed: int) -> None:
        self._opening = None
        self._begin(examples, n_classes, seed)
        self._go_on(examples)

    def _go_on(self, examples: Examples) -> None:
        self._check_kind(examples.X.source)
        self._opening = None
        self._passes_known(len(examples.rows()), examples.X.shape[1])

    def _passes_known(self, n_rows: int, n_features: int) -> None:
        self._n_passes = self._passes_wanted(n_rows, len(self._training.learner), n_features)

    def _passes_wanted(self, n_rows: int, n_hyperplanes: int, n_features: int) -> int:
        if isinstance(self.max_iter, str):
            wanted = self._work / (n_rows * _size(n_hyperplanes, n_features))
            return _passes(20 * max(1.0, self._work / _WORK), wanted, 100)
        return int(self.max_iter)

    def _begin(
        self,
        examples: Examples,
        n_classes: int,
        seed: int,
        try_settings: bool = True,
        once: bool = False,  # there is to be one pass
    ) -> None:
        """Choose settings, scale, and place the hyperplanes."""
        began = time.perf_counter()
        random = np.random.RandomState(seed)
        rows = examples.rows()
        n_rows = len(rows) if self._expected is None else self._expected[0]
        sample = _sample(examples.y, rows, random, self._sample_size(n_rows, examples.X.shape[1]))
        X, y = examples.X.source[sample], examples.y[sample]
        weight = None if examples.weight is None else examples.weight[sample]
        self.trials_, self._work = [], _WORK
        chosen = self._choose(X, y, weight, n_classes, n_rows, random, try_settings, once)
        self._scaling = Scaling.learnt(examples.X.source, rows, chosen["scale"])
        start = _start(self._scaling(X), y, n_classes, chosen["n_hyperplanes"], random)
        if try_settings:
            n_steps = self._steps_wanted(n_rows, start.hyperplanes, once)
            chosen["alpha"] = self._lambda(chosen["alpha"], n_steps)
        self.settings_, self.alpha_ = chosen, chosen["alpha"]
        if self.verbose and self.trials_:
            self._say("chosen", self.settings_, f"for {n_rows:,} rows")
        unit = 1.0 if examples.weight is None else float(np.mean(examples.weight[rows]))
        learner = self._learner(start, self.alpha_, n_classes, unit)
        self._training = Training(learner, self._maker(), self._fixed_parameters())
        self._training.tally.seconds = time.perf_counter() - began
        self._warn_of_distance(X)

    def _warn_of_distance(self, X: Any) -> None:
        # In the mean a feature's standard deviation is √(4/d) after scaling.
        far = (
            np.abs(self._scaling.shift)
            * self._scaling.factor
            * np.sqrt(len(self._scaling.shift) / 4)
        )
        for column in np.flatnonzero(far > _FAR):
            if np.ptp(X[:, column]) == 0:  # and does not vary at all
                far[column] = 0
        if far.max(initial=0) > _FAR:
            warnings.warn(
                f"column {int(far.argmax())} lies {far.max():.0e} standard deviations from zero: "
                f"float32 keeps little of how it varies; subtract its mean",
                stacklevel=6,
            )

    def _choose(
        self,
        X: Any,
        y: NDArray[np.int32],
        weight: NDArray[np.float32] | None,
        n_classes: int,
        n_rows: int,
        random: np.random.RandomState,
        try_settings: bool,
        once: bool,
    ) -> dict[str, Any]:
        """Settings; alpha, if it is found by trial, times the number of steps."""
        auto = self.n_hyperplanes == "auto"
        ways = {name: [getattr(self, name)] for name in _WAYS}
        for name, values in _WAYS.items():
            if getattr(self, name) == "auto":
                ways[name] = list(values)
        numbers = ways["n_hyperplanes"]
        most = min(numbers[-1], max(1, _MOST_NUMBERS // ((X.shape[1] + 1) * len(np.unique(y)))))
        if auto:  # all that leave no class enough rows for more are the same
            useful = int(np.bincount(y).max()) // _ROWS_A_HYPERPLANE
            ways["n_hyperplanes"] = [
                number
                for number, lower in zip(numbers, [0, *numbers], strict=False)
                if number <= most and lower < max(1, useful)
            ]
        start: dict[str, Any] = {
            n: _BEGIN[n] if _BEGIN[n] in ways[n] else ways[n][-1] for n in ways
        }
        if len(ways["scale"]) > 1 and not _in_one_unit(X):
            start["scale"] = "standard"
        if sp.issparse(X) and X.shape[1] > n_rows and auto:  # text is linear, and trials are long
            start["n_hyperplanes"] = 1
        open_questions = any(len(values) > 1 for values in ways.values())
        if not try_settings:
            rough = {**_WHILE_OPENING, "scale": "uniform" if sp.issparse(X) else "standard"}
            return {n: rough[n] if len(ways[n]) > 1 else start[n] for n in ways}
        parts = folds(y, random) if open_questions else []
        if not parts:
            return start
        n_parts = enough(parts)
        work = len(y) * start["n_hyperplanes"] * n_classes * (X.shape[1] + 1)
        if not sp.issparse(X) and work > _TRIAL_WORK / 8:  # eight passes are enough to wait for
            parts, n_parts = parts[:1], 1
        trials = Trials(self, X, y, weight, n_classes, parts, n_parts, new_seed(random))
        now = time.perf_counter()  # of little time, half is for trials
        deadline = now + (getattr(self, "_deadline", np.inf) - now) / 2
        trials.project(start)
        # Three times as many take three times as long. If many rows are tested a larger number that
        # is better is so, and more rows are to come.
        many = len(parts[0][1]) >= _MANY_TESTED
        caution = {"alpha": (0.5, 0.5), "n_hyperplanes": (1.5, 0.0 if many else 1.0)}
        tried = partial(self._tried, trials)
        search = Search(ways, trials.wrong, tried, caution, deadline)
        found = search.walk(start, ways)
        if auto and found.settings["n_hyperplanes"] > 1:
            more = np.inf if once or not self._length_known else n_rows / len(y)
            found = self._or_linear(found, search, trials, more)

        def grown(trial: Trial) -> int:  # with the rows beyond the sample
            number = int(trial.settings["n_hyperplanes"])
            several = auto and number > 1
            return min(int(number * np.sqrt(n_rows / len(y))), most) if several else number

        counts = np.bincount(y, minlength=n_classes) * (n_rows / len(y))
        n_hyperplanes = int(_numbers(counts, grown(found)).sum())
        a_pass = n_rows * _size(n_hyperplanes, X.shape[1])
        if trials.steps_of(found) < _FEW_STEPS:
            self._work = _WORK / 2
        elif self._may_want_more(found, a_pass, once):
            # Others may have been tested on more rows.
            found = self._or_longer(search.trial(found.settings), search, trials, a_pass)
        return {**found.settings, "n_hyperplanes": grown(found)}

    def _may_want_more(self, found: Trial, a_pass: float, once: bool) -> bool:
        """Whether passes are ours to choose, and so few that there could be many more."""
        given = self._expected is not None and self._expected[1]
        if once or given or not isinstance(self.max_iter, str):
            return False
        return found.settings["n_hyperplanes"] > 1 and _passes(20, _WORK / a_pass, 100) < 50

    def _or_longer(self, found: Trial, search: Search, trials: Trials, a_pass: float) -> Trial:
        """The same settings, if more passes pay. More passes can tell, too, whether more
        hyperplanes are better, but as many as take nine times as long are not tried."""
        seconds = _MORE * trials.seconds_of(found)
        if time.perf_counter() + seconds > search.deadline:
            return found
        longer = trials.longer(found.settings)
        self._tried(trials, longer)
        if not longer.beats(found, 0.0 if 20 * a_pass < _SHORT * _WORK else 1.0):
            return found
        self._work = _WORK * _MORE
        number = found.settings["n_hyperplanes"]
        more = [other for other in search.ways["n_hyperplanes"] if other > number][:1]
        in_time = time.perf_counter() + _MORE * seconds <= search.deadline
        if number > _BEGIN["n_hyperplanes"] or not more or not in_time:
            return longer
        larger = trials.longer({**found.settings, "n_hyperplanes": more[0]})
        self._tried(trials, larger)
        return larger if larger.beats(longer, search.caution["n_hyperplanes"][1]) else longer

    def _steps_wanted(self, n_rows: int, hyperplanes: NDArray[Any], once: bool) -> int:
        if once or not self._length_known:
            return max(n_rows, _LONG)
        if self._expected is not None and self._expected[1]:
            return n_rows * self._expected[1]
        return n_rows * self._passes_wanted(n_rows, len(hyperplanes), hyperplanes.shape[1] - 1)

    def _lambda(self, alpha: float, n_steps: int) -> float:
        return alpha / n_steps if isinstance(self.alpha, str) else alpha

    def _or_linear(self, best: Trial, search: Search, trials: Trials, more: float) -> Trial:
        """The linear model is worth a search of its own, unless it is far behind. If it is not
        clear then which is better, all rows of the sample are tested. There are to be `more` times
        as many rows. If these are all, the linear model is the one to take unless it is worse by
        more than chance; of a stream without an end, only if it is clearly better."""
        if search.late:
            return best
        linear = search.trial({**best.settings, "n_hyperplanes": 1})
        if best.beats(linear, _FAR_BEHIND):
            return best
        linear = search.walk(linear.settings, ("scale", "alpha"))
        if more == np.inf:
            return linear if linear.beats(best, _CLEARLY) else best
        clear = best.beats(linear, _CLEARLY) or linear.beats(best, _CLEARLY)
        if not clear and trials.n_parts < len(trials.parts) and not search.late:
            best, linear = trials.further(best), trials.further(linear)
            for trial in (best, linear):
                self._tried(trials, trial)
        chance = 0.0 if more > 1 else _OF_FEW if best.n_tested < _FEW_TESTED else _BY_CHANCE
        return best if best.beats(linear, chance) else linear

    def _tried(self, trials: Trials, trial: Trial) -> None:
        n_steps = trials.n_steps[trial.settings["n_hyperplanes"]]
        settings = {**trial.settings, "alpha": self._lambda(trial.settings["alpha"], n_steps)}
        self.trials_.append({**settings, "error": trial.error})
        if self.verbose:
            self._say("trial", settings, f"error {trial.error:.4f}")

    def _say(self, what: str, settings: dict[str, Any], more: str) -> None:
        words = ", ".join(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in settings.items()
        )
        print(f"[{type(self).__name__}] {what} {words}  {more}", flush=True)

    def _learner(
        self, start: Start, alpha: float, n_classes: int, unit: float = 1.0
    ) -> _native.Learner:
        """Weights are in units of their mean: with λ so many times as large, and a step so many
        times as small, they might as well be 1 in the mean."""
        learner = _native.Learner(
            n_features=start.hyperplanes.shape[1] - 1,
            bias=1.0,
            n_classes=n_classes,
            lam=float(alpha) * unit,
            adaptive=False,
            ball_projection=False,
            average=True,
            growth=0.0,
            growth_decay=1.0,
            seed=0,
            sharing=float(self.sharing),
        )
        start.begin(learner, float(self.step) / unit)
        return learner

    # --- inside ----------------------------------------------------------------------------

    def _maker(self) -> Scaling:
        return self._scaling

    def _fixed_parameters(self) -> dict[str, Any]:
        return {
            "n_hyperplanes": self.n_hyperplanes,
            "alpha": self.alpha,
            "scale": self.scale,
            "step": float(self.step),
            "sharing": float(self.sharing),
        }

    def _settings(self) -> Settings:
        # Online learning asks too, which makes no passes.
        return Settings(max_iter=getattr(self, "_n_passes", 1), shuffle=bool(self.shuffle))

    def _assignment(
        self, learner: _native.Learner, examples: Examples, random: np.random.RandomState
    ) -> Assignment:
        deadline = getattr(self, "_deadline", np.inf)
        return Annealed(float(self.sharing), self._n_passes, self._n_threads(), deadline)

    def _as_learnt(self, examples: Examples) -> Examples:
        matrix = Matrix(self._scaling(examples.X.source))
        return Examples(matrix, examples.y, examples.weight, examples.subset)

    def _tidy_up(self, examples: Examples) -> None:
        """Drop hyperplanes that win nowhere, but leave every class one."""
        self._keep_winners(self._winners(examples.X)[examples.rows()])
        self._calm_down()

    def _sample_size(self, n_rows: int, n_features: int) -> int:
        # Where rows are many, more hyperplanes pay than a trial with 40,000 can tell (decision 7).
        most = max(40_000, min(100_000, _SAMPLE_NUMBERS // n_features))
        return int(np.clip(n_rows // 5, 10_000, most))

    _mixing_rule = "chain"  # its steps stay large: a mean of P parts goes a P-th of the way

    def _rounds(self, rule: Rule, n_rows: int) -> int:
        # Steps do not get smaller with t here: what counts is the number of rows.
        return max(8, min(n_rows // _ROWS_A_ROUND, super()._rounds(rule, n_rows)))

    def _final_reading(self, reading: Reading) -> Reading:
        return reading.changed(scaling=self._scaling)

    def _parts_passes(self) -> int:
        # Not known before the number of hyperplanes is.
        return 0 if isinstance(self.max_iter, str) else int(self.max_iter)

    def _tidy_up_parts(self, engine: Engine, reading: Reading) -> None:
        found = engine.run(winners, Winners(reading, self._hyperplane_learner.snapshot()), united)
        self._keep_winners(found)
        self._calm_down()

    def _winners(self, X: Matrix) -> NDArray[np.int32]:
        model = self._training.model()
        assert isinstance(model, HyperplaneModel)
        return model.winners(X, self._n_threads())

    def _keep_winners(self, winners: NDArray[Any]) -> None:
        model = self._training.model()
        assert isinstance(model, HyperplaneModel)
        kept = np.bincount(winners[winners >= 0], minlength=len(model)) > 0
        for code in np.unique(model.owner):
            own = np.flatnonzero(model.owner == code)
            kept[own[0]] |= not kept[own].any()
        self._hyperplane_learner.keep(np.flatnonzero(kept).tolist())

    def _calm_down(self) -> None:
        """If a stream goes on from here, its rows are as good as any."""
        self._hyperplane_learner.sharing, self._hyperplane_learner.rate = float(self.sharing), 1.0

    @property
    def _hyperplane_learner(self) -> _native.Learner:
        learner = self._training.learner
        assert isinstance(learner, _native.Learner)
        return learner

    def _patience(self) -> int:
        return max(int(self.n_iter_no_change), self._n_passes // 2)

    # --- streams ---------------------------------------------------------------------------

    def _reach(self, matrix: Matrix) -> float:
        # Rows are learnt as they are scaled: the first ones to at most √(4n), 1,000 for a million.
        return max(1e3, self._scaled_largest(matrix)) if hasattr(self, "_scaling") else 1e3

    def _scaled_largest(self, matrix: Matrix) -> float:
        """A bound on the numbers that scaling makes of these."""
        shift, factor = np.abs(self._scaling.shift), self._scaling.factor
        return float(factor.max(initial=0) * (matrix.largest() + shift.max(initial=0)))

    def _check_stretch(self, stretch: Stretch) -> None:
        if hasattr(self, "_training"):
            self._check_kind(stretch.X)
            if self._scaled_largest(stretch.examples.X) > _native.LARGEST:
                Matrix(self._scaling(stretch.X))  # raises where the bound was right

    def _check_kind(self, X: Any) -> None:
        if sp.issparse(X) and self._scaling.shift.any():
            raise ValueError(
                "the training began with dense rows, which were centred, and sparse ones cannot "
                "be: pass X.toarray(), or scale=None from the start"
            )

    def _found_by_trial(self) -> tuple[str, ...]:
        return ()  # it tries with the first rows

    def _can_go_on(self) -> bool:
        return hasattr(self, "_training") and self._opening is None

    def _stream_passes(self, source: Source) -> int:
        if not isinstance(self.max_iter, str):
            return int(self.max_iter)
        return int(np.clip(_STREAM_BYTES / (source.n_bytes or np.inf), 1, 20))

    def _looks_at_first_rows(self) -> bool:
        return True

    def _learner_settings(self, done: float) -> dict[str, Any]:
        sharing, rate = annealed(float(self.sharing), done)
        return {"sharing": sharing, "rate": rate}

    def _stream_ended(self, rows: Iterable[Any] | None) -> None:
        if rows is not None:
            winners = [np.unique(self._winners(Matrix(self._scaled(X)))) for X in rows]
            self._keep_winners(np.concatenate(winners))
        self._calm_down()

    def _learn_stream(self, stretch: Stretch, recorder: Recorder) -> Tally:
        begun = hasattr(self, "_training")
        if self._expected is not None or (begun and self._opening is None):
            return super()._learn_stream(stretch, recorder)
        opening = self._opening if begun else None
        if opening is None:
            opening = Opening(new_seed(check_random_state(self.random_state)))
        now, later = stretch.cut(_OPENING - opening.n_rows)
        n_learnt = opening.n_learnt
        opening = opening.followed_by(now)
        # Learnt by a copy: neither Ctrl-C nor another thread finds a model of half of the rows.
        anew = copy.copy(self)
        anew.classes_ = now.parts[-1][1]
        before = Tally()
        if opening.n_learnt > n_learnt:
            examples = opening.first(opening.n_learnt, anew.classes_)
            n_classes = len(anew.classes_)
            at_last = opening.n_learnt == _OPENING
            anew._begin(examples, n_classes, opening.seed, at_last, once=True)
            scaled = anew._as_learnt(examples)
            for _ in range(1 if at_last else _OPENING_PASSES):
                tally = anew._training.tally
                counts = scaled.learn(anew._training.learner, scaled.rows(), so_far=tally.sums)
                tally.add(counts, 0.0)
        else:
            before = self._training.tally.copy()
            if len(anew.classes_) > len(self.classes_):
                anew._training = copy.deepcopy(self._training)
                code = np.searchsorted(anew.classes_, self.classes_).tolist()
                anew._training.learner.relabel(code, len(anew.classes_))
        anew._opening = opening if opening.n_rows < _OPENING else None
        learnt = ("classes_", "settings_", "trials_", "alpha_", "_training", "_scaling", "_opening")
        for name in (*learnt, "_work"):
            setattr(self, name, getattr(anew, name))
        if later is not None:
            super()._learn_stream(later, recorder)
        return before


class Trials:
    """Short trainings with some settings, on the same parts of a sample each time."""

    def __init__(
        self,
        classifier: MultiplaneClassifier,
        X: Any,
        y: NDArray[np.int32],
        weight: NDArray[np.float32] | None,
        n_classes: int,
        parts: list[Fold],
        n_parts: int,  # as many of them are tested, as a rule
        seed: int,
    ) -> None:
        self.classifier, self.X, self.y, self.n_classes = classifier, X, y, n_classes
        # In the mean 1, so that they count like rows.
        self.weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
        self.weighted = weight is not None
        self.parts, self.n_parts, self.seed = parts, n_parts, seed
        self._rows: dict[Any, tuple[Any, Any]] = {}  # scaled, to train and to test
        self._starts: dict[Any, Start] = {}
        self.n_steps: dict[int, int] = {}  # by hyperplanes a class
        self._last_steps: dict[tuple[Any, ...], float] = {}  # by settings
        self._seconds: dict[tuple[Any, ...], float] = {}
        self.projected = False

    def wrong(self, settings: dict[str, Any]) -> tuple[float, float]:
        began = time.perf_counter()
        wrong = self._wrong(settings, range(self.n_parts))
        self._seconds[tuple(settings.values())] = time.perf_counter() - began
        return wrong

    def further(self, trial: Trial) -> Trial:
        """With the parts that have not been tested yet, which are not kept."""
        n_wrong, n_tested = trial.n_wrong, trial.n_tested
        for number in range(self.n_parts, len(self.parts)):
            wrong, tested = self._wrong(trial.settings, [number])
            n_wrong, n_tested = n_wrong + wrong, n_tested + tested
            for kept in (self._rows, self._starts):
                for key in [key for key in kept if key[0] == number]:
                    del kept[key]
        return Trial(trial.settings, n_wrong, n_tested)

    def longer(self, settings: dict[str, Any]) -> Trial:
        """With more passes. λ times their number is smaller than of fewer: decision 7."""
        if isinstance(self.classifier.alpha, str):
            settings = {**settings, "alpha": settings["alpha"] / _MORE}
        return Trial(settings, *self._wrong(settings, range(self.n_parts), _MORE))

    def steps_of(self, trial: Trial) -> float:
        """The share of rows that were still learnt in its last pass."""
        return self._last_steps[tuple(trial.settings.values())]

    def seconds_of(self, trial: Trial) -> float:
        return self._seconds[tuple(trial.settings.values())]

    def project(self, settings: dict[str, Any]) -> None:
        """From now on rows have fewer features, if these hold most of their variance and a small
        model learns something, as well by them as by all: neither worse, for want of the others,
        nor better, because the others mislead it. Else a model that has them all may want other
        settings."""
        scale = settings["scale"]
        all_features = self._scaled(0, scale)
        some = self._fewer(*all_features)
        if some[0].shape == all_features[0].shape:
            return
        small = {**settings, "n_hyperplanes": min(_SMALL, settings["n_hyperplanes"])}
        wrong = []
        for rows in (all_features, some):
            self._starts.clear()
            self._rows = {(0, scale): rows}
            wrong.append(self._mistakes(small, 0, most_passes=_SMALL_PASSES))
        y = self.y[self.parts[0][1]]
        n_wrong = [np.count_nonzero(w) for w in wrong]
        learns = max(n_wrong) <= (len(y) - np.bincount(y).max()) / 2  # of what guessing gets wrong
        differ = _FAR_BEHIND * np.sqrt(np.count_nonzero(wrong[0] != wrong[1]))
        self.projected = bool(learns and abs(n_wrong[0] - n_wrong[1]) <= differ)
        if not self.projected:
            self._starts.clear()
            self._rows = {(0, scale): all_features}

    def _fewer(self, learnt: Any, tested: Any) -> tuple[Any, Any]:
        """The same rows by their leading directions, where that pays."""
        n_rows, n_features = learnt.shape
        few = min(n_features // _FEATURES_A_DIRECTION, _MOST_DIRECTIONS)
        if sp.issparse(learnt) or few < _LEAST_DIRECTIONS or n_rows < _ROWS_A_FEATURE * n_features:
            return learnt, tested
        directions, share = leading(learnt, few, np.random.RandomState(self.seed))
        longest = max(float(np.abs(rows).max(initial=0)) for rows in (learnt, tested))
        if share < _LEAST_VARIANCE or longest * np.sqrt(n_features) > _native.LARGEST:
            return learnt, tested
        return products(learnt, directions), products(tested, directions)

    def _wrong(
        self, settings: dict[str, Any], numbers: Iterable[int], times: int = 1
    ) -> tuple[float, float]:
        n_wrong = n_tested = 0.0
        for number in numbers:
            weight = self.weight[self.parts[number][1]]
            n_wrong += float(weight[self._mistakes(settings, number, times)].sum())
            n_tested += float(weight.sum())
        return n_wrong, n_tested

    def _mistakes(
        self,
        settings: dict[str, Any],
        number: int,
        times: int = 1,
        most_passes: int = _TRIAL_PASSES,
    ) -> NDArray[np.bool_]:
        """Which of the rows that part `number` tests are wrong, after so many times the passes."""
        clf, (train, test) = self.classifier, self.parts[number]
        y = self.y[train]
        random = np.random.RandomState(self.seed)
        learnt, tested = self._scaled(number, settings["scale"])
        key = number, settings["scale"], settings["n_hyperplanes"]
        if key not in self._starts:
            self._starts[key] = _start(learnt, y, self.n_classes, key[-1], random)
        start = self._starts[key]
        # As many as with all features.
        wanted = _TRIAL_WORK / (len(y) * _size(len(start.owner), self.X.shape[1]))
        n_passes = times * _passes(_passes(2, 5 * wanted, 8), wanted, most_passes)
        self.n_steps[settings["n_hyperplanes"]] = n_steps = len(y) * n_passes
        learner = clf._learner(start, clf._lambda(settings["alpha"], n_steps), self.n_classes)
        weight = self.weight[train].astype(np.float32) if self.weighted else None
        examples = Examples(Matrix(learnt), y, weight)
        random = np.random.RandomState(self.seed)  # the same order in each trial
        annealed = Annealed(float(clf.sharing), n_passes, clf._n_threads())
        for _ in range(n_passes):
            annealed.prepare(learner, examples)
            counts = examples.learn(learner, random.permutation(len(y)))
        self._last_steps[tuple(settings.values())] = counts["updates"] / len(y)
        codes = HyperplaneModel.of(learner).predict(Matrix(tested), clf._n_threads())
        wrong: NDArray[np.bool_] = codes != self.y[test]
        return wrong

    def _scaled(self, number: int, scale: str | None) -> tuple[Any, Any]:
        key = number, scale
        if key not in self._rows:
            train, test = self.parts[number]
            scaling = Scaling.learnt(self.X, train, scale)
            rows = scaling(self.X[train]), scaling(self.X[test])
            self._rows[key] = self._fewer(*rows) if self.projected else rows
        return self._rows[key]


def _start(
    X: Any, y: NDArray[np.int32], n_classes: int, number: int, random: np.random.RandomState
) -> Start:
    return tangents(X, y, n_classes, _numbers(np.bincount(y, minlength=n_classes), number), random)


def _numbers(n_rows: NDArray[Any], number: int) -> NDArray[np.int64]:
    """Hyperplanes of each class at the start, which has so many rows."""
    numbers: NDArray[np.int64] = np.clip(n_rows // _ROWS_A_HYPERPLANE, 1, number).astype(np.int64)
    return numbers


def _in_one_unit(X: Any) -> bool:
    """Whether no feature varies very much more than most do; by a thousand of the rows."""
    some = X[:: max(1, X.shape[0] // 1000)].astype(np.float64)
    some = some if sp.issparse(some) else some - some.mean(axis=0)
    squares = some.multiply(some) if sp.issparse(some) else some**2
    spread = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    spread = spread[spread > 0]
    return len(spread) == 0 or bool(spread.max() <= _MANY_TIMES * np.median(spread))


def _size(n_hyperplanes: int, n_features: int) -> int:
    """Numbers in a model."""
    return max(1, n_hyperplanes) * (n_features + 1)


def _passes(fewest: float, wanted: float, most: int) -> int:
    return int(np.clip(wanted, fewest, most))


def _sample(
    y: NDArray[np.int32], rows: NDArray[np.int64], random: np.random.RandomState, n: int
) -> NDArray[np.int64]:
    """Numbers of at most n rows, and of some of each class however rare."""
    drawn = random.permutation(rows)
    taken = (ranks(y[drawn]) < FEW) | (np.arange(len(drawn)) < n)
    return np.sort(drawn[taken])
