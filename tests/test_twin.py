"""Kind 1: the native learner against a short NumPy twin. On whole numbers they must be equal."""

import numpy as np
import pytest
from helpers import VARIANTS, integers, native_rows
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from twin import Twin

from multiplane import _native

WIDTHS = [1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 513]
KINDS = ["dense", "csr32", "csr64"]


def pair(n_features, n_classes, *, per_class=0, **config):
    """A native learner and its twin, with `per_class` hyperplanes for every class."""
    defaults = dict(bias=1.0, lam=0.01, adaptive=per_class == 0, ball_projection=False,
                    average=False, growth=0.0, growth_decay=0.9, seed=5)  # fmt: skip
    config = defaults | config | {"n_features": n_features, "n_classes": n_classes}
    learner, twin = _native.Learner(**config), Twin(**config)
    for code in np.repeat(np.arange(n_classes), per_class):
        assert learner.add_hyperplane(int(code)) == twin.ids[twin.add(int(code))]
    return learner, twin


def assert_equal(learner, twin):
    state = learner.__getstate__()
    np.testing.assert_array_equal(state["owner"], twin.owner)
    np.testing.assert_array_equal(state["ids"], twin.ids)
    np.testing.assert_array_equal(state["U"], twin.U)
    assert (state["t"], state["n_ids"], state["growth"]) == (twin.t, twin.n_ids, twin.growth)


def learn_both(learner, twin, X, y, kind="dense", weight=None, z=None, obey=False):
    """One call each; counts and assignments are compared, too."""
    names = ("updates", "mistakes", "created", "duplicated", "loss")
    before = {name: getattr(twin, name) for name in names}
    theirs = None if z is None else z.copy()
    twin.learn(X, y, weight, theirs, obey)
    w = None if weight is None else np.asarray(weight, dtype=np.float32)
    ours = learner.learn(native_rows(X, kind), y, weight=w, z=z, obey=obey)
    for name in names[:-1]:
        assert ours[name] == getattr(twin, name) - before[name], name
    # Sums of float64, one in Python and one in C++, term by term in the same order.
    assert ours["loss"] == pytest.approx(twin.loss - before["loss"], rel=1e-12, abs=1e-12)
    assert ours["rows"] == len(y)
    assert ours["weight"] == (len(y) if weight is None else np.sum(weight))
    if z is not None:
        np.testing.assert_array_equal(z, theirs)
    assert_equal(learner, twin)


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zeros", [0.1, 0.9])
def test_equal_for_every_width_and_kind_of_rows(simd, d, kind, zeros):
    X, y = integers(90, d, 4, seed=d, zeros=zeros)
    learner, twin = pair(d, 4, growth=0.3)
    learn_both(learner, twin, X, y, kind)
    learn_both(learner, twin, X[::-1], y[::-1].copy(), kind)
    assert twin.created > 1
    assert 0 < twin.updates < twin.t - 1  # rows of both sorts have been met


# Tiles hold 16 hyperplanes, the last one 4 or 8 where these are enough.
NUMBERS = [*range(1, 26), 31, 32, 33, 36, 37, 40, 41, 47, 48, 49, 63, 64, 65, 85, 100, 129]


@pytest.mark.parametrize("m", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zeros", [0.3, 0.8])
def test_equal_for_every_number_of_hyperplanes(simd, m, kind, zeros):
    """A row of another class for each, then whatever the owners are."""
    X, y = integers(80, 40, 3, seed=m, zeros=zeros)
    learner, twin = pair(40, 3, adaptive=True)
    for k in range(m):
        code = k * 7 % 3
        learner.add_hyperplane(code)
        twin.add(code)
    learn_both(learner, twin, X, y, kind)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("m", [3, 5, 9, 17, 21, 25, 40, 50])
def test_equal_when_lanes_go_and_come(m, average):
    """Tiles get fewer and narrower ones wider; what is left of those that went must not be seen."""
    random = np.random.RandomState(m)
    X, y = integers(60, 33, 4, seed=m)
    learner, twin = pair(33, 4, per_class=(m + 3) // 4, growth=0.0, average=average)
    for _ in range(6):
        learn_both(learner, twin, X, y)
        lanes = np.flatnonzero(random.random_sample(len(twin.owner)) < 0.6)
        learner.keep(lanes)
        twin.keep(lanes)
        learn_both(learner, twin, X, y)
        for code in range(random.randint(12)):
            learner.add_hyperplane(code % 4)
            twin.add(code % 4)
        np.testing.assert_allclose(learner.snapshot().weights, twin.W(), rtol=1e-3, atol=5e-3)


@pytest.mark.parametrize("m", NUMBERS)
def test_the_best_of_every_number_of_hyperplanes(simd, m):
    """Prediction, by all roads: scores of whole numbers are exact."""
    random = np.random.RandomState(m)
    W, owner = random.randint(-9, 10, (m, 71)), np.arange(m) % 5
    planes = _native.Hyperplanes(W.astype(np.float32), owner.astype(np.int32), 1.0)
    np.testing.assert_array_equal(planes.weights, W)
    for kind, zeros in [(kind, zeros) for kind in KINDS for zeros in (0.1, 0.9)]:
        X, _ = integers(50, 70, 5, seed=m, zeros=zeros)
        scores = np.c_[X, np.ones(50)] @ W.T
        best = np.stack([scores[:, owner == c].max(axis=1) for c in range(min(m, 5))], axis=1)
        got = planes.decision(native_rows(X, kind), 5, 1)
        np.testing.assert_array_equal(got[:, : best.shape[1]], best)


def test_equal_with_rows_of_both_sorts_in_turn(simd):
    """Dense arrays go through the non-zeros where it pays: full rows, empty rows, mixed."""
    for seed in range(10):
        X, y = integers(120, 70, 3, seed=seed, zeros=0.0)
        random = np.random.RandomState(seed)
        sparse = random.random_sample(120) < 0.6
        X[sparse] *= random.random_sample((sparse.sum(), 70)) < 0.1
        learn_both(*pair(70, 3, growth=0.1, lam=1e-3), X, y)


@pytest.mark.parametrize("seed", range(30))
def test_growth_pruning_and_weights(seed):
    random = np.random.RandomState(seed)
    n_classes, d = random.randint(2, 6), random.randint(1, 40)
    learner, twin = pair(d, n_classes, growth=0.8, growth_decay=0.95, seed=random.randint(2**31),
                         lam=10.0 ** -random.randint(0, 5))  # fmt: skip
    removed = []
    for part in range(6):
        X, y = integers(40, d, n_classes, seed=100 * seed + part)
        weight = random.choice([0, 0.25, 0.5, 1, 2, 3], size=40)  # exact in binary
        learn_both(learner, twin, X, y, weight=weight)
        c = [0, 1, 5, 10, 30, 100][part]
        removed.append(learner.prune(c))
        assert removed[-1] == twin.prune(c)
        assert_equal(learner, twin)
    assert sum(removed) > 0
    assert twin.duplicated > 0


def test_splitmix_seeds_are_told_apart():
    X, y = integers(100, 10, 3, seed=0)
    sizes = []
    for seed in (0, 1, 2**31 - 2, 2**63):
        learner, twin = pair(10, 3, growth=0.5, growth_decay=1.0, seed=seed)
        learn_both(learner, twin, X, y)
        sizes.append(twin.U.tobytes())
    assert len(set(sizes)) == 4


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_recorded_and_given_assignments(adaptive, seed):
    """Algorithm 1 of AMM, by hand: an online pass that records z, then passes that obey it."""
    X, y = integers(60, 9, 3, seed=seed)
    learner, twin = pair(9, 3, per_class=0 if adaptive else 2, growth=0.2)
    z = np.full(60, -1, dtype=np.int32)
    learn_both(learner, twin, X, y, z=z)
    assert z.min() >= 0
    for _ in range(3):
        learn_both(learner, twin, X, y, z=z, obey=True)
        assert learner.prune(4.0) == twin.prune(4.0)  # pruned ids come back to life
        learn_both(learner, twin, X, y, z=z, obey=True)
        z = learner.assign(native_rows(X, "csr32"), y)
        scores = np.c_[X, np.ones(60)] @ twin.U.T
        for i, code in enumerate(y):
            own = np.flatnonzero(np.array(twin.owner) == code)
            best = own[np.argmax(scores[i, own])] if len(own) else -1
            reserve = best < 0 or (adaptive and scores[i, best] <= 0)
            assert z[i] == (-1 if reserve else twin.ids[best])
        for code in np.unique(y[z < 0]):
            reserved = learner.reserved_id(int(code))
            assert learner.reserved_id(int(code)) == reserved == twin.reserved_id(code)
            z[(z < 0) & (y == code)] = reserved


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.0])
def test_constant_feature(bias):
    X, y = integers(80, 6, 3, seed=3)
    learner, twin = pair(6, 3, bias=bias)
    learn_both(learner, twin, X, y)
    assert (twin.U[:, -1] != 0).any() == (bias != 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("adaptive", [True, False])
def test_average_against_the_plain_sum(seed, adaptive):
    """The twin adds up t³ U⁽ᵗ⁺¹⁾; native keeps C and V, the latter in float32."""
    X, y = integers(300, 12, 3, seed=seed)
    learner, twin = pair(12, 3, per_class=0 if adaptive else 2, average=True, growth=0.05)
    learn_both(learner, twin, X[:150], y[:150])
    assert learner.prune(8.0) == twin.prune(8.0)
    learn_both(learner, twin, X[150:], y[150:])
    # V is a sum of `updates` terms of at most C |x|, each rounded once when cast and once when
    # added, so |error of V| ≤ 2 · updates · 2⁻²⁴ · C Σ|x|; C U − V and the division are float64.
    C = np.sum(np.arange(1.0, twin.t) ** 3)
    total = np.abs(np.c_[X, np.ones(len(X))]).sum(axis=0)
    bound = 2 * twin.updates * 2.0**-24 * C * total / twin.A_weight
    weights = learner.snapshot().weights
    assert np.all(np.abs(weights - twin.W()) <= bound)
    # The bound is sharp enough to tell: the typical weight is a thousand times as large.
    assert np.abs(twin.W()).mean() > 300 * bound.mean()


def test_average_over_a_long_stream():
    """30,000 steps: sums are rescaled on the way, and float32 in V stays harmless."""
    X, y = integers(2000, 5, 3, seed=1)
    learner, twin = pair(5, 3, average=True, lam=1e-3)
    rows, order = native_rows(X, "dense"), np.random.RandomState(0).randint(2000, size=30_000)
    learner.learn(rows, y, order=order.astype(np.int64))
    twin.learn(X[order], y[order])
    assert_equal(learner, twin)
    # Rounding errors of n additions grow like √n · 2⁻²⁴ ≈ 1e-5 of the largest weight.
    largest = np.abs(twin.W()).max()
    np.testing.assert_allclose(learner.snapshot().weights, twin.W(), rtol=0, atol=1e-4 * largest)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("lam", [1.0, 0.1, 1e-2, 1e-4])
def test_ball_projection(average, lam):
    X, y = integers(200, 8, 3, seed=2)
    learner, twin = pair(8, 3, per_class=1, ball_projection=True, average=average, lam=lam)
    weight = np.random.RandomState(0).choice([0.5, 1, 2], size=200)
    twin.learn(X, y, weight)
    learner.learn(native_rows(X, "dense"), y, weight=weight.astype(np.float32))
    # No whole numbers here: projection multiplies. 200 float32 additions keep six digits.
    W = twin.W()
    np.testing.assert_allclose(learner.snapshot().weights, W, rtol=0, atol=1e-5 * np.abs(W).max())


def assert_rows_one_by_one_give_the_same(learners, X, y, kind):
    """Blocks are a matter of speed alone: the same bits."""
    together, alone = learners
    together.learn(native_rows(X, kind), y)
    for i in range(len(y)):
        alone.learn(native_rows(X[i : i + 1], kind), y[i : i + 1])
    for name, value in together.__getstate__().items():
        np.testing.assert_array_equal(value, alone.__getstate__()[name], err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [60, 333])  # more tiles than are scored again at once
@pytest.mark.parametrize("seed", range(3))
def test_blocks_with_ball_projection(kind, m, seed):
    """The factor of the projection is multiplied into all hyperplanes now and then, within a block
    too."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((400, 40)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int32) + 2 * (random.random_sample(400) < 0.05).astype(np.int32)
    X[random.random_sample(400) < 0.1] *= 30  # long rows: steps far out of the ball
    planes = _native.Hyperplanes(random.standard_normal((m, 41)).astype(np.float32),
                                 (np.arange(m) % 4).astype(np.int32), 1.0)  # fmt: skip
    learners = [pair(40, 4, per_class=1, ball_projection=True)[0] for _ in range(2)]
    for learner in learners:
        learner.start(planes, 100)
    assert_rows_one_by_one_give_the_same(learners, X, y, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sharing", [0.0, 2.0])
def test_blocks_in_which_classes_appear(kind, sharing):
    """The first hyperplane of a class may open a tile, of which no scores are known yet: that of
    the last row of a block, for which there is no room either."""
    random = np.random.RandomState(0)
    X = random.standard_normal((900, 12)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int32)
    late = np.arange(60, 900, 15)  # far apart, so that blocks are long again
    y[late] = 2 + np.arange(len(late))
    planes = np.zeros((16, 13), np.float32)
    planes[:, 0] = np.where(np.arange(16) % 2, 50.0, -50.0)
    starts = _native.Hyperplanes(planes, (np.arange(16) % 2).astype(np.int32), 1.0)
    n_classes = int(y.max()) + 1
    learners = [
        pair(12, n_classes, per_class=1, average=True, sharing=sharing)[0] for _ in range(2)
    ]
    for learner in learners:
        learner.start(starts, 100)
    assert_rows_one_by_one_give_the_same(learners, X, y, kind)
    assert len(learners[0]) == 16 + len(late)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("growth", [0.0, 0.9])
def test_blocks_in_which_hyperplanes_are_born(kind, growth):
    """Most rows are easy, so that blocks are long; some have another label, so that there are
    births."""
    random = np.random.RandomState(1)
    X = random.standard_normal((4000, 10)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int32)
    X[:, 0] += np.where(y, 1, -1)
    y[random.random_sample(4000) < 0.1] = 2
    learners = [pair(10, 3, average=True, growth=growth, growth_decay=0.999)[0]
                for _ in range(2)]  # fmt: skip
    assert_rows_one_by_one_give_the_same(learners, X, y, kind)
    # A duplicate is then in another tile than what it is a copy of.
    assert len(learners[0]) > (64 if growth else 2)


@pytest.mark.parametrize("sharing", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_start_and_sharing(simd, sharing, kind):
    X, y = integers(300, 6, 4, seed=3, zeros=0.3)
    learner, twin = pair(6, 4, per_class=1, average=True, sharing=sharing)
    W = np.random.RandomState(1).randint(-3, 4, (7, 7)).astype(np.float32)
    owner = np.array([0, 0, 1, 2, 2, 2, 1], dtype=np.int32)  # the last class has none yet
    learner.start(_native.Hyperplanes(W, owner, 1.0), 400)
    twin.start(W.astype(float), owner, 400)
    assert learner.t == 1
    for rows in (slice(0, 120), slice(120, 300)):
        learner.learn(native_rows(X[rows], kind), y[rows])
        twin.learn(X[rows], y[rows])
        learner.rate = twin.rate = 0.5
    state = learner.__getstate__()
    assert (state["t"], state["t0"], learner.t) == (twin.t, 400, 301)
    assert 3 in twin.owner
    np.testing.assert_array_equal(state["owner"], twin.owner)
    # Shares are fractions of scores in float32, whose rounding comes back in the next scores.
    np.testing.assert_allclose(state["U"], twin.U, rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(learner.snapshot().weights, twin.W(), rtol=1e-3, atol=5e-3)

    learner.keep([0, 2, 3, 7])
    twin.keep([0, 2, 3, 7])
    state = learner.__getstate__()
    np.testing.assert_array_equal(state["ids"], twin.ids)
    np.testing.assert_array_equal(learner.class_counts, np.bincount(twin.owner, minlength=4))
    again = _native.Learner.__new__(_native.Learner)
    again.__setstate__(state)
    np.testing.assert_array_equal(again.snapshot().weights, learner.snapshot().weights)
    np.testing.assert_allclose(learner.snapshot().weights, twin.W(), rtol=1e-3, atol=5e-3)


@pytest.mark.parametrize("d", [1, 15, 40])
@pytest.mark.parametrize("m", [3, 8, 16, 20, 50])  # a narrow tile, a whole one, and several
def test_steps_shared_within_a_tile(simd, d, m):
    """Full rows change all lanes of a tile at once, the others one after the other: same bits."""
    random = np.random.RandomState(m)
    X = random.standard_normal((200, d)).astype(np.float32)
    y = random.randint(2, size=200).astype(np.int32)
    W = random.standard_normal((m, d + 1)).astype(np.float32)
    owner = np.sort(random.randint(2, size=m)).astype(np.int32)
    states = []
    for kind in ("dense", "csr32"):
        learner, twin = pair(d, 2, per_class=1, average=True, sharing=3.0)
        learner.start(_native.Hyperplanes(W, owner, 1.0), 400)
        learner.learn(native_rows(X, kind), y)
        states.append(learner.__getstate__())
    for name in ("U", "V"):
        np.testing.assert_array_equal(states[0][name], states[1][name])
    twin.start(W.astype(float), owner, 400)
    twin.learn(X.astype(float), y)
    assert twin.updates > 50
    # Where scores are nearly the same, rounding decides who gets more; a single step is 1.
    np.testing.assert_allclose(states[0]["U"], twin.U, atol=2e-2)


def test_sharing_without_a_margin_is_the_winners_alone():
    """At the first step the margin is zero in scaled space."""
    X, y = integers(1, 5, 3, seed=2)
    learner, twin = pair(5, 3, per_class=2, sharing=2.0)
    learn_both(learner, twin, X, y)


@pytest.mark.parametrize(
    "wrong", [{"adaptive": True}, {"ball_projection": True}, {"growth": 0.1}, {"sharing": -1.0}]
)
def test_sharing_is_for_a_fixed_number_of_hyperplanes(wrong):
    with pytest.raises(ValueError, match="share"):
        pair(5, 3, per_class=1, **{"sharing": 1.0, **wrong})
    learner, _ = pair(5, 3, per_class=1)
    with pytest.raises(ValueError, match="share"):
        learner.sharing = -1.0


@pytest.mark.parametrize("lanes", [[1, 0], [0, 0], [-1], [6]])
def test_keep_refuses_what_is_not_there(lanes):
    learner, _ = pair(5, 3, per_class=2)
    with pytest.raises(ValueError, match="lanes"):
        learner.keep(lanes)


def test_start_refuses_other_shapes():
    learner, _ = pair(5, 3, per_class=1)
    owner = np.zeros(2, np.int32)
    for planes, classes, t0, words in [
        (np.zeros((2, 5), np.float32), owner, 1, "width"),
        (np.zeros((2, 6), np.float32), owner + 3, 1, "class"),
        (np.zeros((2, 6), np.float32), owner, -1, "t0"),
    ]:
        with pytest.raises(ValueError, match=words):
            learner.start(_native.Hyperplanes(planes, classes, 1.0), t0)


def test_restart_begins_anew():
    X, y = integers(60, 5, 3, seed=4)
    learner, twin = pair(5, 3, per_class=2, average=True)
    learner.learn(native_rows(X[::-1], "dense"), y[::-1].copy())
    learner.restart()
    learn_both(learner, twin, X, y)


def whole_fit(clf, X, y, batch):
    """The estimator's fit once more, around the twin: the papers' outer loops."""
    random = np.random.RandomState(clf.random_state)
    twin = Twin(n_features=X.shape[1], bias=1.0, n_classes=3, lam=clf.alpha, average=False,
                adaptive=not hasattr(clf, "n_hyperplanes"), ball_projection=False,
                growth=getattr(clf, "growth", 0.0), growth_decay=getattr(clf, "growth_decay", 1.0),
                seed=random.randint(np.iinfo(np.int32).max))  # fmt: skip
    z, obey = np.full(len(y), -1) if batch else None, False
    if not twin.adaptive:  # MM: a random hyperplane of its class for each row
        n = clf.n_hyperplanes
        for lane in range(3 * n):
            twin.add(lane // n)
        z, obey = y * n + (random.random_sample(len(y)) * n).astype(int), True
    for number in range(clf.max_iter):
        # What the first, online pass recorded is the start of the second.
        obey = obey or (batch and number > 0)
        if batch and number > twin.adaptive:
            scores = np.c_[X, np.ones(len(X))] @ twin.U.T
            scores[y[:, None] != np.array(twin.owner)] = -np.inf
            z = np.array(twin.ids)[scores.argmax(axis=1)]
            without = scores.max(axis=1) <= (0 if twin.adaptive else -np.inf)
            for code in np.unique(y[without]):
                z[without & (y == code)] = twin.reserved_id(code)
        for i in random.permutation(len(y)):
            part = None if z is None else z[[i]]
            twin.learn(X[[i]], y[[i]], z=part, obey=obey)
            if z is not None:
                z[i] = part[0]
            if clf.prune_threshold is not None and (twin.t - 1) % clf.prune_every == 0:
                twin.prune(clf.prune_threshold)
    return twin


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["mm", "amm", "amm-batch", "gamm", "gamm-batch"])
def test_estimators_follow_the_papers(name, seed):
    """Shuffling, pruning every k steps, recording and choosing anew: three passes of each."""
    X, y = integers(100, 7, 3, seed=seed)
    clf = VARIANTS[name](alpha=0.1, average=False, max_iter=3, prune_every=70, random_state=seed)
    if name != "mm":
        clf.set_params(prune_threshold=5.0)
    twin = whole_fit(clf, X, y, batch=name not in ("amm", "gamm"))
    clf.fit(X, y)
    assert clf.n_iter_ == 3
    np.testing.assert_array_equal(clf.hyperplane_class_, twin.owner)
    np.testing.assert_array_equal(clf.coef_, twin.W()[:, :-1].astype(np.float32))
    np.testing.assert_array_equal(clf.intercept_, twin.W()[:, -1].astype(np.float32))


@st.composite
def awkward(draw):
    """A few rows with many zeros, ties and repetitions; some classes never appear."""
    n, d = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    values = st.integers(-2, 2)
    X = draw(hnp.arrays(np.float32, (n, d), elements=values, fill=st.just(0)))
    n_classes = draw(st.integers(1, 4))
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    weight = draw(
        st.none() | hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    )
    adaptive = draw(st.booleans())
    config = dict(
        lam=draw(st.sampled_from([1e-4, 0.1, 1.0, 30.0])),
        bias=draw(st.sampled_from([0.0, 1.0])),
        per_class=0 if adaptive else draw(st.integers(1, 9)),
        growth=draw(st.sampled_from([0.0, 0.5, 1.0])),
        seed=draw(st.integers(0, 2**64 - 1)),
    )
    return X, y, n_classes, weight, config, draw(st.sampled_from(KINDS)), draw(st.booleans())


@settings(max_examples=400)
@given(awkward())
@example((np.zeros((1, 1), np.float32), np.zeros(1, np.int32), 1, None,
          dict(lam=1.0, bias=0.0, per_class=0, growth=1.0, seed=0), "csr32", True))  # fmt: skip
def test_awkward_problems(arguments):
    X, y, n_classes, weight, config, kind, record = arguments
    learner, twin = pair(X.shape[1], n_classes, **config)
    z = np.full(len(y), -1, dtype=np.int32) if record else None
    learn_both(learner, twin, X, y, kind, weight, z)
    if record:
        learn_both(learner, twin, X, y, kind, weight, z, obey=True)
    assert learner.prune(2.0) == twin.prune(2.0)
    learn_both(learner, twin, X, y, kind, weight)
