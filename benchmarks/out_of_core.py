"""Training from a file ten times the memory: the curve of resident memory stays flat.

    python -m benchmarks.out_of_core [LIMIT]    address space in MB; 600 unless told

A LIBSVM file of ten times LIMIT is generated in a temporary folder; a process that may not have
more address space than LIMIT learns from all of it, and says how much is resident on the way.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import Outcome, all_cores, resident
from benchmarks.reading import lines, write_text

LIMIT = 600
TIMES = 10
_SPARE = 2 << 30  # bytes of the disk that are left to others


def watched(text: str, limit: int) -> None:
    """In a process of its own: prints (rows, MB) as JSON."""
    from multiplane import AMMClassifier

    resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20))
    curve: list[tuple[int, float]] = []

    def look(progress: Any) -> None:
        if progress.rows >= (curve[-1][0] if curve else 0) + 20_000:
            curve.append((progress.rows, resident()))

    AMMClassifier(alpha=1e-5, random_state=0).fit_stream(text, max_iter=1, callback=look)
    print(json.dumps(curve))


def curve_of(limit: int) -> list[tuple[int, float]]:
    size = TIMES * limit << 20
    with tempfile.TemporaryDirectory(prefix="multiplane-large-") as place:
        if shutil.disk_usage(place).free < size + _SPARE:
            raise FileNotFoundError(f"{place} has no room for {size >> 20} MB of text")
        path = Path(place) / "large.svm"
        write_text(path, size, lines())
        # Threads of the BLAS and arenas of malloc take address space that is never used.
        lean = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        call = [sys.executable, "-m", "benchmarks.out_of_core", "watch", path, str(limit)]
        run = subprocess.run(
            call, env={**os.environ, **lean}, stdout=subprocess.PIPE, text=True, check=True
        )
    return [(rows, mb) for rows, mb in json.loads(run.stdout)]


def out_of_core(limit: int = LIMIT) -> list[Outcome]:
    with all_cores():
        curve = curve_of(limit)
    late = [mb for _, mb in curve[len(curve) // 5 :]]
    note = f"{TIMES * limit} MB of text in {limit} MB: " + " ".join(
        f"{mb:.0f}" for _, mb in curve[:: max(1, len(curve) // 10)]
    )
    return [Outcome("memory grown out of core, MB", late[-1] - late[0], 32.0, False, note)]


BENCHMARKS = (out_of_core,)

if __name__ == "__main__":
    if sys.argv[1:2] == ["watch"]:
        watched(sys.argv[2], int(sys.argv[3]))
    else:
        print(*out_of_core(int(sys.argv[1]) if len(sys.argv) > 1 else LIMIT), sep="\n")
