"""What a prediction takes by each way to deploy: the table of docs/deployment.md.

One model of 64 features, ten classes and 30 hyperplanes, on one core; microseconds a row when rows
come one by one, and when 5,000 come at once. All run in turns, and the least time of each counts.

    python -m benchmarks.latency
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from sklearn.svm import LinearSVC

import multiplane
from benchmarks.measure import ALL, alternately
from benchmarks.predictor import fitted

_ONES = 1_000  # rows that come one by one
_LOOP = """
#include "model.h"
void labels(const float *X, long n, int *found)
{
  for (long i = 0; i < n; i++) found[i] = model_predict(X + MODEL_N_FEATURES * i);
}
"""
Way = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # for a row, for many


def main() -> None:
    os.sched_setaffinity(0, {max(ALL)})
    clf, X, y = fitted()
    with tempfile.TemporaryDirectory() as folder:
        predictor = multiplane.compile(clf)
        session = of_onnx(clf, Path(folder))
        compiled = of_c(clf, Path(folder))
        svc = LinearSVC().fit(X, y)
        ways: dict[str, Way] = {
            "`multiplane.compile`": (predictor.predict_one, predictor.predict),
            "the estimator's `predict`": (lambda x: clf.predict(x[None]), clf.predict),
            "ONNX, onnxruntime": (lambda x: session(x[None]), session),
            "scikit-learn's `LinearSVC`": (lambda x: svc.predict(x[None]), svc.predict),
        }
        calls = [
            lambda call=call, rows=rows: [call(row) for row in rows]
            for one, many in ways.values()
            for call, rows in ((one, X[:_ONES]), (many, [X]))
        ]
        *seconds, in_c = alternately(*calls, lambda: compiled(X))
    print("| | a row by itself, µs | a row of 5,000, µs |\n|---|---|---|")
    for way, one, many in zip(ways, seconds[::2], seconds[1::2], strict=True):
        print(f"| {way} | {1e6 * one / _ONES:.3g} | {1e6 * many / len(X):.2g} |")
    print(f"| C, `cc -O2`, called from C | {1e6 * in_c / len(X):.2g} | the same |")


def of_onnx(clf: Any, folder: Path) -> Callable[[Any], Any]:
    multiplane.export(clf, folder / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options)
    return lambda X: session.run(["label"], {"X": X})


def of_c(clf: Any, folder: Path) -> Callable[[Any], Any]:
    multiplane.export(clf, folder / "model.h", name="model")
    (folder / "loop.c").write_text(_LOOP)
    command = ["cc", "-O2", "-shared", "-fPIC", "loop.c", "-o", "loop.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    loop = ctypes.CDLL(str(folder / "loop.so")).labels
    loop.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]
    found = np.empty(5_000, dtype=np.intc)
    return lambda X: loop(X.ctypes.data, len(X), found.ctypes.data)


if __name__ == "__main__":
    main()
