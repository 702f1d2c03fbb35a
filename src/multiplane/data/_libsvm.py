"""Text in the format of LIBSVM and SVMlight; the parser itself is native/libsvm.cpp."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from multiplane import _native
from multiplane._csr import Csr
from multiplane.data._errors import DataError
from multiplane.data._source import Block, Source
from multiplane.data._text import packing, piece, pieces, size_of
from multiplane.data._threads import mapped, prefetched

# Small enough that some of them in memory are nothing, large enough that threads are worth it.
BLOCK_BYTES = 4 << 20
_MOST_NAMED = 100  # of the lines passed over


class Piece(NamedTuple):
    """Lines of a file, or where they are."""

    file: int
    number: int  # within the file
    text: bytes | None
    start: int  # bytes of the file, packed as it may be
    stop: int


class LibsvmSource(Source):
    """Rows from LIBSVM text: blocks of CSR float32 rows with whole numbers as labels.

    Parameters
    ----------
    paths : list of str
        Plain or packed with gzip, bzip2, xz or zstd; "-" is standard input.
    zero_based : bool
        Whether the first feature is called 0; LIBSVM's own is called 1.
    multilabel : bool
        Labels are lists such as ``1,3,7``; y is then a CSR indicator matrix.
    n_features : int, optional
        A higher index is an error, or passed over with ``extra_features="drop"``.
    on_error : "raise" or "skip"
        What to do with a malformed line: an error that names it, or pass over it, count it in
        ``n_skipped``, name it in ``skipped`` and warn at the end.
    n_threads : int
        That read and parse ahead; what comes out does not depend on it.
    """

    dear = True

    def __init__(
        self,
        paths: Sequence[str],
        *,
        zero_based: bool = False,
        multilabel: bool = False,
        n_features: int | None = None,
        extra_features: Literal["raise", "drop"] = "raise",
        on_error: Literal["raise", "skip"] = "raise",
        block_bytes: int = BLOCK_BYTES,
        n_threads: int = 1,
    ) -> None:
        self.paths = list(paths)
        self.name = self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} files"
        self.n_features = n_features
        self.multilabel, self.skips = multilabel, on_error == "skip"
        self.block_bytes, self.n_threads = int(block_bytes), n_threads
        self._parse = partial(
            _native.read_libsvm,
            zero_based=zero_based,
            multilabel=multilabel,
            n_features=n_features or 0,
            drop_beyond=extra_features == "drop",
            skip_faults=self.skips,
        )
        self._sizes = [size_of(path) for path in self.paths]
        if all(size is not None for size in self._sizes):
            self.n_bytes = sum(size for size in self._sizes if size is not None)
        self.once = self.n_bytes is None  # pipes
        plain = [
            size is not None and packing(path) is None
            for path, size in zip(self.paths, self._sizes, strict=True)
        ]
        self._ranges = self._cut() if all(plain) else None
        self.n_blocks = None if self._ranges is None else len(self._ranges)
        self._noticed_qids = self._warned_of_skips = self._consumed = False
        self._n_lines: dict[tuple[int, int], int] = {}  # by file and piece
        self._skipped: list[tuple[int, int, int, int, str]] = []
        self.n_skipped = self.n_dropped = 0

    @property
    def skipped(self) -> list[str]:
        """Malformed lines that were passed over in the last reading, the first hundred."""
        return [self._words(*fault) for fault in sorted(self._skipped)]

    def _light(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        if order is not None and self._ranges is None:
            raise ValueError(f"{self.name} can only be read in its own order")
        if self.once and self._consumed:
            raise DataError(f"{self.name} can be read only once: write it to a file, or a cache")
        self._consumed = True
        self._skipped, self.n_skipped, self.n_dropped, self.bytes_read = [], 0, 0, 0
        todo: Iterator[Piece]
        if self._ranges is None:
            todo = prefetched(self._in_order())
        else:
            todo = iter(self._ranges if order is None else [self._ranges[i] for i in order])
        for at, rows in mapped(self._rows_of, todo, self.n_threads):
            self.bytes_read += at.stop - at.start
            yield self._block(at, rows)
        if self.n_dropped:
            several = self.n_dropped > 1
            warnings.warn(
                f"{self.name}: {self.n_dropped:,} value{'s' * several} of features beyond the "
                f"first {self.n_features:,} {'are' if several else 'is'} passed over",
                stacklevel=2,
            )
        if self.n_skipped and not self._warned_of_skips:
            self._warned_of_skips = True
            warnings.warn(
                f"{self.n_skipped} malformed line{'s' * (self.n_skipped > 1)} passed over; the "
                f"first: {self.skipped[0]}",
                stacklevel=2,
            )

    def _cut(self) -> list[Piece]:
        return [
            Piece(file, number, None, start, min(start + self.block_bytes, size))
            for file, size in enumerate(self._sizes)
            if size is not None
            for number, start in enumerate(range(0, size, self.block_bytes))
        ]

    def _in_order(self) -> Iterator[Piece]:
        for file, path in enumerate(self.paths):
            start = 0
            for number, (text, stop) in enumerate(pieces(path, self.block_bytes)):
                yield Piece(file, number, text, start, stop)
                start = stop

    def _text(self, at: Piece) -> bytes:
        if at.text is not None:
            return at.text
        return piece(self.paths[at.file], at.start, at.stop)

    def _rows_of(self, at: Piece) -> tuple[Piece, dict[str, Any]]:
        return at._replace(text=None), self._parse(self._text(at))

    def _block(self, at: Piece, rows: dict[str, Any]) -> Block:
        for line, column, what in rows["faults"]:
            fault = (at.file, at.number, line, column, what)
            if not self.skips:
                raise DataError(self._words(*fault))
            if len(self._skipped) < _MOST_NAMED:
                self._skipped.append(fault)
        self._n_lines[at.file, at.number] = rows["n_lines"]
        self.n_skipped += rows["n_faults"]
        self.n_dropped += rows["n_dropped"]
        if rows["n_qids"] and not self._noticed_qids:
            self._noticed_qids = True
            warnings.warn(f"{self.name}: qid is for ranking, and ignored here", stacklevel=3)
        indptr = rows["row_begin"]
        if len(rows["indices"]) < 2**31:  # a match for the indices saves a copy of them
            indptr = indptr.astype(np.int32)
        n = len(indptr) - 1
        X = Csr(rows["values"], rows["indices"], indptr, (n, rows["n_features"]))
        if not self.multilabel:
            return Block(X, rows["labels"])
        labels = rows["labels"]
        ones = np.ones(len(labels), dtype=np.int8)
        shape = (n, int(labels.max(initial=-1)) + 1)
        import scipy.sparse as sp

        Y = sp.csr_matrix((ones, labels, rows["label_begin"]), shape=shape)
        Y.sum_duplicates()
        Y.data[:] = 1
        return Block(X, Y)

    def _words(self, file: int, number: int, line: int, column: int, what: str) -> str:
        before = sum(self._lines_of(file, earlier) for earlier in range(number))
        path = "standard input" if self.paths[file] == "-" else self.paths[file]
        return f"{path}, line {before + line + 1}, column {column + 1}: {what}"

    def _lines_of(self, file: int, number: int) -> int:
        """Lines that begin in a piece; counted only when somebody has to be told of a line."""
        if (file, number) not in self._n_lines:
            start, size = number * self.block_bytes, self._sizes[file]
            assert size is not None  # others come in their order, and have been counted
            text = piece(self.paths[file], start, min(start + self.block_bytes, size))
            n_lines = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
            self._n_lines[file, number] = n_lines
        return self._n_lines[file, number]
