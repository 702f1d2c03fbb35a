"""Multi-hyperplane machines learnt in several places: iterative parameter mixing.

In a round every part p goes on from the same learner (`state`, of `Learner.__getstate__`) with n_p
rows of its own, which moves hyperplane j, U_j = λ(t−1) W_j, by Δ_pj. The next round begins with

    mean   U_j + Σ_p n_p Δ_pj / m_j,   t + Σ_p n_p² / Σ_p n_p,   m_j = Σ n_p of those that moved it;
    sum    U_j + Σ_p Δ_pj,             t + Σ_p n_p;
    chain  one part p alone: U_j + Δ_pj, t + n_p, and another part in the next round.

The mean is over those parts that had something to say about a hyperplane, in proportion to their
rows, and works with few, long rounds: steps are as large as if a part were alone, and averaging
makes up for that. Parts with few rows or none do not slow down the others. The sum is what
one learner would do with all the rows one after the other, but that its scores are a round old: it
comes as near to that as one likes with rounds that are short beside the steps made so far. With
long ones it overshoots, since all parts make up for the same mistakes. The chain is what one
machine does, and as slow; rows are exchanged beforehand, so that parts are alike.

Hyperplanes are the same if they have the same id; those born during the round are joined, in the
order of the parts, and get ids of their own. The numerator and the denominator of the averaged
model (see native/learner.hpp) move by the mean over all parts, weighted by n_p, or by the sum.

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
# Which hyperplane of its class each row belongs to: (learner, examples) → ids
Assign = Callable[[_native.Learner, Examples], NDArray[np.int32]]
Rule = Literal["mean", "sum", "chain"]

# Seeds of parts are so far apart; odd, and not the step of native/draw.hpp.
BETWEEN_SEEDS = 0xD1342543DE82EF95


@dataclass(frozen=True)
class Delta:
    """What some parts have learnt in a round: sums, with weights w_p = n_p for the mean, else 1."""

    counts: dict[str, Any]  # of `Examples.learn`, added up
    steps: int  # Σ n_p
    squared_steps: int  # Σ n_p²
    unit: float  # of the averages: what the weights in them are multiplied by
    moved: Floats  # Σ w_p Δ_p, (m, d + 1)
    movers: NDArray[np.int64]  # Σ w_p of those that moved it, (m,)
    average: Floats | None  # what is added to the numerator, (m, d + 1)
    weight: float  # and to the denominator
    new: Floats  # U of new hyperplanes, (n, d + 1)
    new_average: Floats | None
    new_owner: NDArray[np.int32]  # (n,)


@dataclass(frozen=True)
class HyperplaneMixing:
    """The steps of a round."""

    n_parts: int
    rule: Rule = "mean"  # a chain is the mean of one
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
            z = self.assign(learner, examples)
        counts = learnt(learner, examples, order, z)
        return _difference(state, learner.__getstate__(), counts, self.rule)

    def merge(self, deltas: Sequence[Delta]) -> Delta:
        if len(deltas) == 1:
            return deltas[0]
        averaged = deltas[0].average is not None
        unit = min(delta.unit for delta in deltas)
        factors = [unit / delta.unit for delta in deltas]
        return Delta(
            counts={k: sum(delta.counts[k] for delta in deltas) for k in deltas[0].counts},
            steps=sum(delta.steps for delta in deltas),
            squared_steps=sum(delta.squared_steps for delta in deltas),
            unit=unit,
            moved=_sum([delta.moved for delta in deltas]),
            movers=np.sum([delta.movers for delta in deltas], axis=0),
            average=_sum([d.average for d in deltas], factors) if averaged else None,
            weight=sum(f * delta.weight for f, delta in zip(factors, deltas, strict=True)),
            new=np.concatenate([delta.new for delta in deltas]),
            new_average=_joined([d.new_average for d in deltas], factors) if averaged else None,
            new_owner=np.concatenate([delta.new_owner for delta in deltas]),
        )

    def apply(self, state: State, delta: Delta) -> State:
        """The state that the next round begins with."""
        if not delta.steps:
            return state
        U, N, D = _parts(state, delta.unit)
        if self.rule == "sum":
            total, steps = 1, delta.steps
            U += delta.moved
        else:
            total, steps = delta.steps, -(-delta.squared_steps // delta.steps)
            U += delta.moved / np.maximum(delta.movers, 1)[:, None]
        if N is not None and delta.average is not None:
            N += delta.average / total
            # Of a new hyperplane as it is: for the mean, as if all parts had had it.
            N = np.concatenate([N, delta.new_average])
        n_new = len(delta.new)
        ids = np.arange(state["n_ids"], state["n_ids"] + n_new, dtype=np.int32)
        settings = {
            **state,
            "t": state["t"] + steps,
            "owner": np.concatenate([state["owner"], delta.new_owner]),
            "ids": np.concatenate([state["ids"], ids]),
            "n_ids": state["n_ids"] + n_new,
            "growth": state["growth"] * state["growth_decay"] ** delta.counts["duplicated"],
        }
        U = np.concatenate([U, delta.new])
        return _state(settings, U, N, D + delta.weight / total, delta.unit)


@dataclass(frozen=True)
class Best:
    """The best hyperplane of its class."""

    def __call__(self, learner: _native.Learner, examples: Examples) -> NDArray[np.int32]:
        if not len(examples):
            return np.zeros(0, dtype=np.int32)
        return examples.assign(learner, 1)


@dataclass(frozen=True)
class Drawn:
    """Any hyperplane of its class."""

    def __call__(self, learner: _native.Learner, examples: Examples) -> NDArray[np.int32]:
        high, low = divmod(learner.__getstate__()["seed"], 2**32)  # a part has its own
        random = np.random.RandomState([high, low, learner.t % 2**32])
        return drawn(learner, examples, random)


def drawn(
    learner: _native.Learner, examples: Examples, random: np.random.RandomState
) -> NDArray[np.int32]:
    """Ids of living hyperplanes."""
    state = learner.__getstate__()
    ids = state["ids"][np.argsort(state["owner"], kind="stable")]  # class by class
    counts = learner.class_counts.astype(np.int64)
    first = np.cumsum(counts) - counts
    draws = random.random_sample(len(examples))
    z: NDArray[np.int32] = ids[first[examples.y] + (draws * counts[examples.y]).astype(np.int64)]
    return z


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


def _difference(before: State, after: State, counts: dict[str, Any], rule: Rule) -> Delta:
    unit, steps = _unit(after), after["t"] - before["t"]
    w = 1 if rule == "sum" else steps
    (U0, N0, D0), (U, N, D) = _parts(before, unit), _parts(after, unit)
    m = len(U0)  # none is pruned during a round: the old ones are still the first
    moved = (w * (U[:m] - U0)).astype(np.float32)
    return Delta(
        counts=counts,
        steps=steps,
        squared_steps=steps**2,
        unit=unit,
        moved=moved,
        movers=w * np.any(moved != 0, axis=1).astype(np.int64),
        average=None if N is None or N0 is None else (w * (N[:m] - N0)).astype(np.float32),
        weight=w * (D - D0),
        new=U[m:].astype(np.float32),
        new_average=None if N is None else N[m:].astype(np.float32),
        new_owner=after["owner"][m:],
    )


def _sum(arrays: Sequence[Any], factors: Sequence[float] | None = None) -> Floats:
    total = np.zeros(arrays[0].shape)
    for array, factor in zip(arrays, factors or [1.0] * len(arrays), strict=True):
        total += factor * array.astype(np.float64)
    return total.astype(np.float32)


def _joined(arrays: Sequence[Any], factors: Sequence[float]) -> Floats:
    pairs = zip(arrays, factors, strict=True)
    return np.concatenate([(factor * array).astype(np.float32) for array, factor in pairs])
