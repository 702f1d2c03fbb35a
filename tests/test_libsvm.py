"""LIBSVM text: the native reader against its twin, cuts of files, malformed lines."""

import bz2
import gzip
import lzma
import os
import warnings
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from helpers import run_python
from hypothesis import example, given
from hypothesis import strategies as st
from libsvm_twin import nearest, rows

from multiplane import _native
from multiplane.data import DataError, _text, open_source
from multiplane.data._libsvm import LibsvmSource

BITS = """1 -1 +1 0 1.0 1e0 2.5 3,5 1,-3 , : # qid: qid:7 qid:x 1:0.5 2:-3e-5 7:1e39 9:1e-60 0:1
 3:.5 4:5. 99:1 101:1 + - . e nan inf 1:nan 2:-inf 0x10 00001:1 2147483647:1 2147483648:1 3:1e 3:1e+
 5:+-1 5:--1 6:-0 99999999999999999999:1 9223372036854775807 9223372036854775808 1:16777217 1e-400
 1:0.1000000000000000055511151231257827 1:1e999999999999999999 1:1e-999999999999999999 16777215
 16777216 1:2:3 1: :1"""
BITS = [*BITS.split(), " ", "\t", "\r", "\v", "\x00", "\xff", "\xa0", "\n", "\r\n"]
RULES = st.fixed_dictionaries(
    {
        "zero_based": st.booleans(),
        "multilabel": st.booleans(),
        "n_features": st.sampled_from([0, 3, 100]),
        "drop_beyond": st.booleans(),
    }
)
words = st.lists(st.tuples(st.sampled_from(BITS), st.sampled_from(["", " ", " ", " ", "\n"])))
texts = words.map(lambda pairs: "".join(a + b for a, b in pairs).encode("latin-1"))
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
good_lines = st.lists(
    st.tuples(
        st.integers(-5, 5),
        st.dictionaries(st.integers(1, 12), finite),
        st.sampled_from(["", " ", " # a: comment", "\r", "\t\r"]),
    ),
    max_size=8,
).map(
    lambda lines: [
        " ".join([str(y), *(f"{k}:{v!r}" for k, v in entries.items())]) + end
        for y, entries, end in lines
    ]
)  # fmt: skip


def read(text, **rules):
    """What the native reader finds, as the twin tells it."""
    got = _native.read_libsvm(text, skip_faults=True, **rules)
    found = []
    for i in range(len(got["row_begin"]) - 1):
        part, own = (slice(*got[name][i : i + 2].tolist()) for name in ("row_begin", "label_begin"))
        entries = zip(got["indices"][part].tolist(), got["values"][part], strict=True)
        found.append((got["labels"][own].tolist(), dict(entries)))
    return found, got


def same(ours, theirs):
    assert [labels for labels, _ in ours] == [labels for labels, _ in theirs]
    for (_, a), (_, b) in zip(ours, theirs, strict=True):
        assert list(a) == list(b)
        assert np.array(list(a.values())).tobytes() == np.array(list(b.values())).tobytes()


@given(texts, RULES)
@example(b"1 1:1", {"multilabel": True})
@example(b"3,-1 1:1\n-1\n3, 1:1", {"multilabel": True})
@example(b"1 2:1 1:1 2:1", {})
def test_twin(text, rules):
    ours, got = read(text, **rules)
    theirs, faults = rows(text, **rules)
    same(ours, theirs)
    assert [line for line, _, _ in got["faults"]] == faults[:100]
    assert got["n_faults"] == len(faults)


@given(good_lines, st.data())
def test_mutated_lines(lines, data):
    text = bytearray("\n".join(lines).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        if text:
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    ours, got = read(bytes(text))
    theirs, faults = rows(bytes(text))
    same(ours, theirs)
    assert [line for line, _, _ in got["faults"]] == faults


@given(
    st.one_of(
        st.decimals(allow_nan=False, allow_infinity=False, places=12).map(str),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.from_regex(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    )
)
@example("16777217.0000000000000000001")  # by way of a double it would be rounded twice
@example("1.00000017881393432617187499")
@example("3.4028235677973366e38")  # halfway from the largest to infinity
@example("3.40282356779733661637e38")
@example("7.006492321624085e-46")  # halfway from zero to the smallest
@example("7.0064923216240854e-46")
@example("0." + 400 * "0" + "1e400")
@example("1" + 400 * "0" + "e-400")
def test_decimals_are_exact(text):
    ours, _ = read(f"0 1:{text}".encode())
    theirs, _ = rows(f"0 1:{text}".encode())
    same(ours, theirs)


def test_decimals_as_numpy():
    """Where a detour by float64 does no harm: up to 17 digits are seldom that near to a tie."""
    random = np.random.RandomState(0)
    drawn = random.standard_normal(2000) * 10.0 ** random.randint(-30, 30, 2000)
    numbers = [repr(x) for x in drawn.tolist()]
    got = _native.read_libsvm("\n".join(f"0 1:{x}" for x in numbers).encode())
    assert np.array_equal(got["values"], np.array([np.float32(x) for x in numbers]))
    assert nearest("0.1") == np.float32(0.1)


def source_of(path, text, **options):
    path.write_bytes(text)
    return LibsvmSource([str(path)], **options)


def block(source):
    """All rows as comparable bytes; a file without any has none."""
    blocks = list(source)
    X, y, _ = source.load() if blocks else (np.zeros((0, 0)), np.zeros(0), None)
    return [X.toarray().tobytes() if blocks else b"", X.shape, y.tolist()]


@given(
    good_lines,
    st.integers(1, 80),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n# c\n"]),
)
@example(["1 1:1", "2 2:2"], 1, 1, True, True, "\n")
def test_cuts_do_not_matter(tmp_path_factory, lines, size, n_threads, mark, ended, end):
    path = tmp_path_factory.mktemp("cuts") / "a.svm"
    text = b"\xef\xbb\xbf" * mark + end.join(lines).encode() + b"\n" * ended
    whole = block(source_of(path, text))
    plain = source_of(path, text, block_bytes=size, n_threads=n_threads)
    assert block(plain) == whole
    assert plain.bytes_read == len(text)
    order = list(range(plain.n_blocks))
    turned = [b.n_rows for b in plain.read(order[::-1])]
    assert turned == [b.n_rows for b in plain.read(order)][::-1]
    packed = source_of(path, gzip.compress(text), block_bytes=size, n_threads=n_threads)
    assert block(packed) == whole
    assert packed.n_blocks is None


def test_every_cut_of_a_small_file(tmp_path):
    """A line may end just where a block does, the first one too."""
    text = b"1 1:1\n2 1:2 3:4\r\n\n3\n# c\n4 2:1"
    for size in range(1, len(text) + 2):
        source = source_of(tmp_path / "a.svm", text, block_bytes=size)
        assert np.concatenate([y for _, y, _ in source]).tolist() == [1, 2, 3, 4]


PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("kind", PACK)
def test_packed(tmp_path, kind):
    random = np.random.RandomState(0)
    text = "".join(
        f"{i % 3} 1:{x!r} 5:{i}\n" for i, x in enumerate(random.rand(3000).tolist())
    ).encode()
    plain = block(source_of(tmp_path / "plain", text))
    packed = PACK[kind](text)
    path = tmp_path / f"a.svm.{kind}"
    source = source_of(path, packed, block_bytes=1000)
    assert block(source) == plain
    assert source.bytes_read == len(packed)  # not those that come out of it
    assert block(source_of(path, PACK[kind](text[:9]) + PACK[kind](text[9:]))) == plain  # in parts
    with pytest.raises(DataError, match=r"a\.svm.*(cut short|damaged)"):
        source_of(path, packed[: len(packed) // 2]).load()
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    with pytest.raises(DataError, match=r"a\.svm"):
        source_of(path, bytes(damaged)).load()


def test_xz_that_asks_for_much_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_MOST_MEMORY", 1 << 20)  # by default it takes 9
    with pytest.raises(DataError, match="damaged: Memory usage limit"):
        source_of(tmp_path / "a.xz", lzma.compress(b"1 1:1\n")).load()


@pytest.mark.parametrize("kind", PACK)
def test_flipped_bits_of_packed_files(tmp_path, kind):
    """Checksums are the packers'; what matters here is that every failure is a DataError."""
    packed = PACK[kind](b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(300)))
    random = np.random.RandomState(0)
    for place in random.randint(len(packed), size=60):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << random.randint(8)
        with suppress(DataError):
            source_of(tmp_path / "a", bytes(damaged)).load()


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("x 1:1", 1, "expected a label, got 'x'"),
        ("1.5 1:1", 1, "a label must be a whole number, got '1.5'"),
        ("1e-999 1:1", 1, "a label must be a whole number, got '1e-999'"),
        ("nan 1:1", 1, "a label must be a whole number, got 'nan'"),
        ("inf 1:1", 1, "a label must be a whole number, got 'inf'"),
        ("9223372036854775808 1:1", 1, "the label is too large: '9223372036854775808'"),
        ("-1e999 1:1", 1, "the label is too large: '-1e999'"),
        ("1 1:1 2", 7, "expected index:value, got '2'"),
        ("1 1:1 2:", 9, "expected a number, got the end of the line"),
        (
            "1 1:1 0:1",
            7,
            "indices count from 1, got 0; if they count from 0, say zero_based=True (--zero-based)",
        ),
        ("1 1:1 9:1", 7, "feature '9:1' is beyond the 8 that there can be"),
        ("1 3:1 2:1 3:2", 1, "index 3 comes twice"),
        ("1 1:nan", 5, "not a finite number: 'nan'"),
        ("1 1:1e39", 5, "too large for float32: '1e39'"),
        (
            "1,2 1:1",
            2,
            "several labels in one line; if that is meant, say multilabel=True (--multilabel)",
        ),
        ("1 1:1\x00", 6, "expected a blank, got '?'"),
        ("1 99999999999999:1", 3, "the index is too large: '99999999999999:1'"),
        ("1 qid:x 1:1", 3, "expected qid:number, got 'qid:x'"),
    ],
)
def test_errors_name_the_place(tmp_path, line, column, what):
    before = "1 1:1\r\n\n# comment\n" * 7
    text = f"{before}{line}\n{before}".encode()
    said = f"a.svm, line 22, column {column}: {what}"
    plain = tmp_path / "a.svm"
    plain.write_bytes(text)
    packed = tmp_path / "b.svm"
    packed.write_bytes(b"1 1:1\n")
    for size in (1, 10, 1 << 20):
        for paths in ([str(plain)], [str(packed), str(plain)]):
            source = LibsvmSource(paths, n_features=8, block_bytes=size, n_threads=2)
            for order in (None, list(range(source.n_blocks))[::-1]):
                with pytest.raises(DataError) as error:
                    list(source.read(order))
                assert str(error.value).endswith(said)
    plain.write_bytes(gzip.compress(text))
    with pytest.raises(DataError) as error:
        LibsvmSource([str(plain)], n_features=8, block_bytes=10).load()
    assert str(error.value).endswith(said)


def test_skipped_lines_are_counted_and_named(tmp_path):
    text = b"".join(b"bad\n" if i % 10 == 3 else b"%d 1:1\n" % (i % 2) for i in range(3000))
    for size, order in ((1 << 20, None), (50, None), (50, "reversed")):
        source = source_of(tmp_path / "a.svm", text, block_bytes=size, on_error="skip")
        numbers = None if order is None else list(range(source.n_blocks))[::-1]
        with pytest.warns(
            UserWarning, match=r"300 malformed lines passed over; the first: .*a.svm"
        ):
            n_rows = sum(b.n_rows for b in source.read(numbers))
        assert (n_rows, source.n_skipped, len(source.skipped)) == (2700, 300, 100)
        if order is None:
            assert source.skipped[1].endswith(
                "a.svm, line 14, column 1: expected a label, got 'bad'"
            )
    with warnings.catch_warnings():  # once is enough
        warnings.simplefilter("error")
        list(source)
    assert source.n_skipped == 300


def test_qid_is_noticed_once(tmp_path):
    source = source_of(tmp_path / "a.svm", b"1 qid:3 1:2\n2 qid:4 2:1\n" * 9, block_bytes=20)
    with pytest.warns(UserWarning, match="qid is for ranking, and ignored here") as notices:
        both = [source.load() for _ in range(2)]
    assert len(notices) == 1
    assert both[1].X.toarray()[0].tolist() == [2, 0]


def test_multilabel(tmp_path):
    text = b"1,3 1:1\n\n2:5 3:1\n0 1:1 # c\n3,1,3 2:2\n 1:7\n"
    for size in (1, 1 << 20):
        X, Y, _ = source_of(tmp_path / "a", text, multilabel=True, block_bytes=size).load()
        assert Y.toarray().tolist() == [[0, 1, 0, 1], [0] * 4, [1, 0, 0, 0], [0, 1, 0, 1], [0] * 4]
        assert X.toarray().tolist() == [[1, 0, 0], [0, 5, 1], [1, 0, 0], [0, 2, 0], [7, 0, 0]]
    for label in ("-1", "1,-1", "16777216", "1,99999999"):
        with pytest.raises(DataError, match=r"line 1.*labels of a list are from 0 to 16777215"):
            source_of(tmp_path / "a", f"{label} 1:1\n".encode(), multilabel=True).load()


def test_features(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 2:2 1:1\n0 5:5\n")
    assert open_source(path).load().X.toarray().tolist() == [[1, 2, 0, 0, 0], [0, 0, 0, 0, 5]]
    assert open_source(path, zero_based=True).load().X.shape == (2, 6)
    with pytest.warns(UserWarning, match="1 value of features beyond the first 4 is passed over"):
        dropped = open_source(path, n_features=4, extra_features="drop").load().X
    assert dropped.toarray()[:, :2].tolist() == [[1, 2], [0, 0]]
    with pytest.raises(DataError, match="line 2, column 3: feature '5:5' is beyond the 4"):
        open_source(path, n_features=4).load()
    assert open_source(path, n_features=9).n_features == 9


def test_endless_line(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "LONGEST_LINE", 1 << 20)
    for text in (b"1 " * (1 << 20), bytes(3 << 20), gzip.compress(bytes(50 << 20))):
        with pytest.raises(DataError, match="longer than 1 MiB: is this text"):
            source_of(tmp_path / "a", text, block_bytes=1 << 16).load()


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf", b" \r\n\t"])
def test_no_rows(tmp_path, text):
    source = source_of(tmp_path / "a.svm", text)
    assert list(source) == []
    with pytest.raises(DataError, match=r"a\.svm: there are no rows"):
        source.load()


def test_labels_of_int64(tmp_path):
    source = source_of(
        tmp_path / "a", b"9223372036854775807\n-9223372036854775808\n+3\n1e3\n-0.0\n"
    )
    assert source.load().y.tolist() == [2**63 - 1, -(2**63), 3, 1000, 0]


FUZZ = """
import resource, numpy as np
from multiplane import _native
limit = {limit} << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
random = np.random.RandomState(0)
bits = {bits!r}
n_lines = n_rows = n_faults = 0
while n_lines < 100_000:
    pick = random.randint(len(bits), size=(500, 6))
    text = "\\n".join(" ".join(bits[i] for i in line) for line in pick).encode("latin-1")
    text = bytearray(text)
    for place in random.randint(len(text), size=100):
        text[place] = random.randint(256)
    got = _native.read_libsvm(
        bytes(text), skip_faults=True, multilabel=bool(random.randint(2)),
        zero_based=bool(random.randint(2)), n_features=int(random.choice([0, 50])),
    )
    n_lines += got["n_lines"]
    n_rows += len(got["row_begin"]) - 1
    n_faults += got["n_faults"]
    assert got["n_lines"] == text.count(b"\\n") + (text[-1:] != b"\\n")
print(n_rows > 1000 and n_faults > 50_000)
"""


def test_a_hundred_thousand_fuzzed_lines():
    """In little memory, unless AddressSanitizer is there, which reserves terabytes."""
    limit = 1 << 40 if "asan" in os.environ.get("LD_PRELOAD", "") else 2000
    run = run_python(FUZZ.format(bits=BITS, limit=limit), OMP_NUM_THREADS="1")
    assert run.stdout.strip() == "True", run.stderr


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_source(tmp_path / "nothing.svm")
    source = source_of(tmp_path / "a.svm", b"1 1:1\n")
    os.remove(tmp_path / "a.svm")
    with pytest.raises(FileNotFoundError, match=r"a\.svm"):
        list(source)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "a.svm").chmod(0)
    with pytest.raises(PermissionError):
        open_source(tmp_path / "a.svm").load()
