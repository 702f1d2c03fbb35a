"""Kind 1: the native kernel learner against a NumPy twin. On whole numbers they must be equal."""

import pickle

import numpy as np
import pytest
from helpers import integers, native_rows, problem
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_twin import KernelTwin

from multiplane import BudgetedPegasosClassifier, _native
from multiplane.datasets import stream_checkerboard

KINDS = ["dense", "csr32", "csr64"]
# Kernels that are whole numbers on whole numbers, and small enough for float32.
WHOLE = {
    "linear": dict(kernel="linear"),
    "square": dict(kernel="poly", gamma=1.0, coef0=1.0, degree=2),
    "cube": dict(kernel="poly", gamma=1.0, coef0=0.0, degree=3),
}
REAL = {
    "linear": dict(kernel="linear"),
    "poly": dict(kernel="poly", gamma=0.05, coef0=0.7, degree=3),
    "poly0": dict(kernel="poly", gamma=0.05, coef0=0.7, degree=0),
    "rbf": dict(kernel="rbf", gamma=0.1),
    "sigmoid": dict(kernel="sigmoid", gamma=0.02, coef0=0.1),
    "sigmoid-": dict(kernel="sigmoid", gamma=0.02, coef0=-0.5),  # k(x, x) may be negative
}


def pair(n_features, n_classes, **config):
    """A native learner and its twin."""
    defaults = dict(kernel="rbf", gamma=0.1, coef0=0.0, degree=3, lam=0.01, budget=15,
                    maintenance="remove", ball_projection=False, average=False, seed=5)  # fmt: skip
    config = defaults | config | {"n_features": n_features, "n_classes": n_classes}
    return _native.KernelLearner(**config), KernelTwin(**config)


def scaled(state):
    """U, from what the learner holds of it."""
    return state["coef"].astype(np.float64) * state["scale"]


def learn_both(learner, twin, X, y, kind="dense", weight=None, loss_rtol=1e-12):
    """One call each; counts are compared, and which vectors have stayed, in their order."""
    before = twin.updates, twin.mistakes, twin.loss
    twin.learn(X, y, weight)
    w = None if weight is None else np.asarray(weight, dtype=np.float32)
    ours = learner.learn(native_rows(X, kind), np.ascontiguousarray(y, np.int32), weight=w)
    state = learner.__getstate__()
    assert (ours["updates"], ours["mistakes"]) == (
        twin.updates - before[0],
        twin.mistakes - before[1],
    )
    # Whole numbers: sums of float64, term by term in the same order.
    assert ours["loss"] == pytest.approx(twin.loss - before[2], rel=loss_rtol, abs=1e-12)
    assert ours["rows"] == len(y)
    assert state["t"] == learner.t == twin.t
    np.testing.assert_array_equal(state["born"], twin.born)
    return state


def assert_equal(state, twin):
    np.testing.assert_array_equal(state["vectors"], twin.V)
    np.testing.assert_array_equal(scaled(state), twin.U)
    assert state["degradation"] == twin.degradation


# --- whole numbers: equal ------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 33, 257])
@pytest.mark.parametrize("zeros", [0.1, 0.9])
def test_equal_for_every_width_and_kind_of_rows(simd, d, kind, zeros):
    X, y = integers(90, d, 4, seed=d, zeros=zeros)
    learner, twin = pair(d, 4, kernel="linear", maintenance="random", budget=11)
    assert_equal(learn_both(learner, twin, X, y, kind), twin)
    assert_equal(learn_both(learner, twin, X[::-1], y[::-1], kind), twin)
    if zeros < 0.5 or d > 2:  # else hardly a row is left
        assert len(learner) == 11
        assert 0 < twin.updates < twin.t - 1  # rows of both sorts have been met


@pytest.mark.parametrize("kernel", WHOLE)
@pytest.mark.parametrize("maintenance", ["remove", "random"])
@pytest.mark.parametrize("budget", [0, 1, 2, 15, 16, 17, 33])
def test_equal_for_every_budget(simd, budget, maintenance, kernel):
    """0 is no budget. Tiles hold 16."""
    X, y = integers(150, 6, 3, seed=budget)
    learner, twin = pair(6, 3, maintenance=maintenance, budget=budget, **WHOLE[kernel])
    assert_equal(learn_both(learner, twin, X, y), twin)
    assert len(learner) == budget or budget == 0
    assert bool(twin.E) == bool(budget)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 6, 7, 8, 9, 20])
def test_equal_for_every_number_of_classes(n_classes):
    X, y = integers(120, 6, n_classes, seed=n_classes)
    learner, twin = pair(6, n_classes, budget=20, **WHOLE["linear"])
    assert_equal(learn_both(learner, twin, X, y), twin)
    assert bool(twin.updates) == (n_classes > 1)


@pytest.mark.parametrize("seed", range(10))
def test_equal_with_weights_and_in_parts(seed):
    random = np.random.RandomState(seed)
    learner, twin = pair(8, 3, budget=9, maintenance=["remove", "random"][seed % 2],
                         lam=10.0 ** -random.randint(0, 5), seed=random.randint(2**31),
                         **WHOLE["square"])  # fmt: skip
    for part in range(5):
        X, y = integers(30, 8, 3, seed=100 * seed + part)
        weight = random.choice([0, 0.25, 0.5, 1, 2, 3], size=30)  # exact in binary
        assert_equal(learn_both(learner, twin, X, y, KINDS[part % 3], weight), twin)
    assert len(twin.E) > 5


def test_equal_with_rows_of_both_sorts_in_turn(simd):
    """Dense arrays go through the non-zeros where it pays: full rows, empty rows, mixed."""
    for seed in range(5):
        X, y = integers(120, 70, 3, seed=seed, zeros=0.0)
        random = np.random.RandomState(seed)
        sparse = random.random_sample(120) < 0.6
        X[sparse] *= random.random_sample((sparse.sum(), 70)) < 0.1
        learner, twin = pair(70, 3, kernel="linear", budget=40, lam=1e-3)
        assert_equal(learn_both(learner, twin, X, y), twin)


def test_rows_in_another_order():
    X, y = integers(80, 5, 3, seed=1)
    order = np.random.RandomState(0).randint(80, size=200)
    learner, twin = pair(5, 3, maintenance="random", **WHOLE["linear"])
    learner.learn(native_rows(X, "dense"), y, order=order)
    twin.learn(X[order], y[order])
    assert_equal(learner.__getstate__(), twin)


def test_random_removal_follows_its_seed():
    X, y = integers(100, 10, 3, seed=0)
    kept = set()
    for seed in (0, 1, 2**31 - 2, 2**63):
        learner, twin = pair(10, 3, maintenance="random", seed=seed, **WHOLE["linear"])
        learn_both(learner, twin, X, y)
        kept.add(tuple(twin.born))
    assert len(kept) == 4


@st.composite
def awkward(draw):
    """A few rows with many zeros, ties and repetitions; some classes never appear."""
    n, d = draw(st.integers(1, 16)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(np.float32, (n, d), elements=st.integers(-2, 2), fill=st.just(0)))
    n_classes = draw(st.integers(1, 4))
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    weight = draw(
        st.none() | hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    )
    config = dict(
        lam=draw(st.sampled_from([1e-4, 0.1, 1.0, 30.0])),
        budget=draw(st.integers(0, 5)),
        maintenance=draw(st.sampled_from(["remove", "random"])),
        seed=draw(st.integers(0, 2**64 - 1)),
        **WHOLE[draw(st.sampled_from(sorted(WHOLE)))],
    )
    return X, y, n_classes, weight, config, draw(st.sampled_from(KINDS))


@settings(max_examples=300)
@given(awkward())
@example((np.zeros((1, 1), np.float32), np.zeros(1, np.int32), 2, None,
          dict(lam=1.0, budget=1, maintenance="remove", seed=0, **WHOLE["square"]),
          "csr32"))  # fmt: skip
def test_awkward_problems(arguments):
    X, y, n_classes, weight, config, kind = arguments
    learner, twin = pair(X.shape[1], n_classes, **config)
    assert_equal(learn_both(learner, twin, X, y, kind, weight), twin)
    assert_equal(learn_both(learner, twin, X[::-1], y[::-1], kind), twin)


# --- other numbers: to rounding ------------------------------------------------------------


@pytest.mark.parametrize("kernel", REAL)
@pytest.mark.parametrize("maintenance", ["remove", "random", None])
def test_kernels_with_removal(simd, kernel, maintenance):
    """Coefficients stay whole numbers: rows must only be judged alike."""
    X, y = problem(n=200)
    learner, twin = pair(7, 3, maintenance=maintenance or "remove",
                         budget=15 if maintenance else 0, **REAL[kernel])  # fmt: skip
    # A loss is 1 + gap / margin; a gap of 7 digits (float32) may be a hundred margins.
    state = learn_both(learner, twin, X, y, loss_rtol=1e-5)
    np.testing.assert_array_equal(state["vectors"], twin.V)
    np.testing.assert_array_equal(scaled(state), twin.U)
    assert state["degradation"] == pytest.approx(twin.degradation, rel=1e-6)
    assert np.isfinite(state["degradation"])


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("ball_projection", [False, True])
def test_projection(kernel, average, ball_projection):
    """Fewer vectors than dimensions for the linear kernel, whose matrix would be singular and say
    nothing about single coefficients."""
    X, y = problem(n=150)
    budget = 5 if kernel == "linear" else 15
    learner, twin = pair(7, 3, maintenance="project", average=average, budget=budget,
                         ball_projection=ball_projection, **REAL[kernel])  # fmt: skip
    state = learn_both(learner, twin, X, y, loss_rtol=1e-4)
    np.testing.assert_array_equal(state["vectors"], twin.V)
    # Kernel values of 7 digits, matrices of condition 100 at most: 5 digits at least.
    for ours, theirs in ((scaled(state), twin.U), (learner.snapshot().coef, twin.W())):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * abs(theirs).max())
    assert state["degradation"] == pytest.approx(twin.degradation, rel=1e-5)


@pytest.mark.parametrize(("budget", "gamma"), [(100, 0.5), (100, 2.0), (100, 8.0), (300, 2.0)])
def test_projection_where_float32_leaves_no_positive_matrix(budget, gamma):
    """Points in the plane: the least eigenvalue of their kernel matrix is 1e-10, and float32 makes
    -1e-6 of it. Coefficients became 1e30 and then NaN where the ridge was no larger than that."""
    X, y = next(stream_checkerboard(4, 4, n=6_000, block_size=6_000, random_state=0))
    X = np.sqrt(3, dtype=np.float32) * X  # standardised
    arguments = dict(maintenance="project", budget=budget, gamma=gamma, lam=1e-4)
    learner, _ = pair(2, 2, **arguments)
    learner.learn(native_rows(X, "dense"), y.astype(np.int32))
    state = learner.__getstate__()
    assert 1e-6 < state["memory"][-1] < 1e-3  # the ridge
    # A step has coefficients of 1; none of some thousand may leave thousands behind.
    assert abs(scaled(state)).max() < 1_000
    assert state["degradation"] < 0.1 * state["t"]
    # The ridge is part of the state.
    resumed, _ = pair(2, 2, **arguments)
    resumed.learn(native_rows(X[:3_000], "dense"), y[:3_000].astype(np.int32))
    resumed = pickle.loads(pickle.dumps(resumed))
    resumed.learn(native_rows(X[3_000:], "dense"), y[3_000:].astype(np.int32))
    assert resumed.__getstate__()["memory"].tobytes() == state["memory"].tobytes()


@pytest.mark.parametrize("maintenance", ["remove", "random", "project", None])
@pytest.mark.parametrize("lam", [0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("average", [False, True])
def test_ball_projection(maintenance, lam, average):
    X, y = problem(n=150)
    weight = np.random.RandomState(0).choice([0.5, 1, 2], size=150)
    budget = 15 if maintenance else 0
    learner, twin = pair(7, 3, lam=lam, ball_projection=True, average=average, budget=budget,
                         maintenance=maintenance or "remove")  # fmt: skip
    state = learn_both(learner, twin, X, y, weight=weight, loss_rtol=1e-5)
    # 150 steps, each of which rounds |U|² and the coefficients to 7 digits.
    for ours, theirs in ((scaled(state), twin.U), (learner.snapshot().coef, twin.W())):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * abs(theirs).max())
    assert state["degradation"] == pytest.approx(twin.degradation, rel=1e-5)
    assert twin.projected > 0


@pytest.mark.parametrize("maintenance", ["remove", "random", "project", "merge"])
def test_average_over_a_long_stream(maintenance):
    """500 steps, in which the sums are rescaled several times."""
    X, y = problem(n=500, d=3)
    # Weights keep merging away from pairs of equal size (see test_merging_in_a_row).
    weight = np.random.RandomState(0).uniform(0.5, 2, size=500).astype(np.float32)
    learner, twin = pair(3, 3, maintenance=maintenance, average=True, lam=1e-3, budget=8)
    state = learn_both(learner, twin, X, y, weight=weight, loss_rtol=1e-4)
    assert state["average_unit"] < 1e-6
    W = twin.W()
    # V is a float32 sum of some 400 terms that all went through maintenance.
    np.testing.assert_allclose(learner.snapshot().coef, W, rtol=0, atol=1e-3 * abs(W).max())


# --- merging -------------------------------------------------------------------------------


@pytest.mark.parametrize("ball_projection", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_merging_in_a_row(seed, ball_projection):
    """Twin and learner on their own for 120 rows. Weights keep them away from pairs of equal size
    at a certain distance, where the best h is about to jump and seven digits do not tell."""
    X, y = problem(n=120, seed=seed)
    weight = np.random.RandomState(seed).uniform(0.5, 2, size=120).astype(np.float32)
    learner, twin = pair(7, 3, maintenance="merge", average=True, budget=10,
                         ball_projection=ball_projection)  # fmt: skip
    state = learn_both(learner, twin, X, y, weight=weight, loss_rtol=1e-4)
    assert len(twin.E) > 30
    assert state["degradation"] == pytest.approx(twin.degradation, rel=1e-4)
    np.testing.assert_allclose(state["vectors"], twin.V, rtol=0, atol=1e-3)
    for ours, theirs in ((scaled(state), twin.U), (learner.snapshot().coef, twin.W())):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3 * abs(theirs).max())


@pytest.mark.parametrize(
    ("maintenance", "gamma"),
    [("merge", 0.01), ("merge", 0.1), ("merge", 1.0), ("merge-all", 0.1)],
)
def test_merging_step_by_step(simd, maintenance, gamma):
    """The twin starts each step from the learner's state, so that nothing adds up."""
    X, y = problem(n=80, seed=4)
    learner, twin = pair(7, 3, maintenance=maintenance, budget=7, gamma=gamma)
    same = merges = 0
    for i in range(80):
        before = learner.__getstate__()
        twin.V, twin.U = before["vectors"].astype(np.float64), scaled(before)
        twin.A, twin.born, twin.E = 0 * twin.U, before["born"].copy(), []
        twin.step(X[i].astype(np.float64), y[i], 1.0)
        learner.learn(native_rows(X[i : i + 1], "dense"), y[i : i + 1].astype(np.int32))
        after = learner.__getstate__()
        if not twin.E:
            np.testing.assert_array_equal(scaled(after), twin.U)
            continue
        merges += 1
        # Never better than the best, rounding to 7 digits excepted. The partner is looked for by
        # costs ‖Δ‖² after four steps towards the best h, at most 0.7 % above the least.
        lost = after["degradation"] - before["degradation"]
        assert twin.E[0] * (1 - 1e-5) <= lost <= twin.E[0] * 1.0035
        same += np.allclose(after["vectors"], twin.V, rtol=0, atol=1e-3) and np.allclose(
            scaled(after), twin.U, rtol=0, atol=1e-3 * abs(twin.U).max()
        )
    assert merges > 20
    assert same >= 0.9 * merges


def test_merging_beyond_float32(simd):
    """γ ‖x − v‖² is infinite in float32: all kernel values are 0, and merging is removal."""
    X, y = problem(n=80)
    X *= np.float32(1e12)
    merge, remove = (pair(7, 3, gamma=1e20, maintenance=m)[0] for m in ("merge", "remove"))
    for learner in (merge, remove):
        learner.learn(native_rows(X, "dense"), y.astype(np.int32))
    a, b = merge.__getstate__(), remove.__getstate__()
    assert a["degradation"] == b["degradation"] > 0
    # v_n + 0 (v_m − v_n), and whoever is removed has its place taken by the last one.
    np.testing.assert_array_equal(a["vectors"], b["vectors"])
    np.testing.assert_array_equal(a["coef"], b["coef"])


# --- the estimator around it ---------------------------------------------------------------


@pytest.mark.parametrize("maintenance", ["remove", "random", None])
def test_the_estimator_follows_the_paper(maintenance):
    """Seed, shuffled passes, labels and the scale of W: everything from scratch."""
    X, y = integers(100, 7, 3, seed=6)
    budget = 12 if maintenance else None
    clf = BudgetedPegasosClassifier(
        0.1, kernel="linear", budget=budget, maintenance=maintenance or "merge", average=False,
        ball_projection=False, max_iter=3, random_state=9,
    ).fit(X, np.array(["x", "y", "z"])[y])  # fmt: skip
    random = np.random.RandomState(9)
    _, twin = pair(7, 3, kernel="linear", gamma=1.0, budget=budget or 0, lam=0.1,
                   maintenance=maintenance or "remove", seed=random.randint(2**31 - 1))  # fmt: skip
    for _ in range(3):
        order = random.permutation(100)
        twin.learn(X[order], y[order])
    np.testing.assert_array_equal(clf.support_vectors_, twin.V)
    np.testing.assert_array_equal(clf.dual_coef_, twin.W().astype(np.float32))
    assert clf.degradation_ == twin.degradation / 300
    assert clf.t_ == twin.t
