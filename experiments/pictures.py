"""How figures are kept."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

CLASSES = ("#2166ac", "#b2182b")  # blue and red, as in the GAMM paper


def save(figure: Any, path: Path, colours: int = 255) -> None:
    """As a PNG of few colours, for a smaller file."""
    import matplotlib.pyplot as plt
    from PIL import Image  # comes with matplotlib

    buffer = BytesIO()
    figure.savefig(buffer, dpi=80)
    plt.close(figure)
    Image.open(buffer).convert("RGB").quantize(colours).save(path, optimize=True)


def plain_numbers(axis: Any) -> None:
    """On a logarithmic axis; on a short one between the powers of ten too."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.5)))
