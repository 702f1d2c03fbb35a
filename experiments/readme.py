"""The README's tables of errors, from the records: written by `python -m experiments.page`."""

from __future__ import annotations

import re
from pathlib import Path

from .catalogue import ROOT, find
from .comparison import compare, figure
from .records import Record, mean

README = ROOT.parent / "README.md"
# What is shown of a row: its experiment, its name there, columns.
_BOTH = ("AMM", "GAMM")
_HYPERPLANES = {
    "3×3 checkerboard": ("gamm-table1", "3x3", _BOTH),
    "4×4 checkerboard": ("gamm-table1", "4x4", _BOTH),
    "5×5 checkerboard": ("gamm-table1", "5x5", _BOTH),
    "usps": ("gamm-table2", "usps", _BOTH),
    "letter": ("gamm-table2", "letter", _BOTH),
    "ijcnn1": ("gamm-table2", "ijcnn1", _BOTH),
    "8 million digits, round or not": ("gamm-table2", "mnist8m", _BOTH),
}
_MODES = ("AMM batch", "AMM online")
_OF_AMM = {
    "a9a": ("amm-table3", "a9a", _MODES),
    "ijcnn1": ("amm-table3", "ijcnn1", _MODES),
    "8 million digits, round or not ¹": ("amm-table3", "mnist8m_bin", _MODES),
    "8 million digits": ("amm-table3", "mnist8m_mc", _MODES),
}
_STREAMS = {
    "usps": "usps (7 k)",
    "letter": "letter (15 k)",
    "covertype": "covertype (0.5 M)",
    "waveform": "waveform (2 M) ²",
    "checkerboard": "4×4 checkerboard (10 M)",
}


def tables() -> dict[str, str]:
    """By the mark between which each belongs."""
    return {"flagship": _flagship(), "accuracy": _hyperplanes(), "budget": _budget()}


def _flagship() -> str:
    found = {(r["row"], r["column"]): r for r in find("flagship-errors").recorded()}
    published = {
        row: cell.mean
        for name in ("gamm-table1", "gamm-table2")
        for (row, column, quantity), cell in find(name).published.items()
        if (column, quantity) == ("GAMM", "error") and row != "mnist8m"
    }
    lines = [
        "| data | `MultiplaneClassifier` | hyperplanes | training, trials included | linear "
        "| GAMM, published | SVC (RBF) |",
        "|---|---|---|---|---|---|---|",
    ]
    for (row, column), ours in found.items():
        if column != "MultiplaneClassifier":
            continue
        error, sizes = ours["quantities"]["error"], ours["quantities"]["hyperplanes"]["values"]
        counts = sorted({int(min(sizes)), int(max(sizes))})
        columns = [
            _title(row),
            figure(error["mean"], error["sd"], "error"),
            "–".join(map(str, counts)),
            f"{_two_digits(mean(ours, 'seconds'))} s",
            f"{mean(found[row, 'PegasosClassifier'], 'error'):.2f}",
            f"{published[row]:.2f}" if row in published else "–",
            _peer(found.get((row, "SVC"))),
        ]
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def _title(row: str) -> str:
    others = {"mnist": "mnist, 10 classes", "covertype": "covertype, 80/20"}
    return f"{row.replace('x', '×')} checkerboard" if row[0].isdigit() else others.get(row, row)


def _peer(record: Record | None) -> str:
    if record is None:
        return "–"
    return f"{mean(record, 'error'):.2f}, {_two_digits(mean(record, 'seconds'))} s"


def _hyperplanes() -> str:
    lines = [
        "| data | model | paper | paper mode | ours | hyperplanes | training |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, (name, row, columns) in [*_HYPERPLANES.items(), *_OF_AMM.items()]:
        experiment = find(name)
        cells = {
            (cell.row, cell.column): cell
            for cell in compare(experiment, experiment.recorded())
            if cell.quantity == "error"
        }
        for column in columns:
            cell = cells[row, column]
            ours = cell.ours["defaults"]
            errors = [cell.paper.mean if cell.paper else 100.0]
            errors += [mean(cell.ours[mode], "error") for mode in ("paper", "defaults")]
            shown = [str(cell.paper or ""), cell.shown("paper"), cell.shown("defaults")]
            shown = [
                _bold(text) if error == min(errors) else text
                for error, text in zip(errors, shown, strict=True)
            ]
            rest = f"{mean(ours, 'hyperplanes'):.0f} | {_two_digits(mean(ours, 'seconds'))} s"
            lines.append(f"| {title} | {column} | {' | '.join(shown)} | {rest} |")
    return "\n".join(lines)


def _budget() -> str:
    experiment = find("bpegasos-table1")
    ours = {(r["row"], r["column"]): r for r in experiment.recorded() if r["mode"] == "defaults"}
    lines = [
        "| data (rows) | budget | paper, merging | merging | µs a row | projection | removal "
        "| no budget |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row, title in _STREAMS.items():
        for budget in (100, 500):
            merging = ours[row, f"merging, {budget}"]
            paper = experiment.published[row, f"merging, {budget}", "accuracy"]
            text = _accuracy(merging)
            reached = round(mean(merging, "accuracy"), 1) >= paper.mean
            others = [ours[row, f"{way}, {budget}"] for way in ("projection", "smallest removed")]
            cost = 1e6 * mean(merging, "seconds") / merging["chosen"]["rows"]
            free = _accuracy(ours[row, "no budget"]) if budget == 100 else ""
            columns = [title, str(budget), str(paper), _bold(text) if reached else text]
            columns += [f"{cost:.1f}", *map(_accuracy, others), free]
            lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def _accuracy(record: Record) -> str:
    found = record["quantities"]["accuracy"]
    return figure(found["mean"], found["sd"], "accuracy")


def _bold(text: str) -> str:
    number, _, rest = text.partition(" ")
    return f"**{number}** {rest}".strip()


def _two_digits(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def filled(text: str) -> str:
    """A page with its tables put between their marks."""
    for name, table in tables().items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
        text, count = re.subn(pattern, rf"\g<1>\n{table}\n\g<2>", text, flags=re.DOTALL)
        assert count == 1, f"no place for the table {name}"
    return text


def write(path: Path = README) -> None:
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
