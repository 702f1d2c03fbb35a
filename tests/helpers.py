"""What several test files need: problems, estimators, and models as bytes."""

import copy
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import scipy.sparse as sp

import multiplane
from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    GeneralizedLeastSquaresClassifier,
    MMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
    _native,
)

HYPERPLANE_CLASSIFIERS = (PegasosClassifier, MMClassifier, AMMClassifier, GAMMClassifier)
CLASSIFIERS = (*HYPERPLANE_CLASSIFIERS, BudgetedPegasosClassifier)
LEAST_SQUARES = (
    GeneralizedLeastSquaresClassifier,
    CalibratedLeastSquaresClassifier,
    StagewiseLeastSquaresClassifier,
)


def budgeted(**settings):
    """A small budget, so that there is maintenance also in small problems."""
    settings = {"budget": 20, "gamma": 0.1, **settings}
    return lambda **p: BudgetedPegasosClassifier(**{**settings, **p})


# All ways of training: name → a function of further parameters.
HYPERPLANES = {
    "pegasos": PegasosClassifier,
    "pegasos-ball": lambda **p: PegasosClassifier(**{"ball_projection": True, **p}),
    "mm": lambda **p: MMClassifier(**{"n_hyperplanes": 3, **p}),
    "amm": AMMClassifier,
    "amm-batch": lambda **p: AMMClassifier("batch", **p),
    "gamm": GAMMClassifier,
    "gamm-batch": lambda **p: GAMMClassifier("batch", **p),
}
KERNELS = {
    "merge": budgeted(),
    "merge-all": budgeted(merge_search="all", budget=10),
    "project": budgeted(maintenance="project"),
    "remove": budgeted(maintenance="remove"),
    "random": budgeted(maintenance="random", average=True),
    "no-budget": budgeted(budget=None),
    "scale": budgeted(gamma="scale"),  # on a stream the first 256 rows decide
    "poly": budgeted(kernel="poly", gamma=0.05, coef0=0.5, maintenance="project"),
    "linear": budgeted(kernel="linear", maintenance="project"),
    "sigmoid": budgeted(kernel="sigmoid", gamma=0.02, maintenance="remove"),
}
# The flagship with nothing left to try, which takes time. "multiplane" cannot be in tests that want
# a sparse matrix to be learnt as a dense one, which is centred, or passes that know nothing of how
# many there will be, as steps are shared less and less.
MULTIPLANE = {"n_hyperplanes": 4, "alpha": 1e-5, "scale": "standard", "max_iter": 20}
FLAGSHIP = {
    "multiplane": lambda **p: MultiplaneClassifier(**{**MULTIPLANE, **p}),
    "multiplane-plain": lambda **p: MultiplaneClassifier(
        **{**MULTIPLANE, "scale": None, "sharing": 0.0, **p}
    ),
}
VARIANTS = HYPERPLANES | KERNELS | FLAGSHIP
BY_PASS = {name: make for name, make in VARIANTS.items() if name != "multiplane"}
# partial_fit is always online: these are the different learners behind it.
STREAMS = {name: VARIANTS[name] for name in ("pegasos", "pegasos-ball", "mm", "amm", "gamm")}
STREAMS |= KERNELS
# fit with one pass in the order of the rows is partial_fit. Not MM: its fit obeys random
# assignments; and not "scale", for fit looks at all rows.
ONE_PASS = ["pegasos", "pegasos-ball", "amm", "gamm", *sorted(KERNELS.keys() - {"scale"})]


def problem(n=300, d=7, n_classes=3, seed=0, zeros=0.3):
    """Rows of float32 around several centres a class, so that one hyperplane is not enough."""
    random = np.random.RandomState(seed)
    centres = random.randn(3 * n_classes, d) * 2
    group = random.randint(len(centres), size=n)
    X = centres[group] + random.randn(n, d)
    X[random.random_sample(X.shape) < zeros] = 0
    return X.astype(np.float32), group % n_classes


def integers(n, d, n_classes, seed, zeros=0.5):
    """Small whole numbers with repeated rows, and now and then a row of zeros."""
    random = np.random.RandomState(seed)
    pool = random.randint(-3, 4, size=(max(1, n // 3), d))
    pool[random.random_sample(pool.shape) < zeros] = 0
    pool[random.random_sample(len(pool)) < 0.1] = 0
    labels = random.randint(n_classes, size=len(pool))
    pick = random.randint(len(pool), size=n)
    noise = random.random_sample(n) < 0.1
    y = np.where(noise, random.randint(n_classes, size=n), labels[pick])
    return pool[pick].astype(np.float32), y.astype(np.int32)


def csr(X, index=np.int32):
    """CSR of float32 with indices of the given type."""
    S = sp.csr_matrix(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    return S


def native_rows(X, kind):
    """Rows for the native learner: "dense", "csr32" or "csr64"."""
    if kind == "dense":
        return _native.dense_rows(np.ascontiguousarray(X, dtype=np.float32))
    S = csr(X, np.int32 if kind == "csr32" else np.int64)
    return _native.csr_rows(S.data, S.indices, S.indptr, X.shape[1])


def arrays(clf):
    """What a model is made of."""
    names = (
        ("dual_coef_", "support_vectors_") if hasattr(clf, "gamma_") else ("coef_", "intercept_")
    )
    return [getattr(clf, name) for name in names]


def state(clf):
    """All that training has left behind, as bytes: the model and the learner that can go on."""
    learner = clf._training.learner.__getstate__()
    parts = [*(a.tobytes() for a in arrays(clf)), clf.classes_.tolist(), clf.t_]
    for key, value in sorted(learner.items()):
        parts.append((key, value.tobytes() if isinstance(value, np.ndarray) else value))
    return pickle.dumps(parts)


def saved(model, training=False):
    """The bytes of a model file. A copy, whose arrays lie in order, as all that have travelled."""
    file = io.BytesIO()
    multiplane.save(copy.deepcopy(model), file, training=training)
    return file.getvalue()


def everything(clf):
    """All attributes as bytes, to see that a failed call has changed nothing."""
    attributes = {k: v for k, v in vars(clf).items() if k != "_training"}
    return pickle.dumps(attributes), state(clf) if hasattr(clf, "_training") else None


def run_python(code, **environment):
    """Another Python process; returns it finished, with text output."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
