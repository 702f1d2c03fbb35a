"""Evidence for decision 7: what each part of MultiplaneClassifier's training is worth.

Error in % on held-out training rows, and hyperplanes, one thing being changed at a time: three
splits of the training data (80/20); test sets are not read.

    python -m experiments.decisions.levers
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from multiplane import MultiplaneClassifier

from ..flagship.errors.run import LOAD
from ..protocol import error

FIXED: dict[str, Any] = {"n_hyperplanes": 30, "alpha": 1e-6, "scale": "uniform"}
LEVERS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "steps are the winner's alone": {"sharing": 0.0},
    "shared twice as widely": {"sharing": 4.0},
    "first steps a third": {"step": 1.0},
    "first steps twice as long": {"step": 6.0},
    "20 passes": {"max_iter": 20},
    "standard scaling": {"scale": "standard"},
    "not scaled": {"scale": None},
    "8 centres a class": {"n_hyperplanes": 8},
    "90 centres a class": {"n_hyperplanes": 90},
    "λ = 1e-4": {"alpha": 1e-4},
    "all chosen by trial": {"n_hyperplanes": "auto", "alpha": "auto", "scale": "auto"},
}
DATA = ("4x4", "6x6", "letter", "ijcnn1", "usps", "a9a")


def main() -> None:
    for name in DATA:
        X, y, *_ = LOAD[name](0)
        for lever, change in LEVERS.items():
            errors, sizes = [], []
            for seed in range(3):
                split = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
                clf = MultiplaneClassifier(**{**FIXED, **change}, random_state=seed)
                clf.fit(split[0], split[2])
                errors.append(error(clf, split[1], split[3]))
                sizes.append(clf.n_hyperplanes_)
            print(f"{name:<8} {lever:<30} {np.mean(errors):6.2f} %   {sizes}", flush=True)


if __name__ == "__main__":
    main()
