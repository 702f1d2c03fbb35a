"""Kills trainings at random moments; each must end with the bytes of an undisturbed one.

    python -m benchmarks.kills [NUMBER]

A training with checkpoints after every piece of work is started again and again and killed
(SIGKILL) after a random time, also while it writes, until so many kills have been survived. Fails
if the model that comes out in the end differs, or if anything but it is left behind.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

from multiplane.datasets import make_checkerboard

ESTIMATORS = {  # with passes that take some seconds
    "amm": ["--max-iter", "400"],
    "multiplane": ["--max-iter", "120"],
    "bpegasos": ["--max-iter", "30", "--budget", "100"],
}


def main(n_kills: int = 50) -> int:
    draw = random.Random(0)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.svm"
        X, y = make_checkerboard(4, 4, n=60_000, random_state=0)
        dump_svmlight_file(X, y, str(data), zero_based=False)
        each = -(-n_kills // len(ESTIMATORS))
        for name, settings in ESTIMATORS.items():
            wrong += not survives(Path(folder), data, name, settings, each, draw)
    return int(wrong > 0)


def survives(
    folder: Path, data: Path, name: str, settings: list[str], n_kills: int, draw: random.Random
) -> bool:
    words = [sys.executable, "-m", "multiplane", "train", "-q", "-e", name, *settings]
    words += ["--window", "1", str(data)]
    whole, killed, place = (folder / f"{name}.{end}" for end in ("whole", "killed", "checkpoint"))
    began = time.monotonic()
    subprocess.run([*words, str(whole)], check=True)
    seconds = time.monotonic() - began
    survived = starts = 0
    command = [*words, str(killed), "--checkpoint", str(place), "--every", "0s"]
    while survived < n_kills:
        starts += 1
        with subprocess.Popen(command) as process:
            try:
                process.wait(timeout=draw.uniform(0.0, seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                survived += 1
                continue
        if process.returncode or not same(whole, killed):
            break
        killed.unlink()  # it came to its end before it was killed: again
    final = subprocess.run(command, check=False).returncode == 0 and same(whole, killed)
    left = [path.name for path in place.iterdir() if not path.name.startswith(".")]
    verdict = "same bytes" if final and not left else f"DIFFERENT (left: {left})"
    print(f"{name:<12} {survived} kills in {starts} starts, {seconds:.1f} s undisturbed: {verdict}")
    return final and not left


def same(a: Path, b: Path) -> bool:
    return b.exists() and a.read_bytes() == b.read_bytes()


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
