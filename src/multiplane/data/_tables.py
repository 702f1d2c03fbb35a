"""Tables: Parquet, Arrow (Feather) and CSV, through pyarrow.

A wide table has a column for each feature and one for the labels; a narrow one has columns
``indices`` and ``values`` of lists, which become CSR rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from multiplane.data._errors import DataError
from multiplane.data._source import Block, Source
from multiplane.data._text import open_unpacked
from multiplane.data._threads import mapped, prefetched

_LABELS = ("label", "y", "target", "class")  # what a column of labels is usually called
_BLOCK_VALUES = 1 << 20
_BLOCK_BYTES = 4 << 20


class TableSource(Source):
    """Blocks of rows from tables; one Parquet row group or Arrow batch each.

    Parameters
    ----------
    paths : list of str
    format : "parquet", "arrow" or "csv"
    label : str, optional
        Column of labels. None: the first of label, y, target, class that there is; without any of
        them the rows have no labels.
    weight : str, optional
        Column of weights.
    columns : list of str, optional
        The features, in this order; other columns are passed over.
    delimiter, header : of CSV
    """

    def __init__(
        self,
        paths: Sequence[str],
        format: str,
        *,
        label: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str = ",",
        header: bool = True,
        n_threads: int = 1,
    ) -> None:
        self._arrow = _pyarrow(format)
        self.paths, self.format = list(paths), format
        self.name = self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} files"
        self.label, self.weight = label, weight
        self.delimiter, self.header, self.n_threads = delimiter, header, n_threads
        self.once = "-" in self.paths
        if not self.once:
            self.n_bytes = sum(os.path.getsize(path) for path in self.paths)
        self._consumed = False
        self._columns = self.feature_names = None if columns is None else list(columns)
        self._chosen = columns is not None
        self.n_features = None if columns is None else len(columns)
        with self._damage():
            self._parts = None if format == "csv" else self._list_parts()
        if self._parts is not None:
            self.n_blocks = len(self._parts)

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        if order is not None and self._parts is None:
            raise ValueError(f"{self.name} can only be read in its own order")
        if self.once and self._consumed:
            raise DataError(f"{self.name} can be read only once: write it to a file, or a cache")
        self._consumed = True
        self.bytes_read = 0
        for size, block in self._blocks(order):
            self.bytes_read += size
            yield block

    def _blocks(self, order: Sequence[int] | None) -> Iterator[tuple[int, Block]]:
        if self._parts is None:
            tables = prefetched(self._csv())
            yield from mapped(self._converted, tables, self.n_threads)
            return
        parts = self._parts if order is None else [self._parts[i] for i in order]
        yield from mapped(lambda part: self._converted(part()), parts, self.n_threads)

    def _list_parts(self) -> list[Callable[[], tuple[str, int, Any]]]:
        parts: list[Callable[[], tuple[str, int, Any]]] = []
        n_rows = 0
        for path in self.paths:
            if self.format == "parquet":
                groups = self._arrow.parquet.ParquetFile(path)
                n_rows += groups.metadata.num_rows
                parts += [partial(self._row_group, path, i) for i in range(groups.num_row_groups)]
            else:
                with (
                    self._arrow.memory_map(path) as file,
                    self._arrow.ipc.open_file(file) as batches,
                ):
                    count = batches.num_record_batches
                    n_rows += sum(batches.get_batch(i).num_rows for i in range(count))
                parts += [partial(self._batch, path, i) for i in range(count)]
        self.n_rows = n_rows
        return parts

    def _row_group(self, path: str, number: int) -> tuple[str, int, Any]:
        with self._damage(path), self._arrow.parquet.ParquetFile(path) as file:
            size = file.metadata.row_group(number).total_byte_size
            return path, size, file.read_row_group(number, use_threads=False)

    def _batch(self, path: str, number: int) -> tuple[str, int, Any]:
        with (
            self._damage(path),
            self._arrow.memory_map(path) as file,
            self._arrow.ipc.open_file(file) as batches,
        ):
            batch = batches.get_batch(number)
            return path, batch.nbytes, self._arrow.Table.from_batches([batch])

    def _csv(self) -> Iterator[tuple[str, int, Any]]:
        csv = self._arrow.csv
        read = csv.ReadOptions(block_size=_BLOCK_BYTES, autogenerate_column_names=not self.header)
        parse = csv.ParseOptions(delimiter=self.delimiter)
        for path in self.paths:
            with self._damage(path), open_unpacked(path) as file:
                tables = csv.open_csv(self._arrow.PythonFile(file, "r"), read, parse)
                for batch in tables:
                    yield path, batch.nbytes, self._arrow.Table.from_batches([batch])

    def _converted(self, part: tuple[str, int, Any]) -> tuple[int, Block]:
        path, size, table = part
        names = table.column_names
        label = self._label_of(names, path)
        y = None if label is None else _labels(table.column(label), path, label)
        weight = None
        if self.weight is not None:
            if self.weight not in names:
                raise DataError(f"{path}: there is no column {self.weight!r} of weights")
            weight = _numbers(table.column(self.weight), path, self.weight, np.float64)
        features = [name for name in names if name not in (label, self.weight)]
        if self._chosen and self._columns is not None:
            if missing := set(self._columns) - set(names):
                raise DataError(f"{path}: there are no columns {sorted(missing)[:5]}")
            features = self._columns
        if features == ["indices", "values"] or features == ["values", "indices"]:
            return size, Block(_csr(table, path), y, weight)
        if not features:
            raise DataError(f"{path}: there are no columns of features beside the labels")
        if self._columns is None:
            self._columns = self.feature_names = features
            self.n_features = len(features)
        elif features != self._columns:
            raise DataError(
                f"{path}: its columns are not those of the rows before: "
                f"{_difference(self._columns, features)}"
            )
        X = np.empty((table.num_rows, len(features)), dtype=np.float32)
        for column, name in enumerate(features):
            X[:, column] = _numbers(table.column(name), path, name, np.float32)
        return size, Block(X, y, weight)

    def _label_of(self, names: list[str], path: str) -> str | None:
        if self.label is None:
            return next((name for name in _LABELS if name in names), None)
        if self.label not in names:
            shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            raise DataError(f"{path}: there is no column {self.label!r}; it has {shown}")
        return self.label

    def _damage(self, path: str | None = None) -> Any:
        return _Damage(self._arrow.ArrowException, path or self.name)


class _Damage:
    """Arrow's errors as ours."""

    def __init__(self, kind: type[BaseException], path: str) -> None:
        self.kind, self.path = kind, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self.kind) and not isinstance(error, MemoryError):
            raise DataError(f"{self.path}: {error}") from error


def _pyarrow(format: str) -> Any:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            f'reading {format} needs pyarrow: pip install "multiplane[arrow]"'
        ) from error
    return pyarrow


def _numbers(column: Any, path: str, name: str, dtype: Any) -> Any:
    """One column; what is missing becomes NaN, which the learners refuse with its place."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_boolean(kind):
        column = column.cast(pyarrow.uint8())
    elif not (
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_decimal(kind)
        or pyarrow.types.is_null(kind)
    ):
        raise DataError(
            f"{path}: column {name!r} holds {kind}, and features must be numbers; drop it, or "
            f"encode it first"
        )
    with np.errstate(over="ignore"):  # becomes infinity, which the learners refuse
        return column.to_numpy().astype(dtype)


def _labels(column: Any, path: str, name: str) -> Any:
    import pyarrow

    if column.null_count:
        raise DataError(f"{path}: a label is missing in column {name!r}")
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    y = column.to_numpy()
    return y.astype(str) if y.dtype.kind == "O" else y


def _csr(table: Any, path: str) -> Any:
    table = table.combine_chunks()
    lists = {}
    for name in ("indices", "values"):
        column = table.column(name)
        if column.null_count:
            raise DataError(f"{path}: a list is missing in column {name!r}")
        lists[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    begin = np.asarray(lists["indices"].offsets, dtype=np.int64)
    if not np.array_equal(begin, np.asarray(lists["values"].offsets)):
        sizes = np.diff(begin)
        if not np.array_equal(sizes, np.diff(np.asarray(lists["values"].offsets))):
            raise DataError(f"{path}: lists of indices and of values differ in length")
        begin = np.append(0, np.cumsum(sizes))
    else:
        begin = begin - (begin[0] if len(begin) else 0)
    indices = np.asarray(lists["indices"].flatten())
    values = np.asarray(lists["values"].flatten(), dtype=np.float32)
    if indices.dtype.kind not in "iu":
        raise DataError(f"{path}: indices must be whole numbers, got {indices.dtype}")
    if len(indices) and (indices.min() < 0 or indices.max() >= 2**31 - 1):
        raise DataError(f"{path}: an index is not within 0 … {2**31 - 2}")
    indices = indices.astype(np.int32)
    width = int(indices.max(initial=-1)) + 1
    return sp.csr_matrix((values, indices, begin.astype(np.int32)), shape=(len(begin) - 1, width))


def _difference(before: list[str], now: list[str]) -> str:
    missing, new = set(before) - set(now), set(now) - set(before)
    if missing or new:
        return f"missing {sorted(missing)[:5]}, new {sorted(new)[:5]}"
    return "they come in another order"
