"""One door to all kinds of data: names, arrays, iterables, pipes; threads that read ahead."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import run_python

from multiplane._csr import Csr
from multiplane.data import Block, DataError, Source, open_source
from multiplane.data._libsvm import LibsvmSource
from multiplane.data._threads import mapped, prefetched
from multiplane.data._windows import windows


def ours():
    """Threads of the readers."""
    return [t for t in threading.enumerate() if t.name.startswith("multiplane")]


def rows(n=50, d=4, seed=0):
    random = np.random.RandomState(seed)
    X = random.randn(n, d).astype(np.float32) * (random.rand(n, d) < 0.6)
    return X, random.randint(3, size=n), random.rand(n)


def write_libsvm(path, X, y):
    lines = (
        " ".join([str(label), *(f"{k + 1}:{x[k]!s}" for k in np.flatnonzero(x))])
        for x, label in zip(X, y, strict=True)
    )
    path.write_text("".join(f"{line}\n" for line in lines))


# --- names -----------------------------------------------------------------------------------


def test_folders_patterns_and_lists(tmp_path):
    X, y, _ = rows()
    for part in range(3):
        write_libsvm(tmp_path / f"day-{part}.svm", X[part::3], y[part::3])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("bad")
    for aside in (".ipynb_checkpoints", "_temporary"):
        (tmp_path / aside).mkdir()
        (tmp_path / aside / "0.svm").write_text("bad")
    names = [tmp_path / f"day-{part}.svm" for part in range(3)]
    wanted = np.concatenate([y[part::3] for part in range(3)]).tolist()
    for data in (
        tmp_path,
        f"{tmp_path}/day-*.svm",
        f"{tmp_path}/**/day-?.svm",
        names,
        tuple(names),
    ):
        assert open_source(data).load().y.tolist() == wanted
    assert open_source(names[::-1]).load().y.tolist() != wanted


def test_a_folder_with_caches(tmp_path):
    X, y, _ = rows()
    for part in range(2):
        write_libsvm(tmp_path / f"{part}.svm", X[part::2], y[part::2])
    for _ in range(2):
        assert open_source(tmp_path, cache=True).load().X.shape == (50, 4)
        assert open_source(f"{tmp_path}/*", cache=True).load().X.shape == (50, 4)


def test_courteous_errors(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "b.npy").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"several formats: libsvm, npy; say format="):
        open_source(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file of data in the folder"):
        open_source(tmp_path / "empty")
    with pytest.raises(ValueError, match="on_error must be one of"):
        open_source(tmp_path / "a.svm", on_error="ignore")
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        open_source(tmp_path / "a.svm", n_features=0)
    for option in ({"weight": "w"}, {"labels": "y.npy"}):  # rather than rows without them
        with pytest.raises(ValueError, match=r"a\.svm: .* would be passed over in libsvm"):
            open_source(tmp_path / "a.svm", **option)
    with pytest.raises(TypeError, match=r"data must be a path.*got int"):
        open_source(3)
    with pytest.raises(ValueError, match="cache: only for files, got tuple"):
        open_source(rows(), cache=True)
    with pytest.raises(ValueError, match="zero_based: only for files"):
        open_source(open_source(rows()), zero_based=True)


@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1])
def test_n_jobs(tmp_path, n_jobs):
    X, y, _ = rows()
    write_libsvm(tmp_path / "a.svm", X, y)
    assert np.array_equal(open_source(tmp_path / "a.svm", n_jobs=n_jobs).load().X.toarray(), X)


# --- arrays and iterables --------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.coo_array])
def test_arrays(make, monkeypatch):
    monkeypatch.setattr("multiplane.data._memory._BLOCK_VALUES", 40)
    X, y, weight = rows()
    source = open_source((make(X), y, weight))
    assert (source.n_rows, source.n_features) == X.shape
    assert source.n_blocks > 3
    for order in (None, [2, 0]):
        blocks = list(source.read(order))
        assert all(len(b.y) == b.n_rows == len(b.sample_weight) for b in blocks)
    X2, y2, weight2 = source.load()
    assert np.array_equal(X2.toarray() if sp.issparse(X2) else X2, X)
    assert np.array_equal(y2, y)
    assert np.array_equal(weight2, weight)
    assert source.bytes_read == source.n_bytes


def test_arrays_that_do_not_go_together():
    X, y, weight = rows()
    with pytest.raises(DataError, match=r"arrays: X has 50 rows, but y has shape \(49,\)"):
        open_source((X, y[1:]))
    with pytest.raises(DataError, match=r"sample_weight has shape \(2,\)"):
        open_source((X, y, weight[:2]))
    with pytest.raises(DataError, match="two dimensions, got 1"):
        open_source((y,))
    corrupt = sp.csr_matrix(X)
    corrupt.indptr[1] = 1000
    with pytest.raises(DataError, match="corrupt CSR"):
        open_source((corrupt, y))


def test_npy(tmp_path):
    X, y, _ = rows()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    source = open_source(tmp_path / "X.npy", labels=tmp_path / "y.npy")
    assert isinstance(source._all.X, np.memmap)
    assert np.array_equal(source.load().X, X)
    assert np.array_equal(source.load().y, y)
    np.save(tmp_path / "X.npy", np.array([[1, "a"]], dtype=object))
    with pytest.raises(DataError, match=r"X\.npy.*objects"):
        open_source(tmp_path / "X.npy")
    whole = (tmp_path / "y.npy").read_bytes()
    for size in (0, 5, 30, len(whole) - 8):
        (tmp_path / "y.npy").write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"y\.npy"):
            open_source(tmp_path / "y.npy")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    X, y, weight = rows()
    path = tmp_path / "a.npz"
    for array in (X, np.asfortranarray(X), X.astype(">f8"), X[:0]):
        n = len(array)
        save(path, X=array, target=y[:n], w=weight[:n])
        X2, y2, weight2 = next(
            open_source(path, label="target", weight="w").read(), (X[:0], [], [])
        )
        assert np.array_equal(X2, array)
        assert np.array_equal(y2, y[:n])
        assert np.array_equal(weight2, weight[:n])
    S = sp.csr_matrix(X)
    save(path, data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    assert np.array_equal(open_source(path).load().X.toarray(), X)
    with pytest.raises(DataError, match="no array 'w' of weights"):
        open_source(path, weight="w")
    with pytest.raises(DataError, match="no array 'species' of labels"):  # rather than y
        open_source(path, label="species")
    for name in ("y", "label", "target", "class"):
        save(path, X=X, **{name: y})
        assert np.array_equal(open_source(path).load().y, y)
    for indptr, shape in ((S.indptr[:-1], S.shape), (S.indptr[::-1], S.shape), (S.indptr, (50, 1))):
        save(path, data=S.data, indices=S.indices, indptr=indptr, shape=shape)
        with pytest.raises((DataError, ValueError), match=r"corrupt|indices must be"):
            open_source(path).load().X.check_format()
    save(path, X=np.array([[1, "a"]], dtype=object))
    with pytest.raises(DataError, match=r"objects|allow_pickle"):
        open_source(path)
    save(path, Z=X)
    with pytest.raises(DataError, match=r"needs an array X.*it has Z"):
        open_source(path)


@pytest.mark.parametrize("compressed", [True, False])
def test_npz_of_scipy(tmp_path, compressed):
    X, _, _ = rows()
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix(X), compressed=compressed)
    assert np.array_equal(open_source(tmp_path / "a.npz").load().X.toarray(), X)
    sp.save_npz(tmp_path / "a.npz", sp.csc_matrix(X), compressed=compressed)
    with pytest.raises(DataError, match="format b'csc'; save it as CSR"):
        open_source(tmp_path / "a.npz")


def test_damaged_npz(tmp_path):
    """Packed arrays have a checksum; arrays that are mapped do not."""
    X, y, _ = rows()
    np.savez_compressed(tmp_path / "a.npz", X=X, y=y)
    whole = (tmp_path / "a.npz").read_bytes()
    random = np.random.RandomState(0)
    for place in random.randint(len(whole), size=200):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.randint(8)
        (tmp_path / "a.npz").write_bytes(damaged)
        try:
            block = open_source(tmp_path / "a.npz").load()
        except DataError:
            continue
        assert np.array_equal(block.X, X)
        assert block.y is None or np.array_equal(block.y, y)


def test_iterables():
    X, y, weight = rows()
    parts = [(X[i : i + 7], y[i : i + 7], weight[i : i + 7]) for i in range(0, 50, 7)]
    again = open_source(parts)
    called = open_source(lambda: iter(parts))
    for source in (again, called, again, called):
        assert np.array_equal(source.load().X, X)
        assert np.array_equal(source.load().sample_weight, weight)
    once = open_source(iter(parts))
    assert once.once
    assert np.array_equal(once.load().y, y)
    with pytest.raises(DataError, match="only once; pass a list, or a function"):
        once.load()
    with pytest.raises(ValueError, match="in its own order"):
        next(again.read([1, 0]))


@pytest.mark.parametrize(
    ("blocks", "what"),
    [
        ([np.zeros((2, 2))], "must be a tuple .* got ndarray"),
        ([(np.zeros(2), [1, 2])], "two dimensions, got 1"),
        ([(np.zeros((2, 2)), [1]), (np.zeros((1, 2)), [1, 2])], "X has 2 rows, but y has shape"),
        ([(np.zeros((2, 2)), [1, 2]), (np.zeros((2, 3)), [1, 2])], "do not go together"),
        ([(np.zeros((1, 2)), [1]), (np.zeros((1, 2)), ["a"])], "do not go together"),
        ([(np.zeros((1, 2)), [1]), (np.zeros((1, 2)),)], "some blocks have labels and others"),
        ([], "there are no rows"),
    ],
)
def test_blocks_that_are_none(blocks, what):
    with pytest.raises(DataError, match=what):
        open_source(blocks).load()


def test_weights_of_some_blocks_and_narrow_ones():
    wide = Block(sp.csr_matrix(np.ones((1, 3))), np.array([1]), np.array([0.5]))
    narrow = Block(sp.csr_matrix(np.ones((2, 1))), np.array([0, 0]))
    X, y, weight = open_source([wide, narrow]).load()
    assert X.toarray().tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert (y.tolist(), weight.tolist()) == ([1, 0, 0], [0.5, 1, 1])


# --- windows ---------------------------------------------------------------------------------


def test_windows(monkeypatch):
    monkeypatch.setattr("multiplane.data._memory._BLOCK_VALUES", 10)
    source = open_source((np.arange(205.0).reshape(-1, 1), np.arange(205)))  # blocks of ten

    def orders(seed, first=0):
        return [w.rows.y.tolist() for w in windows(source, 3, seed, first)]

    assert np.array_equal(np.concatenate(orders(None)), np.arange(205))
    shuffled = orders((7, 0))
    assert [len(w) for w in shuffled if max(w) < 200] == [30] * (len(shuffled) - 1)
    assert np.array_equal(np.sort(np.concatenate(shuffled)), np.arange(205))
    assert sorted(shuffled[0]) != list(range(30))  # blocks of all the file
    assert orders((7, 0)) == shuffled != orders((7, 1))
    assert orders((7, 0), first=3) == shuffled[3:]  # goes on as if it had not stopped
    for w in shuffled:
        assert len({y // 10 for y in w}) <= 3
    blocks = [(source._all.X[i : i + 10], source._all.y[i : i + 10]) for i in range(0, 205, 10)]
    source = open_source(blocks)  # in its own order, but for the rows of a window
    shuffled = orders((7, 0))
    assert [min(w) for w in shuffled] == [0, 30, 60, 90, 120, 150, 180]
    assert shuffled[1] != [y + 30 for y in shuffled[0]]  # each in an order of its own
    assert orders((7, 0), first=3) == orders((7, 0))[3:]


# --- pipes -----------------------------------------------------------------------------------

READ = """
import sys
from multiplane.data import open_source
source = open_source(sys.argv[1], format=sys.argv[2])
X, y, _ = source.load()
print(source.once, X.shape, y.tolist())
"""


def read_through(name, format, data, path=None):
    """Another process that reads a pipe."""
    process = subprocess.Popen(
        [sys.executable, "-c", READ, name, format],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=False,
    )
    with process.stdin if path is None else open(path, "wb") as pipe:
        for i in range(0, len(data), 3):  # in drops, so that the beginning comes in parts
            pipe.write(data[i : i + 3])
            pipe.flush()
    with process.stdout as out:
        said = out.read().decode().strip()
    process.wait(60)
    return said


def test_standard_input_and_named_pipes(tmp_path):
    import lzma

    text = b"1 1:1 3:2\n0 2:5\n"
    assert read_through("-", "libsvm", text) == "True (2, 3) [1, 0]"
    assert read_through("-", "libsvm", lzma.compress(text)) == "True (2, 3) [1, 0]"
    os.mkfifo(tmp_path / "pipe")
    assert read_through(tmp_path / "pipe", "libsvm", text, tmp_path / "pipe") == (
        "True (2, 3) [1, 0]"
    )
    assert read_through("-", "csv", b"a,b,label\n1,2,0\n1,2.5,1\n") == "True (2, 2) [0, 1]"


def test_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    def write():
        (tmp_path / "pipe").write_text("1 1:1\n0 x\n")

    writer = threading.Thread(target=write)
    writer.start()
    source = open_source(tmp_path / "pipe", on_error="skip")
    with pytest.warns(UserWarning, match="line 2, column 3"):
        assert source.load().y.tolist() == [1]
    writer.join()
    with pytest.raises(DataError, match="only once: write it to a file, or a cache"):
        source.load()


# --- threads ---------------------------------------------------------------------------------


def test_closed_early_no_thread_is_left(tmp_path):
    import gzip

    text = b"1 1:1\n" * 5000
    (tmp_path / "a.svm").write_bytes(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    for name in ("a.svm", "a.gz"):
        source = LibsvmSource([str(tmp_path / name)], block_bytes=100, n_threads=3)
        for n in (0, 1, 5):
            blocks = source.read()
            for _ in range(n):
                next(blocks)
            blocks.close()
            assert ours() == []


def test_errors_of_threads_arrive(tmp_path):
    import gzip

    def broken():
        yield 1
        raise ZeroDivisionError("here")

    taken = []
    with pytest.raises(ZeroDivisionError, match="here"):
        taken.extend(prefetched(broken()))
    assert taken == [1]
    taken = []
    with pytest.raises(ZeroDivisionError) as kept:  # and its traceback, with frames that still live
        taken.extend(mapped(lambda x: 1 // x, prefetched(iter([1, 1, 0, 1])), 2))
    assert taken == [1, 1]
    assert ours() == []
    assert kept.value.__traceback__ is not None
    (tmp_path / "a.gz").write_bytes(gzip.compress(os.urandom(1 << 20))[:-1000])
    with pytest.raises(DataError):
        LibsvmSource([str(tmp_path / "a.gz")], block_bytes=1000, n_threads=2).load()
    assert ours() == []


def test_order_is_kept():
    def slow(x):
        time.sleep(0.001 * (x % 3))
        return x

    assert list(mapped(slow, range(40), 4)) == list(range(40))
    assert list(prefetched(iter(range(40)), 3)) == list(range(40))


WAIT = """
import os, signal, sys, threading, time
from multiplane import AMMClassifier
# Late enough for a busy machine to be reading by then: what is imported on the way may lose Ctrl-C.
threading.Timer(5.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    AMMClassifier().fit_stream("-")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - began < 30)
"""


def test_ctrl_c_while_a_pipe_is_silent():
    process = subprocess.Popen(
        [sys.executable, "-c", WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.wait(60) == 0
        assert process.stdout.read().strip() == "interrupted True"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


WITHOUT = """
import sys
sys.modules[{module!r}] = None
from multiplane.data import open_source
try:
    open_source({path!r}).load()
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [("pyarrow", "a.parquet", "arrow"), ("zstandard", "a.svm.zst", "zstd")],
)
def test_without_the_extras(tmp_path, module, name, extra):
    (tmp_path / name).write_bytes(b"\x28\xb5\x2f\xfd....")
    run = run_python(WITHOUT.format(module=module, path=str(tmp_path / name)))
    assert f'pip install "multiplane[{extra}]"' in run.stdout, run.stderr


def test_a_source_of_ones_own():
    class Ones(Source):
        def read(self, order=None):
            for n in (2, 0, 1):
                yield Block(np.ones((n, 2), np.float32), np.arange(n))

    assert [b.n_rows for b in Ones()] == [2, 1]
    assert open_source(Ones()).load().y.tolist() == [0, 1, 0]


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_an_error_comes_after_what_was_before_it(n_threads):
    def items():
        yield from range(5)
        raise DataError("cut short")

    results, given = mapped(lambda item: item, items(), n_threads), []

    def take():
        for item in results:
            given.append(item)

    with pytest.raises(DataError, match="cut short"):
        take()
    assert given == [0, 1, 2, 3, 4]


def test_sparse_rows_of_our_own():
    X = sp.random(40, 9, 0.4, "csr", np.float32, random_state=0)
    own = Csr(X.data, X.indices, X.indptr, X.shape)
    for width in (1, 4, 9, 12):
        wanted = np.zeros((40, width), dtype=np.float32)
        wanted[:, : min(9, width)] = X.toarray()[:, :width]
        assert np.array_equal(own.with_width(width).toarray(), wanted)
        assert np.array_equal(own.with_width(width).to_scipy().toarray(), wanted)
