"""Sources of digits: images deformed as they are asked for (native/deform.cpp), bytes in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multiplane import _native
from multiplane.data import Block, DataError, Source

_SIDE = 28  # of an image, in pixels
_TORUS = 256
# Three boxes of this width are nearly a Gaussian of deviation 4 pixels.
_BOX = 8


class Strength(NamedTuple):
    """The most of each part of a deformation; a row draws from minus to plus so much."""

    rotation: float  # radians
    scale: float  # shares of the size, for width and height each
    shear: float
    shift: float  # pixels, to the right and down each
    elastic: float  # pixels, root mean square over the image

    def in_integers(self) -> tuple[int, int, int, int, int]:
        fine = [round(65_536 * share) for share in self[:3]]
        return fine[0], fine[1], fine[2], round(256 * self.shift), round(256 * self.elastic)


# Decision 16. Others would make other rows of every seed.
STRENGTH = Strength(rotation=0.075, scale=0.05, shear=0.075, shift=0.375, elastic=1.0)


class DigitSource(Source):
    """Deformed images in blocks; row i depends on the seed and i alone.

    Parameters
    ----------
    images : uint8 array (n_images, 784)
    labels : array (n_images,)
    seed : int, from 0 to 2 ** 64 − 1
    n : int or None
        Rows; None never ends.
    block_size : int
    strength : Strength
    """

    name = "infinite digits"
    n_features = _SIDE * _SIDE

    def __init__(
        self,
        images: NDArray[np.uint8],
        labels: NDArray[Any],
        seed: int,
        n: int | None,
        block_size: int,
        strength: Strength = STRENGTH,
    ) -> None:
        self._images, self._labels = images, labels
        self._seed, self._block_size, self._strength = seed, block_size, strength.in_integers()
        self.n_rows = n
        self.n_blocks = None if n is None else -(-n // block_size)
        self.identity = [self.name, len(images), seed, n, block_size, *self._strength]

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        numbers: Iterable[int] | None = order
        if numbers is None:
            numbers = count() if self.n_blocks is None else range(self.n_blocks)
        for number in numbers:
            first = number * self._block_size
            size = self._block_size
            if self.n_rows is not None:
                size = min(size, self.n_rows - first)
            X, image = _native.deform(
                self._images, texture(), self._strength, self._seed, first, size
            )
            yield Block(X, self._labels[image])

    def load(self) -> Block:
        """All rows in one block."""
        if self.n_rows is None:
            raise DataError(f"{self.name}: rows without end cannot be loaded; say how many: n=...")
        return super().load()


class GreySource(Source):
    """The sparse rows of another source, bytes, as grey values in [0, 1]."""

    dear = True

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name, self.n_features, self.n_bytes = source.name, source.n_features, source.n_bytes
        self.n_rows, self.n_blocks = source.n_rows, source.n_blocks
        self.identity = ["grey", source.identity]

    def read(self, order: Sequence[int] | None = None) -> Iterator[Block]:
        for block in self._source.read(order):
            X = block.X.copy()
            X.data /= np.float32(255)
            self.bytes_read = self._source.bytes_read
            yield block._replace(X=X)


@cache
def texture() -> NDArray[np.int16]:
    """Smooth random numbers on a torus, in 1/256, of mean square 1; its first 28 rows and columns
    come again at the end, so that windows need not wrap around. (284, 284)

    Box filters of whole numbers: a Gaussian could differ in the last bit from machine to machine.
    """
    field = np.random.RandomState(0).randint(-128, 128, (_TORUS, _TORUS), dtype=np.int64)
    for axis in (0, 1):
        for _ in range(3):
            field = np.sum([np.roll(field, shift, axis) for shift in range(_BOX)], axis=0)
    field = 256 * field // isqrt(int(np.sum(field**2)) // field.size)
    return np.pad(field, (0, _SIDE), mode="wrap").astype(np.int16)
