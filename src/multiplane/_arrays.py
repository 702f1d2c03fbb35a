"""Arrays of any kind: NumPy, PyTorch, CuPy and others that speak the Array API.

Whether arrays of other kinds than NumPy's are welcome is scikit-learn's setting
(``sklearn.set_config(array_api_dispatch=True)``), and is asked once, where data comes in. Inside,
code takes the namespace of the arrays it is handed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from multiplane._csr import Csr


def issparse(array: Any) -> bool:
    """SciPy's sparse matrices, and ours. Whoever has one of SciPy's has imported them: that takes a
    quarter of a second, which a prediction need not wait for."""
    if isinstance(array, Csr):
        return True
    if isinstance(array, np.ndarray) or "scipy.sparse" not in sys.modules:
        return False
    return bool(sys.modules["scipy.sparse"].issparse(array))


@cache
def _compat() -> Any:
    """What tells arrays of other kinds apart; with scikit-learn before 1.7 None: NumPy only."""
    try:
        from sklearn.externals import array_api_compat
    except ImportError:
        return None
    return array_api_compat


def _numpy() -> Any:
    """NumPy with the Array API's names, some of which are new in 2.1."""
    if hasattr(np, "cumulative_sum"):
        return np
    if _compat() is None:
        raise ImportError(
            "least squares needs scikit-learn 1.7 or NumPy 2.1, or newer; upgrade one"
        )
    return _compat().array_namespace(np.empty(0))


NUMPY = _numpy()

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where arrays live: a namespace, and a device of it."""

    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Any) -> Place:
        """The place of an array inside the library; sparse matrices are NumPy's."""
        if isinstance(array, np.ndarray) or issparse(array) or _compat() is None:
            return cls(NUMPY, None)
        return cls(_compat().array_namespace(array), _compat().device(array))

    @classmethod
    def of_input(cls, array: Any) -> Place:
        """The place of an array that a user gave: NumPy, unless dispatch is on."""
        from sklearn.utils._array_api import get_namespace

        _, welcome = get_namespace(array)
        return cls.of(array) if welcome else cls(NUMPY, None)

    @property
    def is_numpy(self) -> bool:
        return self.xp is NUMPY

    def put(self, array: Any, dtype: Any = None) -> Any:
        """The array, here. Sparse matrices stay as they are."""
        if issparse(array):
            return array
        if self.is_numpy:
            return np.asarray(to_numpy(array), dtype=dtype)
        if not _compat().is_array_api_obj(array) or Place.of(array) != self:
            array = to_numpy(array)
        return self.xp.asarray(array, dtype=dtype, device=self.device)

    def zeros(self, shape: Any, dtype: Any) -> Any:
        extra = {} if self.is_numpy else {"device": self.device}
        return self.xp.zeros(shape, dtype=dtype, **extra)

    @property
    def float64(self) -> Any:
        """The widest floats of the device (Apple's have no float64)."""
        return self.xp.float32 if "mps" in str(self.device) else self.xp.float64


def to_numpy(array: Any) -> Any:
    """A NumPy array with the same numbers; sparse matrices stay as they are."""
    if isinstance(array, np.ndarray) or issparse(array) or _compat() is None:
        return array
    if not _compat().is_array_api_obj(array):
        return np.asarray(array)
    from sklearn.utils._array_api import _convert_to_numpy

    return _convert_to_numpy(array, _compat().array_namespace(array))


def moved(thing: T, place: Place) -> T:
    """A copy of a dataclass with its arrays at another place."""
    changes = {}
    for field in fields(thing):  # type: ignore[arg-type]
        value = getattr(thing, field.name)
        if _is_array(value):
            changes[field.name] = place.put(value)
    return replace(thing, **changes) if changes else thing  # type: ignore[type-var]


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True
    if issparse(value) or _compat() is None:
        return False
    return bool(_compat().is_array_api_obj(value))


def detached(array: Any) -> Any:
    """A PyTorch tensor that takes part in differentiation, without that part."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def floats_for(X: Any, xp: Any) -> list[Any]:
    """Types of float for X: its own; or else float32 for what fits into it, float64 for others."""
    dtype = str(getattr(X, "dtype", "object"))
    narrow = dtype.endswith(("bool", "int8", "int16", "float16"))
    return [xp.float32, xp.float64] if narrow else [xp.float64, xp.float32]


def chunks(n: int, size: int) -> Iterator[slice]:
    """0 … n in slices of at most `size`; of nothing, one empty slice."""
    for start in range(0, max(n, 1), size):
        yield slice(start, min(start + size, n))


def add_to_diagonal(A: Any, values: Any) -> None:
    """A += diag(values), in place."""
    place, n = Place.of(A), A.shape[0]
    if place.is_numpy:
        A.reshape(-1)[:: n + 1] += values
    else:
        A += place.xp.eye(n, dtype=A.dtype, device=place.device) * values


def solve_triangular(L: Any, B: Any, *, transposed: bool = False) -> Any:
    """L⁻¹B, or L⁻ᵀB, for a lower triangle L; the Array API itself has no such function."""
    place = Place.of(L)
    if place.is_numpy:
        import scipy.linalg

        return scipy.linalg.solve_triangular(
            L, B, lower=True, trans=int(transposed), check_finite=False
        )
    own = getattr(place.xp.linalg, "solve_triangular", None)
    if own is not None:  # PyTorch
        return own(L.T, B, upper=True) if transposed else own(L, B, upper=False)
    return place.xp.linalg.solve(L.T if transposed else L, B)


def like(array: Any, rows: Any) -> Any:
    """The array, in the rows' type of float."""
    if array.dtype == rows.dtype:
        return array
    return Place.of(array).xp.astype(array, rows.dtype)


def numpy_dtype(rows: Any) -> np.dtype[Any]:
    """NumPy's name for the rows' type of float."""
    dtype: np.dtype[Any] = to_numpy(rows[:0, :]).dtype
    return dtype


def dense(rows: Any) -> Any:
    """Rows as an array: of sparse ones no more than a chunk should come here."""
    return rows.toarray() if issparse(rows) else rows


def some_rows(X: Any, index: Any) -> Any:
    """The rows of these numbers, where X lives."""
    if issparse(X):
        return X[index]
    place = Place.of(X)
    return place.xp.take(X, place.put(index), axis=0)
