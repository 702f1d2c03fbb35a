"""The kernel machines of the AMM paper's tables, which are other people's.

Poly2: LIBLINEAR on the explicit features of the kernel (γ x·x' + 1)². RBF: LIBSVM. Both as
scikit-learn ships them; C and γ by cross-validation on some training rows.
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC, LinearSVC

from .. import protocol
from ..catalogue import Config


class Products(TransformerMixin, BaseEstimator):
    """x ↦ √(2γ) xᵢ, γ xᵢ² and √2 γ xᵢxⱼ: with a constant, the features of (γ x·x' + 1)²."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None) -> Products:
        self._all = PolynomialFeatures(2, include_bias=False).fit(X)
        powers = self._all.powers_  # (n_products, d)
        linear, square = powers.sum(axis=1) == 1, powers.max(axis=1) == 2
        crossed = np.where(square, self.gamma, np.sqrt(2) * self.gamma)
        self._factors = np.where(linear, np.sqrt(2 * self.gamma), crossed)
        return self

    def transform(self, X: Any) -> Any:
        return sp.csr_matrix(self._all.transform(X)).multiply(self._factors).tocsr()


def poly2(C: float, gamma: float) -> Any:
    # LIBLINEAR's own tolerance; scikit-learn's, a thousandth of it, takes very much longer.
    return make_pipeline(
        Products(gamma), LinearSVC(C=C, loss="hinge", tol=0.1, dual=True, random_state=0)
    )


def rbf(C: float, gamma: float) -> Any:
    return SVC(C=C, gamma=gamma, cache_size=1000)


MACHINES = {"Poly2": poly2, "RBF": rbf}


def cell(
    column: str, data: tuple[Any, ...], config: Config
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What was chosen, and error and seconds with it: one run, as no seed changes the optimum."""
    X, y, X_test, y_test = data
    grid = list(product(config[f"{column}_C"], config[f"{column}_gamma"]))
    some = np.random.RandomState(0).permutation(len(y))[: config[f"{column}_choice"]]
    machines = [MACHINES[column](*pair) for pair in grid]
    best, errors = protocol.choose(machines, X[some], y[some], config["peer_folds"])
    start = time.process_time()
    best.fit(X, y)
    seconds = time.process_time() - start
    C, gamma = grid[machines.index(best)]
    chosen = {"C": C, "gamma": gamma, "cross_validation": [round(e, 3) for e in errors]}
    return chosen, {"error": [protocol.error(best, X_test, y_test)], "seconds": [seconds]}
