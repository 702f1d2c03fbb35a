"""`report`: its numbers, its sections for every family, and the page in a browser."""

import base64
import io
import json
import re
import shutil
import subprocess
import warnings
import weakref
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import LEAST_SQUARES, VARIANTS, problem, run_python
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multiplane import (
    AMMClassifier,
    AutoClassifier,
    GAMMClassifier,
    GeneralizedLeastSquaresClassifier,
    PegasosClassifier,
    ProjectronClassifier,
    report,
)
from multiplane._numbers import percent, wilson
from multiplane.datasets import data_directory, make_checkerboard
from multiplane.models._scaling import Scaling
from multiplane.reporting import _cost
from multiplane.reporting._evaluation import evaluate
from multiplane.reporting._images import ImageShape, png
from multiplane.reporting._subject import Subject
from multiplane.reporting._svg import Axis, compact
from multiplane.reporting._weights import Effects

VOID = {"meta", "link", "br", "img", "wbr"}
HOSTILE = "<script>alert('&amp;')</script>\x00\ud800"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Three predictions are enough to have been timed."""
    monkeypatch.setattr(_cost, "_SECONDS", 0.0)


def page(model, data, **options):
    """The page as text; no warning may be heard while it is made."""
    file = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report(model, data, file, **options)
    return file.getvalue()


def facts(html):
    """Names and values of the head's numbers."""
    found = re.findall(
        r'<dt>(.*?)</dt><dd class="value">(.*?)</dd><dd class="more">(.*?)</dd>', html
    )
    return {unescape(name): (unescape(value), unescape(more)) for name, value, more in found}


def sections(html):
    return re.findall(r'<section id="([a-z-]+)"', html)


def rows_of(html, section):
    """Cells of the first table of a section."""
    part = html.split(f'<section id="{section}"')[1].split("</section>")[0]
    body = re.search(r"<table.*?<tbody>(.*?)</tbody>", part).group(1)
    return [
        [unescape(cell) for cell in re.findall("<td>(.*?)</td>", row)]
        for row in re.findall("<tr>(.*?)</tr>", body)
    ]


class Checker(HTMLParser):
    """Tags are closed in order, nothing is loaded and nothing runs; pictures have words."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "iframe", "object", "form", "base")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), attributes
        if tag == "img":
            assert attributes["alt"]
        if attributes.get("role") == "img":
            assert attributes["aria-label"]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    for picture in re.findall(r"<svg.*?</svg>", html):
        ElementTree.fromstring(picture)
        assert not re.search(r'="(nan|-?inf)', picture)
    html.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0e-\x1f]", html)
    return html


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    return AMMClassifier(random_state=0).fit(X[:900], y[:900]), (X[900:], y[900:])


@pytest.fixture(scope="module")
def board():
    X, y = make_checkerboard(2, 2, n=2000, random_state=0)
    clf = GAMMClassifier(alpha=1e-4, max_iter=20, random_state=0).fit(X[:1000], y[:1000])
    return clf, (X[1000:], y[1000:])


# --- numbers ----------------------------------------------------------------------------------


def test_errors_are_those_of_scikit_learn(digits):
    clf, (X, y) = digits
    html = check(page(clf, (X, y)))
    predicted = clf.predict(X)
    error = np.mean(predicted != y)
    low, high = wilson(error * len(y), len(y))
    found = facts(html)
    assert found["Error"][0] == percent(error)
    assert f"{100 * low:.2f}\u00a0…\u00a0{100 * high:.2f}" in found["Error"][1]
    assert found["Accuracy"][0] == percent(1 - error)
    assert found["Baseline error"][0] == percent(1 - np.bincount(y).max() / len(y))
    cells = {
        (int(a), int(b)): int(n.replace(",", ""))
        for a, b, n in re.findall(r"<title>(\d) taken for (\d): ([\d,]+) ", html)
    }
    cells |= {(int(a),) * 2: int(n) for a, n in re.findall(r"<title>(\d), right: (\d+) ", html)}
    matrix = confusion_matrix(y, predicted)
    assert cells == {(i, j): matrix[i, j] for i in range(10) for j in range(10)}
    table = rows_of(html, "classes")
    scores = precision_recall_fscore_support(y, predicted)
    for row, precision, recall, f1, n in zip(table, *scores, strict=True):
        assert row[1:5] == [str(n), *(f"{100 * v:.1f} %" for v in (precision, recall, f1))]
    assert [int(row[5]) for row in table] == [np.sum(clf.hyperplane_class_ == c) for c in range(10)]


@pytest.mark.parametrize("make", LEAST_SQUARES)
def test_probabilities(make):
    X, y = problem(n=600)
    clf = make(random_state=0).fit(X[:300], y[:300])
    X, y = X[300:], y[300:]
    html = check(page(clf, (X, y)))
    P = clf.predict_proba(X).astype(np.float64)
    eps = np.finfo(np.float32).eps  # no probability is thought to be less
    expected = log_loss(y, np.maximum(P, eps) / np.maximum(P, eps).sum(axis=1, keepdims=True))
    assert float(facts(html)["Log loss"][0]) == pytest.approx(expected, abs=2e-4)  # four digits
    said, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((10 * clf.predict_proba(X).max(axis=1)).astype(int), 9)
    gap = sum(abs(said[bins == b].mean() - right[bins == b].mean()) * np.sum(bins == b)
              for b in np.unique(bins)) / len(y)  # fmt: skip
    assert f"{percent(gap)} apart" in html


def test_blocks_weights_and_kinds_of_arrays_give_the_same_page(digits):
    pandas = pytest.importorskip("pandas")
    clf, (X, y) = digits
    whole = facts(page(clf, (X, y)))
    cuts = [0, 1, 1, 400, len(y)]
    blocks = [(X[a:b], y[a:b]) for a, b in pairwise(cuts) if b > a]
    same = ("Error", "Accuracy", "Baseline error")
    for data in (
        iter(blocks),
        tuple(blocks),
        [(x, t, np.ones(len(t))) for x, t in blocks],
        (sp.csr_matrix(X), y),
        [(X[:300], y[:300]), (sp.csr_matrix(X[300:]), y[300:])],
        (sp.coo_array(X), y.tolist()),
        (X.tolist(), pandas.Series(y)),
        (X.astype(np.float64), y[:, None][:, 0]),
    ):
        found = facts(page(clf, data))
        assert all(found[name][0] == whole[name][0] for name in same)
    names = [f"p{i}" for i in range(64)]
    framed = AMMClassifier(random_state=0).fit(pandas.DataFrame(X, columns=names), y)
    html = page(framed, (pandas.DataFrame(X, columns=names), y))
    assert facts(html)["Error"][0] == percent(
        1 - framed.score(pandas.DataFrame(X, columns=names), y)
    )


def test_a_weight_is_as_good_as_repeated_rows(digits):
    clf, (X, y) = digits
    weight = np.random.RandomState(0).randint(3, size=len(y))
    html = page(clf, (X, y, weight))
    again = page(clf, (np.repeat(X, weight, axis=0), np.repeat(y, weight)))
    assert rows_of(html, "classes") == rows_of(again, "classes")
    assert facts(html)["Error"][0] == facts(again)["Error"][0]
    assert "weighted" in facts(html)["Error"][1]


def test_blocks_are_gone_through_once_and_not_kept(digits):
    clf, (X, y) = digits
    alive = []

    def blocks():
        for i in range(0, 800, 50):
            block = X[i : i + 50].copy()
            alive.append(weakref.ref(block))
            yield block, y[i : i + 50]
            del block
            # The first one is kept to time predictions with, and the last is still in use.
            assert sum(ref() is not None for ref in alive) <= 2

    found = facts(page(clf, blocks(), max_rows=20))
    assert "of 800 rows" in found["Error"][1]
    assert len(alive) == 16


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_sample_is_uniform_however_data_is_cut(kind):
    X, y = (
        np.arange(1, 5001, dtype=np.float32)[:, None] @ np.ones((1, 3), np.float32),
        np.arange(5000) % 2,
    )
    clf = PegasosClassifier(random_state=0).fit(X, y)
    samples = []
    for cuts in ([0, 5000], [0, 10, 2500, 5000]):
        blocks = [(kind(X[a:b]), y[a:b]) for a, b in pairwise(cuts)]
        found = evaluate(Subject.of(clf), blocks, 400)
        rows = found.sample.toarray() if sp.issparse(found.sample) else found.sample
        assert np.array_equal(found.sample_codes, (rows[:, 0].astype(int) - 1) % 2)
        samples.append(np.sort(rows[:, 0]))
    assert np.array_equal(*samples)
    assert len(np.unique(samples[0])) == 400
    # Five standard deviations of a mean of so many.
    assert abs(samples[0].mean() - 2500) < 5 * 5000 / np.sqrt(12 * 400)
    spread = X.std(axis=0)
    assert evaluate(Subject.of(clf), (kind(X), y), 5000).spread() == pytest.approx(spread, rel=1e-5)


def test_mistakes_are_the_most_confident_ones(digits):
    clf, (X, y) = digits
    scores = clf.decision_function(X).astype(np.float64)
    predicted = clf.predict(X)
    margin = scores[np.arange(len(y)), predicted] - scores[np.arange(len(y)), y]
    margin[predicted == y] = -np.inf
    worst = np.argsort(-margin, kind="stable")[:24]
    html = page(clf, [(X[:300], y[:300]), (X[300:], y[300:])])
    part = html.split('<section id="mistakes"')[1].split("</section>")[0]
    shown = re.findall(r"<b>(\d) → (\d)</b> row (\d+)<br>", part)
    assert shown == [(str(y[i]), str(predicted[i]), str(i)) for i in worst]


def test_labels_that_the_model_does_not_know_are_errors(digits):
    clf, (X, y) = digits
    y = np.where(y == 3, 77, y)
    html = check(page(clf, (X, y)))
    assert facts(html)["Error"][0] == percent(np.mean(clf.predict(X) != y))
    assert "not known taken for" in html


def test_effects_are_weights_times_spread_less_the_mean(digits):
    clf, data = digits
    found = evaluate(Subject.of(clf), data, 2000)
    coef = clf.coef_.astype(np.float64)
    expected = (coef - coef.mean(axis=0)) * data[0].std(axis=0, dtype=np.float64)
    effects = Effects(found)
    got = np.array([effects[i] for i in range(clf.n_hyperplanes_)])
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-9)  # both in float64
    assert found.wins.tolist() == np.bincount(clf.apply(data[0]), minlength=len(got)).tolist()


def test_a_scaler_counts_in_the_weights(digits):
    clf, _ = digits
    plain, _ = Subject.of(clf).weights(64)
    clf.scaler_ = Scaling(np.zeros(64), np.arange(64.0))
    try:
        scaled, _ = Subject.of(clf).weights(64)
    finally:
        del clf.scaler_
    assert scaled == pytest.approx(plain * np.arange(64.0))


def test_the_feature_that_decides_comes_first():
    pandas = pytest.importorskip("pandas")
    random = np.random.RandomState(0)
    X = pandas.DataFrame(random.randn(400, 5), columns=["a", "b", HOSTILE[:8], "d", "e"])
    X["d"] *= 1e-3  # units do not matter
    y = np.where(X["d"] > 0, "yes", "no")
    clf = make_pipeline(StandardScaler(), PegasosClassifier(random_state=0)).fit(X, y)
    html = check(page(clf, (X, y)))
    assert re.findall(r'aria-label="Largest features: (\w+) ', html) == ["d", "d"]
    assert "&lt;script&gt;"[:10] in html


# --- families ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_every_stream_classifier(make):
    X, y = problem(n=400)
    clf = make(random_state=0, max_iter=3).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    html = check(page(clf, (X[300:], y[300:])))
    found = sections(html)
    assert {"confusion", "classes", "training", "size-and-speed", "settings"} <= set(found)
    kernel = hasattr(clf, "n_support_")
    assert ("largest-features" in found) == (not kernel)
    assert "validation" in html
    name = "support vectors" if kernel else "hyperplanes"
    number = clf.n_support_ if kernel else clf.n_hyperplanes_
    assert facts(html)["Model"][1] == f"{number:,} {name}"
    assert facts(page(clf, (sp.csr_matrix(X[300:]), y[300:])))["Error"] == facts(html)["Error"]


@pytest.mark.parametrize("make", LEAST_SQUARES)
@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1, 2], [HOSTILE, "b", ""]])
def test_least_squares(make, labels):
    X, codes = problem(n=300, n_classes=len(labels))
    y = np.array(labels)[codes]
    clf = make(random_state=0).fit(X, y)
    html = check(page(clf, (X, y), title=HOSTILE))
    assert {"calibration", "confusion", "training"} <= set(sections(html))
    linear = make is GeneralizedLeastSquaresClassifier
    assert ("largest-features" in sections(html)) == linear
    assert facts(html)["Error"][0] == percent(np.mean(clf.predict(X) != y))


@pytest.mark.parametrize("make", LEAST_SQUARES)
def test_several_labels_a_row(make):
    X, codes = problem(n=300)
    Y = np.stack([codes == 0, codes > 0, X[:, 0] > 1, np.zeros(300)], axis=1).astype(int)
    clf = make(random_state=0).fit(X, Y)
    P, P_proba = clf.predict(X), clf.predict_proba(X)
    for target in (Y, sp.csr_matrix(Y)):
        html = check(page(clf, (X, target)))
        found = facts(html)
        assert found["Rows wrong"][0] == percent(np.mean((P != Y).any(axis=1)))
        assert found["Labels wrong"][0] == percent(np.mean(P != Y))
        assert "confusion" not in sections(html)
        assert [row[0] for row in rows_of(html, "classes")] == [f"label {i}" for i in range(4)]
        assert rows_of(html, "classes")[3][3] == "–"  # recall of a label that no row has
    eps = np.finfo(P_proba.dtype).eps
    loss = -np.log(np.maximum(np.where(Y == 1, P_proba, 1 - P_proba), eps)).mean()
    assert float(found["Log loss"][0]) == pytest.approx(loss, abs=1e-4)
    with pytest.raises(ValueError, match="zeros and ones with 4 columns"):
        page(clf, (X, codes))


def test_other_classifiers_and_pipelines():
    X, y = problem(n=400)
    auto = AutoClassifier(time_budget=3, random_state=0).fit(X, y)
    assert "How it was chosen" in check(page(auto, (X, y)))
    logistic = check(page(LogisticRegression().fit(X, y), (X, y)))
    assert {"calibration", "largest-features"} <= set(sections(logistic))
    assert facts(logistic).keys() >= {"Error", "Log loss", "Prediction"}
    projectron = ProjectronClassifier(random_state=0).fit(X, y)
    assert "support vectors" in check(page(projectron, (X, y)))
    words = np.array(["good day", "bad night", "good night", "bad day"] * 20)
    mood = np.char.startswith(words, "good")
    clf = make_pipeline(TfidfVectorizer(), PegasosClassifier(random_state=0)).fit(words, mood)
    html = check(page(clf, (words.tolist(), mood)))
    assert re.findall(r'aria-label="Largest features: (\w+) ', html)[0] in ("good", "bad")


def test_what_an_auto_classifier_chooses_is_usually_a_pipeline():
    """Of which the last step is the model."""
    pandas = pytest.importorskip("pandas")
    X, y = problem(n=400)
    frame = pandas.DataFrame(X, columns=[f"colour {i}" for i in range(X.shape[1])])
    auto = AutoClassifier(time_budget=3, random_state=0).fit(frame, y)
    auto.estimator_ = make_pipeline(StandardScaler(), AMMClassifier(random_state=0)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = check(page(auto, (frame, y)))
    assert {"largest-features", "training"} <= set(sections(html))
    assert re.search(r'aria-label="Largest features: colour \d', html)
    inner = auto.estimator_
    nested = Subject.of(make_pipeline(StandardScaler().fit(X), auto))
    assert nested.estimator is inner[-1]
    assert [type(step) for _, step in nested.steps.steps] == [StandardScaler] * 2


def test_least_squares_need_no_compiled_module():
    process = run_python(
        "import io, sys, numpy as np\n"
        "sys.modules['multiplane._native'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name.endswith('_native') else find(name, *a)\n"
        "import multiplane\n"
        "X = np.eye(4); clf = multiplane.GeneralizedLeastSquaresClassifier().fit(X, [0, 1, 0, 1])\n"
        "multiplane.report(clf, (X, [0, 1, 0, 1]), sys.stdout)"
    )
    assert "calibration" in process.stdout, process.stderr


def test_a_thousand_classes():
    random = np.random.RandomState(0)
    centres, codes = random.randn(1000, 12), np.arange(6000) % 1000
    X = (centres[codes] + 0.3 * random.randn(6000, 12)).astype(np.float32)
    y = np.array([f"<script>{i}</script>" for i in range(1000)])[codes]
    clf = PegasosClassifier(random_state=0).fit(X[:4000], y[:4000])
    html = check(page(clf, (X[4000:], y[4000:])))
    assert len(html) < 500_000
    assert "980 more classes" in html
    assert html.count('class="number"') == 400  # twenty classes
    # The most confused pair is among them.
    true, taken, *_ = rows_of(html, "confusion")[0]
    assert re.search(
        f"<title>{re.escape(text_of(true))} taken for {re.escape(text_of(taken))}:", html
    )


def text_of(label):
    return label.replace("<", "&lt;").replace(">", "&gt;")


def test_a_stream():
    X, y = make_checkerboard(2, 2, n=2000, random_state=0)
    clf = GAMMClassifier(random_state=0)
    for i in range(0, 1000, 100):
        clf.partial_fit(X[i : i + 100], y[i : i + 100], classes=[0, 1])
    html = check(page(clf, (X[1000:], y[1000:])))
    assert "rows seen" in html
    for name in ("alive", "created", "duplicated"):
        assert f"</svg>{name}</li>" in html


@pytest.mark.parametrize("n_entries", [0, 1, 2])
def test_short_histories_without_seconds(n_entries):
    X, y = problem(n=200)
    clf = AMMClassifier(random_state=0, max_iter=3).fit(X, y)
    clf.history_ = [
        {name: value for name, value in entry.items() if name != "seconds"}
        for entry in clf.history_[:n_entries]
    ]
    html = check(page(clf, (X, y)))
    assert ("training" in sections(html)) == (n_entries == 2)
    assert "It took" not in html


def test_degenerate_data():
    X, y = problem(n=200)
    clf = AMMClassifier(random_state=0).fit(X, y)
    check(page(clf, (X[:1], y[:1])))  # nothing varies
    check(page(clf, (0 * X, y)))
    check(page(clf, (sp.csr_matrix(X.shape, dtype=np.float32), y)))
    flat = PegasosClassifier(random_state=0).fit(X[:, :2], y)
    assert "decision-regions" in sections(check(page(flat, (0 * X[:, :2], y))))
    pruned = AMMClassifier(prune_every=1, prune_threshold=1e9).fit(X, y)
    assert pruned.n_hyperplanes_ == 0
    check(page(pruned, (X, y)))
    perfect = check(page(clf, (X, clf.predict(X))))
    assert "mistakes" not in sections(perfect)
    assert facts(perfect)["Error"][0] == "0.00 %"


def test_settings(digits):
    clf, data = digits
    html = page(clf, data)
    assert rows_of(html, "settings") == [["random_state", "0"]]
    n_defaults = len(clf.get_params()) - 1
    assert f"{n_defaults} parameters at their defaults" in html


# --- pictures ---------------------------------------------------------------------------------


def test_decision_regions_are_predictions(board):
    image = pytest.importorskip("matplotlib.image")
    clf, data = board
    html = check(page(clf, data))
    assert "decision-regions" in sections(html)
    code = re.search(r'<image class="pixels" href="data:image/png;base64,([^"]+)"', html).group(1)
    pixels = image.imread(io.BytesIO(base64.b64decode(code)))[:, :, :3]
    (low_x, low_y), (high_x, high_y) = data[0].min(axis=0), data[0].max(axis=0)
    steps = (np.arange(160) + 0.5) / 160 * 1.06 - 0.03
    x, y = np.meshgrid(low_x + steps * (high_x - low_x), high_y - steps * (high_y - low_y))
    expected = clf.predict(np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32))
    first = np.isclose(pixels, np.array([0, 0x72, 0xB2]) / 255, atol=0.01).all(axis=2)
    assert 0.4 < first.mean() < 0.6
    # Points on a border may fall to either side by rounding.
    assert np.mean(first.ravel() == (expected == 0)) > 0.999


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3)])
def test_png_round_trip(shape):
    image = pytest.importorskip("matplotlib.image")
    pixels = np.random.RandomState(0).randint(256, size=shape).astype(np.uint8)
    got = image.imread(io.BytesIO(png(pixels)))
    assert np.array_equal(np.round(255 * got).astype(np.uint8), pixels)


def test_planes_are_transparent_where_weights_are_zero():
    image = pytest.importorskip("matplotlib.image")
    weights = np.array([[-2.0, 0.0], [1.0, 2.0]])
    got = image.imread(io.BytesIO(ImageShape(2, 2).plane(weights.ravel())))
    assert got[..., 3] == pytest.approx(np.array([[1, 0], [127 / 255, 1]]))
    assert got[0, 0, 0] > got[0, 0, 2]  # against: orange
    assert got[1, 1, 2] > got[1, 1, 0]  # for: blue


def test_which_features_are_pictures(digits):
    random = np.random.RandomState(0)
    X = digits[1][0]
    assert ImageShape.found(X) == ImageShape(8, 8)
    assert ImageShape.found(sp.csr_matrix(X)) == ImageShape(8, 8)
    assert ImageShape.found(StandardScaler().fit_transform(X)) == ImageShape(8, 8)
    colour = np.repeat(np.kron(X.reshape(-1, 8, 8), np.ones((1, 2, 2))), 3).reshape(len(X), -1)
    assert ImageShape.found(colour) == ImageShape(16, 16, 3)
    for no in (
        X[:, random.permutation(64)],
        random.randn(300, 64),
        np.cumsum(random.randn(300, 64), axis=1),  # a time series
        np.eye(64)[random.randint(64, size=300)],
        np.zeros((10, 64)),
        X[:, :49],  # too small
        X[:, :63],
    ):
        assert ImageShape.found(no) is None


def test_mnist_is_pictures():
    folder = data_directory()
    if folder is None or not (folder / "mnist.npz").exists():
        pytest.skip("no mnist.npz: set MULTIPLANE_DATA to a folder that has it")
    X = np.load(folder / "mnist.npz")["x_test"].reshape(-1, 784)[:300]
    assert ImageShape.found(X) == ImageShape(28, 28)


def test_pictures_of_hyperplanes_and_rows(digits):
    clf, (X, y) = digits
    html = check(page(clf, (X, y)))
    assert "hyperplanes-as-pictures" in sections(html)
    assert "largest-features" not in sections(html)
    with pytest.raises(ValueError, match=r"images with 64 numbers, got \(8, 9\)"):
        page(clf, (X, y), image_shape=(8, 9))
    shuffled = np.random.RandomState(0).permutation(64)
    plain = AMMClassifier(random_state=0).fit(X[:, shuffled], y)
    assert "largest-features" in sections(page(plain, (X[:, shuffled], y)))
    given = page(plain, (X[:, shuffled], y), image_shape=(4, 16))
    assert "hyperplanes-as-pictures" in sections(given)


def test_axes():
    assert Axis(0, 1, 0, 100).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert Axis(3, 3, 0, 100).ticks() == [3]
    assert Axis(0.01, 100, 0, 100, log=True).ticks() == [0.01, 0.1, 1, 10, 100]
    assert Axis(1, 100, 10, 20, log=True)(10) == 15
    assert [compact(n) for n in (0, 0.125, 999, 1234, 12345, 3.4e6, 2e9)] == [
        "0", "0.125", "999", "1,234", "12.3k", "3.4M", "2G",
    ]  # fmt: skip


# --- files and faults -------------------------------------------------------------------------


def test_files(tmp_path, digits):
    clf, data = digits
    for path in (tmp_path / "a.html", str(tmp_path / "b.html")):
        assert report(clf, data, path) is None
        assert Path(path).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert Path(tmp_path / "a.html").stat().st_size < 300_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]
    with pytest.raises(TypeError, match="path must be a path or a text file, got int"):
        report(clf, data, 3)
    with pytest.raises(FileNotFoundError):
        report(clf, data, tmp_path / "nowhere" / "a.html")


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.zeros((3, 64)), TypeError, "data must be .* got ndarray"),
        (3, TypeError, "data must be .* got int"),
        ([np.zeros((3, 64)), np.zeros(3)], TypeError, "a block must be .* got ndarray"),
        ((np.zeros((3, 64)), None), ValueError, "these rows have none"),
        ((np.zeros((3, 64)), [1, 2]), ValueError, "as many rows, got 3 and 2"),
        ((np.zeros((3, 64)), ["a", "b", "c"]), ValueError, "convert them to one type"),
        ((np.zeros((3, 64)), [1, 2, 3], [1, -1, 1]), ValueError, "at least 0, one a row"),
        ((np.zeros((3, 64)), [1, 2, 3], [0, 0, 0]), ValueError, "weight above 0, got 3 rows"),
        ([], ValueError, "got 0 rows"),
        ((np.zeros((0, 64)), []), ValueError, "got 0 rows"),
        ((np.zeros((3, 65)), [1, 2, 3]), ValueError, "65 features"),
        ((np.full((3, 64), np.nan), [1, 2, 3]), ValueError, "NaN"),
    ],
)
def test_faulty_data(digits, tmp_path, data, error, words):
    with pytest.raises(error, match=words):
        report(digits[0], data, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_faulty_models(digits):
    data = digits[1]
    with pytest.raises(NotFittedError):
        page(AMMClassifier(), data)
    with pytest.raises(TypeError, match="a fitted classifier, got <class"):
        page(AMMClassifier, data)
    with pytest.raises(TypeError, match="LinearRegression has no classes_"):
        page(LinearRegression().fit(*data), data)
    with pytest.raises(ValueError, match=r"max_rows must be .* got 0"):
        page(digits[0], data, max_rows=0)


# --- in a browser -----------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
]
# Runs in a copy of the page whose policy allows it: what is wider than the window, and colours.
MEASURE = """<script>
const room = document.documentElement.clientWidth;  // beside the scroll bar
const wide = [...document.querySelectorAll("body *")].filter(e =>
  !e.closest(".scroll > *") && e.getBoundingClientRect().right > room + 0.5);
parent.postMessage(JSON.stringify({
  window: innerWidth, room, page: document.documentElement.scrollWidth,
  wide: wide.map(e => e.tagName + "." + e.getAttribute("class")),
  background: getComputedStyle(document.body).backgroundColor,
  images: [...document.images].every(i => i.naturalWidth > 0)}), "*");
</script></body>"""
# Windows are never narrower than 500 pixels, frames are.
PHONE = """<!DOCTYPE html><html><head><meta name="color-scheme" content="light dark"><script>
addEventListener("message", event => { document.title = event.data; });
</script></head><body><iframe width="360" height="2000" style="border: 0" src="inner.html"></iframe>
</body></html>"""


def browse(html, tmp_path, *flags):
    """The page's source after it was shown, and what the console said."""
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    profile = tmp_path / f"profile{len(list(tmp_path.iterdir()))}"
    process = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *flags, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "<body>" in process.stdout, process.stderr
    return process.stdout, [line for line in process.stderr.splitlines() if "CONSOLE" in line]


def hostile_page():
    """Long names without a space, markup in them, many classes, wide tables."""
    X, codes = problem(n=900, d=30, n_classes=30)
    y = np.array([f"<img src=https://a.example/{'x' * 40}{i}>" for i in range(30)])[codes]
    clf = GeneralizedLeastSquaresClassifier(max_iter=20, tol=1e-1).fit(X, y)
    return page(clf, (X, y), title="W" * 80)


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["board", "digits", "hostile"])
def test_no_element_is_wider_than_a_phone(which, scheme, tmp_path, request):
    html = hostile_page() if which == "hostile" else page(*request.getfixturevalue(which))
    html = html.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    html = html.replace("<details>", "<details open>").replace("</body>", MEASURE)
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    (tmp_path / "inner.html").write_text(html, encoding="utf-8")
    dom, console = browse(PHONE, tmp_path, *dark)
    found = json.loads(unescape(re.search("<title>(.*?)</title>", dom).group(1)))
    assert found["window"] == 360
    assert found["wide"] == []
    assert found["page"] == found["room"]
    assert found["images"]
    assert found["background"] == ("rgb(20, 23, 26)" if scheme == "dark" else "rgb(255, 255, 255)")
    assert console == []


@needs_browser
def test_nothing_is_loaded_and_the_console_is_silent(tmp_path):
    html = hostile_page()
    log = tmp_path / "net.json"
    dom, console = browse(html, tmp_path, f"--log-net-log={log}")
    assert console == []
    assert "a.example" not in log.read_text()
    assert dom.count("<img") == 0
    # Both would tell: a picture from elsewhere is refused, aloud.
    broken = html.replace("</body>", '<img src="https://b.example/x.png"></body>')
    assert any("b.example" in line for line in browse(broken, tmp_path)[1])
