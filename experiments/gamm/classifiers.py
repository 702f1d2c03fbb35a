"""The classifiers of the GAMM paper: ours, its competitors, and how their parameters are chosen.

Whatever is chosen, is chosen on training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC

from multiplane import AMMClassifier, GAMMClassifier, MultiplaneClassifier
from multiplane.datasets import make_checkerboard, make_weights

from .. import protocol
from ..catalogue import Config
from .lvq import LVQ21

Choice = dict[str, Any]
# Uniform on [-1, 1] has the standard deviation 1/√3: boards are standardised by their √3-fold.
STANDARD = np.float32(3**0.5)
HYPERPLANES = {"AMM": AMMClassifier, "GAMM": GAMMClassifier}
MODES = {"AMM": ("paper", "defaults"), "GAMM": ("paper", "defaults"), "Multiplane": ("defaults",)}


def board(pattern: str, n: int, seed: int, noise: float = 0.0) -> tuple[Any, ...]:
    """A checkerboard of n training rows and a third as many test rows, which have no noise."""
    rows, cols = map(int, pattern.split("x"))
    n_all, seed = n + n // 3, 1000 + seed
    X, y = make_checkerboard(rows, cols, n_all, noise, random_state=seed)
    _, y_true = make_checkerboard(rows, cols, n_all, random_state=seed)  # the same points
    X = X * STANDARD
    return X[:n], y[:n], X[n:], y_true[n:]


def weights(n_features: int, n_weights: int, n: int, seed: int) -> tuple[Any, ...]:
    """Rows labelled by random hyperplanes, standardised; n to train, a third as many to test."""
    X, y = make_weights(n_features, n_weights, n + n // 3, random_state=1000 + seed)
    X = (X - np.float32(0.5)) * (2 * STANDARD)
    return X[:n], y[:n], X[n:], y[n:]


def chosen(column: str, mode: str, X: Any, y: Any, config: Config) -> tuple[Any, Choice]:
    """The classifier of a column with its parameters, and those for the record."""
    if column in HYPERPLANES:
        return hyperplanes(column, mode, X, y, config)
    if column == "RBF-SVM":
        return rbf_svm(X, y, config)
    if column == "linear SVM":
        return linear_svm(X, y, config)
    return others(X.shape[1])[column], {}


def hyperplanes(column: str, mode: str, X: Any, y: Any, config: Config) -> tuple[Any, Choice]:
    """AMM or GAMM, with λ and the constant feature by cross-validation."""
    average = mode == "defaults"
    model = HYPERPLANES[column](max_iter=config["passes"], average=average)
    models = [
        clone(model).set_params(intercept_scaling=constant, alpha=alpha)
        for constant in config["constants"]
        for alpha in config["alphas"]
    ]
    best, _ = protocol.choose(models, X, y, config["folds"], config["fold_repeats"])
    return best, {"alpha": best.alpha, "intercept_scaling": best.intercept_scaling}


def rbf_svm(X: Any, y: Any, config: Config) -> tuple[Any, Choice]:
    """LIBSVM, with C and γ by cross-validation on some of the rows; γ in units of 1 / (d var X)."""
    unit = 1 / (X.shape[1] * float(np.var(X)))
    grid = {"C": config["C"], "gamma": [unit * gamma for gamma in config["gamma"]]}
    return _searched(SVC(cache_size=1000), grid, X, y, config)


def linear_svm(X: Any, y: Any, config: Config) -> tuple[Any, Choice]:
    """LIBLINEAR, with C by cross-validation on some of the rows."""
    grid = {"C": config["linear_C"]}
    return _searched(LinearSVC(dual="auto", random_state=0), grid, X, y, config)


def _searched(model: Any, grid: Any, X: Any, y: Any, config: Config) -> tuple[Any, Choice]:
    some = np.random.RandomState(0).permutation(len(y))[: config["search_rows"]]
    best = GridSearchCV(model, grid, cv=3).fit(X[some], y[some]).best_params_
    return model.set_params(**best), best


def others(n_features: int) -> dict[str, Any]:
    """With scikit-learn's settings, but for the size of the network, which the paper tells."""
    nodes = round(2.5 * n_features) if n_features > 2 else 100  # 5 cannot draw a board
    return {
        "Multiplane": MultiplaneClassifier(),
        "NN": MLPClassifier((nodes,)),
        "random forest": RandomForestClassifier(),
        "boosting": HistGradientBoostingClassifier(),
        "LVQ2.1": LVQ21(),
        "guess": DummyClassifier(),
    }
