"""``multiplane demo``: a file, a model and its predictions, in some seconds."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import click

_WIDTH, _HEIGHT = 64, 24


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--folder", type=click.Path(file_okay=False), help="Keep the files here.")
def command(folder: str | None) -> None:
    """See it work: a checkerboard as LIBSVM text, a model file, and what the model thinks."""
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        _show(folder)
        return
    with tempfile.TemporaryDirectory() as place:
        _show(place)


def _show(folder: str) -> None:
    from sklearn.datasets import dump_svmlight_file

    from multiplane import load
    from multiplane.cli._main import run
    from multiplane.datasets import make_checkerboard

    for name, n, seed in (("train.svm", 15_000, 0), ("test.svm", 5_000, 1)):
        X, y = make_checkerboard(4, 4, n=n, random_state=seed)
        dump_svmlight_file(X, y, os.path.join(folder, name), zero_based=False)
    train, test, model = (os.path.join(folder, n) for n in ("train.svm", "test.svm", "model.mpl"))
    for words in (["train", train, model], ["evaluate", test, model], ["inspect", model]):
        click.echo(click.style(f"$ multiplane {' '.join(map(os.path.basename, words))}", bold=True))
        code = run(words)
        if code:
            click.get_current_context().exit(code)
        click.echo()
    click.echo("What the model thinks of the square, a hyperplane for each field:")
    click.echo(_picture(load(model)))


def _picture(model: Any) -> str:
    import numpy as np

    from multiplane.datasets import make_checkerboard

    X, _ = make_checkerboard(4, 4, n=2_000, random_state=0)
    (left, low), (right, high) = X.min(axis=0), X.max(axis=0)
    columns, rows = np.linspace(left, right, _WIDTH), np.linspace(high, low, _HEIGHT)
    grid = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2).astype(np.float32)
    codes = np.searchsorted(model.classes_, model.predict(grid)).reshape(_HEIGHT, _WIDTH)
    return "\n".join("".join("·█"[code % 2] for code in line) for line in codes)
