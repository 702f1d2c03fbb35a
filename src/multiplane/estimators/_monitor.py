"""Those who watch a training: history, validation, printing, callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from multiplane.progress import Event, Printer

# A stream can go on for ever, its history cannot: neighbours are joined when it gets this long.
_LONGEST_HISTORY = 2_000
STREAMED = ("partial_fit", "prune", "round")


def joined(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Half as many entries of `partial_fit` calls, prunings and rounds: each two become one."""
    out: list[dict[str, Any]] = []
    t_before: dict[str, int] = {}
    waiting: dict[str, dict[str, Any]] = {}
    for entry in history:
        kind = entry["event"]
        first = waiting.pop(kind, None)
        if kind == "pass":
            out += [*waiting.values(), entry]
            waiting.clear()
            t_before = dict.fromkeys(STREAMED, entry["t"])
        elif first is None:
            waiting[kind] = entry
        else:
            start = t_before.get(kind, 1)
            rows = np.array([first["t"] - start, entry["t"] - first["t"]])
            share = rows / max(1, rows.sum())
            means = {
                name: float(share @ [first[name], entry[name]])
                for name in ("error", "loss", "updates")
            }
            out.append(entry | means)
            t_before[kind] = entry["t"]
    return sorted([*out, *waiting.values()], key=lambda entry: entry["t"])


class Recorder:
    """Writes prunings into a history; deaf to the rest."""

    def __init__(self, history: list[dict[str, Any]]) -> None:
        self.history = history

    def pass_begins(self, number: int) -> None:
        pass

    def rows_seen(self, done: int, total: int) -> None:
        pass

    def pruned(self, event: Event) -> None:
        self._write(event)

    def pass_ended(self, event: Event) -> str | None:
        self._write(event)
        return None

    def _write(self, event: Event) -> None:
        self.history.append(event.as_dict())
        streamed = event.event in STREAMED and "t" in event.facts  # least squares has rounds too
        if streamed and len(self.history) >= _LONGEST_HISTORY:
            self.history[:] = joined(self.history)


class Monitor(Recorder):
    """History, validation, early stopping, printing and callbacks of one `fit`.

    The estimator says what a step is called, how many there are at most, how good its model is on
    validation data at the moment, and which attributes make a copy of it a fitted one. If somebody
    has given it a `_deadline` (in time.perf_counter's seconds), no step begins that would not end
    before.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        task: str,
        n_tasks: int,
        score: Callable[[], float] | None,
        attributes: Callable[[Event], dict[str, Any]],
        tol: float = 0.0,
        patience: int | None = None,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(estimator.history_)
        self.estimator, self.X, self.y = estimator, X, y
        self.task_name, self.score, self.attributes = task, score, attributes
        self.tol = tol
        self.metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        name, verbose = type(estimator).__name__, int(estimator.verbose)
        self.printer = Printer(name, task, n_tasks, verbose)
        self.best, self.since_best = -np.inf, 0
        self.n_tasks, self.deadline = n_tasks, getattr(estimator, "_deadline", np.inf)
        self.began = time.perf_counter()
        self.patience = estimator.n_iter_no_change if patience is None else patience
        self.root = estimator._init_callback_context(max_subtasks=n_tasks)
        self.root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def pass_begins(self, number: int) -> None:
        self.began = time.perf_counter()
        self.task = self.root.subcontext(task_name=self.task_name)
        self.task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        self.printer.pass_begins(number)

    def rows_seen(self, done: int, total: int) -> None:
        self.printer.rows_seen(done % max(total, 1) or total, total)

    def round_ended(self, event: Event, n_rounds: int) -> None:
        """Of a training in several places."""
        self._write(event)
        self.printer.round_ended(event, n_rounds)

    def pass_ended(self, event: Event) -> str | None:
        reason = self._validate(event)
        now = time.perf_counter()
        if event.n_iter < self.n_tasks and now + (now - self.began) > self.deadline:
            reason = "out of time"
        super().pass_ended(event)
        if self.estimator.verbose:
            self.printer.pass_ended(event)
        stop = self.task.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            metadata=self.metadata,
            reconstruction_attributes=lambda: self._fitted_attributes(event),
        )
        return "callback" if stop else reason

    def recall(self) -> None:
        """What is in the history already, of a training that goes on, counts for early stopping."""
        for entry in self.history:
            if "validation_score" in entry:
                self._compare(entry["validation_score"])

    def finish(self) -> None:
        self.root.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=dict,
        )

    def _fitted_attributes(self, event: Event) -> dict[str, Any]:
        own = {"history_": list(self.history), "n_iter_": event.n_iter}
        return own | self.attributes(event)

    def _validate(self, event: Event) -> str | None:
        if self.score is None:
            return None
        score = self.score()
        event.extra["validation_score"] = score
        self._compare(score)
        if self.estimator.early_stopping and self.since_best >= self.patience:
            return "validation score no longer improves"
        return None

    def _compare(self, score: float) -> None:
        self.since_best = 0 if score > self.best + self.tol else self.since_best + 1
        self.best = max(self.best, score)
