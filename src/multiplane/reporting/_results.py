"""Sections on how well it does: errors, confusions, classes, probabilities, mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multiplane._html import Markup, shortened, table, text
from multiplane._numbers import count, percent, wilson
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._images import ImageShape, img
from multiplane.reporting._page import Fact, Section, beside, charts, folded, heading, scrolling
from multiplane.reporting._svg import Line, heat_map, lines

_CLASSES = 20  # in a heat map, and in a table before the rest is folded
_MOST_CLASSES = 1_000  # in a table at all
_PAIRS = 12
_LABEL = 60  # letters of a label, at most
_MISTAKES = 12  # in a table, before the rest is folded


def facts(found: Evaluation) -> list[Fact]:
    low, high = wilson(found.error * found.n_effective, found.n_effective)
    between = f"95\u00a0%: {100 * low:.2f}\u00a0…\u00a0{100 * high:.2f}\u00a0%"
    rows = f"of {found.n_rows:,} rows" + (", weighted" if found.weighted else "")
    if found.subject.multilabel:
        usual = np.minimum(
            found.of_class[:-1] / found.weight, 1 - found.of_class[:-1] / found.weight
        )
        own = [
            Fact("Rows wrong", percent(found.error), f"{rows}, in one label or more; {between}"),
            Fact("Labels wrong", percent(found.wrong_labels / found.weight), "of all labels"),
            Fact(
                "Baseline", percent(float(usual.mean())), "labels wrong, by each one's usual value"
            ),
        ]
    else:
        most = int(found.of_class.argmax())
        label = found.subject.label(most if most < len(found.subject.classes) else -1)
        own = [
            Fact("Error", percent(found.error), f"{rows}; {between}"),
            Fact(
                "Accuracy", percent(1 - found.error), f"{count(found.weight - found.wrong)} right"
            ),
            Fact(
                "Baseline error",
                percent(1 - float(found.of_class.max()) / found.weight),
                f"always answering {shortened(label, 20)}, the most frequent",
            ),
        ]
    if found.subject.has_probabilities:
        entropy = "a label, in nats" if found.subject.multilabel else "in nats"
        own.append(Fact("Log loss", f"{found.log_loss / found.weight:.4f}", entropy))
    return own


def confusion(found: Evaluation) -> Section | None:
    subject, k = found.subject, len(found.subject.classes)
    if subject.multilabel:
        return None
    matrix = found.confusion.tocsr()
    off = _off_diagonal(matrix)
    present = np.flatnonzero(found.of_class + found.as_class > 0)
    known = present[present < k]
    shown, many = known, len(known) > _CLASSES
    if many:
        # Both of the most confused pair, of the next one, and so on; then those with most rows.
        by_rows = known[np.argsort(-found.of_class[known], kind="stable")]
        pairs = np.stack([off.row, off.col], axis=1)[np.argsort(-off.data, kind="stable")]
        order = dict.fromkeys([*pairs.ravel().tolist(), *by_rows.tolist()])
        shown = np.sort([code for code in order if code < k][:_CLASSES])
    down = np.append(shown, k) if found.of_class[k] else shown
    names = [subject.label(int(i) if i < k else -1) for i in shown]
    body: str = heat_map(
        matrix[down][:, shown].toarray(),
        found.of_class[down],
        [*names, "not known"][: len(down)],
        names,
    )
    lead = "Rows are true classes, columns what was predicted; shades are shares of a row."
    if many:
        lead += (
            f" Of {len(known):,} classes, the {_CLASSES} that are most confused with each other."
        )
    if off.nnz and k > 2:
        worst = table(("true", "taken for", "rows", "of the class"), _pairs(found, off), "pairs")
        body = beside(body, heading("Most confused") + scrolling(worst))
    return Section("Confusion", lead, Markup(body))


def _off_diagonal(matrix: Any) -> Any:
    off = matrix.tocoo()
    wrong = (off.row != off.col) & (off.data > 0)
    places = (off.row[wrong], off.col[wrong])
    return sp.coo_matrix((off.data[wrong], places), shape=matrix.shape)


def _pairs(found: Evaluation, off: Any) -> list[tuple[str, ...]]:
    k = len(found.subject.classes)
    order = np.argsort(-off.data, kind="stable")[:_PAIRS]
    return [
        (
            shortened(found.subject.label(int(i) if i < k else -1), _LABEL),
            shortened(found.subject.label(int(j)), _LABEL),
            count(n),
            percent(n / found.of_class[i]),
        )
        for i, j, n in zip(off.row[order], off.col[order], off.data[order], strict=True)
    ]


def classes(found: Evaluation) -> Section:
    subject, k = found.subject, len(found.subject.classes)
    right, of_class, as_class = found.right[:k], found.of_class[:k], found.as_class[:k]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = right / as_class, right / of_class
        f1 = 2 * right / (as_class + of_class)
    owned = subject.owned()
    columns = ["label" if subject.multilabel else "class", "rows", "precision", "recall", "F1"]
    columns += [owned[0]] if owned else []

    def row(code: int) -> list[str]:
        shares = [_share(values[code]) for values in (precision, recall, f1)]
        own = [f"{owned[1][code]:,}"] if owned else []
        return [shortened(subject.label(code), _LABEL), count(of_class[code]), *shares, *own]

    lead = "Precision: how much of what it takes for the class is of it. Recall: how much of the "
    lead += "class it finds. F1: their harmonic mean."
    if k <= _CLASSES:
        return Section("Classes", lead, scrolling(table(columns, map(row, range(k)))))
    worst = np.argsort(np.where(of_class > 0, f1, np.inf), kind="stable")[:_MOST_CLASSES]
    first, rest = worst[:_CLASSES], worst[_CLASSES:]
    body = scrolling(table(columns, [row(int(i)) for i in first]))
    more = scrolling(table(columns, [row(int(i)) for i in rest]))
    body = Markup(body + folded(f"{len(rest):,} more classes", more))
    return Section("Classes", f"{lead} The worst come first.", body)


def calibration(found: Evaluation) -> Section | None:
    weight, sums, came_true = found.bins
    used = weight > 0
    if not found.subject.has_probabilities or not used.any():
        return None
    said, happened = sums[used] / weight[used], came_true[used] / weight[used]
    gap = float(np.abs(said - happened) @ weight[used]) / weight.sum()
    what = "label" if found.subject.multilabel else "predicted class"
    curve = [
        Line("this model", said.tolist(), happened.tolist()),
        Line("as it should be", [0.0, 1.0], [0.0, 1.0]),
    ]
    chart = lines(curve, f"probability of the {what}", "how often it was so", share=True, dots=True)
    rows = [
        (f"{100 * p:.1f} %", f"{100 * q:.1f} %", count(round(float(n), 2)))
        for p, q, n in zip(said, happened, weight[used], strict=True)
    ]
    numbers = folded("Numbers", scrolling(table(("probability", "was so", "rows"), rows)))
    lead = f"Probabilities in tenths, against what happened: {percent(gap)} apart on average "
    lead += "(expected calibration error)."
    return Section("Calibration", lead, Markup(charts([chart]) + numbers))


def mistakes(found: Evaluation, image: ImageShape | None) -> Section | None:
    if not found.mistakes:
        return None
    subject = found.subject
    low, high = _range(found.sample)
    lead = "Wrong with the greatest confidence: labels to check first. Rows are counted from 0; "
    if subject.multilabel:
        lead += "the distance is that of the worst label's probability from the truth."
    else:
        kind = "probability" if subject.has_probabilities else "score"
        lead += f"the margin is the predicted class's {kind} less that of the true one."
    if image:
        items = [
            f"<li>{img(image.photo(_dense(m.row), low, high), f'row {m.number}')}"
            f"<span><b>{text(_said(found, m.true))} → "
            f"{text(_said(found, m.predicted))}</b> row {m.number:,}<br>{_margin(m.margin)}"
            f"</span></li>"
            for m in found.mistakes
        ]
        lead += " Above: true → predicted; below: the row, and its "
        lead += f"{'distance' if subject.multilabel else 'margin'}."
        return Section("Mistakes", lead, Markup(f'<ul class="planes">{"".join(items)}</ul>'))
    rows = [
        (f"{m.number:,}", _said(found, m.true), _said(found, m.predicted), _margin(m.margin))
        for m in found.mistakes
    ]
    columns = ("row", "true", "predicted", "distance" if subject.multilabel else "margin")
    body: str = scrolling(table(columns, rows[:_MISTAKES], "words"))
    if rows[_MISTAKES:]:
        more = scrolling(table(columns, rows[_MISTAKES:], "words"))
        body += folded(f"{len(rows) - _MISTAKES} more", more)
    return Section("Mistakes", lead, Markup(body))


def _margin(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}" if value < 1e4 else f"{value:.2e}"


def _said(found: Evaluation, answer: Any) -> str:
    words = ", ".join(str(i) for i in np.flatnonzero(answer)) or "none"
    if not found.subject.multilabel:
        words = found.subject.label(int(answer))
    return shortened(words, _LABEL)


def _range(sample: Any) -> tuple[float, float]:
    values = sample.data if sp.issparse(sample) else sample
    low, high = float(np.nanmin(values, initial=0)), float(np.nanmax(values, initial=0))
    return low, high


def _dense(row: Any) -> NDArray[Any]:
    return np.asarray(row.toarray() if sp.issparse(row) else row).ravel()


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"
