"""How a published cell is compared with ours: λ by cross-validation, several seeds, a record.

A *cell* is one model on one data set. "paper" is the published algorithm (average=False) with the
features as the paper has them; "ours" is the library's defaults, where cross-validation may also
choose to centre the features. No choice in a run looks at test data; README.md says
how the protocol itself came about.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multiplane

# The range of AMM's section 4.
ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def candidates(model: Any, mode: str, alphas: tuple[float, ...] = ALPHAS) -> list[Any]:
    """What cross-validation chooses from."""
    model = clone(model).set_params(average=mode == "ours")
    plain = [clone(model).set_params(alpha=alpha) for alpha in alphas]
    if mode == "paper":
        return plain
    return plain + [make_pipeline(StandardScaler(with_std=False), m) for m in plain]


def seeded(model: Any, seed: int) -> Any:
    """The same model with another seed, inside a pipeline or not."""
    model = clone(model)
    name = "random_state" if "random_state" in model.get_params() else _last(model)
    return model.set_params(**{name: seed})


def _last(pipeline: Any) -> str:
    return f"{pipeline.steps[-1][0]}__random_state"


def hyperplanes(model: Any) -> int:
    return int(getattr(model, "n_hyperplanes_", None) or model[-1].n_hyperplanes_)


def error(model: Any, X: Any, y: Any) -> float:
    """Test error in percent."""
    return 100 * (1 - float(model.score(X, y)))


def choose(
    models: list[Any], X: Any, y: Any, n_folds: int, n_jobs: int, n_repeats: int = 1
) -> tuple[Any, list[float]]:
    """The candidate with the least cross-validation error, and the mean errors of all.

    Errors are often nearly flat in λ: with several repeats, other folds and other seeds in each,
    the choice is less of an accident.
    """
    folds = [
        fold
        for repeat in range(n_repeats)
        for fold in StratifiedKFold(n_folds, shuffle=True, random_state=repeat).split(X, y)
    ]

    def one(model: Any, seed: int, train: Any, held: Any) -> float:
        # Another seed in every fold: a λ that works by luck is not to be chosen.
        return error(seeded(model, seed).fit(X[train], y[train]), X[held], y[held])

    errors = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(one)(model, i, *fold) for model in models for i, fold in enumerate(folds)
    )
    means = np.reshape(errors, (len(models), len(folds))).mean(axis=1)
    return models[int(means.argmin())], means.tolist()


def describe(model: Any) -> dict[str, Any]:
    """What was chosen, in a form for the record."""
    last = model if not hasattr(model, "steps") else model[-1]
    return {
        "alpha": last.alpha,
        "intercept_scaling": last.intercept_scaling,
        "centred": hasattr(model, "steps"),
    }


def repeat(
    model: Any, data: Callable[[int], tuple[Any, ...]], seeds: range, n_jobs: int
) -> dict[str, Any]:
    """Test errors over seeds; `data(seed)` gives X, y, X_test, y_test."""

    def one(seed: int) -> tuple[float, int, float]:
        X, y, X_test, y_test = data(seed)
        fitted = seeded(model, seed)
        start = time.perf_counter()
        fitted.fit(X, y)
        seconds = time.perf_counter() - start
        return error(fitted, X_test, y_test), hyperplanes(fitted), seconds

    runs = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(one)(seed) for seed in seeds)
    errors, counts, seconds = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
    return {
        "error": round(float(errors.mean()), 3),
        "sd": round(float(errors.std(ddof=1)), 3),
        "errors": [round(e, 3) for e in errors.tolist()],
        "hyperplanes": round(float(counts.mean()), 1),
        "seconds": round(float(np.median(seconds)), 3),
    }


def commit() -> str:
    """Of the sources, as far as git knows."""
    try:
        return subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def conditions() -> dict[str, str]:
    """Where and with what a run was made."""
    return {
        "date": today(),
        "commit": commit(),
        "machine": platform.machine(),
        "simd": multiplane._native.simd_level(),
        "multiplane": multiplane.__version__,
    }


def save(path: Path, cells: list[dict[str, Any]], **more: Any) -> None:
    record = {"conditions": conditions(), **more, "cells": cells}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def line(cell: dict[str, Any]) -> str:
    paper = f"{cell['paper']:.2f} ± {cell['paper_sd']:.2f}" if cell.get("paper") else "–"
    verdict = (
        "" if cell["limit"] is None else ("ok" if cell["error"] <= cell["limit"] else "MISSED")
    )
    limit = "–" if cell["limit"] is None else f"{cell['limit']:.2f}"
    return (
        f"{cell['data']:<22} {cell['model']:<5} {cell['mode']:<5}  "
        f"{cell['error']:6.2f} ± {cell['sd']:.2f}   paper {paper:>14}   limit {limit:>6}  "
        f"{verdict:<6}  {cell['hyperplanes']:5.0f} hyperplanes  {cell['seconds']:6.2f} s  "
        f"λ {cell['alpha']:g}{', centred' if cell['centred'] else ''}"
    )


def run_all(
    description: str,
    names: Iterable[str],
    measure: Callable[[str, bool], dict[str, Any]],
    line: Callable[[dict[str, Any]], str],
    results: Path,
    partial: Path,
) -> list[dict[str, Any]]:
    """One cell after the other, as the command line says; a whole run is saved, and resumes."""
    options = arguments(description)
    whole = not (options.quick or options.only)
    cells = json.loads(partial.read_text())["cells"] if whole and partial.exists() else []
    done = {cell["data"] for cell in cells}
    for name in names:
        if name in done or options.only not in name:
            continue
        cells.append(measure(name, options.quick))
        print(line(cells[-1]), flush=True)
        if whole:
            partial.parent.mkdir(exist_ok=True)
            save(partial, cells)
    if whole:
        partial.replace(results)
    return cells


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few cells, few seeds; not saved")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    return parser.parse_args()


def limit(
    mode: str, paper: float | None, paper_sd: float | None, ours: float | None
) -> float | None:
    """Paper mode: the paper's mean plus two of its standard deviations. Ours: the target."""
    if mode == "ours":
        return ours
    return round(paper + 2 * paper_sd, 2)
