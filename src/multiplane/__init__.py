"""Nonlinear multi-class classification at the speed of linear models."""

from importlib.metadata import version as _version

from multiplane import datasets, theory
from multiplane._config import show_config, use_simd_from_environment
from multiplane.estimators import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    GAMMClassifier,
    MMClassifier,
    PegasosClassifier,
    ProjectronClassifier,
)

use_simd_from_environment()

__version__ = _version("multiplane")

__all__ = [
    "AMMClassifier",
    "BudgetedPegasosClassifier",
    "GAMMClassifier",
    "MMClassifier",
    "PegasosClassifier",
    "ProjectronClassifier",
    "__version__",
    "datasets",
    "show_config",
    "theory",
]
