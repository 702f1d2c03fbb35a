"""Features made from rows: scikit-learn transformers, and blocks for stagewise least squares.

How to write a generator of your own is told in docs/extend/generator.md.
"""

from multiplane._arrays import Place, like
from multiplane.models._maps import Chain, FeatureMap, Same

from ._base import FeatureGenerator, Source
from ._patches import ConvolutionalPatches
from ._random import RandomFourier, RandomLogit, RandomPolynomial
from ._subset import FeatureSubset

__all__ = [
    "Chain",
    "ConvolutionalPatches",
    "FeatureGenerator",
    "FeatureMap",
    "FeatureSubset",
    "Place",
    "RandomFourier",
    "RandomLogit",
    "RandomPolynomial",
    "Same",
    "Source",
    "like",
]
