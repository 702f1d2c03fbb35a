"""What the least-squares experiments share: arrays on a device, and a record of the hardware."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported, for PyTorch's arrays

import numpy as np
import sklearn
from sklearn.base import clone

import multiplane

from ..protocol import commit, today

Put = Callable[[Any], Any]


def arguments(description: str, **more: Any) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="numpy", help="numpy, or PyTorch's cpu, cuda, …")
    parser.add_argument("--quick", action="store_true", help="small and not saved")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    for name, value in more.items():
        parser.add_argument(f"--{name}", default=value, type=type(value))
    return parser.parse_args()


def placed(device: str) -> Put:
    """How arrays get to the device."""
    if device == "numpy":
        return np.asarray
    import torch

    sklearn.set_config(array_api_dispatch=True)
    return lambda array: torch.asarray(np.asarray(array), device=device)


def wait(device: str) -> None:
    """Work on a GPU goes on after the call that asked for it has returned."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def timed_fit(model: Any, device: str, *data: Any, **more: Any) -> tuple[Any, float]:
    wait(device)
    start = time.perf_counter()
    model = clone(model).fit(*data, **more)
    wait(device)
    return model, time.perf_counter() - start


def error(model: Any, X: Any, y: Any) -> float:
    """In percent."""
    return percent_wrong(model.predict(X), y)


def percent_wrong(predicted: Any, y: Any) -> float:
    wrong = predicted != y
    return 100 * float(np.mean(np.asarray(wrong.cpu() if hasattr(wrong, "cpu") else wrong)))


def hardware(device: str) -> dict[str, str]:
    if device.startswith("cuda"):
        import torch

        return {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    return {"device": f"{platform.machine()}, {os.cpu_count()} cores", "numpy": np.__version__}


def save(path: Path, device: str, cells: list[dict[str, Any]], key: str) -> None:
    """Put the cells into the record, in the place of older ones of the same key."""
    conditions = {"date": today(), "commit": commit(), "multiplane": multiplane.__version__}
    old = json.loads(path.read_text())["cells"] if path.exists() else []
    new = {cell[key]: cell | {"conditions": conditions | hardware(device)} for cell in cells}
    merged = {cell[key]: cell for cell in old} | new
    path.write_text(
        json.dumps({"cells": list(merged.values())}, indent=1, ensure_ascii=False) + "\n"
    )


def matrix_rate(device: str, n: int = 8192) -> float:
    """Of a large float32 product, in operations a second: the most of six."""
    import torch

    A = torch.randn(n, n, device=device)
    best = 0.0
    for _ in range(6):
        wait(device)
        start = time.perf_counter()
        A @ A
        wait(device)
        best = max(best, 2 * n**3 / (time.perf_counter() - start))
    return best


def operations(clf: Any, n_rows: int, per_row: float) -> float:
    """Of a stagewise fit: features twice a stage, their Gram matrix, right side and update.

    `per_row` is for one block of features of one row.
    """
    p, k = clf.block_size, len(clf.classes_)
    return float(clf.n_models * clf.n_stages * n_rows * (2 * per_row + 2 * p * p + 4 * p * k))


def mean_and_sd(values: list[float]) -> dict[str, Any]:
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {
        "error": round(float(np.mean(values)), 3),
        "sd": round(sd, 3),
        "errors": [round(v, 3) for v in values],
    }
