"""Evidence for decision 7: trials tested on a thousand rows, or until it is clear what is better.

    python -m experiments.decisions.folds [DATA …]

A fifth of the training rows is held out, at random, eight times. Test rows are not read. Ten
minutes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from multiplane import MultiplaneClassifier
from multiplane.estimators import _multiplane
from multiplane.solvers._selection import folds

from ..flagship.errors.run import LOAD

NAMES = ("usps", "a9a", "letter", "ijcnn1", "6x6")
SPLITS = 8


def few(y: Any, random: Any, enough: float) -> Any:
    return folds(y, random)


def main(*names: str) -> None:
    print("| data | a thousand rows | until it is clear | seconds, each |\n|---|---|---|---|")
    for name in names or NAMES:
        means, seconds = [], []
        for rule in (few, folds):
            _multiplane.folds = rule
            errors, began = [], time.process_time()
            for seed in range(SPLITS):
                X, y, _, _ = LOAD[name](seed)
                held = np.random.RandomState(100 + seed).random_sample(len(y)) < 0.2
                clf = MultiplaneClassifier(random_state=seed).fit(X[~held], y[~held])
                errors.append(100 * np.mean(clf.predict(X[held]) != y[held]))
            means.append(f"{np.mean(errors):.2f}")
            seconds.append(f"{(time.process_time() - began) / SPLITS:.1f}")
        print(f"| {name} | {' | '.join(means)} | {', '.join(seconds)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
