"""Multi-hyperplane machines learnt in several places: iterative parameter mixing.

In a round every part p goes on from the same learner (`state`, of `Learner.__getstate__`) with n_p
rows of its own, which moves hyperplane j, U_j = λ(t−1) W_j, by Δ_pj. The next round begins with

    mean   U_j + Σ_p Δ_pj / m_j,   t + mean of the n_p,   m_j = how many parts have moved it;
    sum    U_j + Σ_p Δ_pj,         t + Σ_p n_p.

The mean is over those parts that had something to say about a hyperplane, and works with few, long
rounds: steps are as large as if a part were alone, and averaging makes up for that. The sum is what
one learner would do with all the rows one after the other, but that its scores are a round old: it
comes as near to that as one likes with rounds that are short beside the steps made so far. With
long ones it overshoots, since all parts make up for the same mistakes.

Hyperplanes are the same if they have the same id; those born during the round are joined, in the
order of the parts, and get ids of their own. The numerator and the denominator of the averaged
model (see native/learner.hpp) move by the mean over all parts, or by the sum.

Growing: p falls with each duplication anywhere, so that a part lets it fall by β^P with its own.
docs/decisions/0015-mixing.md has the figures that chose this rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Examples, Matrix

State = dict[str, Any]
Floats = NDArray[np.float32]
# Which hyperplane of its class each row belongs to: (learner, examples, part) → ids
Assign = Callable[[_native.Learner, Examples, int], NDArray[np.int32]]

# Seeds of parts are so far apart; odd, and not the step of native/draw.hpp.
BETWEEN_SEEDS = 0xD1342543DE82EF95


@dataclass(frozen=True)
class Delta:
    """What some parts have learnt in a round."""

    counts: dict[str, Any]  # of `Examples.learn`, added up
    steps: int  # Σ n_p
    moved: Floats  # Σ Δ_p, (m, d + 1)
    movers: NDArray[np.int32]  # m_j, (m,)
    average: Floats | None  # what is added to the numerator, (m, d + 1)
    weight: float  # and to the denominator
    new: Floats  # U of new hyperplanes, (n, d + 1)
    new_average: Floats | None
    new_owner: NDArray[np.int32]  # (n,)


@dataclass(frozen=True)
class HyperplaneMixing:
    """The steps of a round."""

    n_parts: int
    rule: Literal["mean", "sum"] = "mean"
    assign: Assign | None = None  # None: the best one, whenever a row is met

    def local_step(
        self, state: State, examples: Examples, order: NDArray[np.int64], number: int
    ) -> Delta:
        """Part `number` learns the rows `order`."""
        decay = state["growth_decay"] ** self.n_parts
        seed = (state["seed"] + number * BETWEEN_SEEDS) % 2**64
        learner = learner_of({**state, "growth_decay": decay, "seed": seed})
        z = None
        if self.assign is not None:  # of these rows alone
            examples, order = _taken(examples, order), np.arange(len(order))
            z = self.assign(learner, examples, number)
        counts = learnt(learner, examples, order, z)
        return _difference(state, learner.__getstate__(), counts)

    def merge(self, deltas: Sequence[Delta]) -> Delta:
        if len(deltas) == 1:
            return deltas[0]
        averaged = deltas[0].average is not None
        return Delta(
            counts={k: sum(delta.counts[k] for delta in deltas) for k in deltas[0].counts},
            steps=sum(delta.steps for delta in deltas),
            moved=_sum([delta.moved for delta in deltas]),
            movers=np.sum([delta.movers for delta in deltas], axis=0, dtype=np.int32),
            average=_sum([delta.average for delta in deltas]) if averaged else None,
            weight=sum(delta.weight for delta in deltas),
            new=np.concatenate([delta.new for delta in deltas]),
            new_average=np.concatenate([d.new_average for d in deltas]) if averaged else None,
            new_owner=np.concatenate([delta.new_owner for delta in deltas]),
        )

    def apply(self, state: State, delta: Delta) -> State:
        """The state that the next round begins with."""
        unit = _unit(state)
        U, N, D = _parts(state, unit)
        sums = self.rule == "sum"
        U += delta.moved if sums else delta.moved / np.maximum(delta.movers, 1)[:, None]
        n_times = 1 if sums else self.n_parts
        if N is not None and delta.average is not None:
            N += delta.average / n_times
            # A new hyperplane counts as if all parts had had it.
            N = np.concatenate([N, delta.new_average])
        n_new = len(delta.new)
        ids = np.arange(state["n_ids"], state["n_ids"] + n_new, dtype=np.int32)
        settings = {
            **state,
            "t": state["t"] + -(-delta.steps // n_times),
            "owner": np.concatenate([state["owner"], delta.new_owner]),
            "ids": np.concatenate([state["ids"], ids]),
            "n_ids": state["n_ids"] + n_new,
            "growth": state["growth"] * state["growth_decay"] ** delta.counts["duplicated"],
        }
        U = np.concatenate([U, delta.new])
        return _state(settings, U, N, D + delta.weight / n_times, unit)


@dataclass(frozen=True)
class Best:
    """The best hyperplane of its class."""

    def __call__(
        self, learner: _native.Learner, examples: Examples, number: int
    ) -> NDArray[np.int32]:
        if not len(examples):
            return np.zeros(0, dtype=np.int32)
        return examples.assign(learner, 1)


@dataclass(frozen=True)
class Drawn:
    """Any hyperplane of its class, of which none has been pruned yet."""

    seed: int

    def __call__(
        self, learner: _native.Learner, examples: Examples, number: int
    ) -> NDArray[np.int32]:
        random = np.random.RandomState([self.seed, number, learner.t % 2**32])
        return drawn(learner, examples, random)


def drawn(
    learner: _native.Learner, examples: Examples, random: np.random.RandomState
) -> NDArray[np.int32]:
    # Ids were given out class by class, so a class's ids are first ... first + count - 1.
    counts = learner.class_counts.astype(np.int64)
    first = np.cumsum(counts) - counts
    draws = random.random_sample(len(examples))
    z = first[examples.y] + (draws * counts[examples.y]).astype(np.int64)
    return z.astype(np.int32)


def learner_of(state: State) -> _native.Learner:
    learner = _native.Learner.__new__(_native.Learner)
    learner.__setstate__(state)
    return learner


def learnt(
    learner: Any,
    examples: Examples,
    order: NDArray[np.int64],
    z: NDArray[np.int32] | None = None,
) -> dict[str, Any]:
    """Counts of the rows `order`, of which as many are learnt at once as may be asked for."""
    size = examples.X.chunk_size
    counts = examples.learn(learner, order[:size], z, z is not None)
    for first in range(size, len(order), size):
        so_far = counts["loss"], counts["weight"]
        more = examples.learn(learner, order[first : first + size], z, z is not None, so_far)
        counts = {k: v if k in ("loss", "weight") else v + counts[k] for k, v in more.items()}
    return counts


def _taken(examples: Examples, order: NDArray[np.int64]) -> Examples:
    weight = None if examples.weight is None else examples.weight[order]
    return Examples(Matrix(examples.X.source[order]), examples.y[order], weight)


def _unit(state: State) -> float:
    """What the average's weights, cubes of ages, are multiplied by: their sum is then about 1."""
    return 4.0 / max(1.0, float(state["t"] - state["t0"])) ** 4


def _parts(
    state: State, unit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, float]:
    """U, and the average's numerator N and denominator D in this unit."""
    inner, factor = state["U"].astype(np.float64), unit / state["average_unit"]
    N = None
    if state["V"] is not None:
        N = factor * (state["average_sum"] * inner - state["V"])
    return state["scale"] * inner, N, factor * state["average_weight"]


def _state(
    settings: State, U: NDArray[np.float64], N: NDArray[np.float64] | None, D: float, unit: float
) -> State:
    norm, scale = float(np.einsum("ij,ij->", U, U)), 1.0
    if settings["ball_projection"] and norm > 0:  # |U| <= √λ (t - 1)
        scale = min(1.0, np.sqrt(settings["lam"] / norm) * float(settings["t"] - 1))
    return {
        **settings,
        "scale": 1.0,
        "squared_norm": norm * scale**2,
        "average_unit": unit,
        "average_sum": 0.0,
        "average_weight": D,
        "U": (scale * U).astype(np.float32),
        "V": None if N is None else (-N).astype(np.float32),
    }


def _difference(before: State, after: State, counts: dict[str, Any]) -> Delta:
    unit = _unit(before)
    (U0, N0, D0), (U, N, D) = _parts(before, unit), _parts(after, unit)
    m = len(U0)  # none is pruned during a round: the old ones are still the first
    moved = (U[:m] - U0).astype(np.float32)
    return Delta(
        counts=counts,
        steps=after["t"] - before["t"],
        moved=moved,
        movers=np.any(moved != 0, axis=1).astype(np.int32),
        average=None if N is None or N0 is None else (N[:m] - N0).astype(np.float32),
        weight=D - D0,
        new=U[m:].astype(np.float32),
        new_average=None if N is None else N[m:].astype(np.float32),
        new_owner=after["owner"][m:],
    )


def _sum(arrays: Sequence[Any]) -> Floats:
    total: NDArray[np.float64] = arrays[0].astype(np.float64)
    for array in arrays[1:]:
        total += array
    return total.astype(np.float32)
