"""Least squares in files: what they have beside their models, and how they go on."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from multiplane._arrays import NUMPY, Place
from multiplane.estimators._least_squares import CalibratedLeastSquaresClassifier
from multiplane.features import (
    ConvolutionalPatches,
    FeatureSubset,
    RandomFourier,
    RandomLogit,
    RandomPolynomial,
)
from multiplane.features._base import Source
from multiplane.features._patches import PatchSource
from multiplane.features._random import FourierSource, LogitSource, PolynomialSource
from multiplane.features._subset import SubsetSource
from multiplane.models._container import ModelFileError
from multiplane.models._files import Fitted
from multiplane.models._image_maps import Geometry
from multiplane.models._least_squares import CalibratedModel
from multiplane.models._maps import FeatureMap
from multiplane.models._tree import NUMBER, Form, Kind, anything, of_dataclass
from multiplane.persistence._checks import checked_state

HISTORY = {"event", "n_iter"}  # what each entry has, and a training that goes on asks for


def attributes(made: Any) -> set[str]:
    """Those that a fitted one has, beside what every model has."""
    return {"n_iter_", "stop_reason_", "history_"}


def fitted(model: Any) -> dict[str, Any]:
    return {
        "model": model._model.at(Place(NUMPY, None)),
        "probabilities": model._to_probabilities(),
        "dtype": model._dtype,
        "multilabel": bool(model._multilabel),
    }


def training_of(model: Any) -> dict[str, Any]:
    """The source of features, which knows what it has given, and what was fixed."""
    model._check_has_training()
    source = copy.copy(model._source)
    source.input = source.input.to(Place(NUMPY, None))
    own = {name: getattr(model, name) for name in ("_seed", "_began", "_begun")}
    return {**own, "_source": source}


def finish(made: Any, parts: Fitted, attributes: dict[str, Any], training: Any) -> None:
    """Give an estimator its model, and what it needs to go on if there is something."""
    calibrated = isinstance(made, CalibratedLeastSquaresClassifier)
    if isinstance(parts.model, CalibratedModel) != calibrated:
        raise ModelFileError(f"its model is not one of {type(made).__name__}")
    made._model, made._dtype, made._multilabel = parts.model, parts.dtype, parts.multilabel
    if training is None:
        return
    forms = {"_source": Source, "_seed": int, "_began": dict, "_begun": int}
    for name, value in checked_state(training, forms).items():
        setattr(made, name, value)
    if made._began.keys() != made._fixed_parameters().keys():
        raise ModelFileError("its training has other fixed parameters")


def _generator(type: type) -> Kind:
    def make(**parameters: Any) -> Any:
        made = type(**parameters)
        made._validate_params()
        return made

    forms = dict.fromkeys(type().get_params(deep=False), anything)
    return Kind(type, forms, lambda g: dict(g.get_params(deep=False)), make, has_defaults=True)


def _dtype(value: Any) -> bool:
    """float32 or float64"""
    return value in ("float32", "float64")


def _random_source(type: type, **more: Form) -> Kind:
    forms: dict[str, Form] = {"input": FeatureMap, "centre": "float d", "width": NUMBER, **more}
    forms["dtype"] = _dtype

    def state(source: Any) -> dict[str, Any]:
        return {name: getattr(source, name) for name in forms} | {"dtype": source.dtype.name}

    def make(dtype: str, **state: Any) -> Any:
        return type(**state, dtype=np.dtype(dtype))

    return Kind(type, forms, state, make)


_GENERATORS = (RandomFourier, RandomPolynomial, RandomLogit, FeatureSubset, ConvolutionalPatches)
_KINDS = {
    **{type.__name__: _generator(type) for type in _GENERATORS},
    "Source": Kind(Source, {"input": FeatureMap}, vars, Source),
    "FourierSource": _random_source(FourierSource),
    "LogitSource": _random_source(LogitSource),
    "PolynomialSource": _random_source(PolynomialSource, degree=int),
    "SubsetSource": of_dataclass(
        SubsetSource, input=FeatureMap, order=str, reorder=str, counts="float d", left="int n"
    ),
    "PatchSource": of_dataclass(
        PatchSource,
        input=FeatureMap,
        generator=ConvolutionalPatches,
        geometry=Geometry,
        images="float nd",
        shift=NUMBER,
        scale=NUMBER,
        patch_mean="float i",
        whitening="float ii",
        centres="float ci",
    ),
}


def kinds(n_features: int, n_classes: int) -> dict[str, Kind]:
    """What its parameters and its training may contain, beside what models do."""
    return _KINDS
