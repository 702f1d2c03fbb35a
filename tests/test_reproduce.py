"""The papers' tables and figures: every quick form runs, and what is recorded can be shown."""

import json
import sys

import numpy as np
import pytest
from multiplane.experiments import catalogue, page, readme
from multiplane.experiments.catalogue import Experiment, Published, everything, find
from multiplane.experiments.comparison import Comparison, compare
from multiplane.experiments.records import load, missing, record, same
from multiplane.experiments.running import draw
from multiplane.experiments.running import run as reproduce
from threadpoolctl import threadpool_limits

from multiplane import experiments
from multiplane.cli._main import run as command
from multiplane.datasets import _real, data_directory


def name(experiment):
    return experiment.name


@pytest.fixture(scope="module", autouse=True)
def _files_are_read_once():
    """A dozen experiments begin with mnist, which takes most of a second to unpack."""
    load, kept = _real._load, {}

    def kept_or_loaded(recipe, data_home, return_X_y, download):
        key = recipe.name, data_home, return_X_y
        if key not in kept:
            kept[key] = load(recipe, data_home, return_X_y, download)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_real, "_load", kept_or_loaded)
        yield


@pytest.mark.parametrize("experiment", [e for e in everything() if e.source == e], ids=name)
def test_quick_form(experiment, tmp_path):
    """Every cell is filled, or says why it is not."""
    with threadpool_limits(1):  # as the records were made; small products are no faster in two
        records = reproduce(experiment, tmp_path, quick=True)
    assert {r["task"] for r in records} == {str(task) for task in experiment.tasks(quick=True)}
    for each in records:
        assert ("missing" in each) != ("quantities" in each)
        for quantity in each.get("quantities", {}).values():
            assert np.isfinite(quantity["values"]).all()
    filled = any("quantities" in r for r in records)
    assert filled or data_directory() is None
    if filled and hasattr(experiment.module, "draw"):
        assert (tmp_path / "figure.png").stat().st_size > 1000
    if filled:
        assert page.text(experiment, records, judged=False)


@pytest.mark.parametrize("experiment", everything(), ids=name)
def test_what_is_recorded(experiment):
    """Whole runs of the present protocol; every published cell has an answer."""
    path = experiment.source.folder / "results.json"
    if not path.exists():
        pytest.skip(f"{experiment.name} has not been run")
    records, fingerprint = load(path)
    assert fingerprint == experiment.source.fingerprint(quick=False)
    assert len({(r["row"], r["column"], r["mode"]) for r in records}) == len(records)
    done, tasks = {r["task"] for r in records}, {str(task) for task in experiment.tasks()}
    assert done <= tasks
    if done != tasks:
        pytest.skip(f"{experiment.name} has not been run to its end: {len(done)} of {len(tasks)}")
    for cell in compare(experiment, records):
        assert cell.ours, f"{cell.row}, {cell.column} is empty"
        if cell.verdict == "worse":
            assert experiment.explanation(cell.row, cell.column), f"{cell.row}, {cell.column}"


@pytest.mark.parametrize("experiment", [e for e in everything() if e.source != e], ids=name)
def test_other_readings(experiment, tmp_path):
    """A table or figure of another one's records has a picture or claims of its own."""
    records = experiment.recorded()
    if not records:
        pytest.skip(f"{experiment.name} has not been run")
    draw(experiment, records, tmp_path)
    assert hasattr(experiment.module, "draw") == (tmp_path / "figure.png").exists()
    assert page.text(experiment, records)


@pytest.mark.skipif(not page.PAGE.exists(), reason="a wheel has the records, but no pages")
def test_the_page_is_that_of_the_files():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
    shown = readme.README.read_text(encoding="utf-8")
    assert readme.filled(shown) == shown


# --- an experiment made up for the purpose ------------------------------------------------------

RUN = """
from pathlib import Path
from multiplane.experiments.catalogue import Task
from multiplane.experiments.records import record

def tasks(config):
    return [Task(row, "AMM", "paper") for row in ("easy", "hard", "absent")]

def measure(task, config):
    log = Path(__file__).with_name("log")
    log.write_text(log.read_text() + task.row + "\\n" if log.exists() else task.row + "\\n")
    if task.row == "absent":
        raise FileNotFoundError("no file absent.svm\\nlook for it")
    if (Path(__file__).with_name("stop")).exists() and task.row == "hard":
        raise KeyboardInterrupt
    seeds = list(range(config["seeds"]))
    errors = [1.0 + s / 3 if task.row == "easy" else 9.0 for s in seeds]
    yield record(task.row, "AMM", "paper", seeds=seeds, error=errors, seconds=[0.1] * len(seeds))
"""
CONFIG = """
title = "A table"
source = "Somebody, somewhere"
time = "1 s"
[protocol]
seeds = 3
[quick]
seeds = 2
"""
PAPER = "row,column,quantity,mean,sd\neasy,AMM,error,1.5,0.1\nhard,AMM,error,8,0.4\n"


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    folder = tmp_path / "paper" / "table9"
    folder.mkdir(parents=True)
    files = {"config.toml": CONFIG, "paper.csv": PAPER, "run.py": RUN, "__init__.py": ""}
    for file, text in files.items():
        (folder / file).write_text(text)
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    yield find("paper-table9")
    for module in [m for m in sys.modules if m.startswith("multiplane.experiments.paper")]:
        del sys.modules[module]


def measured(experiment):
    return (experiment.folder / "log").read_text().split()


def test_interrupted_runs_go_on(made_up, tmp_path):
    """What is done is not measured again; what was missing is tried anew."""
    stop = made_up.folder / "stop"
    stop.touch()
    with pytest.raises(KeyboardInterrupt):
        reproduce(made_up, tmp_path / "out")
    stop.unlink()
    records = reproduce(made_up, tmp_path / "out")
    assert measured(made_up) == ["easy", "hard", "hard", "absent"]
    assert [r["row"] for r in records] == ["easy", "hard", "absent"]
    again = reproduce(made_up, tmp_path / "out")
    assert measured(made_up)[4:] == ["absent"]
    assert all(map(same, records, again))


def test_other_protocols_do_not_mix(made_up, tmp_path):
    """A quick run does not stand in for a whole one in the same folder."""
    reproduce(made_up, tmp_path / "out", quick=True)
    records = reproduce(made_up, tmp_path / "out")
    assert [len(r["seeds"]) for r in records if "seeds" in r] == [3, 3]


def test_only(made_up, tmp_path):
    assert [r["row"] for r in reproduce(made_up, tmp_path / "out", only="hard")] == ["hard"]
    assert [r["row"] for r in reproduce(made_up, tmp_path / "out", only="easy")] == ["easy", "hard"]
    reproduce(made_up, tmp_path / "out")
    assert len(reproduce(made_up, tmp_path / "out", only="easy")) == 3  # what is absent stays


def test_absent_data_say_so(made_up, tmp_path):
    last = reproduce(made_up, tmp_path / "out")[-1]
    assert last["missing"] == "no file absent.svm"
    assert "not to be had: no file absent.svm" in page.line(last)


def test_command(made_up, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command(["reproduce", "--list"]) == 0
    assert "not yet run" in capsys.readouterr().out
    assert command(["reproduce", "paper-table9", "--show"]) == 2
    assert command(["reproduce", "paper-table9", "--record"]) == 0
    capsys.readouterr()
    assert command(["reproduce", "paper-table9"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 cells have the recorded figures" in out
    assert "better" in out
    assert "worse" in out
    content = json.loads((tmp_path / "reproduced/paper-table9/results.json").read_text())
    assert content["records"][0]["quantities"]["error"]["values"] == [1.0, 1 + 1 / 3, 1 + 2 / 3]
    assert command(["reproduce", "paper-table9", "--show"]) == 0
    assert command(["reproduce", "paper-table9", "--show", "--output", "there"]) == 2
    assert capsys.readouterr().out.splitlines()[1].startswith("easy")
    assert command(["reproduce", "--list"]) == 0
    assert "1 better, 1 worse, 1 without data" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--list"),
        (["amm-tabel3"], "did you mean amm-table3?"),
        (["amm-table3", "--record", "--quick"], "leave out --quick"),
    ],
)
def test_command_errors(arguments, told, capsys):
    assert command(["reproduce", *arguments]) == 2
    assert told in capsys.readouterr().err


# --- verdicts -----------------------------------------------------------------------------------


def cell(published, quantity="error", /, **modes):
    made = Comparison("row", "column", quantity, published)
    for mode, values in modes.items():
        made.ours[mode] = record(
            "row", "column", mode, seeds=list(range(len(values))), **{quantity: values}
        )
    return made


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (cell(Published(5.0, 0.5), paper=[4.9, 5.1]), "better"),
        (cell(Published(5.0, 0.5), paper=[5.9, 6.0]), "within 2 sd"),
        (cell(Published(5.0, 0.5), paper=[6.1, 6.1]), "worse"),
        (cell(Published(5.0, 0.5), paper=[6.1, 6.1], defaults=[4.0]), "worse"),
        (cell(Published(5.0, 0.5), paper=[5.5], defaults=[4.0]), "within 2 sd"),
        (cell(Published(5.0, 0.5), defaults=[6.0]), "worse"),
        (cell(Published(5.0, None), paper=[5.1, 5.3]), "within 2 sd"),  # two of our own errors
        (cell(Published(5.0, None), paper=[5.2]), "worse"),
        (cell(Published(5.0, 0.5), peer=[9.0]), ""),
        (cell(None, paper=[9.0]), ""),
        (cell(Published(90.0, 1.0), "accuracy", paper=[88.0]), "within 2 sd"),
        (cell(Published(90.0, 1.0), "accuracy", paper=[87.9]), "worse"),
        (cell(Published(90.0, 1.0), "accuracy", paper=[90.0]), "better"),
        (cell(Published(1.0, None), "seconds", paper=[50.0]), ""),
    ],
)
def test_verdicts(made, verdict):
    assert made.verdict == verdict


def test_same_is_to_the_last_digit():
    one = record("a", "b", "paper", seeds=[0], error=[0.1], seconds=[1.0])
    assert same(one, record("a", "b", "paper", seeds=[0], error=[0.1], seconds=[2.0]))
    other = record("a", "b", "paper", seeds=[0], error=[np.nextafter(0.1, 1)], seconds=[1.0])
    assert not same(one, other)
    assert not same(one, missing("a", "b", "paper", "gone"))


def test_modes_are_known():
    with pytest.raises(ValueError, match="mode must be one of paper, defaults, peer, got 'ours'"):
        record("a", "b", "ours", seeds=[0])


def test_names_are_folders():
    assert isinstance(find("amm-table3"), Experiment)
    with pytest.raises(ValueError, match="there is no experiment 'amm-table9'"):
        find("amm-table9")
