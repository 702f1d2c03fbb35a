"""What was measured, in a form that can be kept, compared and shown.

A record is one cell: a row and a column of a published table (or a point of a figure) in one mode.

    paper     the published algorithm on features as the paper has them
    defaults  the library's defaults
    peer      another library, run here

Its quantities (error, seconds, hyperplanes, …) are lists with one value a seed, kept unrounded: two
runs of the same experiment must agree to the last digit. A record may hold a reason instead, why
the cell cannot be filled.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import multiplane
from multiplane._atomic import atomic

Record = dict[str, Any]

MODES = ("paper", "defaults", "peer")
# Times are never the same twice.
_TIMES = ("seconds",)


def record(
    row: str,
    column: str,
    mode: str,
    *,
    seeds: list[int],
    note: str = "",
    chosen: Any = None,
    curve: Any = None,
    conditions: dict[str, str] | None = None,
    **quantities: list[float],
) -> Record:
    """A cell with its quantities, one value a seed; `curve` is data for a picture.

    `conditions` are those that differ from what `conditions()` finds, such as a GPU's name.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    found: Record = {"row": row, "column": column, "mode": mode, "seeds": seeds}
    found["quantities"] = {name: summary(values) for name, values in quantities.items()}
    more = {"note": note, "chosen": chosen, "curve": curve, "conditions": conditions}
    return found | {name: value for name, value in more.items() if value not in (None, "")}


def missing(row: str, column: str, mode: str, reason: str, absent: bool = False) -> Record:
    """A cell that cannot be filled; `absent`: for want of data or of a library, which may come."""
    found: Record = {"row": row, "column": column, "mode": mode, "missing": reason}
    return found | ({"absent": True} if absent else {})


def summary(values: list[float]) -> dict[str, Any]:
    """Mean, standard deviation over the seeds, and the values themselves."""
    values = [float(value) for value in values]
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "sd": sd, "values": values}


def key(record: Record) -> tuple[str, str, str]:
    return record["row"], record["column"], record["mode"]


def mean(record: Record, quantity: str) -> float:
    return float(record["quantities"][quantity]["mean"])


def same(one: Record, other: Record) -> bool:
    """Whether two runs have measured the same, times apart."""

    def untimed(record: Record) -> dict[str, Any]:
        quantities = record.get("quantities", {})
        return {name: q["values"] for name, q in quantities.items() if name not in _TIMES}

    return untimed(one) == untimed(other)


# --- where and with what ------------------------------------------------------------------------


def conditions() -> dict[str, str]:
    """Of a run: date, commit, hardware, versions."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "hardware": _hardware(),
        "versions": f"multiplane {multiplane.__version__}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}",
    }


def commit() -> str:
    """Of the sources; with a + where they have been changed since. What runs write is no source."""
    written = (":!*/results.json", ":!*/figure.png")
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", ".", *written) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"  # not a checkout


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    root = Path(__file__).parents[1]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=root
    ).stdout.strip()


def _hardware() -> str:
    name = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux, or a processor that does not tell its name
    # Least squares run from the Python sources alone, too.
    loops = multiplane._native.simd_level() if hasattr(multiplane, "_native") else "no own loops"
    return f"{name}, {os.cpu_count()} cores, {loops}"


# --- files --------------------------------------------------------------------------------------


def save(path: Path, records: list[Record], fingerprint: str) -> None:
    """One record a line, so that a difference between two files can be read."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    with atomic(path, "w") as file:
        file.write(f'{{"fingerprint": "{fingerprint}", "records": [\n{lines}\n]}}\n')


def load(path: Path) -> tuple[list[Record], str]:
    """The records of a file, and of what they are."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["records"], content["fingerprint"]
