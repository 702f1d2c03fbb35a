"""Candidates are trained on growing subsamples; who cannot win any more does not start again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from multiplane._numbers import wilson
from multiplane.estimators._labels import ranks
from multiplane.exploration._candidates import LINEAR, MULTIPLANE, Candidate, Family, Key
from multiplane.exploration._curves import ERRORS, SECONDS, Forecast, Line, Prior
from multiplane.models._size import n_numbers
from multiplane.solvers._selection import Fold, enough, folds

_GROWTH = 3  # from one subsample to the next
_SMALLEST = 300, 1_000  # rows of the first one, as many as have a million numbers in between
_FEWEST = 100  # where otherwise there would be only one
_MOST_TESTED = 10_000  # rows in a test: an error of 2 % is known to 0.14
_MANY_VALUES = 1_000_000  # in X: then one test is enough to wait for,
_ENOUGH = 200  # if it has so many rows
_LAST = 6  # at the last subsample, that many times larger models are allowed
_MOST_CANDIDATES = 8  # after the first subsample
_MOST_RIVALS = 4  # that are tested further
_CLEARLY = 1.5  # standard deviations
_ALIKE_SLOPES = 0.1  # how much learning curves of one problem differ in slope
FAILURES = (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError)
MARGIN = 0.9  # of the time that is left, that the last training should take
_NEARLY_ALL = 0.95  # of the rows: a model that has seen so many is not trained again
_END = 0.98  # of the time: the rest is for what comes after a training
OFTEN = 2.0  # times what was expected, is what it takes: larger data want larger models
_GREED = 0.6  # share of the time that is left, that a measurement may take
SURE = 2.0  # standard errors
WORTH = 0.05  # of the errors: what is worth an effort
_TIMER = 0.1  # relative error of a time
_ALIKE = 0.03  # errors closer than that, relatively, are alike, and the smaller model is chosen
_AT_MOST = 0.1  # and errors further apart are not alike, whatever chance can do
_CAPACITY = 0.07  # by which a larger model of a family gains for each factor e in n: on mnist
_GUESS = 0.1  # how far off, in logarithms, an inferred error or time may be
_NEARLY = 0.05  # in logarithms: a time that fits
_CAREFUL = 1.0  # standard deviations that a forecast is taken to be too good by


@dataclass(frozen=True)
class Measurement:
    """A candidate after training on `n_rows`."""

    candidate: Candidate
    n_rows: int
    wrong: NDArray[np.bool_] = field(repr=False)  # of the tested rows, in one order for all
    fit_seconds: float
    predict_seconds: float  # a row
    size: int  # numbers in the model
    n_hyperplanes: NDArray[np.int64] | None = field(repr=False)  # (n_classes,), if it has some
    further: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool), repr=False)

    @property
    def all_wrong(self) -> NDArray[np.bool_]:
        """Of the tested rows, and of further ones, if it might be the best."""
        return np.concatenate([self.wrong, self.further])

    @property
    def error(self) -> float:
        return float(np.mean(self.all_wrong))

    @property
    def noise(self) -> float:
        """Relative standard error, of a number of errors that is not zero."""
        n_wrong = self.all_wrong.sum() + 0.5
        return float(np.sqrt((1 - self.error) / n_wrong)) + 1e-3

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        wrong = self.all_wrong
        return wilson(float(np.count_nonzero(wrong)), len(wrong), z)


@dataclass
class Runner:
    """A candidate with its measurements so far, on more and more rows."""

    candidate: Candidate
    measured: list[Measurement] = field(default_factory=list)

    @property
    def last(self) -> Measurement:
        return self.measured[-1]

    def errors(self, prior: Prior = ERRORS) -> Line:
        points = [(m.n_rows, max(m.error, 0.5 / len(m.all_wrong)), m.noise) for m in self.measured]
        return Line(points, replace(prior, flattening=self.candidate.habits.flattening))

    def seconds(self) -> Line:
        points = [(m.n_rows, max(m.fit_seconds, 1e-4), _TIMER) for m in self.measured]
        return Line(points, replace(SECONDS, slope=self.candidate.habits.growth))


@dataclass(frozen=True)
class Choice:
    runner: Runner
    n_rows: int  # to train with
    error: Forecast
    seconds: Forecast
    known: Measurement  # the last one of the runner, or of the next smaller one
    inferred: bool
    fits: bool  # into the time, with so many rows

    @property
    def size(self) -> int:
        """Numbers in the model."""
        return self.known.size * (4 if self.inferred else 1)  # as sizes of a family grow

    @property
    def predict_seconds(self) -> float:
        return self.known.predict_seconds * (4 if self.inferred else 1)

    @property
    def score(self) -> float:
        return self.error.mean + _CAREFUL * self.error.spread


@dataclass(frozen=True)
class Standing:
    runner: Runner
    behind: float  # the leader, in standard deviations of the difference

    @property
    def share(self) -> float:
        """Of the time that is left: its chance to be ahead."""
        return min(_GREED, float(ndtr(-self.behind)))


Listener = Callable[[Measurement, float], None]  # what was measured; seconds since the start


class Race:
    """Runs within a time limit; afterwards `runners` tell what was measured.

    `final`: the limit is also for a training of the winner with all rows, afterwards, unless it is
    among the `models`, which have been trained with all but the tested ones of very many.
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[np.int32],
        classes: NDArray[Any],
        families: list[Family],
        time_budget: float | None,
        random: np.random.RandomState,
        listener: Listener = lambda measurement, seconds: None,
        final: bool = False,
        began: float | None = None,  # what the limit is counted from
    ) -> None:
        self.began = time.perf_counter() if began is None else began
        self.final = final
        self.X, self.y, self.classes, self.families = X, y, classes, families
        self.n_classes = len(classes)
        self.time_budget = np.inf if time_budget is None else float(time_budget)
        self.listener, self._random = listener, random
        tests, self._spare = _tests(y, _n_values(X), random)
        self.parts = [_test(part, y, random) for part in tests]
        self.seed = int(random.randint(np.iinfo(np.int32).max))
        self.tested = (
            np.concatenate([test for _, test in self.parts]) if self.parts else np.empty(0, int)
        )
        self.runners: list[Runner] = []
        self.n_trainings = 0
        self.failures: dict[str, str] = {}  # who could not be trained, and why
        self._failed: set[Key] = set()
        self.models: dict[Key, tuple[Any, int]] = {}  # and the rows that each was trained with
        self.n_rows = len(y)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    @property
    def deadline(self) -> float:
        """Of a training."""
        return self.began + _END * self.time_budget

    def run(self) -> None:
        subsamples = self.subsamples()
        for family in self.families:
            self.runners += self._begin(family, subsamples[0])
        if not self.runners:
            raise ValueError(f"nothing could be trained: {self.failures}")
        for n in subsamples:
            for runner, share in self._contenders(n, n == subsamples[-1]):
                if self._affords(runner, n, share) and not self._measure(runner, n):
                    self.runners = [r for r in self.runners if r is not runner]
        self._make_sure(subsamples[-1])

    def _make_sure(self, n: int) -> None:
        """With time left, those that may be the best are tested on further rows, so that chance
        has less of a say."""
        random = np.random.RandomState(self.seed)
        rivals = [r for r in self.runners if r.measured and r.last.n_rows == n]
        for spare in self._spare:
            # Who is out stays out: then all have been tested on the same rows, as far as they go.
            part, rivals = _test(spare, self.y, random), _not_clearly_worse(rivals)
            left = self.time_budget - self._reserve() - self.spent
            seconds = [r.last.fit_seconds + r.last.predict_seconds * len(part[1]) for r in rivals]
            if len(rivals) < 2 or sum(seconds) > _GREED * left:
                return
            for runner in rivals:
                again = self._measurement(runner.candidate, n, self.deadline, [part])
                if again is None:
                    return
                further = np.concatenate([runner.last.further, again.wrong])
                runner.measured[-1] = replace(runner.last, further=further)
                self.listener(runner.last, self.spent)

    def subsamples(self) -> list[int]:
        """Numbers of rows, the last being all that are not tested."""
        n = min(len(train) for train, _ in self.parts)
        sizes, smallest = [n], np.clip(1_000_000 // self.X.shape[1], *_SMALLEST)
        while sizes[0] >= _GROWTH * max(smallest, 10 * self.n_classes):
            sizes.insert(0, sizes[0] // _GROWTH)
        if len(sizes) == 1 and n >= _GROWTH * max(_FEWEST, 10 * self.n_classes):
            sizes.insert(0, n // _GROWTH)  # one point is no learning curve
        return sizes

    def _begin(self, family: Family, n: int) -> Iterator[Runner]:
        """The best preparation, by the smallest of the family; then the larger ones with it."""
        first: list[Runner] = []
        for candidate in family.prepared():
            runner = Runner(candidate)
            if self._affords(runner, n, _GREED, first) and self._measure(runner, n):
                first.append(runner)
        if not first:
            return
        best = min(first, key=lambda runner: runner.last.error)
        yield best
        for size in range(1, len(family.sizes)):
            yield Runner(family.candidate(best.candidate.preparation, size))

    def _contenders(self, n: int, at_last: bool) -> list[tuple[Runner, float]]:
        """Those that may lead soon, and the larger ones of their families, if there are rows for
        them: the leader first, then the cheapest. And the share of the time that is left which a
        measurement may take: as much as it is likely to show a new leader, of a new size as much as
        others of its family are.

        The linear model and the flagship stay: what they say of the problem is asked for.
        """
        standings = self._standings(n)
        leader = standings[0].runner
        stay = [s for s in standings if s.behind <= _CLEARLY][:_MOST_CANDIDATES]
        if not self._is_last(n):
            stay += [s for s in standings if s not in stay and _tells(s.runner.candidate)]
        found = []
        for standing in stay:
            usual = standing.runner is leader or _tells(standing.runner.candidate)
            found.append((standing.runner, _GREED if usual else standing.share))
        for runner in self.runners:
            family = [s for s in stay if s.runner.candidate.family == runner.candidate.family]
            few = runner.candidate.size.n_rows > (_LAST if at_last else 1) * n
            if not runner.measured and not few and family:
                found.append((runner, max(s.share for s in family)))
        found = [
            (r, share)
            for r, share in found
            if (not r.measured or r.last.n_rows < n) and r.candidate.key not in self._failed
        ]
        return sorted(found, key=lambda pair: (pair[0] is not leader, self._expected(pair[0], n)))

    def _standings(self, n: int) -> list[Standing]:
        """Of those measured, as they are expected to be one subsample after n rows."""
        prior, soon = self.slopes(), min(self.n_rows, _GROWTH * n)
        known = [(r, r.errors(prior).at(soon)) for r in self.runners if r.measured]
        known.sort(key=lambda pair: pair[1].mean)
        _, best = known[0]
        return [
            Standing(r, (other.mean - best.mean) / float(np.hypot(best.spread, other.spread)))
            for r, other in known
        ]

    def _error(self, runner: Runner, n: int, prior: Prior) -> Forecast:
        """Expected with n rows. The more of them, the more a larger model of the family is ahead,
        although the curves, seen so far, may look alike."""
        own = runner.errors(prior).at(n)
        for larger in self.runners:
            ahead = larger.candidate.rung > runner.candidate.rung
            if larger.candidate.family == runner.candidate.family and ahead and larger.measured:
                for a, b in common(runner, larger)[-1:]:
                    gain = _CAPACITY * max(0.0, float(np.log(n / a.n_rows)))
                    least = larger.errors(prior).at(n).mean + _log_ratio(a, b) + gain
                    own = replace(own, mean=max(own.mean, least))
        return own

    def slopes(self) -> Prior:
        """Of learning curves, as far as they are known: good ones of one problem are alike."""
        known = [r for r in self.runners if len(r.measured) > 1]
        if not known:
            return ERRORS
        known.sort(key=lambda r: r.errors().at(self.n_rows).mean)
        slopes = [r.errors().b for r in known[: (len(known) + 1) // 2]]
        return replace(ERRORS, slope=float(np.median(slopes)), spread=_ALIKE_SLOPES)

    def _affords(self, runner: Runner, n: int, share: float, alike: Sequence[Runner] = ()) -> bool:
        """Whether it can be measured in such a share of the time that is left."""
        if not any(r.measured for r in self.runners):  # there must be an answer
            return not alike or self.spent < self.time_budget
        left, reserve = self.time_budget - self.spent, self._reserve()
        expected = self._expected(runner, n, alike)
        if self._is_last(n) and runner is self.choices()[0].runner:
            reserve = 0.0  # this is the training it was kept for
        # With most of the rows it costs what the last training does, which must have its time.
        late = self.final and n > self.n_rows / 2 and OFTEN * expected + reserve > left
        return not late and expected <= share * (left - reserve)

    def _expected(self, runner: Runner, n: int, alike: Sequence[Runner] = ()) -> float:
        """Seconds of a measurement."""
        if runner.measured:
            predict = runner.last.predict_seconds * len(self.tested)
            return runner.seconds().at(n).value * len(self.parts) + predict
        family = runner.candidate.family
        known = [r for r in [*self.runners, *alike] if r.measured]
        smaller = [r for r in known if r.candidate.family == family]
        if not smaller:  # nobody knows; families are in the order of their costs
            return max(r.last.fit_seconds for r in known) * len(self.parts)
        nearest = smaller[-1]
        ratio = runner.candidate.size.cost / nearest.candidate.size.cost
        predict = nearest.last.predict_seconds * len(self.tested)
        return (nearest.seconds().at(n).value * len(self.parts) + predict) * ratio

    def _reserve(self) -> float:
        """Seconds to keep for the training with all rows, half of the limit at most."""
        half = self.time_budget / 2
        if not self.final or np.isinf(half):
            return 0.0
        choice = self.choices()[0]
        if choice.runner.candidate.key in self.models:
            return 0.0
        return float(min(half, OFTEN * choice.seconds.value))

    def _is_last(self, n: int) -> bool:
        """Whether a model trained with n rows may be the last one: there are so many that not all
        of a quarter are tested."""
        many = len(self.tested) >= _MOST_TESTED
        return self.final and many and n >= _NEARLY_ALL * self.n_rows

    def _measure(self, runner: Runner, n: int) -> bool:
        """Whether there is something measured."""
        first = not any(r.measured for r in self.runners)  # there must be an answer
        deadline = np.inf if first else self.deadline
        keep = self._is_last(n)
        measured = self._measurement(runner.candidate, n, deadline, self.parts, keep)
        if measured is None:
            return bool(runner.measured)
        runner.measured.append(measured)
        self.listener(measured, self.spent)
        return True

    def _measurement(
        self,
        candidate: Candidate,
        n: int,
        deadline: float,
        parts: list[Fold],
        keep: bool = False,
    ) -> Measurement | None:
        """None: out of time, or it could not be trained."""
        try:
            return self._trained(candidate, n, deadline, parts, keep)
        except FAILURES as error:
            # Nobody's fault but the candidate's: X and y have been checked.
            self.failures[candidate.name] = f"{type(error).__name__}: {error}"
            self._failed.add(candidate.key)
            return None

    def _trained(
        self, candidate: Candidate, n: int, deadline: float, parts: list[Fold], keep: bool
    ) -> Measurement | None:
        """`keep` the model, even if it was cut short: it may be the last one."""
        labels = self.classes if keep else np.arange(self.n_classes)
        fit = predict = 0.0
        wrong = []
        for train, test in parts:
            estimator = candidate.make(self.seed)
            rows = _some(train, n, self.y)
            start = time.perf_counter()
            fitted(estimator, self.X[rows], labels[self.y[rows]], deadline)
            fit += time.perf_counter() - start
            self.n_trainings += 1
            classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
            if getattr(classifier, "stop_reason_", "") == "out of time" and not keep:
                return None
            X = self.X[test]
            start = time.perf_counter()
            found = estimator.predict(X)
            predict += time.perf_counter() - start
            wrong.append(found != labels[self.y[test]])
        measured = Measurement(
            candidate,
            n,
            np.concatenate(wrong),
            fit / len(parts),
            predict / sum(len(part) for part in wrong),
            n_numbers(classifier),
            _hyperplanes(classifier, labels),
        )
        if keep:
            self.models[candidate.key] = estimator, len(rows)
        return measured

    def in_proportion(self, n: int) -> NDArray[np.int64]:
        """So many of all rows, with some of each class."""
        rows = _in_proportion(np.arange(self.n_rows), self.y, self._random)
        return _some(rows, n, self.y)

    # --- afterwards ------------------------------------------------------------------------

    def choices(self, seconds: float = np.inf) -> list[Choice]:
        """What each runner would come to in this time, the recommended one first."""
        prior = self.slopes()
        found = []
        for runner in self.runners:
            if runner.measured:
                found.append(self._choice(runner, runner, 0.0, 0.0, seconds, prior))
            else:
                found += self._inferred(runner, seconds, prior)
        found.sort(key=lambda choice: choice.score)
        if not any(choice.fits for choice in found):  # then whatever ends soonest
            found.sort(key=lambda choice: (self._fails(choice), choice.seconds.mean))
            return found
        found.sort(key=lambda choice: not choice.fits)
        best = found[0]
        alike = [c for c in found if c.fits and (c is best or _as_good(c, best))]
        place = [family.name for family in self.families]  # from cheap to dear
        first = min(alike, key=lambda c: (c.size, place.index(c.runner.candidate.family)))
        return [first, *(c for c in found if c is not first)]

    def _fails(self, choice: Choice) -> bool:
        """With more rows it would not do better."""
        return bool({choice.runner.candidate.key, choice.known.candidate.key} & self._failed)

    def _inferred(self, runner: Runner, seconds: float, prior: Prior) -> list[Choice]:
        """A model that is one size larger than any measured gains half of what the step before
        has brought, if that was something (in logarithms; see decision 8)."""
        family, rung = runner.candidate.family, runner.candidate.rung
        below = {r.candidate.rung: r for r in self.runners if r.candidate.family == family}
        large, small = (below.get(rung - step) for step in (1, 2))
        if large is None or small is None or runner.candidate.size.n_rows > self.n_rows:
            return []
        pairs = common(small, large)
        if not pairs:
            return []
        gain = max(0.0, _log_ratio(*pairs[-1])) / 2
        faster = np.log(large.candidate.size.cost / runner.candidate.size.cost)
        return [self._choice(runner, large, -gain, -float(faster), seconds, prior)]

    def _choice(
        self,
        runner: Runner,
        known: Runner,
        error: float,
        duration: float,
        seconds: float,
        prior: Prior,
    ) -> Choice:
        """Forecasts of one that is known, or of one that differs from it by so much."""
        line, n = known.seconds(), self.n_rows
        seconds *= 1.0 if known.candidate.habits.patient else 2.0
        if runner.candidate.key in self.models:
            seconds = np.inf
        if line.at(n).mean + duration > np.log(max(seconds, 1e-9)):
            least = known.measured[0].n_rows
            n = int(np.clip(line.where(max(seconds, 1e-3) * np.exp(-duration)), least, n))
        errors, times = self._error(known, n, prior), line.at(n)
        unknown = 0.0 if runner is known else _GUESS
        choice = Choice(
            runner,
            n,
            Forecast(errors.mean + error, float(np.hypot(errors.spread, unknown))),
            Forecast(times.mean + duration, float(np.hypot(times.spread, unknown))),
            known.last,
            runner is not known,
            bool(times.mean + duration <= np.log(max(seconds, 1e-9)) + _NEARLY),
        )
        return replace(choice, fits=False) if self._fails(choice) else choice


def on_same_rows(first: Measurement, second: Measurement) -> tuple[Measurement, Measurement]:
    """As far as both have been tested."""
    n = min(len(first.further), len(second.further))
    return replace(first, further=first.further[:n]), replace(second, further=second.further[:n])


def difference(first: Measurement, second: Measurement) -> tuple[float, float]:
    """Errors of the first less those of the second on the same rows, and its standard error."""
    first, second = on_same_rows(first, second)
    apart = first.all_wrong.astype(np.float64) - second.all_wrong
    return float(apart.mean()), float(apart.std() / np.sqrt(len(apart))) + 1e-12


def _not_clearly_worse(runners: list[Runner]) -> list[Runner]:
    """Than the best of them, which comes first; and the linear model, if it is to be taken."""
    if not runners:
        return []
    found = sorted(runners, key=lambda r: r.last.error)
    best = found[0].last
    apart = [(r, *difference(r.last, best)) for r in found]
    alike = [r for r, gain, deviation in apart if gain <= SURE * deviation][:_MOST_RIVALS]
    linear = [r for r in found if r.candidate.family == LINEAR and _linear_will_do(r.last, best)]
    return alike + [r for r in linear if r not in alike]


def _linear_will_do(linear: Measurement, best: Measurement) -> bool:
    """Whether it is not clearly worse."""
    gain, deviation = difference(linear, best)
    return gain <= SURE * deviation or gain <= WORTH * linear.error


def common(first: Runner, second: Runner) -> list[tuple[Measurement, Measurement]]:
    """Measurements of both after training on the same rows, more and more of them."""
    return [(a, b) for a in first.measured for b in second.measured if a.n_rows == b.n_rows]


def _log_ratio(first: Measurement, second: Measurement) -> float:
    """Of their errors."""
    return float(np.log((first.wrong.sum() + 0.5) / (second.wrong.sum() + 0.5)))


def fitted(estimator: Any, X: Any, y: Any, deadline: float = np.inf) -> Any:
    """The estimator after training, which stops early if it must."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    classifier._deadline = deadline
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes")  # said once is enough
            return estimator.fit(X, y)
    finally:
        del classifier._deadline


def _as_good(choice: Choice, best: Choice) -> bool:
    """Whether the difference is small, or may be chance: by a standard error, if they have been
    tested alike; by two, if it is the linear model."""
    if choice.score <= best.score + _ALIKE:
        return True
    first, second = choice.known, best.known
    if choice.inferred or first.n_rows != second.n_rows:
        return False
    if first.candidate.family == LINEAR:
        return _linear_will_do(first, second)
    gain, deviation = difference(first, second)
    return gain <= deviation and choice.error.mean <= best.error.mean + _AT_MOST


def _tells(candidate: Candidate) -> bool:
    return candidate.family in (LINEAR, MULTIPLANE)


def _hyperplanes(classifier: Any, classes: NDArray[Any]) -> NDArray[np.int64] | None:
    """Of each class."""
    if not hasattr(classifier, "hyperplane_class_"):
        return None
    codes = np.searchsorted(classes, classifier.hyperplane_class_)
    return np.bincount(codes, minlength=len(classes))


def _tests(
    y: NDArray[np.int32], n_values: int, random: np.random.RandomState
) -> tuple[list[Fold], list[Fold]]:
    """Of many values there is one test of some rows; of few there are several, of all rows. Then
    those that are left, if there is time."""
    found = folds(y, random)
    one_will_do = n_values > _MANY_VALUES and len(found) > 0 and len(found[0][1]) >= _ENOUGH
    n_first = 1 if one_will_do else enough(found)
    return found[:n_first], found[n_first:]


def _test(part: Fold, y: NDArray[np.int32], random: np.random.RandomState) -> Fold:
    """With not too many rows to test, and those to train in proportion."""
    train, test = part
    drawn = random.permutation(test)
    train = np.concatenate([train, drawn[_MOST_TESTED:]])
    return _in_proportion(train, y, random), np.sort(drawn[:_MOST_TESTED])


def _n_values(X: Any) -> int:
    return int(X.nnz if sp.issparse(X) else X.size)


def _some(rows: NDArray[np.int64], n: int, y: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first n, and the first one of each class."""
    _, first = np.unique(y[rows], return_index=True)
    return np.union1d(rows[:n], rows[first])


def _in_proportion(
    rows: NDArray[np.int64], y: NDArray[np.int32], random: np.random.RandomState
) -> NDArray[np.int64]:
    """The rows in an order whose every beginning has all classes in proportion."""
    drawn = random.permutation(rows)
    drawn = drawn[np.argsort(y[drawn], kind="stable")]
    codes = y[drawn]
    place = (ranks(codes) + random.random_sample(len(drawn))) / np.bincount(codes)[codes]
    return drawn[np.argsort(place, kind="stable")]
