"""Settings found by trial, on training data alone.

A trial trains with some settings on most of a sample and counts the errors on the rest of it. One
setting after the other is varied while the others stay at their best; what is left for another
value must be worse by more than chance would make it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from multiplane.data import Examples, Matrix

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]

_FOLDS = 4
_ENOUGH = 1_000  # rows to test on
_BLOCK = 500
# Standard errors by which a step down and a step up must be better. Trials are short and see few
# rows, for which a small model is good enough: it must be clearly better.
_CAUTION = (1.5, 0.5)


@dataclass(frozen=True)
class Trial:
    settings: dict[str, Any]
    n_wrong: float  # sums of weights
    n_tested: float

    @property
    def error(self) -> float:
        return self.n_wrong / self.n_tested

    def beats(self, other: Trial, caution: float) -> bool:
        """By more than so many standard errors."""
        deviation = np.sqrt(other.error * (1 - other.error) / other.n_tested)
        return bool(self.error < other.error - caution * deviation)


def folds(y: NDArray[np.int32], random: np.random.RandomState) -> list[Fold]:
    """(train, test): a quarter of the rows is tested at a time."""
    # Classes of a few rows cannot be in every part: they train.
    rare = np.bincount(y)[y] < _FOLDS
    rows, always = np.flatnonzero(~rare), np.flatnonzero(rare)
    if len(np.unique(y[rows])) < 2:
        return []
    out: list[Fold] = []
    split = StratifiedKFold(_FOLDS, shuffle=True, random_state=random)
    for train, test in split.split(rows, y[rows]):
        out.append((np.sort(np.concatenate([rows[train], always])), rows[test]))
    return out


def enough(parts: Sequence[Fold]) -> int:
    """With how many of them enough rows are tested."""
    n_tested = np.cumsum([len(test) for _, test in parts])
    return min(int(np.searchsorted(n_tested, _ENOUGH)) + 1, len(parts))


def progressive(
    learners: Sequence[Any],
    models: Any,
    examples: Examples,
    order: NDArray[np.int64],
    n_passes: int = 1,
) -> list[int]:
    """Errors of each learner's model, over one reading of the rows `order`: a block of them is
    predicted by each before each learns it. The first quarter only teaches; if there are to be
    several passes, three quarters do, and so often."""
    n_taught = len(order) // 4 if n_passes == 1 else 3 * len(order) // 4
    for learner in learners:
        for _ in range(n_passes - 1):
            examples.learn(learner, order[:n_taught])
    wrong = [0] * len(learners)
    ends = [*range(_BLOCK, n_taught, _BLOCK), n_taught]
    ends += [*range(n_taught + _BLOCK, len(order), _BLOCK), len(order)]
    for first, end in pairwise([0, *ends]):
        part = order[first:end]
        if not len(part):
            continue
        block = Matrix(examples.X.source[part]) if first >= n_taught else None
        for k, learner in enumerate(learners):
            if block is not None:
                codes = models.of(learner).predict(block)
                wrong[k] += int(np.count_nonzero(codes != examples.y[part]))
            examples.learn(learner, part)
    return wrong


class Search:
    """A walk from setting to setting, as long as it leads to something better.

    `ways` are the values of each setting in their natural order; `wrong` tells how many of how many
    test rows some settings get wrong; `caution` has, for some of the ways, by how many standard
    errors a step down and a step up must be better. After the `deadline` no trial begins.
    """

    def __init__(
        self,
        ways: Mapping[str, Sequence[Any]],
        wrong: Callable[[dict[str, Any]], tuple[float, float]],
        listener: Callable[[Trial], None],
        caution: Mapping[str, tuple[float, float]] | None = None,
        deadline: float = np.inf,
    ) -> None:
        self.ways, self.wrong, self.listener = ways, wrong, listener
        self.caution, self.deadline = caution or {}, deadline
        self.trials: list[Trial] = []

    @property
    def late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def trial(self, settings: dict[str, Any]) -> Trial:
        for known in self.trials:
            if known.settings == settings:
                return known
        self.trials.append(Trial(settings, *self.wrong(settings)))
        self.listener(self.trials[-1])
        return self.trials[-1]

    def walk(self, start: dict[str, Any], names: Iterable[str]) -> Trial:
        """One of the named ways after the other, in both directions, twice."""
        best = self.trial(start)
        for name in [*names] * 2:
            values = self.ways[name]
            for direction, caution in zip((-1, 1), self.caution.get(name, _CAUTION), strict=True):
                place = values.index(best.settings[name]) + direction
                while 0 <= place < len(values) and not self.late:
                    other = self.trial({**best.settings, name: values[place]})
                    if not other.beats(best, caution):
                        break
                    best = other
                    place += direction
        return best
