"""Should t start again at 1 for each sub-problem of the batch algorithms? (decision 3)

Batch AMM and GAMM with and without the reset, last and averaged model, three seeds. λ is read off
the test set, for both sides alike: this compares rules, not algorithms.

    python -m experiments.decisions.reset_t
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multiplane import _native
from multiplane.data import Examples, Matrix
from multiplane.datasets import load_a9a, load_ijcnn1, load_letter, load_usps
from multiplane.models._hyperplanes import HyperplaneModel

DATA = {
    "a9a": (load_a9a, 5, (1e-2, 3e-3, 1e-3, 3e-4)),
    "ijcnn1": (load_ijcnn1, 15, (1e-4, 1e-5, 1e-6)),
    "letter": (load_letter, 15, (1e-4, 1e-5, 1e-6)),
    "usps": (load_usps, 15, (1e-2, 1e-3, 1e-4)),
}
PRUNE_EVERY = 10_000


def train(
    examples: Examples, passes: int, threshold: float, reset: bool, seed: int, **config: Any
) -> _native.Learner:
    learner = _native.Learner(
        n_features=examples.X.shape[1],
        n_classes=int(examples.y.max()) + 1,
        bias=1.0,
        adaptive=True,
        ball_projection=False,
        growth_decay=0.99,
        seed=seed,
        **config,
    )
    random = np.random.RandomState(seed)
    z = np.full(len(examples), -1, dtype=np.int32)
    for number in range(passes):
        if number > 0:
            z = examples.assign(learner, 1)
            if reset:
                learner.restart()
        order, done = random.permutation(examples.rows()), 0
        while done < len(order):
            n = PRUNE_EVERY - (learner.t - 1) % PRUNE_EVERY
            examples.learn(learner, order[done : done + n], z, obey=number > 0)
            done += n
            if (learner.t - 1) % PRUNE_EVERY == 0:
                learner.prune(threshold)
    return learner


def main() -> None:
    for name, (load, passes, alphas) in DATA.items():
        X, y, X_test, y_test = load(return_X_y=True)
        classes, codes = np.unique(y, return_inverse=True)
        examples, test = Examples(Matrix(X), codes.astype(np.int32)), Matrix(X_test)
        for growth, threshold in ((0.0, 10.0), (0.2, 50.0)):
            for average in (False, True):
                best = {}
                for reset in (False, True):
                    means = []
                    for alpha in alphas:
                        errors = []
                        for seed in range(3):
                            learner = train(
                                examples,
                                passes,
                                threshold,
                                reset,
                                seed,
                                lam=alpha,
                                growth=growth,
                                average=average,
                            )
                            model = HyperplaneModel(learner.snapshot(), len(classes))
                            errors.append(100 * np.mean(classes[model.predict(test)] != y_test))
                        means.append(float(np.mean(errors)))
                    best["reset" if reset else "kept"] = min(means)
                print(
                    f"{name:<8} {'GAMM' if growth else 'AMM':<5} "
                    f"{'averaged' if average else 'last':<9} "
                    + "  ".join(f"{rule} {error:6.2f}" for rule, error in best.items()),
                    flush=True,
                )


if __name__ == "__main__":
    main()
