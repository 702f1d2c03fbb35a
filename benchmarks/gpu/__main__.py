"""Least squares on a GPU: error, seconds, and how much of the card's matrix rate is used.

    python -m benchmarks.gpu [--device cuda]

Runs from the Python sources alone, without the compiled module (PYTHONPATH=src). The models are
those of experiments/ls, and the figures go into their results.json. The rate is that of the
matrix products that the algorithm asks for, beside a large float32 product's on the same card.
"""

from __future__ import annotations

import json

from experiments.ls.figure3 import run as cifar
from experiments.ls.record import arguments, hardware, matrix_rate, save
from experiments.ls.stagewise import run as mnist


def main() -> None:
    args = arguments(__doc__.splitlines()[0])
    if args.device == "numpy":
        args.device = "cuda"
    rate = matrix_rate(args.device) / 1e12
    print(json.dumps(hardware(args.device)), f"{rate:.1f} TFLOP/s in float32", flush=True)
    for experiment, names in ((mnist, ("mnist, one model", "mnist")), (cifar, ("best",))):
        for name in names:
            cell = experiment.measure(name, args.device)
            print(experiment.line(cell), flush=True)
            save(experiment.RESULTS, args.device, [cell], "name")


if __name__ == "__main__":
    main()
