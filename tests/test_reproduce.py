"""The papers' tables and figures: every quick form runs, and what is recorded can be shown."""

import numpy as np
import pytest
from multiplane.experiments import page
from multiplane.experiments.catalogue import everything
from multiplane.experiments.comparison import compare
from multiplane.experiments.records import load
from multiplane.experiments.running import run as reproduce

from multiplane.datasets import data_directory

OWN = [e for e in everything() if e.source is e or e.source == e]


def names(experiment):
    return experiment.name


@pytest.mark.parametrize("experiment", OWN, ids=names)
def test_quick_form(experiment, tmp_path):
    """Every cell is filled, or says why it is not."""
    records = reproduce(experiment, tmp_path, quick=True)
    tasks = {str(task) for task in experiment.tasks(quick=True)}
    assert {r["task"] for r in records} == tasks
    for each in records:
        assert ("missing" in each) != ("quantities" in each)
        for quantity in each.get("quantities", {}).values():
            assert np.isfinite(quantity["values"]).all()
    if data_directory() is not None:
        assert any("quantities" in r for r in records)
    if hasattr(experiment.module, "draw") and any("quantities" in r for r in records):
        assert (tmp_path / "figure.png").stat().st_size > 1000
    assert page.text(experiment, records, judged=False)


@pytest.mark.parametrize("experiment", everything(), ids=names)
def test_what_is_recorded(experiment):
    """Whole runs of the present protocol; every published cell has an answer."""
    path = experiment.source.folder / "results.json"
    if not path.exists():
        pytest.skip(f"{experiment.name} has not been run")
    records, fingerprint = load(path)
    assert fingerprint == experiment.source.fingerprint(quick=False)
    assert len({(r["row"], r["column"], r["mode"]) for r in records}) == len(records)
    assert {r["task"] for r in records} <= {str(task) for task in experiment.tasks()}
    for cell in compare(experiment, records):
        assert cell.ours, f"{cell.row}, {cell.column} is empty"
        if cell.verdict == "worse":
            assert experiment.explanation(cell.row, cell.column), f"{cell.row}, {cell.column}"


def test_the_page_is_that_of_the_files():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
