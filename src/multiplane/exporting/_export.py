"""The one function that users call."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from multiplane._atomic import atomic
from multiplane.exporting._c import c_header
from multiplane.exporting._contents import contents
from multiplane.exporting._onnx import onnx_model

_FORMATS = {".onnx": "onnx", ".h": "c"}


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    format: Literal["onnx", "c"] | None = None,
    name: str = "multiplane",
) -> None:
    """Write a fitted classifier for use without Python.

    ``model.onnx`` becomes an ONNX graph, ``model.h`` a C99 header without allocation or
    dependencies. Both give the labels of `predict`, but for rows so near a boundary that rounding
    decides, and its scores, usually to 1e-5 of their scale. The same model gives the same bytes.
    docs/deployment.md shows how to use the files.

    Parameters
    ----------
    model : classifier of this library, or a Pipeline that ends with one
        Fitted. Of an `AutoClassifier` what it has chosen is written. In a Pipeline the steps before
        may be scikit-learn's StandardScaler, MaxAbsScaler and Normalizer.
    path : str or path
        Where to. It is there whole or not at all.
    format : {"onnx", "c"} or None, default=None
        None: by the ending of `path`.
    name : str, default="multiplane"
        What the names in a C header begin with, so that two models fit into one program; the name
        of an ONNX graph.

    Notes
    -----
    Labels that are whole numbers, among them bools and floats such as 1.0, become 64-bit integers;
    all others become text, as ``str`` has it. Rows are float32 and must be finite: nothing checks
    them. A link, a function of the basis or a feature map of your own is a TypeError.

    ONNX needs the package onnx: ``pip install "multiplane[onnx]"``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from multiplane import PegasosClassifier, export
    >>> from multiplane.datasets import make_checkerboard
    >>> clf = PegasosClassifier(random_state=0).fit(*make_checkerboard(2, 2, n=100, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "board.h")
    ...     export(clf, path, name="board")
    ...     print("int board_predict(const float *x)" in path.read_text())
    True
    """
    ending = Path(path).suffix.lower()
    wanted = _FORMATS.get(ending) if format is None else format
    if wanted not in _FORMATS.values():
        given = f"the path {os.fspath(path)!r}" if format is None else f"format={format!r}"
        raise ValueError(
            f"export writes 'onnx' (model.onnx) and 'c' (model.h), got {given}; use one of these "
            f"endings, or pass format"
        )
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name must be a letter followed by letters, digits and underscores, got {name!r}; "
            f"for example 'iris'"
        )
    parts = contents(model)
    if wanted == "onnx":
        data = onnx_model(parts, name).SerializeToString(deterministic=True)
    else:
        data = c_header(parts, name).encode()
    with atomic(path, "wb") as file:
        file.write(data)
