"""The published figure of a cell beside ours, and which of them is better."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .catalogue import CellName, Experiment, Published
from .records import Record

# Quantities that are judged, and whether less is better. Times were taken on other machines.
_LESS_IS_BETTER = {
    "error": True,
    "accuracy": False,
    "hyperplanes": True,
    "hyperplanes per class": True,
}
_UNITS = {"error": "%", "accuracy": "%", "seconds": "s"}


@dataclass
class Comparison:
    """One cell of a published table: the paper's figure, and ours by mode."""

    row: str
    column: str
    quantity: str
    paper: Published | None
    ours: dict[str, Record] = field(default_factory=dict)  # by mode

    @property
    def unit(self) -> str:
        return _UNITS.get(self.quantity, "")

    def shown(self, mode: str) -> str:
        """Ours as text: mean ± sd, a dash where it is not to be had, or nothing."""
        record = self.ours.get(mode)
        if record is None:
            return ""
        if "missing" in record:
            return "–"
        found = record["quantities"].get(self.quantity)
        return "" if found is None else figure(found["mean"], found["sd"], self.quantity)

    @property
    def limit(self) -> float | None:
        """What the paper mode may have at most (or must have at least).

        The paper's mean and two of its standard deviations; where it tells none, two standard
        errors of our own mean.
        """
        found = self._quantity("paper")
        if self.paper is None or found is None or self.quantity not in _LESS_IS_BETTER:
            return None
        sd = self.paper.sd
        if sd is None:
            sd = (found["sd"] or 0.0) / len(found["values"]) ** 0.5
        return self.paper.mean + (2 * sd if _LESS_IS_BETTER[self.quantity] else -2 * sd)

    @property
    def met(self) -> bool | None:
        """Whether the paper mode keeps its limit; None where there is nothing to compare."""
        limit, found = self.limit, self._quantity("paper")
        if limit is None or found is None:
            return None
        return _no_worse(self.quantity, found["mean"], limit)

    @property
    def verdict(self) -> str:
        """Of the paper mode; of the defaults where there is no other."""
        found = self._quantity("paper") or self._quantity("defaults")
        if self.paper is None or found is None or self.quantity not in _LESS_IS_BETTER:
            return ""
        if _no_worse(self.quantity, found["mean"], self.paper.mean):
            return "better"
        return "within 2 sd" if self.met else "worse"

    def _quantity(self, mode: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = (
            self.ours.get(mode, {}).get("quantities", {}).get(self.quantity)
        )
        return found


def _no_worse(quantity: str, value: float, limit: float) -> bool:
    """As papers print them: per cent with two digits, hyperplanes whole."""
    digits = 0 if quantity.startswith("hyperplanes") else 2
    value, limit = round(value, digits), round(limit, digits)
    return value <= limit if _LESS_IS_BETTER[quantity] else value >= limit


def figure(mean: float, sd: float | None, quantity: str) -> str:
    if quantity in ("error", "accuracy"):
        return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f}"
    return f"{mean:.3g}" if mean < 1000 else f"{mean:,.0f}"


def compare(experiment: Experiment, records: list[Record]) -> list[Comparison]:
    """All cells: the published ones in their order, then what only we have."""
    cells: dict[CellName, Comparison] = {
        name: Comparison(*name, paper) for name, paper in experiment.published.items()
    }
    wanted = {quantity for _, _, quantity in cells}
    for record in records:
        quantities = record.get("quantities") or dict.fromkeys(wanted)
        for quantity in quantities:
            name = record["row"], record["column"], quantity
            if wanted and quantity not in wanted:
                continue
            if "missing" in record and name not in cells:
                continue
            cell = cells.setdefault(name, Comparison(*name, None))
            cell.ours[record["mode"]] = record
    return list(cells.values())
