"""``multiplane export``: a model for other programs."""

from __future__ import annotations

import os

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("output", type=click.Path(dir_okay=False))
@click.option("--name", default="multiplane", show_default=True, help="What names in C begin with.")
def command(model: str, output: str, name: str) -> None:
    """Write MODEL as OUTPUT: ONNX (.onnx), or one C99 header (.h)."""
    from multiplane import export, load

    try:
        export(load(model), output, name=name)
    except TypeError as error:  # a model that has no such form
        raise click.ClickException(f"{model}: {error}") from error
    click.echo(f"{output}: {os.path.getsize(output):,} bytes", err=True)
