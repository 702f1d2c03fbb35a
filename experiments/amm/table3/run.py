"""AMM paper, Table 3, the columns for AMM on a9a: batch with 5 passes and online with one.

λ by cross-validation in the paper's range, five seeds. (The other data sets of the table follow
with the other experiments.)

    python -m experiments.amm.table3.run [--quick]
"""

from __future__ import annotations

from pathlib import Path

from experiments import protocol
from multiplane import AMMClassifier
from multiplane.datasets import load_a9a

CELLS = {
    "batch": (AMMClassifier("batch", max_iter=5), 15.03, 0.11, 15.1),
    "online": (AMMClassifier("online", max_iter=1), 16.44, 0.23, 15.9),
}


def main() -> None:
    options = protocol.arguments(__doc__ or "")
    X, y, X_test, y_test = load_a9a(return_X_y=True)
    cells = []
    for name, (model, paper, sd, target) in CELLS.items():
        for mode in ("paper", "ours"):
            # Sparse rows are not centred, so that λ is all there is to choose.
            models = [
                m.set_params(average=mode == "ours") for m in protocol.candidates(model, "paper")
            ]
            folds, repeats = (2, 1) if options.quick else (5, 3)
            chosen, errors = protocol.choose(models, X, y, folds, options.jobs, repeats)
            cell = {
                "data": f"a9a {name}",
                "model": "AMM",
                "mode": mode,
                "paper": paper,
                "paper_sd": sd,
                "limit": protocol.limit(mode, paper, sd, target),
                "cross_validation": [round(e, 3) for e in errors],
                **protocol.describe(chosen),
                **protocol.repeat(chosen, lambda _: (X, y, X_test, y_test), range(5), options.jobs),
            }
            cells.append(cell)
            print(protocol.line(cell), flush=True)
    if not (options.quick or options.only):
        protocol.save(Path(__file__).with_name("results.json"), cells)


if __name__ == "__main__":
    main()
