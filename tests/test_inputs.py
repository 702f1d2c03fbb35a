"""Every kind of rows and labels that is promised to work, and sizes that broke others."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import (
    CLASSIFIERS,
    HYPERPLANES,
    STREAMS,
    VARIANTS,
    arrays,
    csr,
    problem,
    run_python,
    state,
)

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier
from multiplane.data import Matrix

# --- types of rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float16, np.int8, np.uint8, np.int64, bool, np.longdouble, object]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_of_numbers(dtype, order):
    X = np.random.RandomState(0).randint(0, 2, size=(80, 5))
    y = X[:, 0] ^ X[:, 1]
    expected = AMMClassifier(random_state=0).fit(X.astype(np.float32), y)
    clf = AMMClassifier(random_state=0).fit(X.astype(dtype, order=order), y)
    assert state(clf) == state(expected)
    np.testing.assert_array_equal(clf.predict(X.astype(dtype)), expected.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, bool])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array])
def test_types_of_sparse_numbers(dtype, make):
    X = np.random.RandomState(0).randint(0, 2, size=(80, 5))
    y = X[:, 0] ^ X[:, 1]
    expected = AMMClassifier(random_state=0).fit(X.astype(np.float32), y)
    assert state(AMMClassifier(random_state=0).fit(make(X.astype(dtype)), y)) == state(expected)


def test_mixed_index_types():
    X, y = problem()
    S = csr(X)
    S.indices = S.indices.astype(np.int64)  # indptr stays int32
    assert state(AMMClassifier(random_state=0).fit(S, y)) == state(
        AMMClassifier(random_state=0).fit(X, y)
    )


def test_input_is_left_alone():
    X, y = problem()
    for rows in (X, X.astype(np.float64), csr(X)):
        before = rows.copy()
        GAMMClassifier(random_state=0, early_stopping=True).fit(rows, y).predict(rows)
        assert abs(rows - before).sum() == 0


def test_explicit_zeros_in_csr():
    X, y = problem()
    S = sp.csr_matrix(np.where(X == 0, 1, X))
    S.data[X.ravel() == 0] = 0
    assert S.nnz == X.size
    assert state(AMMClassifier(random_state=0).fit(S, y)) == state(
        AMMClassifier(random_state=0).fit(X, y)
    )


# --- labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [[0, 1], [1, 2], [-1, 1], [-1.0, 1.0], [False, True], ["no", "yes"],
     np.array(["no", "yes"], dtype=object), [np.iinfo(np.int64).min, np.iinfo(np.int64).max]],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_labels(make, names):
    names = np.asarray(names)
    X, y = problem(n=400, n_classes=2)
    clf = make(random_state=0).fit(X, names[y])
    assert clf.classes_.dtype == names.dtype
    assert clf.classes_.tolist() == names.tolist()
    assert clf.predict(X).dtype == names.dtype
    assert clf.score(X, names[y]) > 0.6
    assert clf.decision_function(X).shape == (400,)
    stream = make(random_state=0).partial_fit(X, names[y], classes=names[::-1])
    assert stream.classes_.tolist() == names.tolist()


@pytest.mark.parametrize("other", [object, "U10"])
def test_words_are_words(other):
    """Announced in a list, streamed from a data frame, validated from an array."""
    X, y = problem()
    words, others = np.array(["a", "b", "c"])[y], np.array(["a", "b", "c"], dtype=object)[y]
    expected = AMMClassifier(random_state=0).partial_fit(X, words, classes=["a", "b", "c"])
    for given in (others, others.astype(other)):
        clf = AMMClassifier(random_state=0).partial_fit(X, given, classes=["a", "b", "c"])
        assert clf.coef_.tobytes() == expected.coef_.tobytes()
        clf = AMMClassifier(random_state=0).fit(X, words, X_val=X, y_val=given)
        assert clf.history_[-1]["validation_score"] == clf.score(X, words)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint16, np.int32, np.uint64])
@pytest.mark.parametrize("where", ["lowest", "highest", "both ends"])
def test_integer_labels_at_the_ends_of_their_type(dtype, where):
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    names = {"lowest": [low, low + 1], "highest": [high - 1, high], "both ends": [low, high]}[where]
    X, y = problem(n=400, n_classes=2)
    labels = np.array(names, dtype=dtype)[y]
    clf = AMMClassifier(random_state=0).fit(X, labels)
    assert clf.classes_.tolist() == names
    assert clf.classes_.dtype == dtype
    assert clf.coef_.tobytes() == AMMClassifier(random_state=0).fit(X, y).coef_.tobytes()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_ten_thousand_classes():
    """Label 100 i + j has the features i and 100 + j: four rows of each."""
    n = 10_000
    y = np.random.RandomState(0).permutation(np.repeat(np.arange(n), 4))
    columns = np.column_stack([y // 100, 100 + y % 100])
    ones = np.ones(columns.size, dtype=np.float32)
    X = sp.csr_matrix((ones, columns.ravel(), 2 * np.arange(len(y) + 1)), shape=(len(y), 200))
    clf = PegasosClassifier(random_state=0, max_iter=2, alpha=1e-7).fit(X, y)
    assert clf.n_hyperplanes_ == n
    np.testing.assert_array_equal(clf.classes_, np.arange(n))
    assert clf.decision_function(X[:3]).shape == (3, n)
    assert clf.score(X[:2000], y[:2000]) > 0.1  # guessing gives 0.0001
    few = y < 1000
    amm = AMMClassifier(random_state=0, max_iter=2, alpha=1e-7).fit(X[few], y[few])
    assert amm.score(X[few], y[few]) > 0.1


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("n_classes", [255, 256, 257, 300])
@pytest.mark.parametrize("make", [PegasosClassifier, AMMClassifier])
def test_more_classes_than_a_byte_holds(make, n_classes):
    X = np.eye(n_classes, dtype=np.float32)
    y = np.arange(n_classes)
    clf = make(random_state=0, max_iter=10, alpha=1e-3).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), y)


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_a_class_that_appears_late(make):
    X, y = problem(n=400)
    order = np.argsort(y == 1, kind="stable")  # class 1 comes last
    clf = make(random_state=0, average=False, alpha=1e-2)
    clf.partial_fit(X[order][:200], y[order][:200], classes=[0, 1, 2])
    assert 1 not in clf.predict(X) or make is not AMMClassifier
    clf.partial_fit(X[order][200:], y[order][200:])
    assert set(clf.predict(X)) >= {1}
    assert clf.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("new", [-5, 1, 99])
def test_new_classes(make, new):
    """The new label sorts before, between or behind the known ones."""
    X, y = problem(n=400)
    names = np.array([0, 10, new])
    late = y == 2
    clf = make(random_state=0, alpha=1e-2).partial_fit(X[~late], names[y[~late]], classes=[0, 10])
    before = state(clf)
    owners = getattr(clf, "hyperplane_class_", np.zeros(0)).tolist()
    with pytest.raises(ValueError, match=rf"known classes: {new}; pass allow_new_classes=True"):
        clf.partial_fit(X[late], names[y[late]])
    assert state(clf) == before
    one = np.flatnonzero(late)[:1]
    clf.partial_fit(X[one], names[y[one]], allow_new_classes=True)
    assert clf.classes_.tolist() == sorted(names)
    assert getattr(clf, "hyperplane_class_", np.zeros(0))[: len(owners)].tolist() == owners
    for _ in range(3):
        clf.partial_fit(X, names[y])
    assert clf.score(X, names[y]) > 0.5
    assert new in clf.predict(X)
    assert clf.decision_function(X).shape == (400, 3)


def test_allow_new_classes_from_the_first_call():
    X, y = problem()
    clf = AMMClassifier(random_state=0)
    for a in range(300):
        clf.partial_fit(X[a : a + 1], y[a : a + 1], allow_new_classes=True)
        clf.predict(X[:3])
        clf.decision_function(X[:3])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.score(X, y) > 0.5


def test_new_classes_of_another_type_are_refused():
    X, y = problem()
    clf = AMMClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises((ValueError, TypeError)):
        clf.partial_fit(X[:1], ["a"], allow_new_classes=True)


# --- shapes --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", HYPERPLANES.values(), ids=HYPERPLANES)
def test_rows_of_zeros(make):
    X, y = problem()
    X[::3] = 0
    for rows in (X, csr(X)):
        clf = make(random_state=0, fit_intercept=False, max_iter=3).fit(rows, y)
        assert np.isfinite(clf.decision_function(rows)).all()
    everything = make(random_state=0, fit_intercept=False).fit(np.zeros((6, 4)), [0, 1, 2] * 2)
    assert set(everything.predict(np.zeros((2, 4)))) <= {0, 1, 2}
    assert not everything.decision_function(np.ones((2, 4))).any()
    with_intercept = make(random_state=0, max_iter=20).fit(np.zeros((9, 4)), [0, 1, 1] * 3)
    assert with_intercept.predict(np.zeros((1, 4))) == [1]


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_one_row_one_feature_two_rows(make):
    # After one pass a kernel machine is little but the last row: the ball 1/√λ is that small.
    clf = make(random_state=0, max_iter=50).fit([[1.0], [-1.0]], ["a", "b"])
    assert clf.predict([[2.0], [-2.0]]).tolist() == ["a", "b"]
    assert clf.predict([[2.0]]).tolist() == ["a"]
    one = make(random_state=0).partial_fit([[1.0]], ["a"], classes=["a", "b"])
    assert one.predict([[1.0]]).tolist() == ["a"]


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_sparse_rows_with_fewer_columns(make, convert):
    """A LIBSVM test file ends with the highest index it uses."""
    X, y = problem(d=12)
    X[200:, 7:] = 0
    clf = make(random_state=0).fit(csr(X), y)
    full, short = convert(X[200:]), convert(X[200:, :7])
    np.testing.assert_array_equal(clf.predict(short), clf.predict(full))
    np.testing.assert_array_equal(clf.decision_function(short), clf.decision_function(full))
    if hasattr(clf, "apply"):
        np.testing.assert_array_equal(clf.apply(short), clf.apply(full))
    assert clf.score(short, y[200:]) == clf.score(full, y[200:])
    with pytest.raises(ValueError, match=r"7 features, but .* 12 features"):
        clf.predict(X[:, :7])
    with pytest.raises(ValueError, match=r"13 features, but .* 12 features"):
        clf.predict(sp.csr_matrix((3, 13)))


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_tiny_numbers(make):
    X, y = problem(n_classes=2)
    for unit in (1e-20, 1e-30, 1e-44):  # products underflow; the last ones are denormal
        clf = make(random_state=0, max_iter=2).fit(X * np.float32(unit), y)
        assert all(np.isfinite(a).all() for a in arrays(clf))
        assert set(clf.predict(X * np.float32(unit))) <= {0, 1}


@pytest.mark.parametrize("name", [*HYPERPLANES, "scale"])
def test_largest_numbers_that_are_accepted(name):
    X, y = problem()
    X *= np.float32(0.99e15 / np.abs(X).max())
    clf = VARIANTS[name](random_state=0, max_iter=2).fit(X, y)
    assert all(np.isfinite(a).all() for a in arrays(clf))
    assert clf.score(X, y) > 0.5


# --- memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr32", "csr64"])
def test_float32_is_used_without_a_copy(kind):
    """The native rows look at the very numbers: a NaN written afterwards is seen."""
    X, _ = problem()
    rows = X if kind == "dense" else csr(X, np.int32 if kind == "csr32" else np.int64)
    matrix = Matrix(rows)
    (rows if kind == "dense" else rows.data).flat[0] = np.nan
    [(_, native)] = matrix.chunks()
    with pytest.raises(ValueError, match="NaN at row 0"):
        native.check_values()


# Of the process alone, from here on: getrusage's peak is the parent's, where that is more.
MEASURE = """
import sys
sys.path.insert(0, "..")
from benchmarks.measure import peak, resident
"""
FIT_MEMORY = """
import numpy as np
from multiplane import AMMClassifier, PegasosClassifier
PegasosClassifier().fit(np.eye(4), [0, 1, 0, 1])  # everything is imported and warm
X = np.zeros((50_000, 1000), dtype=np.float32)  # 200 MB
X[:, :3] = np.random.RandomState(0).randn(50_000, 3)
X += 1e-3  # all pages are in memory
y = (X[:, 0] > 0).astype(int)
{convert}
before = resident(reset_peak=True)
clf = AMMClassifier(max_iter=1, random_state=0).fit(X, y)
clf.predict(X)
print(peak() - before)
"""


@pytest.mark.parametrize("convert", ["", "X = np.asfortranarray(X)", "X = X[:, ::2]"])
def test_memory_of_fit_is_bounded(convert):
    """At most the model and 64 MB beside the data, which are 200 MB."""
    process = run_python(MEASURE + FIT_MEMORY.format(convert=convert))
    assert process.returncode == 0, process.stderr
    assert float(process.stdout) < 64


WIDE = """
import numpy as np, scipy.sparse as sp
from multiplane import AMMClassifier
d, n, k = 3_200_000, 2000, 50
random = np.random.RandomState(0)
indices = random.randint(d // 100, size=(n, k)) * 100
indices.sort(axis=1)
y = random.randint(2, size=n)
indices[:, 0] = y  # two telling columns
X = sp.csr_matrix((np.ones(n * k, np.float32), indices.ravel(), np.arange(n + 1) * k), shape=(n, d))
before = resident(reset_peak=True)
clf = AMMClassifier(random_state=0, max_iter=3).fit(X, y)
score = clf.score(X, y)
print(clf.n_hyperplanes_, score, (peak() - before) / 1024)
"""


def test_millions_of_sparse_features():
    process = run_python(MEASURE + WIDE)
    assert process.returncode == 0, process.stderr
    hyperplanes, score, gigabytes = map(float, process.stdout.split())
    assert 2 <= hyperplanes <= 16
    assert score > 0.9
    # Three tiles (U, V and the model) of 3.2 million features × 16 lanes × 4 bytes are 0.6 GB.
    assert gigabytes < 1.0


def test_sparse_validation_data_may_lack_trailing_columns():
    X, y = problem(n=60)
    X[:, -1] = 0
    narrow = sp.csr_matrix(X[:, :-1])
    clf = AMMClassifier(random_state=0, max_iter=2).fit(sp.csr_matrix(X), y, X_val=narrow, y_val=y)
    assert clf.history_[-1]["validation_score"] == clf.score(X, y)
