"""Least-squares paper, Table 2: error on 20 newsgroups, words a block of 500 at a time.

Posts of both parts are pooled; 15,000 random ones are for training, the rest for testing; three
such splits. Values are log(1 + count) of words that appear three times or more in the training
posts. "paper" is the published setting: blocks of 500 words in the order of their gradients, two
passes, λ = 30. "ours" and the peers choose from CANDIDATES on a fifth of the training posts, also
for tf-idf values, which the paper does not have. One thread.

    python -m experiments.ls.table2.run [--quick] [--only NAME]
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from multiplane import StagewiseLeastSquaresClassifier
from multiplane.datasets import load_news20
from multiplane.features import FeatureSubset

from ... import protocol

N_TRAIN = 15_000
FEWEST = 3  # times that a word must appear
BLOCK, PASSES = 500, 2
TARGET = 11.7  # the paper's stagewise error
PAPER = {"LinearSVC": 13.8, "SGDClassifier": 12.4}  # theirs are Liblinear and VW

# λ of the sum over rows, as the paper has it; `alpha` is λ/n.
STAGEWISE = [(order, lam) for order in ("gradient", "random") for lam in (1, 3, 10, 30, 100)]
CANDIDATES: dict[str, list[Any]] = {
    "stagewise": STAGEWISE,
    "LinearSVC": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],  # C
    "SGDClassifier": [1e-6, 1e-5, 1e-4, 1e-3],  # alpha
}
# values, model, mode, what to choose from
CELLS: list[tuple[str, str, str, list[Any]]] = [
    ("log tf", "stagewise", "paper", [("gradient", 30)]),
    *(("log tf", model, "ours", options) for model, options in CANDIDATES.items()),
    *(("tf-idf", model, "ours", options) for model, options in CANDIDATES.items()),
]


def build(model: str, choice: Any, n: int, d: int, seed: int) -> Any:
    if model == "LinearSVC":
        return LinearSVC(C=choice, random_state=seed)
    if model == "SGDClassifier":
        return SGDClassifier(loss="log_loss", alpha=choice, random_state=seed)
    order, lam = choice
    return StagewiseLeastSquaresClassifier(
        "linear",
        FeatureSubset(order=order),
        block_size=BLOCK,
        n_stages=PASSES * -(-d // BLOCK),
        alpha=lam / n,
        random_state=seed,
    )


def values(kind: str, train: Any, test: Any) -> tuple[Any, Any]:
    """Counts to values; words and their weights are found in the training rows alone."""
    kept = np.asarray(train.sum(axis=0)).ravel() >= FEWEST
    train, test = train[:, kept].astype(np.float32), test[:, kept].astype(np.float32)
    if kind == "tf-idf":
        weigh = TfidfTransformer(sublinear_tf=True).fit(train)
        return weigh.transform(train), weigh.transform(test)
    return train.log1p(), test.log1p()


def measure(
    kind: str, model: str, choice: Any, data: tuple[Any, ...], seed: int
) -> tuple[float, float, int]:
    """Test error in percent, seconds of training, number of words."""
    X, y, X_test, y_test = data
    X, X_test = values(kind, X, X_test)
    clf = build(model, choice, *X.shape, seed)
    start = time.perf_counter()
    clf.fit(X, y)
    seconds = time.perf_counter() - start
    return protocol.error(clf, X_test, y_test), seconds, X.shape[1]


def cell(
    kind: str, model: str, mode: str, options: list[Any], counts: Any, y: Any, n_splits: int
) -> dict[str, Any]:
    runs, chosen = [], []
    for seed in range(n_splits):
        rows = np.random.RandomState(seed).permutation(len(y))
        train, test = rows[:N_TRAIN], rows[N_TRAIN:]
        best = options[0]
        if len(options) > 1:
            fit, held = train[: 4 * N_TRAIN // 5], train[4 * N_TRAIN // 5 :]
            inner = counts[fit], y[fit], counts[held], y[held]
            best = min(options, key=lambda option: measure(kind, model, option, inner, seed)[0])
        outer = counts[train], y[train], counts[test], y[test]
        runs.append(measure(kind, model, best, outer, seed))
        chosen.append(best)
    errors, seconds, words = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
    return {
        "values": kind,
        "model": model,
        "mode": mode,
        "paper": TARGET if mode == "paper" else PAPER.get(model),
        "limit": TARGET if model == "stagewise" else None,
        "error": round(float(errors.mean()), 3),
        "errors": [round(e, 3) for e in errors.tolist()],
        "seconds": round(float(np.median(seconds)), 3),
        "words": round(float(words.mean())),
        "chosen": chosen,
    }


def line(cell: dict[str, Any]) -> str:
    verdict = ""
    if cell["limit"] is not None:
        verdict = "ok" if cell["error"] <= cell["limit"] else "MISSED"
    paper = "–" if cell["paper"] is None else f"{cell['paper']:.1f}"
    return (
        f"{cell['values']:<7} {cell['model']:<14} {cell['mode']:<6} {cell['error']:6.2f} %   "
        f"paper {paper:>5}  {verdict:<6}  {cell['seconds']:6.2f} s   chosen {cell['chosen']}"
    )


def main() -> None:
    options = protocol.arguments(__doc__ or "")
    X, y, X_test, y_test = load_news20(return_X_y=True)
    counts, y = sp.vstack([X, X_test], format="csr"), np.concatenate([y, y_test])
    cells = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a LinearSVC that is not chosen
        for kind, model, mode, choices in CELLS:
            if options.only not in f"{kind} {model} {mode}" or (options.quick and mode != "paper"):
                continue
            cells.append(cell(kind, model, mode, choices, counts, y, 1 if options.quick else 3))
            print(line(cells[-1]), flush=True)
    if not (options.quick or options.only):
        protocol.save(Path(__file__).with_name("results.json"), cells)


if __name__ == "__main__":
    main()
