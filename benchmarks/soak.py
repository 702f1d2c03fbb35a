"""A hundred million rows in one stream: do memory, speed and accuracy stay as they are?

    python -m benchmarks.soak [ROWS]

Each learner meets the same checkerboard, block after block, by `partial_fit`. Ten times on the way:
test error, resident memory, microseconds a row (of learning, processor time) and size of the model.
Writes benchmarks/soak.json and docs/soak.png when all 10⁸ rows have been learnt.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import resident
from experiments import records
from multiplane import (
    AMMClassifier,
    BudgetedPegasosClassifier,
    GAMMClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
)
from multiplane.datasets import stream_checkerboard

ROWS, BLOCK, POINTS, N_TEST = 10**8, 100_000, 10, 100_000
RESULTS = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).parents[1] / "docs" / "soak.png"
LEARNERS: dict[str, Any] = {
    "Pegasos": PegasosClassifier(random_state=0),
    "AMM": AMMClassifier(alpha=1e-5, random_state=0),
    "GAMM": GAMMClassifier(alpha=1e-5, random_state=0),
    "Multiplane": MultiplaneClassifier(random_state=0),
    "budgeted Pegasos": BudgetedPegasosClassifier(gamma=8.0, budget=100, random_state=0),
}


def soak(learner: Any, n_rows: int) -> list[dict[str, float]]:
    X_test, y_test = next(stream_checkerboard(n=N_TEST, block_size=N_TEST, random_state=1))
    learnt, seconds, points = 0, 0.0, []
    every = n_rows // POINTS
    for X, y in stream_checkerboard(n=n_rows, block_size=BLOCK, random_state=0):
        start = time.process_time()
        learner.partial_fit(X, y, classes=[0, 1])
        seconds += time.process_time() - start
        learnt += len(y)
        if learnt % every == 0:
            size = getattr(learner, "n_hyperplanes_", None) or learner.n_support_
            points.append(
                {
                    "rows": learnt,
                    "error": 100 * (1 - learner.score(X_test, y_test)),
                    "megabytes": resident(),
                    "microseconds": 1e6 * seconds / every,
                    "size": size,
                }
            )
            seconds = 0.0
            print(
                "  ".join(f"{name} {value:.6g}" for name, value in points[-1].items()), flush=True
            )
    return points


def draw(curves: dict[str, list[dict[str, float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from experiments.pictures import plain_numbers, save

    wanted = {"error": "test error, %", "megabytes": "resident, MB", "microseconds": "µs a row"}
    figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    for panel, (name, label) in zip(panels, wanted.items(), strict=True):
        for learner, points in curves.items():
            millions = [point["rows"] / 1e6 for point in points]
            panel.plot(millions, [point[name] for point in points], ".-", label=learner)
        panel.set(xlabel="million rows", ylabel=label)
        panel.grid(alpha=0.3)
        if name == "megabytes":
            panel.set_ylim(0, 1.2 * max(p["megabytes"] for own in curves.values() for p in own))
        else:
            panel.set_yscale("log")
            plain_numbers(panel.yaxis)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
    save(figure, PICTURE, colours=64)


def main() -> None:
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    curves = {}
    for name, learner in LEARNERS.items():
        print(name)
        curves[name] = soak(learner, n_rows)
    if n_rows == ROWS:
        found = {"conditions": records.conditions(), "curves": curves}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        draw(curves)


if __name__ == "__main__":
    main()
