"""`save` and `load`: estimators to files and back."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import multiplane
from multiplane.estimators._checks import as_local
from multiplane.models import _container
from multiplane.models._container import Arrays, Document, ModelFileError, Source
from multiplane.models._files import Fitted, blaming, family_of, fitted_of, read, written
from multiplane.models._tree import NUMBER, Kind, Kinds, decode
from multiplane.persistence._pipelines import put_together, taken_apart

# Classes that files may name, and who knows what they are made of.
_FAMILIES = {
    "_streams": (
        "PegasosClassifier",
        "MMClassifier",
        "AMMClassifier",
        "GAMMClassifier",
        "MultiplaneClassifier",
        "BudgetedPegasosClassifier",
        "ProjectronClassifier",
    ),
    "_least_squares": (
        "GeneralizedLeastSquaresClassifier",
        "CalibratedLeastSquaresClassifier",
        "StagewiseLeastSquaresClassifier",
    ),
}
# Types of attributes that users read, beside those that every model has.
_ATTRIBUTES: dict[str, type | tuple[type, ...]] = {
    "alpha_": NUMBER,
    "gamma_": NUMBER,
    "n_iter_": int,
    "t_": int,
    "degradation_": NUMBER,
    "stop_reason_": str,
    "history_": list,
    "settings_": dict,
    "trials_": list,
}


def _family(name: Any) -> Any:
    for module, names in _FAMILIES.items():
        if name in names:
            return import_module(f"multiplane.persistence.{module}")
    return None


def save(model: Any, path: Source, *, training: bool = False) -> None:
    """Write a fitted classifier of this library to a file that `load` and `compile` read.

    The file (by convention ``.mpl``) is in the safetensors format and holds numbers and names, no
    code: reading one from anywhere is safe. The same model gives the same bytes. It appears under
    its name when it is complete.

    Parameters
    ----------
    model : a fitted classifier
        Or a pipeline of scikit-learn's `StandardScaler`, `MaxAbsScaler` or `Normalizer` and one. Of
        an `AutoClassifier`, its ``estimator_`` is written; of a classifier of `multiplane.dask`,
        the plain one. A `RandomState` object among the parameters is written as it is at the
        moment.
    path : str, path or binary file
    training : bool, default=False
        Also what `partial_fit` and a warm start need to go on as if nothing had happened. A few
        times as large; with a stream's first rows in it, if it has only begun.

    Raises
    ------
    TypeError
        For what is not data: functions, links or generators of features of your own. Use joblib.

    Examples
    --------
    >>> import multiplane, tempfile, os
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(2, 2, n=1000, random_state=0)
    >>> clf = multiplane.AMMClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     multiplane.save(clf, os.path.join(folder, "model.mpl"))
    ...     again = multiplane.load(os.path.join(folder, "model.mpl"))
    >>> bool((again.predict(X) == clf.predict(X)).all())
    True
    """
    _container.write(path, *parts(model, training=training))


def parts(model: Any, *, training: bool = False) -> tuple[Document, Arrays]:
    """The document and the arrays of a model file."""
    model = as_local(model)
    own = fitted(model)
    _, model, family = known(model)
    model._validate_params()
    attributes = {n: getattr(model, n) for n in _ATTRIBUTES if hasattr(model, n)}
    attributes["history_"] = [
        {key: value for key, value in entry.items() if key != "seconds"} for entry in model.history_
    ]
    return written(
        {"class": type(model).__name__, "multiplane": multiplane.__version__},
        own,
        _kinds(family, own),
        {
            "parameters": dict(model.get_params(deep=False)),
            "fitted": attributes,
            "training": family.training_of(model) if training else None,
        },
    )


def known(model: Any) -> tuple[tuple[Any, ...], Any, Any]:
    """Scalers before a fitted classifier, the classifier, and who knows what it is made of."""
    check_is_fitted(model)
    # The module is there if one of its objects is. Others that have an estimator_ do more with it.
    auto = sys.modules.get("multiplane.exploration._auto")
    is_auto = auto is not None and isinstance(model, auto.AutoClassifier)
    steps, model = taken_apart(model.estimator_ if is_auto else model)
    name = type(model).__name__
    family = _family(name)
    if family is None or type(model) is not getattr(multiplane, name):
        raise TypeError(
            f"a classifier of multiplane is needed, got {name}; use joblib.dump for other things"
        )
    return steps, model, family


def fitted(model: Any) -> Fitted:
    """What prediction needs of a fitted classifier, at NumPy's place."""
    model = as_local(model)
    names = getattr(model, "feature_names_in_", None)
    steps, model, family = known(model)
    return Fitted(
        classes=model.classes_,
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else np.asarray(names, dtype=object),
        scaler=getattr(model, "scaler_", None),
        n_jobs=getattr(model, "n_jobs", None),
        steps=steps,
        **family.fitted(model),
    )


def load(path: Source) -> Any:
    """Read a classifier from a file that `save` wrote.

    Nothing in the file is executed: it may come from anywhere. Predictions are those of the saved
    classifier, bit for bit. `partial_fit` and warm starts need a file written with
    ``training=True``.

    Parameters
    ----------
    path : str, path or binary file

    Returns
    -------
    A fitted estimator of the class that was saved; behind scalers, a pipeline.

    Raises
    ------
    ModelFileError
        A ValueError that says what is wrong with the file.
    """
    with blaming(path):
        return estimator_of(*read(path))


def estimator_of(document: Document, arrays: Arrays) -> Any:
    """Of what a model file holds; arrays are taken out as they are used."""
    family = _family(document["class"])
    if family is None:
        raise ModelFileError(f"it holds a classifier of the unknown class {document['class']!r}")
    parts = fitted_of(document, arrays)
    if (parts.dtype is None) != (document["class"] in _FAMILIES["_streams"]):
        raise ModelFileError(f"its model is not one of {document['class']}")
    kinds = _kinds(family, parts)
    parameters = decode(document["parameters"], arrays, kinds)
    attributes = decode(document["fitted"], arrays, kinds)
    training = decode(document["training"], arrays, kinds)
    if arrays:
        raise ModelFileError(f"it has arrays that nobody asks for: {sorted(arrays)[:3]}")
    made = _with_parameters(document["class"], parameters)
    _set_attributes(made, attributes, parts, family)
    family.finish(made, parts, attributes, training)
    return put_together(parts.steps, made)


def _with_parameters(name: str, parameters: Any) -> Any:
    make = getattr(multiplane, name)
    known = make().get_params(deep=False)
    if not isinstance(parameters, dict) or parameters.keys() - known.keys():
        raise ModelFileError(f"{name} does not know all of its parameters: {parameters!r:.80}")
    try:
        made = make(**parameters)
        made._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{name} cannot have its parameters: {error}") from None
    return made


def _set_attributes(made: Any, attributes: Any, parts: Fitted, family: Any) -> None:
    if not isinstance(attributes, dict) or attributes.keys() != family.attributes(made):
        raise ModelFileError(f"its attributes must be {sorted(family.attributes(made))}")
    for name, value in attributes.items():
        if isinstance(value, bool) or not isinstance(value, _ATTRIBUTES[name]):
            raise ModelFileError(f"the attribute {name} is not of its type")
        if name != "degradation_":  # a property
            setattr(made, name, value)
    for entry in made.history_:
        if not isinstance(entry, dict) or family.HISTORY - entry.keys():
            raise ModelFileError(f"entries of history_ must have {sorted(family.HISTORY)}")
    made.classes_ = parts.classes
    made.n_features_in_ = parts.n_features
    if parts.feature_names is not None:
        made.feature_names_in_ = parts.feature_names
    if parts.scaler is not None:
        made.scaler_ = parts.scaler


# --- what parameters may be ----------------------------------------------------------------


def _random_state(key: Any, position: int, has_gauss: int, gauss: float) -> Any:
    random = np.random.RandomState(0)
    random.set_state(("MT19937", key, position, has_gauss, gauss))
    return random


def _key(value: Any) -> bool:
    """624 numbers of 32 bits"""
    return isinstance(value, np.ndarray) and value.shape == (624,) and value.dtype == np.uint32


def _position(value: Any) -> bool:
    """a whole number from 0 to 624"""
    return type(value) is int and 0 <= value <= 624


_RANDOM_STATE = Kind(
    np.random.RandomState,
    {"key": _key, "position": _position, "has_gauss": int, "gauss": NUMBER},
    lambda r: dict(zip(("key", "position", "has_gauss", "gauss"), r.get_state()[1:], strict=True)),
    _random_state,
)


def _kinds(family: Any, parts: Fitted) -> Kinds:
    """What a file may contain. With the sizes, learners of others are refused before memory is
    asked for."""
    models: Kinds = family_of(parts.dtype).KINDS
    own = {"RandomState": _RANDOM_STATE, **family.kinds(parts.n_features, len(parts.classes))}
    return Kinds({**models.objects, **own}, models.functions)
