"""Rounds on a Dask cluster.

A. The state of a round is scattered to one worker, together with the step; others get it from there
   and from each other as their tasks ask for it, once each. `scatter(broadcast=True)` would be more
   direct, but waits for ever for a worker that dies while it is being served.

B. Tasks go where their parts are, and may go elsewhere if that worker is lost or the others have
   nothing left to do: `allow_other_workers`.

C. Dask's client holds back what follows a message within 10 ms: the futures of a round are let go
   after the next has been sent, or their farewell would delay it.

D. Parts are futures with a lineage: Dask makes those of a lost worker again. A scattered state has
   none. If it is lost before all have it, the scheduler cancels what depends on it, and the round
   is run again; all that it depends on is here.

E. Of rounds that follow each other some are sent at once, each depending on what the last has
   found: workers go from one to the next without a word from the client, which only looks on. A
   state that is lost is made again by its lineage, from the first of them at worst; so that this
   is not far, the client begins with a state of its own again after _AHEAD rounds.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from operator import getitem
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, Future, wait
from distributed.comm import CommClosedError

from multiplane.solvers._engine import (
    Join,
    LocalStep,
    Merge,
    Part,
    Split,
    exchanges,
    groups,
    on_part,
)

T = TypeVar("T")

_TRIES = 10  # for a round whose state was lost; each one costs a worker
_AHEAD = 16  # rounds that are sent at once
_LOST = (CancelledError, CommClosedError, TimeoutError)


@dataclass(frozen=True)
class Round:
    """What went between the client and the workers; what deltas cost lies between the workers."""

    name: str
    state: int  # bytes, pickled
    n_workers: int  # that had parts, and so got the state
    result: int  # bytes, pickled


class DaskEngine:
    """Parts on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    make_parts : function
        Returns futures of parts. Called again if what they were made of is lost.
    name : str
        Tasks are called ``name-step-round``, on the dashboard too.

    Attributes
    ----------
    n_parts : int
    traffic : list of Round
        One for each `run`.
    """

    def __init__(
        self, client: Client, make_parts: Callable[[], list[Future]], name: str = "multiplane"
    ) -> None:
        self.client, self.name = client, name
        self._make_parts = make_parts
        self.traffic: list[Round] = []
        self._held: list[Future] = []  # of the last round
        self._places: list[tuple[str, ...]] = []  # of the parts, when they were made
        self._parts: list[Future] = self._keep_trying(self._made)
        self.n_parts = len(self._parts)

    def run(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None = None,
        only: int | None = None,
    ) -> Any:
        return self._keep_trying(lambda: self._round(local_step, state, merge, finish, only))

    def rounds(
        self, local_step: LocalStep, plan: Sequence[Any], state: Any, merge: Merge
    ) -> Iterator[Any]:
        left = list(plan)
        going: Iterator[Any] = iter(())

        def one_more() -> Any:
            nonlocal going
            try:
                return next(going)
            except StopIteration:  # also after an error, for those that it was to bring
                going = self._some_rounds(local_step, left[:_AHEAD], state, merge)
                return next(going)

        while left:
            state = self._keep_trying(one_more)
            del left[0]
            yield state

    def exchange(self, split: Split, state: Any, join: Join) -> None:
        make_parts, there = self._make_parts, self._parts

        def make() -> list[Future]:
            nonlocal there
            usable = bool(there) and not any(part.cancelled() for part in there)
            parts, there = there if usable else make_parts(), []
            return self._exchanged(parts, split, state, join)

        self._make_parts, self._parts = make, []
        self._parts = self._keep_trying(self._made)

    def release(self) -> None:
        """The parts are no longer needed."""
        _release([*self._held, *self._parts])
        self._held = []

    def _round(
        self,
        local_step: LocalStep,
        state: Any,
        merge: Merge,
        finish: Callable[[Any], Any] | None,
        only: int | None,
    ) -> Any:
        name, key = self._named(local_step, len(self.traffic) + 1)
        weighed = _Weighed((local_step, state))
        sent, wanted = [], []
        try:
            sent = self.client.scatter([weighed], hash=False)
            wanted = self._steps(key, only, _step, sent[0])
            for level, level_groups in enumerate(groups(len(wanted)), start=1):
                wanted = self._merges(key, level, merge, [wanted[g] for g in level_groups])
            if finish is not None:
                wanted = [self.client.submit(_finished, finish, wanted[0], key=f"{key}-finish")]
            self._held = [*sent, *wanted]
            result = wanted[0].result()
        except BaseException:  # Ctrl-C too
            _release([*sent, *wanted])
            raise
        self.traffic.append(Round(name, weighed.size, self._n_workers(only), result.size))
        return result.value

    def _some_rounds(
        self, local_step: LocalStep, plan: Sequence[Any], state: Any, merge: Merge
    ) -> Iterator[Any]:
        """The state after each of them, sent all at once."""
        sent = [_Weighed(state), _Weighed((local_step, merge, plan))]
        size = sum(thing.size for thing in sent)
        held: list[Future] = []
        deltas: list[Future] = []
        try:
            held = self.client.scatter(sent, hash=False)
            now, planned = held
            found = []
            for k, item in enumerate(plan):
                name, key = self._named(local_step, len(self.traffic) + 1 + k)
                deltas = self._steps(key, item.only, _planned_step, planned, k, now)
                before_last = [*groups(len(deltas))][:-1]
                for level, level_groups in enumerate(before_last, start=1):
                    deltas = self._merges(key, level, merge, [deltas[g] for g in level_groups])
                now = self.client.submit(_ended, planned, k, now, deltas, key=f"{key}-merge")
                held.append(now)
                found.append((name, now))
            deltas = []
            self._held = held  # and those of the last rounds are let go
            for k, (name, future) in enumerate(found):
                result = future.result()
                if k:  # a state that all have gone on from
                    _release([found[k - 1][1]])
                workers = self._n_workers(plan[k].only)
                self.traffic.append(Round(name, size, workers, result.size))
                size = result.size  # is what the next one begins with
                yield result.value
        except GeneratorExit:  # nobody wants the next: they go with `_held`
            raise
        except BaseException:  # Ctrl-C too
            _release([*held, *deltas])
            raise

    def _named(self, local_step: LocalStep, number: int) -> tuple[str, str]:
        """A round's name, and a key for its tasks."""
        step = getattr(local_step, "__name__", type(local_step).__name__).strip("_").lower()
        name = f"{self.name}-{step.replace('_', '-')}-{number}"
        # Dask takes a key that it knows for done: one must never come twice. On its dashboard the
        # words before the first number are the name of a bar.
        return name, f"{name}-{uuid4().hex[:8]}"

    def _steps(
        self, key: str, only: int | None, function: Callable[..., Any], *args: Any
    ) -> list[Future]:
        """Tasks function(*args, part), where the parts are."""
        return [
            self.client.submit(
                function,
                *args,
                self._parts[number],
                key=(key, number),
                workers=list(at) or None,
                allow_other_workers=bool(at),
            )
            for number, at in enumerate(self._places)
            if only is None or number == only
        ]

    def _merges(
        self, key: str, level: int, merge: Merge, grouped: Sequence[list[Future]]
    ) -> list[Future]:
        return [
            self.client.submit(_merged, merge, group, key=(f"{key}-merge-{level}", number))
            for number, group in enumerate(grouped)
        ]

    def _n_workers(self, only: int | None) -> int:
        """That have such parts."""
        places = self._places if only is None else [self._places[only]]
        return len({worker for place in places for worker in place})

    def _exchanged(self, parts: list[Future], split: Split, state: Any, join: Join) -> list[Future]:
        submit, passing, made = self.client.submit, [], list(parts)
        try:
            for routes in exchanges(len(parts)):
                key = f"{self.name}-exchange-{uuid4().hex[:8]}"
                passing += made
                pieces: list[list[Future]] = [[] for _ in parts]
                for p, (part, route) in enumerate(zip(made, routes, strict=True)):
                    found = submit(on_part, split, state, part, key=(f"{key}-split", p))
                    passing.append(found)
                    for k, q in enumerate(route):
                        pieces[q].append(submit(getitem, found, k, key=(f"{key}-piece", p, k)))
                        passing.append(pieces[q][-1])
                made = []
                for q, (own, at) in enumerate(zip(pieces, self._places, strict=True)):
                    where = {"workers": list(at) or None, "allow_other_workers": bool(at)}
                    made.append(submit(join, q, own, key=(key, q), **where))
        except BaseException:
            _release(made)
            raise
        finally:
            _release(passing)
        return made

    def _keep_trying(self, work: Callable[[], T]) -> T:
        for _ in range(_TRIES):
            try:
                if any(part.cancelled() for part in getattr(self, "_parts", ())):
                    self._parts = self._made()
                return work()
            except _LOST as error:
                lost = error
                if isinstance(error, TimeoutError) and "workers" not in str(error):
                    raise  # somebody else's, of an alarm say
        raise RuntimeError(
            f"the cluster lost data {_TRIES} times in the same round, the last time with "
            f"{type(lost).__name__}: {lost}; see the logs of the workers, and whether data that "
            f"was scattered or persisted beforehand is still there"
        ) from lost

    def _made(self) -> list[Future]:
        """The parts, when they are there; or the error of the first that cannot be."""
        parts = self._make_parts()
        try:
            wait(parts)
            for part in parts:
                if part.status != "finished":
                    part.result()
            places = self.client.who_has(parts)
            self._places = [tuple(places.get(part.key, ())) for part in parts]
        except BaseException:
            _release(parts)
            raise
        return parts


def _release(futures: list[Future]) -> None:
    """Nobody wants them any more, also while somebody keeps the error with all its frames; the
    scheduler drops what they are made of, too. `Client.cancel` will not do: the scheduler cancels
    what depends on a key as well, trips over tasks of which the client holds no future, and breaks
    off the connection, with all that the client has on the cluster."""
    for future in futures:
        future.release()


class _Weighed:
    """Something that travels, and knows its size: of objects that it does not know Dask sees the
    surface alone, and would move the wrong ones."""

    def __init__(self, value: Any) -> None:
        self.value, self.size = value, pickled_bytes(value)

    def __sizeof__(self) -> int:
        return self.size


def _step(sent: _Weighed, part: Part) -> _Weighed:
    local_step, state = sent.value
    return _Weighed(on_part(local_step, state, part))


def _planned_step(planned: _Weighed, k: int, state: _Weighed, part: Part) -> _Weighed:
    local_step, _, plan = planned.value
    return _Weighed(on_part(local_step, plan[k].begun(state.value), part))


def _ended(planned: _Weighed, k: int, state: _Weighed, deltas: list[_Weighed]) -> _Weighed:
    _, merge, plan = planned.value
    values = [delta.value for delta in deltas]
    delta = merge(values) if len(values) > 1 else values[0]
    return _Weighed(plan[k].ended(state.value, delta))


def _merged(merge: Merge, deltas: list[_Weighed]) -> _Weighed:
    return _Weighed(merge([delta.value for delta in deltas]))


def _finished(finish: Callable[[Any], Any], delta: _Weighed) -> _Weighed:
    return _Weighed(finish(delta.value))


def pickled_bytes(thing: Any) -> int:
    """As it travels; large arrays are not copied for it."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)
