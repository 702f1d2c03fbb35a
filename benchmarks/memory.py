"""Resident memory while fitting 60,000 × 784 float32 numbers; prints JSON."""

from __future__ import annotations

import json
import threading
import time

from benchmarks.data import dense_clusters
from benchmarks.measure import resident
from multiplane import AMMClassifier


def main() -> None:
    X, y = dense_clusters()
    warm = AMMClassifier(alpha=1e-4, max_iter=1, random_state=0).fit(X[:2000], y[:2000])
    warm.predict(X[:100])
    before = peak = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    clf = AMMClassifier(alpha=1e-4, max_iter=3, random_state=0).fit(X, y)
    done.set()
    watcher.join()
    # U and V, in whole tiles of sixteen hyperplanes.
    model = 2 * -(-clf.n_hyperplanes_ // 16) * 16 * (X.shape[1] + 1) * 4 / 2**20
    print(
        json.dumps(
            {"data": X.nbytes / 2**20, "model": model, "extra": max(0.0, peak - before - model)}
        )
    )


if __name__ == "__main__":
    main()
