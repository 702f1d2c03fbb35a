"""Pipelines of scikit-learn's scalers and a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from multiplane.models._steps import DivideByLargest, Normalize, Standardize


def taken_apart(model: Any) -> tuple[tuple[Any, ...], Any]:
    """The scalers of a pipeline, in our own words, and its classifier."""
    if not isinstance(model, Pipeline):
        return (), model
    steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    return tuple(_plain(step) for step in steps), model.steps[-1][1]


def _plain(step: Any) -> Any:
    if type(step) is StandardScaler:
        learnt = (step.mean_, step.scale_, step.var_, step.n_samples_seen_)
        return Standardize(*learnt, bool(step.with_mean), bool(step.with_std))
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return DivideByLargest(step.scale_, step.max_abs_, int(step.n_samples_seen_))
    if type(step) is Normalizer:
        return Normalize(step.norm)
    raise TypeError(
        f"of a pipeline a model file holds StandardScaler, MaxAbsScaler and Normalizer before the "
        f"classifier, got {step!r}; use joblib.dump, or save the last step alone"
    )


def put_together(steps: tuple[Any, ...], classifier: Any) -> Any:
    """The pipeline, as scikit-learn has it. Names of features are those of its first step."""
    if not steps:
        return classifier
    scalers = [_fitted(step) for step in steps]
    for scaler in scalers:
        scaler.n_features_in_ = classifier.n_features_in_
    if hasattr(classifier, "feature_names_in_"):
        scalers[0].feature_names_in_ = classifier.feature_names_in_
        del classifier.feature_names_in_
    return make_pipeline(*scalers, classifier)


def _fitted(step: Any) -> Any:
    if isinstance(step, Standardize):
        scaler = StandardScaler(with_mean=step.with_mean, with_std=step.with_std)
        scaler.mean_, scaler.scale_, scaler.var_ = step.mean, step.scale, step.variance
        scaler.n_samples_seen_ = np.asarray(step.n_seen)[()]  # it is asked for its shape
        return scaler
    if isinstance(step, DivideByLargest):
        scaler = MaxAbsScaler()
        scaler.scale_, scaler.max_abs_ = step.scale, step.largest
        scaler.n_samples_seen_ = step.n_seen
        return scaler
    return Normalizer(step.norm)
