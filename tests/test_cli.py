"""The command line: what people type, and what scripts rely on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import problem
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import multiplane
from multiplane import AMMClassifier
from multiplane.cli._main import COMMANDS, run
from multiplane.datasets import make_checkerboard
from multiplane.models import _container

OK, BUG, USAGE, DATA, MODEL = 0, 1, 2, 3, 4
FAST = ["-e", "amm", "--max-iter", "2", "-q"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli")
    for name, n, seed in (("train.svm", 3_000, 0), ("test.svm", 1_000, 1)):
        X, y = make_checkerboard(2, 2, n=n, random_state=seed)
        dump_svmlight_file(X, y, str(place / name), zero_based=False)
    assert run(["train", *FAST, str(place / "train.svm"), str(place / "model.mpl")]) == OK
    return place


@pytest.fixture
def at(folder, tmp_path, monkeypatch):
    """A working directory with the files."""
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(*words, **settings):
    return subprocess.run(
        [sys.executable, "-m", "multiplane", *words],
        capture_output=True,
        timeout=120,
        **settings,
    )


# --- train -----------------------------------------------------------------------------------


def test_the_habit_of_libsvm_works(at, capsys):
    assert run(["train", "train.svm", "m.mpl", "--test", "test.svm"]) == OK
    words = capsys.readouterr().err
    assert "saved MultiplaneClassifier" in words
    error = float(words.split("error on test.svm: ")[1].split()[0])
    assert error < 3


@pytest.mark.parametrize(
    "words",
    [
        ["-e", "pegasos", "--alpha", "1e-3", "--ball-projection", "true"],
        ["-e", "mm", "--n-hyperplanes", "4"],
        ["-e", "gamm", "--max-iter", "3", "--scale-features", "minmax"],
        ["-e", "bpegasos", "--budget", "50", "--gamma", "auto", "--class-weight", "{0: 2.0}"],
        ["-e", "projectron", "--gamma", "2"],
        ["-e", "least-squares", "--features", "RandomFourier(n_features=64)"],
        ["-e", "calibrated", "--max-iter", "2"],
        ["-e", "stagewise", "--n-stages", "3", "--block-size", "32"],
        ["-e", "auto", "--time-budget", "3"],
    ],
    ids=lambda words: words[1],
)
def test_every_classifier_can_be_trained_and_used(words, at, capsys):
    assert run(["train", "-q", *words, "train.svm", "m.mpl"]) == OK, capsys.readouterr().err
    assert run(["evaluate", "--json", "test.svm", "m.mpl"]) == OK
    facts = json.loads(capsys.readouterr().out)
    model = multiplane.load("m.mpl")
    X, y = make_checkerboard(2, 2, n=1_000, random_state=1)
    X = np.array([[float(f"{v:.16g}") for v in row] for row in X])
    assert facts["rows"] == 1_000
    assert facts["accuracy"] == pytest.approx(model.score(X, y), abs=0.002)


def test_every_parameter_of_every_classifier_is_an_option(capsys):
    from multiplane.cli._train import ESTIMATORS

    for short, name in ESTIMATORS.items():
        assert run(["train", "-e", short, "--help"]) == OK
        words = capsys.readouterr().out
        for parameter in getattr(multiplane, name)().get_params(deep=False):
            if parameter not in ("verbose", "warm_start"):
                assert f"--{parameter.replace('_', '-')} VALUE" in words, (name, parameter)


def test_the_same_command_gives_the_same_bytes_and_those_of_the_library(at):
    for name in ("a.mpl", "b.mpl"):
        assert run(["train", *FAST, "train.svm", name]) == OK
    clf = multiplane.AMMClassifier(max_iter=2, random_state=0).fit_stream("train.svm")
    multiplane.save(clf, "c.mpl")
    bytes_of = [
        pathlib.Path(name).read_bytes() for name in ("a.mpl", "b.mpl", "c.mpl", "model.mpl")
    ]
    assert len(set(bytes_of)) == 1


def test_progress_is_a_table_or_json(at, capsys):
    assert run(["train", "-e", "amm", "--log", "lines", "train.svm", "m.mpl"]) == OK
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "AMMClassifier on train.svm"  # before any row is read
    assert lines[1].split() == ["rows", "pass", "error", "since", "last", "size", "rows/s"]
    assert [line.split()[0] for line in lines[2:5]] == ["1,000", "2,000", "4,000"]
    assert run(["train", "-e", "amm", "--log", "json", "train.svm", "m.mpl"]) == OK
    first, *events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert first == {"event": "message", "message": "AMMClassifier on train.svm"}
    assert {"rows", "error", "error_since_last", "rows_per_second", "done"} <= events[0].keys()
    assert [event["rows"] for event in events[:3]] == [1_000, 2_000, 4_000]
    halves = events[0]["error"], events[1]["error_since_last"]
    assert events[1]["error"] == pytest.approx(sum(halves) / 2, abs=1e-5)
    assert 0 < events[0]["done"] < events[-2]["done"] <= 1
    assert events[-1]["model"] == "m.mpl"
    assert run(["train", "-e", "amm", "-q", "train.svm", "m.mpl"]) == OK
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_terminal(at):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "multiplane", "train", "-e", "amm", "train.svm", "m.mpl"]
    with subprocess.Popen(words, stderr=slave, env={**os.environ, "COLUMNS": "120"}) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(master)
    assert process.returncode == OK
    assert b"rows/s" in shown
    assert b"MB/s" in shown
    assert b"pass" in shown


def test_a_configuration_file_and_what_overrides_it(at):
    pathlib.Path("c.toml").write_text(
        '[train]\nestimator = "gamm"\nmax-iter = 3\nalpha = 0.001\nquiet = true\n'
    )
    assert run(["train", "--config", "c.toml", "--alpha", "0.01", "train.svm", "m.mpl"]) == OK
    model = multiplane.load("m.mpl")
    assert isinstance(model, multiplane.GAMMClassifier)
    assert model.get_params()["max_iter"] == 3
    assert model.get_params()["alpha"] == 0.01


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[train", "not TOML"),
        ("[trian]\nquiet = true\n", "not a command"),
        ("[train]\nmax-itr = 3\n", "max_itr"),
    ],
)
def test_a_wrong_configuration_file(text, words, at, capsys):
    pathlib.Path("c.toml").write_text(text)
    assert run(["--config", "c.toml", "train", "train.svm", "m.mpl"]) == USAGE
    assert words in capsys.readouterr().err


def test_a_pipeline_of_standard_input_and_output(at):
    text = pathlib.Path("train.svm").read_bytes()
    made = shell("train", "-e", "amm", "--max-iter", "1", "-q", "-", "-", input=text)
    assert made.returncode == OK, made.stderr
    pathlib.Path("piped.mpl").write_bytes(made.stdout)
    assert multiplane.load("piped.mpl").n_iter_ == 1
    said = shell("predict", "-", "piped.mpl", input=pathlib.Path("test.svm").read_bytes())
    assert said.returncode == OK, said.stderr
    assert len(said.stdout.split()) == 1_000


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["train", "nothing.svm", "m.mpl"], DATA, "there is no file"),
        (["train", "-e", "amm", "--alpha", "-1", "train.svm", "m.mpl"], USAGE, "alpha"),
        (["train", "-e", "amm", "--nonsense", "1", "train.svm", "m.mpl"], USAGE, "nonsense"),
        (["train", "-e", "amm", "--every", "soon", "train.svm", "m.mpl"], USAGE, "soon"),
        (["train", "train.svm", "no/such/folder/m.mpl", *FAST], USAGE, "no folder"),
        (["explore", "train.svm", "--model", "no/such/m.mpl"], USAGE, "no folder"),
        (["train", "bad.svm", "m.mpl"], DATA, "bad.svm, line 2, column 3"),
        (["train", "one.svm", "m.mpl", *FAST], DATA, "only one class"),
        (["train", "empty.svm", "m.mpl"], DATA, "no rows"),
        (["train", "cut.svm.gz", "m.mpl"], DATA, "cut short"),
        (
            ["train", "-e", "stagewise", "--checkpoint", "c", "train.svm", "m.mpl"],
            USAGE,
            "row by row",
        ),
        (
            ["train", "-e", "stagewise", "--features", "os.system()", "train.svm", "m.mpl"],
            USAGE,
            "os",
        ),
        (
            ["train", "-e", "stagewise", "--features", "Place()", "train.svm", "m.mpl"],
            USAGE,
            "ConvolutionalPatches, FeatureSubset, RandomFourier, RandomLogit, RandomPolynomial\n",
        ),
        (["predict", "test.svm", "train.svm"], MODEL, "train.svm"),
        (["predict", "test.svm", "nothing.mpl"], DATA, "nothing.mpl"),
        (["predict", "--probabilities", "test.svm", "model.mpl"], USAGE, "probabilities"),
        (["evaluate", "bad.svm", "model.mpl"], DATA, "line 2"),
        (["export", "model.mpl", "model.docx"], DATA, "docx"),
        (["train", "-e", "auto", "w.npz", "--weight", "w", "m.mpl"], USAGE, "have weights"),
        (["explore", "w.npz", "--weight", "w"], USAGE, "have weights"),
        (["explore", "--multilabel", "lists.svm"], DATA, "1d array"),
        (["nonsense"], USAGE, "nonsense"),
    ],
    ids=lambda value: "-".join(value)[:50] if isinstance(value, list) else None,
)
def test_errors_have_words_and_codes(words, code, message, at, capsys):
    pathlib.Path("bad.svm").write_text("1 1:1\n1 x:2\n")
    pathlib.Path("one.svm").write_text("1 1:1\n" * 10)
    pathlib.Path("empty.svm").write_text("# nothing\n")
    pathlib.Path("lists.svm").write_text("0,1 1:1\n1 1:2\n")
    np.savez("w.npz", X=np.eye(2), y=[0, 1], w=[1, 2])
    import gzip

    whole = gzip.compress(pathlib.Path("train.svm").read_bytes())
    pathlib.Path("cut.svm.gz").write_bytes(whole[: len(whole) // 2])
    before = set(os.listdir())
    assert run(words) == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert set(os.listdir()) - before <= {"c"}  # nothing half-written


def test_a_full_disk_leaves_the_old_model(at):
    old = pathlib.Path("m.mpl")
    old.write_bytes(b"old")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "from multiplane.cli._main import main; "
        "main(['train', '-e', 'amm', '-q', 'train.svm', 'm.mpl'])"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert made.returncode == DATA
    assert b"File too large" in made.stderr
    assert old.read_bytes() == b"old"
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_a_reader_that_has_gone_is_no_error(at):
    made = subprocess.run(
        f"{sys.executable} -m multiplane predict test.svm model.mpl | head -1; "
        'exit "${PIPESTATUS[0]}"',
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        timeout=120,
    )
    assert made.returncode == OK, made.stderr
    assert made.stdout.split()
    assert b"Traceback" not in made.stderr


# --- predict, evaluate, inspect, convert -----------------------------------------------------


def test_predictions_are_those_of_the_model(at, capsys):
    model = multiplane.load("model.mpl")
    X, y, _ = multiplane.data.open_source("test.svm").load()
    assert run(["predict", "test.svm", "model.mpl", "out.txt"]) == OK
    assert np.array_equal(np.loadtxt("out.txt", dtype=int), model.predict(X))
    assert run(["predict", "--scores", "test.svm", "model.mpl"]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0,1"
    scores = np.array([list(map(float, line.split(","))) for line in lines[1:]])
    assert np.allclose(scores[:, 1] - scores[:, 0], model.decision_function(X), rtol=1e-5)
    assert run(["evaluate", "test.svm", "model.mpl"]) == OK
    assert f"error {100 * (1 - model.score(X, y)):.2f} %" in capsys.readouterr().out


def test_evaluate_counts_by_weight(at, capsys):
    pytest.importorskip("pyarrow")
    X, y, _ = multiplane.data.open_source("test.svm").load()
    X, model = X.toarray(), multiplane.load("model.mpl")
    weight = np.random.RandomState(0).choice([0.0, 0.5, 3.0], size=len(y))
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = [",".join(map(str, row)) for row in np.column_stack([y, weight, X]).tolist()]
    pathlib.Path("weighed.csv").write_text("\n".join([",".join(["y", "w", *names]), *rows]))
    words = ["evaluate", "--label", "y", "--weight", "w", "weighed.csv", "model.mpl"]
    assert run(words) == OK
    error = 1 - model.score(X, y, sample_weight=weight)
    said = capsys.readouterr().out
    assert f"error {100 * error:.2f} % of {len(y):,} rows, by weight" in said
    assert run([*words[:1], "--json", *words[1:]]) == OK
    facts = json.loads(capsys.readouterr().out)
    assert facts["error"] == pytest.approx(error)
    assert facts["rows"] == len(y)
    assert [entry["weight"] for entry in facts["classes"]] == [
        pytest.approx(weight[y == label].sum()) for label in (0, 1)
    ]
    assert run(["train", "-q", *FAST, "--label", "y", "--weight", "w", "weighed.csv", "w.mpl",
                "--test", "weighed.csv"]) == OK  # fmt: skip
    assert "rows, by weight" in capsys.readouterr().err
    for fault in ("nan", "-1"):
        text = pathlib.Path("weighed.csv").read_text().replace(",0.5,", f",{fault},", 1)
        pathlib.Path("bad.csv").write_text(text)
        assert run([*words[:-2], "bad.csv", "model.mpl"]) == DATA
        assert "weights must be finite and not negative" in capsys.readouterr().err


def test_predict_does_not_import_scikit_learn(at):
    code = (
        "import sys; from multiplane.cli._main import run; "
        "assert run(['predict', 'test.svm', 'model.mpl', 'out.txt']) == 0; "
        "assert 'sklearn' not in sys.modules, 'imported'"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert made.returncode == 0, made.stderr


def test_a_row_that_cannot_be_learnt_is_named(at, capsys):
    pytest.importorskip("pyarrow")
    rows = [f"{i % 2},{i},{i * i}" for i in range(2_000)]
    rows[1234] = "0,,5"
    pathlib.Path("t.csv").write_text("\n".join(["label,a,b", *rows]) + "\n")
    assert run(["train", *FAST, "t.csv", "m.mpl"]) == DATA
    assert "t.csv: Input X contains NaN at row 1234, column 0 ('a')" in capsys.readouterr().err


def test_standard_input_has_one_pass(at):
    text = pathlib.Path("train.svm").read_bytes()
    made = shell("train", "-e", "amm", "-", "m.mpl", input=text)
    assert made.returncode == OK
    assert b"- can be read only once: one pass" in made.stderr
    words = ["train", "-e", "amm", "--max-iter", "2", "-", "m.mpl"]
    made = shell(*words, "--cache-file", "c.mpc", input=text)
    assert made.returncode == OK
    assert multiplane.load("m.mpl").n_iter_ == 2
    made = shell(*words, input=text)
    assert made.returncode == DATA
    assert b"max_iter=2" in made.stderr


def test_columns_are_found_by_name(at, capsys):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = make_checkerboard(2, 2, n=2_000, random_state=0)
    words = np.array(["red", "blue"])[y]
    pd.DataFrame({"a": X[:, 0], "label": words, "b": X[:, 1]}).to_csv("t.csv", index=False)
    pd.DataFrame({"b": X[:, 1], "other": 0, "a": X[:, 0]}).to_csv("p.csv", index=False)
    assert run(["train", *FAST, "t.csv", "m.mpl"]) == OK
    assert run(["predict", "p.csv", "m.mpl", "p.txt"]) == OK
    assert run(["predict", "t.csv", "m.mpl", "t.txt"]) == OK
    said = pathlib.Path("p.txt").read_text().split()
    assert said == pathlib.Path("t.txt").read_text().split()
    assert set(said) == {"red", "blue"}


def test_features_that_the_model_does_not_know_are_passed_over(at):
    pathlib.Path("wide.svm").write_text("0 1:0.2 2:0.2 9:5\n1 1:0.2 2:0.2\n1\n")
    assert run(["predict", "wide.svm", "model.mpl", "out.txt"]) == OK
    first, second, _ = pathlib.Path("out.txt").read_text().split()
    assert first == second


def test_inspect(at, capsys):
    assert run(["inspect", "--json", "model.mpl"]) == OK
    facts = json.loads(capsys.readouterr().out)
    assert facts["class"] == "AMMClassifier"
    assert facts["features"] == 2
    assert run(["inspect", "--json", "train.svm"]) == OK
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 3_000
    assert sum(facts["labels"].values()) == 3_000
    assert run(["train", "-q", "-e", "auto", "--time-budget", "2", "train.svm", "auto.mpl"]) == OK
    assert run(["inspect", "auto.mpl"]) == OK
    assert run(["inspect", "model.mpl"]) == OK
    assert "hyperplanes" in capsys.readouterr().out


def test_a_cache_gives_the_same_predictions_and_nearly_the_same_model(at, capsys):
    assert run(["convert", "train.svm", "train.mpc"]) == OK
    assert "3,000 rows" in capsys.readouterr().err
    assert run(["train", *FAST, "--shuffle", "false", "train.mpc", "a.mpl"]) == OK
    assert run(["train", *FAST, "--shuffle", "false", "train.svm", "b.mpl"]) == OK
    a, b = multiplane.load("a.mpl"), multiplane.load("b.mpl")
    assert np.array_equal(a.coef_, b.coef_)
    assert run(["train", *FAST, "--cache", "test.svm", "c.mpl"]) == OK
    assert os.path.exists("test.svm.mpc")


def test_export_and_report(at):
    pytest.importorskip("onnx")
    for name in ("m.onnx", "m.h"):
        assert run(["export", "model.mpl", name]) == OK
        assert os.path.getsize(name) > 500
    assert run(["report", "test.svm", "model.mpl", "r.html", "--title", "A <title>"]) == OK
    page = pathlib.Path("r.html").read_text()
    assert "A &lt;title&gt;" in page
    assert "1,000 rows" in page


def test_a_test_of_another_format(at, capsys):
    """Options of the data that the test's format does not know are not for the test."""
    X, y = problem(n=200, d=3)
    np.save("X.npy", X)
    np.save("y.npy", y)
    np.savez("Xyw.npz", X=X, y=y, w=np.ones(200))
    dump_svmlight_file(X, y, "t.svm", zero_based=False)
    assert run(["train", "-e", "amm", "X.npy", "--labels", "y.npy", "m", "--test", "t.svm"]) == OK
    assert run(["train", "-e", "amm", "Xyw.npz", "--weight", "w", "m", "--test", "t.svm"]) == OK
    assert "error on t.svm" in capsys.readouterr().err
    assert run(["train", "-q", "-e", "amm", "t.svm", "m", "--test", "t.svm"]) == OK
    assert "error on t.svm" in capsys.readouterr().err.splitlines()[-1]
    words = ["train", "-e", "amm", "X.npy", "--labels", "y.npy", "m", "--test", "X.npy"]
    assert run(words) == USAGE
    assert "put a test into an npz file" in capsys.readouterr().err


def test_export_of_what_has_no_such_form(at, capsys):
    X, y = problem(n=100, d=3)
    model = make_pipeline(Normalizer(norm="l1"), AMMClassifier(random_state=0)).fit(X, y)
    multiplane.save(model, "l1.mpl")
    assert run(["export", "l1.mpl", "l1.h"]) == USAGE
    assert "l1.mpl: " in capsys.readouterr().err
    assert not os.path.exists("l1.h")


def test_explore(at, capsys):
    words = ["explore", "train.svm", "--time-budget", "3s", "--html", "e.html", "--model", "e.mpl"]
    assert run([*words, "-q"]) == OK
    assert "multiplane" in capsys.readouterr().out
    assert pathlib.Path("e.html").read_text().startswith("<!doctype html>")
    assert run(["evaluate", "test.svm", "e.mpl"]) == OK


def test_lists_of_labels(at, capsys):
    X, y = make_checkerboard(2, 2, n=500, random_state=0)
    lists = [("0", "0,1", "1")[(row[0] > 0.5) + label] for row, label in zip(X, y, strict=True)]
    text = "".join(
        f"{labels} 1:{a} 2:{b}\n" for labels, (a, b) in zip(lists, X.tolist(), strict=True)
    )
    pathlib.Path("lists.svm").write_text(text)
    words = ["--multilabel", "lists.svm", "m.mpl"]
    assert run(["train", "-q", "-e", "stagewise", "--n-stages", "4", *words]) == OK
    assert run(["predict", *words]) == OK
    said = capsys.readouterr().out.splitlines()
    assert np.mean([a == b for a, b in zip(said, lists, strict=True)]) > 0.8
    assert run(["train", "-q", "-e", "amm", *words]) == DATA
    assert "one label a row" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["train", *FAST, "own.svm", "own.svm"],
        ["predict", "own.svm", "own.mpl", "own.svm"],
        ["predict", "own.svm", "own.mpl", "own.mpl"],
        ["report", "own.svm", "own.mpl", "own.mpl"],
        ["convert", "own.svm", "own.svm"],
        ["explore", "own.svm", "--html", "own.svm"],
        ["explore", "own.svm", "--model", "own.svm"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(words, at, capsys):
    for name in ("own.svm", "own.mpl"):
        original = {"own.svm": "test.svm", "own.mpl": "model.mpl"}[name]
        pathlib.Path(name).write_bytes(pathlib.Path(original).read_bytes())
    assert run(words) == USAGE
    assert "written over" in capsys.readouterr().err
    assert run(["convert", "own.svm", "own.mpl"]) == DATA
    assert "no cache" in capsys.readouterr().err


def test_a_pipe_is_written_into(at):
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    assert run(["predict", "test.svm", "model.mpl", "pipe"]) == OK
    out, _ = reader.communicate(timeout=60)
    assert len(out.split()) == 1_000
    assert pathlib.Path("pipe").is_fifo()


def test_a_cache_wider_than_the_model(at):
    pathlib.Path("wide.svm").write_text("0 1:0.2 2:0.2 9:5\n1 1:0.7 2:0.2\n1 2:1\n")
    assert run(["convert", "-q", "--layout", "sparse", "wide.svm", "wide.mpc"]) == OK
    for name in ("wide.svm", "wide.mpc"):
        assert run(["predict", name, "model.mpl", f"{name}.txt"]) == OK
    assert pathlib.Path("wide.svm.txt").read_text() == pathlib.Path("wide.mpc.txt").read_text()


def test_completion_scripts(capsys):
    for name in ("bash", "zsh", "fish"):
        assert run(["completion", name]) == OK
        assert "_MULTIPLANE_COMPLETE" in capsys.readouterr().out


def test_completion_knows_the_commands():
    environment = {**os.environ, "_MULTIPLANE_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    code = "from multiplane.cli._main import group; group(prog_name='multiplane')"
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "COMP_WORDS": "multiplane tr"},
        capture_output=True,
        timeout=60,
    )
    assert b"plain,train" in made.stdout


def test_every_command_explains_itself(capsys):
    for name in COMMANDS:
        assert run([name, "--help"]) == OK
        assert "Usage" in capsys.readouterr().out


def test_demo_tells_when_it_fails(tmp_path, capsys):
    (tmp_path / "model.mpl").mkdir()
    assert run(["demo", "--folder", str(tmp_path)]) == USAGE
    assert "directory" in capsys.readouterr().err


def test_demo(capsys):
    assert run(["demo"]) == OK
    words = capsys.readouterr().out
    assert "error" in words
    assert "█" in words


# --- checkpoints -----------------------------------------------------------------------------

LONG = ["-e", "amm", "--max-iter", "40", "-q", "--checkpoint", "c", "--every", "0s"]


@pytest.mark.parametrize("estimator", ["amm", "multiplane", "bpegasos"])
def test_a_killed_training_ends_with_the_same_bytes(estimator, at):
    words = ["train", *LONG[2:], "-e", estimator, "train.svm"]
    assert run([*words, "whole.mpl"]) == OK
    assert not os.listdir("c")  # a complete training leaves none behind
    n_kills = 0
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-m", "multiplane", *words, "killed.mpl"]
        ) as process:
            while process.poll() is None and not os.listdir("c"):
                time.sleep(0.01)
            time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        n_kills += process.returncode == -signal.SIGKILL
    assert n_kills > 0
    assert run([*words, "killed.mpl"]) == OK
    assert pathlib.Path("killed.mpl").read_bytes() == pathlib.Path("whole.mpl").read_bytes()


def test_a_checkpoint_of_another_training_is_not_touched(at, capsys):
    from multiplane.persistence._checkpoints import Checkpoint

    clf = multiplane.AMMClassifier(max_iter=3, random_state=0)
    source = multiplane.data.open_source("train.svm")
    training = clf._stream_training(source, None, None, None, 8)
    training.run()
    Checkpoint("c").write(training)
    before = pathlib.Path("c/checkpoint.mpl").read_bytes()
    words = ["train", "-q", "-e", "amm", "--checkpoint", "c", "train.svm", "m.mpl"]
    assert run([*words, "--max-iter", "5"]) == DATA
    assert "max_iter" in capsys.readouterr().err
    assert pathlib.Path("c/checkpoint.mpl").read_bytes() == before
    assert run(["inspect", "c/checkpoint.mpl"]) == OK
    assert "checkpoint" in capsys.readouterr().out
    other = [*words, "--max-iter", "3", "--zero-based"]
    assert run(other) == DATA
    assert "data" in capsys.readouterr().err
    assert run([*words, "--max-iter", "3"]) == OK


def test_a_checkpoint_that_cannot_be_is_told_before_the_work(at, capsys):
    assert run(["train", *FAST, "--checkpoint", "test.svm", "train.svm", "m.mpl"]) == DATA
    assert not os.path.exists("m.mpl")


def test_a_damaged_checkpoint_is_an_error(at, capsys):
    os.mkdir("c")
    pathlib.Path("c/checkpoint.mpl").write_bytes(b"nonsense")
    assert run(["train", *LONG, "train.svm", "m.mpl"]) == MODEL
    assert "checkpoint.mpl" in capsys.readouterr().err
    document, arrays = _container.read("model.mpl")
    document["checkpoint"] = {"plan": [], "position": {}}
    _container.write("c/checkpoint.mpl", document, arrays)
    assert run(["inspect", "c"]) == MODEL
    assert "checkpoint.mpl: its plan is not one" in capsys.readouterr().err
