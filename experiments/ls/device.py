"""Where the least-squares experiments compute: NumPy, or PyTorch on a device.

    MULTIPLANE_DEVICE=cuda SCIPY_ARRAY_API=1 multiplane reproduce ls-table1

Both are read when Python starts; the Python sources are enough, without the compiled module.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone

DEVICE = os.environ.get("MULTIPLANE_DEVICE", "numpy")


def put(array: Any) -> Any:
    """An array, on the device."""
    if DEVICE == "numpy":
        return np.asarray(array)
    import torch

    sklearn.set_config(array_api_dispatch=True)
    return torch.asarray(np.asarray(array), device=DEVICE)


def conditions() -> dict[str, str] | None:
    """The device for a record; None where it is the processor, which is told anyway."""
    if not DEVICE.startswith("cuda"):
        return None
    import torch

    return {"hardware": f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"}


def wait() -> None:
    """Work on a GPU goes on after the call that asked for it has returned."""
    if DEVICE.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def timed_fit(model: Any, *data: Any) -> tuple[Any, float]:
    """A fitted copy, and the seconds: of the processor, or of the clock on a device."""
    clock = time.process_time if DEVICE == "numpy" else time.perf_counter
    wait()
    start = clock()
    model = clone(model).fit(*data)
    wait()
    return model, clock() - start


def error(model: Any, X: Any, y: Any) -> float:
    """In percent."""
    return percent_wrong(model.predict(X), y)


def percent_wrong(predicted: Any, y: Any) -> float:
    wrong = predicted != y
    return 100 * float(np.mean(np.asarray(wrong.cpu() if hasattr(wrong, "cpu") else wrong)))


def described(model: Any) -> str:
    """A model in one line."""
    return " ".join(str(model).split())
