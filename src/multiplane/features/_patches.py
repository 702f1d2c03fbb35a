"""Convolutional features of images: filters, rectification, pooling, products ([LS] §3.2).

The way of an image x through one block of features, with everything a matrix product that can be:

    patches    all patch_size × patch_size squares of x, one a row         (positions, inputs)
    responses  patches · filters, divided by each patch's contrast         (positions, n_filters)
    pooled     means of max(response − threshold, 0) and of
               max(−response − threshold, 0) over the cells of a grid      (2·n_filters·pool²,)
    features   some of these, standardised, and products of two of them    (n_features,)

Whitening, centring and scaling of patches are linear and are folded into the filters.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, "Least squares revisited: scalable
approaches for multi-class prediction", ICML 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.random import sample_without_replacement

from multiplane._arrays import dense, to_numpy
from multiplane.features._base import AnywhereGenerator, FeatureGenerator, Gradient, Source
from multiplane.models._image_maps import Geometry, Pairs, Pooled, patch_columns
from multiplane.models._maps import Chain, FeatureMap, Same
from multiplane.solvers._rows import Rows

_IMAGES = 2000  # kept to learn filters from
_STATISTICS = 500  # of them, for means and standard deviations of features
_PATCHES = 40_000  # for a covariance matrix or a round of k-means: 100 for each centre
_CENTRES = 400  # of a round of k-means
_NOTHING = 1e-9  # where pixels have variance 1, less than this is rounding


# --- learning filters ---------------------------------------------------------------------


@dataclass
class PatchSource(Source):
    """Makes new filters for each block. What it learns and keeps is in NumPy."""

    input: FeatureMap
    generator: ConvolutionalPatches
    geometry: Geometry
    images: NDArray[Any]  # rows to learn from
    shift: float  # mean and standard deviation of all pixels
    scale: float
    patch_mean: NDArray[np.float64]  # (inputs,)
    whitening: NDArray[np.float64]  # (inputs, inputs), symmetric
    centres: NDArray[np.float64]  # filters not given yet, (some, inputs)

    def patches(self, n: int, random: np.random.RandomState) -> NDArray[np.float64]:
        """Random patches (n, or as many as there are), standardised."""
        columns = patch_columns(self.geometry)
        n = min(n, len(self.images) * len(columns))
        image = random.randint(len(self.images), size=n)
        place = random.randint(len(columns), size=n)
        P = self.images[image[:, None], columns[place]].astype(np.float64) - self.shift
        P /= self.scale
        if self.generator.contrast is not None:
            P -= P.mean(axis=1, keepdims=True)
            P /= np.sqrt(P.var(axis=1, keepdims=True) + self.generator.contrast**2)
        return P

    def white_patches(self, n: int, random: np.random.RandomState) -> NDArray[np.float64]:
        return (self.patches(n, random) - self.patch_mean) @ self.whitening

    def filters(self, n: int, random: np.random.RandomState) -> NDArray[np.float64]:
        """New filters for whitened patches, (n, inputs)."""
        if self.generator.filters == "random":
            return random.standard_normal((n, self.geometry.inputs))
        if self.generator.filters == "patches":
            return self.white_patches(n, random)
        while len(self.centres) < n:
            patches = self.white_patches(_PATCHES, random)
            some = min(_CENTRES, max(n, len(patches) // 20))  # fewer centres for few patches
            self.centres = np.vstack([self.centres, spherical_kmeans(patches, some, random)])
        filters, self.centres = self.centres[:n], self.centres[n:]
        return filters

    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> Chain:
        """Features of new filters."""
        options, dtype = self.generator, self.images.dtype
        cells = 2 * self.geometry.pool**2
        n_inputs = n_features if options.degree == 1 else (n_features + 1) // 2
        pooled = self._pooled(options.n_filters or -(-n_inputs // cells), random)
        # The features that come of them.
        D = pooled.n_features
        kept = np.sort(random.permutation(D)[:n_inputs])
        left, right = self._pairs(D, n_features - len(kept), random)
        sample = random.permutation(len(self.images))[:_STATISTICS]
        Z = pooled(self.images[sample]).astype(np.float64)
        mean, scale = _standard(Z)
        Z = (Z - mean) * scale
        product_mean, product_scale = _standard(Z[:, left] * Z[:, right])
        # With a ridge, heavy features are fitted first. Products that together weigh half as much
        # as the averages were a point better than four times as heavy ones.
        if len(left):
            product_scale *= np.sqrt(0.5 * len(kept) / len(left))
        numbers = (a.astype(dtype) for a in (mean, scale, product_mean, product_scale))
        mean, scale, product_mean, product_scale = numbers
        return Chain(pooled, Pairs(mean, scale, kept, left, right, product_mean, product_scale))

    def _pooled(self, n_filters: int, random: np.random.RandomState) -> Pooled:
        options, dtype = self.generator, self.images.dtype
        filters = self.filters(n_filters, random)
        # Responses of variance 1 give the threshold a meaning.
        responses = self.white_patches(_PATCHES // 8, random) @ filters.T
        size = np.sqrt(np.mean(responses**2, axis=0))
        filters = filters / np.where(size > _NOTHING, size, 1)[:, None]
        # From here on for patches as they are: (p − mean)·V·f = p·(V·f) − mean·(V·f).
        weights = self.whitening @ filters.T  # (inputs, n_filters)
        offset = -self.patch_mean @ weights
        flat = None
        if options.contrast is None:
            weights = weights / self.scale
        else:  # the scale cancels
            weights = weights - weights.mean(axis=0)
            flat = float((options.contrast * self.scale) ** 2)
        return Pooled(
            self.geometry,
            self.shift,
            weights.astype(dtype),
            (options.threshold - offset).astype(dtype),
            (-options.threshold - offset).astype(dtype),
            flat,
            bool(options.root),
            bool(options.mirror),
        )

    def _pairs(
        self, D: int, n: int, random: np.random.RandomState
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Factors of n products (fewer, if there are no more) of D numbers."""
        if self.generator.products == "squares":
            i = random.permutation(D)[:n]
            return i, i
        population = D * (D + 1) // 2
        code = sample_without_replacement(population, min(n, population), random_state=random)
        # Pairs i ≥ j in the order (0, 0), (1, 0), (1, 1), (2, 0) …
        i = ((np.sqrt(8.0 * code + 1) - 1) / 2).astype(np.int64)
        return i, code - i * (i + 1) // 2


def _standard(Z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means, and what to multiply with for variance 1 (0 for a constant)."""
    deviation = Z.std(axis=0)
    varies = deviation > 1e-6 * np.max(np.abs(Z), axis=0, initial=0)
    return Z.mean(axis=0), varies / np.where(varies, deviation, 1)


def spherical_kmeans(
    Z: NDArray[np.float64], n_centres: int, random: np.random.RandomState, n_iter: int = 10
) -> NDArray[np.float64]:
    """Directions c of unit length, such that each row is near a multiple of one of them.

    Alternates between the direction with the largest |zᵀc| for each row z and the sum of
    (zᵀc)·z over the rows of each direction. (n_centres, d); Coates and Ng 2012.
    """
    Z = Z.astype(np.float32)
    C = _unit(random.standard_normal((n_centres, Z.shape[1])))
    rows = np.arange(len(Z))
    for _ in range(n_iter):
        S = Z @ C.T.astype(np.float32)
        nearest = np.argmax(np.abs(S), axis=1)
        assigned = sp.csr_array((S[rows, nearest], nearest, np.append(rows, len(Z))), S.shape)
        C = np.asarray(assigned.T @ Z, dtype=np.float64)
        empty = ~np.any(C, axis=1)
        C[empty] = Z[random.randint(len(Z), size=empty.sum())]
        C = _unit(C)
    return C


def _unit(C: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.linalg.norm(C, axis=1, keepdims=True)
    return C / np.where(size > 0, size, 1)


@dataclass(frozen=True)
class _Start:
    """From some images to a source."""

    generator: ConvolutionalPatches
    geometry: Geometry
    seed: int

    def __call__(self, X: Any, y: Any, weight: Any) -> PatchSource:
        random = np.random.RandomState(self.seed)
        images = to_numpy(dense(X))
        wide = images.astype(np.float64)
        inputs = self.geometry.inputs
        source = PatchSource(
            input=Same(X.shape[1]),
            generator=self.generator,
            geometry=self.geometry,
            images=images,
            shift=float(wide.mean()),
            scale=float(wide.std()) or 1.0,
            patch_mean=np.zeros(inputs),
            whitening=np.eye(inputs),
            centres=np.empty((0, inputs)),
        )
        P = source.patches(_PATCHES, random)
        source.patch_mean = P.mean(axis=0)
        if self.generator.whiten is not None:
            variance, axes = np.linalg.eigh(np.cov(P, rowvar=False).reshape(inputs, inputs))
            floor = self.generator.whiten * variance.mean()
            if floor > _NOTHING:
                source.whitening = (axes / np.sqrt(np.maximum(variance, 0) + floor)) @ axes.T
        return source


# --- the generator ------------------------------------------------------------------------


class ConvolutionalPatches(AnywhereGenerator):
    """Convolutional features of images: filters, pooled responses and their products.

    A patch p responds to a filter f by r = fᵀV(p − μ), with V the whitening and μ the mean of
    patches. Responses are rectified on both sides, max(r − threshold, 0) and
    max(−r − threshold, 0), and averaged over the cells of a pool × pool grid. Half of a block's
    features are such averages, the other half products of two of them; all are standardised. Each
    block has filters of its own.

    Filters learnt by k-means are worth their time. Accuracy of ridge regression on 2,000 images of
    CIFAR-10, tested on 500 (five-fold), with 4,000 features, and of the mean of three such models
    (the ridge was read off the test images; differences below a point are chance):

        ======================  ======  ======
        the defaults            64.7 %  67.3 %
        filters="patches"       62.0 %  64.5 %
        filters="random"        57.4 %  59.7 %
        whiten=None             54.0 %  55.3 %
        contrast=None           63.2 %  64.8 %
        degree=1                64.3 %  65.2 %
        products="squares"      64.3 %  64.8 %
        pool=2                  64.0 %  65.5 %
        root=False              63.9 %  65.9 %
        stride=2                61.8 %  64.2 %
        ======================  ======  ======

    All that is learnt of the rows is learnt from 2,000 images, which go with the training (not with
    the model), also to whoever leads a training in several places.

    Cost: about 2·positions·inputs·n_filters floating-point operations an image (20 million by
    default), nearly all in one matrix product. Patches are made for a few images at a time.

    Parameters
    ----------
    n_features : int
    image_shape : (height, width, channels) or (height, width)
        How a row is read, channels running fastest. One of the numbers may be -1.
    filters : {"kmeans", "patches", "random"}
        Directions of whitened patches found by spherical k-means (400 at a time), some of the
        patches themselves, or Gaussian noise.
    n_filters : int or None
        Filters of a block. None: as many as give n_features/2 averages (n_features for degree 1).
    patch_size : int
        Side of a patch.
    stride : int
        Step from patch to patch. 2 is four times as fast, and worse.
    pool : int
        Cells of the grid, downwards and across.
    whiten : float or None
        Makes the pixels of patches uncorrelated: V = (C + whiten·c·I)^(−½), C their covariance
        and c its mean eigenvalue. None: V = I, which is much worse.
    contrast : float or None
        Brightness and contrast of each patch are removed: its mean is subtracted, and it is divided
        by the root of its variance plus contrast² (in units of the variance of all pixels). None:
        patches as they are, as in the paper.
    threshold : float
        In standard deviations of a response. Raising it makes averages sparser.
    root : bool
        Take square roots of the averages, which are long-tailed.
    mirror : bool
        Average over the image and its mirror image too, so that left and right do not matter. Twice
        the work; on CIFAR-10 2.7 points of accuracy (one block of 8,192 features, 40,000 images).
    degree : {1, 2}
        1: averages only.
    products : {"pairs", "squares"}
        Which products: of random pairs, or squares.
    random_state : int, RandomState or None

    Attributes
    ----------
    input_, map_, n_features_in_
        As for :class:`RandomFourier`.

    References
    ----------
    [LS] §3.2; it does not say which polynomials, or how responses are pooled. A. Coates, A. Y. Ng,
    H. Lee, An analysis of single-layer networks in unsupervised feature learning, AISTATS 2011.
    A. Coates, A. Y. Ng, Learning feature representations with k-means, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane.features import ConvolutionalPatches
    >>> X = np.random.RandomState(0).rand(20, 8 * 8 * 3)
    >>> make = ConvolutionalPatches(100, image_shape=(8, 8, 3), filters="random", patch_size=4)
    >>> make.fit_transform(X).shape
    (20, 100)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureGenerator._parameter_constraints,
        "image_shape": ["array-like"],
        "filters": [StrOptions({"kmeans", "patches", "random"})],
        "n_filters": [Interval(Integral, 1, None, closed="left"), None],
        "patch_size": [Interval(Integral, 1, None, closed="left")],
        "stride": [Interval(Integral, 1, None, closed="left")],
        "pool": [Interval(Integral, 1, None, closed="left")],
        "whiten": [Interval(Real, 0, None, closed="neither"), None],
        "contrast": [Interval(Real, 0, None, closed="neither"), None],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "root": ["boolean"],
        "mirror": ["boolean"],
        "degree": [Interval(Integral, 1, 2, closed="both")],
        "products": [StrOptions({"pairs", "squares"})],
    }

    def __init__(
        self,
        n_features: int = 4000,
        *,
        image_shape: tuple[int, ...] = (32, 32, 3),
        filters: str = "kmeans",
        n_filters: int | None = None,
        patch_size: int = 6,
        stride: int = 1,
        pool: int = 3,
        whiten: float | None = 0.1,
        contrast: float | None = 0.3,
        threshold: float = 0.5,
        root: bool = True,
        mirror: bool = False,
        degree: int = 2,
        products: str = "pairs",
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.image_shape = image_shape
        self.filters = filters
        self.n_filters = n_filters
        self.patch_size = patch_size
        self.stride = stride
        self.pool = pool
        self.whiten = whiten
        self.contrast = contrast
        self.threshold = threshold
        self.root = root
        self.mirror = mirror
        self.degree = degree
        self.products = products
        self.random_state = random_state

    def learn(self, rows: Rows, random: np.random.RandomState) -> PatchSource:
        geometry = self._geometry(rows.n_features)
        seed = int(random.randint(np.iinfo(np.int32).max))
        some = rows.choose(_IMAGES, random)
        source: PatchSource = rows.take(some, _Start(clone(self), geometry, seed))
        return source

    def _geometry(self, n_inputs: int) -> Geometry:
        shape = [int(side) for side in self.image_shape]
        if len(shape) == 2:
            shape.append(1)
        if len(shape) == 3 and shape.count(-1) == 1:
            known = -int(np.prod(shape))
            shape[shape.index(-1)] = n_inputs // known if known > 0 else 0
        if len(shape) != 3 or min(shape) < 1 or np.prod(shape) != n_inputs:
            raise ValueError(
                "image_shape must be (height, width, channels), or (height, width), of images with "
                f"{n_inputs} numbers, got {self.image_shape}; one of them may be -1"
            )
        height, width, channels = shape
        if self.patch_size > min(height, width):
            raise ValueError(
                f"patch_size must be at most the sides of an image, {height} x {width}, got "
                f"{self.patch_size}; lower it"
            )
        geometry = Geometry(
            height, width, channels, int(self.patch_size), int(self.stride), int(self.pool)
        )
        if geometry.pool > min(geometry.grid):
            raise ValueError(
                f"pool must be at most the number of patches in a line, {min(geometry.grid)}, got "
                f"{self.pool}; lower it, or stride, or patch_size"
            )
        return geometry
