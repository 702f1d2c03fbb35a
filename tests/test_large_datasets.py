"""Loaders of large data sets, on small files of the same form."""

import bz2
import lzma
from urllib.error import URLError

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets as skd
from sklearn.utils import Bunch

from multiplane import PegasosClassifier, datasets
from multiplane.datasets import _large

FILES = {
    "webspam": "webspam_wc_normalized_unigram.svm",
    "url": "url_combined",
    "rcv1": "rcv1_test.binary, rcv1_train.binary",
    "rcv1_topics": "RCV1/samples_py3.pkl",
    "mnist8m": "mnist8m.scale or mnist8m",
}


def lines(n, n_features):
    """Row i has i + 1 for its one value, and signs for its labels that turn every other row."""
    return "".join(f"{'+-'[i % 2]}1 {1 + i % n_features}:{i + 1}\n" for i in range(n)).encode()


def values(X):
    assert X.format == "csr"
    assert X.dtype == np.float32
    return X.sum(axis=1).A1.astype(int)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A data folder without files, and a network that does not answer."""

    def silent(**options):
        raise URLError("no network in tests")

    monkeypatch.setenv("MULTIPLANE_DATA", str(tmp_path))
    monkeypatch.setattr(skd, "fetch_rcv1", silent)
    monkeypatch.setattr(skd, "fetch_openml", silent)
    return tmp_path


def test_webspam_is_mixed_and_cut_in_five(nowhere):
    (nowhere / "webspam_wc_normalized_unigram.svm.bz2").write_bytes(bz2.compress(lines(50, 254)))
    data = datasets.load_webspam()
    assert data.X_train.shape == (40, 254)
    assert data.X_test.shape == (10, 254)
    rows = np.r_[values(data.X_train), values(data.X_test)]
    assert sorted(rows) == list(range(1, 51))
    assert sorted(rows[:40]) != list(range(1, 41))
    np.testing.assert_array_equal(np.r_[data.y_train, data.y_test], 2 * (rows % 2) - 1)
    assert data.target_names == ["ham", "spam"]
    again = datasets.load_webspam(return_X_y=True)
    np.testing.assert_array_equal(again[0].toarray(), data.X_train.toarray())


@pytest.mark.parametrize(
    ("read", "n", "parts"),
    [
        (_large._read_webspam, 350_000, (280_000, 70_000)),
        (_large._read_url, 2_396_130, (1_976_130, 420_000)),
    ],
)
def test_parts_of_whole_files_are_those_of_the_papers(monkeypatch, read, n, parts):
    blank = sp.csr_matrix((n, 3)), np.ones(n, dtype=np.int64)
    monkeypatch.setattr(_large, "read_libsvm", lambda path, n_features: blank)
    cut = read(["a file"])
    assert (len(cut["y_train"]), len(cut["y_test"])) == parts
    assert (cut["X_train"].shape[0], cut["X_test"].shape[0]) == parts


def test_url_is_cut_in_its_order(nowhere):
    (nowhere / "url_combined.xz").write_bytes(lzma.compress(lines(100, 3_231_961)))
    data = datasets.load_url()
    assert data.X_train.shape == (83, 3_231_961)
    np.testing.assert_array_equal(values(data.X_train), np.arange(1, 84))
    np.testing.assert_array_equal(values(data.X_test), np.arange(84, 101))
    assert data.y_test.tolist() == [-1 + 2 * (i % 2) for i in range(84, 101)]
    assert data.target_names == ["benign", "malicious"]


def test_rcv1_learns_from_the_larger_file(nowhere):
    (nowhere / "rcv1_test.binary").write_bytes(lines(30, 47_236))
    (nowhere / "rcv1_train.binary").write_bytes(lines(7, 3))
    X_train, y_train, X_test, y_test = datasets.load_rcv1(return_X_y=True)
    assert X_train.shape == (30, 47_236)
    assert X_test.shape == (7, 47_236)
    assert y_test.tolist() == [1, -1, 1, -1, 1, -1, 1]
    assert len(y_train) == 30


STORIES = {  # topics of each story; the letter in front is what counts
    "test": ["CCAT C11", "CCAT ECAT", "CCAT MCAT", "GCAT", "MCAT M13", "C11", "ECAT", "GCAT MCAT"],
    "train": ["MCAT", "ECAT GCAT", "ECAT", "CCAT ECAT"],
}


def stories(subset, **options):
    names = np.array(["C11", "CCAT", "ECAT", "GCAT", "M13", "MCAT"], dtype=object)
    topics = [[name in story.split() for name in names] for story in STORIES[subset]]
    number = np.arange(1.0, 1 + len(topics))[:, None]  # which story it is
    X = sp.hstack([number, sp.random(len(topics), 47_235, 1e-3, random_state=0)]).tocsr()
    target = sp.csr_matrix(np.array(topics, dtype=np.uint8))
    return Bunch(data=X, target=target, target_names=names, options=options)


def test_rcv1_by_download(nowhere, monkeypatch):
    monkeypatch.setattr(skd, "fetch_rcv1", stories)
    with pytest.raises(FileNotFoundError, match=r"\(677399, 20242\) stories, got \(6, 3\)"):
        datasets.load_rcv1()
    monkeypatch.setattr(_large, "_RCV1_ROWS", (6, 3))
    data = datasets.load_rcv1()
    assert data.source == "scikit-learn's fetch_rcv1"
    assert data.X_train.dtype == np.float32
    assert data.X_train[:, 0].toarray().ravel().tolist() == [1, 2, 4, 5, 7, 8]
    assert data.y_train.tolist() == [1, 1, -1, -1, 1, -1]
    assert data.X_test[:, 0].toarray().ravel().tolist() == [1, 3, 4]
    assert data.y_test.tolist() == [-1, 1, 1]
    assert data.target_names[data.classes.tolist().index(1)] == "corporate or economics"


def test_rcv1_topics_by_download(nowhere, monkeypatch):
    monkeypatch.setattr(skd, "fetch_rcv1", stories)
    data = datasets.load_rcv1_topics()
    assert data.X_train[:, 0].toarray().ravel().tolist() == [1, 4, 5, 7]
    assert [data.target_names[code] for code in data.y_train] == [
        "corporate",
        "government",
        "markets",
        "economics",
    ]
    assert data.X_test[:, 0].toarray().ravel().tolist() == [1, 3]
    assert data.y_test.tolist() == [3, 1]
    assert data.y_train.dtype == np.int64


def test_rcv1_topics_from_what_scikit_learn_keeps(nowhere, monkeypatch):
    # scikit-learn's own function on its own files, cut where the training part ends
    monkeypatch.undo()
    parts = [stories("train"), stories("test")]
    n_train = 23_149
    pad = n_train - 4  # stories without a topic
    X = sp.vstack([parts[0].data, sp.csr_matrix((pad, 47_236)), parts[1].data]).tocsr()
    y = sp.vstack([parts[0].target, sp.csr_matrix((pad, 6)), parts[1].target]).tocsr()
    (nowhere / "RCV1").mkdir()
    kept = {
        "samples": X,
        "sample_id": np.arange(X.shape[0]),
        "sample_topics": y,
        "topics_names": parts[0].target_names,
    }
    for name, content in kept.items():
        joblib.dump(content, nowhere / "RCV1" / f"{name}_py3.pkl")
    data = datasets.load_rcv1_topics(data_home=nowhere, download_if_missing=False)
    assert data.source == str(nowhere)
    assert data.y_train.tolist() == [0, 2, 3, 1]
    assert data.y_test.tolist() == [3, 1]


@pytest.mark.parametrize(("name", "scale"), [("mnist8m", 255), ("mnist8m.scale", 1)])
def test_mnist8m_is_a_source_on_the_scale_of_mnist(nowhere, name, scale):
    images = np.zeros((2, 28, 28), np.uint8)
    images[:, 3, 4] = 51
    y = np.array([8, 1])
    np.savez(nowhere / "mnist.npz", x_train=images, y_train=y, x_test=images, y_test=y)
    text = "".join(f"{i % 10} 1:{scale * 0.2:g} {i % 10 + 2}:{scale}\n" for i in range(100))
    (nowhere / f"{name}.bz2").write_bytes(bz2.compress(text.encode()))
    data = datasets.load_mnist8m()
    assert data.source == str(nowhere / f"{name}.bz2")
    assert data.X_test.shape == (2, 784)
    assert data.X_test.max() == np.float32(0.2)
    assert data.y_test.tolist() == [8, 1]
    assert data.train.n_features == 784
    for _ in range(2):  # as often as wanted
        X, labels, _ = data.train.load()
        assert X.dtype == np.float32
        assert (X.toarray()[:, 0] == np.float32(0.2)).all()
        assert X.max() == 1
        np.testing.assert_array_equal(labels, np.arange(100) % 10)
    clf = PegasosClassifier(random_state=0).fit_stream(data.train, max_iter=3)
    assert clf.score(X, labels) == 1


@pytest.mark.parametrize("name", FILES)
def test_absent_files_are_told(nowhere, name):
    with pytest.raises(FileNotFoundError) as caught:
        getattr(datasets, f"load_{name}")()
    message = str(caught.value)
    assert message.startswith(f"{name} needs {FILES[name]}")
    assert f"not found in {nowhere}; " in message
    assert "fetch_rcv1" in message if "rcv1" in name else f"html#{name};" in message
    assert "pass data_home=" in message


@pytest.mark.parametrize("name", ["rcv1", "rcv1_topics"])
def test_downloads_can_be_forbidden(nowhere, monkeypatch, name):
    monkeypatch.setattr(skd, "fetch_rcv1", stories)
    with pytest.raises(FileNotFoundError, match="download_if_missing=False forbids"):
        getattr(datasets, f"load_{name}")(download_if_missing=False)
