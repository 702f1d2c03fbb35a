"""Data sets: labels against geometry, files against downloads, errors against their promise."""

import bz2
import doctest
import gzip
import hashlib
import lzma
import tracemalloc
from functools import cache
from itertools import islice
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets as skd
from sklearn.utils import Bunch

from multiplane import datasets
from multiplane.datasets import _real, _streams, _synthetic


def cell(x, n_cells):
    """Which of the equal cells of [-1, 1] each coordinate lies in."""
    return np.floor((x.astype(np.float64) + 1) / 2 * n_cells).astype(int)


# --- the public face ----------------------------------------------------------------------


def test_public_names_exist_and_are_documented():
    assert datasets.__all__ == sorted(datasets.__all__)
    for name in datasets.__all__:
        assert len(getattr(datasets, name).__doc__) > 100, name


@pytest.mark.parametrize("module", [_synthetic, _streams, _real])
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted >= 6  # a suite without examples would pass too
    assert result.failed == 0


# --- synthetic ----------------------------------------------------------------------------

BOARDS = [(1, 2), (2, 1), (2, 2), (2, 4), (3, 3), (4, 4), (5, 5), (40, 30)]


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
def test_checkerboard_labels_follow_from_the_squares(rows, cols):
    X, y = datasets.make_checkerboard(rows, cols, n=5_001, random_state=0)
    assert X.shape == (5_001, 2)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert y.dtype == np.int64
    np.testing.assert_array_equal((cell(X[:, 1], rows) + cell(X[:, 0], cols)) % 2, y)


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
@pytest.mark.parametrize("n", [1, 2, 15, 1_000])
def test_checkerboard_is_balanced(rows, cols, n):
    _, y = datasets.make_checkerboard(rows, cols, n=n, random_state=1)
    assert abs(2 * y.sum() - n) <= 1


def test_checkerboard_fills_each_class_evenly():
    # 3 x 3: five squares of class 0 share one half, four of class 1 the other.
    n = 40_000
    X, y = datasets.make_checkerboard(3, 3, n=n, random_state=2)
    r, c = cell(X[:, 1], 3), cell(X[:, 0], 3)
    counts = np.bincount(3 * r + c, minlength=9)
    share = np.where(np.arange(9) % 2 == 0, 1 / 10, 1 / 8)
    # five standard deviations of a binomial count
    assert (abs(counts - n * share) < 5 * np.sqrt(n * share)).all()
    # Inside a square: ten strips of equal width, whose counts again vary as binomials.
    for axis, index in ((0, c), (1, r)):
        inside = (X[:, axis].astype(float) + 1) / 2 * 3 - index
        strips = np.bincount((10 * inside).astype(int), minlength=10)
        assert (abs(strips - n / 10) < 5 * np.sqrt(n / 10)).all()
    assert abs(np.corrcoef(X.T)[0, 1]) < 5 / np.sqrt(n)
    # The order is mixed, so that the first rows alone are a fair sample.
    assert 0.45 < y[: n // 10].mean() < 0.55


def test_coordinates_cover_the_whole_board():
    X, _ = datasets.make_checkerboard(4, 2, n=20_000, random_state=3)
    np.testing.assert_allclose(X.min(axis=0), -1, atol=1e-3)
    np.testing.assert_allclose(X.max(axis=0), 1, atol=1e-3)


@pytest.mark.parametrize("n_cells", [1, 2, 3, 7, 100, 1_000])
@pytest.mark.parametrize("extreme", [min, max])
def test_rounding_to_float32_never_leaves_the_cell(n_cells, extreme):
    class Edge:
        def uniform(self, low, high, size):
            return np.full(size, extreme(low, high))

    cells = np.arange(n_cells)
    np.testing.assert_array_equal(cell(_synthetic._place(cells, n_cells, Edge()), n_cells), cells)


@pytest.mark.parametrize("make", [datasets.make_checkerboard, datasets.make_xor_strip])
@pytest.mark.parametrize("noise", [0.0, 0.4, 1.0])
def test_noise_turns_half_of_its_fraction(make, noise):
    n = 10_000
    X, y = make(n=n, random_state=4)
    X_noisy, y_noisy = make(n=n, noise=noise, random_state=4)
    np.testing.assert_array_equal(X, X_noisy)
    turned = (y != y_noisy).sum()
    # turned ~ Binomial(noise n, 1/2): five standard deviations
    assert abs(turned - noise * n / 2) <= 5 * np.sqrt(noise * n / 4)
    assert set(y_noisy) == {0, 1}


@pytest.mark.parametrize("n_blocks", [2, 3, 7, 50])
def test_strip_labels_follow_from_the_blocks(n_blocks):
    n = 10_000
    X, y = datasets.make_xor_strip(n_blocks, n=n, random_state=5)
    assert X.shape == (n, 1)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    block = cell(X[:, 0], n_blocks)
    np.testing.assert_array_equal(block % 2, y)
    counts = np.bincount(block, minlength=n_blocks)
    assert (abs(counts - n / n_blocks) < 5 * np.sqrt(n / n_blocks)).all()


def test_weights_labels_follow_from_the_model():
    X, y, W, owner = datasets.make_weights(6, 9, n=20_000, random_state=6, return_weights=True)
    assert X.shape == (20_000, 6)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert W.shape == (9, 7)
    assert owner.shape == (9,)
    np.testing.assert_allclose((W**2).sum(axis=1), 1, rtol=1e-12)
    assert W.min() >= 0
    assert X.min() >= 0
    assert X.max() <= 1
    # Each point by hand, in plain Python: the greatest of nine values tells the class.
    for i in range(0, 20_000, 97):
        values = [sum(w * x for w, x in zip(row, [*X[i], 1.0], strict=True)) for row in W]
        assert y[i] == owner[values.index(max(values))]
    # The points are uniform on [0, 1]: mean within five standard errors.
    assert abs(X.mean() - 0.5) < 5 * np.sqrt(1 / 12 / X.size)


def test_weights_are_labelled_alike_in_any_block(monkeypatch):
    whole = datasets.make_weights(n=1_000, random_state=7)
    monkeypatch.setattr(_synthetic, "_BLOCK", 7)
    for one, other in zip(whole, datasets.make_weights(n=1_000, random_state=7), strict=True):
        np.testing.assert_array_equal(one, other)


def test_both_classes_own_a_weight():
    # With two weights, half of all plain draws would leave a class without any.
    for seed in range(50):
        owner = datasets.make_weights(2, 2, n=1, random_state=seed, return_weights=True)[3]
        assert sorted(owner) == [0, 1]


MAKERS = [
    datasets.make_checkerboard,
    datasets.make_waveform,
    datasets.make_weights,
    datasets.make_xor_strip,
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides(make):
    X, y = make(n=300, random_state=8)
    for seed in (8, np.random.RandomState(8)):
        again = make(n=300, random_state=seed)
        np.testing.assert_array_equal(X, again[0])
        np.testing.assert_array_equal(y, again[1])
    assert (make(n=300, random_state=9)[0] != X).any()


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (datasets.make_checkerboard, {"rows": 1, "cols": 1}, r"two squares.*got rows=1.*use rows"),
        (datasets.make_checkerboard, {"rows": 0}, r"rows must be .* at least 1, got 0; try"),
        (datasets.make_checkerboard, {"cols": -2}, r"cols must be .* at least 1, got -2; try"),
        (datasets.make_checkerboard, {"n": 1e4}, r"n must be an integer .*got 10000\.0; try"),
        (datasets.make_checkerboard, {"noise": 1.5}, r"noise must be .*got 1\.5; use 0"),
        (datasets.make_checkerboard, {"noise": np.nan}, r"noise must be .*got nan; use 0"),
        (datasets.make_checkerboard, {"noise": "much"}, r"noise must be .*got 'much'; use 0"),
        (datasets.make_xor_strip, {"n_blocks": 1}, r"n_blocks must be .*least 2, got 1; try"),
        (datasets.make_xor_strip, {"n": True}, r"n must be an integer .*got True; try"),
        (datasets.make_xor_strip, {"noise": -0.1}, r"noise must be .*got -0\.1; use 0"),
        (datasets.make_weights, {"n_weights": 1}, r"n_weights must be .*least 2, got 1; try"),
        (datasets.make_weights, {"n_features": 0}, r"n_features must be .*got 0; try"),
        (datasets.make_weights, {"n": 0}, r"n must be .*least 1, got 0; try"),
        (datasets.make_waveform, {"n": None}, r"n must be .*least 1, got None; try"),
        # Streams tell at the call, not when their first block is asked for.
        (datasets.stream_checkerboard, {"rows": 1, "cols": 1}, r"two squares.*; use rows"),
        (datasets.stream_checkerboard, {"cols": 0}, r"cols must be .*got 0; try"),
        (datasets.stream_checkerboard, {"block_size": 0}, r"block_size must .*got 0; try block"),
        (datasets.stream_waveform, {"block_size": 1e4}, r"block_size must .*got 10000\.0; try"),
        (datasets.stream_waveform, {"n": 0}, r"n must be .*got 0; use n=None for a stream"),
    ],
)
def test_wrong_parameters_are_told(make, wrong, message):
    with pytest.raises(ValueError, match=message):
        make(**wrong)


# --- waves --------------------------------------------------------------------------------

# The base waves by hand, and those mixed by classes 0, 1 and 2.
RAMP = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
WAVES = np.array([RAMP + [0] * 8, [0] * 8 + RAMP, [0] * 4 + RAMP + [0] * 4], dtype=float)
MIXED = [(0, 1), (0, 2), (1, 2)]


def moments(X):
    """Mean, covariance and mean squared distance from the mean, each with its standard error."""
    Z = X.astype(float)
    mean = Z.mean(axis=0)
    Z -= mean
    covariance = Z.T @ Z / len(Z)
    distance = (Z**2).sum(axis=1)
    # Var(z_i z_j) = E(z_i^2 z_j^2) - E(z_i z_j)^2, whatever the law of z
    variances = np.diag(covariance), (Z**2).T @ Z**2 / len(Z) - covariance**2, distance.var()
    errors = (np.sqrt(variance / len(Z)) for variance in variances)
    return list(zip((mean, covariance, distance.mean()), errors, strict=True))


@cache
def waves():
    return datasets.make_waveform(300_000, random_state=10)


def test_waveform_has_the_moments_of_its_formula():
    X, y = waves()
    assert X.shape == (300_000, 21)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert y.dtype == np.int64
    # class counts: five standard deviations of Binomial(n, 1/3)
    assert (abs(np.bincount(y) - 1e5) < 5 * np.sqrt(3e5 * 2 / 9)).all()
    for code, (a, b) in enumerate(MIXED):
        way = WAVES[a] - WAVES[b]
        truth = (
            (WAVES[a] + WAVES[b]) / 2,
            np.eye(21) + np.outer(way, way) / 12,  # u has variance 1/12
            21 + way @ way / 12,
        )
        for (found, error), true in zip(moments(X[y == code]), truth, strict=True):
            assert (abs(found - true) < 5 * error).all()


def test_waveform_mixes_uniformly():
    # On the way from wave b to wave a, a row lies at u + noise. The noise has a standard
    # deviation of at most 0.09, so that from 0.3 to 0.7 a uniform u stays uniform, to 3e-4.
    X, y = waves()
    for code, (a, b) in enumerate(MIXED):
        way = WAVES[a] - WAVES[b]
        place = (X[y == code] - WAVES[b]) @ way / (way @ way)
        counts = np.histogram(place, bins=4, range=(0.3, 0.7))[0]
        share = 0.1 * len(place)
        assert (abs(counts - share) < 5 * np.sqrt(share)).all()


def test_waveform_agrees_with_the_real_set():
    # Five standard errors, nearly all of them of the 1,650 real rows a class. Single entries of
    # the covariance are seen to a tenth; the mean distance sees the noise's variance to 0.05.
    data = real("waveform")
    X, y = waves()
    for code in range(3):
        pairs = zip(moments(data.X[data.y == code]), moments(X[y == code]), strict=True)
        for (found, error), (ours, our_error) in pairs:
            assert (abs(found - ours) < 5 * np.hypot(error, our_error)).all()


def test_best_accuracy_on_waves_is_as_told():
    # A class's density is the mean over u of normal densities around the mixture: a sum over
    # 50 midpoints, a third of the noise's deviation apart or less.
    X, y = (part[:60_000] for part in waves())
    u = (np.arange(50) + 0.5) / 50
    density = np.empty((3, len(X)))
    for code, (a, b) in enumerate(MIXED):
        way, rest = WAVES[a] - WAVES[b], X - WAVES[b]
        along = np.outer(rest @ way, u) - u**2 * (way @ way) / 2  # (n, 50)
        # less what all classes share, so that no row underflows
        shift = (WAVES[b] * (X - WAVES[b] / 2)).sum(axis=1, keepdims=True)
        density[code] = np.logaddexp.reduce(along + shift, axis=1)
    accuracy = (density.argmax(axis=0) == y).mean()
    assert "gets 86.7 % right" in datasets.make_waveform.__doc__
    # five standard deviations of a binomial share
    assert abs(accuracy - 0.867) < 5 * np.sqrt(0.867 * 0.133 / len(y))


# --- streams ------------------------------------------------------------------------------

STREAMS = [datasets.stream_checkerboard, datasets.stream_waveform]
LONG = 2 * _streams._CHUNK + 1_234  # ends inside the third chunk


def whole(blocks):
    """The rows of all blocks."""
    Xs, ys = zip(*blocks, strict=True)
    return np.concatenate(Xs), np.concatenate(ys)


def assert_same_rows(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("block_size", [1, 7, 10_000, 16_383, 16_384, 16_385, LONG, 100_000])
def test_rows_do_not_depend_on_the_blocks(stream, block_size):
    blocks = list(stream(n=LONG, block_size=block_size, random_state=0))
    sizes = [len(y) for _, y in blocks]
    assert sizes[:-1] == [block_size] * (len(sizes) - 1)
    assert 0 < sizes[-1] <= block_size
    assert sum(sizes) == LONG
    assert all(X.flags.c_contiguous for X, _ in blocks)
    assert_same_rows(whole(blocks), whole(stream(n=LONG, random_state=0)))


@pytest.mark.parametrize("stream", STREAMS)
def test_rows_do_not_depend_on_their_number(stream):
    X, y = whole(islice(stream(random_state=0), 7))  # endless
    assert len(y) == 70_000
    for n in (1, 9_999, 10_000, 10_001, _streams._CHUNK, LONG):
        assert_same_rows(whole(stream(n=n, random_state=0)), (X[:n], y[:n]))


def test_made_waves_are_the_first_of_the_stream():
    for n in (1, 5_000, LONG):
        made = datasets.make_waveform(n, random_state=0)
        assert_same_rows(made, whole(datasets.stream_waveform(n, random_state=0)))


@pytest.mark.parametrize("stream", STREAMS)
def test_the_seed_decides_over_streams(stream):
    rows = whole(stream(n=LONG, random_state=8))
    assert_same_rows(rows, whole(stream(n=LONG, random_state=np.random.RandomState(8))))
    for seed in (9, None):
        assert (whole(stream(n=LONG, random_state=seed))[0] != rows[0]).any(axis=1).all()
    # One generator gives its streams one after the other, seeded when they are asked for.
    rng = np.random.RandomState(8)
    first, second = stream(n=LONG, random_state=rng), stream(n=LONG, random_state=rng)
    assert (whole(second)[0] != rows[0]).any()
    assert_same_rows(whole(first), rows)


@pytest.mark.parametrize("stream", STREAMS)
def test_chunks_differ(stream):
    X, _ = whole(stream(n=3 * _streams._CHUNK, random_state=0))
    first, second, third = np.split(X, 3)
    for one, other in ((first, second), (first, third), (second, third)):
        assert (one != other).any(axis=1).mean() == 1
        # and are not related: a correlation of n pairs is below five standard errors
        assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) < 5 / np.sqrt(len(one))


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("block_size", [100, _streams._CHUNK])
def test_blocks_belong_to_the_caller(stream, block_size):
    rows = whole(stream(n=2 * block_size, random_state=0))
    blocks = stream(block_size=block_size, random_state=0)
    first = next(blocks)
    copy = [part.copy() for part in first]
    second = next(blocks)
    assert_same_rows(first, copy)  # later blocks do not overwrite it
    for part in first:
        part[:] = 99
    assert_same_rows(second, [part[block_size:] for part in rows])  # nor it them


@pytest.mark.parametrize("stream", STREAMS)
def test_long_streams_need_little_memory(stream):
    # A chunk and what it is made of: 1.2 MB (checkerboard) and 10.2 MB (waves) were seen. The
    # 500,000 rows themselves would take 8 and 46 MB.
    tracemalloc.start()
    for _ in stream(n=500_000, block_size=100, random_state=0):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (2e6 if stream is datasets.stream_checkerboard else 14e6)


def test_streams_are_the_same_bytes_as_ever():
    # Seeds in published experiments rely on these: a change belongs under "same call, different
    # numbers". Little-endian, so that all machines hash alike.
    X, y = whole(datasets.stream_checkerboard(n=LONG, random_state=0))
    digest = hashlib.sha256(X.astype("<f4").tobytes() + y.astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == "99b2fcecb31daec5"
    X, y = whole(datasets.stream_waveform(n=LONG, random_state=0))
    assert hashlib.sha256(y.astype("<i8").tobytes()).hexdigest()[:16] == "540971d342c3caa7"
    # Normal numbers go through the C library's logarithm: its last bit may differ, and float32
    # shows it now and then as 1e-7 of a value.
    np.testing.assert_allclose(X[LONG - 1, :3], [-0.0963204, -0.5988732, -1.6803892], rtol=1e-6)


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
def test_streamed_checkerboard_labels_follow_from_the_squares(rows, cols):
    X, y = whole(datasets.stream_checkerboard(rows, cols, n=LONG, random_state=0))
    assert X.shape == (LONG, 2)
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_array_equal((cell(X[:, 1], rows) + cell(X[:, 0], cols)) % 2, y)


@pytest.mark.parametrize("n_cells", [1, 2, 3, 4, 7, 100, 1_000])
def test_streamed_points_next_to_an_edge_are_on_the_right_side(n_cells):
    # Of the 2^24 places along an axis, those around each edge of a square, and both ends.
    edges = np.arange(n_cells + 1) * 2**24 // n_cells
    places = np.clip(np.add.outer(edges, range(-2, 3)).ravel(), 0, 2**24 - 1)

    class Edges:
        def randint(self, high, size, dtype):
            assert high == 2**24
            return np.broadcast_to(places[:, None], size).astype(dtype)

    X, y = _streams._draw_board(n_cells, 1, len(places), Edges())
    position = (X[:, 1].astype(float) + 1) / 2 * n_cells  # exact: 24 digits by 10
    assert (abs(X) < 1).all()
    assert (position != np.rint(position)).all()  # on no edge
    np.testing.assert_array_equal(np.floor(position) % 2, y)
    assert set(np.floor(position)) == set(range(n_cells))


@pytest.mark.parametrize("n_rows", [3, 4])
def test_streamed_checkerboard_is_filled_evenly(n_rows):
    n = 50_000
    X, y = whole(datasets.stream_checkerboard(n_rows, 3, n=n, random_state=2))
    counts = np.bincount(3 * cell(X[:, 1], n_rows) + cell(X[:, 0], 3), minlength=3 * n_rows)
    share = 1 / (3 * n_rows)
    # five standard deviations of a binomial count, here and below
    assert (abs(counts - n * share) < 5 * np.sqrt(n * share)).all()
    for axis in (0, 1):
        strips = np.bincount(cell(X[:, axis], 50), minlength=50)
        assert (abs(strips - n / 50) < 5 * np.sqrt(n / 50)).all()
    assert abs(np.corrcoef(X.T)[0, 1]) < 5 / np.sqrt(n)
    ones = 1 / 2 if n_rows == 4 else 4 / 9
    assert abs(y.mean() - ones) < 5 * np.sqrt(ones * (1 - ones) / n)


# --- reading ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "opener"), [("", open), (".xz", lzma.open), (".bz2", bz2.open), (".gz", gzip.open)]
)
def test_libsvm_text_is_read_whatever_its_compression(tmp_path, suffix, opener):
    path = tmp_path / f"tiny.t{suffix}"
    with opener(path, "wb") as file:
        file.write(b"3 1:0.5 3:-2\n-1.0\n+1 2:1e1\n")
    X, y = datasets.read_libsvm(path, 4)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, -2, 0], [0] * 4, [0, 10, 0, 0]])
    np.testing.assert_array_equal(y, [3, -1, 1])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wide", b"1 5:1\n"),
        ("zero", b"1 0:1 2:1\n"),
        ("words", b"hello world\n"),
        ("cut.gz", gzip.compress(b"1 1:1\n" * 1000, mtime=0)[:-12]),
    ],
)
def test_unreadable_files_are_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} must hold LIBSVM .* to 4, got: .*; check"):
        datasets.read_libsvm(tmp_path / name, 4)


def test_absent_file_is_absent(tmp_path):
    with pytest.raises(FileNotFoundError):
        datasets.read_libsvm(tmp_path / "none", 4)


def test_round_digits():
    digits = np.arange(10).reshape(2, 5)
    np.testing.assert_array_equal(datasets.round_digits(digits), [[1, 0, 0, 1, 0], [0, 1, 0, 1, 1]])
    with pytest.raises(ValueError, match=r"digits 0 to 9, got .*10.*; labels 1 to 10"):
        datasets.round_digits([1, 10])


# --- where the files are ------------------------------------------------------------------


def test_folders_are_tried_in_order(tmp_path, monkeypatch):
    given, named, usual = (tmp_path / name for name in ("given", "named", "shared/data"))
    project = tmp_path / "project"
    for folder in (given, named, usual, project):
        folder.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("MULTIPLANE_DATA", str(named))
    assert datasets.data_directory(given) == given
    assert datasets.data_directory(str(given)) == given
    assert datasets.data_directory() == named
    monkeypatch.delenv("MULTIPLANE_DATA")
    assert datasets.data_directory() == usual


def test_repository_root_is_a_usual_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "root" / "src" / "multiplane" / "datasets" / "_real.py"
    monkeypatch.setattr(_real, "__file__", str(source))
    assert _real._usual_places()[1] == tmp_path / "shared" / "data"


def test_no_folder_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("MULTIPLANE_DATA", raising=False)
    monkeypatch.setattr(_real, "_usual_places", lambda: [tmp_path / "a", tmp_path / "b"])
    assert datasets.data_directory() is None
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path / 'a'} or {tmp_path / 'b'}; "):
        datasets.load_usps(download_if_missing=False)


def test_misspelt_folders_are_told(tmp_path, monkeypatch):
    wrong = str(tmp_path / "wrong")
    with pytest.raises(FileNotFoundError, match=r"data_home must be .*wrong'; correct it"):
        datasets.load_usps(data_home=wrong)
    monkeypatch.setenv("MULTIPLANE_DATA", wrong)
    with pytest.raises(FileNotFoundError, match=r"MULTIPLANE_DATA must be .*wrong'; correct it"):
        datasets.load_usps()


def test_files_in_data_home_are_read_under_any_compression(tmp_path):
    (tmp_path / "letter").write_text("26 1:-1 16:1\n1 2:0.5\n")
    (tmp_path / "letter.t.gz").write_bytes(gzip.compress(b"2 1:1\n"))
    X_train, y_train, X_test, y_test = datasets.load_letter(data_home=tmp_path, return_X_y=True)
    assert X_train.shape == (2, 16)
    assert X_test.shape == (1, 16)
    assert X_train[0, 0] == -1
    assert X_train[0, 15] == 1
    assert X_test[0, 0] == 1
    assert y_train.tolist() == [26, 1]
    assert y_test.tolist() == [2]


# --- the real files -----------------------------------------------------------------------

# name: files' stem, rows of each part, columns, labels, least and greatest value in training,
# labels' sum in each part, whether sparse
REAL = {
    "usps": ("usps", (7_291, 2_007), 256, range(10), -1, 0.999989, (28_460, 7_728), False),
    "letter": ("letter", (15_000, 5_000), 16, range(1, 27), -1, 1, (203_433, 66_902), False),
    "ijcnn1": ("ijcnn1", (49_990, 91_701), 22, (-1, 1), -0.930435, 1, (-40_284, -74_277), False),
    "a9a": ("a9a", (32_561, 16_281), 123, (-1, 1), 0, 1, (-16_879, -8_589), True),
    "mnist": ("mnist", (60_000, 10_000), 784, range(10), 0, 1, (267_236, 44_434), False),
    "news20": ("news20", (11_314, 7_532), 46_818, range(1, 21), 0, 11_151, (116_455, 77_530), True),
    "covtype": ("covtype", (581_012,), 54, range(1, 8), -173, 7_173, (1_191_929,), False),
    "waveform": ("waveform", (5_000,), 21, range(3), -4.2, 9.06, (5_039,), False),
    "cifar10_small": ("cifar10-small", (2_000, 500), 3_072, range(10), 0, 1, (9_000, 2_250), False),
}


@cache
def real(name):
    """The set as read from files, never downloaded; skip where there are no files."""
    folder = datasets.data_directory()
    if folder is None or not any(folder.glob(REAL[name][0] + "*")):
        pytest.skip(f"no {REAL[name][0]} files: set MULTIPLANE_DATA to a folder that has them")
    return getattr(datasets, f"load_{name}")(download_if_missing=False)


def arrays(data):
    """The Xs and the ys of a Bunch."""
    keys = ("X_train", "y_train", "X_test", "y_test") if "X_train" in data else ("X", "y")
    parts = [data[key] for key in keys]
    return parts[::2], parts[1::2]


@pytest.mark.parametrize("name", REAL)
def test_real_data_is_as_described(name):
    data = real(name)
    _, rows, columns, labels, low, high, sums, sparse = REAL[name]
    Xs, ys = arrays(data)
    assert [X.shape for X in Xs] == [(n, columns) for n in rows]
    for X, y in zip(Xs, ys, strict=True):
        assert X.dtype == np.float32
        assert y.dtype == np.int64
        assert sp.issparse(X) == sparse
        assert X.format == "csr" if sparse else X.flags.c_contiguous
        assert np.unique(y).tolist() == list(labels)
    assert (Xs[0].min(), Xs[0].max()) == pytest.approx((low, high))
    assert tuple(y.sum() for y in ys) == sums
    assert data.classes.tolist() == list(labels)
    assert len(data.target_names) == len(labels)
    assert data.feature_names is None or len(data.feature_names) == columns
    assert data.source == str(datasets.data_directory())


def test_tuple_and_bunch_agree():
    for name in ("letter", "waveform"):
        Xs, ys = arrays(real(name))
        plain = getattr(datasets, f"load_{name}")(return_X_y=True)
        assert len(plain) == 2 * len(Xs)
        for one, other in zip(plain[::2] + plain[1::2], Xs + ys, strict=True):
            np.testing.assert_array_equal(one, other)


def test_letter_names_follow_the_labels():
    # The first row of the original file is a Z, with 2 for its first feature (of 0 to 15).
    data = real("letter")
    assert data.target_names[np.searchsorted(data.classes, data.y_train[0])] == "Z"
    assert data.X_train[0, 0] == pytest.approx(2 / 7.5 - 1, abs=1e-6)  # six digits in the file


def test_usps_labels_are_digits():
    # A nought has a hole in its middle, a one has ink there: pixel (7, 7) of 16 x 16.
    data = real("usps")
    middle = data.X_train[:, 7 * 16 + 7]
    assert middle[data.y_train == 0].mean() < -0.5 < 0.5 < middle[data.y_train == 1].mean()


def test_a9a_names_follow_the_labels():
    # 24.1 % of the persons earn more than 50,000 dollars.
    data = real("a9a")
    rich = data.classes[data.target_names.index(">50K")]
    assert (data.y_train == rich).mean() == pytest.approx(0.241, abs=5e-4)


def test_news20_words_and_groups_follow_columns_and_labels():
    data = real("news20")
    hockey = data.y_train == data.classes[data.target_names.index("rec.sport.hockey")]
    puck = np.asarray(data.X_train[:, data.feature_names.index("puck")].todense()).ravel()
    assert puck[hockey].sum() > 10 * puck[~hockey].sum()


def test_covtype_names_follow_columns_and_labels():
    # Krummholz is the dwarf forest at the tree line: it grows highest.
    data = real("covtype")
    height = data.X[:, data.feature_names.index("Elevation")]
    means = [height[data.y == code].mean() for code in data.classes]
    assert data.target_names[int(np.argmax(means))] == "Krummholz"


# --- downloads, by fakes ------------------------------------------------------------------


def labels_summing_to(total, n):
    """n integers as equal as can be with that sum."""
    return np.full(n, total // n) + (np.arange(n) < total % n)


def signs_summing_to(total, n):
    return np.where(np.arange(n) < (n + total) // 2, 1, -1)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A data folder without files, and a network that does not answer."""

    def silent(*args, **kwargs):
        raise URLError("no network in tests")

    monkeypatch.setenv("MULTIPLANE_DATA", str(tmp_path))
    for name in ("fetch_openml", "fetch_covtype", "fetch_20newsgroups"):
        monkeypatch.setattr(skd, name, silent)
    return tmp_path


@pytest.fixture
def openml(nowhere, monkeypatch):
    """An OpenML that has what the test puts into this dictionary."""
    shelf = {}

    def fetch(name, version, as_frame, parser):
        assert as_frame is False
        assert parser in ("auto", "liac-arff")
        data, target = shelf[name, version]
        return Bunch(data=data, target=target)

    monkeypatch.setattr(skd, "fetch_openml", fetch)
    return shelf


def as_text(y):
    return np.array([str(code) for code in y], dtype=object)


@pytest.mark.parametrize("name", REAL)
def test_neither_files_nor_network(nowhere, name):
    stem = REAL[name][0]
    message = rf"needs {stem}.* not found in {nowhere}; .*URLError.*data_home=.*MULTIPLANE_DATA"
    with pytest.raises(FileNotFoundError, match=message) as caught:
        getattr(datasets, f"load_{name}")()
    assert isinstance(caught.value.__cause__, URLError)


def test_downloads_can_be_forbidden(openml):
    with pytest.raises(FileNotFoundError, match="download_if_missing=False"):
        datasets.load_mnist(download_if_missing=False)


def test_half_a_pair_of_files_is_told(nowhere):
    (nowhere / "usps.xz").write_bytes(lzma.compress(b"1 1:1\n"))
    with pytest.raises(FileNotFoundError, match=r"usps needs usps\.t \(plain"):
        datasets.load_usps()


def test_usps_download(openml):
    rng = np.random.RandomState(0)
    y = np.r_[labels_summing_to(35_751, 7_291), labels_summing_to(9_735, 2_007)]
    X = rng.uniform(-1, 1, (9_298, 256))
    openml["usps", 2] = X, as_text(y)
    data = datasets.load_usps()
    assert data.source == "OpenML 'usps' version 2"
    assert data.X_train.dtype == np.float32
    np.testing.assert_array_equal(data.X_train, X[:7_291].astype(np.float32))
    np.testing.assert_array_equal(data.y_test, y[7_291:] - 1)


def test_a_download_in_another_order_is_refused(openml):
    y = np.r_[labels_summing_to(9_735, 2_007), labels_summing_to(35_751, 7_291)]
    openml["usps", 2] = np.zeros((9_298, 256)), as_text(y)
    with pytest.raises(FileNotFoundError, match=r"add up to \(28460, 7728\).*another order"):
        datasets.load_usps()


def test_letter_download_is_scaled_by_its_training_rows(openml):
    rng = np.random.RandomState(1)
    y = np.r_[labels_summing_to(203_433, 15_000), labels_summing_to(66_902, 5_000)]
    X = rng.randint(0, 16, (20_000, 16)).astype(float)
    X[:15_000, 0] = np.minimum(X[:15_000, 0], 10)  # a feature whose test rows go further
    openml["letter", 1] = X, np.array([chr(64 + code) for code in y], dtype=object)
    data = datasets.load_letter()
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    np.testing.assert_array_equal(data.X_train.min(axis=0), -1)
    np.testing.assert_array_equal(data.X_train.max(axis=0), 1)
    np.testing.assert_allclose(data.X_test[:, 0], X[15_000:, 0] / 5 - 1, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(data.y_train, y[:15_000])


def test_a9a_download_stays_sparse(openml):
    y = np.r_[signs_summing_to(-16_879, 32_561), signs_summing_to(-8_589, 16_281)]
    X = sp.random(48_842, 123, density=0.01, format="csr", random_state=2)
    openml["a9a", 1] = X, y.astype(float)  # OpenML keeps these labels as numbers
    data = datasets.load_a9a()
    assert data.X_train.format == data.X_test.format == "csr"
    assert data.X_train.dtype == np.float32
    assert data.X_test.shape == (16_281, 123)
    assert abs(data.X_test - X[32_561:].astype(np.float32)).max() == 0
    np.testing.assert_array_equal(data.y_train, y[:32_561])


def test_ijcnn1_download_leaves_the_repeated_rows(openml):
    y = np.r_[signs_summing_to(-40_284, 49_990), signs_summing_to(-74_277, 91_701), np.ones(49_990)]
    X = sp.random(len(y), 22, density=0.1, format="csr", random_state=3)
    openml["ijcnn", 1] = X, as_text(y)
    data = datasets.load_ijcnn1()
    assert data.X_train.shape == (49_990, 22)
    assert data.X_test.shape == (91_701, 22)
    np.testing.assert_array_equal(data.X_test[-1], X[141_690].toarray().ravel().astype(np.float32))


def test_mnist_download(openml):
    y = np.r_[labels_summing_to(267_236, 60_000), labels_summing_to(44_434, 10_000)]
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[0, 5], X[60_000, 6] = 255, 51
    openml["mnist_784", 1] = X, as_text(y)
    data = datasets.load_mnist()
    assert data.X_train.shape == (60_000, 784)
    assert data.X_train.dtype == np.float32
    assert data.X_train[0, 5] == 1
    assert data.X_test[0, 6] == np.float32(0.2)


def test_cifar_download_takes_250_a_class_and_brings_colour_to_the_end(openml):
    y = np.tile(np.arange(10), 300)
    planes = np.zeros((3_000, 3, 32, 32))
    planes[:, 0], planes[:, 2] = 255, np.arange(32)  # red everywhere, blue growing to the right
    planes[:, 1] = np.repeat(np.arange(300), 10)[:, None, None]  # green: how many of its class came
    openml["CIFAR_10_small", 1] = planes.reshape(3_000, 3_072), as_text(y)
    data = datasets.load_cifar10_small()
    assert np.bincount(data.y_train).tolist() == [200] * 10
    assert np.bincount(data.y_test).tolist() == [50] * 10
    image = data.X_test[0].reshape(32, 32, 3)
    assert (image[..., 0] == 1).all()
    came = {part: np.rint(data[f"X_{part}"][:, 1] * 255) for part in ("train", "test")}
    np.testing.assert_array_equal(came["train"], np.repeat(np.arange(200), 10))
    np.testing.assert_array_equal(came["test"], np.repeat(np.arange(200, 250), 10))
    np.testing.assert_allclose(image[4, :, 2], np.arange(32) / 255, rtol=1e-6)


def test_cifar10_from_a_file_and_by_download(openml, tmp_path):
    y = np.r_[np.arange(50_000) % 10, np.arange(10_000) % 10]
    planes = np.zeros((60_000, 3, 32, 32), dtype=np.uint8)
    planes[:, 2, 0, 1] = 51  # blue, in the second pixel
    openml["CIFAR_10", 1] = planes.reshape(60_000, 3_072), as_text(y)
    data = datasets.load_cifar10()
    assert data.X_train.shape == (50_000, 3_072)
    assert data.X_test.shape == (10_000, 3_072)
    image = data.X_test[3].reshape(32, 32, 3)
    assert image[0, 1, 2] == np.float32(0.2)
    assert np.count_nonzero(image) == 1
    images = planes[:4].transpose(0, 2, 3, 1)
    np.savez(tmp_path / "cifar10.npz", x_train=images, y_train=y[:4], x_test=images, y_test=y[:4])
    X, labels, _, _ = datasets.load_cifar10(data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, data.X_train[:4])
    assert labels.tolist() == [0, 1, 2, 3]


def test_waveform_download_drops_the_pure_noise(openml):
    X = np.random.RandomState(4).normal(size=(5_000, 40))
    openml["waveform-5000", 1] = X, as_text(np.arange(5_000) % 3)
    X_21, y = datasets.load_waveform(return_X_y=True)
    assert X_21.flags.c_contiguous
    np.testing.assert_array_equal(X_21, X[:, :21].astype(np.float32))
    np.testing.assert_array_equal(y, np.arange(5_000) % 3)


def test_covtype_download(nowhere, monkeypatch):
    y = labels_summing_to(1_191_929, 581_012).astype(np.int32)
    X = np.zeros((581_012, 54))
    X[7, 3] = 258
    monkeypatch.setattr(skd, "fetch_covtype", lambda *, return_X_y: (X, y))
    data = datasets.load_covtype()
    assert data.X.dtype == np.float32
    assert data.X[7, 3] == 258
    np.testing.assert_array_equal(data.y, y)


def test_news20_download_counts_words(nowhere, monkeypatch):
    sums = {"train": (116_455, 11_314), "test": (77_530, 7_532)}
    posts = {"train": "Puck puck at 9 a 7th-rate", "test": "the PUCK, unseen"}

    def fetch(*, subset, shuffle):
        assert shuffle is False
        y = labels_summing_to(*sums[subset]) - 1
        texts = [posts[subset]] * len(y)
        texts[0] += " hapax" if subset == "train" else ""
        return Bunch(data=texts, target=y, target_names=[f"group.{i}" for i in range(20)])

    monkeypatch.setattr(skd, "fetch_20newsgroups", fetch)
    data = datasets.load_news20()
    assert data.feature_names == ["at", "puck", "rate", "th"]  # hapax is in one post only
    assert data.X_train.format == data.X_test.format == "csr"
    assert data.X_train.dtype == np.float32
    assert data.X_train[0].toarray().tolist() == [[1, 2, 1, 1]]
    assert data.X_test[0].toarray().tolist() == [[0, 1, 0, 0]]
    assert data.y_train.sum() == 116_455
    assert data.target_names[3] == "group.3"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("usps", ("usps", 2)),
        ("letter", ("letter", 1)),
        ("a9a", ("a9a", 1)),
        ("mnist", ("mnist_784", 1)),
    ],
)
def test_download_equals_files(name, key, request):
    data = real(name)
    shelf = request.getfixturevalue("openml")  # only now, as it hides the files
    (X_train, X_test), ys = arrays(data)
    y = np.concatenate(ys)
    if name == "letter":
        stored = np.rint((np.r_[X_train, X_test] + 1) * 7.5), [chr(64 + code) for code in y]
    elif name == "usps":
        stored = np.r_[X_train, X_test], as_text(y + 1)
    elif name == "a9a":
        stored = sp.vstack([X_train, X_test]).tocsr(), y.astype(float)
    else:
        stored = np.rint(np.r_[X_train, X_test] * 255).astype(np.uint8), as_text(y)
    shelf[key] = stored
    again = getattr(datasets, f"load_{name}")()
    for one, other in zip(arrays(again)[0], (X_train, X_test), strict=True):
        # LIBSVM's letter file has six digits; the others come back bit for bit
        assert abs(one - other).max() <= (1e-6 if name == "letter" else 0)
    for one, other in zip(arrays(again)[1], ys, strict=True):
        np.testing.assert_array_equal(one, other)
