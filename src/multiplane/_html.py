"""HTML by hand. What comes from outside becomes text here, and nowhere else."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # no part of an HTML page


class Markup(str):
    """HTML that is what it should be: it is not escaped again."""


def text(value: object) -> Markup:
    """As it is to be read."""
    return value if isinstance(value, Markup) else Markup(escape(_UNSEEN.sub("\ufffd", str(value))))


def shortened(words: str, most: int) -> str:
    """Cut in the middle: names often begin alike."""
    half = (most - 1) // 2
    return words if len(words) <= most else f"{words[:half]}…{words[-half:]}"


def table(columns: Sequence[object], rows: Iterable[Sequence[object]], kind: str = "") -> Markup:
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    start = f'<table class="{kind}">' if kind else "<table>"
    return Markup(f"{start}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def data_uri(png: bytes) -> str:
    """A picture that needs no file of its own."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
