"""A training under way: its learner and its model."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from multiplane.data import Matrix
from multiplane.estimators._checks import NO_TRAINING
from multiplane.solvers._tally import Learner, Tally

Validation = tuple[Matrix, NDArray[np.int32]]


class Model(Protocol):
    """What a learner stands for at a given moment."""

    def predict(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]: ...
    def decision(self, X: Matrix, n_threads: int = 1) -> NDArray[np.float32]: ...


class Maker(Protocol):
    """Makes models of learners: a class of models, or something that knows more."""

    def of(self, learner: Any) -> Model: ...


class Training:
    """A learner with what has been counted, and the model it stands for.

    The model is made when it is first asked for after a change: a stream of `partial_fit` calls
    does not pay for models that nobody looks at. The learner's version tells whether the model is
    that of now, also when another thread asks while the learner works.
    """

    def __init__(self, learner: Learner, models: Maker, parameters: dict[str, Any]) -> None:
        self.learner = learner
        self.models = models
        self.parameters = parameters  # those that must not change while the training goes on
        self.tally = Tally()
        self._model: tuple[int, Model] | None = None

    def model(self) -> Model:
        version = self.learner.version
        if self._model is None or self._model[0] != version:
            self._model = version, self.models.of(self.learner)
        return self._model[1]

    def go_on_with(self, learner: Learner) -> None:
        """Another learner, whose versions have nothing to do with those of this one."""
        self.learner, self._model = learner, None

    @property
    def degradation(self) -> float:
        """Of a machine with a budget."""
        return self.learner.degradation  # type: ignore[union-attr]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_model": None}


class Finished:
    """In the place of a training: a model from a file that holds nothing to go on from."""

    tally = Tally()

    def __init__(self, model: Model, degradation: float | None) -> None:
        self._model = model
        self.degradation = degradation

    def model(self) -> Model:
        return self._model

    @property
    def learner(self) -> NoReturn:
        raise ValueError(NO_TRAINING)

    parameters = learner
