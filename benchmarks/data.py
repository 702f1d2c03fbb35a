"""Generated data with the shape of the problems that the bars speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def sparse_topics(
    n: int = 200_000, d: int = 47_236, n_values: int = 75, n_topics: int = 60, seed: int = 0
) -> tuple[Any, Any]:
    """Rows like short texts after signed feature hashing: CSR float32, two classes.

    Words follow Zipf's law; a third of a row's words come from its topic. Each word has a random
    sign, rows have the length 1, and half of the topics belong to each class.
    """
    random = np.random.RandomState(seed)
    topic = random.randint(n_topics, size=n)

    def draw(size: int) -> Any:
        share = np.cumsum(1 / (np.arange(size) + 10.0))
        return np.searchsorted(share / share[-1], random.random_sample((n, n_values)))

    own = np.stack([random.permutation(d)[:2_000] for _ in range(n_topics)])
    from_topic = random.random_sample((n, n_values)) < 1 / 3
    words = np.where(from_topic, own[topic[:, None], draw(2_000)], draw(d)).astype(np.int32)
    words.sort(axis=1)
    indptr = np.arange(0, n * n_values + 1, n_values, dtype=np.int32)
    X = sp.csr_matrix((np.ones(n * n_values, np.float32), words.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    X.data *= random.choice([-1.0, 1.0], size=d).astype(np.float32)[X.indices]
    length = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(length, np.diff(X.indptr))
    return X, topic % 2


def dense_clusters(
    n: int = 60_000, d: int = 784, n_classes: int = 10, n_clusters: int = 320, seed: int = 0
) -> tuple[Any, Any]:
    """Gaussian clusters without a single zero, float32; a class owns every tenth of them."""
    random = np.random.RandomState(seed)
    centres = random.standard_normal((n_clusters, d)).astype(np.float32)
    cluster = random.randint(n_clusters, size=n)
    X = random.standard_normal((n, d)).astype(np.float32)
    X += centres[cluster]
    X /= np.float32(d**0.5)
    return X, cluster % n_classes
