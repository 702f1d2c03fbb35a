"""The experiments: every folder that holds a config.toml.

    config.toml   what it is, the protocol with the reasons for its numbers, and its quick form
    paper.csv     what was published: row, column, quantity, mean, sd
    run.py        `tasks(config)`, `measure(task, config)`; for figures `draw(records, path)`; where
                  the paper says in words what is to be seen, `claims(records)`
    results.json  what we measured
    figure.png    the picture

Where config.toml has `results_of`, the records are those of another experiment, and run.py needs
only what differs (`draw`, `claims`), if anything.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .records import Record, load

ROOT = Path(__file__).parent
Config = dict[str, Any]
CellName = tuple[str, str, str]  # row, column, quantity


class Task(NamedTuple):
    """What is measured in one go and kept when it is done: a cell, in one mode or in several."""

    row: str
    column: str
    mode: str = ""

    def __str__(self) -> str:
        return ", ".join(part for part in self if part)


class Published(NamedTuple):
    mean: float
    sd: float | None

    def __str__(self) -> str:
        return f"{self.mean:g}" if self.sd is None else f"{self.mean:g} ± {self.sd:g}"


@dataclass(frozen=True)
class Experiment:
    folder: Path

    @property
    def name(self) -> str:
        return "-".join(self.folder.relative_to(ROOT).parts)

    @cached_property
    def settings(self) -> Config:
        return tomllib.loads((self.folder / "config.toml").read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        return str(self.settings["title"])

    @property
    def source(self) -> Experiment:
        """The experiment whose records these are."""
        other = self.settings.get("results_of")
        return find(other) if other else self

    def config(self, quick: bool = False) -> Config:
        """The protocol; the quick form replaces some of its numbers."""
        protocol = self.source.settings["protocol"]
        return protocol | self.source.settings["quick"] if quick else protocol

    def fingerprint(self, quick: bool) -> str:
        """Of the protocol: records of another one do not belong together with ours."""
        text = json.dumps(self.config(quick), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def module(self) -> ModuleType | None:
        name = ".".join((__package__, *self.folder.relative_to(ROOT).parts, "run"))
        return import_module(name) if find_spec(name) else None

    def tasks(self, quick: bool = False) -> list[Task]:
        module = self.source.module
        assert module is not None
        return list(module.tasks(self.config(quick)))

    @cached_property
    def published(self) -> dict[CellName, Published]:
        path = self.folder / "paper.csv"
        if not path.exists():
            return {}
        with path.open(encoding="utf-8", newline="") as file:
            return {
                (line["row"], line["column"], line["quantity"]): Published(
                    float(line["mean"]), float(line["sd"]) if line["sd"] else None
                )
                for line in csv.DictReader(file)
            }

    def explanation(self, row: str, column: str) -> str:
        """Why a cell is worse than the published one, where that is known."""
        for entry in self.settings.get("explained", []):
            if row in entry["rows"] and column in entry["columns"]:
                return str(entry["why"])
        return ""

    def recorded(self) -> list[Record]:
        """Ours, as kept in the folder; nothing where they are of another protocol."""
        path = self.source.folder / "results.json"
        records, theirs = load(path) if path.exists() else ([], "")
        return records if theirs == self.source.fingerprint(quick=False) else []

    def claims(self, records: list[Record]) -> list[tuple[str, bool, str]]:
        """What the paper says in words, whether our records show it, and by which figures.

        An unfinished run shows nothing. `claims` sees the cells that are filled, or were given up
        at a limit of time; where one that it needs is not, it may fail with a KeyError.
        """
        finished = {str(task) for task in self.source.tasks()} <= {r["task"] for r in records}
        if self.module is None or not (finished and hasattr(self.module, "claims")):
            return []
        try:
            return list(self.module.claims([r for r in records if {"quantities", "limit"} & {*r}]))
        except KeyError:
            return []


def everything() -> list[Experiment]:
    return [Experiment(path.parent) for path in sorted(ROOT.glob("*/*/config.toml"))]


def find(name: str) -> Experiment:
    """The experiment of that name."""
    for experiment in everything():
        if experiment.name == name:
            return experiment
    raise ValueError(f"there is no experiment {name!r}; there are {', '.join(names())}")


def names() -> Iterable[str]:
    return [experiment.name for experiment in everything()]
