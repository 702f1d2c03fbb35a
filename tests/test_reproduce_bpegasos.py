"""What the experiments of the budgeted Pegasos paper do by themselves."""

import numpy as np
import pytest
from multiplane.experiments.bpegasos.figure3.run import microseconds, slope
from multiplane.experiments.bpegasos.learning import accuracies, cut, find_eta, learn, make
from multiplane.experiments.bpegasos.streams import load

from multiplane import ProjectronClassifier

ROWS = 3_000


@pytest.fixture
def data():
    return load("checkerboard", ROWS)


@pytest.mark.parametrize("column", ["no budget", "projection, 100", "merging, 100"])
def test_one_run_shows_both_modes(data, column):
    blocks, test = data.repetition(0)
    averaged = make(column, 8.0, 0, 1e-4)
    learn(averaged, blocks, data.classes)
    last = make(column, 8.0, 0, 1e-4).set_params(average=False)
    learn(last, data.repetition(0)[0], data.classes)
    both = accuracies(averaged, test)
    assert both == {"paper": 100 * last.score(*test), "defaults": 100 * averaged.score(*test)}
    assert both["paper"] != both["defaults"]


def test_blocks_end_at_marks(data):
    blocks = [X for X, _ in cut(data.repetition(0)[0], 2_500, [1_000, 2_000, 5_000])]
    assert [len(X) for X in blocks] == [1_000, 1_000, 500]
    X, _ = next(data.repetition(0)[0])
    np.testing.assert_array_equal(np.concatenate(blocks), X[:2_500])


def test_curves_are_read_at_the_marks(data):
    marks = [1_000, 2_000]
    stream = cut(data.repetition(0)[0], 2_000, marks)
    model = make("merging, 100", 8.0, 0, 1e-4)
    run = learn(model, stream, data.classes, marks, lambda model: {"n": model.n_support_})
    assert [point["rows"] for point in run.curve] == marks
    assert [point["n"] for point in run.curve] == [100, 100]


def test_eta_leads_to_the_wanted_number_of_vectors(data):
    eta = find_eta(60, data.repetition(1)[0], ROWS, data.classes, 8.0)
    found = ProjectronClassifier(eta, gamma=8.0, random_state=0)
    for X, y in data.repetition(1)[0]:
        found.partial_fit(X, y, classes=data.classes)
    assert 0.97 * 60 <= found.n_support_ <= 1.03 * 60


def test_slopes_leave_out_the_beginning():
    lengths = [1_000.0 * 2**i for i in range(8)]
    curve = [[n, 1e-3 * n if n < 10_000 else 1e-9 * n**2] for n in lengths]
    assert slope(curve) == pytest.approx(2)
    line = [[n, 5.0 + 3e-6 * n] for n in lengths]  # whatever the beginning took
    assert microseconds(line) == pytest.approx([3, 3])
