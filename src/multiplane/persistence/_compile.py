"""`compile`: what predicts, and nothing else."""

from __future__ import annotations

import os
from typing import Any

from multiplane.models._files import load_fitted
from multiplane.models._predictor import Predictor


def compile(model: Any, *, n_jobs: int | None = None) -> Predictor:
    """A small predictor, of a fitted classifier or a file that `save` wrote.

    Of a file it needs no scikit-learn, is there in a fifth of a second (most of it NumPy's), and
    predicts single rows in a microsecond or two.

    Parameters
    ----------
    model : fitted classifier, str, path or binary file
    n_jobs : int or None, default=None
        Threads for many rows; ``None``: as the classifier's own parameter says.

    Returns
    -------
    Predictor

    Raises
    ------
    ModelFileError
        A ValueError that says what is wrong with the file.

    Examples
    --------
    >>> import multiplane
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(2, 2, n=1000, random_state=0)
    >>> clf = multiplane.AMMClassifier(random_state=0).fit(X, y)
    >>> predictor = multiplane.compile(clf)
    >>> bool(predictor.predict_one(X[0]) == clf.predict(X[:1])[0])
    True
    """
    if isinstance(model, str | os.PathLike) or hasattr(model, "read"):
        return Predictor(load_fitted(model), n_jobs)
    from multiplane.persistence._estimators import fitted

    return Predictor(fitted(model), n_jobs)
