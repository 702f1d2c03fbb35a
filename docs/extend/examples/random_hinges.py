"""A generator of one's own: random hinges, max(wᵀx, 0).

>>> import numpy as np
>>> X = np.random.RandomState(0).randn(300, 4)
>>> RandomHinges(50, random_state=0).fit_transform(X).shape
(300, 50)
>>> from multiplane import StagewiseLeastSquaresClassifier
>>> y = (X**2).sum(axis=1) > 3.4  # inside or outside of a sphere
>>> clf = StagewiseLeastSquaresClassifier(
...     features=RandomHinges(), n_stages=2, block_size=50, random_state=0
... )
>>> bool(clf.fit(X, y).score(X, y) > 0.9)
True
"""

from dataclasses import dataclass
from typing import Any

from multiplane.features import FeatureGenerator, FeatureMap, Place, Same, Source, like


@dataclass(frozen=True)
class Hinges(FeatureMap):
    weights: Any  # (n_inputs, n_features)

    @property
    def n_features(self):
        return self.weights.shape[1]

    def __call__(self, rows):
        return Place.of(rows).xp.clip(rows @ like(self.weights, rows), 0, None)


class HingeSource(Source):
    def draw(self, n_features, random, gradient=None):
        return Hinges(random.standard_normal((self.input.n_features, n_features)))


class RandomHinges(FeatureGenerator):
    def __init__(self, n_features=100, *, random_state=None):
        self.n_features = n_features
        self.random_state = random_state

    def prepare(self, X, random, weight=None, y=None):
        return HingeSource(Same(X.shape[1]))  # nothing to learn; the input is X itself
