"""Errors, times, sizes and memory of ours and of the peers, one cell after the other.

    python -m benchmarks.peers [--only DATA] [--solver NAME ...] [--limit SECONDS]
    python -m benchmarks.peers --quick    a small board, nothing saved unless --results says where

A cell is a solver on a data set. Each runs in a process of its own, pinned to one core with one
thread, and is saved as it ends: what is in the results file is not run again. Where the time is
measured, it is the machine's: run nothing else beside it. With a longer limit those run again that
were too slow, and always those that failed or lacked something. Then:

    python -m benchmarks.peers.report
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.datasets import DATASETS, QUICK
from benchmarks.peers.solvers import SOLVERS
from experiments.records import commit
from multiplane import _native

RESULTS = Path(__file__).with_name("results.json")
COMMIT = commit()
THREADS = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
}


def main() -> None:
    options = arguments()
    recipes = QUICK if options.quick else DATASETS
    path = options.results or (None if options.quick else RESULTS)
    record = json.loads(path.read_text()) if path and path.exists() else {"cells": []}
    record["conditions"] = conditions()
    print(json.dumps(record["conditions"], indent=1, ensure_ascii=False))
    cells = {(cell["data"], cell["solver"]): cell for cell in record["cells"]}
    for data, recipe in recipes.items():
        limit = options.limit or recipe.limit
        for solver in options.solver or SOLVERS:
            name = solver.rpartition(".")[2]
            known = cells.get((data, name))
            if options.only not in data or (known and done(known, limit)):
                continue
            cell = skipped(cells.get((recipe.smaller, name)), data, limit)
            cells[data, name] = cell = cell or run(data, solver, limit)
            print(line(cell), flush=True)
            if path:
                record["cells"] = list(cells.values())
                save(path, record)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="data sets whose name contains this")
    parser.add_argument("--solver", nargs="+", help="these alone; or modules with a class Solver")
    parser.add_argument("--limit", type=float, help="seconds of training, for all data sets alike")
    parser.add_argument("--quick", action="store_true", help="2,000 rows of a board")
    parser.add_argument("--results", type=Path, help="file to save to, and to resume from")
    options = parser.parse_args()
    for name in options.solver or ():
        if "." not in name and name not in SOLVERS:
            parser.error(f"no solver {name}: choose among {', '.join(SOLVERS)}")
    return options


def done(cell: dict[str, Any], limit: float) -> bool:
    """Not what failed, or lacked a library or a file, which may come; nor what may have longer.

    Nor what was measured on another machine: times are to be compared.
    """
    if cell.get("machine") != machine():
        return False
    return "error" in cell or "declined" in cell or cell.get("too_slow", 0) >= limit


def run(data: str, solver: str, limit: float) -> dict[str, Any]:
    """The cell, by a process that is told nothing but names; or with the reason for none."""
    cell: dict[str, Any] = {"data": data, "solver": solver.rpartition(".")[2]}
    # What a killed process leaves behind goes with its folder.
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.run(
            [sys.executable, "-m", "benchmarks.peers.cell", data, solver, str(limit)],
            env={**os.environ, **THREADS, "TMPDIR": folder},
            capture_output=True,
            text=True,
        )
    for found in child.stdout.splitlines():
        if found.startswith("{"):
            cell |= json.loads(found)
    if child.returncode == -signal.SIGPROF:
        stage = "prediction " if "seconds" in cell else ""
        cell |= {"reason": f"{stage}> {limit:g} s", "too_slow": limit}
    elif child.returncode:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        cell["reason"] = f"failed ({child.returncode}): {last[:200]}"
    when = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "commit": COMMIT}
    return cell | when | {"machine": machine(), "limit": limit}


def skipped(smaller: dict[str, Any] | None, data: str, limit: float) -> dict[str, Any] | None:
    """Who is too slow for a part of the rows is not asked again."""
    if smaller is None or smaller.get("too_slow", 0) < limit:
        return None
    if smaller.get("machine") != machine():
        return None
    names = ("solver", "title", "ours", "version", "date", "commit", "machine", "limit")
    kept = {key: smaller[key] for key in names}
    reason = smaller["reason"]
    if "with" not in reason:
        reason += f" with the rows of {smaller['data']}"
    return {"data": data, **kept, "reason": reason, "too_slow": smaller["too_slow"]}


def conditions() -> dict[str, Any]:
    return {
        "machine": machine(),
        "python": platform.python_version(),
        "threads": "1 (" + ", ".join(f"{name}=1" for name in THREADS) + "), pinned to one core",
    }


def machine() -> str:
    simd = _native.simd_level()
    return f"{processor()}, {simd}, {os.cpu_count()} cores, {memory():.0f} GiB"


def processor() -> str:
    with open("/proc/cpuinfo") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def save(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def line(cell: dict[str, Any]) -> str:
    start = f"{time.strftime('%H:%M:%S')}  {cell['data']:<17} {cell['solver']:<23}"
    if "error" not in cell:
        return f"{start} {cell['reason']}"
    return (
        f"{start} {cell['error']:6.2f} %  {cell['seconds']:8.2f} s  "
        f"{cell['model_bytes'] / 1000:9.0f} kB  {cell['single_us']:8.1f} µs alone  "
        f"{cell['batch_us']:7.2f} µs a row  {cell['peak_mb']:6.0f} MB  {cell.get('note', '')}"
    )


if __name__ == "__main__":
    main()
