"""C99 headers of classifiers.

A header is put together from tables of numbers and from short functions (`_c_parts`), of which it
gets those it needs. A feature is weighed as soon as it is made, so that a model of thousands of
them works in an array as long as there are classes.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from textwrap import fill, indent
from typing import Any

import numpy as np

from multiplane.exporting import _c_parts as parts
from multiplane.exporting._contents import (
    Affine,
    Contents,
    Hyperplanes,
    Kernel,
    foreign_map,
    function_names,
    projection,
)
from multiplane.models._image_maps import _FLOOR, Pairs, Pooled, pooling_matrix
from multiplane.models._least_squares import Basis, CalibratedModel, StagewiseModel, Standard
from multiplane.models._maps import (
    Chain,
    Columns,
    FeatureMap,
    Fourier,
    Logits,
    Products,
    Project,
    Same,
)

_WIDTH = 95  # of a line
_TYPES: dict[str, Any] = {"double": np.float64, "float": np.float32, "int": np.int32}
_POWERS = {"identity": 1, "square": 2, "cube": 3}
_K = "${NAME}_N_CLASSES"


def c_header(contents: Contents, name: str) -> str:
    """The text of a header whose names begin with `name`."""
    h = Header(contents, name)
    labels = _labels(h)
    row, body = "x", _body(h, contents.model)
    if contents.steps:
        row, body = "row", _prepared(h) + body
    h.use(parts.RAW, row=row, body=h.fill(body))
    h.use(parts.END)
    words = {"and_probabilities": "", "show_probabilities": ""}
    if contents.probabilities is not None:
        h.use(parts.LINKS[contents.probabilities])
        h.use(parts.PROBABILITIES, link=contents.probabilities)
        words["and_probabilities"] = ", probabilities"
        words["show_probabilities"] = h.fill(parts.SHOW_PROBABILITIES)
    if contents.multilabel:
        h.use(parts.PREDICT_LABELS, link=contents.probabilities)
    else:
        h.use(parts.PREDICT)
    h.use(parts.EXAMPLE, show_label=h.fill(_show_label(contents)), **words)
    sections = [_comment(h), h.fill(parts.BEGIN), labels, *h.tables, *h.functions]
    return "\n".join(sections) + "\n"


class Header:
    """Tables, and the functions that use them, as they come."""

    def __init__(self, contents: Contents, name: str) -> None:
        self.contents = contents
        self.real = "double" if contents.dtype is np.float64 else "float"
        self.tables: list[str] = []
        self.functions: list[str] = []
        self.n_bytes = 0  # of tables
        self.words = {
            "name": name,
            "NAME": name.upper(),
            "real": self.real,
            "f": "" if self.real == "double" else "f",
            "x": self.real if contents.steps else "float",  # rows as the model wants them
            "input": self.real if contents.steps else "float",  # what features are made from
            "n_features": str(contents.n_features),
            "n_classes": str(len(contents.labels)),
        }

    def fill(self, template: str, **words: Any) -> str:
        return Template(template).substitute(self.words, **words)

    def use(self, template: str, **words: Any) -> None:
        """Have a function in the header, once."""
        text = self.fill(template, **words)
        if text not in self.functions:
            self.functions.append(text)

    def table(self, values: Any, title: str = "", kind: str = "") -> str:
        """Have numbers in the header; returns their name."""
        kind = kind or self.real
        array = np.asarray(values).reshape(-1).astype(_TYPES[kind])
        if not np.all(np.isfinite(array)):
            raise ValueError("the numbers of a model must be finite for an export, got some others")
        name = f"{self.words['name']}_{title or f't{len(self.tables)}'}"
        words = [_number(value, kind) for value in array.tolist()]
        self.tables.append(f"static const {kind} {name}[{len(words)}] = {_braces(words)};\n")
        self.n_bytes += array.nbytes
        return name

    def number(self, value: float) -> str:
        return _number(float(_TYPES[self.real](value)), self.real)


def _number(value: float, kind: str) -> str:
    """One that is read back as the same."""
    if kind == "int":
        return str(value)
    text = f"{value:.17g}" if kind == "double" else f"{value:.9g}"
    text = text if "." in text or "e" in text else f"{text}."
    return text if kind == "double" else f"{text}f"


# --- words --------------------------------------------------------------------------------


def _comment(h: Header) -> str:
    from multiplane import __version__

    c = h.contents
    kind = "labels" if c.multilabel else "classes"
    facts = (
        f"{c.made_by}, {c.n_features} features, {len(c.labels)} {kind}: {h.n_bytes} bytes of "
        f"constants. Written by multiplane {__version__}; C99, no allocation."
    )
    usage = h.fill(parts.USAGE_OF_LABELS if c.multilabel else parts.USAGE)
    if c.probabilities is not None:
        usage += "\n" + h.fill(parts.USAGE_OF_PROBABILITIES)
    promise = parts.EXACT if c.exact else parts.CLOSE
    paragraphs = [fill(facts, _WIDTH), usage, h.fill(parts.TRY_IT), promise]
    if c.feature_names is not None:
        names = ", ".join(_quoted(name) for name in c.feature_names)
        names = names.replace("*/", "*\\057").replace("/*", "/\\052")
        paragraphs.append(fill(f"Features: {names}", _WIDTH, break_on_hyphens=False))
    text = indent("\n\n".join(paragraphs), " * ", lambda line: True)
    return "/*\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n */"


def _labels(h: Header) -> str:
    labels = h.contents.labels
    if h.contents.multilabel:  # they are their own numbers
        return ""
    kind, words = "const char *const", [_quoted(str(label)) for label in labels]
    if not isinstance(labels[0], str):
        wide = _are_wide(labels)
        kind = "const long long" if wide else "const long"
        words = [f"{label}{'LL' if wide else ''}" for label in labels]
    name = h.words["name"]
    return (
        f"static {kind} {name}_classes[{len(labels)}] = {_braces(words)};\n"
        f"/* so that compilers do not complain where labels are not looked at */\n"
        f"static inline const void *{name}_labels(void) {{ return {name}_classes; }}\n"
    )


def _are_wide(labels: Any) -> bool:
    return any(abs(label) >= 2**31 for label in labels)


def _show_label(contents: Contents) -> str:
    if contents.multilabel:
        return parts.SHOW_LABELS
    if isinstance(contents.labels[0], str):
        return parts.SHOW_TEXT
    return parts.SHOW_LONG_NUMBER if _are_wide(contents.labels) else parts.SHOW_NUMBER


def _quoted(text: str) -> str:
    """A string of C. Octal escapes: no trigraphs, and no digit can be taken for a part of one."""
    safe = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{safe}"'


def _braces(words: list[str]) -> str:
    lines = [", ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    if len(lines) == 1:
        return f"{{{lines[0]}}}"
    return "{\n  " + ",\n  ".join(lines) + "}"


# --- rows ---------------------------------------------------------------------------------


def _prepared(h: Header) -> str:
    """Lines that make x, as the model wants it, of a row; in double, rounded at the end."""
    lines = ["double z[${NAME}_N_FEATURES];", "${x} x[${NAME}_N_FEATURES];", "int i;"]
    each = "for (i = 0; i < ${NAME}_N_FEATURES; ++i)"
    lines.append(f"{each} z[i] = row[i];")
    for step in h.contents.steps:
        if isinstance(step, Affine):
            shift, factor = h.table(step.shift, kind="double"), h.table(step.factor, kind="double")
            lines.append(f"{each} z[i] = (z[i] - {shift}[i]) * {factor}[i];")
        else:
            h.use(parts.UNIT_LENGTH)
            lines.append("${name}_unit_length(z);")
    lines.append(f"{each} x[i] = (${{x}})z[i];\n")
    return indent("\n".join(lines), "  ")


# --- scores -------------------------------------------------------------------------------


def _body(h: Header, model: Any) -> str:
    """Of the function that computes scores p of a row x."""
    if isinstance(model, StagewiseModel):
        return _stagewise(h, model)
    if isinstance(model, CalibratedModel):
        return _calibrated(h, model)
    if not len(model.coef):
        return parts.NOTHING
    return _hyperplanes(h, model) if isinstance(model, Hyperplanes) else _kernel(h, model)


def _hyperplanes(h: Header, model: Hyperplanes) -> str:
    h.table(model.coef, "coef")
    h.table(model.intercept, "intercept")
    h.table(model.first, "first", "int")
    h.use(parts.FMA)
    return parts.HYPERPLANES + ("" if np.diff(model.first).all() else parts.ABSENT)


def _kernel(h: Header, model: Kernel) -> str:
    h.table(model.vectors, "vectors")
    h.table(model.coef, "coef")
    term = "(x[f] - v[f]) * (x[f] - v[f])" if model.kind == "rbf" else "x[f] * v[f]"
    words = {
        "gamma": h.number(model.gamma),
        "coef0": h.number(model.coef0),
        "degree": str(model.degree),
    }
    value = h.fill(parts.KERNEL_VALUES[model.kind], **words)
    return h.fill(parts.KERNEL, n_vectors=len(model.coef), term=term, value=value)


def _stagewise(h: Header, model: StagewiseModel) -> str:
    rows, lines = _input(h, model.input)
    h.use(parts.ADD)
    h.use(parts.COPY)
    several = len(model.sums) > 1
    lines.insert(0, f"{h.real} out[{_K}]{f', total[{_K}] = {{0}}' if several else ''};")
    lines.insert(1, "int c;")
    for stages in model.sums:
        lines.append(f"for (c = 0; c < {_K}; ++c) p[c] = 0;")
        for stage in stages:
            W, p = stage.linear.W, stage.map.n_features
            lines.append(f"${{name}}_copy({h.table(stage.linear.b)}, {_K}, out);")
            lines += _features(h, stage.map, rows, W[:p], f"{_K}, out")
            lines += _powers(h, stage.basis, h.table(W[p:]) if stage.basis else "")
            lines.append(f"for (c = 0; c < {_K}; ++c) p[c] += out[c];")
        if several:
            lines.append(f"for (c = 0; c < {_K}; ++c) total[c] += p[c];")
    if several:
        lines.append(f"for (c = 0; c < {_K}; ++c) p[c] = total[c] / {len(model.sums)};")
    return indent("\n".join(lines), "  ")


def _calibrated(h: Header, model: CalibratedModel) -> str:
    rows, lines = _input(h, model.input)
    h.use(parts.ADD)
    h.use(parts.COPY)
    rounds, project = model.rounds, projection(model)
    h.use(parts.LINKS[project])
    # Features are made once, and weighed for all rounds.
    n = f"{len(rounds)} * {_K}"
    b = h.table(np.concatenate([r.fit.b for r in rounds]))
    W = np.concatenate([r.fit.W for r in rounds], axis=1)
    lines = [f"{h.real} fits[{n}], out[{_K}];", "int c, r;", *lines]
    lines.append(f"${{name}}_copy({b}, {n}, fits);")
    lines += _features(h, model.map, rows, W, f"{n}, fits")
    b = h.table(np.concatenate([r.calibration.b for r in rounds]))
    C = h.table(np.concatenate([r.calibration.W for r in rounds]))
    k = len(h.contents.labels)
    powers = _powers(h, model.basis, f"{C} + r * {len(model.basis) * k * k}")
    lines += [
        f"for (c = 0; c < {_K}; ++c) p[c] = 0;",
        f"for (r = 0; r < {len(rounds)}; ++r) {{",
        f"  if (r) ${{name}}_{project}(p);",
        f"  for (c = 0; c < {_K}; ++c) {{",
        f"    p[c] += fits[r * {_K} + c];",
        "    p[c] = p[c] < -1 ? -1 : p[c] > 2 ? 2 : p[c];",
        "  }",
        f"  ${{name}}_copy({b} + r * {_K}, {_K}, out);",
        *(f"  {line}" for line in powers),
        f"  for (c = 0; c < {_K}; ++c) p[c] += out[c];",
        "}",
    ]
    return indent("\n".join(lines), "  ")


def _powers(h: Header, basis: Basis, W: str) -> list[str]:
    """Functions of the predictions so far, weighed by the rows of W."""
    if basis:
        h.use(parts.POWERS)
    k = len(h.contents.labels)
    return [
        f"${{name}}_powers(p, {_POWERS[function]}, {W} + {i * k * k}, out);"
        for i, function in enumerate(function_names(basis))
    ]


# --- feature maps -------------------------------------------------------------------------


def _input(h: Header, map: FeatureMap) -> tuple[str, list[str]]:
    """What features are made from, and the lines that make it."""
    if type(map) is Same:
        return "x", []
    if type(map) is not Project:
        raise foreign_map(map)
    n_axes = map.n_features
    axes, mean = h.table(map.axes.T), h.table(map.mean)
    h.use(parts.PROJECT, axes=axes, mean=mean, n_axes=n_axes)
    h.words["input"] = h.real
    return "u", [f"{h.real} u[{n_axes}];", "${name}_project(x, u);"]


def _features(h: Header, map: FeatureMap, rows: str, W: Any, to: str) -> list[str]:
    """Lines that make features of rows, weigh them by W (p, n) and add them to n numbers.

    `to` is how the latter are handed to a function: "n, array".
    """
    if type(map) not in _MAPS:
        raise foreign_map(map)
    return _MAPS[type(map)](h, map, rows, W, to)


def _standard(h: Header, map: Standard, rows: str, W: Any, to: str) -> list[str]:
    h.use(parts.STANDARD)
    shift, scale = h.table(map.shift), h.table(map.scale)
    arguments = f"{rows}, {map.n_features}, {shift}, {scale}, {h.table(W)}, {to}"
    return [f"${{name}}_standard({arguments});"]


def _columns(h: Header, map: Columns, rows: str, W: Any, to: str) -> list[str]:
    h.use(parts.COLUMNS)
    columns = h.table(map.columns, kind="int")
    return [f"${{name}}_columns({rows}, {map.n_features}, {columns}, {h.table(W)}, {to});"]


def _fourier(h: Header, map: Fourier, rows: str, W: Any, to: str) -> list[str]:
    h.use(parts.DOT)
    h.use(parts.FOURIER)
    d, cosines = map.weights.shape
    pairs = np.arange(2 * cosines).reshape(2, cosines).T.reshape(-1)
    W = W[pairs[pairs < map.n_features]]  # a cosine's weights, its sine's, the next cosine's …
    scale, w = h.number(np.sqrt(2 / map.n_features)), h.table(map.weights.T)
    arguments = f"{rows}, {d}, {cosines}, {map.n_sines}, {scale}, {w}, {h.table(W)}, {to}"
    return [f"${{name}}_fourier({arguments});"]


def _logits(h: Header, map: Logits, rows: str, W: Any, to: str) -> list[str]:
    h.use(parts.DOT)
    h.use(parts.LOGITS)
    d, m = map.weights.shape
    w, b = h.table(map.weights.T), h.table(map.offsets)
    return [f"${{name}}_logits({rows}, {d}, {m}, {w}, {b}, {h.table(W)}, {to});"]


def _products(h: Header, map: Products, rows: str, W: Any, to: str) -> list[str]:
    h.use(parts.DOT)
    h.use(parts.PRODUCTS)
    d, m = len(map.weights), map.n_features
    factors = np.arange(map.degree * m).reshape(map.degree, m).T.reshape(-1)  # of a product
    w, b = h.table(map.weights.T[factors]), h.table(map.offsets[factors])
    arguments = f"{rows}, {d}, {m}, {map.degree}, {w}, {b}, {h.table(W)}, {to}"
    return [f"${{name}}_products({arguments});"]


def _patches(h: Header, map: Chain, rows: str, W: Any, to: str) -> list[str]:
    pooled, pairs = map.first, map.then
    if type(pooled) is not Pooled or type(pairs) is not Pairs:
        raise foreign_map(map)
    _use_pool(h, pooled)
    h.use(parts.PAIRS)
    m, kept = pooled.filters.shape[1], len(pairs.kept)
    filters, high, low = h.table(pooled.filters.T), h.table(pooled.high), h.table(pooled.low)
    mean, scale, which = h.table(pairs.mean), h.table(pairs.scale), h.table(pairs.kept, kind="int")
    lines = [
        "{",
        f"  {h.real} q[{pooled.n_features}];",
        f"  ${{name}}_pool(x, {m}, {filters}, {high}, {low}, q);",
        f"  ${{name}}_pairs(q, {pooled.n_features}, {mean}, {scale}, {kept}, {which}, "
        f"{h.table(W[:kept])}, {to});",
    ]
    if len(pairs.left):
        h.use(parts.MULTIPLIED)
        left, right = h.table(pairs.left, kind="int"), h.table(pairs.right, kind="int")
        mean, scale = h.table(pairs.product_mean), h.table(pairs.product_scale)
        lines.append(
            f"  ${{name}}_multiplied(q, {len(pairs.left)}, {left}, {right}, {mean}, {scale}, "
            f"{h.table(W[kept:])}, {to});"
        )
    return [*lines, "}"]


def _use_pool(h: Header, map: Pooled) -> None:
    """All blocks of features have the same geometry: one function, one table of shares."""
    if any("_pool(" in text for text in h.functions):
        return
    g = map.geometry
    words: dict[str, Any] = {
        "inputs": g.inputs,
        "cells": g.pool**2,
        "sides": 1 + map.mirror,
        "down": g.grid[0],
        "across": g.grid[1],
        "pool": g.pool,
        "patch": g.patch,
        "stride": g.stride,
        "width": g.width,
        "channels": g.channels,
        "shift": h.number(map.shift),
        "floor": h.number(_FLOOR),
    }
    # What one patch counts in the average of its cell.
    words["share"] = h.table(pooling_matrix(g).max(axis=1) / words["sides"])
    words["contrast"] = words["root"] = ""
    if map.flat is not None:
        words["contrast"] = h.fill(parts.CONTRAST, flat=h.number(map.flat), **words)
    if map.root:
        words["root"] = h.fill(parts.ROOT, **words)
    h.use(parts.POOL, **words)


_MAPS: dict[type, Callable[[Header, Any, str, Any, str], list[str]]] = {
    Standard: _standard,
    Columns: _columns,
    Fourier: _fourier,
    Logits: _logits,
    Products: _products,
    Chain: _patches,
}
