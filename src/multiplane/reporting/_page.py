"""The page: sections between a head and a foot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from multiplane._html import Markup, text

# Nothing may be loaded and nothing may run, whatever a label holds.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #59616c; --line: #e2e5e9;
  --wash: #f5f6f8; --a: #0b62a8; --b: #b8440f; --c: #0f766e; --d: #7040c4; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e4e7eb; --soft: #a1a9b4;
  --line: #2d3238; --wash: #1c2024; --a: #6cb2f0; --b: #f0925e; --c: #4fc3b5; --d: #b79cf5; } }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444;
  --line: #ccc; --wash: #f5f6f8; --a: #0b62a8; --b: #b8440f; --c: #0f766e; --d: #7040c4; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 3.5rem 1.25rem 5rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "Liberation Sans", sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: clamp(1.6rem, 6vw, 2.4rem); line-height: 1.15; letter-spacing: -0.02em;
  font-weight: 650; }
h2 { margin: 0 0 0.4rem; font-size: 1.35rem; letter-spacing: -0.01em; font-weight: 620; }
h3 { margin: 1.75rem 0 0.6rem; font-size: 1rem; font-weight: 620; }
p { margin: 0 0 1rem; max-width: 42rem; text-wrap: pretty; }
a { color: var(--a); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
:focus-visible { outline: 2px solid var(--a); outline-offset: 2px; }
header p, .lead, .note, footer { color: var(--soft); }
header p { margin: 0.6rem 0 0; }
.over { margin: 0 0 0.75rem; font-size: 0.8rem; letter-spacing: 0.09em; text-transform: uppercase; }
.note, footer { font-size: 0.875rem; }
nav ul, .keys { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0; padding: 0;
  list-style: none; font-size: 0.875rem; }
nav { margin: 2rem 0 0; padding: 0.75rem 0; border-block: 1px solid var(--line); }
nav a { text-decoration: none; }
section { margin-top: 4rem; scroll-margin-top: 1rem; }
footer { margin-top: 5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.facts { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 2rem 0 0; }
.facts div { flex: 1 1 8.75rem; padding: 0.9rem 1rem; border-radius: 0.6rem;
  background: var(--wash); }
.facts dt { font-size: 0.875rem; color: var(--soft); }
.facts dd { margin: 0; }
.facts .value { font-size: 1.4rem; line-height: 1.4; font-weight: 620; letter-spacing: -0.01em;
  white-space: nowrap; }
.facts .more { font-size: 0.8125rem; line-height: 1.4; color: var(--soft); }
.scroll { overflow-x: auto; margin: 0 0 1rem; max-width: 100%; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.45; }
th, td { padding: 0.4rem 1.1rem 0.4rem 0; text-align: right; vertical-align: middle;
  border-bottom: 1px solid var(--line); white-space: nowrap; unicode-bidi: isolate; }
th { font-weight: 500; color: var(--soft); }
th:first-child, td:first-child, .words th, .words td, .pairs :nth-child(2) { text-align: left; }
td:first-child { white-space: normal; min-width: 4.5rem; }
table { overflow-wrap: break-word; }
.words td { white-space: normal; min-width: 5rem; max-width: 26rem; }
.words td:last-child { overflow-wrap: anywhere; min-width: 9rem; }
@media (max-width: 30rem) { body { padding-top: 2rem; } th, td { padding-right: 0.7rem; }
  section { margin-top: 3rem; } }
details { margin: 0 0 1rem; }
summary { cursor: pointer; padding: 0.35rem 0; font-size: 0.875rem; color: var(--a); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
  gap: 1.75rem 2.5rem; margin: 1.25rem 0; align-items: start; }
.beside { display: flex; flex-wrap: wrap; gap: 0.5rem 3rem; align-items: start; }
.beside > div { max-width: 100%; }
.beside h3:first-child { margin-top: 0; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
.chart { max-width: 30rem; }
figcaption { margin-bottom: 0.4rem; font-size: 0.875rem; color: var(--soft); }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--soft); font-size: 11px; }
.scroll svg { overflow: hidden; }
.middle, .number { text-anchor: middle; }
.end { text-anchor: end; }
svg .number { fill: var(--ink); font-size: 10.5px; }
.grid, .axis { stroke: var(--line); fill: none; }
.axis { stroke: var(--soft); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.s0 { stroke: var(--a); }
.line.s1 { stroke: var(--b); stroke-dasharray: 6 4; }
.line.s2 { stroke: var(--c); stroke-dasharray: 2 4; }
.line.s3 { stroke: var(--d); stroke-dasharray: 9 3 2 3; }
.dot.s0 { fill: var(--a); } .dot.s1 { fill: var(--b); }
.dot.s2 { fill: var(--c); } .dot.s3 { fill: var(--d); }
.key { display: inline-block; width: 22px; height: 8px; margin-right: 0.5rem; }
.keys { margin-top: 0.5rem; color: var(--soft); }
.swatch { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.45em;
  border-radius: 50%; vertical-align: -0.05em; }
.cell { fill: var(--wash); }
.right, .plus { fill: var(--a); } .wrong, .minus { fill: var(--b); }
.point { stroke: var(--paper); stroke-width: 0.6; }
.missed { stroke: var(--ink); stroke-width: 1.4; }
.pixels { image-rendering: pixelated; }
.planes { display: grid; grid-template-columns: repeat(auto-fill, minmax(4rem, 1fr));
  gap: 0.9rem 0.75rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.planes img { display: block; width: 100%; border: 1px solid var(--line); border-radius: 0.3rem; }
.planes span { display: block; margin-top: 0.25rem; font-size: 0.75rem; line-height: 1.35;
  color: var(--soft); }
.planes b { display: block; color: var(--ink); font-size: 0.875rem; font-weight: 620; }
@media print { body { padding: 0; max-width: none; font-size: 10pt; } nav { display: none; }
  section { margin-top: 2rem; } h2, h3 { break-after: avoid; } tr, li { break-inside: avoid; }
  .scroll { overflow: visible; } * { print-color-adjust: exact; } }
"""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence that says how to read what follows, and what follows."""

    title: str
    lead: str
    body: Markup

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z]+", "-", self.title.lower()).strip("-")

    def html(self) -> str:
        return (
            f'<section id="{self.anchor}" aria-labelledby="{self.anchor}-title">'
            f'<h2 id="{self.anchor}-title">{text(self.title)}</h2>'
            f'<p class="lead">{text(self.lead)}</p>{self.body}</section>'
        )


@dataclass(frozen=True)
class Fact:
    """A number that stands out."""

    name: str
    value: str
    more: str = ""

    def html(self) -> str:
        return (
            f'<div><dt>{text(self.name)}</dt><dd class="value">{text(self.value)}</dd>'
            f'<dd class="more">{text(self.more)}</dd></div>'
        )


def page(
    title: str, subtitle: str, facts: Sequence[Fact], sections: Sequence[Section], foot: str
) -> str:
    # A long name in one word may be broken before its capitals.
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", text(title))
    links = "".join(f'<li><a href="#{s.anchor}">{text(s.title)}</a></li>' for s in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head>\n<body>"
        f'<header><p class="over">multiplane report</p><h1>{name}</h1>'
        f"<p>{text(subtitle)}</p></header>"
        f'<main><dl class="facts">{"".join(fact.html() for fact in facts)}</dl>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        + "\n".join(section.html() for section in sections)
        + f"</main>\n<footer>{text(foot)}</footer></body></html>\n"
    )


def scrolling(table: str) -> Markup:
    """A table in a box of its own, so that the page itself never scrolls sideways."""
    return Markup(
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{table}</div>'
    )


def folded(summary: str, body: str) -> Markup:
    return Markup(f"<details><summary>{text(summary)}</summary>{body}</details>")


def heading(words: str) -> Markup:
    return Markup(f"<h3>{text(words)}</h3>")


def charts(pictures: Sequence[str]) -> Markup:
    return Markup(f'<div class="charts">{"".join(pictures)}</div>')


def beside(*parts: str) -> Markup:
    """Next to each other where there is room."""
    return Markup(f'<div class="beside">{"".join(f"<div>{part}</div>" for part in parts)}</div>')


def note(words: str) -> Markup:
    return Markup(f'<p class="note">{text(words)}</p>')
