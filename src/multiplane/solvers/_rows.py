"""All rows that something is learnt from, wherever they lie: sums over them, and some of them.

A part's rows become rows of a problem (`Local`: numbers of one type, codes, weights) by a
`Reading`, which goes with each step. What is a sum over rows is a function of a `Local` and a
state, whose float64 sums are added up; so the parts into which the rows are cut do not matter but
for rounding.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from multiplane._arrays import Place, issparse, numpy_dtype, some_rows, to_numpy
from multiplane._csr import Csr
from multiplane.models._least_squares import through
from multiplane.models._maps import FeatureMap, Same
from multiplane.solvers._engine import Engine, Here, Merge, Part

Array = Any
LocalSum = Callable[["Local", Any], Any]
Then = Callable[[Array, Any, Any], Any]  # of rows, targets and weights


class Given(NamedTuple):
    """Rows in memory; `multiplane.data` has its blocks, but needs the compiled module."""

    X: Array
    y: Any = None
    sample_weight: Any = None


@dataclass(frozen=True, eq=False)
class Reading:
    """How the rows of a part are read. Small: it goes with each step."""

    n_features: int
    dtype: np.dtype[Any]  # NumPy's name of the rows' type of float
    sparse: bool = False
    largest: float | None = None  # what weights are divided by; None: there are none
    values: Callable[[Any], NDArray[Any]] | None = None  # codes of labels; None: rows are ready
    class_weight: NDArray[np.float64] | None = None
    input: FeatureMap | None = None  # what rows go through once
    # Of one training: what a part remembers of another one does not count.
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Local:
    """The rows of a part, as a problem wants them."""

    X: Array  # (n, d), dense or CSR
    y: Any  # NumPy: codes (n,), zeros and ones (n, n_labels); whatever it is, or None
    weight: NDArray[np.float64] | None  # (n,), at most 1
    memory: dict[Any, Any]
    watch: Callable[[int, int], None]

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def place(self) -> Place:
        return Place.of(self.X)

    @property
    def counting(self) -> NDArray[np.int64]:
        """Numbers of the rows with a weight above zero."""
        return np.arange(self.n) if self.weight is None else np.flatnonzero(self.weight)

    def recall(self, name: Any, make: Callable[[], Any]) -> Any:
        if name not in self.memory:
            self.memory[name] = make()
        return self.memory[name]


def read(reading: Reading, part: Part) -> Local:
    memory = part.memory
    if memory.get("key") != reading.key:
        memory.clear()
        memory["key"] = reading.key
    if "rows" not in memory:
        memory["rows"] = _read(reading, part)
    X, y, weight = memory["rows"]
    local = Local(X, y, weight, memory, part.watch)
    if reading.input is None or isinstance(reading.input, Same):
        return local
    input = reading.input
    return replace(local, X=local.recall("through", lambda: through(input, X)))


def _read(reading: Reading, part: Part) -> tuple[Any, Any, Any]:
    X, y, weight = part.rows
    if reading.values is not None:
        X, y = _ready(X, reading), reading.values(y)
    if reading.largest is None:
        return X, y, None
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    if reading.class_weight is not None:
        weight = weight * reading.class_weight[y]
    return X, y, weight / reading.largest


def _ready(X: Any, reading: Reading) -> Any:
    """As wide as all others, and in their type of float; copied only if it is not."""
    shape = (X.shape[0], reading.n_features)
    if not X.shape[0]:  # of no rows nothing is known
        return (
            sp.csr_matrix(shape, dtype=reading.dtype)
            if reading.sparse
            else np.zeros(shape, dtype=reading.dtype)
        )
    if not reading.sparse:
        return np.asarray(X, dtype=reading.dtype)
    X = X.to_scipy() if isinstance(X, Csr) else sp.csr_matrix(X)
    return sp.csr_matrix((X.data.astype(reading.dtype, copy=False), X.indices, X.indptr), shape)


@dataclass(frozen=True)
class OnRows:
    """A local step made of a function of rows and a state."""

    function: LocalSum

    @property
    def __name__(self) -> str:  # dashboards ask for it
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, state: tuple[Reading, Any], part: Part) -> Any:
        reading, own = state
        return self.function(read(reading, part), own)


@dataclass(frozen=True)
class Rows:
    """All rows, and who has them."""

    engine: Engine
    reading: Reading

    @classmethod
    def of(cls, X: Array, weight: Any = None, y: Any = None) -> Rows:
        """Those of an array or a CSR matrix."""
        largest = None if weight is None else float(np.max(weight))
        reading = Reading(int(X.shape[1]), numpy_dtype(X), issparse(X), largest)
        return cls(Here([Part(None, Given(X, y, weight))]), reading)  # type: ignore[arg-type]

    @property
    def n_features(self) -> int:
        return self.reading.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.reading.dtype

    def through(self, input: FeatureMap) -> Rows:
        """The rows after a map, which is applied to them once."""
        return replace(self, reading=replace(self.reading, input=input))

    def run(
        self,
        function: LocalSum,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
    ) -> Any:
        return self.engine.run(OnRows(function), (self.reading, state), merge, finish)

    def add(
        self, function: LocalSum, state: Any = None, finish: Callable[[Any], Any] | None = None
    ) -> tuple[Any, ...]:
        """What a function of rows and a state returns, a tuple of sums, for all rows."""
        sums: tuple[Any, ...] = self.run(function, state, add, finish)
        return sums

    @cached_property
    def counts(self) -> dict[int | None, int]:
        """Rows that count, for each part."""
        counts: dict[int | None, int] = self.engine.run(_count, self.reading, _join)
        return counts

    @property
    def n(self) -> int:
        """All rows that count."""
        return sum(self.counts.values())

    def choose(self, n: int, random: np.random.RandomState) -> NDArray[np.int64]:
        """Numbers of n rows among those that count (all, if there are no more), in any order."""
        some = sample_without_replacement(self.n, min(n, self.n), random_state=random)
        return np.asarray(random.permutation(some))

    def take(self, numbers: NDArray[np.int64], then: Then) -> Any:
        """What `then` makes of these rows, where they have been brought together.

        They are numbered among those that count, whatever the parts, and come in this order.
        """
        first = dict(zip(self.counts, accumulate(self.counts.values(), initial=0), strict=False))
        state = self.reading, first, np.asarray(numbers)
        return self.engine.run(_take, state, _stack, _InOrder(then))


def add(deltas: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sums of sums. None of them is changed: work that is lost is done again."""
    total = list(deltas[0])
    for number, delta in enumerate(deltas[1:]):
        for i, value in enumerate(delta):
            if number:
                total[i] += value
            else:
                total[i] = total[i] + value
    return tuple(total)


def _count(reading: Reading, part: Part) -> dict[int | None, int]:
    return {part.number: len(read(reading, part).counting)}


def _join(counts: Sequence[dict[int | None, int]]) -> dict[int | None, int]:
    return {number: n for part in counts for number, n in part.items()}


def _take(state: tuple[Reading, dict[int | None, int], NDArray[np.int64]], part: Part) -> Any:
    reading, first, numbers = state
    local = read(reading, part)
    counting = local.counting
    own = numbers - first[part.number]
    position = np.flatnonzero((own >= 0) & (own < len(counting)))
    index = counting[own[position]]
    y = None if local.y is None else local.y[index]
    weight = None if local.weight is None else local.weight[index]
    return position, some_rows(local.X, index), y, weight


def _stack(parts: Sequence[Any]) -> Any:
    position, X, y, weight = zip(*parts, strict=True)
    stacked = sp.vstack(X, format="csr") if any(map(issparse, X)) else np.concatenate(X)
    return (
        np.concatenate(position),
        stacked,
        None if y[0] is None else np.concatenate(y),
        None if weight[0] is None else np.concatenate(weight),
    )


@dataclass(frozen=True)
class _InOrder:
    then: Then

    def __call__(self, taken: Any) -> Any:
        position, X, y, weight = taken
        order = np.argsort(position)
        weight = np.ones(len(order)) if weight is None else weight[order]
        return self.then(some_rows(X, order), None if y is None else to_numpy(y[order]), weight)
