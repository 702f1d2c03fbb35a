"""Bad input gets a clear error and changes nothing."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import STREAMS, VARIANTS, csr, everything, problem, run_python

from multiplane import (
    AMMClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    MMClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
    _native,
)

# --- faulty rows ---------------------------------------------------------------------------


def dense_with(value, dtype=np.float32):
    X = problem(n=40)[0].astype(dtype)
    X[17, 4] = value
    return X


def csr_with(value, dtype=np.float32, index=np.int32):
    S = csr(np.abs(problem(n=40)[0]) + 1, index).astype(dtype)
    S.data[S.indptr[17] + 4] = value
    return S


def corrupt(name, index=np.int32):
    """A CSR matrix of (40, 7) whose index arrays were overwritten after it was made."""
    S = csr(np.abs(problem(n=40)[0]) + 1, index)
    if name == "negative column":
        S.indices[100] = -1
    elif name == "column too large":
        S.indices[100] = 7
    elif name == "column far too large":
        S.indices[-1] = np.iinfo(index).max
    elif name == "smallest column":
        S.indices[0] = np.iinfo(index).min
    elif name == "decreasing":
        S.indptr[20] = S.indptr[22]
    elif name == "not from zero":
        S.indptr[0] = 3
    elif name == "negative start":
        S.indptr[0] = -5
    elif name == "negative in the middle":
        S.indptr[20] = -1
    elif name == "beyond the data":
        S.indptr[-1] += 1
    elif name == "far beyond the data":
        S.indptr[-1] = np.iinfo(index).max
    elif name == "short indptr":
        S.indptr = S.indptr[:-5]
    elif name == "long indptr":
        S.indptr = np.append(S.indptr, S.indptr[-1:])
    elif name == "empty indptr":
        S.indptr = S.indptr[:0]
    elif name == "short data":
        S.data = S.data[:-3]
    elif name == "short indices":
        S.indices = S.indices[:-3]
    return S


CORRUPTIONS = [
    "negative column", "column too large", "column far too large", "smallest column", "decreasing",
    "not from zero", "negative start", "negative in the middle", "beyond the data",
    "far beyond the data", "short indptr", "long indptr", "empty indptr", "short data",
    "short indices",
]  # fmt: skip

FAULTS = {
    "nan": (lambda: dense_with(np.nan), "NaN at row 17, column 4"),
    "nan float64": (lambda: dense_with(np.nan, np.float64), "NaN at row 17, column 4"),
    "nan fortran": (lambda: np.asfortranarray(dense_with(np.nan)), "NaN at row 17, column 4"),
    "inf": (lambda: dense_with(np.inf), "infinity .* at row 17, column 4"),
    "-inf float64": (lambda: dense_with(-np.inf, np.float64), "infinity .* at row 17, column 4"),
    "1e16": (lambda: dense_with(1e16), "beyond 1e15 at row 17, column 4; scale the features"),
    "1e30": (lambda: dense_with(-1e30), "beyond 1e15 at row 17, column 4"),
    "1e300": (lambda: dense_with(1e300, np.float64), "too large for float32 at row 17, column 4"),
    "csr nan": (lambda: csr_with(np.nan), "NaN at row 17, column 4"),
    "csr64 nan": (lambda: csr_with(np.nan, index=np.int64), "NaN at row 17, column 4"),
    "csc nan": (lambda: sp.csc_matrix(csr_with(np.nan)), "NaN at row 17, column 4"),
    "csr inf": (lambda: csr_with(np.inf), "infinity .* at row 17, column 4"),
    "csr 1e30": (lambda: csr_with(1e30), "beyond 1e15 at row 17, column 4"),
    "csr float64 nan": (lambda: csr_with(np.nan, np.float64), "NaN at row 17, column 4"),
    "complex": (lambda: dense_with(1j, np.complex128), "Complex data not supported"),
    "strings": (lambda: dense_with(1).astype(str).astype(object) + "a", "could not convert"),
    "empty": (lambda: np.zeros((0, 7), dtype=np.float32), "0 sample"),
    "empty csr": (lambda: sp.csr_matrix((0, 7)), "0 sample"),
    "no features": (lambda: np.zeros((40, 0)), r"0 feature"),
    "one dimension": (lambda: np.ones(40), "Expected 2D array"),
    "three dimensions": (lambda: np.ones((40, 7, 2)), "dim 3"),
    "one feature less": (lambda: np.ones((40, 6)), "6 features, but .* 7 features"),
    "one feature more": (lambda: sp.csr_matrix((40, 8)), "8 features, but .* 7 features"),
    **{name: (lambda name=name: corrupt(name), "") for name in CORRUPTIONS},
    **{f"{name} 64": (lambda name=name: corrupt(name, np.int64), "") for name in CORRUPTIONS},
}
NEW_WIDTH = {"one feature less", "one feature more"}


def labels(X):
    return np.resize([0, 1, 2], X.shape[0])


CALLS = {
    "fit": lambda clf, X: clf.fit(X, labels(X)),
    "warm fit": lambda clf, X: clf.set_params(warm_start=True).fit(X, labels(X)),
    "early stopping": lambda clf, X: clf.set_params(early_stopping=True).fit(X, labels(X)),
    "partial_fit": lambda clf, X: clf.partial_fit(X, labels(X), classes=[0, 1, 2]),
    "validation": lambda clf, X: clf.fit(*problem(n=40), X_val=X, y_val=labels(X)),
    "predict": lambda clf, X: clf.predict(X),
    "decision_function": lambda clf, X: clf.decision_function(X),
    "apply": lambda clf, X: clf.apply(X),
}
INDEX_FAULT = r"corrupt CSR|indptr|index|indices"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_faulty_rows(fault, call):
    """A fitted model stays, byte for byte, what it was."""
    make, message = FAULTS[fault]
    if fault in NEW_WIDTH and call in ("fit", "early stopping"):
        return  # fit starts anew and takes any width
    X = make()
    clf = GAMMClassifier(random_state=0, max_iter=2).fit(*problem(n=40))
    before = vars(clf).copy(), everything(clf)
    with pytest.raises(ValueError, match=message or INDEX_FAULT) as caught:
        CALLS[call](clf, X)
    assert len(str(caught.value)) > 10
    clf.set_params(warm_start=False, early_stopping=False)
    assert everything(clf) == before[1]
    assert vars(clf).keys() == before[0].keys()


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in NEW_WIDTH])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_faulty_rows_for_a_new_estimator(fault, call):
    clf = AMMClassifier()
    with pytest.raises(ValueError):  # noqa: PT011 - messages are looked at above
        CALLS[call](clf, FAULTS[fault][0]())
    assert vars(clf) == vars(AMMClassifier())


@pytest.mark.parametrize("kind", ["dense", "csr", "float64"])
@pytest.mark.parametrize("how", ["shuffled", "held out", "weight zero", "batch", "order", "trials"])
def test_the_place_is_named_wherever_it_is(kind, how):
    """Not where the row came in a shuffled order, or among those held out or tried with."""
    y = labels(np.ones((40, 7)))
    clf = AMMClassifier(mode="batch" if how == "batch" else "online", random_state=0,
                        early_stopping=how == "held out", shuffle=how != "order",
                        alpha="auto" if how == "trials" else 1e-4)  # fmt: skip
    for row in range(40):
        X = np.ones((40, 7), dtype=np.float64 if kind == "float64" else np.float32)
        X[row, 3] = np.nan
        weight = np.where(np.arange(40) == row, 0.0, 1.0) if how == "weight zero" else None
        with pytest.raises(ValueError, match=rf"NaN at row {row}, column 3"):
            clf.fit(csr(X) if kind == "csr" else X, y, sample_weight=weight)
        assert not hasattr(clf, "classes_")


@pytest.mark.parametrize("width", [48, 50])
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_bad_values_are_found_wherever_they_stand(simd, width, share):
    """Rows with many zeros are checked while their non-zeros are looked for, others by themselves;
    either way sixteen values at a time, and then the rest."""
    random = np.random.RandomState(0)
    X = random.standard_normal((40, width)).astype(np.float32)
    X *= random.uniform(size=X.shape) < share
    y = labels(X)
    largest = np.float32(1e15)
    clf = AMMClassifier(max_iter=1, random_state=0).fit(X, y)
    for column in (0, 15, 16, 47, width - 1):
        for value in (np.nan, -np.nan, np.inf, -np.inf, 2 * largest, -2 * largest):
            Z = X.copy()
            Z[23, column] = value
            with pytest.raises(ValueError, match=rf"row 23, column {column}\b"):
                AMMClassifier(max_iter=1, random_state=0).fit(Z, y)
            with pytest.raises(ValueError, match=rf"row 23, column {column}\b"):
                clf.predict(Z)
        Z[23, column] = -largest
        clf.predict(Z)


def test_corrupt_rows_never_reach_the_loops():
    """The bindings check what Python hands over, too."""
    S = corrupt("column far too large", np.int64)
    with pytest.raises(ValueError, match="column index 9223372036854775807 is out of range at row"):
        _native.csr_rows(S.data, S.indices, S.indptr, 7)
    with pytest.raises(ValueError, match="indptr is empty"):
        _native.csr_rows(S.data, S.indices, S.indptr[:0], 7)
    with pytest.raises(ValueError, match="differ in length"):
        _native.csr_rows(S.data[:-1], S.indices, S.indptr, 7)
    for width in (-1, -(2**63)):
        with pytest.raises(ValueError, match="negative number of columns"):
            _native.csr_rows(S.data, S.indices, S.indptr, width)


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("call", ["predict", "decision_function"])
def test_corrupt_rows_with_fewer_columns(name, call):
    """Missing columns are added before the check: that must not let bad ones in."""
    S = corrupt(name)
    clf = AMMClassifier(random_state=0).fit(*problem(d=12))
    if name == "column too large":
        S.indices[100] = 12  # 7 would be a column of the wider matrix
    with pytest.raises(ValueError, match=INDEX_FAULT):
        getattr(clf, call)(S)


@pytest.mark.filterwarnings("error")
def test_too_large_in_csr_float64_warns_of_nothing():
    """As in the dense case: an error, and no RuntimeWarning beside it."""
    with pytest.raises(ValueError, match="too large for float32 at row 17, column 4"):
        AMMClassifier().fit(csr_with(1e300, np.float64), labels(csr_with(1)))


def test_corrupt_csc_does_not_crash():
    """scipy converts CSC to CSR before we see it; run elsewhere, as it could crash."""
    process = run_python(
        "import numpy as np, scipy.sparse as sp\n"
        "from multiplane import AMMClassifier\n"
        "S = sp.csc_matrix(np.ones((200, 50)))\n"
        "S.indices[::7] = 2_000_000_000\n"
        "try:\n"
        "    AMMClassifier().fit(S, np.arange(200) % 2)\n"
        "except ValueError as error:\n"
        "    print('refused:', error)\n"
    )
    assert process.stdout.startswith("refused:"), (process.returncode, process.stderr[-300:])


# --- labels and weights --------------------------------------------------------------------


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_one_class(make):
    X, y = problem(n=40)
    clf = make(random_state=0).fit(X, y)
    before = everything(clf)
    with pytest.raises(ValueError, match=r"at least two classes; the data contains only one class"):
        clf.fit(X, np.zeros(40))
    assert everything(clf) == before
    with pytest.raises(ValueError, match="at least two classes are needed"):
        make().partial_fit(X, np.zeros(40), classes=[0])


@pytest.mark.parametrize(
    "make", [*VARIANTS.values(), CalibratedLeastSquaresClassifier, StagewiseLeastSquaresClassifier]
)
def test_as_many_labels_as_rows(make):
    """Refused before memory for them is asked for."""
    X, y = np.ones((100_001, 1), np.float32), np.arange(100_001)
    with pytest.raises(ValueError, match="100,001 classes, and at most 100,000 can be told apart"):
        make().fit(X, y)
    if hasattr(make(), "partial_fit"):
        with pytest.raises(ValueError, match="100,001 classes, and at most"):
            make().partial_fit(X, y, classes=y)


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_unknown_labels(make):
    X, y = problem(n=40)
    clf = make(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    before = everything(clf)
    with pytest.raises(ValueError, match=r"not among the known classes: 7, 9; pass allow_new"):
        clf.partial_fit(X, np.where(y == 1, 7, 9))
    with pytest.raises(ValueError, match=r"known classes: 'a'"):
        clf.partial_fit(X, np.array(["a"] * 40))
    with pytest.raises(ValueError, match=r"not the same as on the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2, 3])
    clf.set_params(warm_start=True)
    with pytest.raises(ValueError, match=r"known classes: 5; set warm_start=False"):
        clf.fit(X, np.where(y == 1, 5, 0))
    clf.set_params(warm_start=False)
    assert everything(clf) == before


def test_first_partial_fit_needs_classes():
    X, y = problem(n=40)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        AMMClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"not among the known classes: 2"):
        AMMClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"balanced.*does not work with partial_fit"):
        AMMClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0.1, 1.3, 40), "Unknown label type"),
        (np.full(40, np.nan), "NaN"),
        (np.arange(39) % 3, "inconsistent numbers of samples"),
        (np.eye(40), "should be a 1d array|Unknown label type|1d"),
        (None, "requires y to be passed"),
    ],
)
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_faulty_labels(y, message, call):
    X, good = problem(n=40)
    clf = AMMClassifier(random_state=0).fit(X, good)
    before = everything(clf)
    with pytest.raises(ValueError, match=message):
        getattr(clf, call)(X, y)
    assert everything(clf) == before


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(40), "above zero|non-zero"),
        (-np.ones(40), "Negative values|negative"),
        (np.r_[np.ones(39), -1], "Negative values|negative"),
        (np.r_[np.ones(39), np.nan], "NaN"),
        (np.r_[np.ones(39), np.inf], "infinity"),
        (np.full(40, 1e30), "leave float32; scale"),
        (np.ones(39), "inconsistent|shape"),
        (np.ones((40, 2)), "1D array|shape"),
        (np.full(40, 1e-60), "above zero|non-zero"),
    ],
)
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_faulty_weights(weight, message, call):
    X, y = problem(n=40)
    clf = GAMMClassifier(random_state=0).fit(X, y)
    before = everything(clf)
    with pytest.raises(ValueError, match=message):
        getattr(clf, call)(X, y, sample_weight=weight)
    assert everything(clf) == before


@pytest.mark.parametrize(
    ("average", "unit", "weight"),
    [(False, 1e14, 1e14), (True, 1e14, 1e14), (False, 1.0, 1e26), (True, 1.0, 1e20),
     (True, 1.0, 1e26)],
)  # fmt: skip
def test_large_weights_times_large_numbers(average, unit, weight):
    """Refuse them, or stay finite."""
    X, y = problem(n=300)
    X *= np.float32(unit / np.abs(X).max())
    clf = AMMClassifier(average=average, random_state=0)
    try:
        clf.fit(X, y, sample_weight=np.full(300, weight))
    except ValueError as error:
        assert "weight" in str(error)  # noqa: PT017 - an error is one of two good outcomes
    else:
        assert np.isfinite(clf.coef_).all()
        assert np.isfinite(clf.decision_function(X)).all()


# --- parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0), ("alpha", -1e-4), ("alpha", np.nan), ("alpha", "small"), ("max_iter", 0),
        ("max_iter", 1.5), ("intercept_scaling", 0.0), ("validation_fraction", 0.0),
        ("validation_fraction", 1.0), ("n_iter_no_change", 0), ("tol", -1.0), ("average", "yes"),
        ("shuffle", None), ("random_state", "x"), ("class_weight", 3), ("n_jobs", 1.5),
        ("n_jobs", 0), ("prune_every", 0), ("prune_threshold", -1.0), ("mode", "offline"),
        ("growth", -0.1), ("growth", 1.1), ("growth_decay", 0.0), ("growth_decay", 1.1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_faulty_parameters(name, value, call):
    X, y = problem(n=40)
    clf = GAMMClassifier(mode="batch" if name == "n_jobs" else "online", random_state=0).fit(X, y)
    clf.set_params(**{name: value})
    before = everything(clf)
    if (name, value, call) == ("n_jobs", 0, "partial_fit"):
        return  # partial_fit uses one thread and does not look
    with pytest.raises(ValueError, match=name):
        getattr(clf, call)(X, y)
    assert everything(clf) == before


def test_alpha_that_overflows():
    """1/λ leaves float32: an error or finite weights, but no model of infinities."""
    X, y = problem(n=40)
    for alpha in (1e-300, 1e300):
        clf = AMMClassifier(alpha=alpha, random_state=0)
        try:
            clf.fit(X, y)
        except ValueError as error:
            assert "alpha" in str(error)  # noqa: PT017 - an error is one of two good outcomes
        else:
            assert np.isfinite(clf.coef_).all(), alpha


@pytest.mark.filterwarnings("ignore:overflow")
def test_intercept_scaling_that_overflows():
    X, y = problem(n=40)
    clf = AMMClassifier(intercept_scaling=1e30, random_state=0)
    try:
        clf.fit(X, y)
    except ValueError as error:
        assert "intercept_scaling" in str(error)  # noqa: PT017 - one of two good outcomes
    else:
        assert np.isfinite(clf.intercept_).all()


@pytest.mark.parametrize(
    "numbers",
    [{}, {0: 2, 1: 1}, *({0: 1, 1: 1, 2: n} for n in (0, 1.5, np.inf, np.nan, "many"))],
)
def test_numbers_of_hyperplanes(numbers):
    X, y = problem(n=40)
    clf = MMClassifier(numbers)
    with pytest.raises(ValueError, match="n_hyperplanes must give every class a whole number"):
        clf.fit(X, y)
    assert vars(clf) == vars(MMClassifier(numbers))
    for bad in (0, -1, 2.5, "many"):
        with pytest.raises(ValueError, match="n_hyperplanes"):
            MMClassifier(bad).fit(X, y)


def test_new_class_without_a_number_of_hyperplanes():
    X, y = problem(n=40)
    clf = MMClassifier({0: 2, 1: 2}).partial_fit(X, y % 2, classes=[0, 1])
    before = everything(clf)
    with pytest.raises(ValueError, match="n_hyperplanes must give every class"):
        clf.partial_fit(X, y, allow_new_classes=True)
    assert everything(clf) == before


def test_first_call_without_a_number_of_hyperplanes():
    X, y = problem(n=40)
    clf = MMClassifier({0: 2, 1: 2})
    with pytest.raises(ValueError, match="n_hyperplanes must give every class"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    assert vars(clf) == vars(MMClassifier({0: 2, 1: 2}))


@pytest.mark.parametrize("change", [{"alpha": 1.0}, {"average": False}, {"fit_intercept": False}])
def test_parameters_that_cannot_change_on_the_way(change):
    X, y = problem(n=40)
    clf = PegasosClassifier(random_state=0).fit(X, y)
    clf.set_params(**change)
    before = everything(clf)
    with pytest.raises(ValueError, match=r"(alpha|average|intercept) was .* and is"):
        clf.partial_fit(X, y)
    assert everything(clf) == before


def test_validation_data_need_both_halves():
    X, y = problem(n=40)
    for half in ({"X_val": X}, {"y_val": y}):
        with pytest.raises(ValueError, match="X_val and y_val are needed together"):
            AMMClassifier().fit(X, y, **half)


# --- the compiled module, called by hand ---------------------------------------------------


def test_the_bindings_check_everything():
    config = dict(n_features=2, bias=1.0, n_classes=2, lam=0.1, adaptive=True, average=False,
                  ball_projection=False, growth=0.0, growth_decay=1.0, seed=0)  # fmt: skip
    with pytest.raises(ValueError, match="lam must be positive"):
        _native.Learner(**config | {"lam": 0.0})
    learner = _native.Learner(**config)
    rows = _native.dense_rows(np.ones((3, 2), dtype=np.float32))
    y = np.array([0, 1, 0], dtype=np.int32)
    cases = [
        ("y and X differ", dict(y=y[:2])),
        ("class code out of range", dict(y=np.array([0, 2, 0], dtype=np.int32))),
        ("class code out of range", dict(y=np.array([0, -1, 0], dtype=np.int32))),
        ("row number out of range", dict(order=np.array([3]))),
        ("row number out of range", dict(order=np.array([-1]))),
        ("weights and X differ", dict(weight=np.ones(2, dtype=np.float32))),
        ("assignments and X differ", dict(z=np.zeros(2, dtype=np.int32))),
        ("unknown hyperplane id", dict(z=np.zeros(3, dtype=np.int32), obey=True)),
        ("to obey are missing", dict(obey=True)),
        ("number of features", dict(X=_native.dense_rows(np.ones((3, 3), dtype=np.float32)))),
    ]
    for message, change in cases:
        with pytest.raises(ValueError, match=message):
            learner.learn(**{"X": rows, "y": y} | change)
    learner.learn(rows, y)
    z = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match="assigned to another class"):
        learner.learn(rows, y, z=z, obey=True)
    with pytest.raises(ValueError, match="class code out of range"):
        learner.add_hyperplane(2)
    with pytest.raises(ValueError, match="one new code a class"):
        learner.relabel([0], 2)
    with pytest.raises(TypeError):
        _native.dense_rows(np.ones((3, 2)))  # float64 would need a copy
    with pytest.raises(ValueError, match="owner must not be negative"):
        _native.Hyperplanes(np.ones((1, 3), np.float32), np.array([-1], np.int32), 1.0)
    planes = _native.Hyperplanes(np.ones((1, 3), np.float32), np.array([5], np.int32), 1.0)
    with pytest.raises(ValueError, match="class is unknown"):
        planes.decision(rows, 5)
    state = learner.__getstate__()
    for key, value in [("owner", state["owner"] + 9), ("ids", state["ids"] - 9), ("n_ids", 0),
                       ("U", state["U"][:, :1].copy()), ("V", state["U"])]:  # fmt: skip
        with pytest.raises(ValueError, match=r"learner state|weights and owner"):
            _native.Learner.__new__(_native.Learner).__setstate__(state | {key: value})


def test_rows_that_belong_to_no_hyperplane():
    """Of a class that has none yet, or of no class: assigned to none, and nothing is touched."""
    learner = _native.Learner(n_features=2, bias=1.0, n_classes=2, lam=0.1, adaptive=True,
                              ball_projection=False, average=False, growth=0.0, growth_decay=1.0,
                              seed=0)  # fmt: skip
    rows = _native.dense_rows(np.ones((1, 2), dtype=np.float32))
    for code in (0, 1, 2, -1, np.iinfo(np.int32).max, np.iinfo(np.int32).min):
        assert learner.assign(rows, np.array([code], dtype=np.int32)).tolist() == [-1]
    learner.learn(rows, np.array([1], dtype=np.int32))
    assert learner.assign(rows, np.array([1], dtype=np.int32)).tolist() == [0]
    for code in (2, -1, np.iinfo(np.int32).max, np.iinfo(np.int32).min):
        assert learner.assign(rows, np.array([code], dtype=np.int32)).tolist() == [-1]
    with pytest.raises(ValueError, match="y and X differ"):
        learner.assign(rows, np.array([1, 1], dtype=np.int32))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_out_of_order_are_found_wherever_they_stand(index):
    """All indices are read in parts of 65,536: faults at the ends of parts and of rows, and empty
    rows between."""
    width, n = 5, 3 * 65_536 + 7
    lengths = np.random.RandomState(0).choice([0, 1, 2, width], size=n // 2)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    assert indptr[-1] > 2 * 65_536 + 2
    indices = (np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)).astype(index)
    values = np.ones(len(indices), dtype=np.float32)
    assert _native.csr_rows(values, indices, indptr, width).canonical
    for part in (0, 1, 2):
        for k in range(max(0, 65_536 * part - 2), 65_536 * part + 3):
            outside = indices.copy()
            for fault in (-1, width, np.iinfo(index).max, np.iinfo(index).min):
                outside[k] = fault
                row = np.searchsorted(indptr, k, side="right") - 1
                with pytest.raises(ValueError, match=rf"row {row}$"):
                    _native.csr_rows(values, outside, indptr, width)
            twice = indices.copy()
            twice[k] = twice[max(0, k - 1)]
            rises = np.diff(twice, prepend=-1) > 0
            rises[indptr[indptr < len(twice)]] = True
            assert _native.csr_rows(values, twice, indptr, width).canonical == rises.all()
