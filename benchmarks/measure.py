"""Outcomes, and how they are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUNDS = 7
ALL = os.sched_getaffinity(0)


@dataclass
class Outcome:
    name: str
    value: float
    bar: float
    at_least: bool  # the value must be at least the bar, else at most
    note: str

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "ok" if self.met else "MISSED"
        return f"{self.name:<34} {self.value:8.2f}  {sign} {self.bar:<6g} {verdict:<7} {self.note}"


def alternately(*contestants: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Least wall-clock time of each, in turns."""
    times = [[] for _ in contestants]
    for _ in range(rounds + 1):
        for run, own in zip(contestants, times, strict=True):
            start = time.perf_counter()
            run()
            own.append(time.perf_counter() - start)
    return [min(own[1:]) for own in times]


class all_cores:  # noqa: N801 (used like a function)
    """Lift the pinning for a while."""

    def __enter__(self) -> None:
        self.before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, ALL)

    def __exit__(self, *_: Any) -> None:
        os.sched_setaffinity(0, self.before)


def resident(*, reset_peak: bool = False) -> float:
    """Resident memory in MB. From a reset on, `peak` counts (Linux can forget the old one)."""
    if reset_peak:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    return _status("VmRSS")


def peak() -> float:
    """The most resident memory in MB. (getrusage's would be the parent's, where that is more.)"""
    return _status("VmHWM")


def _status(name: str) -> float:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    raise OSError(f"no {name} in /proc/self/status; this needs Linux")
