"""P(W) and its convex upper bound P(W | z), of a fitted classifier or of arrays.

In float64 and chunk by chunk: a witness that shares no code with the solvers. Equations are those
of [AMM].
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from multiplane.estimators._hyperplanes import AMMClassifier
from multiplane.theory import _common
from multiplane.theory._common import Floats, Ints, encode


def objective(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    alpha: float | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
    reserve: bool | None = None,
) -> float:
    """What a multi-hyperplane machine minimises.

    P(W) = λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − g(y, x)), where g(k, x) is the highest
    score among the hyperplanes of class k. Not convex as soon as a class has two hyperplanes.

    Parameters
    ----------
    model : fitted classifier, or array of shape (m, d)
        Of a classifier ``coef_``, ``intercept_``, ``hyperplane_class_``, ``classes_`` and
        ``alpha_`` are used. An array is W, and ``owner`` and ``alpha`` are needed.
    X, y : array or sparse matrix of shape (n, d), and labels
    owner : array of shape (m,)
        Label of each hyperplane's class.
    alpha : float
        λ; by default the classifier's.
    intercept : array of shape (m,), default zeros
    intercept_scaling : float, default=1.0
        The constant feature that the intercepts belong to, for arrays. Intercepts are regularised
        in the papers: ‖W‖² contains (intercept / intercept_scaling)².
    reserve : bool, optional
        Whether every class also has a hyperplane that is zero, so that g(k, x) ≥ 0. In [AMM],
        section 3.2, it has infinitely many, so True is what AMM and GAMM minimise; False is the
        multi-hyperplane machine of eq. (5). Default: True for an `AMMClassifier` or
        `GAMMClassifier`, False for other classifiers and for arrays.

    References
    ----------
    [AMM], eq. (3)–(6).

    Examples
    --------
    >>> W, owner = [[1.0, 0.0], [0.0, 1.0]], [0, 1]
    >>> objective(W, [[0.5, 0.0], [0.0, 2.0]], [0, 1], owner=owner, alpha=0.1)
    0.35
    """
    m = _read(model, y, owner, alpha, intercept, intercept_scaling, reserve)
    return m.regulariser + float(np.mean(_losses(m, X, encode(y, m.classes), None)))


def convex_objective(
    model: Any,
    X: Any,
    y: ArrayLike,
    z: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    alpha: float | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
    reserve: bool | None = None,
) -> float:
    """The convex upper bound in which every row is assigned to one hyperplane of its class.

    P(W | z) = λ/2 ‖W‖² + mean of max(0, 1 + max_{k≠y} g(k, x) − w_z·x) ≥ P(W), with equality at
    the assignments of `assignments`.

    Parameters
    ----------
    z : int array of shape (n,)
        Row numbers of W; −1 for a zero hyperplane out of the reserve.
    model, X, y, owner, alpha, intercept, intercept_scaling, reserve
        As in `objective`.

    References
    ----------
    [AMM], eq. (7) and (8).

    Examples
    --------
    >>> W, owner = [[1.0], [-1.0], [0.0]], [0, 0, 1]
    >>> X, y = [[2.0], [-3.0]], [0, 0]
    >>> convex_objective(W, X, y, [0, 1], owner=owner, alpha=0.1)
    0.1
    >>> convex_objective(W, X, y, [1, 1], owner=owner, alpha=0.1)
    1.6
    """
    m = _read(model, y, owner, alpha, intercept, intercept_scaling, reserve)
    codes, ids = encode(y, m.classes), np.asarray(z)
    _check_assignments(ids, codes, m)
    return m.regulariser + float(np.mean(_losses(m, X, codes, ids.astype(np.int64))))


def assignments(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
    reserve: bool | None = None,
) -> Ints:
    """The best hyperplane of its own class for every row: argmax over j of w_{y,j}·x.

    Row numbers of W, or −1 where zero hyperplanes compete (``reserve``) and none scores above
    zero. Parameters as in `objective`; [AMM], eq. (10).

    Examples
    --------
    >>> W, owner = [[1.0], [-1.0], [0.0]], [0, 0, 1]
    >>> assignments(W, [[2.0], [-3.0], [1.0]], [0, 0, 1], owner=owner)
    array([0, 1, 2])
    """
    m = _read(model, y, owner, 0.0, intercept, 1.0, reserve)
    codes = encode(y, m.classes)
    _check_owned(m, codes)
    z = np.empty(len(codes), dtype=np.int64)
    for rows, S in _scores(m, X, len(codes)):
        if len(m.owner) == 0:
            z[rows] = -1
            continue
        own = np.where(m.owner == codes[rows, None], S, -np.inf)  # (p, m)
        z[rows] = own.argmax(axis=1)
        if m.reserve:
            z[rows][own.max(axis=1) <= 0] = -1
    return z


def weight_norm(
    model: Any,
    *,
    owner: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
    intercept_scaling: float = 1.0,
) -> float:
    """‖W‖, the constant feature's weights included. Parameters as in `objective`.

    Examples
    --------
    >>> weight_norm([[3.0, 0.0], [0.0, 4.0]], owner=[0, 1])
    5.0
    """
    m = _read(model, (), owner, 2.0, intercept, intercept_scaling, None)
    return math.sqrt(m.regulariser)


def hyperplane_counts(
    model: Any, *, owner: ArrayLike | None = None, reserve: bool | None = None
) -> Ints:
    """Hyperplanes of each class, b in the papers; with ``reserve`` one zero hyperplane more.

    [AMM], section 3.3, counts the reserved one. Parameters as in `objective`.

    Examples
    --------
    >>> hyperplane_counts([[1.0], [2.0], [3.0]], owner=["a", "a", "b"], reserve=True)
    array([3, 2])
    """
    m = _read(model, (), owner, 0.0, None, 1.0, reserve)
    return np.bincount(m.owner, minlength=len(m.classes)).astype(np.int64) + int(m.reserve)


@dataclass(frozen=True)
class _Machine:
    """A model in float64, whatever it came from."""

    W: Floats  # (m, d)
    intercept: Floats  # (m,)
    owner: Ints  # (m,), codes
    classes: NDArray[Any]
    reserve: bool
    regulariser: float  # λ/2 ‖W‖²


def _read(
    model: Any,
    y: ArrayLike,
    owner: ArrayLike | None,
    alpha: float | None,
    intercept: ArrayLike | None,
    intercept_scaling: float,
    reserve: bool | None,
) -> _Machine:
    if hasattr(model, "hyperplane_class_"):
        if owner is not None or intercept is not None:
            raise ValueError("owner and intercept belong to arrays; a classifier brings its own")
        W, b, labels = model.coef_, model.intercept_, model.hyperplane_class_
        classes = model.classes_
        alpha = getattr(model, "alpha_", None) if alpha is None else alpha
        intercept_scaling = getattr(model, "intercept_scaling", 1.0)
        reserve = isinstance(model, AMMClassifier) if reserve is None else reserve
    elif isinstance(model, BaseEstimator):
        check_is_fitted(model)
        raise TypeError(f"{type(model).__name__} has no hyperplanes (coef_, hyperplane_class_)")
    else:
        if owner is None:
            raise ValueError("an array W needs owner=, the label of each hyperplane's class")
        W, labels = model, np.asarray(owner)
        b = np.zeros(len(labels)) if intercept is None else intercept
        # An empty list is of type float: joined with labels it would turn them into floats.
        parts = [a for a in (labels, np.asarray(y)) if len(a)]
        classes = np.unique(np.concatenate(parts)) if parts else labels
    if alpha is None:
        raise ValueError("alpha (λ) is needed; only a classifier with one of its own goes without")
    W, b = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if W.ndim != 2 or b.shape != (len(W),) or labels.shape != (len(W),):
        raise ValueError(
            f"m hyperplanes need W (m, d), owner (m,) and intercept (m,), got {W.shape}, "
            f"{labels.shape} and {b.shape}"
        )
    squared = float(np.sum(W**2) + np.sum((b / intercept_scaling) ** 2))
    return _Machine(
        W, b, encode(labels, classes), classes, bool(reserve), float(alpha) / 2 * squared
    )


def _check_owned(m: _Machine, codes: Ints) -> None:
    missing = np.setdiff1d(codes, m.owner)
    if len(missing) and not m.reserve:
        raise ValueError(
            f"class {m.classes[missing].tolist()[0]!r} has rows but no hyperplane, so its loss is "
            f"infinite; pass reserve=True to let zero hyperplanes compete, as in AMM"
        )


def _check_assignments(z: NDArray[Any], codes: Ints, m: _Machine) -> None:
    if z.shape != codes.shape or not np.issubdtype(z.dtype, np.integer):
        raise ValueError(
            f"z must be {len(codes)} row numbers of W, got shape {z.shape} of {z.dtype}"
        )
    lowest = -1 if m.reserve else 0
    outside = (z < lowest) | (z >= len(m.owner))
    if np.any(outside):
        raise ValueError(
            f"z must lie between {lowest} and {len(m.owner) - 1}, got {z[outside][0]} in row "
            f"{int(np.flatnonzero(outside)[0])}"
        )
    own = z >= 0
    foreign = np.flatnonzero(own)[m.owner[z[own]] != codes[own]]
    if len(foreign):
        raise ValueError(
            f"z must name hyperplanes of the rows' own classes; in row {foreign[0]} it does not"
        )


def _scores(m: _Machine, X: Any, n: int) -> Iterator[tuple[slice, Floats]]:
    """(rows, their scores (p, m)), chunk by chunk."""
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.shape != (n, m.W.shape[1]):
        raise ValueError(
            f"X must have one row a label and one column a weight, {(n, m.W.shape[1])}, "
            f"got {X.shape}"
        )
    size = max(1, _common.CHUNK // max(1, *m.W.shape))
    for first in range(0, n, size):
        rows = slice(first, min(first + size, n))
        yield rows, X[rows].astype(np.float64) @ m.W.T + m.intercept


def _losses(m: _Machine, X: Any, codes: Ints, z: Ints | None) -> Floats:
    """Hinge losses, (n,): eq. (4) or, with z, eq. (8)."""
    if z is None:
        _check_owned(m, codes)
    order = np.argsort(m.owner, kind="stable")  # hyperplanes class by class
    present, starts = np.unique(m.owner[order], return_index=True)
    losses = np.empty(len(codes))
    for rows, S in _scores(m, X, len(codes)):
        i, y = np.arange(len(S)), codes[rows]
        best = np.full((len(S), len(m.classes)), -np.inf)  # g(k, x)
        if len(present):
            best[:, present] = np.maximum.reduceat(S[:, order], starts, axis=1)
        if m.reserve:
            np.maximum(best, 0, out=best)
        own = best[i, y]
        best[i, y] = -np.inf
        if z is not None:
            own = np.where(z[rows] < 0, 0.0, S[i, z[rows]] if len(present) else 0.0)
        losses[rows] = np.maximum(0, 1 + best.max(axis=1) - own)
    return losses
