"""Small models of all families, and their files: those of each format version stay in tests/models
for ever, so that later versions can prove that they still read them.

    python tests/model_files.py     writes the files of the current format, with what they predict
"""

from pathlib import Path

import numpy as np
from helpers import problem
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multiplane
from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    GeneralizedLeastSquaresClassifier,
    MMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    ProjectronClassifier,
    StagewiseLeastSquaresClassifier,
)
from multiplane.features import (
    ConvolutionalPatches,
    FeatureSubset,
    RandomFourier,
    RandomLogit,
    RandomPolynomial,
)
from multiplane.links import Softmax
from multiplane.models._container import FORMAT

FOLDER = Path(__file__).parent / "models"
PATCHES = ConvolutionalPatches(image_shape=(4, 4, 1), patch_size=2, pool=2, filters="random")


def stagewise(features, update="linear", block_size=10, **parameters):
    return StagewiseLeastSquaresClassifier(
        update, features, block_size, 2, random_state=0, warm_start=True, **parameters
    )


MULTIPLANE = {"n_hyperplanes": 3, "alpha": 1e-5, "scale": "standard", "random_state": 0}

# Unfitted, one for each thing that a file may contain.
MODELS = {
    "pegasos": PegasosClassifier(max_iter=2, random_state=0, class_weight={0: 1.0, 1: 2, 2: 0.5}),
    "mm": MMClassifier({0: 1, 1: 2, 2: 3}, max_iter=2, random_state=0),
    "amm": AMMClassifier("batch", max_iter=2, random_state=0),
    "gamm": GAMMClassifier(max_iter=2, random_state=np.random.RandomState(3), tol=None),
    "multiplane": MultiplaneClassifier(max_iter=3, **MULTIPLANE),
    "budgeted": BudgetedPegasosClassifier(budget=20, random_state=0),
    "projected": BudgetedPegasosClassifier(
        budget=15, maintenance="project", kernel="poly", gamma=0.05, random_state=0
    ),
    "projectron": ProjectronClassifier(0.9, gamma=0.1, random_state=0),
    "generalized": GeneralizedLeastSquaresClassifier(Softmax(L=1), random_state=0),
    "ridge": GeneralizedLeastSquaresClassifier("identity", random_state=0, fit_intercept=False),
    "calibrated": CalibratedLeastSquaresClassifier(
        features=RandomFourier(21, n_components=3), max_iter=2, random_state=0
    ),
    "fourier": stagewise(RandomFourier(width="1.3*median"), "calibrated", n_models=2),
    "polynomial": stagewise(RandomPolynomial(degree=3, n_components=4)),
    "logit": stagewise(RandomLogit(), "logistic"),
    "subset": stagewise(FeatureSubset(order="random"), block_size=3),
    "patches": stagewise(PATCHES),
}
STREAMED = ("pegasos", "amm", "gamm", "multiplane", "budgeted", "projectron")


def data(name):
    return problem(n=200, d=16 if name == "patches" else 6, seed=1)


def fitted(name):
    """A fitted one; of "streamed-…", one that has seen the beginning of a stream."""
    X, y = data(name)
    if name.startswith("streamed-"):
        model = clone(MODELS[name.removeprefix("streamed-")])
        if model.class_weight:
            model.set_params(class_weight=None)
        return model.partial_fit(X, y, classes=[0, 1, 2])
    if name == "words":
        import pandas

        frame = pandas.DataFrame(X, columns=["a", "b", "c", "d", "e", "höhe"])
        return AMMClassifier(max_iter=1, random_state=0).fit(frame, np.array(["x", "yy", "é"])[y])
    if name == "multilabel":
        several = np.eye(4, dtype=int)[y] | (X[:, :4] > 2)
        return GeneralizedLeastSquaresClassifier(random_state=0).fit(X, several)
    if name == "pipeline":
        return make_pipeline(StandardScaler(), clone(MODELS["budgeted"])).fit(X, y)
    return clone(MODELS[name]).fit(X, y)


NAMES = [*MODELS, "words", "multilabel", *(f"streamed-{name}" for name in STREAMED)]


def write(folder):
    """Files with their training, and what the models say of some rows."""
    folder.mkdir(parents=True)
    for name in (*NAMES, "pipeline"):
        model, (X, _) = fitted(name), data(name)
        multiplane.save(model, folder / f"{name}.mpl", training=name != "patches")
        expected = {"labels": model.predict(X[:10]), "scores": model.decision_function(X[:10])}
        np.savez_compressed(folder / f"{name}.npz", X=X[:10], **expected)


if __name__ == "__main__":
    write(FOLDER / f"v{FORMAT}")
