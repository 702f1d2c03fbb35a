"""``multiplane completion``: what a shell needs to complete our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    eval "$(multiplane completion bash)"
    """
    from multiplane.cli._main import group

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(group, {}, "multiplane", "_MULTIPLANE_COMPLETE").source())
