"""Kind 7: scikit-learn's common checks, and its tools working on our estimators."""

import copy
import inspect

import joblib
import numpy as np
import pytest
from helpers import (
    HYPERPLANE_CLASSIFIERS,
    HYPERPLANES,
    KERNELS,
    VARIANTS,
    csr,
    problem,
    state,
)
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier

ONE_AT_A_TIME = (
    "SGD visits rows one at a time: a row of weight 2 is one long step, a row that is there twice "
    "is two steps, and the order in which rows are shuffled depends on their number"
)

# scikit-learn before 1.9 has no such parameter.
HEAVY_ROWS = (
    "the check weighs rows by 1000: with ball projection one such step is so long that the model "
    "is little but the last heavy row (the twin in float64 fails as well)"
)
HAS_STRICT = "xfail_strict" in inspect.signature(parametrize_with_checks).parameters
STRICT = {"xfail_strict": True} if HAS_STRICT else {}


def expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": ONE_AT_A_TIME,
        "check_sample_weight_equivalence_on_sparse_data": ONE_AT_A_TIME,
    }
    # Where small support vectors are merged or projected the heavy rows leave something behind.
    mended = getattr(estimator, "maintenance", None) in ("merge", "project")
    mended = mended and estimator.kernel == "rbf" and estimator.budget is not None
    if getattr(estimator, "ball_projection", False) and not mended:
        failures["check_class_weight_classifiers"] = HEAVY_ROWS
    return failures


@parametrize_with_checks(
    # Those left out differ from others in what they learn only: two of them take long, and twenty
    # support vectors kept by lot do not reach the accuracy that is asked for.
    [make() for k, make in VARIANTS.items() if k not in ("no-budget", "merge-all", "random")],
    expected_failed_checks=expected_failures,
    **STRICT,
)
def test_common_checks(estimator, check):
    check(estimator)


def test_shared_parameters_and_defaults():
    """The issue's table of parameters: names, defaults, all but the first keyword-only."""
    shared = dict(alpha=1e-4, max_iter=15, average=True, fit_intercept=True, intercept_scaling=1.0,
                  shuffle=True, random_state=None, class_weight=None, warm_start=False,
                  early_stopping=False, n_jobs=None, verbose=0)  # fmt: skip
    for make in HYPERPLANE_CLASSIFIERS:
        parameters = make().get_params()
        assert shared.items() <= parameters.items()
        assert {"validation_fraction", "n_iter_no_change", "tol"} <= set(parameters)
        signature = inspect.signature(make).parameters
        assert all(signature[name].kind is signature[name].KEYWORD_ONLY for name in shared)
        assert all(name in make.__doc__ for name in parameters), "documented"
    assert AMMClassifier().prune_every == GAMMClassifier().prune_every == 10_000
    assert (AMMClassifier().prune_threshold, GAMMClassifier().prune_threshold) == (10, 50)
    assert (GAMMClassifier().growth, GAMMClassifier().growth_decay) == (0.2, 0.99)
    assert VARIANTS["mm"]().prune_threshold is None


@pytest.mark.parametrize("make", HYPERPLANES.values(), ids=HYPERPLANES)
def test_attributes_of_a_fitted_model(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=2).fit(X, y)
    m = clf.n_hyperplanes_
    assert clf.coef_.shape == (m, 7)
    assert clf.intercept_.shape == clf.hyperplane_class_.shape == (m,)
    assert clf.coef_.dtype == clf.intercept_.dtype == np.float32
    assert set(clf.hyperplane_class_) <= set(clf.classes_)
    assert clf.n_iter_ <= 2
    assert clf.t_ == 1 + 300 * clf.n_iter_
    assert clf.n_features_in_ == 7
    assert not hasattr(clf, "feature_names_in_")


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_attributes_of_a_fitted_kernel_machine(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=2).fit(X, y)
    s = clf.n_support_
    assert s == clf.budget or (clf.budget is None and s <= 600)
    assert clf.support_vectors_.shape == (s, 7)
    assert clf.dual_coef_.shape == (s, 3)
    assert clf.dual_coef_.dtype == clf.support_vectors_.dtype == np.float32
    assert not clf.dual_coef_.flags.writeable
    assert not clf.support_vectors_.flags.writeable
    assert clf.gamma_ == clf.gamma or clf.gamma == "scale"
    assert clf.degradation_ == clf.history_[-1]["degradation"] >= 0
    assert (clf.degradation_ == 0) == (clf.budget is None)
    assert (clf.n_iter_, clf.t_, clf.n_features_in_) == (2, 601, 7)


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("method", ["predict", "decision_function", "apply", "score"])
def test_not_fitted(make, method):
    if method == "apply" and not hasattr(make(), "apply"):
        return
    arguments = (np.ones((2, 3)), [0, 1])[: 2 if method == "score" else 1]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(make(), method)(*arguments)
    with pytest.raises((NotFittedError, AttributeError)):
        _ = make().coef_ if hasattr(type(make()), "coef_") else make().dual_coef_


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_copies(make, tmp_path):
    X, y = problem()
    clf = make(random_state=0, max_iter=2).fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    with pytest.raises(NotFittedError):
        clone(clf).predict(X)
    twin = copy.deepcopy(clf)
    joblib.dump(clf, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    expected = state(clf)
    assert state(twin) == state(loaded) == expected
    twin.partial_fit(X[:20], y[:20])  # a deep copy has a learner of its own
    loaded.partial_fit(X[:20], y[:20])
    assert state(clf) == expected
    assert state(twin) == state(loaded) != expected


def test_pipeline_and_grid_search():
    X, y = problem(n=400)
    pipeline = make_pipeline(StandardScaler(), AMMClassifier(max_iter=5, random_state=0))
    search = GridSearchCV(pipeline, {"ammclassifier__alpha": [1e-4, 1e-2, 1e2]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.6
    assert search.best_params_["ammclassifier__alpha"] < 1e2
    assert search.predict(X).shape == (400,)
    assert cross_val_score(pipeline[-1], csr(X), y, cv=3).mean() > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration(n_classes):
    X, y = problem(n=400, n_classes=n_classes)
    calibrated = CalibratedClassifierCV(GAMMClassifier(max_iter=3, random_state=0), cv=3)
    probability = calibrated.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
    assert calibrated.score(X, y) > 0.6


def test_no_probabilities():
    clf = GAMMClassifier()
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="GAMMClassifier has scores, but no probabilities"):
        clf.predict_proba([[0]])


def test_meta_estimators():
    X, y = problem(n=400)
    base = PegasosClassifier(max_iter=3, random_state=0)
    for meta in (OneVsRestClassifier(base), BaggingClassifier(base, 3, random_state=0, n_jobs=2)):
        assert meta.fit(X, y).score(X, y) > 0.4


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    names = list("abcdefg")
    frame, labels = (
        pandas.DataFrame(X, columns=names),
        pandas.Series(y).map({0: "x", 1: "y", 2: "z"}),
    )
    clf = AMMClassifier(random_state=0).fit(frame, labels)
    assert clf.feature_names_in_.tolist() == names
    assert clf.classes_.tolist() == ["x", "y", "z"]
    assert clf.coef_.tobytes() == AMMClassifier(random_state=0).fit(X, y).coef_.tobytes()
    assert clf.score(frame, labels) > 0.6
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        clf.predict(X)
    mixed = frame.astype({"a": np.float64, "b": np.int64})
    assert AMMClassifier(random_state=0).fit(mixed, labels).n_features_in_ == 7
    categories = pandas.Series(labels, dtype="category")
    assert AMMClassifier(random_state=0).fit(frame, categories).classes_.tolist() == ["x", "y", "z"]


def test_metadata_routing():
    import sklearn

    X, y = problem()
    weight = np.random.RandomState(0).choice([0.5, 2.0], size=300)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = AMMClassifier(random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        pipeline.fit(X, y, sample_weight=weight)
    expected = AMMClassifier(random_state=0).fit(
        StandardScaler().fit_transform(X), y, sample_weight=weight
    )
    assert state(pipeline[-1]) == state(expected)


def test_html_and_text_representation():
    assert repr(AMMClassifier(alpha=0.5)) == "AMMClassifier(alpha=0.5)"
    assert "GAMMClassifier" in GAMMClassifier()._repr_html_()
