"""What a solver tells while it works, and who may listen.

A solver is handed a `Listener` and calls it between blocks of rows. It never prints, times out or
evaluates anything itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from multiplane import _native

Learner = _native.Learner | _native.KernelLearner | _native.Projectron


class Listener(Protocol):
    """Called by a solver. A string returned from `pass_ended` stops it, for that reason."""

    def pass_begins(self, number: int) -> None: ...
    def rows_seen(self, done: int, total: int) -> None: ...
    def pruned(self, event: Event) -> None: ...
    def pass_ended(self, event: Event) -> str | None: ...


@dataclass
class Event:
    """One entry of ``history_``. Counts are totals since the learner was born."""

    event: str  # "pass" or "prune"
    n_iter: int
    t: int
    facts: dict[str, Any]  # of the learner's own: how many hyperplanes, support vectors, …
    error: float  # share of the rows since the last pass or pruning predicted wrongly when met
    loss: float  # mean hinge loss on the same rows, when met
    updates: float  # share of the same rows that changed the model
    seconds: float  # of training since the learner was born
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        for name, value in vars(self).items():
            entry |= value if isinstance(value, dict) else {name: value}
        return entry


@dataclass
class Tally:
    """Running counts of a learner, from which events are made."""

    created: int = 0
    duplicated: int = 0
    pruned: int = 0
    rows: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    weight: float = 0.0
    seconds: float = 0.0

    def add(self, counts: dict[str, Any], seconds: float) -> None:
        for name in ("created", "duplicated", "rows", "mistakes", "updates", "loss", "weight"):
            setattr(self, name, getattr(self, name) + counts[name])
        self.seconds += seconds

    def copy(self) -> Tally:
        return replace(self)

    def facts(self, learner: Learner) -> dict[str, Any]:
        if isinstance(learner, _native.KernelLearner):
            return {"support_vectors": len(learner), "degradation": learner.degradation}
        if isinstance(learner, _native.Projectron):
            return {"support_vectors": len(learner)}
        return {
            "hyperplanes": len(learner),
            "created": self.created,
            "duplicated": self.duplicated,
            "pruned": self.pruned,
        }

    def since(self, before: Tally, event: str, n_iter: int, learner: Learner) -> Event:
        rows = max(1, self.rows - before.rows)
        weight = self.weight - before.weight
        return Event(
            event=event,
            n_iter=n_iter,
            t=learner.t,
            facts=self.facts(learner),
            error=(self.mistakes - before.mistakes) / rows,
            loss=(self.loss - before.loss) / weight if weight > 0 else 0.0,
            updates=(self.updates - before.updates) / rows,
            seconds=self.seconds,
        )


class Printer:
    """``verbose=1``: a line a pass; ``verbose=2``: a running line inside long passes too."""

    def __init__(self, name: str, max_iter: int, verbose: int) -> None:
        self.name, self.max_iter, self.verbose = name, max_iter, verbose
        self._number = 0
        self._shown = time.monotonic()

    def pass_begins(self, number: int) -> None:
        self._number = number

    def rows_seen(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.verbose < 2 or now - self._shown < 0.5:
            return
        self._shown = now
        print(
            f"\r[{self.name}] pass {self._number}/{self.max_iter}  {100 * done / total:3.0f} %",
            end="",
            flush=True,
        )

    def pruned(self, event: Event) -> None:
        pass

    def pass_ended(self, event: Event) -> None:
        start = "\r" if self.verbose > 1 else ""
        validation = (
            f"  validation {event.extra['validation_score']:.4f}"
            if "validation_score" in event.extra
            else ""
        )
        name, number = next(iter(event.facts.items()))
        print(
            f"{start}[{self.name}] pass {event.n_iter}/{self.max_iter}  "
            f"error {100 * event.error:.2f} %  updates {100 * event.updates:.1f} %  "
            f"{name.replace('_', ' ')} {number}{validation}  {event.seconds:.2f} s",
            flush=True,
        )
