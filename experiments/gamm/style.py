"""How the pictures of the GAMM paper look here."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

CLASSES = ("#2166ac", "#b2182b")  # blue and red, as in the paper


def save(figure: Any, path: Path, colours: int = 255) -> None:
    """As a PNG of few colours, for a smaller file."""
    from PIL import Image  # comes with matplotlib

    buffer = BytesIO()
    figure.savefig(buffer, dpi=80)
    Image.open(buffer).convert("RGB").quantize(colours).save(path, optimize=True)
