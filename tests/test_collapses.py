"""Kind 3: a special case of one algorithm is another algorithm."""

import numpy as np
import pytest
from helpers import VARIANTS, problem, state

from multiplane import AMMClassifier, GAMMClassifier, MMClassifier, PegasosClassifier

SETTINGS = dict(random_state=7, alpha=1e-3)


def arrays(clf):
    """What must be equal when two algorithms do the same: model and scaled hyperplanes."""
    learner = clf._training.learner.__getstate__()
    keys = ("U", "V", "owner", "ids")
    parts = [clf.coef_, clf.intercept_, *(learner[k] for k in keys if learner[k] is not None)]
    return [a.tobytes() for a in parts]


@pytest.mark.parametrize("average", [True, False])
def test_mm_with_one_hyperplane_is_pegasos(average):
    """All assignments are trivial. (Shuffled orders differ: MM draws assignments first.)"""
    X, y = problem()
    options = dict(average=average, shuffle=False, max_iter=1, **SETTINGS)
    assert state(MMClassifier(1, **options).fit(X, y)) == state(
        PegasosClassifier(**options).fit(X, y)
    )


def test_mm_with_one_hyperplane_is_pegasos_for_several_passes():
    X, y = problem()
    options = dict(shuffle=False, max_iter=4, **SETTINGS)
    mm, pegasos = MMClassifier(1, **options).fit(X, y), PegasosClassifier(**options).fit(X, y)
    assert state(mm) == state(pegasos)


def test_mm_streams_with_one_hyperplane_are_pegasos():
    X, y = problem()
    mm, pegasos = MMClassifier(1, **SETTINGS), PegasosClassifier(**SETTINGS)
    for clf in (mm, pegasos):
        clf.partial_fit(X[:100], y[:100], classes=[0, 1, 2]).partial_fit(X[100:], y[100:])
    assert state(mm) == state(pegasos)


def test_mm_with_a_dictionary_of_equal_numbers():
    X, y = problem()
    a = MMClassifier(3, **SETTINGS).fit(X, y)
    b = MMClassifier({0: 3, 1: 3, 2: 3}, **SETTINGS).fit(X, y)
    assert state(a) == state(b)
    assert a.n_hyperplanes_ == 9


@pytest.mark.parametrize("mode", ["online", "batch"])
@pytest.mark.parametrize("average", [True, False])
def test_gamm_without_growth_is_amm(mode, average):
    X, y = problem()
    options = dict(average=average, prune_threshold=4.0, prune_every=100, max_iter=4, **SETTINGS)
    gamm = GAMMClassifier(mode, growth=0.0, **options).fit(X, y)
    amm = AMMClassifier(mode, **options).fit(X, y)
    assert arrays(gamm) == arrays(amm)
    assert gamm.stop_reason_ == amm.stop_reason_
    growing = GAMMClassifier(mode, growth=0.5, **options).fit(X, y)
    assert growing.n_hyperplanes_ > amm.n_hyperplanes_  # or growth would not be tested


@pytest.mark.parametrize("make", [AMMClassifier, GAMMClassifier])
def test_pruning_nothing_is_not_pruning(make):
    """On continuous data no hyperplane is exactly zero, so c = 0 removes none."""
    X, y = problem(zeros=0)
    options = dict(max_iter=2, **SETTINGS)
    never = make(prune_threshold=None, **options).fit(X, y)
    zero = make(prune_threshold=0.0, prune_every=50, **options).fit(X, y)
    late = make(prune_threshold=1e6, prune_every=10**9, **options).fit(X, y)
    assert arrays(never) == arrays(zero) == arrays(late)
    assert all(entry["pruned"] == 0 for entry in zero.history_)
    assert [e["event"] for e in zero.history_].count("prune") == 12
    assert all(entry["event"] == "pass" for entry in never.history_)
    pruned = make(prune_threshold=5.0, prune_every=50, **options).fit(X, y)
    assert pruned.history_[-1]["pruned"] > 0


@pytest.mark.parametrize("make", [AMMClassifier, GAMMClassifier])
def test_batch_begins_with_an_online_pass(make):
    X, y = problem()
    options = dict(max_iter=1, **SETTINGS)
    assert arrays(make("batch", **options).fit(X, y)) == arrays(make(**options).fit(X, y))


@pytest.mark.parametrize("name", ["pegasos", "mm", "amm", "gamm"])
def test_averaging_only_watches(name):
    """The average changes what is predicted, not what is learnt."""
    X, y = problem()
    averaged = VARIANTS[name](max_iter=2, **SETTINGS).fit(X, y)
    last = VARIANTS[name](max_iter=2, average=False, **SETTINGS).fit(X, y)
    U, plain = (c._training.learner.__getstate__()["U"] for c in (averaged, last))
    assert U.tobytes() == plain.tobytes()
    assert not np.array_equal(averaged.coef_, last.coef_)


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_weights_of_one_are_no_weights(make):
    X, y = problem()
    options = dict(max_iter=2, **SETTINGS)
    plain = state(make(**options).fit(X, y))
    assert state(make(**options).fit(X, y, sample_weight=np.ones(300))) == plain
    assert state(make(class_weight={0: 1, 1: 1, 2: 1}, **options).fit(X, y)) == plain


def test_a_ball_that_is_never_left_is_no_ball():
    """With a great λ the step 1/(λt) is so short that ‖W‖ ≤ 1/√λ holds anyway."""
    X, y = problem()
    options = dict(random_state=0, alpha=1e4, max_iter=2)
    free = PegasosClassifier(**options).fit(X, y)
    assert arrays(PegasosClassifier(ball_projection=True, **options).fit(X, y)) == arrays(free)


def test_two_classes_of_pegasos_are_one_linear_svm():
    X, y = problem(n_classes=2)
    clf = PegasosClassifier(**SETTINGS).fit(X, y)
    np.testing.assert_array_equal(clf.coef_[0], -clf.coef_[1])
    np.testing.assert_array_equal(clf.intercept_[0], -clf.intercept_[1])
