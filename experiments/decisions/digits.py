"""Evidence for decision 16: how strongly digits are deformed. And their picture.

Error in % of AMM on the last 10,000 training images, which nothing was learnt from, after 500,000
rows made of the other 50,000; mean and standard deviation over three seeds. Behind it: error on
deformed versions of the 10,000, of models that have learnt from plain images. No test data is
looked at.

    python -m experiments.decisions.digits
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multiplane import AMMClassifier
from multiplane.datasets import load_mnist
from multiplane.datasets._digit_source import DigitSource, Strength

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "infinite-digits.png"
ROWS, SEEDS, N_LEARNT = 500_000, 3, 50_000
AFFINE = Strength(rotation=0.15, scale=0.1, shear=0.15, shift=0.75, elastic=0)
SHARES = (0, 0.5, 0.75, 1, 1.5)  # of these
ELASTIC = (0, 0.5, 0.75, 1, 1.5)  # pixels


def learnt(images: np.ndarray, y: np.ndarray, strength: Strength, seed: int) -> AMMClassifier:
    rows = DigitSource(images, y, seed, ROWS, 1_000, strength)
    return AMMClassifier(alpha=1e-5, random_state=seed).fit_stream(rows, max_iter=1, shuffle=False)


def error(clf: AMMClassifier, X: np.ndarray, y: np.ndarray) -> float:
    return 100 * (1 - clf.score(X, y))


def main() -> None:
    data = load_mnist(download_if_missing=False)
    images, y = np.rint(data.X_train * 255).astype(np.uint8), data.y_train
    draw(images)
    first, last = (images[:N_LEARNT], y[:N_LEARNT]), (images[N_LEARNT:], y[N_LEARNT:])
    plain = [learnt(*first, Strength(0, 0, 0, 0, 0), seed) for seed in range(SEEDS)]
    print("| affine | " + " | ".join(f"elastic {e:g}" for e in ELASTIC) + " |")
    print("|---|" + "---|" * len(ELASTIC))
    for share in SHARES:
        cells = []
        for elastic in ELASTIC:
            strength = Strength(*(share * most for most in AFFINE))._replace(elastic=elastic)
            clfs = [learnt(*first, strength, seed) for seed in range(SEEDS)]
            found = [error(clf, data.X_train[N_LEARNT:], last[1]) for clf in clfs]
            X, labels, _ = DigitSource(*last, SEEDS, 10_000, 1_000, strength).load()
            read = np.mean([error(clf, X, labels) for clf in plain])
            cells.append(f"{np.mean(found):.2f} ± {np.std(found):.2f}, {read:.1f}")
        print(f"| × {share:g} | {' | '.join(cells)} |", flush=True)


def draw(images: np.ndarray) -> None:
    """An image on the left, five deformed versions of it beside; ten rows in two columns."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    number = np.arange(10)
    lines = []
    for image in images[:10]:
        X, _, _ = DigitSource(image[None], number[:1], len(lines), 5, 5).load()
        lines.append(np.hstack([image / 255.0, *X]).reshape(6, 28, 28).transpose(1, 0, 2))
    grid = np.hstack([np.vstack([line.reshape(28, -1) for line in lines[i::2]]) for i in (0, 1)])
    figure = plt.figure(figsize=(6, 2.5))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(grid, cmap="gray_r")
    axes.vlines([28 - 0.5, 168 - 0.5, 196 - 0.5], -0.5, 139.5, colors=["C0", "k", "C0"], lw=1)
    axes.set_axis_off()
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
