"""`explore` and `AutoClassifier`: the race, what it says, and the estimator it leads to."""

import pickle
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiplane import (
    AutoClassifier,
    MultiplaneClassifier,
    StagewiseLeastSquaresClassifier,
    explore,
)
from multiplane._numbers import duration, wilson
from multiplane.datasets import make_checkerboard
from multiplane.exploration import _auto, _explore, _race
from multiplane.exploration._answers import (
    CLASSES_QUESTION,
    GAIN_QUESTION,
    GROWTH_QUESTION,
    LINEAR_QUESTION,
)
from multiplane.exploration._candidates import Family, Habits, Size, code, families
from multiplane.exploration._curves import ERRORS, SECONDS, Line
from multiplane.exploration._race import MARGIN, Race, fitted
from multiplane.models._size import n_numbers


def blobs(n=900, d=4, n_classes=3, seed=0):
    """Classes that hyperplanes can tell apart, but for some noise."""
    random = np.random.RandomState(seed)
    y = np.arange(n) % n_classes
    X = 1.5 * random.randn(n_classes, d)[y] + random.randn(n, d)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def board():
    X, y = make_checkerboard(3, 3, n=4000, random_state=0)
    return explore(X, np.where(y, "<b>black</b>", "white & bright"), random_state=0, verbose=0)


# --- candidates -------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [4, 200, 6000])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_code_makes_the_estimator(kind, d):
    for family in families(kind(np.ones((3, d), dtype=np.float32))):
        for candidate in [
            *family.prepared(),
            *(family.candidate(0, i) for i in range(len(family.sizes))),
        ]:
            scope = {}
            exec(code(candidate.estimator, "made"), scope)
            made, wanted = scope["made"], candidate.estimator
            assert repr(made) == repr(wanted)
            assert type(made) is type(wanted)
            if isinstance(made, Pipeline):
                assert repr(made[-1].get_params()) == repr(wanted[-1].get_params())
            seeded = candidate.make(7)
            last = seeded[-1] if isinstance(seeded, Pipeline) else seeded
            assert last.random_state == 7


def test_families_of_text():
    names = [family.name for family in families(sp.csr_array((3, 6000)))]
    assert names == ["linear", "AMM", "GAMM", "multiplane", "least squares"]
    names = [family.name for family in families(sp.csr_array((3, 60)))]
    assert names[-1] == "kernel"


def test_sizes_are_counted():
    X, y = blobs(n=300)
    for family in families(X):
        model = next(iter(family.prepared())).make(0).fit(X, y)
        last = model[-1] if isinstance(model, Pipeline) else model
        if family.name in ("linear", "AMM", "GAMM", "multiplane"):
            assert n_numbers(last) == last.n_hyperplanes_ * 5
        if family.name == "kernel":
            assert n_numbers(last) == last.n_support_ * (4 + 3)
        if (
            family.name == "least squares"
        ):  # frequencies of half of the features, weights, constants
            n_features = sum(stage.linear.W.shape[0] for stage in last._model.sums[0])
            assert n_numbers(last) == n_features * (4 / 2 + 3) + 3 * last.n_iter_


# --- curves -----------------------------------------------------------------------------------


def test_times_are_powers():
    line = Line([(n, 1e-4 * n**1.2, 0.01) for n in (1000, 3000, 9000)], SECONDS)
    assert line.at(9000).value == pytest.approx(1e-4 * 9000**1.2, rel=0.02)
    assert line.at(27_000).value == pytest.approx(1e-4 * 27_000**1.2, rel=0.2)
    low, high = line.at(27_000).interval()
    assert low < 1e-4 * 27_000**1.2 < high
    assert line.at(9000).spread < line.at(27_000).spread < line.at(270_000).spread
    assert line.where(line.at(50_000).value) == pytest.approx(50_000)


def test_learning_curves_get_flatter():
    """As on mnist: 6.6, 4.1 and 3.0 % at 1,407, 4,222 and 12,666 rows; 2.43 % at 38,000."""
    points = [(1407, 0.0661, 0.04), (4222, 0.0410, 0.05), (12_666, 0.0302, 0.06)]
    line = Line(points, replace(ERRORS, flattening=0.3))
    assert line.at(12_666).value == pytest.approx(0.0302, rel=0.05)
    assert line.at(38_000).value == pytest.approx(0.0243, rel=0.05)
    steps = np.log([line.at(n).value for n in (1407, 4222, 12_666, 38_000)])
    assert np.all(np.diff(steps, n=2) > 0)
    # For ever: no better than b/k allows.
    assert line.at(1e300).mean == pytest.approx(line.a + line.b / 0.3)


def test_lines_have_priors():
    alone = Line([(1000, 0.2, 0.05)], ERRORS)
    assert alone.b == pytest.approx(ERRORS.slope)
    assert alone.at(1000).value == pytest.approx(0.2)
    rising = Line([(1000, 0.1, 0.01), (3000, 0.2, 0.01)], ERRORS)
    assert rising.b == 0, "more rows do no harm"
    assert 0.1 < rising.at(1e6).value < 0.2


@pytest.mark.parametrize(("n_wrong", "n"), [(0, 10), (3, 100), (100, 100), (1, 1)])
def test_wilson(n_wrong, n):
    expected = binomtest(n_wrong, n).proportion_ci(0.95, method="wilson")
    assert wilson(n_wrong, n, 1.959964) == pytest.approx(tuple(expected), abs=1e-6)


def test_durations():
    words = [duration(s) for s in (2e-7, 3.21e-5, 0.0042, 0.5, 9.96, 250, 900, 90_000)]
    assert words == ["0.2 µs", "32 µs", "4.2 ms", "0.5 s", "10 s", "250 s", "15 min", "25.0 h"]


# --- the race -----------------------------------------------------------------------------------


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Fake(ClassifierMixin, BaseEstimator):
    """Takes some time a row and gets a share of the rows wrong, fewer after more rows."""

    clock = None

    def __init__(self, error=0.5, slope=-0.3, seconds=1e-4, salt=1, random_state=None):
        self.error, self.slope, self.seconds, self.salt = error, slope, seconds, salt
        self.random_state = random_state

    def fit(self, X, y):
        Fake.clock.now += self.seconds * len(y)
        self.classes_ = np.unique(y)
        self.share_ = self.error * (len(y) / 1000) ** self.slope
        self.coef_, self.intercept_ = np.zeros((3, 2)), np.zeros(3)
        self.hyperplane_class_ = np.array([0, 1, 1])
        return self

    def predict(self, X):
        # Column 1 is even, so that so many of any rows are wrong; column 0 is the label.
        return np.where(self.salt * X[:, 1] % 1 < self.share_, 1 - X[:, 0], X[:, 0]).astype(int)


@pytest.fixture
def clock(monkeypatch):
    Fake.clock = Clock()
    monkeypatch.setattr(_race.time, "perf_counter", Fake.clock)
    return Fake.clock


def fakes(**families):
    """Names of families → parameters of their only candidates."""
    return [
        Family(
            name,
            (None,),
            (Size("", parameters),),
            lambda _, size: Fake(**size),
            habits=Habits(growth=1.0),
        )
        for name, parameters in families.items()
    ]


def race(families, time_budget=None, n=40_000, final=False):
    random = np.random.RandomState(0)
    y = (np.arange(n) % 2).astype(np.int32)
    X = np.column_stack([y, random.permutation(n) / n])
    run = Race(X, y, np.arange(2), families, time_budget, random, final=final)
    run.run()
    return run


def test_subsamples_grow_to_all_rows(clock):
    run = race(fakes(linear={}))
    assert run.subsamples() == [1111, 3333, 10_000, 30_000]
    ((train, test),) = run.parts
    assert len(test) == 10_000
    assert sorted([*train, *test]) == list(range(40_000))
    assert [m.n_rows for m in run.runners[0].measured] == run.subsamples()
    for n in (10, 1111, 3333):
        assert abs(run.y[train[:n]].mean() - 0.5) <= 1 / n, "every beginning is in proportion"
    small = race(fakes(linear={}), n=200)
    assert small.subsamples() == [150]
    assert race(fakes(linear={}), n=800).subsamples() == [200, 600], "two, for a curve"
    assert len(small.tested) == 200, "all rows are tested when there are few"


def test_who_cannot_win_is_left_behind(clock):
    run = race(fakes(linear={"error": 0.4, "slope": -0.01}, good={"error": 0.1},
                     bad={"error": 0.4}, late={"error": 0.12, "slope": -0.8}))  # fmt: skip
    runs = {r.candidate.family: len(r.measured) for r in run.runners}
    assert runs["late"] == 4 > runs["good"] >= 2
    assert runs["bad"] < 3
    assert runs["linear"] == 4, "it is asked for"
    first = run.choices()[0]
    assert first.runner.candidate.family == "late"
    assert first.n_rows == 40_000
    assert first.error.value == pytest.approx(0.12 * 40**-0.8, rel=0.2)
    assert first.seconds.value == pytest.approx(4, rel=0.1)


def test_nothing_starts_that_will_not_end_in_time(clock):
    families = fakes(linear={"seconds": 1e-5}, good={"error": 0.1, "seconds": 1e-3},
                     other={"error": 0.12, "seconds": 1e-4})  # fmt: skip
    run = race(families, time_budget=30)
    assert run.spent < 30
    runs = {r.candidate.family: r.last.n_rows for r in run.runners}
    assert runs == {"linear": 30_000, "good": 10_000, "other": 10_000}
    assert [c.n_rows for c in run.choices() if c.runner.candidate.family == "good"] == [40_000]
    # In five seconds the good one gets through 5,000 rows.
    hurried = {c.runner.candidate.family: c for c in run.choices(5.0)}
    assert hurried["good"].n_rows == pytest.approx(5000, rel=0.1)
    assert hurried["good"].seconds.value == pytest.approx(5, rel=0.1)
    assert hurried["other"].n_rows == 40_000
    assert run.choices(5.0)[0].runner.candidate.family == "other"
    unhurried = {c.runner.candidate.family: c for c in run.choices()}
    assert unhurried["good"].n_rows == 40_000
    assert unhurried["good"].error.mean < unhurried["other"].error.mean
    assert unhurried["good"].error.spread > unhurried["other"].error.spread


def test_what_costs_much_must_be_likely_to_win(clock):
    """A rival that is 12 % behind, with a chance of a third at first, and slow or not."""
    rows = []
    for seconds in (1e-4, 3e-3):
        good = {"error": 0.1, "seconds": 1e-4}
        other = {"error": 0.112, "salt": 7, "seconds": seconds}
        run = race(fakes(linear={"seconds": 1e-5}, good=good, other=other), time_budget=100)
        rows.append(run.runners[-1].last.n_rows)
        assert run.runners[0].last.n_rows == 30_000, "it is asked for"
    assert rows == [30_000, 3333]
    unlimited = race(fakes(good=good, other=other))
    assert unlimited.runners[-1].last.n_rows == 30_000


def test_there_is_always_an_answer(clock):
    run = race(fakes(linear={}, good={"error": 0.1}), time_budget=1e-9)
    assert [r.candidate.family for r in run.runners] == ["linear"]


def test_rivals_are_tested_further_if_there_is_time(clock):
    given = {"one": {"error": 0.1}, "other": {"error": 0.101, "salt": 7}, "worse": {"error": 0.2}}
    run = race(fakes(**given))
    one, other, worse = (r.last for r in run.runners)
    assert [len(m.all_wrong) for m in (one, other, worse)] == [40_000, 40_000, 10_000]
    expected = 0.1 * 30**-0.3  # a share of the rows, whichever they are
    assert one.error == pytest.approx(expected, rel=1e-3)
    assert one.interval()[1] - one.interval()[0] < 0.6 * np.diff(worse.interval()).item()
    assert _race.difference(one, other) != _race.difference(
        replace(one, further=one.further[:0]), other
    )
    # 40,000 rows take 4 s each: there must be time left for the last training, and for all rivals.
    spent = [race(fakes(**given), time_budget=t, final=True).spent for t in (17, 40)]
    assert spent[0] < 13
    assert 13 < spent[1] < 36
    # Nobody is tested further alone.
    alone = race(fakes(one={"error": 0.1}, worse={"error": 0.2}))
    assert not any(len(r.last.further) for r in alone.runners)


def test_rivals_are_tested_on_the_same_rows(clock):
    """Many that are alike: whoever drops out does not come back."""
    given = {f"f{i}": {"error": 0.1 + 0.0002 * i, "salt": 2 * i + 1} for i in range(7)}
    for n in (4_000, 8_000, 12_000):
        run = race(fakes(**given), n=n)
        assert max(len(r.last.further) for r in run.runners) == 3 * len(run.tested)
        for runner in run.runners:  # a fake errs by the row alone
            tested = [test for _, test in run.parts]
            random = np.random.RandomState(run.seed)
            tested += [_race._test(spare, run.y, random)[1] for spare in run._spare]
            rows = np.concatenate(tested)[: len(runner.last.all_wrong)]
            fake = Fake(**runner.candidate.size.value)
            fake.share_ = fake.error * (runner.last.n_rows / 1000) ** fake.slope
            wrong = fake.predict(run.X[rows]) != run.y[rows]
            assert np.array_equal(wrong, runner.last.all_wrong)


def test_the_linear_model_is_among_those_tested_further(clock, monkeypatch):
    """It is recommended unless it is clearly worse, or if it is worse by little."""
    monkeypatch.setattr(_race, "_MOST_RIVALS", 2)
    others = {f"f{i}": {"error": 0.3, "slope": -0.02, "salt": 2 * i + 3} for i in range(3)}
    run = race(fakes(linear={"error": 0.303, "slope": -0.02}, **others), n=4_000)
    tested = {r.candidate.family: len(r.last.further) for r in run.runners}
    assert tested["linear"] == max(tested.values()) == 3_000
    assert sorted(tested.values())[:1] == [0]
    # Other errors on the same rows are so few that four per cent are no chance.
    monkeypatch.setattr(_race, "_MOST_RIVALS", 4)
    run = race(fakes(linear={"error": 0.312, "slope": -0.02}, AMM={"error": 0.3, "slope": -0.02}))
    linear, other = (r.last for r in run.runners)
    gain, deviation = _race.difference(linear, other)
    assert 2 * deviation < gain < 0.05 * linear.error
    assert len(linear.further) == 30_000


def test_a_rival_that_fails_later_costs_nothing(clock):
    class Fails(Fake):
        n_fits = 0

        def fit(self, X, y):
            Fails.n_fits += len(y) > 25_000
            if Fails.n_fits > 1:
                raise np.linalg.LinAlgError("singular")
            return super().fit(X, y)

    fails = Family("fails", (None,), (Size("", {"error": 0.1}),), lambda _, size: Fails(**size))
    run = race([fails, *fakes(other={"error": 0.101, "salt": 7})])
    assert run.failures == {"fails": "LinAlgError: singular"}
    assert all(r.last.n_rows == 30_000 for r in run.runners)


def test_time_that_is_left_is_for_more_rows(clock):
    X, y = np.zeros((1000, 2)), np.zeros(1000)

    def trained(n_rows, deadline, growth=1.0, ends="max_iter", n_iter=1):
        class Clf(Fake):
            _n_passes, n_iter_ = 60, n_iter

            def fit(self, X, y):
                Fake.clock.now += 1e-2 * len(y) ** growth
                self.stop_reason_ = ends if Fake.clock.now - began < deadline else "out of time"
                self.n_rows_ = len(y)
                return self

        began = Fake.clock.now
        clf, n = _auto._trained(Clf, lambda n: slice(n), X, y, n_rows, began + deadline)
        assert clf.n_rows_ == n
        return n, Fake.clock.now - began

    assert trained(1000, 20) == (1000, pytest.approx(10))
    assert trained(500, 20) == (1000, pytest.approx(15))
    assert trained(500, 11) == (500, pytest.approx(5)), "hardly more would be possible"
    n, spent = trained(100, 9)
    assert 700 < n < 1000
    assert spent < 9
    # What would end too late is not taken.
    assert trained(100, 30, growth=1.5)[0] == 100
    # But half of the flagship's passes over more rows are.
    assert trained(100, 30, growth=1.5, n_iter=29)[0] == 100
    assert trained(100, 30, growth=1.5, n_iter=30)[0] == 179


def test_the_smaller_of_two_that_are_alike(clock, monkeypatch):
    monkeypatch.setattr(_race, "_MOST_RIVALS", 1)  # by the first test alone

    class Large(Fake):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = np.zeros((30, 2))
            return self

    large = Family("large", (None,), (Size("", {"error": 0.1}),), lambda _, size: Large(**size))
    run = race([large, *fakes(small={"error": 0.1005})])
    assert run.choices()[0].runner.candidate.family == "small"
    run = race([large, *fakes(small={"error": 0.13})])
    assert run.choices()[0].runner.candidate.family == "large"
    # Five per cent may be chance if other rows are wrong, and are not if the same ones are.
    for salt, error, chosen in ((1, 0.105, "large"), (7, 0.0925, "small")):
        run = race([large, *fakes(small={"error": error, "salt": salt})])
        one, other = (r.last.error for r in run.runners)
        assert 1.04 < other / one < 1.08
        assert run.choices()[0].runner.candidate.family == chosen


def test_the_best_preparation_goes_on(clock):
    family = Family("some", (0.5, 0.1), (Size("small", 1.0), Size("large", 0.9)),
                    lambda error, size: Fake(error=error * size))  # fmt: skip
    run = race([family])
    assert [r.candidate.preparation for r in run.runners] == [1, 1]
    assert [r.candidate.size.words for r in run.runners] == ["small", "large"]


def ladder(*errors):
    """A family of sizes with these errors, each twice as slow as the one before."""
    sizes = tuple(
        Size(
            f"size {i}",
            {"error": e, "slope": -0.1, "seconds": 1e-4 * 2**i},
            0,
            2**i,
        )
        for i, e in enumerate(errors)
    )
    return Family("ladder", (None,), sizes, lambda _, size: Fake(**size), habits=Habits(growth=1.0))


def test_a_larger_model_is_inferred(clock):
    """From two smaller ones, if there was no time for it."""
    run = race([ladder(0.2, 0.1, 0.08)], time_budget=0.9)
    assert [len(r.measured) for r in run.runners][2] == 0
    inferred = next(c for c in run.choices() if c.inferred)
    known = next(c for c in run.choices() if c.runner.candidate.rung == 1)
    assert inferred.error.mean == pytest.approx(known.error.mean - np.log(2) / 2, abs=0.03)
    assert inferred.seconds.value == pytest.approx(2 * known.seconds.value)
    assert inferred.error.spread > known.error.spread
    # What brought nothing will bring nothing.
    run = race([ladder(0.1, 0.1, 0.08)], time_budget=0.9)
    inferred = next(c for c in run.choices() if c.inferred)
    assert run.choices()[0] is not inferred
    # Beside two that were measured, the third is not inferred but measured, given time.
    run = race([ladder(0.2, 0.1, 0.08)])
    assert not any(c.inferred for c in run.choices())
    assert run.choices()[0].runner.candidate.rung == 2


def test_time_is_kept_for_the_last_training(clock):
    families = fakes(linear={"seconds": 1e-5}, good={"error": 0.1, "seconds": 4e-4})
    whole, part = (race(families, time_budget=40, final=final) for final in (False, True))
    assert whole.runners[1].last.n_rows == 30_000
    assert part.runners[1].last.n_rows == 10_000
    choice = part.choices(MARGIN * (40 - part.spent))[0]
    assert choice.n_rows == 40_000
    assert part.spent + choice.seconds.value < 40
    # With three quarters of the rows, if there were time for it and for the last if both took twice
    # as long: 12 and 16 seconds.
    for budget, n_rows in ((50, 10_000), (100, 30_000)):
        assert race(families, time_budget=budget, final=True).runners[1].last.n_rows == n_rows


def many_rows(n=240_000):
    """Of 240,000 rows 10,000 are tested."""
    y = np.arange(n) % 2
    return np.column_stack([y, np.random.RandomState(0).permutation(n) / n]), y


def test_a_model_of_nearly_all_rows_is_not_trained_again(clock, monkeypatch):
    families = fakes(linear={"error": 0.4, "seconds": 1e-6}, good={"error": 0.1, "seconds": 1e-4})
    run = race(families, time_budget=60, n=240_000, final=True)
    assert run.models["good", 0, 0][1] == 230_000 == run.runners[1].last.n_rows
    assert run.spent < 40, "23 seconds for the last of them"
    assert run.runners[0].last.n_rows < 230_000, "nobody needs to know"
    # It is there, however little time is left.
    first = run.choices(1e-3)[0]
    assert (first.runner.candidate.family, first.n_rows, first.fits) == ("good", 240_000, True)
    assert not race(families, time_budget=60, n=40_000, final=True).models
    assert not race(families, time_budget=60, n=240_000).models, "only if one is wanted"
    # There must be time for it, twice as much as is expected: it is the last training.
    assert not race(families, time_budget=45, n=240_000, final=True).models
    # Who runs out of time is out, but a last training is what it is.
    for n_rows, name in ((0, "linear"), (200_000, "good")):

        class OutOfTime(Fake):
            def fit(self, X, y, n_rows=n_rows):
                super().fit(X, y)
                self.stop_reason_ = "out of time" if len(y) > n_rows else "max_iter"
                return self

        made = Family("good", (None,), (Size("", families[1].sizes[0].value),),
                      lambda _, size, made=OutOfTime: made(**size))  # fmt: skip
        run = race([families[0], made], time_budget=60, n=240_000, final=True)
        assert [family for family, *_ in run.models] == [name]

    monkeypatch.setattr(_explore, "families", lambda X: families)
    monkeypatch.setattr(_auto.time, "perf_counter", clock)
    X, y = many_rows()
    for budget, n_rows in ((60, 230_000), (200, 240_000), (None, 240_000)):
        clf = AutoClassifier(budget, random_state=0).fit(X, y)
        assert (clf.n_rows_, clf.exploration_.n_trainings) == (n_rows, 9)
        assert clf.score(X, y) > 0.97


def test_labels_of_any_kind_in_the_race(monkeypatch):
    """Models that are kept are those of the user's labels."""
    monkeypatch.setattr(_explore, "families", lambda X: families(X)[:4])
    monkeypatch.setattr(_race, "_NEARLY_ALL", 0.7)  # of 4,000 rows, too
    monkeypatch.setattr(_race, "_MOST_TESTED", 1_000)
    monkeypatch.setattr(_auto, "OFTEN", np.inf)
    X, y = blobs(n=4_000)
    labels = np.array(["ash", "beech", "cedar"])[y]
    clf = AutoClassifier(20, random_state=0).fit(X, labels)
    assert clf.n_rows_ == 3_000
    assert list(clf.classes_) == list(clf.estimator_.classes_) == ["ash", "beech", "cedar"]
    assert clf.score(X, labels) > 0.8
    assert min(c["n_hyperplanes"] for c in clf.exploration_.by_class) > 0


def test_many_rare_classes():
    """Rows of rare classes are not tested: those that learn are nearly all, however few."""
    random = np.random.RandomState(0)
    y = np.r_[np.repeat([0, 1], 20), np.repeat(np.arange(2, 122), 3)]
    X = random.standard_normal((400, 5)) + 3 * random.standard_normal((122, 5))[y]
    run = Race(X, y.astype(np.int32), np.arange(122), families(X)[:1], None, random, final=True)
    run.run()
    assert run.subsamples()[-1] > 0.95 * len(y)
    assert not run.models, "what they have not seen is a quarter of the others"
    assert AutoClassifier(None, random_state=0).fit(X, y).n_rows_ == 400


@pytest.mark.parametrize("when", ["fit", "predict"])
def test_who_fails_with_nearly_all_rows_is_not_chosen(clock, monkeypatch, when):
    class Fails(Fake):
        def fit(self, X, y):
            if when == "fit" and len(y) > 200_000:
                raise MemoryError("too many")
            self.n_rows_ = len(y)
            return super().fit(X, y)

        def predict(self, X):
            if when == "predict" and self.n_rows_ > 200_000:
                raise MemoryError("too many")
            return super().predict(X)

    size = Size("", {"error": 0.1, "seconds": 1e-5})
    best = Family("best", (None,), (size,), lambda _, size: Fails(**size), Habits(growth=1.0))
    others = fakes(linear={"error": 0.4, "seconds": 1e-6}, good={"error": 0.13, "seconds": 1e-5})
    monkeypatch.setattr(_explore, "families", lambda X: [*others, best])
    monkeypatch.setattr(_auto.time, "perf_counter", clock)
    X, y = many_rows()
    clf = AutoClassifier(60, random_state=0).fit(X, y)
    assert clf.exploration_.failures == {"best": "MemoryError: too many"}
    assert clf.forecast_["name"] == "good"
    assert clf.score(X, y) > 0.95
    if when == "fit":  # what it could do with fewer rows is told
        assert race([best], n=240_000, final=True).runners[0].last.n_rows < 200_000


def test_a_failure_of_another_preparation_is_nothing(clock):
    class Fails(Fake):
        def fit(self, X, y):
            if self.error > 0.3:
                raise ValueError("not so prepared")
            super().fit(X, y)
            self.stop_reason_ = "out of time" if len(y) > 20_000 else "max_iter"
            return self

    good = Family("good", (0.5, 0.1), (Size(),), lambda error, _: Fails(error=error))
    run = race([*fakes(linear={"error": 0.4}), good], time_budget=100)
    assert set(run.failures) == {"good"}
    assert run.choices()[0].runner.candidate.key == ("good", 0, 1)
    assert run.choices()[0].known.n_rows == 10_000


def test_what_is_done_is_kept_if_more_fails(clock, monkeypatch):
    class Fails(Fake):
        def fit(self, X, y):
            if len(y) > 235_000:
                raise MemoryError
            return super().fit(X, y)

    size = Size("", {"error": 0.1, "seconds": 1e-5})
    good = Family("good", (None,), (size,), lambda _, size: Fails(**size), Habits(growth=1.0))
    monkeypatch.setattr(_explore, "families", lambda X: [good])
    monkeypatch.setattr(_auto.time, "perf_counter", clock)
    X, y = many_rows()
    clf = AutoClassifier(None, random_state=0).fit(X, y)
    assert clf.n_rows_ == 230_000
    assert clf.score(X, y) > 0.97


def test_further_tests_are_of_whole_trainings(clock):
    """A training that was cut short is none, unless it made the model that is kept."""

    class Slower(Fake):
        n_fits = 0

        def fit(self, X, y):
            Slower.n_fits += len(y) > 200_000
            super().fit(X, y)
            self.stop_reason_ = "out of time" if Slower.n_fits > 1 else "max_iter"
            self.share_ += 0.5 * (Slower.n_fits > 1)
            return self

    size = Size("", {"error": 0.1, "seconds": 1e-5})
    good = Family("good", (None,), (size,), lambda _, size: Slower(**size), Habits(growth=1.0))
    run = race([good, *fakes(other={"error": 0.101, "salt": 7, "seconds": 1e-5})],
               time_budget=60, n=240_000, final=True)  # fmt: skip
    assert Slower.n_fits == 2
    assert all(r.last.error < 0.03 for r in run.runners)


def test_time_is_left_for_what_comes_after_a_training(clock):
    """Two hundredths; the first training must be, however little time there is."""
    seen = []

    class Seen(Fake):
        def fit(self, X, y):
            seen.append(self._deadline)
            return super().fit(X, y)

    race([Family("good", (None,), (Size(),), lambda _, size: Seen())], time_budget=50)
    assert len(seen) > 3
    assert seen == [np.inf] + [49.0] * (len(seen) - 1)


def test_no_pass_begins_that_would_end_too_late():
    X, y = blobs(n=900)
    now = time.perf_counter()
    clf = fitted(MultiplaneClassifier(4, alpha=1e-5, scale=None, max_iter=10**6), X, y, now + 0.5)
    assert clf.stop_reason_ == "out of time"
    assert 1 < clf.n_iter_ < 10**6
    assert clf.score(X, y) > 0.8
    assert "_deadline" not in vars(clf)
    late = fitted(StagewiseLeastSquaresClassifier(n_stages=5), X, y, now - 1)
    assert late.n_iter_ == 1, "one is needed"
    assert fitted(clone(late), X, y).n_iter_ == 5


def test_a_rare_class_is_in_every_subsample():
    X, y = blobs(n=12_000, n_classes=2)
    y = np.where(np.arange(12_000) % 2000 == 7, 5, 0)  # six of them
    found = explore(X, y, 2, random_state=0, verbose=0)
    assert min(m["n_rows"] for m in found.measurements) < 3500


def test_what_does_not_fit_is_not_chosen(clock):
    families = fakes(linear={"error": 0.2, "seconds": 1e-6}, good={"error": 0.02, "seconds": 1e-2})
    run = race(families, time_budget=1000)
    assert run.choices()[0].runner.candidate.family == "good"
    first, second = run.choices(1.0)  # the good one has been trained on a thousand rows at least
    assert first.runner.candidate.family == "linear"
    assert first.fits
    assert not second.fits
    assert run.choices(1e-9)[0].runner.candidate.family == "linear", "what ends soonest"


def test_the_recommended_one_is_compared_with_the_linear_one(clock):
    """Although others have been trained on more rows."""
    plain = {"error": 0.3, "slope": -0.02, "seconds": 1e-5}
    other = {**plain, "error": 0.29}
    good = {"error": 0.05, "seconds": 1e-3}
    run = race(fakes(linear=plain, multiplane=other, kernel=good), time_budget=12)
    assert [r.last.n_rows for r in run.runners] == [30_000, 30_000, 3333]
    found = _explore.Exploration(run, np.array([0, 1]))
    assert found.forecast[0]["name"] == "kernel"
    assert found.answers[LINEAR_QUESTION].startswith("No: kernel has")
    assert "after training on 3,333 rows" in found.answers[GAIN_QUESTION]


def test_a_curve_of_a_small_model_is_not_believed(clock):
    """It may look steeper than that of a larger one, which will be ahead by more all the same."""
    sizes = (
        Size("small", {"error": 0.15, "slope": -0.3}),
        Size("large", {"slope": -0.1, "error": 0.1}),
    )
    family = Family(
        "ladder", (None,), sizes, lambda _, size: Fake(**size), habits=Habits(growth=1.0)
    )
    run = race([family], n=4000)
    small, large = run.runners
    a, b = (r.last for r in run.runners)
    prior = run.slopes()
    least = large.errors(prior).at(40_000).mean + np.log(a.error / b.error)
    assert small.errors(prior).at(40_000).mean < least
    expected = least + 0.07 * np.log(40_000 / a.n_rows)
    # Errors are counted with half of one more.
    assert run._error(small, 40_000, prior).mean == pytest.approx(expected, abs=0.01)


def test_curves_of_one_problem_are_alike(clock):
    steep = {"error": 0.2, "slope": -0.6}
    run = race(fakes(linear={"slope": -0.01}, AMM=steep, GAMM=steep))
    assert -0.6 < run.slopes().slope < -0.35
    assert run.slopes().spread < ERRORS.spread
    assert race(fakes(linear={}), n=200).slopes() == ERRORS


class Broken(Fake):
    def predict(self, X):
        raise ValueError("not with <these> rows")


def broken(name):
    return Family(name, (None,), (Size(),), lambda _, size: Broken(**size))


def test_who_fails_is_left_out(clock):
    run = race([broken("linear"), *fakes(AMM={})])
    assert [r.candidate.family for r in run.runners] == ["AMM"]
    assert run.failures == {"linear": "ValueError: not with <these> rows"}
    found = _explore.Exploration(run, np.array(["a", "b"]))
    assert "Left out: linear (ValueError: not with <these> rows)" in repr(found)
    assert "not with &lt;these&gt; rows" in found._repr_html_()
    with pytest.raises(ValueError, match="nothing could be trained"):
        race([broken("linear"), broken("AMM")])


def test_values_that_some_cannot_take():
    """Beyond float32's squares: scalers bring them back, and who does not scale is left out."""
    X, y = blobs(n=200)
    found = explore(X.astype(np.float64) * 1e20, y, 20, random_state=0, verbose=0)
    assert "multiplane" in found.failures
    assert found.forecast[0]["error"] < 0.3


def test_rows_in_proportion(clock):
    run = race(fakes(linear={}), n=2000)
    run.y = np.r_[np.zeros(1990), np.ones(9), [2]].astype(np.int32)
    rows = run.in_proportion(100)
    assert len(rows) == len(np.unique(rows)) <= 103
    assert set(run.y[rows]) == {0, 1, 2}, "however rare a class is"


# --- what it says -------------------------------------------------------------------------------


def test_a_board_is_not_linear(board):
    assert board.answers[LINEAR_QUESTION].startswith("No: ")
    assert "points of error" in board.answers[GAIN_QUESTION]
    assert GROWTH_QUESTION in board.answers
    assert board.answers[CLASSES_QUESTION].startswith("All, after training on 3,000 rows")
    assert sum(c["n_hyperplanes"] for c in board.by_class) == 9
    assert all(c["linear"] > 0.3 > 0.1 > c["multiplane"] for c in board.by_class)
    best = board.forecast[0]
    assert best["error"] < 0.05
    assert best["low"] < best["error"] < best["high"]


def test_blobs_are_linear():
    X, y = blobs(n=600)
    found = explore(X, y, random_state=0, verbose=0)
    assert found.answers[LINEAR_QUESTION].startswith(("Yes", "Nearly"))
    assert found.answers[CLASSES_QUESTION].startswith("None")
    assert not any(c["needs_several"] for c in found.by_class)
    assert found.forecast[0]["size"] < 1000, "the smaller of models that are alike"


def test_what_nobody_can_learn():
    random = np.random.RandomState(0)
    X, y = random.randn(600, 3), np.where(random.rand(600) < 0.02, "rare", "usual")
    found = explore(X, y, 20, random_state=0, verbose=0)
    answer = found.answers[LINEAR_QUESTION]
    assert answer.startswith("Not known: no model is clearly better than always answering usual")
    assert GAIN_QUESTION not in found.answers
    assert found.forecast[0]["family"] == "linear"


def test_linear_is_recommended_where_the_answer_is_yes(clock):
    good = {"error": 0.1, "slope": -0.02}
    for error, chosen in ((0.104, "linear"), (0.13, "AMM")):
        run = race(fakes(linear={**good, "error": error}, AMM=good))
        assert run.choices()[0].runner.candidate.family == chosen
        found = _explore.Exploration(run, np.array([0, 1]))
        assert found.answers[LINEAR_QUESTION].startswith("No") == (chosen == "AMM")


def test_numbers_behind_the_words(board):
    names = {entry["name"] for entry in board.forecast if entry["n_rows"]}
    assert names == {m["name"] for m in board.measurements}
    assert {e["family"] for e in board.forecast} == {
        "linear", "AMM", "GAMM", "multiplane", "least squares", "kernel"
    }  # fmt: skip
    for m in board.measurements:
        assert 0 <= m["low"] <= m["error"] <= m["high"] <= 1
        assert m["fit_seconds"] > 0 < m["size"]
    for cost in ("fit_seconds", "predict_seconds", "size"):
        edge = board.frontier(cost)
        assert [e[cost] for e in edge] == sorted(e[cost] for e in edge)
        assert [e["error"] for e in edge] == sorted((e["error"] for e in edge), reverse=True)
        for entry in board.forecast:  # none is left out that is better and cheaper
            assert any(e[cost] <= entry[cost] and e["error"] <= entry["error"] for e in edge)
    with pytest.raises(ValueError, match="cost must be one of fit_seconds"):
        board.frontier("seconds")
    curve = board.curve("linear", [1000, 4000])
    assert curve.shape == (2, 3)
    assert np.all(curve[:, 1] <= curve[:, 0])
    with pytest.raises(ValueError, match="there are: linear"):
        board.curve("forest", 10)


def test_text(board):
    text = repr(board)
    assert text == str(board)
    assert "4,000 rows, 2 features, 2 classes" in text
    assert f"{board.n_trainings} trainings" in text
    assert board.n_trainings > len(board.measurements), "preparations that lost, too"
    for question, answer in board.answers.items():
        assert question in text
        assert answer.split()[0] in text
    scope = {}
    exec(board.recommendation, scope)
    assert repr(scope["model"]) == repr(board.estimator)
    assert not hasattr(board.estimator, "classes_")
    assert board.recommendation.splitlines()[-1] in text


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


def test_html(board):
    pytest.importorskip("matplotlib")
    html = board._repr_html_()
    seen = tags(html)
    assert ("b", {}) in seen  # the questions
    assert "&lt;b&gt;black&lt;/b&gt;" in html
    assert "<b>black" not in html
    images = [attributes for tag, attributes in seen if tag == "img"]
    assert images[0]["src"].startswith("data:image/png;base64,")
    assert "http" not in html, "nothing is fetched"


def test_pictures(board, tmp_path):
    pytest.importorskip("matplotlib")
    figure = board.plot(tmp_path / "found.png")
    assert (tmp_path / "found.png").read_bytes()[1:4] == b"PNG"
    labels = {ax.get_xlabel() for ax in figure.axes}
    assert "numbers in the model" in labels
    board.plot(tmp_path / "found.svg")
    assert "<svg" in (tmp_path / "found.svg").read_text()


def test_pictures_of_what_was_not_measured(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(_explore, "families", lambda X: families(X)[-2:])
    X, y = blobs(n=200)
    found = explore(X, y, 3, random_state=0, verbose=0)
    gone = [r for r in found._runners if r.candidate.rung == 2]
    names = {r.candidate.name for r in gone}
    found.measurements = [m for m in found.measurements if m["name"] not in names]
    found.plot(tmp_path / "found.png")
    assert "inferred" not in repr(found) or "inferred" in found._repr_html_()
    assert found.answers[GROWTH_QUESTION].startswith(("Not known", "Not a", "A bigger"))
    assert "cannot be told from one training" in found.answers[GROWTH_QUESTION]  # of 150 rows


def test_without_matplotlib(board, monkeypatch):
    for name in [
        m for m in sys.modules if m.startswith(("matplotlib", "multiplane.exploration._p"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not any(tag == "img" for tag, _ in tags(board._repr_html_()))
    with pytest.raises(ImportError, match="pip install matplotlib"):
        board.plot()


def test_progress(capsys):
    X, y = blobs(n=200)
    explore(X, y, 5, random_state=0)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "/5 s" in shown.err
    assert "StandardScaler" in shown.err
    assert "MaxAbsScaler" in shown.err
    assert "linear" in shown.err
    explore(X, y, 1e-3, random_state=0, verbose=0)
    assert capsys.readouterr().err == ""


# --- the estimator ------------------------------------------------------------------------------


@parametrize_with_checks([AutoClassifier(time_budget=None)])
def test_common_checks(estimator, check, monkeypatch):
    """With two families: conventions do not depend on how many there are."""
    monkeypatch.setattr(_explore, "families", lambda X: families(X)[:2])
    check(estimator)


def test_auto_finds_a_good_one():
    X, y = make_checkerboard(3, 3, n=5000, random_state=0)
    labels = np.where(y, "black", "white")
    clf = AutoClassifier(30, random_state=0).fit(X[:4000], labels[:4000])
    assert clf.score(X[4000:], labels[4000:]) > 0.95
    assert clf.n_rows_ == 4000
    assert list(clf.classes_) == ["black", "white"]
    assert clf.forecast_["low"] < 1 - clf.score(X[4000:], labels[4000:]) < clf.forecast_["high"]
    assert clf.exploration_.n_rows == 4000
    assert clf.decision_function(X).shape == (5000,)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert repr(again.exploration_) == repr(clf.exploration_)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_seed_gives_the_same_model(kind):
    X, y = blobs(n=200, d=10)
    clf, again = (AutoClassifier(None, random_state=3).fit(kind(X), y) for _ in range(2))
    assert repr(clf.estimator_) == repr(again.estimator_)
    np.testing.assert_array_equal(clf.decision_function(kind(X)), again.decision_function(kind(X)))
    errors = [[m["error"] for m in c.exploration_.measurements] for c in (clf, again)]
    assert errors[0] == errors[1]


def test_auto_without_the_time_for_all_rows(monkeypatch):
    X, y = blobs(n=300)
    y[5] = 17  # the only one
    choices = Race.choices

    def few(self, seconds=np.inf):
        first, *others = choices(self, seconds)
        return [replace(first, n_rows=100), *others]

    monkeypatch.setattr(Race, "choices", few)
    assert AutoClassifier(5, random_state=0).fit(X, y).n_rows_ == 300, "there is time after all"
    monkeypatch.setattr(_auto, "_WORTH_MORE", np.inf)
    clf = AutoClassifier(5, random_state=0).fit(X, y)
    assert clf.n_rows_ in (100, 101)
    assert list(clf.classes_) == [0, 1, 2, 17]


def test_too_few_rows_to_explore():
    X, y = np.eye(4), [0, 0, 1, 2]
    with pytest.raises(ValueError, match="at least 4 rows of each of two classes"):
        explore(X, y)
    clf = AutoClassifier(random_state=0).fit(X, y)
    assert clf.exploration_ is None
    assert isinstance(clf.estimator_, MultiplaneClassifier)
    assert clf.predict(X).shape == (4,)


def test_a_short_time_is_enough_for_an_answer():
    X, y = blobs(n=600)
    clf = AutoClassifier(1e-3, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.5
    assert "linear" in repr(explore(X, y, 1e-3, random_state=0, verbose=0))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e12])
def test_awkward_features(scale):
    X, y = blobs(n=200, d=6)
    X = scale * X.astype(np.float64)
    X[:, 2], X[:, 3] = 0.0, 5.0 * scale
    clf = AutoClassifier(None, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.75


def test_an_error_leaves_the_model_as_it_was(monkeypatch):
    monkeypatch.setattr(_explore, "families", lambda X: families(X)[:1])
    X, y = blobs(n=100)
    clf = AutoClassifier(5, random_state=0).fit(X, y)
    before = dict(vars(clf))

    def fails(*_, **__):
        raise MemoryError

    monkeypatch.setattr("multiplane.exploration._auto.fitted", fails)
    with pytest.raises(MemoryError):
        clf.fit(X[:, :2], y)
    assert vars(clf) == before
    assert clf.predict(X).shape == (100,)


def test_bad_input():
    X, y = blobs(n=100)
    bad = X.copy()
    bad[3, 1] = np.nan
    for call in (explore, AutoClassifier().fit):
        with pytest.raises(ValueError, match="NaN"):
            call(bad, y)
        with pytest.raises(ValueError, match="only one class"):
            call(X, np.zeros(100))
        with pytest.raises(ValueError, match="Unknown label type"):
            call(X, X[:, 0])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            call(X, y[:-1])
    for time_budget in (0, "fast"):
        with pytest.raises(ValueError, match="time_budget"):
            explore(X, y, time_budget)
    with pytest.raises(ValueError, match="time_budget"):
        AutoClassifier(-1).fit(X, y)
    clf = clone(AutoClassifier(5, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        clf.predict(X[:, :2])
