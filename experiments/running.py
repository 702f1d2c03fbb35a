"""Runs an experiment, task after task; what is done is kept, so that an interrupted run goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .catalogue import Experiment, Task
from .records import Record, conditions, load, missing, save

# One task is about to be measured (its number, how many there are), or has been.
Begin = Callable[[int, int, Task], Any]
End = Callable[[list[Record]], Any]


def run(
    experiment: Experiment,
    folder: Path,
    *,
    quick: bool = False,
    only: str = "",
    begin: Begin = lambda *_: None,
    end: End = lambda *_: None,
) -> list[Record]:
    """Measure what is not yet in the folder's results.json, and draw the picture.

    Parameters
    ----------
    folder : Path
        Where results.json and figure.png are kept. Records there of another protocol, or of the
        quick form where the long one is wanted, are dropped.
    only : str
        Tasks whose name contains this; others stay as they are.
    """
    source = experiment.source
    assert source.module is not None
    folder.mkdir(parents=True, exist_ok=True)
    path, fingerprint = folder / "results.json", source.fingerprint(quick)
    kept = _kept(path, fingerprint)
    tasks = source.tasks(quick)
    here = conditions()  # of the sources as they were loaded
    groups = {str(task): kept[str(task)] for task in tasks if str(task) in kept}
    for number, task in enumerate(tasks, 1):
        # What was absent is tried again: it may have come.
        done = not any(r.get("absent") for r in groups.get(str(task), [{"absent": True}]))
        if done or only not in str(task):
            continue
        begin(number, len(tasks), task)
        records = _measure(source.module, task, source.config(quick))
        groups[str(task)] = [
            {"task": str(task), **r, "conditions": here | r.get("conditions", {})} for r in records
        ]
        # In the order of the tasks, whatever the order in which they were measured.
        save(path, [r for each in tasks for r in groups.get(str(each), [])], fingerprint)
        end(groups[str(task)])
    records = [r for each in tasks for r in groups.get(str(each), [])]
    # A table or figure that reads another one's records has a folder for its own picture.
    draw(experiment, records, experiment.folder if folder == source.folder else folder)
    return records


def draw(experiment: Experiment, records: list[Record], folder: Path) -> None:
    """The picture, where the experiment has one and there is something to be seen."""
    if not hasattr(experiment.module, "draw") or all("missing" in r for r in records):
        return
    if find_spec("matplotlib") is None:
        warnings.warn("no picture is drawn: pip install 'multiplane[plot]'", stacklevel=2)
    else:
        experiment.module.draw(records, folder / "figure.png")


def _kept(path: Path, fingerprint: str) -> dict[str, list[Record]]:
    if not path.exists():
        return {}
    records, theirs = load(path)
    kept: dict[str, list[Record]] = {}
    for record in records if theirs == fingerprint else []:
        kept.setdefault(record["task"], []).append(record)
    return kept


def _measure(module: Any, task: Task, config: dict[str, Any]) -> list[Record]:
    try:
        with threadpool_limits(1):
            return list(module.measure(task, config))
    except (FileNotFoundError, ModuleNotFoundError) as error:  # data or a library not to be had
        if (getattr(error, "name", None) or "").startswith("multiplane"):
            raise  # of our own
        # What was needed; where it was looked for, and what to do, is of one machine.
        reason = str(error).split("\n")[0].split("; ")[0].split(", not found in")[0]
        if isinstance(error, ModuleNotFoundError):
            reason = f"{error.name} is not installed; it comes with multiplane[peers]"
        reason = reason or type(error).__name__
        return [missing(task.row, task.column, task.mode or "paper", reason, absent=True)]
