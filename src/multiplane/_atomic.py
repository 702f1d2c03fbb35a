"""Files that are either there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing that gets its name only when all of it is on the disk.

    It is written beside its place, synchronised and renamed. After an error, or a crash, whatever
    was at `path` before is still there, unchanged.
    """
    target = Path(path)
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with open(number, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    with suppress(OSError):  # some file systems have no such thing
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _umask() -> int:
    """The permissions that an ordinary `open` would not give; asking means setting."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
