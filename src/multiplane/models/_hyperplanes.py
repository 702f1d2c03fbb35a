"""A multi-hyperplane machine: each class has some hyperplanes, the highest one decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Matrix


@dataclass(frozen=True)
class HyperplaneModel:
    """f(x) = the class that owns argmax_j (w_j · x + b_j)."""

    hyperplanes: _native.Hyperplanes
    n_classes: int

    @classmethod
    def of(cls, learner: _native.Learner) -> HyperplaneModel:
        return cls(learner.snapshot(), len(learner.class_counts))

    @classmethod
    def from_arrays(
        cls,
        coef: NDArray[np.float32],
        intercept: NDArray[np.float32],
        owner: NDArray[np.int32],
        n_classes: int,
    ) -> HyperplaneModel:
        """coef (m, d), intercept (m,), owner (m,) with codes below `n_classes`."""
        weights = np.concatenate([coef, intercept[:, None]], axis=1).astype(np.float32)
        codes = np.ascontiguousarray(owner, dtype=np.int32)
        if len(codes) and codes.max() >= n_classes:
            raise ValueError(f"owner must be below n_classes={n_classes}, got {codes.max()}")
        return cls(_native.Hyperplanes(np.ascontiguousarray(weights), codes, 1.0), n_classes)

    def __len__(self) -> int:
        return len(self.hyperplanes)

    @property
    def coef(self) -> NDArray[np.float32]:  # (m, d)
        coef = self.hyperplanes.weights[:, :-1]
        coef.flags.writeable = False  # a copy: writing to it would change nothing
        return coef

    @property
    def intercept(self) -> NDArray[np.float32]:  # (m,)
        return self.hyperplanes.weights[:, -1] * np.float32(self.hyperplanes.bias)

    @property
    def owner(self) -> NDArray[np.int32]:  # (m,)
        return self.hyperplanes.owner

    def winners(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]:
        """The hyperplane that decides each row, (n,); among equals that of the lowest class."""
        return np.concatenate(
            [self.hyperplanes.winners(r, n_threads, not X.checked) for _, r in X.chunks()]
        )

    def predict(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int32]:
        """Class codes, (n,)."""
        owner = np.append(self.owner, np.int32(0))  # the last one: of rows without a winner, -1
        return owner[self.winners(X, n_threads)]

    def decision(self, X: Matrix, n_threads: int = 1) -> NDArray[np.float32]:
        """Highest score among the hyperplanes of each class, (n, n_classes).

        A class without hyperplanes gets a little less than the lowest score of the row, so that
        it never wins.
        """
        return np.concatenate(
            [
                self.hyperplanes.decision(r, self.n_classes, n_threads, not X.checked)
                for _, r in X.chunks()
            ]
        )
