"""What hyperplanes, or the weights of a class, look at: as pictures, or by feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multiplane._html import Markup, text
from multiplane._numbers import count
from multiplane.estimators._labels import ranks
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._images import ImageShape, img
from multiplane.reporting._page import Section, charts, folded, heading
from multiplane.reporting._svg import bars

_PLANES = 12  # pictures of a class
_PICTURED = 20  # classes
_OPEN, _BARRED = 8, 60  # hyperplanes with bars: shown, and folded
_BARS = 8


class Effects:
    """Weights times the features' standard deviations: what usually decides, in any units."""

    def __init__(self, found: Evaluation) -> None:
        self.found, self.subject = found, found.subject
        weights = self.subject.weights(found.n_features)
        self.known = weights is not None
        if weights is not None:
            self.weights, self.owner = weights
            self.spread = found.spread()
            self.wins = found.wins if self.subject.n_hyperplanes else found.as_class[:-1]
            self.order = np.argsort(-self.wins, kind="stable")  # the most winning first
            self.number = ranks(self.owner) + 1  # among those of its class
            self.several = np.bincount(self.owner) > 1

    def __getitem__(self, i: int) -> NDArray[np.float64]:
        values: NDArray[np.float64] = np.nan_to_num(self.weights[i] * self.spread)
        return values

    def name(self, i: int) -> str:
        label = self.subject.label(int(self.owner[i]))
        several = self.several[self.owner[i]]
        return f"{label}, hyperplane {self.number[i]}" if several else label

    def won(self, i: int) -> list[str]:
        """How often, in words."""
        if not self.subject.n_hyperplanes:
            return [f"predicted for {count(self.wins[i])} rows"]
        if not self.wins[i]:
            return ["wins no row"]
        right = self.found.wins_right[i] / self.wins[i]
        return [
            f"wins {self.wins[i]:,}",
            "all right" if right == 1 else f"{int(100 * right)} % right",
        ]


def planes(found: Evaluation, effects: Effects, image: ImageShape | None) -> Section | None:
    """Hyperplanes as pictures; for kernel machines, support vectors."""
    if image is None:
        return None
    if found.subject.is_kernel:
        return _vectors(found, image)
    if not effects.known:
        return None
    shown = np.sort(np.argsort(-found.of_class[:-1], kind="stable")[:_PICTURED])
    winning = {int(code): _winning(effects, int(code)) for code in shown}

    def item(i: int, title: str = "") -> str:
        picture = img(image.plane(effects[i]), f"weights of {text(effects.name(i))}")
        return f"<li>{picture}<span>{title}{'<br>'.join(effects.won(i))}</span></li>"

    body = ""
    if effects.several.any():
        for code, own in winning.items():
            if not own:
                continue
            items = [item(i) for i in own[:_PLANES]]
            few = f"{_PLANES} of the {len(own)} that win rows"
            label = found.subject.label(code)
            body += heading(f"{label}: {few}" if len(own) > _PLANES else label)
            body += f'<ul class="planes">{"".join(items)}</ul>'
    else:
        items = [
            item(i, f"<b>{text(effects.name(i))}</b>") for own in winning.values() for i in own
        ]
        body = f'<ul class="planes">{"".join(items)}</ul>'
    what = "Hyperplanes" if found.subject.n_hyperplanes else "Weights"
    lead = f"Blue pixels speak for the class, orange ones against it{_compared(found)}. "
    lead += "Weights are times the standard deviation of their pixels."
    if len(found.subject.classes) > _PICTURED:
        lead += f" Of {len(found.subject.classes):,} classes, the {_PICTURED} with most rows."
    return Section(f"{what} as pictures", lead, Markup(body))


def _winning(effects: Effects, code: int) -> list[int]:
    """A class's hyperplanes that win rows, or if none does, one."""
    own = effects.order[effects.owner[effects.order] == code]
    return [int(i) for i in own if effects.wins[i]] or own[:1].tolist()


def _vectors(found: Evaluation, image: ImageShape) -> Section | None:
    estimator = found.subject.estimator
    vectors, coef = estimator.support_vectors_, estimator.dual_coef_
    if not len(vectors):
        return None
    scaler = getattr(estimator, "scaler_", None)
    if scaler is not None:  # back to the features as they came
        vectors = vectors / np.where(scaler.factor == 0, 1, scaler.factor) + scaler.shift
    low, high = float(vectors.min()), float(vectors.max())
    body = ""
    for code in range(min(len(found.subject.classes), _PICTURED)):
        best = np.argsort(-coef[:, code], kind="stable")[:_PLANES]
        best = best[coef[best, code] > 0]
        if not len(best):
            continue
        items = [
            f"<li>{img(image.photo(vectors[i], low, high), f'support vector {i}')}"
            f"<span>{coef[i, code]:.3g}</span></li>"
            for i in best
        ]
        body += heading(found.subject.label(code))
        body += f'<ul class="planes">{"".join(items)}</ul>'
    lead = "Those with the largest coefficients for each class."
    return Section("Support vectors as pictures", lead, Markup(body)) if body else None


def features(found: Evaluation, effects: Effects, image: ImageShape | None) -> Section | None:
    if image is not None or not effects.known:
        return None
    names = found.subject.names(found.n_features)

    def chart(i: int) -> Markup:
        values = effects[i]
        largest = np.argsort(-np.abs(values), kind="stable")[:_BARS]
        title = f"{effects.name(i)} · {', '.join(effects.won(i))}"
        return bars([names[j] for j in largest], [float(values[j]) for j in largest], title)

    # The most winning one of each class first: no class is left out while there is room.
    turn = np.argsort(ranks(effects.owner[effects.order]), kind="stable")
    chosen = [int(i) for i in effects.order[turn][:_BARRED]]
    body = charts([chart(i) for i in chosen[:_OPEN]])
    if chosen[_OPEN:]:
        more = charts([chart(i) for i in chosen[_OPEN:]])
        body = Markup(body + folded(f"{len(chosen) - _OPEN} more", more))
    lead = f"What speaks for a class (blue) and against it (orange){_compared(found)}: weights "
    lead += "times the standard deviation of their features, so that units do not matter."
    if len(effects.order) > _BARRED:
        lead += f" These are {_BARRED} of {len(effects.order):,}, each class's most winning first."
    return Section("Largest features", lead, body)


def _compared(found: Evaluation) -> str:
    return "" if found.subject.multilabel else ", compared with the mean of all"
