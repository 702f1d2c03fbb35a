"""Every script of the gallery runs, and draws one figure."""

import runpy
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="the gallery draws with Matplotlib")

GALLERY = Path(__file__).parents[1] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("[0-9][0-9]_*.py"))


def test_there_is_a_gallery():
    assert [path.name[:2] for path in SCRIPTS] == [f"{n:02}" for n in range(1, len(SCRIPTS) + 1)]
    assert SCRIPTS


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_one_figure(path, monkeypatch):
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    if path.stem == "09_calibration":
        pytest.importorskip("sklearn", "1.8", reason="temperature scaling came with 1.8")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()))
    plt.close("all")
    try:
        runpy.run_path(str(path))
        (numbers,) = shown  # shown once, at the end
        assert len(numbers) == 1
        assert plt.get_fignums() == numbers
        plt.gcf().canvas.draw()  # what is wrong with a figure shows when it is drawn
    finally:
        plt.close("all")
