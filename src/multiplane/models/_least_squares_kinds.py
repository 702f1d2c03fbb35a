"""What least-squares models are made of, for files: types, their fields, and what must hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from multiplane.links import Identity, Logistic, Softmax, project_cube, project_simplex
from multiplane.models._image_maps import Geometry, Pairs, Pooled
from multiplane.models._least_squares import (
    CalibratedModel,
    Linear,
    Round,
    Stage,
    StagewiseModel,
    Standard,
    cube,
    identity,
    square,
)
from multiplane.models._maps import (
    Chain,
    Columns,
    FeatureMap,
    Fourier,
    Logits,
    Products,
    Project,
    Same,
)
from multiplane.models._steps import STEP_KINDS
from multiplane.models._tree import NUMBER, Kind, Kinds, of_dataclass

_FUNCTIONS = {
    function.__name__: function
    for function in (identity, square, cube, project_simplex, project_cube)
}
_BASIS = (identity, square, cube)


# --- forms --------------------------------------------------------------------------------


def _positive(value: Any) -> bool:
    """a whole number above zero"""
    return type(value) is int and value > 0


def _positive_number(value: Any) -> bool:
    """a finite number above zero"""
    return type(value) in NUMBER and 0 < value < np.inf


def _basis(value: Any) -> bool:
    """a tuple of functions of predictions"""
    return isinstance(value, tuple) and all(part in _BASIS for part in value)


def _sums(value: Any) -> bool:
    """a tuple of tuples of stages, as many in each"""
    return (
        isinstance(value, tuple)
        and len(value) > 0
        and all(isinstance(stages, tuple) and len(stages) > 0 for stages in value)
        and all(isinstance(stage, Stage) for stages in value for stage in stages)
        and len({len(stages) for stages in value}) == 1
    )


def _rounds(value: Any) -> bool:
    """a tuple of rounds"""
    return isinstance(value, tuple) and len(value) > 0 and all(isinstance(r, Round) for r in value)


def _projection(value: Any) -> bool:
    """a projection of predictions"""
    return value in (project_simplex, project_cube)


# --- what must hold -----------------------------------------------------------------------


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _check_indices(columns: Any, n: int) -> None:
    if len(columns):
        _need(columns.min() >= 0 and columns.max() < n, f"a column is not within 0 … {n - 1}")


def inputs(map: FeatureMap) -> int | None:
    """How many columns a map takes; None: any that has those which it picks."""
    if isinstance(map, Same):
        return map.n_inputs
    if isinstance(map, Chain):
        return inputs(map.first)
    if isinstance(map, Columns):
        return None
    if isinstance(map, Standard):
        return int(map.shift.shape[0])
    if isinstance(map, Pairs | Project):
        return int(map.mean.shape[0])
    if isinstance(map, Pooled):
        return map.geometry.height * map.geometry.width * map.geometry.channels
    assert isinstance(map, Fourier | Products | Logits)
    return int(map.weights.shape[0])


def _check_takes(map: FeatureMap, n: int) -> None:
    wanted = inputs(map)
    if wanted is not None:
        _need(wanted == n, f"{type(map).__name__} takes {wanted} columns, and there are {n}")
    if isinstance(map, Columns):
        _check_indices(map.columns, n)
    if isinstance(map, Chain):
        _check_takes(map.first, n)


def _check_chain(chain: Chain) -> None:
    _check_takes(chain.then, chain.first.n_features)


def _check_fourier(map: Fourier) -> None:
    _need(map.n_sines in (map.weights.shape[1], map.weights.shape[1] - 1), "cosines and sines")
    _need(map.n_features > 0, "there are no features")


def _check_products(map: Products) -> None:
    n = map.offsets.shape[0]
    _need(n > 0 and n % map.degree == 0, f"{n} factors do not make products of {map.degree}")


def _check_pairs(map: Pairs) -> None:
    for columns in (map.kept, map.left, map.right):
        _check_indices(columns, map.mean.shape[0])


def _check_geometry(g: Geometry) -> None:
    _need(g.patch <= min(g.height, g.width), "a patch is larger than an image")
    _need(g.pool <= min(g.grid), "there are more cells than patches")


def _check_pooled(map: Pooled) -> None:
    _need(map.filters.shape[0] == map.geometry.inputs, "filters and patches differ in size")


def _check_stage(stage: Stage) -> None:
    n = stage.map.n_features + len(stage.basis) * stage.linear.b.shape[0]
    _need(stage.linear.W.shape[0] == n, f"{n} features have {stage.linear.W.shape[0]} weights")


def _check_stagewise(model: StagewiseModel) -> None:
    for stages in model.sums:
        for stage in stages:
            _check_takes(stage.map, model.input.n_features)
            _need(stage.linear.b.shape[0] == model.n_classes, "a stage has other classes")


def _check_calibrated(model: CalibratedModel) -> None:
    _check_takes(model.map, model.input.n_features)
    p, k = model.map.n_features, model.rounds[0].fit.b.shape[0]
    _need(len(model.basis) > 0, "there are no functions of predictions")
    for r in model.rounds:
        _need(r.fit.W.shape == (p, k), f"{p} features have {r.fit.W.shape[0]} weights")
        _need(r.calibration.W.shape == (len(model.basis) * k, k), "a calibration does not fit")


def takes(model: Any, n: int) -> None:
    """ValueError if a model takes other rows than of n columns."""
    _check_takes(model.input, n)


def n_outputs(model: Any) -> int:
    """Scores that a model has for a row."""
    if isinstance(model, CalibratedModel):
        return int(model.rounds[0].fit.b.shape[0])
    return int(model.n_classes)


_OBJECTS: dict[str, Kind] = {
    kind.type.__name__: kind
    for kind in (
        of_dataclass(Same, n_inputs=_positive),
        of_dataclass(Chain, _check_chain, first=FeatureMap, then=FeatureMap),
        of_dataclass(Standard, shift="float d", scale="float d"),
        of_dataclass(Project, mean="float d", axes="float dc"),
        of_dataclass(Fourier, _check_fourier, weights="float dc", n_sines=int),
        of_dataclass(
            Products, _check_products, weights="float dc", offsets="float c", degree=_positive
        ),
        of_dataclass(Logits, weights="float dc", offsets="float c"),
        of_dataclass(Columns, columns="int c"),
        of_dataclass(
            Geometry,
            _check_geometry,
            height=_positive,
            width=_positive,
            channels=_positive,
            patch=_positive,
            stride=_positive,
            pool=_positive,
        ),
        of_dataclass(
            Pooled,
            _check_pooled,
            geometry=Geometry,
            shift=NUMBER,
            filters="float if",
            high="float f",
            low="float f",
            flat=(*NUMBER, type(None)),
            root=bool,
            mirror=bool,
        ),
        of_dataclass(
            Pairs,
            _check_pairs,
            mean="float d",
            scale="float d",
            kept="int n",
            left="int p",
            right="int p",
            product_mean="float p",
            product_scale="float p",
        ),
        of_dataclass(Linear, W="float pk", b="float k"),
        of_dataclass(Stage, _check_stage, map=FeatureMap, linear=Linear, basis=_basis),
        of_dataclass(
            StagewiseModel, _check_stagewise, input=FeatureMap, sums=_sums, n_classes=_positive
        ),
        of_dataclass(Round, fit=Linear, calibration=Linear),
        of_dataclass(
            CalibratedModel,
            _check_calibrated,
            input=FeatureMap,
            map=FeatureMap,
            rounds=_rounds,
            basis=_basis,
            project=_projection,
        ),
        of_dataclass(Identity, L=_positive_number, mu=NUMBER),
        of_dataclass(Softmax, L=_positive_number, mu=NUMBER),
        of_dataclass(Logistic, L=_positive_number, mu=NUMBER),
    )
}

KINDS = Kinds({**_OBJECTS, **STEP_KINDS}, _FUNCTIONS)
MODELS = (StagewiseModel, CalibratedModel)
