"""Which reading of the least-squares paper's features gives its Table 1?

A.2.1 has random Fourier features of 50 principal components, as wide as the median distance. Here:
linear, logistic and calibrated regression on mnist by other readings; test error in %, mean of
three draws. Nothing is chosen here: ls-table1 chooses, on training rows.

    MULTIPLANE_DEVICE=cuda SCIPY_ARRAY_API=1 python -m experiments.decisions.fourier
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multiplane import CalibratedLeastSquaresClassifier, GeneralizedLeastSquaresClassifier
from multiplane.features import RandomFourier

from ..ls import device
from ..ls.table1.run import data
from ..protocol import seeded

SEEDS = range(3)


def models(alpha: Any, features: RandomFourier) -> list[Any]:
    return [
        GeneralizedLeastSquaresClassifier("identity", alpha=alpha, features=features),
        GeneralizedLeastSquaresClassifier(alpha=alpha, tol=1e-2, features=features),
        CalibratedLeastSquaresClassifier(alpha=alpha, max_iter=10, tol=1e-5, features=features),
    ]


def components(
    X: np.ndarray,
    X_test: np.ndarray,
    n: int = 50,
    centre: bool = True,
    whitening: float = 0.0,
    of: np.ndarray | None = None,
    dtype: Any = np.float32,
) -> list[Any]:
    """Both parts in the principal components, divided by that power of their deviation."""
    of = X if of is None else of
    middle = of.mean(axis=0) if centre else 0
    variances, directions = np.linalg.eigh((of - middle).T @ (of - middle) / len(of))
    directions = directions[:, : -n - 1 : -1] / variances[: -n - 1 : -1] ** (whitening / 2)
    return [device.put(((part - middle) @ directions).astype(dtype)) for part in (X, X_test)]


def main() -> None:
    X, y, X_test, y_test = data(0, "as they are")
    pixels = [
        np.asarray(part.cpu() if hasattr(part, "cpu") else part, float) for part in (X, X_test)
    ]
    plain = components(*pixels)
    readings = [
        ("images as they are", plain, 4000, "median"),
        ("likewise, or 4,000 pairs", plain, 8000, "median"),
        ("8,000 pairs", plain, 16000, "median"),
        *((f"width {w}", plain, 4000, f"{w}*median") for w in (0.6, 0.8, 1.3, 1.6)),
        *((f"{n} components", components(*pixels, n=n), 4000, "median") for n in (30, 40, 60, 80)),
        ("not centred", components(*pixels, centre=False), 4000, "median"),
        ("whitened", components(*pixels, whitening=1), 4000, "median"),
        ("half whitened", components(*pixels, whitening=0.5), 4000, "median"),
        ("test images in the PCA", components(*pixels, of=np.vstack(pixels)), 4000, "median"),
        ("float64", components(*pixels, dtype=float), 4000, "median"),
        ("float64", components(*pixels, dtype=float), 8000, "median"),
    ]
    print(f"{'':24s}features  alpha  linear  logistic  calibrated")
    for name, (rows, rows_test), dims, width in readings:
        for alpha in ("scale", 1e-9, 1e-8):
            errors = []
            for model in models(alpha, RandomFourier(dims, width=width)):
                fits = [device.timed_fit(seeded(model, seed), rows, y)[0] for seed in SEEDS]
                errors.append(np.mean([device.error(fit, rows_test, y_test) for fit in fits]))
            print(f"{name:24s}{dims:8d}  {alpha!s:5s}" + "  ".join(f"{e:8.2f}" for e in errors))


if __name__ == "__main__":
    main()
