"""A training in rounds: rows that lie in several places teach one learner together.

What goes to the parts and what they do there; `StreamClassifier._fit_parts` has the rounds.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multiplane import _native
from multiplane._arrays import issparse
from multiplane.data import Block, Examples, Matrix
from multiplane.data._source import stack
from multiplane.estimators._checks import NO_WEIGHT, NoWeightError
from multiplane.estimators._labels import find, ranks
from multiplane.estimators._parts import rows_of
from multiplane.models._scaling import Scaling
from multiplane.solvers._engine import Part, n_pieces

# Random numbers for more than one purpose: the last of the words that they begin with.
PIECES, VISITS = 1, 2
FEW = 50  # rows of a class that a sample has, if there are so many


class Mixing(Protocol):
    """How what parts have learnt becomes one learner; states are those of `__getstate__`."""

    def local_step(
        self, state: Any, examples: Examples, order: NDArray[np.int64], number: int
    ) -> Any: ...
    def merge(self, deltas: Sequence[Any]) -> Any: ...
    def apply(self, state: Any, delta: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Reading:
    """How the rows of a part become examples."""

    n_features: int
    classes: NDArray[Any]
    class_weight: NDArray[np.float64] | None  # by code
    reach: float = 1.0  # the greatest number, weights apart, whose square sums may contain anyhow
    scaling: Scaling | None = None  # of the flagship
    check: Callable[[Examples], None] | None = None  # for algorithms that cannot take all numbers
    # Of one training: what a part remembers of another one does not count.
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def changed(self, **changes: Any) -> Reading:
        return replace(self, key=uuid.uuid4().hex, **changes)

    def examples(self, part: Part) -> Examples:
        kept: Examples | None = part.memory.get(self.key)
        if kept is None:
            part.memory.clear()
            kept = part.memory[self.key] = self._read(part)
            if self.check is not None and len(kept):
                self.check(kept)
        return kept

    def _read(self, part: Part) -> Examples:
        X, y, weight = rows_of(part, self.n_features)
        if issparse(X):
            X = sp.csr_matrix(X)
        elif self.scaling is None:
            with np.errstate(over="ignore"):  # becomes infinity, which is reported
                X = np.ascontiguousarray(X, dtype=np.float32)
        codes = find(np.asarray(y), self.classes)
        if weight is not None or self.class_weight is not None:
            weight = np.ones(len(codes)) if weight is None else np.asarray(weight, np.float64)
            if self.class_weight is not None:
                weight = weight * self.class_weight[codes]
        if self.scaling is not None:
            Matrix(X)  # the error is to name numbers as they came
            X = self.scaling(X)
        matrix = Matrix(X)
        if weight is None:
            return Examples(matrix, codes)
        return Examples(matrix, codes, narrow(weight, max(matrix.largest(), self.reach)))


def narrow(weight: NDArray[np.float64], feature: float) -> NDArray[np.float32]:
    """Weights in float32, where their products with squares of `feature` still fit."""
    if not weight.max(initial=0) * feature**2 <= _native.LARGEST**2:
        raise ValueError(
            f"sample weights up to {weight.max():g} times squares of features up to "
            f"{feature:g} leave float32; scale the weights or the features"
        )
    return weight.astype(np.float32)


# --- some rows to start with --------------------------------------------------------------


@dataclass(frozen=True)
class Sampling:
    reading: Reading
    share: float  # of the rows of each part
    seed: int


@dataclass(frozen=True)
class Sample:
    """Some rows of each part, and some more of classes that are rare (`extra`)."""

    X: Any
    y: NDArray[np.int32]
    weight: NDArray[np.float32] | None
    extra: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[Sample]) -> Sample:
        """In the order of the parts; of extra rows only what a class still lacks."""
        parts = [part for part in parts if len(part.y)] or parts[:1]  # the others are of any kind
        y = np.concatenate([part.y for part in parts])
        extra = np.concatenate([part.extra for part in parts])
        X, weights = [part.X for part in parts], [part.weight for part in parts]
        order = np.argsort(extra, kind="stable")
        kept = np.sort(order[~extra[order] | (ranks(y[order]) < FEW)])
        return cls(
            (sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X))[kept],
            y[kept],
            None if weights[0] is None else np.concatenate(weights)[kept],  # type: ignore[arg-type]
            extra[kept],
        )


def sampled(state: Sampling, part: Part) -> Sample:
    examples = state.reading.examples(part)
    random = np.random.RandomState([state.seed, part.number or 0])
    order = random.permutation(examples.rows())
    extra = np.arange(len(order)) >= np.ceil(state.share * len(order))
    taken = ~extra | (ranks(examples.y[order]) < FEW)
    place = np.argsort(order[taken])
    rows, extra = order[taken][place], extra[taken][place]
    weight = None if examples.weight is None else examples.weight[rows]
    return Sample(examples.X.source[rows], examples.y[rows], weight, extra)


@dataclass(frozen=True)
class Start:
    """Lets an estimator begin with a sample, where the sample is; gives what it has found."""

    estimator: Any
    seed: int

    def __call__(self, sample: Sample) -> dict[str, Any]:
        if not len(sample.y):  # weights that float32 takes for zero
            raise NoWeightError(NO_WEIGHT)
        estimator = copy.copy(self.estimator)  # it may be asked again
        examples = Examples(Matrix(sample.X), sample.y, sample.weight)
        estimator._start(examples, len(estimator.classes_), self.seed)
        before = vars(self.estimator)
        return {name: v for name, v in vars(estimator).items() if name not in before}


# --- rows from part to part ---------------------------------------------------------------


@dataclass(frozen=True)
class Exchange:
    """Parts become mixtures of all."""

    reading: Reading
    n_parts: int
    seed: int

    def split(self, part: Part) -> list[Block]:
        self.reading.examples(part)  # or an error, while rows have their numbers
        X, y, weight = rows_of(part, self.reading.n_features)
        numbers = [self.seed, 0, part.number or 0, PIECES]
        order = np.random.RandomState(numbers).permutation(X.shape[0])
        k = n_pieces(self.n_parts)
        first = (part.number or 0) % k  # some pieces have one row more: not always the same ones
        places = [np.sort(order[(j - first) % k :: k]) for j in range(k)]
        labels = np.asarray(y)
        return [Block(X[i], labels[i], None if weight is None else weight[i]) for i in places]


def joined(number: int, pieces: Sequence[Block]) -> Part:
    return Part(number, stack([piece for piece in pieces if piece.n_rows] or pieces[:1]))


# --- rounds -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Going:
    """A training between two rounds."""

    learner: Any  # state
    rows: int  # learnt so far
    counts: dict[str, Any]  # of the last round
    n_pruned: int = 0  # after it


@dataclass(frozen=True)
class Share:
    """What is to be learnt in a round: of each part one of `n` shares of its rows."""

    mixing: Mixing
    reading: Reading
    seed: int
    shuffle: bool
    n_iter: int
    number: int
    n: int
    only: int | None
    kind: Any  # of the learner: its class
    changes: dict[str, Any]  # of its settings, from this round on
    prune_every: int
    prune_threshold: float | None
    learner: Any = None  # state

    def begun(self, going: Going) -> Share:
        return replace(self, learner={**going.learner, **self.changes})

    def ended(self, going: Going, delta: Any) -> Going:
        learner = self.kind.__new__(self.kind)
        learner.__setstate__(self.mixing.apply(self.begun(going).learner, delta))
        rows = going.rows + delta.counts["rows"]
        due = rows // self.prune_every > going.rows // self.prune_every
        pruned = self.prune_threshold is not None and due
        n_pruned = learner.prune(self.prune_threshold) if pruned else 0
        return Going(learner.__getstate__(), rows, delta.counts, n_pruned)


def learnt_share(state: Share, part: Part) -> Any:
    examples = state.reading.examples(part)
    order = _order(state, part, examples)
    first, last = (len(order) * k // state.n for k in (state.number, state.number + 1))
    rows = np.ascontiguousarray(order[first:last])
    return state.mixing.local_step(state.learner, examples, rows, part.number or 0)


def _order(state: Share, part: Part, examples: Examples) -> NDArray[np.int64]:
    """Of a pass; the same in all of its rounds."""
    n_iter, order = part.memory.get("order", (None, None))
    if n_iter != state.n_iter:
        order = examples.rows()
        if state.shuffle:
            numbers = [state.seed, state.n_iter, part.number or 0]
            order = np.random.RandomState(numbers).permutation(order)
        part.memory["order"] = state.n_iter, order
    found: NDArray[np.int64] = order
    return found


@dataclass(frozen=True)
class Winners:
    """Numbers of the hyperplanes that win somewhere."""

    reading: Reading
    hyperplanes: Any  # scaled as the rows are


def winners(state: Winners, part: Part) -> NDArray[np.int32]:
    examples = state.reading.examples(part)
    found = [
        state.hyperplanes.winners(rows, 1, False)
        for _, rows in examples.X.chunks()
        if rows.shape[0]
    ]
    rows = examples.rows()
    return np.unique(np.concatenate(found)[rows]) if found else np.zeros(0, dtype=np.int32)


def united(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.unique(np.concatenate(parts))
