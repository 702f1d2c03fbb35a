"""Size of the model, and time to predict, measured now."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from multiplane._html import table
from multiplane._numbers import duration, storage
from multiplane.models._size import n_bytes, n_numbers
from multiplane.reporting._evaluation import Evaluation
from multiplane.reporting._page import Fact, Section, scrolling

_SECONDS = 0.3  # for each of two measurements


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
