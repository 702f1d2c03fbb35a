"""Least squares, again and again: its theorems against runs, and where they part from the print.

The twins below are Algorithms 1 and 2 of [LS] in float64, every step an ordinary least-squares fit.
Most problems are built around a known optimum: for random E and W* set Y = g(W*x) + E with E such
that the gradient at W* is zero. The theorems hold for targets of any kind.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.datasets import load_digits

from multiplane import (
    CalibratedLeastSquaresClassifier,
    GeneralizedLeastSquaresClassifier,
    theory,
)
from multiplane._arrays import Place
from multiplane.links import Identity, Logistic, Softmax, project_cube, project_simplex
from multiplane.models._maps import Same
from multiplane.solvers._least_squares import Design, Task, calibrated
from multiplane.solvers._rows import Rows

bound = theory.loss_bound_least_squares


@dataclass(frozen=True)
class Bent:
    """g(u) = μu + (L − μ) u/√(1 + (u/width)²), entry by entry: no better constants would do."""

    L: float = 1.0
    mu: float = 0.2
    width: float = 1.0

    def value(self, S):
        root = np.sqrt(1 + (S / self.width) ** 2)
        return np.sum(self.mu / 2 * S**2 + (self.L - self.mu) * self.width**2 * root, axis=1)

    def link(self, S):
        return self.mu * S + (self.L - self.mu) * S / np.sqrt(1 + (S / self.width) ** 2)


@dataclass(frozen=True)
class Clipped:
    """g(u) = u − centre, but not beyond ± c: Huber's loss."""

    c: float
    centre: float = 0.0
    L: float = 1.0

    def value(self, S):
        z = np.abs(S - self.centre)
        return np.sum(np.where(z < self.c, z**2 / 2, self.c * z - self.c**2 / 2), axis=1)

    def link(self, S):
        return np.clip(S - self.centre, -self.c, self.c)


LINKS = [Identity(), Softmax(), Logistic(), Bent(), Clipped(0.3)]


def fit(A, B, rcond=None):
    """Least squares with columns of any size."""
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1
    return np.linalg.lstsq(A / size, B, rcond=rcond)[0] / size[:, None]


def algorithm_1(link, X, Y, steps, *, L=None, ridge=0.0, weight=None, momentum=False, restart=True):
    """(losses, W of each, restarts): LΣ + diag(ridge) times a step is the gradient."""
    L = link.L if L is None else L
    n, d = X.shape
    root = np.sqrt(np.ones(n) / n if weight is None else weight / weight.sum())[:, None]
    pull = np.sqrt(np.broadcast_to(np.asarray(ridge, dtype=np.float64), d))[:, None]
    A = np.vstack([math.sqrt(L) * root * X, np.diag(pull[:, 0])])

    def loss_at(W):
        return theory.calibrated_loss(link, W.T, X, Y, sample_weight=weight, ridge=ridge)

    W = V = np.zeros((d, Y.shape[1]))
    theta, seen, restarts = 1.0, [(loss_at(V), V)], []
    for t in range(1, steps + 1):
        residual = root * (link.link(X @ V) - Y) / math.sqrt(L)
        before, W = W, V - fit(A, np.vstack([residual, pull * V]))
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        V = W + momentum * (theta - 1) / following * (W - before)
        theta = following
        if momentum and restart and loss_at(V) > seen[-1][0]:
            V, theta = W, 1.0
            restarts.append(t)
        seen.append((loss_at(V), V))
    return np.array([loss for loss, _ in seen]), [V.T for _, V in seen], restarts


def algorithm_2(X, Y, basis, rounds, *, project=project_simplex, start=None):
    """[(ỹ, ŷ)] of each round; the basis takes (n, k) to (n, |G|)."""
    P, seen = np.zeros(Y.shape) if start is None else X @ start.T, []
    for _ in range(rounds):
        between = P + X @ fit(X, Y - P)  # (18)
        G = basis(between)
        # Powers of predictions that are all but 0 or 1 differ by rounding alone; 1e-10 of their
        # size is far from what the identity needs to be among the fits.
        P = project(G @ fit(G, Y, rcond=1e-10))  # (19)
        seen.append((between, P))
    return seen


def gradient_descent(link, X, Y, steps):
    W, top = np.zeros((Y.shape[1], X.shape[1])), np.linalg.eigvalsh(X.T @ X / len(X))[-1]
    losses = [theory.calibrated_loss(link, W, X, Y)]
    for _ in range(steps):
        W = W - (link.link(X @ W.T) - Y).T @ X / len(X) / (link.L * top)
        losses.append(theory.calibrated_loss(link, W, X, Y))
    return np.array(losses)


# 1e-9: sums of some tens of numbers, each right to 1e-16 of the largest, with scores up to 1e3.
def allowed(losses):
    return 1e-9 * (1 + np.abs(losses).max())


def never_rises(losses):
    return bool(np.all(np.diff(losses) <= allowed(losses)))


def under(losses, optimum, limits):
    return bool(np.all(losses - optimum <= np.array(limits) + allowed(losses)))


@st.composite
def features(draw):
    """Few or many rows, features that are large, tiny, doubled, constant or zero, rows of zeros."""
    n, d, seed = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(0, 10**6))
    X = np.random.default_rng(seed).normal(size=(n, d))
    X *= 10.0 ** np.array(draw(st.lists(st.integers(-3, 3), min_size=d, max_size=d)))
    for j in range(d):
        match draw(st.sampled_from(["own", "own", "doubled", "constant", "zero"])):
            case "doubled":
                X[:, j] = -3 * X[:, 0]
            case "constant":
                X[:, j] = 7
            case "zero":
                X[:, j] = 0
    X[draw(st.lists(st.integers(0, n - 1), max_size=2))] = 0
    weight = None
    if draw(st.booleans()):
        weight = np.random.default_rng(seed + 1).integers(3, size=n).astype(np.float64)
        weight[0] += 1
    return X, weight


@st.composite
def solved(draw):
    """A problem whose optimum is known: link, X, Y, weights, ridge, W*."""
    (X, weight), link, k = draw(features()), draw(st.sampled_from(LINKS)), draw(st.integers(1, 4))
    (n, d), r = X.shape, np.random.default_rng(draw(st.integers(0, 10**6)))
    v = np.ones(n) / n if weight is None else weight / weight.sum()
    size = 10.0 ** draw(st.integers(-1, 1))
    if draw(st.booleans()):
        # The ridge is made to measure for features of any size.
        ridge = 10.0 ** draw(st.integers(-2, 1)) * (v @ X**2 + (v @ X**2 == 0))
        E = size * r.normal(size=(n, k))
        W = (X.T @ (v[:, None] * E) / ridge[:, None]).T
    else:
        ridge = np.zeros(d)
        W = fit(X, size * r.normal(size=(n, k))).T
        E = r.normal(size=(n, k))
        root = np.sqrt(v)[:, None]
        E = np.where(v[:, None] > 0, E - X @ fit(root * X, root * E), E)
    return link, X, link.link(X @ W.T) + E, weight, ridge, W


# --- bounds -------------------------------------------------------------------------------


def test_bounds_by_hand():
    assert bound(6, 0.5, 3.0) == pytest.approx(2 * 0.5 * 9 / 10)
    assert bound(3, 2.0, 3.0, mu=0.5) == pytest.approx(9 * (3 / 5) ** 3)
    assert bound(4, 0.5, 3.0, accelerated=True) == pytest.approx(9 / 25)
    assert bound(6, 0.5, 3.0, version="sharp") == pytest.approx(0.5 * 9 / 26)
    assert bound(6, 0.5, 3.0, version="comparator") == pytest.approx(0.5 * 9 / 24)
    assert bound(0, 0.5, 3.0, version="comparator") == math.inf
    assert bound(9, 2.0, 3.0, mu=0.5, version="sharp") == pytest.approx(9 * (3 / 4) ** 18)
    assert bound(1, 2.0, 3.0, mu=1e-9, version="sharp") == pytest.approx(18 / 6)
    assert bound(1, 1.0, 3.0, mu=1.0) == bound(1, 1.0, 3.0, mu=1.0, version="sharp") == 0
    assert bound(0, 1.0, 3.0, mu=1.0) == bound(0, 1.0, 3.0, mu=1.0, version="sharp") == 4.5

    def momentum(t, restarts=None):
        return bound(t, 2.0, 3.0, accelerated=True, restarts=restarts, version="sharp")

    golden = (1 + math.sqrt(5)) / 2  # θ₂; θ₂² − θ₂ = 1
    third = (1 + math.sqrt(1 + 4 * golden**2)) / 2
    assert momentum(4) == pytest.approx(9 / 5)
    assert momentum(0, []) == pytest.approx(9)
    assert momentum(1, []) == pytest.approx(9 / golden**2)
    assert momentum(2, []) == pytest.approx(9 / third**2)
    assert momentum(1, [1]) == pytest.approx(9 / 2)  # a₁ = 1, and θ₁
    assert momentum(2, [1]) == pytest.approx(9 / (1 + golden**2))
    assert momentum(2, [2]) == pytest.approx(9 / 3)  # a₂ = 2
    assert momentum(2, [2, 3, 99]) == momentum(2, [2])

    calibrated = theory.error_bound_calibrated
    assert calibrated(11, 2.0, 0.5) == pytest.approx(22 * 16 / 11)
    assert calibrated(11, 2.0, 0.5, version="sharp") == pytest.approx(36 / 47)  # (2 + 4)²
    sharp = calibrated(11, 2.0, 0.5, version="sharp", norm=1.5, first_error=0.25)
    assert sharp == pytest.approx(16 / (11 + 64))  # (1 + 3)²
    assert calibrated(1, 1.0, 1.0, version="sharp", first_error=0) == 0


@given(
    st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(0, 1), st.floats(0, 100), st.booleans()
)
def test_what_can_be_proved_is_never_above_the_printed_bound(t, L, share, norm, momentum):
    t = t % 200 if momentum else t
    known = {"mu": share * L, "accelerated": momentum, "restarts": ()}
    printed = bound(t, L, norm, **known)
    sharp = bound(t, L, norm, **known, version="sharp")
    assert 0 <= sharp <= printed * (1 + 1e-12)
    assert bound(t + 1, L, norm, **known, version="sharp") <= sharp
    if share > 0 and t > 0:
        at = {"L": L, "mu": share * L}
        sharp = theory.error_bound_calibrated(t, **at, version="sharp")
        assert 0 < sharp <= min(1, theory.error_bound_calibrated(t, **at))


@given(st.integers(0, 60), st.lists(st.integers(1, 60), max_size=8))
def test_restarts_cost_speed_but_no_more_than_all_momentum(t, restarts):
    none = bound(t, 1.0, 1.0, accelerated=True, restarts=(), version="sharp")
    some = bound(t, 1.0, 1.0, accelerated=True, restarts=restarts, version="sharp")
    unknown = bound(t, 1.0, 1.0, accelerated=True, version="sharp")
    assert none <= some * (1 + 1e-12)
    assert some <= unknown * (1 + 1e-12)


def test_bounds_say_what_is_wrong():
    with pytest.raises(ValueError, match="version must be one of printed, sharp, comparator"):
        bound(1, 1.0, 1.0, version="appendix")
    for wrong in ((-1, 1.0, 1.0, 0.0), (1, 0.0, 1.0, 0.0), (1, 1.0, -1.0, 0.0), (1, 1.0, 1.0, 2.0)):
        with pytest.raises(ValueError, match="needed t ≥ 0, norm ≥ 0, L > 0 and 0 ≤ mu ≤ L, got"):
            bound(*wrong[:3], mu=wrong[3])
    with pytest.raises(ValueError, match="for plain steps, got accelerated=True; a small ridge"):
        bound(1, 1.0, 1.0, accelerated=True, version="comparator")
    with pytest.raises(ValueError, match="version must be one of printed, sharp, got"):
        theory.error_bound_calibrated(1, 1.0, 1.0, version="comparator")
    for wrong in ((0, 1.0, 1.0), (1, 0.5, 0.0), (1, 0.5, 1.0)):
        with pytest.raises(ValueError, match="not strongly monotone is not covered"):
            theory.error_bound_calibrated(*wrong)
    with pytest.raises(ValueError, match=r"at most 1 for targets in the simplex, got 2; pass norm"):
        theory.error_bound_calibrated(1, 1.0, 1.0, first_error=2.0, version="sharp")


# --- the proofs ---------------------------------------------------------------------------


@pytest.mark.parametrize("minimiser", [True, False])
@pytest.mark.parametrize("t", [1, 2, 3, 7, 20])
def test_multipliers_prove_the_rate_of_plain_steps(t, minimiser):
    lam = [Fraction(i, 2 * t + 1 - i) for i in range(t + 1)] + [Fraction(1)]
    tau = [b - a for a, b in itertools.pairwise(lam)]
    # From the inequalities themselves: coefficients of (W*, g₀ … g_t), W* first.
    Q = np.zeros((t + 2, t + 2))
    unit = np.eye(t + 2)
    best, g = unit[0], unit[1:]
    W = [-g[:i].sum(axis=0) for i in range(t + 1)]

    def product(a, b):
        return (np.outer(a, b) + np.outer(b, a)) / 2

    for i in range(1, t + 1):
        change = g[i - 1] - g[i]
        Q -= float(lam[i]) * (product(g[i], W[i - 1] - W[i]) + product(change, change) / 2)
    for i in range(t + 1):
        Q -= float(tau[i]) * (product(g[i], best - W[i]) + minimiser * product(g[i], g[i]) / 2)
    rate = 1 / (4 * t + 2 * minimiser)
    assert np.linalg.eigvalsh(rate * product(best, best) - Q)[0] > -1e-12
    assert np.linalg.eigvalsh(0.99 * rate * product(best, best) - Q)[0] < -1e-6
    # As the head of the file has it, for all t alike: exact, with signs and sums of rows.
    scale = t + Fraction(minimiser, 2)
    form = [
        [-scale * tau[i] * tau[j] + tau[max(i, j)] / 2 for j in range(t + 1)] for i in range(t + 1)
    ]
    for i in range(t + 1):
        form[i][i] = -scale * tau[i] ** 2 + minimiser * tau[i] / 2
        form[i][i] += (lam[i] + (lam[i + 1] if i < t else 0)) / 2
    assert all(sum(row) == 0 for row in form)
    assert all(form[i][j] <= 0 for i in range(t + 1) for j in range(t + 1) if i != j)


def test_stretches_of_momentum():
    theta = np.array([0.0, 1.0])
    while len(theta) < 300:
        theta = np.append(theta, (1 + math.sqrt(1 + 4 * theta[-1] ** 2)) / 2)
    m = np.arange(1, 300)
    a = np.cumsum(theta**3)[1:] / theta[1:] ** 2
    np.testing.assert_allclose(np.cumsum(theta)[1:], theta[1:] ** 2, rtol=1e-12)
    halves = (theta**4 + np.cumsum(theta**2))[1:] / (2 * theta[1:] ** 2)
    np.testing.assert_allclose(a, halves, rtol=1e-12)
    assert np.all(theta[1:] >= (m + 1) / 2)
    assert np.all(a >= m * (1 - 1e-12))


@pytest.mark.parametrize("t", [1, 2, 5, 30])
def test_bounds_of_plain_steps_are_attained(t):
    # One row, x = 1, y = 0, W* = 1; Huber's loss bends where t steps end.
    one = np.ones((1, 1))
    link = Clipped(1 / (2 * t + 1), centre=1.0)
    losses, _, _ = algorithm_1(link, one, 0 * one, t)
    assert losses[t] == pytest.approx(bound(t, 1.0, 1.0, version="sharp"), rel=1e-9)
    # No minimum: the link is constant, as far as t steps go.
    link = Clipped(1 / (2 * t), centre=1e6)
    losses, _, _ = algorithm_1(link, one, 0 * one, t)
    over = losses[t] - theory.calibrated_loss(link, one, one, 0 * one)
    # 1e-9 of the loss 1e6/(2t) itself, of which this is a difference.
    assert over == pytest.approx(bound(t, 1.0, 1.0, version="comparator"), abs=1e-9 * losses[0])
    assert over > bound(t, 1.0, 1.0, version="sharp")


# --- Theorem 1 ----------------------------------------------------------------------------


def metric(link, X, weight, ridge, L):
    """Share of LΣ + diag(ridge) that μΣ + diag(ridge) has in every direction."""
    v = np.ones(len(X)) if weight is None else weight
    S = (v[:, None] * X).T @ X / v.sum()
    mu = getattr(link, "mu", 0.0)
    if np.all(ridge == 0):
        return mu / L
    root = 1 / np.sqrt(ridge)
    top = np.linalg.eigvalsh(root[:, None] * S * root)[-1]  # s of the docstring, with a ridge of 1
    return (mu * top + 1) / (L * top + 1)


@settings(max_examples=150)
@given(solved(), st.sampled_from([1.0, 1.0, 1.6]), st.booleans())
def test_theorem_1(problem, over, momentum):
    link, X, Y, weight, ridge, best = problem
    L, steps = over * link.L, 15
    arguments = {"ridge": ridge, "weight": weight, "L": L, "momentum": momentum}
    losses, _, restarts = algorithm_1(link, X, Y, steps, **arguments)
    optimum = theory.calibrated_loss(link, best, X, Y, sample_weight=weight, ridge=ridge)
    assert never_rises(losses)
    assert under(optimum - losses, 0, 0)  # nothing is below the optimum
    size = theory.mahalanobis_norm(best, X, sample_weight=weight, L=L, ridge=ridge)
    mu = metric(link, X, weight, ridge, L)
    for version in ("printed", "sharp"):
        if momentum and restarts and version == "printed":
            continue
        known = {"accelerated": momentum, "version": version}
        for given_restarts, given_mu in itertools.product([None, restarts], [0.0, mu]):
            known |= {"restarts": given_restarts, "mu": given_mu}
            assert under(losses, optimum, [bound(t, 1.0, size, **known) for t in range(steps + 1)])


@settings(max_examples=100)
@given(features(), st.sampled_from(LINKS), st.integers(1, 4), st.booleans(), st.data())
def test_loss_falls_towards_every_comparator(features, link, k, momentum, data):
    # Classes, some of them absent or all there is: often separable, so that there is no optimum.
    X, weight = features
    codes = data.draw(st.lists(st.integers(0, k - 1), min_size=len(X), max_size=len(X)))
    Y = np.eye(k)[codes]
    losses, path, _ = algorithm_1(link, X, Y, 20, weight=weight, momentum=momentum)
    assert never_rises(losses)
    if momentum:
        return
    for other, factor in itertools.product(path[1::6], (0.5, 1.0, 3.0)):
        size = theory.mahalanobis_norm(factor * other, X, sample_weight=weight)
        value = theory.calibrated_loss(link, factor * other, X, Y, sample_weight=weight)
        limits = [bound(t, link.L, size, version="comparator") for t in range(21)]
        assert under(losses, value, limits)


def test_separable_classes_have_no_optimum():
    X, Y = np.array([[1.0], [-1.0]]), np.eye(2)
    losses, path, _ = algorithm_1(Softmax(), X, Y, 200)
    norms = [theory.mahalanobis_norm(W, X) for W in path]
    assert np.all(np.diff(losses) < 0)
    assert np.all(np.diff(norms) > 0)
    assert norms[-1] > 1.4 * norms[20]  # as log t


@pytest.mark.parametrize("factor", [0.45, 0.55])
def test_loss_can_rise_if_the_constant_is_too_small(factor):
    # Below one half of the Lipschitz constant each step overshoots by more than it had to go.
    X = np.ones((1, 1))
    losses, _, _ = algorithm_1(Identity(), X, X, 20, L=factor)
    assert np.all(np.diff(losses) > 0) == (factor < 0.5)
    assert np.all(np.diff(losses) < 0) == (factor > 0.5)
    # Softmax is that steep where two classes are equally likely: a little off, and away it goes.
    X, Y = np.ones((1000, 1)), np.eye(3)[np.arange(1000) % 2]
    Y[0] = Y[1]
    losses, _, _ = algorithm_1(Softmax(), X, Y, 40, L=factor * 0.5)
    assert never_rises(losses) == (factor > 0.5)
    if factor < 0.5:
        assert losses[-1] > losses.min() + 0.01


def test_constants_above_one_half_fall_but_may_break_the_bound():
    one = np.ones((1, 1))
    losses, _, _ = algorithm_1(Identity(), one, one, 5, L=0.51)
    assert never_rises(losses)
    assert losses[1] + 0.5 > bound(1, 0.51, 1.0, version="sharp")


@settings(max_examples=30)
@given(features(), st.integers(1, 4), st.integers(0, 10**6))
def test_identity_is_done_after_one_step(features, k, seed):
    X, weight = features
    Y = np.random.default_rng(seed).normal(size=(len(X), k))
    losses, _, _ = algorithm_1(Identity(), X, Y, 3, weight=weight)
    root = np.ones((len(X), 1)) if weight is None else np.sqrt(weight)[:, None]
    best = fit(root * X, root * Y).T
    value = theory.calibrated_loss(Identity(), best, X, Y, sample_weight=weight)
    np.testing.assert_allclose(losses[1:], value, atol=allowed(losses))
    size = theory.mahalanobis_norm(best, X, sample_weight=weight)
    # Before it the bound is no bound but the loss itself.
    start = bound(0, 1.0, size, mu=1.0, version="sharp")
    assert losses[0] - value == pytest.approx(start, abs=allowed(losses))


def test_rate_is_free_of_conditioning_and_that_of_gradient_descent_is_not():
    r = np.random.default_rng(0)
    X, truth = r.normal(size=(300, 6)), r.normal(size=(3, 6))
    Y = Softmax().link(X @ truth.T)  # so that W* is known
    mixed = X @ r.normal(size=(6, 6)) @ np.diag(10.0 ** np.arange(-3, 3))
    best = fit(mixed, X @ truth.T).T
    plain, _, _ = algorithm_1(Softmax(), X, Y, 200)
    turned, _, _ = algorithm_1(Softmax(), mixed, Y, 200)
    np.testing.assert_allclose(plain, turned, rtol=1e-9)
    optimum = theory.calibrated_loss(Softmax(), best, mixed, Y)
    size = theory.mahalanobis_norm(best, mixed)
    assert size == pytest.approx(theory.mahalanobis_norm(truth, X), rel=1e-9)
    assert under(turned, optimum, [bound(t, 0.5, size, version="sharp") for t in range(201)])
    slow = [gradient_descent(Softmax(), rows, Y, 200) for rows in (X, mixed)]
    assert slow[0][-1] - optimum < 0.02 * (slow[0][0] - optimum)
    assert all(never_rises(losses) for losses in slow)
    assert slow[1][-1] - optimum > 0.3 * (slow[1][0] - optimum)
    # Gradient descent has the bound too, in the metric that is its own.
    top = np.linalg.eigvalsh(mixed.T @ mixed / 300)[-1]
    own = [bound(t, 0.5 * top, np.linalg.norm(best), version="sharp") for t in range(201)]
    assert under(slow[1], optimum, own)


@pytest.mark.parametrize("link", [Softmax(), Bent()])
def test_theorem_1_is_false_for_the_printed_norm(link):
    r, mu = np.random.default_rng(0), getattr(link, "mu", 0.0)
    X, truth = r.normal(size=(50, 4)), r.normal(size=(3, 4))
    Y = link.link(X @ truth.T)
    for scale, holds in ((0.01, True), (100.0, False)):
        losses, _, _ = algorithm_1(link, scale * X, Y, 5)
        over = losses - theory.calibrated_loss(link, truth, X, Y)
        frobenius = np.linalg.norm(truth / scale)
        right = theory.mahalanobis_norm(truth / scale, scale * X)
        assert over[5] < bound(5, link.L, right, mu=mu)
        assert (over[5] < bound(5, link.L, frobenius, mu=mu)) == holds
        assert over[5] < bound(5, link.L, frobenius, mu=mu) * (1 if holds else 1000)
    # ‖x‖ ≤ 1: the one norm is never above the other.
    X /= np.linalg.norm(X, axis=1).max()
    assert theory.mahalanobis_norm(truth, X) <= np.linalg.norm(truth)


# --- momentum -----------------------------------------------------------------------------


@pytest.mark.parametrize("t", [5, 20, 80])
def test_momentum_is_faster_and_nearly_as_slow_as_its_bound(t):
    # Huber's loss again; its bend is the worst of a grid.
    one, worst = np.ones((1, 1)), 0.0
    for c in np.geomspace(0.5, 6, 40) / t**2:
        link = Clipped(c, centre=1.0)
        losses, _, restarts = algorithm_1(link, one, 0 * one, t, momentum=True)
        known = {"accelerated": True, "restarts": restarts, "version": "sharp"}
        limits = [bound(i, 1.0, 1.0, **known) for i in range(t + 1)]
        assert under(losses, 0, limits)
        worst = max(worst, losses[t] / limits[t])
    assert worst > 0.8
    plain, _, _ = algorithm_1(Clipped(1 / (2 * t + 1), 1.0), one, 0 * one, t)
    assert bound(t, 1.0, 1.0, accelerated=True, restarts=(), version="sharp") < 0.8 * plain[t]


def test_momentum_with_restarts_can_be_above_the_printed_bound():
    # One class is far from its optimum with a small slope, where speed is everything. The other
    # swings, and when it rises after 11 steps both stop.
    @dataclass(frozen=True)
    class Swing:
        slow: Clipped = Clipped(0.001214, centre=1.0)
        curve: float = 0.1121
        centre: float = 0.3696
        L: float = 1.0

        def value(self, S):
            return self.slow.value(S[:, :1]) + self.curve / 2 * (S[:, 1] - self.centre) ** 2

        def link(self, S):
            swing = self.curve * (S[:, 1:] - self.centre)
            return np.concatenate([self.slow.link(S[:, :1]), swing], axis=1)

    one, zero, size, t = np.ones((1, 1)), np.zeros((1, 2)), math.hypot(1.0, 0.3696), 60
    losses, _, restarts = algorithm_1(Swing(), one, zero, t, momentum=True)
    free, _, _ = algorithm_1(Swing(), one, zero, t, momentum=True, restart=False)
    assert restarts == [11]
    assert free[11] > 1.005 * free[10]  # not by rounding
    assert free[t] < bound(t, 1.0, size, accelerated=True) < 0.95 * losses[t]
    known = {"accelerated": True, "version": "sharp"}
    limits = [bound(i, 1.0, size, restarts=restarts, **known) for i in range(t + 1)]
    assert under(losses, 0, limits)
    assert limits[t] < bound(t, 1.0, size, **known)


# --- Theorem 2 ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Inverse:
    """h(y) = a z + b z/√(1 + (10z)²), z = y − 1/k: the inverse of a link with L = 1/a."""

    k: int
    a: float
    b: float

    @property
    def L(self):  # noqa: N802 - the name that links have for it
        return 1 / self.a

    @property
    def mu(self):
        return 1 / (self.a + self.b)

    def bend(self, Y):
        Z = Y - 1 / self.k
        return Z / np.sqrt(1 + (10 * Z) ** 2)

    def __call__(self, Y):
        return self.a * (Y - 1 / self.k) + self.b * self.bend(Y)

    def basis(self, Y):
        return np.concatenate([np.ones((len(Y), 1)), Y, self.bend(Y)], axis=1)


def noiseless(inverse, n, seed, extra=2):
    """y in the simplex and x such that W*x = h(y), with features to confuse; and W*."""
    r, k = np.random.default_rng(seed), inverse.k
    Y = r.dirichlet(np.full(k, 0.4), size=n)
    Y[: n // 4] = np.eye(k)[r.integers(k, size=n // 4)]
    mix = r.normal(size=(k + extra, k + extra)) * 10.0 ** r.integers(-2, 3, size=k + extra)
    truth = np.linalg.inv(mix).T[:k]
    return np.concatenate([inverse(Y), r.normal(size=(n, extra))], axis=1) @ mix, Y, truth


@settings(max_examples=60)
@given(
    st.integers(2, 6),
    st.sampled_from([0.1, 1.0, 5.0]),
    st.sampled_from([0.0, 1.0, 20.0]),
    st.integers(8, 80),
    st.integers(0, 10**6),
)
def test_theorem_2(k, a, b, n, seed):
    h = Inverse(k, a, b)
    X, Y, truth = noiseless(h, n, seed)
    np.testing.assert_allclose(X @ truth.T, h(Y), atol=1e-8)
    size = theory.mahalanobis_norm(truth, X)
    assert size <= 1 / h.mu + 1e-8
    seen = algorithm_2(X, Y, h.basis, 8)
    between = np.array([np.mean(np.sum((P - Y) ** 2, axis=1)) for P, _ in seen])
    errors = np.array([np.mean(np.sum((P - Y) ** 2, axis=1)) for _, P in seen])
    first, kappa = between[0], h.L / h.mu
    assert first <= 1
    # 1e-10: errors of 1, and weights of up to 1e4 that cancel.
    assert np.all(np.diff(np.ravel([between, errors], order="F")) <= 1e-10)
    for t, (error, before) in enumerate(zip(errors, between, strict=True), start=1):
        versions = [{"version": "printed"}, {"version": "sharp"}]
        versions += [{"version": "sharp", "norm": size, "first_error": first}]
        limits = [theory.error_bound_calibrated(t, h.L, h.mu, **v) for v in versions]
        assert limits == sorted(limits, reverse=True)
        assert error <= limits[-1] + 1e-10
        # Each round by itself:
        step = (math.sqrt(kappa * before) + h.L * size) ** 2
        assert error <= before - before**2 / step + 1e-10
    for P, _ in seen:  # (28), without the k
        assert np.sum(h(P) ** 2) <= 14 * n / h.mu**2


def test_calibration_needs_the_link_among_its_functions():
    h = Inverse(4, 1.0, 5.0)
    X, Y, _ = noiseless(h, 300, 0)

    def last(basis):
        errors = [np.mean((P - Y) ** 2) for _, P in algorithm_2(X, Y, basis, 60)]
        assert np.all(np.diff(errors) <= 1e-12)  # the identity is there
        return errors[-1]

    def constant_and(*functions):
        return lambda P: np.concatenate([np.ones((len(P), 1)), *(f(P) for f in functions)], axis=1)

    found = last(h.basis)
    assert found < 0.3 * last(constant_and(np.asarray))
    # And the identity: without it calibration can undo what the fit has found.
    between, after = algorithm_2(X, Y, constant_and(lambda P: np.sin(40 * P)), 1)[0]
    assert np.mean((after - Y) ** 2) > 1.5 * np.mean((between - Y) ** 2)


def test_first_predictions_are_of_no_account():
    h = Inverse(3, 0.5, 5.0)
    X, Y, _ = noiseless(h, 40, 0)
    start = np.random.default_rng(0).normal(size=(3, X.shape[1]))
    one, other = (algorithm_2(X, Y, h.basis, 3, start=w) for w in (None, start))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-7)


def test_targets_outside_of_the_simplex_cannot_be_reached():
    h = Inverse(3, 1.0, 0.0)
    Y = np.array([[1.5, -0.5, 0.0], [0.2, 0.3, 0.5]] * 10)
    error = np.mean(np.sum((algorithm_2(h(Y), Y, h.basis, 50)[-1][1] - Y) ** 2, axis=1))
    assert error == pytest.approx(0.25)  # half of ‖(1.5, −0.5, 0) − (1, 0, 0)‖²
    assert error > theory.error_bound_calibrated(200, 1.0, 1.0)
    # Several labels a row: the cube has larger errors to begin with, and its own norm.
    Y = np.random.default_rng(0).uniform(size=(60, 3))
    h = Inverse(3, 0.5, 5.0)
    seen = algorithm_2(h(Y), Y, h.basis, 10, project=project_cube)
    first = np.mean(np.sum((seen[0][0] - Y) ** 2, axis=1))
    size = theory.mahalanobis_norm(np.eye(3), h(Y))
    for t, (_, P) in enumerate(seen, start=1):
        known = {"norm": size, "first_error": first, "version": "sharp"}
        limit = theory.error_bound_calibrated(t, h.L, h.mu, **known)
        assert np.mean(np.sum((P - Y) ** 2, axis=1)) <= limit


@settings(max_examples=60)
@given(features(), st.integers(2, 4), st.data())
def test_calibration_never_makes_the_error_larger(features, k, data):
    # Any targets in the simplex, any features: only the identity is needed.
    X, _ = features
    codes = data.draw(st.lists(st.integers(0, k - 1), min_size=len(X), max_size=len(X)))
    Y = np.eye(k)[codes]
    seen = algorithm_2(X, Y, lambda P: np.concatenate([P, P**2, P**3], axis=1), 5)
    errors = [np.mean((P - Y) ** 2) for pair in seen for P in pair]
    # 1e-8: what 1e-10 of the predictions, left out of a fit, can cost, and rounding of 1e-6,
    # squared.
    assert np.all(np.diff(errors) <= 1e-8)
    np.testing.assert_allclose(seen[-1][1].sum(axis=1), 1, atol=1e-9)


# --- what the bounds are about ------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_constants_of_links(link, k):
    found = theory.link_constants(link, k)
    # 1e-6: chords of 2e-4 across a curve, and rounding of the scores that they join.
    assert found.L <= link.L * (1 + 1e-6)
    assert found.mu >= getattr(link, "mu", 0.0) - 1e-6
    if not (isinstance(link, Softmax) and k == 1):  # which is constant
        assert found.L >= link.L * (1 - 1e-4)
    assert found.mu <= getattr(link, "mu", 0.0) + 1e-3

    r = np.random.default_rng(0)
    for u in r.normal(size=(3, k)):  # g = ∇Φ
        f, g = (lambda v: link.value(v[None])[0]), (lambda v: link.link(v[None])[0])
        assert check_grad(f, g, u) < 1e-6


def test_softmax_is_steepest_between_two_classes():
    # Footnote 3: probabilities (½, ½, 0, …), in the direction from one to the other.
    u, direction = np.array([[0.0, 0, -800, -800]]), 1e-6 * np.array([[1.0, -1, 0, 0]])
    change = Softmax().link(u + direction) - Softmax().link(u - direction)
    assert np.linalg.norm(change) / np.linalg.norm(2 * direction) == pytest.approx(0.5, rel=1e-9)
    # A constant that is too small is found out.
    assert theory.link_constants(Softmax(), 4).L > 1.2 * 0.4
    assert pytest.approx(0.25, rel=1e-6) == theory.link_constants(Logistic(), 4).L
    with pytest.raises(ValueError, match="n_classes and n_points must be at least 1"):
        theory.link_constants(Softmax(), 0)


def test_loss_and_norm_by_hand():
    W, X, Y = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [3.0, 0.0]], [[1, 0], [0, 1]]
    # Scores (1, 2) and (3, 0).
    one, two = math.log(math.e + math.e**2) - 1, math.log(math.e**3 + 1)
    assert theory.calibrated_loss(Softmax(), W, X, Y) == pytest.approx((one + two) / 2)
    weighted = theory.calibrated_loss(Softmax(), W, X, Y, sample_weight=[3, 1], ridge=[0.2, 0.5])
    assert weighted == pytest.approx((3 * one + two) / 4 + 0.1 * 1 + 0.25 * 4)
    assert theory.calibrated_loss(Identity(), W, X, Y) == pytest.approx((2.5 - 1 + 4.5) / 2)
    assert theory.mahalanobis_norm(W, X) == pytest.approx(math.sqrt((5 + 9) / 2))
    known = {"sample_weight": [3, 1], "L": 0.5, "ridge": [0.2, 0.5]}
    assert theory.mahalanobis_norm(W, X, **known) == pytest.approx(math.sqrt(3 + 0.2 + 2))
    # tr(WMWᵀ)
    S = np.array(X).T @ np.diag([0.75, 0.25]) @ X
    M = 0.5 * S + np.diag([0.2, 0.5])
    assert theory.mahalanobis_norm(W, X, **known) ** 2 == pytest.approx(
        np.trace(np.array(W) @ M @ np.array(W).T)
    )
    sparse = sp.csr_array(X)
    assert theory.calibrated_loss(Softmax(), W, sparse, Y) == pytest.approx((one + two) / 2)
    assert theory.mahalanobis_norm(W, sparse) == pytest.approx(math.sqrt(7))


def test_loss_and_norm_say_what_is_wrong():
    W, X, Y = np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 2))
    for call in (theory.mahalanobis_norm, lambda W, X: theory.calibrated_loss(Softmax(), W, X, Y)):
        with pytest.raises(ValueError, match=r"got \(2, 3\) and \(4, 2\); an intercept is"):
            call(W, X[:, :2])
    with pytest.raises(ValueError, match=r"\(4, 2\), got \(4,\); np.eye\(n_classes\)\[codes\]"):
        theory.calibrated_loss(Softmax(), W, X, [0, 1, 0, 1])
    for weight in ([1, 1], [1, 1, 1, -1], [0, 0, 0, 0]):
        with pytest.raises(ValueError, match="needed 4 weights of at least 0, not all of them 0"):
            theory.mahalanobis_norm(W, X, sample_weight=weight)
    for ridge in ([1, 1], -1):
        with pytest.raises(ValueError, match="a number or one for each of 3 features"):
            theory.mahalanobis_norm(W, X, ridge=ridge)


@pytest.mark.parametrize("link", [Softmax(), Logistic(), Bent(), Identity()])
def test_lemmas_1_and_2_on_a_finite_population(link):
    # All x there are, with their probabilities, and each class with its own given x: a weighted
    # mean over all pairs is the expectation. One feature is a sum of others: W* is not unique.
    r = np.random.default_rng(0)
    points = r.normal(size=(7, 3)) @ np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]])
    chance, truth = r.dirichlet(np.ones(7)), r.normal(size=(3, 4))
    given_x = link.link(points @ truth.T)  # E[y | x]
    if isinstance(link, Softmax):
        X, Y = np.repeat(points, 3, axis=0), np.tile(np.eye(3), (7, 1))
        weight = np.ravel(chance[:, None] * given_x)
    else:
        X, Y = np.tile(points, (2, 1)), np.vstack([given_x + 0.7, given_x - 0.7])
        weight = np.tile(chance, 2)

    def risk(W):
        return theory.calibrated_loss(link, W, X, Y, sample_weight=weight)

    for size in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(20):
            assert risk(truth + size * r.normal(size=truth.shape)) >= risk(truth)
    losses, path, _ = algorithm_1(link, X, Y, 400, weight=weight, momentum=True)
    assert losses[-1] == pytest.approx(risk(truth), abs=1e-9)
    # A loss right to 1e-9 leaves probabilities right to its root, 3e-5, for L of 1 or so.
    np.testing.assert_allclose(link.link(points @ path[-1].T), given_x, atol=2e-4)
    assert np.linalg.norm(path[-1] - truth) > 0.1


def test_a_wrong_model_is_not_recovered():
    # E[y | x] = g(W*x) is needed: here the chance of the first class is not linear in x.
    X, Y = np.array([[-1.0], [0.0], [1.0]]), np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])
    losses, path, _ = algorithm_1(Softmax(), X, Y, 200)
    P = Softmax().link(X @ path[-1].T)
    assert np.abs(P - Y).max() > 0.3
    np.testing.assert_allclose(X.T @ (P - Y), 0, atol=1e-9)  # moments are
    assert never_rises(losses)


# --- the library's own learners -----------------------------------------------------------


def digits(n=300):
    data = load_digits()
    return data.data[:n], data.target[:n]


def run_of(clf, link, X, y, sample_weight=None):
    """History of losses, that of W = 0 first; and the problem as arrays."""
    clf.fit(X, y, sample_weight)
    Y = y.astype(np.float64) if y.ndim == 2 else np.float64(y[:, None] == clf.classes_)
    rows = np.c_[X, np.ones(len(X))] if clf.fit_intercept else X
    W = np.c_[clf.coef_, clf.intercept_] if clf.fit_intercept else clf.coef_
    ridge = np.full(rows.shape[1], clf.alpha)
    ridge[X.shape[1] :] = 0
    problem = {"sample_weight": sample_weight, "ridge": ridge}
    start = theory.calibrated_loss(link, 0 * W, rows, Y, **problem)
    losses = np.array([start] + [entry["loss"] for entry in clf.history_])
    return losses, W, rows, Y, problem


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
@pytest.mark.parametrize("kind", ["classes", "weights", "labels", "no-intercept", "paper"])
def test_theorem_1_holds_for_the_classifier(kind, alpha, accelerated):
    X, y = digits()
    weight = np.random.default_rng(0).integers(4, size=len(y)) if kind == "weights" else None
    if kind == "labels":
        y = np.c_[y % 2 == 0, y > 4, y == 7].astype(int)
    link = {"labels": Logistic(), "paper": Softmax(L=1.0)}.get(kind, Softmax())
    setting = {"alpha": alpha, "tol": 0.0, "fit_intercept": kind != "no-intercept"}
    setting["link"] = link if kind == "paper" else "softmax"
    clf = GeneralizedLeastSquaresClassifier(accelerated=accelerated, max_iter=40, **setting)
    losses, W, rows, Y, problem = run_of(clf, link, X, y, weight)
    # The learner's loss is the one that it claims to have, and each of them that of the twin.
    last = theory.calibrated_loss(link, W, rows, Y, **problem)
    assert losses[-1] == pytest.approx(last, rel=1e-9)
    known = {"ridge": problem["ridge"], "weight": weight, "momentum": accelerated}
    expected, _, restarts = algorithm_1(link, rows, Y, len(losses) - 1, **known)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    assert never_rises(losses)

    longer = GeneralizedLeastSquaresClassifier(max_iter=2000, **setting)
    best, optimum = run_of(longer, link, X, y, weight)[1], longer.history_[-1]["loss"]
    size = theory.mahalanobis_norm(best, rows, L=link.L, **problem)
    versions = [{"version": "sharp", "accelerated": accelerated}]
    if accelerated:
        versions += [versions[0] | {"restarts": restarts}]
    else:
        versions += [{"version": "printed"}, {"version": "comparator"}]
    if not restarts:
        versions += [{"version": "printed", "accelerated": accelerated}]
    for version in versions:
        assert under(losses, optimum, [bound(t, 1.0, size, **version) for t in range(len(losses))])
    assert losses[-1] - optimum < 0.3 * (losses[0] - optimum)


def test_momentum_of_the_classifier_restarts():
    # Beyond scores of 0.1 this link is all but flat, and scores of some tens are needed.
    (X, y), link, t = digits(), Bent(mu=0.02, width=0.1), 60
    losses = {}
    for accelerated in (False, True):
        clf = GeneralizedLeastSquaresClassifier(
            link, alpha=0.1, tol=0.0, max_iter=t, accelerated=accelerated
        )
        losses[accelerated], _, rows, Y, problem = run_of(clf, link, X, y)
        assert never_rises(losses[accelerated])
    known = {"ridge": problem["ridge"], "momentum": True}
    twin, _, restarts = algorithm_1(link, rows, Y, t, **known)
    free, _, _ = algorithm_1(link, rows, Y, t, restart=False, **known)
    np.testing.assert_allclose(losses[True], twin, atol=1e-6)
    assert np.diff(free).max() > 1e-3 * (free[0] - free.min())
    _, path, _ = algorithm_1(link, rows, Y, 1000, **known)
    optimum = theory.calibrated_loss(link, path[-1], rows, Y, **problem)
    size = theory.mahalanobis_norm(path[-1], rows, L=link.L, **problem)
    for given_restarts in (None, restarts):
        limits = [
            bound(i, 1.0, size, accelerated=True, restarts=given_restarts, version="sharp")
            for i in range(t + 1)
        ]
        assert under(losses[True], optimum, limits)
    over = {accelerated: run[t] - optimum for accelerated, run in losses.items()}
    assert over[True] < 0.1 * over[False]


def test_classifier_in_float32():
    X, y = digits()
    for accelerated in (False, True):
        clf = GeneralizedLeastSquaresClassifier(
            alpha=1.0, tol=0.0, max_iter=40, accelerated=accelerated
        )
        double = run_of(clf, Softmax(), X, y)[0]
        losses = run_of(clf, Softmax(), X.astype(np.float32), y)[0]
        # 1e-5: scores of some tens in float32, each right to 1e-6 of itself or so.
        assert np.all(np.diff(losses) <= 1e-5)
        np.testing.assert_allclose(losses, double[: len(losses)], atol=1e-4)


def test_identity_takes_the_classifier_one_step():
    X, y = digits()
    clf = GeneralizedLeastSquaresClassifier("identity", alpha=0.1, tol=0.0)
    link = Identity()
    losses, W, rows, Y, problem = run_of(clf, link, X, y)
    size = theory.mahalanobis_norm(W, rows, **problem)
    assert len(losses) == 2
    start = bound(0, 1.0, size, mu=1.0, version="sharp")
    assert losses[0] - losses[1] == pytest.approx(start, rel=1e-9)
    assert bound(1, 1.0, size, mu=1.0) == 0
    for direction in np.random.default_rng(0).normal(size=(5, *W.shape)):
        worse = theory.calibrated_loss(link, W + 1e-3 * direction, rows, Y, **problem)
        assert worse > losses[1]


@settings(max_examples=60)
@given(features(), st.sampled_from([Softmax(), Identity(), Bent()]), st.booleans(), st.data())
def test_loss_of_the_classifier_never_rises(features, link, accelerated, data):
    X, weight = features
    others = data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X)))
    X, y = np.vstack([X, X[:1] + 1]), np.array([*others, 0])  # two classes or more
    weight = None if weight is None else np.append(weight, 1.0)
    clf = GeneralizedLeastSquaresClassifier(
        link, alpha=0.0, accelerated=accelerated, max_iter=15, tol=0.0
    )
    losses, W, rows, _, problem = run_of(clf, link, X, y, weight)
    # 1e-7: weights of features that depend on others can be 1e7 times what they need to be.
    assert np.all(np.diff(losses) <= 1e-7)
    if not accelerated:
        size = theory.mahalanobis_norm(W, rows, L=link.L, **problem)
        for t in range(1, len(losses)):
            assert losses[t] - losses[-1] <= bound(t, 1.0, size, version="comparator") + 1e-7


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [1e-6, 10.0])
def test_calibrated_error_of_the_classifier_never_rises(alpha, dtype):
    X, y = digits(1000)
    X = X.astype(dtype)
    clf = CalibratedLeastSquaresClassifier(alpha=alpha, max_iter=15, tol=0.0).fit(X, y)
    losses = [entry["loss"] for entry in clf.history_]
    assert len(losses) > 3
    # 1e-6: sums in float64 of predictions that may be float32.
    assert np.all(np.diff(losses) <= 1e-6)
    assert losses[-1] < 0.9 * losses[0]
    # And they are what predict_proba has to say.
    error = np.sum((clf.predict_proba(X) - np.eye(10)[y]) ** 2, axis=1)
    assert losses[-1] == pytest.approx(np.mean(error), abs=1e-4)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (1.0, 5.0), (0.2, 10.0)])
@pytest.mark.parametrize("k", [2, 5])
def test_theorem_2_holds_for_the_solver(k, a, b):
    # Targets inside of the simplex are nothing that a classifier has; its solver takes them.
    h = Inverse(k, a, b)
    X, Y, truth = noiseless(h, 200, seed=k)
    task = Task(Rows.of(X, None, Y), k, len(X), Place.of(X))
    design = Design(task, Same(X.shape[1]), 0.0, False)
    steps = list(calibrated(design, (np.asarray, h.bend), project_simplex, max_iter=12, tol=-1.0))
    losses = np.array([step.facts["loss"] for step in steps])
    size = theory.mahalanobis_norm(truth, X)
    assert len(losses) == 12
    for t, loss in enumerate(losses, start=1):
        for version in ({"version": "printed"}, {"version": "sharp", "norm": size}):
            assert loss <= theory.error_bound_calibrated(t, h.L, h.mu, **version)
    assert np.all(np.diff(losses) <= 1e-9)
    expected = [np.mean(np.sum((P - Y) ** 2, axis=1)) for _, P in algorithm_2(X, Y, h.basis, 12)]
    # 1e-3: its calibration has a ridge of 1e-5.
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-6)
