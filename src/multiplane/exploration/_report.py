"""An exploration as text and as HTML."""

from __future__ import annotations

import io
from textwrap import fill
from typing import TYPE_CHECKING, Any

from multiplane._html import data_uri, table
from multiplane._html import text as escaped
from multiplane._numbers import duration, percent

if TYPE_CHECKING:
    from multiplane.exploration._explore import Exploration

_WIDTH = 100
_COLUMNS = ("", "error", "95 %", "training", "prediction", "size", "measured at")


def text(found: Exploration) -> str:
    lines_of_table = [_COLUMNS, *_rows(found)]
    widths = [max(len(row[i]) for row in lines_of_table) for i in range(len(_COLUMNS))]
    lines = [_head(found), ""]
    for question, answer in found.answers.items():
        lines += [question, fill(answer, _WIDTH, initial_indent="  ", subsequent_indent="  ")]
    lines.append("")
    for row in lines_of_table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    lines += [fill(line, _WIDTH) for line in _notes(found)]
    lines += ["", "Recommended:", ""]
    lines += [f"    {line}".rstrip() for line in found.recommendation.splitlines()]
    return "\n".join(lines)


def html(found: Exploration) -> str:
    """Self-contained; colours are the notebook's own."""
    questions = "".join(
        f"<dt><b>{escaped(question)}</b></dt><dd>{escaped(answer)}</dd>"
        for question, answer in found.answers.items()
    )
    return (
        f"<div><p>{escaped(_head(found))}</p><dl>{questions}</dl>"
        f"{table(_COLUMNS, _rows(found))}"
        f"{''.join(f'<p>{escaped(line)}</p>' for line in _notes(found))}"
        f"{_picture(found)}<p>Recommended:</p>"
        f"<pre>{escaped(found.recommendation)}</pre></div>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>multiplane.explore</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }}
body {{ padding: 0 1rem; }}
dt {{ margin-top: .6em; }} img {{ background: white; }} table {{ border-collapse: collapse; }}
th, td {{ padding: .2em .7em; text-align: right; border-bottom: 1px solid #8884; }}
th:first-child, td:first-child {{ text-align: left; }} pre {{ overflow-x: auto; }}
</style></head><body>{body}</body></html>
"""


def page(found: Exploration) -> str:
    """The same as a file of its own."""
    return _PAGE.format(body=html(found))


def _head(found: Exploration) -> str:
    return (
        f"multiplane.explore: {found.n_rows:,} rows, {found.n_features:,} "
        f"feature{'s' * (found.n_features > 1)}, "
        f"{found.n_classes:,} classes; {found.n_trainings} trainings in "
        f"{found.seconds:.1f} s, tested on up to {found.n_tested:,} rows"
    )


def _notes(found: Exploration) -> list[str]:
    legend = (
        f"Error and training as expected with all {found.n_rows:,} rows; size: numbers in the "
        f"model; * none is both better and faster to train."
    )
    return [legend, *(f"Left out: {name} ({why})" for name, why in found.failures.items())]


def _rows(found: Exploration) -> list[tuple[str, ...]]:
    best = {entry["name"] for entry in found.frontier("fit_seconds")}
    entries = sorted(found.forecast, key=lambda entry: entry["error"])
    return [_row(entry, "* " if entry["name"] in best else "  ") for entry in entries]


def _row(entry: dict[str, Any], mark: str) -> tuple[str, ...]:
    return (
        mark + entry["name"],
        percent(entry["error"]),
        f"{100 * entry['low']:.2f} … {100 * entry['high']:.2f}",
        duration(entry["fit_seconds"]),
        f"{duration(entry['predict_seconds'])}/row",
        f"{entry['size']:,}",
        f"{entry['n_rows']:,} rows" if entry["n_rows"] else "inferred",
    )


def _picture(found: Exploration) -> str:
    try:
        from multiplane.exploration._pictures import draw
    except ImportError:
        return ""
    buffer = io.BytesIO()
    draw(found).savefig(buffer, format="png", dpi=100, bbox_inches="tight")
    return (
        f'<img style="max-width: 100%" alt="Learning curves, and error against training time, '
        f'prediction time and size" src="{data_uri(buffer.getvalue())}">'
    )
