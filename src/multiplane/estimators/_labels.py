"""Labels of any kind, as codes 0 … n_classes − 1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]
Codes = NDArray[np.int32]

MOST_CLASSES = 100_000  # every row is scored by every class: with more, nobody means classes


def encode(y: Labels) -> tuple[Labels, Codes]:
    """Sorted classes and codes. Small whole numbers are counted, not sorted: ten times faster."""
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        if high - low <= 4 * len(y):
            # Signed differences can overflow a narrow type, unsigned ones cannot.
            wide = y if y.dtype.kind == "u" else y.astype(np.int64, copy=False)
            shifted = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
            present = np.bincount(shifted) > 0
            code = np.cumsum(present, dtype=np.int32) - np.int32(1)
            classes = np.flatnonzero(present).astype(wide.dtype) + wide.dtype.type(low)
            return classes.astype(y.dtype), code[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def check_number(classes: Labels) -> None:
    """Refuse what cannot be classes before memory is asked for."""
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"y has {len(classes):,} classes, and at most {MOST_CLASSES:,} can be told apart; are "
            f"these the targets of a regression, or the numbers of the rows?"
        )


def check_several(classes: Labels, who: Any, where: str = "the data") -> None:
    if len(classes) < 2:
        raise ValueError(
            f"{type(who).__name__} needs examples of at least two classes; {where} contains only "
            f"one class: {classes[0]}"
        )


def ranks(codes: Codes) -> NDArray[np.int64]:
    """How many rows of its class come before each row."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    return rank


def find(y: Labels, classes: Labels) -> Codes:
    """Codes of known labels, -1 for others."""
    if not _alike(y, classes):
        return np.full(len(y), -1, dtype=np.int32)
    position = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    return np.where(classes[position] == y, position, -1).astype(np.int32)


def codes_of(y: Labels, classes: Labels, advice: str) -> Codes:
    """Codes of labels that have to be known."""
    codes = find(y, classes)
    if np.any(codes < 0):
        labels = np.unique(y[codes < 0])
        shown = ", ".join(map(repr, labels[:5].tolist())) + (", …" if len(labels) > 5 else "")
        raise ValueError(
            f"y contains labels that are not among the known classes: {shown}; {advice}"
        )
    return codes


def check_alike(y: Labels, classes: Labels) -> None:
    """Numbers and words cannot be sorted together."""
    joint = np.result_type(y, classes) if _alike(y, classes) else None
    whole = y.dtype.kind in "iu" and classes.dtype.kind in "iu"
    if joint is None or (whole and joint.kind == "f"):  # int64 and uint64 meet in float64
        raise ValueError(
            f"y has labels of type {y.dtype}, but the known classes have type {classes.dtype}; "
            f"convert them to one type"
        )


def _alike(a: Labels, b: Labels) -> bool:
    def are_words(x: Labels) -> bool:
        first = x[:1].tolist() if x.dtype.kind == "O" else []
        return x.dtype.kind in "US" or isinstance(next(iter(first), None), str)

    return are_words(a) == are_words(b)


def stretches(y: Labels, classes: Labels) -> Iterator[tuple[slice, Labels]]:
    """Cut y where a new label comes for the first time: (rows, classes known from there on)."""
    labels, first = np.unique(y, return_index=True)
    new = find(labels, classes) < 0
    order = np.argsort(first[new])
    cuts = [0, *first[new][order].tolist(), len(y)]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        if number:
            classes = np.union1d(classes, labels[new][order][number - 1 : number])
        if stop > start:
            yield slice(start, stop), classes
