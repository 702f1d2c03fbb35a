"""AMM paper, Table 3: AMM, batch and online, beside linear, polynomial and Gaussian SVMs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from multiplane import AMMClassifier, PegasosClassifier
from multiplane.datasets import load_a9a, load_ijcnn1

from ... import protocol
from ...catalogue import Config, Task
from ...records import Record, record

LOADERS = {"a9a": load_a9a, "ijcnn1": load_ijcnn1}
OURS = ("AMM batch", "AMM online", "Pegasos")


def tasks(config: Config) -> list[Task]:
    return [
        Task(data, column, mode)
        for data in LOADERS
        for column in OURS
        for mode in ("paper", "defaults")
    ]


def model(column: str, config: Config) -> Any:
    batch, online = config["batch_passes"], config["online_passes"]
    return {
        "AMM batch": AMMClassifier("batch", max_iter=batch),
        "AMM online": AMMClassifier("online", max_iter=online),
        "Pegasos": PegasosClassifier(max_iter=batch),
    }[column]


@lru_cache(maxsize=1)
def rows(data: str, most: int) -> tuple[Any, ...]:
    return protocol.some_rows(LOADERS[data](return_X_y=True), most)


def measure(task: Task, config: Config) -> Iterator[Record]:
    data = rows(task.row, config["rows"])
    chosen, found = protocol.cell(model(task.column, config), task.mode, data, config)
    seeds = list(range(config["seeds"]))
    yield record(task.row, task.column, task.mode, seeds=seeds, chosen=chosen, **found)
