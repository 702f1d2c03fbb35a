"""Stagewise regression as far as it goes: mnist (the paper's best, 1.1 %) and letter.

Generator, update, block size, width and number of stages and models were chosen on rows held out of
the training data; here the chosen models learn from all of them, three draws each.

    python -m experiments.ls.stagewise.run [--device cuda] [--quick] [--only NAME]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.preprocessing import normalize

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_letter, load_mnist
from multiplane.features import RandomFourier, RandomPolynomial

from ..record import (
    arguments,
    error,
    matrix_rate,
    mean_and_sd,
    operations,
    placed,
    save,
    timed_fit,
)

RESULTS = Path(__file__).with_name("results.json")

PAPER = {"mnist": 1.1, "mnist, one model": 1.1, "letter": None}
LIMIT = {"mnist": 1.15, "mnist, one model": None, "letter": 3.0}


def model(data: str) -> StagewiseLeastSquaresClassifier:
    """mnist: chosen from Fourier features, logits and polynomials of degree 2, 3, 4 and 6, rows of
    unit length or not, 30 to 100 components, widths 0.5 to 1 and all three updates. letter: widths
    0.35 to 0.6, blocks of 1,024 to 4,096 and all three updates."""
    if data == "letter":
        features = RandomFourier(width="0.35*median")
        return StagewiseLeastSquaresClassifier("calibrated", features, 1024, 40)
    polynomials = RandomPolynomial(degree=4, n_components=50)
    n_models = 1 if data == "mnist, one model" else 4
    return StagewiseLeastSquaresClassifier("calibrated", polynomials, 1024, 60, n_models)


def load(data: str) -> tuple[Any, ...]:
    """mnist's images are scaled to unit length: how dark a pen writes does not matter."""
    if data == "letter":
        return load_letter(return_X_y=True, download_if_missing=False)
    X, y, X_test, y_test = load_mnist(return_X_y=True, download_if_missing=False)
    return normalize(X), y, normalize(X_test), y_test


def measure(data: str, device: str, quick: bool = False) -> dict[str, Any]:
    """Errors and seconds of three draws."""
    put = placed(device)
    X, y, X_test, y_test = load(data)
    if quick:
        X, y = X[:3000], y[:3000]
    X, y, X_test, y_test = map(put, (X.astype("float32"), y, X_test.astype("float32"), y_test))
    chosen = model(data)
    if quick:
        chosen.set_params(n_stages=2)
    timed_fit(chosen, device, X[:2000], y[:2000])  # libraries warm up
    runs = [
        timed_fit(chosen.set_params(random_state=seed), device, X, y)
        for seed in range(1 if quick else 3)
    ]
    cell: dict[str, Any] = {"name": data, "paper": PAPER[data], "limit": LIMIT[data]}
    cell |= mean_and_sd([error(fitted, X_test, y_test) for fitted, _ in runs])
    cell["seconds"] = [round(seconds, 2) for _, seconds in runs]
    cell["model"] = " ".join(str(chosen).split())
    if device.startswith("cuda"):
        fitted, seconds = runs[-1]
        generator = fitted.features
        inputs = generator.n_components or X.shape[1]
        products = getattr(generator, "degree", 0.5)  # cosines and sines share a product
        work = operations(fitted, len(y), 2 * inputs * products * fitted.block_size)
        cell["share of matrix rate"] = round(work / seconds / matrix_rate(device), 3)
    return cell


def line(cell: dict[str, Any]) -> str:
    verdict = "" if cell["limit"] is None else "ok" if cell["error"] <= cell["limit"] else "MISSED"
    share = cell.get("share of matrix rate")
    return (
        f"{cell['name']:<17} {cell['error']:.2f} ± {cell['sd']:.2f}  limit {cell['limit']}  "
        f"{verdict}  {cell['seconds']} s"
        + (f", {100 * share:.0f} % of the matrix rate" if share else "")
    )


def main() -> None:
    args = arguments(__doc__.splitlines()[0])
    cells = []
    for data in PAPER:
        if args.only in data:
            cells.append(measure(data, args.device, args.quick))
            print(line(cells[-1]), flush=True)
    if not args.quick:
        save(RESULTS, args.device, cells, "name")


if __name__ == "__main__":
    main()
