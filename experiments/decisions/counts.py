"""Why AMM has more hyperplanes on a9a here than in its paper's Table 4.

For each λ: test error in %, hyperplanes, and how many of them are ever the highest of all on a
training row; means of five seeds. Then with other pruning and without an intercept.

    python -m experiments.decisions.counts
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from multiplane import AMMClassifier
from multiplane.datasets import load_a9a

SEEDS = range(5)
PASSES = {"batch": 5, "online": 1}
# By default a hyperplane goes that, with all that go with it, weighs less than ten steps.
VARIANTS: list[dict[str, Any]] = [
    {},
    {"prune_threshold": 20.0},
    {"prune_threshold": 40.0},
    {"prune_every": 1_000},
    {"prune_every": 100_000},
    {"fit_intercept": False},
]


def main() -> None:
    X, y, X_test, y_test = load_a9a(return_X_y=True)
    print(f"{'':42s}error  hyperplanes  that win")
    for variant in VARIANTS:
        for mode, n_passes in PASSES.items():
            for alpha in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
                model = AMMClassifier(mode, alpha=alpha, max_iter=n_passes, average=False)
                model.set_params(**variant)
                fits = [clone(model).set_params(random_state=s).fit(X, y) for s in SEEDS]
                print(f"{mode:7s} {alpha:5.0e} {variant!s:28s}", end="")
                print("  {:5.2f}  {:11.1f}  {:8.1f}".format(*of(fits, X, X_test, y_test)))


def of(fits: list[Any], X: Any, X_test: Any, y_test: Any) -> tuple[float, ...]:
    errors = [100 * (1 - fit.score(X_test, y_test)) for fit in fits]
    winning = [len(np.unique((X @ fit.coef_.T + fit.intercept_).argmax(axis=1))) for fit in fits]
    return tuple(map(np.mean, (errors, [fit.n_hyperplanes_ for fit in fits], winning)))


if __name__ == "__main__":
    main()
