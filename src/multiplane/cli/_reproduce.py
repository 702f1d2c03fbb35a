"""``multiplane reproduce``: the tables and figures of the papers, run here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="Tell what there is, and how it went.")
@click.option("--show", is_flag=True, help="Show what is recorded; run nothing.")
@click.option("--quick", is_flag=True, help="The same protocol with small sizes: a minute.")
@click.option("--only", default="", metavar="TEXT", help="Cells whose name contains TEXT.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results.json and figure.png.  [default: reproduced/NAME]",
)
@click.option("--record", is_flag=True, help="Keep the results in the experiment's own folder.")
def command(
    name: str | None,
    listing: bool,
    show: bool,
    quick: bool,
    only: str,
    output: Path | None,
    record: bool,
) -> None:
    """Run the experiment NAME of a paper, and show its figures beside ours.

    What is done is kept: after an interruption the same command goes on. Data sets are looked for
    in MULTIPLANE_DATA and downloaded where that is possible; a cell whose data are not to be had
    says so.

    \b
    multiplane reproduce --list
    multiplane reproduce gamm-table1 --quick
    """
    # The wheel holds the folder experiments/ as multiplane.experiments.
    catalogue: Any = import_module("multiplane.experiments.catalogue")
    page: Any = import_module("multiplane.experiments.page")
    if listing:
        return click.echo(_listing(catalogue, page))
    if name is None:
        raise click.UsageError("which experiment? multiplane reproduce --list tells their names")
    if name not in catalogue.names():
        from difflib import get_close_matches

        near = get_close_matches(name, catalogue.names(), 1)
        hint = f"did you mean {near[0]}?" if near else "see multiplane reproduce --list"
        raise click.UsageError(f"there is no experiment {name!r}; {hint}")
    if record and (quick or output):
        raise click.UsageError("--record keeps whole runs in their own place; leave out --quick")
    if show and output:
        raise click.UsageError("--show shows what is recorded; leave out --output")
    experiment = catalogue.find(name)
    if show:
        records = experiment.recorded()
        if not records:
            raise click.UsageError(f"nothing is recorded of {name}; run it without --show")
    else:
        folder = output or Path("reproduced") / (f"{name}-quick" if quick else name)
        folder = experiment.source.folder if record else folder
        if not any(only in str(task) for task in experiment.tasks(quick)):
            raise click.UsageError(f"no task of {name} has {only!r} in its name")
        records = _run(experiment, folder, quick, only)
        click.echo(f"\n{experiment.title}; kept in {folder}")
    click.echo(page.text(experiment, records, judged=not quick))
    if any(r.get("absent") for r in records):
        click.echo(
            "absent files are looked for in MULTIPLANE_DATA; docs/data.md tells which and where"
        )
    if not (show or quick or record) and experiment.recorded():
        click.echo(_agreement(experiment, records))


def _listing(catalogue: Any, page: Any) -> str:
    rows = [
        (e.name, e.title, e.source.settings["time"], page.summary(e))
        for e in catalogue.everything()
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        "  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]) for row in rows
    )


def _run(experiment: Any, folder: Path, quick: bool, only: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    running: Any = import_module("multiplane.experiments.running")
    page: Any = import_module("multiplane.experiments.page")
    columns = (
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(experiment.name, total=None)

        def begin(number: int, total: int, task: Any) -> None:
            progress.update(bar, completed=number - 1, total=total, description=str(task))

        def end(records: list[Any]) -> None:
            progress.advance(bar)
            for each in records:
                click.echo(page.line(each))

        try:
            return running.run(experiment, folder, quick=quick, only=only, begin=begin, end=end)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; what was done is in {folder}, and the same command goes on"
            ) from None


def _agreement(experiment: Any, records: list[Any]) -> str:
    """Whether the run gave the recorded figures, to the last digit."""
    kept: Any = import_module("multiplane.experiments.records")
    theirs = {kept.key(r): r for r in experiment.recorded() if "missing" not in r}
    both = [(r, theirs[kept.key(r)]) for r in records if kept.key(r) in theirs]
    equal = sum(kept.same(*pair) for pair in both)
    return f"{equal} of {len(both)} cells have the recorded figures to the last digit"
