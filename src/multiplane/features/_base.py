"""How features are made: generators, what they learn from the data, and maps.

A *generator* (`FeatureGenerator`) is what users write down: parameters, nothing learnt. Shown data,
it returns a *source* (`Source`): what it learnt from them, once (a projection, a width, filters).
From the source come *maps* (`FeatureMap`), one for each block of features: small frozen objects
that turn rows into features, chunk by chunk. Learners keep the maps; the features of all rows
together never exist.

    source = generator.prepare(X, random, weight, y)   # once
    rows = source.input(X)                      # once: PCA, say; usually the rows themselves
    for stage in ...:
        map = source.draw(512, random, gradient)
        features = map(rows[chunk])             # as often as needed

All random numbers are NumPy's: a seed gives the same features on every kind of array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from multiplane._arrays import Place, chunks, detached, floats_for, moved, to_numpy

# How fast the loss falls with each input's weight, (n_inputs,): ‖Σᵢ rᵢ xᵢⱼ‖ for input j.
Gradient = Callable[[], NDArray[np.float64]]


@dataclass(frozen=True)
class FeatureMap:
    """Rows to features. Arrays are fields, in NumPy until `to` moves them."""

    @property
    def n_features(self) -> int:
        raise NotImplementedError

    @property
    def floats_per_row(self) -> int:
        """The most numbers that one row is turned into on the way: decides the size of chunks."""
        return self.n_features

    def __call__(self, rows: Any) -> Any:
        """Features (m, n_features) of rows (m, d), where the rows live, in their type of float."""
        raise NotImplementedError

    def to(self, place: Place) -> Self:
        return moved(self, place)


@dataclass(frozen=True)
class Same(FeatureMap):
    """The rows as they are."""

    n_inputs: int

    @property
    def n_features(self) -> int:
        return self.n_inputs

    def __call__(self, rows: Any) -> Any:
        return rows


@dataclass(frozen=True)
class Chain(FeatureMap):
    """One map after another."""

    first: FeatureMap
    then: FeatureMap

    @property
    def n_features(self) -> int:
        return self.then.n_features

    @property
    def floats_per_row(self) -> int:
        return max(self.first.floats_per_row, self.then.floats_per_row)

    def __call__(self, rows: Any) -> Any:
        return self.then(self.first(rows))

    def to(self, place: Place) -> Chain:
        return Chain(self.first.to(place), self.then.to(place))


class Source:
    """What a generator has learnt from the data. It may remember what it has given already."""

    def __init__(self, input: FeatureMap) -> None:
        self.input = input

    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> FeatureMap:
        """The next block of features, disjoint from (or independent of) those before."""
        raise NotImplementedError


class FeatureGenerator(TransformerMixin, BaseEstimator):
    """Base class. A subclass names its parameters and writes `prepare`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_features: int
    random_state: Any

    def prepare(
        self, X: Any, random: np.random.RandomState, weight: Any = None, y: Any = None
    ) -> Source:
        """Learn from X, which has been checked: an array of floats, or a CSR matrix.

        `weight` (NumPy, (n,), or None) says how much each row counts; one of 0 not at all. `y`
        (NumPy: labels (n,), an indicator matrix (n, n_labels), or None) is for those that ask.
        """
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the features need to know of the data, and draw them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_inputs)
        y : array of shape (n_samples,), optional
            Labels: looked at by ``width="auto"`` alone.
        """
        self._validate_params()
        X = self._check(X, reset=True)
        random = check_random_state(self.random_state)
        if y is not None:
            check_consistent_length(X, y)
            y = np.asarray(to_numpy(y))
        source = self.prepare(X, random, None, y)
        map = source.draw(int(self.n_features), random)
        if map.n_features < self.n_features:
            raise ValueError(
                f"n_features must be at most {map.n_features}, which is all that "
                f"{type(self).__name__} can make of these rows, got {self.n_features}; lower it"
            )
        self.input_, self.map_ = source.input, map
        self._fitted(source)
        return self

    def _fitted(self, source: Source) -> None:
        """For generators that have more to tell of what they learnt."""

    def transform(self, X: Any) -> Any:
        """Features, shape (n_samples, n_features), where X lives."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        place = Place.of(X)
        first, then = self.input_.to(place), self.map_.to(place)
        n, size = X.shape[0], chunk_size(then, place)
        if not isinstance(first, Same):
            size = min(size, chunk_size(first, place))
        features, sparse = None, []
        for part in chunks(n, size):
            block = then(first(X[part, :]))
            if sp.issparse(block):
                sparse.append(block)
                continue
            if features is None:
                features = place.zeros((n, block.shape[1]), block.dtype)
            features[part, :] = block
        return sp.vstack(sparse, format="csr") if sparse else features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: the class's name and a number."""
        check_is_fitted(self)
        name = type(self).__name__.lower()
        return np.asarray([f"{name}{i}" for i in range(self.map_.n_features)], dtype=object)

    def _check(self, X: Any, reset: bool) -> Any:
        X = detached(X)
        xp = Place.of_input(X).xp
        floats = floats_for(X, xp)
        return validate_data(self, X, accept_sparse="csr", dtype=floats, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def floats_at_once(place: Place) -> int:
    """Numbers worth having in memory together."""
    on_cpu = place.is_numpy or "cpu" in str(place.device).lower()
    return 2**21 if on_cpu else 2**26  # 8 MB stay in a processor's cache


def chunk_size(map: FeatureMap, place: Place, others: int = 0) -> int:
    """Rows at a time, if a map and `others` make so many numbers of one."""
    return max(16, floats_at_once(place) // max(1, map.floats_per_row, others))
