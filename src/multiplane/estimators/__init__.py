"""The scikit-learn face: validate, translate, delegate."""

from multiplane.estimators._hyperplanes import (
    AMMClassifier,
    GAMMClassifier,
    MMClassifier,
    PegasosClassifier,
)

__all__ = ["AMMClassifier", "GAMMClassifier", "MMClassifier", "PegasosClassifier"]
