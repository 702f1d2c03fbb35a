"""Digits without an end: bytes against a twin, blocks against each other, labels against images."""

import hashlib
from itertools import islice

import numpy as np
import pytest
from digits_twin import deformed

from multiplane import AMMClassifier, _native, datasets
from multiplane.data import DataError
from multiplane.datasets._digit_source import STRENGTH, DigitSource, Strength, texture

MOST = 32_768


def some_images(n=7, seed=0):
    """Random bytes: every pixel and every weight of an interpolation then counts."""
    return np.random.RandomState(seed).randint(0, 256, size=(n, 784)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    """A data folder whose mnist has seven training images, number i of digit 9 - i."""
    images = some_images().reshape(-1, 28, 28)
    y = 9 - np.arange(7)
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=y, x_test=images[:1], y_test=y[:1])
    return tmp_path


def rows(source):
    Xs, ys, _ = zip(*source, strict=True)
    return np.concatenate(Xs), np.concatenate(ys)


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "strength",
    [STRENGTH.in_integers(), (MOST,) * 5, (0,) * 5]
    + [tuple(np.eye(5, dtype=int)[part] * 9_000) for part in range(5)],
)
@pytest.mark.parametrize(("seed", "first"), [(0, 0), (2**64 - 1, 10**12)])
def test_twin(strength, seed, first):
    images = some_images()
    X, image = _native.deform(images, texture(), strength, seed, first, 20)
    for i in range(20):
        row, number = deformed(images, texture(), strength, seed, first + i)
        assert number == image[i]
        np.testing.assert_array_equal(row, X[i])


def test_strength_zero_leaves_the_images(folder):
    still = DigitSource(some_images(), np.arange(7), 0, 100, 10, Strength(0, 0, 0, 0, 0))
    X, y = rows(still)
    np.testing.assert_array_equal(X, some_images()[y] / np.float32(255))
    # and grey values are scaled as the loader does it
    loaded = datasets.load_mnist(data_home=folder)
    np.testing.assert_array_equal(X, loaded.X_train[y])


def test_each_part_moves_as_its_name_says():
    # One bright spot right of the middle, seen where it lands.
    spot = np.zeros((28, 28))
    spot[12:16, 22:24] = 255
    labels = np.zeros(1)
    at_y, at_x = np.mgrid[:28, :28]

    def centres(**strength):
        parts = Strength(0, 0, 0, 0, 0)._replace(**strength)
        images = spot.reshape(1, 784).astype(np.uint8)
        X, _ = rows(DigitSource(images, labels, 1, 500, 500, parts))
        X = X.reshape(-1, 28, 28)
        mass = X.sum(axis=(1, 2))
        return (X * at_x).sum(axis=(1, 2)) / mass - 22.5, (X * at_y).sum(axis=(1, 2)) / mass - 13.5

    def spans(**strength):
        return [end for d in centres(**strength) for end in (d.min(), d.max())]

    # The spot is 9 pixels from the middle; it goes where (1 + A) z = 9, as A tells whence to read.
    assert spans(rotation=0.2) == pytest.approx([-0.35, 0, -1.73, 1.73], abs=0.1)
    assert spans(scale=0.1) == pytest.approx([-0.82, 1, 0, 0], abs=0.1)
    assert spans(shear=0.2) == pytest.approx([0, 0, 0, 0], abs=0.1)  # level with the middle
    assert spans(shift=2) == pytest.approx([-2, 2, -2, 2], abs=0.1)
    dx, dy = centres(shift=2)
    assert abs(np.corrcoef(dx, dy)[0, 1]) < 5 / np.sqrt(500)  # drawn apart
    # Var(e F) = 1/3 for a uniform e; the spot averages a little of F away
    assert np.std(centres(elastic=1), axis=1) == pytest.approx([0.53, 0.53], abs=0.1)


def test_texture_is_a_smooth_torus():
    whole = texture()
    np.testing.assert_array_equal(whole[256:], whole[:28])
    np.testing.assert_array_equal(whole[:, 256:], whole[:, :28])
    field = whole[:256, :256] / 256
    assert np.mean(field**2) == pytest.approx(1, abs=0.01)  # each value is rounded down
    # At distance d a Gaussian filter of deviation 4 leaves a correlation of exp(-d² / 64).
    for distance in (1, 4, 8):
        near = np.mean(field * np.roll(field, distance, axis=0))
        assert near == pytest.approx(np.exp(-(distance**2) / 64), abs=0.1)


def test_the_same_bytes_everywhere():
    # The values themselves: integers all through, so that no machine may have others.
    X, image = _native.deform(some_images(), texture(), (9_000, 6_000, 9_000, 200, 250), 0, 0, 100)
    found = [hashlib.sha256(a.tobytes()).hexdigest()[:16] for a in (texture(), X, image)]
    assert found == ["3c23d9c434f29b57", "02fac42ca69613b4", "1412706efd8a1b57"]


@pytest.mark.parametrize("block_size", [1, 7, 1_000, 2_345, 10_000])
def test_rows_depend_on_the_seed_and_their_number_alone(folder, block_size):
    source = datasets.make_infinite_digits(3, 2_345, block_size=block_size, data_home=folder)
    sizes = [block.n_rows for block in source]
    assert sizes[:-1] == [block_size] * (len(sizes) - 1)
    assert sum(sizes) == source.n_rows == 2_345
    assert len(sizes) == source.n_blocks
    longer = datasets.make_infinite_digits(3, 5_000, data_home=folder)
    expected = [part[:2_345] for part in rows(longer)]
    assert_same(rows(source), expected)
    assert_same(rows(source), expected)  # again
    assert_same(source.load()[:2], expected)


def test_blocks_come_in_any_order(folder):
    source = datasets.make_infinite_digits(3, 45, block_size=10, data_home=folder)
    blocks = list(source)
    for number, block in zip([4, 0, 2], source.read([4, 0, 2]), strict=True):
        assert_same(block[:2], blocks[number][:2])


def test_no_end(folder):
    source = datasets.make_infinite_digits(3, block_size=10, data_home=folder)
    assert source.n_rows is source.n_blocks is None
    assert not source.once
    some = islice(source, 200)
    assert_same(rows(some), rows(datasets.make_infinite_digits(3, 2_000, data_home=folder)))
    with pytest.raises(DataError, match="without end cannot be loaded; say how many"):
        source.load()


def test_labels_belong_to_their_images(folder):
    X, y = rows(datasets.make_infinite_digits(0, 7_000, data_home=folder))
    assert y.dtype == np.int64
    # five standard deviations of a binomial count
    assert (abs(np.bincount(y, minlength=10)[3:] - 1_000) < 5 * np.sqrt(1_000)).all()
    # Random bytes are like nothing but themselves, even when they are moved a little.
    smooth = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
    means = np.array([smooth[y == digit].mean(axis=0) for digit in range(3, 10)])
    images = some_images().reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
    likeness = np.corrcoef(means, images)[:7, 7:]  # digits 3 to 9 against images 0 to 6
    np.testing.assert_array_equal(likeness.argmax(axis=1), 9 - np.arange(3, 10))


def test_seeds_differ(folder):
    one, other = (datasets.make_infinite_digits(s, 50, data_home=folder).load() for s in (0, 1))
    assert (one.X != other.X).any(axis=1).all()
    assert (one.y != other.y).any()


def test_several_passes_of_fit_stream(folder):
    source = datasets.make_infinite_digits(0, 2_500, block_size=600, data_home=folder)
    classes = np.arange(10)
    streamed, learnt = (AMMClassifier(alpha=1e-4, random_state=0) for _ in range(2))
    streamed.fit_stream(source, max_iter=2, shuffle=False, classes=classes)
    X, y, _ = source.load()
    learnt.fit_stream((X, y), max_iter=2, shuffle=False, classes=classes)
    np.testing.assert_array_equal(streamed.coef_, learnt.coef_)
    assert streamed.t_ == learnt.t_
    shuffled = AMMClassifier(alpha=1e-4, random_state=0).fit_stream(source, max_iter=2, window=2)
    assert shuffled.n_iter_ == 2
    assert shuffled.score(X, y) > 0.9  # seven images


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, r"seed must be an integer of at least 0, got -1; try"),
        ({"seed": 0.5}, r"seed must be an integer of at least 0, got 0\.5; try"),
        ({"seed": None}, r"seed must be an integer of at least 0, got None; try"),
        ({"seed": 2**64}, r"seed must be less than 2 \*\* 64, got 18446744073709551616; try"),
        ({"n": 0}, r"n must be .*got 0; use n=None"),
        ({"n": 8e6}, r"n must be .*got 8000000\.0; use n=None"),
        ({"block_size": 0}, r"block_size must be .*got 0; try"),
    ],
)
def test_wrong_parameters_are_told(folder, wrong, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_infinite_digits(**wrong, data_home=folder)


def test_without_mnist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mnist needs mnist\.npz.*download_if_missing"):
        datasets.make_infinite_digits(data_home=tmp_path, download_if_missing=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"images": np.zeros((0, 784), np.uint8)},
        {"images": np.zeros((2, 783), np.uint8)},
        {"texture": np.zeros((284, 283), np.int16)},
        {"strength": (0, 0, 0, 0, MOST + 1)},
        {"strength": (-1, 0, 0, 0, 0)},
        {"first": -1},
        {"first": 2**62},
        {"n": -1},
        {"n": 2**24 + 1},
    ],
)
def test_the_loop_refuses_what_it_cannot_read(wrong):
    good = {"images": some_images(), "texture": texture(), "strength": (0,) * 5, "seed": 0}
    with pytest.raises(ValueError, match="must"):
        _native.deform(**{**good, "first": 0, "n": 1, **wrong})


def test_real_digits_stay_readable():
    # The nearest class mean of raw images reads 8 in 10; of deformed ones nearly as many.
    folder = datasets.data_directory()
    if folder is None or not (folder / "mnist.npz").is_file():
        pytest.skip("no mnist.npz: set MULTIPLANE_DATA to a folder that has it")
    data = datasets.load_mnist()
    X, y, _ = datasets.make_infinite_digits(0, 5_000).load()
    means = np.array([data.X_train[data.y_train == digit].mean(axis=0) for digit in range(10)])

    def score(X, y):
        return np.mean(np.argmax(X @ means.T - (means**2).sum(axis=1) / 2, axis=1) == y)

    assert score(data.X_train[:5_000], data.y_train[:5_000]) > 0.78
    assert score(X, y) > 0.75
