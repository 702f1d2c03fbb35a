"""The group of commands, and what their errors mean to a shell.

  0  done
  1  a bug: please report it (MULTIPLANE_DEBUG=1 shows where)
  2  the command was not understood, or a parameter makes no sense
  3  the data cannot be read or learnt from, or a file cannot be written
  4  the model file cannot be read
130  interrupted
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click

OK, BUG, USAGE, DATA, MODEL, INTERRUPTED = 0, 1, 2, 3, 4, 130

COMMANDS = {
    "train": "Train a classifier and save it.",
    "predict": "Predict labels, scores or probabilities.",
    "evaluate": "Test a model on data with labels.",
    "inspect": "Tell what is in a model or a data file.",
    "convert": "Turn data into a binary cache.",
    "export": "Write a model as ONNX or as a C header.",
    "report": "Write a page about a model: errors, curves, pictures.",
    "explore": "Race all families on the data, and recommend one.",
    "reproduce": "Run the tables and figures of the papers, beside ours.",
    "demo": "See it work, on data made up on the spot.",
    "completion": "Print the completion script of a shell.",
}


class Commands(click.Group):
    """Commands are imported only when they are needed: `predict` starts fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"multiplane.cli._{name}").command
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        try:
            name, command, rest = super().resolve_command(context, args)
            given = (context.default_map or {}).get(name or "", {})
            if command is not None and given:
                _check_options(name or "", command, given, rest)
            return name, command, rest
        except click.UsageError as error:
            from difflib import get_close_matches

            if args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, 1)):
                raise click.UsageError(
                    f"{error.message} Did you mean {near[0]}?", context
                ) from None
            raise

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        import multiplane

        click.echo(f"multiplane {multiplane.__version__}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, path: _configure(context, path),
    help="TOML file with options: a table for each command, as in [train] max-iter = 5.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version)
def group() -> None:
    """Nonlinear multi-class classification at the speed of linear models.

    Files are LIBSVM text (plain, gz, bz2, xz, zst), CSV, Parquet, Arrow, NumPy, or a cache made by
    `convert`; "-" is standard input or output.

    \b
    multiplane train data.svm model.mpl
    multiplane predict new.svm model.mpl
    """


def _configure(context: click.Context, path: str | None) -> None:
    if path is None:
        return
    import tomllib

    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise click.BadParameter(f"{path} is not TOML: {error}") from None
    unknown = [name for name in tables if name not in COMMANDS]
    if unknown:
        raise click.BadParameter(
            f"{path}: [{unknown[0]}] is not a command; there are {', '.join(COMMANDS)}"
        )
    context.default_map = {
        name: {key.replace("-", "_"): value for key, value in table.items()}
        for name, table in tables.items()
    }


def _check_options(name: str, command: Any, given: dict[str, Any], args: list[str]) -> None:
    """A typing error in a file must not be passed over."""
    offered = command.offered(args, given) if hasattr(command, "offered") else command.params
    names = [parameter.name for parameter in offered]
    for key in given:
        if key not in names:
            raise click.UsageError(f"[{name}] has {key!r} in --config, which is no option of it")


def _config_first(arguments: list[str]) -> list[str]:
    """--config may stand anywhere."""
    for i, word in enumerate(arguments):
        if word == "--config" and i + 1 < len(arguments):
            return [word, arguments[i + 1], *arguments[:i], *arguments[i + 2 :]]
        if word.startswith("--config="):
            return [word, *arguments[:i], *arguments[i + 1 :]]
    return arguments


def main(arguments: list[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code."""
    warnings.showwarning = _warn
    try:
        words = _config_first(sys.argv[1:] if arguments is None else arguments)
        code = group.main(words, prog_name="multiplane", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except SystemExit:  # click's answer to a reader that has gone
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return OK
    except click.exceptions.Abort as error:  # click's word for Ctrl-C
        click.echo(str(error.__cause__ or "") or "interrupted", err=True)
        return INTERRUPTED
    except KeyboardInterrupt as error:
        click.echo(str(error) or "interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except BrokenPipeError:
        # Whoever read our output has gone: nobody is left to complain to.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return OK
    except Exception as error:
        if os.environ.get("MULTIPLANE_DEBUG"):
            raise
        number, told = _explained(error)
        click.echo(f"Error: {told}", err=True)
        return number


def check_output(output: str, *inputs: str) -> None:
    """What is read must not be written over."""
    for path in inputs:
        both = os.path.isfile(path) and os.path.isfile(output)
        if both and os.path.samefile(path, output):
            raise click.UsageError(f"{output} is read, and would be written over; choose another")


def check_folder(output: str) -> None:
    """Told before hours of work, not after them."""
    folder = os.path.dirname(output)
    if folder and not os.path.isdir(folder):
        raise click.UsageError(f"there is no folder {folder!r} for {output}")


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """For people who did not write the program: what, not where."""
    click.echo(f"Warning: {message}", err=True)


def _explained(error: Exception) -> tuple[int, str]:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "InvalidParameterError" in kinds:
        return USAGE, str(error)
    if "ModelFileError" in kinds:
        return MODEL, str(error)
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        return DATA, f"{error.filename}: {what}" if error.filename else what
    if isinstance(error, MemoryError):
        return DATA, str(error) or "there is not enough memory"
    if isinstance(error, RuntimeError) and "new thread" in str(error):
        return DATA, "there is not enough memory for another thread; try --threads 1"
    if isinstance(error, ValueError | ImportError):
        return DATA, str(error)
    return BUG, f"{type(error).__name__}: {error} (a bug; MULTIPLANE_DEBUG=1 shows where)"
