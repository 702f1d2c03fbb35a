"""Predictions that are made when they are asked for, where the rows are."""

from __future__ import annotations

import copy
from typing import Any
from uuid import uuid4

import dask
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from multiplane.dask._inputs import Recipe
from multiplane.data import widened


class Lazy:
    """A method of a fitted plain classifier, for rows elsewhere.

    The classifier is in a graph once, however many partitions there are.
    """

    def __init__(self, local: Any, method: str) -> None:
        check_is_fitted(local)
        self.classes, self.n_features = local.classes_, int(local.n_features_in_)
        if hasattr(local, "n_jobs"):  # a worker has other tasks for its other threads
            local.n_jobs = 1
        self._named, self._method = local, method
        self._nameless = copy.copy(local)
        self._nameless.__dict__.pop("feature_names_in_", None)
        self._nothing: NDArray[Any] = self._answer(np.zeros((1, self.n_features)))[:0]

    def _answer(self, X: Any) -> Any:
        return np.asarray(getattr(self._nameless, self._method)(X))

    def of_array(self, X: Any) -> Any:
        """A Dask array."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X must have the {self.n_features} columns of the training, got shape {X.shape}"
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] != 1 else X
        columns = self._nothing.shape[1:]
        shape: dict[str, Any] = {"chunks": (X.chunks[0], columns)} if columns else {"drop_axis": 1}
        return X.map_blocks(
            _answers,
            model=_delayed(self._nameless),
            method=self._method,
            nothing=self._nothing,
            name=f"{self._method}-{uuid4().hex}",
            dtype=self._nothing.dtype,
            meta=self._nothing,
            **shape,
        )

    def of_frame(self, X: Any) -> Any:
        """A Dask series or, of several columns, a data frame, with the index of X."""
        names = getattr(self._named, "feature_names_in_", None)
        if names is not None and list(X.columns) != list(names):
            raise ValueError(
                "the columns of X must be those of the training, in their order; use "
                "X[list(model.feature_names_in_)]"
            )
        meta = _framed(self._nothing, X._meta.index[:0], self.classes)
        return X.map_partitions(
            _framed_answers,
            _delayed(self._named),
            method=self._method,
            nothing=self._nothing,
            classes=self.classes,
            meta=meta,
        )

    def of_recipes(self, recipes: list[Recipe]) -> list[Any]:
        """Delayed arrays, one a partition."""
        model, answer = _delayed(self._nameless), dask.delayed(_made_answers, pure=False)
        return [answer(model, self._method, self._nothing, *recipe) for recipe in recipes]


def scored(local: Any, recipes: list[Recipe]) -> list[Any]:
    """For each partition, delayed: weight of the rows that are right, and of all."""
    local.__dict__.pop("feature_names_in_", None)
    model, score = _delayed(local), dask.delayed(_scored, pure=False)
    return [score(model, number, *recipe) for number, recipe in enumerate(recipes)]


def _delayed(model: Any) -> Any:
    return dask.delayed(model, name=f"model-{uuid4().hex}", traverse=False)


# --- on a worker ---------------------------------------------------------------------------


def _answers(X: Any, model: Any, method: str, nothing: NDArray[Any]) -> Any:
    return getattr(model, method)(X) if X.shape[0] else nothing


def _made_answers(model: Any, method: str, nothing: NDArray[Any], make: Any, *args: Any) -> Any:
    return _answers(widened(make(*args).X, int(model.n_features_in_)), model, method, nothing)


def _framed_answers(
    X: Any, model: Any, method: str, nothing: NDArray[Any], classes: NDArray[Any]
) -> Any:
    return _framed(_answers(X, model, method, nothing), X.index, classes)


def _framed(values: NDArray[Any], index: Any, classes: NDArray[Any]) -> Any:
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=index)
    return pd.DataFrame(values, index=index, columns=classes)


def _scored(model: Any, number: int, make: Any, *args: Any) -> tuple[float, float]:
    X, y, weight = make(*args)
    if y is None:
        raise ValueError(f"partition {number}: there are no labels to compare with")
    X = widened(X, int(model.n_features_in_))
    total = float(X.shape[0] if weight is None else weight.sum())
    return (model.score(X, y, weight) * total if total else 0.0), total
