"""The reader of native/libsvm.cpp again, a line at a time: regular expressions, fractions."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+")
INT64 = range(-(2**63), 2**63)
LIMIT = 2**128 - 2**103  # from here on the nearest float32 is infinite


class FaultError(Exception):
    pass


def nearest(text):
    """The float32 nearest to a decimal number, ties to even: by fractions, without a detour."""
    if not NUMBER.fullmatch(text):
        raise FaultError
    size = Decimal(text).adjusted() if Decimal(text) else 0
    if size < -60 or not Decimal(text):
        return np.float32(-0.0 if text[0] == "-" else 0.0)
    if size > 60 or abs(Fraction(text)) >= LIMIT:
        raise FaultError
    exact = Fraction(text)
    with np.errstate(over="ignore"):
        guess = np.float32(float(exact))
        guess = np.clip(guess, *(np.finfo(np.float32).max * np.float32([-1, 1])))
        around = [guess, *(np.nextafter(guess, np.float32(side)) for side in (-np.inf, np.inf))]
    found = min(
        (x for x in around if np.isfinite(x)),
        key=lambda x: (abs(Fraction(float(x)) - exact), x.view(np.uint32) & 1),
    )
    return np.copysign(found, np.float32(-1 if text[0] == "-" else 1))


def label(text, multilabel):
    if not NUMBER.fullmatch(text):
        raise FaultError
    if WHOLE.fullmatch(text) and int(text) in INT64:
        number = int(text)
    else:
        value = float(text)
        vanished = value == 0 and re.search("[1-9]", re.split("[eE]", text)[0])
        if vanished or not abs(value) < 9e15 or value != int(value):
            raise FaultError
        number = int(value)
    if multilabel and not 0 <= number < 2**24:
        raise FaultError
    return number


def row(line, zero_based=False, multilabel=False, n_features=0, drop_beyond=False):
    """Labels and {index: value} of one line; None for an empty one."""
    tokens = [t for t in re.split(r"[ \t\r\v\f]+", line.split("#")[0]) if t]
    if not tokens:
        return None
    labels = []
    if not (multilabel and ":" in tokens[0]):
        words = tokens.pop(0).split(",")
        if len(words) > 1 and not multilabel:
            raise FaultError
        labels = [label(word, multilabel) for word in words]
    entries = {}
    for token in tokens:
        name, colon, value = token.partition(":")
        if name == "qid" and not entries:
            if not re.fullmatch("-?[0-9]+", value) or int(value) not in INT64:
                raise FaultError
            continue
        if not colon or not re.fullmatch("[0-9]+", name):
            raise FaultError
        index, number = int(name) - (not zero_based), nearest(value)
        if not 0 <= index <= 2**31 - 2:
            raise FaultError
        if n_features and index >= n_features:
            if not drop_beyond:
                raise FaultError
            continue
        if index in entries:
            raise FaultError
        entries[index] = number
    return labels, dict(sorted(entries.items()))


def rows(text, **rules):
    """(rows, numbers of the malformed lines) of all lines."""
    found, faults = [], []
    for number, line in enumerate(text.decode("latin-1").split("\n")):
        try:
            one = row(line, **rules)
        except FaultError:
            faults.append(number)
        else:
            found += [] if one is None else [one]
    return found, faults
