"""Least squares on a GPU: error, seconds, and how much of the card's matrix rate is used.

    MULTIPLANE_DEVICE=cuda SCIPY_ARRAY_API=1 python -m benchmarks.gpu

Runs from the Python sources alone, without the compiled module (PYTHONPATH=src). The models are
those of ls-stagewise and ls-figure3. The rate is that of the matrix products that the algorithm
asks for, beside a large float32 product's on the same card.
"""

from __future__ import annotations

import time
from typing import Any

from experiments.catalogue import find
from experiments.ls import device
from experiments.ls.figure3 import run as cifar
from experiments.ls.stagewise import run as mnist


def matrix_rate(n: int = 8192) -> float:
    """Of a large float32 product, in operations a second: the most of six."""
    import torch

    A = torch.randn(n, n, device=device.DEVICE)
    best = 0.0
    for _ in range(6):
        device.wait()
        start = time.perf_counter()
        A @ A
        device.wait()
        best = max(best, 2 * n**3 / (time.perf_counter() - start))
    return best


def operations(clf: Any, n_rows: int, per_row: float) -> float:
    """Of a stagewise fit: features twice a stage, their Gram matrix, right side and update.

    `per_row` is for one block of features of one row.
    """
    p, k = clf.block_size, len(clf.classes_)
    return float(clf.n_models * clf.n_stages * n_rows * (2 * per_row + 2 * p * p + 4 * p * k))


def report(name: str, model: Any, data: tuple[Any, ...], per_row: float, rate: float) -> None:
    X, y, X_test, y_test = data
    device.timed_fit(model.set_params(random_state=0), X[:2000], y[:2000])  # libraries warm up
    fitted, seconds = device.timed_fit(model, X, y)
    share = operations(fitted, len(y), per_row) / seconds / rate
    error = device.error(fitted, X_test, y_test)
    print(f"{name}: {error:.2f} % in {seconds:.1f} s, {100 * share:.0f} % of the rate", flush=True)


def main() -> None:
    rate = matrix_rate()
    print(device.conditions(), f"{rate / 1e12:.1f} TFLOP/s in float32", flush=True)
    config = find("ls-stagewise").config()
    data = mnist.data("mnist", 0)
    for column in ("one model", "four models"):
        model = mnist.model("mnist", column, config)
        # Each feature is a product of `degree` projections of the components.
        per_row = 2 * config["n_components"] * model.features.degree * config["block"]
        report(f"mnist, {column}", model, data, per_row, rate)
    config = find("ls-figure3").config()
    model = cifar.model("patches as masks", config)
    filters = config["block"] / 8
    # 27 × 27 squares of 6 × 6 × 3 pixels, each image twice (mirror), for each filter.
    report("cifar-10", model, cifar.images(config), 2 * 2 * 27 * 27 * 108 * filters, rate)


if __name__ == "__main__":
    main()
