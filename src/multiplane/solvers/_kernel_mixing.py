"""Kernel Pegasos on a budget, learnt in several places: iterative parameter mixing.

In a round every part p goes on from the same learner (`state`, of `KernelLearner.__getstate__`)
with n_p rows of its own, which moves U = λ(t−1) W by Δ_p. The next round begins with

    U + g Δ,   t + g m,    Δ = Σ_p w_p Δ_p,   m = Σ_p w_p n_p,   w_p = n_p / Σ_q n_q,
    g = Σ_p w_p ‖Δ_p‖² / ‖Δ‖²,   at most 1 / max_p w_p.

Where all parts say the same, g = 1 and this is the mean; where each says something of its own, at
right angles, it is the sum, with as many steps as rows. (Methods of parallel projections take
steps of this length.) The numerator N = Σ t³ U⁽ᵗ⁺¹⁾ and the denominator D = Σ λ t⁴ of the averaged
model move likewise, by a factor f that gives the round the weight of its g m steps.

Sets of support vectors must not multiply. A part leaves those that came to it as they are
(`freeze`) and has room for as many new ones as the budget; of a delta only these travel, and how
the coefficients of the old ones have changed, in their order. New vectors of several parts are
reduced to the budget among themselves on the way, and together with the old ones at the end, by
the maintenance of the learner. Vectors of the same bytes are one.

After a mix `degradation` bounds how far maintenance has moved U, in all: by the triangle inequality
g times the mean of what it did to the parts, and what the reductions have added.
docs/decisions/0014-mixing-kernels.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Examples
from multiplane.solvers._mixing import BETWEEN_SEEDS, learnt

Floats = NDArray[np.float64]
State = dict[str, Any]

_ARRAYS = ("vectors", "coef", "sums", "born", "memory")


@dataclass(frozen=True)
class KernelDelta:
    """What some parts have learnt in a round: sums, then means weighted by w_p."""

    settings: State  # of the learner, without its arrays
    counts: dict[str, Any]  # of `Examples.learn`
    steps: int  # Σ n_p
    squared_steps: int  # Σ n_p²
    most_steps: int  # max n_p
    vectors: NDArray[np.float32]  # new ones, (n_new, n_features)
    born: NDArray[np.int64]  # (n_new,)
    U: Floats  # Δ, (n_old + n_new, n_classes)
    N: Floats | None  # what is added to N, likewise; None: no average is kept
    D: float
    squared_length: float  # ‖Δ_p‖²
    degradation: float
    n_maintained: float


@dataclass(frozen=True)
class Alone:
    """What the only part has come to."""

    state: State
    counts: dict[str, Any]


@dataclass(frozen=True)
class KernelMixing:
    """The steps of a round. One part alone learns as if there were no rounds, bit for bit."""

    n_parts: int

    def local_step(
        self, state: State, examples: Examples, order: NDArray[np.int64], number: int
    ) -> KernelDelta | Alone:
        """Part `number` learns the rows `order`."""
        learner = _native.KernelLearner.__new__(_native.KernelLearner)
        if self.n_parts == 1:
            learner.__setstate__(state)
            counts = learnt(learner, examples, order)
            return Alone(learner.__getstate__(), counts)
        budget = state["budget"] and min(len(state["vectors"]) + state["budget"], 2**30)
        seed = (state["seed"] + number * BETWEEN_SEEDS) % 2**64
        learner.__setstate__({**state, "budget": budget, "seed": seed})
        learner.freeze()
        counts = learnt(learner, examples, order)
        return _difference(state, learner.__getstate__(), counts)

    def merge(self, deltas: Sequence[Any]) -> Any:
        """The mean, with no more new vectors than the budget."""
        if isinstance(deltas[0], Alone):
            return deltas[0]
        counts = {name: sum(d.counts[name] for d in deltas) for name in deltas[0].counts}
        moved = [delta for delta in deltas if delta.steps]
        if len(moved) < 2:
            return replace((moved or deltas)[0], counts=counts)
        mean = replace(_mean(moved), counts=counts)
        budget = mean.settings["budget"]
        return _shrunk(mean) if budget and len(mean.vectors) > budget else mean

    def apply(self, state: State, delta: Any) -> State:
        """The state that the next round begins with."""
        if isinstance(delta, Alone):
            return delta.state
        if not delta.steps:
            return state
        vectors = np.concatenate([state["vectors"], delta.vectors])
        # of Δ as reductions on the way have left it, for that is what is added
        squared_length = _squared_norm(delta.settings, vectors, delta.U)
        g = 1.0
        if squared_length > 0:
            most = delta.steps / delta.most_steps
            g = float(np.clip(delta.squared_length / squared_length, 1, most))
        past, m = state["t"] - 1, delta.squared_steps / delta.steps
        f = ((past + g * m) ** 5 - past**5) / ((past + m) ** 5 - past**5)
        U, N, D = _average(state)
        position, first = _distinct(vectors)
        place = np.append(position[: len(U)], position)
        U = _added(np.concatenate([U, g * delta.U]), place)
        if N is not None:
            N = _added(np.concatenate([N, f * delta.N]), place)
        norm = np.sqrt(max(state["squared_norm"], 0.0)) + g * np.sqrt(max(squared_length, 0.0))
        return _reduced(
            {
                **delta.settings,
                "t": past + 1 + round(g * m),
                "squared_norm": float(norm**2),
                "degradation": state["degradation"] + g * delta.degradation,
                "n_maintained": state["n_maintained"] + round(g * delta.n_maintained),
            },
            vectors[first],
            np.concatenate([state["born"], delta.born])[first],
            U,
            N,
            D + f * delta.D,
        )


def _difference(before: State, after: State, counts: dict[str, Any]) -> KernelDelta:
    n_old, n = len(before["vectors"]), after["t"] - before["t"]
    (U0, N0, D0), (U, N, D) = _average(before), _average(after)
    U[:n_old] -= U0
    if N is not None and N0 is not None:
        N[:n_old] -= N0
    return KernelDelta(
        settings={name: value for name, value in before.items() if name not in _ARRAYS},
        counts=counts,
        steps=n,
        squared_steps=n**2,
        most_steps=n,
        vectors=after["vectors"][n_old:],
        born=after["born"][n_old:],
        U=U,
        N=N,
        D=D - D0,
        squared_length=_squared_norm(before, after["vectors"], U),
        degradation=after["degradation"] - before["degradation"],
        n_maintained=after["n_maintained"] - before["n_maintained"],
    )


def _average(state: State) -> tuple[Floats, Floats | None, float]:
    """U, N and D."""
    coef, unit = state["coef"].astype(np.float64), state["average_unit"]
    N = (state["average_sum"] * coef - state["sums"]) / unit if state["average"] else None
    return state["scale"] * coef, N, state["average_weight"] / unit


def _mean(deltas: Sequence[KernelDelta]) -> KernelDelta:
    """Old vectors are at the same place in all, new ones are matched by their bytes."""
    steps = sum(delta.steps for delta in deltas)
    n_old = len(deltas[0].U) - len(deltas[0].vectors)
    every = np.concatenate([delta.vectors for delta in deltas])
    position, first = _distinct(every)
    ends = np.cumsum([len(delta.vectors) for delta in deltas])[:-1]
    places = [np.append(np.arange(n_old), n_old + new) for new in np.split(position, ends)]

    def mean(name: str) -> float:
        return float(sum(d.steps / steps * getattr(d, name) for d in deltas))

    def mean_rows(name: str) -> Floats:
        rows = [d.steps / steps * getattr(d, name) for d in deltas]
        return _added(np.concatenate(rows), np.concatenate(places))

    return replace(
        deltas[0],
        steps=steps,
        squared_steps=sum(delta.squared_steps for delta in deltas),
        most_steps=max(delta.most_steps for delta in deltas),
        vectors=every[first],
        born=np.concatenate([delta.born for delta in deltas])[first],
        U=mean_rows("U"),
        N=None if deltas[0].N is None else mean_rows("N"),
        D=mean("D"),
        squared_length=mean("squared_length"),
        degradation=mean("degradation"),
        n_maintained=mean("n_maintained"),
    )


def _shrunk(delta: KernelDelta) -> KernelDelta:
    """As many new vectors as the budget allows; nothing else changes."""
    n_old, N = len(delta.U) - len(delta.vectors), delta.N
    settings = {**delta.settings, "degradation": 0.0, "n_maintained": 0, "ball_projection": False}
    state = _reduced(
        settings,
        delta.vectors,
        delta.born,
        delta.U[n_old:],
        None if N is None else N[n_old:],
        0.0,
    )
    new_U, new_N, _ = _average(state)
    return replace(
        delta,
        vectors=state["vectors"],
        born=state["born"],
        U=np.concatenate([delta.U[:n_old], new_U]),
        N=None if N is None else np.concatenate([N[:n_old], new_N]),
        degradation=delta.degradation + state["degradation"],
        n_maintained=delta.n_maintained + state["n_maintained"],
    )


def _reduced(
    settings: State,
    vectors: NDArray[np.float32],
    born: NDArray[np.int64],
    U: Floats,
    N: Floats | None,
    D: float,
) -> State:
    """A learner with these vectors, reduced to its budget."""
    unit = 4 / settings["t"] ** 4  # Σ t³ = 1, about
    state = {
        **settings,
        "scale": 1.0,
        "norm_is_exact": False,
        "average_unit": unit,
        "average_sum": 0.0,
        "average_weight": unit * D,
        "vectors": np.ascontiguousarray(vectors),
        "coef": U.astype(np.float32),
        "sums": None if N is None else (-unit * N).astype(np.float32),
        "born": np.ascontiguousarray(born),
        "memory": np.zeros(0),
    }
    return _native.KernelLearner.reduced(state).__getstate__()


def _squared_norm(settings: State, vectors: NDArray[np.float32], U: Floats) -> float:
    """‖Σ_j U_j k(v_j, ·)‖²"""
    some = np.flatnonzero(np.any(U != 0, axis=1))
    V = np.ascontiguousarray(vectors[some])
    kernel = {name: settings[name] for name in ("kernel", "gamma", "coef0", "degree")}
    machine = _native.KernelMachine(V, U[some].astype(np.float32), **kernel)
    return float(np.sum(U[some] * machine.decision(_native.dense_rows(V))))


def _distinct(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the distinct vectors each one is, and where each of these is first met."""
    seen: dict[bytes, int] = {}
    position = np.array([seen.setdefault(v.tobytes(), len(seen)) for v in vectors], dtype=np.int64)
    first = np.full(len(seen), len(vectors), dtype=np.int64)
    np.minimum.at(first, position, np.arange(len(vectors)))
    return position, first


def _added(rows: Floats, position: NDArray[np.int64]) -> Floats:
    """Rows at the same position are added up."""
    out = np.zeros((int(position.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(out, position, rows)
    return out
