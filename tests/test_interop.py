"""Other libraries around the classifiers: scikit-learn's tools, frames, river, MLflow.

docs/interop.md shows the same, and tests/test_docs.py runs it.
"""

import copy
import os
import warnings

import numpy as np
import pytest
from helpers import CLASSIFIERS, FLAGSHIP, LEAST_SQUARES, problem, state
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import multiplane
from multiplane import AMMClassifier, GAMMClassifier, GeneralizedLeastSquaresClassifier
from multiplane.features import RandomFourier

NAMES = list("abcdefg")
WORDS = np.array(["x", "y", "z"])
MAKE = {make.__name__: make for make in (*CLASSIFIERS, *LEAST_SQUARES)} | {
    "MultiplaneClassifier": FLAGSHIP["multiplane"]
}
EVERY = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def frames(kind):
    """Rows as a frame, words as labels, weights; and the same as arrays."""
    library = pytest.importorskip(kind)
    X, y = problem()
    weight = np.random.RandomState(0).choice([0.5, 2.0], size=300)
    if kind == "pandas":
        frame, series = library.DataFrame(X, columns=NAMES), library.Series
    else:
        frame, series = library.DataFrame(X, schema=NAMES), library.Series
    return (frame, series(WORDS[y]), series(weight)), (X, WORDS[y], weight)


def selected(frame, names):
    return frame[names] if hasattr(frame, "iloc") else frame.select(names)


@pytest.fixture(autouse=True)
def _few_iterations_are_enough():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # names that do not match are a warning
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# --- frames --------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(kind, make):
    (frame, labels, weight), (X, y, w) = frames(kind)
    clf = make(random_state=0).fit(frame, labels, sample_weight=weight)
    plain = make(random_state=0).fit(X, y, sample_weight=w)
    assert clf.feature_names_in_.tolist() == NAMES
    assert clf.classes_.tolist() == ["x", "y", "z"]
    # Columns of polars are float64 to scikit-learn: rounded otherwise where rows are scaled.
    assert np.mean(clf.predict(frame) == plain.predict(X)) > 0.98
    assert clf.score(frame, labels, sample_weight=weight) > 0.6
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(selected(frame, NAMES[::-1]))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(selected(frame, NAMES[:3]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_streams_of_frames(kind):
    (frame, labels, weight), (X, y, w) = frames(kind)
    clf, plain = AMMClassifier(random_state=0), AMMClassifier(random_state=0)
    for part in (slice(0, 100), slice(100, 300)):
        clf.partial_fit(frame[part], labels[part], WORDS, sample_weight=weight[part])
        plain.partial_fit(X[part], y[part], WORDS, sample_weight=w[part])
    assert clf.feature_names_in_.tolist() == NAMES
    assert clf.coef_.tobytes() == plain.coef_.tobytes()
    blocks = [(frame[:100], labels[:100]), (frame[100:], labels[100:])]
    streamed = AMMClassifier(random_state=0).fit_stream(blocks, max_iter=2)
    arrays = [(X[:100], y[:100]), (X[100:], y[100:])]
    assert state(streamed) == state(AMMClassifier(random_state=0).fit_stream(arrays, max_iter=2))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("make", [AMMClassifier, GeneralizedLeastSquaresClassifier])
def test_validation_frames_files_and_reports(kind, make, tmp_path):
    (frame, labels, _), _ = frames(kind)
    train, test = (frame[:200], labels[:200]), (frame[200:], labels[200:])
    clf = make(random_state=0, early_stopping=True).fit(*train, X_val=test[0], y_val=test[1])
    multiplane.save(clf, tmp_path / "model.mpl")
    predictor = multiplane.compile(tmp_path / "model.mpl")
    assert predictor.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(predictor.predict(test[0]), clf.predict(test[0]))
    with pytest.raises(ValueError, match="columns of X must be those of training"):
        predictor.predict(selected(frame, NAMES[::-1]))
    multiplane.report(clf, test, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_generators_make_frames(kind):
    (frame, _, _), (X, _, _) = frames(kind)
    generator = RandomFourier(10, width=2.0, random_state=0)
    features = copy.deepcopy(generator).set_output(transform=kind).fit_transform(frame)
    assert list(features.columns) == [f"randomfourier{i}" for i in range(10)]
    expected = generator.fit_transform(X)
    np.testing.assert_allclose(features.to_numpy(), expected, atol=1e-6)  # of float32


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_pipeline_search_and_calibration(kind):
    """Numbers and words in columns, all the way to probabilities."""
    library = pytest.importorskip(kind)
    X, y = problem()
    table = library.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "word": np.array(["p", "q", "r"])[y]}
    )
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]), (OneHotEncoder(sparse_output=False), ["word"])
    )
    pipeline = make_pipeline(columns, GAMMClassifier(max_iter=5, random_state=0))
    grid = {"gammclassifier__alpha": [1e-3, 1e3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(table, y)
    assert search.best_params_ == {"gammclassifier__alpha": 1e-3}
    assert search.score(table, y) > 0.95  # the word tells
    calibrated = CalibratedClassifierCV(search.best_estimator_, cv=3).fit(table, y)
    probability = calibrated.predict_proba(table)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
    assert np.mean(probability.argmax(axis=1) == y) > 0.95


# --- river ---------------------------------------------------------------------------------


def test_river():
    compat = pytest.importorskip("river.compat")
    from river import evaluate, metrics, preprocessing, stream

    X, y = problem()
    rows = list(stream.iter_array(X.astype(np.float64), y, feature_names=NAMES))
    learner = compat.convert_sklearn_to_river(AMMClassifier(random_state=0), classes=[0, 1, 2])
    evaluate.progressive_val_score(rows, learner, metrics.Accuracy())
    ours = AMMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert learner.estimator.coef_.tobytes() == ours.coef_.tobytes()
    scaled = preprocessing.StandardScaler() | compat.convert_sklearn_to_river(
        AMMClassifier(random_state=0), classes=[0, 1, 2]
    )
    assert evaluate.progressive_val_score(rows, scaled, metrics.Accuracy()).get() > 0.5


def test_rivers_mini_batches():
    compat = pytest.importorskip("river.compat")
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    frame, labels = pandas.DataFrame(X, columns=NAMES), pandas.Series(y)
    learner = compat.convert_sklearn_to_river(AMMClassifier(random_state=0), classes=[0, 1, 2])
    for part in (slice(0, 100), slice(100, 300)):
        learner.learn_many(frame[part], labels[part])
    ours = AMMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert learner.estimator.coef_.tobytes() == ours.coef_.tobytes()
    assert learner.predict_many(frame).tolist() == ours.predict(X).tolist()


# --- MLflow --------------------------------------------------------------------------------


def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    mlflow.set_tracking_uri(f"file:{tmp_path}/runs")
    X, y = problem()
    clf = AMMClassifier(max_iter=3, random_state=0)
    with mlflow.start_run() as run:
        mlflow.log_params(clf.get_params())
        clf.fit(X, y)
        for entry in clf.history_:
            mlflow.log_metric("training error", entry["error"], step=entry["n_iter"])
        multiplane.save(clf, tmp_path / "model.mpl")
        mlflow.log_artifact(tmp_path / "model.mpl")
    client = mlflow.MlflowClient()
    kept = client.get_run(run.info.run_id).data
    assert kept.params["max_iter"] == "3"
    history = client.get_metric_history(run.info.run_id, "training error")
    assert [metric.step for metric in history] == [1, 2, 3]
    assert kept.metrics["training error"] == history[-1].value == clf.history_[-1]["error"]
    path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="model.mpl", dst_path=os.fspath(tmp_path / "again")
    )
    assert multiplane.load(path).coef_.tobytes() == clf.coef_.tobytes()
