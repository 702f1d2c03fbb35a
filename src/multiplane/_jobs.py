"""How many threads."""

from __future__ import annotations

import os


def number_of_threads(n_jobs: int | None) -> int:
    """As joblib reads it: None is 1, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all processors")
    if n_jobs > 0:
        return min(n_jobs, 2**31 - 1)
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, available + 1 + n_jobs)
