"""`explore`: a question about the data, and the object that answers it."""

from __future__ import annotations

import sys
import time
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from multiplane.data import check_sparse
from multiplane.estimators._labels import encode
from multiplane.exploration import _report
from multiplane.exploration._answers import answers, by_class
from multiplane.exploration._candidates import code, families
from multiplane.exploration._race import Choice, Measurement, Race

DTYPES = (np.float32, np.float64)
_COSTS = ("fit_seconds", "predict_seconds", "size")


def explore(
    X: Any,
    y: ArrayLike,
    time_budget: float | None = 60,
    *,
    random_state: Any = None,
    verbose: int = 1,
) -> Exploration:
    """What kind of problem is this, and which estimator suits it?

    Linear, AMM, GAMM, the flagship, stagewise least squares and budgeted kernel machines are
    trained on growing subsamples and tested on rows held out; who cannot win any more is left
    behind. Errors and times are extrapolated to all rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Features need not be scaled.
    y : array of shape (n_samples,)
        Labels of any kind.
    time_budget : float or None, default=60
        Seconds. Nothing starts that is not expected to end in time. ``None``: no limit.
    random_state : int, RandomState or None, default=None
    verbose : int, default=1
        1: a line for each model that is tried, on stderr.

    Returns
    -------
    Exploration
        Print it, let a notebook show it, or look at its attributes: ``help(Exploration)``.

    Examples
    --------
    >>> from multiplane import explore
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3, 3, n=4000, random_state=0)
    >>> result = explore(X, y, time_budget=10, random_state=0, verbose=0)
    >>> print(result.answers["Is it linear?"])
    No: ...
    """
    began = time.perf_counter()
    if time_budget is not None and not (isinstance(time_budget, Real) and time_budget > 0):
        raise ValueError(f"time_budget must be above 0 seconds, or None, got {time_budget!r}")
    X, _, classes, codes = checked(Explore(), X, y)
    random = check_random_state(random_state)
    race = explored(X, codes, classes, time_budget, random, verbose, began)
    if race is None:
        raise ValueError(
            "explore holds rows out to test with and needs at least 4 rows of each of two classes; "
            "use MultiplaneClassifier"
        )
    return Exploration(race, classes)


class Explore(BaseEstimator):
    """Has a name, for messages about X and y."""


class Exploration:
    """What `explore` found.

    Attributes
    ----------
    answers : dict of questions and answers, in words
    estimator : the recommended estimator, not fitted
    recommendation : Python code that makes it
    forecast : list of dictionaries, one for each candidate, the recommended one first: ``name``,
        ``family``, ``error`` expected with all rows, ``low`` and ``high`` (95 %), ``fit_seconds``
        expected with all rows, ``predict_seconds`` a row, ``size`` (numbers in the model),
        ``n_rows`` of its largest training (0: inferred from smaller ones of the family)
    measurements : list of dictionaries, one for each subsample and candidate: ``name``,
        ``family``, ``n_rows``, ``error`` on held-out rows, ``low`` and ``high`` (95 %),
        ``fit_seconds``, ``predict_seconds``, ``size``
    by_class : list of dictionaries, one a class: ``label``, ``n_rows`` trained with (of all
        classes), ``n_tested`` (of this one), share of them that the linear model and the flagship
        get wrong (``linear``, ``multiplane``), ``n_hyperplanes`` of the flagship, and whether it
        ``needs_several``
    failures : dict of candidates that could not be trained, and why
    n_rows, n_features, n_classes, n_trainings, seconds : of the exploration
    n_tested : rows that the best have been tested on; others on fewer of them
    """

    def __init__(self, race: Race, classes: NDArray[Any]) -> None:
        self._runners = [runner for runner in race.runners if runner.measured]
        self._choices, self._slopes = race.choices(), race.slopes()
        self.n_rows, self.n_features = (int(n) for n in race.X.shape)
        self.n_classes = race.n_classes
        self.n_tested = max(len(runner.last.all_wrong) for runner in self._runners)
        self.seconds = race.spent
        self.forecast = [forecast(choice) for choice in self._choices]
        self.measurements = [_measured(m) for runner in self._runners for m in runner.measured]
        self.by_class = by_class(self._runners, race.y[race.tested], classes)
        usual = int(np.bincount(race.y).argmax())
        self.answers = answers(
            self._runners,
            self._choices[0],
            self._slopes,
            self.n_rows,
            self.by_class,
            (classes[usual], race.y[race.tested] != usual),
        )
        self.estimator = clone(self._choices[0].runner.candidate.estimator)
        self.n_trainings, self.failures = race.n_trainings, dict(race.failures)
        self.recommendation = code(self.estimator)

    def frontier(self, cost: str) -> list[dict[str, Any]]:
        """Candidates of the forecast than which none is both better and cheaper, cheapest first.

        ``cost``: "fit_seconds", "predict_seconds" or "size".
        """
        if cost not in _COSTS:
            raise ValueError(f"cost must be one of {', '.join(_COSTS)}, got {cost!r}")
        found: list[dict[str, Any]] = []
        for entry in sorted(self.forecast, key=lambda entry: (entry[cost], entry["error"])):
            if not found or entry["error"] < found[-1]["error"]:
                found.append(entry)
        return found

    def plot(self, path: str | Path | None = None) -> Any:
        """Learning curves, and error against the three costs: a figure of Matplotlib.

        With a path it is written there, too.
        """
        from multiplane.exploration._pictures import draw

        figure = draw(self)
        if path is not None:
            figure.savefig(path, dpi=150, bbox_inches="tight")
        return figure

    def curve(self, name: str, n_rows: ArrayLike) -> NDArray[np.float64]:
        """Error expected of a candidate for so many rows; shape (len(n_rows), 3): with its
        interval of 95 %."""
        runner = next((r for r in self._runners if r.candidate.name == name), None)
        if runner is None:
            known = ", ".join(r.candidate.name for r in self._runners)
            raise ValueError(f"there is no candidate {name!r}; there are: {known}")
        line = runner.errors(self._slopes)
        forecasts = [line.at(float(n)) for n in np.atleast_1d(np.asarray(n_rows))]
        return np.minimum(1.0, [[f.value, *f.interval()] for f in forecasts])

    def __repr__(self) -> str:
        return _report.text(self)

    def _repr_html_(self) -> str:
        return _report.html(self)


def checked(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any], NDArray[Any], Any]:
    """X and y fit for learning, classes, and codes."""
    check_sparse(X)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=DTYPES)
    check_classification_targets(y)
    classes, codes = encode(y)
    if len(classes) < 2:
        raise ValueError(
            f"examples of at least two classes are needed; the data contains only one class: "
            f"{classes[0]}"
        )
    return X, y, classes, codes


def explored(
    X: Any,
    codes: NDArray[np.int32],
    classes: NDArray[Any],
    time_budget: float | None,
    random: np.random.RandomState,
    verbose: int,
    began: float,
    final: bool = False,
) -> Race | None:
    """A race that has been run; None if there are too few rows for a test."""
    limit = "" if time_budget is None or np.isinf(time_budget) else f"/{time_budget:g}"

    def tell(measured: Measurement, seconds: float) -> None:
        if verbose:
            print(
                f"[explore] {seconds:5.1f}{limit} s  {measured.n_rows:>9,} rows  "
                f"{measured.candidate.name:<32}  error {100 * measured.error:6.2f} %  "
                f"{measured.candidate.prepared}",
                file=sys.stderr,
                flush=True,
            )

    race = Race(X, codes, classes, families(X), time_budget, random, tell, final, began)
    if not race.parts:
        return None
    race.run()
    return race


def forecast(choice: Choice) -> dict[str, Any]:
    low, high = choice.error.interval()
    return {
        "name": choice.runner.candidate.name,
        "family": choice.runner.candidate.family,
        "error": min(1.0, choice.error.value),
        "low": low,
        "high": min(1.0, high),
        "fit_seconds": choice.seconds.value,
        "predict_seconds": choice.predict_seconds,
        "size": choice.size,
        "n_rows": 0 if choice.inferred else choice.known.n_rows,
    }


def _measured(measured: Measurement) -> dict[str, Any]:
    low, high = measured.interval()
    return {
        "name": measured.candidate.name,
        "family": measured.candidate.family,
        "n_rows": measured.n_rows,
        "error": measured.error,
        "low": low,
        "high": high,
        "fit_seconds": measured.fit_seconds,
        "predict_seconds": measured.predict_seconds,
        "size": measured.size,
    }
