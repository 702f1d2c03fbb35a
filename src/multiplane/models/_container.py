"""The container of model files: a JSON document and some arrays, as safetensors.

The file is a safetensors file whose metadata has one entry, "multiplane": the document, with a
checksum of itself and of the arrays. The same content gives the same bytes: one entry, because
safetensors writes several in any order; sorted keys; no times.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from multiplane._atomic import atomic

FORMAT = 1
_ENTRY = "multiplane"
_LONGEST_HEADER = 100_000_000  # beyond which safetensors refuses to read
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
    "F16": "<f2",
}

Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Source = str | os.PathLike[str] | IO[bytes]


class ModelFileError(ValueError):
    """A file is not a model that this version of multiplane can read, and why."""


def write(target: Source, document: Document, arrays: Arrays) -> None:
    """To a path, where the file appears when it is complete, or to a binary file."""
    data = packed(document, arrays)
    if not isinstance(target, str | os.PathLike):
        target.write(data)
        return
    with atomic(target) as file:
        file.write(data)


def packed(document: Document, arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    signed = {**document, "crc32": _checksum(document, arrays)}
    data: bytes = save(arrays, {_ENTRY: _dumps(signed)})
    if int.from_bytes(data[:8], "little") > _LONGEST_HEADER:
        raise ValueError(
            "names and labels of a model may have 100 MB in its file, and these have more; number "
            "the classes or features, or use joblib.dump"
        )
    return data


def read(source: Source) -> tuple[Document, Arrays]:
    """Document and arrays. Nothing in the file is executed or believed but its checksum."""
    if isinstance(source, str | os.PathLike):
        return unpacked(Path(source).read_bytes())
    return unpacked(source.read())


def unpacked(data: bytes) -> tuple[Document, Arrays]:
    from safetensors import SafetensorError, deserialize

    try:
        tensors = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"it is not a safetensors file, or damaged: {error}") from None
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    text = header.get("__metadata__", {}).get(_ENTRY)
    if text is None:
        raise ModelFileError("it is a safetensors file, but not one of multiplane")
    document = _loads(text)
    check_format(document)
    arrays = {}
    for name, tensor in tensors:
        if tensor["dtype"] not in _DTYPES:
            raise ModelFileError(f"array {name!r} has the unknown type {tensor['dtype']}")
        array = np.frombuffer(tensor["data"], dtype=_DTYPES[tensor["dtype"]])
        try:
            array = array.reshape(tensor["shape"])
        except ValueError as error:  # nothing, times more than there can be
            raise ModelFileError(f"array {name!r} has an impossible shape: {error}") from None
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    if document.pop("crc32", None) != _checksum(document, arrays):
        raise ModelFileError("its checksum does not fit its content: the file is damaged")
    return document, arrays


def check_format(document: Document) -> None:
    version = document.get("format")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ModelFileError(f"its format must be a whole number from 1 on, got {version!r}")
    if version > FORMAT:
        raise ModelFileError(
            f"it was written by a newer multiplane ({document.get('multiplane')}, in format "
            f"{version}), and this one reads formats up to {FORMAT}; upgrade multiplane"
        )


def _dumps(document: Document) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _loads(text: str) -> Document:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its JSON document cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise ModelFileError(f"its document must be a JSON object, got {type(document).__name__}")
    return document


def _checksum(document: Document, arrays: Arrays) -> int:
    try:
        total = zlib.crc32(_dumps(document).encode())
    except (ValueError, RecursionError) as error:  # NaN, which Python's JSON would let in
        raise ModelFileError(f"its document is not proper JSON: {error}") from None
    for name in sorted(arrays):
        array = arrays[name]
        label = f"{name} {array.dtype.str[1:]} {array.shape}"
        total = zlib.crc32(label.encode(), total)
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total = zlib.crc32(little.reshape(-1).view(np.uint8).data, total)
    return total
