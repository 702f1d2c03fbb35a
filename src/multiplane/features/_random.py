"""Random features of rows: cosines, low-degree polynomials, logits ([LS] §3.1 and A.2.1).

All three are random linear functions of the rows, followed by something cheap. What they need to
know of the data is a length, the width: by default the median distance between two rows. With
`n_components` the rows are first projected on their principal axes.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, "Least squares revisited: scalable
approaches for multi-class prediction", ICML 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from sklearn.utils._param_validation import Interval

from multiplane._arrays import Place, chunks, dense, to_numpy
from multiplane.features._base import AnywhereGenerator, FeatureGenerator, Gradient, Source
from multiplane.models._maps import FeatureMap, Fourier, Logits, Products, Project, Same
from multiplane.solvers._rows import Local, Rows, add

_SAMPLE = 1000  # rows for the median: half a million pairs, whose median is good to 1 or 2 %
# For width="auto": rows and features of a trial, and what is tried. Each width with the better of
# two ridges: with one, and half as many features as rows, widths come out too large on few rows
# (letter, 400 rows: 58 % are right, and 70 with the median); with a third, 1e-1, too small where
# labels are noise (waveform, 4,000 rows: 16.9 % errors, 15.5 with two, 14.6 with one).
_TRIAL_ROWS, _TRIAL_FEATURES, _TRIAL_RIDGES = 4_000, 512, (1e-3, 1e-2)
_MULTIPLES = (1.0, 0.35, 0.5, 0.7, 1.4, 2.0, 2.8)
_MOST_COLUMNS = 16_384  # of a covariance matrix: 2 GB


# --- principal axes -----------------------------------------------------------------------


def principal_axes(rows: Rows, n_components: int) -> Project:
    """The axes along which the rows vary most, from their covariance matrix in float64.

    One pass over the rows, a chunk at a time. Each axis points to where its largest entry is
    positive.
    """
    d = rows.n_features
    if n_components > d:
        raise ValueError(
            f"n_components must be at most the number of columns, {d}, got {n_components}; use "
            "n_components=None to leave the rows as they are"
        )
    if d > _MOST_COLUMNS:
        raise ValueError(
            f"n_components needs a covariance matrix, of at most {_MOST_COLUMNS:,} columns, got "
            f"{d:,}; project the rows beforehand, by scikit-learn's TruncatedSVD for instance"
        )
    # Seen from any one row the others are about as near as from the mean, which is not known yet.
    origin = rows.take(np.zeros(1, dtype=np.int64), _widened)
    project: Project = rows.run(
        _second_moment, origin, add, _Axes(origin, n_components, rows.dtype)
    )
    return project


def _widened(X: Any, y: Any, weight: Any) -> NDArray[np.float64]:
    return np.asarray(to_numpy(dense(X)), dtype=np.float64)


def _second_moment(local: Local, origin: NDArray[np.float64]) -> tuple[Any, ...]:
    """Sums of weights, and of rows and their products, seen from the origin."""
    place, d = local.place, local.X.shape[1]
    xp, wide = place.xp, place.float64
    start = place.put(origin, wide)
    weight, total, C = 0.0, place.zeros((d,), wide), place.zeros((d, d), wide)
    for part in chunks(local.n, max(1024, 2**21 // d)):
        Z = xp.astype(dense(local.X[part, :]), wide) - start
        if local.weight is None:
            weight += Z.shape[0]
            total += xp.sum(Z, axis=0)
        else:
            weight += float(np.sum(local.weight[part]))
            root = place.put(np.sqrt(local.weight[part]), wide)
            Z = Z * root[:, None]
            total += root @ Z
        C += Z.T @ Z  # of one and the same array: BLAS computes half of it
    return weight, to_numpy(total), to_numpy(C)


@dataclass(frozen=True)
class _Axes:
    """From sums to axes."""

    origin: NDArray[np.float64]
    n_components: int
    dtype: np.dtype[Any]

    def __call__(self, sums: tuple[Any, ...]) -> Project:
        weight, total, C = sums
        shift, d = total / weight, len(total)
        _, axes = scipy.linalg.eigh(
            C / weight - np.outer(shift, shift), subset_by_index=(d - self.n_components, d - 1)
        )
        axes = axes[:, ::-1]  # the widest first
        size = np.abs(axes)
        # The first of the largest, but for rounding.
        largest = np.argmax(size > (1 - 1e-6) * size.max(axis=0), axis=0)
        axes = axes * np.sign(axes[largest, np.arange(self.n_components)])
        return Project((self.origin[0] + shift).astype(self.dtype), axes.astype(self.dtype))


# --- the length that all of them need -----------------------------------------------------


def median_distance(rows: Any, weight: NDArray[np.float64]) -> float:
    """The median distance between two rows (NumPy or CSR); of those that differ, if most do not.

    Of all pairs, a row with itself included: a row of weight 2 is then as good as two rows.
    """
    if not sp.issparse(rows):
        rows = rows - rows[:1]  # far from the origin the formula below loses digits
    distances = euclidean_distances(rows).ravel()
    pairs = np.outer(weight, weight).ravel()
    # What is left of equal rows is rounding.
    far = distances > 1e-6 * np.max(distances, initial=0)
    if not np.any(far):
        return 1.0
    return weighted_median(np.where(far, distances, 0), pairs) or weighted_median(
        distances[far], pairs[far]
    )


def weighted_median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    order = np.argsort(values)
    values, below = values[order], np.cumsum(weight[order])
    # In the middle between two values, if half of the weight is on either side, but for rounding.
    half, slack = below[-1] / 2, 1e-9 * below[-1]
    low, high = np.searchsorted(below, [half - slack, half + slack])
    return float(values[low] + values[min(high, len(values) - 1)]) / 2


def _multiple_of_median(width: Any) -> float | None:
    """1.3 for "1.3*median", None for a number."""
    if not isinstance(width, str):
        return None
    factor, star, name = width.rpartition("*")
    try:
        multiple = float(factor) if star else 1.0
    except ValueError:
        multiple = 0.0
    if name.strip() != "median" or not 0 < multiple < np.inf:
        raise ValueError(
            "width must be a positive number, 'median', a multiple such as '1.3*median' or 'auto', "
            f"got {width!r}; 'median' is a good start"
        )
    return multiple


@dataclass
class RandomSource(Source):
    """Draws independent Gaussian weights for rows with a known centre and width."""

    input: FeatureMap
    centre: NDArray[Any]  # (n_inputs of the maps,)
    width: float
    dtype: np.dtype[Any]

    def weights(self, n: int, random: np.random.RandomState) -> NDArray[np.float64]:
        """w / width with w ~ N(0, I), in columns."""
        return random.standard_normal((len(self.centre), n)) / self.width


@dataclass(frozen=True)
class _Measure:
    """The centre of some rows, and the width: as given, or the median distance."""

    input: FeatureMap
    width: float | None

    def __call__(self, X: Any, y: Any, weight: Any) -> tuple[NDArray[np.float64], float]:
        rows = _mapped(self.input, X).astype(np.float64)
        centre = np.asarray(rows.T @ weight).reshape(-1) / weight.sum()
        return centre, median_distance(rows, weight) if self.width is None else self.width


@dataclass(frozen=True)
class _Trial:
    """The width whose features predict a quarter of some rows best.

    Least squares of 0 and 1 on one block of features, the same random numbers for each width.
    """

    source: RandomSource
    seed: int

    def __call__(self, X: Any, y: Any, weight: Any) -> float:
        if y is None:
            raise ValueError(
                "width='auto' is found by trial and needs labels, got y=None; pass y, or take "
                "width='median'"
            )
        best, least = self.source.width, np.inf
        n_train = len(y) - len(y) // 4
        if n_train < 2:
            return best
        if y.ndim == 2:
            Y = y.astype(np.float64)
        else:
            classes, codes = np.unique(y, return_inverse=True)
            Y = np.eye(len(classes))[codes]
        rows = _mapped(self.source.input, X)
        for multiple in _MULTIPLES:
            other = replace(self.source, width=multiple * self.source.width)
            map = other.draw(_TRIAL_FEATURES, np.random.RandomState(self.seed))
            loss = _held_out_loss(dense(map(rows)).astype(np.float64), Y, weight, n_train)
            if loss < least:
                best, least = other.width, loss
        return best


def _mapped(input: FeatureMap, X: Any) -> Any:
    """Rows after a map, in NumPy."""
    return to_numpy(input.to(Place.of(X))(X))


def _held_out_loss(
    Z: NDArray[np.float64], Y: NDArray[np.float64], weight: NDArray[np.float64], n_train: int
) -> float:
    """Weighted squared error on the rows from the n_train-th on, of the best ridge regression."""
    share = (weight / weight[:n_train].sum())[:, None]
    Z, Y = (A - (share * A)[:n_train].sum(axis=0) for A in (Z, Y))
    C, b = (share * Z)[:n_train].T @ Z[:n_train], (share * Z)[:n_train].T @ Y[:n_train]
    diagonal = np.diag_indices_from(C)
    least = 1e-9 * C.max() + 1e-300  # some features may not vary
    losses = []
    for ridge in _TRIAL_RIDGES:
        regular = C.copy()
        regular[diagonal] += ridge * C[diagonal] + least
        W = scipy.linalg.solve(regular, b, assume_a="pos")
        losses.append(float(np.sum(share[n_train:] * (Z[n_train:] @ W - Y[n_train:]) ** 2)))
    return min(losses)


class RandomGenerator(AnywhereGenerator):
    """What the three have in common: how `width` and `n_components` are read."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureGenerator._parameter_constraints,
        "width": [Interval(Real, 0, None, closed="neither"), str],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }
    _source: ClassVar[type[RandomSource]]

    width: float | str
    n_components: int | None

    def learn(self, rows: Rows, random: np.random.RandomState) -> RandomSource:
        multiple = 1.0 if self.width == "auto" else _multiple_of_median(self.width)
        input: FeatureMap = Same(rows.n_features)
        if self.n_components is not None:
            input = principal_axes(rows, int(self.n_components))
        measure = _Measure(input, None if multiple is not None else float(self.width))
        centre, width = rows.take(rows.choose(_SAMPLE, random), measure)
        source = self._make_source(
            input=input, centre=centre, width=(multiple or 1.0) * width, dtype=rows.dtype
        )
        if self.width != "auto":
            return source
        seed = int(random.randint(np.iinfo(np.int32).max))
        width = rows.take(rows.choose(_TRIAL_ROWS, random), _Trial(source, seed))
        return replace(source, width=width)

    def _make_source(self, **learnt: Any) -> RandomSource:
        return self._source(**learnt)

    def _fitted(self, source: Source) -> None:
        assert isinstance(source, RandomSource)
        self.width_ = source.width


# --- cosines ------------------------------------------------------------------------------


class FourierSource(RandomSource):
    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> Fourier:
        weights = self.weights((n_features + 1) // 2, random)
        return Fourier(weights.astype(self.dtype), n_features // 2)


class RandomFourier(RandomGenerator):
    """Random Fourier features: cosines and sines of random projections.

    Inner products of these features approach the Gaussian kernel as their number grows:

        z(x) = √(2/n_features)·[cos ωᵢᵀx, sin ωᵢᵀx],  ωᵢ ~ N(0, I/width²)
        z(x)ᵀz(x′) ≈ exp(−‖x − x′‖²/(2·width²))

    One product with n_features/2 frequencies serves cosines and sines. The error of the kernel is
    about 1/√n_features. A good first choice for dense rows of similar scale; for sparse text take
    :class:`FeatureSubset`, for images :class:`ConvolutionalPatches`.

    Parameters
    ----------
    n_features : int
        With an odd number there is one cosine more than there are sines.
    width : float, "median", a multiple such as "1.3*median", or "auto"
        s of the paper's kernel is 2·width². "median" is the median distance between two of (at
        most) 1,000 rows, after the projection on principal axes. Wider is smoother. "auto" tries
        seven multiples, 0.35 to 2.8, on (at most) 4,000 rows and needs their labels.
    n_components : int or None
        Project the rows on so many principal axes first: cheaper, and often as good.
    random_state : int, RandomState or None

    Attributes
    ----------
    input_ : FeatureMap
        The projection, or the rows as they are.
    map_ : FeatureMap
        From there to the features.
    width_ : float
        The width in use.
    n_features_in_ : int

    References
    ----------
    [LS] §3.1, A.2.1. A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS
    2007.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane.features import RandomFourier
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> Z = RandomFourier(10_000, width=2.0, random_state=0).fit_transform(X)
    >>> print((Z @ Z.T).round(1))  # exp(−1/8) = 0.88, exp(−9/8) = 0.32, exp(−10/8) = 0.29
    [[1.  0.9 0.3]
     [0.9 1.  0.3]
     [0.3 0.3 1. ]]
    """

    _source = FourierSource

    def __init__(
        self,
        n_features: int = 1000,
        *,
        width: float | str = "median",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.width = width
        self.n_components = n_components
        self.random_state = random_state


# --- polynomials --------------------------------------------------------------------------


@dataclass
class PolynomialSource(RandomSource):
    degree: int

    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> Products:
        n = self.degree * n_features
        scale = n_features ** (-0.5 / self.degree)  # of a factor; 1/√n_features of the product
        weights = scale * self.weights(n, random)
        offsets = scale * np.sqrt(0.5) * random.standard_normal(n) - self.centre @ weights
        return Products(weights.astype(self.dtype), offsets.astype(self.dtype), self.degree)


class RandomPolynomial(RandomGenerator):
    """Random polynomials of low degree: products of random linear functions.

    Each feature is Π (wₖᵀ(x − μ) + bₖ)/√n_features over k = 1 … degree, with μ the mean,
    wₖ ~ N(0, I/width²) and bₖ ~ N(0, ½). Inner products of features approach a polynomial kernel:

        z(x)ᵀz(x′) ≈ (½ + (x − μ)ᵀ(x′ − μ)/width²)^degree

    The variances are chosen so that the constant and the varying part of each factor weigh the
    same: the median distance is about √2 times the distance from the mean, so that both have
    variance ½, and all degrees up to `degree` are present. Large values have heavy tails: beyond
    degree 3 :class:`RandomFourier` is the safer choice.

    Parameters
    ----------
    n_features : int
    degree : int
        How many linear functions are multiplied; 1 is a random projection.
    width : float, "median", a multiple such as "1.3*median", or "auto"
        As for :class:`RandomFourier`. Wider stresses the lower degrees.
    n_components : int or None
        Project the rows on so many principal axes first.
    random_state : int, RandomState or None

    Attributes
    ----------
    input_, map_, width_, n_features_in_
        As for :class:`RandomFourier`.

    References
    ----------
    [LS] A.2.1. P. Kar, H. Karnick, Random feature maps for dot product kernels, AISTATS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane.features import RandomPolynomial
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> RandomPolynomial(500, degree=2, random_state=0).fit_transform(X).shape
    (3, 500)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RandomGenerator._parameter_constraints,
        "degree": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_features: int = 1000,
        *,
        degree: int = 2,
        width: float | str = "median",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.degree = degree
        self.width = width
        self.n_components = n_components
        self.random_state = random_state

    def _make_source(self, **learnt: Any) -> PolynomialSource:
        return PolynomialSource(**learnt, degree=int(self.degree))


# --- logits -------------------------------------------------------------------------------


class LogitSource(RandomSource):
    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> Logits:
        weights = 0.5 * self.weights(n_features, random)
        # Of spread 0 all functions are odd about μ: 6 % errors instead of 4.3 on 10,000 rows of
        # MNIST with 1,000 logits. Above √2 nothing more is gained, nor by weights twice as large.
        offsets = 0.5 * np.sqrt(2) * random.standard_normal(n_features) - self.centre @ weights
        return Logits(weights.astype(self.dtype), offsets.astype(self.dtype))


class RandomLogit(RandomGenerator):
    """Random logits: sigmoids of random linear functions.

    Each feature is 1/(1 + exp(−(wᵀ(x − μ) + b))) with μ the mean of the rows, w ~ N(0, I/width²)
    and b ~ N(0, 2): soft steps in random directions, somewhere near the rows. The paper found that
    they need fewer features than cosines for the same accuracy, maybe by a factor of 2; we see
    little difference (10,000 rows of MNIST: 4.3 % errors by 1,000 of either kind).

    Parameters
    ----------
    n_features : int
    width : float, "median", a multiple such as "1.3*median", or "auto"
        As for :class:`RandomFourier`. Wider is smoother.
    n_components : int or None
        Project the rows on so many principal axes first.
    random_state : int, RandomState or None

    Attributes
    ----------
    input_, map_, width_, n_features_in_
        As for :class:`RandomFourier`.

    References
    ----------
    [LS] A.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane.features import RandomLogit
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> Z = RandomLogit(500, random_state=0).fit_transform(X)
    >>> bool(0 < Z.min() < 0.1 and 0.9 < Z.max() < 1)
    True
    """

    _source = LogitSource

    def __init__(
        self,
        n_features: int = 1000,
        *,
        width: float | str = "median",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.width = width
        self.n_components = n_components
        self.random_state = random_state
