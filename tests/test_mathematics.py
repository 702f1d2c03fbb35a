"""Kinds 4 and 6: what the formulas promise, and an outside oracle."""

import numpy as np
import pytest
from helpers import HYPERPLANES, integers, native_rows, problem
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import LinearSVC

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier, _native


def full(clf):
    """All weights, the intercepts as a last column."""
    return np.column_stack([clf.coef_, clf.intercept_]).astype(np.float64)


# --- pruning -------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 1.0, 5.0, 20.0, 1e9])
@pytest.mark.parametrize("seed", range(5))
def test_pruning_keeps_its_promise(c, seed):
    """The smallest go first; all that goes has a norm of at most c; one more would break it."""
    X, y = integers(200, 6, 3, seed=seed)
    learner = _native.Learner(n_features=6, bias=1.0, n_classes=3, lam=0.01, adaptive=True,
                              ball_projection=False, average=False, growth=0.5,
                              growth_decay=0.99, seed=1)  # fmt: skip
    learner.learn(native_rows(X, "dense"), y)
    before = learner.__getstate__()
    n_removed = learner.prune(c)
    after = learner.__getstate__()
    assert len(before["ids"]) == n_removed + len(after["ids"])
    kept = np.isin(before["ids"], after["ids"])
    np.testing.assert_array_equal(after["U"], before["U"][kept])
    np.testing.assert_array_equal(after["owner"], before["owner"][kept])
    squares = (before["U"].astype(np.float64) ** 2).sum(axis=1)
    assert squares[~kept].sum() <= c * c
    if kept.any():
        assert squares[kept].min() >= squares[~kept].max(initial=0)
        assert squares[~kept].sum() + squares[kept].min() > c * c


def test_pruning_in_the_papers_terms():
    """‖ΔW‖ ≤ c / ((t−1)λ), at every multiple of k steps and at no other."""
    X, y = problem(n=400)
    clf = GAMMClassifier(alpha=0.01, average=False, prune_every=50, prune_threshold=8.0,
                         growth=0.5, random_state=0)  # fmt: skip
    n_pruned = 0
    for i in range(400):
        before = full(clf) * (i - 1) / i if i > 1 else np.zeros((0, 8))  # W shrinks by 1 − 1/t
        pruned = len(clf.history_) if i else 0
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
        events = [e for e in clf.history_[pruned:] if e["event"] == "prune"]
        assert len(events) == (clf.t_ % 50 == 1)
        if not events:
            continue
        lost = events[0]["pruned"] - n_pruned
        n_pruned = events[0]["pruned"]
        # The last row may have moved one small hyperplane before: the norms before are a guide.
        smallest = np.sort(np.linalg.norm(before, axis=1))[:lost]
        step = 2 * np.linalg.norm(np.append(X[i], 1)) / (0.01 * i)
        assert np.linalg.norm(smallest) <= 8.0 / (0.01 * i) + step
    assert n_pruned > 0


# --- averaging, projection, the step -------------------------------------------------------


def test_the_average_gives_the_tth_model_the_weight_t_to_the_fourth():
    X, y = problem(n=150)
    last = PegasosClassifier(average=False, alpha=0.01)
    averaged = PegasosClassifier(average=True, alpha=0.01)
    total, weights = 0.0, 0.0
    for i in range(150):
        last.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
        t = i + 1
        total, weights = total + t**4 * full(last), weights + t**4
    averaged.partial_fit(X, y, classes=[0, 1, 2])
    expected = total / weights
    # V is a float32 sum of up to 150 terms: 150 · 2⁻²⁴ ≈ 1e-5 of the largest weight.
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(full(averaged), expected, rtol=0, atol=atol)
    half = slice(75, None)
    assert np.sum(np.arange(1, 151)[half] ** 4.0) / weights > 0.94  # as learner.hpp says


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-2, 1e-4])
def test_the_ball_is_never_left(alpha):
    X, y = problem(n=150)
    clf = PegasosClassifier(ball_projection=True, average=False, alpha=alpha)
    free = PegasosClassifier(average=False, alpha=alpha)
    outside = 0
    for i in range(150):
        for model in (clf, free):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
        # ‖U‖² is kept by O(1) updates in float64 of float32 weights: 150 roundings of 2⁻²⁴.
        assert np.linalg.norm(full(clf)) <= (1 + 1e-5) / np.sqrt(alpha)
        outside += np.linalg.norm(full(free)) > 1 / np.sqrt(alpha)
    assert outside > 0


def test_the_averaged_model_stays_in_the_ball_too():
    X, y = load_digits(return_X_y=True)
    clf = PegasosClassifier(ball_projection=True, alpha=1e-3, random_state=0).fit(X / 16, y)
    assert np.linalg.norm(full(clf)) <= (1 + 1e-5) / np.sqrt(1e-3)
    assert clf.score(X / 16, y) > 0.9


def test_first_steps_by_hand():
    """λ = 1/2: step 1 makes w_a = x/λ and w_b = −x/λ; step 2 halves W and adds again."""
    clf = AMMClassifier(alpha=0.5, average=False, fit_intercept=False)
    clf.partial_fit([[1.0, 0.0]], ["a"], classes=["a", "b"])
    np.testing.assert_array_equal(clf.coef_, [[2, 0], [-2, 0]])
    assert clf.hyperplane_class_.tolist() == ["a", "b"]
    clf.partial_fit([[1.0, 1.0]], ["b"])
    # w_b·x = −2: class b takes a zero hyperplane; rival w_a·x = 2. Steps of 1/(λ2) = 1.
    np.testing.assert_array_equal(clf.coef_, [[0, -1], [-1, 0], [1, 1]])
    assert clf.hyperplane_class_.tolist() == ["a", "b", "b"]
    clf.partial_fit([[4.0, 4.0]], ["b"])  # loss 1 + w_a·x − w_b·x = 1 − 4 − 8 < 0: only shrinks
    np.testing.assert_allclose(clf.coef_, np.array([[0, -1], [-1, 0], [1, 1]]) * 2 / 3, rtol=1e-6)
    assert clf.t_ == 4


# --- outside oracle ------------------------------------------------------------------------


def objective(W, X, y, alpha):
    """λ/2 ‖W‖² + mean of Crammer and Singer's hinge."""
    scores = X @ W.T
    right = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    hinge = np.maximum(0, 1 + scores.max(axis=1) - right)
    return alpha / 2 * np.sum(W**2) + hinge.mean()


@pytest.mark.parametrize("alpha", [1e-1, 1e-2])
@pytest.mark.parametrize("data", [load_iris, load_digits])
def test_pegasos_approaches_the_optimum_that_liblinear_finds(data, alpha):
    X, y = data(return_X_y=True)
    X = X / X.max()
    svc = LinearSVC(multi_class="crammer_singer", C=1 / (len(y) * alpha), fit_intercept=False,
                    tol=1e-6, max_iter=100_000, random_state=0).fit(X, y)  # fmt: skip
    best = objective(svc.coef_, X, y, alpha)
    clf = PegasosClassifier(alpha=alpha, max_iter=200, fit_intercept=False, random_state=0)
    ours = objective(clf.fit(X, y).coef_.astype(np.float64), X, y, alpha)
    # The averaged model is O(1/(λT)) above the optimum, T = 200 n; never below it.
    assert best * (1 - 1e-5) <= ours <= best * 1.005
    short = PegasosClassifier(alpha=alpha, max_iter=2, fit_intercept=False, random_state=0)
    assert objective(short.fit(X, y).coef_.astype(np.float64), X, y, alpha) > ours


def test_more_hyperplanes_solve_what_a_line_cannot():
    """Figure 1 of the AMM paper: a strip of alternating blocks."""
    X = np.random.RandomState(0).uniform(-1, 1, size=(3000, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    assert PegasosClassifier(random_state=0).fit(X, y).score(X, y) < 0.75
    assert AMMClassifier(random_state=0).fit(X, y).score(X, y) > 0.97
    assert GAMMClassifier(random_state=0).fit(X, y).score(X, y) > 0.97


# --- prediction ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("make", HYPERPLANES.values(), ids=HYPERPLANES)
def test_prediction_is_the_maximum_over_hyperplanes(make, n_classes):
    X, y = problem(n_classes=n_classes)
    y = np.array(list("edcba"))[y]
    clf = make(alpha=1.0, random_state=0).fit(X, y)
    scores = X @ clf.coef_.T + clf.intercept_
    atol = 1e-5 * np.abs(scores).max()  # float32 sums in another order
    maxima = np.column_stack([scores[:, clf.hyperplane_class_ == k].max(axis=1)
                              for k in clf.classes_])  # fmt: skip
    decision = clf.decision_function(X)
    if n_classes == 2:
        np.testing.assert_allclose(decision, maxima[:, 1] - maxima[:, 0], atol=2 * atol)
        np.testing.assert_array_equal(clf.predict(X), clf.classes_[(decision > 0).astype(int)])
    else:
        np.testing.assert_allclose(decision, maxima, atol=atol)
        np.testing.assert_array_equal(clf.predict(X), clf.classes_[decision.argmax(axis=1)])
    winners = clf.apply(X)
    np.testing.assert_array_equal(clf.hyperplane_class_[winners], clf.predict(X))
    best = scores.max(axis=1)
    np.testing.assert_allclose(scores[np.arange(len(X)), winners], best, atol=atol)
    assert clf.score(X, y) == np.mean(clf.predict(X) == y)


def test_exact_ties_are_broken_alike():
    """A row of zeros without an intercept scores 0 everywhere."""
    clf = AMMClassifier(fit_intercept=False)
    clf.partial_fit([[1.0, 2.0], [-1.0, 1.0]], [1, 2], classes=[0, 1, 2])
    row = np.zeros((1, 2))
    assert clf.predict(row) == clf.classes_[clf.decision_function(row).argmax(axis=1)]


def test_two_classes_of_which_one_has_no_hyperplane():
    """One column for two classes: positive where the second is predicted."""
    clf = AMMClassifier(prune_every=2, prune_threshold=2.0, average=False, fit_intercept=False)
    # Class 1 gets (0, 50) and (1, −49), class 0 what is left: (−1, −1), which is pruned.
    clf.partial_fit([[0.0, 50.0], [1.0, -49.0]], [1, 1], classes=[0, 1])
    X = np.array([[1.0, 0], [-1.0, 0], [0, 0]])
    assert set(clf.hyperplane_class_) == {1}
    np.testing.assert_array_equal(clf.predict(X), (clf.decision_function(X) > 0).astype(int))
