"""The loop of native/deform.cpp again, a row at a time, from the formulas in deform.hpp."""

import numpy as np

SIDE = 28
MASK = 2**64 - 1


def bits(seed, t):
    """splitmix64."""
    x = (seed + t * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def deformed(images, texture, strength, seed, row):
    """One row, and the number of its image."""
    key, t = bits(bits(seed, 1), row), 0

    def below(n):
        nonlocal t
        t += 1
        return (bits(key, t) >> 32) * n >> 32

    def within(most):
        return below(2 * most + 1) - most

    def window():
        top, left = below(256), below(256)
        return texture[top : top + SIDE, left : left + SIDE].astype(int)

    rotation, scale, shear, shift, elastic = strength
    image = below(len(images))
    Fx, Fy = window(), window()
    e, p, q, r, k = (within(most) for most in (elastic, scale, scale, rotation, shear))
    sx, sy = within(shift), within(shift)

    at_y, at_x = np.mgrid[:SIDE, :SIDE]
    u, v = 2 * at_x - (SIDE - 1), 2 * at_y - (SIDE - 1)  # half pixels from the middle
    # 65536 * 256 / 512: half pixels times 1/65536, in 1/256 of a pixel
    x = 256 * at_x + (p * u + (k - r) * v) // 512 + e * Fx // 256 + sx
    y = 256 * at_y + (r * u + q * v) // 512 + e * Fy // 256 + sy
    return bilinear(images[image].reshape(SIDE, SIDE), x, y).ravel() / np.float32(255), image


def bilinear(image, x, y):
    """Grey values at places in 1/256 of a pixel, black outside, rounded to whole numbers."""
    reach = 600  # pixels, beyond all places that there are
    black = np.pad(image.astype(int), reach)
    column, row, fx, fy = x // 256 + reach, y // 256 + reach, x % 256, y % 256
    total = sum(
        wx * wy * black[row + dy, column + dx]
        for dx, wx in ((0, 256 - fx), (1, fx))
        for dy, wy in ((0, 256 - fy), (1, fy))
    )
    return ((total + 2**15) // 2**16).astype(np.float32)
