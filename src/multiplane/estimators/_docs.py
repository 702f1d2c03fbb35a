"""Parts of docstrings that several classes share: one place where they are written."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=type)


def fill(**parts: str) -> Callable[[T], T]:
    """Put the parts into a class's docstring where lines say {name}."""

    def filled(cls: T) -> T:
        doc = cls.__doc__ or ""
        for name, text in parts.items():
            doc = doc.replace(f"    {{{name}}}", text)
        cls.__doc__ = doc
        return cls

    return filled


COMMON = """    shuffle : bool, default=True
        Visit the rows in a new random order each pass.
    random_state : int, RandomState or None, default=None
        An int gives the same model bytes at each run, on every machine with fused multiply-add.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    warm_start : bool, default=False
        Let ``fit`` go on from where the last one ended.
    early_stopping : bool, default=False
        Stop when the score on validation data has not risen by ``tol`` for ``n_iter_no_change``
        passes; the model is that of the last pass. The data is what `fit` gets as ``X_val, y_val``
        or else held out of the training data.
    validation_fraction : float, default=0.1
        Share of the training data to hold out.
    n_iter_no_change : int, default=5
        Patience of early stopping, in passes.
    tol : float or None, default=1e-3
        What counts as a rise of the validation score.
    n_jobs : int or None, default=None
        Threads for prediction and for choosing assignments; -1 for all. The model does not
        depend on it.
    verbose : int, default=0
        1: a line a pass; 2: also progress inside long passes."""
