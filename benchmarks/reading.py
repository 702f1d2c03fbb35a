"""Reading: LIBSVM text against scikit-learn's loader, threads, the cache; text to saved model.

300 MB of text with long decimals, generated once into a temporary folder; MULTIPLANE_TEXT_MB asks
for another size. scikit-learn reads 60 MB of it, as more would take minutes; rates are compared.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.measure import Outcome, all_cores, alternately
from multiplane import AMMClassifier, save
from multiplane.data import CacheSource, open_source, write_cache

SIZE = int(os.environ.get("MULTIPLANE_TEXT_MB", "300")) << 20
PART = min(SIZE, 60 << 20)
N_FEATURES, N_VALUES, N_CLASSES = 500, 30, 5
ROUNDS = 3


def lines(seed: int = 0, n: int = 20_000) -> list[str]:
    """Sparse rows around a centre for each class, in as many digits as a double needs."""
    random = np.random.RandomState(seed)
    centres = random.standard_normal((N_CLASSES, N_FEATURES))
    label = random.randint(N_CLASSES, size=n)
    out = []
    for y in label.tolist():
        where = np.sort(random.permutation(N_FEATURES)[:N_VALUES])
        values = centres[y, where] + 2 * random.standard_normal(N_VALUES)
        pairs = zip((where + 1).tolist(), values.tolist(), strict=True)
        out.append(" ".join([str(y), *(f"{i}:{x!r}" for i, x in pairs)]))
    return out


def write_text(path: Path, size: int, rows: list[str]) -> None:
    """The rows, over and over."""
    text = "".join(f"{row}\n" for row in rows).encode()
    with open(path, "wb") as file:
        for _ in range(max(1, round(size / len(text)))):
            file.write(text)


@cache
def folder() -> Path:
    """With `all.svm`, `part.svm` and `all.vw`."""
    place = Path(tempfile.mkdtemp(prefix="multiplane-text-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    rows = lines()
    write_text(place / "all.svm", SIZE, rows)
    write_text(place / "part.svm", PART, rows)
    other = [f"{int(y) + 1} | {rest}" for y, rest in (row.split(" ", 1) for row in rows)]
    write_text(place / "all.vw", SIZE, other)
    return place


def read(source: Any) -> None:
    """All blocks, every value looked at."""
    for X, _, _ in source:
        X.data.sum()


def megabytes(path: Path) -> float:
    return path.stat().st_size / 2**20


def parsing() -> list[Outcome]:
    whole, part = folder() / "all.svm", folder() / "part.svm"
    ours, theirs = alternately(
        lambda: read(open_source(whole, n_jobs=1)),
        lambda: load_svmlight_file(str(part), dtype=np.float32),
        rounds=ROUNDS,
    )
    rates = megabytes(whole) / ours, megabytes(part) / theirs
    note = f"{rates[0]:.0f} against {rates[1]:.0f} MB/s ({megabytes(part):.0f} MB of the text)"
    return [Outcome("parsing / load_svmlight_file", rates[0] / rates[1], 10.0, True, note)]


def parsing_in_threads() -> list[Outcome]:
    whole = folder() / "all.svm"
    with all_cores():
        one, two = alternately(
            lambda: read(open_source(whole, n_jobs=1)),
            lambda: read(open_source(whole, n_jobs=2)),
            rounds=ROUNDS,
        )
    note = f"{one:.2f} s, {two:.2f} s"
    return [Outcome("two threads / one, parsing", one / two, 1.7, True, note)]


def cached() -> list[Outcome]:
    """From the second pass on, when the checksums have been looked at."""
    whole, place = folder() / "all.svm", folder() / "all.mpc"
    write_cache(open_source(whole), place)
    source = CacheSource(place)
    start = time.perf_counter()
    read(source)
    first = time.perf_counter() - start
    again, parsed = alternately(
        lambda: read(source), lambda: read(open_source(whole, n_jobs=1)), rounds=ROUNDS
    )
    note = f"{parsed:.2f} s parsed, {again:.3f} s again, {first:.3f} s with its checksums"
    return [Outcome("cache / parsing", parsed / again, 5.0, True, note)]


# --- from text to a saved model, each in a process of its own ------------------------------------


def ours(text: str, model: str) -> None:
    clf = AMMClassifier(alpha=1e-5, random_state=0).fit_stream(text, max_iter=1, shuffle=False)
    save(clf, model)


def vowpal_wabbit(text: str, model: str) -> None:
    """One pass, one against all; it reads its own format, converted beforehand."""
    from vowpalwabbit import Workspace

    data = text.replace(".svm", ".vw")
    Workspace(f"--oaa {N_CLASSES} --loss_function hinge -d {data} -f {model} --quiet").finish()


def liblinear(text: str, model: str) -> None:
    """Its default solver and stopping, and its own reading."""
    from liblinear.liblinearutil import save_model, svm_read_problem, train

    y, X = svm_read_problem(text, return_scipy=True)
    save_model(model, train(y, X, "-q"))


def against(peer: Callable[[str, str], None], module: str) -> list[Outcome]:
    def process(run: Callable[[str, str], None], text: Path) -> Callable[[], Any]:
        call = [sys.executable, "-m", "benchmarks.reading", run.__name__, text, folder() / "model"]
        return lambda: subprocess.run(call, check=True)

    probe = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True)
    if probe.returncode:
        raise FileNotFoundError(f"{module} is not installed")
    # liblinear holds everything, and takes its passes: the small file.
    text = folder() / ("part.svm" if peer is liblinear else "all.svm")
    with all_cores():
        own, other = alternately(process(ours, text), process(peer, text), rounds=1)
    note = f"{megabytes(text):.0f} MB: {own:.1f} s against {other:.1f} s"
    return [Outcome(f"{peer.__name__} / text to model", other / own, 1.0, True, note)]


def text_to_model_vowpal_wabbit() -> list[Outcome]:
    return against(vowpal_wabbit, "vowpalwabbit")


def text_to_model_liblinear() -> list[Outcome]:
    return against(liblinear, "liblinear.liblinearutil")


BENCHMARKS = (
    parsing,
    parsing_in_threads,
    cached,
    text_to_model_vowpal_wabbit,
    text_to_model_liblinear,
)

if __name__ == "__main__":
    {run.__name__: run for run in (ours, vowpal_wabbit, liblinear)}[sys.argv[1]](*sys.argv[2:])
