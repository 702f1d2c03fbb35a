"""The flagship: its start, its settings, its model and its streams."""

import itertools
import pickle
import re
import time
import warnings
from typing import ClassVar

import numpy as np
import pytest
from helpers import VARIANTS, csr, problem, state
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score, train_test_split

from multiplane import MultiplaneClassifier, PegasosClassifier
from multiplane.data import Examples, Matrix
from multiplane.datasets import make_checkerboard
from multiplane.estimators import _multiplane
from multiplane.models._scaling import Scaling
from multiplane.solvers._selection import Search, Trial, enough, folds, progressive
from multiplane.solvers._sgd import Annealed
from multiplane.solvers._tangents import Start, tangents

FIXED = {"n_hyperplanes": 4, "alpha": 1e-5, "scale": "standard"}


@pytest.mark.parametrize("side", [3, 4])
def test_one_hyperplane_a_square(side):
    X, y = make_checkerboard(side, side, n=12_000, random_state=side)
    X, X_test, y, y_test = train_test_split(X, y, test_size=3000, random_state=0)
    clf = MultiplaneClassifier(random_state=0).fit(X, y)
    assert clf.n_hyperplanes_ == side**2
    assert clf.score(X_test, y_test) > 0.985
    # Each square has its own: whoever decides there is the same one nearly everywhere.
    square = np.floor((X_test + 1) * side / 2).astype(int) @ [side, 1]
    winner = clf.apply(X_test)
    for number in range(side**2):
        counts = np.bincount(winner[square == number])
        assert counts.max() > 0.95 * counts.sum()


def test_nothing_to_scale_nor_to_tune():
    """Units must not matter, and neither must where a feature has its zero."""
    X, y = problem(n=900, d=6)
    X = np.where(X == 0, 0.5, X)
    units = np.float32(2.0) ** np.arange(-12, 12, 4)
    plain = MultiplaneClassifier(random_state=0, scale="standard").fit(X, y)
    other = MultiplaneClassifier(random_state=0, scale="standard").fit(X * units, y)
    np.testing.assert_array_equal(plain.predict(X), other.predict(X * units))
    np.testing.assert_allclose(plain.coef_, other.coef_ * units, rtol=1e-5)
    # Sums of shifted numbers are rounded otherwise: not the same, but as good.
    plain = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)
    moved = MultiplaneClassifier(random_state=0, **FIXED).fit(X + 64, y)
    assert moved.score(X + 64, y) == pytest.approx(plain.score(X, y), abs=0.03)


def test_model_is_made_of_hyperplanes_in_the_units_of_the_rows():
    X, y = problem(n=600, d=5)
    X = X * np.float32(7) + np.float32(3)
    clf = MultiplaneClassifier(random_state=0).fit(X, y)
    scores = X.astype(np.float64) @ clf.coef_.T.astype(np.float64) + clf.intercept_
    by_class = np.stack(
        [scores[:, clf.hyperplane_class_ == k].max(axis=1) for k in clf.classes_], axis=1
    )
    np.testing.assert_allclose(clf.decision_function(X), by_class, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(clf.apply(X), scores.argmax(axis=1))
    # What wins nowhere is gone, and every class has one.
    assert set(clf.apply(X)) <= set(range(clf.n_hyperplanes_))
    assert set(clf.hyperplane_class_) == set(clf.classes_)
    assert clf.n_hyperplanes_ <= len(set(clf.apply(X))) + len(clf.classes_)


def test_settings_and_trials():
    X, y = problem(n=800)
    auto = MultiplaneClassifier(random_state=0).fit(X, y)
    assert set(auto.settings_) == {"n_hyperplanes", "alpha", "scale"}
    assert all(0 <= trial["error"] <= 1 for trial in auto.trials_)
    assert len(auto.trials_) >= 5
    best = min(trial["error"] for trial in auto.trials_)
    chosen = [t for t in auto.trials_ if t["n_hyperplanes"] == auto.settings_["n_hyperplanes"]]
    assert min(t["error"] for t in chosen) <= best + 0.05
    fixed = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)
    assert fixed.trials_ == []
    assert fixed.settings_ == FIXED


def test_trials_are_shown(capsys):
    X, y = problem(n=200)
    MultiplaneClassifier(random_state=0, max_iter=2, verbose=1).fit(X, y)
    out = capsys.readouterr().out
    assert "trial" in out
    assert "n_hyperplanes=30" in out
    assert re.search(r"chosen scale='\w+', alpha=\S+, n_hyperplanes=\d+  for 200 rows", out)
    assert "pass 2/2" in out


def linear_problem(n, d, n_classes, noise, seed=0):
    random = np.random.RandomState(seed)
    X = random.randn(n, d)
    return X, (X @ random.randn(d, n_classes) + noise * random.randn(n, n_classes)).argmax(axis=1)


@pytest.mark.parametrize(
    "data",
    [
        linear_problem(1500, 20, 4, 0.5),
        linear_problem(600, 10, 2, 2.0),
        linear_problem(300, 5, 3, 0),
    ],
    ids=["four classes", "noisy", "few rows"],
)
def test_not_worse_than_linear_where_linear_is_right(data):
    X, y = data
    ours = 1 - cross_val_score(MultiplaneClassifier(random_state=0), X, y, cv=4).mean()
    linear = 1 - cross_val_score(PegasosClassifier(random_state=0), X, y, cv=4).mean()
    deviation = np.sqrt(linear * (1 - linear) / len(y))
    assert ours < linear + 2 * deviation + 0.005


def test_better_than_linear_where_linear_is_wrong():
    X, y = load_digits(return_X_y=True)
    ours = cross_val_score(MultiplaneClassifier(random_state=0), X, y, cv=3).mean()
    linear = cross_val_score(PegasosClassifier(random_state=0), X / 16, y, cv=3).mean()
    assert ours > linear + 0.01


def test_max_iter():
    X, y = problem(n=100)
    assert MultiplaneClassifier(**FIXED, random_state=0).fit(X, y).n_iter_ == 100
    assert MultiplaneClassifier(**FIXED, random_state=0, max_iter=3).fit(X, y).n_iter_ == 3


def test_weights_of_zero_are_as_good_as_absent():
    X, y = problem(n=300)
    weight = np.ones(len(y))
    weight[::3] = 0
    X_odd = X.copy()
    X_odd[::3] = 1e6  # must be seen neither by the scaling nor by k-means
    clf = MultiplaneClassifier(random_state=0).fit(X_odd, y, sample_weight=weight)
    score = clf.score(X[weight > 0], y[weight > 0])
    assert score > 0.8


def test_awkward_features():
    X, y = problem(n=300, d=4)
    plain = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y).score(X, y)
    X = np.column_stack([X, np.full(300, 7.0), np.zeros(300), 1e-8 * X[:, 0], 1e8 * X[:, 1]])
    clf = MultiplaneClassifier(random_state=0, **FIXED).fit(X.astype(np.float32), y)
    assert np.isfinite(clf.coef_).all()
    assert clf.score(X.astype(np.float32), y) > plain - 0.05
    same = MultiplaneClassifier(random_state=0).fit(np.ones((20, 3)), np.arange(20) % 2)
    assert set(same.predict(np.ones((5, 3)))) <= {0, 1}


def test_rare_classes():
    X, y = problem(n=400, n_classes=3)
    y = y.copy()
    y[:1] = 3
    y[1:4] = 4
    clf = MultiplaneClassifier(random_state=0).fit(X, y)
    assert set(clf.hyperplane_class_) == {0, 1, 2, 3, 4}
    few = MultiplaneClassifier(random_state=0).fit(X[:2], np.array([0, 1]))
    assert few.score(X[:2], [0, 1]) == 1


def test_sparse_rows():
    X, y = problem(n=600, d=30, zeros=0.8)
    dense = MultiplaneClassifier(random_state=0, scale=None, alpha=1e-5).fit(X, y)
    sparse = MultiplaneClassifier(random_state=0, scale=None, alpha=1e-5).fit(csr(X), y)
    assert np.mean(dense.predict(X) == sparse.predict(csr(X))) > 0.95  # k-means adds up otherwise
    scaled = MultiplaneClassifier(random_state=0).fit(csr(X), y)
    np.testing.assert_array_equal(scaled.predict(X), scaled.predict(csr(X)))
    assert scaled.score(X, y) > 0.85


@pytest.mark.parametrize("convert", [np.asarray, csr], ids=["dense", "csr"])
def test_wide_rows_have_fewer_hyperplanes(convert, monkeypatch):
    """As many as there is room for numbers; here the room shrinks, to five times three classes."""
    X, y = problem(n=900, d=30)

    def most_tried():
        clf = MultiplaneClassifier(random_state=0, max_iter=2, scale="uniform", alpha=1e-5)
        return max(trial["n_hyperplanes"] for trial in clf.fit(convert(X), y).trials_)

    assert most_tried() >= 30
    monkeypatch.setattr(_multiplane, "_MOST_NUMBERS", 5 * 3 * (30 + 1))
    assert most_tried() == 2  # of 1, 2, 8, 30, …


def test_warm_start_goes_on():
    X, y = problem(n=300)
    clf = MultiplaneClassifier(random_state=0, **FIXED, warm_start=True, max_iter=3).fit(X, y)
    before, steps = clf.n_hyperplanes_, clf.t_
    clf.fit(X, y)
    assert clf.t_ == steps + 900
    assert clf.n_hyperplanes_ <= before
    clf.set_params(step=1.0)
    with pytest.raises(ValueError, match="step was"):
        clf.fit(X, y)


# --- the start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_tangents_make_the_nearest_centre_win(kind):
    X, y = problem(n=500, d=4, n_classes=3)
    y = y.astype(np.int32)
    rows = X if kind == "dense" else csr(X)
    start = tangents(rows, y, 3, np.array([5, 1, 3]), np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(start.owner), [5, 1, 3])
    sharpness = -start.hyperplanes[:, -1] / (0.5 * (start.hyperplanes[:, :-1] ** 2).sum(axis=1))
    a = 1 / sharpness[0]
    np.testing.assert_allclose(1 / sharpness, a, rtol=1e-4)  # W = a (μ, −½‖μ‖²)
    centres = start.hyperplanes[:, :-1] / a
    np.testing.assert_allclose(centres[5], X[y == 1].mean(axis=0), rtol=1e-4, atol=1e-5)
    # Lloyd's iterations have come far: centres are means of the rows next to them.
    own = X[y == 0]
    nearest = ((own[:, None] - centres[None, :5]) ** 2).sum(axis=2).argmin(axis=1)
    means = np.stack([own[nearest == k].mean(axis=0) for k in range(5)])
    assert np.abs(means - centres[:5]).max() < 0.5
    distance = ((X[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)
    assert a == pytest.approx(1 / np.median(distance), rel=1e-3)


def test_centres_are_different_rows():
    X = np.repeat(np.eye(3, dtype=np.float32), 40, axis=0)
    start = tangents(X, np.zeros(120, np.int32), 1, np.array([20]), np.random.RandomState(0))
    assert len(start.owner) == 3


@pytest.mark.parametrize("kind", ["standard", "uniform"])
def test_scaling(kind):
    random = np.random.RandomState(0)
    X = random.randn(500, 3) * [1, 10, 1e-3] + [5, 0, 1]
    rows = np.arange(400)
    scaling = Scaling.learnt(X, rows, kind)
    Z = scaling(X)[rows].astype(float)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    assert (Z**2).sum(axis=1).mean() == pytest.approx(4, rel=1e-4)
    if kind == "standard":
        np.testing.assert_allclose(Z.var(axis=0), 4 / 3, rtol=1e-4)
    sparse = Scaling.learnt(csr(X), rows, kind)
    assert not sparse.shift.any()
    assert (sparse(csr(X))[rows].toarray() ** 2).sum(axis=1).mean() == pytest.approx(4, rel=1e-4)


# --- the search ---------------------------------------------------------------------------------


def test_search_walks_to_the_best():
    seen = []
    search = Search(
        {"a": (1, 2, 3, 4), "b": ("x", "y")},
        lambda s: (100 * abs(s["a"] - 3) + 50 * (s["b"] == "x"), 1000),
        seen.append,
    )
    best = search.walk({"a": 1, "b": "x"}, ("a", "b"))
    assert best.settings == {"a": 3, "b": "y"}
    assert len(seen) == len({tuple(t.settings.values()) for t in seen}), "nothing is tried twice"
    assert search.walk({"a": 1, "b": "x"}, ("b",)).settings == {"a": 1, "b": "y"}


def test_the_less_cautious_move_for_little():
    ways, wrong = {"a": (1, 2, 3, 4)}, {1: 100, 2: 99, 3: 99, 4: 50}
    for caution, found in (({}, 1), ({"a": (1.5, 0.0)}, 2)):
        search = Search(ways, lambda s: (wrong[s["a"]], 1000), [].append, caution)
        assert search.walk({"a": 1}, ["a"]).settings == {"a": found}
        assert search.walk({"a": 3}, ["a"]).settings == {"a": 4}
    wrong = {1: 98, 2: 99, 3: 100, 4: 100}
    for caution, found in (({}, 3), ({"a": (0.0, 0.5)}, 1)):
        search = Search(ways, lambda s: (wrong[s["a"]], 1000), [].append, caution)
        assert search.walk({"a": 3}, ["a"]).settings == {"a": found}


class KnownTrials:
    """Trials whose outcome is known: errors in the first part, and in the others."""

    n_parts, parts, n_steps = 1, [None] * 4, {1: 1000, 30: 1000}

    def __init__(self, first, others):
        self.first, self.others, self.asked = first, others, []

    def wrong(self, settings):
        return self.first[settings["n_hyperplanes"]], 1000

    def further(self, trial):
        number = trial.settings["n_hyperplanes"]
        self.asked.append(number)
        return Trial(trial.settings, trial.n_wrong + self.others[number], trial.n_tested + 3000)


SOME, ALL, NO_END = 2.0, 1.0, np.inf  # rows beside those of the sample


@pytest.mark.parametrize(
    ("wrong", "others", "more", "found", "asked"),
    [
        ({1: 200, 30: 100}, {}, ALL, 30, []),  # far behind
        ({1: 100, 30: 200}, {}, SOME, 1, []),  # far ahead
        ({1: 105, 30: 100}, {1: 300, 30: 330}, SOME, 1, [30, 1]),  # in the end
        ({1: 105, 30: 100}, {1: 330, 30: 300}, SOME, 30, [30, 1]),
        ({1: 105, 30: 100}, {1: 300, 30: 300}, SOME, 30, [30, 1]),
        ({1: 105, 30: 100}, {1: 300, 30: 300}, ALL, 1, [30, 1]),  # within chance
        ({1: 105, 30: 100}, {1: 330, 30: 300}, ALL, 30, [30, 1]),
        ({1: 100, 30: 105}, {}, NO_END, 30, []),  # many more are to come
        ({1: 100, 30: 140}, {}, NO_END, 1, []),
    ],
)
def test_all_rows_are_tested_where_the_linear_model_is_near(wrong, others, more, found, asked):
    trials, clf = KnownTrials(wrong, others), MultiplaneClassifier()
    clf.trials_ = []
    search = Search({"n_hyperplanes": (1, 30), "scale": (1,), "alpha": (1,)}, trials.wrong, id)
    best = search.trial({"n_hyperplanes": 30, "scale": 1, "alpha": 1})
    assert clf._or_linear(best, search, trials, more).settings["n_hyperplanes"] == found
    assert trials.asked == asked
    assert len(clf.trials_) == len(asked)
    few = [
        Trial({**best.settings, "n_hyperplanes": n}, wrong, 100) for n, wrong in ((30, 10), (1, 14))
    ]
    search.trials, trials.n_parts = few, 4
    assert clf._or_linear(few[0], search, trials, ALL) is few[1], "four rows of a hundred"
    search.deadline = 0.0
    assert clf._or_linear(best, search, None, more) is best, "no trial begins after the deadline"


def test_lambda_follows_the_number_of_steps():
    """What a trial has found for λ times its steps holds for the training."""
    X, y = make_checkerboard(2, 2, n=800, random_state=0)
    clf = MultiplaneClassifier(4, scale="standard", random_state=0).fit(X, y)
    best = min(clf.trials_, key=lambda trial: trial["error"])
    assert round(best["alpha"] * 600 * 25, 9) in (0.3, 6.0, 30.0, 300.0)
    longer = MultiplaneClassifier(4, scale="standard", max_iter=200, random_state=0).fit(X, y)
    assert longer.alpha_ == pytest.approx(clf.alpha_ * clf.n_iter_ / 200)
    given = MultiplaneClassifier(4, alpha=1e-5, max_iter=3, random_state=0).fit(X, y)
    assert given.alpha_ == 1e-5
    # Many classes have fewer hyperplanes, by the number of their rows, and passes are more.
    X = np.random.RandomState(0).standard_normal((3000, 60))
    y = np.r_[np.zeros(1500, int), np.arange(1500) % 50]
    many = MultiplaneClassifier(90, scale="standard", random_state=0).fit(X, y)
    assert round(many.alpha_ * 3000 * many.n_iter_, 9) in (0.3, 6.0, 30.0, 300.0)
    assert {trial["alpha"] for trial in given.trials_} == {1e-5}


def test_the_search_begins_with_the_scale_that_is_likely():
    X = np.random.RandomState(0).standard_normal((2000, 6))
    y = (X[:, 0] > 0).astype(int)
    units = np.array([1, 1, 1, 1, 1, 100.0])
    for data, scale in [(X, "uniform"), (X * units, "standard"), (csr(X * units), "standard"),
                        (np.c_[X, np.zeros((2000, 9))], "uniform")]:  # fmt: skip
        clf = MultiplaneClassifier(2, alpha=1e-4, max_iter=1, random_state=0).fit(data, y)
        assert clf.trials_[0]["scale"] == scale


def test_streams_without_an_end():
    """Small blocks of a stream of unknown length tell nothing of how long it is."""
    X, y = make_checkerboard(3, 3, n=22_000, random_state=0)
    blocks = ((X[i : i + 100], y[i : i + 100]) for i in range(0, 20_000, 100))
    stream = MultiplaneClassifier(random_state=0).fit_stream(blocks)
    online = MultiplaneClassifier(random_state=0).partial_fit(
        X[:20_000], y[:20_000], classes=[0, 1]
    )
    for clf in (stream, online):
        assert round(clf.alpha_ * 1e6, 9) in (0.3, 6.0, 30.0, 300.0)
        assert clf.score(X[20_000:], y[20_000:]) > 0.97


def test_all_parts_are_tested_further():
    X, y = problem(n=400)
    y, random = y.astype(np.int32), np.random.RandomState(0)
    parts = folds(y, random)
    trials = [
        _multiplane.Trials(MultiplaneClassifier(), X, y, None, 3, parts, k, 1) for k in (1, 4)
    ]
    settings = {"scale": "standard", "alpha": 3.0, "n_hyperplanes": 2}
    wrong = [Trial(settings, *one.wrong(settings)) for one in trials]
    assert wrong[0].n_tested < wrong[1].n_tested == 400
    kept = set(trials[0]._rows)
    assert trials[0].further(wrong[0]) == wrong[1]
    assert set(trials[0]._rows) == kept


@pytest.mark.parametrize(("n", "n_sample"), [(600, 600), (30_000, 10_000), (600_000, 100_000)])
def test_a_fifth_of_the_rows_is_tried_with(monkeypatch, n, n_sample):
    """But 10,000 at least, and 100,000 at most."""
    sizes = []

    class Counting(_multiplane.Trials):
        def __init__(self, classifier, X, *args):
            sizes.append(X.shape[0])
            super().__init__(classifier, X, *args)

    monkeypatch.setattr(_multiplane, "Trials", Counting)
    X, y = make_checkerboard(2, 2, n=n, random_state=0)
    MultiplaneClassifier(n_hyperplanes=4, alpha=1e-5, max_iter=1, random_state=0).fit(X, y)
    assert sizes == [n_sample]


def test_no_trial_begins_after_the_deadline():
    tried = []
    search = Search({"a": range(9)}, lambda s: (9 - s["a"], 10), tried.append, deadline=0.0)
    assert search.walk({"a": 3}, ["a"]).settings == {"a": 3}
    assert len(tried) == 1, "one is needed"


def test_small_differences_are_chance():
    best, other = Trial({}, 100, 1000), Trial({}, 97, 1000)
    assert not other.beats(best, 0.5)
    assert Trial({}, 90, 1000).beats(best, 0.5)
    assert not best.beats(best, 0.0)


def test_folds():
    y = np.repeat([0, 1, 2], [3000, 900, 2]).astype(np.int32)
    parts = folds(y, np.random.RandomState(0))
    for train, test in parts:
        assert not set(train) & set(test)
        assert set(np.flatnonzero(y == 2)) <= set(train)
        assert set(y[test]) == {0, 1}
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(3900))
    assert enough(parts) == 2
    few = folds(y[::20], np.random.RandomState(0))
    assert len(few) == enough(few) == 4
    assert folds(np.zeros(9, np.int32), np.random.RandomState(0)) == []


# --- alpha="auto" of the others -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["pegasos", "mm", "amm", "amm-batch", "gamm", "merge", "project"])
def test_auto_alpha(name):
    X, y = problem(n=900)
    clf = VARIANTS[name](alpha="auto", random_state=0, max_iter=5).fit(X, y)
    again = VARIANTS[name](alpha="auto", random_state=0, max_iter=5).fit(X, y)
    assert state(clf) == state(again)
    given = VARIANTS[name](alpha=clf.alpha_, random_state=0, max_iter=5).fit(X, y)
    assert state(clf) == state(given), "nothing but λ is found"
    scores = [
        VARIANTS[name](alpha=alpha, random_state=0, max_iter=5).fit(X, y).score(X, y)
        for alpha in (1e-2, 1e-4, 1e-6)
    ]
    assert clf.score(X, y) > max(scores) - 0.1
    longer = VARIANTS[name](alpha="auto", random_state=0, max_iter=10).fit(X, y)
    assert longer.alpha_ == pytest.approx(clf.alpha_ / 2), "λ times the number of steps"
    longest = VARIANTS[name](alpha="auto", random_state=0, max_iter=400).fit(X, y)
    n_passes = longest._trial_passes()
    in_trial = clf.alpha_ * 5 / n_passes
    assert longest.alpha_ == pytest.approx(in_trial / (16 * 400 / n_passes) ** 0.5)
    assert clf.alpha_ * 5 / 400 < longest.alpha_ < in_trial
    with pytest.raises(ValueError, match="alpha_ that fit finds"):
        VARIANTS[name](alpha="auto").partial_fit(X, y, classes=[0, 1, 2])
    clf.partial_fit(X, y)  # which can go on from there


def test_progressive_validation_predicts_before_it_learns():
    """A learner that knows every row by heart, and nothing else, is always wrong."""

    class Parrot:
        def __init__(self):
            self.seen = set()

        def learn(self, rows, y, order, **more):
            self.seen |= set(order.tolist())
            return {}

    class Models:
        @staticmethod
        def of(learner):
            return learner

    X = np.arange(4000, dtype=np.float32)[:, None]
    Parrot.predict = lambda self, matrix: np.array(
        [int(x in self.seen) for x in matrix.source[:, 0].astype(int)]
    )
    examples = Examples(Matrix(X), np.ones(4000, np.int32))
    for n in (4000, 1999, 700, 3, 2):
        order = np.arange(n)
        assert progressive([Parrot()], Models, examples, order) == [n - n // 4]
        # Of several passes three quarters teach, and the rest is tested whatever the block size.
        assert progressive([Parrot()], Models, examples, order, 5) == [n - 3 * n // 4]


# --- streams ------------------------------------------------------------------------------------


@pytest.fixture
def short_opening(monkeypatch):
    monkeypatch.setattr(_multiplane, "_OPENING", 256)


def stream(X, y, cuts, **more):
    clf = MultiplaneClassifier(random_state=3, **more)
    for start, stop in itertools.pairwise(cuts):
        clf.partial_fit(X[start:stop], y[start:stop], classes=[0, 1, 2])
    return clf


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("n", [5, 100, 256, 400])
def test_a_stream_may_be_cut_anywhere(short_opening, n, kind):
    X, y = problem(n=400)
    X = X if kind == "dense" else csr(X)
    once = stream(X[:n], y[:n], [0, n])
    pieces = stream(X[:n], y[:n], [*range(0, n, 7), n])
    assert state(once) == state(pieces)
    np.testing.assert_array_equal(once.predict(X), pieces.predict(X))
    assert once.settings_ == pieces.settings_
    assert once.t_ - 1 == {5: 50, 100: 960, 256: 256, 400: 400}[n]


def test_the_first_rows_of_a_stream_are_put_to_use():
    X, y = load_digits(return_X_y=True)
    clf = MultiplaneClassifier(random_state=0).partial_fit(X[:1200], y[:1200], classes=range(10))
    assert clf.trials_ == []
    assert clf.score(X[1200:], y[1200:]) > 0.85


def test_a_stream_learns_and_forgets_its_first_rows(short_opening):
    X, y = make_checkerboard(3, 3, n=30_000, random_state=0)
    clf = MultiplaneClassifier(random_state=0)
    for start in range(0, 25_000, 1000):
        clf.partial_fit(X[start : start + 1000], y[start : start + 1000], classes=[0, 1])
    assert clf._opening is None
    assert clf.score(X[25_000:], y[25_000:]) > 0.9


def test_a_stream_can_be_pickled_at_any_time(short_opening):
    X, y = problem(n=400)
    for first in (10, 300):
        one = stream(X[:first], y[:first], [0, first])
        other = pickle.loads(pickle.dumps(one))
        for clf in (one, other):
            clf.partial_fit(X[first:], y[first:])
        assert state(one) == state(other)


def test_new_classes_on_a_stream(short_opening):
    X, y = problem(n=500, n_classes=4)
    order = np.argsort(y == 3, kind="stable")  # the last class comes last, after the opening
    X, y = X[order], y[order]
    clf = MultiplaneClassifier(random_state=0)
    for start in range(0, 500, 50):
        clf.partial_fit(X[start : start + 50], y[start : start + 50], allow_new_classes=True)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert 3 in clf.hyperplane_class_
    early = MultiplaneClassifier(random_state=0).partial_fit(X[:1], y[:1], allow_new_classes=True)
    early.partial_fit(X[-2:], y[-2:], allow_new_classes=True)
    assert early.predict(X[-2:]).shape == (2,)


def test_a_class_after_the_opening_comes_to_life(short_opening):
    """However far below zero all other scores are where its rows lie."""
    random = np.random.RandomState(0)
    X = random.randn(600, 3)
    y = (X[:, 0] > 0).astype(int)
    X[400:] += 20
    y[400:] = 2
    clf = MultiplaneClassifier(random_state=0).partial_fit(X[:400], y[:400], classes=[0, 1, 2])
    clf.partial_fit(X[400:], y[400:])
    assert clf.score(X[400:], y[400:]) > 0.9


def test_history_of_a_stream(short_opening):
    X, y = problem(n=600)
    clf = stream(X, y, [*range(0, 600, 9), 600])
    for entry in clf.history_:
        assert 0 <= entry["error"] <= 1
        assert entry["loss"] >= 0
    assert clf.history_[-1]["t"] == 601


def test_fit_does_not_go_on_from_an_opening():
    X, y = problem(n=600)
    clf = MultiplaneClassifier(random_state=0, **FIXED, warm_start=True)
    clf.partial_fit(X[:7], y[:7], classes=[0, 1, 2])
    clf.fit(X, y)
    assert clf.n_hyperplanes_ > 6


def test_dense_rows_are_not_followed_by_sparse_ones(short_opening):
    X, y = problem(n=400)
    clf = stream(X, y, [0, 100])
    for _ in range(2):
        before = state(clf)
        with pytest.raises(ValueError, match="toarray"):
            clf.partial_fit(csr(X), y)
        assert state(clf) == before
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), clf.predict(csr(X)))
    other = stream(csr(X), y, [0, 100]).partial_fit(X[100:], y[100:])
    assert state(other) == state(stream(csr(X), y, [0, 400]))


def test_held_out_rows_have_no_say_in_what_is_dropped():
    X, y = problem(n=300)
    clf = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)
    rows = np.arange(6)
    won = np.unique(clf.apply(X[rows]))
    absent = set(clf.classes_) - set(clf.hyperplane_class_[won])
    assert len(won) + len(absent) < clf.n_hyperplanes_
    clf._tidy_up(Examples(Matrix(X), y.astype(np.int32), None, rows))
    assert clf.n_hyperplanes_ == len(won) + len(absent)  # a class keeps one


def test_steps_shrink_in_the_second_half():
    X, y = problem(n=200)
    learner = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)._training.learner
    annealed, rates, sharings = Annealed(2.0, n_passes=8), [], []
    for _ in range(8):
        annealed.prepare(learner, Examples(Matrix(X), y.astype(np.int32)))
        rates.append(learner.rate)
        sharings.append(learner.sharing)
    assert rates == [1, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert sharings == [2, 1.5, 1, 0.5, 0, 0, 0, 0]


@pytest.mark.parametrize("n_passes", [1, 2, 7, 8])
def test_whom_no_row_of_its_class_prefers_is_dropped_at_half_time(n_passes):
    """Class 0 has two hyperplanes, of which its rows prefer one, but for a row that is left out;
    class 1 has one; class 2, without rows, keeps both of its own."""
    W = np.array([[2, 0], [1, 0], [-1, 0], [-9, 1], [-9, 2]], dtype=np.float32)
    learner = MultiplaneClassifier()._learner(
        Start(W, np.array([0, 0, 1, 2, 2], dtype=np.int32), 1.0), 1e-3, 3
    )
    X = np.array([[1], [2], [-1], [-3]], dtype=np.float32)
    examples = Examples(Matrix(X), np.array([0, 0, 1, 0], dtype=np.int32), None, np.arange(3))
    annealed, sizes = Annealed(0.0, n_passes), []
    for _ in range(n_passes):
        annealed.prepare(learner, examples)
        sizes.append(len(learner))
    half = -(-n_passes // 2)
    assert sizes == [5] * half + [4] * (n_passes - half)
    assert list(learner.snapshot().owner) == ([0, 0, 1, 2, 2] if n_passes == 1 else [0, 1, 2, 2])


@pytest.mark.parametrize(
    ("seconds", "deadline", "n_passes"),
    [
        (lambda done: 4, 130.0, 6),  # one more is for what comes after them
        (lambda done: 4 - 3 * done, 130.0, 13),  # they get faster, and there are more of them
        (lambda done: 4 if done < 0.2 else 1, 140.0, 20),
        (lambda done: 1 + 3 * done, 130.0, 12),
        (lambda done: 1, 1e9, 20),
    ],
)
def test_passes_end_in_time_with_small_steps(monkeypatch, seconds, deadline, n_passes):
    """Of twenty passes as many as there is time for."""
    X, y = problem(n=200)
    learner = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)._training.learner
    examples, now = Examples(Matrix(X), y.astype(np.int32)), [100.0]
    monkeypatch.setattr("multiplane.solvers._sgd.time.perf_counter", lambda: now[0])
    annealed, rates, last = Annealed(2.0, 20, deadline=deadline), [], 0.0
    while len(rates) < 20 and annealed.prepare(learner, examples) is None:
        rates.append(learner.rate)
        last = seconds(annealed._done)
        now[0] += last
    assert len(rates) == n_passes
    assert now[0] + last <= deadline
    assert now[0] + 2.5 * last > deadline or n_passes == 20, "no more could have been made"
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.5
    if deadline == 1e9:
        assert rates == [min(1.0, 2 * (1 - i / 20)) for i in range(20)]


def test_one_pass_is_needed(monkeypatch):
    X, y = problem(n=200)
    learner = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)._training.learner
    examples = Examples(Matrix(X), y.astype(np.int32))
    late = Annealed(2.0, 20, deadline=0.0)
    assert late.prepare(learner, examples) is None, "one is needed"
    assert late.prepare(learner, examples) == "out of time"


def test_half_of_the_work_where_few_rows_are_left_to_learn():
    """Clouds far apart need hardly a step in the end, and more passes would do nothing."""
    random = np.random.RandomState(0)
    y = random.randint(2, size=2000)
    X = random.standard_normal((2000, 9)) + 5 * y[:, None]
    far = MultiplaneClassifier(8, random_state=0).fit(X, y)
    mixed = np.where(random.random_sample(2000) < 0.3, 1 - y, y)
    near = MultiplaneClassifier(8, random_state=0).fit(X, mixed)
    wide = {"n_rows": 10_000, "n_hyperplanes": 100, "n_features": 399}
    assert (far._passes_wanted(**wide), near._passes_wanted(**wide)) == (25, 50)
    given = far.set_params(alpha=1e-4, scale="standard").fit(X, y)
    assert given._passes_wanted(**wide) == 50, "what trials of another fit have told is forgotten"


@pytest.fixture
def few_passes(monkeypatch):
    """As if rows were many: twenty passes are all that the work allows."""
    monkeypatch.setattr(_multiplane, "_WORK", 1e6)


def test_more_passes_where_a_trial_tells_that_they_pay(few_passes, monkeypatch):
    X, y = make_checkerboard(8, 8, n=8000, random_state=0)
    rows = X[:6000], y[:6000]
    clf = MultiplaneClassifier(random_state=0).fit(*rows)
    assert clf.n_iter_ == 60
    assert clf.trials_[-1]["error"] < min(trial["error"] for trial in clf.trials_[:-1])
    given = MultiplaneClassifier(random_state=0, alpha=1e-6).fit(*rows)
    assert (given.n_iter_, given.alpha_) == (60, 1e-6)
    assert {trial["alpha"] for trial in given.trials_} == {1e-6}
    # Nothing is tried where passes are given, on streams, and for the linear model.
    monkeypatch.setattr(_multiplane.Trials, "longer", None)
    few = MultiplaneClassifier(random_state=0, max_iter=20).fit(*rows)
    assert few.n_iter_ == 20
    assert clf.alpha_ * 60 == pytest.approx(few.alpha_ * 20 / 3), "λ · steps is a third"
    assert 1 - clf.score(X[6000:], y[6000:]) < 0.8 * (1 - few.score(X[6000:], y[6000:]))
    MultiplaneClassifier(random_state=0).fit_stream([rows])
    MultiplaneClassifier(random_state=0).partial_fit(*rows, classes=[0, 1])
    assert MultiplaneClassifier(1, random_state=0).fit(*rows).n_iter_ == 1e6 // (6000 * 2 * 3)


def test_more_passes_are_not_made_for_nothing(few_passes, monkeypatch):
    random = np.random.RandomState(0)
    X, y = random.standard_normal((2000, 9)), random.randint(2, size=2000)

    def fits():
        return [MultiplaneClassifier(4, alpha=1e-4, random_state=s).fit(X, y) for s in range(8)]

    def gains(clf):
        *others, longer = clf.trials_
        (found,) = (trial for trial in others if trial["scale"] == clf.settings_["scale"])
        return found["error"] - longer["error"]

    # If a training is short any gain will do, else it must be a standard error of a thousand rows
    # of which half are wrong.
    monkeypatch.setattr(_multiplane, "_SHORT", np.inf)
    some = fits()
    assert [clf.n_iter_ == 60 for clf in some] == [gains(clf) > 0 for clf in some]
    assert 2 <= sum(clf.n_iter_ == 60 for clf in some) <= 6
    monkeypatch.setattr(_multiplane, "_SHORT", 0)
    some = fits()
    assert [clf.n_iter_ == 60 for clf in some] == [gains(clf) > 0.0158 for clf in some]
    assert sum(clf.n_iter_ == 60 for clf in some) <= 2


SHORT, LONG = 1e9, 1e11  # products of a pass


@pytest.mark.parametrize(
    ("number", "wrong", "a_pass", "many", "seconds", "found"),
    [
        (30, {30: 180, 90: 160}, LONG, False, 1, (90, 3)),
        (30, {30: 180, 90: 175}, LONG, False, 1, (30, 3)),  # chance, and takes three times as long
        (30, {30: 180, 90: 179}, LONG, True, 1, (90, 3)),
        (30, {30: 195, 90: 100}, SHORT, False, 1, (90, 3)),  # any gain by passes will do
        (30, {30: 195, 90: 100}, LONG, False, 1, (30, 1)),
        (30, {30: 200, 90: 100}, SHORT, False, 1, (30, 1)),
        (90, {90: 100, 270: 10}, LONG, False, 1, (90, 3)),
        (8, {8: 100, 30: 10}, LONG, False, 1, (30, 3)),
        (30, {30: 100, 90: 10}, LONG, False, 20, (30, 3)),  # a hundred seconds are left
        (30, {30: 100, 90: 10}, LONG, False, 40, (30, 1)),
    ],
)
def test_more_passes_may_want_more_hyperplanes(number, wrong, a_pass, many, seconds, found):
    class Longer:
        n_steps: ClassVar = dict.fromkeys((8, 30, 90, 270), 1)

        def longer(self, settings):
            n_wrong = wrong[settings["n_hyperplanes"]]
            return Trial({**settings, "alpha": settings["alpha"] / 3}, n_wrong, 1000)

        def seconds_of(self, trial):
            return seconds

    clf, caution = MultiplaneClassifier(), {"n_hyperplanes": (1.5, 0.0 if many else 1.0)}
    clf.trials_, clf._work = [], 1.0
    best = Trial({"n_hyperplanes": number, "alpha": 6.0}, 200, 1000)
    ways = {"n_hyperplanes": [1, 2, 8, 30, 90, 270]}
    search = Search(ways, None, None, caution, deadline=time.perf_counter() + 100)
    chosen = clf._or_longer(best, search, Longer(), a_pass)
    assert (chosen.settings["n_hyperplanes"], round(6 / chosen.settings["alpha"])) == found
    assert clf._work == (1.0 if found[1] == 1 else 3 * _multiplane._WORK)


def test_longer_and_shorter_trials_are_of_the_same_rows(few_passes, monkeypatch):
    """Although the shorter one was tested on all, because the linear model came near."""
    seen, asked = [], []

    def longer(self, found, search, trials, a_pass):
        seen.append((found.n_tested, trials.longer(found.settings).n_tested))
        return found

    def or_linear(self, best, search, trials, more):
        asked.append(trials.further(best))
        return asked[-1]

    monkeypatch.setattr(MultiplaneClassifier, "_or_longer", longer)
    monkeypatch.setattr(MultiplaneClassifier, "_or_linear", or_linear)
    random = np.random.RandomState(0)
    X, y = random.standard_normal((6000, 5)), random.randint(2, size=6000)
    MultiplaneClassifier(alpha=1e-4, scale="uniform", random_state=0).fit(X, y)
    assert asked[0].n_tested == 6000
    assert seen == [(1500, 1500)]


@pytest.mark.parametrize("unit", [1e-4, 10.0, 1e4])
def test_weights_have_no_unit(unit):
    X, y = make_checkerboard(4, 4, n=8000, random_state=0)
    weight = np.where(np.arange(6000) % 3, 0.8, 1.4)
    models = [
        MultiplaneClassifier(random_state=0).fit(X[:6000], y[:6000], sample_weight=w)
        for w in (weight, unit * weight)
    ]
    assert models[0].settings_ == models[1].settings_
    assert abs(models[0].score(X[6000:], y[6000:]) - models[1].score(X[6000:], y[6000:])) < 0.005
    assert models[1].score(X[6000:], y[6000:]) > 0.98
    heavy = MultiplaneClassifier(random_state=0, class_weight={0: unit, 1: unit})
    assert heavy.fit(X[:6000], y[:6000]).score(X[6000:], y[6000:]) > 0.98
    stream = MultiplaneClassifier(random_state=0)
    for i in range(0, 6000, 500):
        rows = slice(i, i + 500)
        stream.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=np.full(500, unit))
    assert stream.score(X[6000:], y[6000:]) > 0.93


def test_rare_classes_do_not_count_as_many_hyperplanes(few_passes, monkeypatch):
    seen = []
    monkeypatch.setattr(
        MultiplaneClassifier,
        "_may_want_more",
        lambda self, found, a_pass, once: seen.append((found.settings, a_pass)),
    )
    random = np.random.RandomState(0)
    y = np.r_[random.randint(2, size=2000), np.repeat(np.arange(2, 52), 12)]
    X = random.standard_normal((len(y), 4))
    MultiplaneClassifier(30, alpha=1e-4, random_state=0).fit(X, y)
    ((_, a_pass),) = seen
    assert a_pass == len(y) * (2 * 30 + 50) * 5


def test_early_stopping_waits_for_small_steps():
    X, y = make_checkerboard(3, 3, n=4000, random_state=0)
    clf = MultiplaneClassifier(random_state=0, n_hyperplanes=30, alpha=1e-6, early_stopping=True)
    clf.fit(X, y)
    assert clf.n_iter_ > 50
    assert clf.score(X, y) > 0.97


def test_features_far_from_zero():
    random = np.random.RandomState(0)
    X = random.random_sample((2000, 2))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    X[:, 0] = 1.7e9 + 1800 * X[:, 0]  # seconds: half an hour in fifty years
    with pytest.warns(UserWarning, match="column 0 lies 3e\\+06 standard deviations from zero"):
        clf = MultiplaneClassifier(random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.9
    X[:, 0] = 1e9  # nothing is lost of what does not vary
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiplaneClassifier(random_state=0, scale="uniform").fit(X, y)


def test_trials_know_of_weights():
    random = np.random.RandomState(0)
    X = random.randn(1500, 2)
    y = ((X**2).sum(axis=1) < 0.2).astype(int)  # a rare class in the middle
    clf = MultiplaneClassifier(random_state=0, class_weight="balanced").fit(X, y)
    assert clf.score(X[y == 1], y[y == 1]) > 0.9
    assert clf.score(X, y) > 0.9
    # Wrong labels of little weight disturb no trial.
    y = (X[:, 0] > 0).astype(int)
    weight = np.where(random.rand(1500) < 0.45, 1e-3, 1.0)
    clf.set_params(class_weight=None).fit(X, np.where(weight < 1, 1 - y, y), sample_weight=weight)
    assert min(trial["error"] for trial in clf.trials_) < 0.01


def test_a_stream_goes_on_from_a_fit():
    X, y = problem(n=1000, n_classes=4)
    known = y < 3
    clf = MultiplaneClassifier(random_state=0, **FIXED).fit(X[known], y[known])
    assert clf._training.learner.rate == 1
    for _ in range(30):
        clf.partial_fit(X, y, allow_new_classes=True)
    assert clf.score(X[y == 3], y[y == 3]) > 0.1  # the average remembers for long


def test_many_equal_rows():
    """Their distance to a centre is zero, which must not make hyperplanes infinitely sharp."""
    X, y = problem(n=400)
    X = np.concatenate([X, np.zeros((600, X.shape[1]), np.float32)])
    y = np.concatenate([y, np.zeros(600, int)])
    clf = MultiplaneClassifier(random_state=0, **FIXED).fit(X, y)
    assert clf.score(X, y) > 0.9
    assert np.abs(clf.coef_).max() < 1e3


@pytest.mark.parametrize("extreme", [{"alpha": 1e-12}, {"alpha": 1e3}, {"step": 1e-6}])
def test_extreme_settings(extreme):
    X, y = problem(n=200)
    clf = MultiplaneClassifier(random_state=0, **{**FIXED, **extreme}).fit(X, y)
    assert np.isfinite(clf.coef_).all()


def test_weights_and_rows_beyond_float32(short_opening):
    X, y = problem(n=300)
    clf = stream(X * np.float32(1e-12), y, [0, 300])
    before = state(clf)
    with pytest.raises(ValueError, match="weights"):
        clf.partial_fit(X * np.float32(1e-12), y, sample_weight=np.full(300, 1e30))
    with pytest.raises(ValueError, match="beyond 1e15"):
        clf.partial_fit(X * np.float32(1e12), y)
    assert state(clf) == before


def test_bad_rows_leave_a_stream_as_it_was(short_opening):
    X, y = problem(n=300)
    for first in (20, 280):
        clf = stream(X[:first], y[:first], [0, first])
        before = state(clf)
        bad = X[:5].copy()
        bad[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            clf.partial_fit(bad, y[:5])
        with pytest.raises(ValueError, match="classes"):
            clf.partial_fit(X[:5], np.array([0, 1, 2, 9, 1]))
        assert state(clf) == before
