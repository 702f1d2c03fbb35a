"""Checks that all families of estimators share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight


class NoWeightError(ValueError):
    """No row counts."""


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Checks write attributes (`n_features_in_`); if one fails, none is left behind."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        # Callbacks that have begun are still to be told of the end.
        after = {k: v for k, v in vars(estimator).items() if k.startswith(("_callback", "_skl"))}
        estimator.__dict__.clear()
        estimator.__dict__.update(before | after)
        raise


def as_local(model: Any) -> Any:
    """The plain classifier of one that was trained elsewhere (`multiplane.dask`); or itself."""
    return model.to_local() if hasattr(model, "to_local") else model


def check_can_stop_early(estimator: Any, X_val: Any, y_val: Any) -> None:
    """For trainings from parts."""
    if estimator.early_stopping and X_val is None and y_val is None:
        raise ValueError(
            "early_stopping=True needs X_val and y_val here: rows cannot be held out of "
            "partitions that stay where they are; pass both, or set early_stopping=False"
        )


def new_seed(random: np.random.RandomState) -> int:
    return int(random.randint(np.iinfo(np.int32).max))


def class_weights(
    class_weight: Any,
    y: NDArray[Any],
    classes: NDArray[Any] | None,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The weight that each row has for its class; `classes` where all of them are known.

    "balanced" counts rows, or adds up their `sample_weight`.
    """
    present, position = np.unique(y, return_inverse=True)
    if not isinstance(class_weight, dict) and sample_weight is not None:
        sums = np.bincount(position, weights=sample_weight)
        mean = sums.sum() / len(sums)
        each = np.divide(mean, sums, out=np.zeros_like(sums), where=sums > 0)
        return np.asarray(each[position])
    if not isinstance(class_weight, dict):
        each = compute_class_weight(class_weight, classes=present, y=y)
        return np.asarray(each, dtype=np.float64)[position]
    if classes is not None and (unknown := set(class_weight) - set(classes.tolist())):
        raise ValueError(f"class_weight has classes that are not in y: {sorted(unknown)}")
    weights = [float(class_weight.get(label, 1.0)) for label in present.tolist()]
    if not all(0 <= w < np.inf for w in weights):
        raise ValueError(f"class weights must not be negative or infinite, got {weights}")
    return np.array(weights)[position]


NO_WEIGHT = "at least one sample weight must be above zero, got zeros only"
UNFINISHED = "unfinished"  # the stop_reason_ of a training in a checkpoint

NO_TRAINING = (
    "this model was saved without its training and cannot go on from there; save it with "
    "multiplane.save(model, path, training=True), or start anew: with fit (and "
    "warm_start=False) or with a clone"
)
