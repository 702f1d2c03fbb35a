"""What is found in one look at rows that lie in several places, before anything is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from multiplane._arrays import issparse
from multiplane.data import widened
from multiplane.data._source import Block
from multiplane.estimators._checks import NO_WEIGHT, NoWeightError
from multiplane.estimators._labels import check_alike
from multiplane.solvers._engine import Engine, Part


@dataclass(frozen=True)
class Seen:
    """What some parts have, merged; `sizes` and `counting` in the order of the parts."""

    sizes: tuple[int, ...]  # rows of each part
    counting: tuple[int, ...]  # of them, with a weight above zero
    n_features: int
    sparse: bool  # whether any rows are
    dense: bool
    dtype: np.dtype[Any]  # float32 if all of X is, else float64
    labels: NDArray[Any] | None  # sorted; None: no rows, or several labels a row
    weight: NDArray[np.float64]  # of each label's rows, added up; of all rows: several labels
    numbers: NDArray[np.int64]  # of each label's rows; none: several labels
    n_labels: int | None  # columns of y, where a row has several
    largest_weight: float | None  # None: no weights were given

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)


def survey(engine: Engine, several: bool) -> Seen:
    """Looks at all parts; `several`: whether a row may have several labels (a matrix y)."""
    seen: Seen = engine.run(_look, several, _merge)
    if not seen.n_rows:
        raise ValueError("there are no rows to learn from: all partitions are empty")
    if seen.largest_weight == 0:
        raise NoWeightError(NO_WEIGHT)
    if seen.sparse and seen.dense:
        raise ValueError("some partitions are sparse and others dense; make them of one kind")
    return seen


def rows_of(part: Part, n_features: int) -> Block:
    """The rows of a part, as wide as all others."""
    rows = part.rows
    if not rows.n_rows and not issparse(rows.X):  # of a file without rows nothing is known
        return rows._replace(X=np.zeros((0, n_features), rows.X.dtype))
    return rows._replace(X=widened(rows.X, n_features))


def _look(several: bool, part: Part) -> Seen:
    X, y, weight = part.rows
    if y is None:
        raise ValueError("the rows have no labels, and learning needs them")
    y = np.asarray(y)
    n = X.shape[0]
    check_values(X)
    labels, n_labels = None, None
    sums, numbers = np.zeros(0), np.zeros(0, dtype=np.int64)
    if weight is not None:
        weight = _checked_weight(weight)
    if y.ndim == 2:
        if not several:
            raise ValueError(f"one label a row is needed, got y of shape {y.shape}")
        n_labels = y.shape[1]
        sums = np.array([n if weight is None else weight.sum()], dtype=np.float64)
        if not np.all((y == 0) | (y == 1)):
            raise ValueError("several labels a row must be a matrix of zeros and ones")
    elif n:
        if y.dtype.kind not in "biu":
            _check_labels(y)
            check_classification_targets(y)
        labels, position = np.unique(y, return_inverse=True)
        sums = np.bincount(position, weights=weight, minlength=len(labels)).astype(np.float64)
        numbers = np.bincount(position, minlength=len(labels))
    return Seen(
        sizes=(n,),
        counting=(n if weight is None else int(np.count_nonzero(weight)),),
        n_features=int(X.shape[1]),
        sparse=bool(n and issparse(X)),
        dense=bool(n and not issparse(X)),
        dtype=np.dtype(np.float32 if X.dtype == np.float32 or not n else np.float64),
        labels=labels,
        weight=sums,
        numbers=numbers,
        n_labels=n_labels,
        largest_weight=None if weight is None else float(weight.max(initial=0)),
    )


def _merge(parts: Sequence[Seen]) -> Seen:
    filled = [part for part in parts if part.n_rows] or list(parts[:1])
    dense = {part.n_features for part in filled if part.dense}
    if len(dense) > 1:
        raise ValueError(f"partitions differ in their number of columns: {sorted(dense)}")
    if len({part.n_labels for part in filled}) > 1:
        raise ValueError("partitions differ in the number of labels a row")
    labels, sums, numbers = filled[0].labels, filled[0].weight, filled[0].numbers
    for part in filled[1:]:
        if labels is None or part.labels is None:
            sums = sums + part.weight
            continue
        check_alike(part.labels, labels)
        both = np.union1d(labels, part.labels)
        here, there = np.searchsorted(both, labels), np.searchsorted(both, part.labels)
        sums = _placed(sums, here, len(both)) + _placed(part.weight, there, len(both))
        numbers = _placed(numbers, here, len(both)) + _placed(part.numbers, there, len(both))
        labels = both
    given = [part.largest_weight for part in filled if part.largest_weight is not None]
    if given and len(given) < len(filled):
        raise ValueError("some partitions have sample weights and others have not")
    return Seen(
        sizes=tuple(size for part in parts for size in part.sizes),
        counting=tuple(size for part in parts for size in part.counting),
        n_features=max(part.n_features for part in filled),
        sparse=any(part.sparse for part in filled),
        dense=any(part.dense for part in filled),
        dtype=max((part.dtype for part in filled), key=lambda dtype: dtype.itemsize),
        labels=labels,
        weight=sums,
        numbers=numbers,
        n_labels=filled[0].n_labels,
        largest_weight=max(given) if given else None,
    )


def _placed(values: NDArray[Any], at: NDArray[np.int64], size: int) -> NDArray[Any]:
    out = np.zeros(size, dtype=values.dtype)
    out[at] = values
    return out


def check_values(X: Any) -> None:
    """ValueError with row and column of the first NaN or infinity."""
    values = X.data if issparse(X) else X
    if np.isfinite(values.sum(dtype=np.float64)):  # the usual case, in one reading without a copy
        return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    if issparse(X):
        place = int(np.argmax(bad))
        row, column = int(np.searchsorted(X.indptr, place, "right")) - 1, int(X.indices[place])
        value = values[place]
    else:
        row, column = (int(index) for index in np.argwhere(bad)[0])
        value = values[row, column]
    name = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"Input X contains {name} at row {row}, column {column}")


def _check_labels(y: NDArray[Any]) -> None:
    bad = y != y  # NaN alone differs from itself
    if np.any(bad):
        raise ValueError(f"Input y contains NaN at row {int(np.argmax(bad))}")


def _checked_weight(weight: Any) -> NDArray[np.float64]:
    checked: NDArray[np.float64] = np.asarray(weight, dtype=np.float64)
    bad = ~(np.isfinite(checked) & (checked >= 0))
    if np.any(bad):
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample weights must be finite and not negative, got {checked[row]} at row {row}"
        )
    return checked
