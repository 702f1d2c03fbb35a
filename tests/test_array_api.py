"""Least squares on arrays of other kinds than NumPy's, and without the compiled module."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers import run_python

import multiplane

SOURCES = Path(multiplane.__file__).parents[1]
LIBRARIES = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")

# In a process of its own: SciPy reads SCIPY_ARRAY_API when it is imported.
SCRIPT = """
import itertools, json, sys
import numpy as np, sklearn
from sklearn.datasets import load_digits
from multiplane import (
    CalibratedLeastSquaresClassifier as C, GeneralizedLeastSquaresClassifier as G,
    StagewiseLeastSquaresClassifier as S,
)
from multiplane.features import ConvolutionalPatches, FeatureSubset, RandomFourier
from multiplane.features import RandomLogit, RandomPolynomial

xp = __import__(sys.argv[1])
sklearn.set_config(array_api_dispatch=True)
digits, y = load_digits(return_X_y=True)
digits, y, Y = digits[:400] / 16, y[:400], np.eye(10)[y][:400, :4].astype(int)
weight = np.random.RandomState(0).random_sample(400)
pictures = ConvolutionalPatches(image_shape=(8, 8), patch_size=3, pool=2)
models = {
    "linear": G("identity"), "logistic": G(max_iter=10), "calibrated": C(max_iter=3),
    "fourier": S(features=RandomFourier(n_components=20), n_stages=3, block_size=40),
    "stagewise calibrated": S("calibrated", RandomFourier(), n_stages=3, block_size=40),
    "stagewise logistic": S("logistic", RandomLogit(), n_stages=2, block_size=40, max_inner=5),
    "polynomial": S(features=RandomPolynomial(), n_stages=2, block_size=40, n_models=2),
    "subset": S(features=FeatureSubset(), n_stages=3, block_size=30),
    "patches": S(features=pictures, n_stages=2, block_size=40),
    "early": S(early_stopping=True, n_stages=4, block_size=30),
}
out = {"float64": {}, "float32": {}}
put = xp.asarray
for dtype, (key, model), (kind, target) in itertools.product(
    out, models.items(), (("classes", y), ("labels", Y))
):
    X = digits.astype(dtype)
    model.set_params(random_state=0)
    there = model.fit(put(X), put(target), sample_weight=put(weight))
    P, D = there.predict_proba(put(X)), there.decision_function(put(X))
    L = there.predict(put(X))
    for A in (P, D, L):
        assert type(A) is type(put(X)), (key, type(A))
    moved = np.asarray(there.predict_proba(X))  # a model goes where the rows are
    P, D, L = (np.asarray(A) for A in (P, D, L))
    assert P.dtype == dtype
    here = model.fit(X, target, sample_weight=weight)
    out[dtype][f"{key} {kind}"] = [
        float(abs(P - here.predict_proba(X)).max()), float(abs(moved - P).max()),
        float(np.mean(L == here.predict(X))),
    ]
print(json.dumps(out))
"""


@cache
def run(name):
    """By type of the numbers: one start of the library is enough for both."""
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, name],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"},
    )
    assert out.returncode == 0, out.stderr[-3000:]
    return json.loads(out.stdout)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["torch", "array_api_strict"])
def test_the_same_on_other_arrays(name, dtype):
    # In float64 only the order of sums differs. In float32 products of chunks round differently,
    # and weights of features that hardly matter follow; labels rarely do.
    most, agree = (1e-6, 0.999) if dtype == "float64" else (0.1, 0.97)
    pytest.importorskip(name)
    found = run(name)[dtype]
    assert len(found) == 20
    for key, (difference, moved, same) in found.items():
        assert difference < most, (key, difference)
        assert moved < most, (key, moved)
        assert same >= agree, (key, same)


def test_other_arrays_are_refused_unless_asked_for():
    """Without dispatch a tensor is turned into a NumPy array, as everywhere in scikit-learn."""
    torch = pytest.importorskip("torch")
    X = np.random.RandomState(0).randn(60, 4)
    clf = multiplane.GeneralizedLeastSquaresClassifier().fit(torch.asarray(X), X[:, 0] > 0)
    assert isinstance(clf.predict_proba(torch.asarray(X)), np.ndarray)


def test_without_the_compiled_module(tmp_path):
    """The Python sources alone: least squares works, the others say what is missing."""
    shutil.copytree(SOURCES / "multiplane", tmp_path / "multiplane", ignore=LIBRARIES)
    script = f"""
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np, multiplane
from multiplane import StagewiseLeastSquaresClassifier, features, links, datasets
X = np.random.RandomState(0).randn(100, 3); y = X[:, 0] * X[:, 1] > 0
print(StagewiseLeastSquaresClassifier(random_state=0).fit(X, y).score(X, y) > 0.9)
print(multiplane.__file__.startswith({str(tmp_path)!r}), "multiplane._native" in sys.modules)
try:
    multiplane.AMMClassifier
except ImportError as error:
    print("compiled module" in str(error))
"""
    done = run_python(script)
    assert done.stdout.split() == ["True", "True", "False", "True"], done.stderr
