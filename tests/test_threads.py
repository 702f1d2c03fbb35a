"""One estimator in several threads: slower, but never broken."""

import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import problem, run_python, state

from multiplane import AMMClassifier, GAMMClassifier


def together(*jobs):
    """Run all jobs at once; the first error is raised."""
    errors = []

    def guarded(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("beside", ["predict", "pickle", "partial_fit", "coef_"])
def test_beside_training(beside):
    """Growth makes the learner move its memory all the time, the worst case for a reader."""
    X, y = problem(n=4_000)
    clf = GAMMClassifier(growth=1.0, growth_decay=1.0, prune_threshold=None, random_state=0)
    clf.partial_fit(X[:50], y[:50], classes=np.unique(y))

    def train():
        for _ in range(3):
            clf.partial_fit(X, y)

    def look():
        for _ in range(30):
            if beside == "predict":
                clf.predict(X[:20])
            elif beside == "pickle":
                pickle.loads(pickle.dumps(clf))
            elif beside == "coef_":
                assert np.isfinite(clf.coef_).all()
            else:
                clf.partial_fit(X[:100], y[:100])

    together(train, look)
    assert clf._training.learner.t == 1 + 50 + 3 * 4_000 + 3_000 * (beside == "partial_fit")


def test_no_stale_model_is_left():
    """What a reader saw in the middle is not taken for the model afterwards."""
    X, y = problem(n=4_000)
    clf = AMMClassifier(random_state=0).partial_fit(X[:50], y[:50], classes=np.unique(y))
    done = threading.Event()

    def train():
        for _ in range(20):
            clf.partial_fit(X, y)
        done.set()

    def look():
        while not done.is_set():
            clf.predict(X[:5])

    together(train, look)
    fresh = copy.deepcopy(clf)  # has no model but the learner's
    assert clf.coef_.tobytes() == fresh.coef_.tobytes()


def test_callbacks_get_an_estimator_of_their_own():
    X, y = problem()
    seen = []

    class Keep:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "pass":
                seen.append(fitted_estimator)

    clf = AMMClassifier(random_state=0, max_iter=3).set_callbacks(Keep()).fit(X, y)
    assert [e._training.learner.t for e in seen] == [301, 601, 901]
    assert len(seen[0].history_) == 1
    before = state(clf)
    seen[-1].partial_fit(X, y)
    assert state(clf) == before


def test_when_no_more_threads_can_be_had():
    """Under a tight limit of memory the calling thread works for those that do not start."""
    process = run_python("""
import resource
import numpy as np
from multiplane import AMMClassifier
X = np.random.RandomState(0).randn(200_000, 4).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
clf = AMMClassifier(random_state=0, max_iter=1).fit(X, y)
expected = clf.predict(X)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (100 << 20), -1))
print(np.array_equal(clf.set_params(n_jobs=64).predict(X), expected))
""")
    assert process.stdout == "True\n", process.stderr


def test_features_beyond_any_memory():
    wide = sp.csr_array(
        (np.ones(4, np.float32), np.arange(4), np.arange(5)), shape=(4, 2**60 - 1), dtype=np.float32
    )
    with pytest.raises(ValueError, match="features"):
        AMMClassifier().fit(wide, [0, 1, 0, 1])
