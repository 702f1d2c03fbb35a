"""Evidence for decision 14: rules for mixing budgeted kernel machines.

Error in % on a fifth of the training rows, the other four fifths being learnt in three passes at a
budget of 100, by one learner or by parts that mix; mean over three permutations. "sorted": the
parts are cut from rows sorted by label. No test data is looked at.

    python -m experiments.decisions.mixing_kernels
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.preprocessing import StandardScaler

from multiplane import BudgetedPegasosClassifier, _native
from multiplane.data import Examples, Matrix
from multiplane.datasets import load_ijcnn1, load_letter, load_usps, make_checkerboard
from multiplane.solvers._engine import groups
from multiplane.solvers._kernel_mixing import KernelDelta, KernelMixing

PASSES, BUDGET, SEEDS = 3, 100, 3
SETS = {  # λ, and γd for standardised features
    "usps": (load_usps, 1e-3, 1),
    "letter": (load_letter, 1e-4, 4),
    "ijcnn1": (load_ijcnn1, 1e-4, 4),
    "checkerboard": (None, 1e-4, 16),
}
# What ‖Δ_p‖² is taken for: g is that by ‖Δ‖², at least 1, at most the number of parts.
RULES = {"mean": 0.0, "sum": np.inf, "g": None}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    loader, _, _ = SETS[name]
    if loader is None:
        X, y = make_checkerboard(4, 4, n=20_000, random_state=0)
    else:
        X, y, *_ = loader(return_X_y=True, download_if_missing=False)
        X, y = X[:20_000], y[:20_000]
    X = X.toarray() if hasattr(X, "toarray") else X
    _, codes = np.unique(y, return_inverse=True)
    return StandardScaler().fit_transform(X).astype(np.float32), codes.astype(np.int32)


def error(
    name: str, data: tuple, n_parts: int, n_mixes: int, rule: str, sort: bool, seed: int
) -> float:
    X, y = data
    _, alpha, width = SETS[name]
    random = np.random.RandomState(seed)
    held, rows = np.split(random.permutation(len(y)), [len(y) // 5])
    if sort:
        rows = rows[np.argsort(y[rows], kind="stable")]
    clf = BudgetedPegasosClassifier(alpha, gamma=width / X.shape[1], budget=BUDGET)
    examples = Examples(Matrix(X), y)
    clf.alpha_, clf.gamma_ = clf.alpha, clf.gamma
    learner = clf._make_learner(examples, len(np.unique(y)), seed)
    state, mixing = learner.__getstate__(), KernelMixing(n_parts)
    parts = np.array_split(rows, n_parts)
    for _ in range(PASSES):
        shares = [np.array_split(random.permutation(part), n_mixes) for part in parts]
        for orders in zip(*shares, strict=True):
            found = [mixing.local_step(state, examples, o, p) for p, o in enumerate(orders)]
            for level in groups(n_parts):
                found = [mixing.merge(found[group]) for group in level]
            delta = found[0]
            if isinstance(delta, KernelDelta) and (length := RULES[rule]) is not None:
                delta = replace(delta, squared_length=length)
            state = mixing.apply(state, delta)
    learner = _native.KernelLearner.__new__(_native.KernelLearner)
    learner.__setstate__(state)
    winners = learner.snapshot().winners(_native.dense_rows(X[held]))
    return 100 * float(np.mean(winners != y[held]))


def main() -> None:
    cases = [(8, n, sort) for sort in (False, True) for n in (4, 32, 128)]
    cases += [(n, 32, False) for n in (2, 4, 32)]
    print("| data | parts | mixes a pass | " + " | ".join(RULES) + " |")
    print("|---|---|---|" + "---|" * len(RULES))
    for name in SETS:
        data = load(name)
        for n_parts, n_mixes, sort in [(1, 1, False), *cases]:
            means = []
            for rule in RULES if n_parts > 1 else ("g",):
                errors = [
                    error(name, data, n_parts, n_mixes, rule, sort, seed) for seed in range(SEEDS)
                ]
                means.append(f"{np.mean(errors):.2f} ± {np.std(errors):.2f}")
            label = f"{n_parts}{', sorted' if sort else ''}"
            print(f"| {name} | {label} | {n_mixes} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
