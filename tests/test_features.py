"""Features: their mathematics, all kinds of arrays, scikit-learn's conventions."""

import copy
import importlib.util
import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiplane import StagewiseLeastSquaresClassifier, datasets
from multiplane._arrays import Place
from multiplane.features import (
    ConvolutionalPatches,
    FeatureSubset,
    RandomFourier,
    RandomLogit,
    RandomPolynomial,
)
from multiplane.models._maps import chunk_size

SMALL = {"image_shape": (1, -1, 1), "patch_size": 1, "pool": 1}  # any row is an image

# Name → a function of n_features and further parameters, for rows of six columns.
GENERATORS = {
    "fourier": RandomFourier,
    "fourier-pca": lambda n, **p: RandomFourier(n, n_components=3, **p),
    "polynomial": lambda n, **p: RandomPolynomial(n, degree=3, **p),
    "logit": RandomLogit,
    "logit-pca": lambda n, **p: RandomLogit(n, n_components=2, width="2*median", **p),
    "subset": FeatureSubset,
    "subset-random": lambda n, **p: FeatureSubset(n, order="random", **p),
    "patches": lambda n, **p: ConvolutionalPatches(
        n, image_shape=(2, 3), patch_size=2, pool=1, filters="random", **p
    ),
}
EACH = pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(
    parametrize_with_checks
).parameters else {}  # scikit-learn before 1.9 has no such parameter  # fmt: skip


def rows(n=200, d=6, seed=0):
    """Half of the numbers are zero, and columns differ in scale."""
    random = np.random.RandomState(seed)
    return random.standard_normal((n, d)) * (random.rand(n, d) < 0.5) * np.arange(1, d + 1)


def images(n=30, seed=0):
    """Smooth 9 × 8 images with two channels."""
    random = np.random.RandomState(seed)
    noise = random.standard_normal((n, 9, 8, 2))
    smooth = noise + np.roll(noise, 1, axis=1) + np.roll(noise, 1, axis=2)
    return smooth.reshape(n, -1)


def patches(n=40, **parameters):
    parameters = {"image_shape": (9, 8, 2), "patch_size": 3, "pool": 2, **parameters}
    return ConvolutionalPatches(n, random_state=0, **parameters)


# --- scikit-learn's conventions -----------------------------------------------------------


ANY_ARRAY = "features of rows of another kind than those of fit are welcome: maps move to the rows"


@parametrize_with_checks(
    [
        RandomFourier(20),
        RandomFourier(5, n_components=1),
        RandomPolynomial(20),
        RandomLogit(20),
        FeatureSubset(1),
        ConvolutionalPatches(8, **SMALL),
        ConvolutionalPatches(8, filters="random", contrast=None, whiten=None, degree=1, **SMALL),
    ],
    expected_failed_checks=lambda _: {"check_array_api_same_namespace": ANY_ARRAY},
    **STRICT,
)
def test_common_checks(estimator, check):
    check(estimator)


@EACH
def test_alone_and_in_a_pipeline(make):
    X = rows()
    y = X[:, 5] > 0
    generator = make(4, random_state=0)
    Z = generator.fit_transform(X)
    assert Z.shape == (200, 4)
    assert np.array_equal(Z, clone(generator).fit(X).transform(X)), "a seed, the same features"
    pipe = make_pipeline(generator, RidgeClassifier()).fit(X, y)
    names = pipe[:-1].get_feature_names_out()
    assert len(names) == len(set(names)) == 4
    frame = clone(generator).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == list(names)
    assert np.array_equal(frame.to_numpy(), Z)


@EACH
def test_sources_survive_a_pickle_and_give_new_blocks(make):
    X = rows()
    source = make(4).prepare(X, np.random.RandomState(0))
    first = source.draw(2, np.random.RandomState(1))
    twins = [pickle.loads(pickle.dumps(source)), copy.deepcopy(source)]
    second = source.draw(2, np.random.RandomState(2))
    Z = source.input(X)
    for twin in twins:
        assert np.array_equal(twin.draw(2, np.random.RandomState(2))(twin.input(X)), second(Z))
    assert np.array_equal(pickle.loads(pickle.dumps(second))(Z), second(Z))
    assert not np.allclose(first(Z), second(Z))


@EACH
def test_bad_rows_are_refused(make):
    X = rows()
    generator = make(4).fit(X)
    for bad in (np.nan, np.inf):
        X[3, 1] = bad
        for method in (generator.fit, generator.transform):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method(X)
    with pytest.raises(ValueError, match="expecting 6 features"):
        generator.transform(rows(d=4))


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        (RandomFourier(width="mean"), r"'auto', got 'mean'; 'median' is a good start"),
        (RandomFourier(width="x*median"), "got 'x\\*median'"),
        (RandomFourier(width="-1*median"), "got '-1\\*median'"),
        (RandomFourier(width=0.0), "'width' parameter of RandomFourier must be"),
        (RandomLogit(n_components=7), "at most the number of columns, 6, got 7; use n_comp"),
        (RandomPolynomial(degree=0), "'degree' parameter"),
        (RandomFourier(0), "'n_features' parameter"),
        (FeatureSubset(7), "n_features must be at most 6, .* FeatureSubset .* got 7; lower it"),
        (FeatureSubset(2, order="best"), "'order' parameter"),
        (patches(), "images with 6 numbers, got \\(9, 8, 2\\); one of them may be -1"),
        (patches(image_shape=(-1, 4)), "images with 6 numbers"),
        (patches(image_shape=(2, 3, 1, 1)), "images with 6 numbers"),
        (patches(image_shape=(2, 3)), "patch_size must be at most .* 2 x 3, got 3; lower it"),
        (patches(image_shape=(2, 3), patch_size=2), "in a line, 1, got 2; lower it"),
        (patches(image_shape=(2, 3), patch_size=1, n_filters=1, pool=1), "must be at most 5, "),
    ],
)
def test_errors(generator, message):
    with pytest.raises(ValueError, match=message):
        generator.fit(rows())


def test_principal_axes_of_too_many_columns():
    wide = sp.csr_array((3, 20_000))
    with pytest.raises(ValueError, match="at most 16,384 columns, got 20,000; project the rows"):
        RandomFourier(n_components=2).fit(wide)


# --- all kinds of arrays ------------------------------------------------------------------


def other_arrays(X):
    """X as arrays of other kinds, of those that are installed."""
    for name in ("array_api_strict", "torch"):
        if importlib.util.find_spec(name):
            yield importlib.import_module(name).asarray(X)


IMAGES = {
    "kmeans": patches(),
    "no-contrast": patches(contrast=None, root=False, filters="patches", products="squares"),
    "stride": patches(stride=2, degree=1, filters="random", whiten=None),
}
EVERYTHING = {name: make(4, random_state=0) for name, make in GENERATORS.items()} | IMAGES


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EVERYTHING)
def test_same_features_on_all_arrays(name, dtype):
    generator = EVERYTHING[name]
    X = (images() if name in IMAGES else rows()).astype(dtype)
    expected = generator.fit_transform(X)
    assert expected.dtype == dtype
    # A few roundings of sums of up to a hundred terms; features are of size 1, and a root's slope
    # is at most 5 (it starts at 0.01).
    close = {"rtol": 0, "atol": 3e-4 if dtype == "float32" else 1e-11}

    sparse = generator.fit_transform(sp.csr_array(X))
    assert sparse.dtype == dtype
    assert sp.issparse(sparse) == name.startswith("subset")
    sparse = sparse.toarray() if sp.issparse(sparse) else sparse
    np.testing.assert_allclose(sparse, expected, **close)

    with sklearn.config_context(array_api_dispatch=True):
        for A in other_arrays(X):
            Z = generator.fit_transform(A)
            assert type(Z) is type(A)
            assert Z.dtype == A.dtype
            np.testing.assert_allclose(np.asarray(Z), expected, **close)
            # A map learnt from one kind, applied to another.
            np.testing.assert_allclose(generator.transform(X), expected, **close)


def test_other_arrays_need_dispatch():
    """Without scikit-learn's setting an array of another kind is read as NumPy's."""
    for A in other_arrays(rows()):
        assert isinstance(RandomFourier(4, random_state=0).fit_transform(A), np.ndarray)


@pytest.mark.parametrize("name", EVERYTHING)
def test_types_of_float_follow_the_rows(name):
    """Learnt in one type, applied in another; whole numbers are read as what holds them."""
    generator = EVERYTHING[name]
    X = images() if name in IMAGES else rows()
    X = np.round(10 * X)
    generator.fit(X.astype(np.float32))
    low = generator.transform(X.astype(np.float32))
    assert np.array_equal(generator.transform(X.astype(np.int16)), low)
    high = generator.transform(X)
    assert np.array_equal(generator.transform(X.astype(np.int64)), high)
    assert high.dtype == np.float64
    np.testing.assert_allclose(low, high, rtol=1e-4, atol=1e-3)  # rows are ten times larger here
    assert generator.fit(X).transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", EVERYTHING)
def test_chunks_do_not_matter(name, monkeypatch):
    generator = EVERYTHING[name]
    X = images() if name in IMAGES else rows()
    Z = generator.fit_transform(X)
    monkeypatch.setattr("multiplane.models._maps.floats_at_once", lambda place: 1)
    monkeypatch.setattr("multiplane.models._image_maps.floats_at_once", lambda place: 1)
    assert chunk_size(generator.map_, Place.of(X)) == 16
    np.testing.assert_allclose(generator.transform(X), Z, rtol=0, atol=1e-12)  # float64
    for A in (X, sp.csr_array(X)):
        few = generator.transform(A[:1])
        few = few.toarray() if sp.issparse(few) else few
        np.testing.assert_allclose(few, Z[:1], rtol=0, atol=1e-12)


# --- random features ----------------------------------------------------------------------


def test_fourier_features_approach_the_gaussian_kernel():
    X = rows(50) / 6
    width = 1.7
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    for n in (20_000, 20_001):
        Z = RandomFourier(n, width=width, random_state=0).fit_transform(X)
        # Means of 10,000 cosines, of standard deviation below 0.71: five of theirs.
        np.testing.assert_allclose(
            Z @ Z.T, np.exp(-squares / (2 * width**2)), atol=5 * 0.71 / np.sqrt(10_000)
        )
    assert RandomFourier(1).fit_transform(X).shape == (50, 1)


def test_polynomials_approach_their_kernel():
    X = rows(50) / 6
    C = X - X.mean(axis=0)
    for degree in (1, 2):
        generator = RandomPolynomial(40_000, degree=degree, width=1.7, random_state=0)
        Z = generator.fit_transform(X)
        kernel = (0.5 + C @ C.T / 1.7**2) ** degree
        # Means of products of 2·degree Gaussians: their relative deviation is up to 3^degree.
        size = np.sqrt(np.outer(np.diag(kernel), np.diag(kernel)))
        assert np.max(np.abs(Z @ Z.T - kernel) / size) < 5 * 3**degree / np.sqrt(40_000)


def test_polynomials_are_of_their_degree():
    """Along a line, differences of order degree + 1 vanish, those of order degree do not."""
    line = np.outer(np.arange(8.0), [1.0, -0.5]) + 3
    for degree in (1, 2, 3):
        Z = RandomPolynomial(10, degree=degree, random_state=0).fit_transform(line)
        assert np.max(np.abs(np.diff(Z, degree + 1, axis=0))) < 1e-12  # values of size 1
        assert np.min(np.abs(np.diff(Z, degree, axis=0))) > 1e-6


def test_logits_are_sigmoids_spread_around_the_rows():
    X = rows(500) + 100
    generator = RandomLogit(1000, random_state=0)
    Z = generator.fit_transform(X)
    assert Z.min() >= 0
    assert Z.max() <= 1
    # The map holds halves of weights and offsets.
    argument = 2 * (X @ generator.map_.weights + generator.map_.offsets)
    np.testing.assert_allclose(Z, 1 / (1 + np.exp(-argument)), atol=1e-14)
    # Variance ½ (from the rows, the median distance being about √2 times that from the mean) + 2.
    assert 1.8 < argument.var() < 3.2
    far = generator.transform(np.full((1, 6), 1e30))
    assert np.all((far == 0) | (far == 1)), "nothing overflows"


def test_widths():
    X = rows(300)
    median = np.median(np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))  # of all pairs

    def width(X, **parameters):
        return RandomFourier(2, **parameters).prepare(X, np.random.RandomState(0)).width

    # All rows are in the sample; the rest is rounding of differences of squares.
    assert width(X) == pytest.approx(median, rel=1e-12)
    assert width(sp.csr_array(X)) == pytest.approx(median, rel=1e-12)
    assert width(X + 1e6) == pytest.approx(median, rel=1e-6)
    assert width(X, width="1.3*median") == width(X, width=" 1.3 * median") == 1.3 * width(X)
    assert width(X, width=2) == 2
    assert width(np.tile(X, (10, 1))) == pytest.approx(median, rel=0.1)  # a third of them
    # All distances are zero, or most, but for rounding.
    same = np.random.RandomState(0).standard_normal((2, 50))[[*12 * [0], *20 * [1]]]
    assert width(same[:9]) == width(same[:1]) == 1
    assert width(same) == pytest.approx(np.linalg.norm(same[0] - same[-1]))
    # After the projection distances are smaller.
    assert width(X, n_components=1) < 0.8 * median


def test_width_by_trial_on_few_rows():
    """More features than rows: with one ridge for all widths it had come out far too large."""
    X, y = load_digits(return_X_y=True)
    scores = {}
    for width in ("median", "auto"):
        clf = StagewiseLeastSquaresClassifier(
            features=RandomFourier(width=width), n_stages=4, random_state=0
        )
        scores[width] = clf.fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert scores["auto"] > scores["median"] - 0.01 > 0.9


@pytest.mark.parametrize("make", [RandomFourier, RandomPolynomial, RandomLogit])
def test_width_by_trial(make):
    """As the labels ask: fine structure needs a small width, a noisy slope a large one."""
    random = np.random.RandomState(0)
    X = random.rand(1200, 2)
    fine = (np.floor(X * 6).sum(axis=1) % 2).astype(int)
    slope = np.where(X[:, 0] > 0.5 + random.randn(1200) / 4, "right", "left")

    def width(y, X=X, weight=None, **parameters):
        generator = make(64, width="auto", **parameters)
        return generator.prepare(X, np.random.RandomState(0), weight, y).width

    median = make(2).prepare(X, np.random.RandomState(0)).width
    codes = np.unique(slope, return_inverse=True)[1]
    found = width(codes)
    if make is RandomFourier:  # the others have scales of many sizes anyway
        assert width(fine) < median < found
    assert found == width(codes)
    assert found == pytest.approx(width(codes, X=sp.csr_array(X)), rel=1e-12)
    assert found == width(np.eye(2, dtype=int)[codes])  # as indicators
    # A row of weight 0 is as good as absent: fine structure that does not count.
    weight = np.r_[np.zeros(600), np.ones(600)]
    both = np.r_[fine[:600], codes[600:]]
    assert width(both, weight=weight) == width(codes[600:], X=X[600:])
    # Through the public faces, with labels of any kind.
    transformer = make(8, width="auto", random_state=0).fit(X, slope)
    assert transformer.transform(X).shape == (1200, 8)
    assert transformer.width_ > 0
    clf = StagewiseLeastSquaresClassifier(features=make(width="auto"), n_stages=2, random_state=0)
    assert clf.fit(X, slope).score(X, slope) > 0.75
    # Labels that do not matter may be anything, and as many as there are rows.
    make(8).fit(X[:2], np.array([None, "a"], dtype=object))
    assert make(8, width="auto").fit(X[:300], np.arange(300) * 1e9)
    with pytest.raises(ValueError, match="needs labels, got y=None"):
        make(8, width="auto").fit(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(8, width="auto").fit(X, slope[:-1])
    assert make(1, width="auto").fit(X[:1], slope[:1])
    constant = np.ones((20, 2))
    assert np.isfinite(make(4, width="auto").fit(constant, slope[:20]).transform(constant)).all()


@pytest.mark.parametrize("n_components", [None, 3])
@pytest.mark.parametrize("make", [RandomFourier, RandomPolynomial, RandomLogit])
def test_weights_are_repetitions(make, n_components):
    X, weight = rows(200), np.random.RandomState(0).randint(4, size=200)

    def source(X, weight):
        return make(n_components=n_components).prepare(X, np.random.RandomState(0), weight)

    heavy = source(X, weight / 3)  # only ratios count
    again = source(np.repeat(X, weight, axis=0), None)
    # Sums in another order.
    assert heavy.width == pytest.approx(again.width, rel=1e-9)
    np.testing.assert_allclose(heavy.centre, again.centre, atol=1e-9)
    np.testing.assert_allclose(heavy.input(X), again.input(X), atol=1e-8)


def test_weighted_frequencies():
    X, weight = rows(50), np.random.RandomState(0).randint(4, size=50)
    X[np.abs(X) < 1] = 0
    for kind in (np.asarray, sp.csr_array):
        heavy = FeatureSubset().prepare(kind(X), np.random.RandomState(0), weight).counts
        repeated = np.count_nonzero(np.repeat(X, weight, axis=0), axis=0)
        np.testing.assert_allclose(heavy, repeated / weight.max())


def test_left_and_right_do_not_matter_in_a_mirror():
    X = images()
    g = patches(mirror=True).fit(X)
    turned = X.reshape(len(X), 9, 8, 2)[:, :, ::-1].reshape(len(X), -1)
    np.testing.assert_allclose(g.transform(turned), g.transform(X), atol=1e-5)
    plain = g.set_params(mirror=False).fit(X)
    assert np.abs(plain.transform(turned) - plain.transform(X)).max() > 0.1


@pytest.mark.parametrize("offset", [0, 1e4])
def test_principal_axes(offset):
    X = rows(300) + offset
    pca = PCA(4, svd_solver="full").fit(X)
    project = RandomFourier(2, n_components=4).prepare(X, np.random.RandomState(0)).input
    assert project.n_features == 4
    sign = np.sign(np.sum(project.axes.T * pca.components_, axis=1))
    # Both are float64; offset² / variance is 1e8 at worst, but neither squares the offset.
    np.testing.assert_allclose(project(X) * sign, pca.transform(X), atol=1e-8)
    largest = np.argmax(np.abs(project.axes), axis=0)
    assert np.all(project.axes[largest, range(4)] > 0)
    # In float32 the mean is off by up to 1e-3, the same for all rows; differences of rows are not.
    X = X.astype(np.float32)
    Z, exact = (
        RandomFourier(2, n_components=4).prepare(A, np.random.RandomState(0)).input(A)
        for A in (X, X.astype(np.float64))
    )
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z - Z[0], exact - exact[0], atol=2e-5)  # rows are of size 10


@pytest.mark.parametrize("name", [n for n in GENERATORS if n not in ("patches", "subset-random")])
def test_a_row_of_weight_two_is_two_rows(name):
    """And one of weight 0 is none: in what is learnt; which numbers are drawn is another matter."""
    X = rows(60)
    weight = np.tile([0.0, 1, 2], 20)
    random = np.random.RandomState(0)
    weighted = GENERATORS[name](4).prepare(X, random, weight)
    repeated = GENERATORS[name](4).prepare(np.repeat(X, weight.astype(int), axis=0), random)
    if name == "subset":
        np.testing.assert_allclose(2 * weighted.counts, repeated.counts)  # of the largest weight
        return
    assert weighted.width == pytest.approx(repeated.width, rel=1e-9)
    np.testing.assert_allclose(weighted.centre, repeated.centre, atol=1e-9)  # rows of size 10
    np.testing.assert_allclose(weighted.input(X), repeated.input(X), atol=1e-9)


@settings(max_examples=30)
@given(
    arrays(np.float64, (7, 3), elements=st.sampled_from([0.0, 1.0, -1.0, 1e-30, 1e6, 0.1])),
    st.integers(1, 3),
)
def test_awkward_rows_give_finite_features(X, n):
    for make in GENERATORS.values():
        generator = make(n, random_state=0)
        if isinstance(generator, ConvolutionalPatches):
            generator.set_params(image_shape=(1, 3), patch_size=1)
        Z = generator.fit_transform(X)
        assert Z.shape == (7, n)
        assert np.all(np.isfinite(Z))


# --- columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["gradient", "frequency", "random"])
def test_each_column_once_in_a_pass(order):
    X = rows(d=10)
    random = np.random.RandomState(0)
    source = FeatureSubset(order=order).prepare(X, random)
    for _ in range(3):
        blocks = [source.draw(4, random, lambda: np.arange(10.0)).columns for _ in range(3)]
        assert [len(block) for block in blocks] == [4, 4, 2], "a pass ends with what is left"
        assert sorted(np.concatenate(blocks)) == list(range(10))
    assert len(source.draw(99, random, lambda: np.arange(10.0)).columns) == 10


def test_order_by_gradient():
    """A new pass asks for a new gradient; with reorder='block', each block does."""
    X = rows(d=4)
    random = np.random.RandomState(0)
    gradients = [np.array(g) for g in ([1.0, 4, 3, 2], [9, 9, 9, 8.0], [4, 3, 1, 2.0])]

    def blocks(reorder):
        asked = iter(gradients)
        source = FeatureSubset(reorder=reorder).prepare(X, random)
        return [source.draw(2, random, lambda: next(asked)).columns.tolist() for _ in range(3)]

    assert blocks("pass") == [[1, 2], [3, 0], [0, 1]]
    assert blocks("block") == [[1, 2], [0, 3], [0, 1]]


def test_order_by_frequency():
    X = np.array([[0, 1, 1, 0], [0, 2, 0, 0], [3, 1, 2, 0]])
    for order in ("frequency", "gradient"):  # alone there is no gradient
        for A in (X, sp.csr_array(X)):
            assert FeatureSubset(4, order=order).fit(A).map_.columns.tolist() == [1, 2, 0, 3]
    explicit = sp.csr_array(X.astype(float))
    explicit.data[0] = 0  # an explicit zero is none
    assert FeatureSubset(4).fit(explicit).map_.columns.tolist() == [1, 2, 0, 3]
    explicit.data[1] = 0
    assert FeatureSubset(4).fit(explicit).map_.columns.tolist() == [1, 0, 2, 3]


def test_chosen_columns_and_their_names():
    X = rows(d=10)
    for A in (X, sp.csr_array(X), sp.csr_matrix(X)):
        generator = FeatureSubset(4, order="random", random_state=1)
        Z = generator.fit_transform(A)
        chosen = generator.map_.columns
        assert np.array_equal(Z.toarray() if sp.issparse(Z) else Z, X[:, chosen])
        assert list(generator.get_feature_names_out()) == [f"x{i}" for i in chosen]
        words = np.array(list("abcdefghij"), dtype=object)
        assert list(generator.get_feature_names_out(words)) == list(words[chosen])


# --- images -------------------------------------------------------------------------------


def slow_patches(generator, X):
    """All formulas, for one image after another, with loops."""
    pooled, pairs = generator.map_.first, generator.map_.then
    g = pooled.geometry
    side, out = range(g.patch), []
    offset = -(pooled.high + pooled.low) / 2
    threshold = (pooled.high - pooled.low)[0] / 2
    for image in X.reshape(len(X), g.height, g.width, g.channels):
        responses = np.empty((*g.grid, pooled.filters.shape[1]))
        for a, b in np.ndindex(g.grid):
            patch = np.array(
                [image[g.stride * a + i, g.stride * b + j] for i in side for j in side]
            )
            patch = patch.ravel() - (pooled.shift if pooled.flat is None else patch.mean())
            size = 1 if pooled.flat is None else np.sqrt(patch.var() + pooled.flat)
            responses[a, b] = patch @ pooled.filters / size + offset
        numbers = []
        for rows_ in np.array_split(responses, g.pool, axis=0):
            for cell in np.array_split(rows_, g.pool, axis=1):
                for sign in (1, -1):
                    numbers.append(np.maximum(sign * cell - threshold, 0).mean(axis=(0, 1)))
        out.append(np.concatenate(numbers))
    P = np.sqrt(np.array(out) + 0.01) if pooled.root else np.array(out)
    Z = (P - pairs.mean) * pairs.scale
    products = (Z[:, pairs.left] * Z[:, pairs.right] - pairs.product_mean) * pairs.product_scale
    return np.hstack([Z[:, pairs.kept], products])


@pytest.mark.parametrize("name", IMAGES)
def test_convolution_and_pooling(name):
    X = images()
    generator = IMAGES[name].fit(X)
    assert threshold_of(generator) == pytest.approx(generator.threshold)
    # float64, but for a variance that is a difference of squares.
    np.testing.assert_allclose(generator.transform(X), slow_patches(generator, X), atol=1e-11)


def threshold_of(generator):
    pooled = generator.map_.first
    return (pooled.high - pooled.low).mean() / 2


@pytest.mark.parametrize("name", IMAGES)
def test_features_of_images_are_standardised(name):
    X = images()
    Z = IMAGES[name].fit_transform(X)  # all images are in the sample
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    kept = len(IMAGES[name].map_.then.kept)
    np.testing.assert_allclose(Z[:, :kept].std(axis=0), 1)
    if name != "stride":
        assert kept == 20
        np.testing.assert_allclose(Z[:, kept:].var(axis=0).sum(), 10)
    else:
        assert kept == 40, "degree 1: no products"


@pytest.mark.parametrize("filters", ["random", "patches", "kmeans"])
def test_each_block_has_its_own_filters(filters, monkeypatch):
    monkeypatch.setattr("multiplane.features._patches._CENTRES", 12)
    random = np.random.RandomState(1)
    source = patches(filters=filters, n_filters=5).prepare(images(), random)
    given = []
    for n in (40, 41, 7, 60):  # 20 filters, 12 at a time by k-means
        map = source.draw(n, random)
        assert map.n_features == n
        given.append(map.first.filters)
    F = np.hstack(given)
    F /= np.linalg.norm(F, axis=0)
    cosines = np.abs(F.T @ F - np.eye(20))
    # Of one k-means or two: not the same centre twice. 18 inputs leave room for 20 directions.
    assert cosines.max() < 0.999


def test_products_are_of_different_pairs():
    X = images()
    source = patches(n_filters=1, pool=1).prepare(X, np.random.RandomState(0))
    last = source.draw(
        5, np.random.RandomState(0)
    ).then  # two averages and what can be made of them
    assert (len(last.kept), len(last.left)) == (2, 3)
    assert set(zip(last.left, last.right, strict=True)) == {(0, 0), (1, 0), (1, 1)}
    last = patches(400).fit(X).map_.then
    assert len(set(zip(last.left, last.right, strict=True))) == 200
    last = patches(400, products="squares").fit(X).map_.then
    assert np.array_equal(last.left, last.right)
    assert len(set(last.left)) == 200


def test_responses_have_variance_one():
    X = images(200)
    for name, generator in IMAGES.items():
        pooled = clone(generator).set_params(threshold=0.0, root=False).fit(X).map_.first
        mean = pooled(X).reshape(200, 4, 2, -1).mean(axis=(0, 1, 2))
        # E|r|/2 with r of variance 1 is 0.4 for a Gaussian, 0.35 for a Laplacian.
        assert np.all((mean > 0.28) & (mean < 0.45)), name


@pytest.mark.parametrize("name", IMAGES)
def test_scale_of_pixels_does_not_matter(name):
    X = images()
    generator = IMAGES[name]
    Z = generator.fit_transform(X)
    # A power of two changes no digit.
    np.testing.assert_allclose(generator.fit_transform(256 * X), Z, rtol=0, atol=1e-13)
    if name == "stride":  # k-means and sampling aside, only rounding is left
        np.testing.assert_allclose(generator.fit_transform(255 * X + 3), Z, atol=1e-9)


def test_contrast_and_brightness_are_removed():
    X = images()
    generator = patches(contrast=1e-3).fit(X)
    Z = generator.transform(X)
    change = np.linspace(1, 3, len(X))[:, None]
    # Up to contrast², a millionth of the variance, which changes responses by that much.
    np.testing.assert_allclose(generator.transform(change * X + 7 * change), Z, atol=1e-4)


def test_kmeans_finds_directions():
    from multiplane.features._patches import spherical_kmeans

    random = np.random.RandomState(0)
    directions = np.linalg.qr(random.standard_normal((8, 8)))[0]
    which = random.randint(8, size=4000)
    Z = random.standard_normal((4000, 1)) * directions[which]
    Z += 0.02 * random.standard_normal(Z.shape)
    C = spherical_kmeans(Z, 16, random, n_iter=30)
    cosines = np.abs(C @ directions.T)
    assert np.all(cosines.max(axis=0) > 0.99), "each direction has a centre; noise is 2 %"
    S = Z @ C.T
    S *= np.abs(S) == np.abs(S).max(axis=1, keepdims=True)
    again = S.T @ Z
    again /= np.linalg.norm(again, axis=1, keepdims=True)
    assert np.all(np.sum(again * C, axis=1) > 0.999), "another step changes next to nothing"


def test_constant_images():
    for n in range(1, 8):  # the mean of n equal numbers is not always the number
        for generator in IMAGES.values():
            assert np.all(generator.fit_transform(np.full((n, 144), 0.3)) == 0)
    # Images that differ in brightness alone: nothing is made of rounding errors.
    X = np.array([[1.0, 0.7, 0.1, 3.3, 1 / 3]]).T * np.full((5, 144), 0.3)
    assert np.all(patches().fit_transform(X) == 0)


def test_cifar():
    """Far above the 35 to 40 % of a linear classifier on pixels."""
    try:
        data = datasets.load_cifar10_small(download_if_missing=False)
    except FileNotFoundError as error:
        pytest.skip(f"cifar10-small is not here: {str(error).splitlines()[0]}")
    generator = ConvolutionalPatches(1000, random_state=0)
    model = make_pipeline(generator, RidgeClassifier(alpha=300)).fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) > 0.5  # 0.55 to 0.57; the standard error is 0.022
