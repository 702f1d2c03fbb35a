"""How the model was made: parameters, what was found in training, what was tried."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any

import numpy as np

from multiplane._html import Markup, table
from multiplane._numbers import percent
from multiplane.reporting._page import Section, folded, heading, note, scrolling
from multiplane.reporting._subject import Subject


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
    found = _found(estimator) if subject.is_own else []
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
