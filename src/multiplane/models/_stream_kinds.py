"""What hyperplane and kernel models are made of, for files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multiplane import _native
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._kernels import KernelModel
from multiplane.models._scaling import Scaling
from multiplane.models._steps import STEP_KINDS
from multiplane.models._tree import NUMBER, Form, Kind, Kinds, of_dataclass

MODELS = (HyperplaneModel, KernelModel)


def _degree(value: Any) -> bool:
    """a whole number from 0 to 100"""
    return type(value) is int and 0 <= value <= 100


def _bias(value: Any) -> bool:
    """a number that a row may contain"""
    return type(value) in NUMBER and abs(value) <= _native.LARGEST


def _check_owners(model: Any) -> None:
    if not 0 <= model.n_classes < 2**31:
        raise ValueError(f"n_classes is {model.n_classes}")
    owner = model.owner
    if len(owner) and owner.max() >= model.n_classes:
        raise ValueError(f"a hyperplane belongs to class {owner.max()} of {model.n_classes}")


def _state(forms: dict[str, Form]) -> Callable[[Any], dict[str, Any]]:
    return lambda thing: dict(zip(forms, thing.__getstate__(), strict=True))


def takes(model: Any, n: int) -> None:
    """ValueError if a model takes other rows than of n columns."""
    own = model.machine if isinstance(model, KernelModel) else model.hyperplanes
    if own.n_features != n:
        raise ValueError(f"the model takes {own.n_features} columns, and there are {n}")


def n_outputs(model: Any) -> int:
    """Scores that a model has for a row."""
    if isinstance(model, KernelModel):
        return int(model.machine.coef.shape[1])
    return int(model.n_classes)


_PLANES: dict[str, Form] = {"weights": "float md", "owner": "int m", "bias": _bias}
_MACHINE: dict[str, Form] = {
    "vectors": "float sd",
    "coef": "float sk",
    "kernel": str,
    "gamma": NUMBER,
    "coef0": NUMBER,
    "degree": _degree,
}
KINDS = Kinds(
    {
        **STEP_KINDS,
        "Hyperplanes": Kind(_native.Hyperplanes, _PLANES, _state(_PLANES), _native.Hyperplanes),
        "HyperplaneModel": of_dataclass(
            HyperplaneModel, _check_owners, hyperplanes=_native.Hyperplanes, n_classes=int
        ),
        "KernelMachine": Kind(
            _native.KernelMachine, _MACHINE, _state(_MACHINE), _native.KernelMachine
        ),
        "KernelModel": of_dataclass(KernelModel, machine=_native.KernelMachine),
        "Scaling": of_dataclass(Scaling, shift="float d", factor="float d"),
    },
    {},
)
