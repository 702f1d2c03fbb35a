"""AutoClassifier in 60 seconds, beside each family at its best, on nine data sets.

For each family its most promising candidate, by what `explore` measured on training rows, is
trained on all training rows, with as much time as it needs (30 minutes at most). AutoClassifier
should come within a tenth of the best of them, inside its time. Means of two seeds of both (one
for families that need more than 20 seconds); the test sets choose nothing.

    python -m experiments.auto.run [--quick] [--only NAME]

An interrupted run resumes from out/auto.json. One core (OMP_NUM_THREADS=1): two are no faster here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from multiplane import AutoClassifier, Exploration, datasets
from multiplane.exploration._race import fitted

from .. import protocol
from ..flagship.run import Split, bundled, covertype

RESULTS = Path(__file__).with_name("results.json")
PARTIAL = Path("out/auto.json")
BUDGET = 60.0
SEEDS = range(2)
SLOW, TOO_SLOW = 20.0, 1800.0  # seconds
ALLOWED = 1.1  # times the best family's error


def waveform(seed: int) -> Split:
    X, y = datasets.load_waveform(return_X_y=True, download_if_missing=False)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    return X, y, X_test, y_test


LOAD: dict[str, Callable[[int], Split]] = {
    **{name: bundled(name) for name in ("letter", "ijcnn1", "a9a", "usps", "news20")},
    "waveform": waveform,
    "cifar10-small": bundled("cifar10_small"),
    "mnist": bundled("mnist"),
    "covertype": covertype,
}


def measure(name: str, quick: bool) -> dict[str, Any]:
    errors, seconds, chosen, n_rows = [], [], [], []
    families: dict[str, dict[str, Any]] = {}
    for seed in SEEDS[:1] if quick else SEEDS:
        X, y, X_test, y_test = LOAD[name](seed)
        start = time.perf_counter()
        clf = AutoClassifier(BUDGET, random_state=seed).fit(X, y)
        seconds.append(time.perf_counter() - start)
        errors.append(protocol.error(clf, X_test, y_test))
        n_rows.append(clf.n_rows_)
        assert clf.exploration_ is not None
        assert clf.forecast_ is not None
        chosen.append(clf.forecast_["name"])
        if seed == 0:
            promising = most_promising(clf.exploration_)
        for family, (candidate, expected) in promising.items():
            cell = families.setdefault(family, {"name": candidate.name, "errors": []})
            if expected > TOO_SLOW or (cell.get("seconds", 0) > SLOW):
                continue
            start = time.perf_counter()
            model = fitted(candidate.make(seed), X, y)
            cell["seconds"] = round(time.perf_counter() - start, 1)
            cell["errors"].append(round(protocol.error(model, X_test, y_test), 3))
    for cell in families.values():
        cell["error"] = round(float(np.mean(cell["errors"])), 3) if cell["errors"] else None
    best = min(
        (family for family, cell in families.items() if cell["errors"]),
        key=lambda family: families[family]["error"],
    )
    error = float(np.mean(errors))
    return {
        "data": name,
        "error": round(error, 3),
        "errors": [round(e, 3) for e in errors],
        "chosen": chosen,
        "rows": n_rows,
        "of rows": len(y),
        "seconds": [round(s, 1) for s in seconds],
        "best family": best,
        "ratio": round(error / families[best]["error"], 3),
        "met": error <= ALLOWED * families[best]["error"] and max(seconds) <= BUDGET,
        "families": families,
    }


def most_promising(found: Exploration) -> dict[str, tuple[Any, float]]:
    """Of each family: the candidate, and the seconds that it is expected to take."""
    best: dict[str, tuple[Any, float]] = {}
    for choice in found._choices:
        candidate = choice.runner.candidate
        best.setdefault(candidate.family, (candidate, choice.seconds.value))
    return best


def line(cell: dict[str, Any]) -> str:
    best = cell["families"][cell["best family"]]
    return (
        f"{cell['data']:<14} {cell['error']:6.2f} % in {max(cell['seconds']):.0f} s at most "
        f"({', '.join(sorted(set(cell['chosen'])))})   best family: {best['name']} "
        f"{best['error']:.2f} % in {best['seconds']} s   ratio {cell['ratio']:.2f} "
        f"{'met' if cell['met'] else 'MISSED'}"
    )


def main() -> None:
    cells = protocol.run_all(__doc__ or "", LOAD, measure, line, RESULTS, PARTIAL)
    print(f"{sum(cell['met'] for cell in cells)} of {len(cells)} met")


if __name__ == "__main__":
    main()
