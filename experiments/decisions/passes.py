"""Evidence for decision 7: hyperplanes and passes on covertype, where much is left to learn.

Error in % on a fifth of the training rows, seconds of one core, one split; test rows are not read.

    python -m experiments.decisions.passes
"""

from __future__ import annotations

import time

from sklearn.model_selection import train_test_split

from multiplane import MultiplaneClassifier

from ..flagship.errors.run import LOAD
from ..protocol import error

# Hyperplanes a class, passes, λ times the number of steps.
TRAININGS = [
    (201, 20, 6.0),
    (600, 20, 6.0),
    (90, 60, 2.0),
    (201, 60, 2.0),
    (600, 60, 2.0),
    (90, 120, 2.0),
    (201, 120, 2.0),
    (201, 60, 6.0),
    (201, 60, 0.6),
]


def main() -> None:
    X, y, *_ = LOAD["covertype"](0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    for number, passes, alpha in TRAININGS:
        clf = MultiplaneClassifier(
            number,
            alpha=alpha / (len(y) * passes),
            scale="standard",
            max_iter=passes,
            random_state=0,
        )
        start = time.process_time()
        clf.fit(X, y)
        seconds = time.process_time() - start
        print(
            f"{number:>4} a class, {passes:>3} passes, λ · steps = {alpha:<4g}"
            f"{error(clf, X_test, y_test):8.2f} %{seconds:8.1f} s   {clf.n_hyperplanes_}",
            flush=True,
        )


if __name__ == "__main__":
    main()
