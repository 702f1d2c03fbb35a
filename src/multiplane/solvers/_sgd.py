"""Stochastic gradient descent, pass by pass; above all for multi-hyperplane machines.

    minimise   λ/2 ‖W‖² + 1/n Σᵢ max(0, 1 + max_{k≠yᵢ} g(k, xᵢ) − g(yᵢ, xᵢ)),
    g(k, x) =  max over the hyperplanes w of class k of w·x

Given
    a learner (native/learner.hpp: the model in scaled space and the SGD step),
    examples, and an assignment that says which hyperplane of its own class a row belongs to:
      Online       the best one at the moment           (AMM Algorithm 2, GAMM §5.2, Pegasos)
      Alternating  fixed during a pass, then reassigned (AMM and GAMM Algorithm 1, MM)
the learner is changed in place, and a `Result` says what happened. Kernel learners
(native/kernel_learner.hpp) go through the same passes; they know nothing of assignments or pruning.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Examples
from multiplane.progress import Listener
from multiplane.solvers._tally import Tally

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Settings:
    max_iter: int = 15
    prune_every: int = 10_000  # k
    prune_threshold: float | None = None  # c; None: never
    shuffle: bool = True


@dataclass
class Result:
    n_iter: int = 0
    stop_reason: str = "max_iter"
    tally: Tally = field(default_factory=Tally)


class Assignment(Protocol):
    def prepare(self, learner: _native.Learner, examples: Examples) -> str | None:
        """Called before each pass; a string ends the training for that reason."""
        ...

    @property
    def z(self) -> Ids | None: ...
    @property
    def obey(self) -> bool: ...


class Online:
    """Each row goes to the best hyperplane of its class at the moment it is met."""

    z: Ids | None = None
    obey = False

    def prepare(self, learner: _native.Learner, examples: Examples) -> str | None:
        return None


class Annealed(Online):
    """As Online. In the first half of the passes fewer and fewer hyperplanes share a step; in the
    second half, when it is the winners' alone, it gets smaller and smaller. Who is the best of its
    class for no row then would never again come nearer to one, and is dropped.

    With a `deadline`, in time.perf_counter's seconds, there are as many passes as will end before
    it, and what comes after them: steps that had not got small would be worth little. Passes get
    faster on the way, so it is asked before each how many are left.
    """

    def __init__(
        self, sharing: float, n_passes: int, n_threads: int = 1, deadline: float = np.inf
    ) -> None:
        self.sharing, self.n_passes, self.n_threads = sharing, n_passes, n_threads
        self.deadline, self._began = deadline, 0.0
        self._n_begun, self._done, self._hurried, self._dropped = 0, 0.0, False, False

    def prepare(self, learner: _native.Learner, examples: Examples) -> str | None:
        wanted = left = self.n_passes - self._n_begun
        if self.deadline < np.inf:
            left, self._began = self._in_time(wanted), time.perf_counter()
        if left < 1:
            return "out of time"
        self._hurried |= left < wanted
        if self._hurried:  # of what was left before, this is one more
            self._done += (1 - self._done) / (left + 1)
        else:
            self._done = self._n_begun / self.n_passes
        if self._done >= 0.5 and not self._dropped:
            _keep_best(learner, examples, self.n_threads)
            self._dropped = True
        learner.sharing, learner.rate = annealed(self.sharing, self._done)
        self._n_begun += 1
        return None

    def _in_time(self, wanted: int) -> int:
        """Of the passes wanted, if they take as long as the last one; one more is for the rest."""
        if not self._n_begun:
            return wanted  # one is needed
        now = time.perf_counter()
        return int(min(wanted, (self.deadline - now) / max(now - self._began, 1e-9) - 1))


def _keep_best(learner: _native.Learner, examples: Examples, n_threads: int) -> None:
    """Those that are the best of their class for some row, and all of classes without rows."""
    rows = examples.rows()
    best = examples.assign(learner, n_threads)[rows]
    state = learner.__getstate__()
    kept = np.isin(state["ids"], best) | ~np.isin(state["owner"], examples.y[rows])
    learner.keep(np.flatnonzero(kept).tolist())


def annealed(sharing: float, done: float) -> tuple[float, float]:
    """How many share a step, and how large it is, when so much of a training is behind."""
    return sharing * max(0.0, 1 - 2 * done), min(1.0, 2 * (1 - done))


class Alternating:
    """Assignments are fixed during a pass (a convex sub-problem), then chosen anew.

    Without a start the first pass is an online one that records its assignments, with which the
    second begins, and the training ends when a reassignment changes nothing. With a start it goes
    on: a start can be settled from the first (one hyperplane a class) and yet need many passes to
    be solved.
    """

    def __init__(self, start: Ids | None = None, n_threads: int = 1) -> None:
        self.z = start
        self.obey = self._goes_on = start is not None
        self.n_threads = n_threads
        self._first = True

    def prepare(self, learner: _native.Learner, examples: Examples) -> str | None:
        if self._first:
            self._first = False
            if self.z is None:
                self.z = np.full(len(examples), -1, dtype=np.int32)
            return None
        if not self.obey:
            self.obey = True
            return None
        old, self.z = self.z, examples.assign(learner, self.n_threads)
        rows = examples.rows()
        settled = old is not None and np.array_equal(self.z[rows], old[rows])
        return "assignments no longer change" if settled and not self._goes_on else None


def fit(
    learner: Any,
    examples: Examples,
    assignment: Assignment,
    settings: Settings,
    random: np.random.RandomState,
    listener: Listener,
    tally: Tally | None = None,
) -> Result:
    """Pass after pass over the examples, until something says stop."""
    result = Result(tally=tally or Tally())
    rows = examples.rows()
    try:
        for number in range(1, settings.max_iter + 1):
            reason = assignment.prepare(learner, examples)
            if reason:
                result.stop_reason = reason
                break
            listener.pass_begins(number)
            order = random.permutation(rows) if settings.shuffle else rows
            before = result.tally.copy()
            one_pass(learner, examples, order, assignment, settings, listener, result.tally, number)
            examples.X.checked = True
            result.n_iter = number
            event = result.tally.since(before, "pass", number, learner)
            reason = listener.pass_ended(event)
            if reason:
                result.stop_reason = reason
                break
    except KeyboardInterrupt:
        # The loops are never left in the middle of a step: what was learnt so far is a model.
        result.stop_reason = "interrupted"
    return result


def one_pass(
    learner: Any,
    examples: Examples,
    order: NDArray[np.int64],
    assignment: Assignment,
    settings: Settings,
    listener: Listener,
    tally: Tally,
    number: int = 1,
) -> None:
    """Rows in the given order, pruning after every `prune_every` steps of the learner's life."""
    before = tally.copy()
    for part in _slices(learner, order, settings, examples.X.chunk_size):
        start = time.perf_counter()
        counts = examples.learn(learner, part, assignment.z, assignment.obey, tally.sums)
        due = settings.prune_threshold is not None and _steps_to_pruning(learner, settings) == 0
        if due and settings.prune_threshold is not None:
            tally.pruned += learner.prune(settings.prune_threshold)
        tally.add(counts, time.perf_counter() - start)
        if due:
            listener.pruned(tally.since(before, "prune", number, learner))
            before = tally.copy()
        listener.rows_seen(tally.rows, len(order))


def _steps_to_pruning(learner: Any, settings: Settings) -> int:
    """0 right after a step that is a multiple of k (t counts from 1 and is the next step)."""
    steps: int = -(learner.t - 1) % settings.prune_every
    return steps


def _slices(
    learner: Any,
    order: NDArray[np.int64],
    settings: Settings,
    largest: int,
) -> Iterator[NDArray[np.int64]]:
    """Cut the order so that pruning falls on a cut and a slice takes some hundredths of a second:
    long enough to cost nothing, short enough for Ctrl-C. The model does not depend on the cuts."""
    size, done = 256, 0
    while done < len(order):
        n = min(size, largest, _steps_to_pruning(learner, settings) or settings.prune_every)
        start = time.perf_counter()
        yield order[done : done + n]
        seconds = time.perf_counter() - start
        done += n
        if seconds < 0.02:
            size *= 2
        elif seconds > 0.1:
            size = max(1, size // 2)
