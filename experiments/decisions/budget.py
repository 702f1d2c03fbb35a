"""Evidence for decision 5: averaging and the search for partners, by kind of maintenance.

Accuracy in % on a fifth of the training rows, the other four fifths being learnt in one pass; mean
and standard deviation over five permutations. No test data is looked at.

    python -m experiments.decisions.budget
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.preprocessing import StandardScaler

from multiplane import BudgetedPegasosClassifier
from multiplane.datasets import load_letter, load_usps

CHOICES = {
    "merge": {"maintenance": "merge"},
    "merge, best of all pairs": {"maintenance": "merge", "merge_search": "all"},
    "project": {"maintenance": "project"},
    "remove": {"maintenance": "remove"},
    "random": {"maintenance": "random"},
    "no budget": {"budget": None},
}


def accuracies(X, y, seeds: int = 5, **parameters) -> tuple[list[float], float]:
    scores, seconds = [], 0.0
    for seed in range(seeds):
        order = np.random.RandomState(seed).permutation(len(y))
        held, rows = order[: len(y) // 5], order[len(y) // 5 :]
        start = time.perf_counter()
        clf = BudgetedPegasosClassifier(random_state=seed, **parameters).fit(X[rows], y[rows])
        seconds += time.perf_counter() - start
        scores.append(100 * clf.score(X[held], y[held]))
    return scores, seconds / seeds


def main() -> None:
    print("| data, budget | maintenance | γd | last model | averaged | seconds |")
    print("|---|---|---|---|---|---|")
    for name, load in (("usps", load_usps), ("letter", load_letter)):
        X, y, *_ = load(return_X_y=True, download_if_missing=False)
        X = X.toarray() if hasattr(X, "toarray") else X
        X = StandardScaler().fit_transform(X).astype(np.float32)
        d = X.shape[1]
        for budget in (100, 500):
            for label, choice in CHOICES.items():
                if budget == 500 and label in ("merge, best of all pairs", "no budget"):
                    continue  # the one takes minutes, the other has been seen
                for width in (1, 4):
                    settings = {"gamma": width / d, "budget": budget, **choice}
                    last, seconds = accuracies(X, y, average=False, **settings)
                    mean, _ = accuracies(X, y, average=True, **settings)
                    print(
                        f"| {name}, {budget} | {label} | {width} "
                        f"| {np.mean(last):.2f} ± {np.std(last):.2f} "
                        f"| {np.mean(mean):.2f} ± {np.std(mean):.2f} | {seconds:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
