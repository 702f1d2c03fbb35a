"""Training from a source of blocks: passes, windows, and where it stands.

A training is its estimator, a `Plan` and a `Position`: with these three, and the same source, it
goes on as if it had never stopped, bit for bit.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multiplane.data._errors import DataError
from multiplane.data._examples import Matrix, widened
from multiplane.data._kept import kept
from multiplane.data._source import Block, Source, taken
from multiplane.data._survey import SCALES, Survey
from multiplane.data._windows import Window, windows
from multiplane.estimators._checks import NoWeightError
from multiplane.estimators._labels import check_several
from multiplane.estimators._monitor import joined
from multiplane.models._scaling import Scaling

# Rows learnt between two looks at the clock. Kernel machines take about a second for so many.
_PIECE = 16_384
_WIDE = 1_000_000  # features, from which on their number may be a mistake
_LONGEST_HISTORY = 250  # entries of a finished training: enough for a curve
_FIRST_REPORTS = (1_000, 2_000, 4_000, 8_000, 16_000)
# Learners of wide rows grow by a quarter at a time, so that growing costs little altogether.
_GROWTH = 1.25
# Rows of which so much is filled are as good as dense, and can then be centred. LIBSVM text is all
# there is of many data sets that were never sparse.
_FULL = 0.5


@dataclass(frozen=True)
class Plan:
    """What is to be done."""

    max_iter: int
    shuffle: bool
    window: int  # blocks
    scale: str | None
    seed: int


@dataclass
class Position:
    """What has been done, and seen on the way."""

    n_iter: int = 0  # passes that are complete
    window: int = 0  # windows of the present pass that are complete
    row: int = 0  # rows of the present window that have been learnt
    rows: int = 0  # of all passes
    rows_a_pass: int = 0  # once the first pass is complete
    before: tuple[int, int] = (0, 0)  # rows and mistakes counted up to the present pass
    width: int = 0  # features seen so far; a learner may have room for more
    dense: bool = False  # whether sparse rows are filled up, because few of their values are zero


@dataclass(frozen=True)
class Progress:
    """What a callback of `fit_stream` is told between pieces of work."""

    estimator: Any
    source: Source
    n_iter: int  # the present pass, from 1
    max_iter: int
    rows: int  # of all passes so far
    n_new: int  # of them, since the last call
    n_judged: int  # rows of this pass, each predicted before it was learnt
    mistakes: int  # among them
    bytes_read: int  # of this pass
    position: Position = field(repr=False)
    plan: Plan = field(repr=False)

    @property
    def error(self) -> float:
        return self.mistakes / max(1, self.n_judged)

    @property
    def done(self) -> float | None:
        """Share of all work, where that is known."""
        part = self.bytes_read / self.source.n_bytes if self.source.n_bytes else None
        if n_rows := self.position.rows_a_pass or self.source.n_rows:
            part = (self.rows - (self.n_iter - 1) * n_rows) / n_rows
        return None if part is None else (self.n_iter - 1 + min(1.0, part)) / self.max_iter


Callback = Callable[[Progress], None]


def check_scale(scale: str | None) -> None:
    if scale not in (None, *SCALES):
        raise ValueError(f"scale must be None or one of {SCALES}, got {scale!r}")


class StreamTraining:
    """An estimator being trained from a source."""

    def __init__(
        self,
        estimator: Any,
        source: Source,
        plan: Plan,
        position: Position | None = None,
        classes: NDArray[Any] | None = None,
    ) -> None:
        self.estimator, self.source, self.plan = estimator, kept(source), plan
        self.position = Position() if position is None else position
        self.classes = classes
        self._surveyed = self._told = False

    def run(self, callback: Callback | None = None) -> None:
        """Learn until the plan is fulfilled."""
        estimator, plan, position = self.estimator, self.plan, self.position
        known = estimator._can_widen or self.source.n_features is not None
        if not hasattr(estimator, "_training"):
            self.position.width = self.source.n_features or 0
            if not self.source.once and not (known and plan.scale is None):
                with self._too_wide():
                    self._survey(block.X for block in self.source)
        try:
            while position.n_iter < plan.max_iter:
                self._one_pass(callback)
        except KeyboardInterrupt:
            self._end("interrupted")
            raise
        self._end("max_iter")

    def _end(self, reason: str) -> None:
        estimator = self.estimator
        vars(estimator).pop("_expected", None)
        vars(estimator).pop("_length_known", None)
        if not hasattr(estimator, "_training"):
            return
        if estimator._can_widen and self.position.width < estimator.n_features_in_:
            estimator._resize(self.position.width)
        estimator.n_iter_, estimator.stop_reason_ = self.position.n_iter, reason
        while len(estimator.history_) > _LONGEST_HISTORY:
            estimator.history_ = joined(estimator.history_)
        if self.source.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.source.feature_names, dtype=object)
        again = reason == "max_iter" and self.plan.max_iter > 1
        estimator._stream_ended((self._fitted(block.X) for block in self.source) if again else None)

    def _survey(self, rows: Iterable[Any]) -> None:
        """The number of features, and the scaler, before anything is learnt."""
        self._surveyed = True
        seen = Survey(self.source.feature_names)
        for X in rows:
            self.position.width = max(self.position.width, X.shape[1])
            try:
                seen.add(X)
            except DataError as error:
                raise DataError(f"{self.source.name}, {error}") from None
        self.position.width = max(self.position.width, seen.n_features)
        self.position.dense = seen.fill >= _FULL
        if self.plan.scale is not None:
            self.estimator.scaler_ = Scaling(
                *seen.scale(self.plan.scale, self.position.dense)
            ).resized(self.position.width)

    def _one_pass(self, callback: Callback | None) -> None:
        plan, position = self.plan, self.position
        seed = (plan.seed, position.n_iter) if plan.shuffle else None
        for window in windows(self.source, plan.window, seed, position.window):
            self._learn(window, callback)
            position.window, position.row = window.number + 1, 0
        if not hasattr(self.estimator, "_training"):
            weightless = " with a weight above zero" if position.rows else ""
            raise ValueError(f"{self.source.name}: there are no rows{weightless} to learn from")
        check_several(self.estimator.classes_, self.estimator, self.source.name)
        position.rows_a_pass = position.rows_a_pass or position.rows
        position.n_iter, position.window = position.n_iter + 1, 0
        tally = self.estimator._training.tally
        position.before = tally.rows, tally.mistakes

    def _learn(self, window: Window, callback: Callback | None) -> None:
        estimator, position = self.estimator, self.position
        rows = window.rows
        if rows.y is None:
            raise ValueError(
                f"{self.source.name}: the rows have no labels, and learning needs them"
            )
        if rows.y.ndim != 1:
            raise ValueError(
                f"{self.source.name}: one label a row is needed, got y of shape {rows.y.shape}"
            )
        if not hasattr(estimator, "_training"):
            self._begin(window)
        elif self.plan.shuffle and position.n_iter == 0 and len(estimator.classes_) > 1:
            self._look_for_sorted(rows)
        if hasattr(estimator, "_training"):
            for name, value in estimator._learner_settings(self._done(window)).items():
                setattr(estimator._training.learner, name, value)
        try:
            with self._too_wide():
                rows = rows._replace(X=self._fitted(rows.X))
                self._learn_rows(rows, window, callback)
        except ValueError as error:
            if not str(error).startswith("Input X contains"):
                raise
            raise self._located(error) from None

    @contextmanager
    def _too_wide(self) -> Iterator[None]:
        """Where memory ends because there seem to be very many features, says so."""
        try:
            yield
        except MemoryError as error:
            if self.position.width < _WIDE:
                raise
            raise MemoryError(
                f"{self.source.name}: a model of {self.position.width:,} features does not fit "
                f"into memory; if a wrong index made them so many, say n_features (--n-features)"
            ) from error

    def _located(self, error: ValueError) -> DataError:
        """A row that cannot be learnt, by its number in the source rather than in a window."""
        words, first = f"{error}, counted in a shuffled window", 0
        try:
            for block in () if self.source.once else self.source:
                for start, rows in Matrix(block.X, check_later=True).chunks():
                    rows.check_values(first + start)
                first += block.n_rows
        except ValueError as found:
            words = str(found)
        names, column = self.source.feature_names, re.search(r"column (\d+)", words)
        if names is not None and column is not None:
            words += f" ({names[int(column[1])]!r})"
        return DataError(f"{self.source.name}: {words}")

    def _learn_rows(self, rows: Block, window: Window, callback: Callback | None) -> None:
        position = self.position
        while position.row < rows.n_rows:
            piece = taken(rows, slice(position.row, position.row + self._size(rows)))
            self._learn_piece(piece)
            position.row += piece.n_rows
            position.rows += piece.n_rows
            if callback is not None and hasattr(self.estimator, "_training"):
                callback(self._progress(window, piece.n_rows))

    def _look_for_sorted(self, rows: Block) -> None:
        if rows.n_rows > _FIRST_REPORTS[0] and bool(np.all(rows.y == rows.y[0])) and not self._told:
            self._told = True
            warnings.warn(
                f"{self.source.name} seems to be sorted by label: {rows.n_rows:,} rows on end are "
                f"of class {rows.y[0]}; raise window= or shuffle the file",
                stacklevel=5,
            )

    def _size(self, rows: Block) -> int:
        """Of the next piece: up to the next report; or all, where something is found by trial."""
        if not hasattr(self.estimator, "_training") and self.estimator._looks_at_first_rows():
            return rows.n_rows
        ends = (end - self.position.rows for end in _FIRST_REPORTS)
        return next((size for size in ends if size > 0), _PIECE)

    def _begin(self, window: Window) -> None:
        """The first rows tell of the classes to begin with, and how many rows to expect."""
        wanted = self.plan.scale is not None or not self.estimator._can_widen
        if wanted and not self._surveyed:
            self._survey([window.rows.X])
        found = np.unique(window.rows.y)
        if self.classes is None and len(found) > 1:
            self.classes = found
        share = 1.0
        if self.source.n_rows:
            share = window.rows.n_rows / self.source.n_rows
        elif self.source.n_bytes and window.bytes_read:
            share = min(1.0, window.bytes_read / self.source.n_bytes)
        n_rows = max(window.rows.n_rows, round(window.rows.n_rows / max(share, 1e-9)))
        self.estimator._expected = n_rows, self.plan.max_iter
        self.estimator._length_known = bool(self.source.n_rows or self.source.n_bytes)

    def _learn_piece(self, piece: Block) -> None:
        classes = None
        if not hasattr(self.estimator, "_training") and self.classes is not None:
            classes = self.classes if len(self.classes) > 1 else None  # others will come
        with suppress(NoWeightError):  # as good as absent
            self.estimator._partial_fit(
                piece.X,
                piece.y,
                classes=classes,
                sample_weight=piece.sample_weight,
                allow_new_classes=True,
                from_source=True,
            )

    def _fitted(self, X: Any) -> Any:
        """Rows as wide as the learner, or the learner as wide as the rows."""
        estimator, position = self.estimator, self.position
        width = position.width = max(position.width, X.shape[1])
        if hasattr(estimator, "_training"):
            if X.shape[1] > estimator.n_features_in_ and estimator._can_widen:
                estimator._resize(max(X.shape[1], int(_GROWTH * estimator.n_features_in_)))
            width = max(X.shape[1], estimator.n_features_in_)
        X = widened(X, width)
        return X.toarray() if position.dense and sp.issparse(X) else X

    def _done(self, window: Window) -> float:
        """Share of the training that lies behind, as far as it is known; the same each time."""
        part = 0.0
        if self.source.n_blocks is not None:
            part = window.number * self.plan.window / self.source.n_blocks
        return (self.position.n_iter + part) / self.plan.max_iter

    def _progress(self, window: Window, n_new: int) -> Progress:
        tally, (rows, mistakes) = self.estimator._training.tally, self.position.before
        return Progress(
            self.estimator,
            self.source,
            self.position.n_iter + 1,
            self.plan.max_iter,
            self.position.rows,
            n_new,
            tally.rows - rows,
            tally.mistakes - mistakes,
            window.bytes_read,
            self.position,
            self.plan,
        )


class Printed:
    """A line at every doubling of the rows, as Vowpal Wabbit prints them."""

    def __init__(self, name: str, write: Callable[[str], None] = print) -> None:
        self.name, self.write = name, write
        self.began, self.next = time.monotonic(), _FIRST_REPORTS[0]

    def __call__(self, progress: Progress) -> None:
        if progress.rows < self.next:
            return
        while self.next <= progress.rows:
            self.next *= 2
        seconds = time.monotonic() - self.began
        self.write(
            f"[{self.name}] pass {progress.n_iter}/{progress.max_iter}  rows {progress.rows:,}  "
            f"error {100 * progress.error:.2f} %  {progress.rows / max(seconds, 1e-9):,.0f} rows/s"
        )
