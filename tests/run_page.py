"""Run what a page shows: ``python tests/run_page.py docs/data.md``, in an empty folder.

Blocks of Python are one program, given names and files that the page takes for granted. C and TOML
become the files that its commands read. Commands are lines after ``$``; what the page shows of
their answers must be among what they say, but for the numbers. Sessions with ``>>>`` are left to
doctest, and `make` and `pip` to a fresh clone.
"""

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import dump_svmlight_file, load_digits

import multiplane
import multiplane.datasets
from multiplane.datasets._real import data_directory

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS_DATA = re.compile("letter.xz|make_infinite_digits")
# The pages speak of clusters, GPUs, minutes and millions of rows.
SMALLER = {
    'device="cuda"': 'device="cpu"',
    "time_budget=60": "time_budget=2",
    "8_000_000": "800",
    "n_stages=60": "n_stages=22",
}


def blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, language and text of the blocks that are to be run."""
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if re.search(r"^\$ (?!make|pip)", code, re.MULTILINE):
            language = "commands"
        if language in ("python", "commands", "c", "toml") and ">>> " not in code:
            yield text.count("\n", 0, block.start(2)), language, code


def inputs() -> dict[str, Any]:
    """The names and files that pages take for granted."""
    digits, labels = load_digits(return_X_y=True)
    digits = digits.astype(np.float32)
    X, y, X_test, y_test = digits[:1000], labels[:1000], digits[1000:], labels[1000:]
    names: dict[str, Any] = {"X": X, "y": y, "X_new": X_test, "X_test": X_test, "y_test": y_test}
    names["clf"] = multiplane.AMMClassifier(random_state=0).fit(X, y)
    names["stream"] = [(X[:500], y[:500]), (X[500:], y[500:])]
    multiplane.datasets.load_mnist = lambda return_X_y: (X, y, X_test, y_test)
    for name in "data.svm", "clicks-1.svm", "clicks-2.svm", "big.svm":
        dump_svmlight_file(X, y, name, zero_based=False)
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    if folder := data_directory():
        for name in "letter.xz", "letter.t.xz":
            Path(name).symlink_to((folder / name).resolve())
    Path("rows.txt").write_text("5.3, 3.7, 1.5, 0.2\n7.0, 3.2, 4.7, 1.4\n6.3 3.3 6.0 2.5\n")
    return names


def tables(X: np.ndarray, y: np.ndarray) -> None:
    import pandas as pd

    frame = pd.DataFrame(X).rename(columns=str)
    frame.assign(clicked=y).to_parquet("clicks.parquet")


def cluster(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """A scheduler with two workers, and arrays that they have."""
    import dask.array as da
    from distributed import LocalCluster

    dask_X, dask_y = da.from_array(X[:40], chunks=(20, -1)), da.from_array(y[:40], chunks=20)
    da.to_npy_stack("X", dask_X)
    da.to_npy_stack("y", dask_y)
    here = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    )
    SMALLER["tcp://scheduler:8786"] = here.scheduler_address
    return {"dask_X": dask_X, "dask_y": dask_y, "cluster": here}


def without_numbers(text: str) -> str:
    return " ".join(re.sub(r"-?\d[\d,./e]*", "#", text).split())


def run_commands(text: str) -> None:
    shown: list[str] = []
    said: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            ran = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", line[2:]],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            print(line, ran.stdout, sep="\n")
            if ran.returncode not in (0, 141):  # SIGPIPE: `| head`
                sys.exit(f"{line}: exit {ran.returncode}")
            said += map(without_numbers, ran.stdout.splitlines())
        else:
            shown.append(line)
    missing = [line for line in shown if without_numbers(line) not in said]
    if missing:
        sys.exit("shown, but not said:\n" + "\n".join(missing))


def main(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    names = inputs()
    if "clicks.parquet" in text:
        tables(names["X"], names["y"])
    if "import multiplane.dask" in text:
        names |= cluster(names["X"], names["y"])
    for line, language, code in blocks(text):
        if NEEDS_DATA.search(code) and data_directory() is None:
            print(f"{page}, line {line}: skipped, needs real data sets: set MULTIPLANE_DATA")
            continue
        if "$ cc " in code and shutil.which("cc") is None:
            print(f"{page}, line {line}: skipped, needs a C compiler")
            continue
        match language:
            case "commands":
                run_commands(code)
            case "c":
                Path("main.c").write_text(code)
            case "toml":
                Path(code.splitlines()[0].removeprefix("# ")).write_text(code)
            case "python":
                for large, small in SMALLER.items():
                    code = code.replace(large, small)
                with sklearn.config_context():
                    exec(compile("\n" * line + code, page, "exec"), names)
    if "cluster" in names:
        names["client"].close()
        names["cluster"].close()


if __name__ == "__main__":
    main(sys.argv[1])
