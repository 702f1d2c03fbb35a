"""The data sets, small to large: what is learnt from, what is tested on, what is known of them.

Labels are codes from 0, as some libraries demand it. Text is weighted by tf-idf here, for all.
Real data come from files; where they are not, FileNotFoundError says which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from benchmarks.data import sparse_topics
from multiplane import datasets

Split = tuple[Any, Any, Any, Any]  # X, y, X_test, y_test
N_TEST = 20_000  # rows of generated test sets: 0.1 % of error is twenty of them


@dataclass(frozen=True)
class Task:
    """What a solver may know before it is trained."""

    n_rows: int
    n_features: int
    n_classes: int
    sparse: bool
    scale: bool


@dataclass(frozen=True)
class Recipe:
    load: Callable[[], Split]
    # Columns have units of their own; pixels, yes-no and tf-idf have not, and LIBSVM's letter and
    # ijcnn1 have been scaled already.
    scale: bool = True
    limit: float = 60.0  # seconds of the processor for training, and again for prediction
    smaller: str = ""  # the same with fewer rows: who was too slow there is not tried here


def bundled(name: str) -> Callable[[], Split]:
    def load() -> Split:
        split: Split = getattr(datasets, f"load_{name}")(return_X_y=True, download_if_missing=False)
        return split

    return load


def a_fifth(name: str) -> Callable[[], Split]:
    """Those without a test set: a fifth of the rows is one, as in experiments/flagship."""

    def load() -> Split:
        X, y = bundled(name)()
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
        return X, y, X_test, y_test

    return load


def news20() -> Split:
    X, y, X_test, y_test = bundled("news20")()
    weigh = TfidfTransformer(sublinear_tf=True).fit(X)
    return (
        weigh.transform(X).astype(np.float32),
        y,
        weigh.transform(X_test).astype(np.float32),
        y_test,
    )


def board(n: int, n_test: int = N_TEST) -> Callable[[], Split]:
    def load() -> Split:
        parts = ((n, 0), (n_test, 1))
        blocks = [
            next(datasets.stream_checkerboard(n=size, block_size=size, random_state=seed))
            for size, seed in parts
        ]
        return *blocks[0], *blocks[1]

    return load


def waves() -> Split:
    return *datasets.make_waveform(1_000_000, random_state=0), *datasets.make_waveform(
        N_TEST, random_state=1
    )


def topics() -> Split:
    X, y = sparse_topics(n=100_000 + N_TEST)
    return X[:-N_TEST], y[:-N_TEST], X[-N_TEST:], y[-N_TEST:]


DATASETS = {
    "cifar10-small": Recipe(bundled("cifar10_small"), scale=False),
    "waveform": Recipe(a_fifth("waveform")),
    "usps": Recipe(bundled("usps"), scale=False),
    "checkerboard-1e4": Recipe(board(10_000)),
    "letter": Recipe(bundled("letter"), scale=False),
    "news20": Recipe(news20, scale=False),
    "a9a": Recipe(bundled("a9a"), scale=False),
    "ijcnn1": Recipe(bundled("ijcnn1"), scale=False),
    "checkerboard-1e5": Recipe(board(100_000), smaller="checkerboard-1e4"),
    "mnist": Recipe(bundled("mnist"), scale=False, limit=300),
    "topics": Recipe(topics, scale=False),
    "covtype": Recipe(a_fifth("covtype"), limit=300),
    "checkerboard-1e6": Recipe(board(1_000_000), smaller="checkerboard-1e5"),
    "waveform-1e6": Recipe(waves, smaller="waveform"),
    "checkerboard-1e7": Recipe(board(10_000_000), smaller="checkerboard-1e6"),
}
QUICK = {"quick": Recipe(board(2_000, 500))}


def load(name: str) -> tuple[Task, Split]:
    recipe = {**DATASETS, **QUICK}[name]
    X, y, X_test, y_test = recipe.load()
    labels, y = np.unique(y, return_inverse=True)
    task = Task(*X.shape, len(labels), hasattr(X, "tocsr"), recipe.scale)
    return task, (X, y, X_test, np.searchsorted(labels, y_test))
