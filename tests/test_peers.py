"""The comparison with peers, in its quick form: processes, limits, results, report."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.__main__ import done, machine, skipped
from benchmarks.peers.cell import warm_up
from benchmarks.peers.datasets import Task
from benchmarks.peers.objective import error, pareto
from benchmarks.peers.report import filled, page
from benchmarks.peers.solvers import OURS, SOLVERS, find
from benchmarks.scaling import exponent

ROOT = Path(__file__).parents[1]
# Solvers of a user's own: modules anywhere.
MINE = {
    "absent": """
    needs, module = "no-such-package", "no_such_package"
""",
    "endless": """
    def fit(self, rows, y):
        if len(y) > 100:  # warmed up
            while True:
                pass

    def predict(self, rows):
        return []
""",
    "broken": """
    def fit(self, rows, y):
        raise RuntimeError("no luck")
""",
    "cheating": """
    def fit(self, rows, y):
        pass

    def predict(self, rows):
        return 0

    def model_bytes(self):
        return 0
""",
}


def python(*arguments, path=""):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The quick form with two of the library's files and the solvers above."""
    folder = tmp_path_factory.mktemp("peers")
    (folder / "mine").mkdir()
    (folder / "mine" / "__init__.py").touch()
    for name, body in MINE.items():
        head = "from benchmarks.peers.solvers import _base\nclass Solver(_base.Solver):\n"
        (folder / "mine" / f"{name}.py").write_text(f'{head}    title = "{name}"\n{body}')
    results = folder / "results.json"
    call = ["benchmarks.peers", "--quick", "--limit", 1, "--results", results, "--solver"]
    call += ["amm", "linear_svc", *(f"mine.{name}" for name in MINE)]
    said = python(*call, path=folder)
    return folder, results, said, lambda: python(*call, path=folder)


def test_a_solver_that_is_not_there(tmp_path):
    """Told at once, and nothing is written."""
    call = ("benchmarks.peers", "--results", tmp_path / "results.json", "--solver", "nosuch")
    with pytest.raises(subprocess.CalledProcessError) as error:
        python(*call)
    assert "no solver nosuch: choose among pegasos" in error.value.stderr
    assert not (tmp_path / "results.json").exists()


def test_cells(run):
    _, results, said, _ = run
    record = json.loads(results.read_text())
    assert "OMP_NUM_THREADS=1" in record["conditions"]["threads"]
    assert "OMP_NUM_THREADS=1" in said
    cells = {cell["solver"]: cell for cell in record["cells"]}
    assert list(cells) == ["amm", "linear_svc", *MINE]
    for name in ("amm", "linear_svc"):
        assert 30 < cells[name]["error"] < 60  # a board is not for one pass of few hyperplanes
        assert 0 < cells[name]["seconds"] < 60
        assert 0 < cells[name]["model_bytes"] < 20_000
        assert cells[name]["single_us"] > 0 < cells[name]["batch_us"]
        assert cells[name]["peak_mb"] >= 0
        assert cells[name]["rows"] == 2000
    assert cells["amm"]["ours"]
    assert not cells["linear_svc"]["ours"]
    assert cells["absent"]["reason"] == "no-such-package is not installed"
    assert cells["endless"]["reason"] == "> 1 s"
    assert cells["broken"]["reason"].endswith("RuntimeError: no luck")
    assert "predictions must have the shape (500,), got ()" in cells["cheating"]["reason"]


def test_resumes(run):
    _, results, _, again = run
    before = json.loads(results.read_text())["cells"][:2]
    ran = [line.split()[2] for line in again().partition("}")[2].splitlines() if " quick " in line]
    assert ran == ["absent", "broken", "cheating"]  # these may have been mended
    assert json.loads(results.read_text())["cells"][:2] == before


def test_report(run):
    folder, results, _, _ = run
    (folder / "docs").mkdir()
    (folder / "README.md").write_text("a\n<!-- peers -->\nold\n<!-- /peers -->\nb\n")
    quoting = "c\n<!-- peers quick: endless amm -->\n<!-- /peers -->\nd\n"
    (folder / "docs" / "when-not.md").write_text(quoting)
    python("benchmarks.peers.report", "--results", results, "--root", folder)
    readme = (folder / "README.md").read_text()
    # What is filled can be filled again.
    assert filled(readme, json.loads(results.read_text())["cells"]) == readme
    assert "| quick | 2,000 |" in readme
    assert "old" not in readme
    assert readme.startswith("a\n<!-- peers -->\n")
    assert readme.endswith("<!-- /peers -->\nb\n")
    quoted = (folder / "docs" / "when-not.md").read_text()
    assert filled(quoted, json.loads(results.read_text())["cells"]) == quoted
    assert quoted.count("AMM, ours") == 1
    assert "| endless | > 1 s |" in quoted
    assert "LinearSVC" not in quoted
    page = (folder / "docs" / "peers.md").read_text()
    assert "| absent | no-such-package is not installed |" in page
    assert 1_000 < (folder / "docs" / "peers" / "quick.png").stat().st_size < 60_000


def test_pages_are_those_of_the_results():
    record = json.loads((ROOT / "benchmarks/peers/results.json").read_text())
    assert (ROOT / "docs/peers.md").read_text() == page(record)
    for path in (ROOT / "README.md", ROOT / "docs/when-not.md"):
        assert path.read_text() == filled(path.read_text(), record["cells"])


def test_objective():
    assert error(np.array([0, 1, 1, 2]), [0, 1, 2, 2]) == 25
    triples = (("a", 1, 9), ("b", 2, 5), ("c", 2, 4), ("d", 3, 4), ("e", 4, 1))
    cells = [{"solver": s, "seconds": t, "error": e} for s, t, e in triples]
    assert pareto(cells) == {"a", "c", "e"}
    assert pareto([]) == set()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver(name, sparse, tmp_path, monkeypatch):
    """Three clouds far from each other, dense and standardised, or sparse and as they are."""
    kind = find(name)
    if name in OURS:
        assert kind.ours
    else:
        pytest.importorskip(kind.module, reason=f"{kind.needs} is not installed")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rng = np.random.RandomState(0)
    y = np.arange(400) % 3
    X = (rng.randn(400, 5) / 2 + 3 * np.eye(3, 5)[y]).astype(np.float32)
    if sparse:
        X = importlib.import_module("scipy.sparse").csr_matrix(X)
    task = Task(300, 5, 3, sparse=sparse, scale=not sparse)
    assert kind(task).skip() is None
    warm_up(kind(task), X[:300], y[:300], X[300:])
    solver = kind(task)
    solver.fit(solver.rows(X[:300], y[:300]), y[:300])
    rows = solver.rows(X[300:])
    assert error(y[300:], solver.predict(rows)) < 5
    assert 0 < solver.model_bytes() < 5_000_000
    alone = solver.predict_one(solver.rows(X[300:301]))
    assert np.size(alone) in (1, 3)  # a code, or scores of the classes


def test_what_is_not_for_a_solver():
    many = Task(10_000_000, 50_000, 2, sparse=True, scale=False)
    for name in ("svc", "libsvm", "nystroem", "budgeted_pegasos", "calibrated"):
        assert find(name)(many).skip()
    assert "dense" in find("hist_gradient_boosting")(many).skip()


def test_too_slow_on_fewer_rows():
    known = dict.fromkeys(("solver", "title", "ours", "version", "date", "commit", "limit"), "")
    known["machine"] = machine()
    slow = {"data": "small", "reason": "> 60 s", "too_slow": 60, **known}
    larger = skipped(slow, "larger", 60)
    assert larger["data"] == "larger"
    assert larger["reason"] == "> 60 s with the rows of small"
    assert skipped(larger, "largest", 60)["reason"] == larger["reason"]
    assert skipped(slow, "larger", 61) is None  # perhaps now
    assert skipped({"data": "small", "error": 1.0}, "larger", 60) is None
    assert skipped(None, "larger", 60) is None
    assert skipped({**slow, "machine": "a slower one"}, "larger", 60) is None
    assert done(slow, 60)
    assert not done(slow, 61)
    assert not done({**slow, "machine": "a slower one"}, 60)


def test_scaling():
    assert exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)
    assert exponent([1, 2], [0, 1]) is None
    said = python("benchmarks.scaling", "--quick", "--only", "budget")
    assert "exponents: time" in said
