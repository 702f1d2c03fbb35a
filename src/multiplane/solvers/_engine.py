"""Learning from rows that lie in several places, whoever runs the work.

A solver of this kind is made of functions without side effects,

    local_step(state, part) → delta     where the part lies,
    merge(deltas) → delta               of neighbours, on the way,

and an `Engine` runs them: it brings the state to the parts, and what they found together. One
round is `state ← f(state, engine.run(local_step, state, merge))`; of several that follow each other
and are known beforehand, `engine.rounds`, an engine can begin the next before anybody has looked at
the last. All that a round depends on is in its arguments, so that work which is lost can be done
again elsewhere with the same result, and the result does not depend on who did what: deltas are
merged in the order of the parts, in a tree whose shape depends on their number alone.

Engines: `Here`, one after the other in this process; `multiplane.dask`; another one needs `run`
(`OneByOne` makes rounds of it) and, for those who want their parts to be alike, `exchange`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:  # it needs the compiled module, and least squares does without
    from multiplane.data._source import Block

FAN_IN = 8  # deltas that are merged at once
MOST_PIECES, FEW_PIECES = 32, 16  # of a part whose rows are exchanged: with all, or with some

LocalStep = Callable[[Any, "Part"], Any]
Merge = Callable[[Sequence[Any]], Any]
Split = Callable[[Any, "Part"], Sequence[Any]]
Join = Callable[[int, Sequence[Any]], "Part"]


class Part:
    """Rows that stay where they are, and what is worth remembering about them there.

    `memory` holds what can be made again from the rows and a state (codes of labels, predictions so
    far). It is never sent anywhere: a step must find the same, bit for bit, when it is empty. Nor
    is `watch`, which a long step tells how many rows it has done, of how many. The only part of all
    needs no `number`.
    """

    def __init__(self, number: int | None, rows: Block) -> None:
        self.number, self.rows = number, rows
        self.memory: dict[Any, Any] = {}
        self.watch: Callable[[int, int], None] = _unwatched

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.number, self.rows)

    def __sizeof__(self) -> int:
        """Bytes, as far as schedulers want to know."""
        arrays = [self.rows.y, self.rows.sample_weight]
        X = self.rows.X
        arrays += [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [X]
        return sum(int(getattr(array, "nbytes", 0)) for array in arrays)


class Round(Protocol):
    """What is to be done in a round, but for the state that it begins with."""

    @property
    def only(self) -> int | None:
        """The number of the part that learns alone."""
        ...

    def begun(self, state: Any) -> Any:
        """What the local steps get."""
        ...

    def ended(self, state: Any, delta: Any) -> Any:
        """The state that the next round begins with."""
        ...


class Engine(Protocol):
    """Whoever has the parts."""

    n_parts: int

    def run(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
        only: int | None = None,
    ) -> Any:
        """What the parts find, or `only` the one of this number, merged, and brought here after
        `finish` has been called with it, there: functions that can be pickled, and the last two
        with something that can."""
        ...

    def rounds(
        self, local_step: LocalStep, plan: Sequence[Round], state: Any, merge: Merge
    ) -> Iterator[Any]:
        """The state after each of these rounds. All of it can be pickled."""
        ...

    def exchange(self, split: Split, state: Any, join: Join) -> None:
        """Have other parts from now on, as many as there were: q is what `join` makes of its number
        and the pieces that come to it by `exchanges`, in the order of the parts that they are from.
        The k-th of `split` is the k-th on its part's route."""
        ...


def on_part(local_step: LocalStep, state: Any, part: Part) -> Any:
    """A step, whose errors tell of the part; for engines to call."""
    try:
        return local_step(state, part)
    except ValueError as error:
        if part.number is None:
            raise
        from multiplane.data._errors import DataError

        raise DataError(f"partition {part.number}: {error}") from error


def _unwatched(done: int, total: int) -> None:
    pass


def groups(n: int) -> Iterator[list[slice]]:
    """How n deltas are merged, level by level, until there is one."""
    while n > 1:
        level = [slice(first, min(first + FAN_IN, n)) for first in range(0, n, FAN_IN)]
        yield level
        n = len(level)


def n_pieces(n_parts: int) -> int:
    """That a part is split into when rows are exchanged."""
    return n_parts if n_parts <= MOST_PIECES else FEW_PIECES


def exchanges(n_parts: int) -> Iterator[list[list[int]]]:
    """Where the pieces of each part go, one time after the other: to all parts or, if these are
    many, twice to some at random. As many come to a part as go away."""
    if n_parts <= MOST_PIECES:
        yield [[(p + k) % n_parts for k in range(n_parts)] for p in range(n_parts)]
        return
    random = np.random.RandomState(n_parts)
    for _ in range(2):
        columns = [random.permutation(n_parts).tolist() for _ in range(FEW_PIECES)]
        yield [list(route) for route in zip(*columns, strict=True)]


class OneByOne:
    """Rounds for engines that do not work ahead."""

    def rounds(
        self: Any, local_step: LocalStep, plan: Sequence[Round], state: Any, merge: Merge
    ) -> Iterator[Any]:
        for item in plan:
            delta = self.run(local_step, item.begun(state), merge, only=item.only)
            state = item.ended(state, delta)
            yield state


class Here(OneByOne):
    """All parts in this process."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts, self.n_parts = parts, len(parts)

    def run(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
        only: int | None = None,
    ) -> Any:
        parts = self.parts if only is None else [self.parts[only]]
        deltas = [on_part(local_step, state, part) for part in parts]
        for level in groups(len(deltas)):
            deltas = [merge(deltas[group]) for group in level]
        return deltas[0] if finish is None else finish(deltas[0])

    def exchange(self, split: Split, state: Any, join: Join) -> None:
        for routes in exchanges(self.n_parts):
            arrived: list[list[Any]] = [[] for _ in self.parts]
            for part, route in zip(self.parts, routes, strict=True):
                for piece, q in zip(on_part(split, state, part), route, strict=True):
                    arrived[q].append(piece)
            self.parts = [join(q, pieces) for q, pieces in enumerate(arrived)]
