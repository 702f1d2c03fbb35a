"""What the papers prove, as functions: objectives, regret and risk bounds, tangent machines.

A. *Objectives.* P(W) and its convex upper bound P(W | z), of a fitted classifier or of arrays, in
   float64 and chunk by chunk: a witness that shares no code with the solvers.
B. *Bounds.* Each is computed as its theorem prints it. Where the printed statement and its proof
   part ways, the docstring says so, and ``version="sharp"`` is what we can prove.
C. *Measured regret.* A real training run, row by row through `partial_fit`, beside the best
   fixed model in hindsight; for kernels on a budget, sums kept during a run (`budgeted_run`).
D. *Tangent machines.* The construction that proves that every consistent training set can be
   represented, as a classifier.

[AMM] is Wang, Djuric, Crammer and Vucetic, "Trading representability for scalability", KDD 2011;
[GAMM] is Djuric, Wang and Vucetic, "Growing Adaptive Multi-Hyperplane Machines", ICML 2020;
[BPegasos] is Wang, Crammer and Vucetic, "Multi-class Pegasos on a budget", ICML 2010;
[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, "Least squares revisited: scalable
approaches for multi-class prediction", ICML 2014.
"""

from multiplane.theory._amm import (
    regret_bound_amm,
    regret_bound_pruned,
    risk_bound_amm,
)
from multiplane.theory._bpegasos import (
    BudgetedRun,
    KernelOptimum,
    Sides,
    bpegasos_sides,
    budgeted_run,
    kernel_optimum,
    mistake_bound_bpegasos,
    optimum_radius,
    regret_bound_bpegasos,
)
from multiplane.theory._gamm import (
    TangentMachine,
    expected_duplications,
    regret_bound_gamm,
    risk_bound_gamm,
    tangent_machine,
)
from multiplane.theory._least_squares import (
    LinkConstants,
    calibrated_loss,
    error_bound_calibrated,
    link_constants,
    loss_bound_least_squares,
    mahalanobis_norm,
)
from multiplane.theory._objectives import (
    assignments,
    convex_objective,
    hyperplane_counts,
    objective,
    weight_norm,
)
from multiplane.theory._regret import (
    Optimum,
    Trace,
    fixed_optimum,
    measured_regret,
    trace,
)

__all__ = [
    "BudgetedRun",
    "KernelOptimum",
    "LinkConstants",
    "Optimum",
    "Sides",
    "TangentMachine",
    "Trace",
    "assignments",
    "bpegasos_sides",
    "budgeted_run",
    "calibrated_loss",
    "convex_objective",
    "error_bound_calibrated",
    "expected_duplications",
    "fixed_optimum",
    "hyperplane_counts",
    "kernel_optimum",
    "link_constants",
    "loss_bound_least_squares",
    "mahalanobis_norm",
    "measured_regret",
    "mistake_bound_bpegasos",
    "objective",
    "optimum_radius",
    "regret_bound_amm",
    "regret_bound_bpegasos",
    "regret_bound_gamm",
    "regret_bound_pruned",
    "risk_bound_amm",
    "risk_bound_gamm",
    "tangent_machine",
    "trace",
    "weight_norm",
]
