"""One door to all kinds of data."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from multiplane._jobs import number_of_threads
from multiplane.data._cache import CacheSource, is_cache, write_cache
from multiplane.data._errors import DataError
from multiplane.data._libsvm import LibsvmSource
from multiplane.data._memory import ArraySource, IterableSource
from multiplane.data._source import Source

_ENDINGS = {
    "libsvm": ("svm", "libsvm", "svmlight", "txt", "dat", "data", "t", "tr", "scale"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "feather", "ipc"),
    "csv": ("csv",),
    "tsv": ("tsv", "tab"),
    "npy": ("npy",),
    "npz": ("npz",),
    "cache": ("mpc",),
}
_CACHE = ".mpc"
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
_ASIDE = (".", "_")  # how names begin that are no data
FORMATS = tuple(_ENDINGS)
_TABLES = ("parquet", "arrow", "csv", "tsv")
_KNOWN_IN = {"weight": (*_TABLES, "npz"), "labels": ("npy",)}  # and passed over nowhere


@dataclass(frozen=True)
class ReadOptions:
    """How `open_source` reads; see there."""

    format: str | None = None
    label: str | None = None
    weight: str | None = None
    labels: str | os.PathLike[str] | None = None
    columns: tuple[str, ...] | None = None
    zero_based: bool = False
    multilabel: bool = False
    n_features: int | None = None
    extra_features: Literal["raise", "drop"] = "raise"
    on_error: Literal["raise", "skip"] = "raise"
    header: bool = True
    n_jobs: int | None = None


def open_source(
    data: Any,
    *,
    cache: bool | str | os.PathLike[str] = False,
    **options: Any,
) -> Source:
    """Rows of any kind as a re-iterable source of blocks ``(X, y, sample_weight)``.

    Parameters
    ----------
    data : path, list of paths, pattern, "-", arrays, iterable or function
        - Files by name, folder or pattern (``"day-*.svm.gz"``): LIBSVM text, plain or packed with
          gzip, bzip2, xz or zstd; Parquet, Arrow (Feather) and CSV (with pyarrow); ``.npy`` and
          ``.npz``, mapped into memory; caches (``.mpc``). "-" is standard input.
        - A tuple of arrays ``(X, y)`` or ``(X, y, sample_weight)``.
        - An iterable of such tuples, or a function that returns one; an iterator can be read once
          only.
    cache : bool or path, default=False
        Keep what was read in a binary file, by default beside the first one with ``.mpc`` added,
        and read that from now on: worth it from the second pass on. It is written anew when the
        files have changed. A file of this name that is no cache is left alone, with an error.
    format : str, optional
        "libsvm", "parquet", "arrow", "csv", "tsv", "npy", "npz" or "cache"; None: by the file's
        ending, and LIBSVM for endings that are not known.
    label, weight : str, optional
        Names of the columns of labels and of weights, in tables and ``.npz``; by default the labels
        are the column label, y, target or class. Files may have their columns in any order.
    columns : sequence of str, optional
        Names of the columns of features, in tables; by default all others.
    labels : path, optional
        The file of the labels that belong to an ``.npy`` file.
    zero_based : bool, default=False
        LIBSVM text: whether the first feature is number 0. LIBSVM's own is number 1.
    multilabel : bool, default=False
        LIBSVM text: labels are lists such as ``1,3,7``, and y is an indicator matrix.
    n_features : int, optional
        LIBSVM text: how many features there are; a higher one is an error or, with
        ``extra_features="drop"``, passed over.
    on_error : "raise" or "skip", default="raise"
        LIBSVM text: a malformed line is an error that names file and line, or is passed over,
        counted (``n_skipped``) and named (``skipped``).
    header : bool, default=True
        CSV: whether the first line holds the columns' names; without, they are called f0, f1, …
    n_jobs : int, optional
        Threads that read ahead; by default one for each processor, at most four. −1: all.

    Returns
    -------
    source : Source
        ``for X, y, sample_weight in source: ...``, as often as wanted; ``source.load()`` for all
        rows at once.

    Examples
    --------
    >>> from multiplane.data import open_source
    >>> source = open_source(([[0.0, 1.0], [2.0, 3.0]], [0, 1]))
    >>> [(X.shape, y.tolist()) for X, y, _ in source]
    [((2, 2), [0, 1])]
    """
    given = _checked(options)
    paths = data if isinstance(data, (list, tuple)) else [data]
    if paths and all(isinstance(path, (str, os.PathLike)) for path in paths):
        return _cached([p for path in paths for p in files_of(os.fspath(path))], given, cache)
    if options or cache:
        said = [*options, *(["cache"] if cache else [])]
        raise ValueError(
            f"{' and '.join(said)}: only for files, got {type(data).__name__}; write_cache keeps "
            f"other rows"
        )
    if isinstance(data, Source):
        return data
    if isinstance(data, tuple) and 1 <= len(data) <= 3 and not isinstance(data[0], tuple):
        return ArraySource(*data)
    if isinstance(data, (Callable, Iterable)):  # type: ignore[arg-type]
        return IterableSource(data)
    raise TypeError(
        f"data must be a path, a list of paths, a tuple of arrays (X, y), an iterable of such "
        f"tuples or a function that returns one, got {type(data).__name__}"
    )


def _checked(options: dict[str, Any]) -> ReadOptions:
    given = ReadOptions(**options)
    for name, allowed in (
        ("on_error", ("raise", "skip")),
        ("extra_features", ("raise", "drop")),
        ("format", (None, *FORMATS)),
    ):
        if getattr(given, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(given, name)!r}")
    if given.n_features is not None and given.n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {given.n_features}")
    return given


def files_of(path: str) -> list[str]:
    """Files of a name, a folder or a pattern, sorted."""
    if path == "-" or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        found = sorted(_below(path))
    elif os.path.exists(path):  # a pipe
        return [path]
    else:
        found = sorted(p for p in glob.glob(path, recursive=True) if not os.path.isdir(p))
    # Caches that lie beside their files are not files of their own.
    found = [p for p in found if not (p.endswith(_CACHE) and p.removesuffix(_CACHE) in found)]
    if not found:
        if os.path.isdir(path):
            raise FileNotFoundError(f"there is no file of data in the folder {path!r}")
        raise FileNotFoundError(f"there is no file {path!r}, nor any that matches it")
    return found


def _below(folder: str) -> Iterator[str]:
    """Files in a folder and its folders, but for what others leave there: .ipynb_checkpoints,
    _temporary, _SUCCESS."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(_ASIDE)]
        yield from (os.path.join(place, name) for name in names if not name.startswith(_ASIDE))


def format_of(path: str) -> str:
    """By a file's ending, less that of its packing."""
    name = os.path.basename(path).lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    ending = name.rpartition(".")[2]
    return next((format for format, endings in _ENDINGS.items() if ending in endings), "libsvm")


def without_strange(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options of another file, less those that this one's format does not know."""
    format = options.get("format") or format_of(path)
    strange = [name for name, knowing in _KNOWN_IN.items() if format not in knowing]
    return {name: value for name, value in options.items() if name not in strange}


def _open(paths: list[str], given: ReadOptions) -> Source:
    source = _of_format(paths, given)
    source.identity = _origin(paths, given)
    return source


def _of_format(paths: list[str], given: ReadOptions) -> Source:
    formats = {given.format or format_of(path) for path in paths}
    if len(formats) > 1:
        raise DataError(
            f"files of several formats: {', '.join(sorted(formats))}; say format= (--format)"
        )
    format = formats.pop()
    for name, knowing in _KNOWN_IN.items():
        if getattr(given, name) is not None and format not in knowing:
            raise ValueError(
                f"{paths[0]}: {name} is for {', '.join(knowing)} and would be passed over in "
                f"{format}; leave it out"
            )
    n_threads = min(4, os.cpu_count() or 1) if given.n_jobs is None else given.n_jobs
    n_threads = number_of_threads(n_threads)
    if format == "libsvm":
        return LibsvmSource(
            paths,
            zero_based=given.zero_based,
            multilabel=given.multilabel,
            n_features=given.n_features,
            extra_features=given.extra_features,
            on_error=given.on_error,
            n_threads=n_threads,
        )
    if format in _TABLES:
        from multiplane.data._tables import TableSource

        return TableSource(
            paths,
            "csv" if format == "tsv" else format,
            label=given.label,
            weight=given.weight,
            columns=given.columns,
            delimiter="\t" if format == "tsv" else ",",
            header=given.header,
            n_threads=n_threads,
        )
    if len(paths) > 1:
        raise DataError(f"{format} files are read one at a time, got {len(paths)}")
    if format in ("npy", "npz"):
        from multiplane.data._numpy import open_npy, open_npz

        if format == "npy":
            return open_npy(paths[0], given.labels)
        return open_npz(paths[0], given.label, given.weight)
    return CacheSource(paths[0])


def _cached(paths: list[str], given: ReadOptions, cache: bool | str | os.PathLike[str]) -> Source:
    formats = {given.format or format_of(path) for path in paths}
    if not cache or formats == {"cache"}:
        return _open(paths, given)
    if "-" in paths and cache is True:
        raise ValueError("a cache of standard input needs a name: cache='data.mpc' (--cache-file)")
    place = f"{paths[0]}{_CACHE}" if cache is True else os.fspath(cache)
    origin = _origin(paths, given)
    if os.path.exists(place):
        if not is_cache(place):
            raise DataError(f"{place}: is there already and no cache; give the cache another name")
        kept = _kept(place)
        if kept is not None and kept.origin == origin and "-" not in paths:
            kept.identity = origin
            return kept
    write_cache(_open(paths, given), place, origin=origin)
    kept = CacheSource(place)
    kept.identity = origin
    return kept


def _kept(place: str) -> CacheSource | None:
    try:
        return CacheSource(place)
    except DataError:  # of another version, or damaged: written anew
        return None


def _origin(paths: list[str], given: ReadOptions) -> dict[str, Any]:
    """By which it is seen whether a cache is of these files, as they are now."""
    files = []
    for path in (*paths, *([] if given.labels is None else [os.fspath(given.labels)])):
        if path != "-":
            status = os.stat(path)
            files.append([os.path.abspath(path), status.st_size, status.st_mtime_ns])
    said = {
        name: str(value)
        for name, value in vars(given).items()
        if name != "n_jobs" and value is not None
    }
    return {"files": files, "options": said}
