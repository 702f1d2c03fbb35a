"""Text of files of any size, plain or packed, in pieces that end where lines end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from typing import Any

from multiplane.data._errors import DataError

# A file without line ends, or one that unpacks to endless nothing, must not fill the memory.
LONGEST_LINE = 64 << 20

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def packing(path: str) -> str | None:
    """How a regular file is packed, by its first bytes; None: not at all."""
    with open(path, "rb") as file:
        return _packing(file.read(6))


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
        elif data.startswith(_BYTE_ORDER_MARK):
            data = data[len(_BYTE_ORDER_MARK) :]
        if not data or data.endswith(b"\n"):
            return data
        return data + _rest_of_line(file, path)


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


def pieces(path: str, size: int) -> Iterator[bytes]:
    """All of a file, or of standard input for "-", unpacked, in pieces of about this size."""
    with open_unpacked(path) as file:
        rest = b""
        begun = False
        while data := _unpack(file, size, path):
            if not begun and data.startswith(_BYTE_ORDER_MARK):
                data = data[len(_BYTE_ORDER_MARK) :]
            begun = True
            end = data.rfind(b"\n") + 1
            if end:
                yield rest + data[:end]
                rest = data[end:]
            else:
                rest += data
                _check_length(len(rest), path)
        if rest:
            yield rest


def _unpack(file: Any, size: int, path: str) -> bytes:
    try:
        data: bytes = file.read(size)
        return data
    except EOFError as error:
        raise DataError(f"{path}: the packed file is cut short") from error
    except DataError:
        raise
    except OSError as error:
        if error.errno is not None:  # the disk's trouble, not the file's
            raise
        raise DataError(f"{path}: the packed file is damaged: {error}") from error
    except Exception as error:  # zlib.error, LZMAError, ZstdError
        if type(error).__name__ not in ("error", "LZMAError", "ZstdError"):
            raise
        raise DataError(f"{path}: the packed file is damaged: {error}") from error


def open_unpacked(path: str) -> Any:
    """A binary file to read from, whatever it is packed with; "-" is standard input."""
    # Standard input is not ours to close; a copy of its number is.
    raw = open(os.dup(sys.stdin.fileno()) if path == "-" else path, "rb")  # noqa: SIM115
    kind = _packing(raw.peek(6)[:6])
    if kind is None:
        return raw
    file: Any
    if kind == "gzip":
        import gzip

        file = gzip.GzipFile(fileobj=raw)
    elif kind == "bzip2":
        import bz2

        file = bz2.BZ2File(raw)
    elif kind == "xz":
        import lzma

        file = lzma.LZMAFile(raw)  # noqa: SIM115
    else:
        file = io.BufferedReader(_Zstd(raw, path), 1 << 20)
    return _Both(file, raw)


class _Both:
    """A file that unpacks another, closed together."""

    def __init__(self, file: Any, raw: Any) -> None:
        self.read, self._files = file.read, (file, raw)
        self.closed = False

    def close(self) -> None:
        self.closed = True
        for file in self._files:
            file.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Zstd(io.RawIOBase):
    """Frames one after the other. Unlike the package's own readers it notices a file cut short."""

    # Four bytes can stand for 128 KiB: so much at once stays within 128 MiB.
    _AT_ONCE = 4096

    def __init__(self, raw: Any, path: str) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(
                f'{path} is packed with zstd, which needs zstandard: pip install "multiplane[zstd]"'
            ) from error
        self._raw, self._path, self._unpacker = raw, path, zstandard.ZstdDecompressor()
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
            self._frame = self._frame or self._unpacker.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n
