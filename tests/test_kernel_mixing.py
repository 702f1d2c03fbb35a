"""Kernel machines that learn in several places: rounds of mixing, reduction to the budget."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers import csr, integers, native_rows, problem
from test_kernel_twin import WHOLE, assert_equal, learn_both, pair, scaled

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.data._source import Block
from multiplane.datasets import stream_checkerboard
from multiplane.solvers._engine import Here, Part
from multiplane.solvers._kernel_mixing import KernelMixing, _squared_norm

MAINTENANCE = ["merge", "merge-all", "project", "remove", "random"]


def learner_of(state):
    learner = _native.KernelLearner.__new__(_native.KernelLearner)
    learner.__setstate__(state)
    return learner


def start(X, n_classes, **config):
    return pair(X.shape[1], n_classes, **config)[0].__getstate__()


@dataclass(frozen=True)
class Step:
    """A share of each part's rows, a permutation of its own at each pass."""

    mixing: KernelMixing
    share: slice

    def __call__(self, state, part):
        X, y, weight = part.rows
        order = np.random.RandomState(part.number).permutation(len(y))[self.share].copy()
        return self.mixing.local_step(state, Examples(Matrix(X), y, weight), order, part.number)


def rounds(state, parts, n_rounds=1, shares=1):
    engine = Here([Part(i, Block(X, y, None)) for i, (X, y) in enumerate(parts)])
    mixing = KernelMixing(len(parts))
    for number in range(n_rounds):
        step = Step(mixing, slice(number % shares, None, shares))
        state = mixing.apply(state, engine.run(step, state, mixing.merge))
    return state


def assert_same_bytes(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        same = value.tobytes() == b[name].tobytes() if hasattr(value, "tobytes") else None
        assert same if same is not None else value == b[name], name


# --- the reduction and frozen vectors: twins ------------------------------------------------


def crowded(n=100, seed=0, **config):
    """A state with more vectors than its budget, and a twin of it; all sizes differ."""
    X, y = problem(n=n, seed=seed)
    random = np.random.RandomState(seed)
    weight = random.uniform(0.5, 2, size=n).astype(np.float32)
    learner, twin = pair(7, 3, average=True, **{**config, "budget": 0})
    state = learn_both(learner, twin, X, y, weight=weight, loss_rtol=1e-4)
    budget = config["budget"]
    twin.budget = budget
    twin.A = twin.A.copy()
    return {**state, "budget": budget, "memory": np.zeros(0)}, twin


@pytest.mark.parametrize("name", ["coef", "sums"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_coefficients_are_numbers(name, bad):
    """What is smallest among others that are none is nowhere."""
    state, _ = crowded(maintenance="merge", budget=10)
    state[name] = np.full_like(state[name], bad)
    with pytest.raises(ValueError, match="a coefficient is not finite"):
        _native.KernelLearner.reduced(state)
    with pytest.raises(ValueError, match="a coefficient is not finite"):
        learner_of({**state, "budget": 0})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_support_vectors_are_numbers(bad):
    state, _ = crowded(maintenance="remove", kernel="poly", budget=10)
    state["vectors"] = np.full_like(state["vectors"], bad)
    with pytest.raises(ValueError, match="a support vector is not finite"):
        _native.KernelLearner.reduced(state)


def test_something_is_smallest_where_sizes_are_infinity_times_zero():
    state, _ = crowded(maintenance="remove", kernel="linear", budget=10)
    state["vectors"] = np.zeros_like(state["vectors"])
    state["coef"] = np.full_like(state["coef"], 1e30)
    assert len(_native.KernelLearner.reduced(state)) == 10


def test_frozen_vectors_stay_where_new_ones_are_next_to_nothing():
    """Weights whose squares float32 takes for zero leave no partner to be chosen."""
    X, y = problem(n=200)
    state = _native.KernelLearner.reduced(crowded(maintenance="merge", budget=10)[0]).__getstate__()
    learner = learner_of({**state, "budget": 20})
    learner.freeze()
    Examples(Matrix(X), y.astype(np.int32), np.full(200, 1e-16, np.float32)).learn(
        learner, np.arange(200)
    )
    after = learner.__getstate__()
    assert after["n_maintained"] > state["n_maintained"]
    assert after["vectors"][:10].tobytes() == state["vectors"].tobytes()


@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize("budget", [1, 2, 10, 33])
def test_reduction_is_maintenance_again_and_again(simd, maintenance, budget):
    state, twin = crowded(maintenance=maintenance, budget=budget)
    assert len(state["vectors"]) > 33
    reduced = _native.KernelLearner.reduced(state)
    twin.reduce()
    after = reduced.__getstate__()
    assert len(reduced) == len(twin.V) == budget
    assert after["n_maintained"] == len(twin.E) == len(state["vectors"]) - budget
    # Up to 38 merges or projections in float32, each on what the one before has left.
    np.testing.assert_allclose(after["vectors"], twin.V, rtol=0, atol=1e-3)
    for ours, theirs in ((scaled(after), twin.U), (reduced.snapshot().coef, twin.W())):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3 * abs(theirs).max())
    assert after["degradation"] == pytest.approx(twin.degradation, rel=1e-3)
    learner_of(after).learn(native_rows(twin.V, "dense"), np.zeros(budget, np.int32))  # goes on


def test_nothing_to_reduce_and_too_much_to_restore():
    state, _ = crowded(maintenance="project", budget=10)
    with pytest.raises(ValueError, match="shapes differ"):
        learner_of(state)
    fits = {**state, "budget": 100}
    after = _native.KernelLearner.reduced(fits).__getstate__()
    assert (after["n_maintained"], after["degradation"]) == (0, 0.0)
    assert sorted(after["vectors"].tolist()) == sorted(state["vectors"].tolist())


@pytest.mark.parametrize("maintenance", ["merge", "random", "project"])
def test_the_norm_is_right_after_a_reduction(maintenance):
    """Within the ball of the steps that have been made, whatever bound the state came with."""
    state, _ = crowded(maintenance=maintenance, budget=20, lam=1e-4, ball_projection=True)
    radius = np.sqrt(state["lam"]) * (state["t"] - 1)
    for factor in (1.0, 100.0):  # a norm too small, as before merging, cannot come from a learner
        after = _native.KernelLearner.reduced(
            {**state, "squared_norm": factor * state["squared_norm"]}
        ).__getstate__()
        norm = np.sqrt(_squared_norm(after, after["vectors"], scaled(after)))
        assert norm <= radius * (1 + 1e-5)
        assert norm**2 <= after["squared_norm"] * (1 + 1e-5)
    assert after["scale"] < 1  # the ball has been left on the way


@pytest.mark.parametrize("maintenance", ["remove", "random"])
@pytest.mark.parametrize("room", [1, 2, 17])
def test_frozen_vectors_stay_where_they_are(maintenance, room):
    X, y = integers(200, 6, 3, seed=room)
    learner, twin = pair(6, 3, maintenance=maintenance, budget=20, **WHOLE["square"])
    before = learn_both(learner, twin, X[:100], y[:100])
    learner = learner_of({**before, "budget": 20 + room})
    learner.freeze()
    twin.budget, twin.frozen = 20 + room, 20
    after = learn_both(learner, twin, X[100:], y[100:])
    assert_equal(after, twin)
    np.testing.assert_array_equal(after["vectors"][:20], before["vectors"])
    np.testing.assert_array_equal(scaled(after)[:20], scaled(before))
    assert len(twin.E) > 70


@pytest.mark.parametrize("maintenance", ["merge", "merge-all"])
@pytest.mark.parametrize("n_classes", [3, 6])  # of six, two vectors may have none in common
def test_frozen_vectors_are_nobodys_partners(maintenance, n_classes):
    X, y = problem(n=160, n_classes=n_classes, seed=1)
    weight = np.random.RandomState(1).uniform(0.5, 2, size=160).astype(np.float32)
    learner, twin = pair(7, n_classes, maintenance=maintenance, budget=10, average=True)
    before = learn_both(learner, twin, X[:60], y[:60], weight=weight[:60], loss_rtol=1e-4)
    learner = learner_of({**before, "budget": 20})
    learner.freeze()
    twin.budget, twin.frozen = 20, 10
    after = learn_both(learner, twin, X[60:], y[60:], weight=weight[60:], loss_rtol=1e-3)
    np.testing.assert_array_equal(after["vectors"][:10], before["vectors"])
    # As for merging in a row, test_kernel_twin.py.
    np.testing.assert_allclose(after["vectors"], twin.V, rtol=0, atol=1e-3)
    np.testing.assert_allclose(scaled(after), twin.U, rtol=0, atol=1e-3 * abs(twin.U).max())


# --- mixing: known answers ------------------------------------------------------------------


@pytest.mark.parametrize("maintenance", [*MAINTENANCE, None])
def test_one_part_is_plain_learning(maintenance):
    X, y = problem()
    state = start(X, 3, maintenance=maintenance or "remove", average=True, ball_projection=True,
                  budget=15 if maintenance else 0)  # fmt: skip
    plain = learner_of(state)
    order = np.random.RandomState(0).permutation(len(y))
    for share in range(3):
        plain.learn(native_rows(X, "dense"), y.astype(np.int32), order=order[share::3].copy())
    assert_same_bytes(rounds(state, [(X, y.astype(np.int32))], 3, 3), plain.__getstate__())


@pytest.mark.parametrize("n_parts", [2, 3, 9])
def test_parts_with_the_same_rows_are_one(n_parts):
    """g = 1, and new vectors are recognised by their bytes. No budget: old vectors would be frozen
    in the parts alone."""
    X, y = problem(n=60)
    state = start(X, 3, budget=0, average=True)
    mixing, examples = KernelMixing(n_parts), Examples(Matrix(X), y.astype(np.int32))
    plain = learner_of(state)
    for order in np.random.RandomState(0).permutation(60).reshape(3, 20):
        delta = mixing.merge([mixing.local_step(state, examples, order, i) for i in range(n_parts)])
        assert delta.counts["rows"] == 20 * n_parts
        state = mixing.apply(state, delta)
        plain.learn(native_rows(X, "dense"), examples.y, order=order)
    theirs = plain.__getstate__()
    assert state["t"] == theirs["t"] == 61
    np.testing.assert_array_equal(state["vectors"], theirs["vectors"])
    # Rounding of float32 coefficients and sums, three times.
    np.testing.assert_allclose(scaled(state), scaled(theirs), rtol=1e-6)
    np.testing.assert_allclose(
        learner_of(state).snapshot().coef, plain.snapshot().coef, rtol=0, atol=1e-4
    )


def test_rows_at_right_angles_are_learnt_as_if_one_after_the_other():
    """g is the number of parts: what they say does not touch. Whole numbers, so equal."""
    X, y = np.eye(12, dtype=np.float32), np.arange(12, dtype=np.int32) % 3
    state = start(X, 3, kernel="linear", budget=0, lam=0.1)
    plain = learner_of(state)
    for share in range(3):
        parts = [(X[i : i + 1], y[i : i + 1]) for i in range(4 * share, 4 * share + 4)]
        state = rounds(state, parts)
        for row, label in parts:
            plain.learn(native_rows(row, "dense"), label)
    ours, theirs = state, plain.__getstate__()
    assert ours["t"] == theirs["t"] == 13
    np.testing.assert_array_equal(ours["vectors"], theirs["vectors"])
    np.testing.assert_array_equal(scaled(ours), scaled(theirs))
    np.testing.assert_array_equal(ours["born"], np.repeat([1, 5, 9], 4))


def test_the_average_of_a_first_round_is_the_mean():
    """One step each: the only model that a part has met."""
    X, y = np.eye(4, dtype=np.float32), np.arange(4, dtype=np.int32) % 2
    state = start(X, 2, kernel="linear", budget=0, lam=0.1, average=True)
    state = rounds(state, [(X[i : i + 1], y[i : i + 1]) for i in range(4)])
    np.testing.assert_allclose(
        learner_of(state).snapshot().coef, scaled(state) / (0.1 * 4), rtol=1e-6
    )
    assert abs(scaled(state)).tolist() == [[1, 1]] * 4


def test_rows_weigh_the_same_wherever_they_are():
    """A part of 1 row and one of 3: all are updates, on four axes."""
    X, y = np.eye(4, dtype=np.float32), np.zeros(4, np.int32)
    state = start(X, 2, kernel="linear", budget=0)
    mixing, examples = KernelMixing(2), Examples(Matrix(X), y)
    rows = (np.arange(1), np.arange(1, 4))
    delta = mixing.merge([mixing.local_step(state, examples, r, 0) for r in rows])
    assert (delta.steps, delta.squared_steps, delta.most_steps) == (4, 10, 3)
    np.testing.assert_array_equal(delta.U[:, 0], [1 / 4, 3 / 4, 3 / 4, 3 / 4])
    # g = (1/4 · 1 + 3/4 · 3) / (1/16 + 3 · 9/16), cut at 4/3; m = 10/4
    after = mixing.apply(state, delta)
    assert after["t"] == 1 + round(4 / 3 * 10 / 4)
    np.testing.assert_allclose(scaled(after)[:, 0], [1 / 3, 1, 1, 1], rtol=1e-6)


# --- what holds of any mix ------------------------------------------------------------------


@pytest.mark.parametrize("maintenance", [*MAINTENANCE, None])
@pytest.mark.parametrize("average", [False, True])
def test_rounds_keep_the_budget_and_the_ball(maintenance, average):
    X, y = problem(n=400)
    state = start(X, 3, maintenance=maintenance or "remove", average=average, lam=1e-3,
                  ball_projection=True, budget=12 if maintenance else 0)  # fmt: skip
    parts = [(X[i::10], y[i::10].astype(np.int32)) for i in range(10)]
    parts[3] = (X[:0], y[:0].astype(np.int32))
    for n in (1, 4):
        state = rounds(state, parts, n, 4)
        assert (len(state["vectors"]) <= 12) if maintenance else (len(state["vectors"]) > 20)
        norm = np.sqrt(_squared_norm(state, state["vectors"], scaled(state)))
        assert norm <= np.sqrt(1e-3) * (state["t"] - 1) * (1 + 1e-5)
        assert norm**2 <= state["squared_norm"] * (1 + 1e-5)
    assert state["seed"] == 5
    if average:  # a round has the weight of its steps: Σ λ t⁴, of which each round is interpolated
        weight = 1e-3 * np.sum(np.arange(state["t"], dtype=float) ** 4)
        assert state["average_weight"] / state["average_unit"] == pytest.approx(weight, rel=0.1)
    assert 20 < state["t"] <= 1 + 5 * 9 * 10
    assert np.mean(learner_of(state).snapshot().winners(native_rows(X, "dense")) == y) > 0.5
    learner_of(state).learn(native_rows(X, "dense"), y.astype(np.int32))  # a learner like any other


def deltas_of(X, y, n_parts, **config):
    mixing, examples = KernelMixing(n_parts), Examples(Matrix(X), y.astype(np.int32))
    state = start(X, 3, average=True, **config)
    state = mixing.apply(state, mixing.local_step(state, examples, np.arange(40), 0))
    rows = np.array_split(np.arange(40, len(y)), n_parts)
    return mixing, state, [mixing.local_step(state, examples, r, i) for i, r in enumerate(rows)]


def test_merging_is_associative_without_a_budget():
    mixing, state, deltas = deltas_of(*problem(n=301), 6, budget=0)
    at_once = mixing.apply(state, mixing.merge(deltas))
    by_steps = mixing.merge([mixing.merge(deltas[:1]), mixing.merge(deltas[1:4]), *deltas[4:]])
    in_steps = mixing.apply(state, by_steps)
    assert at_once["t"] == in_steps["t"]
    np.testing.assert_array_equal(at_once["vectors"], in_steps["vectors"])
    for name in ("coef", "sums"):  # sums of float64 in another order, then rounded to float32
        np.testing.assert_allclose(at_once[name], in_steps[name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("maintenance", ["merge", "project", "remove"])
@pytest.mark.parametrize("lam", [0.01, 1e-6])
def test_merging_is_associative_up_to_the_degradation(maintenance, lam):
    """The ball, which is small for a small λ, is for U and not for what is added to it."""
    mixing, _, deltas = deltas_of(*problem(n=301), 6, budget=10, maintenance=maintenance,
                                  lam=lam, ball_projection=True)  # fmt: skip
    union = KernelMixing(6).merge(
        [replace(d, settings={**d.settings, "budget": 0}) for d in deltas]
    )
    ways = [
        mixing.merge(deltas),
        mixing.merge([mixing.merge(deltas[:2]), mixing.merge(deltas[2:])]),
    ]
    for way in ways:
        assert len(way.vectors) == 10 < len(union.vectors)
        old = len(way.U) - 10
        vectors = np.concatenate([way.vectors, union.vectors])
        change = np.concatenate([way.U[old:], -union.U[old:]])
        length = np.sqrt(max(_squared_norm(union.settings, vectors, change), 0))
        assert 0 < length <= (way.degradation - union.degradation) * (1 + 1e-3)
        np.testing.assert_allclose(way.U[:old], union.U[:old], rtol=0, atol=1e-12)


def test_nothing_to_learn():
    X, y = problem(n=80)
    mixing, examples = KernelMixing(3), Examples(Matrix(X), y.astype(np.int32))
    state, none = start(X, 3), np.zeros(0, np.int64)
    empty = [mixing.local_step(state, examples, none, i) for i in range(3)]
    assert_same_bytes(mixing.apply(state, mixing.merge(empty)), state)
    full = mixing.local_step(state, examples, np.arange(80), 1)
    merged = mixing.merge([empty[0], full, empty[2]])
    assert merged.counts == full.counts
    assert_same_bytes(mixing.apply(state, merged), mixing.apply(state, full))


@pytest.mark.parametrize("maintenance", ["random", "merge", "project"])
def test_the_same_again_after_a_journey(maintenance):
    """Work that is lost is done again elsewhere."""
    X, y = problem(n=200)
    mixing, state, deltas = deltas_of(X, y, 2, maintenance=maintenance)
    again = deltas_of(X, y, 2, maintenance=maintenance)[2]
    sent = [pickle.loads(pickle.dumps(delta)) for delta in again]
    moved = pickle.loads(pickle.dumps(mixing)).merge(sent)
    assert_same_bytes(mixing.apply(state, moved), mixing.apply(state, mixing.merge(deltas)))


def test_parts_draw_lots_of_their_own():
    X, y = problem(n=200)
    mixing, examples = KernelMixing(3), Examples(Matrix(X), y.astype(np.int32))
    state = start(X, 3, maintenance="random", budget=10)
    before = mixing.apply(state, mixing.local_step(state, examples, np.arange(100), 0))
    for number in range(3):  # of what came to a part nothing is lost
        delta = mixing.local_step(before, examples, np.arange(100, 200), number)
        assert len(before["vectors"]) == len(delta.vectors) == 10
        np.testing.assert_array_equal(delta.U[:10], 0)
    kept = {
        mixing.local_step(state, examples, np.arange(200), number).vectors.tobytes()
        for number in range(3)
    }
    assert len(kept) == 3


def test_rows_of_other_kinds(monkeypatch):
    """float64 is converted some rows at a time; all give the same, counts too."""
    monkeypatch.setattr("multiplane.data._examples._CHUNK_BYTES", 11 * 7 * 4)
    X, y = problem(n=90)
    state, mixing, order = start(X, 3, maintenance="merge"), KernelMixing(2), np.arange(5, 85)
    deltas = [
        mixing.local_step(state, Examples(Matrix(Z), y.astype(np.int32)), order, 1)
        for Z in (X, X.astype(np.float64), csr(X))
    ]
    for delta in deltas:
        assert delta.counts == deltas[0].counts
        assert_same_bytes(mixing.apply(state, delta), mixing.apply(state, deltas[0]))


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("n_parts", [2, 9])
def test_it_learns_what_no_part_knows(sort, n_parts):
    """A 4 × 4 checkerboard, cut at random or so that most parts have one class only."""
    X, y = next(stream_checkerboard(4, 4, n=8_000, block_size=8_000, random_state=0))
    X, y = X.astype(np.float32), y.astype(np.int32)
    order = np.argsort(y[:4_000], kind="stable") if sort else np.arange(4_000)
    parts = [(X[rows], y[rows]) for rows in np.array_split(order, n_parts)]
    config = dict(maintenance="merge", budget=60, gamma=32.0, lam=1e-4, average=True)

    def error(parts):
        learner = learner_of(rounds(start(X, 2, **config), parts, 64, 16))
        return np.mean(learner.snapshot().winners(native_rows(X[4_000:], "dense")) != y[4_000:])

    assert error(parts) < error([(X[:4_000], y[:4_000])]) + 0.02
