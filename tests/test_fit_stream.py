"""fit_stream: the same model as by other roads, scalers, errors, Ctrl-C; and resize."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import (
    HYPERPLANES,
    ONE_PASS,
    STREAMS,
    VARIANTS,
    arrays,
    everything,
    integers,
    problem,
    state,
)
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from test_data import ours, write_libsvm
from test_twin import KINDS, assert_equal, learn_both, pair

from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    GAMMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    ProjectronClassifier,
    compile,
)
from multiplane.data import open_source, write_cache
from multiplane.data._libsvm import LibsvmSource
from multiplane.datasets import make_checkerboard

ALL = VARIANTS | {"projectron": lambda **p: ProjectronClassifier(**{"gamma": 0.1, **p})}
SCALERS = {
    "minmax": lambda: MinMaxScaler((-1, 1)),
    "standard": StandardScaler,
    "maxabs": MaxAbsScaler,
}


def parts(X, y, size, weight=None):
    return [
        (X[i : i + size], y[i : i + size], None if weight is None else weight[i : i + size])
        for i in range(0, len(y), size)
    ]


def in_order(make, data, **settings):
    """One pass over the rows as they come."""
    return make(random_state=0).fit_stream(data, max_iter=1, shuffle=False, **settings)


# --- the same answer by another road ---------------------------------------------------------


@pytest.mark.parametrize("name", sorted(STREAMS.keys() - {"scale"}))
def test_one_pass_in_order_is_partial_fit(name):
    """Not gamma="scale", which may look at more rows here."""
    X, y = problem(200)
    y[:120] %= 2  # the third class comes late
    weight = np.random.RandomState(0).choice([0, 0.5, 1, 2], size=200)
    streamed = in_order(STREAMS[name], parts(X, y, 30, weight), window=2)
    partial = STREAMS[name](random_state=0)
    partial.partial_fit(X, y, classes=[0, 1], sample_weight=weight, allow_new_classes=True)
    assert state(streamed) == state(partial)
    assert (streamed.n_iter_, streamed.stop_reason_) == (1, "max_iter")


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass_in_order_is_fit(name):
    X, y = problem(200)
    streamed = in_order(STREAMS[name], (X, y))
    fitted = STREAMS[name](max_iter=1, shuffle=False, random_state=0).fit(X, y)
    for ours_, theirs in zip(arrays(streamed), arrays(fitted), strict=True):
        assert ours_.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", ["amm", "mm", "merge", "projectron", "multiplane"])
def test_files_blocks_and_threads(tmp_path, name):
    """Shuffled, what matters is the seed and the size of the blocks; in order, the rows alone."""
    X, y = problem(150)
    write_libsvm(tmp_path / "a.svm", X, y)

    def source(block_bytes, n_threads):
        path = [str(tmp_path / "a.svm")]
        return LibsvmSource(path, block_bytes=block_bytes, n_threads=n_threads, n_features=7)

    if name != "multiplane":  # it looks at its first window
        whole = state(in_order(ALL[name], (sp.csr_matrix(X), y), classes=[0, 1, 2]))
        for size, n_threads in ((100, 1), (700, 3), (1 << 20, 2)):
            there = in_order(ALL[name], source(size, n_threads), window=3, classes=[0, 1, 2])
            assert state(there) == whole
    shuffled = [
        state(ALL[name](random_state=seed).fit_stream(source(500, n), max_iter=2, window=2))
        for seed, n in ((0, 1), (0, 3), (1, 1))
    ]
    assert shuffled[0] == shuffled[1] != shuffled[2]


def test_a_cache_gives_the_same_model(tmp_path):
    X, y = problem(300)
    write_libsvm(tmp_path / "a.svm", X, y)
    text = open_source(tmp_path / "a.svm")
    cached = open_source(tmp_path / "a.svm", cache=True)
    for scale in (None, "minmax", "standard"):
        both = [
            AMMClassifier(random_state=0).fit_stream(s, max_iter=2, scale=scale)
            for s in (text, cached)
        ]
        assert state(both[0]) == state(both[1])


@pytest.mark.parametrize("name", sorted(HYPERPLANES))
def test_features_that_come_later(name):
    """As if they had always been there, zero."""
    X, y = problem(240, d=40, zeros=0.6)
    for first, last in ((0, 5), (60, 6), (120, 33), (180, 40)):
        X[first : first + 60, last:] = 0
    wide = parts(sp.csr_matrix(X), y, 60)
    narrow = [(x[:, :k], *rest) for (x, *rest), k in zip(wide, (5, 6, 33, 40), strict=True)]
    for settings in ({}, {"average": False}):
        known = in_order(lambda s=settings, **p: HYPERPLANES[name](**s, **p), wide, window=1)
        found = in_order(
            lambda s=settings, **p: HYPERPLANES[name](**s, **p), lambda: iter(narrow), window=1
        )
        once = in_order(lambda s=settings, **p: HYPERPLANES[name](**s, **p), iter(narrow), window=1)
        assert known.n_features_in_ == found.n_features_in_ == once.n_features_in_ == 40
        assert state(known) == state(found) == state(once)
    fewer = in_order(HYPERPLANES[name], iter(narrow[:3]), window=1)
    assert fewer.n_features_in_ == 33  # room that was made in advance is given back
    assert fewer.predict(narrow[0][0]).shape == (60,)


def test_kernel_machines_know_all_features_beforehand():
    X, y = problem(90)
    S = sp.csr_matrix(X)
    narrow = [(S[:30, :3], y[:30]), (S[30:], y[30:])]
    clf = BudgetedPegasosClassifier(gamma=0.1, random_state=0)
    assert clone(clf).fit_stream(narrow, window=1).n_features_in_ == 7  # by one more reading
    with pytest.raises(ValueError, match="7 features"):
        clone(clf).fit_stream(iter(narrow), window=1)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"amm-batch", "gamm-batch"}))
def test_every_classifier_learns_from_a_sorted_file(tmp_path, name):
    X, y = problem(600, d=5, zeros=0.0)
    centre = np.array([[6, 0, 0, 0, 0], [0, 6, 0, 0, 0], [0, 0, 6, 0, 0]], np.float32)
    X = (0.5 * X + centre[y]).astype(np.float32)
    order = np.argsort(y, kind="stable")
    write_libsvm(tmp_path / "a.svm", X[order], y[order])
    source = LibsvmSource([str(tmp_path / "a.svm")], block_bytes=2000)
    clf = ALL[name](random_state=0).fit_stream(source, max_iter=5)
    assert clf.score(X, y) > 0.85
    assert clf.n_iter_ == 5
    assert ours() == []


def test_labels_of_any_kind(tmp_path):
    X, y = problem(100)
    words = np.array(["né", "b", "cherry"])[y]
    write_cache(open_source(parts(X, words, 30)), tmp_path / "a.mpc")
    clf = AMMClassifier(random_state=0).fit_stream(tmp_path / "a.mpc", shuffle=False, window=1)
    assert clf.classes_.tolist() == ["b", "cherry", "né"]
    assert set(clf.predict(X)) <= set(words)


# --- scalers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float64"])
def test_scalers_are_those_of_sklearn(scale, kind):
    X, y = problem(200)
    X = X * np.float32([1, 1e3, 1e-3, 1, 1, 50, 1]) + np.float32([0, 0, 0, 1e4, 1, 0, 0])
    if kind == "sparse":  # rows that are more than half full are taken for dense ones
        X *= np.random.RandomState(1).uniform(size=X.shape) < 0.4
    data = {"dense": X, "sparse": sp.csr_matrix(X), "float64": X.astype(np.float64)}[kind]
    clf = in_order(AMMClassifier, parts(data, y, 30), scale=scale)
    if kind != "sparse":
        wanted = SCALERS[scale]().fit_transform(X.astype(np.float64))
    elif scale == "standard":
        wanted = StandardScaler(with_mean=False).fit_transform(data.astype(np.float64)).toarray()
    else:  # never shifted: "minmax" is "maxabs"
        wanted = MaxAbsScaler().fit_transform(data.astype(np.float64)).toarray()
    got = clf.scaler_(data)
    got = got.toarray() if sp.issparse(got) else got
    # Numbers of float32; what is left of 1e4 after a shift is known to 1e-12 of it.
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-7)
    rows = sp.csr_matrix(got) if sp.issparse(data) else got
    unscaled = in_order(AMMClassifier, parts(rows, y, 30))
    assert np.array_equal(clf.coef_, unscaled.coef_)
    assert np.array_equal(clf.decision_function(data), unscaled.decision_function(rows))


def test_scaled_rows_may_be_sparse_or_dense():
    """Rows that were shifted in training are shifted in prediction, whatever they come as."""
    X, y = problem(200)
    X += 3
    clf = AMMClassifier(random_state=0).fit_stream((X, y), scale="minmax")
    assert np.array_equal(clf.decision_function(sp.csr_matrix(X)), clf.decision_function(X))
    sparse = AMMClassifier(random_state=0).fit_stream((sp.csr_matrix(X), y), scale="standard")
    assert np.array_equal(sparse.decision_function(sp.csr_matrix(X)), sparse.decision_function(X))


def test_scalers_of_dense_and_sparse_blocks():
    """A zero that is not there counts as much as one that is."""
    X, y = problem(120)
    X = np.abs(X) + (X != 0)
    X[:60] += 1
    blocks = [(X[:60], y[:60]), (sp.csr_matrix(X[60:]), y[60:])]
    for scale in SCALERS:
        mixed = in_order(AMMClassifier, blocks, scale=scale, window=1)
        dense = in_order(AMMClassifier, (X, y), scale=scale)
        np.testing.assert_allclose(mixed.scaler_.shift, dense.scaler_.shift, rtol=1e-12)
        np.testing.assert_allclose(mixed.scaler_.factor, dense.scaler_.factor, rtol=1e-12)
        np.testing.assert_array_equal(mixed.predict(X), dense.predict(X))


def test_constants_and_features_never_seen():
    X, y = problem(60)
    X[:, 0], X[:, 1] = 0, 5
    for scale, wanted in (("minmax", 0), ("standard", 0), ("maxabs", 1)):
        clf = in_order(AMMClassifier, (X, y), scale=scale)
        assert np.array_equal(clf.scaler_(X)[:, :2], np.array([[0, wanted]] * 60))
    source = open_source((sp.csr_matrix(X), y))
    source.n_features = 9  # as a LIBSVM file may say
    clf = in_order(AMMClassifier, source, scale="maxabs")
    assert clf.n_features_in_ == len(clf.scaler_.factor) == 9
    assert clf.predict(sp.csr_matrix(np.ones((2, 9)))).shape == (2,)


def test_a_scaler_of_the_first_window():
    """A source that can be read once has no more to show."""
    X, y = problem(120)
    clf = in_order(AMMClassifier, iter(parts(X, y, 30)), scale="maxabs", window=2)
    np.testing.assert_allclose(1 / clf.scaler_.factor, np.abs(X[:60]).max(axis=0))
    S = sp.csr_matrix(X)
    later = [(S[:60, :4], y[:60]), (S[60:], y[60:])]
    clf = in_order(AMMClassifier, iter(later), scale="maxabs", window=1)
    assert clf.scaler_.factor[4:].tolist() == [1, 1, 1]  # as they are


def test_numbers_that_cannot_be_scaled():
    X, y = problem(60)
    for bad in (np.nan, np.inf, 1e300):
        rows = np.where(X[3, 3] == X, bad, X.astype(float))
        for shape in (np.asarray, sp.csr_array):
            match = rf"row 3, column 3: {np.array(bad)} is not a feature's value"
            with pytest.raises(ValueError, match=match.replace("+", r"\+")):
                in_order(AMMClassifier, (shape(rows), y), scale="minmax")
    with pytest.raises(ValueError, match="scale must be None or one of"):
        in_order(AMMClassifier, (X, y), scale="robust")


# --- a life with fit and partial_fit ---------------------------------------------------------


def test_goes_on_with_partial_fit():
    X, y = problem(200)
    whole = in_order(AMMClassifier, (X, y), classes=[0, 1, 2])
    begun = in_order(AMMClassifier, (X[:90], y[:90]), classes=[0, 1, 2])
    assert state(begun.partial_fit(X[90:], y[90:])) == state(whole)
    scaled = in_order(AMMClassifier, (X, y), scale="standard")
    again = clone(scaled).partial_fit(scaled.scaler_(X), y, classes=[0, 1, 2])
    scaled.partial_fit(X[:50], y[:50])
    again.partial_fit(in_order(AMMClassifier, (X, y), scale="standard").scaler_(X[:50]), y[:50])
    assert np.array_equal(scaled.coef_, again.coef_)


def test_fit_begins_anew():
    X, y = problem(100)
    clf = AMMClassifier(random_state=0).fit_stream((X, y), scale="standard")
    clf.fit(X, y)
    assert not hasattr(clf, "scaler_")
    assert state(clf) == state(AMMClassifier(random_state=0).fit(X, y))
    clf.fit_stream((X, y), scale="maxabs").fit_stream((X, y))
    assert getattr(clf, "scaler_", None) is None
    assert state(clf) == state(AMMClassifier(random_state=0).fit_stream((X, y)))


@pytest.mark.parametrize("name", ["amm", "merge", "multiplane"])
def test_clone_and_pickle(name):
    X, y = problem(100)
    clf = ALL[name](random_state=0)
    before = clf.get_params()
    clf.fit_stream((X, y), scale="standard", max_iter=2)
    assert clf.get_params() == before
    assert not hasattr(clone(clf), "classes_")
    assert state(clone(clf).fit_stream((X, y), scale="standard", max_iter=2)) == state(clf)
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))
    assert state(again.partial_fit(X, y)) == state(clf.partial_fit(X, y))


def test_names_of_features(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = problem(80, d=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(label=y).to_parquet(tmp_path / "a.parquet")
    clf = AMMClassifier(random_state=0).fit_stream(tmp_path / "a.parquet")
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize("make", [AMMClassifier, PegasosClassifier, BudgetedPegasosClassifier])
def test_found_by_trial(make):
    X, y = problem(400)
    names = [name for name in ("alpha", "gamma") if name in make().get_params()]
    auto = dict.fromkeys(names, "auto")
    clf = make(random_state=0, **auto).fit_stream(parts(X, y, 50), max_iter=2)
    assert 0 < clf.alpha_ < 1
    assert state(clf) == state(make(random_state=0, **auto).fit_stream(parts(X, y, 50), max_iter=2))


# --- errors and Ctrl-C -----------------------------------------------------------------------


class _ToldError(Exception):
    pass


def broken(kind):
    """Blocks of which the fourth is bad."""
    X, y = problem(120)
    blocks = parts(X, y, 30)
    bad = {
        "nan": (np.full((2, 7), np.nan), [0, 1]),
        "width": (np.zeros((2, 8)), [0, 1]),
        "labels": (X[:2], ["a", "b"]),
        "unlabelled": (X[:2],),
        "lists": (X[:2], np.eye(2)),
        "lengths": (X[:2], [1]),
        "nothing": 3,
    }
    yield from blocks[:3]
    if kind == "error":
        raise _ToldError
    yield bad[kind]


@pytest.mark.parametrize("scale", [None, "maxabs"])
@pytest.mark.parametrize("window", [1, 8])
@pytest.mark.parametrize(
    "kind", ["nan", "width", "labels", "unlabelled", "lists", "lengths", "nothing", "error"]
)
def test_errors_leave_it_as_it_was(kind, window, scale):
    X, y = problem(100)
    fitted = AMMClassifier(random_state=0).fit_stream((X, y), scale="standard")
    for clf in (fitted, AMMClassifier(random_state=0)):
        before = everything(clf)
        with pytest.raises((ValueError, _ToldError)):
            clf.fit_stream(lambda: broken(kind), shuffle=False, window=window, scale=scale)
        assert everything(clf) == before
        assert ours() == []


@pytest.mark.parametrize(
    ("data", "settings", "what"),
    [
        ([], {}, "there are no rows"),
        ((np.ones((5, 2)), [1] * 5), {}, "at least two classes; arrays contains only one class: "),
        ((np.ones((5, 2)),), {}, "arrays: the rows have no labels, and learning needs them"),
        ((np.ones((2, 2)), np.eye(2)), {}, r"one label a row is needed, got y of shape \(2, 2\)"),
        (iter([(np.eye(2), [0, 1])]), {"max_iter": 2}, "can be read only once, but max_iter=2"),
        ((np.eye(2), [0, 1]), {"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ((np.eye(2), [0, 1]), {"window": 0.5}, "window must be a whole number of at least 1"),
        ((np.eye(2), [0, 1]), {"classes": ["a", "b"]}, "convert them to one type"),
    ],
)
def test_courteous_errors(data, settings, what):
    with pytest.raises(ValueError, match=what):
        AMMClassifier().fit_stream(data, **settings)


@pytest.mark.parametrize("make", [AMMClassifier, GAMMClassifier])
def test_batch_mode_has_one_pass_of_a_stream(make):
    X, y = np.random.RandomState(0).randn(50, 3), np.arange(50) % 2
    with pytest.raises(ValueError, match="use mode='online', or fit"):
        make("batch").fit_stream((X, y))
    batch, online = (make(mode, random_state=0) for mode in ("batch", "online"))
    assert state(batch.fit_stream((X, y), max_iter=1)) == state(
        online.fit_stream((X, y), max_iter=1)
    )


def test_lists_of_labels_from_a_file(tmp_path):
    (tmp_path / "a.svm").write_text("1,2 1:1\n0 1:1\n")
    with pytest.raises(ValueError, match="one label a row is needed"):
        AMMClassifier().fit_stream(open_source(tmp_path / "a.svm", multilabel=True))


@pytest.mark.parametrize("name", ["amm", "merge", "multiplane"])
def test_ctrl_c_leaves_it_fitted(name):
    X, y = problem(5000)

    def stop(progress):
        if progress.rows >= 2000:
            raise KeyboardInterrupt

    clf = ALL[name](random_state=0)
    with pytest.raises(KeyboardInterrupt):
        clf.fit_stream(parts(X, y, 500), callback=stop, max_iter=3, window=3, scale="standard")
    assert clf.stop_reason_ == "interrupted"
    assert clf.n_iter_ == 0
    assert 2000 <= clf.t_ - 1 < 5000
    assert clf.predict(X).shape == y.shape
    clf.partial_fit(X, y)
    assert ours() == []


def test_a_source_that_is_read_once():
    X, y = problem(90)
    clf = AMMClassifier(random_state=0, max_iter=7)
    assert clf.fit_stream(iter(parts(X, y, 30))).n_iter_ == 1
    assert clf.fit_stream(parts(X, y, 30)).n_iter_ == 7


def test_progress(capsys):
    X, y = problem(5000)
    seen = []
    clf = AMMClassifier(random_state=0)
    for source in ((X, y), parts(X, y, 400), lambda: iter(parts(X, y, 400))):
        seen = []
        clf.fit_stream(source, max_iter=2, callback=seen.append)
        rows, done = [p.rows for p in seen], [p.done for p in seen]
        assert rows == sorted(rows)
        assert rows[-1] == 10_000
        known = [d for d in done if d is not None]
        assert known == sorted(known)
        assert known[-1] == 1
        assert all(p.n_judged <= 5000 and 0 <= p.error <= 1 for p in seen)
    clf.set_params(verbose=1).fit_stream((X, y), max_iter=2)
    assert "[AMMClassifier] pass 2/2  rows 8,000  error" in capsys.readouterr().out


def test_multiplane_shares_its_steps_less_and_less():
    X, y = problem(400)
    seen = {}

    def look(progress):
        learner = progress.estimator._hyperplane_learner
        seen[progress.n_iter] = learner.sharing, learner.rate

    clf = ALL["multiplane"](random_state=0, sharing=0.5)
    clf.fit_stream(parts(X, y, 100), max_iter=4, callback=look)
    assert seen == {1: (0.5, 1.0), 2: (0.25, 1.0), 3: (0.0, 1.0), 4: (0.0, 0.5)}
    learner = clf._hyperplane_learner  # whoever goes on begins anew
    assert (learner.sharing, learner.rate) == (0.5, 1.0)


# --- resize ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", [False, True])
def test_resize_against_the_twin(simd, kind, average):
    learner, twin = pair(3, 4, growth=0.3, average=average)
    for d in (3, 4, 40, 17, 33):
        if d < twin.U.shape[1] - 1:  # forget, and go on with fewer
            learner, twin = pair(3, 4, growth=0.3, average=average)
        more = d - (twin.U.shape[1] - 1)
        learner.resize(d)
        for name in "UA":  # before the constant
            M = getattr(twin, name)
            setattr(twin, name, np.hstack([M[:, :-1], np.zeros((len(M), more)), M[:, -1:]]))
        assert_equal(learner, twin)
        X, y = integers(60, d, 4, seed=d)
        learn_both(learner, twin, X, y, kind)
    learner.resize(100)
    learner.resize(33)
    assert_equal(learner, twin)


def test_resize_keeps_what_matters():
    learner, twin = pair(5, 3)
    learn_both(learner, twin, *integers(60, 5, 3, seed=0))
    with pytest.raises(ValueError, match="features that are to go have weights"):
        learner.resize(2)
    with pytest.raises(ValueError, match="out of range"):
        learner.resize(0)
    assert_equal(learner, twin)
    learn_both(learner, twin, *integers(60, 5, 3, seed=1))


def test_pieces_without_weight_are_as_good_as_absent():
    X, y = problem(2_500)
    weight = np.ones(2_500)
    weight[900:2_100] = 0  # a whole piece, and parts of its neighbours
    weight[2_400:] = 0
    with_zeros = in_order(AMMClassifier, (X, y, weight))
    without = in_order(AMMClassifier, (X[weight > 0], y[weight > 0]))
    assert np.array_equal(with_zeros.coef_, without.coef_)
    first = np.where(np.arange(2_500) < 1_000, 0, 1)
    assert np.array_equal(
        in_order(AMMClassifier, (X, y, first)).coef_,
        in_order(AMMClassifier, (X[1_000:], y[1_000:])).coef_,
    )
    with pytest.raises(ValueError, match="no rows with a weight above zero"):
        in_order(AMMClassifier, (X, y, np.zeros(2_500)))


def test_corrupt_rows_are_refused_before_they_are_scaled():
    X, y = problem(60)
    clf = AMMClassifier(random_state=0).fit_stream((X + 3, y), scale="standard")
    bad = sp.csr_matrix(X)
    bad.indices[0] = 1_000_000_000
    for use in (clf.predict, compile(clf).predict):
        with pytest.raises(ValueError, match="corrupt CSR matrix"):
            use(bad)
    with pytest.raises(ValueError, match="corrupt CSR matrix"):
        AMMClassifier().fit_stream((bad, y))


def test_the_flagship_keeps_hyperplanes_that_win():
    X, y = make_checkerboard(3, 3, n=2_000, random_state=0)
    clf = MultiplaneClassifier(random_state=0).fit_stream((X, y))
    assert clf.n_hyperplanes_ == len(np.unique(clf.apply(X)))
    assert clf.score(X, y) > 0.97
