"""Text of files of any size, plain or packed, in pieces that end where lines end."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from multiplane.data._errors import DataError

# A file without line ends, or one that unpacks to endless nothing, must not fill the memory.
LONGEST_LINE = 64 << 20
_MOST_MEMORY = 512 << 20  # to unpack xz; its own strongest setting takes 65 MiB

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_HEAD = 6  # bytes that tell
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def size_of(path: str) -> int | None:
    """Of a regular file; None for pipes and standard input."""
    if path == "-":
        return None
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def packing(path: str) -> str | None:
    """How a regular file is packed, by its first bytes; None: not at all."""
    with open(path, "rb") as file:
        return _packing(file.read(_HEAD))


def _packing(head: bytes) -> str | None:
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def piece(path: str, start: int, stop: int) -> bytes:
    """The lines of a plain file that begin at bytes start … stop − 1."""
    with open(path, "rb", buffering=0) as file:
        file.seek(max(0, start - 1))
        data = _read_fully(file, stop - max(0, start - 1))
        if start:
            begin = data.find(b"\n") + 1
            if not begin:  # a line from before goes on through all of it
                return b""
            data = data[begin:]
        if data and not data.endswith(b"\n"):
            data += _rest_of_line(file, path)
        return data if start else data.removeprefix(_BYTE_ORDER_MARK)


def _rest_of_line(file: Any, path: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while more := file.read(1 << 16):
        end = more.find(b"\n") + 1
        parts.append(more[:end] if end else more)
        if end:
            break
        size += len(more)
        _check_length(size, path)
    return b"".join(parts)


def _read_fully(file: Any, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts) if len(parts) != 1 else parts[0]


def _check_length(size: int, name: str) -> None:
    if size > LONGEST_LINE:
        raise DataError(f"{name}: a line is longer than {LONGEST_LINE >> 20} MiB: is this text?")


def pieces(path: str, size: int) -> Iterator[tuple[bytes, int]]:
    """All of a file, or of standard input for "-", unpacked, in pieces of about this size; with
    each how many bytes of the file have been read so far (0: it cannot tell)."""
    with open_unpacked(path) as file:
        rest = b""
        mark = _BYTE_ORDER_MARK  # may stand at the very beginning
        while data := file.read(size):
            end = data.rfind(b"\n") + 1
            if end:
                yield (rest + data[:end]).removeprefix(mark), file.place()
                rest, mark = data[end:], b""
            else:
                rest += data
                _check_length(len(rest), path)
        if rest:
            yield rest.removeprefix(mark), file.place()


def open_unpacked(path: str) -> Unpacked:
    """A binary file to read from, whatever it is packed with; "-" is standard input."""
    # Standard input is not ours to close; a copy of its number is.
    raw = open(os.dup(sys.stdin.fileno()) if path == "-" else path, "rb")  # noqa: SIM115
    try:
        head = raw.read(_HEAD)
        if raw.seekable():
            raw.seek(-len(head), os.SEEK_CUR)
            whole: Any = raw
        else:
            whole = io.BufferedReader(Rejoined(head, raw), 1 << 16)
        return Unpacked(_unpacking(_packing(head), whole, path), raw, path)
    except BaseException:
        raw.close()
        raise


def _unpacking(kind: str | None, raw: Any, path: str) -> Any:
    frame: Callable[[], Any]
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=raw)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(raw)
    if kind == "xz":
        import lzma

        frame = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _MOST_MEMORY)
        return io.BufferedReader(_Frames(raw, path, frame), 1 << 20)
    if kind == "zstd":
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(
                f'{path} is packed with zstd, which needs zstandard: pip install "multiplane[zstd]"'
            ) from error
        frame = zstandard.ZstdDecompressor().decompressobj  # 128 MiB at most, by itself
        return io.BufferedReader(_Frames(raw, path, frame), 1 << 20)
    return raw


class Unpacked:
    """A file that unpacks another, closed together."""

    def __init__(self, file: Any, raw: Any, path: str) -> None:
        self._file, self._raw, self._path = file, raw, path

    def read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
            return data
        except EOFError as error:
            raise DataError(f"{self._path}: the packed file is cut short") from error
        except OSError as error:
            if error.errno is not None:  # the disk's trouble, not the file's
                raise
            raise DataError(f"{self._path}: the packed file is damaged: {error}") from error
        except Exception as error:
            if type(error).__name__ not in ("error", "LZMAError", "ZstdError"):  # zlib's is "error"
                raise
            raise DataError(f"{self._path}: the packed file is damaged: {error}") from error

    def place(self) -> int:
        """How far the packed file has been read; 0 where that cannot be told."""
        return self._raw.tell() if self._raw.seekable() else 0

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Rejoined(io.RawIOBase):
    """What has been taken from the beginning of a file, and the rest of it."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _Frames(io.RawIOBase):
    """Frames of zstd or xz, one after the other, in little memory and to their very end: the
    packages' own readers take a zstd file that is cut short, and as much memory as an xz asks for.
    """

    # Four bytes of zstd can stand for 128 KiB: so much at once stays within 128 MiB.
    _AT_ONCE = 4096

    def __init__(self, raw: Any, path: str, frame: Callable[[], Any]) -> None:
        self._raw, self._path, self._new_frame = raw, path, frame
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._raw.read(self._AT_ONCE)
            if not self._packed:
                if self._frame is not None:
                    raise DataError(f"{self._path}: the packed file is cut short")
                return 0
            self._frame = self._frame or self._new_frame()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n
