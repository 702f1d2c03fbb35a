"""Prints a table of ratios and fails if one is under its bar.

Single thread, pinned to one core, but for the row about two threads. Everything that is compared
runs alternately in one process; the least time of several rounds counts. Loading and generating
data, imports and the first call of everything are off the clock. A noisy neighbour on the machine
hits both sides, but not always equally: run it on a quiet one.

    make bench                 all
    python -m benchmarks NAME  rows whose name contains NAME
"""

from __future__ import annotations

import os
import sys

from threadpoolctl import threadpool_limits

from benchmarks import hyperplanes, kernels, least_squares, out_of_core, predictor, reading
from benchmarks.measure import ALL
from multiplane import show_config


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    show_config()
    print(f"\n{'':<34} {'ratio':>8}  {'bar':<8}")
    os.sched_setaffinity(0, {max(ALL)})
    threadpool_limits(1)
    failed = False
    for benchmark in (
        *hyperplanes.BENCHMARKS,
        *kernels.BENCHMARKS,
        *least_squares.BENCHMARKS,
        *predictor.BENCHMARKS,
        *reading.BENCHMARKS,
        *out_of_core.BENCHMARKS,
    ):
        if wanted not in benchmark.__name__:
            continue
        try:
            for outcome in benchmark():
                print(outcome, flush=True)
                failed |= not outcome.met
        except FileNotFoundError as error:
            print(f"{benchmark.__name__:<34} skipped: {str(error).splitlines()[0]}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
