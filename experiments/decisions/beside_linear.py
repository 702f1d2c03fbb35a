"""Evidence for decision 7: MultiplaneClassifier beside linear models, on small and on linear data.

Test error in %, and differences with their standard errors, over random splits; generated data are
drawn anew for each. LinearSVC as it is and Pegasos with alpha="auto", both on standardised columns.

    python -m experiments.decisions.beside_linear
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from multiplane import MultiplaneClassifier, PegasosClassifier

from ..protocol import error

N_SPLITS = 20


def bundled(name: str, seed: int) -> tuple[Any, Any]:
    """The same for every seed."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def linear(n: int, d: int, n_classes: int, seed: int) -> tuple[Any, Any]:
    """The largest of some linear functions and noise."""
    random = np.random.RandomState(seed)
    X, W = random.standard_normal((n, d)), random.standard_normal((n_classes, d))
    return X, (X @ W.T + 0.5 * random.standard_normal((n, n_classes))).argmax(axis=1)


def generated(make: Callable[..., Any], seed: int, **parameters: Any) -> tuple[Any, Any]:
    X, y = make(**parameters, random_state=seed)[:2]
    return X, y


DATA: dict[str, Callable[[int], tuple[Any, Any]]] = {
    **{name: partial(bundled, name) for name in ("iris", "wine", "breast_cancer", "digits")},
    **{
        f"linear, {n:,} × 10, {k} classes": partial(linear, n, 10, k)
        for n in (60, 150, 400, 2000)
        for k in (2, 5)
    },
    "linear, 130 × 200, 2 classes": partial(linear, 130, 200, 2),
    "a blob a class, 500 × 20": lambda seed: generated(
        datasets.make_classification,
        seed,
        n_samples=500,
        n_informative=5,
        n_classes=3,
        n_clusters_per_class=1,
    ),
    "a fifth of the labels wrong": lambda seed: generated(
        datasets.make_classification, seed, n_samples=1000, n_informative=3, flip_y=0.2
    ),
    "wide blobs, 300 × 8": lambda seed: generated(
        datasets.make_blobs, seed, n_samples=300, n_features=8, centers=4, cluster_std=4.0
    ),
}


def main() -> None:
    warnings.simplefilter("ignore")  # rare classes in splits
    print(f"{'':32}{'ours':>8}{'LinearSVC':>11}{'Pegasos':>9}   ours less LinearSVC, Pegasos")
    for name, load in DATA.items():
        rows = []
        for seed in range(N_SPLITS):
            X, X_test, y, y_test = train_test_split(*load(seed), test_size=0.3, random_state=seed)
            models = (
                MultiplaneClassifier(random_state=seed),
                make_pipeline(StandardScaler(), LinearSVC(random_state=seed)),
                make_pipeline(
                    StandardScaler(),
                    PegasosClassifier(alpha="auto", max_iter=50, random_state=seed),
                ),
            )
            rows.append([error(model.fit(X, y), X_test, y_test) for model in models])
        errors = np.array(rows)
        apart = errors[:, :1] - errors[:, 1:]
        told = "  ".join(
            f"{mean:+6.2f} ± {deviation:.2f}"
            for mean, deviation in zip(
                apart.mean(axis=0), apart.std(axis=0) / np.sqrt(N_SPLITS), strict=True
            )
        )
        ours, svc, pegasos = errors.mean(axis=0)
        print(f"{name:32}{ours:8.2f}{svc:11.2f}{pegasos:9.2f}   {told}", flush=True)


if __name__ == "__main__":
    main()
