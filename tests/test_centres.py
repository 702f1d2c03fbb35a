"""Kind 1: k-means of the compiled module against a NumPy twin, bit for bit."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from helpers import native_rows

from multiplane import _native

KINDS = ["dense", "csr32", "csr64"]


def planes(centres):
    """Tangents to ½‖x‖²: the highest at x belongs to the nearest centre."""
    squares = np.cumsum(centres**2, axis=1)[:, -1:]
    weights = np.ascontiguousarray(np.c_[centres, -0.5 * squares], dtype=np.float32)
    return _native.Hyperplanes(weights, np.zeros(len(centres), np.int32), 1.0)


def twin(X, n, first, draws, iterations):
    """Rows drawn by squared distance to those drawn before, then Lloyd's iterations."""
    rows, exact = native_rows(X, "dense"), X.astype(np.float64)
    squares = np.cumsum(exact**2, axis=1)[:, -1]
    drawn, distance = [first], np.full(len(X), np.inf)
    for draw in draws[: n - 1]:
        score = planes(exact[drawn[-1:]]).decision(rows, 1)[:, 0].astype(np.float64)
        distance = np.minimum(distance, squares - 2 * score)
        total = np.cumsum(np.where(distance > 1e-6 * squares, distance, 0.0))
        if not total[-1] > 0:
            break
        drawn.append(int(np.searchsorted(total, draw * total[-1], "right")))
    centres = exact[drawn]
    for _ in range(iterations):
        present, nearest = np.unique(planes(centres).winners(rows), return_inverse=True)
        sums = np.zeros((len(present), X.shape[1]))
        for x, k in zip(exact, nearest, strict=True):
            sums[k] += x
        centres = sums / np.bincount(nearest)[:, None]
    return centres


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zeros", [0.0, 0.8])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (5, 40), (17, 16), (30, 33), (60, 7)])
def test_against_the_twin(simd, kind, zeros, n, d):
    random = np.random.RandomState(n)
    X = random.standard_normal((150, d)).astype(np.float32)
    X *= random.random_sample(X.shape) >= zeros
    members = np.flatnonzero(random.random_sample(150) < 0.7)
    first, draws = int(random.randint(len(members))), random.random_sample(n - 1)
    got = native_rows(X, kind).centres(members, n, first, draws, 10)
    np.testing.assert_array_equal(got, twin(X[members], n, first, draws, 10))


def test_squared_norms_are_added_in_order():
    X = np.random.RandomState(0).standard_normal((50, 300)).astype(np.float32)
    expected = np.cumsum(X.astype(np.float64) ** 2, axis=1)[:, -1]
    for kind in KINDS:
        np.testing.assert_array_equal(native_rows(X, kind).squared_norms(), expected)


def test_fewer_where_rows_are_alike():
    """Distances of equal rows are not zero after rounding."""
    different = np.random.RandomState(0).standard_normal((3, 50)).astype(np.float32)
    X = np.repeat(different, 40, axis=0)
    for iterations in (0, 10):
        got = native_rows(X, "dense").centres(
            np.arange(120), 20, 0, np.linspace(0, 0.999, 19), iterations
        )
        assert got.shape == (3, 50)
        # Means of forty times the same number, in double precision.
        np.testing.assert_allclose(np.sort(got, axis=0), np.sort(different, axis=0), rtol=1e-14)


@pytest.mark.parametrize("draw", [0.0, 1 - 2**-53])
def test_draws_at_the_ends(draw):
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    got = native_rows(X, "dense").centres(np.arange(6), 4, 2, np.full(3, draw), 0)
    assert len(got) == 4
    assert all((row == X).all(axis=1).any() for row in got)


def test_refuses_what_is_not_there():
    rows = native_rows(np.eye(3, dtype=np.float32), "dense")
    good = dict(order=np.arange(3), n=2, first=0, draws=np.zeros(1), iterations=1)
    for wrong in [dict(order=np.array([0, 3])), dict(order=np.array([-1])), dict(first=3),
                  dict(first=-1), dict(n=0), dict(n=3), dict(order=np.arange(0))]:  # fmt: skip
        with pytest.raises(ValueError, match=r"range|draws"):
            rows.centres(**(good | wrong))


def test_without_features():
    X = np.zeros((5, 0), np.float32)
    assert native_rows(X, "dense").centres(np.arange(5), 3, 0, np.zeros(2), 5).shape == (1, 0)


def test_can_be_interrupted():
    """Not a pass over the rows later, let alone hundreds of them."""
    X = np.random.RandomState(0).standard_normal((20_000, 100)).astype(np.float32)
    rows, n = native_rows(X, "dense"), 5_000
    draws = np.linspace(0, 0.999, n - 1)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        rows.centres(np.arange(len(X)), n, 0, draws, 1_000)
    assert time.perf_counter() - start < 30  # it would take minutes
