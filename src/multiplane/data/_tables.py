"""Tables: Parquet, Arrow (Feather) and CSV, through pyarrow.

A wide table has a column for each feature and one for the labels; a narrow one has columns
``indices`` and ``values`` of lists, which become CSR rows.
"""

from __future__ import annotations

import io
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from multiplane.data._errors import DataError
from multiplane.data._source import Block, Source
from multiplane.data._text import Rejoined, open_unpacked, packing, size_of
from multiplane.data._threads import mapped, prefetched

_LABELS = ("label", "y", "target", "class")  # what a column of labels is usually called
_BLOCK_BYTES = 4 << 20
Part = tuple[str, int, Any]  # path, bytes of the file, table


class TableSource(Source):
    """Blocks of rows from tables; one Parquet row group or Arrow batch each.

    Columns go by their names: files may have them in another order than the first one.

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

    dear = True

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
        self.once = any(size_of(path) is None for path in self.paths)
        if not self.once:
            self.n_bytes = sum(os.path.getsize(path) for path in self.paths)
        elif format != "csv":
            raise DataError(f"{self.name}: {format} cannot be read from a pipe; use a file")
        self._consumed = False
        self._chosen = columns is not None
        # Of the features, once they are known.
        self._columns = self.feature_names = None if columns is None else list(columns)
        self.n_features = None if columns is None else len(columns)
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
            self.bytes_read = min(self.bytes_read + size, self.n_bytes or 0)
            yield block

    def _blocks(self, order: Sequence[int] | None) -> Iterator[tuple[int, Block]]:
        if self._parts is None:
            tables = prefetched(self._csv())
            yield from mapped(self._converted, tables, self.n_threads)
            return
        parts = self._parts if order is None else [self._parts[i] for i in order]
        yield from mapped(lambda part: self._converted(part()), parts, self.n_threads)

    def _list_parts(self) -> list[Callable[[], Part]]:
        parts: list[Callable[[], Part]] = []
        n_rows = 0
        for path in self.paths:
            if self.format == "parquet":
                with self._damage(path), self._arrow.parquet.ParquetFile(path) as groups:
                    self._check_columns(groups.schema_arrow, path)
                    n_rows += groups.metadata.num_rows
                    count = groups.num_row_groups
                parts += [partial(self._row_group, path, i) for i in range(count)]
            else:
                with (
                    self._damage(path),
                    self._arrow.memory_map(path) as file,
                    self._arrow.ipc.open_file(file) as batches,
                ):
                    self._check_columns(batches.schema, path)
                    count = batches.num_record_batches
                    n_rows += sum(batches.get_batch(i).num_rows for i in range(count))
                parts += [partial(self._batch, path, i) for i in range(count)]
        self.n_rows = n_rows
        return parts

    def _row_group(self, path: str, number: int) -> Part:
        with self._damage(path), self._arrow.parquet.ParquetFile(path) as file:
            group = file.metadata.row_group(number)
            size = sum(group.column(i).total_compressed_size for i in range(group.num_columns))
            return path, size, file.read_row_group(number, use_threads=False)

    def _batch(self, path: str, number: int) -> Part:
        with (
            self._damage(path),
            self._arrow.memory_map(path) as file,
            self._arrow.ipc.open_file(file) as batches,
        ):
            batch = batches.get_batch(number)
            return path, batch.nbytes, self._arrow.Table.from_batches([batch])

    def _csv(self) -> Iterator[Part]:
        csv = self._arrow.csv
        # Threads of Arrow's own would lose the number of a malformed row.
        read = csv.ReadOptions(
            block_size=_BLOCK_BYTES, autogenerate_column_names=not self.header, use_threads=False
        )
        parse = csv.ParseOptions(delimiter=self.delimiter)
        for path in self.paths:
            with self._damage(path), open_unpacked(path) as file:
                head = file.read(_BLOCK_BYTES)
                known = head[: head.rfind(b"\n") + 1] or head
                found = csv.read_csv(io.BytesIO(known), read, parse).schema
                self._check_columns(found, path)
                # Whole numbers and gaps at the beginning say nothing of what comes later.
                wide = {
                    field.name: self._arrow.float64()
                    for field in found
                    if field.name in (*(self._columns or ()), self.weight)
                    and (_is(field.type, "integer") or _is(field.type, "null"))
                }
                text = self._arrow.PythonFile(io.BufferedReader(Rejoined(head, file)), "r")
                # Arrow reads ahead by as much as it likes: a batch is a block of text, whatever has
                # been read. Of packed text that says nothing of the file.
                size = _BLOCK_BYTES if size_of(path) and packing(path) is None else 0
                for batch in csv.open_csv(text, read, parse, csv.ConvertOptions(column_types=wide)):
                    yield path, size, self._arrow.Table.from_batches([batch])

    def _check_columns(self, schema: Any, path: str) -> None:
        """The first file says which features there are; others must have the same."""
        names = schema.names
        if twice := sorted(name for name, count in Counter(names).items() if count > 1):
            raise DataError(f"{path}: several columns are called {twice[0]!r}; rename them")
        if self.weight is not None and self.weight not in names:
            raise DataError(f"{path}: there is no column {self.weight!r} of weights")
        label = self._label_of(names, path)
        features = [name for name in names if name not in (label, self.weight)]
        if self._chosen and self._columns is not None:
            if missing := set(self._columns) - set(names):
                raise DataError(f"{path}: columns are missing: {_some(missing)}")
            features = self._columns
        if not features:
            raise DataError(f"{path}: there are no columns of features beside the labels")
        if self._columns is None:
            self._columns = features
            if "" in features:
                warnings.warn(
                    f"{path}: a column without a name is taken for a feature; if it numbers the "
                    f"rows, drop it",
                    stacklevel=2,
                )
            if not _is_narrow(schema, features):
                self.feature_names, self.n_features = features, len(features)
        elif set(features) != set(self._columns):
            missing, new = set(self._columns) - set(features), set(features) - set(self._columns)
            raise DataError(
                f"{path}: its columns are not those of the files before; missing: "
                f"{_some(missing)}; new: {_some(new)}"
            )

    def _converted(self, part: Part) -> tuple[int, Block]:
        path, size, table = part
        label = self._label_of(table.column_names, path)
        y = None if label is None else _labels(table.column(label), path, label)
        weight = None
        if self.weight is not None:
            weight = _numbers(table.column(self.weight), path, self.weight, np.float64)
        features = self._columns or []
        if _is_narrow(table.schema, features):
            return size, Block(_csr(table, path), y, weight)
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


def _some(names: set[str]) -> str:
    some = [repr(name) for name in sorted(names, key=lambda name: (len(name), name))]
    more = f" and {len(some) - 5} more" if len(some) > 5 else ""
    return ", ".join(some[:5]) + more if some else "none"


def _numbers(column: Any, path: str, name: str, dtype: Any) -> Any:
    """One column; what is missing becomes NaN, which the learners refuse with its place."""
    import pyarrow

    kind = column.type
    if _is(kind, "boolean"):
        column = column.cast(pyarrow.uint8())
    elif _is(kind, "decimal") or _is(kind, "null"):
        column = column.cast(pyarrow.float64())
    elif not (_is(kind, "integer") or _is(kind, "floating")):
        raise DataError(
            f"{path}: column {name!r} holds {kind}, and features must be numbers; drop it, encode "
            f"it first, or say label={name!r} (--label) if these are the labels"
        )
    with np.errstate(over="ignore"):  # becomes infinity, which the learners refuse
        return column.to_numpy().astype(dtype)


def _is(kind: Any, what: str) -> bool:
    """Of a type of Arrow's."""
    import pyarrow

    return bool(getattr(pyarrow.types, f"is_{what}")(kind))


def _is_narrow(schema: Any, features: list[str]) -> bool:
    """Whether the rows are lists of indices and values."""
    return set(features) == {"indices", "values"} and all(
        _is(schema.field(name).type, "list") or _is(schema.field(name).type, "large_list")
        for name in features
    )


def _labels(column: Any, path: str, name: str) -> Any:
    if column.null_count:
        raise DataError(f"{path}: a label is missing in column {name!r}")
    if _is(column.type, "dictionary"):
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
    sizes = {name: np.diff(np.asarray(lists[name].offsets)) for name in lists}
    if not np.array_equal(sizes["indices"], sizes["values"]):
        raise DataError(f"{path}: lists of indices and of values differ in length")
    begin = np.append(0, np.cumsum(sizes["indices"]))
    indices = np.asarray(lists["indices"].flatten())
    values = np.array(lists["values"].flatten(), dtype=np.float32)
    if indices.dtype.kind not in "iu":
        raise DataError(f"{path}: indices must be whole numbers, got {indices.dtype}")
    if len(indices) and (indices.min() < 0 or indices.max() >= 2**31 - 1):
        raise DataError(f"{path}: an index is not within 0 … {2**31 - 2}")
    indices = indices.astype(np.int32)  # a copy, as the values are: Arrow's cannot be sorted
    width = int(indices.max(initial=-1)) + 1
    import scipy.sparse as sp

    X = sp.csr_matrix((values, indices, begin.astype(np.int32)), shape=(len(begin) - 1, width))
    X.sort_indices()
    if not X.has_canonical_format:
        raise DataError(f"{path}: an index comes twice in a list")
    return X
