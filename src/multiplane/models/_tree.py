"""Values as JSON and arrays, and back: only values of known kinds, checked field by field.

None, bool, int, str, finite float, list   themselves
other things                               an object with one key, which names their kind:
    {"float": "inf"}, {"tuple": […]}, {"dict": {…}}, {"pairs": [[key, value], …]},
    {"array": "name"}, {"transposed": "name"}, {"words": {"dtype": "<U5", "values": […]}},
    {"function": "square"}, {"Linear": {"W": …, "b": …}}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from multiplane.models._container import Arrays, ModelFileError

NUMBER = (int, float)

# How a field must look: a type, or "float dk" for an array of two dimensions, or a function.
# Dimensions of the same letter must be equal in all arrays of an object; "int" arrays are indices.
Form = type | tuple[type, ...] | str | Callable[[Any], bool]


def anything(value: Any) -> bool:
    """anything"""
    return True


@dataclass(frozen=True)
class Kind:
    """A type of objects that files may contain: its fields, and how it is taken apart and made."""

    type: type
    forms: Mapping[str, Form]
    state: Callable[[Any], dict[str, Any]]
    make: Callable[..., Any]
    has_defaults: bool = False  # fields may be missing
    check: Callable[[Any], None] = lambda made: None  # raises ValueError


def of_dataclass(
    type: type, check: Callable[[Any], None] = lambda made: None, **forms: Form
) -> Kind:
    names = [field.name for field in fields(type)]
    assert names == list(forms), (type, names)

    def state(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names}

    return Kind(type, forms, state, type, check=check)


@dataclass(frozen=True)
class Kinds:
    """All kinds of objects and functions that a file may name."""

    objects: Mapping[str, Kind]
    functions: Mapping[str, Callable[..., Any]]

    def name_of(self, value: Any) -> str | None:
        return next((name for name, k in self.objects.items() if k.type is type(value)), None)


# --- writing ------------------------------------------------------------------------------


def encode(value: Any, place: str, arrays: Arrays, kinds: Kinds) -> Any:
    """JSON of a value; its arrays go into `arrays`, under names that begin with `place`."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.ndarray):
        return _array(value, place, arrays)

    def parts(values: Any) -> list[Any]:
        return [encode(v, f"{place}.{i}", arrays, kinds) for i, v in enumerate(values)]

    if isinstance(value, list):
        return parts(value)
    if type(value) is tuple:
        return {"tuple": parts(value)}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {"dict": _named(value, place, arrays, kinds)}
        return {"pairs": parts([list(pair) for pair in value.items()])}
    for word, function in kinds.functions.items():
        if value is function:
            return {"function": word}
    name = kinds.name_of(value)
    if name is not None:
        return {name: _named(kinds.objects[name].state(value), place, arrays, kinds)}
    raise TypeError(
        f"{place} is {value!r}, which a model file cannot hold: it holds data, never code; use "
        f"joblib.dump for this estimator, or what multiplane itself offers"
    )


def _named(values: Mapping[str, Any], place: str, arrays: Arrays, kinds: Kinds) -> dict[str, Any]:
    return {key: encode(v, f"{place}.{key}", arrays, kinds) for key, v in values.items()}


def _array(value: Any, place: str, arrays: Arrays) -> Any:
    if value.dtype.kind == "U" or (
        value.dtype.kind == "O" and all(isinstance(word, str) for word in value.flat)
    ):
        dtype = value.dtype.newbyteorder("<").str if value.dtype.kind == "U" else "O"
        return {"words": {"dtype": dtype, "values": value.tolist()}}
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise TypeError(
            f"{place} is an array of type {value.dtype}, which a model file cannot hold; use "
            f"numbers or strings"
        )
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        # Products round differently with the other layout.
        arrays[place] = value.T
        return {"transposed": place}
    arrays[place] = value
    return {"array": place}


# --- reading ------------------------------------------------------------------------------


def decode(tree: Any, arrays: Arrays, kinds: Kinds) -> Any:
    """The value, or ModelFileError; arrays that are used are taken out of `arrays`."""
    if tree is None or isinstance(tree, bool | int | str):
        return tree
    if isinstance(tree, float):
        if not math.isfinite(tree):
            raise ModelFileError(f"a number is {tree}")
        return tree
    if isinstance(tree, list):
        return [decode(part, arrays, kinds) for part in tree]
    if len(tree) != 1:
        raise ModelFileError(f"an object must have one key, its kind, got {sorted(tree)[:5]}")
    ((kind, content),) = tree.items()
    if kind in _READERS:
        if not isinstance(content, _READERS[kind][0]):
            raise ModelFileError(f"{kind!r} has the content {_short(content)}")
        return _READERS[kind][1](content, arrays, kinds)
    if kind not in kinds.objects:
        raise ModelFileError(f"it has an object of the unknown kind {kind!r}")
    if not isinstance(content, dict):
        raise ModelFileError(f"{kind} must have named fields, got {_short(content)}")
    return _made(kind, kinds.objects[kind], content, arrays, kinds)


# Whatever a constructor may say to values of the right forms that do not fit each other.
_FAILURES = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)


def _made(name: str, kind: Kind, content: dict[str, Any], arrays: Arrays, kinds: Kinds) -> Any:
    missing = kind.forms.keys() - content.keys()
    if content.keys() - kind.forms.keys() or (missing and not kind.has_defaults):
        raise ModelFileError(
            f"{name} must have the fields {sorted(kind.forms)}, got {_short(content)}"
        )
    state = {field: decode(part, arrays, kinds) for field, part in content.items()}
    sides: dict[str, int] = {}
    for field, value in state.items():
        form = kind.forms[field]
        if not _fits(value, form, sides):
            raise ModelFileError(f"{name}.{field} must be {_words(form)}, got {_short(value)}")
    try:
        made = kind.make(**state)
        kind.check(made)
    except ModelFileError:
        raise
    except _FAILURES as error:
        raise ModelFileError(f"{name}: {error}") from None
    return made


def _fits(value: Any, form: Form, sides: dict[str, int]) -> bool:
    if isinstance(form, str):
        type_name, letters = form.split()
        kind = {"float": "f", "int": "i"}[type_name]
        if not isinstance(value, np.ndarray) or value.dtype.kind != kind:
            return False
        if value.ndim != len(letters):
            return False
        return all(
            sides.setdefault(letter, size) == size
            for letter, size in zip(letters, value.shape, strict=True)
        )
    if isinstance(form, type | tuple):
        wanted = form if isinstance(form, tuple) else (form,)
        if isinstance(value, bool) and bool not in wanted:
            return False
        return isinstance(value, wanted)
    return form(value)


def _words(form: Form) -> str:
    if isinstance(form, str):
        type_name, letters = form.split()
        return f"an array of {type_name} of shape ({', '.join(letters)})"
    if isinstance(form, tuple):
        return " or ".join(kind.__name__ for kind in form)
    return form.__doc__ or "well-formed" if not isinstance(form, type) else form.__name__


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, dict):
        return f"the fields {sorted(value, key=str)[:9]}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _read_float(content: str, arrays: Arrays, kinds: Kinds) -> float:
    if content not in ("inf", "-inf", "nan"):
        raise ModelFileError(f"a number is {_short(content)}")
    return float(content)


def _read_tuple(content: list[Any], arrays: Arrays, kinds: Kinds) -> tuple[Any, ...]:
    return tuple(decode(part, arrays, kinds) for part in content)


def _read_dict(content: dict[str, Any], arrays: Arrays, kinds: Kinds) -> dict[str, Any]:
    return {key: decode(part, arrays, kinds) for key, part in content.items()}


def _read_pairs(content: list[Any], arrays: Arrays, kinds: Kinds) -> dict[Any, Any]:
    out = {}
    for pair in content:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ModelFileError(f"a key and its value are {_short(pair)}")
        key = decode(pair[0], arrays, kinds)
        if not isinstance(key, bool | int | float | str):
            raise ModelFileError(f"a key is {_short(key)}")
        out[key] = decode(pair[1], arrays, kinds)
    return out


def _read_array(content: str, arrays: Arrays, kinds: Kinds) -> Any:
    array = arrays.pop(content, None)
    if array is None:
        raise ModelFileError(f"it lacks the array {_short(content)}, or names it twice")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ModelFileError(f"array {content!r} contains NaN or infinity")
    return array


def _read_transposed(content: str, arrays: Arrays, kinds: Kinds) -> Any:
    return _read_array(content, arrays, kinds).T


def _read_words(content: dict[str, Any], arrays: Arrays, kinds: Kinds) -> Any:
    values, dtype = content.get("values"), content.get("dtype")
    if not isinstance(values, list) or not all(isinstance(word, str) for word in values):
        raise ModelFileError(f"words are {_short(values)}")
    lengths = [len(word) for word in values]
    if dtype == "O":
        return np.array(values, dtype=object)
    if not isinstance(dtype, str) or dtype[:2] != "<U" or not dtype[2:].isdecimal():
        raise ModelFileError(f"words are of the unknown type {_short(dtype)}")
    width, most = int(dtype[2:6]), 1_000_000 + 64 * sum(lengths)  # memory is width times number
    if len(dtype) > 6 or not max([1, *lengths]) <= width <= most // max(1, len(values)):
        raise ModelFileError(f"words of up to {max([0, *lengths])} letters are of type {dtype!r}")
    return np.array(values, dtype=np.dtype(dtype).newbyteorder("="))


def _read_function(content: str, arrays: Arrays, kinds: Kinds) -> Any:
    if content not in kinds.functions:
        raise ModelFileError(f"it names the unknown function {_short(content)}")
    return kinds.functions[content]


_READERS: dict[str, tuple[type, Callable[[Any, Arrays, Kinds], Any]]] = {
    "float": (str, _read_float),
    "tuple": (list, _read_tuple),
    "dict": (dict, _read_dict),
    "pairs": (list, _read_pairs),
    "array": (str, _read_array),
    "transposed": (str, _read_transposed),
    "words": (dict, _read_words),
    "function": (str, _read_function),
}
