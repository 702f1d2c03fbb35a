"""Rows and hyperplanes as pictures, where the features are pixels."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multiplane._html import data_uri

_SMALLEST = 8  # pixels on a side
_ALIKE = 0.8  # neighbours against random pairs: digits 0.66, mnist 0.2, unrelated features 1
_UPRIGHT = 4.0  # one direction against the other: digits 2, time series cut into lines 8 and more
_ENOUGH = 500  # rows to judge by
_LEVELS = 32  # shades of each colour
_PLUS, _MINUS = (40, 120, 200), (217, 98, 43)  # seen on white and on black

# For classes; distinct also where red and green are not.
CLASS_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f",
    "#6a51a3", "#a6a600",
)  # fmt: skip


@dataclass(frozen=True)
class ImageShape:
    """Height, width and channels, which run fastest."""

    height: int
    width: int
    channels: int = 1

    @classmethod
    def given(cls, shape: Any, n_features: int) -> ImageShape:
        sides = [int(side) for side in shape]
        if len(sides) not in (2, 3) or min(sides) < 1 or np.prod(sides) != n_features:
            raise ValueError(
                f"image_shape must be (height, width) or (height, width, channels) of images with "
                f"{n_features} numbers, got {tuple(shape)}"
            )
        return cls(*sides)

    @classmethod
    def found(cls, rows: Any) -> ImageShape | None:
        """Squares whose neighbours are alike, downwards and across; None if these are none."""
        n_features = rows.shape[1]
        for channels in (1, 3):
            side = round((n_features / channels) ** 0.5)
            if side >= _SMALLEST and side * side * channels == n_features:
                shape = cls(side, side, channels)
                return shape if shape.fits(rows) else None
        return None

    def fits(self, rows: Any) -> bool:
        some = rows[:_ENOUGH].toarray() if sp.issparse(rows) else rows[:_ENOUGH]
        some = np.asarray(some, dtype=np.float64)
        images = some.reshape(-1, self.height, self.width, self.channels)
        shuffled = some[:, np.random.RandomState(0).permutation(some.shape[1])]
        usual = np.mean(np.diff(shuffled, axis=1) ** 2)
        down, across = (np.mean(np.diff(images, axis=axis) ** 2) for axis in (1, 2))
        if not 0 < usual < np.inf or min(down, across) == 0:
            return False
        alike = max(down, across) < _ALIKE * usual
        return bool(alike and max(down, across) < _UPRIGHT * min(down, across))

    def plane(self, weights: NDArray[Any]) -> bytes:
        """Positive weights in one colour, negative ones in another, zero transparent."""
        values = weights.reshape(self.height, self.width, self.channels).sum(axis=2)
        largest = np.abs(values).max() or 1.0
        shades = np.round(_LEVELS * np.nan_to_num(values / largest)).astype(np.int64)
        palette = [_MINUS] * _LEVELS + [_PLUS] * (_LEVELS + 1)
        alpha = [255 * abs(level) // _LEVELS for level in range(-_LEVELS, _LEVELS + 1)]
        return png((shades + _LEVELS).astype(np.uint8), palette, alpha)

    def photo(self, row: NDArray[Any], low: float, high: float) -> bytes:
        """The row itself, from `low` (black) to `high`."""
        values = row.reshape(self.height, self.width, self.channels)
        if self.channels != 3:
            values = values.mean(axis=2)
        share = np.nan_to_num((values - low) / ((high - low) or 1.0))
        return png((255 * np.clip(share, 0, 1)).astype(np.uint8))


def png(
    pixels: NDArray[np.uint8],
    palette: list[tuple[int, int, int]] | None = None,
    alpha: list[int] | None = None,
) -> bytes:
    """Grey (h, w), red-green-blue (h, w, 3), or numbers of colours in a palette (h, w)."""
    height, width = pixels.shape[:2]
    kind = 3 if palette else 2 if pixels.ndim == 3 else 0
    lines = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)  # each begins with filter 0
    lines[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    parts = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))]
    if palette:
        parts.append(chunk(b"PLTE", bytes(value for colour in palette for value in colour)))
    if alpha:
        parts.append(chunk(b"tRNS", bytes(alpha)))
    parts += [chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def img(picture: bytes, alt: str) -> str:
    """`alt` has been escaped."""
    return f'<img class="pixels" src="{data_uri(picture)}" alt="{alt}">'


def class_colour(code: int) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(CLASS_COLOURS[code % len(CLASS_COLOURS)][1:])
    return red, green, blue
