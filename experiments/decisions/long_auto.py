"""`alpha="auto"` where the training is much longer than its trials (decision 7).

Errors in % on held-out rows, mean of three seeds: λ divided by how many times more steps the
training makes ("all"), by its square root beyond sixteen times ("root", which is built in), and
λ = 10⁻⁴; for budgeted kernel machines and for AMM.

    python -m experiments.decisions.long_auto
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from multiplane import AMMClassifier, BudgetedPegasosClassifier
from multiplane.datasets import load_covtype, make_waveform
from multiplane.estimators import _base

SEEDS = range(3)
RULES: dict[str, dict[str, Any]] = {
    "all": {"alpha": "auto", "alike": inf},
    "root": {"alpha": "auto", "alike": _base._ALIKE},
    "1e-4": {"alpha": 1e-4, "alike": inf},
}


def problems() -> Iterator[tuple[str, Any, Any, int]]:
    """Name, rows, labels, and how many of them are to be learnt; the others test."""
    yield "waveform", *make_waveform(1_000_000, random_state=0), 900_000
    X, y = load_covtype(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    yield "covertype", X[order], y[order], len(y) * 4 // 5


def main() -> None:
    models = {
        "budget 200": BudgetedPegasosClassifier(budget=200, max_iter=1),
        "AMM": AMMClassifier(max_iter=1),
    }
    for name, X, y, n in problems():
        scaler = StandardScaler().fit(X[:n])
        X = scaler.transform(X).astype(np.float32)
        for title, model in models.items():
            for rule, settings in RULES.items():
                _base._ALIKE = settings["alike"]
                model.set_params(alpha=settings["alpha"])
                fits = [clone(model).set_params(random_state=s).fit(X[:n], y[:n]) for s in SEEDS]
                errors = [100 * (1 - fit.score(X[n:], y[n:])) for fit in fits]
                print(f"{name:10s} {title:10s} {rule:5s}", np.round(errors, 2), flush=True)


if __name__ == "__main__":
    main()
