"""Rows of any kind as blocks that are made where they live, one a partition."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isnan
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask.delayed import Delayed
from distributed import Client, Future

from multiplane._arrays import issparse
from multiplane.data import Block, DataError, check_sparse, open_source
from multiplane.data._open import files_of, format_of
from multiplane.data._source import stack
from multiplane.solvers._engine import Part


@dataclass(frozen=True)
class Files:
    """Files that the workers read: they must see them under these names, the client need not.

    Parameters
    ----------
    paths : path, pattern, folder or list of them
        Of any format that `multiplane.data.open_source` reads, but for pipes.
    blocksize : int, default=64 MiB
        A larger file is cut into several partitions, if its blocks can be read in any order: plain
        LIBSVM text, Parquet, Arrow, NumPy's, caches.
    options : dict, optional
        What `open_source` is told: ``{"label": "species", "weight": "count"}``, say.
    """

    paths: Any
    blocksize: int = 64 << 20
    options: dict[str, Any] | None = None


Recipe = tuple[Any, ...]


class Rows(NamedTuple):
    """Where rows are to be had."""

    # For each partition a function and its arguments, delayed or futures, that give a Block. To be
    # called again if what was in memory is lost.
    recipes: Callable[[], list[Recipe]]
    identity: Any  # by which a checkpoint knows them again, as far as that can be told from afar
    names: list[str] | None = None  # of the features
    nowhere: bool = False  # yet: to be dealt out to the workers


def rows_of(client: Client | None, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
    """Rows from whatever `fit` is given."""
    if isinstance(X, (list, tuple)) and not len(X):
        raise ValueError("the list of rows, parts or files is empty")
    if is_files(X):
        if y is not None or sample_weight is not None:
            raise TypeError(
                "files hold their labels and weights: y and sample_weight must be None, got "
                f"{type(y if y is not None else sample_weight).__name__}; name the columns with "
                f"Files(paths, options={{'label': …, 'weight': …}})"
            )
        return _of_files(client, X if isinstance(X, Files) else Files(X))
    if is_delayed(X):
        return _of_delayed(X, y, sample_weight)
    if is_collection(X):
        return _of_collections(X, y, sample_weight)
    for name, other in (("y", y), ("sample_weight", sample_weight)):
        if dask.is_dask_collection(other):
            raise TypeError(
                f"X is a {type(X).__name__} in the client's memory, but {name} is a Dask "
                f"{type(other).__name__}; make both Dask collections"
            )
    return _of_memory(client, X, y, sample_weight)


def parts_of(client: Client, rows: Rows) -> Callable[[], list[Future]]:
    """What makes the parts of an engine."""

    def make() -> list[Future]:
        token = uuid4().hex[:8]
        part = dask.delayed(_part, pure=False)
        parts = [
            part(number, *recipe, dask_key_name=f"partition-{token}-{number}")
            for number, recipe in enumerate(rows.recipes())
        ]
        workers = sorted(client.nthreads())
        if not rows.nowhere or not workers:  # those who are to come will get some
            return list(client.compute(parts))
        return [
            client.compute(p, workers=[workers[i % len(workers)]], allow_other_workers=True)
            for i, p in enumerate(parts)
        ]

    return make


def is_files(X: Any) -> bool:
    some = X if isinstance(X, (list, tuple)) and len(X) else [X]
    return isinstance(X, Files) or all(isinstance(path, (str, os.PathLike)) for path in some)


def is_delayed(X: Any) -> bool:
    some = X if isinstance(X, (list, tuple)) and len(X) else [X]
    return all(isinstance(item, (Delayed, Future)) for item in some)


def is_collection(X: Any) -> bool:
    """A Dask array or data frame."""
    return dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def is_frame(X: Any) -> bool:
    """A data frame or a series, Dask's or not."""
    return hasattr(X, "iloc") or hasattr(X, "map_partitions")


# --- Dask collections ----------------------------------------------------------------------


def _of_collections(X: Any, y: Any, weight: Any) -> Rows:
    names = _names(X)
    if not is_frame(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}")
        X = X.rechunk({1: -1}) if X.numblocks[1] != 1 else X
    others = [None if a is None else _along(a, X, n) for a, n in ((y, "y"), (weight, "weights"))]

    def recipes() -> list[Recipe]:
        return _recipes(_delayed(X), *(None if a is None else _delayed(a) for a in others))

    sizes = [] if is_frame(X) else [str(size) for size in X.chunks[0]]
    return Rows(recipes, [type(X).__name__, *sizes], names)


def _along(other: Any, X: Any, name: str) -> Any:
    """y or weights, in the partitions of X."""
    if is_frame(X):
        if not is_collection(other) or other.npartitions != X.npartitions:
            both = is_collection(other) and is_frame(other)
            if not (both and X.known_divisions and other.known_divisions):
                raise ValueError(
                    f"{name} must have the {X.npartitions} partitions of X, got "
                    f"{_described(other)}; take it from the same data frame"
                )
            other = other.repartition(divisions=X.divisions)
        return other
    sizes = X.chunks[0]
    if not is_collection(other):
        if any(map(isnan, sizes)):
            raise ValueError(
                f"{name} must be a Dask collection, for the chunks of X are of unknown size; got "
                f"{_described(other)}"
            )
        import dask.array as da

        other = np.asarray(other)
        _check_same_length(sum(sizes), len(other), name)
        return da.from_array(other, chunks=(sizes, *other.shape[1:]))
    if is_frame(other):
        own: tuple[float, ...] = (float("nan"),) * other.npartitions
    else:
        other = other.rechunk({1: -1}) if other.ndim == 2 and other.numblocks[1] != 1 else other
        own = other.chunks[0]
    if any(map(isnan, (*sizes, *own))):
        if len(own) != len(sizes):
            raise ValueError(
                f"{name} must have the {len(sizes)} chunks of X, whose sizes are not all known, "
                f"got {len(own)}; call compute_chunk_sizes() on both"
            )
        return other  # what does not match is found where the rows are
    _check_same_length(sum(sizes), sum(own), name)
    return other if own == sizes else other.rechunk({0: sizes})


def _check_same_length(expected: float, length: float, name: str) -> None:
    if length != expected:
        raise ValueError(f"X has {expected} rows, but {name} {length}")


def _described(thing: Any) -> str:
    partitions = getattr(thing, "npartitions", None)
    return f"a {type(thing).__name__}" + (f" of {partitions}" if partitions is not None else "")


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _names(X: Any) -> list[str] | None:
    columns = list(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(name, str) for name in columns) else None


# --- delayed objects, arrays in memory -----------------------------------------------------


def _of_delayed(X: Any, y: Any, weight: Any) -> Rows:
    lists = [
        None if a is None else list(a) if isinstance(a, (list, tuple)) else [a]
        for a in (X, y, weight)
    ]
    for name, items in (("y", lists[1]), ("sample_weight", lists[2])):
        if items is None:
            continue
        if len(items) != len(lists[0] or ()) or not is_delayed(items):
            raise ValueError(
                f"{name} must be a list of as many delayed objects as X has, {len(lists[0] or ())},"
                f" got {len(items)}"
            )
    return Rows(lambda: _recipes(*lists), "delayed")


def _recipes(*lists: list[Any] | None) -> list[Recipe]:
    n = len(lists[0] or ())
    columns = [[None] * n if items is None else items for items in lists]
    return [(as_block, *items) for items in zip(*columns, strict=True)]


def _of_memory(client: Client | None, X: Any, y: Any, weight: Any) -> Rows:
    assert client is not None
    whole = as_block(X, y, weight)
    n_parts = min(max(1, sum(client.nthreads().values())), max(1, whole.n_rows))
    edges = [whole.n_rows * i // n_parts for i in range(n_parts + 1)]

    def recipes() -> list[Recipe]:
        pieces = [
            Block(*(None if a is None else a[i:j] for a in whole)) for i, j in pairwise(edges)
        ]
        return [(_same, piece) for piece in client.scatter(pieces, hash=False)]

    return Rows(recipes, list(whole.X.shape), _names(X))


# --- files ---------------------------------------------------------------------------------


def _of_files(client: Client | None, files: Files) -> Rows:
    given = files.paths if isinstance(files.paths, (list, tuple)) else [files.paths]
    paths = [os.fspath(path) for path in given]
    if not paths:
        raise ValueError("the list of files is empty")
    for path in paths:
        if "://" in path:
            raise ValueError(
                f"{path!r}: workers read files, not addresses; read it with dask.dataframe, say, "
                f"and pass the collection"
            )
    if "-" in paths:
        raise ValueError("workers cannot read the client's standard input; write it to a file")
    paths = [os.path.abspath(path) for path in paths]
    options = {"n_jobs": 1, **(files.options or {})}
    listing = dask.delayed(_listed, pure=False)(paths, int(files.blocksize), options)
    pieces, names, identity = client.compute(listing).result() if client else listing.compute()
    if names is not None:
        options["columns"] = tuple(names)  # in the order of the first file
    recipes: list[Recipe] = [(_read, path, order, options) for path, order in pieces]
    return Rows(lambda: recipes, identity, names, nowhere=True)


def _listed(
    paths: list[str], blocksize: int, options: dict[str, Any]
) -> tuple[list[tuple[str, range | None]], list[str] | None, list[Any]]:
    """Files and blocks of each partition, names of features, identities; where the files are."""
    pieces: list[tuple[str, range | None]] = []
    names, identity = None, []
    for path in (file for given in paths for file in files_of(given)):
        source = open_source(path, **options)
        if source.once:
            raise DataError(f"{path} can be read only once, and workers may have to read it again")
        if names is None and (options.get("format") or format_of(path)) in ("csv", "tsv"):
            next(iter(source), None)  # the names are in it
        names = names or source.feature_names
        identity.append(source.identity)
        n_blocks = source.n_blocks or 1
        n_parts = min(n_blocks, max(1, ceil((source.n_bytes or 0) / blocksize)))
        if n_parts == 1:
            pieces.append((path, None))
            continue
        edges = [n_blocks * i // n_parts for i in range(n_parts + 1)]
        pieces += [(path, range(i, j)) for i, j in pairwise(edges)]
    return pieces, names, identity


def _read(path: str, order: range | None, options: dict[str, Any]) -> Block:
    blocks = [block for block in open_source(path, **options).read(order) if block.n_rows]
    if not blocks:
        return Block(np.zeros((0, 0), np.float32), np.zeros(0, np.int64))
    X, y, weight = stack(blocks)
    return Block(X, y.toarray() if issparse(y) else y, weight)


# --- on a worker ---------------------------------------------------------------------------


def _part(number: int, make: Callable[..., Block], *args: Any) -> Part:
    try:
        return Part(number, make(*args))
    except (ValueError, OSError) as error:
        raise DataError(f"partition {number}: {error}") from error


def _same(block: Block) -> Block:
    return block


def as_block(X: Any, y: Any = None, sample_weight: Any = None) -> Block:
    """One partition as the solvers want it; X may be a tuple (X, y) or (X, y, sample_weight)."""
    if isinstance(X, tuple):
        if y is not None or sample_weight is not None or not 1 <= len(X) <= 3:
            raise DataError(
                f"a partition must be a tuple (X, y) or (X, y, sample_weight), got one of {len(X)}"
            )
        return as_block(*X)
    block = Block(_matrix(X), _labels(y), None if sample_weight is None else _vector(sample_weight))
    return block.checked("rows")


def _matrix(X: Any) -> Any:
    if issparse(X):
        check_sparse(X)
        return X if X.format == "csr" else X.tocsr()
    if is_frame(X):
        return _table(X)
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"features must be numbers: {error}") from error
    return X


def _table(frame: Any) -> Any:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    for name, dtype in frame.dtypes.items():
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)):
            raise DataError(
                f"column {name!r} holds {dtype}, and features must be numbers; drop it, or encode "
                f"it first"
            )
    narrow = all(dtype == np.float32 for dtype in frame.dtypes)
    rows = frame.to_numpy(dtype=np.float32 if narrow else np.float64, na_value=np.nan)
    # Row by row, as files are read: BLAS rounds another layout in another way on some processors.
    return np.ascontiguousarray(rows)


def _labels(y: Any) -> Any:
    if y is None:
        return None
    if is_frame(y):
        gaps = np.asarray(y.isna()).reshape(len(y), -1).any(axis=1)
        if gaps.any():
            raise DataError(f"a label is missing at row {int(np.argmax(gaps))}")
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y


def _vector(weight: Any) -> Any:
    weight = np.asarray(weight, dtype=np.float64)
    return weight.ravel() if weight.ndim == 2 and weight.shape[1] == 1 else weight
