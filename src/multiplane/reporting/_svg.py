"""Charts as SVG, in the page's colours: they follow its style sheet into the dark.

Drawn 340 units wide: as wide as a phone, so that letters are never smaller than on the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane._html import Markup, data_uri, shortened, text

_WIDTH, _HEIGHT = 340, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 12, 36  # margins
_MOST_POINTS = 300
_CELL, _LARGE_CELL = 34, 56  # of a heat map; where there are few
_LETTER = 6.4  # width of one, about
_LABEL = 18  # letters of a label, at most


@dataclass(frozen=True)
class Line:
    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Axis:
    """From values to places in the picture."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (self._scaled(v) for v in (self.low, self.high, value))
        share = (value - low) / ((high - low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def ticks(self, n: int = 5) -> list[float]:
        """Round numbers, about n of them."""
        if self.log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            every = max(1, len(powers) // n)
            return [10.0**p for p in powers][::every]
        rough = (self.high - self.low) / n or 1.0
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def lines(
    series: Sequence[Line],
    x_label: str,
    y_label: str,
    *,
    share: bool = False,
    log: bool = False,
    whole: bool = False,
    dots: bool = False,
) -> Markup:
    """A line chart. `share`: y in percent; `whole`: no ticks between whole numbers of x."""
    xs = [x for line in series for x in line.x]
    ys = [y for line in series for y in line.y]
    log = log and min(ys) > 0
    x = Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    top = max(ys) or 1.0
    low = 10.0 ** math.floor(math.log10(min(ys))) if log else min(0.0, *ys)
    high = 10.0 ** math.ceil(math.log10(top)) if log else top * 1.04
    y = Axis(low, high if high > low else low * 10, _HEIGHT - _BOTTOM, _TOP, log)
    across = [tick for tick in x.ticks() if not whole or float(tick).is_integer()]
    form = _percent if share else compact
    parts = [
        *(_rule(y(tick), form(tick)) for tick in y.ticks(4)),
        *(_letters(x(tick), _HEIGHT - _BOTTOM + 15, compact(tick)) for tick in across),
        _letters((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, x_label),
    ]
    for number, line in enumerate(series):
        keep = _some(len(line.x))
        points = [(x(line.x[i]), y(line.y[i])) for i in keep]
        path = " ".join(f"{a:g},{b:g}" for a, b in points)
        parts.append(f'<polyline class="line s{number}" points="{path}"/>')
        if dots or 2 < len(points) <= 12:
            parts += [f'<circle class="dot s{number}" cx="{a}" cy="{b}" r="3"/>' for a, b in points]
    keys = "".join(
        f'<li><svg class="key" viewBox="0 0 22 8" aria-hidden="true">'
        f'<path class="line s{number}" d="M0 4h22"/></svg>{text(line.name)}</li>'
        for number, line in enumerate(series)
    )
    ends = "; ".join(f"{line.name}: {form(line.y[0])} to {form(line.y[-1])}" for line in series)
    description = f"Line chart of {y_label} by {x_label}. {ends}."
    return Markup(
        f'<figure class="chart"><figcaption>{text(y_label)}</figcaption>'
        f'{_svg(_WIDTH, _HEIGHT, description, parts)}<ul class="keys">{keys}</ul></figure>'
    )


def heat_map(
    counts: NDArray[Any], totals: NDArray[Any], names: Sequence[str], columns: Sequence[str]
) -> Markup:
    """A confusion matrix: rows are true, columns predicted; shades are shares of `totals`."""
    cell = _CELL if len(columns) > 5 else _LARGE_CELL
    longest = max(len(shortened(name, _LABEL)) for name in columns)
    slanted = longest > 4
    left = 14 + _LETTER * max(len(shortened(name, _LABEL)) for name in names)
    top = 14 + _LETTER * longest * 0.72 if slanted else 20
    width = left + cell * len(columns) + (0.6 * _LETTER * longest if slanted else 0)
    height = top + cell * len(names) + 4
    parts = []
    for j, name in enumerate(columns):
        a, b = left + (j + 0.5) * cell, top - 6
        turned = "rotate(-45)" if slanted else ""
        kind = "" if slanted else ' class="middle"'
        place = f'transform="translate({a:.1f} {b:.1f}) {turned}"'
        parts.append(f"<text{kind} {place}>{text(shortened(name, _LABEL))}</text>")
    for i, name in enumerate(names):
        middle = top + (i + 0.5) * cell
        label = text(shortened(name, _LABEL))
        parts.append(f'<text class="end" x="{left - 8:.1f}" y="{middle + 4:.1f}">{label}</text>')
        for j, other in enumerate(columns):
            share = counts[i, j] / (totals[i] or 1.0)
            a, b = left + j * cell, top + i * cell
            kind = "right" if name == other else "wrong"
            shade = 0.5 * math.sqrt(share)  # so that the rare ones are seen, and numbers read
            words = f"{name} taken for {other}" if kind == "wrong" else f"{name}, right"
            number = compact(counts[i, j]) if counts[i, j] else ""
            parts.append(
                f"<g><title>{text(words)}: {counts[i, j]:,.6g} ({100 * share:.1f} %)</title>"
                f'<rect class="cell" x="{a:.1f}" y="{b:.1f}" width="{cell - 2}" '
                f'height="{cell - 2}" rx="3"/>'
                f'<rect class="{kind}" x="{a:.1f}" y="{b:.1f}" width="{cell - 2}" '
                f'height="{cell - 2}" rx="3" fill-opacity="{shade:.2f}"/>'
                f'<text class="number" x="{a + cell / 2 - 1:.1f}" y="{b + cell / 2 + 3:.1f}">'
                f"{number}</text></g>"
            )
    description = f"Confusion matrix of {len(names)} classes: true classes downwards, predicted "
    description += "ones across. The tables on this page have its numbers."
    picture = _svg(width, height, description, parts, wide=True)
    box = '<div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">'
    return Markup(f"{box}{picture}</div>")


def bars(names: Sequence[str], values: Sequence[float], title: str) -> Markup:
    """Signed bars, from a line in the middle."""
    middle, reach, step = 232, 100, 19
    largest = max((abs(v) for v in values), default=0) or 1.0
    parts = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        length = reach * abs(value) / largest
        start = middle - length if value < 0 else middle
        kind = "minus" if value < 0 else "plus"
        parts.append(
            f"<g><title>{text(name)}: {value:.4g}</title>"
            f'<text x="0" y="{i * step + 13}">{text(shortened(name, 20))}</text>'
            f'<rect class="{kind}" x="{start:.1f}" y="{i * step + 3}" width="{length:.1f}" '
            f'height="{step - 6}" rx="2"/></g>'
        )
    height = step * len(names) + 2
    parts.append(f'<path class="axis" d="M{middle} 0v{height}"/>')
    said = ", ".join(f"{n} {v:+.3g}" for n, v in zip(names, values, strict=True))
    return Markup(
        f'<figure class="chart"><figcaption>{text(title)}</figcaption>'
        f"{_svg(_WIDTH, height, f'Largest features: {said}', parts)}</figure>"
    )


def regions(
    picture: bytes,
    box: tuple[float, float, float, float],
    points: Sequence[tuple[float, float, str, bool]],
    names: tuple[str, str],
    description: str,
) -> Markup:
    """A picture over the plane, and points (x, y, colour, whether it is right) on top."""
    side = _WIDTH - _LEFT - _RIGHT
    height = side + _TOP + _BOTTOM
    x = Axis(box[0], box[1], _LEFT, _LEFT + side)
    y = Axis(box[2], box[3], _TOP + side, _TOP)
    parts = [
        f'<image class="pixels" href="{data_uri(picture)}" x="{_LEFT}" y="{_TOP}" width="{side}" '
        f'height="{side}" preserveAspectRatio="none" opacity="0.4"/>',
        *(
            f'<circle class="{"point" if right else "point missed"}" cx="{x(a)}" cy="{y(b)}" '
            f'r="{2 if right else 3.2}" fill="{colour}"/>'
            for a, b, colour, right in points
        ),
        *(_letters(x(t), height - _BOTTOM + 15, compact(t)) for t in x.ticks()),
        *(
            f'<text class="end" x="{_LEFT - 5}" y="{y(t) + 4:g}">{compact(t)}</text>'
            for t in y.ticks()
        ),
        _letters(_LEFT + side / 2, height - 5, names[0]),
    ]
    return Markup(
        f'<figure class="chart"><figcaption>{text(names[1])}</figcaption>'
        f"{_svg(_WIDTH, height, description, parts)}</figure>"
    )


def compact(value: float) -> str:
    """1,200 as it is, 12k, 3.4M; small ones with three digits."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _some(n: int) -> list[int]:
    """Numbers of at most so many points, the last among them."""
    return sorted({round(i) for i in np.linspace(0, n - 1, min(n, _MOST_POINTS))})


def _rule(y: float, label: str) -> str:
    return (
        f'<path class="grid" d="M{_LEFT} {y:g}H{_WIDTH - _RIGHT}"/>'
        f'<text class="end" x="{_LEFT - 6}" y="{y + 4:g}">{text(label)}</text>'
    )


def _letters(x: float, y: float, label: str) -> str:
    return f'<text class="middle" x="{x:g}" y="{y:g}">{text(label)}</text>'


def _svg(
    width: float, height: float, description: str, parts: Sequence[str], wide: bool = False
) -> str:
    size = (
        f' style="width:{width:.0f}px;max-width:100%;min-width:{0.8 * width:.0f}px"' if wide else ""
    )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{text(description)}"{size}>{"".join(parts)}</svg>'
    )
