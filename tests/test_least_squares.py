"""Generalized, calibrated and stagewise least squares: what they promise, by several roads."""

import copy
import pickle
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    make_multilabel_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiplane import (
    CalibratedLeastSquaresClassifier,
    GeneralizedLeastSquaresClassifier,
    StagewiseLeastSquaresClassifier,
)
from multiplane.features import FeatureSubset, RandomFourier
from multiplane.links import Identity, Logistic, Softmax, project_cube, project_simplex

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def stagewise(**settings):
    settings = {"n_stages": 3, "block_size": 24, **settings}
    settings.setdefault("features", RandomFourier(width=4.0))
    return lambda **p: StagewiseLeastSquaresClassifier(**{**settings, **p})


ALL = {
    "linear": lambda **p: GeneralizedLeastSquaresClassifier("identity", **p),
    "logistic": lambda **p: GeneralizedLeastSquaresClassifier(**{"max_iter": 30, **p}),
    "logistic-plain": lambda **p: GeneralizedLeastSquaresClassifier(
        **{"max_iter": 30, "accelerated": False, **p}
    ),
    "calibrated": lambda **p: CalibratedLeastSquaresClassifier(**{"max_iter": 4, **p}),
    "stagewise": stagewise(),
    "stagewise-calibrated": stagewise(update="calibrated"),
    "stagewise-logistic": stagewise(update="logistic", max_inner=10),
    "stagewise-models": stagewise(n_models=2),
    "stagewise-subset": stagewise(features=FeatureSubset(), block_size=4),
}
EVERY = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def problem(n=300, d=8, k=3, seed=0, dtype=np.float64):
    """Blobs that overlap, with a nonlinear twist."""
    random = np.random.RandomState(seed)
    y = random.randint(k, size=n)
    X = random.randn(k, d)[y] + random.randn(n, d)
    X[:, 0] = X[:, 0] * np.sign(X[:, 1])
    return X.astype(dtype), y


def several_labels(n=200):
    return make_multilabel_classification(n, 8, n_classes=4, random_state=0)


# --- outside oracles, and collapses ----------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_identity_link_is_ridge_regression(alpha, fit_intercept):
    X, y = problem()
    ours = GeneralizedLeastSquaresClassifier("identity", alpha, fit_intercept=fit_intercept)
    ours.fit(X + 5, y)
    ridge = Ridge(alpha * len(X), fit_intercept=fit_intercept).fit(X + 5, np.eye(3)[y])
    # Two direct solvers in float64, and a lift of 1e-14.
    np.testing.assert_allclose(ours.coef_, ridge.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, ridge.intercept_, atol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), ridge.predict(X), atol=1e-9)
    assert (ours.n_iter_, ours.stop_reason_) == (1, "solved")


@pytest.mark.parametrize("accelerated", [True, False])
def test_softmax_link_is_logistic_regression(accelerated):
    X, y = problem()
    ours = GeneralizedLeastSquaresClassifier(
        alpha=0.05, accelerated=accelerated, tol=1e-13, max_iter=2000
    ).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.05 * len(X)), tol=1e-10, max_iter=5000).fit(X, y)
    # Both stop when the loss no longer changes in some 13 digits: weights are right in half.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    assert ours.stop_reason_ == "converged"


def test_several_labels_are_logistic_regressions_each():
    X, Y = several_labels()
    X = StandardScaler().fit_transform(X)
    ours = GeneralizedLeastSquaresClassifier(alpha=0.05, tol=1e-13, max_iter=2000).fit(X, Y)
    for label in range(Y.shape[1]):
        theirs = LogisticRegression(C=1 / (0.05 * len(X)), tol=1e-10, max_iter=5000)
        theirs.fit(X, Y[:, label])
        np.testing.assert_allclose(
            ours.predict_proba(X)[:, label], theirs.predict_proba(X)[:, 1], atol=2e-5
        )


def loss_after(n, **settings):
    X, y = problem()
    clf = GeneralizedLeastSquaresClassifier(max_iter=n, tol=0, alpha=1e-6, **settings).fit(X, y)
    return clf.history_[-1]["loss"]


def test_acceleration_is_faster():
    best = loss_after(2000)
    assert loss_after(40) - best < (loss_after(40, accelerated=False) - best) / 4


def test_the_smaller_constant_is_faster():
    """Twice the step: where one is after 40 iterations, the other is after 20."""
    half, one = (
        loss_after(n, link=Softmax(L), accelerated=False) for n, L in ((20, 0.5), (40, 1.0))
    )
    assert half == pytest.approx(one, rel=0.02)
    assert loss_after(40, link=Softmax(0.5), accelerated=False) < one


def test_one_stage_is_least_squares():
    X, y = problem()
    features = RandomFourier(24, width=4.0)
    stage = StagewiseLeastSquaresClassifier(
        features=features, n_stages=1, block_size=24, random_state=0
    ).fit(X, y)
    Z = stage._model.sums[0][0].map(X)
    once = GeneralizedLeastSquaresClassifier("identity").fit(Z, y)
    # Z is centred in one and not in the other: only rounding differs, and the ridge, which is
    # relative to mean squares about different origins.
    np.testing.assert_allclose(stage.decision_function(X), once.decision_function(Z), atol=1e-3)
    exact = StagewiseLeastSquaresClassifier(
        features=features, n_stages=1, block_size=24, random_state=0, alpha=1e-4
    ).fit(X, y)
    once.set_params(alpha=1e-4).fit(Z, y)
    np.testing.assert_allclose(exact.decision_function(X), once.decision_function(Z), atol=1e-8)


def test_all_columns_in_one_block_is_ridge_regression():
    X, y = problem()
    stage = StagewiseLeastSquaresClassifier(
        features=FeatureSubset(), n_stages=1, block_size=8, alpha=0.1
    ).fit(X, y)
    ridge = Ridge(0.1 * len(X)).fit(X, np.eye(3)[y])
    np.testing.assert_allclose(stage.decision_function(X), ridge.predict(X), atol=1e-9)


def test_logistic_stages_go_on_from_the_scores_so_far():
    """Two stages with the same features: the second finds nothing left to do."""
    X, y = problem()
    stages = StagewiseLeastSquaresClassifier(
        "logistic", FeatureSubset(), 8, 2, alpha=0.0, max_inner=2000
    ).fit(X, y)
    first, second = (entry["loss"] for entry in stages.history_)
    assert abs(first - second) < 1e-4 * first


# --- mathematics -----------------------------------------------------------------------------


@EVERY
def test_the_loss_never_rises(make):
    X, y = problem()
    clf = make(random_state=0).fit(X, y)
    losses = [entry["loss"] for entry in clf.history_]
    assert np.all(np.diff(losses) <= 1e-12 * abs(losses[0]))
    assert clf.history_[-1]["error"] <= 0.4


@EVERY
def test_probabilities(make):
    X, y = problem()
    clf = make(random_state=0).fit(X, y)
    P = clf.predict_proba(X)
    assert P.shape == (300, 3)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    # A projection keeps the order, and ties only what is pressed to zero.
    assert np.array_equal(P.argmax(axis=1), clf.decision_function(X).argmax(axis=1))


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=60, deadline=None)
def test_projection_on_the_simplex(k, seed, scale):
    """Optimality: no probability vector makes a sharper angle with what was taken away."""
    V = np.random.RandomState(seed).randn(20, k) * scale
    P = project_simplex(V)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12 * max(1, scale))
    vertices = np.eye(k)
    gaps = np.einsum("nk,nvk->nv", V - P, vertices[None] - P[:, None])
    assert gaps.max() <= 1e-10 * max(1, scale**2)
    np.testing.assert_allclose(project_simplex(P), P, atol=1e-12)


def test_projection_on_the_cube():
    assert project_cube(np.array([[-1.0, 0.3, 2.0]])).tolist() == [[0.0, 0.3, 1.0]]


def test_too_small_a_constant_is_told():
    X, y = problem()
    clf = GeneralizedLeastSquaresClassifier(Softmax(L=1e-3), accelerated=False).fit(X, y)
    assert "L is too small" in clf.stop_reason_
    with pytest.raises(ValueError, match="Lipschitz constant"):
        GeneralizedLeastSquaresClassifier(Softmax(L=np.nan)).fit(X, y)


def test_not_converged_is_told():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        GeneralizedLeastSquaresClassifier(max_iter=2).fit(X, y)


def test_logarithms_of_probabilities():
    X, y = problem()
    for make in ALL.values():
        clf = make(random_state=0).fit(X, y)
        np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X))


def test_few_rows_for_many_features():
    """The default ridge grows where features outnumber rows."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    clf = StagewiseLeastSquaresClassifier(random_state=0)
    assert cross_val_score(clf, X, y, cv=3).mean() > 0.95


@pytest.mark.parametrize("link", [Identity(), Softmax(), Logistic()], ids=str)
def test_links_are_gradients(link):
    S = np.random.RandomState(0).randn(7, 4)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-6
        slope = (link.value(S + step) - link.value(S - step)) / 2e-6
        np.testing.assert_allclose(link.link(S)[:, j], slope, atol=1e-8)


def test_links_at_the_extremes():
    S = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    for link in (Softmax(), Logistic()):
        assert np.isfinite(link.value(S)).all()
        assert np.isfinite(link.link(S)).all()


def test_a_link_of_ones_own():
    class Cubic:
        """Φ(u) = Σ u²/2 + log cosh u: monotone, L = 2, μ = 1."""

        L, mu = 2.0, 1.0

        def value(self, S):
            return (0.5 * S**2 + np.log(np.cosh(S))).sum(axis=1)

        def link(self, S):
            return S + np.tanh(S)

    X, y = problem()
    clf = GeneralizedLeastSquaresClassifier(Cubic(), tol=1e-12, max_iter=500).fit(X, y)
    # At the optimum the residual is orthogonal to the features (with next to no ridge).
    R = np.eye(3)[y] - Cubic().link(clf.decision_function(X))
    assert abs(R.T @ np.c_[X, np.ones(300)]).max() / 300 < 1e-4


def test_residuals_are_orthogonal_to_the_last_block():
    X, y = problem()
    clf = stagewise()(alpha=0.0, random_state=0).fit(X, y)
    Z = clf._model.sums[0][-1].map(X)
    R = np.eye(3)[y] - clf.decision_function(X)
    assert abs(Z.T @ R).max() / 300 < 1e-10  # float64, condition numbers of thousands


# --- the same answer by another road ---------------------------------------------------------


@EVERY
def test_size_of_chunks_does_not_matter(make, monkeypatch):
    X, y = problem()
    clf = make(random_state=0).fit(X, y)
    for module in ("multiplane.solvers._sums", "multiplane.models._least_squares"):
        monkeypatch.setattr(f"{module}.chunk_size", lambda *_: 7)
    other = make(random_state=0).fit(X, y)
    # Sums in another order, over iterations: float64 to nine digits.
    np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), atol=1e-9)


@EVERY
def test_float32_is_near_float64(make):
    X, y = problem()
    wide = make(random_state=0).fit(X, y)
    narrow = make(random_state=0).fit(X.astype(np.float32), y)
    assert narrow.predict_proba(X).dtype == np.float32
    assert np.mean(abs(wide.predict_proba(X) - narrow.predict_proba(X))) < 5e-3


@EVERY
def test_a_seed_gives_the_same_bytes(make):
    X, y = problem()
    one, two = (make(random_state=3).fit(X, y).decision_function(X) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("name", ["linear", "logistic", "calibrated", "stagewise-subset"])
def test_sparse_is_dense(name):
    X, y = problem()
    X[abs(X) < 1] = 0
    dense = ALL[name](alpha=1e-4).fit(X, y)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        sparse = ALL[name](alpha=1e-4).fit(kind(X), y)
        # Dense columns are centred and sparse ones are not: rounding, over the iterations.
        np.testing.assert_allclose(sparse.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("update", ["linear", "calibrated", "logistic"])
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("features", [RandomFourier(), FeatureSubset()], ids=["fourier", "subset"])
def test_stages_added_later(update, n_models, features):
    X, y = problem()
    make = stagewise(update=update, n_models=n_models, features=features, block_size=3)
    at_once = make(n_stages=5, random_state=1).fit(X, y)
    later = make(n_stages=2, random_state=1, warm_start=True).fit(X, y)
    later = pickle.loads(pickle.dumps(later)).set_params(n_stages=5).fit(X, y)
    np.testing.assert_allclose(later.decision_function(X), at_once.decision_function(X), atol=1e-9)
    assert [entry["n_iter"] for entry in later.history_] == [1, 2, 3, 4, 5]
    assert later.n_iter_ == 5


def test_iterations_added_later():
    X, y = problem()
    make = ALL["logistic-plain"]
    at_once = make(max_iter=20, tol=0).fit(X, y)
    later = make(max_iter=10, tol=0, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(later.decision_function(X), at_once.decision_function(X), atol=1e-9)
    assert later.n_iter_ == 20
    rounds = ALL["calibrated"](max_iter=6, tol=0).fit(X, y)
    later = ALL["calibrated"](max_iter=3, tol=0, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(later.decision_function(X), rounds.decision_function(X), atol=1e-9)


def test_what_cannot_go_on():
    X, y = problem()
    clf = stagewise(warm_start=True)().fit(X, y)
    before = clf.decision_function(X)
    with pytest.raises(ValueError, match="n_stages=2 is below the 3 stages"):
        clf.set_params(n_stages=2).fit(X, y)
    clf.stop_reason_ = "interrupted"  # by Ctrl-C, in a fourth stage
    with pytest.warns(UserWarning, match="all n_stages=3 stages are there"):
        clf.set_params(n_stages=3).fit(X, y)
    assert np.array_equal(clf.decision_function(X), before)
    assert clf.stop_reason_ == "n_stages"
    with pytest.raises(ValueError, match="n_models was 1 and is 2"):
        clf.set_params(n_models=2, n_stages=9).fit(X, y)
    clf.set_params(n_models=1)
    with pytest.raises(ValueError, match="not among the known classes"):
        clf.fit(X, y + 1)
    with pytest.raises(ValueError, match="another kind or number of labels"):
        clf.fit(X, np.eye(3, dtype=int)[y])
    assert np.array_equal(clf.decision_function(X), before)


# --- symmetries ------------------------------------------------------------------------------


@EVERY
def test_weights_are_repetitions(make):
    X, y = problem(120)
    weight = np.random.RandomState(0).randint(4, size=120)
    if make is ALL["stagewise-logistic"]:  # its width must not come from the data
        assert make().features.width == 4.0
    heavy = make(random_state=0).fit(X, y, sample_weight=weight)
    again = make(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(heavy.predict_proba(X), again.predict_proba(X), atol=1e-7)


@EVERY
def test_class_weights_are_sample_weights(make):
    X, y = problem()
    one = make(class_weight={0: 1, 1: 2, 2: 0.5}, random_state=0).fit(X, y)
    two = make(random_state=0).fit(X, y, sample_weight=np.array([1, 2, 0.5])[y])
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    counts = np.bincount(y)
    balanced = make(class_weight="balanced", random_state=0).fit(X, y)
    two = make(random_state=0).fit(X, y, sample_weight=100 / counts[y])  # still 300 rows in all
    np.testing.assert_allclose(balanced.decision_function(X), two.decision_function(X), atol=1e-8)


@EVERY
def test_labels_of_any_kind(make):
    X, y = problem()
    numbers = make(random_state=0).fit(X, y)
    words = make(random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    assert np.array_equal(words.predict(X), np.array(["a", "b", "c"])[numbers.predict(X)])
    turned = make(random_state=0).fit(X, 2 - y)
    np.testing.assert_allclose(
        turned.predict_proba(X)[:, ::-1], numbers.predict_proba(X), atol=1e-8
    )


@pytest.mark.parametrize("name", ["linear", "logistic", "calibrated"])
def test_units_do_not_matter(name):
    """With alpha="scale", a feature in other units and from another origin is the same feature."""
    X, y = problem()
    units = np.array([1e-6, 1e-3, 1, 1, 1e3, 1e6, 1, 1])
    plain, other = ALL[name]().fit(X, y), ALL[name]().fit(X * units + 7 * units, y)
    np.testing.assert_allclose(
        other.predict_proba(X * units + 7 * units), plain.predict_proba(X), atol=1e-7
    )


# --- several labels --------------------------------------------------------------------------


@EVERY
def test_several_labels(make):
    X, Y = several_labels()
    X = StandardScaler().fit_transform(X)
    for target in (Y, Y.astype(bool), sp.csr_matrix(Y)):
        clf = make(random_state=0).fit(X, target)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    P = clf.predict_proba(X)
    assert P.shape == clf.decision_function(X).shape == Y.shape
    assert P.min() >= 0
    assert P.max() <= 1
    predicted = clf.predict(X)
    assert np.array_equal(predicted, P >= 0.5)
    assert np.mean(predicted == Y) > 0.7
    assert 0 < clf.score(X, Y) <= 1
    weight = np.random.RandomState(0).randint(1, 3, len(X))
    heavy = make(random_state=0).fit(X, Y, sample_weight=weight)
    again = make(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(heavy.predict_proba(X), again.predict_proba(X), atol=1e-7)


def test_class_weight_needs_one_label():
    X, Y = several_labels()
    with pytest.raises(ValueError, match="class_weight is for one label a row"):
        GeneralizedLeastSquaresClassifier(class_weight="balanced").fit(X, Y)


# --- hard inputs -----------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_depend_on_each_other(make, dtype):
    """Constant, doubled, and more features than rows: finite, as good as without them."""
    X, y = problem(dtype=dtype)
    X = np.c_[X, X, np.zeros(300), np.full(300, 3), X @ np.ones((8, 3))].astype(dtype)
    clf = make(random_state=0).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert abs(clf.decision_function(X)).max() < 1e3
    assert clf.score(X, y) > 0.6
    wide = make(random_state=0).fit(X[:12], y[:12])
    assert np.isfinite(wide.decision_function(X)).all()


def test_dependent_features_are_mentioned():
    X, y = problem()
    clf = GeneralizedLeastSquaresClassifier("identity", alpha=0.0).fit(np.c_[X, X], y)
    assert "8 of 17 features depend on others" in clf.stop_reason_
    plain = GeneralizedLeastSquaresClassifier("identity", alpha=0.0).fit(X, y)
    assert plain.stop_reason_ == "solved"
    np.testing.assert_allclose(
        clf.decision_function(np.c_[X, X]), plain.decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("name", ["linear", "logistic", "calibrated"])
@pytest.mark.parametrize("factor", [1e-30, 1e-10, 1e10, 1e30])
def test_huge_and_tiny_values(name, factor):
    X, y = problem(dtype=np.float32)
    plain = ALL[name]().fit(X, y)
    # The scale of a column is a power of two: nothing but rounding of X itself differs.
    other = ALL[name]().fit(X * np.float32(factor), y)
    assert np.mean(other.predict(X * np.float32(factor)) == plain.predict(X)) > 0.98


def test_products_that_leave_float32():
    """Columns of a subset are not scaled: a clear error, not an endless search for a ridge."""
    X, y = problem(dtype=np.float32)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="scale the features"):
        ALL["stagewise-subset"]().fit(X * np.float32(1e25), y)


@EVERY
def test_wrong_input_is_refused(make):
    X, y = problem()
    clf = make()
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(bad, y)
    assert not hasattr(clf, "n_features_in_")
    with pytest.raises(ValueError, match="at least two classes"):
        clf.fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X, y[:-1])
    with pytest.raises(ValueError, match="at least one"):
        clf.fit(X, y, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clf.fit(X, y, sample_weight=np.full(300, -1.0))
    with pytest.raises(ValueError, match="needed together"):
        clf.fit(X, y, X_val=X)
    clf.fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        clf.predict(bad)
    with pytest.raises(ValueError, match="expecting 8 features"):
        clf.predict(X[:, :7])


def test_too_many_features_at_once():
    X = sp.csr_matrix((10, 50_000))
    with pytest.raises(ValueError, match="FeatureSubset"):
        GeneralizedLeastSquaresClassifier().fit(X, np.arange(10) % 2)


def test_basis_is_checked():
    X, y = problem()
    with pytest.raises(ValueError, match="basis must hold callables or names"):
        CalibratedLeastSquaresClassifier(basis=("identity", "quartic")).fit(X, y)
    clf = CalibratedLeastSquaresClassifier(basis=("identity", np.tanh)).fit(X, y)
    assert clf.score(X, y) > 0.6


def test_absent_class_in_validation_and_unknown_labels():
    X, y = problem()
    clf = ALL["stagewise"](random_state=0)
    clf.fit(X, y, X_val=X[:50], y_val=np.full(50, 7))
    assert clf.history_[-1]["validation_score"] == 0


@pytest.mark.parametrize("name", ["linear", "logistic", "calibrated"])
@pytest.mark.parametrize("alpha", [0.0, "scale"])
def test_a_column_that_never_varied_does_not_matter_later(name, alpha):
    """The mean of 0.1s is not 0.1: what is left must not be taken for a feature."""
    X, y = problem()
    with_constant = np.c_[X, np.full(300, 0.1)]
    clf = ALL[name](alpha=alpha).fit(with_constant, y)
    before = clf.predict_proba(with_constant)
    with_constant[:, -1] = 7
    assert np.array_equal(clf.predict_proba(with_constant), before)


def test_whole_numbers_keep_their_digits():
    X, y = problem()
    X = np.round(X * 1000) + 2.0**27
    clf = ALL["linear"]().fit(X, y)
    assert np.array_equal(clf.predict(X.astype(np.int64)), clf.predict(X))
    again = ALL["linear"]().fit(X.astype(np.int64), y)
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("values", [(-1, 1), (0, 2), (1, 2)])
def test_indicators_are_zeros_and_ones(values):
    X, Y = several_labels()
    with pytest.raises(ValueError, match="zeros and ones"):
        GeneralizedLeastSquaresClassifier().fit(X, np.array(values)[Y])


def test_a_new_fit_forgets_the_old_one(monkeypatch):
    X, y = problem()
    clf = ALL["stagewise"](random_state=0).fit(X, y)
    before = clf.decision_function(X)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("multiplane.solvers._least_squares.Design.moments", interrupt)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X[:, :5], y + 100)
    assert clf.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(clf.decision_function(X), before)


@pytest.mark.parametrize("name", ["stagewise", "stagewise-subset"])
def test_an_interrupted_stage_takes_no_features_with_it(name, monkeypatch):
    X, y = problem()
    make = ALL[name]
    at_once = make(n_stages=5, random_state=0).fit(X, y)
    clf = make(n_stages=2, random_state=0, warm_start=True).fit(X, y)

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("multiplane.solvers._least_squares.Design.moments", interrupt)
        with pytest.raises(KeyboardInterrupt):
            clf.set_params(n_stages=5).fit(X, y)
    assert clf.n_iter_ == 2
    clf.fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X), at_once.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("features", [RandomFourier(width=4.0), FeatureSubset()], ids=str)
def test_early_stopping_goes_on_from_the_best(features):
    X, y = problem(400)
    make = stagewise(features=features, block_size=2, early_stopping=True, n_iter_no_change=2)
    clf = make(n_stages=12, warm_start=True, random_state=np.random.RandomState(0)).fit(X, y)
    best = max(entry["validation_score"] for entry in clf.history_)
    clf.set_params(n_stages=30).fit(X, y)
    numbers = [entry["n_iter"] for entry in clf.history_]
    assert numbers == list(range(1, len(numbers) + 1))
    scores = [entry["validation_score"] for entry in clf.history_]
    assert max(scores) >= best
    assert scores[clf.n_iter_ - 1] == max(scores)


def test_parameters_that_must_not_change():
    X, y = problem()
    for name, change in (
        ("stagewise", {"update": "logistic"}),
        ("stagewise", {"features": RandomFourier(width=2.0)}),
        ("calibrated", {"basis": ("identity",)}),
        ("logistic", {"fit_intercept": False}),
    ):
        clf = ALL[name](warm_start=True, random_state=0).fit(X, y)
        before = clf.decision_function(X)
        if name == "stagewise":
            clf.set_params(n_stages=9)
        with pytest.raises(ValueError, match="parameters changed"):
            clf.set_params(**change).fit(X, y)
        clf.set_params(warm_start=False).fit(X, y)
        assert not np.array_equal(clf.decision_function(X), before)


def test_rows_without_weight_do_not_judge():
    X, y = problem(400)
    weight = np.repeat([1.0, 0.0], 200)
    wrong = np.where(weight > 0, y, (y + 1) % 3)
    make = stagewise(early_stopping=True, n_stages=4)
    clf = make(random_state=0).fit(X, wrong, sample_weight=weight)
    alone = make(random_state=0).fit(X[:200], y[:200])
    assert [e["validation_score"] for e in clf.history_] == [
        e["validation_score"] for e in alone.history_
    ]


def test_balanced_weights_count_weights():
    X, y = problem(120)
    weight = np.random.RandomState(0).randint(1, 4, size=120)
    heavy = ALL["linear"](class_weight="balanced").fit(X, y, sample_weight=weight)
    again = ALL["linear"](class_weight="balanced")
    again.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(heavy.coef_, again.coef_, atol=1e-10)


def test_momentum_does_not_stop_on_a_crest():
    X, y = load_iris(return_X_y=True)
    best = GeneralizedLeastSquaresClassifier(alpha=1e-5, tol=0, max_iter=5000).fit(X, y)
    soon = GeneralizedLeastSquaresClassifier(alpha=1e-5, tol=1e-7, max_iter=5000).fit(X, y)
    assert soon.stop_reason_ == "converged"
    assert soon.history_[-1]["loss"] - best.history_[-1]["loss"] < 2e-5


def test_many_classes_take_little_more_than_their_predictions():
    n, k = 20_000, 300
    random = np.random.RandomState(0)
    X, y = random.randn(n, 10).astype(np.float32), np.arange(n) % k
    clf = CalibratedLeastSquaresClassifier(max_iter=1).fit(X, y)  # imports are off the record
    for call in (lambda: clf.fit(X, y), lambda: clf.predict_proba(X)):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * n * k * 4, peak  # predictions are n × k float32


# --- stopping, history, callbacks ------------------------------------------------------------


@EVERY
def test_history(make):
    X, y = problem()
    clf = make(random_state=0).fit(X, y, X_val=X[:100], y_val=y[:100])
    numbers = [entry["n_iter"] for entry in clf.history_]
    assert numbers == list(range(1, clf.n_iter_ + 1))
    for entry in clf.history_:
        assert set(entry) == {"event", "n_iter", "loss", "error", "seconds", "validation_score"}
    assert clf.history_[-1]["validation_score"] == clf.score(X[:100], y[:100])
    assert clf.history_[-1]["error"] == pytest.approx(1 - clf.score(X, y))
    assert clf.stop_reason_.split(";")[0] in {"solved", "converged", "max_iter", "n_stages"}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["stagewise", "stagewise-calibrated", "stagewise-models"])
def test_stage_by_stage(name, k):
    X, y = problem(k=k)
    clf = ALL[name](random_state=0).fit(X, y, X_val=X[:100], y_val=y[:100])
    labels = list(clf.staged_predict(X[:100]))
    assert [np.mean(p == y[:100]) for p in labels] == [
        entry["validation_score"] for entry in clf.history_
    ]
    scores = list(clf.staged_decision_function(X))
    assert len(scores) == 3
    np.testing.assert_allclose(scores[-1], clf.decision_function(X), atol=1e-12)


def test_early_stopping_keeps_the_best_model():
    X, y = problem(400)
    make = stagewise(n_stages=60, block_size=50, early_stopping=True, n_iter_no_change=4)
    clf = make(random_state=0).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    scores = [entry["validation_score"] for entry in clf.history_]
    assert clf.stop_reason_.startswith("validation score no longer improves")
    assert clf.n_iter_ == 1 + int(np.argmax(scores)) == len(scores) - 4
    assert clf.score(X[200:], y[200:]) == max(scores)
    held_out = make(random_state=0).fit(X, y)
    assert held_out.n_iter_ < 60


@EVERY
def test_verbose(make, capsys):
    X, y = problem()
    clf = make(verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == clf.n_iter_
    assert f"[{type(clf).__name__}]" in lines[0]
    assert "loss" in lines[0]


class Watcher:
    def __init__(self, stop_after=None):
        self.ends, self.models, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ends.append(context.task_name)
        if context.task_name != "fit":
            self.models.append(fitted_estimator)
        return self.stop_after is not None and len(self.ends) == self.stop_after


@EVERY
def test_callbacks(make):
    X, y = problem()
    watcher = Watcher()
    clf = make(random_state=0).set_callbacks(watcher)
    clf.fit(X, y)
    assert len(watcher.ends) == clf.n_iter_ + 1
    assert watcher.ends[-1] == "fit"
    last = watcher.models[-1]
    assert np.array_equal(last.decision_function(X), clf.decision_function(X))


def test_a_callback_can_stop_the_training():
    X, y = problem()
    clf = stagewise(n_stages=20)(random_state=0).set_callbacks(Watcher(stop_after=2))
    clf.fit(X, y)
    assert clf.n_iter_ == 2
    assert clf.stop_reason_.startswith("callback")


def test_ctrl_c_keeps_what_was_learnt():
    script = """
import numpy as np, signal, os
from multiplane import StagewiseLeastSquaresClassifier
random = np.random.RandomState(0)
X = random.randn(20000, 20).astype(np.float32); y = (X[:, 0] > 0).astype(int)
class Kill:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_name == "stage" and len(estimator.history_) == 3:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
signal.signal(signal.SIGALRM, lambda *a: os.kill(os.getpid(), signal.SIGINT))
clf = StagewiseLeastSquaresClassifier(n_stages=100000, random_state=0).set_callbacks(Kill())
try:
    clf.fit(X, y)
except KeyboardInterrupt as error:
    told = "fitted with what" in str(error)
    print(told, clf.stop_reason_, clf.n_iter_ >= 3, clf.score(X, y) > 0.9)
"""
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert out.stdout.split() == ["True", "interrupted", "True", "True"]


def test_interrupted_before_anything_was_learnt(monkeypatch):
    X, y = problem()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("multiplane.solvers._least_squares.Design.moments", interrupt)
    clf = ALL["linear"]()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert not hasattr(clf, "classes_")


# --- scikit-learn ----------------------------------------------------------------------------


def expected_failures(estimator):
    reasons = {
        "check_array_api_same_namespace": "rows from elsewhere than those of fit are welcome: the "
        "model goes where they live",
        "check_array_api_same_namespace_array_api_strict": "the same",
    }
    if (
        not (
            isinstance(estimator, GeneralizedLeastSquaresClassifier) and estimator.link == "softmax"
        )
        and getattr(estimator, "update", "") != "logistic"
    ):
        reasons["check_classifiers_multilabel_output_format_predict_proba"] = (
            "the check wants probabilities strictly between 0 and 1; projections reach both"
        )
    return reasons


@parametrize_with_checks(
    [
        GeneralizedLeastSquaresClassifier("identity"),
        GeneralizedLeastSquaresClassifier(),
        CalibratedLeastSquaresClassifier(),
        StagewiseLeastSquaresClassifier(n_stages=3, block_size=20),
        StagewiseLeastSquaresClassifier("calibrated", n_stages=3, block_size=20),
        StagewiseLeastSquaresClassifier("logistic", n_stages=3, block_size=20),
    ],
    expected_failed_checks=expected_failures,
)
def test_common_checks(estimator, check):
    check(estimator)


@EVERY
def test_copies(make):
    X, y = problem()
    clf = make(random_state=0).fit(X, y)
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.predict_proba(X), clf.predict_proba(X))
    assert clone(clf).get_params().keys() == clf.get_params().keys()


def test_pipeline_and_grid_search():
    X, y = load_digits(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), ALL["stagewise"](random_state=0))
    grid = {
        "stagewiseleastsquaresclassifier__features__width": [4.0, 8.0],
        "stagewiseleastsquaresclassifier__n_stages": [1, 4],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(X[:600], y[:600])
    assert search.best_params_["stagewiseleastsquaresclassifier__n_stages"] == 4
    assert cross_val_score(search.best_estimator_, X, y, cv=3).mean() > 0.8


def test_two_classes():
    X, y = problem(k=2)
    for make in ALL.values():
        clf = make(random_state=0).fit(X, y)
        D = clf.decision_function(X)
        assert D.shape == (300,)
        assert np.array_equal(D > 0, clf.predict(X) == 1)


def test_many_threads_predict():
    X, y = problem()
    clf = ALL["stagewise"](random_state=0).fit(X, y)
    want, wrong = clf.predict_proba(X), []

    def work():
        for _ in range(20):
            if not np.array_equal(clf.predict_proba(X), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    "classifier",
    [
        GeneralizedLeastSquaresClassifier(),
        CalibratedLeastSquaresClassifier(),
        StagewiseLeastSquaresClassifier(n_stages=2, block_size=32, random_state=0),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_sparse_rows_are_predicted_as_the_dense_rows_that_they_are(classifier):
    random = np.random.RandomState(0)
    X = random.standard_normal((200, 5)) + 100  # far from zero: a shift that is forgotten shows
    y = (X[:, 0] > 100).astype(int)
    classifier.fit(X, y)
    dense, sparse = (classifier.decision_function(rows) for rows in (X, sp.csr_matrix(X)))
    assert np.allclose(dense, sparse, rtol=1e-6)
