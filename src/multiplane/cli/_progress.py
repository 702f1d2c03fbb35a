"""What people, log files and programs see of a training: a bar, lines, or JSON."""

from __future__ import annotations

import json
import sys
import time
from copy import copy
from dataclasses import replace
from typing import Any

import click

# The most that lines come: at every doubling of the rows.
_FIRST = 1_000


class Facts:
    """Numbers of a training under way, from what `fit_stream` tells."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.first_row: int | None = None
        self.first_told: tuple[int, float] | None = None  # rows and seconds: starting up is no rate
        self.last = (0, 0)  # rows judged and mistakes, of all passes, at the last line
        self.next = _FIRST

    def of(self, progress: Any) -> dict[str, Any]:
        seconds = time.monotonic() - self.began
        if self.first_row is None:  # not 0 if a training has gone on from a checkpoint
            self.first_row = progress.rows - progress.n_new
            self.next = max(self.next, self.first_row)
        n_bytes = progress.source.n_bytes or 0
        learner = progress.estimator._training.learner
        rows, since = self.first_row, 0.0
        if self.first_told is None:
            self.first_told = progress.rows, seconds
        elif progress.rows - self.first_told[0] >= self.first_told[0] - self.first_row:
            rows, since = self.first_told  # as many rows as before at least
        return {
            "pass": progress.n_iter,
            "passes": progress.max_iter,
            "rows": progress.rows,
            "error": progress.error,
            "size": len(learner),
            "seconds": seconds,
            "rows_per_second": (progress.rows - rows) / max(seconds - since, 1e-9),
            "bytes": progress.bytes_read + (progress.n_iter - 1) * n_bytes,
            "done": progress.done,
        }

    def due(self, progress: Any, at_last: bool = False) -> dict[str, Any] | None:
        """At every doubling, and at the end: the facts, with the error since the last time."""
        facts = self.of(progress)
        if progress.rows < self.next and not at_last:
            return None
        while 2 * self.next < 3 * progress.rows:  # not right after this line
            self.next *= 2
        before = progress.position.before
        judged, mistakes = progress.n_judged + before[0], progress.mistakes + before[1]
        since = (mistakes - self.last[1]) / max(1, judged - self.last[0])
        self.last = judged, mistakes
        return facts | {"error_since_last": since}


_HEADER = f"{'rows':>14} {'pass':>7} {'error':>8} {'since last':>11} {'size':>6} {'rows/s':>11}"


def _line(facts: dict[str, Any]) -> str:
    number = f"{facts['pass']}/{facts['passes']}"
    return (
        f"{facts['rows']:>14,} {number:>7} {100 * facts['error']:>7.2f}% "
        f"{100 * facts['error_since_last']:>10.2f}% {facts['size']:>6,} "
        f"{facts['rows_per_second']:>11,.0f}"
    )


class Quiet:
    """Says nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __call__(self, progress: Any) -> None:
        pass

    def say(self, words: str, **facts: Any) -> None:
        pass

    def end(self) -> None:
        """Of the training: what has not been told yet."""


class Told(Quiet):
    """Tells the facts now and then."""

    def __init__(self) -> None:
        self.facts = Facts()
        self._untold: Any = None

    def __call__(self, progress: Any) -> None:
        facts = self.facts.due(progress)
        # The position goes on, and a line at the end tells of now.
        self._untold = None if facts else replace(progress, position=copy(progress.position))
        if facts:
            self._tell(facts)

    def end(self) -> None:
        if self._untold is not None:
            self._tell(self.facts.due(self._untold, at_last=True) or {})

    def _tell(self, facts: dict[str, Any]) -> None:
        raise NotImplementedError


class Lines(Told):
    """Progressive validation at every doubling of the rows, for log files."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = False

    def _tell(self, facts: dict[str, Any]) -> None:
        if not self._begun:
            self._begun = True
            self._write(_HEADER)
        self._write(_line(facts))

    def say(self, words: str, **facts: Any) -> None:
        self._write(words)

    def _write(self, line: str) -> None:
        click.echo(line, err=True)


class Json(Told):
    """A JSON object a line, for programs."""

    def _tell(self, facts: dict[str, Any]) -> None:
        self._write({"event": "progress", **facts})

    def say(self, words: str, **facts: Any) -> None:
        self._write({"event": "message", "message": words, **facts})

    def _write(self, facts: dict[str, Any]) -> None:
        rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in facts.items()}
        click.echo(json.dumps(rounded), err=True)


class Bar(Lines):
    """The same lines above a bar, in a terminal."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("reading", total=None, facts="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def __call__(self, progress: Any) -> None:
        super().__call__(progress)
        facts = self.facts.of(progress)
        speed = facts["bytes"] / 1e6 / max(facts["seconds"], 1e-9)
        self._progress.update(
            self._task,
            description=f"pass {facts['pass']}/{facts['passes']}",
            total=None if facts["done"] is None else 1.0,
            completed=facts["done"] or 0,
            facts=f"error {100 * facts['error']:.2f} %  size {facts['size']:,}  "
            f"{facts['rows_per_second']:,.0f} rows/s  {speed:,.0f} MB/s",
        )

    def _write(self, line: str) -> None:
        self._progress.console.print(line, highlight=False)


def chosen(log: str, quiet: bool) -> Quiet:
    """By --log and --quiet, and by whether somebody looks at a terminal."""
    if quiet:
        return Quiet()
    if log == "json":
        return Json()
    return Bar() if log == "auto" and sys.stderr.isatty() else Lines()


def options(function: Any) -> Any:
    """--log and --quiet."""
    log = click.option(
        "--log",
        type=click.Choice(["auto", "lines", "json"]),
        default="auto",
        show_default=True,
        help="Progress on standard error: a bar in a terminal and lines elsewhere, lines, or JSON.",
    )
    return log(click.option("-q", "--quiet", is_flag=True, help="No progress.")(function))
