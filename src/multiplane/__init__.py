"""Nonlinear multi-class classification at the speed of linear models."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from multiplane import dask as dask
    from multiplane import data, datasets, features, links, theory
    from multiplane._config import show_config
    from multiplane.estimators._hyperplanes import (
        AMMClassifier,
        GAMMClassifier,
        MMClassifier,
        PegasosClassifier,
    )
    from multiplane.estimators._kernels import BudgetedPegasosClassifier, ProjectronClassifier
    from multiplane.estimators._least_squares import (
        CalibratedLeastSquaresClassifier,
        GeneralizedLeastSquaresClassifier,
        StagewiseLeastSquaresClassifier,
    )
    from multiplane.estimators._multiplane import MultiplaneClassifier
    from multiplane.exploration._auto import AutoClassifier
    from multiplane.exploration._explore import Exploration, explore
    from multiplane.exporting._export import export
    from multiplane.models._container import ModelFileError
    from multiplane.models._predictor import Predictor
    from multiplane.persistence._compile import compile
    from multiplane.persistence._estimators import load, save
    from multiplane.reporting._report import report

    __version__: str

__all__ = [
    "AMMClassifier",
    "AutoClassifier",
    "BudgetedPegasosClassifier",
    "CalibratedLeastSquaresClassifier",
    "Exploration",
    "GAMMClassifier",
    "GeneralizedLeastSquaresClassifier",
    "MMClassifier",
    "ModelFileError",
    "MultiplaneClassifier",
    "PegasosClassifier",
    "Predictor",
    "ProjectronClassifier",
    "StagewiseLeastSquaresClassifier",
    "__version__",
    "compile",
    "data",
    "datasets",
    "explore",
    "export",
    "features",
    "links",
    "load",
    "report",
    "save",
    "show_config",
    "theory",
]

# Where a public name lives. Names are looked up when they are asked for: the least-squares family
# needs no compiled module, and works where only the Python sources are.
_HOMES = {
    "_config": ["show_config"],
    "estimators._hyperplanes": [
        "AMMClassifier",
        "GAMMClassifier",
        "MMClassifier",
        "PegasosClassifier",
    ],
    "estimators._kernels": ["BudgetedPegasosClassifier", "ProjectronClassifier"],
    "estimators._least_squares": [
        "CalibratedLeastSquaresClassifier",
        "GeneralizedLeastSquaresClassifier",
        "StagewiseLeastSquaresClassifier",
    ],
    "estimators._multiplane": ["MultiplaneClassifier"],
    "exploration._auto": ["AutoClassifier"],
    "exploration._explore": ["Exploration", "explore"],
    "models._container": ["ModelFileError"],
    "models._predictor": ["Predictor"],
    "persistence._compile": ["compile"],
    "persistence._estimators": ["load", "save"],
    "exporting._export": ["export"],
    "reporting._report": ["report"],
}
# "dask" is not among the names of `import *`: it needs a package that not everybody has.
_MODULES = ("dask", "data", "datasets", "features", "links", "theory")


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"multiplane.{name}")
    if name == "__version__":
        globals()[name] = value = _find_version()
        return value
    for home, names in _HOMES.items():
        if name in names:
            try:
                module = _import_module(f"multiplane.{home}")
            except ImportError as error:
                if "_native" not in str(error) or _find_spec("multiplane._native"):
                    raise
                raise ImportError(
                    f"{name} needs multiplane's compiled module, which is not here; install the "
                    f"package (pip install multiplane), or use the least-squares classifiers"
                ) from error
            globals()[name] = value = getattr(module, name)
            return value
    raise AttributeError(f"module 'multiplane' has no attribute {name!r}")


def _find_version() -> str:
    """Not at the import: it takes a twentieth of a second, a sixth of what `predict` may take."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("multiplane")
    except PackageNotFoundError:  # the sources alone
        return "0.1.0"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if _find_spec("multiplane._native"):  # MULTIPLANE_SIMD counts from the first import on
    from multiplane._config import use_simd_from_environment as _use_simd_from_environment

    _use_simd_from_environment()
