"""What there is to export of a fitted classifier, whatever the format."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from multiplane._arrays import Place
from multiplane.estimators._checks import as_local
from multiplane.estimators._least_squares_base import LeastSquaresClassifier
from multiplane.links import Identity, Logistic, Softmax, project_simplex
from multiplane.models._least_squares import (
    Basis,
    CalibratedModel,
    StagewiseModel,
    cube,
    identity,
    square,
)

# Nothing here imports the compiled module: least squares do without it.

Probabilities = Literal["softmax", "logistic", "simplex", "cube"]
Function = Literal["identity", "square", "cube"]
KERNELS = ("linear", "poly", "rbf", "sigmoid")  # that ONNX graphs and C headers are written for


@dataclass(frozen=True)
class Hyperplanes:
    """Those of a class side by side; the highest score of a class is its score."""

    coef: NDArray[np.float32]  # (m, d)
    intercept: NDArray[np.float32]  # (m,)
    first: NDArray[np.int64]  # (n_classes + 1,): class c owns those from first[c] to first[c + 1]


@dataclass(frozen=True)
class Kernel:
    """f_c(x) = Σ_j coef_jc k(v_j, x)."""

    vectors: NDArray[np.float32]  # (s, d)
    coef: NDArray[np.float32]  # (s, n_classes)
    kind: str  # of KERNELS
    gamma: float
    coef0: float
    degree: int


@dataclass(frozen=True)
class Affine:
    """x ↦ (x − shift) · factor, feature by feature."""

    shift: NDArray[np.float64]  # (d,)
    factor: NDArray[np.float64]  # (d,)


@dataclass(frozen=True)
class UnitLength:
    """x ↦ x / ‖x‖; zeros stay zeros."""


@dataclass(frozen=True)
class Contents:
    """A classifier, taken apart."""

    model: Hyperplanes | Kernel | StagewiseModel | CalibratedModel
    labels: list[int] | list[str]
    n_features: int
    feature_names: list[str] | None
    made_by: str  # the class of the estimator
    # What is done to rows beforehand, in float64; they are then rounded to dtype.
    steps: tuple[Affine | UnitLength, ...] = ()
    dtype: type[np.floating[Any]] = np.float32  # in which scores are computed
    multilabel: bool = False
    probabilities: Probabilities | None = None
    exact: bool = False  # whether the very bits of scores can be had by multiply-adds in order


def contents(estimator: Any) -> Contents:
    """Of a fitted classifier of this library, or a Pipeline that ends with one.

    Others are a TypeError.
    """
    estimator = as_local(estimator)
    # The module is there if one of its objects is.
    auto = sys.modules.get("multiplane.exploration._auto")
    is_auto = auto is not None and isinstance(estimator, auto.AutoClassifier)
    if is_auto or isinstance(estimator, Pipeline):
        check_is_fitted(estimator)
    whole = estimator.estimator_ if is_auto else estimator
    before, classifier = [], whole
    if isinstance(whole, Pipeline):
        before, classifier = [step for _, step in whole.steps[:-1]], whole.steps[-1][1]
    is_least_squares = isinstance(classifier, LeastSquaresClassifier)
    if not is_least_squares and not hasattr(classifier, "_fitted_model"):
        raise TypeError(
            f"model must be a fitted classifier of multiplane, or a Pipeline that ends with one, "
            f"got {type(classifier).__name__}; of a search pass best_estimator_"
        )
    check_is_fitted(classifier)
    names = getattr(estimator, "feature_names_in_", None)
    shared: dict[str, Any] = {
        "labels": label_list(classifier.classes_),
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "made_by": type(classifier).__name__,
    }
    steps = [_step(step) for step in before if step not in (None, "passthrough")]
    if is_least_squares:
        return Contents(
            model=classifier._model.at(Place.of(np.empty(0))),
            steps=tuple(steps),
            dtype=np.float64 if classifier._dtype == "float64" else np.float32,
            multilabel=classifier._multilabel,
            probabilities=_probabilities(classifier),
            **shared,
        )
    model = classifier._fitted_model()
    scaler = getattr(classifier, "scaler_", None)
    if scaler is not None:
        steps.append(Affine(scaler.shift, scaler.factor))
    return Contents(
        model=_hyperplanes(model) if hasattr(model, "owner") else _kernel(model),
        steps=tuple(steps),
        # What scikit-learn's scalers round depends on the type of the rows.
        exact=hasattr(model, "owner") and not before,
        **shared,
    )


def _step(step: Any) -> Affine | UnitLength:
    """Of a Pipeline, before the classifier: what `explore` prepares rows with."""
    kind, n_features = type(step), getattr(step, "n_features_in_", 0)
    if kind in (StandardScaler, MaxAbsScaler) and not getattr(step, "clip", False):
        mean = getattr(step, "mean_", None)  # found, but not used, without with_mean
        shift = np.zeros(n_features) if mean is None or not step.with_mean else mean
        scale = np.ones(n_features) if step.scale_ is None else step.scale_
        return Affine(shift.astype(np.float64), 1 / scale.astype(np.float64))
    if kind is Normalizer and step.norm == "l2":
        return UnitLength()
    raise TypeError(
        f"steps before the classifier must be StandardScaler, MaxAbsScaler or Normalizer for an "
        f"export, got {step!r}; export the classifier alone, and prepare rows as that step does"
    )


def label_list(classes: Any) -> list[int] | list[str]:
    """Whole numbers, be they bools or floats, as such; all other labels as text."""
    labels = np.asarray(classes).tolist()
    if all(isinstance(label, bool | int | float) for label in labels) and all(
        abs(label) < 2**63 and label == int(label) for label in labels
    ):
        return [int(label) for label in labels]
    return [str(label) for label in labels]


def function_names(basis: Basis) -> list[Function]:
    known: dict[Any, Function] = {identity: "identity", square: "square", cube: "cube"}
    foreign = [function for function in basis if function not in known]
    if foreign:
        raise TypeError(
            f"basis must be of 'identity', 'square' and 'cube' for an export, got {foreign[0]!r}: "
            f"a function of your own has no form that other runtimes know"
        )
    return [known[function] for function in basis]


def projection(model: CalibratedModel) -> Probabilities:
    """Where the predictions between two rounds are projected to."""
    return "simplex" if model.project is project_simplex else "cube"


def foreign_map(map: Any) -> TypeError:
    return TypeError(
        f"features must come from the generators of multiplane.features for an export, got a "
        f"{type(map).__name__}: a map of your own has no form that other runtimes know"
    )


def _hyperplanes(model: Any) -> Hyperplanes:
    order = np.argsort(model.owner, kind="stable")
    counts = np.bincount(model.owner, minlength=model.n_classes)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Hyperplanes(model.coef[order], model.intercept[order], first)


def _kernel(model: Any) -> Kernel:
    # The machine knows its kernel, whatever set_params has said since.
    vectors, coef, kind, gamma, coef0, degree = model.machine.__getstate__()
    if kind not in KERNELS:  # one that was added to the loops alone
        raise TypeError(f"kernel must be one of {KERNELS} for an export, got {kind!r}")
    return Kernel(vectors, coef, kind, gamma, coef0, degree)


def _probabilities(estimator: Any) -> Probabilities:
    link: Any = Identity()
    if hasattr(estimator, "link"):
        link = estimator._link()
    elif getattr(estimator, "update", None) == "logistic":
        link = estimator._update().link
    if type(link) is Softmax:
        return "softmax"
    if type(link) is Logistic:
        return "logistic"
    if type(link) is not Identity:
        raise TypeError(
            f"link must be one of multiplane.links for an export, got {type(link).__name__}: a "
            f"function of your own has no form that other runtimes know"
        )
    return "cube" if estimator._multilabel else "simplex"
