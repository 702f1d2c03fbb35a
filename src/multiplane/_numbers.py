"""Numbers for people: shares with their intervals, durations, sizes."""

from __future__ import annotations

import math


def wilson(n_wrong: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a share."""
    middle = (n_wrong + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(n_wrong * (1 - n_wrong / n) + z**2 / 4)
    low, high = middle - half, middle + half
    return min(max(0.0, low), n_wrong / n), max(min(1.0, high), n_wrong / n)  # but for rounding


def percent(share: float) -> str:
    """3.21 %, and below a tenth of a percent one digit more: 0.042 %."""
    digits = 2 if share >= 0.001 or share == 0 else 3
    return f"{100 * share:.{digits}f} %"


def duration(seconds: float) -> str:
    """Two or three digits and a unit."""
    for unit, size in (("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)):
        if seconds < 100 * size or (unit == "s" and seconds < 300):
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return f"{seconds / 3600:.1f} h"


def storage(size: float) -> str:
    """12 bytes, 3.4 kB, 56 MB."""
    for unit, scale in (("bytes", 1.0), ("kB", 1e3), ("MB", 1e6)):
        if size < 999.5 * scale:
            value = size / scale
            return f"{value:.1f} {unit}" if scale > 1 and value < 9.95 else f"{value:.0f} {unit}"
    return f"{size / 1e9:.1f} GB"


def count(number: float) -> str:
    """Whole numbers with commas; sums of weights with two digits."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"
