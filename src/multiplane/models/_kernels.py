"""A kernel machine: a class's score is a weighted sum of kernel values with support vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Matrix


@dataclass(frozen=True)
class KernelModel:
    """f_c(x) = Σ_j α_jc k(v_j, x); the class with the highest value decides."""

    machine: _native.KernelMachine

    @classmethod
    def of(cls, learner: _native.KernelLearner | _native.Projectron) -> KernelModel:
        return cls(learner.snapshot())

    def __len__(self) -> int:
        return len(self.machine)

    @property
    def support_vectors(self) -> NDArray[np.float32]:  # (s, d)
        vectors = self.machine.vectors
        vectors.flags.writeable = False  # a copy: writing to it would change nothing
        return vectors

    @property
    def dual_coef(self) -> NDArray[np.float32]:  # (s, n_classes)
        coef = self.machine.coef
        coef.flags.writeable = False
        return coef

    def predict(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]:
        """Class codes, (n,); among equals the lowest."""
        return np.concatenate(
            [self.machine.winners(r, n_threads, not X.checked) for _, r in X.chunks()]
        )

    def decision(self, X: Matrix, n_threads: int = 1) -> NDArray[np.float32]:
        """f(x), (n, n_classes)."""
        return np.concatenate(
            [self.machine.decision(r, n_threads, not X.checked) for _, r in X.chunks()]
        )
