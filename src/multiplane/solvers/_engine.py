"""Learning from rows that lie in several places, whoever runs the work.

A solver of this kind is made of functions without side effects,

    local_step(state, part) → delta     where the part lies,
    merge(deltas) → delta               of neighbours, on the way,

and an `Engine` runs them: it brings the state to the parts, and what they found together. One
round is `state ← f(state, engine.run(local_step, state, merge))`. All that a round depends on is in
its arguments, so that work which is lost can be done again elsewhere with the same result, and the
result does not depend on who did what: deltas are merged in the order of the parts, in a tree whose
shape depends on their number alone.

Engines: `Here`, one after the other in this process; `multiplane.dask`; another one needs `run` and
nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # it needs the compiled module, and least squares does without
    from multiplane.data._source import Block

FAN_IN = 8  # deltas that are merged at once

LocalStep = Callable[[Any, "Part"], Any]
Merge = Callable[[Sequence[Any]], Any]


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


class Engine(Protocol):
    """Whoever has the parts."""

    n_parts: int

    def run(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
    ) -> Any:
        """What the parts find, merged, and brought here after `finish` has been called with it,
        there: functions that can be pickled, and the last two with something that can."""
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


class Here:
    """All parts in this process."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts, self.n_parts = parts, len(parts)

    def run(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
    ) -> Any:
        deltas = [on_part(local_step, state, part) for part in self.parts]
        for level in groups(len(deltas)):
            deltas = [merge(deltas[group]) for group in level]
        return deltas[0] if finish is None else finish(deltas[0])
