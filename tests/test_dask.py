"""Training and prediction on a Dask cluster: two processes of this machine."""

import copy
import gc
import io
import os
import pickle
import time
import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from engines import cut, local_cluster
from helpers import problem, run_python, saved
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import multiplane
from multiplane.data import Block, DataError
from multiplane.estimators._parts import survey
from multiplane.persistence._rounds import Rounds
from multiplane.solvers._engine import Here, Part, groups

pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
mpd = pytest.importorskip("multiplane.dask")

from multiplane.dask._engine import DaskEngine, pickled_bytes  # noqa: E402
from multiplane.dask._inputs import as_block, parts_of, rows_of  # noqa: E402

NAMES = [name for name in mpd.__all__ if name.endswith("Classifier")]
LEAST_SQUARES = [name for name in NAMES if "LeastSquares" in name]


@pytest.fixture(scope="module")
def client():
    with local_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    X, y = problem(n=120, d=6)
    return X, y


def engine_of(client, *data, **options):
    return DaskEngine(client, parts_of(client, rows_of(client, *data)), **options)


def fitted(name, X, y, **parameters):
    plain = getattr(multiplane, name)(random_state=0, **parameters).fit(X, y)
    return plain, getattr(mpd, name).from_local(plain)


# --- steps: rows as they arrive ------------------------------------------------------------


def all_rows(state, part):
    """What a part has, brought here: of tests alone."""
    return [(part.number, *part.rows)]


def joined(deltas):
    return [item for delta in deltas for item in delta]


def rows_at(engine):
    parts = engine.run(all_rows, None, joined)
    assert [part[0] for part in parts] == list(range(engine.n_parts))
    X = sp.vstack if any(sp.issparse(part[1]) for part in parts) else np.concatenate
    weights = [part[3] for part in parts]
    return (
        X([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        None if weights[0] is None else np.concatenate(weights),
    )


def written(folder, X, y, kind):
    """The rows in two files."""
    paths = []
    for i, some in enumerate(np.array_split(np.arange(len(y)), 2)):
        path = folder / f"part-{i}.{kind}"
        if kind == "svm":
            lines = (
                f"{y[r]} " + " ".join(f"{c + 1}:{X[r, c]!s}" for c in range(X.shape[1]))
                for r in some
            )
            path.write_text("\n".join(lines) + "\n")
        elif kind == "npz":
            np.savez(path, X=X[some], y=y[some])
        else:
            columns = [f"c{j}" for j in range(X.shape[1])]
            table = pd.DataFrame(X[some], columns=columns).assign(label=y[some])
            # The second file has its columns in another order.
            table = table if i == 0 else table[table.columns[::-1]]
            table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
        paths.append(str(path))
    return paths


def collections(X, y):
    """The same rows in many ways."""
    weight = np.arange(len(y)) % 3 + 0.5
    dX, dy, dw = (da.from_array(a, chunks=((40, 0, 50, 30), *a.shape[1:])) for a in (X, y, weight))
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, w=weight)
    parts = dd.from_pandas(frame, npartitions=3)
    delayed = [dask.delayed(lambda i, j: (X[i:j], y[i:j], weight[i:j]))(i, i + 60) for i in (0, 60)]
    return {
        "array": (dX, dy, dw),
        "columns": (dX.rechunk((50, 2)), dy.rechunk(35), dw.rechunk(120)),
        "sparse": (dX.map_blocks(sp.csr_matrix), dy, dw),
        "unknown": (dX[dX[:, 0] > -np.inf], dy[dX[:, 0] > -np.inf], dw[dX[:, 0] > -np.inf]),
        "labels-here": (dX, y, weight),
        "frame": (parts[list("abcdef")], parts["y"], parts["w"]),
        "frame-values": (parts[list("abcdef")].values, parts["y"].values, parts["w"]),
        "delayed": (delayed, None, None),
        "delayed-lists": tuple([piece[k] for piece in delayed] for k in range(3)),
        "memory": (X, y, weight),
        "memory-sparse": (sp.csr_matrix(X), y, weight),
        "memory-frame": (frame[list("abcdef")], frame["y"], frame["w"]),
    }


@pytest.mark.parametrize("kind", collections(*problem(n=120, d=6)))
def test_rows_of_all_kinds(client, rows, kind):
    X, y = rows
    engine = engine_of(client, *collections(X, y)[kind])
    found_X, found_y, found_weight = rows_at(engine)
    assert sp.issparse(found_X) == ("sparse" in kind)
    np.testing.assert_array_equal(found_X.toarray() if sp.issparse(found_X) else found_X, X)
    np.testing.assert_array_equal(found_y, y)
    np.testing.assert_array_equal(found_weight, np.arange(len(y)) % 3 + 0.5)


@pytest.mark.parametrize("kind", ["svm", "npz", "parquet", "csv"])
def test_files_read_by_the_workers(client, rows, tmp_path, kind):
    X, y = rows
    paths = written(tmp_path, X, y, kind)
    for given in (paths, str(tmp_path / f"*.{kind}"), tmp_path, mpd.Files(paths)):
        source = rows_of(client, given)
        engine = DaskEngine(client, parts_of(client, source))
        found_X, found_y, _ = rows_at(engine)
        assert engine.n_parts == 2
        np.testing.assert_array_equal(found_X.toarray() if kind == "svm" else found_X, X)
        np.testing.assert_array_equal(found_y, y)
        assert source.names == (None if kind in ("svm", "npz") else [f"c{j}" for j in range(6)])


def test_a_large_file_is_cut(client, tmp_path):
    """At its blocks, whatever the cluster is like; no row is lost or doubled."""
    X = np.arange(3 << 20, dtype=np.float32).reshape(-1, 8)  # three blocks
    np.savez(tmp_path / "rows.npz", X=X, y=np.arange(len(X)) % 5)
    files = mpd.Files(tmp_path / "rows.npz", blocksize=5 << 20)
    engine = engine_of(client, files)
    assert engine.n_parts == 3
    seen = survey(engine, several=False)
    assert seen.n_rows == len(X)
    assert seen.labels.tolist() == [0, 1, 2, 3, 4]
    places = client.who_has(engine._parts)
    assert len({worker for workers in places.values() for worker in workers}) == 2


def test_files_without_rows(client, rows, tmp_path):
    X, y = rows
    written(tmp_path, X, y, "svm")
    (tmp_path / "empty.svm").write_text("# nothing\n")
    seen = survey(engine_of(client, tmp_path), several=False)
    assert seen.sizes == (0, 60, 60)


def test_all_partitions_empty(client):
    empty = da.zeros((0, 3), chunks=(2, 3))
    with pytest.raises(ValueError, match="all partitions are empty"):
        survey(engine_of(client, empty, da.zeros(0, chunks=2)), several=False)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_does_not_depend_on_the_engine(client, seed):
    """Partitions of unequal sizes, without some classes, unsorted: as in one process."""
    random = np.random.RandomState(seed)
    X, y = problem(n=300, seed=seed)
    y = np.array(["b", "c", "a"])[y]
    order = np.argsort(y, kind="stable")  # most partitions have one class
    X, y, weight = X[order], y[order], random.random_sample(300)
    sizes = tuple(np.diff([0, *np.sort(random.randint(301, size=11)), 300]).tolist())
    cut = [da.from_array(a, chunks=(sizes, *a.shape[1:])) for a in (X, y, weight)]
    edges = np.cumsum([0, *sizes])
    parts = [
        Part(i, Block(X[a:b], y[a:b], weight[a:b])) for i, (a, b) in enumerate(pairwise(edges))
    ]
    here, there = survey(Here(parts), False), survey(engine_of(client, *cut), False)
    assert pickle.dumps(here) == pickle.dumps(there)


# --- bad rows and wrong input --------------------------------------------------------------


def spoilt(a, value, *at):
    a = a.copy()
    a[at] = value
    return a


def test_bad_rows_are_named(client, rows, tmp_path):
    X, y = rows
    chunks = (50, 50, 20)

    def fails(words, X, y, weight=None):
        with pytest.raises(DataError, match=words):
            survey(engine_of(client, X, y, weight), several=False)

    def cut(a):
        return da.from_array(a, chunks=(chunks, *a.shape[1:]))

    fails("partition 1: Input X contains NaN at row 12, column 3", cut(spoilt(X, np.nan, 62, 3)),
          cut(y))  # fmt: skip
    fails("partition 2: Input X contains infinity at row 19", cut(spoilt(X, np.inf, 119, 0)),
          cut(y))  # fmt: skip
    fails("partition 1: sample weights must be .* -1.0 at row 0", cut(X), cut(y),
          cut(spoilt(np.ones(120), -1, 50)))  # fmt: skip
    half = X[:, 0] > 0
    fails("partition 0: .*X has .* rows, but y has shape", cut(X)[cut(half)], cut(y)[cut(~half)])
    frame = dd.from_pandas(pd.DataFrame({"a": list("pqrs"), "y": [0, 1, 0, 1]}), npartitions=2)
    fails("partition 0: column 'a' holds .* encode it first", frame[["a"]], frame["y"])
    frame = pd.DataFrame({"a": [1.0] * 4, "y": pd.array([0, 1, 0, None], dtype="Int64")})
    frame = dd.from_pandas(frame, npartitions=2)
    fails("partition 1: a label is missing at row 1", frame[["a"]], frame["y"])
    paths = written(tmp_path, X, y, "svm")
    with open(paths[1], "a") as file:
        file.write("1 2:x\n")
    fails("partition 1: .*part-1.svm, line 61, column 5: expected a number", paths, None)
    os.remove(paths[1])
    with pytest.raises(FileNotFoundError, match=r"no file .*part-1.svm"):
        rows_of(client, paths)


def test_what_does_not_go_together(client, rows):
    X, y = rows
    dX, frame = da.from_array(X, chunks=(50, 6)), dd.from_pandas(pd.DataFrame(X), npartitions=3)

    def fails(words, *data, error=ValueError):
        with pytest.raises(error, match=words):
            rows_of(client, *data)

    fails("X has 120 rows, but y 119", dX, da.zeros(119, chunks=50))
    fails("X has 120 rows, but y 119", dX, y[:119])
    fails("X must have two dimensions, got 1", dX[:, 0], y)
    fails("y must have the 3 chunks of X, .* got 2", dX[dX[:, 0] > 0], da.zeros(70, chunks=40))
    fails("y must be a Dask collection", dX[dX[:, 0] > 0], y)
    fails("y must have the 3 partitions of X, got a ndarray", frame, y)
    fails("y must be a list of as many delayed objects", [dask.delayed(X)] * 2, [dask.delayed(y)])
    fails("y is a Dask Array; make both", X, dX[:, 0], error=TypeError)
    fails("files hold their labels", "a.svm", y, error=TypeError)
    fails("standard input", "-")


def test_blocks():
    frame = pd.DataFrame({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    assert as_block(frame).X.dtype == np.float32
    assert as_block(frame.assign(b=[1, 2])).X.dtype == np.float64
    assert np.isnan(as_block(frame.assign(b=pd.array([1, None], dtype="Int8"))).X[1, 1])
    assert as_block(frame, frame[["b"]]).y.shape == (2,)
    assert as_block(([[1, 2]], [0])).y.tolist() == [0]
    assert as_block(sp.coo_matrix([[1.0]])).X.format == "csr"
    with pytest.raises(DataError, match="features must be numbers"):
        as_block(np.array([["x"]], dtype=object))
    with pytest.raises(DataError, match="one of 4"):
        as_block((1, 2, 3, 4))


# --- rounds --------------------------------------------------------------------------------


def digits(state, part):
    return f"{part.number},"


def longest_first(deltas):
    """Not commutative: the order of the merges shows."""
    return f"({''.join(deltas)})"


def where(state, part):
    return {part.number: os.getpid()}


def united(deltas):
    return {key: value for delta in deltas for key, value in delta.items()}


def remember(state, part):
    part.memory["seen"] = part.memory.get("seen", 0) + 1
    return [part.memory["seen"]]


@dataclass(frozen=True)
class Lap:
    """A round that tells what it was."""

    number: int
    only: int | None = None

    def begun(self, state):
        return f"{self.number} after {len(state)}"

    def ended(self, state, delta):
        return f"{state}{self.number}{delta};"


def told(state, part):
    return f"{part.number}<{state}>"


@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize("n_rounds", [1, 7, 16, 33])
def test_rounds_that_follow_each_other(client, n, n_rounds):
    """As one by one, in whatever number they are sent; some of one part alone."""
    engine = engine_of(client, da.zeros((n, 1), chunks=1), da.zeros(n, chunks=1), name="amm")
    here = Here([Part(i, Block(None, None, None)) for i in range(n)])
    plan = [Lap(k, k % n if k % 3 == 2 else None) for k in range(n_rounds)]
    expected = list(here.rounds(told, plan, "", longest_first))
    assert list(engine.rounds(told, plan, "", longest_first)) == expected
    assert [entry.name for entry in engine.traffic] == [
        f"amm-told-{k + 1}" for k in range(n_rounds)
    ]
    engine.release()
    assert_nothing_is_left(client)


@pytest.mark.parametrize("taken", [0, 1, 5, 16, 19])
def test_rounds_of_which_something_is_lost(client, taken):
    """The state that they began with, or the parts: they begin again where the client is."""
    engine = engine_of(client, da.zeros((3, 1), chunks=1), da.zeros(3, chunks=1))
    plan = [Lap(k) for k in range(20)]
    expected = list(Here([Part(i, Block(None, None, None)) for i in range(3)]).rounds(
        told, plan, "", longest_first))  # fmt: skip
    going, found = engine.rounds(told, plan, "", longest_first), []
    for number in range(20):
        if number == taken:
            lose(client, engine, engine._parts + engine._held)
        found.append(next(going))
    assert found == expected
    assert next(going, None) is None


def test_rounds_that_nobody_wants_to_the_end(client):
    engine = engine_of(client, da.zeros((3, 1), chunks=1), da.zeros(3, chunks=1))
    going = engine.rounds(told, [Lap(k) for k in range(12)], "", longest_first)
    next(going)
    going.close()
    assert engine.run(digits, None, longest_first) == "(0,1,2,)"
    engine.release()
    assert_nothing_is_left(client)


def test_an_error_in_one_of_the_rounds(client):
    engine = engine_of(client, da.zeros((3, 1), chunks=1), da.zeros(3, chunks=1))
    going = engine.rounds(broken_later, [Lap(k) for k in range(12)], "", longest_first)
    for _ in range(4):
        next(going)
    with pytest.raises(DataError, match="partition 1: enough") as kept:
        next(going)
    engine._held = []

    def left():
        return [key for key in client.futures if "broken-later" in str(key)]

    deadline = time.perf_counter() + 5  # the client lets go on a thread of its own
    while left() and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not left(), kept  # although the error has the frame that had them
    assert engine.run(digits, None, longest_first) == "(0,1,2,)"


def broken_later(state, part):
    if state.startswith("4 ") and part.number == 1:
        raise ValueError("enough")
    return told(state, part)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 70])
def test_deltas_are_merged_in_their_order(client, n):
    engine = engine_of(client, da.zeros((n, 1), chunks=1), da.zeros(n, chunks=1))
    here = Here([Part(i, Block(np.zeros((1, 1)))) for i in range(n)])
    expected = here.run(digits, None, longest_first, len)
    assert engine.run(digits, None, longest_first, len) == expected
    assert here.run(digits, None, longest_first) == engine.run(digits, None, longest_first)


def test_parts_stay_and_remember(client):
    engine = engine_of(client, da.zeros((8, 1), chunks=1), da.zeros(8, chunks=1))
    places = engine.run(where, None, united)
    assert len(set(places.values())) == 2
    assert engine.run(where, None, united) == places
    assert engine.run(remember, None, joined) == [1] * 8
    assert engine.run(remember, None, joined) == [2] * 8


def test_traffic_is_that_of_the_model(client):
    engine = engine_of(client, da.zeros((6, 1), chunks=1), da.zeros(6, chunks=1), name="amm")
    state = np.zeros(10_000)
    engine.run(where, state, united)
    (entry,) = engine.traffic
    assert entry.name == "amm-where-1"
    assert entry.n_workers == 2
    assert state.nbytes < entry.state < state.nbytes + 500  # names and lengths
    assert entry.result < 500
    assert pickled_bytes(np.zeros(1000)[::2]) > 4000


def test_nothing_is_left_behind(client):
    other = client.submit(len, "abc", pure=False)
    engine = engine_of(client, da.zeros((3, 1), chunks=1), da.zeros(3, chunks=1))
    engine.run(digits, b"x" * 1000, longest_first)
    with pytest.raises(ZeroDivisionError) as error:  # whose frames are kept
        engine.run(broken, 0, joined)
    assert engine.run(digits, None, longest_first) == "(0,1,2,)"
    assert other.result() == 3
    engine.release()
    del other

    assert_nothing_is_left(client)
    assert error.value


def assert_nothing_is_left(client):
    def keys():
        return [key for held in client.has_what().values() for key in held]

    for _ in range(100):
        if not keys():
            break
        gc.collect()  # what other tests have left in cycles, such as errors with their frames
        time.sleep(0.05)
    assert keys() == []


def broken(state, part):
    return 1 / state


def test_a_state_that_is_lost_is_sent_again(client):
    """Scattered data has no lineage: what depends on it is cancelled with it."""
    engine = engine_of(client, da.zeros((3, 1), chunks=1), da.zeros(3, chunks=1))
    scatter, calls = client.scatter, []

    def losing(*args, **options):
        sent = scatter(*args, **options)
        calls.append(sent)
        if len(calls) < 3:
            client.cancel(sent)
        return sent

    client.scatter = losing
    try:
        assert engine.run(digits, None, longest_first) == "(0,1,2,)"
        assert len(calls) == 3
        client.scatter = lambda *a, **o: (s := scatter(*a, **o), client.cancel(s))[0]
        with pytest.raises(RuntimeError, match="lost data 10 times"):
            engine.run(digits, None, longest_first)
    finally:
        client.scatter = scatter


def lose(client, engine, parts):
    """As if their workers had died. Of what still depends on them Dask's cancel takes no heed."""
    engine._held.clear()
    client.cancel(parts)


def test_rows_from_memory_that_are_lost_are_sent_again(client, rows):
    engine = engine_of(client, *rows)
    before = survey(engine, False)
    lose(client, engine, engine._parts)
    assert repr(survey(engine, False)) == repr(before)


def test_rows_that_are_lost_again_while_they_are_sent(client, rows, monkeypatch):
    engine = engine_of(client, *rows)
    before = survey(engine, False)
    made, calls = engine._made, []

    def losing():
        parts = made()
        calls.append(len(parts))
        if len(calls) == 1:
            lose(client, engine, parts)
            parts[0].result()
        return parts

    monkeypatch.setattr(engine, "_made", losing)
    lose(client, engine, engine._parts)
    assert repr(survey(engine, False)) == repr(before)
    assert len(calls) == 2


# --- prediction ----------------------------------------------------------------------------


METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "apply")
QUICK = {"BudgetedPegasosClassifier": {"budget": 20}, "MultiplaneClassifier": {"max_iter": 1}}


def methods(model):
    return [name for name in METHODS if hasattr(model, name)]


def untouched(*args):
    raise AssertionError("computed too early")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_lazy(name, n_classes):
    """No cluster is needed, and nothing is computed before it is asked for."""
    X, y = problem(n=90, n_classes=n_classes)
    y = np.array(["x", "yy", "zzz"])[y]
    plain, model = fitted(name, X, y, **QUICK.get(name, {}))
    assert methods(model) == methods(plain)
    dX = da.from_array(X, chunks=((40, 0, 50), (3, 4)))
    never = da.map_blocks(untouched, dX, dtype=X.dtype, meta=np.zeros((0, 0), X.dtype))
    unknown = dX[dX[:, 0] > -np.inf]
    for method in methods(model):
        expected = getattr(plain, method)(X)
        getattr(model, method)(never)
        lazy = getattr(model, method)(dX)
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        assert lazy.chunks[0] == (40, 0, 50)
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), expected)
        np.testing.assert_array_equal(getattr(model, method)(X), expected)
        lazy = getattr(model, method)(unknown)
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), expected)
        sparse = getattr(model, method)(dX.rechunk((40, 7)).map_blocks(sp.csr_matrix))
        np.testing.assert_array_equal(
            sparse.compute(scheduler="sync"), getattr(plain, method)(sp.csr_matrix(X))
        )
        pieces = getattr(model, method)([dask.delayed(X[:40]), dask.delayed((X[40:], y[40:]))])
        pieces = dask.compute(*pieces, scheduler="sync")
        np.testing.assert_array_equal(np.concatenate(pieces), expected)


@pytest.mark.parametrize("name", ["AMMClassifier", "GeneralizedLeastSquaresClassifier"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_of_data_frames(name, n_classes):
    X, y = problem(n=90, n_classes=n_classes)
    frame = pd.DataFrame(X, columns=list("abcdefg"), index=np.arange(90) * 2)
    y = np.array(["x", "yy", "zzz"])[y]
    plain, model = fitted(name, frame, y)
    parts = dd.from_pandas(frame, npartitions=3)
    parts = dd.concat([parts, parts[parts["a"] > 1e9]])  # empty ones too
    for method in methods(model):
        expected = getattr(plain, method)(frame)
        lazy = getattr(model, method)(parts)
        found = lazy.compute(scheduler="sync")
        np.testing.assert_array_equal(np.asarray(found), expected)
        assert found.index.equals(frame.index)
        if expected.ndim == 1:
            assert isinstance(found, pd.Series)
            assert isinstance(lazy, dd.Series)
            assert lazy.dtype == found.dtype
        else:
            assert found.columns.tolist() == lazy.columns.tolist() == plain.classes_.tolist()
    with pytest.raises(ValueError, match="columns of X must be those of the training"):
        model.predict(parts[list("gfedcba")])
    with pytest.raises(ValueError, match="7 columns of the training, got shape"):
        model.predict(da.zeros((10, 6)))


def test_the_model_is_in_a_graph_once():
    X, y = problem()
    _, model = fitted("AMMClassifier", X, y)
    dX = da.from_array(X, chunks=(10, 7))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=30)
    size = len(pickle.dumps(model.to_local()))
    with_one = {k: v for k, v in dict(model.predict(dX).__dask_graph__()).items()}
    assert len(with_one) >= 30
    for lazy in (model.predict(dX), model.predict(frame)):
        (optimized,) = dask.optimize(lazy)
        tasks = dict(optimized.__dask_graph__())
        large = [key for key, task in tasks.items() if len(pickle.dumps(task)) > size]
        assert len(large) == 1, large


def test_score(client, rows, tmp_path):
    X, y = rows
    weight = np.arange(120.0) % 4
    plain, model = fitted("AMMClassifier", X, y)
    model.client = client
    cut = [da.from_array(a, chunks=((50, 0, 70), *a.shape[1:])) for a in (X, y, weight)]
    assert model.score(*cut[:2]) == pytest.approx(plain.score(X, y), rel=1e-14)
    assert model.score(*cut) == pytest.approx(plain.score(X, y, weight), rel=1e-14)
    assert model.score(X, y) == plain.score(X, y)
    paths = written(tmp_path, X, y, "parquet")
    assert model.score(paths) == pytest.approx(plain.score(X, y), rel=1e-14)
    predicted = model.predict(paths)
    np.testing.assert_array_equal(np.concatenate(client.gather(client.compute(predicted))),
                                  plain.predict(X))  # fmt: skip
    with pytest.raises(ValueError, match="there are no rows to score"):
        model.score(cut[0][:0], cut[1][:0])
    with pytest.raises(ValueError, match=r"partition \d: there are no labels"):
        model.score(cut[0])


def test_score_goes_by_names(client, rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(6)])
    plain, model = fitted("AMMClassifier", frame[frame.columns[::-1]], y)
    model.client = client
    expected = pytest.approx(plain.score(frame[frame.columns[::-1]], y), rel=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(written(tmp_path, X, y, "csv")) == expected
        parts = dd.from_pandas(frame.assign(y=y), npartitions=2)
        assert model.score(parts[list(plain.feature_names_in_)], parts["y"]) == expected
        with pytest.raises(ValueError, match="columns of X must be those of the training"):
            model.score(parts[list(frame.columns)], parts["y"])


# --- training ------------------------------------------------------------------------------


FITTING = [name for name in NAMES if hasattr(getattr(multiplane, name), "_fit_parts")]
SHORT = {name: {"max_iter": 3} for name in NAMES} | {
    "BudgetedPegasosClassifier": {"max_iter": 3, "budget": 20, "gamma": 0.1},
    "MultiplaneClassifier": {"max_iter": 3, "n_hyperplanes": 4, "alpha": 1e-5, "scale": "standard"},
    # A momentum is not part of a checkpoint: it starts anew.
    "GeneralizedLeastSquaresClassifier": {"max_iter": 3, "accelerated": False},
    "StagewiseLeastSquaresClassifier": {"n_stages": 3},
}
# Of a pass; by default there are many more.
ROUNDS = {name: {} if name in LEAST_SQUARES else {"rounds": 2} for name in NAMES}
TWO = ["AMMClassifier", "GeneralizedLeastSquaresClassifier"]
unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def chunked(*arrays, chunks=((50, 0, 100, 150),)):
    return [da.from_array(a, chunks=(*chunks, *a.shape[1:])) for a in arrays]


@unconverged
@pytest.mark.parametrize("name", FITTING)
def test_the_model_does_not_depend_on_the_engine(client, name):
    """Bit for bit; one partition is empty, and most lack a class."""
    X, y = problem()
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["b", "c", "a"])[y[order]]
    parameters = {"random_state": 0, **SHORT.get(name, {})}
    expected = getattr(multiplane, name)(**parameters)
    model = getattr(mpd, name)(**parameters, **ROUNDS[name], client=client)
    with threadpool_limits(1):  # as on the workers: products of matrices have other bits with more
        expected._fit_parts(Here(cut(X, y, (50, 50, 150))), **ROUNDS[name])
        assert model.fit(*chunked(X, y)) is model
    assert saved(model) == saved(expected)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_how_streams_are_mixed(client):
    X, y = problem()
    found = {}
    for mixing, rounds in (("mean", 2), ("sum", 2), ("sum", 5), ("chain", 2)):
        options = {"mixing": mixing, "rounds": rounds}
        model = mpd.AMMClassifier(max_iter=2, random_state=0, client=client, **options)
        model.fit(*chunked(X, y))
        assert [e["round"] for e in model.history_ if e["event"] == "round"] == [
            *range(1, rounds * (4 if mixing == "chain" else 1) + 1)
        ] * 2
        plain = multiplane.AMMClassifier(max_iter=2, random_state=0)
        plain._fit_parts(Here(cut(X, y, (50, 50, 150))), **options)
        found[mixing, rounds] = saved(model)
        assert saved(plain) == found[mixing, rounds]
    assert len(set(found.values())) == 4


@unconverged
@pytest.mark.parametrize("name", TWO)
def test_training_from_files_and_frames(client, rows, tmp_path, name):
    X, y = rows
    model = getattr(mpd, name)(random_state=0, **SHORT[name], **ROUNDS[name], client=client)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(6)])
    parts = dd.from_pandas(frame.assign(y=y), npartitions=2)
    by_frame = clone(model).fit(parts[list(frame.columns)], parts["y"])
    assert by_frame.feature_names_in_.tolist() == list(frame.columns)
    paths = written(tmp_path, X, y, "parquet")
    assert saved(model.fit(paths)) == saved(by_frame)
    assert model.to_local().feature_names_in_.tolist() == list(frame.columns)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@unconverged
@pytest.mark.parametrize("name", FITTING)
def test_files_narrower_than_the_training(client, tmp_path, name):
    """LIBSVM text ends with the highest index that it uses."""
    X, y = problem()
    X[:150, -1] = 0
    (tmp_path / "narrow").mkdir()
    narrow, _ = written(tmp_path / "narrow", X[:, :-1], y, "svm")
    paths = [narrow, written(tmp_path, X, y, "svm")[1]]
    parameters = {"random_state": 0, **SHORT.get(name, {})}
    model = getattr(mpd, name)(**parameters, **ROUNDS[name], client=client).fit(paths)
    answers = [np.concatenate(dask.compute(*model.predict(path))) for path in paths]
    local = model.to_local()
    np.testing.assert_array_equal(np.concatenate(answers), local.predict(sp.csr_matrix(X)))
    assert model.score(paths[0]) == pytest.approx(local.score(sp.csr_matrix(X[:150]), y[:150]))


def test_nothing_to_read(client):
    model = mpd.AMMClassifier(client=client)
    for nothing in ([], (), mpd.Files([])):
        with pytest.raises(ValueError, match="is empty"):
            model.fit(nothing)
    with pytest.raises(ValueError, match="not addresses"):
        model.fit("s3://bucket/rows.parquet")


@unconverged
@pytest.mark.parametrize("name", FITTING)
def test_a_training_goes_on_from_its_checkpoint(client, tmp_path, monkeypatch, name):
    X, y = problem()
    parameters = {"random_state": 0, **SHORT.get(name, {})}
    model = getattr(mpd, name)(**parameters, **ROUNDS[name], client=client, checkpoint=tmp_path)
    expected = clone(model).set_params(checkpoint=None).fit(*chunked(X, y))
    write, written = Rounds.write, []

    def then_dies(self, estimator):
        write(self, estimator)
        position = repr(vars(estimator).get("_position"))
        written.append((estimator.n_iter_, position, estimator.stop_reason_))
        if len(written) == 2:
            raise RuntimeError("the client has died")

    with monkeypatch.context() as patch:
        patch.setattr(Rounds, "write", then_dies)
        with pytest.raises(RuntimeError, match="has died"):
            clone(model).fit(*chunked(X, y))
        assert os.listdir(tmp_path)
        found = clone(model).fit(*chunked(X, y))
    # float32: arrays from a file may lie in another order, and products of matrices round so.
    scores = expected.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores, rtol=1e-4, atol=1e-5)
    assert found.n_iter_ == expected.n_iter_
    assert len(written) == len(set(written)) > 2  # nothing was done twice
    assert not os.listdir(tmp_path)


@unconverged
@pytest.mark.parametrize("name", TWO)
def test_a_checkpoint_of_other_rows(client, rows, tmp_path, monkeypatch, name):
    X, y = rows
    model = getattr(mpd, name)(**SHORT[name], **ROUNDS[name], client=client, checkpoint=tmp_path)
    monkeypatch.setattr(Rounds, "remove", lambda self: None)
    model.fit(*chunked(X, y, chunks=((60, 60),)))
    if name not in LEAST_SQUARES:
        with pytest.raises(ValueError, match="belongs to another training, which differs in rows"):
            clone(model).set_params(rounds=3).fit(*chunked(X, y, chunks=((60, 60),)))
    with pytest.raises(ValueError, match="belongs to another training, which differs in rows"):
        model.fit(*chunked(X, y, chunks=((40, 80),)))


@unconverged
@pytest.mark.parametrize("name", FITTING)
def test_errors_leave_the_model_as_it_was(client, name):
    X, y = problem()
    parameters = {"random_state": 0, **SHORT.get(name, {})}
    model = getattr(mpd, name)(**parameters, **ROUNDS[name], client=client)
    bad = spoilt(X, np.nan, 170, 2)
    with pytest.raises(DataError, match="partition 3: Input X contains NaN at row 20") as error:
        model.fit(*chunked(bad, y))
    assert "column 2" in str(error.value)
    assert_nothing_is_left(client)
    assert set(vars(model)) == set(model.get_params())
    before = saved(model.fit(*chunked(X, y)))
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(*chunked(X, np.zeros(300, int)))
    assert saved(model) == before


@unconverged
@pytest.mark.parametrize("name", FITTING)
def test_progress_and_validation(client, capsys, name):
    X, y = problem()
    parameters = {"random_state": 0, **SHORT.get(name, {})}
    model = getattr(mpd, name)(**parameters, **ROUNDS[name], client=client, verbose=1)
    model.fit(*chunked(X, y), X_val=X[:50], y_val=y[:50])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= model.n_iter_
    assert [e for e in model.history_ if "validation_score" in e]


@unconverged
@pytest.mark.parametrize("name", TWO)
def test_ctrl_c_stops_the_tasks(client, monkeypatch, name):
    X, y = problem()
    model = getattr(mpd, name)(random_state=0, client=client)
    keep_trying = DaskEngine._keep_trying

    def interrupted(self, work):
        if len(getattr(self, "traffic", ())) == 5:
            raise KeyboardInterrupt
        return keep_trying(self, work)

    monkeypatch.setattr(DaskEngine, "_keep_trying", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*chunked(X, y))
    assert model.stop_reason_ == "interrupted"
    assert model.predict(X).shape == y.shape
    assert_nothing_is_left(client)


# --- classes -------------------------------------------------------------------------------

MORE = ("client", "checkpoint", "mixing", "rounds")


@pytest.mark.parametrize("name", NAMES)
def test_signature_and_words(name):
    import inspect

    plain, make = getattr(multiplane, name), getattr(mpd, name)
    own = list(inspect.signature(plain).parameters.values())
    assert list(inspect.signature(make).parameters.values())[: len(own)] == own
    more = ["client", "checkpoint"] if name in LEAST_SQUARES else [*MORE]
    assert list(inspect.signature(make).parameters)[len(own) :] == more
    assert set(make().get_params()) == {*plain().get_params(), *more}
    for parameter in more:
        assert make.__doc__.count(f"\n    {parameter} : ") == 1
    assert "On a Dask cluster" in make.__doc__.splitlines()[0]
    assert "Attributes" in make.__doc__
    assert ">>>" not in make.__doc__
    for method in ("fit", "score", "to_local", "from_local", *methods(make())):
        assert getattr(make, method).__doc__


@pytest.mark.parametrize("name", NAMES)
def test_from_local_and_back(name, tmp_path):
    X, y = problem(n=90)
    plain, model = fitted(name, X, y, **QUICK.get(name, {}))
    again = model.to_local()
    assert type(again) is type(plain)
    files = [io.BytesIO(), io.BytesIO(), io.BytesIO()]
    for one, file in zip((copy.deepcopy(plain), model, again), files, strict=True):
        multiplane.save(one, file)
    assert files[0].getvalue() == files[1].getvalue() == files[2].getvalue()
    multiplane.save(model, tmp_path / "model.mpl")
    loaded = multiplane.load(tmp_path / "model.mpl")
    assert type(loaded) is type(plain)
    np.testing.assert_array_equal(loaded.predict(X), plain.predict(X))
    np.testing.assert_array_equal(multiplane.compile(model).predict(X), plain.predict(X))
    multiplane.export(model, tmp_path / "model.h")
    multiplane.report(model, (X, y), tmp_path / "report.html")
    assert f">{name}<" in (tmp_path / "report.html").read_text()
    with pytest.raises(TypeError, match=f"from_local needs a plain multiplane.{name}, got"):
        type(model).from_local(model)


def test_a_local_copy_goes_its_own_way():
    X, y = problem()
    plain, model = fitted("AMMClassifier", X, y)
    before = model.decision_function(X)
    model.to_local().partial_fit(X, y)
    plain.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_clone_copy_and_pickle(client):
    model = mpd.AMMClassifier("batch", alpha=0.5, client=client, checkpoint="here")
    assert clone(model).client is client
    assert clone(model).get_params() == model.get_params()
    assert "client=<Client" in repr(model)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert copied.client is None
        assert copied.get_params() | {"client": client} == model.get_params()
    assert model.client is client
    assert model.set_params(client=None, mode="online").get_params()["client"] is None
    assert not hasattr(clone(fitted("AMMClassifier", *problem())[1]), "classes_")


def test_what_a_cluster_is_not_for(rows):
    X, y = rows
    model = mpd.AMMClassifier()
    with pytest.raises(NotImplementedError, match=r"to_local\(\).partial_fit"):
        model.partial_fit(X, y)
    with pytest.raises(NotImplementedError, match="fit_stream reads them here"):
        model.fit_stream((X, y))
    with pytest.raises(ValueError, match="warm_start=True is not for training on a cluster"):
        mpd.AMMClassifier(warm_start=True).fit(X, y)
    with pytest.raises(TypeError, match="X_val must be in the client's memory"):
        model.fit(X, y, X_val=da.zeros((2, 2)), y_val=[0, 1])
    with pytest.raises(ValueError, match="alpha"):
        mpd.AMMClassifier(alpha=-1).fit(X, y)
    for rounds in (0, 1.5, "many"):
        with pytest.raises(ValueError, match="rounds must be a whole number above 0 or None, got"):
            mpd.AMMClassifier(rounds=rounds).fit(X, y)
    with pytest.raises(
        ValueError, match="mixing must be 'mean', 'sum', 'chain' or None, got 'median'"
    ):
        mpd.AMMClassifier(mixing="median").fit(X, y)
    assert not hasattr(mpd.GeneralizedLeastSquaresClassifier(), "partial_fit")


def test_without_dask_and_without_a_client():
    process = run_python(
        "import sys, multiplane\n"
        "assert not any('dask' in name for name in sys.modules), sys.modules\n"
        "sys.modules['dask'] = None\n"
        "try:\n"
        "    multiplane.dask\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "del sys.modules['dask']\n"
        "try:\n"
        "    multiplane.dask.AMMClassifier().fit([[0.0], [1.0]], [0, 1])\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    without_dask, without_client = process.stdout.splitlines()
    assert 'pip install "multiplane[dask]"' in without_dask
    assert without_client.startswith("AMMClassifier needs a cluster and there is no client")


def test_the_tree_of_merges():
    """Its shape depends on the number of parts alone."""
    assert [len(level) for level in groups(70)] == [9, 2, 1]


def test_in_pipelines_and_searches(client, rows):
    X, y = rows
    few = {"client": client, "rounds": 2, "max_iter": 2, "random_state": 0}
    assert make_pipeline(StandardScaler(), mpd.AMMClassifier(**few)).fit(X, y).score(X, y) > 0.5
    search = GridSearchCV(mpd.AMMClassifier(**few), {"mixing": ["mean", "sum"]}, cv=2)
    search.set_params(error_score="raise").fit(X, y)
    assert search.best_estimator_.client is client


@pytest.mark.parametrize("other", ["tcp://somewhere:8786", 5])
def test_a_client_is_a_client(rows, other):
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        mpd.AMMClassifier(client=other).fit(*rows)


def test_parts_of_memory_are_cut_once(client, rows, monkeypatch):
    """However many workers there are when they are sent again."""
    recipes = rows_of(client, *rows).recipes
    monkeypatch.setattr(client, "nthreads", lambda: {"a": 7})
    assert len(recipes()) == 2


def test_alarms_are_not_swallowed(client, rows, monkeypatch):
    X, y = rows
    engine = engine_of(client, *chunked(X, y, chunks=((60, 60),)))

    def alarm(*args):
        raise TimeoutError("time is up")

    monkeypatch.setattr(engine, "_round", alarm)
    with pytest.raises(TimeoutError, match="time is up"):
        engine.run(alarm, 0, alarm)
