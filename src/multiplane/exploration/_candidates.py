"""What `explore` tries: six families, how their rows are prepared, how large they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from multiplane.estimators._hyperplanes import AMMClassifier, GAMMClassifier, PegasosClassifier
from multiplane.estimators._kernels import BudgetedPegasosClassifier
from multiplane.estimators._least_squares import StagewiseLeastSquaresClassifier
from multiplane.estimators._multiplane import MultiplaneClassifier
from multiplane.features import FeatureSubset, RandomFourier

_WIDE = 5_000  # columns of sparse rows: text, for which support vectors and cosines are too long
_MANY = 100  # columns of which some may only be noise
_COMPONENTS = 50  # principal axes that are left of them: see decision 8
_PASSES = 10
_LARGE = 3_000  # rows for the largest models

LINEAR, AMM, GAMM = "linear", "AMM", "GAMM"
MULTIPLANE, LEAST_SQUARES, KERNEL = "multiplane", "least squares", "kernel"


@dataclass(frozen=True)
class Size:
    words: str = ""
    value: Any = field(default_factory=dict)
    n_rows: int = 0  # with fewer it is no better than a smaller one
    cost: float = 1.0  # time for training, in units of the smallest's


@dataclass(frozen=True)
class Habits:
    """What is known of a family before anything is measured."""

    growth: float = 0.9  # about: time for training grows with this power of the rows
    flattening: float = 0.3  # of learning curves: less where models grow with the rows
    patient: bool = True  # whether half of a training is worth little


Key = tuple[str, int, int]  # family, rung, preparation


@dataclass(frozen=True)
class Candidate:
    """One estimator that may be recommended."""

    family: str
    rung: int  # of the size in the family, from small on
    size: Size
    preparation: int
    estimator: Any
    habits: Habits

    @property
    def name(self) -> str:
        return f"{self.family}, {self.size.words}" if self.size.words else self.family

    @property
    def key(self) -> Key:
        return self.family, self.rung, self.preparation

    @property
    def prepared(self) -> str:
        """How its rows are: a few words."""
        if not isinstance(self.estimator, Pipeline):
            return ""
        words = type(self.estimator[0]).__name__
        n_components = getattr(getattr(self.estimator[-1], "features", None), "n_components", None)
        return words if n_components is None else f"{words}, {n_components} principal axes"

    def make(self, random_state: int) -> Any:
        """A new, unfitted one."""
        estimator = clone(self.estimator)
        seeded = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        seeded.set_params(random_state=random_state)
        return estimator


@dataclass(frozen=True)
class Family:
    """`make(preparation, size)` for each preparation and each size, smallest first."""

    name: str
    preparations: tuple[Any, ...]
    sizes: tuple[Size, ...]
    make: Callable[[Any, Any], BaseEstimator]
    habits: Habits = Habits()

    def candidate(self, preparation: int, rung: int) -> Candidate:
        estimator = self.make(self.preparations[preparation], self.sizes[rung].value)
        return Candidate(self.name, rung, self.sizes[rung], preparation, estimator, self.habits)

    def prepared(self) -> Iterator[Candidate]:
        """The smallest, prepared in all ways."""
        return (self.candidate(preparation, 0) for preparation in range(len(self.preparations)))


def families(X: Any) -> list[Family]:
    """From cheap to dear."""
    sparse, d = sp.issparse(X), X.shape[1]
    if sparse:
        scalers: tuple[Any, ...] = (MaxAbsScaler(), Normalizer())
    else:
        scalers = (StandardScaler(), MaxAbsScaler())

    def scaled(make: Any, **parameters: Any) -> Callable[[Any, Any], BaseEstimator]:
        def made(scaler: Any, size: Any) -> BaseEstimator:
            return make_pipeline(clone(scaler), make(alpha="auto", **parameters, **size))

        return made

    def least_squares(preparation: Any, n_stages: int) -> BaseEstimator:
        scaler, n_components = preparation
        features = RandomFourier(width="auto", n_components=n_components)
        if sparse and d > _WIDE:
            features = FeatureSubset()
        clf = StagewiseLeastSquaresClassifier(features=features, n_stages=n_stages)
        return make_pipeline(clone(scaler), clf)

    components = (None, _COMPONENTS) if _MANY < d <= _WIDE else (None,)
    block = StagewiseLeastSquaresClassifier().block_size
    found = [
        Family(LINEAR, scalers, (Size(),), scaled(PegasosClassifier, max_iter=_PASSES)),
        Family(AMM, scalers, (Size(),), scaled(AMMClassifier, max_iter=_PASSES)),
        Family(
            GAMM,
            scalers,
            (Size(),),
            scaled(GAMMClassifier, max_iter=_PASSES),
            Habits(flattening=0.1),
        ),
        Family(
            MULTIPLANE,
            (None,),  # it prepares them itself
            (Size(),),
            lambda _, size: MultiplaneClassifier(**size),
            Habits(flattening=0.1),
        ),
        Family(
            LEAST_SQUARES,
            tuple((scaler, n) for n in components for scaler in scalers),
            tuple(
                Size(f"{n * block:,} features", n, n_rows, cost)
                for n, n_rows, cost in ((4, 0, 1.0), (16, 0, 2.0), (64, _LARGE, 7.0))
            ),
            least_squares,
            # The width is found with 4,000 rows; fewer stages are a smaller model.
            Habits(growth=0.7, patient=False),
        ),
    ]
    if not (sparse and d > _WIDE):
        budgets = tuple(
            Size(f"{n:,} support vectors", {"budget": n}, n_rows, cost)
            for n, n_rows, cost in ((100, 0, 1.0), (500, 0, 3.5), (2000, _LARGE, 12.0))
        )
        make = scaled(BudgetedPegasosClassifier, gamma="auto", max_iter=_PASSES)
        found.append(Family(KERNEL, scalers, budgets, make))
    return found


# --- as code --------------------------------------------------------------------------------


def code(estimator: Any, name: str = "model") -> str:
    """Python that makes such an estimator."""
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    parts = [_expression(step) for step in steps]
    lines = sorted({line for step in steps for line in _imports(step)})
    if len(parts) == 1:
        return "\n".join([*lines, "", f"{name} = {parts[0]}"])
    lines = sorted([*lines, "from sklearn.pipeline import make_pipeline"])
    return "\n".join([*lines, "", f"{name} = make_pipeline(", *(f"    {p}," for p in parts), ")"])


def _expression(estimator: Any) -> str:
    text = estimator.__repr__(N_CHAR_MAX=1 << 30)
    return re.sub(r"\s+", " ", text.replace("'", '"'))


def _imports(estimator: Any) -> Iterator[str]:
    yield f"from {_module(estimator)} import {type(estimator).__name__}"
    for value in estimator.get_params(deep=False).values():
        if isinstance(value, BaseEstimator):
            yield from _imports(value)


def _module(estimator: Any) -> str:
    module = type(estimator).__module__.split("._")[0]
    return {"multiplane.estimators": "multiplane"}.get(module, module)
