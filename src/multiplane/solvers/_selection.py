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
ENOUGH = 1_000  # rows to test on
_BLOCK = 500
# In standard errors. Trials are short and see few rows, for which a small model is good enough: it
# must be clearly better.
_CAUTION, _DOWNWARDS = 0.5, 1.5
_CLEAR = 2.0  # standard errors of a difference


@dataclass
class Trial:
    """`lost` holds, for each part of the sample that was tested, the weights of its rows, and 0 for
    those that were right."""

    settings: dict[str, Any]
    lost: list[NDArray[np.float64]]
    n_tested: float = 0.0  # a sum of weights

    @property
    def error(self) -> float:
        return sum(float(part.sum()) for part in self.lost) / self.n_tested


def folds(
    y: NDArray[np.int32], random: np.random.RandomState, enough: float = ENOUGH
) -> list[Fold]:
    """(train, test): a quarter of the rows is tested at a time, until enough have been."""
    # Classes of a few rows cannot be in every part: they train.
    rare = np.bincount(y)[y] < _FOLDS
    rows, always = np.flatnonzero(~rare), np.flatnonzero(rare)
    if len(np.unique(y[rows])) < 2:
        return []
    out: list[Fold] = []
    split = StratifiedKFold(_FOLDS, shuffle=True, random_state=random)
    for train, test in split.split(rows, y[rows]):
        out.append((np.sort(np.concatenate([rows[train], always])), rows[test]))
        if sum(len(tested) for _, tested in out) >= enough:
            break
    return out


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

    `ways` are the values of each setting in their natural order; `lost` tells the weights of the
    rows of one part of the sample, 0 where some settings are right, and `sizes` how much each part
    weighs. Two settings are tested on one part after the other until it is clear which is better.
    Of the `thorough` ways all values are tried; on the `eager` ones whatever is better is a step
    up, by however little. After the `deadline` no trial begins.
    """

    def __init__(
        self,
        ways: Mapping[str, Sequence[Any]],
        lost: Callable[[dict[str, Any], int], NDArray[np.float64]],
        sizes: Sequence[float],
        listener: Callable[[Trial], None],
        thorough: Iterable[str] = (),
        eager: Iterable[str] = (),
        deadline: float = np.inf,
    ) -> None:
        self.ways, self.lost, self.sizes, self.listener = ways, lost, sizes, listener
        self.deadline = deadline
        self.thorough, self.eager = set(thorough), set(eager)
        self.trials: list[Trial] = []

    def trial(self, settings: dict[str, Any]) -> Trial:
        for known in self.trials:
            if known.settings == settings:
                return known
        self.trials.append(Trial(settings, []))
        while self.trials[-1].n_tested < min(ENOUGH, sum(self.sizes)):
            self._test(self.trials[-1])
        return self.trials[-1]

    def _test(self, trial: Trial) -> None:
        number = len(trial.lost)
        trial.lost.append(self.lost(trial.settings, number))
        trial.n_tested += self.sizes[number]
        self.listener(trial)

    def better(self, one: Trial, other: Trial, caution: float = 0.0) -> bool:
        """By more than so many standard errors of the other."""
        n_parts = min(len(one.lost), len(other.lost))
        while True:
            a, b = (np.concatenate(trial.lost[:n_parts]) for trial in (one, other))
            n_tested = sum(self.sizes[:n_parts])
            needed = caution * np.sqrt(b.sum() * max(0.0, 1 - b.sum() / n_tested))
            lead = b.sum() - a.sum() - needed
            clear = abs(lead) > _CLEAR * np.sqrt(((a - b) ** 2).sum())
            if clear or n_parts == len(self.sizes) or time.perf_counter() >= self.deadline:
                return bool(lead > 0)
            n_parts += 1
            for trial in (one, other):
                if len(trial.lost) < n_parts:
                    self._test(trial)

    def walk(self, start: dict[str, Any], names: Iterable[str]) -> Trial:
        """One of the named ways after the other, in both directions, twice."""
        best = self.trial(start)
        for name in [*names] * 2:
            values = self.ways[name]
            upwards = 0.0 if name in self.eager else _CAUTION
            for direction in (-1, 1):
                place = values.index(best.settings[name]) + direction
                while 0 <= place < len(values) and time.perf_counter() < self.deadline:
                    other = self.trial({**best.settings, name: values[place]})
                    if self.better(other, best, upwards if direction > 0 else _DOWNWARDS):
                        best = other
                    elif name not in self.thorough:
                        break
                    place += direction
        return best
