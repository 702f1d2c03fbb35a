"""BudgetedPegasosClassifier: conventions that are not those of all estimators."""

import itertools
import pickle

import numpy as np
import pytest
from helpers import KERNELS, csr, everything, problem, state
from sklearn.exceptions import NotFittedError
from test_bad_input import CALLS, FAULTS, INDEX_FAULT
from test_threads import together

from multiplane import BudgetedPegasosClassifier, ProjectronClassifier, _native
from multiplane.datasets import make_checkerboard

# Those whose kernel values are bounded by nothing.
POLY = dict(kernel="poly", degree=3, maintenance="remove", budget=20, random_state=0)


def unchanged(clf, call, error=ValueError, match=""):
    """The call fails, and leaves no trace."""
    before = everything(clf), sorted(vars(clf))
    with pytest.raises(error, match=match):
        call()
    assert (everything(clf), sorted(vars(clf))) == before


# --- bad input -----------------------------------------------------------------------------

VALUES = [fault for fault in FAULTS if fault.startswith(("nan", "inf", "1e", "-inf", "csr", "csc"))]
OTHERS = ["one feature less", "negative column", "beyond the data 64", "empty", "complex"]


@pytest.mark.parametrize("name", ["scale", "linear", "poly"])
@pytest.mark.parametrize("call", [call for call in CALLS if call != "apply"])
@pytest.mark.parametrize("fault", VALUES + OTHERS)
def test_faulty_rows(fault, call, name):
    """The row and the column are named, also where all values are looked at before the training:
    for the width of the kernel or its greatest value."""
    if fault == "one feature less" and call in ("fit", "early stopping"):
        return  # fit starts anew and takes any width
    make, message = FAULTS[fault]
    X, clf = make(), KERNELS[name](random_state=0).fit(*problem(n=40))
    before = everything(clf)
    with pytest.raises(ValueError, match=message or INDEX_FAULT):
        CALLS[call](clf, X)
    clf.set_params(warm_start=False, early_stopping=False)
    assert everything(clf) == before


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("fault", VALUES)
def test_faulty_rows_for_a_new_estimator(fault, call):
    clf = BudgetedPegasosClassifier()
    with pytest.raises(ValueError, match=FAULTS[fault][1]):
        CALLS[call](clf, FAULTS[fault][0]())
    assert vars(clf) == vars(BudgetedPegasosClassifier())


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(kernel="poly"), "maintenance='merge' needs kernel='rbf'.*use maintenance='project'"),
        (dict(kernel="linear"), "maintenance='merge' needs kernel='rbf'"),
        (dict(kernel="sigmoid", maintenance="project"), "positive definite.*'sigmoid' is not"),
        (dict(kernel="poly", coef0=-1.0, maintenance="project"), "'poly' with coef0=-1.0 is not"),
    ],
)
def test_kernels_that_do_not_go_with_a_maintenance(settings, message, call):
    X, y = problem(n=40)
    clf = BudgetedPegasosClassifier(**settings)
    arguments = {} if call == "fit" else {"classes": [0, 1, 2]}
    with pytest.raises(ValueError, match=message):
        getattr(clf, call)(X, y, **arguments)
    assert vars(clf) == vars(BudgetedPegasosClassifier(**settings))
    # Without a budget there is no maintenance.
    getattr(clf.set_params(budget=None), call)(X, y, **arguments)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0), ("alpha", -1e-4), ("alpha", np.nan), ("alpha", "small"), ("alpha", 1e-300),
        ("kernel", "gauss"), ("kernel", None), ("gamma", 0), ("gamma", -1.0), ("gamma", np.nan),
        ("gamma", np.inf), ("gamma", 1e31), ("gamma", "wide"), ("degree", -1), ("degree", 2.5),
        ("degree", 101), ("coef0", np.nan), ("coef0", np.inf), ("coef0", "a"), ("budget", 0),
        ("budget", -1), ("budget", 2.5), ("budget", "big"), ("maintenance", "delete"),
        ("merge_search", "some"), ("ball_projection", "yes"), ("average", "yes"), ("average", 2),
        ("max_iter", 0), ("shuffle", None), ("random_state", "x"), ("class_weight", 3),
        ("n_iter_no_change", 0), ("validation_fraction", 1.0), ("tol", -1.0), ("n_jobs", 1.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_faulty_parameters(name, value, call):
    X, y = problem(n=40)
    clf = BudgetedPegasosClassifier(budget=10, random_state=0).fit(X, y).set_params(**{name: value})
    unchanged(clf, lambda: getattr(clf, call)(X, y), match=name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 1.0), ("kernel", "linear"), ("gamma", 3.0), ("gamma", "auto"), ("degree", 2),
        ("coef0", 1.0), ("budget", 11), ("budget", None), ("maintenance", "project"),
        ("merge_search", "all"), ("ball_projection", False), ("average", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("n", [40, 300])
def test_parameters_that_cannot_change_on_the_way(name, value, call, n):
    """Neither while the first rows of a stream are still to decide on gamma="scale"."""
    X, y = problem(n=n)
    clf = BudgetedPegasosClassifier(budget=10, random_state=0, warm_start=True)
    clf.partial_fit(X, y, classes=[0, 1, 2]).set_params(**{name: value})
    unchanged(clf, lambda: getattr(clf, call)(X, y), match=rf"{name} was .* and is")
    # Others may.
    clf.set_params(**{name: BudgetedPegasosClassifier(budget=10).get_params()[name]})
    clf.set_params(shuffle=False, max_iter=2, random_state=5)
    getattr(clf, call)(X, y)


@pytest.mark.parametrize("gamma", [1.0, "scale"])
def test_kernel_values_that_overflow(gamma):
    """A first call, a later one, a warm start: an error, and nothing has happened."""
    X, y = problem(n=300)
    huge = X.copy()
    huge[123] *= 1e9
    message = "kernel='poly' has values up to .* scale the features"
    clf = BudgetedPegasosClassifier(gamma=gamma, **POLY)
    if gamma != "scale":  # which finds a small one
        for call in (clf.fit, clf.partial_fit):
            with pytest.raises(ValueError, match=message):
                call(huge, y, **({} if call == clf.fit else {"classes": [0, 1, 2]}))
            assert vars(clf) == vars(BudgetedPegasosClassifier(gamma=gamma, **POLY))
    for n in (40, 300):
        clf = BudgetedPegasosClassifier(gamma=gamma, warm_start=True, **POLY)
        clf.partial_fit(X[:n], y[:n], classes=[0, 1, 2])
        if gamma != "scale" or n == 300:
            unchanged(clf, lambda clf=clf: clf.partial_fit(huge, y), match=message)
        unchanged(clf, lambda clf=clf: clf.fit(huge, y), match=message)
        clf.partial_fit(X, y)


def test_the_first_rows_of_a_stream_decide_whether_the_next_fit():
    """gamma="scale" of rows that are nearly equal is large: the kernel leaves float32."""
    random = np.random.RandomState(0)
    X = (1000 + 0.01 * random.randn(300, 5)).astype(np.float32)
    y = random.randint(3, size=300)
    clf = BudgetedPegasosClassifier(**POLY | {"degree": 4})
    with pytest.raises(ValueError, match=r"values up to 1\.\d*e\+40"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    assert vars(clf) == vars(BudgetedPegasosClassifier(**POLY | {"degree": 4}))
    clf.partial_fit(X * random.choice([-1, 1], size=(300, 5)), y, classes=[0, 1, 2])


def test_gamma_scale_takes_features_of_any_size():
    """What counts is γ x·v, not x·v."""
    X, y = problem()
    small, large = (
        BudgetedPegasosClassifier(**POLY).fit(X * np.float32(s), y) for s in (1.0, 2.0**40)
    )
    assert small.dual_coef_.tobytes() == large.dual_coef_.tobytes()


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", ["merge", "poly"])
def test_weights_that_are_too_large(call, name):
    X, y = problem(n=40)
    clf = KERNELS[name](random_state=0).fit(X, y)
    for weight in (1e16, 1e30):
        unchanged(clf, lambda w=weight: getattr(clf, call)(X, y, sample_weight=np.full(40, w)),
                  match="leave float32; scale the weights")  # fmt: skip


@pytest.mark.parametrize("ball_projection", [True, False])
@pytest.mark.parametrize("weight", [1e-30, 1e-10, 1e10, 9e14])
@pytest.mark.parametrize("name", ["merge", "project", "remove", "random", "no-budget"])
def test_weights_of_all_sizes(name, weight, ball_projection):
    X, y = problem(n=100)
    clf = KERNELS[name](random_state=0, ball_projection=ball_projection)
    clf.fit(X, y, sample_weight=np.full(100, weight))
    assert np.isfinite(clf.dual_coef_).all()
    assert np.isfinite(clf.degradation_)
    assert np.isfinite(clf.decision_function(X)).all()


def test_the_bindings_check_everything():
    config = dict(n_features=2, n_classes=2, lam=0.1, kernel="rbf", gamma=1.0, coef0=0.0, degree=3,
                  budget=2, maintenance="project", ball_projection=True, average=True,
                  seed=0)  # fmt: skip
    for change in ({"lam": 0.0}, {"kernel": "gauss"}, {"maintenance": "delete"}, {"budget": -1},
                   {"gamma": np.nan}, {"n_features": -1}, {"degree": -1},
                   {"kernel": "poly", "maintenance": "merge"}):  # fmt: skip
        with pytest.raises(ValueError, match=r"lam|kernel|maintenance|merging|sizes"):
            _native.KernelLearner(**config | change)
    learner = _native.KernelLearner(**config)
    rows = _native.dense_rows(np.arange(6, dtype=np.float32).reshape(3, 2))
    y = np.array([0, 1, 0], dtype=np.int32)
    for message, change in [
        ("y and X differ", dict(y=y[:2])),
        ("class code out of range", dict(y=np.array([0, 2, 0], dtype=np.int32))),
        ("class code out of range", dict(y=np.array([0, -1, 0], dtype=np.int32))),
        ("row number out of range", dict(order=np.array([3]))),
        ("weights and X differ", dict(weight=np.ones(2, dtype=np.float32))),
        ("number of features", dict(X=_native.dense_rows(np.ones((3, 3), dtype=np.float32)))),
    ]:
        with pytest.raises(ValueError, match=message):
            learner.learn(**{"X": rows, "y": y} | change)
    learner.learn(rows, y)
    for code, n_classes in (([0], 2), ([0, 2], 2), ([0, 0], 2), ([0, -1], 3), ([0, 1], -1)):
        with pytest.raises(ValueError, match="code"):
            learner.relabel(code, n_classes)
    made = learner.__getstate__()
    for key, value in [("vectors", made["vectors"][:, :1].copy()), ("coef", made["coef"][:1]),
                       ("born", made["born"][:1]), ("sums", None), ("sums", made["sums"][:1]),
                       ("memory", made["memory"][:-1]), ("budget", 1),
                       ("n_classes", 3)]:  # fmt: skip
        with pytest.raises(ValueError, match="learner state"):
            _native.KernelLearner.__new__(_native.KernelLearner).__setstate__(made | {key: value})
    machine = learner.snapshot()
    with pytest.raises(ValueError, match="number of features"):
        machine.decision(_native.dense_rows(np.ones((3, 3), dtype=np.float32)))
    with pytest.raises(ValueError, match="differ in number"):
        _native.KernelMachine(np.ones((2, 2), np.float32), np.ones((1, 2), np.float32),
                              kernel="rbf", gamma=1.0, coef0=0.0, degree=3)  # fmt: skip


# --- gamma="scale" on a stream -------------------------------------------------------------


@pytest.mark.parametrize("make", [BudgetedPegasosClassifier, ProjectronClassifier])
def test_auto_gamma(make):
    """Found in `fit` by trial; with squares of a tenth, "scale" is far too wide."""
    X, y = make_checkerboard(10, 10, n=6000, random_state=0)
    clf, scale = (make(gamma=g, random_state=0).fit(X, y) for g in ("auto", "scale"))
    assert clf.gamma_ == 16 * scale.gamma_
    assert clf.score(X, y) > scale.score(X, y) + 0.1
    assert state(clf) == state(make(gamma=clf.gamma_, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="gamma_ that fit finds"):
        make(gamma="auto").partial_fit(X, y, classes=[0, 1])
    clf.partial_fit(X, y)  # which can go on from there
    # Where classes are wide apart, "scale" does as well as anything finer.
    X, y = problem(n=600)
    assert make(gamma="auto", random_state=0).fit(csr(X), y).gamma_ > 0


def test_a_linear_kernel_has_no_gamma_to_find():
    X, y = problem(n=300)
    linear = {"kernel": "linear", "maintenance": "remove", "random_state": 0}
    clf = BudgetedPegasosClassifier(gamma="auto", **linear)
    given = BudgetedPegasosClassifier(gamma=1.0, **linear)
    for machine in (clf, given):
        machine.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(clf.decision_function(X), given.decision_function(X))


def test_auto_gamma_tries_nothing_that_overflows():
    X, y = problem(n=300)
    clf = BudgetedPegasosClassifier(gamma="auto", alpha="auto", **POLY | {"degree": 12}).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()


def test_gamma():
    X, y = problem()
    scale = BudgetedPegasosClassifier(gamma="scale").fit(csr(X), y).gamma_
    assert scale == pytest.approx(1 / (7 * np.var(X.astype(np.float64))), rel=1e-12)
    assert BudgetedPegasosClassifier(gamma="scale").fit(X, y).gamma_ == scale
    stream = BudgetedPegasosClassifier().partial_fit(X, y, classes=[0, 1, 2])
    assert stream.gamma_ == pytest.approx(1 / (7 * np.var(X[:256].astype(np.float64))), rel=1e-12)
    same = np.full((10, 3), 0.1)
    assert BudgetedPegasosClassifier().fit(same, [0, 1] * 5).gamma_ == 1  # as in SVC
    # Rows of weight zero and rows held out have no say.
    weight = (np.arange(300) % 3 > 0).astype(float)
    a = BudgetedPegasosClassifier().fit(X, y, sample_weight=weight)
    assert a.gamma_ == BudgetedPegasosClassifier().fit(X[weight > 0], y[weight > 0]).gamma_
    held = BudgetedPegasosClassifier(early_stopping=True, random_state=0).fit(X, y)
    assert held.gamma_ != scale


def test_fit_of_few_rows_is_partial_fit():
    """Up to 256 rows decide on gamma in both."""
    X, y = problem(n=256)
    fitted = BudgetedPegasosClassifier(budget=20, shuffle=False, random_state=0).fit(X, y)
    stream = BudgetedPegasosClassifier(budget=20, random_state=0)
    stream.partial_fit(X[:100], y[:100], classes=[0, 1, 2]).partial_fit(X[100:], y[100:])
    assert state(fitted) == state(stream)
    assert fitted.gamma_ == stream.gamma_


def test_rows_that_decide_are_copied():
    """What the caller does to an array after the call is the caller's business."""
    X, y = problem(n=100)
    whole = BudgetedPegasosClassifier(budget=20, random_state=0)
    whole.partial_fit(X, y, classes=[0, 1, 2])
    for rows in (X.copy(), csr(X), X.astype(np.float64)):
        part = rows[:50].copy()
        clf = BudgetedPegasosClassifier(budget=20, random_state=0)
        labels = y[:50].copy()
        clf.partial_fit(part, labels, classes=[0, 1, 2])
        (part.data if hasattr(part, "indptr") else part)[:] = 7
        labels[:] = 0
        clf.partial_fit(rows[50:], y[50:])
        assert state(clf) == state(whole)


def test_a_warm_start_ends_the_opening_of_a_stream():
    """The rows of `fit` are not forgotten by the next `partial_fit`."""
    X, y = problem()
    clf = BudgetedPegasosClassifier(budget=20, random_state=0, warm_start=True)
    clf.partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    gamma = clf.gamma_
    assert clf.fit(X, y).t_ == 351
    assert clf.partial_fit(X[:9], y[:9]).t_ == 360
    assert clf.gamma_ == gamma


@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_in_the_opening_of_a_stream(begun, n, monkeypatch):
    """The rows of the call have not been learnt, and the stream goes on without them."""
    from multiplane.estimators import _monitor

    def interrupt(self, done, total):
        raise KeyboardInterrupt

    X, y = problem()
    clf, same = (BudgetedPegasosClassifier(budget=20, random_state=0) for _ in range(2))
    if begun:
        for model in (clf, same):
            model.partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    with monkeypatch.context() as patch:
        patch.setattr(_monitor.Recorder, "rows_seen", interrupt)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X[:n], y[:n], classes=[0, 1, 2])
    assert clf.stop_reason_ == "interrupted"
    if begun:
        assert state(clf) == state(same)
        assert clf.gamma_ == same.gamma_
    else:
        with pytest.raises(NotFittedError):
            clf.predict(X)
    for model in (clf, same):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert state(clf) == state(same)
    assert clf.stop_reason_ == "partial_fit"


def test_new_classes_in_the_opening_of_a_stream():
    """A label that comes after the first rows, before and after them in the alphabet."""
    X, y = problem(n=400)
    names = np.array(["b", "a", "c"])[y]
    names[:60] = "b"
    whole = KERNELS["scale"](random_state=0).partial_fit(X, names, allow_new_classes=True)
    for cuts in ([30], [60, 61, 62], [100, 255, 256, 257, 300], range(0, 400, 50)):
        clf = KERNELS["scale"](random_state=0)
        for a, b in itertools.pairwise([0, *cuts, 400]):
            if a < b:
                clf.partial_fit(X[a:b], names[a:b], allow_new_classes=True)
        assert state(clf) == state(whole)
        assert clf.classes_.tolist() == ["a", "b", "c"]


# --- training ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["merge", "project", "scale"])
def test_early_stopping(name):
    X, y = problem(n=500)
    clf = KERNELS[name](early_stopping=True, validation_fraction=0.2, n_iter_no_change=3, tol=0.0,
                        max_iter=50, random_state=0).fit(X, y)  # fmt: skip
    assert clf.stop_reason_ == "validation score no longer improves"
    assert clf.t_ == 1 + 400 * clf.n_iter_
    scores = [entry["validation_score"] for entry in clf.history_]
    assert len(scores) == clf.n_iter_ == int(np.argmax(scores)) + 1 + 3
    watched = KERNELS[name](max_iter=2, random_state=0).fit(X, y, X_val=X[:99], y_val=y[:99])
    assert watched.history_[-1]["validation_score"] == watched.score(X[:99], y[:99])


def test_verbose(capsys):
    X, y = problem()
    BudgetedPegasosClassifier(budget=20, max_iter=2, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[BudgetedPegasosClassifier] pass 2/2  error ")
    assert "support vectors 20" in lines[1]


@pytest.mark.parametrize("name", ["merge", "project", "poly"])
def test_memory_mapped_rows(name, tmp_path):
    X, y = problem()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    clf = KERNELS[name](random_state=0).fit(mapped, y)
    assert state(clf) == state(KERNELS[name](random_state=0).fit(X, y))
    stream = KERNELS["scale"](random_state=0).partial_fit(mapped[:100], y[:100], classes=[0, 1, 2])
    stream.partial_fit(mapped[100:], y[100:])
    whole = KERNELS["scale"](random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert state(stream) == state(whole)
    assert clf.decision_function(mapped).tobytes() == clf.decision_function(X).tobytes()


@pytest.mark.parametrize("name", ["merge", "project", "scale"])
def test_columns_of_another_array(name):
    """X.T of a C-ordered array is in Fortran's order."""
    X, y = problem()
    columns = np.ascontiguousarray(X.T)
    clf = KERNELS[name](random_state=0).fit(columns.T, y)
    assert state(clf) == state(KERNELS[name](random_state=0).fit(X, y))
    assert clf.decision_function(columns.T).tobytes() == clf.decision_function(X).tobytes()


@pytest.mark.parametrize("name", ["merge", "project"])
@pytest.mark.parametrize("beside", ["predict", "pickle", "partial_fit"])
def test_beside_training(name, beside):
    """One estimator in two threads: slower, but never broken."""
    X, y = problem(n=2000)
    clf = KERNELS[name](random_state=0).partial_fit(X[:50], y[:50], classes=[0, 1, 2])

    def train():
        for _ in range(3):
            clf.partial_fit(X, y)

    def look():
        for _ in range(20):
            if beside == "predict":
                clf.predict(X[:20])
            elif beside == "pickle":
                pickle.loads(pickle.dumps(clf))
            else:
                clf.partial_fit(X[:100], y[:100])

    together(train, look)
    assert clf._training.learner.t == 1 + 50 + 3 * 2000 + 2000 * (beside == "partial_fit")
    assert np.isfinite(clf.dual_coef_).all()


def test_a_budget_bounds_the_model():
    """However long the stream: support vectors, pickled bytes and the history do not grow."""
    X, y = problem(n=4000)
    clf = KERNELS["merge"](random_state=0)
    sizes = []
    for _ in range(4):
        for a in range(0, 4000, 1000):
            clf.partial_fit(X[a : a + 1000], y[a : a + 1000], classes=[0, 1, 2])
        clf.history_.clear()
        sizes.append(len(pickle.dumps(clf)))
        assert clf.n_support_ == 20
    assert max(sizes) - min(sizes) < 200
