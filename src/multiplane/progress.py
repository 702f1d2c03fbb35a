"""What a solver tells while it works, and who may listen.

A solver is handed a `Listener` and calls it between blocks of rows. It never prints, times out or
evaluates anything itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol


class Listener(Protocol):
    """Called by a solver. A string returned from `pass_ended` stops it, for that reason."""

    def pass_begins(self, number: int) -> None: ...
    def rows_seen(self, done: int, total: int) -> None: ...
    def pruned(self, event: Event) -> None: ...
    def pass_ended(self, event: Event) -> str | None: ...


@dataclass
class Event:
    """One entry of ``history_``."""

    event: str  # "pass", "round", "prune", "iteration", "stage"
    n_iter: int
    facts: dict[str, Any]  # of the solver's own: how many hyperplanes, the loss, …
    seconds: float  # of training since the beginning
    words: str = ""  # the facts for a person, in half a line
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        start = {"event": self.event, "n_iter": self.n_iter}
        return start | self.facts | {"seconds": self.seconds} | self.extra


class Printer:
    """``verbose=1``: a line a pass; ``verbose=2``: a running line inside long passes too."""

    def __init__(self, name: str, task: str, max_iter: int, verbose: int) -> None:
        self.name, self.task, self.max_iter, self.verbose = name, task, max_iter, verbose
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
            f"\r[{self.name}] {self.task} {self._number}/{self.max_iter}  "
            f"{100 * done / total:3.0f} %",
            end="",
            flush=True,
        )

    def pruned(self, event: Event) -> None:
        pass

    def round_ended(self, event: Event, n_rounds: int) -> None:
        """A line, or with ``verbose=1`` one a second at most; the last round ends the pass."""
        number, now = event.extra["round"], time.monotonic()
        hasty = self.verbose < 2 and now - self._shown < 1.0
        if not self.verbose or hasty or number == n_rounds:
            return
        self._shown = now
        print(
            f"[{self.name}] {self.task} {event.n_iter}/{self.max_iter}  round {number}/{n_rounds}  "
            f"{event.words}  {event.seconds:.2f} s",
            flush=True,
        )

    def pass_ended(self, event: Event) -> None:
        start = "\r" if self.verbose > 1 else ""
        validation = (
            f"  validation {event.extra['validation_score']:.4f}"
            if "validation_score" in event.extra
            else ""
        )
        print(
            f"{start}[{self.name}] {event.event} {event.n_iter}/{self.max_iter}  "
            f"{event.words}{validation}  {event.seconds:.2f} s",
            flush=True,
        )
