"""Classifiers that learn row by row in files: their learners, and the first rows of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.estimators._base import Stretch
from multiplane.estimators._kernels import (
    BudgetedPegasosClassifier,
    KernelClassifier,
    ProjectronClassifier,
)
from multiplane.estimators._kernels import Opening as KernelOpening
from multiplane.estimators._multiplane import MultiplaneClassifier
from multiplane.estimators._multiplane import Opening as MultiplaneOpening
from multiplane.estimators._training import Finished, Training
from multiplane.models._container import ModelFileError
from multiplane.models._files import Fitted
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._kernels import KernelModel
from multiplane.models._scaling import Scaling
from multiplane.models._tree import NUMBER, Form, Kind, anything, of_dataclass
from multiplane.persistence._checks import checked_state
from multiplane.solvers._tally import Tally

_LEARNERS: dict[type, type] = {
    BudgetedPegasosClassifier: _native.KernelLearner,
    ProjectronClassifier: _native.Projectron,
}


HISTORY = {"event", "n_iter", "t", "error", "loss", "updates"}  # what each entry has


def attributes(made: Any) -> set[str]:
    """Those that a fitted one has, beside what every model has."""
    names = {"n_iter_", "stop_reason_", "history_", "t_"}
    names |= {f"{name}_" for name in ("alpha", "gamma") if hasattr(made, name)}
    if isinstance(made, MultiplaneClassifier):
        names |= {"settings_", "trials_"}
    return names | {"degradation_"} if isinstance(made, BudgetedPegasosClassifier) else names


def fitted(model: Any) -> dict[str, Any]:
    return {"model": model._fitted_model()}


def training_of(model: Any) -> dict[str, Any]:
    """The learner with its counts, and the rows of a stream that are to be learnt anew."""
    now = model._training
    state = {"learner": now.learner, "tally": now.tally, "fixed": now.parameters}
    if isinstance(model, KernelClassifier | MultiplaneClassifier):
        state["_opening"] = model._opening
    if isinstance(model, MultiplaneClassifier):
        state |= {"_scaling": model._scaling, "_n_passes": getattr(model, "_n_passes", None)}
        state |= {"_work": float(model._work)}
    return state


def finish(made: Any, parts: Fitted, attributes: dict[str, Any], training: Any) -> None:
    """Give an estimator its model, or the learner that makes it."""
    wanted = KernelModel if isinstance(made, KernelClassifier) else HyperplaneModel
    if not isinstance(parts.model, wanted):
        raise ModelFileError(f"its model is not one of {type(made).__name__}")
    has_opening = isinstance(made, KernelClassifier | MultiplaneClassifier)
    if training is None:
        made._training = Finished(parts.model, attributes.get("degradation_"))
        if has_opening:
            made._opening = None
        return
    forms: dict[str, Any] = {"learner": _LEARNERS.get(type(made), _native.Learner), "tally": Tally}
    if has_opening:
        kind = MultiplaneOpening if isinstance(made, MultiplaneClassifier) else KernelOpening
        forms["_opening"] = (kind, type(None))
    if isinstance(made, MultiplaneClassifier):
        forms |= {"_scaling": Scaling, "_n_passes": (int, type(None)), "_work": float}
        if isinstance(training, dict):  # files of older versions do not tell
            training = {"_work": MultiplaneClassifier._work, **training}
    state = checked_state(training, {**forms, "fixed": dict})
    if state["fixed"].keys() != made._fixed_parameters().keys():
        raise ModelFileError("its training has other fixed parameters")
    if "_scaling" in state and len(state["_scaling"].shift) != parts.n_features:
        raise ModelFileError("its training has rows of another width")
    if not 0 < state.get("_work", 1.0) < np.inf:
        raise ModelFileError("its training has no end")
    for name in forms.keys() - {"learner", "tally"}:
        if name != "_n_passes" or state[name] is not None:
            setattr(made, name, state[name])
    made._training = Training(state["learner"], made._maker(), state["fixed"])
    made._training.tally = state["tally"]


# --- rows ---------------------------------------------------------------------------------


def _csr(type: type) -> Kind:
    def make(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        matrix = type((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def state(matrix: Any) -> dict[str, Any]:
        parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
        return {**parts, "shape": tuple(int(side) for side in matrix.shape)}

    forms: dict[str, Form] = {"data": "float v", "indices": "int v", "indptr": "int n"}
    return Kind(type, {**forms, "shape": tuple}, state, make)


def _stretch_state(stretch: Stretch) -> dict[str, Any]:
    parts = [(*part.indices(len(stretch.y))[:2], known) for part, known in stretch.parts]
    return {"X": stretch.X, "y": stretch.y, "weight": stretch.examples.weight, "parts": parts}


def _stretch(n_features: int) -> Kind:
    def make(X: Any, y: Any, weight: Any, parts: Any) -> Stretch:
        if y.ndim != 1 or X.shape != (len(y), n_features):
            raise ValueError("its rows are not those of the labels, or of another width")
        if weight is not None and (weight.dtype != np.float32 or weight.shape != y.shape):
            raise ValueError("rows and weights differ in number")
        for start, stop, classes in parts:
            if not 0 <= start <= stop <= len(y) or classes.ndim != 1:
                raise ValueError("a part is not within the rows")
        examples = Examples(Matrix(X), np.zeros(len(y), dtype=np.int32), weight)
        return Stretch(X, y, examples, [(slice(a, b), classes) for a, b, classes in parts])

    rows: dict[str, Form] = {"X": anything, "y": np.ndarray, "parts": list}
    return Kind(Stretch, {**rows, "weight": (np.ndarray, type(None))}, _stretch_state, make)


def _stretches(value: Any) -> bool:
    """a tuple of stretches of rows"""
    return isinstance(value, tuple) and all(isinstance(part, Stretch) for part in value)


def _check_opening(opening: MultiplaneOpening) -> None:
    if opening.n_rows != sum(len(part.examples.rows()) for part in opening.parts):
        raise ValueError(f"it does not have {opening.n_rows} rows")


# --- learners -----------------------------------------------------------------------------


def _numbers(*names: str) -> dict[str, Form]:
    return dict.fromkeys(names, NUMBER)


_STATE: dict[str, Form] = {
    **_numbers("scale", "squared_norm", "average_unit", "average_sum", "average_weight", "lam"),
    "ball_projection": bool,
    "average": bool,
    "seed": int,
    "t": int,
}
_LEARNER: dict[str, Form] = {
    **_STATE,
    **_numbers("bias", "growth", "growth_decay", "sharing", "rate"),
    "adaptive": bool,
    "t0": int,
    "U": "float md",
    "V": (np.ndarray, type(None)),
    "owner": "int m",
}
_KERNEL: dict[str, Form] = {
    **_numbers("gamma", "coef0"),
    "kernel": str,
    "degree": int,
    "vectors": "float sd",
    "coef": "float sk",
}
_KERNEL_LEARNER: dict[str, Form] = {
    **_STATE,
    **_KERNEL,
    "budget": int,
    "maintenance": str,
    "norm_is_exact": bool,
    "n_maintained": int,
    "degradation": NUMBER,
    "sums": (np.ndarray, type(None)),
    "born": "int s",
    "memory": "float n",
}
_PROJECTRON: dict[str, Form] = {
    **_KERNEL,
    "eta": NUMBER,
    "t": int,
    "slots": list,
    "inverses": list,
}


def _learner(type: Any, forms: dict[str, Form]) -> Kind:
    """Ids count births, of hyperplanes that may be long gone; nobody holds one when a training
    rests, and so they are numbered anew."""

    def state(learner: Any) -> dict[str, Any]:
        whole = learner.__getstate__()
        return {name: whole[name] for name in forms}

    def make(**state: Any) -> Any:
        if "owner" in state:
            n = len(state["owner"])
            state |= {"ids": np.arange(n, dtype=np.int32), "n_ids": n}
        learner = type.__new__(type)
        learner.__setstate__(state)
        return learner

    return Kind(type, forms, state, make)


def kinds(n_features: int, n_classes: int) -> dict[str, Kind]:
    """What a training may contain."""

    def same(number: int, name: str) -> Callable[[Any], bool]:
        def fits(value: Any) -> bool:
            return type(value) is int and value == number

        fits.__doc__ = f"the number of {name}, {number}"
        return fits

    sizes = {"n_features": same(n_features, "features"), "n_classes": same(n_classes, "classes")}
    tally = _numbers(*(field.name for field in fields(Tally)))
    return {
        "Learner": _learner(_native.Learner, {**_LEARNER, **sizes}),
        "KernelLearner": _learner(_native.KernelLearner, {**_KERNEL_LEARNER, **sizes}),
        "Projectron": _learner(_native.Projectron, {**_PROJECTRON, **sizes}),
        # How long it took is not part of a model.
        "Tally": Kind(Tally, tally, lambda t: {**vars(t), "seconds": 0.0}, Tally),
        "Stretch": _stretch(n_features),
        "csr_matrix": _csr(sp.csr_matrix),
        "csr_array": _csr(sp.csr_array),
        "MultiplaneOpening": of_dataclass(
            MultiplaneOpening, _check_opening, seed=int, parts=_stretches, n_rows=int
        ),
        "KernelOpening": of_dataclass(KernelOpening, classes=np.ndarray, seed=int, rows=_stretches),
    }
