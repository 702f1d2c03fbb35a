"""GAMM paper, Table 1: error on fourteen checkerboards, AMM against GAMM."""

from __future__ import annotations

from collections.abc import Iterator

from ... import protocol
from ...catalogue import Config, Task
from ...records import Record, mean, record
from ..classifiers import MODES, board, chosen


def tasks(config: Config) -> list[Task]:
    return [
        Task(pattern, column, mode)
        for pattern in config["patterns"]
        for column in ("AMM", "GAMM")
        for mode in MODES[column]
    ]


def measure(task: Task, config: Config) -> Iterator[Record]:
    pattern, column, mode = task
    X, y, _, _ = board(pattern, config["rows"], 0)
    model, choice = chosen(column, mode, X, y, config)
    seeds = range(config["repetitions"])
    found = protocol.repeat(model, lambda seed: board(pattern, config["rows"], seed), seeds)
    yield record(pattern, column, mode, seeds=list(seeds), chosen=choice, **found)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    found = {(r["row"], r["column"]): r for r in records if r["mode"] == "paper"}
    patterns = dict.fromkeys(row for row, _ in found)
    errors = {cell: mean(r, "error") for cell, r in found.items()}
    sds = {cell: r["quantities"]["error"]["sd"] for cell, r in found.items()}
    hard = [errors[pattern, "AMM"] for pattern in ("2x4", "3x3")]
    better = [p for p in patterns if errors[p, "GAMM"] < errors[p, "AMM"]]
    stabler = [p for p in patterns if sds[p, "GAMM"] < sds[p, "AMM"]]
    return [
        (
            "AMM cannot solve the 2×4 and 3×3 boards",
            min(hard) > 5,
            f"errors of {hard[0]:.1f} and {hard[1]:.1f} %",
        ),
        (
            "GAMM is more accurate than AMM on all boards",
            len(better) == len(patterns),
            f"on {len(better)} of {len(patterns)}",
        ),
        (
            "GAMM is much more stable than AMM on all boards",
            len(stabler) == len(patterns),
            f"less spread on {len(stabler)} of {len(patterns)}",
        ),
    ]
