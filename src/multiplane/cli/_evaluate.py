"""``multiplane evaluate``: how good a model is on data with labels."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from multiplane.cli._options import reading
from multiplane.cli._predict import blocks_for, check_order

_MOST_CLASSES = 20  # in the table for people


@dataclass(frozen=True)
class Result:
    """Counts of a test, or sums of weights where rows have some."""

    labels: list[Any]  # of the model
    confusion: NDArray[Any]  # true by predicted; the last row is of labels unknown to it
    n_rows: int
    weighted: bool

    @property
    def error(self) -> float:
        # Sums of weights round differently.
        return max(0.0, 1 - float(np.trace(self.confusion[:-1]) / self.confusion.sum()))

    def in_words(self) -> str:
        by_weight = ", by weight" if self.weighted else ""
        return f"{100 * self.error:.2f} % of {self.n_rows:,} rows{by_weight}"

    def table(self) -> list[dict[str, Any]]:
        """Of each class: rows or their weight, precision and recall."""
        right = np.diag(self.confusion[:-1])
        true, said = self.confusion[:-1].sum(axis=1), self.confusion.sum(axis=0)
        return [
            {
                "class": label,
                "weight" if self.weighted else "rows": true[i].item(),
                "precision": float(right[i] / said[i]) if said[i] else None,
                "recall": float(right[i] / true[i]) if true[i] else None,
            }
            for i, label in enumerate(self.labels)
        ]


def tested(predictor: Any, data: str, reading: dict[str, Any]) -> Result:
    """Go through the data once."""
    classes = np.asarray(predictor.classes_)
    k = len(classes)
    confusion = np.zeros((k + 1, k))
    n_rows, weighted = 0, False
    for block in blocks_for(predictor, data, reading, light=True):
        if block.y is None:
            raise ValueError(f"{data}: the rows have no labels to compare with; --label COLUMN?")
        if getattr(block.y, "ndim", 1) != 1:
            raise ValueError("a model for lists of labels is not evaluated here: predict them")
        predicted = predictor.predict(block.X)
        true, said = _codes(block.y, classes), _codes(predicted, classes)
        weight = block.sample_weight
        weighted |= weight is not None
        if weight is not None and not (np.isfinite(weight).all() and np.all(weight >= 0)):
            raise ValueError(f"{data}: weights must be finite and not negative")
        np.add.at(confusion, (true, said), 1.0 if weight is None else weight)
        n_rows += block.n_rows
    if not confusion.any():
        raise ValueError(f"{data}: there are no rows{' with a weight' if n_rows else ''}")
    return Result(
        classes.tolist(), confusion if weighted else confusion.astype(np.int64), n_rows, weighted
    )


def _told(amount: float) -> str:
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.2f}"


def _codes(labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Places among the classes, and one behind the last for others."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "US" or classes.dtype.kind in "USO":
        labels, classes = labels.astype(str), classes.astype(str)
        order = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=order).clip(max=len(classes) - 1)
        place = order[place]
    else:
        place = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return np.where(classes[place] == labels, place, len(classes))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data")
@click.argument("model", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@reading
def command(data: str, model: str, as_json: bool, reading: dict[str, Any]) -> None:
    """Test MODEL on DATA: error, and precision and recall of each class; by weight, if rows have
    one (--weight)."""
    from multiplane.persistence._compile import compile

    check_order(data, model)
    predictor = compile(sys.stdin.buffer if model == "-" else model)
    result = tested(predictor, data, reading)
    if as_json:
        facts = {
            "rows": result.n_rows,
            "error": result.error,
            "accuracy": 1 - result.error,
            "classes": result.table(),
            "confusion": result.confusion.tolist(),
        }
        click.echo(json.dumps(facts))
        return
    click.echo(f"error {result.in_words()}")
    table, amount = result.table(), "weight" if result.weighted else "rows"
    click.echo(f"{'class':>12} {amount:>12} {'precision':>10} {'recall':>8}")
    for entry in table[:_MOST_CLASSES]:
        shares = [
            f"{entry[k]:.4f}" if entry[k] is not None else "-" for k in ("precision", "recall")
        ]
        click.echo(
            f"{entry['class']!s:>12} {_told(entry[amount]):>12} {shares[0]:>10} {shares[1]:>8}"
        )
    if len(table) > _MOST_CLASSES:
        click.echo(f"{'…':>12} {len(table) - _MOST_CLASSES} more classes: --json has all of them")
    if unknown := result.confusion[-1].sum().item():
        who = "of the weight has" if result.weighted else "rows have"
        click.echo(
            f"{_told(unknown)} {who} labels that the model does not know, and count as errors"
        )
