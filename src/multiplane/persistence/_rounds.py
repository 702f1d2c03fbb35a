"""Checkpoints of a training in rounds: a model file after each, from which a later call goes on.

Estimators are handed one and know only of `resume` and `write`. The file is a model file with its
training, and says in its document which rows it is about. It appears under its name as a whole.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from multiplane.estimators._parts_training import Position
from multiplane.models import _container
from multiplane.models._container import ModelFileError
from multiplane.models._files import blaming, check_keys
from multiplane.persistence._checkpoints import made
from multiplane.persistence._estimators import estimator_of, parts
from multiplane.solvers._tally import Tally

_NAME = "rounds.mpl"


class Rounds:
    """Keeps a training in a folder.

    Parameters
    ----------
    folder : path
    data : anything that JSON can say
        By which the same rows are known again.
    """

    def __init__(self, folder: str | os.PathLike[str], data: Any = None) -> None:
        self.path = Path(folder) / _NAME
        self.data = json.loads(json.dumps(data, default=str))  # as it is read back

    def resume(self, estimator: Any) -> bool:
        """Give an estimator what was learnt, if its training has been here before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)  # or an error, before the work
        if not self.path.exists():
            return False
        with blaming(self.path):
            document, arrays = _container.read(self.path)
            kept = document.pop("rounds", None)
            if not isinstance(kept, dict) or kept.keys() != {"data", "position"}:
                raise ModelFileError("it is a model, but no checkpoint of a training in rounds")
            check_keys(document)
            kept_estimator = estimator_of(document, arrays)
            position = None
            if (kept["position"] is None) == hasattr(kept_estimator, "_training"):
                raise ModelFileError("it does not say where its training stands")
            if kept["position"] is not None:
                position = _checked(made(Position, kept["position"]))
        self._check_same(estimator, kept_estimator, kept["data"])
        parameters = estimator.get_params(deep=False)
        learnt = {name: v for name, v in vars(kept_estimator).items() if name not in parameters}
        vars(estimator).update(learnt)
        if position is not None:
            estimator._position = position
        return True

    def write(self, estimator: Any) -> None:
        position = vars(estimator).get("_position")
        kept = {"data": self.data, "position": None if position is None else asdict(position)}
        document, arrays = parts(estimator, training=True)
        _container.write(self.path, {**document, "rounds": kept}, arrays)

    def remove(self) -> None:
        """The training is complete, and its model is with whoever asked for it."""
        self.path.unlink(missing_ok=True)

    def _check_same(self, estimator: Any, kept: Any, data: Any) -> None:
        """Another training must not go on from here, nor be overwritten."""
        now, then = (_described(e) for e in (estimator, kept))
        differ = [name for name in now if now[name] != then.get(name)]
        differ += ["rows, partitions or rounds"] if data != self.data else []
        if differ:
            raise ValueError(
                f"{self.path} belongs to another training, which differs in {', '.join(differ)}; "
                f"remove it to start anew, or choose another folder"
            )


def _checked(position: Position) -> Position:
    counts = (position.seed, position.n_iter, position.round, *(position.before or ()))
    sound = all(isinstance(n, int | float) and 0 <= n < 2**63 for n in counts)
    if not sound or len(position.before or fields(Tally)) != len(fields(Tally)):
        raise ModelFileError("its position is not one")
    return position


def _described(estimator: Any) -> dict[str, str]:
    """Class and parameters; a generator of random numbers without where it lies."""
    own = {"estimator": type(estimator).__name__, **estimator.get_params(deep=False)}
    own.pop("verbose", None)
    return {name: re.sub(r" at 0x\w+", "", repr(value)) for name, value in own.items()}
