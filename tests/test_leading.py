"""Leading directions, and trials that see rows by nothing else."""

import numpy as np
import pytest
from helpers import csr

from multiplane import MultiplaneClassifier
from multiplane.estimators import _multiplane
from multiplane.solvers._leading import leading, orthonormal, products


def spread_out(n, d, n_strong, seed=0):
    """Rows of which `n_strong` directions, turned at random, have nearly all of the variance."""
    random = np.random.RandomState(seed)
    turned = np.linalg.qr(random.standard_normal((d, d)))[0]
    spread = np.r_[np.linspace(3, 1, n_strong), np.full(d - n_strong, 0.1)]
    return random.standard_normal((n, d)) * spread, turned


@pytest.mark.parametrize(("n", "least"), [(1, 0.8), (5, 0.95), (8, 0.9999), (12, 0.999)])
def test_against_principal_components(n, least):
    """The share is at most that of the first n components, and not much less after three rounds,
    even where the next one is nearly as strong as the n-th; here the first eight are strong."""
    strong, turned = spread_out(900, 60, n_strong=8)
    X = (strong @ turned + 5).astype(np.float32)  # the mean does not count
    found, share = leading(X, n, np.random.RandomState(0))
    assert found.shape == (n, 60)
    np.testing.assert_allclose(found @ found.T, np.eye(n), atol=1e-5)
    spectrum = np.linalg.svd(X - X.mean(axis=0, dtype=np.float64), compute_uv=False) ** 2
    best = spectrum[:n].sum() / spectrum.sum()
    assert least * best < share <= best + 1e-6
    centred = (X - X.mean(axis=0)).astype(np.float64)
    assert share == pytest.approx(np.sum((centred @ found.T) ** 2) / np.sum(centred**2), rel=1e-5)


def test_rows_without_so_many_directions():
    random = np.random.RandomState(0)
    flat = (random.standard_normal((400, 3)) @ random.standard_normal((3, 50))).astype(np.float32)
    found, share = leading(flat, 20, random)
    assert len(found) == 3
    assert share == pytest.approx(1, abs=1e-6)
    found, share = leading(np.full((10, 4), 7, np.float32), 2, random)
    assert share == 0


@pytest.mark.parametrize("unit", [2.0**-90, 2.0**-40, 2.0**20, 2.0**46])
def test_units_do_not_matter(unit):
    """Squares of such numbers, added up, leave float32 or what the scorer takes."""
    X = np.random.RandomState(0).standard_normal((300, 40)).astype(np.float32)
    (found, share), (same, as_much) = (
        leading(rows.astype(np.float32), 6, np.random.RandomState(1)) for rows in (X, X * unit)
    )
    np.testing.assert_array_equal(found, same)
    assert share == as_much


def test_inner_products():
    random = np.random.RandomState(0)
    A, B = (random.standard_normal((n, 33)).astype(np.float32) for n in (7, 20))
    np.testing.assert_allclose(products(A, B), A @ B.T, rtol=1e-5, atol=1e-5)
    assert products(A[:0], B).shape == (0, 20)
    assert products(A, B[:0]).shape == (7, 0)


def test_vectors_that_depend_on_others_are_left_out():
    vectors = np.array([[3, 0, 0], [5, 0, 0], [1, 1, 0], [0, 0, 0], [2, 7, 0]], np.float32)
    np.testing.assert_allclose(orthonormal(vectors), np.eye(3)[:2], atol=1e-6)


def test_same_directions_with_every_instruction_set(fused_levels):
    X = np.random.RandomState(0).standard_normal((300, 40)).astype(np.float32)
    found = [leading(X, 6, np.random.RandomState(1))[0] for _ in fused_levels]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


# --- trials -------------------------------------------------------------------------------


@pytest.fixture
def projected(monkeypatch):
    """Whether the trials of each training were projected, and how many small models told so."""
    seen = []

    class Watched(_multiplane.Trials):
        def project(self, settings):
            self.n_small = 0
            super().project(settings)
            seen.append((self.projected, self.n_small))

        def _mistakes(self, *args, **kwargs):
            self.n_small += 1
            return super()._mistakes(*args, **kwargs)

    monkeypatch.setattr(_multiplane, "Trials", Watched)
    return seen


def blobs(n=1200, d=80, seed=0):
    """Two classes, each in two places, told apart by the strong directions."""
    strong, turned = spread_out(n, d, n_strong=6, seed=seed)
    place = np.random.RandomState(seed + 1).randint(4, size=n)
    strong[:, 0] += 12 * (place % 2)
    strong[:, 1] += 12 * (place // 2)
    return (strong @ turned).astype(np.float32), (place % 2) ^ (place // 2)


def test_trials_see_fewer_features(projected):
    X, y = blobs()
    clf = MultiplaneClassifier(random_state=0).fit(X[:900], y[:900])
    assert projected == [(True, 2)]
    assert clf.coef_.shape[1] == 80  # the model sees them all
    assert clf.score(X[900:], y[900:]) > 0.94  # the places overlap by about 0.04
    assert clf.settings_["n_hyperplanes"] > 1


@pytest.mark.parametrize(("unit", "few"), [(1e6, True), (1e12, True), (5e13, False)])
def test_trials_without_scaling(projected, unit, few):
    """Coordinates of long rows could be beyond what may be learnt: then all features stay."""
    X, y = blobs()
    MultiplaneClassifier(scale=None, max_iter=2, random_state=0).fit(X * np.float32(unit), y)
    assert [some for some, _ in projected] == [few]


@pytest.mark.parametrize(
    "change",
    [
        lambda X: csr(X),
        lambda X: X[:, :40],  # few features
        lambda X: X[:300],  # few rows
        lambda X: np.random.RandomState(0).standard_normal(X.shape),  # no leading directions
    ],
    ids=["sparse", "few features", "few rows", "all alike"],
)
def test_trials_that_see_all_features(projected, change):
    X, y = blobs()
    X = change(X)
    MultiplaneClassifier(random_state=0, max_iter=2).fit(X, y[: X.shape[0]])
    assert projected == [(False, 0)]


@pytest.mark.parametrize("size", [0.25, 0.5])  # with 0.25 eight passes do not learn xor at all
@pytest.mark.parametrize("kind", ["linear", "xor"])
def test_classes_that_the_leading_directions_do_not_tell_apart(projected, kind, size):
    """Projected, all settings would be as bad as guessing, and the best of them there by chance."""
    strong, turned = spread_out(4000, 80, n_strong=11)
    strong[:, -2:] *= 0.5
    weak = np.random.RandomState(7).choice([-size, size], size=(4000, 2))
    strong[:, -2:] += weak
    y = (weak[:, 0] > 0) ^ (weak[:, 1] > 0) if kind == "xor" else weak[:, 0] > 0
    X = (strong @ turned).astype(np.float32)
    clf = MultiplaneClassifier(random_state=0).fit(X[:3000], y[:3000])
    assert projected == [(False, 2)]
    assert clf.score(X[3000:], y[3000:]) > 0.95


@pytest.mark.parametrize("told_apart", [True, False])
def test_two_of_ten_classes_that_the_leading_directions_do_not_tell_apart(projected, told_apart):
    strong, turned = spread_out(4000, 80, n_strong=11)
    y = np.random.RandomState(7).randint(10, size=4000)
    strong[:, 0] += 20 * np.where(y == 9, 8, y) if not told_apart else 20 * y
    strong[:, -1] += y == 9
    MultiplaneClassifier(random_state=0, max_iter=2).fit((strong @ turned).astype(np.float32), y)
    assert projected == [(told_apart, 2)]
