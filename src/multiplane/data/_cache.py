"""A cache: rows as the learners want them, in one file that is mapped into memory.

    "MPCACHE1"                                       8 bytes
    arrays of the blocks, each from a multiple of 64 on, little-endian
    description: JSON                                version, sizes, for each block its arrays
    offset and size of the description, its CRC-32   3 × 8 bytes
    "MPCACHE."                                       8 bytes

A block is dense (``X``: float32, or uint8 where all its values are such) or CSR (``data``,
``indices``, ``indptr``), with ``y`` and ``weight`` where there are any, and has a CRC-32 of its own
that is checked when the block is first read. A file gets its name only when it is complete.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from multiplane._arrays import issparse
from multiplane._atomic import atomic
from multiplane._csr import Csr
from multiplane.data._errors import DataError
from multiplane.data._source import Block, Source, check_structure

VERSION = 1
_HEAD, _TAIL = b"MPCACHE1", b"MPCACHE."
_END = struct.Struct("<QQQ8s")
_ALIGNMENT = 64
_KINDS = "biufU"  # of arrays; never Python objects


def is_cache(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a cache does."""
    with open(path, "rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def write_cache(
    source: Source,
    path: str | os.PathLike[str],
    *,
    layout: Literal["auto", "dense", "sparse"] = "auto",
    dtype: Literal["auto", "float32"] = "auto",
    origin: Any = None,
    progress: Callable[[Block], None] | None = None,
) -> None:
    """Write all rows of a source into a cache file.

    Parameters
    ----------
    layout : "auto", "dense" or "sparse"
        Of the rows; "auto": as the source gives them, so that little but speed tells a cache from
        what it was made of.
    dtype : "auto" or "float32"
        "auto": blocks of whole numbers from 0 to 255 are kept in a byte each.
    origin : optional
        Anything that JSON can say of where the rows come from.
    progress : optional
        Called after each block.

    Values are kept in float32, as the loops have them: scalers that look at float64 rows may find
    another last digit in a cache. A file that is there already and no cache is not overwritten.
    """
    if os.path.isfile(path) and os.path.getsize(path) and not is_cache(path):
        raise DataError(f"{os.fspath(path)}: is there already and no cache; give it another name")
    blocks: list[dict[str, Any]] = []
    n_rows, n_features, dense = 0, source.n_features or 0, layout == "dense"
    with atomic(path) as file:
        file.write(_HEAD)
        for block in source:
            if not blocks and layout == "auto":
                dense = not issparse(block.X)
            if not blocks and dense:
                n_features = max(n_features, block.X.shape[1])
            X = _laid_out(block, n_features, source.name) if dense else _sparse(block.X)
            n_features = max(n_features, X.shape[1])
            arrays = _arrays(X, block, dtype)
            entry: dict[str, Any] = {"n_rows": block.n_rows, "arrays": {}}
            checksum = 0
            for name, array in arrays.items():
                offset = file.tell()
                file.write(bytes(-offset % _ALIGNMENT))
                data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                entry["arrays"][name] = [array.dtype.str, file.tell(), list(array.shape)]
                checksum = zlib.crc32(data, checksum)
                file.write(data)
            blocks.append({**entry, "crc32": checksum})
            n_rows += block.n_rows
            if progress is not None:
                progress(block)
        if not blocks:
            raise DataError(f"{source.name}: there are no rows")
        description = json.dumps(
            {
                "version": VERSION,
                "n_rows": n_rows,
                "n_features": n_features,
                "feature_names": source.feature_names,
                "origin": origin,
                "blocks": blocks,
            }
        ).encode()
        offset = file.tell()
        file.write(description)
        file.write(_END.pack(offset, len(description), zlib.crc32(description), _TAIL))


def _laid_out(block: Block, n_features: int, name: str) -> Any:
    if block.X.shape[1] > n_features:
        raise DataError(
            f"{name}: the first rows have {n_features} features and later ones "
            f"{block.X.shape[1]}; say n_features (--n-features), or layout='sparse'"
        )
    if not issparse(block.X):
        if block.X.shape[1] != n_features:
            raise DataError(f"{name}: rows have {block.X.shape[1]} and {n_features} features")
        return block.X
    X = np.zeros((block.n_rows, n_features), dtype=np.float32)
    X[:, : block.X.shape[1]] = block.X.toarray()
    return X


def _sparse(X: Any) -> Any:
    import scipy.sparse as sp

    X = sp.csr_matrix(X)
    return X if X.has_canonical_format else _tidy(X)


def _tidy(X: Any) -> Any:
    X = X.copy()
    X.sum_duplicates()
    return X


def _indicator(Y: Any) -> Any:
    """Of its values nothing is kept but where they are."""
    Y = _tidy(_sparse(Y))
    Y.eliminate_zeros()
    if np.any(Y.data != 1):
        raise DataError(f"y must be a matrix of zeros and ones, got a {Y.data[Y.data != 1][0]}")
    return Y


def _arrays(X: Any, block: Block, dtype: str) -> dict[str, Any]:
    if issparse(X):
        indptr = X.indptr.astype(np.int32 if X.nnz < 2**31 else np.int64)
        arrays = {
            "data": _narrowed(X.data, dtype),
            "indices": X.indices.astype(indptr.dtype),
            "indptr": indptr,
        }
    else:
        arrays = {"X": _narrowed(X, dtype)}
    if issparse(block.y):
        Y = _indicator(block.y)
        shape = np.array(Y.shape, dtype=np.int64)
        arrays |= {"y_indices": Y.indices, "y_indptr": Y.indptr, "y_shape": shape}
    elif block.y is not None:
        arrays["y"] = np.asarray(block.y)
    if block.sample_weight is not None:
        arrays["weight"] = np.asarray(block.sample_weight, dtype=np.float64)
    for name, array in arrays.items():
        if array.dtype.kind not in _KINDS:
            raise DataError(f"a cache cannot hold {name} of type {array.dtype}")
        arrays[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return arrays


def _narrowed(values: Any, dtype: str) -> Any:
    if dtype == "auto":
        if values.dtype == np.uint8:
            return values
        with np.errstate(invalid="ignore"):
            narrow = values.astype(np.uint8)
        if np.array_equal(narrow, values) and not np.signbit(values).any():  # −0 is no byte
            return narrow
    with np.errstate(over="ignore"):
        return values.astype(np.float32, copy=False)


class CacheSource(Source):
    """Rows from a cache file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = self.name = os.fspath(path)
        self.n_bytes = os.path.getsize(self.path)
        with open(self.path, "rb") as file:
            if file.read(len(_HEAD)) != _HEAD or self.n_bytes < len(_HEAD) + _END.size:
                raise self._error("this is no cache file of multiplane's")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        offset, size, checksum, tail = _END.unpack_from(self._map, self.n_bytes - _END.size)
        if tail != _TAIL or offset + size + _END.size != self.n_bytes:
            raise self._error("the cache file is cut short")
        description = self._map[offset : offset + size]
        if zlib.crc32(description) != checksum:
            raise self._error("the cache file is damaged")
        try:
            facts = json.loads(description)
            version = facts["version"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._error("the cache file is damaged") from error
        if version != VERSION:
            raise self._error(
                f"the cache has version {version}, and this multiplane reads version "
                f"{VERSION}; convert the data anew"
            )
        try:
            self.n_rows, self.n_features = int(facts["n_rows"]), int(facts["n_features"])
            self.feature_names, self.origin = facts["feature_names"], facts["origin"]
            self._blocks: list[dict[str, Any]] = list(facts["blocks"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._error("the cache file is damaged") from error
        self.n_blocks = len(self._blocks)
        self._checked: set[int] = set()

    def _light(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        self.bytes_read = 0
        for number in range(len(self._blocks)) if order is None else order:
            yield self._block(number)

    def _block(self, number: int) -> Block:
        try:
            return self._read_block(number)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, DataError):
                raise
            raise self._error(f"block {number} of the cache file is damaged") from error

    def _read_block(self, number: int) -> Block:
        entry = self._blocks[number]
        arrays = {name: self._array(*place) for name, place in entry["arrays"].items()}
        if number not in self._checked:
            checksum = 0
            for array in arrays.values():
                flat = array.reshape(-1).view(np.uint8) if array.size else b""
                checksum = zlib.crc32(flat, checksum)
            if checksum != entry["crc32"]:
                raise self._error(f"block {number} of the cache file is damaged")
        self.bytes_read += sum(array.nbytes for array in arrays.values())
        X = arrays.get("X")
        if X is None:
            data = arrays["data"].astype(np.float32, copy=False)
            shape = (int(entry["n_rows"]), int(self.n_features or 0))
            X = Csr(data, arrays["indices"], arrays["indptr"], shape)
            if number not in self._checked:
                check_structure(X, self.path)
        y = arrays.get("y")
        if "y_indptr" in arrays:
            ones = np.ones(len(arrays["y_indices"]), dtype=np.int8)
            shape = tuple(arrays["y_shape"].tolist())
            import scipy.sparse as sp

            y = sp.csr_matrix((ones, arrays["y_indices"], arrays["y_indptr"]), shape=shape)
            if number not in self._checked:
                check_structure(y, self.path)
        self._checked.add(number)
        return Block(X, y, arrays.get("weight"))

    def _array(self, dtype: str, offset: int, shape: list[int]) -> Any:
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        if kind.kind not in _KINDS or offset + count * kind.itemsize > (self.n_bytes or 0):
            raise self._error("the cache file is damaged")
        return np.frombuffer(self._map, kind, count, offset).reshape(shape)

    def _error(self, what: str) -> DataError:
        return DataError(f"{self.path}: {what}")
