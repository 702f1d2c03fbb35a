"""`report`: a page about a fitted classifier."""

from __future__ import annotations

import os
from datetime import date
from numbers import Integral
from typing import Any

from multiplane._atomic import atomic
from multiplane.reporting import _results
from multiplane.reporting._cost import cost
from multiplane.reporting._evaluation import Evaluation, evaluate
from multiplane.reporting._images import ImageShape
from multiplane.reporting._page import page
from multiplane.reporting._regions import plane
from multiplane.reporting._settings import settings
from multiplane.reporting._subject import Subject
from multiplane.reporting._training import training
from multiplane.reporting._weights import Effects, features, planes


def report(
    model: Any,
    data: Any,
    path: Any,
    *,
    title: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    max_rows: int = 2_000,
) -> None:
    """Write a page about a fitted classifier: how well it does, and what it is made of.

    One HTML file without scripts that loads nothing: errors with their interval, confusions,
    classes, calibration, training, hyperplanes as pictures or by their largest features, decision
    regions, size and speed, and the rows that are most confidently wrong; each where it applies.

    Parameters
    ----------
    model : fitted classifier
        Of this library, alone or at the end of a Pipeline. Other classifiers get the sections that
        need nothing but predictions.
    data : (X, y), (X, y, sample_weight), or an iterable of such blocks
        Rows that were not trained with. Blocks are gone through once, and not kept.
    path : path or text file
        A file of this name appears when it is whole, in the place of an older one.
    title : str, optional
        The name of the classifier's class, if not given.
    image_shape : (height, width) or (height, width, channels), optional
        What a row is a picture of, channels running fastest. Without it, n·n or n·n·3 features with
        n of at least 8 are taken for pictures if neighbours are alike: the mean squared difference
        of neighbouring features is less than 0.8 of that of random pairs, downwards and across,
        and neither is four times the other.
    max_rows : int, default=2000
        Rows kept as a sample, for pictures and the features' standard deviations. All rows count in
        the errors.

    Examples
    --------
    >>> import io
    >>> from multiplane import GAMMClassifier, report
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(2, 2, n=2000, random_state=0)
    >>> clf = GAMMClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> file = io.StringIO()
    >>> report(clf, (X[1000:], y[1000:]), file)
    >>> "Decision regions" in file.getvalue()
    True
    """
    if not isinstance(max_rows, Integral) or max_rows < 1:
        raise ValueError(f"max_rows must be a whole number of at least 1, got {max_rows!r}")
    if not isinstance(path, str | os.PathLike) and not hasattr(path, "write"):
        raise TypeError(f"path must be a path or a text file, got {type(path).__name__}")
    subject = Subject.of(model)
    found = evaluate(subject, data, int(max_rows))
    if image_shape is None:
        image = ImageShape.found(found.sample)
    else:
        image = ImageShape.given(image_shape, found.n_features)
    html = _written(found, title, image)
    if hasattr(path, "write"):
        path.write(html)
    else:
        with atomic(path, "w") as file:
            file.write(html)


def _written(found: Evaluation, title: str | None, image: ImageShape | None) -> str:
    from multiplane import __version__

    subject, effects = found.subject, Effects(found)
    cost_facts, size_and_speed = cost(found)
    sections = [
        _results.confusion(found),
        _results.classes(found),
        _results.calibration(found),
        plane(found),
        _results.mistakes(found, image),
        planes(found, effects, image),
        features(found, effects, image),
        training(found),
        size_and_speed,
        settings(subject),
    ]
    name, d, k = type(subject.estimator).__name__, found.n_features, len(subject.classes)
    words = [f"{found.n_rows:,} rows", f"{d:,} feature{'s' * (d > 1)}"]
    words.append(f"{k:,} {'labels a row' if subject.multilabel else 'classes'}")
    return page(
        title or name,
        " · ".join([name, *words] if title else words),
        [*_results.facts(found), *cost_facts],
        [section for section in sections if section is not None],
        f"multiplane {__version__}, {date.today().isoformat()}",
    )
