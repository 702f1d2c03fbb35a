"""Kind 9: a model that was written down and read again is the same, and goes on the same."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from helpers import STREAMS, VARIANTS, csr, problem, run_python, state

from multiplane import AMMClassifier, GAMMClassifier, _native

ROADS = {
    "pickle 2": lambda clf, _: pickle.loads(pickle.dumps(clf, protocol=2)),
    "pickle 5": lambda clf, _: pickle.loads(pickle.dumps(clf, protocol=5)),
    "deepcopy": lambda clf, _: copy.deepcopy(clf),
    "joblib": lambda clf, path: joblib.load(joblib.dump(clf, path / f"{clf.t_}")[0]),
    "mapped": lambda clf, path: joblib.load(joblib.dump(clf, path / f"{clf.t_}")[0], mmap_mode="r"),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_interrupted_stream_goes_on_as_if_nothing_had_happened(make, average, road, tmp_path):
    X, y = problem()
    clf = make(random_state=0, average=average, alpha=1e-2)
    if "prune_every" in clf.get_params():
        clf.set_params(prune_every=40, prune_threshold=3.0)
    through = copy.deepcopy(clf)
    for a in range(0, 300, 50):
        clf.partial_fit(X[a : a + 50], y[a : a + 50], classes=[0, 1, 2])
        through.partial_fit(X[a : a + 50], y[a : a + 50], classes=[0, 1, 2])
        through = ROADS[road](through, tmp_path)
        assert state(through) == state(clf)
    timeless = [[{k: v for k, v in e.items() if k != "seconds"} for e in c.history_]
                for c in (clf, through)]  # fmt: skip
    assert timeless[0] == timeless[1]


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_predictions_of_a_copy(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=2).fit(X, y)
    loaded = pickle.loads(pickle.dumps(clf))
    assert loaded.decision_function(X).tobytes() == clf.decision_function(X).tobytes()
    assert loaded.get_params() == clf.get_params()
    assert loaded.history_ == clf.history_
    assert loaded.stop_reason_ == clf.stop_reason_


def test_warm_start_of_a_copy():
    X, y = problem()
    clf = GAMMClassifier("batch", random_state=0, max_iter=2, warm_start=True).fit(X, y)
    loaded = pickle.loads(pickle.dumps(clf))
    assert state(loaded.fit(X, y)) == state(clf.fit(X, y))


def test_another_process_reads_the_model(tmp_path):
    X, y = problem()
    clf = AMMClassifier(random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(clf))
    process = run_python(
        "import pickle, sys\n"
        "from helpers import problem\n"
        f"clf = pickle.load(open({str(tmp_path / 'model.pickle')!r}, 'rb'))\n"
        "print(''.join(clf.predict(problem()[0])))"
    )
    assert process.stdout.strip() == "".join(clf.predict(X)), process.stderr


def test_hyperplanes_alone():
    X, y = problem(d=33)
    clf = GAMMClassifier(random_state=0).fit(csr(X), y)
    planes = clf._training.model().hyperplanes
    again = pickle.loads(pickle.dumps(planes))
    assert again.weights.tobytes() == planes.weights.tobytes()
    assert again.owner.tobytes() == planes.owner.tobytes()
    assert (len(again), again.n_features, again.bias) == (len(planes), 33, 1.0)


def test_a_learner_in_its_first_minute():
    """No hyperplanes yet: arrays of no rows."""
    learner = _native.Learner(n_features=3, bias=0.0, n_classes=2, lam=0.1, adaptive=True,
                              ball_projection=False, average=True, growth=0.5, growth_decay=0.9,
                              seed=2**64 - 1)  # fmt: skip
    again = pickle.loads(pickle.dumps(learner))
    a, b = learner.__getstate__(), again.__getstate__()
    assert {k: repr(v) for k, v in a.items()} == {k: repr(v) for k, v in b.items()}
    assert b["seed"] == 2**64 - 1
