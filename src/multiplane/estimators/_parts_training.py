"""Training in rounds from rows that lie in several places.

A training is its estimator, whose learner is that of the last round, and a `Position`: with these
two, and the same parts, it goes on as if it had never stopped, bit for bit.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from multiplane.data import Examples, Matrix
from multiplane.estimators._checks import (
    NO_WEIGHT,
    UNFINISHED,
    NoWeightError,
    class_weights,
    new_seed,
)
from multiplane.estimators._labels import check_several
from multiplane.estimators._monitor import Monitor
from multiplane.estimators._parts import Seen, survey
from multiplane.estimators._rounds import (
    VISITS,
    Exchange,
    Going,
    Reading,
    Sample,
    Sampling,
    Share,
    Start,
    joined,
    learnt_share,
    sampled,
)
from multiplane.solvers._engine import Engine
from multiplane.solvers._mixing import Rule
from multiplane.solvers._sgd import Result
from multiplane.solvers._tally import Tally

_FEWEST_ROUNDS = 32  # of a pass, where their number falls from pass to pass
_FEWEST_VISITS = 8  # of a pass, all parts together: steps change in between


@dataclass
class Position:
    """What has been done."""

    seed: int = 0
    n_iter: int = 0  # passes that are complete
    round: int = 0  # rounds of the present pass that are
    before: tuple[Any, ...] | None = None  # what had been counted when the present pass began


class PartsTraining:
    """An estimator being trained from parts."""

    def __init__(
        self,
        estimator: Any,
        engine: Engine,
        rule: Rule | None = None,
        rounds: int | None = None,
        checkpoint: Any = None,
    ) -> None:
        self.estimator, self.engine, self.checkpoint = estimator, engine, checkpoint
        self.rule: Rule = rule or estimator._mixing_rule
        self.rounds = rounds
        self.position = Position()

    def begin(self) -> bool:
        """Look at the rows and start, or go on from a checkpoint; whether there is work left."""
        estimator = self.estimator
        resumed = self.checkpoint is not None and self.checkpoint.resume(estimator)
        if resumed:
            self.position = estimator.__dict__.pop("_position")
            if estimator.stop_reason_ != UNFINISHED:
                return False
        seen = survey(self.engine, several=False)
        reading = self._reading(seen)
        most = max(seen.counting)
        if self._exchanges():  # all as large as each other
            most = -(-sum(seen.counting) // self.engine.n_parts)
        rounds = self.rounds or self._rounds(seen, most)
        self.n_rounds = min(rounds, most)  # each with a row at least
        if resumed:
            self._check_same(seen)
        else:
            self.position.seed = new_seed(check_random_state(estimator.random_state))
            estimator.history_ = []
            self._start(seen, reading)
        self.reading: Reading = estimator._final_reading(reading)
        if self._exchanges():
            exchange = Exchange(self.reading, self.engine.n_parts, self.position.seed)
            self.engine.exchange(Exchange.split, exchange, joined)
        return True

    def run(self, monitor: Monitor) -> Result:
        """Pass after pass, until something says stop."""
        estimator, position = self.estimator, self.position
        result = Result(n_iter=position.n_iter, tally=estimator._training.tally)
        try:
            while position.n_iter < estimator._settings().max_iter:
                reason = self._one_pass(monitor)
                result.n_iter = position.n_iter
                if reason is not None:
                    result.stop_reason = reason
                    break
            estimator._tidy_up_parts(self.engine, self.reading)
        except KeyboardInterrupt:  # a round is learnt as a whole or not at all
            result.stop_reason = "interrupted"
            estimator._stream_ended(None)
        else:
            self._write(result.stop_reason)
        return result

    def _exchanges(self) -> bool:
        """Whether rows go from part to part before they are learnt."""
        several = self.rule == "chain" and self.engine.n_parts > 1
        return several and bool(self.estimator.shuffle)

    def _rounds(self, seen: Seen, most: int) -> int:
        if self.rule != "chain":
            return int(self.estimator._rounds(self.rule, sum(seen.counting)))
        settings = self.estimator._settings()
        visits = -(-_FEWEST_VISITS // self.engine.n_parts)
        if settings.prune_threshold is not None:  # as often as on one machine
            visits = max(visits, -(-most // settings.prune_every))
        return visits

    def _reading(self, seen: Seen) -> Reading:
        labels, each = seen.labels, None
        assert labels is not None
        check_several(labels, self.estimator)
        wanted = self.estimator.class_weight
        if isinstance(wanted, dict):
            each = class_weights(wanted, labels, labels)
        elif wanted is not None:
            each = seen.n_rows / len(labels) / seen.numbers
        if each is not None and not np.any(each * seen.weight > 0):
            raise NoWeightError(NO_WEIGHT)
        nothing = Matrix(np.zeros((0, seen.n_features), dtype=np.float32))
        return Reading(seen.n_features, labels, each, self.estimator._reach(nothing))

    def _check_same(self, seen: Seen) -> None:
        estimator, labels = self.estimator, np.asarray(seen.labels)
        if seen.n_features != estimator.n_features_in_ or list(labels) != list(estimator.classes_):
            raise ValueError(
                f"the checkpoint is of a training with {estimator.n_features_in_} features and the "
                f"classes {estimator.classes_}, the rows have {seen.n_features} and {labels}; "
                f"choose another folder"
            )

    def _start(self, seen: Seen, reading: Reading) -> None:
        estimator, seed = self.estimator, self.position.seed
        estimator.n_features_in_, estimator.classes_ = seen.n_features, reading.classes
        estimator._check_classes(reading.classes)
        n_rows = sum(seen.counting)
        estimator._expected = n_rows, estimator._parts_passes()
        if estimator._looks_at_first_rows():
            share = estimator._sample_size(n_rows, seen.n_features) / n_rows
            beginner = copy.copy(estimator)
            beginner.__dict__.pop("_skl_callbacks", None)  # they stay here
            found: dict[str, Any] = self.engine.run(
                sampled,
                Sampling(reading, min(1.0, share), seed),
                Sample.joined,
                Start(beginner, seed),
            )
            estimator.__dict__.update(found)
        else:
            nothing = np.zeros((0, seen.n_features), dtype=np.float32)
            examples = Examples(Matrix(nothing), np.zeros(0, dtype=np.int32))
            estimator._start(examples, len(reading.classes), seed)
        estimator._passes_known(n_rows, seen.n_features)
        del estimator._expected

    def _one_pass(self, monitor: Monitor) -> str | None:
        """The rounds of a pass that are left, and why to stop after it."""
        estimator, position = self.estimator, self.position
        training, number = estimator._training, position.n_iter + 1
        monitor.pass_begins(number)
        n_rounds = self.n_rounds
        if self.rule == "sum":
            n_rounds = max(min(_FEWEST_ROUNDS, n_rounds), n_rounds // number)
        elif self.rule == "chain":
            n_rounds *= self.engine.n_parts
        if position.before is None:
            position.before = astuple(training.tally)
        began = time.perf_counter()
        for going in self._going_on(n_rounds):
            then = training.tally.copy()
            self._take_over(going, time.perf_counter() - began)
            began = time.perf_counter()
            position.round += 1
            event = training.tally.since(then, "round", number, training.learner)
            event.extra["round"] = position.round
            monitor.round_ended(event, n_rounds)
            if position.round < n_rounds:
                self._write(UNFINISHED)
        if not training.tally.rows:  # weights that float32 takes for zero
            raise NoWeightError(NO_WEIGHT)
        before, position.before = Tally(*position.before), None
        position.n_iter, position.round = number, 0
        event = training.tally.since(before, "pass", number, training.learner)
        reason = monitor.pass_ended(event)
        if reason is None:
            self._write(UNFINISHED)
        return reason

    def _going_on(self, n_rounds: int) -> Iterator[Going]:
        """After each of the rounds that are left of a pass."""
        estimator, position = self.estimator, self.position
        training, settings = estimator._training, estimator._settings()
        n_parts, order = self.engine.n_parts, {}
        chain, n_shares = self.rule == "chain", n_rounds
        if chain:
            n_parts, n_shares = 1, self.n_rounds
        mixing = estimator._mixing(n_parts, self.rule, position.n_iter)
        plan = []
        for round_ in range(position.round, n_rounds):
            number, only = round_, None
            if chain:
                number, only = divmod(round_, self.engine.n_parts)
                if settings.shuffle and number not in order:
                    numbers = [position.seed, position.n_iter, number, VISITS]
                    order[number] = np.random.RandomState(numbers).permutation(self.engine.n_parts)
                only = int(order[number][only]) if settings.shuffle else only
            done = (position.n_iter + round_ / n_rounds) / settings.max_iter
            plan.append(
                Share(
                    mixing,
                    self.reading,
                    position.seed,
                    settings.shuffle,
                    position.n_iter,
                    number,
                    n_shares,
                    only,
                    type(training.learner),
                    estimator._learner_settings(done),
                    settings.prune_every,
                    settings.prune_threshold,
                )
            )
        now = Going(training.learner.__getstate__(), training.tally.rows, {})
        return self.engine.rounds(learnt_share, plan, now, mixing.merge)

    def _take_over(self, going: Going, seconds: float) -> None:
        training = self.estimator._training
        kind: Any = type(training.learner)
        tally, learner = training.tally, kind.__new__(kind)
        learner.__setstate__(going.learner)
        tally.pruned += going.n_pruned
        sums = {"loss": tally.loss, "weight": tally.weight}  # of which `add` wants the totals
        tally.add(going.counts | {k: going.counts[k] + sums[k] for k in sums}, seconds)
        training.go_on_with(learner)

    def _write(self, reason: str) -> None:
        if self.checkpoint is None:
            return
        now = copy.copy(self.estimator)
        now.n_iter_, now.t_ = self.position.n_iter, now._training.learner.t
        now.stop_reason_, now._position = reason, self.position
        self.checkpoint.write(now)
