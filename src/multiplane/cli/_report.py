"""``multiplane report``: a page about a model."""

from __future__ import annotations

from typing import Any

import click

from multiplane.cli._main import check_output
from multiplane.cli._options import reading
from multiplane.cli._predict import blocks_for


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("output", default="report.html", type=click.Path(dir_okay=False))
@click.option("--title", help="Of the page.")
@reading
def command(data: str, model: str, output: str, title: str | None, reading: dict[str, Any]) -> None:
    """Write the page OUTPUT about MODEL, tested on DATA: errors, curves, pictures."""
    from multiplane import load, report

    check_output(output, data, model)
    fitted = load(model)
    report(fitted, blocks_for(fitted, data, reading), output, title=title)
    click.echo(f"see {output}", err=True)
