"""How features are made: generators, what they learn from the data, and maps.

A *generator* (`FeatureGenerator`) is what users write down: parameters, nothing learnt. Shown data,
it returns a *source* (`Source`): what it learnt from them, once (a projection, a width, filters).
From the source come *maps* (`FeatureMap`), one for each block of features: small frozen objects
that turn rows into features, chunk by chunk. Learners keep the maps; the features of all rows
together never exist.

    source = generator.learn(rows, random)      # once
    X = source.input(X)                         # once: PCA, say; usually the rows themselves
    for stage in ...:
        map = source.draw(512, random, gradient)
        features = map(X[chunk])                # as often as needed

`rows` may lie in several places (`multiplane.solvers._rows.Rows`); generators of others write
`prepare`, which is shown an array.

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

from multiplane._arrays import Place, chunks, detached, floats_for, to_numpy
from multiplane.models._maps import FeatureMap, Same, chunk_size
from multiplane.solvers._rows import Local, Rows

_POOL = 10_000  # rows of several parts that are brought together for `prepare`

# How fast the loss falls with each input's weight, (n_inputs,): ‖Σᵢ rᵢ xᵢⱼ‖ for input j.
Gradient = Callable[[], NDArray[np.float64]]


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

    def learn(self, rows: Rows, random: np.random.RandomState) -> Source:
        """Learn from rows wherever they lie; by `prepare`, unless a subclass knows better.

        Rows in several places are not shown to it all: 10,000 of them, in their order.
        """
        if rows.engine.n_parts == 1:
            source: Source = rows.run(_prepare_here, Preparation(self, random), _only)
            return source
        some = np.sort(rows.choose(_POOL, random))
        pooled: Source = rows.take(some, Preparation(self, random))
        return pooled

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


class AnywhereGenerator(FeatureGenerator):
    """Learns from sums over rows and from rows by number: the same wherever they lie.

    A subclass writes `learn`.
    """

    def prepare(
        self, X: Any, random: np.random.RandomState, weight: Any = None, y: Any = None
    ) -> Any:
        return self.learn(Rows.of(X, weight, y), random)

    def learn(self, rows: Rows, random: np.random.RandomState) -> Source:
        raise NotImplementedError


@dataclass(frozen=True)
class Preparation:
    """`prepare`, to be called where the rows are."""

    generator: FeatureGenerator
    random: np.random.RandomState

    def __call__(self, X: Any, y: Any, weight: Any) -> Source:
        return self.generator.prepare(X, self.random, weight, y)


def _prepare_here(local: Local, preparation: Preparation) -> Source:
    return preparation(local.X, local.y, local.weight)


def _only(sources: Any) -> Any:
    (source,) = sources
    return source
