"""Kind 9: model files. What was saved comes back, bit for bit, and nothing else gets in."""

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from helpers import FLAGSHIP, STREAMS, VARIANTS, problem
from model_files import FOLDER, NAMES, data, fitted
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import multiplane
from multiplane import (
    AMMClassifier,
    AutoClassifier,
    CalibratedLeastSquaresClassifier,
    GeneralizedLeastSquaresClassifier,
    MMClassifier,
    ModelFileError,
    MultiplaneClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
)
from multiplane._atomic import atomic
from multiplane.features import FeatureGenerator, FeatureSubset, RandomFourier
from multiplane.models._container import packed, unpacked
from multiplane.models._scaling import Scaling


def as_bytes(model, **options):
    file = io.BytesIO()
    multiplane.save(model, file, **options)
    return file.getvalue()


def again(model, **options):
    return multiplane.load(io.BytesIO(as_bytes(model, **options)))


def same_answers(a, b, X):
    assert a.decision_function(X).tobytes() == b.decision_function(X).tobytes()
    assert a.predict(X).tolist() == b.predict(X).tolist()
    assert hasattr(a, "predict_proba") == hasattr(b, "predict_proba")
    if hasattr(b, "predict_proba"):
        assert a.predict_proba(X).tobytes() == b.predict_proba(X).tobytes()


def timeless(history):
    return [{k: v for k, v in entry.items() if k != "seconds"} for entry in history]


def comparable(parameters):
    """Parameters that can be compared: generators of random numbers by their state."""
    return {
        name: repr(value.get_state()) if hasattr(value, "get_state") else value
        for name, value in parameters.items()
        if name != "features"  # its own parameters are listed, too
    }


# --- what was saved comes back ---------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name, training, tmp_path):
    model, (X, y) = fitted(name), data(name)
    path = tmp_path / "model.mpl"
    multiplane.save(model, path, training=training)
    loaded = multiplane.load(path)
    assert type(loaded) is type(model)
    same_answers(loaded, model, X)
    if name != "words":
        same_answers(loaded, model, sp.csr_matrix(X))
    assert comparable(loaded.get_params()) == comparable(model.get_params())
    assert loaded.history_ == timeless(model.history_)
    for kind in ("pickle", "joblib", "once more"):
        if kind == "pickle":
            copy = pickle.loads(pickle.dumps(loaded))
        elif kind == "joblib":
            copy = joblib.load(joblib.dump(loaded, tmp_path / "model.joblib")[0])
        else:
            copy = again(loaded, training=training)
        same_answers(copy, model, X)
    # All public attributes, whether stored or computed.
    for attribute in (a for a in dir(model) if a.endswith("_") and not a.startswith("_")):
        if attribute != "history_":
            was, now = getattr(model, attribute), getattr(loaded, attribute)
            assert np.array_equal(was, now), attribute
            assert getattr(was, "dtype", None) == getattr(now, "dtype", None), attribute
    if name not in ("words", "multilabel"):  # a clone is not fitted, and can be
        same_answers(clone(loaded).set_params(random_state=0).fit(X, y),
                     clone(model).set_params(random_state=0).fit(X, y), X)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_same_model_gives_the_same_bytes(name):
    first, second = fitted(name), fitted(name)
    for training in (False, True):
        data = as_bytes(first, training=training)
        assert as_bytes(second, training=training) == data
        loaded = multiplane.load(io.BytesIO(data))
        assert as_bytes(loaded, training=training) == data
        assert b"seconds" not in data or b'"seconds":0.0' in data.replace(b"\\", b"")


@pytest.mark.parametrize("name", [n for n in NAMES if n != "multilabel"])
def test_without_training_nothing_goes_on(name):
    model, (X, y) = fitted(name), data(name)
    loaded = again(model)
    before = as_bytes(loaded)
    loaded.set_params(warm_start=True)
    with pytest.raises(ValueError, match=r"without its training.*training=True"):
        loaded.fit(X, model.classes_[y])
    with pytest.raises(ValueError, match=r"without its training.*training=True"):
        multiplane.save(loaded, io.BytesIO(), training=True)
    if hasattr(loaded, "partial_fit"):
        with pytest.raises(ValueError, match=r"without its training.*training=True"):
            loaded.set_params(class_weight=None).partial_fit(X, model.classes_[y])
        loaded.set_params(class_weight=model.class_weight)
    assert as_bytes(loaded.set_params(warm_start=model.warm_start)) == before
    loaded.set_params(warm_start=False, random_state=0).fit(X, model.classes_[y])  # starts anew


# --- trainings go on --------------------------------------------------------------------------


def learnt(clf):
    """The learner's state but for the ids, which nobody holds."""
    state = clf._training.learner.__getstate__()
    return pickle.dumps({k: v for k, v in state.items() if k not in ("ids", "n_ids")})


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", (STREAMS | FLAGSHIP).values(), ids=STREAMS | FLAGSHIP)
def test_an_interrupted_stream_goes_on(make, sparse):
    X, y = problem(n=2200 if make in FLAGSHIP.values() else 400)
    clf, through = make(random_state=0), make(random_state=0)
    if sparse:
        X = sp.csr_matrix(X)
    # Within the first rows of the stream, at their end, and beyond.
    cuts = [0, 1, 5, 40, 255, 257, 400, *((2047, 2049, 2200) if X.shape[0] > 400 else ())]
    labels = np.array(["a", "b", "cc"])[y]
    for a, b in pairwise(cuts):
        weight = np.linspace(0, 2, b - a) if a == 5 else None
        for one in (clf, through):
            one.partial_fit(X[a:b], labels[a:b], sample_weight=weight, allow_new_classes=True)
        through = again(through, training=True)
        assert learnt(through) == learnt(clf)
    same_answers(through, clf, X)
    assert timeless(through.history_) == timeless(clf.history_)
    assert through.t_ == clf.t_


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_a_warm_start_goes_on(make):
    X, y = problem()
    clf = make(random_state=0, max_iter=2, warm_start=True).fit(X, y)
    through = again(clf, training=True)
    assert learnt(through.fit(X, y)) == learnt(clf.fit(X, y))


def test_what_trials_told_of_the_work_is_kept():
    X, y = problem()
    clf = MultiplaneClassifier(random_state=0, max_iter=2).fit(X, y)
    for work in (1e10, 2e10):
        clf._work = work
        assert again(clf, training=True)._work == work


@pytest.mark.parametrize("name", ["fourier", "polynomial", "logit", "subset", "patches"])
def test_stages_are_added(name):
    model, (X, y) = fitted(name), data(name)
    through = again(model, training=True)
    for one in (model, through):
        one.set_params(n_stages=4).fit(X, y)
    same_answers(through, model, X)


def test_rounds_and_iterations_are_added():
    X, y = problem()
    for make in (CalibratedLeastSquaresClassifier, GeneralizedLeastSquaresClassifier):
        # A generator of random numbers lies elsewhere in memory afterwards.
        features = RandomFourier(20, random_state=np.random.RandomState(0))
        clf = make(features=features, max_iter=1, warm_start=True, random_state=0, tol=0)
        clf.fit(X, y)
        through = again(clf, training=True)
        for one in (clf, through):
            one.set_params(max_iter=3).fit(X, y)
        same_answers(through, clf, X)


def test_a_random_state_goes_on_where_it_was():
    X, y = problem()
    clf = AMMClassifier(random_state=np.random.RandomState(5), max_iter=1).fit(X, y)
    loaded = again(clf)
    same_answers(loaded.fit(X, y), clf.fit(X, y), X)


# --- labels, names, parameters ------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([-5, 7], dtype=np.int8),
        np.array([2**63, 2**64 - 1], dtype=np.uint64),
        np.array([1.0, 2.0]),
        np.array(["", "a long one, with \0 and ß"]),
        np.array(["a", "b"], dtype="<U77"),
        np.array(["a", "\ud800"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_all_kinds(labels):
    X, y = problem(n_classes=2)
    clf = PegasosClassifier(random_state=0).fit(X, labels[y])
    loaded = again(clf)
    same_answers(loaded, clf, X)
    assert loaded.classes_.dtype == clf.classes_.dtype == labels.dtype
    assert loaded.predict(X).tobytes() == clf.predict(X).tobytes() or labels.dtype == object


def test_names_of_features():
    loaded = multiplane.load(FOLDER / "v1" / "words.mpl")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d", "e", "höhe"]
    assert loaded.feature_names_in_.dtype == object


def test_the_scaler():
    X, y = problem()
    clf = PegasosClassifier(random_state=0).fit(X, y)
    clf.scaler_ = Scaling(np.arange(7.0), np.full(7, 0.5))
    loaded = again(clf)
    assert loaded.scaler_.shift.tobytes() == clf.scaler_.shift.tobytes()
    assert loaded.scaler_.factor.tobytes() == clf.scaler_.factor.tobytes()


def test_auto_is_saved_as_what_it_chose():
    X, y = problem()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdefg"))
    auto = AutoClassifier(time_budget=2, random_state=0).fit(frame, y)
    loaded = again(auto)
    assert type(loaded) is type(auto.estimator_)  # a pipeline, maybe
    assert loaded.predict(frame).tolist() == auto.predict(frame).tolist()
    assert loaded.feature_names_in_.tolist() == list("abcdefg")


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [MaxAbsScaler()],
        [Normalizer()],
        [Normalizer("l1")],
        [Normalizer("max"), MaxAbsScaler()],
    ],
    ids=str,
)
@pytest.mark.parametrize("clf", [AMMClassifier(random_state=0),
                                 GeneralizedLeastSquaresClassifier()])  # fmt: skip
def test_scalers_before_a_classifier(scalers, clf):
    X, y = problem()
    X[::7] = 0
    sparse = [] if getattr(scalers[0], "with_mean", False) else [sp.csr_matrix(X)]
    for fit_with in (X, X.astype(np.float64), X.astype(int), *sparse):
        pipeline = make_pipeline(*map(clone, scalers), clone(clf)).fit(fit_with, y)
        data = as_bytes(pipeline, training=True)
        loaded, predictor = (f(io.BytesIO(data)) for f in (multiplane.load, multiplane.compile))
        for rows in (X, X.astype(np.float64), X.astype(int), *sparse):
            before = rows.copy()
            same_answers(loaded, pipeline, rows)
            same_answers(predictor, pipeline, rows)
            assert abs(before - rows).max() == 0
        assert as_bytes(loaded, training=True) == data
        assert predictor.predict_one(X[3]) == pipeline.predict(X[3:4])[0]
        assert repr(loaded.get_params()) == repr(pipeline.get_params())
    for scaler, was in zip(loaded[:-1], pipeline[:-1], strict=True):
        assert sorted(vars(scaler)) == sorted(vars(was))
        if hasattr(scaler, "partial_fit"):  # goes on, too
            scaler.partial_fit(X), was.partial_fit(X)
            assert np.array_equal(scaler.transform(X[1:]), was.transform(X[1:]))


def test_names_of_a_pipeline():
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    frame = pandas.DataFrame(X, columns=list("abcdefg"))
    pipeline = make_pipeline(MaxAbsScaler(), AMMClassifier(random_state=0)).fit(frame, y)
    loaded = again(pipeline)
    same_answers(loaded, pipeline, frame)
    assert loaded.feature_names_in_.tolist() == list("abcdefg")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("bacdefg")])


def test_pipelines_of_other_things_are_not_saved():
    X, y = problem()
    with pytest.raises(TypeError, match=r"StandardScaler, MaxAbsScaler and Normalizer.*got PCA"):
        again(make_pipeline(PCA(2), AMMClassifier()).fit(X, y))


def test_a_model_without_hyperplanes():
    X, y = np.zeros((4, 3), np.float32), [0, 1, 0, 1]
    clf = AMMClassifier(random_state=0, max_iter=1, fit_intercept=False).fit(X, y)
    same_answers(again(clf), clf, X)
    same_answers(again(clf, training=True).partial_fit(X, y), clf.partial_fit(X, y), X)


def test_wide_sparse_rows():
    X = sp.random(50, 3_000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    clf = PegasosClassifier(random_state=0).fit(X, np.arange(50) % 3)
    same_answers(again(clf, training=True), clf, X)
    clf = StagewiseLeastSquaresClassifier(n_stages=2, block_size=9).fit(X, np.arange(50) % 3)
    same_answers(again(clf, training=True), clf, X)


# --- what cannot be saved -----------------------------------------------------------------------


def halved(Y):
    return Y / 2


class OwnLink:
    L = 1.0

    def value(self, S):
        return (S * S).sum(axis=1) / 2

    def link(self, S):
        return S


class OwnGenerator(FeatureSubset):
    pass


@pytest.mark.parametrize(
    "clf",
    [
        CalibratedLeastSquaresClassifier(basis=("identity", halved)),
        StagewiseLeastSquaresClassifier("calibrated", basis=[halved], n_stages=1),
        GeneralizedLeastSquaresClassifier(OwnLink()),
        StagewiseLeastSquaresClassifier(features=OwnGenerator(), block_size=3, n_stages=1),
    ],
    ids=lambda clf: type(clf).__name__,
)
def test_code_is_not_saved(clf, tmp_path):
    X, y = problem()
    clf.fit(X, y)
    with pytest.raises(TypeError, match=r"never code; use joblib\.dump"):
        multiplane.save(clf, tmp_path / "model.mpl")
    assert list(tmp_path.iterdir()) == []
    assert issubclass(OwnGenerator, FeatureGenerator)


def test_other_things_are_not_saved(tmp_path):
    X, y = problem()
    with pytest.raises(TypeError, match="a classifier of multiplane is needed, got Logistic"):
        multiplane.save(LogisticRegression().fit(X, y), tmp_path / "x")
    with pytest.raises(NotFittedError):
        multiplane.save(AMMClassifier(), tmp_path / "x")

    class Own(AMMClassifier):
        pass

    with pytest.raises(TypeError, match="got Own"):
        multiplane.save(Own().fit(X, y), tmp_path / "x")
    bad = MMClassifier(2).fit(X, y).set_params(n_hyperplanes="many")
    with pytest.raises(ValueError, match="n_hyperplanes"):  # at once, not when it is read
        multiplane.save(bad, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# --- what is not let in -------------------------------------------------------------------------

AMM = (FOLDER / "v1" / "amm.mpl").read_bytes()


def changed(change):
    document, arrays = unpacked(AMM)
    change(document, arrays)
    return packed(document, arrays)


def to(**entries):
    return lambda document, arrays: document.update(entries)


def values(name, change):
    def replace(document, arrays):
        arrays[name] = change(arrays[name].copy())

    return replace


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


PLANES, OWNER = "model.hyperplanes.weights", "model.hyperplanes.owner"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (to(format=2), r"written by a newer multiplane \(0\.1\.0, in format 2\).*upgrade"),
        (to(format="1"), "format must be a whole number"),
        (to(**{"class": "Popen"}), "unknown class 'Popen'"),
        (to(**{"class": "PegasosClassifier"}), "PegasosClassifier does not know all"),
        (to(**{"class": "GeneralizedLeastSquaresClassifier"}), "model is not one of General"),
        (to(n_features=7), "takes 6 columns, and there are 7"),
        (to(classes={"array": "nothing"}), "lacks the array 'nothing'"),
        (to(model={"Popen": {"args": "ls"}}), "unknown kind 'Popen'"),
        (to(model=None), "model must be a model"),
        (to(probabilities={"function": "eval"}), "unknown function 'eval'"),
        (to(other=1), "does not know, other"),
        (lambda document, _: document.pop("scaler"), "lacks, or does not know, scaler"),
        (lambda d, _: d["parameters"]["dict"].update(alhpa=1), "does not know all"),
        (lambda d, _: d["parameters"]["dict"].update(alpha=-1), "cannot have its param.*alpha"),
        (lambda d, _: d["fitted"]["dict"].update(t_="x"), "t_ is not of its type"),
        (lambda d, _: d["fitted"]["dict"].update(coef_=1), "its attributes must be"),
        (values(PLANES, put((1, 2), np.nan)), f"'{PLANES}' contains NaN or infinity"),
        (values(PLANES, put((1, 2), np.inf)), "contains NaN or infinity"),
        (values(PLANES, lambda a: a[:2]), r"must be an array of float of shape \(m, d\), got"),
        (values(PLANES, lambda a: a[:, :3]), "takes 2 columns, and there are 6"),
        (values(PLANES, lambda a: a[0]), r"must be an array of float of shape \(m, d\)"),
        (values(PLANES, lambda a: a.astype(np.float64)), "Hyperplanes: .*incompatible"),
        (values(OWNER, put(0, 3)), "belongs to class 3 of 3"),
        (values(OWNER, put(0, -1)), "owner must not be negative"),
        (values(OWNER, lambda a: a.astype(np.float32)), "owner must be an array of int"),
        (values("classes", lambda a: a[::-1]), "classes must be sorted"),
        (values("classes", lambda a: a[:2]), "there are 2 classes, and the model has 3"),
        (lambda _, arrays: arrays.update(more=np.zeros(3)), r"nobody asks for: \['more'\]"),
        (lambda _, arrays: arrays.pop(OWNER), "lacks the array"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change, message, tmp_path):
    path = tmp_path / "bad.mpl"
    path.write_bytes(changed(change))
    with pytest.raises(ModelFileError, match=message) as caught:
        multiplane.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert isinstance(caught.value, ValueError)


def test_a_large_n_ids_or_number_of_classes_asks_for_no_memory():
    def change(document, _):
        document["training"]["dict"]["learner"]["Learner"]["n_classes"] = 2**31 - 1

    with pytest.raises(ModelFileError, match="n_classes must be the number of classes, 3"):
        multiplane.load(io.BytesIO(changed(change)))


def with_document(text):
    """A safetensors file that has this as its document."""
    from safetensors.numpy import save

    return save({"x": np.zeros(1)}, {"multiplane": text})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "cannot be read"),
        ('{"format":1,"x":' + "[" * 5_000 + "]" * 5_000 + "}", "cannot be read|nested too deeply"),
        ('{"format":' + "9" * 100_000 + "}", "cannot be read"),
        ('{"format":1,"x":NaN}', "not proper JSON"),
        ('{"format":true}', "must be a whole number"),
        ("[]", "must be a JSON object"),
        ("", "cannot be read"),
        ('{"format":1}', "checksum"),
    ],
)
def test_documents_that_are_none(text, message):
    with pytest.raises(ModelFileError, match=message):
        multiplane.load(io.BytesIO(with_document(text)))


def test_other_files_are_refused(tmp_path):
    from safetensors.numpy import save

    path = tmp_path / "x"
    for content, message in [
        (b"", "not a safetensors file"),
        (b"{}" * 100, "not a safetensors file"),
        (pickle.dumps(AMMClassifier()), "not a safetensors file"),
        (AMM[:-1], "not a safetensors file, or damaged"),
        (AMM + b"\0", "not a safetensors file, or damaged"),
        (AMM[:-5] + bytes([AMM[-5] ^ 1]) + AMM[-4:], "checksum"),
        (save({"x": np.zeros(3)}), "not one of multiplane"),
    ]:
        path.write_bytes(content)
        for read in (multiplane.load, multiplane.compile):
            with pytest.raises(ModelFileError, match=message):
                read(path)
    with pytest.raises(FileNotFoundError):
        multiplane.load(tmp_path / "nothing")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
def test_a_thousand_damaged_files():
    script = Path(__file__).with_name("fuzz_model_files.py")
    process = subprocess.run(
        [sys.executable, script, "20", "1000"], capture_output=True, text=True, timeout=600
    )
    assert process.returncode == 0, process.stderr
    counts = json.loads(process.stdout.replace("'", '"'))
    assert sum(counts.values()) == 1000
    assert min(counts.values()) > 100  # it damages neither too little nor too much


# --- versions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/*.mpl")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_files_of_all_versions_can_be_read(path):
    expected = np.load(path.with_suffix(".npz"))
    X = expected["X"]
    for model in (multiplane.load(path), multiplane.compile(path)):
        assert model.predict(X).tolist() == expected["labels"].tolist()
        # Processors differ in how they round: float32, seven digits, in sums of some terms.
        np.testing.assert_allclose(model.decision_function(X), expected["scores"], 1e-4, 1e-4)


def test_a_file_of_each_family_is_kept():
    assert sorted(path.stem for path in (FOLDER / "v1").glob("*.mpl")) == sorted(
        [*NAMES, "pipeline"]
    )
    assert sum(path.stat().st_size for path in FOLDER.glob("*/*")) < 200_000


def test_writing_the_kept_files_anew(tmp_path):
    from model_files import write

    write(tmp_path / "v1")
    assert sorted(p.name for p in (tmp_path / "v1").iterdir()) == sorted(
        p.name for p in (FOLDER / "v1").iterdir()
    )


# --- whole files, or none ---------------------------------------------------------------------


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with atomic(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert os.listdir(tmp_path) == ["x"]
    with atomic(str(path), "w") as file:
        file.write("é")
    assert path.read_text(encoding="utf-8") == "é"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_what_failed(tmp_path, error):
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with pytest.raises(error), atomic(path) as file:  # noqa: PT012
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["x"]
    with pytest.raises(FileNotFoundError), atomic(tmp_path / "nothing" / "x"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are not the same there")
def test_permissions_and_links_stay(tmp_path):
    path, link, new = tmp_path / "x", tmp_path / "link", tmp_path / "new"
    path.write_bytes(b"before")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        with atomic(new) as file:
            file.write(b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_many_save_to_one_name(tmp_path):
    path, model = tmp_path / "model.mpl", fitted("pegasos")
    threads = [threading.Thread(target=multiplane.save, args=(model, path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["model.mpl"]
    same_answers(multiplane.load(path), model, data("pegasos")[0])


def test_what_does_more_than_its_estimator_is_not_saved_as_that(tmp_path):
    from sklearn.model_selection import FixedThresholdClassifier

    X, y = multiplane.datasets.make_checkerboard(2, 2, n=300, random_state=0)
    wrapped = FixedThresholdClassifier(AMMClassifier(random_state=0), threshold=0.5).fit(X, y)
    with pytest.raises(TypeError, match="got FixedThresholdClassifier"):
        multiplane.save(wrapped, tmp_path / "a.mpl")
