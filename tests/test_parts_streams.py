"""Learners of streams on rows in several places: rounds of mixing."""

import io
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise

import helpers
import numpy as np
import pytest
import scipy.sparse as sp
from engines import Forgetful, Futures, cut
from helpers import VARIANTS, problem
from test_least_squares import Watcher

import multiplane
from multiplane.data import Block, DataError, Examples, Matrix
from multiplane.data._source import stack
from multiplane.estimators._parts import survey
from multiplane.estimators._rounds import (
    FEW,
    Exchange,
    Reading,
    Sample,
    Sampling,
    joined,
    learnt_share,
    sampled,
)
from multiplane.models import _container
from multiplane.models._container import ModelFileError
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.persistence._rounds import Rounds
from multiplane.solvers._engine import Here, Part, exchanges, groups, n_pieces
from multiplane.solvers._mixing import (
    BETWEEN_SEEDS,
    Best,
    Drawn,
    HyperplaneMixing,
    learner_of,
)

NAMES = ("pegasos", "pegasos-ball", "mm", "amm", "amm-batch", "gamm", "merge", "multiplane")
EVERY = pytest.mark.parametrize("name", NAMES)
RULES = pytest.mark.parametrize("rule", ["mean", "sum"])
ROUND = {"multiplane": "mean"}  # for those whose rounds are of one part, where all are meant


def new(name, **parameters):
    return VARIANTS[name](**{"random_state": 0, "max_iter": 2, **parameters})


def fitted(name, parts, engine=Here, rounds=3, mixing=None, **parameters):
    return new(name, **parameters)._fit_parts(engine(parts), rounds=rounds, mixing=mixing)


saved = partial(helpers.saved, training=True)  # the learner included


def events(clf, kind="round"):
    return [entry for entry in clf.history_ if entry["event"] == kind]


class Spy(Here):
    """Keeps what is sent to the parts in rounds."""

    def __init__(self, parts):
        super().__init__(parts)
        self.sent, self.only = [], []

    def run(self, local_step, state, *args, **options):
        found = super().run(local_step, state, *args, **options)
        if local_step is learnt_share:
            self.sent.append(state)
            self.only.append(options["only"])
            self.last = state.mixing.apply(state.learner, found)  # what comes of it
        return found


class Dying(Here):
    """Raises an error instead of the k-th run."""

    def __init__(self, parts, k, error=RuntimeError):
        super().__init__(parts)
        self.left, self.error = k, error

        self.n_rounds = 0

    def run(self, local_step, *args, **options):
        if not self.left:
            raise self.error("no more")
        self.left -= 1
        self.n_rounds += local_step is learnt_share
        return super().run(local_step, *args, **options)


# --- mixing: a twin --------------------------------------------------------------------------


def begun(name, n, **parameters):
    """The state of a learner that has seen some rows."""
    X, y = problem(n, seed=5)
    return new(name, max_iter=1, **parameters).fit(X, y)._training.learner.__getstate__()


def row_by_row(state, X, y):
    """U, and what is added to N = Σ (t − t0)³ U⁽ᵗ⁺¹⁾ and D = Σ (t − t0)³ λ t, by the definition."""
    learner, N, D = learner_of(state), np.zeros_like(state["U"], dtype=float), 0.0
    examples, U = Examples(Matrix(X), y.astype(np.int32)), state["scale"] * state["U"]
    for i in range(len(y)):
        t = state["t"] + i
        examples.learn(learner, np.array([i]))
        after = learner.__getstate__()
        U = after["scale"] * after["U"].astype(float)
        N = np.concatenate([N, np.zeros((len(U) - len(N), N.shape[1]))])
        N += (t - state["t0"]) ** 3 * U
        D += (t - state["t0"]) ** 3 * state["lam"] * t
    return U, N, D, learner.__getstate__()["owner"]


def mixed(rule, state, found, sizes):
    """The averaged model and U that the next round begins with."""
    m, lam = len(state["U"]), state["lam"]
    U0 = state["scale"] * state["U"].astype(float)
    W0 = HyperplaneModel.of(learner_of(state)).hyperplanes.weights.astype(float)
    D0 = sum(float(t - state["t0"]) ** 3 * lam * t for t in range(state["t0"] + 1, state["t"]))
    U, N, D = U0.copy(), W0 * D0, D0
    sums = rule == "sum"
    share = [1.0 if sums else n / sum(sizes) for n in sizes]
    for j in range(m):
        moved = [p for p, f in enumerate(found) if np.any(f[0][j] != U0[j])]
        total = 1 if sums else sum(sizes[p] for p in moved)
        for p in moved:
            U[j] += (found[p][0][j] - U0[j]) * (1 if sums else sizes[p]) / total
    for f, w in zip(found, share, strict=True):
        N[:m] += w * f[1][:m]
        D += w * f[2]
    U = np.concatenate([U, *(f[0][m:] for f in found)])
    N = np.concatenate([N, *(f[1][m:] for f in found)])
    steps = sum(sizes) if sums else -(-sum(n * n for n in sizes) // sum(sizes))
    t = state["t"] + steps
    if state["ball_projection"]:
        U *= min(1, np.sqrt(lam) * (t - 1) / np.linalg.norm(U))
    owner = np.concatenate([state["owner"], *(f[3][m:] for f in found)])
    return U, N / D, t, owner


@RULES
@pytest.mark.parametrize("name", ["pegasos", "pegasos-ball", "amm", "multiplane"])
@pytest.mark.parametrize("n", [0, 40])
def test_a_twin_of_the_mixing(name, rule, n):
    """Parts of 30, 60, 0 and 5 rows, from the beginning and from the middle of a training."""
    if n:
        state = begun(name, n)
    elif name == "multiplane":
        pytest.skip("it never begins with nothing")
    else:
        state = {**begun(name, 40), "t": 1, "scale": 1.0, "squared_norm": 0.0, "average_sum": 0.0,
                 "average_weight": 0.0}  # fmt: skip
        state |= {key: np.zeros_like(state[key]) for key in ("U", "V")}
        if name == "amm":  # all are still to be born
            state |= {k: state[k][:0] for k in ("U", "V", "owner", "ids")} | {"n_ids": 0}
    X, y = problem(95, seed=6)
    sizes, cuts = [30, 60, 0, 5], [0, 30, 90, 90, 95]
    rows = [slice(a, b) for a, b in pairwise(cuts)]
    mixing = HyperplaneMixing(4, rule)
    deltas = [
        mixing.local_step(
            state, Examples(Matrix(X[r]), y[r].astype(np.int32)), np.arange(len(y[r])), p
        )
        for p, r in enumerate(rows)
    ]
    after = mixing.apply(state, mixing.merge(deltas))
    found = [row_by_row(state, X[r], y[r]) for r in rows]
    U, W, t, owner = mixed(rule, state, found, sizes)
    assert after["t"] == t
    assert after["owner"].tolist() == owner.tolist()
    assert after["ids"].tolist() == [*state["ids"], *range(state["n_ids"], after["n_ids"])]
    close = {"rtol": 1e-4, "atol": 1e-4 * abs(U).max()}  # float32, up to 60 additions
    np.testing.assert_allclose(after["scale"] * after["U"], U, **close)
    weights = HyperplaneModel.of(learner_of(after)).hyperplanes.weights
    np.testing.assert_allclose(weights, W, rtol=1e-4, atol=1e-4 * abs(W).max())
    norm = np.sum(U**2)
    assert after["squared_norm"] == pytest.approx(norm, rel=1e-4)


@RULES
@pytest.mark.parametrize("name", ["pegasos", "mm", "amm", "gamm"])
def test_merges_in_trees(name, rule):
    state, mixing = begun(name, 60), HyperplaneMixing(20, rule)
    X, y = problem(600, seed=8)
    deltas = [
        mixing.local_step(
            state, Examples(Matrix(X[r]), y[r].astype(np.int32)), np.arange(len(y[r])), p
        )
        for p, r in enumerate(np.array_split(np.arange(600), 20))
    ]
    at_once = mixing.merge(deltas)
    for level in groups(len(deltas)):
        deltas = [mixing.merge(deltas[group]) for group in level]
    one, other = mixing.apply(state, at_once), mixing.apply(state, deltas[0])
    for key in ("t", "n_ids", "growth"):
        assert one[key] == other[key]
    for key in ("ids", "owner"):
        np.testing.assert_array_equal(one[key], other[key])
    for key in ("U", "V"):
        np.testing.assert_allclose(one[key], other[key], atol=1e-6 * abs(one[key]).max())


@pytest.mark.parametrize("rule", ["mean", "sum"])
def test_long_first_rounds_of_large_numbers_stay_in_float32(rule):
    """Weights of the average grow with the fourth power of the steps."""
    X, y = problem(120_000)
    parts = cut(X.astype(np.float32) * np.float32(5e13), y, [100_000])
    clf = fitted("pegasos", parts, mixing=rule, rounds=1, max_iter=1)
    assert np.isfinite(clf.coef_).all()
    assert clf.score(parts[0].rows.X, parts[0].rows.y) > 0.6


@RULES
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("pegasos", {}),
        ("pegasos-ball", {}),
        ("mm", {"n_hyperplanes": 1}),
        ("amm", {"prune_every": 300, "prune_threshold": 1.0}),
        ("amm-batch", {"max_iter": 1}),
        ("gamm", {}),
        ("merge", {}),
        ("multiplane", {}),
    ],
)
def test_one_part_learns_as_if_there_were_none(name, parameters, rule):
    X, y = problem()
    parameters = {"shuffle": False, "max_iter": 3, **parameters}
    whole = new(name, **parameters).fit(X, y)
    clf = fitted(name, [Part(0, Block(X, y))], rounds=1, mixing=rule, **parameters)
    assert clf.t_ == whole.t_
    assert len(clf._fitted_model()) == len(whole._fitted_model())
    want = whole.decision_function(X)
    # Rounding between passes, in float32.
    np.testing.assert_allclose(clf.decision_function(X), want, atol=2e-4 * abs(want).max())
    for a, b in zip(events(clf, "pass"), events(whole, "pass"), strict=True):
        assert {k: a[k] for k in a if k not in ("seconds", "loss")} == {
            k: b[k] for k in b if k not in ("seconds", "loss")
        }
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-4)


def test_a_hyperplane_that_nobody_moves_stays():
    state = begun("mm", 100)
    X, y = problem(20, seed=9)
    assigned = int(state["ids"][np.flatnonzero(state["owner"] == 0)[0]])

    def to_one(learner, examples):
        return np.full(len(examples), assigned, dtype=np.int32)

    mixing = HyperplaneMixing(2, "mean", to_one)
    of_zero = Examples(Matrix(X[y == 0]), np.zeros(int(np.sum(y == 0)), dtype=np.int32))
    rows = np.arange(len(of_zero))
    delta = mixing.merge([mixing.local_step(state, of_zero, rows, p) for p in (0, 1)])
    after = mixing.apply(state, delta)
    others = (state["owner"] == 0) & (state["ids"] != assigned)
    assert others.any()
    np.testing.assert_array_equal(after["U"][others], (state["scale"] * state["U"])[others])
    assert not np.array_equal(after["U"][assigned], state["U"][assigned])


@pytest.mark.parametrize("name", ["mm", "amm", "gamm"])
def test_identities_last(name):
    """Over rounds with births and prunings a hyperplane keeps its id, and no id comes twice."""
    X, y = problem(600)
    engine = Spy(cut(X, y, [100, 350]))
    clf = new(name, prune_every=300, prune_threshold=20.0)._fit_parts(engine, rounds=4)
    assert clf.history_[-1]["pruned"] > 0
    states = [share.learner for share in engine.sent]
    for before, after in pairwise(states):
        owners = dict(zip(before["ids"], before["owner"], strict=True))
        for i, owner in zip(after["ids"], after["owner"], strict=True):
            assert owners.get(i, owner) == owner
            assert i in owners or i >= before["n_ids"]


# --- the same bytes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def executor():
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        yield executor


@EVERY
def test_the_engine_does_not_matter(name, executor):
    """Whether parts remember, and where they are; the same parts serve several trainings."""
    X, y = problem()
    parts = cut(X, y, [50, 50, 51, 210])
    clf = fitted(name, parts)
    assert clf.score(X, y) > 0.55
    expected = saved(clf)
    assert saved(fitted(name, parts)) == expected
    assert saved(fitted(name, parts, Forgetful)) == expected
    assert saved(fitted(name, parts, lambda parts: Futures(executor, parts))) == expected
    assert saved(fitted(name, parts, random_state=1)) != expected


@EVERY
def test_nothing_of_an_earlier_training_is_left(name):
    X, y = problem()
    clf = new(name).fit(X[:, :5], y == 0)
    clf._fit_parts(Here(cut(X, y, [100])), rounds=3)
    assert saved(clf) == saved(fitted(name, cut(X, y, [100])))


def test_random_assignments_depend_on_the_seed():
    """Without shuffling there is nothing else that could."""
    X, y = problem()
    one, two = (
        fitted("mm", cut(X, y, [100]), shuffle=False, max_iter=1, random_state=seed)
        for seed in (0, 1)
    )
    assert not np.array_equal(one.coef_, two.coef_)


# --- cuts ------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("cuts", [[], [1], [0, 0, 299], [300], range(10, 300, 17)])
@pytest.mark.parametrize("ordered", [False, True])
def test_any_cut(name, cuts, ordered):
    """Empty parts, parts of one row, of one class, without a class; labels that are words."""
    X, y = problem(seed=3)
    order = np.argsort(y, kind="stable") if ordered else np.arange(300)
    words = np.array(["b", "a", "cc"], dtype=object)[y[order]]
    clf = fitted(name, cut(X[order], words, cuts), max_iter=4)
    assert clf.classes_.tolist() == ["a", "b", "cc"]
    # One class after the other in one part is as hard on one machine.
    assert clf.score(X[order], words) > 0.5
    assert np.isfinite(clf.decision_function(X)).all()
    assert clf.n_features_in_ == 7


@EVERY
def test_empty_parts_do_not_matter(name):
    """Nor of what kind they are, nor whether they come first."""
    X, y = problem()
    words, weight = np.array(["b", "a", "cc"], dtype=object)[y], np.ones(300)
    more = {"growth": 0.0} if name == "gamm" else {}  # which falls by the number of parts
    rule, few = ROUND.get(name), [part.rows for part in cut(X, words, [150], weight)]
    nothing = [Block(np.zeros((0, 0)), words[:0], None), Block(X[:0], np.zeros(0), weight[:0])]
    one, other, third = (
        fitted(name, [Part(i, rows) for i, rows in enumerate(blocks)], Here, 3, rule, **more)
        for blocks in (few, few + nothing, nothing + few)
    )
    assert saved(one) == saved(other)
    assert third.t_ == pytest.approx(one.t_, rel=0.02)  # parts have other seeds
    assert third.score(X, words) > 0.55


@pytest.mark.parametrize("name", ["pegasos", "mm", "amm-batch", "merge", "multiplane"])
def test_sparse_parts_of_unequal_width(name):
    X, y = problem()
    X[abs(X) < 1] = 0
    X[:100, 5:] = 0
    whole, wide = sp.csr_matrix(X), sp.csr_matrix(X.astype(np.float64))
    parts = [
        Part(0, Block(np.zeros((0, 0)), y[:0])),
        Part(1, Block(sp.csr_matrix(X[:100, :5]), y[:100])),
        Part(2, Block(wide[100:], y[100:])),
    ]
    clf = fitted(name, parts)
    same = fitted(name, [parts[0], Part(1, Block(whole[:100], y[:100])),
                         Part(2, Block(whole[100:], y[100:]))])  # fmt: skip
    assert clf.n_features_in_ == 7
    assert saved(clf) == saved(same)
    assert clf.score(whole, y) > 0.5


@EVERY
def test_rows_of_float64(name):
    X, y = problem()
    cuts = [100, 130]
    assert saved(fitted(name, cut(X.astype(np.float64), y, cuts))) == saved(
        fitted(name, cut(X, y, cuts))
    )


# --- weights ---------------------------------------------------------------------------------


@EVERY
def test_rows_of_weight_zero_are_not_learnt(name):
    X, y = problem()
    random = np.random.RandomState(0)
    weight = random.randint(3, size=300) * 0.7
    nothing = weight == 0
    other, labels = X.copy(), y.copy()
    other[nothing] = random.randn(int(nothing.sum()), 7) * 50
    labels[nothing] = 1
    one = fitted(name, cut(X, y, [100, 101], weight))
    assert saved(one) == saved(fitted(name, cut(other, labels, [100, 101], weight)))
    assert one._training.tally.rows == 2 * np.count_nonzero(weight)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 2.0, "cc": 0.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_the_plain_class(class_weight, weighted):
    X, y = problem()
    words = np.array(["b", "a", "cc"])[np.where(np.arange(300) % 4, y, 0)]
    weight = np.random.RandomState(1).randint(3, size=300) * 0.7 if weighted else None
    engine = Spy(cut(X, words, [20, 250], weight))
    clf = new("amm", class_weight=class_weight)._fit_parts(engine, rounds=2)
    found = [engine.sent[-1].reading.examples(part).weight for part in engine.parts]
    want = clf._weights(weight, Matrix(X), X, words, clf.classes_)
    if want is None:
        assert found == [None] * 3
    else:
        np.testing.assert_array_equal(np.concatenate(found), want)


@EVERY
def test_weights_that_are_refused(name):
    X, y = problem()
    parts = cut(X, y, [100])
    with pytest.raises(ValueError, match="classes that are not in y"):
        fitted(name, parts, class_weight={7: 1.0})
    for weight in (np.zeros(300), np.full(300, 1e-60)):
        with pytest.raises(ValueError, match="above zero"):
            fitted(name, cut(X, y, [100], weight))
    with pytest.raises(ValueError, match="above zero"):
        fitted(name, parts, class_weight={0: 0, 1: 0, 2: 0})
    bad = np.ones(300)
    bad[130] = -1
    with pytest.raises(DataError, match=r"partition 1: .* not negative, got -1.0 at row 30"):
        fitted(name, cut(X, y, [100], bad))
    bad[130] = 1e35
    with pytest.raises(DataError, match=r"partition 1: .*leave float32; scale the weights"):
        fitted(name, cut(X, y, [100], bad))


def test_a_large_constant_feature_counts():
    X, y = problem()
    with pytest.raises(ValueError, match="leave float32"):
        fitted("pegasos", cut(X, y, [100], np.full(300, 1e10)), intercept_scaling=9e14)


# --- bad rows and parameters -----------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("sparse", [False, True])
def test_bad_rows_are_named(name, sparse):
    X, y = problem()
    for value, words in (
        (np.nan, "NaN"),
        (-np.inf, "infinity"),
        (1e16, "a value beyond 1e15"),
        (1e300, "infinity or a value too large for float32"),
    ):
        bad = X.astype(np.float64)
        bad[217, 3] = value
        rows = sp.csr_matrix(bad) if sparse else bad
        clf = new(name)
        with pytest.raises(DataError, match=f"partition 2: Input X contains {words} at row 17"):
            clf._fit_parts(Here(cut(rows, y, [100, 200])), rounds=3)
        assert vars(clf) == vars(new(name))


def test_kernel_values_that_are_too_large():
    X, y = problem()
    X[250] *= 1e10
    kernel = {"kernel": "poly", "gamma": 1.0, "degree": 4, "maintenance": "remove"}
    with pytest.raises(DataError, match="partition 1: kernel='poly' has values up to"):
        fitted("merge", cut(X, y, [200]), **kernel)


@EVERY
def test_what_is_refused(name):
    X, y = problem()
    parts = cut(X, y, [100])
    with pytest.raises(ValueError, match="early_stopping=True needs X_val and y_val"):
        fitted(name, parts, early_stopping=True)
    with pytest.raises(ValueError, match="needed together"):
        new(name)._fit_parts(Here(parts), X_val=X)
    with pytest.raises(ValueError, match="contains only one class: 0"):
        fitted(name, cut(X, np.zeros(300, int), [100]))
    with pytest.raises(ValueError, match="max_iter"):
        fitted(name, parts, max_iter=0)
    with pytest.raises(ValueError, match="all partitions are empty"):
        fitted(name, cut(X[:0], y[:0], [0]))
    with pytest.raises(ValueError, match="one label a row"):
        fitted(name, cut(X, np.eye(3)[y], [100]))


def test_who_cannot_learn_in_several_places():
    X, y = problem()
    with pytest.raises(NotImplementedError, match="ProjectronClassifier cannot"):
        multiplane.ProjectronClassifier()._fit_parts(Here(cut(X, y, [100])))


# --- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "attribute"),
    [
        ("amm", {"alpha": "auto"}, "alpha_"),
        ("merge", {"alpha": "auto", "gamma": "auto"}, "alpha_"),
        ("merge", {"gamma": "auto"}, "gamma_"),
        ("merge", {"gamma": "scale"}, "gamma_"),
        ("multiplane", {"alpha": "auto", "n_hyperplanes": "auto"}, "settings_"),
        ("multiplane", {"max_iter": "auto"}, "n_iter_"),
    ],
)
def test_what_is_found_is_what_one_machine_finds(name, parameters, attribute):
    """A sample of few rows is all of them, but for those of weight zero."""
    X, y = problem(150)
    weight = (np.arange(150) % 3 > 0).astype(float)
    whole = new(name, **parameters).fit(X, y, sample_weight=weight)
    clf = fitted(name, cut(X, y, [70, 71], weight), rounds=1, **parameters)
    assert getattr(clf, attribute) == getattr(whole, attribute)


def test_rows_in_their_order():
    X, y = problem(200)
    engine = Spy(cut(X, y, [80]))
    new("pegasos", shuffle=False)._fit_parts(engine, rounds=3)
    orders = [part.memory["order"][1] for part in engine.parts]
    assert [order.tolist() for order in orders] == [list(range(80)), list(range(120))]
    new("pegasos")._fit_parts(engine, rounds=3)
    shuffled = [part.memory["order"][1] for part in engine.parts]
    assert [sorted(order) for order in shuffled] == [list(range(80)), list(range(120))]
    assert shuffled[0].tolist() != list(range(80))
    assert [len(part.memory) for part in engine.parts] == [2, 2]  # of the last training alone


def test_a_pass_has_no_more_rounds_than_rows():
    X, y = problem(40)
    clf = fitted("gamm", cut(X, y, [30]), rounds=100)
    assert [entry["round"] for entry in events(clf)] == [*range(1, 31)] * 2


def test_few_rows_have_few_rounds():
    """A round of Dask's takes as long as thousands of rows."""
    X, y = problem(640)
    for name, mixing, first in (("amm", None, 11), ("gamm", None, 41), ("amm", "sum", 41)):
        clf = fitted(name, cut(X, y, [300]), rounds=None, mixing=mixing, max_iter=1)
        assert len(events(clf)) == first


def test_rounds_of_sums_get_fewer():
    X, y = problem(600)
    clf = fitted("gamm", cut(X, y, [300]), rounds=100, max_iter=4)
    assert [sum(e["n_iter"] == k for e in events(clf)) for k in (1, 2, 3, 4)] == [100, 50, 33, 32]
    clf = fitted("gamm", cut(X, y, [300]), rounds=100, max_iter=2, mixing="mean")
    assert len(events(clf)) == 200


# --- hyperplanes -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 4])
@RULES
def test_growth_falls_with_each_duplication(n_parts, rule):
    X, y = problem(800)
    clf = fitted("gamm", cut(X, y, [200, 400, 600][: n_parts - 1]), mixing=rule, growth_decay=0.9)
    n = clf._training.tally.duplicated
    assert n > 10
    assert clf._training.learner.growth == pytest.approx(0.2 * 0.9**n)
    assert clf._training.learner.__getstate__()["growth_decay"] == 0.9


def test_a_part_among_many_duplicates_less():
    """All together are to make p fall as one would."""
    state = begun("gamm", 40, growth=0.5, growth_decay=0.9)
    X, y = problem(400, seed=4)
    examples = Examples(Matrix(X), y.astype(np.int32))
    one, many = (
        HyperplaneMixing(n).local_step(state, examples, np.arange(400), 0).counts["duplicated"]
        for n in (1, 20)
    )
    assert one > 3 * many > 0


def test_how_rows_are_assigned():
    X, y = problem()
    for name, ways in (
        ("mm", [Drawn(), Best()]),
        ("amm-batch", [None, Best()]),
        ("amm", [None] * 2),
    ):
        engine = Spy(cut(X, y, [100]))
        new(name)._fit_parts(engine, rounds=2)
        assert [share.mixing.assign for share in engine.sent] == [w for w in ways for _ in (1, 2)]


@pytest.mark.parametrize("name", ["amm", "gamm"])
def test_pruning_is_due_by_rows(name):
    """Everything goes when it is due, after the round in which so many rows of all parts are full;
    rounds have 100 rows."""
    X, y = problem(300)
    clf = fitted(name, cut(X, y, [90, 210]), prune_every=250, prune_threshold=1e9, max_iter=4)
    alive = [entry["hyperplanes"] > 0 for entry in events(clf)]
    due = [(100 * k) // 250 > (100 * k - 100) // 250 for k in range(1, 13)]
    assert alive == [not d for d in due]
    assert clf.history_[-1]["pruned"] > 0
    never = fitted(name, cut(X, y, [90, 210]), prune_every=250, prune_threshold=None)
    assert never.history_[-1]["pruned"] == 0


def test_random_assignments_after_a_pruning():
    """In the middle of the first pass: rows still go to hyperplanes of their own class."""
    X, y = problem(600)
    parameters = {"n_hyperplanes": 20, "prune_every": 100, "prune_threshold": 3.0}
    clf = fitted("mm", cut(X, y, [300]), rounds=6, max_iter=1, **parameters)
    assert 0 < clf.history_[0]["pruned"] < clf.history_[-1]["pruned"]
    assert clf.history_[-1]["created"] == 0  # no row was sent to one that is gone
    assert clf.score(X, y) > 0.6


@RULES
def test_the_ball(rule):
    X, y = problem()
    parameters = {"alpha": 0.05, "average": False, "ball_projection": True}
    clf = fitted("pegasos", cut(X * 30, y, [100, 200]), mixing=rule, rounds=2, **parameters)
    norm = np.sqrt(np.sum(clf.coef_.astype(float) ** 2) + np.sum(clf.intercept_.astype(float) ** 2))
    assert norm <= 1 / np.sqrt(0.05) * (1 + 1e-6)
    free = {**parameters, "ball_projection": False}
    clf = fitted("pegasos", cut(X * 30, y, [100, 200]), mixing=rule, rounds=2, **free)
    assert np.linalg.norm(clf.coef_) > 1 / np.sqrt(0.05)


# --- history, progress, stopping -------------------------------------------------------------


@EVERY
def test_history(name):
    X, y = problem()
    clf = new(name, max_iter=3)._fit_parts(
        Here(cut(X[:240], y[:240], [100, 100])),
        rounds=2,
        mixing=ROUND.get(name),
        X_val=X[240:],
        y_val=y[240:],
    )
    assert [e["event"] for e in clf.history_] == ["round", "round", "pass"] * 3
    assert [e["n_iter"] for e in clf.history_] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [e["round"] for e in events(clf)] == [1, 2] * 3
    t = [e["t"] for e in clf.history_]
    assert t == sorted(t)
    assert t[-1] == clf.t_
    assert all(0 <= e[k] <= 1 for e in clf.history_ for k in ("error", "updates"))
    assert all(e["loss"] >= 0 for e in clf.history_)
    alone = fitted(name, cut(X[:240], y[:240], [100, 100]), Here, 2, ROUND.get(name), max_iter=3)
    assert np.array_equal(clf.decision_function(X), alone.decision_function(X))
    scores = [e["validation_score"] for e in events(clf, "pass")]
    assert len(set(scores)) > 1
    assert not any("validation_score" in e for e in events(clf))
    if name != "multiplane":  # which drops what never wins, at the end
        assert scores[-1] == clf.score(X[240:], y[240:])
    assert (clf.n_iter_, clf.stop_reason_) == (3, "max_iter")
    assert clf._training.tally.rows == 3 * 240
    for one, two, whole in zip(*[iter(clf.history_)] * 3, strict=True):
        # of 120 rows each: a pass is met as its rounds are
        assert whole["error"] == pytest.approx((one["error"] + two["error"]) / 2)
        assert whole["loss"] == pytest.approx((one["loss"] + two["loss"]) / 2)


@pytest.mark.parametrize("name", ["amm", "merge"])
def test_long_histories_are_joined(name, monkeypatch, tmp_path):
    X, y = problem()
    parts = cut(X, y, [100])
    whole = fitted(name, parts, rounds=20, max_iter=3)
    monkeypatch.setattr("multiplane.estimators._monitor._LONGEST_HISTORY", 20)
    clf = fitted(name, parts, rounds=20, max_iter=3)
    assert len(clf.history_) <= 20 + 3
    assert len(events(clf, "pass")) == 3
    t = [e["t"] for e in clf.history_]
    assert t == sorted(t)
    last = [max(e["round"] for e in events(clf) if e["n_iter"] == k) for k in (1, 2, 3)]
    assert last == [20] * 3
    assert events(clf, "pass")[-1]["error"] == events(whole, "pass")[-1]["error"]
    multiplane.report(clf, (X, y), tmp_path / "report.html")
    assert "learnt from in 60 rounds." in (tmp_path / "report.html").read_text()
    # Least squares has rounds that are no parts of passes.
    calibrated = multiplane.CalibratedLeastSquaresClassifier(max_iter=30, tol=0).fit(X, y)
    assert len(calibrated.history_) == 30


@pytest.mark.parametrize("name", ["amm", "merge"])
def test_lines(name, capsys):
    X, y = problem()
    parts = cut(X, y, [100])
    fitted(name, parts)
    assert capsys.readouterr().out == ""
    fitted(name, parts, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    label = type(new(name)).__name__
    assert [line.split("  ")[0] for line in lines] == [f"[{label}] pass {k}/2" for k in (1, 2)]
    fitted(name, parts, verbose=2)
    lines = capsys.readouterr().out.replace("\r", "").splitlines()
    heads = ["  ".join(line.split("  ")[:2]) for line in lines]
    assert [head for head in heads if "round" in head] == [
        f"[{label}] pass {k}/2  round {r}/3" for k in (1, 2) for r in (1, 2)
    ]
    assert len(lines) == 6
    assert all("error" in line and line.endswith(" s") for line in lines)


@EVERY
def test_a_callback_stops_after_a_pass(name):
    X, y = problem()
    watcher = Watcher(stop_after=2)
    clf = new(name, max_iter=4).set_callbacks(watcher)._fit_parts(Here(cut(X, y, [100])), rounds=2)
    assert watcher.ends == ["pass", "pass", "fit"]
    assert (clf.n_iter_, clf.stop_reason_) == (2, "callback")
    if name != "multiplane":  # which drops what never wins
        last = watcher.models[-1]
        assert np.array_equal(last.decision_function(X), clf.decision_function(X))


def test_callbacks_stay_here(executor):
    """They need not be picklable."""
    X, y = problem()
    watcher = Watcher()
    watcher.hook = lambda: None
    clf = new("multiplane").set_callbacks(watcher)
    clf._fit_parts(Futures(executor, cut(X, y, [100])), rounds=2)
    assert watcher.ends == ["pass", "pass", "fit"]


@EVERY
def test_ctrl_c_leaves_the_last_round(name):
    X, y = problem()
    parts = cut(X, y, [100])
    before = 2 if name == "multiplane" else 1  # runs before the first round
    clf = new(name, max_iter=4)
    dying = Dying(parts, before + 5, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt, match="is fitted with what was learnt in"):
        clf._fit_parts(dying, rounds=3, mixing=ROUND.get(name))
    assert (clf.n_iter_, clf.stop_reason_) == (1, "interrupted")
    assert [e["event"] for e in clf.history_] == ["round"] * 3 + ["pass"] + ["round"] * 2
    assert clf.t_ == clf.history_[-1]["t"]
    assert clf.score(X, y) > 0.5
    if name == "multiplane":  # a stream that goes on makes whole steps
        assert (clf._training.learner.rate, clf._training.learner.sharing) == (1.0, 2.0)
    clf.partial_fit(X, y)
    clf = new(name)
    with pytest.raises(KeyboardInterrupt):
        clf._fit_parts(Dying(parts, 0, KeyboardInterrupt), rounds=3)
    assert vars(clf) == vars(new(name))


def test_early_stopping():
    X, y = problem(400)
    parameters = {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 50, "tol": 0.01}
    clf = new("amm", **parameters)
    clf._fit_parts(Here(cut(X[:200], y[:200], [90])), rounds=2, X_val=X[200:], y_val=y[200:])
    assert clf.stop_reason_ == "validation score no longer improves"
    assert clf.n_iter_ < 50


# --- chains ----------------------------------------------------------------------------------


@EVERY
def test_a_chain_is_one_learner_that_goes_from_part_to_part(name):
    """Each row once a pass, as if they all were in one place, but for the order."""
    X, y = problem()
    engine = Spy(cut(X, y, [100, 100, 130]))
    clf = new(name, max_iter=3)._fit_parts(engine, rounds=2, mixing="chain")
    assert [e["round"] for e in events(clf)] == [*range(1, 9)] * 3
    assert clf._training.tally.rows == 3 * 300
    assert clf.score(X, y) > 0.6
    seen = [state.learner["t"] for state in engine.sent]
    assert engine.last["t"] - seen[0] == 3 * 300  # all steps are one learner's
    assert np.diff(seen).max() <= 300 / 8 + 2
    for visit in np.array(engine.only).reshape(6, 4).tolist():
        assert sorted(visit) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["pegasos", "amm", "gamm", "merge", "multiplane"])
def test_a_chain_learns_as_one_machine_does(name):
    """The learner that met the same rows in the same order, without going anywhere."""
    X, y = problem()
    parameters = {"prune_threshold": None} if name in ("amm", "gamm") else {}
    engine = Spy(cut(X, y, [100, 100, 130]))
    clf = new(name, max_iter=1, **parameters)._fit_parts(engine, rounds=2, mixing="chain")
    now, kind = engine.sent[0].learner, type(clf._training.learner)
    for state, only in zip(engine.sent, engine.only, strict=True):
        part, seed = engine.parts[only], engine.sent[0].learner["seed"]
        rows = np.random.RandomState([state.seed, 0, only]).permutation(part.rows.n_rows)
        a, b = (len(rows) * k // 2 for k in (state.number, state.number + 1))
        if name != "merge":
            seed = (seed + only * BETWEEN_SEEDS) % 2**64
        changing = {k: state.learner[k] for k in ("rate", "sharing") if k in now}
        learner = kind.__new__(kind)
        learner.__setstate__({**now, "seed": seed, **changing})
        state.reading.examples(part).learn(learner, rows[a:b])
        now = learner.__getstate__()
    assert engine.last["t"] == now["t"]
    for key in ("vectors", "coef") if name == "merge" else ("U",):
        found, expected = (s.get("scale", 1.0) * s[key] for s in (engine.last, now))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_rows_are_exchanged():
    """Each is in one part, and each part has some of all, in proportion; sparse ones too."""
    X, y = problem(400)
    weight = np.arange(400) + 1.0
    words = np.array(["b", "a", "cc"])[y]
    for rows in (X, sp.csr_matrix(X)):
        engine = Here(cut(rows, words, [200, 200, 300, 301], weight))
        parts = engine.parts
        reading = Reading(7, np.array(["a", "b", "cc"]), None)
        engine.exchange(Exchange.split, Exchange(reading, 5, 0), joined)
        assert [part.number for part in engine.parts] == [0, 1, 2, 3, 4]
        place = np.concatenate([part.rows.sample_weight for part in engine.parts]).astype(int) - 1
        assert sorted(place) == list(range(400))
        found = stack([part.rows for part in engine.parts])
        assert abs(found.X - rows[place]).max() == 0
        np.testing.assert_array_equal(found.y, words[place])
        for part in engine.parts:
            assert abs(part.rows.n_rows - 80) <= 2
            assert 39 <= np.sum(part.rows.sample_weight <= 200) <= 41
        again = Here(parts)
        again.exchange(Exchange.split, Exchange(reading, 5, 1), joined)
        assert not np.array_equal(again.parts[0].rows.y, engine.parts[0].rows.y)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 100, 1000])
def test_as_many_pieces_come_as_go(n):
    tables = list(exchanges(n))
    assert len(tables) == (1 if n <= 32 else 2)
    for found in tables:
        k = n_pieces(n)
        assert all(len(route) == k for route in found)
        assert np.all(np.bincount(np.concatenate(found), minlength=n) == k)
        if n <= 32:
            assert all(sorted(route) == list(range(n)) for route in found)
    assert len(tables) == 1 or tables[0] != tables[1]


@pytest.mark.parametrize(("n_parts", "period"), [(24, 2), (64, 2), (96, 3), (112, 7)])
def test_parts_in_turns_are_mixed(n_parts, period):
    """Files of alternating classes, or one a day: each part has some of all afterwards."""
    y = np.arange(n_parts) % period
    parts = [Part(i, Block(np.ones((64, 1)), np.full(64, y[i]))) for i in range(n_parts)]
    engine = Here(parts)
    reading = Reading(1, np.arange(period), None)
    engine.exchange(Exchange.split, Exchange(reading, n_parts, 0), joined)
    shares = [np.bincount(part.rows.y, minlength=period) / 64 for part in engine.parts]
    assert np.mean([share.max() for share in shares]) < 1 / period + 0.1
    assert max(share.max() for share in shares) < 1 / period + 0.25


def test_a_chain_without_shuffling_goes_in_order():
    X, y = problem()
    engine = Spy(cut(X, y, [100, 220]))
    fitted("amm", engine.parts, lambda _: engine, mixing="chain", shuffle=False)
    assert engine.only == [0, 1, 2] * 6
    assert [part.rows.n_rows for part in engine.parts] == [100, 120, 80]
    np.testing.assert_array_equal(engine.parts[1].rows.X, X[100:220])


def test_visits_are_for_the_parts_as_they_become():
    """All rows come in one part."""
    X, y = problem(200)
    nothing = [Part(i, Block(X[:0], y[:0])) for i in range(1, 10)]
    clf = fitted("amm", [Part(0, Block(X, y)), *nothing], rounds=100, mixing="chain", max_iter=1)
    assert len(events(clf)) == 10 * 20
    assert clf._training.tally.rows == 200


def test_fewer_rows_than_parts():
    X, y = problem(60)
    parts = [Part(i, Block(X[i : i + 1], y[i : i + 1])) for i in range(20)]
    parts += [Part(i, Block(X[:0], y[:0])) for i in range(20, 50)]
    clf = fitted("amm", parts, mixing="chain")
    assert clf._training.tally.rows == 2 * 20


def test_errors_tell_of_parts_as_they_came():
    X, y = problem()
    X[207, 3] = np.nan
    with pytest.raises(DataError, match="partition 2: Input X contains NaN at row 7, column 3"):
        fitted("amm", cut(X, y, [100, 200]), mixing="chain")
    X = X.astype(np.float64)
    X[207, 3] = 1e39  # which is not seen before it becomes float32
    with pytest.raises(DataError, match=r"partition 2: .* at row 7, column 3"):
        fitted("amm", cut(X, y, [100, 200]), mixing="chain")


# --- checkpoints -----------------------------------------------------------------------------


@pytest.mark.parametrize("mixing", [None, "chain"])
@EVERY
def test_a_training_that_was_broken_off_goes_on(name, mixing, tmp_path):
    """After each run of the engine, with the bytes of one that was not."""
    X, y = problem()
    parts = cut(X, y, [100, 100])
    more = {"prune_every": 150, "prune_threshold": 1.0} if name in ("mm", "amm", "gamm") else {}
    expected = saved(fitted(name, parts, rounds=2, mixing=mixing, **more))
    loaded = multiplane.load(io.BytesIO(expected))
    n_rounds = 12 if "chain" in (mixing, new(name)._mixing_rule) else 4
    n_runs = n_rounds + (3 if name == "multiplane" else 1)
    options = {"rounds": 2, "mixing": mixing}
    for k in range(n_runs):
        checkpoint = Rounds(tmp_path / str(k), [300])
        dying, engine = Dying(parts, k), Dying(parts, n_runs)
        with pytest.raises(RuntimeError, match="no more"):
            new(name, **more)._fit_parts(dying, checkpoint=checkpoint, **options)
        clf = new(name, **more)._fit_parts(engine, checkpoint=checkpoint, **options)
        assert saved(clf) == expected
        assert np.array_equal(clf.decision_function(X), loaded.decision_function(X))
        assert dying.n_rounds + engine.n_rounds == n_rounds  # none is made twice
    again = new(name, **more)._fit_parts(None, checkpoint=checkpoint)  # there is nothing left to do
    assert saved(again) == expected
    assert (again.n_iter_, again.t_, again.stop_reason_) == (clf.n_iter_, clf.t_, "max_iter")


def test_early_stopping_counts_passes_before_a_break(tmp_path):
    X, y = problem(400)
    data = {"X_val": X[200:], "y_val": y[200:], "rounds": 2}
    make = lambda: new("amm", early_stopping=True, n_iter_no_change=3, max_iter=30)  # noqa: E731
    parts = cut(X[:200], y[:200], [90])
    whole = make()._fit_parts(Here(parts), **data)
    assert whole.n_iter_ < 30
    with pytest.raises(RuntimeError):
        make()._fit_parts(Dying(parts, 2 * whole.n_iter_ - 1), checkpoint=Rounds(tmp_path), **data)
    clf = make()._fit_parts(Here(parts), checkpoint=Rounds(tmp_path), **data)
    assert saved(clf) == saved(whole)


def test_another_training_is_refused(tmp_path):
    X, y = problem()
    parts = cut(X, y, [100])
    with pytest.raises(RuntimeError):
        new("amm")._fit_parts(Dying(parts, 3), rounds=3, checkpoint=Rounds(tmp_path, ["a"]))
    for clf, data, what in (
        (new("amm", alpha=1e-3), ["a"], "alpha"),
        (new("gamm"), ["a"], "estimator"),
        (new("amm"), ["b"], "rows"),
    ):
        with pytest.raises(ValueError, match=f"another training, which differs in .*{what}"):
            clf._fit_parts(Here(parts), checkpoint=Rounds(tmp_path, data))
    for other in (cut(X[:, :5], y, [100]), cut(X, y + 1, [100])):
        with pytest.raises(ValueError, match="the checkpoint is of a training with 7 features"):
            new("amm")._fit_parts(Here(other), checkpoint=Rounds(tmp_path, ["a"]))
    new("amm", verbose=0)._fit_parts(Here(parts), rounds=3, checkpoint=Rounds(tmp_path, ["a"]))


def test_a_corrupt_checkpoint(tmp_path):
    X, y = problem()
    parts, path = cut(X, y, [100]), tmp_path / "rounds.mpl"
    new("amm")._fit_parts(Here(parts), rounds=2, checkpoint=Rounds(tmp_path))
    whole = path.read_bytes()
    for bad in (whole[: len(whole) // 2], whole.replace(b"before", b"befoer"), b""):
        path.write_bytes(bad)
        clf = new("amm")
        with pytest.raises(ModelFileError, match=r"rounds\.mpl"):
            clf._fit_parts(Here(parts), checkpoint=Rounds(tmp_path))
        assert vars(clf) == vars(new("amm"))
    multiplane.save(new("amm").fit(X, y), path)
    with pytest.raises(ModelFileError, match="no checkpoint of a training in rounds"):
        new("amm")._fit_parts(Here(parts), checkpoint=Rounds(tmp_path))


@pytest.mark.parametrize(
    "change",
    [{"seed": -1}, {"round": -3}, {"n_iter": 10**30}, {"before": [1] * 5}, {"before": ["a"] * 9}],
)
def test_a_position_that_is_none(tmp_path, change):
    X, y = problem()
    parts, path = cut(X, y, [100]), tmp_path / "rounds.mpl"
    with pytest.raises(RuntimeError):
        new("amm")._fit_parts(Dying(parts, 3), rounds=3, checkpoint=Rounds(tmp_path))
    document, arrays = _container.read(path)
    document["rounds"]["position"] |= change
    _container.write(path, document, arrays)
    with pytest.raises(ModelFileError, match="its position is not one"):
        new("amm")._fit_parts(Here(parts), checkpoint=Rounds(tmp_path))
    document["rounds"]["position"] = None
    _container.write(path, document, arrays)
    with pytest.raises(ModelFileError, match="does not say where its training stands"):
        new("amm")._fit_parts(Here(parts), checkpoint=Rounds(tmp_path))


# --- the flagship ----------------------------------------------------------------------------


def test_a_sample_has_some_of_each_class():
    """As many as there are, or FEW, and not FEW for each part."""
    X, y = problem(4000)
    y[:] = np.where(y == 2, 1, y)
    y[np.r_[0:30, 2000:2060]] = 2
    y[3990:] = 3
    engine = Here(cut(X, y, range(200, 4000, 200)))
    classes = survey(engine, several=False).labels
    sample = engine.run(sampled, Sampling(Reading(7, classes, None), 0.05, 0), Sample.joined)
    counts = np.bincount(sample.y)
    assert FEW <= counts[2] <= FEW + 10  # those of the twentieth that was drawn anyway
    assert counts[3] == 10
    assert np.sum(~sample.extra) == 200
    assert 200 <= len(sample.y) <= 200 + FEW + 10
    rows = {row.tobytes(): code for row, code in zip(X, y, strict=True)}
    assert all(rows[row.tobytes()] == code for row, code in zip(sample.X, sample.y, strict=True))


def test_the_start_can_be_asked_again(executor):
    """As an engine does that lost the answer."""

    class Twice(Here):
        def run(self, local_step, state, merge, finish=None, **options):
            if finish is not None:
                super().run(local_step, state, merge, finish, **options)
            return super().run(local_step, state, merge, finish, **options)

    X, y = problem()
    parts = cut(X, y, [100])
    assert saved(fitted("multiplane", parts, Twice)) == saved(fitted("multiplane", parts))


def test_hyperplanes_that_win_nowhere_go(tmp_path):
    X, y = problem(900)
    X[:, 0] += 20 * (y == 2)  # one hyperplane is enough for it
    engine = Spy(cut(X, y, [300, 300, 310]))
    watcher = Watcher()
    clf = new("multiplane", n_hyperplanes=30, max_iter=6).set_callbacks(watcher)
    clf._fit_parts(engine, rounds=2)
    np.testing.assert_array_equal(clf.predict(X), watcher.models[-1].predict(X))
    before = len(engine.sent[-1].learner["owner"])
    winners = np.unique(clf.apply(X))
    lonely = [np.sum(clf.hyperplane_class_ == label) == 1 for label in clf.hyperplane_class_]
    assert clf.n_hyperplanes_ < before
    assert all(i in winners or lonely[i] for i in range(clf.n_hyperplanes_))
    assert set(clf.hyperplane_class_) == {0, 1, 2}
    multiplane.save(clf, tmp_path / "model.mpl")
    loaded = multiplane.load(tmp_path / "model.mpl")
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    seconds = [entry.pop("seconds") for entry in clf.history_]  # are not part of a model
    assert seconds == sorted(seconds)
    assert loaded.history_ == clf.history_


# --- reports ---------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize(("max_iter", "rounds"), [(1, 1), (1, 4), (3, 2), (12, 2)])
def test_a_report_shows_rounds(name, max_iter, rounds, tmp_path):
    X, y = problem(200)
    clf = new(name, max_iter=max_iter)
    engine = Here(cut(X[:150], y[:150], [50]))
    clf._fit_parts(engine, rounds=rounds, X_val=X[150:], y_val=y[150:])
    multiplane.report(clf, (X, y), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    n = max_iter * rounds * (2 if name == "multiplane" else 1)  # of one part each
    if n > 1:
        assert f"learnt from in {n} rounds." in page
        assert ("steps" in page) == (max_iter < 10)
        assert ">validation<" in page
