"""Published accuracy, in a fast subset: λ is the one that cross-validation chose in experiments/.

One or two seeds instead of five or ten, so a bar is the published mean plus three of its standard
deviations (paper mode), or our target plus a tenth (ours).
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multiplane import AMMClassifier, GAMMClassifier, PegasosClassifier, datasets

LOADERS = {
    "usps": datasets.load_usps,
    "letter": datasets.load_letter,
    "ijcnn1": datasets.load_ijcnn1,
    "a9a": datasets.load_a9a,
}


@functools.cache
def load(name):
    try:
        return LOADERS[name](return_X_y=True, download_if_missing=False)
    except FileNotFoundError as error:
        pytest.skip(f"{name} is not here: {str(error).splitlines()[0]}")


def error(model, data):
    X, y, X_test, y_test = data
    return 100 * (1 - model.fit(X, y).score(X_test, y_test))


# data, model, λ, parameters, centred, bar
CASES = [
    ("usps", AMMClassifier, 1e-2, {"average": False}, False, 7.32 + 3 * 0.35),
    ("usps", GAMMClassifier, 1e-2, {"average": False}, False, 6.28 + 3 * 0.19),
    ("usps", AMMClassifier, 1e-4, {}, True, 1.1 * 6.8),
    ("usps", GAMMClassifier, 1e-3, {}, True, 1.1 * 5.6),
    ("letter", AMMClassifier, 1e-4, {"average": False}, False, 17.47 + 3 * 0.93),
    ("letter", GAMMClassifier, 1e-4, {"average": False}, False, 11.69 + 3 * 0.47),
    ("letter", AMMClassifier, 1e-5, {}, True, 1.1 * 15.5),
    ("letter", GAMMClassifier, 1e-5, {}, True, 1.1 * 9.0),
    ("ijcnn1", AMMClassifier, 1e-5, {"average": False}, False, 2.58 + 3 * 0.21),
    ("ijcnn1", GAMMClassifier, 1e-5, {"average": False}, False, 2.16 + 3 * 0.20),
    ("ijcnn1", GAMMClassifier, 1e-5, {}, False, 1.1 * 1.8),
    ("a9a", AMMClassifier, 1e-3, {"mode": "batch", "max_iter": 5}, False, 1.1 * 15.1),
    ("a9a", AMMClassifier, 1e-2, {"max_iter": 1}, False, 1.1 * 15.9),
]


@pytest.mark.parametrize(("name", "model", "alpha", "parameters", "centred", "bar"), CASES)
def test_real_data(name, model, alpha, parameters, centred, bar):
    data = load(name)
    errors = []
    for seed in range(2):
        clf = model(alpha=alpha, random_state=seed, **parameters)
        if centred:
            clf = make_pipeline(StandardScaler(with_std=False), clf)
        errors.append(error(clf, data))
    assert np.mean(errors) < bar


@pytest.mark.parametrize(
    ("side", "average", "alpha", "bar"),
    [(3, False, 1e-4, 4.17 + 3 * 0.77), (4, False, 1e-6, 7.38 + 3 * 1.53),
     (3, True, 1e-6, 1.1), (4, True, 1e-6, 1.65)],
)  # fmt: skip
def test_checkerboards(side, average, alpha, bar):
    errors = []
    for seed in range(2):
        X, y = datasets.make_checkerboard(side, side, 20_000, random_state=seed)
        X = X * np.float32(3**0.5)
        clf = GAMMClassifier(alpha=alpha, average=average, random_state=seed)
        errors.append(error(clf, (X[:15_000], y[:15_000], X[15_000:], y[15_000:])))
    assert np.mean(errors) < bar


def test_growth_is_what_solves_a_checkerboard():
    """A linear model is lost on 4 × 4 squares, AMM finds stripes, GAMM the squares."""
    X, y = datasets.make_checkerboard(4, 4, 20_000, random_state=0)
    data = X[:15_000], y[:15_000], X[15_000:], y[15_000:]
    linear, adaptive, growing = (
        error(model(alpha=1e-5, random_state=0), data)
        for model in (PegasosClassifier, AMMClassifier, GAMMClassifier)
    )
    assert linear > 40 > adaptive > 10 > 3 > growing
