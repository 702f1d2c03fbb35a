"""Checkpoints: a training from a source, on the disk, so that a crash costs minutes.

A checkpoint is a model file with its training, and with the plan and the position of the training
in its document. It is written under its name as a whole, so that there is always one that can be
read, or none.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from multiplane.estimators._streams import Plan, Position, Progress, StreamTraining
from multiplane.models import _container
from multiplane.models._container import ModelFileError
from multiplane.models._files import blaming, check_keys
from multiplane.persistence._estimators import estimator_of, parts

_NAME = "checkpoint.mpl"
# What JSON makes of the types of a plan and a position.
_FORMS: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "str | None": (str, type(None)),
    "tuple[int, int]": list,
    "tuple[Any, ...] | None": (list, type(None)),
}


class Checkpoint:
    """Keeps a training in a folder; to be called with its progress."""

    def __init__(self, folder: str | os.PathLike[str], every: float = 60.0) -> None:
        self.path = Path(folder) / _NAME
        self.every, self._last = every, time.monotonic()

    def resume(self, training: StreamTraining) -> bool:
        """Let a training that is about to begin go on from here, if it has been here before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)  # or an error, before the work
        if not self.path.exists():
            return False
        with blaming(self.path):
            document, arrays = _container.read(self.path)
            kept = document.pop("checkpoint", None)
            if not isinstance(kept, dict) or kept.keys() != {"plan", "position", "source"}:
                raise ModelFileError("it is a model, but no checkpoint")
            check_keys(document)
            estimator = estimator_of(document, arrays)
            plan = made(Plan, kept["plan"])
            position = made(Position, kept["position"])
        position.before = tuple(position.before)
        self._check_same(training, estimator, plan, kept["source"])
        training.estimator, training.plan, training.position = estimator, plan, position
        return True

    def _check_same(
        self, training: StreamTraining, estimator: Any, plan: Plan, source: Any
    ) -> None:
        """Another training must not go on from here, nor be overwritten."""
        then = {"estimator": type(estimator).__name__, **estimator.get_params(deep=False)}
        wanted = training.estimator
        now = {"estimator": type(wanted).__name__, **wanted.get_params(deep=False)}
        seeded = {"seed": plan.seed} if wanted.random_state is None else {}
        then |= asdict(plan) | {"data": source}
        now |= asdict(training.plan) | seeded | {"data": _source(training)}
        differ = [
            name for name in now if name != "verbose" and repr(now[name]) != repr(then.get(name))
        ]
        if differ:
            raise ValueError(
                f"{self.path} belongs to another training, which differs in {', '.join(differ)}; "
                f"remove it to start anew, or choose another folder"
            )

    def __call__(self, progress: Progress, training: StreamTraining) -> None:
        if time.monotonic() - self._last >= self.every:
            self.write(training)
            self._last = time.monotonic()

    def write(self, training: StreamTraining) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document, arrays = parts(training.estimator, training=True)
        state = {
            "plan": asdict(training.plan),
            "position": asdict(training.position),
            "source": _source(training),
        }
        _container.write(self.path, {**document, "checkpoint": state}, arrays)

    def remove(self) -> None:
        """The training is complete, and its model is on the disk."""
        self.path.unlink(missing_ok=True)


def _source(training: StreamTraining) -> list[Any]:
    source = training.source
    # As it is read back.
    identity = json.loads(json.dumps(source.identity, sort_keys=True, default=str))
    return [os.path.basename(source.name), source.n_bytes, source.n_blocks, identity]


def made(kind: Any, values: Any) -> Any:
    forms = {field.name: _FORMS[str(field.type)] for field in fields(kind)}
    if (
        not isinstance(values, dict)
        or values.keys() != forms.keys()
        or any(not isinstance(values[name], form) for name, form in forms.items())
    ):
        raise ModelFileError(f"its {kind.__name__.lower()} is not one")
    return kind(**values)


def kept_in(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Where a training stands, if the file is a checkpoint."""
    with blaming(path):
        document, _ = _container.read(path)
        kept = document.get("checkpoint")
        if not isinstance(kept, dict):
            return None
        plan, position = made(Plan, kept.get("plan")), made(Position, kept.get("position"))
    return {"class": document.get("class"), **asdict(plan), **asdict(position)}
