"""History, reasons for stopping, callbacks, early stopping, printing and Ctrl-C."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import (
    BY_PASS,
    HYPERPLANES,
    KERNELS,
    STREAMS,
    VARIANTS,
    arrays,
    problem,
    run_python,
    state,
)
from sklearn.base import clone

from multiplane import AMMClassifier, GAMMClassifier, MMClassifier, PegasosClassifier

KEYS = {"event", "n_iter", "t", "hyperplanes", "created", "duplicated", "pruned", "error", "loss",
        "updates", "seconds"}  # fmt: skip
KERNEL_KEYS = {"event", "n_iter", "t", "support_vectors", "degradation", "error", "loss", "updates",
               "seconds"}  # fmt: skip


# --- history_ and stop_reason_ -------------------------------------------------------------


@pytest.mark.parametrize("make", HYPERPLANES.values(), ids=HYPERPLANES)
def test_history_of_a_fit(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=5)
    if "prune_every" in clf.get_params():
        clf.set_params(prune_every=130, prune_threshold=4.0)
    clf.fit(X, y)
    passes = [entry for entry in clf.history_ if entry["event"] == "pass"]
    assert [entry["n_iter"] for entry in passes] == list(range(1, clf.n_iter_ + 1))
    assert [entry["t"] for entry in passes] == [1 + 300 * k for k in range(1, clf.n_iter_ + 1)]
    prunings = [entry for entry in clf.history_ if entry["event"] == "prune"]
    if hasattr(clf, "prune_threshold") and not isinstance(clf, PegasosClassifier):
        assert [entry["t"] for entry in prunings] == list(range(131, clf.t_ + 1, 130))
    for entry in clf.history_:
        assert set(entry) == KEYS
        assert 0 <= entry["error"] <= 1
        assert 0 <= entry["updates"] <= 1
        assert entry["loss"] >= 0
        if isinstance(clf, AMMClassifier):  # the others are born with their hyperplanes
            alive = entry["created"] + entry["duplicated"] - entry["pruned"]
            assert entry["hyperplanes"] == alive
    for name in ("t", "created", "duplicated", "pruned", "seconds"):
        values = [entry[name] for entry in clf.history_]
        assert values == sorted(values), name
    assert clf.history_[-1]["hyperplanes"] == clf.n_hyperplanes_
    assert passes[-1]["error"] < passes[0]["error"] or clf.n_iter_ < 5


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_history_of_a_kernel_machine(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=5).fit(X, y)
    assert [entry["n_iter"] for entry in clf.history_] == [1, 2, 3, 4, 5]
    assert [entry["t"] for entry in clf.history_] == [301, 601, 901, 1201, 1501]
    for entry in clf.history_:
        assert set(entry) == KERNEL_KEYS
        assert entry["event"] == "pass"
        assert 0 <= entry["error"] <= 1
        assert 0 <= entry["updates"] <= 1
        assert entry["loss"] >= 0
        assert entry["degradation"] >= 0
        assert entry["support_vectors"] == (clf.budget or entry["support_vectors"])
    assert clf.history_[-1]["support_vectors"] == clf.n_support_
    assert clf.history_[-1]["degradation"] == clf.degradation_
    seconds = [entry["seconds"] for entry in clf.history_]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", ["pegasos", "merge", "project"])
def test_errors_and_losses_in_the_history_are_those_met(name):
    """Sixty rows by hand: predict, then learn."""
    X, y = problem(n=60)
    clf = VARIANTS[name](average=False, alpha=0.1)
    wrong = []
    for i in range(60):
        if i:
            scores = clf.decision_function(X[i : i + 1])[0]
            wrong.append(not scores[y[i]] > np.delete(scores, y[i]).max())
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    assert [entry["error"] for entry in clf.history_[1:]] == wrong
    whole = VARIANTS[name](average=False, alpha=0.1, shuffle=False, max_iter=1).fit(X, y)
    assert whole.history_[0]["error"] == np.mean([True, *wrong])
    losses = [entry["loss"] for entry in clf.history_]
    assert losses[0] == 1  # W = 0
    assert whole.history_[0]["loss"] == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_history_of_a_stream(make):
    X, y = problem()
    clf = make(random_state=0)
    for a in range(0, 300, 100):
        clf.partial_fit(X[a : a + 100], y[a : a + 100], classes=[0, 1, 2])
    assert [entry["event"] for entry in clf.history_] == ["partial_fit"] * 3
    assert [entry["t"] for entry in clf.history_] == [101, 201, 301]
    assert set(clf.history_[0]) == (KERNEL_KEYS if hasattr(clf, "gamma") else KEYS)
    assert (clf.n_iter_, clf.stop_reason_, clf.t_) == (0, "partial_fit", 301)


def test_history_of_a_warm_start_goes_on():
    X, y = problem()
    clf = AMMClassifier(random_state=0, max_iter=2, warm_start=True).fit(X, y).fit(X, y)
    assert [entry["t"] for entry in clf.history_] == [301, 601, 901, 1201]
    assert len(clf.set_params(warm_start=False).fit(X, y).history_) == 2


def test_pruning_can_be_redrawn_from_the_history():
    """Figure 2 of the AMM paper: hyperplanes over time fall at each pruning."""
    X, y = problem(n=1000)
    clf = GAMMClassifier(random_state=0, max_iter=2, prune_every=100, prune_threshold=15.0,
                         growth=0.9)  # fmt: skip
    clf.fit(X, y)
    assert [e["t"] for e in clf.history_ if e["event"] == "prune"] == list(range(101, 2002, 100))
    assert clf.history_[-1]["pruned"] > 10


def test_reasons_for_stopping():
    X, y = problem()
    assert AMMClassifier(max_iter=2, random_state=0).fit(X, y).stop_reason_ == "max_iter"
    easy = np.repeat(np.eye(2), 20, axis=0)
    clf = AMMClassifier("batch", random_state=0, max_iter=50).fit(easy, np.repeat([0, 1], 20))
    assert clf.stop_reason_ == "assignments no longer change"
    assert clf.n_iter_ < 50
    assert len(clf.history_) == clf.n_iter_
    # MM may be settled from the start (one hyperplane a class) and is still far from solved.
    clf = MMClassifier(1, random_state=0, max_iter=50).fit(easy, np.repeat([0, 1], 20))
    assert (clf.stop_reason_, clf.n_iter_) == ("max_iter", 50)


def test_rows_in_reserve_do_not_keep_batch_training_going():
    X = np.vstack([np.repeat(np.eye(2), 20, axis=0), np.zeros((1, 2))])
    y = np.append(np.repeat([0, 1], 20), 0)
    clf = AMMClassifier("batch", fit_intercept=False, random_state=0, max_iter=50).fit(X, y)
    assert clf.stop_reason_ == "assignments no longer change"


# --- early stopping ------------------------------------------------------------------------


def test_early_stopping_on_held_out_rows():
    X, y = problem(n=500)
    clf = AMMClassifier(early_stopping=True, validation_fraction=0.2, n_iter_no_change=3, tol=0.0,
                        max_iter=100, random_state=0).fit(X, y)  # fmt: skip
    assert clf.stop_reason_ == "validation score no longer improves"
    assert clf.n_iter_ < 100
    assert clf.t_ == 1 + 400 * clf.n_iter_  # the other 100 rows were held out
    scores = [entry["validation_score"] for entry in clf.history_]
    assert all(0 <= score <= 1 for score in scores)
    best = int(np.argmax(scores))
    assert len(scores) == clf.n_iter_ == best + 1 + 3


def test_early_stopping_on_validation_data():
    X, y = problem(n=500)
    clf = AMMClassifier(early_stopping=True, n_iter_no_change=2, max_iter=100, random_state=0)
    clf.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert clf.t_ == 1 + 400 * clf.n_iter_
    assert clf.history_[-1]["validation_score"] == clf.score(X[400:], y[400:])
    assert clf.stop_reason_ == "validation score no longer improves"


def test_validation_data_without_early_stopping_are_only_watched():
    X, y = problem(n=500)
    clf = AMMClassifier(max_iter=12, random_state=0)
    clf.fit(X[:400], y[:400], X_val=X[400:].astype(np.float64), y_val=y[400:])
    assert (clf.n_iter_, clf.stop_reason_) == (12, "max_iter")
    assert clf.history_[-1]["validation_score"] == clf.score(X[400:], y[400:])
    assert state(clf) == state(AMMClassifier(max_iter=12, random_state=0).fit(X[:400], y[:400]))


def test_unknown_labels_in_validation_data_count_as_errors():
    X, y = problem(n=100)
    clf = AMMClassifier(max_iter=1, random_state=0)
    clf.fit(X, y, X_val=X, y_val=np.full(100, 99))
    assert clf.history_[0]["validation_score"] == 0


def test_tolerance_and_patience():
    X, y = problem(n=300)
    options = dict(early_stopping=True, max_iter=30, random_state=0)
    # Nothing can rise by 2: the first pass sets the mark, the next n_iter_no_change miss it.
    clf = AMMClassifier(tol=2.0, n_iter_no_change=4, **options).fit(X, y)
    assert clf.n_iter_ == 5
    assert AMMClassifier(tol=None, n_iter_no_change=30, **options).fit(X, y).n_iter_ == 30


# --- printing ------------------------------------------------------------------------------


def test_verbose(capsys):
    X, y = problem()
    AMMClassifier(max_iter=3, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""
    AMMClassifier(max_iter=3, random_state=0, verbose=1).fit(X, y, X_val=X, y_val=y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("[AMMClassifier] pass 2/3  error ")
    assert "hyperplanes" in lines[1]
    assert "validation 0." in lines[1]


def test_more_verbose(capsys, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("multiplane.progress.time.monotonic", lambda: next(clock))
    X, y = problem()
    PegasosClassifier(max_iter=1, random_state=0, verbose=2).fit(X, y)
    out = capsys.readouterr().out
    assert "pass 1/1  100 %" in out
    assert out.endswith(" s\n")


# --- callbacks -----------------------------------------------------------------------------


class Recorder:
    """A callback that writes down what it is told, and stops after some passes."""

    def __init__(self, stop_after=None, error=None):
        self.calls, self.models, self.stop_after, self.error = [], [], stop_after, error

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.calls.append(("begin", context.task_name, context.task_id, X is not None))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None,
                        fitted_estimator=None):  # fmt: skip
        self.calls.append(("end", context.task_name, context.task_id))
        if context.task_name != "pass":
            return False
        if self.error is not None and context.task_id == 1:
            raise self.error
        self.metadata = metadata
        self.models.append((estimator.history_[-1], fitted_estimator))
        return self.stop_after is not None and len(self.models) >= self.stop_after


@pytest.mark.parametrize("name", ["pegasos", "amm", "gamm", "merge", "project", "scale"])
def test_callbacks_are_told(name):
    X, y = problem()
    recorder, make = Recorder(), VARIANTS[name]
    clf = make(random_state=0, max_iter=3).set_callbacks(recorder).fit(X, y)
    pairs = [(("begin", "pass", k, True), ("end", "pass", k)) for k in range(3)]
    tasks = [call for pair in pairs for call in pair]
    assert recorder.calls == ["setup", ("begin", "fit", 0, True), *tasks,
                              ("end", "fit", 0), "teardown"]  # fmt: skip
    assert [entry for entry, _ in recorder.models] == clf.history_
    assert recorder.metadata is None
    assert state(clf) == state(make(random_state=0, max_iter=3).fit(X, y))
    # Each fitted_estimator is the model of its time, although training went on.
    for k, (_, fitted) in enumerate(recorder.models, start=1):
        at_the_time = make(random_state=0, max_iter=k).fit(X, y)
        np.testing.assert_array_equal(fitted.predict(X), at_the_time.predict(X))
        assert [a.tobytes() for a in arrays(fitted)] == [a.tobytes() for a in arrays(at_the_time)]
        assert fitted.n_iter_ == k


@pytest.mark.parametrize("make", BY_PASS.values(), ids=BY_PASS)
def test_a_callback_can_stop_the_training(make):
    X, y = problem()
    recorder = Recorder(stop_after=2)
    clf = make(random_state=0, max_iter=9).set_callbacks(recorder).fit(X, y)
    assert (clf.n_iter_, clf.stop_reason_) == (2, "callback")
    assert recorder.calls[-1] == "teardown"
    assert state(clf) == state(make(random_state=0, max_iter=2).fit(X, y))


def test_callbacks_get_the_sample_weights():
    """scikit-learn's word for them is metadata; they go on to a scorer."""
    X, y = problem()
    recorder, weight = Recorder(), np.ones(300)
    AMMClassifier(random_state=0, max_iter=1).set_callbacks(recorder).fit(X, y, weight)
    assert recorder.metadata == {"sample_weight": weight}


def test_callbacks_are_told_of_the_end_after_an_error():
    """setup without teardown would leave a progress bar's thread running for ever."""
    X, y = problem()
    recorder = Recorder(error=RuntimeError("no"))
    clf = AMMClassifier(random_state=0).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="no"):
        clf.fit(X, y)
    assert recorder.calls.count("setup") == recorder.calls.count("teardown") == 1


def test_callbacks_are_told_of_the_end_after_a_bad_row():
    X, y = problem()
    X[5, 5] = np.nan
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN at row 5, column 5"):
        AMMClassifier(random_state=0).set_callbacks(recorder).fit(X, y)
    assert recorder.calls.count("setup") == recorder.calls.count("teardown")


def test_callbacks_can_be_detached_and_are_checked():
    X, y = problem()
    recorder = Recorder()
    AMMClassifier().set_callbacks(recorder).set_callbacks().fit(X, y)
    assert recorder.calls == []
    with pytest.raises(TypeError, match="callback"):
        AMMClassifier().set_callbacks(object())
    assert clone(AMMClassifier().set_callbacks(recorder)).fit(X, y).n_iter_ == 15


def test_scikit_learns_scoring_monitor():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    X, y = problem()
    monitor = callback.ScoringMonitor(scoring="accuracy")
    clf = AMMClassifier(random_state=0, max_iter=4).set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs()
    scores = [entry["accuracy"] for entry in log.data if entry["task_name"] == "pass"]
    assert len(scores) == 4
    assert scores[-1] == clf.score(X, y)
    weight = np.random.RandomState(0).uniform(size=300)
    clf.fit(X, y, sample_weight=weight)
    assert monitor.get_logs().data[-1]["accuracy"] == clf.score(X, y, weight)


def test_scikit_learns_progress_bar():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    pytest.importorskip("rich", reason="scikit-learn's progress bar is drawn by rich")
    X, y = problem()
    clf = AMMClassifier(random_state=0, max_iter=4).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert clf.n_iter_ == 4


OLD_SCIKIT_LEARN = """
import sys
import sklearn.datasets, sklearn.model_selection  # new ones need the module themselves
sys.modules["sklearn.callback"] = None  # as if scikit-learn were older than 1.9
import pytest
import multiplane.estimators._callbacks as fallback
assert fallback.CallbackSupportMixin.__module__ == "multiplane.estimators._callbacks"
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "test_progress.py", "-k",
                      "callback and not fallback and not scikit"]))
"""


def test_fallback_for_older_versions():
    """The tests of callbacks above, run with our own class."""
    process = run_python(OLD_SCIKIT_LEARN)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "passed" in process.stdout


# --- Ctrl-C --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", BY_PASS.values(), ids=BY_PASS)
def test_ctrl_c_leaves_a_model(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=50).set_callbacks(Recorder(error=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match="what was learnt in 600 steps"):
        clf.fit(X, y)
    assert clf.stop_reason_ == "interrupted"
    assert clf.t_ == 601
    assert state(clf) == state(make(random_state=0, max_iter=2).fit(X, y))
    assert clf.score(X, y) > 0.3
    before = clf.t_
    assert clf.set_callbacks().partial_fit(X, y).t_ == before + 300


def test_ctrl_c_in_the_middle_of_a_pass(monkeypatch):
    """The steps made so far count, though the pass does not."""
    from multiplane.estimators import _monitor

    def interrupt(self, done, total):
        if done >= 256:
            raise KeyboardInterrupt

    monkeypatch.setattr(_monitor.Monitor, "rows_seen", interrupt)
    X, y = problem()
    clf = AMMClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt, match="256 steps"):
        clf.fit(X, y)
    assert (clf.n_iter_, clf.t_, clf.stop_reason_) == (0, 257, "interrupted")
    assert clf.n_hyperplanes_ > 0
    assert clf.score(X, y) > 0.3


ENDLESS = """
import signal
import warnings
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from multiplane import {name}
warnings.simplefilter("always")
X = np.random.RandomState(0).randn(20_000, 100).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
print("ready", flush=True)
clf = {name}(max_iter=10**9, random_state=0)
try:
    clf.fit(X, y)
except KeyboardInterrupt:
    pass
print(clf.stop_reason_, clf.t_ > 1, clf.score(X, y) > 0.9, flush=True)
"""


@pytest.mark.parametrize("name", ["AMMClassifier", "PegasosClassifier"])
def test_sigint_to_a_process(name):
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(name=name)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=20)
    assert out == "interrupted True True\n", error


def test_history_of_an_endless_stream_is_bounded(monkeypatch):
    """Joined entries keep the totals: the mean error weighted by rows, and the last counts."""
    from multiplane.estimators import _monitor

    X, y = problem(n=600)
    whole = AMMClassifier(random_state=0, prune_every=50)
    for i in range(0, 600, 3):
        whole.partial_fit(X[i : i + 3], y[i : i + 3], classes=[0, 1, 2])
    monkeypatch.setattr(_monitor, "_LONGEST_HISTORY", 40)
    clf = AMMClassifier(random_state=0, prune_every=50)
    for i in range(0, 600, 3):
        clf.partial_fit(X[i : i + 3], y[i : i + 3], classes=[0, 1, 2])
    assert len(clf.history_) < 40 < len(whole.history_)
    for kind in ("partial_fit", "prune"):
        mean = {}
        for c in (whole, clf):
            entries = [e for e in c.history_ if e["event"] == kind]
            rows = np.diff([1] + [e["t"] for e in entries])
            mean[c] = [np.average([e[k] for e in entries], weights=rows) for k in ("error", "loss")]
            assert entries[-1]["t"] == 601
        np.testing.assert_allclose(mean[whole], mean[clf])
    # a fit's passes are never joined
    monkeypatch.setattr(_monitor, "_LONGEST_HISTORY", 10)
    clf = PegasosClassifier(max_iter=15, random_state=0).fit(X, y)
    assert len(clf.history_) == 15
