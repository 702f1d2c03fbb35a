"""Theory: objectives against double loops, theorems against real training, tangents against data.

Where a paper's statement is false as printed, a test holds the counterexample.
"""

import doctest
import importlib
import math
import pkgutil
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiplane import (
    AMMClassifier,
    GAMMClassifier,
    MMClassifier,
    PegasosClassifier,
    theory,
)
from multiplane.datasets import make_checkerboard

FILES = list(pkgutil.iter_modules(theory.__path__, theory.__name__ + "."))


def test_public_names_exist_and_are_documented():
    here = {n for n in vars(theory) if not n.startswith("_")}
    assert theory.__all__ == sorted(here)
    for name in theory.__all__:
        assert len(getattr(theory, name).__doc__) > 70, name


def test_docstring_examples():
    results = [doctest.testmod(importlib.import_module(file.name)) for file in FILES]
    assert sum(r.attempted for r in results) >= 20  # a suite without examples would pass too
    assert sum(r.failed for r in results) == 0


# --- A. objectives ------------------------------------------------------------------------


def naive_loss(W, b, owner, x, y, z=None, reserve=False):
    """Eq. (4), or eq. (8) where z is given, one score at a time."""
    scores = [sum(w_f * x_f for w_f, x_f in zip(w, x, strict=True)) for w in W]
    scores = [s + b_j for s, b_j in zip(scores, b, strict=True)]
    zero = [0.0] if reserve else []
    own = max([s for s, k in zip(scores, owner, strict=True) if k == y] + zero)
    rival = max([s for s, k in zip(scores, owner, strict=True) if k != y] + zero)
    if z is not None:
        own = 0.0 if z < 0 else scores[z]
    return max(0.0, 1 + rival - own)


def random_machine(seed, m=9, d=4, n=37, n_classes=3):
    r = np.random.default_rng(seed)
    owner = np.concatenate([np.arange(n_classes), r.integers(n_classes, size=m - n_classes)])
    W, b = r.normal(size=(m, d)), r.normal(size=m)
    X, y = r.normal(size=(n, d)), r.integers(n_classes, size=n)
    z = np.array([r.choice(np.flatnonzero(owner == k)) for k in y])
    return W, b, owner, X, y, z


@pytest.mark.parametrize("reserve", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_objectives_are_those_of_a_double_loop(seed, reserve):
    W, b, owner, X, y, z = random_machine(seed)
    if reserve:
        z[::3] = -1
    lam, bias = 0.3, 0.5
    regulariser = lam / 2 * (sum(w**2 for w in W.ravel()) + sum((v / bias) ** 2 for v in b))
    rows = list(zip(X, y, strict=True))
    arguments = {
        "owner": owner,
        "alpha": lam,
        "intercept": b,
        "intercept_scaling": bias,
        "reserve": reserve,
    }
    losses = [naive_loss(W, b, owner, x, k, None, reserve) for x, k in rows]
    assert theory.objective(W, X, y, **arguments) == pytest.approx(
        regulariser + sum(losses) / len(losses), rel=1e-12
    )
    losses = [naive_loss(W, b, owner, x, k, j, reserve) for (x, k), j in zip(rows, z, strict=True)]
    assert theory.convex_objective(W, X, y, z, **arguments) == pytest.approx(
        regulariser + sum(losses) / len(losses), rel=1e-12
    )


@pytest.mark.parametrize("reserve", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_convex_objective_is_an_upper_bound_met_at_the_best_assignments(seed, reserve):
    W, b, owner, X, y, z = random_machine(seed)
    arguments = {"owner": owner, "intercept": b - 2, "reserve": reserve}
    P = theory.objective(W, X, y, alpha=0.1, **arguments)
    assert theory.convex_objective(W, X, y, z, alpha=0.1, **arguments) > P  # z is random
    best = theory.assignments(W, X, y, **arguments)
    assert theory.convex_objective(W, X, y, best, alpha=0.1, **arguments) == P
    assert (-1 in best) == reserve


def test_objective_does_not_depend_on_chunks_storage_labels_or_order(monkeypatch):
    W, b, owner, X, y, _ = random_machine(7)
    arguments = {"alpha": 0.1, "intercept": b}
    P = theory.objective(W, X, y, owner=owner, **arguments)
    # Products over other blocks may round otherwise in the last bits.
    near = pytest.approx(P, rel=1e-13)
    assert theory.objective(W, sp.csr_matrix(X), y, owner=owner, **arguments) == near
    assert theory.objective(W, sp.coo_array(X), y, owner=owner, **arguments) == near
    names = np.array(["pear", "an apple", "fig"])
    assert theory.objective(W, X, names[y], owner=names[owner], **arguments) == near
    assert theory.objective(W[::-1], X, y, owner=owner[::-1], alpha=0.1, intercept=b[::-1]) == near
    monkeypatch.setattr(theory._common, "CHUNK", 20)  # two rows at a time
    assert theory.objective(W, X, y, owner=owner, **arguments) == near


def test_label_types_are_not_cut_or_turned_into_numbers():
    # "apple" must not be cut to the "a" of owner's type, nor y = [] turn labels into floats.
    X, y = [[1.0], [1.0]], ["a", "apple"]
    P = theory.objective([[1.0]], X, y, owner=["a"], alpha=0, reserve=True)
    assert P == (0 + 2) / 2
    np.testing.assert_array_equal(theory.hyperplane_counts([[1.0]], owner=["a"]), [1])


@pytest.mark.parametrize(
    ("clf", "reserve"),
    [
        (PegasosClassifier(random_state=0), False),
        (MMClassifier(3, random_state=0), False),
        (AMMClassifier(random_state=0, intercept_scaling=0.3), True),
        (AMMClassifier(random_state=0, alpha="auto"), True),
        (GAMMClassifier(random_state=0, fit_intercept=False), True),
    ],
)
def test_objective_of_a_classifier(clf, reserve):
    X, y = make_checkerboard(2, 2, n=500, random_state=0)
    clf = clone(clf).fit(X, y)
    expected = theory.objective(
        clf.coef_,
        X,
        y,
        owner=clf.hyperplane_class_,
        alpha=clf.alpha_,
        intercept=clf.intercept_,
        intercept_scaling=clf.intercept_scaling,
        reserve=reserve,
    )
    assert theory.objective(clf, X, y) == expected
    constant = clf.intercept_ / np.float32(clf.intercept_scaling)
    norm = np.linalg.norm(np.column_stack([clf.coef_, constant]))
    assert theory.weight_norm(clf) == pytest.approx(norm, rel=1e-6)  # float32 sums
    assert theory.objective(clf, X, y, alpha=0) == pytest.approx(
        expected - clf.alpha_ / 2 * norm**2, rel=1e-5
    )
    counts = [np.sum(clf.hyperplane_class_ == k) + reserve for k in (0, 1)]
    np.testing.assert_array_equal(theory.hyperplane_counts(clf), counts)


def test_training_lowers_the_objective_to_that_of_liblinear():
    X, y = make_checkerboard(1, 2, n=400, random_state=0)
    X = np.column_stack([X, np.ones(len(X))])
    lam = 0.01
    svc = LinearSVC(
        C=1 / (lam * len(X)), multi_class="crammer_singer", fit_intercept=False, tol=1e-8
    ).fit(X, y)
    W = np.vstack([-svc.coef_, svc.coef_]) / 2  # two classes: one vector, their difference
    best = theory.objective(W, X, y, owner=[0, 1], alpha=lam)
    clf = PegasosClassifier(alpha=lam, max_iter=200, fit_intercept=False, random_state=0).fit(X, y)
    reached = theory.objective(clf, X, y)
    # Liblinear's is the minimum, to its tolerance; 200 passes of SGD come within a percent.
    assert best * (1 - 1e-6) <= reached <= best * 1.01


def test_no_hyperplanes_at_all_is_a_loss_of_one():
    W = np.zeros((0, 2))
    arguments = {"owner": np.zeros(0, dtype=int), "reserve": True}
    X, y = np.ones((3, 2)), [0, 1, 1]
    assert theory.objective(W, X, y, alpha=1.0, **arguments) == 1
    assert theory.convex_objective(W, X, y, [-1] * 3, alpha=1.0, **arguments) == 1
    np.testing.assert_array_equal(theory.assignments(W, X, y, **arguments), [-1] * 3)


def test_objective_says_what_is_wrong():
    W, X, y, owner = np.eye(2), np.eye(2), [0, 1], [0, 1]
    with pytest.raises(ValueError, match="needs owner="):
        theory.objective(W, X, y, alpha=1)
    with pytest.raises(ValueError, match="alpha"):
        theory.objective(W, X, y, owner=owner)
    with pytest.raises(ValueError, match="class 2 has rows but no hyperplane"):
        theory.objective(W, X, [0, 2], owner=owner, alpha=1)
    with pytest.raises(ValueError, match=r"\(2, 2\), got \(2, 3\)"):
        theory.objective(W, np.ones((2, 3)), y, owner=owner, alpha=1)
    with pytest.raises(ValueError, match=r"got \(2, 2\), \(3,\)"):
        theory.objective(W, X, y, owner=[0, 1, 1], alpha=1)
    with pytest.raises(ValueError, match="own classes; in row 1"):
        theory.convex_objective(W, X, y, [0, 0], owner=owner, alpha=1)
    with pytest.raises(ValueError, match="between 0 and 1, got -1 in row 1"):
        theory.convex_objective(W, X, y, [0, -1], owner=owner, alpha=1)
    with pytest.raises(ValueError, match="row numbers of W"):
        theory.convex_objective(W, X, y, [0.0, 1.0], owner=owner, alpha=1)
    with pytest.raises(NotFittedError):
        theory.objective(AMMClassifier(), X, y)
    with pytest.raises(TypeError, match="LinearSVC has no hyperplanes"):
        theory.objective(LinearSVC().fit(X, y), X, y)
    clf = AMMClassifier().fit(X, y)
    with pytest.raises(ValueError, match="brings its own"):
        theory.objective(clf, X, y, owner=owner)
    with pytest.raises(ValueError, match="got 7 in row 1"):
        theory.objective(clf, X, [0, 7])


# --- B. bounds ----------------------------------------------------------------------------


def test_regret_bounds_by_hand():
    # T = e³ would be 4/T: use ln(1) = 0 and ln(1000) = 6.907755.
    assert theory.regret_bound_amm(1, 0.5) == 16
    assert theory.regret_bound_amm(1000, 0.01) == pytest.approx(8 * 7.907755 / 10)
    assert theory.regret_bound_amm(1000, 0.01, version="sharp") == pytest.approx(4 * 0.7907755)
    # c = 2, k = 10, λ = 0.1, T = 1: (8 + 2)/0.1 + 2·6·2/1
    assert theory.regret_bound_pruned(1, 0.1, 2, 10) == pytest.approx(124)
    assert theory.regret_bound_pruned(1, 0.1, 2, 10, version="appendix") == pytest.approx(344)
    assert theory.regret_bound_pruned(1, 0.1, 2, 10, version="sharp") == pytest.approx(
        40 + 4 * math.sqrt(2)
    )
    # c = 1, p = 0.5, β = 0.5: r = 1, early = 0.5·4/0.25 = 8; 9·3/λ + 9·9/(2λ) · (8 + 1)
    assert theory.regret_bound_gamm(1, 1.0, 1, 0.5, 0.5) == pytest.approx(27 + 40.5 * 9)
    # n = 2: (2 + √2)²/2 = 3 + 2√2, and (½ + √2)·2 = 1 + 2√2
    assert theory.regret_bound_gamm(
        1, 1.0, None, 0.5, 0.5, version="sharp", n_duplications=2
    ) == pytest.approx(4 + 4 * math.sqrt(2))


def test_risk_bounds_by_hand():
    # N = 100, ‖W‖ = 2, b = (1, 2, 3): B = 6 + 1 + 9 - 3 - 1 = 12, K = (36 - 14)/2 = 11
    inside = 4 * 12 * math.log(400 * math.e) * math.log(400) + math.log(2 * 200**11 / 0.1)
    assert theory.risk_bound_amm(100, 2.0, [1, 2, 3], 0.1) == pytest.approx(1.3 * inside)
    base_2 = 4 * 12 * math.log2(400 * math.e) * math.log2(400) + math.log2(2 * 200**11 / 0.1)
    assert theory.risk_bound_amm(100, 2.0, [1, 2, 3], 0.1, base=2) == pytest.approx(1.3 * base_2)
    # K = 22: 0.25 + (4 + 88·2)/10 + 3 √(ln 10 / 200)
    assert theory.risk_bound_gamm(0.25, 100, 2.0, [1, 2, 3], 0.1) == pytest.approx(
        0.25 + 18 + 3 * math.sqrt(math.log(10) / 200)
    )


def test_risk_bounds_of_large_models_are_finite():
    assert 1 < theory.risk_bound_amm(10**9, 1.0, [500] * 100) < math.inf
    assert 1 < theory.risk_bound_gamm(0.0, 10**9, 1.0, [500] * 100) < math.inf


REGRET = {
    "amm": lambda T, alpha, c, k, p, beta: theory.regret_bound_amm(T, alpha),
    "pruned": lambda T, alpha, c, k, p, beta: theory.regret_bound_pruned(T, alpha, c, k),
    "gamm": lambda T, alpha, c, k, p, beta: theory.regret_bound_gamm(T, alpha, c, p, beta),
    "gamm sharp": lambda T, alpha, c, k, p, beta: theory.regret_bound_gamm(
        T, alpha, c, p, beta, version="sharp", prune_every=k
    ),
}


@pytest.mark.parametrize("name", REGRET)
def test_regret_bounds_move_as_they_should(name):
    usual = {"T": 1000, "alpha": 0.1, "c": 1.0, "k": 50, "p": 0.2, "beta": 0.9}

    def bound(**changes):
        return REGRET[name](**(usual | changes))

    assert bound(alpha=0.2) == pytest.approx(bound() / 2)
    if name != "gamm sharp":  # there the number of duplications grows with T
        assert bound(T=2000) < bound()
    if name != "amm":
        assert bound(c=2.0) > bound() > bound(c=0.0)
    if name in ("pruned", "gamm sharp"):
        assert bound(k=100) < bound()
    if "gamm" in name:
        assert bound(p=0.3) > bound()
        assert bound(beta=0.95) > bound()


def test_regret_bounds_collapse():
    for version in ("printed", "sharp"):
        amm = theory.regret_bound_amm(500, 0.01, version=version)
        assert theory.regret_bound_pruned(500, 0.01, None, 7, version=version) == amm
    # The appendix's constant is not Theorem 1's, although the paper says "equivalent".
    assert theory.regret_bound_pruned(500, 0.01, 0, 7, version="appendix") == pytest.approx(
        18 / 8 * theory.regret_bound_amm(500, 0.01)
    )


@given(st.integers(1, 10**9), st.floats(1e-6, 10), st.floats(0, 1e4), st.integers(1, 10**6))
def test_theorem_3_is_never_below_what_can_be_proved(T, lam, c, k):
    printed = theory.regret_bound_pruned(T, lam, c, k)
    assert theory.regret_bound_pruned(T, lam, c, k, version="sharp") <= printed


def test_expected_duplications_against_simulation():
    # Every step has a loss: the bound is then nearly attained.
    r, T, p, beta, runs = np.random.default_rng(0), 2000, 0.2, 0.9, 400
    n = np.zeros(runs)
    for _ in range(T):
        n += r.random(runs) < p * beta**n
    bound = theory.expected_duplications(T, p, beta)
    # Jensen's inequality costs less than one duplication; five standard errors are below it too.
    assert n.mean() - 5 * n.std() / math.sqrt(runs) < bound < n.mean() + 1
    # and the paper's p/(1 − β) = 2 has nothing to do with it
    assert n.min() > 10 * p / (1 - beta)
    assert theory.expected_duplications(50, 0.1, 1.0) == pytest.approx(5)
    assert theory.expected_duplications(50, 0.0, 0.9) == 0


def test_bounds_say_what_is_wrong():
    with pytest.raises(ValueError, match="version must be one of printed, sharp"):
        theory.regret_bound_amm(10, 0.1, version="appendix")
    with pytest.raises(ValueError, match="T must be at least 1"):
        theory.regret_bound_amm(0, 0.1)
    with pytest.raises(ValueError, match="prune_threshold must not be below 0"):
        theory.regret_bound_pruned(10, 0.1, -1, 5)
    with pytest.raises(ValueError, match="prune_every must be"):
        theory.regret_bound_pruned(10, 0.1, 1, 0)
    with pytest.raises(ValueError, match="growth_decay < 1"):
        theory.regret_bound_gamm(10, 0.1, 1, 0.2, 1.0)
    with pytest.raises(ValueError, match="needs prune_every"):
        theory.regret_bound_gamm(10, 0.1, 1, 0.2, 0.9, version="sharp")
    with pytest.raises(ValueError, match="two or more classes"):
        theory.risk_bound_amm(10, 1.0, [3])
    with pytest.raises(ValueError, match="0 < delta < 1"):
        theory.risk_bound_gamm(0.0, 10, 1.0, [3, 3], delta=0)


def test_gamm_theorem_3_is_false_for_the_share_of_errors():
    # Labels are coins, new ones too: every classifier errs on half of them. The tangent machine
    # errs on none of its training rows, and shrunk by a power of two it still does not.
    r, N = np.random.default_rng(0), 2000
    X, y = r.uniform(-0.5, 0.5, size=(N, 2)), r.integers(2, size=N)  # ‖x‖² + 0.5² < 1
    machine = theory.tangent_machine(X, y)
    W, b, owner = machine.coef_ / 2**40, machine.intercept_ / 2**40, machine.hyperplane_class_

    def error(X, y):
        return np.mean(owner[(X @ W.T + b).argmax(axis=1)] != y)

    assert error(X, y) == 0
    risk = error(r.uniform(-0.5, 0.5, size=(N, 2)), r.integers(2, size=N))
    shrunk = {"owner": owner, "intercept": b, "intercept_scaling": 0.5}
    norm, counts = theory.weight_norm(W, **shrunk), theory.hyperplane_counts(machine)
    assert theory.risk_bound_gamm(0.0, N, norm, counts) < 0.2 < 0.4 < risk
    hinge = theory.objective(W, X, y, alpha=0, **shrunk)
    assert theory.risk_bound_gamm(hinge, N, norm, counts) > 1


# --- C. measured regret -------------------------------------------------------------------


@cache
def unit_rows(n=300, seed=0):
    """Three classes that no linear model separates; ‖x‖² + 0.3² ≤ 1."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
    X *= math.sqrt(0.9) / np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


COMMON = {"alpha": 0.1, "average": False, "intercept_scaling": 0.3}
RUNS = {
    "pegasos": PegasosClassifier(**COMMON),
    "mm": MMClassifier(2, **COMMON),
    "amm": AMMClassifier(prune_threshold=None, **COMMON),
    "pruned": AMMClassifier(prune_every=7, prune_threshold=1.5, **COMMON),
    "gamm": GAMMClassifier(
        prune_every=20, prune_threshold=1.0, growth_decay=0.9, random_state=0, **COMMON
    ),
}


@cache
def run_of(name):
    return theory.trace(RUNS[name], *unit_rows())


@cache
def optimum_of(name):
    return theory.fixed_optimum(run_of(name))


@pytest.mark.parametrize("name", RUNS)
def test_optimum_lies_between_its_bounds(name):
    run, best = run_of(name), optimum_of(name)
    assert best.lower_bound <= best.value <= best.lower_bound * 1.0011
    value = theory.convex_objective(
        best.W, run.rows, run.y, run.z, owner=run.owner, alpha=0.1, reserve=run.reserve
    )
    assert value == pytest.approx(best.value, rel=1e-9)
    # Nothing near it is better than the dual bound, and nothing far.
    r = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        W = best.W + size * r.normal(size=best.W.shape)
        assert theory.measured_regret(run, W) < theory.measured_regret(run)


def test_a_lower_bound_is_not_above_the_value_where_both_are_equal():
    r = np.random.RandomState(0)
    for alpha in 10 ** r.uniform(-2, 1, size=20):
        X = r.randn(6, 2)
        clf = PegasosClassifier(alpha=float(alpha), average=False, fit_intercept=False)
        run = theory.trace(clf, X / np.linalg.norm(X, axis=1, keepdims=True), np.arange(6) % 2)
        best = theory.fixed_optimum(run, tol=0, max_iter=100)
        assert best.lower_bound <= best.value


def test_optimum_with_one_hyperplane_a_class_is_that_of_liblinear():
    run, best = run_of("pegasos"), theory.fixed_optimum(run_of("pegasos"), tol=1e-5)
    svc = LinearSVC(
        C=1 / (0.1 * len(run.y)),
        multi_class="crammer_singer",
        fit_intercept=False,
        tol=1e-8,
        max_iter=100_000,
    ).fit(run.rows, run.y)
    liblinear = theory.objective(svc.coef_, run.rows, run.y, owner=[0, 1, 2], alpha=0.1)
    # 2e-5: our gap, and as much again for liblinear's.
    assert best.value == pytest.approx(liblinear, rel=2e-5)
    assert best.lower_bound <= liblinear * (1 + 1e-9)


@pytest.mark.parametrize("name", RUNS)
def test_regret_of_real_training_is_below_the_theorems(name):
    run, best = run_of(name), optimum_of(name)
    T, lam = len(run.y), 0.1
    assert np.max(np.sum(run.rows**2, axis=1)) <= 1
    c, k = {"pruned": (1.5, 7), "gamm": (1.0, 20)}.get(name, (None, 1))
    n = int(run.copied.sum())
    assert ((run.pruned_at > 0).sum() > 10) == (c is not None)
    assert (n > 10) == (name == "gamm")

    regret = run.objective.mean() - best.lower_bound  # never less than that relative to W*
    assert theory.measured_regret(run) == pytest.approx(regret)
    assert theory.measured_regret(run, best.W) == pytest.approx(regret, abs=2e-3)
    assert theory.measured_regret(run, np.zeros_like(best.W)) < regret
    assert regret > 0.1  # there is something to bound
    if name == "gamm":
        assert regret < theory.regret_bound_gamm(T, lam, c, 0.2, 0.9)
        assert regret < theory.regret_bound_gamm(
            T, lam, c, 0.2, 0.9, version="sharp", prune_every=k, n_duplications=n
        )
    else:
        for version in ("printed", "appendix", "sharp"):
            assert regret < theory.regret_bound_pruned(T, lam, c, k, version=version)
        if c is None:
            assert regret < theory.regret_bound_amm(T, lam)


@pytest.mark.parametrize("clf", [RUNS["pegasos"], RUNS["pruned"]])
def test_rows_of_zeros_cost_a_loss_of_one(clf):
    X, y = np.array(unit_rows()[0][:40]), unit_rows()[1][:40]
    X[::2] = 0
    run = theory.trace(clone(clf).set_params(fit_intercept=False), X, y)
    best = theory.fixed_optimum(run)
    assert best.value - best.lower_bound <= 1e-3 * best.value
    assert theory.measured_regret(run) < theory.regret_bound_amm(40, 0.1)


def test_trace_sees_what_training_reports():
    for name, clf in RUNS.items():
        X, y = unit_rows()
        run, copy = run_of(name), clone(clf)
        copy.partial_fit(X, y, classes=[0, 1, 2])
        entry = copy.history_[-1]
        assert entry["hyperplanes"] == (run.pruned_at == 0).sum()
        assert entry["pruned"] == (run.pruned_at > 0).sum()
        assert entry["duplicated"] == run.copied.sum()
        alive = run.pruned_at == 0
        np.testing.assert_array_equal(copy.hyperplane_class_, run.owner[alive], err_msg=name)
        # Identities are right: what pulled and pushed a hyperplane adds up to its weights.
        U, stepped = np.zeros((len(run.owner), 4)), run.rival >= 0
        np.add.at(U, run.z[stepped], run.rows[stepped])
        np.subtract.at(U, run.rival[stepped], run.rows[stepped])
        seen = 0.1 * len(y) * np.column_stack([copy.coef_, copy.intercept_ / 0.3])
        own = ~run.copied[alive]  # a copy also has what it was born with
        np.testing.assert_allclose(seen[own], U[alive][own], atol=1e-4, err_msg=name)


def test_trace_values_are_those_of_convex_objective():
    X, y = unit_rows()
    clf = AMMClassifier(prune_every=7, prune_threshold=1.5, **COMMON)
    run = run_of("pruned")
    assert run.objective[0] == 1
    for t in range(1, 60):
        clf.partial_fit(X[t - 1 : t], y[t - 1 : t], classes=[0, 1, 2])
        row, label = X[t : t + 1].astype(np.float32), y[t : t + 1]
        # The online choice of z is the best one, so P(W | z) = P(W). 1e-6: float32 weights.
        assert run.objective[t] == pytest.approx(theory.objective(clf, row, label), rel=1e-6)


def test_trace_refuses_what_is_not_a_subgradient_step():
    X, y = unit_rows()
    with pytest.raises(ValueError, match=r"AMMClassifier\(average=False\)"):
        theory.trace(AMMClassifier(), X, y)
    with pytest.raises(ValueError, match="class_weight=None, no ball_projection"):
        theory.trace(PegasosClassifier(average=False, ball_projection=True), X, y)
    with pytest.raises(ValueError, match="prune_threshold=None"):
        theory.trace(MMClassifier(average=False, prune_threshold=1.0), X, y)
    with pytest.raises(TypeError, match="got LinearSVC"):
        theory.trace(LinearSVC(), X, y)

    class Hasty(PegasosClassifier):
        def partial_fit(self, X, y, classes=None):
            return super().partial_fit(1.01 * X, y, classes)

    with pytest.raises(RuntimeError, match="step 1 was not a subgradient step"):
        theory.trace(Hasty(average=False), X, y)


def test_gamm_theorem_2_is_false_as_printed():
    # One unit row for ever, with λ > 1: every step has a loss. Copies are made at a rate of
    # 1/((1 − β)t), whatever p is, and each keeps its size in U: ‖W‖² tends to 1/(2(1 − β)λ²).
    T, lam, p, beta, cuts = 80_000, 1.001, 0.01, 0.996, 50
    clf = GAMMClassifier(
        growth=p,
        growth_decay=beta,
        alpha=lam,
        average=False,
        fit_intercept=False,
        prune_threshold=None,
        random_state=0,
    )
    X, y = np.tile(np.float32([1, 0]), (T // cuts, 1)), np.zeros(T // cuts, dtype=int)
    total, squared = 0.0, 0.0
    for _ in range(cuts):
        clf.partial_fit(X, y, classes=[0, 1])
        # ‖U‖ only grows here, so what it was before these rows is a lower bound for each of them.
        total += len(X) * lam / 2 * squared / (lam * (clf.t_ - 1)) ** 2
        squared = np.sum((clf.coef_.astype(np.float64) * lam * (clf.t_ - 1)) ** 2)
    assert clf.history_[-1]["updates"] == 1
    regret = total / T - 1  # relative to W = 0, whose objective is 1
    assert regret > 1.1 * theory.regret_bound_gamm(T, lam, None, p, beta)
    n = clf.history_[-1]["duplicated"]
    assert regret < theory.regret_bound_gamm(
        T, lam, None, p, beta, version="sharp", n_duplications=n
    )
    # The expectation's bound, with room for the spread of a single run.
    assert n < 1.1 * theory.expected_duplications(T, p, beta)


# --- Proposition 1 of AMM -----------------------------------------------------------------
# "A weight which is updated at least c times during the previous k iterations will not be pruned."


@pytest.mark.parametrize(
    ("rows", "labels", "c"),
    [
        # pulled by one row, pushed by the next: two updates leave nothing
        ([[1, 0, 0], [1, 0, 0]], [0, 1], 0.9),
        # pulled three times by rows of norm 0.1
        ([[0.1, 0, 0]] * 3 + [[0, 0.1, 0]], [0, 0, 0, 1], 3),
        # pulled three times by rows of norm 1, nearly at right angles: ‖u‖ is √3 and a bit
        ([[1, 0, 0], [0.05, 0.9987, 0], [0.05, 0.05, 0.9975], [0, 0, -0.1]], [0, 0, 0, 1], 3),
    ],
)
def test_proposition_1_is_false_as_printed(rows, labels, c):
    X, y, k = np.array(rows), np.array(labels), len(rows)
    clf = AMMClassifier(
        alpha=1.0, average=False, fit_intercept=False, prune_every=k, prune_threshold=c
    )
    run = theory.trace(clf, X, y)
    assert np.sum(run.z == 0) + np.sum(run.rival == 0) >= c  # every row here had a loss
    assert np.all(run.rival >= 0)
    assert run.pruned_at[0] == k


def test_proposition_1_holds_for_more_than_c_squared_pulls_by_unit_rows():
    # A weight is pulled only by rows that score above zero on it, so ‖u‖² grows by at least 1.
    X, y = unit_rows()
    c, k = 1.2, 12
    clf = AMMClassifier(
        prune_every=k, prune_threshold=c, alpha=0.1, average=False, fit_intercept=False
    )
    run = theory.trace(clf, X / np.linalg.norm(X, axis=1, keepdims=True), y)
    spared = contradicted = 0
    for end in range(k, len(y) + 1, k):
        last = slice(end - k, end)
        pulled = np.bincount(run.z[last][run.rival[last] >= 0], minlength=len(run.owner))
        pushed = np.bincount(run.rival[last] + 1, minlength=len(run.owner) + 1)[1:]
        pruned = run.pruned_at == end
        safe = (pulled > c**2) & (pushed == 0)
        assert not np.any(safe & pruned)
        spared += safe.sum()
        contradicted += np.sum(pruned & (pulled + pushed >= c))
    assert spared > 5  # the rule was put to work
    assert contradicted > 2  # and the printed one fails in plain training too


# --- D. tangent machines ------------------------------------------------------------------


def test_tangents_touch_the_parabola_at_their_row_and_lie_below_it():
    r = np.random.default_rng(0)
    X, y = r.normal(size=(50, 3)) + 5, r.integers(4, size=50)
    machine = theory.tangent_machine(X, y)
    new = r.normal(size=(40, 3)) + 5
    heights = new @ machine.coef_.T + machine.intercept_
    h = np.sum((new - X.mean(axis=0)) ** 2, axis=1) / 2
    assert np.all(heights < h[:, None])
    best = np.stack(
        [heights[:, machine.hyperplane_class_ == k].max(axis=1) for k in machine.classes_], axis=1
    )
    # Heights are some tens, so 1e-12 is a few roundings.
    np.testing.assert_allclose(machine.decision_function(new), best - h[:, None], atol=1e-12)
    np.testing.assert_array_equal(machine.predict(new), machine.classes_[best.argmax(axis=1)])
    np.testing.assert_array_equal(np.diag(machine.decision_function(X)[:, y]), 0)
    touching = np.sum(X * machine.coef_, axis=1) + machine.intercept_
    np.testing.assert_allclose(touching, np.sum((X - X.mean(axis=0)) ** 2, axis=1) / 2, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-8])
def test_tangent_machine_tells_rows_apart_that_nearly_coincide(offset, gap):
    r = np.random.default_rng(0)
    X = r.uniform(size=(200, 5)) + offset
    gap = max(gap, 2 * np.spacing(abs(offset)))  # float64 cannot hold anything nearer
    X = np.concatenate([X, X + np.eye(5)[0] * gap])
    y = np.arange(400) // 200
    machine = theory.tangent_machine(X, y)
    assert machine.n_hyperplanes_ == 400
    assert machine.score(X, y) == 1
    if gap <= (1e-6 if offset else 1e-8):  # what the hyperplanes themselves, in float64, cannot do
        scores = X @ machine.coef_.T + machine.intercept_
        assert np.mean(machine.hyperplane_class_[scores.argmax(axis=1)] == y) < 1


values = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-100),
    st.sampled_from([0.1, 0.1 + 1e-15, 1e6, 1e6 + 1e-6, -0.0, 1e-120, 1e120]),
)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 25), st.integers(1, 4))
def test_tangent_machine_represents_every_consistent_set(data, n, d):
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=values))
    labels = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)))
    seen = {}
    y = np.array([seen.setdefault(tuple(row), k) for row, k in zip(X, labels, strict=True)])
    machine = theory.tangent_machine(X, y)
    np.testing.assert_array_equal(machine.predict(X), y)
    assert machine.n_hyperplanes_ == len(seen)  # tuples compare -0 and 0 as equal too
    if len(machine.classes_) == 2:
        np.testing.assert_array_equal(machine.decision_function(X) > 0, y == y.max())

    first = int(np.flatnonzero(np.all(X[n - 1] == X, axis=1))[0])
    twice = np.concatenate([X, X[-1:]])
    with pytest.raises(ValueError, match=f"rows {first} and {n} are equal"):
        theory.tangent_machine(twice, np.append(y, 9))


def test_tangent_machine_names_contradicting_rows():
    X = [[0, 0], [1, 2], [3, 4], [1, 2], [1, 2]]
    with pytest.raises(ValueError, match=r"rows 1 and 4 are equal and labelled .*'a'.* and .*'b'"):
        theory.tangent_machine(X, ["a", "a", "b", "a", "b"])
    machine = theory.tangent_machine(X, ["a", "b", "a", "b", "b"])
    assert machine.n_hyperplanes_ == 3
    assert list(machine.hyperplane_class_) == ["a", "b", "a"]
    assert theory.tangent_machine([[0.0], [-0.0], [1.0]], [0, 0, 1]).n_hyperplanes_ == 2


def test_tangent_machine_refuses_values_whose_squares_vanish():
    with pytest.raises(ValueError, match="1e-140 and 1e140"):
        theory.tangent_machine([[1e-200], [2e-200]], [0, 1])
    with pytest.raises(ValueError, match="1e-140 and 1e140"):
        theory.tangent_machine([[1e200], [0]], [0, 1])


def test_tangent_machine_predicts_in_chunks(monkeypatch):
    X, y = make_checkerboard(3, 3, n=300, random_state=0)
    machine = theory.tangent_machine(X, y)
    new, labels = make_checkerboard(3, 3, n=500, random_state=1)
    whole = machine.decision_function(new)
    assert machine.score(new, labels) > 0.8
    monkeypatch.setattr(theory._common, "CHUNK", 1000)  # three rows at a time
    np.testing.assert_array_equal(machine.decision_function(new), whole)


@parametrize_with_checks([theory.TangentMachine()])
def test_tangent_machine_passes_the_common_checks(estimator, check):
    check(estimator)
