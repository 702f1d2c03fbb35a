"""``multiplane predict``: without scikit-learn, so that it starts at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from multiplane.cli._main import check_output
from multiplane.cli._options import reading


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data")
@click.argument("model", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("output", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--scores", is_flag=True, help="A score for each class, as comma-separated values.")
@click.option("--probabilities", is_flag=True, help="A probability for each class.")
@reading
def command(
    data: str, model: str, output: str, scores: bool, probabilities: bool, reading: dict[str, Any]
) -> None:
    """Predict the labels of DATA with MODEL, one a line.

    Labels in the data are not looked at. Features that the model does not know are passed over.
    With --on-error skip, malformed lines have no line in the output either.
    """
    from multiplane.persistence._compile import compile

    if scores and probabilities:
        raise click.UsageError("--scores and --probabilities cannot be had together")
    check_order(data, model)
    check_output(output, data, model)
    predictor = compile(sys.stdin.buffer if model == "-" else model)
    if probabilities and not hasattr(predictor, "predict_proba"):
        raise click.UsageError(f"{model} knows no probabilities: only least-squares models do")
    with opened(output) as file:
        if scores or probabilities:
            file.write(",".join(map(_quoted, predictor.classes_.tolist())) + "\n")
        for X in rows_for(predictor, data, reading):
            if scores:
                lines = _numbers(_per_class(predictor.decision_function(X)))
            elif probabilities:
                lines = _numbers(predictor.predict_proba(X))
            else:
                lines = _labels(predictor.predict(X))
            file.write(lines)


def check_order(data: str, model: str) -> None:
    """The two are easily swapped."""
    if os.path.isfile(data) and os.path.isfile(model) and is_model(data) and not is_model(model):
        raise click.UsageError(f"{data} is a model and {model} is not: data first, then the model")


def is_model(path: str) -> bool:
    """Model files are safetensors: a JSON object follows its length."""
    if os.path.isdir(path):
        return False
    with open(path, "rb") as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 1 << 30


@contextmanager
def opened(output: str) -> Iterator[Any]:
    """A text file that appears when it is complete, or standard output."""
    if output == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    from multiplane._atomic import atomic

    with atomic(output, "w") as file:
        yield file


def rows_for(predictor: Any, data: str, reading: dict[str, Any]) -> Iterator[Any]:
    """Rows of a file, as wide as the model wants them."""
    for block in blocks_for(predictor, data, reading, light=True):
        yield block.X


def blocks_for(
    predictor: Any, data: str, reading: dict[str, Any], light: bool = False
) -> Iterator[Any]:
    """Blocks of a file, as wide as a model wants them; `light`: without SciPy."""
    from multiplane.data import open_source, widened

    names = getattr(predictor, "feature_names_in_", None)
    own = {
        "n_features": int(predictor.n_features_in_),
        "extra_features": "drop",
        "columns": None if names is None else tuple(names),
    }
    source = open_source(data, **{**reading, **own})
    # A Pipeline of scikit-learn's does not centre sparse rows, and text is always sparse.
    centred = any(getattr(step, "with_mean", False) for _, step in getattr(predictor, "steps", ()))
    for block in source._light() if light else source:
        if centred and hasattr(block.X, "toarray"):
            block = block._replace(X=widened(block.X, int(predictor.n_features_in_)).toarray())
        if block.n_rows:
            yield block._replace(X=_fitting(block.X, int(predictor.n_features_in_)))


def _fitting(X: Any, n_features: int) -> Any:
    """Sparse rows with so many columns: others were never seen, or are zero."""
    if hasattr(X, "indptr") and X.shape[1] > n_features:
        return X.with_width(n_features) if hasattr(X, "with_width") else X[:, :n_features]
    from multiplane.data import widened

    return widened(X, n_features)


def _labels(labels: Any) -> str:
    if labels.ndim == 2:  # several: their numbers
        return "".join(",".join(map(str, row.nonzero()[0].tolist())) + "\n" for row in labels)
    return "".join(f"{label}\n" for label in labels.tolist())


def _per_class(scores: Any) -> Any:
    """Of two classes, the second's score less the first's is all there is."""
    import numpy as np

    return scores if scores.ndim == 2 else np.stack([-scores / 2, scores / 2], axis=1)


def _numbers(rows: Any) -> str:
    return "".join(",".join(f"{value:.9g}" for value in row) + "\n" for row in rows.tolist())


def _quoted(label: Any) -> str:
    words = str(label)
    return '"' + words.replace('"', '""') + '"' if any(c in words for c in ',"\n') else words
