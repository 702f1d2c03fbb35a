"""The data sets of the AMM paper that are tables of rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from multiplane import datasets

from .. import protocol

# By the paper's name ("ijcnn" apart); mnist_bin and mnist_mc are the 60,000 images themselves.
LOADERS = {
    "a9a": "load_a9a",
    "ijcnn1": "load_ijcnn1",
    "mnist_bin": "load_mnist",
    "mnist_mc": "load_mnist",
    "webspam": "load_webspam",
    "rcv1_bin": "load_rcv1",
    "url": "load_url",
}


@lru_cache(maxsize=1)
def rows(name: str, most: int) -> tuple[Any, ...]:
    """X, y, X_test, y_test with all attributes within [-1, 1]; `most` rows of each, 0: all."""
    load = getattr(datasets, LOADERS[name])
    # A quick form does not begin with downloads.
    X, y, X_test, y_test = load(return_X_y=True, download_if_missing=not most)
    if name == "mnist_bin":
        y, y_test = datasets.round_digits(y), datasets.round_digits(y_test)
    return protocol.some_rows((X, y, X_test, y_test), most)
