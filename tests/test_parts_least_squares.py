"""Least squares on rows in several places: the answer of one place, to rounding."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from engines import Forgetful, Futures, cut
from hypothesis import given, settings
from hypothesis import strategies as st
from test_least_squares import ALL, EVERY, Watcher, problem, several_labels, stagewise

from multiplane import (
    CalibratedLeastSquaresClassifier,
    GeneralizedLeastSquaresClassifier,
    StagewiseLeastSquaresClassifier,
    datasets,
)
from multiplane._csr import Csr
from multiplane.data import Block, DataError
from multiplane.features import (
    ConvolutionalPatches,
    FeatureGenerator,
    FeatureSubset,
    RandomFourier,
    RandomLogit,
    RandomPolynomial,
    Same,
    Source,
)
from multiplane.models._maps import Columns
from multiplane.persistence._rounds import Rounds
from multiplane.solvers._engine import Here, Part
from multiplane.solvers._rows import add

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Sums in another order, float64, over some iterations; scores are of size 1.
CLOSE = {"rtol": 1e-8, "atol": 1e-9}


class Weighed(Here):
    """Notes what travels."""

    def __init__(self, parts):
        super().__init__(parts)
        self.most = 0

    def run(self, local_step, state, merge, finish=None):
        found = super().run(local_step, state, merge, finish)
        self.most = max(self.most, len(pickle.dumps(state)), len(pickle.dumps(found)))
        return found


def same(parts, whole, X):
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), **CLOSE)
    assert parts.n_iter_ == whole.n_iter_
    assert parts.stop_reason_ == whole.stop_reason_
    for a, b in zip(parts.history_, whole.history_, strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-9)
        assert a["error"] == pytest.approx(b["error"])


# --- the same answer -------------------------------------------------------------------------


@EVERY
@settings(max_examples=6)
@given(
    st.lists(st.integers(0, 120), max_size=20),
    st.booleans(),
    st.sampled_from([None, "balanced", {"a": 2.0, "b": 0.0}]),
    st.booleans(),
)
def test_cuts_do_not_matter(make, cuts, weighted, class_weight, ordered):
    X, y = problem(120)
    if ordered:  # parts without some classes
        X, y = X[np.argsort(y)], np.sort(y)
    names = np.array(["b", "a", "cc"])[y]
    weight = np.random.RandomState(1).randint(3, size=120) * 0.7 if weighted else None
    clf = make(random_state=0, class_weight=class_weight)
    whole = make(random_state=0, class_weight=class_weight).fit(X, names, sample_weight=weight)
    clf._fit_parts(Here(cut(X, names, cuts, weight)))
    assert clf.classes_.tolist() == whole.classes_.tolist()
    same(clf, whole, X)


@EVERY
def test_what_is_lost_is_made_again_bit_for_bit(make):
    X, y = problem()
    one, two = (
        make(random_state=0)._fit_parts(engine(cut(X, y, [50, 50, 210])))
        for engine in (Here, Forgetful)
    )
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()


@EVERY
def test_several_labels(make):
    X, Y = several_labels()
    weight = np.random.RandomState(0).rand(200)
    for w in (None, weight):
        clf = make(random_state=0)._fit_parts(Here(cut(X, Y, [3, 3, 99], w)))
        same(clf, make(random_state=0).fit(X, Y, sample_weight=w), X)


@pytest.mark.parametrize("name", ["linear", "logistic", "calibrated", "stagewise-subset"])
def test_sparse_parts_of_unequal_width(name):
    X, y = problem()
    X[abs(X) < 1] = 0
    X[:100, 5:] = 0  # as a file would have it that ends with its highest index
    parts = cut(sp.csr_matrix(X), y, [100, 200])
    narrow = sp.csr_matrix(X[:100, :5])
    parts[0] = Part(0, Block(narrow, y[:100]))
    own = sp.csr_matrix(X[200:])
    parts[2] = Part(2, Block(Csr(own.data, own.indices, own.indptr, own.shape), y[200:]))
    parts.append(Part(3, Block(np.zeros((0, 0)), y[:0])))
    clf = ALL[name]()._fit_parts(Here(parts))
    same(clf, ALL[name]().fit(sp.csr_matrix(X), y), sp.csr_matrix(X))


GENERATORS = {
    "median": RandomFourier(24),
    "auto": RandomFourier(24, width="auto"),
    "axes": RandomLogit(24, n_components=3),
    "polynomial": RandomPolynomial(24, width="2*median"),
    "subset": FeatureSubset(4),
    "patches": ConvolutionalPatches(24, image_shape=(2, 4), patch_size=2, pool=1),
}


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_generators_find_the_same_rows(generator, weighted):
    X, y = problem(2300)  # more than the median asks for
    weight = np.random.RandomState(1).randint(3, size=2300) if weighted else None
    for make in (
        StagewiseLeastSquaresClassifier(features=generator, block_size=8, n_stages=2),
        GeneralizedLeastSquaresClassifier("identity", features=generator),
    ):
        make.set_params(random_state=0)
        whole = pickle.loads(pickle.dumps(make)).fit(X, y, sample_weight=weight)
        for cuts in ([], [1, 700, 700, 2299], range(100, 2300, 137)):
            same(make._fit_parts(Here(cut(X, y, cuts, weight))), whole, X)


class Widest(FeatureGenerator):
    """Somebody's own: columns in the order of their deviations."""

    class Source(Source):
        def __init__(self, order):
            super().__init__(Same(len(order)))
            self.order = order

        def draw(self, n_features, random, gradient=None):
            return Columns(self.order[:n_features])

    def __init__(self, n_features=3, *, random_state=None):
        self.n_features, self.random_state = n_features, random_state

    def prepare(self, X, random, weight=None, y=None):
        return self.Source(np.argsort(-np.average(X**2, axis=0, weights=weight)))


def test_a_generator_of_ones_own_learns_from_a_sample(monkeypatch):
    X, y = problem(600)
    X[:, 5] *= 30
    make = stagewise(features=Widest(), block_size=1, n_stages=1)
    whole = make(random_state=0).fit(X, y)
    same(make(random_state=0)._fit_parts(Here(cut(X, y, [200]))), whole, X)
    seen = []

    def prepare(self, X, random, weight=None, y=None):
        seen.append(X.shape)
        return self.Source(np.argsort(-np.std(X, axis=0)))

    monkeypatch.setattr("multiplane.features._base._POOL", 50)
    monkeypatch.setattr(Widest, "prepare", prepare)
    same(make(random_state=0)._fit_parts(Here(cut(X, y, [200]))), whole, X)
    assert seen == [(50, 8)]


@EVERY
def test_float32_is_the_same_but_for_its_rounding(make):
    X, y = problem(dtype=np.float32)
    whole = make(random_state=0).fit(X, y)
    clf = make(random_state=0)._fit_parts(Here(cut(X, y, [20, 230])))
    assert clf.predict_proba(X).dtype == np.float32
    # Small ridges, and features that hardly matter.
    assert np.mean(abs(clf.predict_proba(X) - whole.predict_proba(X))) < 5e-3


@pytest.mark.parametrize("name", ["logistic", "calibrated", "stagewise-models"])
def test_two_processes(name):
    X, y = problem()
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        engine = Futures(executor, cut(X, y, range(30, 300, 30)))
        clf = ALL[name](random_state=0)._fit_parts(engine)
    same(clf, ALL[name](random_state=0).fit(X, y), X)


@pytest.mark.parametrize("n_parts", [1, 3, 17])
@pytest.mark.parametrize(
    "make",
    [
        lambda: GeneralizedLeastSquaresClassifier("identity"),
        lambda: GeneralizedLeastSquaresClassifier(max_iter=5),
        lambda: CalibratedLeastSquaresClassifier(max_iter=2),
        lambda: StagewiseLeastSquaresClassifier(n_stages=2, block_size=32, random_state=0),
    ],
    ids=["linear", "logistic", "calibrated", "stagewise"],
)
def test_covertype(make, n_parts, covertype):
    X, y, answers = covertype
    name = str(make())
    if "identity" not in name:  # they take longer
        X, y = X[::5], y[::5]
    if name not in answers:
        answers[name] = make().fit(X, y)
    whole = answers[name]
    cuts = [len(y) * i // n_parts for i in range(1, n_parts)]
    clf = make()._fit_parts(Here(cut(X, y, cuts)))
    if hasattr(clf, "coef_"):
        largest = abs(whole.coef_).max(axis=0)  # columns differ in their units
        assert np.max(abs(clf.coef_ - whole.coef_) / np.where(largest > 0, largest, 1)) < 1e-8
    want = whole.decision_function(X[::50])
    assert np.max(abs(clf.decision_function(X[::50]) - want)) < 1e-8 * abs(want).max()


@pytest.fixture(scope="module")
def covertype():
    try:
        X, y, *_ = datasets.load_covtype(return_X_y=True, download_if_missing=False)
    except FileNotFoundError as error:
        pytest.skip(f"covertype is not here: {str(error).splitlines()[0]}")
    X = X.toarray() if sp.issparse(X) else X
    return X.astype(np.float64), y, {}


def test_sums_that_are_added_stay_as_they_are():
    deltas = [(np.ones(3) * i, float(i)) for i in range(4)]
    total, number = add(deltas)
    assert (total.tolist(), number) == ([6.0] * 3, 6.0)
    assert [delta[0][0] for delta in deltas] == [0, 1, 2, 3]


# --- what travels ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_nothing_larger_than_a_model_travels(name):
    X, y = problem(3000)
    engine = Weighed(cut(X, y, [1000, 2000]))
    clf = ALL[name](random_state=0)._fit_parts(engine)
    model = len(pickle.dumps(clf._model))
    gram = 8 * 33**2
    assert engine.most < model + gram + 4000  # and what says how rows are read
    assert engine.most < len(pickle.dumps(X)) / 4


# --- hard inputs -----------------------------------------------------------------------------


def test_a_bad_value_is_told_with_its_place():
    X, y = problem()
    X[217, 3] = np.nan
    with pytest.raises(DataError, match=r"partition 2: Input X contains NaN at row 17, column 3"):
        ALL["linear"]()._fit_parts(Here(cut(X, y, [100, 200])))


def test_what_is_refused():
    X, y = problem()
    parts = Here(cut(X, y, [100]))
    with pytest.raises(ValueError, match="early_stopping=True needs X_val and y_val"):
        ALL["linear"](early_stopping=True)._fit_parts(parts)
    with pytest.raises(ValueError, match="needed together"):
        ALL["linear"]()._fit_parts(parts, X_val=X)
    clf = ALL["linear"]()
    with pytest.raises(ValueError, match="at least two classes"):
        clf._fit_parts(Here(cut(X, np.zeros(300), [100])))
    assert not hasattr(clf, "n_features_in_")
    with pytest.raises(ValueError, match="all partitions are empty"):
        clf._fit_parts(Here(cut(X[:0], y[:0], [])))
    with pytest.raises(ValueError, match="above zero"):
        clf._fit_parts(Here(cut(X, y, [9], np.zeros(300))))
    with pytest.raises(ValueError, match="above zero"):
        ALL["linear"](class_weight={0: 0, 1: 0, 2: 0})._fit_parts(parts)
    several = Here(cut(*several_labels(), [9]))
    with pytest.raises(ValueError, match="class_weight is for one label"):
        ALL["linear"](class_weight="balanced")._fit_parts(several)


def test_parts_are_used_again():
    """What one training left in the memory of the parts is not taken for another's."""
    X, y = problem()
    engine = Here(cut(X, y, [40, 41]))
    for make in ALL.values():
        clf = make(random_state=0)._fit_parts(engine)
        same(clf, make(random_state=0).fit(X, y), X)
    balanced = ALL["calibrated"](class_weight="balanced")
    same(balanced._fit_parts(engine), ALL["calibrated"](class_weight="balanced").fit(X, y), X)


# --- stopping, going on ----------------------------------------------------------------------


def test_validation_data_and_early_stopping():
    X, y = problem(400)
    make = stagewise(n_stages=60, block_size=50, early_stopping=True, n_iter_no_change=4)
    whole = make(random_state=0).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    clf = make(random_state=0)
    clf._fit_parts(Here(cut(X[:200], y[:200], [90])), X_val=X[200:], y_val=y[200:])
    assert clf.stop_reason_.startswith("validation score no longer improves")
    assert clf.n_iter_ == whole.n_iter_
    assert clf.score(X[200:], y[200:]) == max(e["validation_score"] for e in clf.history_)


@EVERY
def test_callbacks_and_progress(make, capsys):
    X, y = problem()
    watcher = Watcher()
    clf = make(random_state=0, verbose=1).set_callbacks(watcher)
    clf._fit_parts(Here(cut(X, y, [100])))
    assert len(watcher.ends) == clf.n_iter_ + 1
    last = watcher.models[-1]
    assert np.array_equal(last.decision_function(X), clf.decision_function(X))
    assert len(capsys.readouterr().out.splitlines()) == clf.n_iter_


def test_a_warm_start():
    X, y = problem()
    engine = Here(cut(X, y, [100]))
    for name, fewer, more in (
        ("logistic-plain", {"max_iter": 3, "tol": 0}, {}),
        ("calibrated", {"max_iter": 2, "tol": 0}, {}),
        ("stagewise-subset", {"n_stages": 2}, {"n_stages": 4}),
    ):
        whole = ALL[name](warm_start=True, random_state=0, **fewer).fit(X, y)
        whole.set_params(**more).fit(X, y)
        clf = ALL[name](warm_start=True, random_state=0, **fewer)._fit_parts(engine)
        clf.set_params(**more)._fit_parts(engine)
        same(clf, whole, X)
        with pytest.raises(ValueError, match="not among the known classes"):
            clf._fit_parts(Here(cut(X, y + 1, [100])))
        with pytest.raises(ValueError, match="X has 7 features"):
            clf._fit_parts(Here(cut(X[:, :7], y, [100])))


class Dies:
    """A checkpoint of a training that ends with the machine, after so many steps."""

    def __init__(self, checkpoint, after):
        self.checkpoint, self.left = checkpoint, after

    def resume(self, estimator):
        return self.checkpoint.resume(estimator)

    def write(self, estimator):
        self.checkpoint.write(estimator)
        self.left -= 1
        if not self.left:
            raise MemoryError


@pytest.mark.parametrize(
    "name", ["logistic-plain", "calibrated", "stagewise", "stagewise-subset", "stagewise-models"]
)
def test_a_training_goes_on_from_its_checkpoint(name, tmp_path):
    X, y = problem()
    steps = {"n_stages": 4} if name.startswith("stagewise") else {"max_iter": 4, "tol": 0}
    make = lambda: ALL[name](random_state=0, **steps)  # noqa: E731
    engine, checkpoint = Here(cut(X, y, [100])), Rounds(tmp_path, data=[100, 200])
    for after in (1, 2):
        with pytest.raises(MemoryError):
            make()._fit_parts(engine, checkpoint=Dies(checkpoint, after))
    clf = make()._fit_parts(engine, checkpoint=checkpoint)
    same(clf, make()._fit_parts(engine), X)
    again = make()._fit_parts(None, checkpoint=checkpoint)  # there is nothing left to do
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))
    assert again.stop_reason_ == clf.stop_reason_
    checkpoint.remove()
    assert not list(tmp_path.iterdir())


def test_another_training_does_not_go_on_from_there(tmp_path):
    X, y = problem()
    engine = Here(cut(X, y, [100]))
    checkpoint = Rounds(tmp_path / "new", data=["a.csv", 300])
    ALL["calibrated"]()._fit_parts(engine, checkpoint=checkpoint)
    for make, data, what in (
        (ALL["calibrated"](alpha=3.0), ["a.csv", 300], "alpha"),
        (ALL["linear"](), ["a.csv", 300], "estimator"),
        (ALL["calibrated"](), ["b.csv", 300], "rows"),
    ):
        with pytest.raises(ValueError, match=f"another training, which differs in .*{what}"):
            make._fit_parts(engine, checkpoint=Rounds(tmp_path / "new", data=data))
    ALL["calibrated"](verbose=1)._fit_parts(engine, checkpoint=checkpoint)


def test_several_labels_are_zeros_and_ones():
    X, Y = several_labels()
    with pytest.raises(ValueError, match=r"partition 1: .* a matrix of zeros and ones"):
        ALL["linear"]()._fit_parts(
            Here(cut(X, np.where(np.arange(200)[:, None] < 99, Y, 2 * Y - 1), [99]))
        )
