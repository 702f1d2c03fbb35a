"""Evidence for decision 7: GAMM's growth cannot be found as λ is, in one reading.

For each growth the error in % after training (λ by one reading, held-out rows), and that of one
reading, each row being predicted before it is learnt, with the best λ for it: it is by these that
alpha="auto" chooses. Three splits of the training rows; test rows are not read.

    python -m experiments.decisions.growth
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multiplane import GAMMClassifier
from multiplane.data import Examples, Matrix
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.solvers._selection import progressive

from ..flagship.errors.run import LOAD
from ..protocol import error

GROWTH = (0.0, 0.05, 0.2, 0.5, 1.0)
DATA = ("4x4", "6x6", "letter", "ijcnn1", "usps")


def one_reading(clf: GAMMClassifier, X: Any, y: Any, seed: int) -> float:
    """The error on three quarters of the rows of a trial, with the best λ."""
    examples = Examples(Matrix(X), y, None)
    order = np.random.RandomState(seed).permutation(len(y))[: clf._trial_rows]
    learners = []
    for alpha in clf._alphas:
        clf.alpha_ = alpha
        learners.append(clf._make_learner(examples, len(clf.classes_), seed))
    wrong = progressive(learners, HyperplaneModel, examples, order)
    return 100 * min(wrong) / (len(order) - len(order) // 4)


def main() -> None:
    print("growth   " + " " * 16 + "".join(f"{growth:8g}" for growth in GROWTH))
    for name in DATA:
        X, y, *_ = LOAD[name](0)
        trained, read = np.zeros((2, 3, len(GROWTH)))
        for seed in range(3):
            split = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
            scaler = StandardScaler().fit(split[0])
            X_train, X_test = (scaler.transform(part).astype(np.float32) for part in split[:2])
            for i, growth in enumerate(GROWTH):
                clf = GAMMClassifier(growth=growth, alpha="auto", random_state=seed)
                clf.fit(X_train, split[2])
                trained[seed, i] = error(clf, X_test, split[3])
                codes = np.searchsorted(clf.classes_, split[2]).astype(np.int32)
                read[seed, i] = one_reading(clf, X_train, codes, seed)
        for what, errors in (("trained", trained), ("in one reading", read)):
            means = "".join(f"{mean:8.2f}" for mean in errors.mean(axis=0))
            print(f"{name:<9}{what:<16}{means}", flush=True)


if __name__ == "__main__":
    main()
