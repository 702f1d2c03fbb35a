"""ONNX files in onnxruntime and C headers in a compiler, against predict and decision_function."""

import copy
import os
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import FLAGSHIP, HYPERPLANES, problem, run_python
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import multiplane
from multiplane import (
    AMMClassifier,
    AutoClassifier,
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GeneralizedLeastSquaresClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    ProjectronClassifier,
    StagewiseLeastSquaresClassifier,
    _native,
    export,
)
from multiplane.exporting import _contents
from multiplane.exporting._contents import label_list
from multiplane.features import (
    ConvolutionalPatches,
    FeatureGenerator,
    FeatureMap,
    FeatureSubset,
    RandomFourier,
    RandomLogit,
    RandomPolynomial,
    Same,
    Source,
)
from multiplane.links import Softmax
from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._scaling import Scaling

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler (cc)")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def budgeted(**p):
    return BudgetedPegasosClassifier(budget=15, max_iter=2, random_state=0, **p)


def staged(features, **p):
    p = {"block_size": 9, "n_stages": 3, "random_state": 0, **p}
    return StagewiseLeastSquaresClassifier(features=features, **p)


def patches(**p):
    p = {"filters": "random", "patch_size": 3, "image_shape": (6, 7, 2), "pool": 2, **p}
    return staged(ConvolutionalPatches(**p), n_stages=2, block_size=11)


STREAMS = {name: make(random_state=0) for name, make in (HYPERPLANES | FLAGSHIP).items()} | {
    "rbf": budgeted(gamma=0.1),
    "poly": budgeted(kernel="poly", degree=3, coef0=0.5, gamma=0.05, maintenance="project"),
    "constant": budgeted(kernel="poly", degree=0, maintenance="remove"),
    "linear": budgeted(kernel="linear", maintenance="project"),
    "sigmoid": budgeted(kernel="sigmoid", gamma=0.02, coef0=0.1, maintenance="remove"),
    "projectron": ProjectronClassifier(gamma=0.1, random_state=0),
}
LEAST_SQUARES = {
    "softmax": GeneralizedLeastSquaresClassifier(),
    "softmax-paper": GeneralizedLeastSquaresClassifier(link=Softmax(L=1)),
    "identity": GeneralizedLeastSquaresClassifier(link="identity", fit_intercept=False),
    "generalized-fourier": GeneralizedLeastSquaresClassifier(
        features=RandomFourier(21), random_state=0
    ),
    "calibrated": CalibratedLeastSquaresClassifier(max_iter=4, tol=0),
    "calibrated-logit": CalibratedLeastSquaresClassifier(
        ("cube", "identity"), features=RandomLogit(12), max_iter=3, random_state=0
    ),
    "fourier": staged(RandomFourier()),
    "fourier-calibrated": staged(
        RandomFourier(), update="calibrated", basis=("identity", "square")
    ),
    "fourier-logistic": staged(RandomFourier(), update="logistic"),
    "fourier-axes": staged(RandomFourier(n_components=3), n_models=2),
    "one-cosine": staged(RandomFourier(), block_size=1),
    "polynomial": staged(RandomPolynomial(degree=3)),
    "logit": staged(RandomLogit(n_components=2), update="calibrated"),
    "subset": staged(FeatureSubset(), block_size=3),
}
PATCHES = {
    "patches": patches(),
    "patches-mirror": patches(mirror=True, stride=2, degree=1),
    "patches-plain": patches(contrast=None, root=False, whiten=None, products="squares"),
}
ALL = STREAMS | LEAST_SQUARES | PATCHES


@cache
def fitted(name, dtype="float32", n_classes=3, multilabel=False):
    """A model, and rows that it has not seen."""
    d = 84 if name in PATCHES else 7
    X, y = problem(n=300, d=d, n_classes=n_classes)
    if multilabel:
        y = np.stack([y == 0, y != 1, X[:, 0] > 0], axis=1).astype(int)
    clf = clone(ALL[name]).fit(X[:200].astype(dtype), y[:200])
    return clf, X[200:]


def run_onnx(clf, X, path):
    export(clf, path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(np.float32)}), strict=True))


def compiled(header, *options, language="c"):
    """The example in a header, as a program."""
    standard = "-std=c99" if language == "c" else "-std=c++11"
    program = str(header) + ".out"
    command = [CC, standard, *STRICT, f"-D{header.stem.upper()}_EXAMPLE", *options]
    command += ["-x", language, str(header), "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@cache
def sanitizers():
    """Options for them, if they are there."""
    options = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    code = "int main(void) { return 0; }"
    command = [CC, *options, "-x", "c", "-", "-o", os.devnull]
    there = subprocess.run(command, input=code, capture_output=True, text=True).returncode == 0
    return options if there else []


def run_program(program, X):
    rows = "\n".join(" ".join(f"{value:.9g}" for value in row) for row in X.astype(np.float32))
    done = subprocess.run([program], input=rows, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    labels, *numbers = zip(*(line.split("\t") for line in done.stdout.splitlines()), strict=True)
    numbers = [np.array([line.split() for line in part], dtype=np.float64) for part in numbers]
    return dict(zip(("label", "scores", "probabilities"), [list(labels), *numbers], strict=False))


def run_c(clf, X, path, *options, language="c"):
    export(clf, path, name=path.stem)
    answers = run_program(compiled(path, *options, language=language), X)
    kind = np.asarray(clf.classes_).dtype.type
    if getattr(clf, "_multilabel", False):
        answers["label"] = np.array([line.split() for line in answers["label"]], dtype=int)
    else:
        answers["label"] = np.array(answers["label"]).astype(kind)
    return answers


def check(answers, clf, X):
    """Labels are equal, numbers to 1e-5 of their scale."""
    np.testing.assert_array_equal(answers["label"], clf.predict(X))
    scores, expected = answers["scores"], clf.decision_function(X)
    assert scores.shape == (len(X), len(clf.classes_))
    if expected.ndim == 1:
        scores = scores[:, 1] - scores[:, 0]
    scale = np.abs(expected).max() + 1e-30  # all may be zero
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5 * scale)
    assert ("probabilities" in answers) == hasattr(clf, "predict_proba")
    if "probabilities" in answers:
        np.testing.assert_allclose(answers["probabilities"], clf.predict_proba(X), atol=1e-5)


FORMATS = {
    "onnx": lambda clf, X, folder: run_onnx(clf, X, folder / "model.onnx"),
    "c": lambda clf, X, folder: run_c(clf, X, folder / "model.h", *sanitizers()),
}
both = pytest.mark.parametrize(
    "run",
    [pytest.param(FORMATS["onnx"], id="onnx"), pytest.param(FORMATS["c"], id="c", marks=needs_cc)],
)


# --- the same answers ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@both
def test_same_answers(name, run, tmp_path):
    clf, X = fitted(name)
    check(run(clf, X, tmp_path), clf, X)


@pytest.mark.parametrize("name", ["amm", "rbf", "softmax", "calibrated", "fourier-axes"])
@both
def test_two_classes(name, run, tmp_path):
    clf, X = fitted(name, n_classes=2)
    check(run(clf, X, tmp_path), clf, X)


@pytest.mark.parametrize("name", LEAST_SQUARES | PATCHES)
@both
def test_float64(name, run, tmp_path):
    clf, X = fitted(name, dtype="float64")
    assert clf._dtype == "float64"
    check(run(clf, X, tmp_path), clf, X)


@pytest.mark.parametrize("name", ["softmax", "calibrated", "fourier"])
@both
def test_float64_is_not_given_away(name, run, tmp_path):
    """The digits that float32 lacks for rows far from zero are in the model."""
    X, y = problem(n=300)
    X += 4096
    clf = clone(ALL[name]).fit(X[:200].astype(np.float64), y[:200])
    check(run(clf, X[200:], tmp_path), clf, X[200:])


@pytest.mark.parametrize("name", ["gamm", "rbf", "sigmoid", "calibrated", "polynomial", "patches"])
@both
def test_rows_far_from_those_of_training(name, run, tmp_path):
    clf, X = fitted(name, dtype="float64")
    rows = np.concatenate([20 * X[:30], np.zeros_like(X[:1]), X[:5] / 1000])
    check(run(clf, rows, tmp_path), clf, rows)


REAL = {
    "multiplane": MultiplaneClassifier(n_hyperplanes=8, alpha=1e-5, max_iter=10, random_state=0),
    "budgeted": BudgetedPegasosClassifier(gamma=1e-3, alpha=1e-3, budget=50, random_state=0),
    "stagewise": StagewiseLeastSquaresClassifier(block_size=64, n_stages=4, random_state=0),
}


@pytest.mark.parametrize("name", REAL)
@both
def test_real_rows(name, run, tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    clf = clone(REAL[name]).fit(X[:1000], y[:1000])
    assert clf.score(X[1000:], y[1000:]) > 0.85
    check(run(clf, X[1000:], tmp_path), clf, X[1000:])


@pytest.mark.parametrize(
    "name", ["softmax", "identity", "calibrated", "fourier-logistic", "subset"]
)
@both
def test_several_labels_a_row(name, run, tmp_path):
    clf, X = fitted(name, multilabel=True)
    check(run(clf, X, tmp_path), clf, X)


@needs_cc
@pytest.mark.parametrize("name", ["gamm", "poly", "calibrated", "fourier-axes", "patches"])
def test_as_cpp(name, tmp_path):
    clf, X = fitted(name)
    check(run_c(clf, X, tmp_path / "model.h", "-O2", language="c++"), clf, X)


@needs_cc
@pytest.mark.skipif(not _native.simd_fused(), reason="there are no fused multiply-adds here")
@pytest.mark.parametrize("name", [*HYPERPLANES, *FLAGSHIP])
def test_fused_scores_have_the_same_bits(name, tmp_path):
    clf, X = fitted(name)
    scaling = Scaling(X[:5].mean(axis=0, dtype=np.float64), np.geomspace(0.1, 10, 7))
    answers = run_c(clf, X, tmp_path / "model.h", "-O2", "-DMULTIPLANE_FMA")
    assert np.array_equal(answers["scores"].astype(np.float32), clf.decision_function(X))
    scaled = copy.copy(clf)
    scaled.scaler_ = scaling
    answers = run_c(scaled, X, tmp_path / "model.h", "-O2", "-DMULTIPLANE_FMA")
    assert np.array_equal(answers["scores"].astype(np.float32), clf.decision_function(scaling(X)))


@both
def test_rows_are_scaled_first(run, tmp_path):
    X, y = problem(n=300)
    scaling = Scaling(np.linspace(1e6, 2e6, 7), np.geomspace(1e-3, 1e3, 7))
    clf = AMMClassifier(random_state=0).fit(X[:200], y[:200])
    rows = (X[200:] / scaling.factor + scaling.shift).astype(np.float32)
    scaled = copy.copy(clf)
    scaled.scaler_ = scaling
    answers = run(scaled, rows, tmp_path)
    check(answers, clf, scaling(rows))
    assert len(set(answers["label"])) == 3


def test_bits_are_promised_where_they_can_be_had(tmp_path):
    X, y = problem()
    clf = AMMClassifier(random_state=0).fit(X, y)
    scaled = copy.copy(clf)
    scaled.scaler_ = Scaling(np.ones(7), np.ones(7))
    models = [clf, scaled, make_pipeline(StandardScaler(), clf).fit(X, y), fitted("rbf")[0]]
    for model, promised in zip(models, [True, True, False, False], strict=True):
        export(model, tmp_path / "model.h")
        assert ("the same bits" in (tmp_path / "model.h").read_text()) == promised


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["amm", "rbf", "fourier-axes", "softmax", "patches"])
@both
def test_pipelines(name, dtype, run, tmp_path):
    X, y = problem(n=300, d=84 if name == "patches" else 7)
    X = (3 * X + np.arange(X.shape[1])).astype(dtype)
    X[205] = 0
    steps = [StandardScaler(), "passthrough", MaxAbsScaler(), Normalizer(), clone(ALL[name])]
    clf = make_pipeline(*steps).fit(X[:200], y[:200])
    check(run(clf, X[200:], tmp_path), clf, X[200:].astype(np.float32))


@both
def test_scalers_that_do_less(run, tmp_path):
    X, y = problem()
    for step in (StandardScaler(with_mean=False), StandardScaler(with_std=False)):
        clf = make_pipeline(step, AMMClassifier(random_state=0)).fit(X + 1, y)
        check(run(clf, X, tmp_path), clf, X)


@both
def test_what_auto_has_chosen(run, tmp_path):
    X, y = problem(n=60)
    clf = AutoClassifier(time_budget=1, random_state=0).fit(X, y)
    check(run(clf, X, tmp_path), clf, X)
    clf.estimator_ = make_pipeline(Normalizer(), AMMClassifier(random_state=0)).fit(X, y)
    check(run(clf, X, tmp_path), clf, X)


@both
def test_trained_on_sparse_rows(run, tmp_path):
    X, y = problem(n=200, d=30, zeros=0.8)
    for clf in (PegasosClassifier(random_state=0), staged(None), LEAST_SQUARES["calibrated"]):
        clf = clone(clf).fit(sp.csr_matrix(X), y)
        check(run(clf, X, tmp_path), clf, X)


@both
def test_a_parameter_that_was_set_after_training(run, tmp_path):
    clf, X = fitted("rbf")
    clf = copy.copy(clf).set_params(kernel="linear", gamma=3.0)
    check(run(clf, X, tmp_path), clf, X)


# --- hyperplanes of all sorts --------------------------------------------------------------


def with_hyperplanes(coef, intercept, owner, n_classes):
    """A classifier that has just these."""
    coef = np.asarray(coef, dtype=np.float32).reshape(-1, 3)
    clf = PegasosClassifier().fit(np.eye(n_classes, 3), np.arange(n_classes))
    model = HyperplaneModel.from_arrays(
        coef, np.asarray(intercept, dtype=np.float32), np.asarray(owner, dtype=np.int32), n_classes
    )
    clf._training._model = clf._training.learner.version, model
    return clf


@both
def test_among_equals_the_lowest_class_wins(run, tmp_path):
    coef = np.tile([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], (20, 1))
    clf = with_hyperplanes(coef, np.zeros(40), np.arange(40)[::-1], 40)
    X = np.array([[1, 0, 1], [0, 0, 0], [2, 1, 1], [1, 1, 2]], dtype=np.float32)
    assert clf.predict(X).tolist() == [0, 0, 0, 1]
    check(run(clf, X, tmp_path), clf, X)


@pytest.mark.parametrize("sign", [1, -1, 0])
@both
def test_classes_without_hyperplanes_never_win(sign, run, tmp_path):
    clf = with_hyperplanes(sign * np.ones((3, 3)), [0, 0, 0], [1, 3, 3], 5)
    X = np.array([[1, 2, 3], [0, 0, 0], [-1, -2, 3e7]], dtype=np.float32)
    answers = run(clf, X, tmp_path)
    check(answers, clf, X)
    assert np.all(answers["scores"][:, [0, 2, 4]] < answers["scores"][:, [1]])


@both
def test_nothing_learnt_yet(run, tmp_path):
    clf = with_hyperplanes([], [], [], 3)
    X = np.ones((2, 3), dtype=np.float32)
    answers = run(clf, X, tmp_path)
    assert answers["label"].tolist() == clf.predict(X).tolist() == [0, 0]
    assert not answers["scores"].any()


@both
def test_many_classes_of_uneven_size(run, tmp_path):
    random = np.random.RandomState(0)
    owner = np.concatenate([random.randint(200, size=300), np.full(100, 7)])
    clf = with_hyperplanes(random.randn(400, 3), random.randn(400), owner, 200)
    X = random.randn(50, 3).astype(np.float32)
    check(run(clf, X, tmp_path), clf, X)


def test_graphs_of_many_hyperplanes_stay_small(tmp_path):
    owner = np.concatenate([np.arange(1000), np.full(1000, 7)])
    clf = with_hyperplanes(np.ones((2000, 3)), np.zeros(2000), owner, 1000)
    export(clf, tmp_path / "model.onnx")
    assert len(onnx.load(tmp_path / "model.onnx").graph.node) < 20
    assert (tmp_path / "model.onnx").stat().st_size < 100_000


# --- labels --------------------------------------------------------------------------------

LABELS = {
    "words": ["a", "b", "c"],
    "odd words": ['say "no"', "back\\slash ??/ $name ${name} %d", "zwölf ☃\x7f"],
    "objects": np.array(["x", "yy", "zzz"], dtype=object),
    "numbers": [-7, 0, 1_000_000],
    "large numbers": [-(2**62), 0, 2**62],
    "unsigned": np.array([0, 1, 255], dtype=np.uint8),
}


@pytest.mark.parametrize("name", LABELS)
@both
def test_labels(name, run, tmp_path):
    X, y = problem(n=120)
    clf = AMMClassifier(random_state=0).fit(X, np.asarray(LABELS[name])[y])
    answers = run(clf, X, tmp_path)
    assert answers["label"].tolist() == clf.predict(X).tolist()


def test_labels_of_other_kinds(tmp_path):
    X, y = problem(n=120)
    for labels in ([False, True], [1.0, 2.0]):
        clf = AMMClassifier(random_state=0).fit(X, np.asarray(labels)[y % 2])
        label = run_onnx(clf, X, tmp_path / "model.onnx")["label"]
        assert label.dtype == np.int64
        assert label.tolist() == clf.predict(X).tolist()
    assert label_list(np.array([0, 2**63], dtype=np.uint64)) == ["0", "9223372036854775808"]
    assert label_list(np.array([0.5, 1.0])) == ["0.5", "1.0"]
    assert label_list(np.array([1.0, np.inf])) == ["1.0", "inf"]


# --- the ONNX file -------------------------------------------------------------------------


def test_what_an_onnx_file_says(tmp_path):
    clf, _ = fitted("softmax")
    export(clf, tmp_path / "model.onnx", name="digits")
    model = onnx.load(tmp_path / "model.onnx")
    assert (model.ir_version, [(o.domain, o.version) for o in model.opset_import]) == (
        7,
        [("", 13)],
    )
    assert {p.key: p.value for p in model.metadata_props} == {
        "producer": "multiplane",
        "version": multiplane.__version__,
        "estimator": "GeneralizedLeastSquaresClassifier",
    }
    assert (model.producer_name, model.graph.name) == ("multiplane", "digits")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    described = [(v.name, v.type, v.shape) for v in [*session.get_inputs(), *session.get_outputs()]]
    assert described == [
        ("X", "tensor(float)", ["n", 7]),
        ("label", "tensor(int64)", ["n"]),
        ("probabilities", "tensor(float)", ["n", 3]),
        ("scores", "tensor(float)", ["n", 3]),
    ]


@pytest.mark.parametrize("name", ["gamm", "rbf", "poly", "calibrated", "fourier-axes", "patches"])
def test_no_rows(name, tmp_path):
    clf, X = fitted(name)
    answers = run_onnx(clf, X[:0], tmp_path / "model.onnx")
    assert answers["label"].shape == (0,)
    assert answers["scores"].shape == (0, 3)


@pytest.mark.parametrize("name", ["gamm", "rbf", "patches"])
def test_one_row_at_a_time(name, tmp_path):
    clf, X = fitted(name)
    together = run_onnx(clf, X, tmp_path / "model.onnx")["scores"]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    alone = np.concatenate([session.run(["scores"], {"X": x[None]})[0] for x in X[:5]])
    np.testing.assert_allclose(alone, together[:5], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["gamm", "poly", "calibrated", "fourier-logistic", "patches"])
def test_another_runtime(name, tmp_path):
    """ONNX's own, which is slow and strict."""
    clf, X = fitted(name)
    export(clf, tmp_path / "model.onnx")
    runtime = ReferenceEvaluator(str(tmp_path / "model.onnx"))
    check(dict(zip(runtime.output_names, runtime.run(None, {"X": X}), strict=True)), clf, X)


def test_onnx_is_asked_for_courteously(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    clf, _ = fitted("pegasos")
    with pytest.raises(ImportError, match=r'pip install "multiplane\[onnx\]"'):
        export(clf, tmp_path / "model.onnx")
    export(clf, tmp_path / "model.h")


def test_onnx_is_not_imported_before_it_is_needed():
    process = run_python("import sys\nfrom multiplane import export\nprint('onnx' in sys.modules)")
    assert process.stdout.strip() == "False", process.stderr


def test_an_onnx_file_can_be_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("multiplane.exporting._onnx._MOST_BYTES", 50)
    with pytest.raises(ValueError, match="at most 2 GB"):
        export(fitted("pegasos")[0], tmp_path / "model.onnx")


# --- the C header --------------------------------------------------------------------------


@needs_cc
def test_two_models_in_one_program(tmp_path):
    (a, X), (b, _) = fitted("gamm"), fitted("fourier")
    export(a, tmp_path / "a.h", name="first")
    export(b, tmp_path / "b.h", name="Second_2")
    row = ", ".join(f"{value:.9g}" for value in X[0])
    (tmp_path / "main.c").write_text(
        f"""#include "a.h"
#include "b.h"
#include "a.h"
#include <stdio.h>
int main(void) {{
  const float x[FIRST_N_FEATURES] = {{{row}}};
  float p[SECOND_2_N_CLASSES];
  Second_2_probabilities(x, p);
  printf("%ld", first_classes[first_predict(x)]);
  printf(" %ld", Second_2_classes[Second_2_predict(x)]);
  return 0;
}}
"""
    )
    command = [CC, "-std=c99", *STRICT, "-O2", "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{a.predict(X[:1])[0]} {b.predict(X[:1])[0]}"


def test_what_a_header_says(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["a", "*/ int x; /*", "??/", "ß"]
    export(AMMClassifier(random_state=0).fit(X, y), tmp_path / "iris.h", name="iris")
    text = (tmp_path / "iris.h").read_text()
    head = text[: text.index("#ifndef IRIS_H")]
    assert head.count("*/") == head.count("/*") == 1
    assert 'Features: "a", ' in head
    n_numbers = len(re.findall(r"[0-9.]f\b", text)) + len([0, 0, 0, 0])  # and who owns which
    assert f": {4 * n_numbers} bytes of constants" in head
    assert text.isascii()


@needs_cc
def test_the_example_reads_commas_and_minds_short_rows(tmp_path):
    clf, X = fitted("pegasos")
    export(clf, tmp_path / "model.h", name="model")
    program = compiled(tmp_path / "model.h")
    row = ",".join(f"{value:.9g}" for value in X[0])
    done = subprocess.run([program], input=f"{row}\n1, 2\n", capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.split("\t")[0] == str(clf.predict(X[:1])[0])
    assert "row 2" in done.stderr
    done = subprocess.run([program], input=f"{row},1\n", capture_output=True, text=True)
    assert done.returncode == 1  # a number too many is not the next row's first
    assert not done.stdout


# --- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gamm", "rbf", "calibrated", "patches"])
@pytest.mark.parametrize("ending", ["onnx", "h"])
def test_same_model_same_bytes(name, ending, tmp_path):
    clf, _ = fitted(name)
    export(clf, tmp_path / f"a.{ending}")
    export(pickle.loads(pickle.dumps(clf)), str(tmp_path / f"b.{ending.upper()}"))
    first, second = ((tmp_path / n).read_bytes() for n in (f"a.{ending}", f"b.{ending.upper()}"))
    assert first == second
    assert str(tmp_path).encode() not in first
    assert len(os.listdir(tmp_path)) == 2


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.h"
    path.write_text("before")
    path.chmod(0o640)

    def fail(number):
        raise OSError("the disk is full")

    clf, _ = fitted("pegasos")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="disk is full"):
            export(clf, path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["model.h"]
    export(clf, path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["model.h"]


def test_the_format_can_be_forced(tmp_path):
    clf, _ = fitted("pegasos")
    export(clf, tmp_path / "model.hpp", format="c")
    assert "#ifndef" in (tmp_path / "model.hpp").read_text()
    export(clf, tmp_path / "model", format="onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "model"))


# --- what cannot be done -------------------------------------------------------------------


@dataclass(frozen=True)
class Doubled(FeatureMap):
    n_inputs: int

    @property
    def n_features(self):
        return self.n_inputs

    def __call__(self, rows):
        return rows + rows


class DoubledSource(Source):
    def draw(self, n_features, random, gradient=None):
        return Doubled(self.input.n_features)


class Double(FeatureGenerator):
    def __init__(self, n_features=7, *, random_state=None):
        self.n_features = n_features
        self.random_state = random_state

    def prepare(self, X, random, weight=None, y=None):
        return DoubledSource(Same(X.shape[1]))


class MyLink(Softmax):
    pass


OWN = {
    "link": GeneralizedLeastSquaresClassifier(link=MyLink()),
    "basis": CalibratedLeastSquaresClassifier(basis=("identity", np.tanh)),
    "features": staged(Double(), block_size=7),
}


@pytest.mark.parametrize("ending", ["onnx", "h"])
@pytest.mark.parametrize("name", OWN)
def test_functions_of_your_own(name, ending, tmp_path):
    clf = clone(OWN[name]).fit(*problem())
    with pytest.raises(TypeError, match=f"^{name} must .* for an export, got .*your own"):
        export(clf, tmp_path / f"model.{ending}")
    assert not os.listdir(tmp_path)


def test_errors(tmp_path):
    clf, _ = fitted("pegasos")
    with pytest.raises(ValueError, match=r"got the path '.*model\.pkl'; use one of these endings"):
        export(clf, str(tmp_path / "model.pkl"))
    with pytest.raises(ValueError, match="got format='pmml'"):
        export(clf, tmp_path / "model.onnx", format="pmml")
    for name in ("2d", "a-b", "", "_x", "ä"):
        with pytest.raises(ValueError, match="name must be a letter"):
            export(clf, tmp_path / "model.h", name=name)
    with pytest.raises(TypeError, match="got LogisticRegression; of a search pass best_estimator_"):
        export(LogisticRegression(), tmp_path / "model.h")
    X, y = problem()
    for step in (PCA(3), Normalizer(norm="l1"), MaxAbsScaler(clip=True)):
        pipeline = make_pipeline(step, PegasosClassifier()).fit(X, y)
        with pytest.raises(TypeError, match=f"got {type(step).__name__}.*prepare rows as"):
            export(pipeline, tmp_path / "model.h")
    some = [PegasosClassifier(), GeneralizedLeastSquaresClassifier(), AutoClassifier()]
    for unfitted in [*some, make_pipeline(Normalizer(), PegasosClassifier())]:
        with pytest.raises(NotFittedError):
            export(unfitted, tmp_path / "model.h")
    with pytest.raises(FileNotFoundError):
        export(clf, tmp_path / "nowhere" / "model.h")
    broken = with_hyperplanes(np.full((3, 3), np.inf), np.zeros(3), [0, 1, 2], 3)
    with pytest.raises(ValueError, match="must be finite"):
        export(broken, tmp_path / "model.h")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("ending", ["onnx", "h"])
def test_a_kernel_that_only_the_loops_know(ending, tmp_path, monkeypatch):
    """docs/extend/kernel.md: never a graph with another kernel in its place."""
    clf = budgeted().fit(*problem())
    monkeypatch.setattr(_contents, "KERNELS", ("linear",))
    with pytest.raises(TypeError, match=r"kernel must be one of .* for an export, got 'rbf'"):
        export(clf, tmp_path / f"model.{ending}")
    assert not list(tmp_path.iterdir())
