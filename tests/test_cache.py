"""Caches: what goes in comes out, damage is noticed, and a file is whole or not there."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st

from multiplane.data import CacheSource, DataError, open_source, write_cache


def same(a, b):
    """Bit for bit."""
    if sp.issparse(a):
        assert sp.issparse(b)
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(a, name), getattr(b, name))
        assert a.data.tobytes() == b.data.astype(a.data.dtype).tobytes()
    elif a is None:
        assert b is None
    else:
        assert np.asarray(a).astype(b.dtype).tobytes() == np.asarray(b).tobytes()


def blocks(kind, values, labels, weights, seed=0):
    random = np.random.RandomState(seed)
    for n in (5, 1, 7):
        X = (random.randn(n, 4) * 50 * (random.rand(n, 4) < 0.5)).astype(np.float32)
        if values == "uint8":
            X = np.floor(np.abs(X)).clip(max=255)
        y = {
            "none": None,
            "int": random.randint(3, size=n),
            "str": np.array(["yes", "maybe", "né"])[random.randint(3, size=n)],
            "multi": sp.csr_matrix(random.randint(2, size=(n, n)), dtype=np.int8),
        }[labels]
        yield sp.csr_matrix(X) if kind == "sparse" else X, y, random.rand(n) if weights else None


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("values", ["uint8", "float32"])
@pytest.mark.parametrize("labels", ["none", "int", "str", "multi"])
@pytest.mark.parametrize("weights", [False, True])
def test_round_trip(tmp_path, kind, values, labels, weights):
    given = list(blocks(kind, values, labels, weights))
    write_cache(open_source(given), tmp_path / "a.mpc")
    source = open_source(tmp_path / "a.mpc")
    assert (source.n_rows, source.n_features, source.n_blocks) == (13, 4, 3)
    for order in (None, [2, 0]):
        for block, number in zip(source.read(order), order or range(3), strict=True):
            for got, wanted in zip(block, given[number], strict=True):
                same(wanted, got)
    if kind == "dense":
        assert next(iter(source)).X.dtype == values
        write_cache(source, tmp_path / "b.mpc", dtype="float32")
        assert CacheSource(tmp_path / "b.mpc").load().X.dtype == np.float32


def test_labels_are_zeros_and_ones(tmp_path):
    X, Y = np.eye(2), sp.csr_matrix(np.ones((2, 2)))
    Y.data[1] = 0  # is there, and is zero
    write_cache(open_source([(X, Y)]), tmp_path / "a.mpc")
    assert CacheSource(tmp_path / "a.mpc").load().y.toarray().tolist() == [[1, 0], [1, 1]]
    Y.data[1] = 2
    with pytest.raises(DataError, match=r"zeros and ones, got a 2"):
        write_cache(open_source([(X, Y)]), tmp_path / "a.mpc")


@given(st.lists(st.lists(st.floats(width=32, allow_nan=True), min_size=2, max_size=2), min_size=1))
def test_every_float_comes_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("cache") / "a.mpc"
    X = np.array(values, dtype=np.float32)
    write_cache(open_source((X,)), path)
    assert CacheSource(path).load().X.astype(np.float32).tobytes() == X.tobytes()


def test_layouts(tmp_path):
    narrow, wide = sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.ones((2, 4)))
    source = open_source([(narrow, [0, 1]), (wide, [0, 1])])
    write_cache(source, tmp_path / "a.mpc")
    assert [b.X.shape for b in CacheSource(tmp_path / "a.mpc")] == [(2, 4), (2, 4)]
    with pytest.raises(DataError, match=r"say n_features .*, or layout='sparse'"):
        write_cache(source, tmp_path / "a.mpc", layout="dense")
    source.n_features = 4
    write_cache(source, tmp_path / "a.mpc", layout="dense")
    assert CacheSource(tmp_path / "a.mpc").load().X.tolist()[:2] == [[1, 0, 0, 0], [0, 1, 0, 0]]
    with pytest.raises(DataError, match="there are no rows"):
        write_cache(open_source([]), tmp_path / "b.mpc")
    with pytest.raises(DataError, match="a cache cannot hold y of type object"):
        write_cache(open_source(([[1.0]], np.array([None], dtype=object))), tmp_path / "b.mpc")
    assert os.listdir(tmp_path) == ["a.mpc"]


def test_a_row_without_values(tmp_path):
    write_cache(open_source((sp.csr_matrix((3, 2)), [0, 1, 0])), tmp_path / "a.mpc")
    assert CacheSource(tmp_path / "a.mpc").load().X.toarray().tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_damage_is_noticed(tmp_path, kind):
    path = tmp_path / "a.mpc"
    given = list(blocks(kind, "float32", "multi", True))
    write_cache(open_source(given), path)
    whole = path.read_bytes()
    random = np.random.RandomState(0)
    noticed = 0
    for place in random.randint(len(whole), size=400):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.randint(8)
        path.write_bytes(damaged)
        try:
            got = list(CacheSource(path))
        except DataError:
            noticed += 1
        else:  # between the arrays
            for block, wanted in zip(got, given, strict=True):
                for a, b in zip(wanted, block, strict=True):
                    same(a, b)
    assert noticed > 100
    for size in random.randint(len(whole), size=50):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"a\.mpc: .*(cut short|no cache file|damaged)"):
            CacheSource(path)


def test_other_versions(tmp_path):
    path = tmp_path / "a.mpc"
    write_cache(open_source(([[1.0]], [0])), path)
    whole = path.read_bytes()
    offset, size, _, tail = struct.unpack("<QQQ8s", whole[-32:])
    facts = {**json.loads(whole[offset : offset + size]), "version": 99}
    text = json.dumps(facts).encode()
    end = struct.pack("<QQQ8s", offset, len(text), zlib.crc32(text), tail)
    path.write_bytes(whole[:offset] + text + end)
    with pytest.raises(DataError, match="version 99, and this multiplane reads version 1; convert"):
        CacheSource(path)


# --- cache=True ------------------------------------------------------------------------------


def test_beside_the_file_and_written_anew(tmp_path):
    path, place = tmp_path / "a.svm", tmp_path / "a.svm.mpc"
    path.write_text("1 1:1\n0 3:0.5\n")
    first = open_source(path, cache=True)
    assert isinstance(first, CacheSource)
    assert first.load().X.toarray().tolist() == [[1, 0, 0], [0, 0, 0.5]]

    def written_anew(**options):
        before = place.stat().st_ino
        open_source(path, cache=True, **options).load()
        return place.stat().st_ino != before

    assert not written_anew()
    assert not written_anew(n_jobs=1)
    assert written_anew(zero_based=False, on_error="skip")
    path.write_text("1 1:1\n0 3:0.75\n")
    assert written_anew()
    assert open_source(path, cache=True).load().X[1, 2] == 0.75
    place.write_bytes(place.read_bytes()[:-1])
    assert written_anew()
    assert isinstance(open_source(place, cache=True), CacheSource)
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "a.svm.mpc"]


def test_nothing_else_is_overwritten(tmp_path):
    path, other = tmp_path / "a.svm", tmp_path / "thesis.txt"
    path.write_text("1 1:1\n0 3:0.5\n")
    other.write_text("years of work")
    for place in (other, path):
        before = place.read_text()
        with pytest.raises(DataError, match="is there already and no cache"):
            open_source(path, cache=place)
        assert place.read_text() == before
    with pytest.raises(ValueError, match="a cache of standard input needs a name"):
        open_source("-", cache=True)


def test_labels_that_have_changed(tmp_path):
    """Labels in a file of their own are as much of the data as its rows."""
    np.save(tmp_path / "X.npy", np.eye(3, dtype=np.float32))
    for labels in ([0, 1, 1], [0, 0, 1]):
        np.save(tmp_path / "y.npy", labels)
        os.utime(tmp_path / "y.npy", ns=(sum(labels), sum(labels)))
        source = open_source(tmp_path / "X.npy", labels=tmp_path / "y.npy", cache=True)
        assert source.load().y.tolist() == labels


def test_errors_leave_no_cache(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0 x\n")
    with pytest.raises(DataError, match="line 2"):
        open_source(tmp_path / "a.svm", cache=True)
    assert os.listdir(tmp_path) == ["a.svm"]


# --- whole, or not there ---------------------------------------------------------------------


FULL = """
import resource, sys, numpy as np
from multiplane.data import open_source, write_cache
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_cache(open_source((np.random.rand(1000, 100), np.arange(1000) % 2)), sys.argv[1])
except OSError as error:
    print(error)
"""


def test_a_full_disk(tmp_path):
    place = tmp_path / "a.mpc"
    run = subprocess.run(
        [sys.executable, "-c", FULL, place], capture_output=True, text=True, check=False
    )
    assert "File too large" in run.stdout, run.stderr
    assert str(place) in run.stdout
    assert os.listdir(tmp_path) == []


KILLED = """
import sys, time
from multiplane.data import open_source, write_cache
def blocks():
    while True:
        yield [[1.0, 2.0]] * 1000, [1] * 1000
def slowly(block):
    print("x", flush=True)
    time.sleep(0.05)
write_cache(open_source(blocks()), sys.argv[1], progress=slowly)
"""


def test_killed_while_writing(tmp_path):
    place = tmp_path / "a.mpc"
    write_cache(open_source(([[1.0]], [0])), place)
    before = place.read_bytes()
    process = subprocess.Popen([sys.executable, "-c", KILLED, place], stdout=subprocess.PIPE)
    for _ in range(3):
        assert process.stdout.readline()
    time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert place.read_bytes() == before
    assert CacheSource(place).load().y.tolist() == [0]


def test_a_cache_of_standard_input(tmp_path):
    code = (
        "import sys; from multiplane.data import open_source; "
        f"print(open_source('-', cache={str(tmp_path / 'a.mpc')!r}).load().y.tolist())"
    )
    for text in ("1 1:1\n", "2 1:1\n"):  # never taken for what was there
        run = subprocess.run(
            [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == f"[{text[0]}]"


def test_memory_is_mapped(tmp_path):
    """A cache of 200 MB is read within much less."""
    code = f"""
import numpy as np
from multiplane.data import open_source, write_cache
ones = np.ones((50_000, 100), np.float32) / 3
write_cache(open_source([(ones, np.zeros(50_000)) for _ in range(10)]), {str(tmp_path / "a.mpc")!r})
source = open_source({str(tmp_path / "a.mpc")!r})
print(source.n_bytes > 200e6, sum(block.X[0, 0] for block in source))
with open("/proc/self/status") as status:
    facts = dict(line.split(":") for line in status)
print(int(facts["RssAnon"].split()[0]) < 150_000)
"""
    run = run_python(code)
    assert run.stdout.split() == ["True", "3.333333", "True"], run.stdout + run.stderr


@pytest.mark.parametrize("what", ["indptr", "indices", "y", "version", "blocks"])
def test_a_forged_cache_is_refused(tmp_path, what, monkeypatch):
    """With all checksums right."""
    from multiplane.data import _cache

    X = sp.random(50, 9, 0.3, "csr", np.float32, random_state=0)
    arrays = _cache._arrays

    def forged(*args):
        found = arrays(*args)
        if what == "indptr":
            found["indptr"][3] = 10**6
        if what == "indices":
            found["indices"][3] = 9
        if what == "y":
            found["y"] = found["y"][:3]
        return found

    monkeypatch.setattr(_cache, "_arrays", forged)
    dumps = _cache.json.dumps
    if what in ("version", "blocks"):
        monkeypatch.setattr(_cache.json, "dumps", lambda facts: dumps({**facts, what: None}))
    path = tmp_path / "a.mpc"
    write_cache(open_source((X, np.arange(50) % 2)), path)

    def read():
        for block in CacheSource(path):
            block.checked("a")

    with pytest.raises(DataError):
        read()
