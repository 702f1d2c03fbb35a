"""Arrays in files of NumPy, mapped into memory rather than read."""

from __future__ import annotations

import os
import zipfile
import zlib
from typing import Any

import numpy as np

from multiplane.data._errors import DataError
from multiplane.data._memory import ArraySource

_LABELS = ("y", "label", "target", "class")  # what an array of labels is usually called
_CSR = ("data", "indices", "indptr", "shape")
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError)


def open_npy(path: str, labels: str | os.PathLike[str] | None) -> ArraySource:
    """X from one ``.npy`` file, y from another."""
    return ArraySource(_npy(path), None if labels is None else _npy(labels), name=path)


def _npy(path: str | os.PathLike[str]) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path}: {error}") from error


def open_npz(path: str, label: str | None, weight: str | None) -> ArraySource:
    """X and y of one ``.npz`` file; or the parts of a CSR matrix, as SciPy's ``save_npz`` writes
    them. Arrays that are not packed are mapped, others are read."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {
                member.filename.removesuffix(".npy"): _member(path, archive, member)
                for member in archive.infolist()
            }
    except _DAMAGE as error:
        raise DataError(f"{path}: {error}") from error
    X: Any
    if "X" in arrays:
        X = arrays["X"]
    elif all(name in arrays for name in _CSR):
        X = _csr(arrays, path)
    else:
        raise DataError(
            f"{path}: needs an array X, or data, indices, indptr and shape of a CSR matrix; it "
            f"has {', '.join(sorted(arrays)) or 'nothing'}"
        )
    for name, what in ((label, "labels"), (weight, "weights")):
        if name is not None and name not in arrays:
            raise DataError(f"{path}: there is no array {name!r} of {what}")
    names = _LABELS if label is None else (label,)
    y = next((arrays[name] for name in names if name in arrays), None)
    return ArraySource(X, y, arrays[weight] if weight else None, name=path)


def _csr(arrays: dict[str, Any], path: str) -> Any:
    format = arrays.get("format", np.array("csr")).item()
    if format not in ("csr", b"csr"):
        raise DataError(f"{path}: holds a sparse matrix in format {format}; save it as CSR")
    try:
        shape = tuple(arrays["shape"].tolist())
        import scipy.sparse as sp

        return sp.csr_matrix(tuple(arrays[name] for name in _CSR[:3]), shape=shape)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"{path}: corrupt CSR matrix: {error}") from error


def _member(path: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if member.compress_type != zipfile.ZIP_STORED or version not in ((1, 0), (2, 0)):
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
        read = (np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0)
        shape, fortran, dtype = read[version[0] - 1](file)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not read")
        if not shape or 0 in shape:  # nothing to map
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
        header = file.tell()
    with open(path, "rb") as raw:  # what lies before the member's first byte
        raw.seek(member.header_offset + 26)
        name_size, extra_size = np.frombuffer(raw.read(4), dtype="<u2").tolist()
    offset = member.header_offset + 30 + name_size + extra_size + header
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")
