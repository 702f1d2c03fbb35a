"""``multiplane inspect``: what is in a file."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from multiplane.cli._options import reading
from multiplane.cli._predict import is_model

_ATTRIBUTES = {
    "n_hyperplanes_": "hyperplanes",
    "n_support_": "support_vectors",
    "alpha_": "alpha",
    "gamma_": "gamma",
    "n_iter_": "passes",
    "t_": "steps",
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(dir_okay=True, exists=True))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@reading
def command(file: str, as_json: bool, reading: dict[str, Any]) -> None:
    """Tell what is in FILE: a model, a checkpoint, a cache or data."""
    kept = os.path.join(file, "checkpoint.mpl")
    file = kept if os.path.isfile(kept) else file  # the folder of a checkpoint
    facts = model_facts(file) if is_model(file) else data_facts(file, reading)
    if as_json:
        click.echo(json.dumps(facts, default=str))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        click.echo(f"{name.replace('_', ' '):>{width}}  {_shown(value)}")


def model_facts(path: str) -> dict[str, Any]:
    from multiplane import load
    from multiplane.models._size import n_numbers
    from multiplane.persistence._checkpoints import kept_in

    position = kept_in(path)
    if position is not None:
        return {"file": path, "kind": "checkpoint", **position}
    model = load(path)
    steps = [type(step).__name__ for _, step in getattr(model, "steps", [])[:-1]]
    model = model[-1] if steps else model  # of a Pipeline
    defaults = type(model)().get_params(deep=False)
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults.get(name))
    }
    facts: dict[str, Any] = {
        "file": path,
        "kind": "model",
        "class": type(model).__name__,
        "parameters": [f"{k}={v!r}" for k, v in given.items()] or "all as by default",
        "features": model.n_features_in_,
        "classes": model.classes_.tolist(),
        "bytes": os.path.getsize(path),
        "numbers": n_numbers(model),
    }
    for name, words in _ATTRIBUTES.items():
        if hasattr(model, name):
            facts[words] = getattr(model, name) - (name == "t_")  # t counts from 1
    if steps:
        facts["behind"] = steps
    if getattr(model, "scaler_", None) is not None:
        facts["scaled"] = "as the data that it was trained with"
    last = model.history_[-1] if getattr(model, "history_", None) else {}
    if "error" in last:
        facts["error_while_learning"] = round(last["error"], 6)
    if hasattr(model, "feature_names_in_"):
        facts["feature_names"] = model.feature_names_in_.tolist()
    return facts


def data_facts(path: str, reading: dict[str, Any]) -> dict[str, Any]:
    import numpy as np
    import scipy.sparse as sp

    from multiplane.data import open_source

    source = open_source(path, **reading)
    n_rows = n_features = n_values = n_blocks = 0
    counts: dict[Any, int] = {}
    kinds = set()
    for X, y, _ in source:
        n_rows, n_blocks = n_rows + X.shape[0], n_blocks + 1
        n_features = max(n_features, X.shape[1])
        n_values += X.nnz if sp.issparse(X) else X.size
        kinds.add("sparse" if sp.issparse(X) else "dense")
        if y is not None and getattr(y, "ndim", 1) == 1:
            for label, count in zip(*np.unique(y, return_counts=True), strict=True):
                counts[label.item()] = counts.get(label.item(), 0) + int(count)
    return {
        "file": path,
        "kind": " and ".join(sorted(kinds)) + " data",
        "rows": n_rows,
        "features": source.n_features or n_features,
        "values_per_row": round(n_values / max(1, n_rows), 2),
        "blocks": n_blocks,
        "bytes": source.n_bytes,
        "labels": dict(sorted(counts.items())),
        **({"feature_names": source.feature_names} if source.feature_names else {}),
    }


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return _some([f"{k}: {v:,}" for k, v in value.items()])
    return _some([str(v) for v in value]) if isinstance(value, list) else str(value)


def _some(items: list[str]) -> str:
    return ", ".join(items[:20]) + (f", … ({len(items):,} in all)" if len(items) > 20 else "")
