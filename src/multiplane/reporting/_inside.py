"""Sections on the model itself: settings, training, weights, regions, cost."""

from __future__ import annotations

import inspect
import os
import platform
import reprlib
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from multiplane._html import Markup, table, text
from multiplane._numbers import count, duration, percent, storage
from multiplane.estimators._labels import ranks
from multiplane.models._size import n_bytes, n_numbers
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._images import (
    CLASS_COLOURS,
    ImageShape,
    class_colour,
    img,
    png,
)
from multiplane.reporting._page import Fact, Section, charts, folded, heading, note, scrolling
from multiplane.reporting._subject import Subject
from multiplane.reporting._svg import Line, bars, lines, regions

_PLANES = 12  # pictures of a class
_PICTURED = 20  # classes
_OPEN, _BARRED = 8, 60  # hyperplanes with bars: shown, and folded
_BARS = 8
_GRID = 160  # points of the plane on a side
_POINTS = 600  # rows drawn in the plane
_SECONDS = 0.3  # for each of two measurements


# --- settings ---------------------------------------------------------------------------------


def settings(subject: Subject) -> Section:
    estimator = subject.estimator
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(estimator)).parameters.items()
    }
    given: list[tuple[str, str]] = []
    usual: list[tuple[str, str]] = []
    for name, value in estimator.get_params(deep=False).items():
        # Numbers of NumPy's are written as those of Python.
        words = _repr(value.item() if isinstance(value, np.generic) else value)
        (usual if words == _repr(defaults.get(name)) else given).append((name, words))
    body = ""
    if subject.steps is not None:
        body += note(
            f"Rows go through {' → '.join(name for name, _ in subject.steps.steps)} first."
        )
    if given:
        body += scrolling(table(("parameter", "value"), given, "words"))
    else:
        body += "<p>All parameters are the defaults.</p>"
    if usual:
        body += folded(
            f"{len(usual)} parameters at their defaults",
            scrolling(table(("parameter", "value"), usual, "words")),
        )
    found = _found(estimator)
    if found:
        body += heading("Found in training")
        body += scrolling(table(("attribute", "value"), found, "words"))
    trials = getattr(estimator, "trials_", None)
    if trials:
        columns = list(trials[0])
        rows = [[_trial(t[name], name) for name in columns] for t in trials]
        body += folded(f"{len(trials)} settings tried", scrolling(table(columns, rows)))
    exploration = getattr(subject.model, "exploration_", None)
    if exploration is not None:
        body += heading("How it was chosen")
        rows = list(exploration.answers.items())
        body += scrolling(table(("question", "answer"), rows, "words"))
    return Section("Settings", f"{type(estimator).__name__}, as it was made.", Markup(body))


def _found(estimator: Any) -> list[tuple[str, str]]:
    names = ("settings_", "alpha_", "gamma_", "n_iter_", "t_", "stop_reason_")
    found = [(name, getattr(estimator, name)) for name in names if hasattr(estimator, name)]
    rows = []
    for name, value in found:
        if isinstance(value, dict):
            words = ", ".join(f"{key} = {_number(v)}" for key, v in value.items())
        else:
            words = _number(value)
        rows.append((name, words))
    return rows


def _repr(value: Any) -> str:
    short = reprlib.Repr()
    short.maxstring = short.maxother = 120
    return short.repr(value)


def _number(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return str(value)
    return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:.4g}"


def _trial(value: Any, name: str) -> str:
    return percent(value) if name == "error" else _number(value)


# --- training ---------------------------------------------------------------------------------


def training(found: Evaluation) -> Section | None:
    history = list(getattr(found.subject.estimator, "history_", []))
    # Of one kind, so that errors are all over as many rows; with validation scores, if any.
    whole = [entry for entry in history if entry["event"] not in ("partial_fit", "prune")]
    main = whole if len(whole) > 1 else history
    if len(main) < 2:
        return None
    x, x_label, by_number = _time(main)
    errors = [Line("in training", x, [entry["error"] for entry in main])]
    scored = [i for i, entry in enumerate(main) if "validation_score" in entry]
    if scored:
        values = [1 - main[i]["validation_score"] for i in scored]
        errors.append(Line("validation", [x[i] for i in scored], values))
    errors.append(Line("these rows, at the end", [x[0], x[-1]], [found.error] * 2))
    pictures = [lines(errors, x_label, "Error", share=True, whole=by_number)]
    pictures += _sizes(history)
    loss = [entry["loss"] for entry in main]
    steep = min(loss) > 0 and max(loss) > 20 * min(loss)
    title = "Loss, logarithmic" if steep else "Loss"
    pictures.append(
        lines([Line("in training", x, loss)], x_label, title, log=steep, whole=by_number)
    )
    streamed = "t" in main[-1]
    lead = "Error in training is on rows as they are met, before they are learnt from."
    if not streamed:
        lead = "Error in training is on the rows that were learnt from."
    seconds = [entry["seconds"] for entry in history if "seconds" in entry]
    if seconds:
        lead += f" It took {duration(seconds[-1])}."
    return Section("Training", lead, charts(pictures))


def _time(entries: list[dict[str, Any]]) -> tuple[list[float], str, bool]:
    """Where entries lie: by number if they have one each, otherwise by rows."""
    numbers = [entry["n_iter"] for entry in entries]
    kinds = {entry["event"] for entry in entries}
    if "t" not in entries[-1] or (len(kinds) == 1 and all(a < b for a, b in pairwise(numbers))):
        return [float(n) for n in numbers], kinds.pop(), True
    return [float(entry["t"] - 1) for entry in entries], "rows seen", False


def _sizes(history: list[dict[str, Any]]) -> list[Markup]:
    """How many hyperplanes or support vectors there were, if that ever changed."""
    names = ("hyperplanes", "created", "duplicated", "pruned", "support_vectors")
    entries = [entry for entry in history if "t" in entry]
    found = {n: [e[n] for e in entries if n in e] for n in names}
    found = {n: values for n, values in found.items() if len(values) > 1 and any(values)}
    if not any(len(set(values)) > 1 for values in found.values()):
        return []
    x = [float(entry["t"] - 1) for entry in entries]
    title = "Support vectors" if "support_vectors" in found else "Hyperplanes"
    own = {"hyperplanes": "alive", "support_vectors": "in the model"}
    series = [Line(own.get(name, name), x, values) for name, values in found.items()]
    return [lines(series, "rows seen", title)]


# --- weights ----------------------------------------------------------------------------------


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
            "all right" if right == 1 else f"{100 * right:.0f} % right",
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
            items = [item(i) for i in own[:_PLANES]]
            few = f"{_PLANES} of the {len(own)} that win rows"
            label = found.subject.label(code)
            body += heading(f"{label}: {few}" if len(own) > _PLANES else label) if own else ""
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
        lead += f" The {_BARRED} most winning of {len(effects.order):,}."
    return Section("Largest features", lead, body)


def _compared(found: Evaluation) -> str:
    return "" if found.subject.multilabel else ", compared with the mean of all"


# --- regions ----------------------------------------------------------------------------------


def plane(found: Evaluation) -> Section | None:
    """Which class is predicted where, if there are two features."""
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


# --- cost -------------------------------------------------------------------------------------


def cost(found: Evaluation) -> tuple[list[Fact], Section]:
    """Size, and time measured now."""
    subject, model = found.subject, found.subject.model
    rows: list[tuple[str, str]] = []
    facts = []
    if subject.is_own:
        numbers, size = n_numbers(subject.estimator), n_bytes(subject.estimator)
        parts = ""
        if subject.n_hyperplanes:
            parts = f"{subject.n_hyperplanes:,} hyperplanes"
        elif subject.is_kernel:
            parts = f"{subject.n_support:,} support vectors"
        rows += [("made of", parts)] if parts else []
        rows += [("numbers", f"{numbers:,}"), ("in memory", storage(size))]
        facts.append(Fact("Model", storage(size), parts or f"{numbers:,} numbers"))
    one = _safe_indexing(found.timed, slice(0, 1))
    single = _median_seconds(lambda: model.predict(one))
    n = _num_samples(found.timed)
    batch = _median_seconds(lambda: model.predict(found.timed))
    rows += [
        ("one row", duration(single)),
        (f"{n:,} rows at once", f"{duration(batch)}, {n / max(batch, 1e-9):,.0f} rows/s"),
    ]
    facts.append(Fact("Prediction", duration(single), f"a row; in bulk {duration(batch / n)}"))
    lead = f"Times are medians of predict, measured when this page was made: {platform.system()}, "
    lead += f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}."
    return facts, Section(
        "Size and speed", lead, scrolling(table(("measure", "value"), rows, "words"))
    )


def _median_seconds(action: Callable[[], Any]) -> float:
    action()
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < _SECONDS and len(taken) < 200):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))
