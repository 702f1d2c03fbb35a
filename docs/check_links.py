"""Whether all links of a built site lead somewhere: files and anchors; nothing is fetched.

python docs/check_links.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken(root: Path) -> list[str]:
    pages = {
        path.resolve(): Page(path)
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{path.relative_to(root.resolve())}: no file {link}")
                continue
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in anchors:
                found.append(f"{path.relative_to(root.resolve())}: no anchor {link}")
    return found


def main() -> None:
    found = broken(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(f"{len(found)} links lead nowhere" if found else None)


if __name__ == "__main__":
    main()
