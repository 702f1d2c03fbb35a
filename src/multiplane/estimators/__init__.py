"""The scikit-learn face: validate, translate, delegate."""

from multiplane.estimators._hyperplanes import (
    AMMClassifier,
    GAMMClassifier,
    MMClassifier,
    PegasosClassifier,
)
from multiplane.estimators._kernels import BudgetedPegasosClassifier, ProjectronClassifier

__all__ = [
    "AMMClassifier",
    "BudgetedPegasosClassifier",
    "GAMMClassifier",
    "MMClassifier",
    "PegasosClassifier",
    "ProjectronClassifier",
]
