"""How training went, from ``history_``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from multiplane._html import Markup
from multiplane._numbers import duration
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._page import Section, charts
from multiplane.reporting._svg import Line, lines

_FEW_PASSES = 10  # where there are fewer, rounds are shown instead


def training(found: Evaluation) -> Section | None:
    history = list(getattr(found.subject.estimator, "history_", []))
    # Of one kind, so that errors are all over as many rows; with validation scores, if any.
    rounds = [entry for entry in history if "round" in entry]
    whole = [
        entry
        for entry in history
        if entry["event"] not in ("partial_fit", "prune") and "round" not in entry
    ]
    if len(rounds) > len(whole) and len(whole) < _FEW_PASSES:
        main = rounds
    else:
        main = whole if len(whole) > 1 else history
    if len(main) < 2:
        return None
    x, x_label, by_number = _time(main)
    errors = [Line("in training", x, [entry["error"] for entry in main])]
    scored = [e for e in (whole if main is rounds else main) if "validation_score" in e]
    if scored:
        at = dict(zip([_moment(entry) for entry in main], x, strict=True))
        values = [1 - entry["validation_score"] for entry in scored]
        errors.append(Line("validation", [at[_moment(entry)] for entry in scored], values))
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
    if rounds:
        n = _number_of_rounds(rounds)
        lead += f" The partitions were learnt from in {n} round{'s' * (n > 1)}."
    seconds = [entry["seconds"] for entry in history if "seconds" in entry]
    if seconds:
        lead += f" It took {duration(seconds[-1])}."
    return Section("Training", lead, charts(pictures))


def _moment(entry: dict[str, Any]) -> Any:
    """The same of a pass and of its last round."""
    return entry.get("t", entry["n_iter"])


def _number_of_rounds(rounds: list[dict[str, Any]]) -> int:
    """Of all passes; long histories are joined, but keep the last one of each."""
    return sum({entry["n_iter"]: entry["round"] for entry in rounds}.values())


def _time(entries: list[dict[str, Any]]) -> tuple[list[float], str, bool]:
    """Where entries lie: by number if they have one each, otherwise by rows."""
    numbers = [entry["n_iter"] for entry in entries]
    kinds = {entry["event"] for entry in entries}
    if "t" not in entries[-1] or (len(kinds) == 1 and all(a < b for a, b in pairwise(numbers))):
        return [float(n) for n in numbers], kinds.pop(), True
    name = "steps" if kinds == {"round"} else "rows seen"  # of which one stands for several rows
    return [float(entry["t"] - 1) for entry in entries], name, False


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
