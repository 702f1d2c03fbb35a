"""Evidence for decision 15: how hyperplanes learnt in several places are mixed.

    python -m experiments.decisions.mixing rules          # on a fifth of the training rows
    python -m experiments.decisions.mixing steps          # the flagship's, on covertype: 6 minutes
    python -m experiments.decisions.mixing chains         # the flagship's, likewise: 20 minutes
    python -m experiments.decisions.mixing errors [DATA, ALGORITHM or SEEDS …]  # on the test rows

`rules`, `steps` and `chains` compare without a look at test data. `errors` is what the defaults
give beside one machine at equal passes. Partitions are cut from the rows in the order of their
files, which is one of time for ijcnn1 and of place for covertype: neighbours are alike.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

import multiplane
from multiplane.data import Block
from multiplane.datasets import load_covtype, load_ijcnn1, load_mnist, round_digits
from multiplane.solvers._engine import Here, Part

PARTS = (1, 2, 4, 8, 32)
SEEDS = {"ijcnn1": 3, "covertype": 1, "mnist": 1}
ALGORITHMS: dict[str, Any] = {
    "AMM": multiplane.AMMClassifier,
    "GAMM": multiplane.GAMMClassifier,
    "flagship": multiplane.MultiplaneClassifier,
}


def load(name: str) -> tuple[Any, ...]:
    """Training and test rows, in the order of the files."""
    if name == "ijcnn1":
        return tuple(load_ijcnn1(return_X_y=True, download_if_missing=False))
    if name == "mnist":  # round digits against the others
        X, y, Xt, yt = load_mnist(return_X_y=True, download_if_missing=False)
        return X, round_digits(y), Xt, round_digits(yt)
    X, y = load_covtype(return_X_y=True, download_if_missing=False)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)
    test = np.zeros(len(y), dtype=bool)
    test[np.random.RandomState(0).permutation(len(y))[: len(y) // 5]] = True
    mean, deviation = X[~test].mean(axis=0), X[~test].std(axis=0)
    X = (X - mean) / np.where(deviation > 0, deviation, 1)
    return X[~test], y[~test], X[test], y[test]


def cut(X: Any, y: Any, n_parts: int) -> Here:
    ends = np.linspace(0, len(y), n_parts + 1).astype(int)
    return Here(
        [Part(i, Block(X[a:b], y[a:b])) for i, (a, b) in enumerate(pairwise(ends.tolist()))]
    )


def error(clf: Any, X: Any, y: Any) -> float:
    return 100 * float(np.mean(clf.predict(X) != y))


def rules() -> None:
    cases = [("mean", n) for n in (1, 8, 32, 128)] + [("sum", n) for n in (64, 512, 2048)]
    print(
        "| data | algorithm | one machine | partitions | " + " | ".join(map(_named, cases)) + " |"
    )
    print("|---|---|---|---|" + "---|" * len(cases))
    for name in ("ijcnn1", "covertype"):
        X, y = load(name)[:2]
        some = np.sort(np.random.RandomState(1).permutation(len(y))[:60_000])
        X, y = X[some], y[some]
        held = np.random.RandomState(2).random_sample(len(y)) < 0.2
        X, y, Xt, yt = X[~held], y[~held], X[held], y[held]
        for algorithm, kind in ALGORITHMS.items():
            alone = error(kind(random_state=0).fit(X, y), Xt, yt)
            for n_parts in (2, 8, 32):
                found = []
                for rule, rounds in cases:
                    if algorithm == "flagship" and rounds > 32:
                        found.append("")
                        continue
                    clf = kind(random_state=0)._fit_parts(
                        cut(X, y, n_parts), mixing=rule, rounds=rounds
                    )
                    found.append(f"{error(clf, Xt, yt):.2f}")
                start = f"| {name} | {algorithm} | {alone:.2f} | {n_parts} | "
                print(start + " | ".join(found) + " |", flush=True)


def _named(case: tuple[str, int]) -> str:
    return f"{case[0]}, {case[1]}"


def steps() -> None:
    """A fifth of covertype's training rows is held out; all but the step is the same."""
    X, y = load("covertype")[:2]
    held = np.random.RandomState(2).random_sample(len(y)) < 0.2
    X, y, Xt, yt = X[~held], y[~held], X[held], y[held]
    same: dict[str, Any] = {"n_hyperplanes": 270, "alpha": 1.5e-8, "scale": "standard"}
    print("| step | one machine | 2 | 8 |\n|---|---|---|---|")
    for step in (3.0, 1.5, 0.75):
        made = multiplane.MultiplaneClassifier(**same, step=step, max_iter=20, random_state=0)
        cells = []
        for n_parts in (0, 2, 8):
            clf = clone(made)
            if n_parts:
                clf._fit_parts(cut(X, y, n_parts), mixing="mean", rounds=128)
            else:
                clf.fit(X, y)
            cells.append(f"{error(clf, Xt, yt):.2f} ({clf.n_hyperplanes_})")
        print(f"| {step} | {' | '.join(cells)} |", flush=True)


def chains() -> None:
    """As `steps`, with three seeds: rows in the order of their files, or exchanged beforehand; in
    chains, or the mean in 128 rounds."""
    X, y = load("covertype")[:2]
    held = np.random.RandomState(2).random_sample(len(y)) < 0.2
    X, y, Xt, yt = X[~held], y[~held], X[held], y[held]
    same: dict[str, Any] = {"n_hyperplanes": 270, "alpha": 1.5e-8, "scale": "standard"}
    print("| seed | one machine | chain: 2 | 8 | 32 | mean: 2 | 8 | mean, exchanged: 2 | 8 |")
    print("|---|---|---|---|---|---|---|---|---|")
    mixture = np.random.RandomState(5).permutation(len(y))
    for seed in range(3):
        made = multiplane.MultiplaneClassifier(**same, max_iter=20, random_state=seed)
        found = [clone(made).fit(X, y)]
        found += [clone(made)._fit_parts(cut(X, y, n)) for n in (2, 8, 32)]
        for rows in (np.arange(len(y)), mixture):
            parts = [cut(X[rows], y[rows], n) for n in (2, 8)]
            found += [clone(made)._fit_parts(p, mixing="mean", rounds=128) for p in parts]
        cells = [f"{error(clf, Xt, yt):.2f} ({clf.n_hyperplanes_})" for clf in found]
        print(f"| {seed} | {' | '.join(cells)} |", flush=True)


def errors(*wanted: str) -> None:
    print("| data | algorithm | one machine | " + " | ".join(map(str, PARTS)) + " | hyperplanes |")
    print("|---|---|---|" + "---|" * (len(PARTS) + 1))
    numbers = [int(word) for word in wanted if word.isdigit()]
    algorithms = {name: ALGORITHMS[name] for name in wanted if name in ALGORITHMS} or ALGORITHMS
    for name in [name for name in wanted if name in SEEDS] or SEEDS:
        X, y, Xt, yt = load(name)
        for algorithm, kind in algorithms.items():
            began = time.perf_counter()
            seeds = range(numbers[0] if numbers else SEEDS[name])
            alone = [kind(random_state=seed).fit(X, y) for seed in seeds]
            sizes = [np.mean([clf.n_hyperplanes_ for clf in alone])]
            found = []
            for n_parts in PARTS:
                own = [kind(random_state=s)._fit_parts(cut(X, y, n_parts)) for s in seeds]
                found.append(f"{np.mean([error(clf, Xt, yt) for clf in own]):.2f}")
                sizes.append(np.mean([clf.n_hyperplanes_ for clf in own]))
            single = np.mean([error(clf, Xt, yt) for clf in alone])
            row = f"| {name} | {algorithm} | {single:.2f} | " + " | ".join(found)
            print(f"{row} | {', '.join(f'{size:.0f}' for size in sizes)} |", flush=True)
            print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    {"rules": rules, "steps": steps, "chains": chains, "errors": errors}[sys.argv[1]](*sys.argv[2:])
