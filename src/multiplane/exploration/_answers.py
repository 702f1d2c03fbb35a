"""What the measurements say, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiplane._numbers import percent
from multiplane.exploration._candidates import LINEAR, MULTIPLANE
from multiplane.exploration._curves import Prior
from multiplane.exploration._race import (
    SURE,
    WORTH,
    Choice,
    Measurement,
    Runner,
    common,
    difference,
    on_same_rows,
)

LINEAR_QUESTION = "Is it linear?"
GAIN_QUESTION = "How much does nonlinearity buy?"
GROWTH_QUESTION = "More data, or a bigger model?"
CLASSES_QUESTION = "Which classes need several hyperplanes?"

_SHOWN = 8  # classes


def answers(
    runners: list[Runner],
    choice: Choice,
    slopes: Prior,
    n_rows: int,
    classes: list[dict[str, Any]],
    usual: tuple[Any, NDArray[np.bool_]],
) -> dict[str, str]:
    """`usual`: the most frequent label, and where it is wrong among the tested rows."""
    linear = [r for r in runners if r.candidate.family == LINEAR]
    others = [r for r in runners if r.candidate.family != LINEAR]
    found = {}
    label, wrong = usual
    gain = wrong.astype(np.float64) - choice.known.wrong
    if gain.mean() <= SURE * gain.std() / np.sqrt(len(gain)):
        found[LINEAR_QUESTION] = (
            f"Not known: no model is clearly better than always answering {label}, with "
            f"{percent(float(wrong.mean()))} errors."
        )
    elif linear and others:
        pair = _pair(linear[0], others, choice)
        if pair is not None:
            pair = on_same_rows(*pair)
            found[LINEAR_QUESTION] = _is_linear(*pair)
            found[GAIN_QUESTION] = _gain(*pair)
    found[GROWTH_QUESTION] = _growth(runners, choice, slopes, n_rows)
    if classes:
        found[CLASSES_QUESTION] = _several(classes)
    return found


def _pair(
    linear: Runner, others: list[Runner], choice: Choice
) -> tuple[Measurement, Measurement] | None:
    """The linear model and the recommended one (if that is linear: the best other one), after
    training on the same rows, as many as can."""
    for runner in others:
        if runner.candidate is choice.known.candidate and common(linear, runner):
            return common(linear, runner)[-1]
    for measured in reversed(linear.measured):
        rivals = [m for r in others for m in r.measured if m.n_rows == measured.n_rows]
        if rivals:
            return measured, min(rivals, key=lambda m: m.error)
    return None


def _is_linear(linear: Measurement, best: Measurement) -> str:
    gain, deviation = difference(linear, best)
    if gain > SURE * deviation and gain > WORTH * linear.error:
        return (
            f"No: {best.candidate.name} has {percent(best.error)} errors where the linear model "
            f"has {percent(linear.error)}, on {len(best.all_wrong):,} held-out rows."
        )
    if gain > SURE * deviation:
        return f"Nearly: {best.candidate.name} is better, but by less than {100 * WORTH:.0f} %."
    return (
        f"Yes, as far as {len(best.all_wrong):,} held-out rows can tell: the linear model has "
        f"{percent(linear.error)} errors, the best other one {percent(best.error)} "
        f"({best.candidate.name})."
    )


def _gain(linear: Measurement, best: Measurement) -> str:
    gain, deviation = difference(linear, best)
    low, high = (100 * (gain + z * deviation) for z in (-1.96, 1.96))
    if gain <= 0:
        return f"Nothing, after training on {linear.n_rows:,} rows: no other model is better."
    return (
        f"{100 * gain:.2f} points of error ({low:.2f} to {high:.2f}), after training on "
        f"{linear.n_rows:,} rows: {100 * gain / linear.error:.0f} % of the linear model's errors."
    )


def _growth(runners: list[Runner], choice: Choice, slopes: Prior, n_rows: int) -> str:
    candidate = choice.known.candidate
    runner = next(r for r in runners if r.candidate is candidate)
    now, twice = (runner.errors(slopes).at(n).value for n in (n_rows, 2 * n_rows))
    data = (
        f"twice the rows would bring the error of {candidate.name} from "
        f"{percent(now)} to about {percent(twice)}"
    )
    data_pays: bool | None = 1 - twice / now > WORTH
    if len(runner.measured) < 2:
        data = f"what more rows would bring cannot be told from one training of {candidate.name}"
        data_pays = None
    step = _step_in_size(runners, runner)
    if step is None:
        model, model_pays = "", None
    else:
        smaller, larger = on_same_rows(*step)
        gain, deviation = difference(smaller, larger)
        model_pays = gain > max(SURE * deviation, WORTH * smaller.error)
        helps = "helps" if model_pays else "is not clearly better"
        model = (
            f"; a larger model {helps}: {percent(smaller.error)} with "
            f"{smaller.candidate.size.words} and {percent(larger.error)} with "
            f"{larger.candidate.size.words}, at {larger.n_rows:,} rows"
        )
    verdict = {
        (True, True): "Both",
        (True, False): "More data",
        (True, None): "More data",
        (None, True): "A bigger model",
        (None, False): "Not a bigger model",
        (None, None): "Not known",
        (False, True): "A bigger model",
        (False, False): "Neither",
        (False, None): "Not more data",
    }[data_pays, model_pays]
    return f"{verdict}: {data}{model}."


def _step_in_size(runners: list[Runner], runner: Runner) -> tuple[Measurement, Measurement] | None:
    """A model of the family and the next larger one, one of them `runner`, on the same rows."""
    family = [r for r in runners if r.candidate.family == runner.candidate.family]
    family.sort(key=lambda r: r.candidate.rung)
    if len(family) < 2:
        return None
    # What the next size would bring; for the largest, what it has brought.
    lower, upper = family[min(family.index(runner), len(family) - 2) :][:2]
    pairs = common(lower, upper)
    return pairs[-1] if pairs else None


def by_class(
    runners: list[Runner], y: NDArray[np.int32], classes: NDArray[Any]
) -> list[dict[str, Any]]:
    """The linear model and the flagship, class by class, after training on the same rows."""
    linear = [m for r in runners if r.candidate.family == LINEAR for m in r.measured]
    flagship = [m for r in runners if r.candidate.family == MULTIPLANE for m in r.measured]
    pairs = [(a, b) for a in linear for b in flagship if a.n_rows == b.n_rows]
    if not pairs:
        return []
    simple, several = max(pairs, key=lambda pair: (pair[0].n_rows, -pair[1].error))
    assert several.n_hyperplanes is not None
    found: list[dict[str, Any]] = []
    for number, label in enumerate(classes):
        # Errors that have to do with the class: on its rows.
        rows = y == number
        n = int(rows.sum())
        entry: dict[str, Any] = {"label": label, "n_rows": simple.n_rows, "n_tested": n}
        entry["linear"] = float(simple.wrong[rows].mean()) if n else np.nan
        entry["multiplane"] = float(several.wrong[rows].mean()) if n else np.nan
        entry["n_hyperplanes"] = int(several.n_hyperplanes[number])
        apart = simple.wrong[rows].astype(np.float64) - several.wrong[rows]
        sure = n > 0 and apart.sum() > max(
            SURE * np.sqrt(np.abs(apart).sum()), WORTH * simple.wrong[rows].sum()
        )
        entry["needs_several"] = bool(sure and entry["n_hyperplanes"] > 1)
        found.append(entry)
    return found


def _several(classes: list[dict[str, Any]]) -> str:
    needy = [c for c in classes if c["needs_several"]]
    if not needy:
        return (
            f"None, as far as {sum(c['n_tested'] for c in classes):,} held-out rows can tell, "
            f"after training on {classes[0]['n_rows']:,}."
        )
    needy.sort(key=lambda c: c["multiplane"] - c["linear"])
    words = [
        f"{c['label']} ({c['n_hyperplanes']} hyperplanes; errors on its rows "
        f"{percent(c['linear'])} → {percent(c['multiplane'])})"
        for c in needy[:_SHOWN]
    ]
    more = f", and {len(needy) - _SHOWN} more" if len(needy) > _SHOWN else ""
    start = "All" if len(needy) == len(classes) else f"{len(needy)} of {len(classes)}"
    return (
        f"{start}, after training on {classes[0]['n_rows']:,} rows, the most gained first: "
        f"{', '.join(words)}{more}."
    )
