"""Budgeted Pegasos paper, Figure 2: accuracy on waveform against the rows learnt."""

from __future__ import annotations

from pathlib import Path

from ...records import Record
from .. import curves


def draw(records: list[Record], path: Path) -> None:
    curves.draw(records, path, "waveform", bayes=86.71)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    return curves.claims(records, "waveform")
