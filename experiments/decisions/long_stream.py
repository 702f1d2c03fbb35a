"""Are float32 sums harmless in a stream of 10⁸ rows? (decision 2)

In scaled space U grows with λt while an addition stays as long as a row: once |U| > 2²⁴ |x| it is
lost. And the average C·U − V is a difference of large numbers. The error on fresh data over the
length of the stream tells whether either does harm; a large λ is the hard case.

    python -m experiments.decisions.long_stream [rows]
"""

from __future__ import annotations

import sys

import numpy as np

from multiplane import AMMClassifier
from multiplane.datasets import make_checkerboard

BLOCK = 1_000_000


def main() -> None:
    total = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    X_test, y_test = make_checkerboard(2, 2, n=100_000, random_state=999)
    for alpha in (1e-1, 1e-2, 1e-4):
        for average in (True, False):
            clf = AMMClassifier(alpha=alpha, average=average, random_state=0)
            shown = BLOCK
            for number in range(1, total // BLOCK + 1):
                # A hundred different blocks, over and over.
                X, y = make_checkerboard(2, 2, n=BLOCK, random_state=number % 100)
                clf.partial_fit(X, y, classes=[0, 1])
                if number * BLOCK < shown:
                    continue
                shown *= 10
                error = 100 * (1 - clf.score(X_test, y_test))
                largest = float(np.abs(clf._training.learner.__getstate__()["U"]).max())
                rule = "averaged" if average else "last"
                print(
                    f"λ {alpha:<6g} {rule:<9} rows {number * BLOCK:>11,}  error {error:.3f} %  "
                    f"largest |U| {largest:.3g} = 2^{np.log2(largest):.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
