"""Budgeted Pegasos paper, Figure 1: accuracy on checkerboard against the rows learnt."""

from __future__ import annotations

from pathlib import Path

from ...records import Record
from .. import curves


def draw(records: list[Record], path: Path) -> None:
    curves.draw(records, path, "checkerboard", bayes=100.0)


def claims(records: list[Record]) -> list[tuple[str, bool, str]]:
    return curves.claims(records, "checkerboard")
