"""``multiplane convert``: data to a cache."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from multiplane.cli._main import check_output
from multiplane.cli._options import reading


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data")
@click.argument("cache", type=click.Path(dir_okay=False))
@click.option(
    "--layout",
    type=click.Choice(["auto", "dense", "sparse"]),
    default="auto",
    show_default=True,
    help="Of the rows; auto: as they are read.",
)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32"]),
    default="auto",
    show_default=True,
    help="Of the values; auto: bytes where they hold them exactly.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@reading
def command(
    data: str, cache: str, layout: Any, dtype: Any, quiet: bool, reading: dict[str, Any]
) -> None:
    """Turn DATA into the binary file CACHE (.mpc), which is read much faster than text."""
    from multiplane.data import open_source, write_cache

    check_output(cache, data)
    began = time.monotonic()
    source = open_source(data, **reading)
    n_rows = 0

    def count(block: Any) -> None:
        nonlocal n_rows
        n_rows += block.n_rows

    write_cache(source, cache, layout=layout, dtype=dtype, progress=count)
    if not quiet:
        seconds = max(time.monotonic() - began, 1e-9)
        size = (source.n_bytes or 0) / 1e6
        speed = f", {size / seconds:,.0f} MB/s" if size > 10 else ""
        click.echo(
            f"{n_rows:,} rows in {os.path.getsize(cache) / 1e6:,.1f} MB: {cache} "
            f"({seconds:.1f} s{speed})",
            err=True,
        )
