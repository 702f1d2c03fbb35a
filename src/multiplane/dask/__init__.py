"""Learning where the data live: the classifiers on a Dask cluster.

The classes have the names, parameters and attributes of those in `multiplane`, and one parameter
more, ``client``. ``fit`` takes Dask arrays, Dask data frames, delayed objects, or files that the
workers read themselves; docs/dask.md tells how to run a cluster.
"""

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        'multiplane.dask needs Dask and its scheduler: pip install "multiplane[dask]"'
    ) from error

from multiplane.dask._engine import DaskEngine
from multiplane.dask._estimators import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    GeneralizedLeastSquaresClassifier,
    MMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
)
from multiplane.dask._inputs import Files

__all__ = [
    "AMMClassifier",
    "BudgetedPegasosClassifier",
    "CalibratedLeastSquaresClassifier",
    "DaskEngine",
    "Files",
    "GAMMClassifier",
    "GeneralizedLeastSquaresClassifier",
    "MMClassifier",
    "MultiplaneClassifier",
    "PegasosClassifier",
    "StagewiseLeastSquaresClassifier",
]
