"""What the experiments of the least-squares paper are made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from multiplane.experiments.catalogue import Task, find
from multiplane.experiments.ls import peers
from multiplane.experiments.ls.figure1b import run as figure1b
from multiplane.experiments.ls.figure2b import run as figure2b
from multiplane.experiments.ls.table2 import run as table2
from multiplane.experiments.records import mean, missing, record, same
from processes import absent, crash, spin
from sklearn.datasets import make_blobs

LS = ("table1", "table2", "figure1a", "figure1b", "figure2a", "figure2b", "figure3")


def test_limited():
    """An answer, no answer in time, an error and a crash are told apart."""
    pytest.importorskip("resource")
    assert peers.limited(20, spin, 0.01) == 0.01
    assert peers.limited(1, spin, 60) is None
    assert peers.limited(0, spin, 0.01) == 0.01
    with pytest.raises(ModuleNotFoundError, match="absent"):
        peers.limited(20, absent)
    with pytest.raises(RuntimeError, match=r"crash ended with exit code -6 .* memory"):
        peers.limited(20, crash)


def test_lines_of_vw():
    X = sp.csr_matrix(np.array([[0, 1.5, 0], [0.1, 0, -2], [0, 0, 0]], dtype=np.float32))
    lines = ["1 | 1:1.5", "3 | 0:0.1 2:-2", "2 |"]
    assert [line.strip() for line in peers._lines(X, np.array([0, 2, 1]))] == lines


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_peers_learn(kind):
    X, y = make_blobs(300, 5, centers=3, random_state=0)
    y = np.array([7, 2, 5])[y]  # labels are not codes
    data = kind(X[:200]), y[:200], kind(X[200:]), y[200:]
    pytest.importorskip("liblinear")
    error, seconds = peers.liblinear(data, "-s 1 -c 1", lambda: None)
    assert error < 5
    assert seconds >= 0
    pytest.importorskip("vowpalwabbit")
    runs = peers.vowpal_wabbit(data, "--loss_function logistic", 3, lambda: None)
    assert len(runs) == 3
    assert runs[-1][0] < 5
    assert np.all(np.diff([seconds for _, seconds in runs]) >= 0)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_singular_values(kind):
    X = np.random.RandomState(0).rand(40, 12)
    expected = np.linalg.svd(X, compute_uv=False)[:5]
    # Squares of the dense ones are eigenvalues: half of the digits remain for the smallest.
    np.testing.assert_allclose(figure1b.singular_values(kind(X), 5), expected, rtol=1e-7)


def test_rcv1_where_it_is_present(monkeypatch):
    """Two blocks of words tell four topics apart; the same figures twice."""
    random = np.random.RandomState(0)
    y = random.randint(4, size=900)
    X = sp.random(900, 60, 0.1, "csr", np.float32, random_state=random)
    X = (X + sp.csr_matrix(np.eye(4, 60, dtype=np.float32)[y])).tocsr()
    monkeypatch.setattr(
        table2, "load_rcv1_topics", lambda **_: (X[:600], y[:600], X[600:], y[600:])
    )
    experiment = find("ls-table2")
    task, config = Task("RCV1", "Stagewise", "paper"), experiment.config(quick=True)
    (one,), (two,) = (list(table2.measure(task, config)) for _ in range(2))
    assert same(one, two)
    assert mean(one, "error") < 5
    (spectrum,) = figure1b.measure(
        Task("RCV1", "spectrum", "paper"), config | {"seed": 0, "values": 20}
    )
    assert spectrum["curve"][-1] == 1
    assert 1 < mean(spectrum, "ratio") < 100


def test_an_ended_peer_counts_with_its_limit():
    ours = [
        record("512 features", update, "paper", seeds=[0], error=[2], seconds=[1])
        for update in ("linear", "calibrated", "logistic")
    ]
    ended = missing("512 features", "VW", "peer", "its training takes more than 12 s")
    shown = [shown for _, shown, _ in figure2b.claims([*ours, ended | {"limit": 12}])]
    assert shown == [True, True, True]
    fast = record("512 features", "VW", "peer", seeds=[0], error=[2], seconds=[9])
    shown = [shown for _, shown, _ in figure2b.claims([*ours, fast])]
    assert shown == [False, False, True]
    not_here = missing("512 features", "VW", "peer", "No module named 'vowpalwabbit'")
    assert not list(figure2b.claims([*ours, not_here]))


def test_an_ended_peer_is_seen_by_the_claims():
    """By way of the experiment, which hands them records."""
    experiment = find("ls-figure2b")
    records = experiment.recorded()
    at = next(i for i, r in enumerate(records) if r["column"] == "VW")
    ended = {**records[at], "missing": "its training takes more than 1 s", "limit": 1}
    ended.pop("quantities")
    told = experiment.claims([*records[:at], ended, *records[at + 1 :]])
    n_peers = sum(r["mode"] == "peer" for r in records)
    assert told
    assert all(words.endswith(f"of {n_peers} runs") for _, _, words in told)


@pytest.mark.parametrize("name", LS)
def test_claims_of_some_cells(name):
    """`--only` and absent data leave gaps; what can be said is said."""
    experiment = find(f"ls-{name}")
    records = experiment.recorded()
    whole = experiment.claims(records)
    for number in range(len(records)):
        some = records[:number] + records[number + 1 :]
        gap = {**records[number], "missing": "a reason"}
        gap.pop("quantities", None)
        assert len(experiment.claims(some)) <= len(whole)
        assert len(experiment.claims([*some, gap])) <= len(whole)
        experiment.claims(records[:number])
