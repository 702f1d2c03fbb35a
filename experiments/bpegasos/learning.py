"""One pass over a stream, timed and looked at; what the table and the figures share."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scipy.special import expit

from multiplane import BudgetedPegasosClassifier, ProjectronClassifier

from .streams import Block

BUDGETS = (100, 500)
# Projectron++ is an algorithm of its own, the others are ways to keep the budget.
MAINTENANCE = {
    "Projectron++": "",
    "random removal": "random",
    "smallest removed": "remove",
    "projection": "project",
    "merging": "merge",
}
COLUMNS = ("no budget", *(f"{name}, {budget}" for name in MAINTENANCE for budget in BUDGETS))
MODES = ("paper", "defaults")
LOGIT = -9.0, 30.0  # of η², the range in which it is looked for
LARGEST_ETA = float(expit(LOGIT[1]) ** 0.5)


def parts(column: str) -> tuple[str, int]:
    """The method and the budget, of which 0 is none."""
    method, _, budget = column.partition(", ")
    return method, int(budget or 0)


def is_averaged(column: str) -> bool:
    """By default; where it is not, the defaults are the published algorithm."""
    return parts(column)[0] in ("no budget", "projection", "merging")


def make(column: str, gamma: float, seed: int, alpha: float, eta: float | None = None) -> Any:
    """The library's model of a column; η is for Projectron++, λ for all others."""
    method, budget = parts(column)
    if eta is not None:
        return ProjectronClassifier(eta, gamma=gamma, random_state=seed)
    how = {"budget": budget, "maintenance": MAINTENANCE[method]} if budget else {"budget": None}
    return BudgetedPegasosClassifier(alpha, gamma=gamma, random_state=seed, **how)


def accuracies(model: Any, test: Block) -> dict[str, float]:
    """In %, by mode. Averaging changes only what predicts, so that one run shows both."""
    found = 100 * float(model.score(*test))
    published = 100 * float(_last(model).score(*test)) if _averages(model) else found
    return {"paper": published, "defaults": found}


def _averages(model: Any) -> bool:
    return bool(model._training.learner.__getstate__().get("average"))


def _last(model: Any) -> Any:
    """The model that average=False would have led to."""
    learner = model._training.learner
    kind: Any = type(learner)
    last = kind.__new__(kind)
    last.__setstate__(learner.__getstate__() | {"average": False, "sums": None})
    other = copy.copy(model)
    other.average = False
    other._training = copy.copy(model._training)
    other._training.learner = last
    return other


@dataclass
class Run:
    """What one pass over a stream has shown."""

    seconds: float = 0.0
    rows: list[int] = field(default_factory=list)  # by block
    mistakes: list[float] = field(default_factory=list)  # by block, before its rows were learnt
    curve: list[dict[str, float]] = field(default_factory=list)

    def late_accuracy(self) -> float:
        """In %, of the rows in the second half of the blocks, each before it was learnt."""
        half = len(self.rows) // 2
        return 100 * (1 - sum(self.mistakes[half:]) / sum(self.rows[half:]))


def cut(blocks: Iterator[Block], most: int, marks: Iterable[int] = ()) -> Iterator[Block]:
    """The first rows of a stream, with blocks ending at the marks too."""
    done = 0
    for X, y in blocks:
        size = min(len(y), most - done)
        inner = [mark - done for mark in marks if 0 < mark - done < size]
        for begin, end in zip([0, *inner], [*inner, size], strict=True):
            yield X[begin:end], y[begin:end]
        done += size
        if done == most:
            return


def learn(
    model: Any,
    blocks: Iterator[Block],
    classes: Any,
    marks: Iterable[int] = (),
    look: Callable[[Any], dict[str, float]] = lambda _: {},
) -> Run:
    """One pass, timed; at the marks it is looked at, off the clock."""
    run = Run()
    for X, y in blocks:
        start = time.process_time()
        model.partial_fit(X, y, classes=classes)
        run.seconds += time.process_time() - start
        run.rows.append(len(y))
        run.mistakes.append(len(y) * model.history_[-1]["error"])
        if (done := sum(run.rows)) in marks:
            run.curve.append({"rows": done, "seconds": run.seconds} | look(model))
    return run


def find_eta(
    wanted: int, stream: Iterator[Block], most: int, classes: Any, gamma: float
) -> float | None:
    """η with which Projectron++ ends with about the wanted number of support vectors, by bisection.

    Over log(η² / (1 − η²)), as for narrow kernels all that matters happens close to 1. None where
    even there, with rows as good as orthogonal, too many become support vectors.
    """
    # In small blocks, since most tries are soon seen to have too many.
    blocks = list(cut(stream, most, range(0, most, 2_000)))
    low, high = LOGIT  # too many support vectors, or too few
    best = None
    for _ in range(12):
        middle = (low + high) / 2
        eta = float(expit(middle) ** 0.5)
        model = ProjectronClassifier(eta, gamma=gamma, random_state=0)
        for X, y in blocks:
            model.partial_fit(X, y, classes=classes)
            if model.n_support_ > 1.03 * wanted:
                break
        if model.n_support_ > 1.03 * wanted:
            low = middle
            continue
        high, best = middle, eta
        if model.n_support_ >= 0.97 * wanted:
            break
    return best
