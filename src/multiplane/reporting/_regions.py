"""Which class is predicted where, if there are two features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from multiplane._html import Markup, text
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._images import CLASS_COLOURS, class_colour, png
from multiplane.reporting._page import Section
from multiplane.reporting._svg import regions

_GRID = 160  # points of the plane on a side
_POINTS = 600  # rows drawn in the plane


def plane(found: Evaluation) -> Section | None:
    subject, sample = found.subject, found.sample
    if found.n_features != 2 or subject.multilabel:
        return None
    points = np.asarray(sample.toarray() if sp.issparse(sample) else sample, dtype=np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    edge = np.where(high > low, 0.03 * (high - low), 1.0)
    (left, bottom), (right, top) = low - edge, high + edge
    steps = (np.arange(_GRID) + 0.5) / _GRID
    x, y = np.meshgrid(left + steps * (right - left), top - steps * (top - bottom))
    codes = subject.regions(np.stack([x.ravel(), y.ravel()], axis=1).astype(sample.dtype))
    n_colours = len(CLASS_COLOURS)
    pixels = (codes % n_colours).astype(np.uint8).reshape(_GRID, _GRID)
    picture = png(pixels, [class_colour(c) for c in range(n_colours)])
    some, true = points[:_POINTS], found.sample_codes[:_POINTS]
    is_right = subject.regions(some.astype(sample.dtype)) == true
    names = subject.names(2)
    drawn = [
        (float(a), float(b), CLASS_COLOURS[c % n_colours] if c >= 0 else "none", bool(ok))
        for (a, b), c, ok in zip(some, true.tolist(), is_right, strict=True)
    ]
    drawn.sort(key=lambda point: not point[3])  # the wrong ones on top
    k = len(subject.classes)
    keys = "".join(
        f'<li><span class="swatch" style="background:{CLASS_COLOURS[c % n_colours]}"></span>'
        f"{text(subject.label(c))}</li>"
        for c in range(min(k, 2 * n_colours))
    )
    description = f"Predicted classes over the plane of {names[0]} and {names[1]}, with "
    description += f"{len(some)} rows; {int((~is_right).sum())} of them lie in a wrong region."
    body = regions(picture, (left, right, bottom, top), drawn, (names[0], names[1]), description)
    lead = f"What is predicted where, and {len(some):,} of the rows; those outlined are wrong."
    return Section("Decision regions", lead, Markup(body + f'<ul class="keys">{keys}</ul>'))
