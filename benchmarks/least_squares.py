"""Stagewise least squares: against its bare parts and against peers on mnist; its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from benchmarks.measure import ROUNDS, Outcome, peak
from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_mnist
from multiplane.features import ConvolutionalPatches, RandomFourier

ROWS, INPUTS, FEATURES, CLASSES = 60_000, 50, 512, 10
CHUNK = 4096


def rows() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    random = np.random.RandomState(0)
    return random.randn(ROWS, INPUTS).astype(np.float32), random.randint(CLASSES, size=ROWS)


def bare_parts(X: NDArray[np.float32], y: NDArray[np.int64]) -> list[float]:
    """Seconds of: product, cosines and sines, symmetric product, solve, update; each once."""
    random = np.random.RandomState(1)
    weights = (random.randn(INPUTS, FEATURES // 2) / 7).astype(np.float32)
    Y = np.eye(CLASSES, dtype=np.float32)[y]
    G, B = np.zeros((FEATURES, FEATURES)), np.zeros((FEATURES, CLASSES))
    P = np.zeros((len(y), CLASSES), np.float32)
    W = random.randn(FEATURES, CLASSES).astype(np.float32)
    F = np.empty((CHUNK, FEATURES), np.float32)
    seconds = [0.0] * 5

    def clock(part: int, start: float) -> float:
        now = time.perf_counter()
        seconds[part] += now - start
        return now

    for first in range(0, len(y), CHUNK):
        part = slice(first, min(first + CHUNK, len(y)))
        f = F[: part.stop - part.start]
        now = time.perf_counter()
        angles = X[part] @ weights
        now = clock(0, now)
        np.cos(angles, out=f[:, : FEATURES // 2])
        np.sin(angles, out=f[:, FEATURES // 2 :])
        now = clock(1, now)
        G += f.T @ f
        now = clock(2, now)
        B += f.T @ Y[part]
        P[part] += f @ W
        clock(4, now)
    now = time.perf_counter()
    scipy.linalg.cho_solve(scipy.linalg.cho_factor(G + np.eye(FEATURES)), B)
    clock(3, now)
    return seconds


def one_stage() -> list[Outcome]:
    """Ours makes the features twice, once to fit and once to update, and checks its input."""
    X, y = rows()
    clf = StagewiseLeastSquaresClassifier(
        features=RandomFourier(width=7.0), block_size=FEATURES, n_stages=1, random_state=0
    )
    ours, bare = np.inf, [np.inf] * 5
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        clf.fit(X, y)
        ours = min(ours, time.perf_counter() - start)
        bare = [min(a, b) for a, b in zip(bare, bare_parts(X, y), strict=True)]
    note = f"{1e3 * ours:.0f} ms against " + " + ".join(f"{1e3 * s:.0f}" for s in bare)
    return [Outcome("stage of 512 features / bare parts", ours / sum(bare), 1.7, False, note)]


# Time to 1.5 % errors on mnist. Ours sees the rows as the images that they are; its Fourier
# features stand beside it, because they use no more of the rows than the peers do. These all have
# rows of unit length, 50 principal axes and this width, half of the median distance. Tried on the
# last 10,000 training rows, one draw each, a busy core:
#   images     1.38 % in 5.4 s, the fastest below 1.5 % of 38 settings (8 to 32 filters, patches of
#              6 to 9, pools of 3 to 5, strides of 1 to 3)
#   Fourier    1.46 % in 25 s, the fastest to about that of 30 settings (not a grid)
#   LinearSVC  1.49 % in 81 s by RBFSampler (C=1: 1.63 %), 1.50 % in 79 s by Nystroem, of 11. The
#              dual solver with a loose tol: the primal one took 2 to 3 times as long for 500
#              components
#   SGD        1.50 % in 101 s by RBFSampler (alpha=5e-6: 1.55 %, and not averaged 1.61 %), 1.58 %
#              in 95 s by Nystroem, of 17. With 4,096 components it has 1.50 % in 137 s, but 1.32 %
#              on the test rows: 3,072 were taken after seeing that, in the peers' favour
GOAL, AXES, WIDTH = 1.5, 50, 0.5
MAPS = {RBFSampler: 6144, Nystroem: 3072}


def mnist_to_goal() -> list[Outcome]:
    """Each is fitted once, axes and features included; scores of test rows are off the clock."""
    X, y, X_test, y_test = load_mnist(return_X_y=True, download_if_missing=False)
    pixels, pixels_test = X, X_test
    X, X_test = normalize(X), normalize(X_test)

    def timed(work: Any, *data: Any) -> tuple[Any, float]:
        start = time.perf_counter()
        result = work(*data)
        return result, time.perf_counter() - start

    def errors(model: Any, F: Any) -> float:
        return float(100 * np.mean(model.predict(F) != y_test))

    def fitted(clf: Any, X: Any, X_test: Any) -> tuple[float, float]:
        clf.set_params(random_state=0).fit(X[:2000], y[:2000])  # libraries warm up
        _, seconds = timed(clf.fit, X, y)
        return seconds, errors(clf, X_test)

    patches = ConvolutionalPatches(
        image_shape=(28, 28), patch_size=7, pool=3, n_filters=10, contrast=None
    )
    as_images = StagewiseLeastSquaresClassifier("linear", patches, 1024, 1)
    fourier = RandomFourier(width=WIDTH, n_components=AXES)
    as_rows = StagewiseLeastSquaresClassifier("calibrated", fourier, 512, 48)
    ours, own_error = fitted(as_images, pixels, pixels_test)
    ours_as_rows, error_as_rows = fitted(as_rows, X, X_test)
    outcomes = []
    for kind, n_components in MAPS.items():
        kernel = kind(gamma=0.5 / WIDTH**2, n_components=n_components, random_state=0)
        rows = make_pipeline(PCA(AXES, svd_solver="covariance_eigh"), kernel)
        F, preparation = timed(rows.fit_transform, X)
        F_test = rows.transform(X_test)
        peers = {
            "SGD": SGDClassifier(alpha=2e-6, max_iter=20, tol=None, average=10 * ROWS),
            "SVC": LinearSVC(C=3, dual=True, tol=0.3),
        }
        for short, last in peers.items():
            last.set_params(random_state=0)
            _, seconds = timed(last.fit, F, y)
            seconds += preparation
            error = errors(last, F_test)
            note = (
                f"to {GOAL} %: {own_error:.2f} % in {ours:.1f} s, {error_as_rows:.2f} % in "
                f"{ours_as_rows:.0f} s (ratio {seconds / ours_as_rows:.1f}) by Fourier features, "
                f"against {error:.2f} % in {seconds:.0f} s"
            )
            if max(error, own_error, error_as_rows) > GOAL:
                note += ", goal not reached"
            name = f"mnist images: {kind.__name__}, {short}"
            outcomes.append(Outcome(name, seconds / ours, 10.0, True, note))
    return outcomes


def generated_memory() -> list[Outcome]:
    """Peak of resident memory while 60,000 × 20,000 features are generated, beyond the data's."""
    out = subprocess.run(
        [sys.executable, "-c", f"import benchmarks.least_squares as b; b.{watched.__name__}()"],
        capture_output=True,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(out.stdout)
    note = f"60,000 × 20,000 features in blocks of 1,000; data {seen['data']:.0f} MB"
    return [Outcome("memory of generated features, MB", seen["peak"], 1500.0, False, note)]


def watched() -> None:
    """In a process of its own: prints MB."""
    X, y = rows()
    StagewiseLeastSquaresClassifier(block_size=1000, n_stages=20, random_state=0).fit(X, y)
    print(json.dumps({"data": X.nbytes / 2**20, "peak": peak()}))


BENCHMARKS = (one_stage, mnist_to_goal, generated_memory)
