"""Least-squares paper, Figure 1(b): singular values of mnist's features, NEWS20 and RCV1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from multiplane.datasets import load_mnist
from multiplane.features import RandomFourier

from ... import protocol
from ...catalogue import Config, Task
from ...pictures import save
from ...records import Record, mean, record
from ..table2.run import split, values


def tasks(config: Config) -> list[Task]:
    return [Task(row, "spectrum", "paper") for row in ("mnist", "NEWS20", "RCV1")]


def matrix(row: str, config: Config) -> Any:
    """In float64: squares of mnist's singular values span ten powers of ten."""
    seed = config["seed"]
    if row == "mnist":
        data = load_mnist(return_X_y=True, download_if_missing=False)
        X = protocol.some_rows(data, config["rows"])[0].astype(np.float64)
        n_components = config["n_components"]
        fourier = RandomFourier(config["features"], n_components=n_components, random_state=seed)
        return fourier.fit_transform(X)
    X, *_ = values(row, split(row, seed, config), config["fewest"])
    return X.astype(np.float64)


def singular_values(X: Any, k: int) -> Any:
    """The largest k, in descending order."""
    if not sp.issparse(X):
        d = X.shape[1]
        squares = scipy.linalg.eigvalsh(X.T @ X, subset_by_index=(d - k, d - 1))
        return np.sqrt(np.maximum(squares[::-1], 0))
    return svds(X, k, return_singular_vectors=False, v0=np.ones(min(X.shape)))[::-1]


def measure(task: Task, config: Config) -> Iterator[Record]:
    found = singular_values(matrix(task.row, config), config["values"])
    share = np.cumsum(found) / np.sum(found)
    yield record(
        *task, seeds=[config["seed"]], curve=share.round(5).tolist(), ratio=[found[1] / found[-1]]
    )


def draw(records: list[Record], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    for found in records:
        if "missing" not in found:
            axes.plot(range(1, len(found["curve"]) + 1), found["curve"], label=found["row"])
    axes.set(xlabel="largest singular values", ylabel="share of the sum of all shown")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    save(figure, path)


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    found = {r["row"]: mean(r, "ratio") for r in records}
    for text in ("NEWS20", "RCV1"):
        if "mnist" in found and text in found:
            yield (
                f"{text} is well-conditioned, mnist is not",
                found[text] < 100 and found["mnist"] > 10_000,
                f"ratios of {found[text]:.1f} and {found['mnist']:,.0f}",
            )
