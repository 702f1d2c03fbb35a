"""One solver a file. Add one: a module here with a class `Solver`, and its name below."""

from __future__ import annotations

from importlib import import_module

from benchmarks.peers.solvers._base import Solver

OURS = (
    "pegasos",
    "amm",
    "gamm",
    "multiplane",
    "budgeted_pegasos",
    "calibrated",
    "stagewise",
)
PEERS = (
    "sgd",
    "linear_svc",
    "liblinear",
    "vowpal_wabbit",
    "svc",
    "libsvm",
    "nystroem",
    "mlp",
    "hist_gradient_boosting",
    "lightgbm",
    "xgboost",
    "river",
)
SOLVERS = (*OURS, *PEERS)


def find(name: str) -> type[Solver]:
    """The solver of a file here; or, by its whole name, of any module that has a class `Solver`."""
    module = import_module(name if "." in name else f"{__name__}.{name}")
    solver: type[Solver] = module.Solver
    return solver
