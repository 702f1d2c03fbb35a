"""Kind 5: what changes nothing, or changes the model in a known way."""

import numpy as np
import pytest
from helpers import HYPERPLANES, ONE_PASS, STREAMS, VARIANTS, arrays, csr, integers, problem, state
from sklearn.utils import compute_sample_weight
from twin import Twin

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier

SETTINGS = dict(random_state=5, alpha=1e-3, max_iter=3)
# Without the ball: its factor is no power of two.
EXACT = {name: make for name, make in HYPERPLANES.items() if name != "pegasos-ball"}


def fit(make, X, y, **more):
    return make(**{**SETTINGS, **more}).fit(X, y)


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize(
    "names",
    [["a", "b", "c"], [-7, 0, 10**12], [1.0, 2.0, 3.0], ["", "x" * 50, "é"],
     np.array(["1", "10", "2"], dtype=object)],
    ids=str,
)  # fmt: skip
def test_names_of_classes_do_not_matter(make, names):
    X, y = problem()
    plain, named = fit(make, X, y), fit(make, X, np.array(names)[y])
    assert [a.tobytes() for a in arrays(named)] == [a.tobytes() for a in arrays(plain)]
    assert named.classes_.tolist() == list(names)
    np.testing.assert_array_equal(named.predict(X), np.array(names)[plain.predict(X)])
    if hasattr(plain, "hyperplane_class_"):
        owners = np.array(names)[plain.hyperplane_class_]
        np.testing.assert_array_equal(named.hyperplane_class_, owners)


@pytest.mark.parametrize("make", [AMMClassifier, GAMMClassifier])
def test_two_classes_swapped(make):
    X, y = problem(n_classes=2)
    a, b = fit(make, X, y), fit(make, X, 1 - y)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    np.testing.assert_array_equal(a.hyperplane_class_, 1 - b.hyperplane_class_)
    np.testing.assert_array_equal(a.decision_function(X), -b.decision_function(X))


def test_two_classes_swapped_pegasos():
    X, y = problem(n_classes=2)
    a, b = fit(PegasosClassifier, X, y), fit(PegasosClassifier, X, 1 - y)
    np.testing.assert_array_equal(a.coef_, b.coef_[::-1])


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize("d", [7, 33, 300])
def test_permuted_features(make, d):
    """Whole numbers have no roundings, so the order of a sum cannot be seen."""
    X, y = integers(150, d, 3, seed=d)
    order = np.random.RandomState(0).permutation(d)
    a, b = fit(make, X, y), fit(make, X[:, order], y)
    assert b.coef_.tobytes() == a.coef_[:, order].tobytes()
    assert b.intercept_.tobytes() == a.intercept_.tobytes()
    # The averaged weights are no whole numbers: scores agree to rounding of d products.
    scores = a.decision_function(X)
    atol = d * 2.0**-23 * np.abs(scores).max()
    np.testing.assert_allclose(b.decision_function(X[:, order]), scores, atol=atol)


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_features_of_zeros_do_not_matter(make):
    X, y = problem()
    wide = np.zeros((300, 100), dtype=np.float32)
    wide[:, 20:27] = X
    a, b = fit(make, X, y), fit(make, wide, y)
    assert b.coef_[:, 20:27].tobytes() == a.coef_.tobytes()
    assert np.count_nonzero(b.coef_) == np.count_nonzero(a.coef_)


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize("s", [2.0**-20, 0.5, 4.0, 2.0**20])
def test_units_of_measurement(make, s):
    """x → s x and λ → s² λ give W / s; exactly, if s is a power of two."""
    X, y = problem()
    extra = dict(prune_every=100, prune_threshold=4.0) if make is not PegasosClassifier else {}
    a = fit(make, X, y, **extra)
    if extra:
        extra["prune_threshold"] *= s
    b = fit(make, X * np.float32(s), y, alpha=1e-3 * s * s, intercept_scaling=s, **extra)
    assert (b.coef_ * np.float32(s)).tobytes() == a.coef_.tobytes()
    assert b.intercept_.tobytes() == a.intercept_.tobytes()
    assert b.decision_function(X * np.float32(s)).tobytes() == a.decision_function(X).tobytes()


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_mirrored_rows(make):
    X, y = problem()
    a, b = (fit(make, sign * X, y, fit_intercept=False) for sign in (1, -1))
    np.testing.assert_array_equal(a.coef_, -b.coef_)
    assert not a.intercept_.any()


# --- weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_weight_zero_is_a_row_that_is_absent(make):
    X, y = problem()
    weight = np.random.RandomState(0).choice([0.0, 1.0, 2.0], size=300)
    there = weight > 0
    a, b = make(**SETTINGS), make(**SETTINGS)
    a.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    b.partial_fit(X[there], y[there], classes=[0, 1, 2], sample_weight=weight[there])
    assert state(a) == state(b)
    assert a.t_ == 1 + there.sum()


@pytest.mark.parametrize("name", [*ONE_PASS, "scale"])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("early_stopping", [True, False])
def test_weight_zero_in_fit(name, shuffle, early_stopping):
    """Even the shuffled order is that of the rows that take part, and none is held out."""
    X, y = problem()
    weight = np.random.RandomState(0).choice([0.0, 1.0, 2.0], size=300)
    there = weight > 0
    a, b = (
        VARIANTS[name](**SETTINGS, shuffle=shuffle, early_stopping=early_stopping) for _ in "ab"
    )
    a.fit(X, y, sample_weight=weight)
    b.fit(X[there], y[there], sample_weight=weight[there])
    assert state(a) == state(b)
    scores = [[e.get("validation_score") for e in clf.history_] for clf in (a, b)]
    assert scores[0] == scores[1]


def test_weight_zero_has_no_say_in_the_end_of_batch_training():
    X, y = problem(n=60, seed=1)
    weight = np.random.RandomState(1).choice([0.0, 1.0, 2.0], size=60)
    there = weight > 0
    a = AMMClassifier("batch", alpha=0.1, random_state=5, max_iter=60)
    b = AMMClassifier("batch", alpha=0.1, random_state=5, max_iter=60)
    a.fit(X, y, sample_weight=weight)
    b.fit(X[there], y[there], sample_weight=weight[there])
    assert (a.n_iter_, a.coef_.tobytes()) == (b.n_iter_, b.coef_.tobytes())


def test_weights_against_the_twin():
    X, y = integers(120, 9, 3, seed=8)
    weight = np.random.RandomState(1).choice([0.5, 1.0, 2.0, 4.0], size=120)
    clf = AMMClassifier(alpha=0.5, average=False, max_iter=1, shuffle=False, prune_threshold=None)
    clf.fit(csr(X), y, sample_weight=weight)
    twin = Twin(n_features=9, bias=1.0, n_classes=3, lam=0.5, adaptive=True, growth=0.0,
                average=False, ball_projection=False, seed=0)  # fmt: skip
    twin.learn(X, y, weight)
    expected = twin.W().astype(np.float32)
    np.testing.assert_array_equal(np.column_stack([clf.coef_, clf.intercept_]), expected)
    doubled = AMMClassifier(alpha=0.5, average=False, max_iter=1, shuffle=False)
    doubled.fit(X, y, sample_weight=2 * weight)
    assert not np.array_equal(doubled.coef_, clf.coef_)


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_class_weights_are_sample_weights(make):
    X, y = problem()
    weights = {0: 1.0, 1: 2.5, 2: 0.5}
    a = make(**SETTINGS, class_weight=weights).fit(X, y)
    b = make(**SETTINGS).fit(X, y, sample_weight=[weights[k] for k in y])
    assert state(a) == state(b)
    balanced = make(**SETTINGS, class_weight="balanced").fit(X, y)
    by_hand = make(**SETTINGS).fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    assert state(balanced) == state(by_hand)
    assert state(balanced) != state(a)


def test_class_and_sample_weights_multiply():
    X, y = problem()
    sample = np.random.RandomState(0).choice([0.5, 1.0, 2.0], size=300)
    a = AMMClassifier(**SETTINGS, class_weight={1: 4.0}).fit(X, y, sample_weight=sample)
    b = AMMClassifier(**SETTINGS).fit(X, y, sample_weight=sample * np.where(y == 1, 4, 1))
    assert state(a) == state(b)
