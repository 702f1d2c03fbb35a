"""A link of one's own, with heavy tails: no row is ever quite certain.

>>> import numpy as np
>>> from multiplane import GeneralizedLeastSquaresClassifier
>>> X = np.random.RandomState(0).randn(500, 2)
>>> y = np.where(X @ [2.0, 1.0] > 0, "right", "left")
>>> clf = GeneralizedLeastSquaresClassifier(link=Cauchit()).fit(X, y)
>>> clf.predict([[3.0, 0.0], [-3.0, 0.0]]).tolist()
['right', 'left']
"""

from dataclasses import dataclass
from math import pi

from multiplane.features import Place


@dataclass(frozen=True)
class Cauchit:
    """g(u) = ½ + atan(u)/π for each class: the cumulative distribution of Cauchy's."""

    L: float = 1 / pi  # the greatest slope of g, at 0
    mu: float = 0.0  # its least, far out

    def value(self, S):  # Φ of each row, ∇Φ = g
        xp = Place.of(S).xp
        return xp.sum(S / 2 + (S * xp.atan(S) - xp.log1p(S * S) / 2) / pi, axis=1)

    def link(self, S):
        return 0.5 + Place.of(S).xp.atan(S) / pi
