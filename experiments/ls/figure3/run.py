"""Least squares revisited, Figure 3: CIFAR-10 with random and with k-means filters.

Stages of convolutional features, plain least squares, no enlarged training set; each image is seen
in the mirror too. "kmeans" and "random" are the figure's curves; "best" takes patches of the
training images themselves as filters. Filters, contrast, threshold, pooling and ridge were chosen
on 10,000 images held out of the training set.

    python -m experiments.ls.figure3.run [--device cuda] [--quick] [--only NAME]

The full set is needed (unpack.py makes the file); with --quick the small one will do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_cifar10, load_cifar10_small
from multiplane.features import ConvolutionalPatches

from ..record import (
    arguments,
    matrix_rate,
    operations,
    percent_wrong,
    placed,
    save,
    timed_fit,
)

RESULTS = Path(__file__).with_name("results.json")

SHARED = {"pool": 2, "contrast": 0.15, "threshold": 0.25}
CURVES = {
    "best": ConvolutionalPatches(filters="patches", degree=1, mirror=True, **SHARED),
    "kmeans": ConvolutionalPatches(filters="kmeans", degree=2, mirror=True, **SHARED),
    "random": ConvolutionalPatches(filters="random", degree=2, mirror=True, **SHARED),
}
STAGES = {"best": 25, "kmeans": 15, "random": 15}


def model(name: str, quick: bool = False) -> StagewiseLeastSquaresClassifier:
    """A block of 8,192: 1,024 filters, two signs, four cells (half of them, and products)."""
    if quick:
        return StagewiseLeastSquaresClassifier("linear", CURVES[name], 64, 2, alpha=0.3)
    alpha = 0.01 if name == "best" else 0.03
    return StagewiseLeastSquaresClassifier("linear", CURVES[name], 8192, STAGES[name], alpha=alpha)


def measure(name: str, device: str, quick: bool = False) -> dict[str, Any]:
    """Accuracy by stage. The test images are looked at; nothing stops or is chosen by them."""
    load = load_cifar10_small if quick else load_cifar10
    X, y, X_test, y_test = map(placed(device), load(return_X_y=True, download_if_missing=False))
    fitted, seconds = timed_fit(model(name, quick).set_params(random_state=0), device, X, y)
    accuracy = [round(100 - percent_wrong(p, y_test), 2) for p in fitted.staged_predict(X_test)]
    cell = {
        "name": name,
        "accuracy": accuracy,
        "features": [fitted.block_size * (i + 1) for i in range(len(accuracy))],
        "seconds": round(seconds, 1),
        "model": " ".join(str(fitted).split()),
    }
    if device.startswith("cuda"):
        filters = fitted.block_size / 8 / CURVES[name].degree
        sides = 2 if CURVES[name].mirror else 1
        work = operations(fitted, len(y), sides * 2 * 27 * 27 * 108 * filters)
        cell["share of matrix rate"] = round(work / seconds / matrix_rate(device), 3)
    return cell


def line(cell: dict[str, Any]) -> str:
    share = cell.get("share of matrix rate")
    return (
        f"cifar-10, {cell['name']}: {cell['accuracy'][-1]:.2f} % with {cell['features'][-1]} "
        f"features in {cell['seconds']} s"
        + (f", {100 * share:.0f} % of the matrix rate" if share else "")
    )


def main() -> None:
    args = arguments(__doc__.splitlines()[0])
    for name in CURVES:
        if args.only in name:
            cell = measure(name, args.device, args.quick)
            print(line(cell), cell["accuracy"], flush=True)
            if not args.quick:
                save(RESULTS, args.device, [cell], "name")


if __name__ == "__main__":
    main()
