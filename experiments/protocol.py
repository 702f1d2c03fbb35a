"""How a published cell is compared with ours: λ by cross-validation, several seeds, a record.

A *cell* is one model on one data set. "paper" is the published algorithm (average=False) with the
features as the paper has them; "defaults" is the library's defaults, where cross-validation may
also choose to centre the features. No choice in a run looks at test data; README.md says how the
protocol itself came about.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def seeded(model: Any, seed: int) -> Any:
    """The same model with another seed, inside a pipeline or not."""
    model = clone(model)
    name = "random_state" if "random_state" in model.get_params() else _last(model)
    return model.set_params(**{name: seed})


def _last(pipeline: Any) -> str:
    return f"{pipeline.steps[-1][0]}__random_state"


def hyperplanes(model: Any) -> int:
    return int(getattr(model, "n_hyperplanes_", None) or model[-1].n_hyperplanes_)


def error(model: Any, X: Any, y: Any) -> float:
    """Test error in percent."""
    return 100 * (1 - float(model.score(X, y)))


def choose(
    models: list[Any], X: Any, y: Any, n_folds: int, n_repeats: int = 1
) -> tuple[Any, list[float]]:
    """The candidate with the least cross-validation error, and the mean errors of all.

    Errors are often nearly flat in λ: with several repeats, other folds and other seeds in each,
    the choice is less of an accident.
    """
    folds = [
        fold
        for repeat in range(n_repeats)
        for fold in StratifiedKFold(n_folds, shuffle=True, random_state=repeat).split(X, y)
    ]

    def one(model: Any, seed: int, train: Any, held: Any) -> float:
        # Another seed in every fold: a λ that works by luck is not to be chosen.
        return error(seeded(model, seed).fit(X[train], y[train]), X[held], y[held])

    errors = [one(model, i, *fold) for model in models for i, fold in enumerate(folds)]
    means = np.reshape(errors, (len(models), len(folds))).mean(axis=1)
    return models[int(means.argmin())], means.tolist()


def describe(model: Any) -> dict[str, Any]:
    """What was chosen, in a form for the record."""
    last = model if not hasattr(model, "steps") else model[-1]
    return {
        "alpha": last.alpha,
        "intercept_scaling": last.intercept_scaling,
        "centred": hasattr(model, "steps"),
    }


def repeat(
    model: Any, data: Callable[[int], tuple[Any, ...]], seeds: range
) -> dict[str, list[float]]:
    """Error (%), seconds of the processor and hyperplanes by seed.

    `data(seed)` gives X, y, X_test, y_test. One thread: a busy machine does not count.
    """

    def one(seed: int) -> tuple[float, float, float]:
        X, y, X_test, y_test = data(seed)
        fitted = seeded(model, seed)
        start = time.process_time()
        fitted.fit(X, y)
        seconds = time.process_time() - start
        return error(fitted, X_test, y_test), seconds, hyperplanes(fitted)

    errors, seconds, counts = (list(column) for column in zip(*map(one, seeds), strict=True))
    return {"error": errors, "seconds": seconds, "hyperplanes": counts}


def cell(
    model: Any, mode: str, data: tuple[Any, ...], config: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """λ by cross-validation on the training rows, then a run a seed: the choice, the quantities.

    `config` names `alphas`, `folds`, `fold_repeats` and `seeds`. With the library's defaults (and
    not for sparse rows) the features may also be centred, if cross-validation prefers it.
    """
    X, y, _, _ = data
    model = clone(model).set_params(average=mode == "defaults")
    models = [clone(model).set_params(alpha=alpha) for alpha in config["alphas"]]
    if mode == "defaults" and not sp.issparse(X):
        models += [make_pipeline(StandardScaler(with_std=False), m) for m in models]
    chosen, errors = choose(models, X, y, config["folds"], config["fold_repeats"])
    found = repeat(chosen, lambda _: data, range(config["seeds"]))
    return describe(chosen) | {"cross_validation": [round(e, 3) for e in errors]}, found


def some_rows(data: tuple[Any, ...], most: int) -> tuple[Any, ...]:
    """The first `most` rows of training and test parts, shuffled alike every time; 0: all."""
    if not most:
        return data
    X, y, X_test, y_test = data
    train = np.random.RandomState(0).permutation(len(y))[:most]
    test = np.random.RandomState(0).permutation(len(y_test))[:most]
    return X[train], y[train], X_test[test], y_test[test]


def hashable(config: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """A config for a function that remembers its answers; dict() turns it back."""
    return tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in config.items())
