"""A training under way: its learner, its model, and those who watch."""

from __future__ import annotations

import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Matrix
from multiplane.progress import Event, Printer, Tally

Validation = tuple[Matrix, NDArray[np.int32]]


Learner = _native.Learner | _native.KernelLearner | _native.Projectron


class Model(Protocol):
    """What a learner stands for at a given moment."""

    @classmethod
    def of(cls, learner: Any) -> Self: ...
    def predict(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]: ...
    def decision(self, X: Matrix, n_threads: int = 1) -> NDArray[np.float32]: ...


class Training:
    """A learner with what has been counted, and the model it stands for.

    The model is made when it is first asked for after a change: a stream of `partial_fit` calls
    does not pay for models that nobody looks at. The learner's version tells whether the model is
    that of now, also when another thread asks while the learner works.
    """

    def __init__(
        self, learner: Learner, model_type: type[Model], parameters: dict[str, Any]
    ) -> None:
        self.learner = learner
        self.model_type = model_type
        self.parameters = parameters  # those that must not change while the training goes on
        self.tally = Tally()
        self._model: tuple[int, Model] | None = None

    def model(self) -> Model:
        version = self.learner.version
        if self._model is None or self._model[0] != version:
            self._model = version, self.model_type.of(self.learner)
        return self._model[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_model": None}


# A stream can go on for ever, its history cannot: neighbours are joined when it gets this long.
_LONGEST_HISTORY = 2_000


def joined(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Half as many entries of `partial_fit` calls and of prunings: each two become one."""
    out: list[dict[str, Any]] = []
    t_before: dict[str, int] = {}
    waiting: dict[str, dict[str, Any]] = {}
    for entry in history:
        kind = entry["event"]
        first = waiting.pop(kind, None)
        if kind == "pass":
            out += [*waiting.values(), entry]
            waiting.clear()
            t_before = dict.fromkeys(("partial_fit", "prune"), entry["t"])
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
        if event.event != "pass" and len(self.history) >= _LONGEST_HISTORY:
            self.history[:] = joined(self.history)


class Monitor(Recorder):
    """History, validation, early stopping, printing and callbacks of one `fit`."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        validation: Validation | None,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(estimator.history_)
        self.estimator, self.X, self.y, self.validation = estimator, X, y, validation
        self.metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.printer = Printer(
            type(estimator).__name__, int(estimator.max_iter), int(estimator.verbose)
        )
        self.best, self.since_best = -np.inf, 0
        self.root = estimator._init_callback_context(max_subtasks=int(estimator.max_iter))
        self.root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def pass_begins(self, number: int) -> None:
        self.task = self.root.subcontext(task_name="pass")
        self.task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        self.printer.pass_begins(number)

    def rows_seen(self, done: int, total: int) -> None:
        self.printer.rows_seen(done % max(total, 1) or total, total)

    def pass_ended(self, event: Event) -> str | None:
        reason = self._validate(event)
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

    def finish(self) -> None:
        self.root.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=dict,
        )

    def _fitted_attributes(self, event: Event) -> dict[str, Any]:
        """A copy: it stays as it is while the training goes on."""
        return {
            "_training": copy.deepcopy(self.estimator._training),
            "history_": list(self.history),
            "t_": event.t,
            "n_iter_": event.n_iter,
        }

    def _validate(self, event: Event) -> str | None:
        if self.validation is None:
            return None
        X, codes = self.validation
        model = self.estimator._training.model()
        score = float(np.mean(model.predict(X, self.estimator._n_threads()) == codes))
        event.extra["validation_score"] = score
        tol = self.estimator.tol or 0.0
        if score > self.best + tol:
            self.since_best = 0
        else:
            self.since_best += 1
        self.best = max(self.best, score)
        if self.estimator.early_stopping and self.since_best >= self.estimator.n_iter_no_change:
            return "validation score no longer improves"
        return None
