"""`compile`: the same answers as the estimator's, without scikit-learn, and quickly."""

import io
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import VARIANTS, problem, run_python
from model_files import FOLDER, NAMES, data, fitted

import multiplane
from multiplane import AMMClassifier, BudgetedPegasosClassifier, PegasosClassifier, _native
from multiplane._jobs import number_of_threads
from multiplane.models._files import Fitted
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._predictor import Predictor
from multiplane.models._scaling import Scaling


def same_answers(predictor, clf, X):
    assert predictor.decision_function(X).tobytes() == clf.decision_function(X).tobytes()
    labels = clf.predict(X)
    assert predictor.predict(X).tolist() == labels.tolist()
    assert predictor.predict(X).dtype == labels.dtype
    assert hasattr(predictor, "predict_proba") == hasattr(clf, "predict_proba")
    if hasattr(clf, "predict_proba"):
        assert predictor.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", [*NAMES, "pipeline"])
def test_the_same_as_the_estimator(name, tmp_path):
    clf, (X, _) = fitted(name), data(name)
    multiplane.save(clf, tmp_path / "model.mpl")
    one = multiplane.compile(tmp_path / "model.mpl")
    for predictor in (one, multiplane.compile(clf), pickle.loads(pickle.dumps(one))):
        for rows in (X, X.astype(np.float64), X.astype(int), np.asfortranarray(X), X[::2],
                     X.tolist()):  # fmt: skip
            same_answers(predictor, clf, rows)
        assert predictor.classes_.tolist() == clf.classes_.tolist()
        assert predictor.n_features_in_ == X.shape[1]
    if name != "pipeline":  # which is centred
        for rows in (sp.csr_matrix(X), sp.csc_matrix(X), sp.csr_array(X).astype(np.float64)):
            same_answers(one, clf, rows)


@pytest.mark.parametrize("name", [*NAMES, "pipeline"])
def test_single_rows(name):
    clf, (X, _) = fitted(name), data(name)
    predictor, labels = multiplane.compile(clf), clf.predict(X)
    for row, label in zip(X[:40], labels, strict=False):
        wide = np.repeat(row, 2)
        for x in (row, row.tolist(), tuple(row.tolist()), row.astype(np.float64), wide[::2]):
            found = predictor.predict_one(x)
            assert np.array_equal(found, label)
            assert type(found) is type(label)


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("d", [1, 16, 40, 100])
def test_single_rows_on_all_processors(make, d, simd):
    X, y = problem(n=150, d=d)  # with zeros, which many rows together are searched for
    clf = make(random_state=0, max_iter=1).fit(X, y)
    predictor = multiplane.compile(clf)
    assert [predictor.predict_one(x) for x in X] == clf.predict(X).tolist()


@pytest.mark.parametrize("scaled", [False, True])
def test_single_rows_against_a_twin(scaled, simd):
    """The highest w·x + b in float64: random scores are not so close that rounding decides."""
    random = np.random.RandomState(0)
    coef, intercept = random.randn(37, 20).astype(np.float32), random.randn(37).astype(np.float32)
    owner = random.randint(5, size=37).astype(np.int32)
    planes = HyperplaneModel.from_arrays(coef, intercept, owner, 5).hyperplanes
    shift, factor = (random.randn(20), random.rand(20)) if scaled else (0.0, 1.0)
    one = _native.OneRow(planes, shift, factor) if scaled else _native.OneRow(planes)
    for x in random.randn(100, 20).astype(np.float32):
        assert one(x) == owner[np.argmax(coef @ ((x - shift) * factor) + intercept)]


def test_ties_go_to_the_lowest_class():
    coef = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    owner = np.array([2, 1, 0], np.int32)
    model = HyperplaneModel.from_arrays(coef, np.zeros(3, np.float32), owner, 3)
    predictor = Predictor(Fitted(np.array([10, 20, 30]), 2, None, None, model))
    rows = np.array([[1, 0], [1, 1], [0, 0], [-1, 0]], np.float32)
    assert predictor.predict(rows).tolist() == [20, 10, 10, 10]
    assert [predictor.predict_one(x) for x in rows] == [20, 10, 10, 10]


def test_sums_that_leave_float32(simd):
    """Fused, the first score is infinite; else ∞ − ∞, and so is the other: the first class wins, as
    with the argmax of scores that are all −∞."""
    coef = np.array([[1e30, -1e30], [-1e30, 1e30]], np.float32)
    owner = np.array([2, 1], np.int32)
    model = HyperplaneModel.from_arrays(coef, np.zeros(2, np.float32), owner, 3)
    predictor = Predictor(Fitted(np.array([10, 20, 30]), 2, None, None, model))
    x = np.full(2, 1e15, np.float32)
    assert (
        predictor.predict(x[None])
        == predictor.predict_one(x)
        == (30 if _native.simd_fused() else 10)
    )


@pytest.mark.parametrize("make", [PegasosClassifier, BudgetedPegasosClassifier])
def test_scaled_rows(make):
    X, y = problem(d=9)
    scaling = Scaling(np.linspace(-2, 2, 9), np.geomspace(0.1, 3, 9))
    clf = make(random_state=0).fit(scaling(X), y)
    labels, scores = clf.predict(scaling(X)), clf.decision_function(scaling(X))
    clf.scaler_ = scaling
    predictor = multiplane.compile(clf)
    assert predictor.predict(X).tolist() == labels.tolist()
    assert predictor.decision_function(X).tobytes() == scores.tobytes()
    assert [predictor.predict_one(x) for x in X] == labels.tolist()


def test_float64_rows_are_scaled_as_such():
    coef, owner = np.array([[1], [-1]], np.float32), np.arange(2, dtype=np.int32)
    model = HyperplaneModel.from_arrays(coef, np.zeros(2, np.float32), owner, 2)
    scaling = Scaling(np.array([1e9]), np.ones(1))
    predictor = Predictor(Fitted(np.array(["above", "below"]), 1, None, scaling, model))
    assert predictor.predict_one([1e9 - 1]) == "below"  # float32 has nothing between 1e9 ± 32
    assert predictor.predict_one(np.array([1e9 + 1])) == "above"
    assert predictor.predict([[1e9 - 1], [1e9 + 1]]).tolist() == ["below", "above"]


def test_a_model_without_hyperplanes():
    X, y = np.zeros((4, 3), np.float32), [5, 6, 5, 6]
    clf = AMMClassifier(random_state=0, max_iter=1, fit_intercept=False).fit(X, y)
    assert clf.n_hyperplanes_ == 0
    predictor = multiplane.compile(clf)
    assert predictor.predict_one(X[0]) == predictor.predict(X)[0] == clf.predict(X)[0]


@pytest.mark.parametrize("name", ["amm", "budgeted", "generalized", "multilabel", "pipeline"])
def test_no_rows(name):
    clf = fitted(name)
    predictor = multiplane.compile(clf)
    for dtype in (np.float32, np.float64):
        nothing = np.empty((0, 6), dtype)
        assert predictor.predict(nothing).shape[0] == 0
        assert predictor.decision_function(nothing).shape[0] == 0
        if hasattr(predictor, "predict_proba"):
            assert predictor.predict_proba(nothing).shape[0] == 0


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["amm", "budgeted", "generalized", "pipeline"])
def test_bad_rows(name):
    predictor, (X, _) = multiplane.compile(fitted(name)), data(name)
    for bad, message in ((np.nan, "NaN"), (np.inf, "infinity"), (-1e39, "infinity")):
        rows = X[:3].astype(np.float64)
        rows[1, 2] = bad
        with np.errstate(over="ignore"):
            narrow = rows.astype(np.float32)
        for x in (rows, narrow):
            if name == "generalized" and bad == -1e39 and x is rows:
                continue
            with pytest.raises(ValueError, match=f"contains {message}"):
                predictor.predict(x)
            with pytest.raises(ValueError, match=f"contains {message}"):
                predictor.predict_one(x[1])
            with pytest.raises(ValueError, match=f"contains {message}"):
                predictor.decision_function(x)
    for wrong in (X[:, :5], X[0], X[None], 3.0):
        with pytest.raises(ValueError, match="rows of 6 features"):
            predictor.predict(wrong)
    for wrong in (X[0, :5], X[0, :5].tolist(), np.float32(3), X[:1]):
        with pytest.raises(ValueError, match=r"their number of features|row of 6 numbers"):
            predictor.predict_one(wrong)
    with pytest.raises(ValueError, match="could not convert"):
        predictor.predict([["a"] * 6])


def test_trailing_columns_of_sparse_rows_may_be_missing():
    clf, (X, _) = fitted("amm"), data("amm")
    narrow = sp.csr_matrix(X[:, :4])
    assert multiplane.compile(clf).predict(narrow).tolist() == clf.predict(narrow).tolist()
    broken = sp.csr_matrix(X)
    broken.indices[3] = 1000
    with pytest.raises(ValueError, match="corrupt CSR"):
        multiplane.compile(clf).predict(broken)
    with pytest.raises(ValueError, match="indices"):
        multiplane.compile(fitted("generalized")).predict(broken)


def test_names_of_features_are_compared():
    pandas = pytest.importorskip("pandas")
    predictor, (X, _) = multiplane.compile(fitted("words")), data("words")
    names = ["a", "b", "c", "d", "e", "höhe"]
    assert predictor.feature_names_in_.tolist() == names
    expected = predictor.predict(X).tolist()
    assert predictor.predict(pandas.DataFrame(X, columns=names)).tolist() == expected
    with pytest.raises(ValueError, match="in their order: a, b, c, d, e, …, got b, a"):
        predictor.predict(pandas.DataFrame(X, columns=["b", "a", *names[2:]]))
    assert multiplane.compile(fitted("amm")).feature_names_in_ is None


def test_probabilities_are_those_of_least_squares_alone():
    with pytest.raises(AttributeError, match="knows no probabilities"):
        multiplane.compile(fitted("amm")).predict_proba  # noqa: B018


def test_the_native_part_refuses_what_does_not_fit():
    planes = fitted("amm")._fitted_model().hyperplanes
    with pytest.raises(ValueError, match="differ in width"):
        _native.OneRow(planes, np.zeros(5), np.ones(5))
    with pytest.raises(TypeError, match="incompatible"):
        _native.OneRow(planes, np.zeros(6))
    with pytest.raises(Exception, match=r"cast|incompatible"):
        _native.OneRow("planes")
    one = _native.OneRow(planes)
    del planes  # kept alive
    assert one(np.zeros(6, np.float32)) in (0, 1, 2)


# --- threads, and what is imported --------------------------------------------------------------


@pytest.mark.parametrize("name", ["amm", "budgeted", "multiplane"])
def test_many_threads(name):
    clf, (X, _) = fitted(name), data(name)
    predictor, labels = multiplane.compile(clf, n_jobs=2), clf.predict(X).tolist()
    failures = []

    def work():
        for _ in range(20):
            if [predictor.predict_one(x) for x in X] != labels:
                failures.append("one")
            if predictor.predict(X).tolist() != labels:
                failures.append("all")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_number_of_threads():
    assert number_of_threads(None) == number_of_threads(1) == 1
    assert number_of_threads(3) == 3
    assert number_of_threads(-1) >= number_of_threads(-2) >= 1
    assert number_of_threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        multiplane.compile(fitted("amm"), n_jobs=0)
    # Unless something else is wanted, as many as the estimator has.
    file = io.BytesIO()
    multiplane.save(PegasosClassifier(n_jobs=3).fit(*problem()), file)
    file.seek(0)
    assert multiplane.compile(file)._n_threads == 3


def test_neither_scikit_learn_nor_scipy_is_imported():
    """Of files of all families: loaded, and asked for labels, scores and probabilities."""
    process = run_python(
        "import sys, pathlib, multiplane\n"
        "import numpy as np\n"
        f"for path in sorted(pathlib.Path({str(FOLDER)!r}).glob('*/*.mpl')):\n"
        "    model = multiplane.compile(path)\n"
        "    X = np.ones((3, model.n_features_in_))\n"
        "    model.predict(X), model.decision_function(X), model.predict_one(X[0])\n"
        "    if hasattr(model, 'predict_proba'): model.predict_proba(X)\n"
        "    heavy = ('sklearn', 'scipy', 'joblib', 'pandas', 'importlib.metadata')\n"
        "    found = [name for name in heavy if name in sys.modules]\n"
        "    assert not found, (path, found)\n"
        "print('fine')"
    )
    assert process.stdout.strip() == "fine", process.stderr


def test_least_squares_without_the_compiled_module(tmp_path):
    """From a file, where only the Python sources are."""
    path = FOLDER / "v1" / "fourier.mpl"
    process = run_python(
        "import sys\n"
        "sys.modules['multiplane._native'] = None\n"
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n.endswith('_native') else find(n, *a)\n"
        "import multiplane, io, numpy as np\n"
        f"X = np.load({str(path.with_suffix('.npz'))!r})['X']\n"
        f"print(multiplane.compile({str(path)!r}).predict(X).tolist())\n"
        f"model = multiplane.load({str(path)!r})\n"
        "multiplane.save(model, io.BytesIO(), training=True)\n"
        "print(model.predict(X).tolist())\n"
    )
    expected = np.load(path.with_suffix(".npz"))["labels"].tolist()
    assert process.stdout.split("\n")[:2] == [str(expected)] * 2, process.stderr
