"""``multiplane explore``: which family suits the data."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from multiplane.cli._main import check_folder, check_output
from multiplane.cli._options import Duration, reading
from multiplane.cli._whole import loaded


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data")
@click.option("--time-budget", type=Duration(), default="60s", show_default=True)
@click.option("--html", type=click.Path(dir_okay=False), help="Write the report as a page, too.")
@click.option(
    "--model",
    type=click.Path(dir_okay=False),
    help="Train what it recommends on all rows, and save it.",
)
@click.option("--random-state", type=int, default=0, show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@reading
def command(
    data: str,
    time_budget: float,
    html: str | None,
    model: str | None,
    random_state: int,
    quiet: bool,
    reading: dict[str, Any],
) -> None:
    """Race all families on samples of DATA, and tell which one to use.

    The data must fit into memory.
    """
    from multiplane import explore, save
    from multiplane.data import open_source

    for output in (html, model):
        if output is not None:
            check_folder(output)
            check_output(output, data)
    X, y, _ = loaded(open_source(data, **reading), weighs=False)
    with contextlib.redirect_stdout(sys.stderr):
        found = explore(
            X, y, time_budget=time_budget, random_state=random_state, verbose=0 if quiet else 1
        )
    click.echo(str(found))
    if html is not None:
        from multiplane._atomic import atomic
        from multiplane.exploration._report import page

        with atomic(html, "w") as file:
            file.write(page(found))
    if model is not None:
        save(found.estimator.fit(X, y), model)
