"""Options that several commands share, and values as they are written in a shell."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import click

FORMATS = ("libsvm", "parquet", "arrow", "csv", "tsv", "npy", "npz", "cache")

_READING = [
    click.option(
        "--format", type=click.Choice(FORMATS), help="Of the data; by default its ending."
    ),
    click.option("--label", metavar="COLUMN", help="Column of the labels in a table."),
    click.option("--weight", metavar="COLUMN", help="Column of the weights in a table."),
    click.option("--labels", metavar="FILE", help="Labels that belong to an .npy file."),
    click.option("--zero-based", is_flag=True, help="LIBSVM text: features count from 0, not 1."),
    click.option(
        "--multilabel", is_flag=True, help="LIBSVM text: labels are lists, such as 1,3,7."
    ),
    click.option("--n-features", type=int, help="LIBSVM text: how many features there are."),
    click.option(
        "--on-error",
        type=click.Choice(["raise", "skip"]),
        default="raise",
        show_default=True,
        help="LIBSVM text: what to do with a malformed line.",
    ),
    click.option("--no-header", is_flag=True, help="CSV: the first line is a row."),
    click.option("--threads", type=int, help="That read ahead; by default up to four."),
]


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `open_source`, which arrive as one dictionary `reading`."""
    names = [option(lambda: None).__click_params__[0].name for option in _READING]  # type: ignore[attr-defined]

    def wrapped(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name in names}
        given["header"] = not given.pop("no_header")
        given["n_jobs"] = given.pop("threads")
        return function(**arguments, reading=given)

    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    wrapped.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_READING):
        wrapped = option(wrapped)
    return wrapped


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Seconds, as 90, 90s, 5m or 1h."""

    name = "duration"

    def convert(self, value: Any, parameter: Any, context: Any) -> float:
        if isinstance(value, int | float):
            return float(value)
        units = {"s": 1, "m": 60, "h": 3600}
        number, unit = (value[:-1], value[-1]) if value[-1:] in units else (value, "s")
        try:
            seconds = float(number) * units[unit]
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            self.fail(f"{value!r} is not a duration such as 90s, 5m or 1h", parameter, context)
        return seconds


def value_of(text: Any) -> Any:
    """A parameter's value: a number, true, false, none, a Python literal, a generator of features
    such as RandomFourier(n_features=512), or else a word."""
    if not isinstance(text, str):  # from TOML
        return text
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    return _generator(text) if text.endswith(")") else text


def _generator(text: str) -> Any:
    """``Name(parameter=literal, …)`` from `multiplane.features`; nothing else is called."""
    from multiplane import features

    kinds = (getattr(features, name) for name in features.__all__)
    generators = {
        kind.__name__: kind
        for kind in kinds
        if isinstance(kind, type) and features.FeatureGenerator in kind.__mro__[1:]
    }
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError("expected Name(parameter=value, …)")
        name = call.func.id
        if name not in generators:
            raise ValueError(f"{name} is not one of {', '.join(generators)}")
        given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        return generators[name](**given)
    except (ValueError, SyntaxError, TypeError) as error:
        raise click.BadParameter(f"{text}: {error}") from None
