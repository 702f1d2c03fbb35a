"""Damages model files and reads them, under a limit on memory: `python fuzz_model_files.py SEED N`.

A damaged file is either refused with ModelFileError or gives a model that predicts. Prints how many
of each there were; whatever else happens ends the process with an error.
"""

import contextlib
import copy
import io
import json
import random
import resource
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
from model_files import FOLDER

import multiplane
from multiplane.models._container import packed, unpacked

ODD = [None, True, False, -1, 0, 1, 3, 7, 2**31, 2**53, 2**63, 2**70, 0.5, -1e30, 1e308, "", "x"]
ODD += ["é" * 300, [], {}, [[]], {"array": "model"}, {"dict": {}}, {"tuple": []}, {"float": "nan"}]
ODD += [{"words": {"dtype": "<U999999", "values": ["a"] * 9}}, {"float": "inf"}, "rbf", "project"]


def nodes(tree, path=()):
    """Paths of all parts of a document."""
    yield path
    if isinstance(tree, dict | list):
        for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from nodes(part, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def bytes_changed(dice, data, others):
    """Bits, cuts and pieces of other files."""
    kind, data = dice.randrange(5), bytearray(data)
    where = dice.randrange(len(data))
    if kind == 0:
        for _ in range(dice.randint(1, 20)):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    elif kind == 1:
        del data[where:]
    elif kind == 2:
        data[where : where + 64] = dice.choice([b"\0", b"\xff", b"9"]) * 64
    elif kind == 3:
        data[where:] = dice.choice(others)[where:]
    else:
        data[: dice.randrange(9)] = dice.randbytes(8)
    return bytes(data)


def header_changed(dice, data, others):
    """Shapes, types and offsets that the container itself holds."""
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n])
    name = dice.choice([name for name in header if name != "__metadata__"])
    part = header[name]
    kind = dice.randrange(4)
    if kind == 0:
        part["shape"] = [dice.choice([0, 1, 2**31, 2**62, *part["shape"]]) for _ in range(2)]
    elif kind == 1:
        part["dtype"] = dice.choice(["F16", "BF16", "F8_E4M3", "I32", "U64", "F64", "BOOL", "X"])
    elif kind == 2:
        part["data_offsets"] = [dice.choice([0, 4, 2**40]), dice.choice([4, 8, 2**62])]
    else:
        header["other"] = header.pop(name)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + n :]


def document_changed(dice, data, others):
    """Values of the document, under a checksum that fits."""
    document, arrays = unpacked(data)
    for _ in range(dice.choice([1, 1, 1, 3])):
        path = dice.choice([path for path in nodes(document) if path])
        parent, key = at(document, path[:-1]), path[-1]
        kind = dice.randrange(8)
        if kind == 0:
            del parent[key]
        elif kind == 1 and isinstance(parent, dict):
            parent[dice.choice(["x", "alpha", "t_", "__class__", "_training"])] = parent[key]
        elif kind == 2:
            whole, _ = unpacked(dice.choice(others))
            parent[key] = at(whole, dice.choice(list(nodes(whole))))
        elif kind == 3:
            deep = []
            for _ in range(dice.choice([50, 300])):
                deep = [deep]
            parent[key] = deep
        elif isinstance(parent[key], int | float) and dice.random() < 0.5:
            parent[key] = dice.choice([-parent[key], parent[key] + 1, parent[key] * 1000])
        else:
            parent[key] = copy.deepcopy(dice.choice(ODD))
    return repacked(document, arrays)


def arrays_changed(dice, data, others):
    """Shapes, types and values of arrays, under a checksum that fits."""
    document, arrays = unpacked(data)
    name = dice.choice(sorted(arrays))
    array, kind = arrays[name].copy(), dice.randrange(8)
    if kind == 0:
        array = array.reshape(-1)
    elif kind == 1:
        array = array.T
    elif kind == 2:
        array = array[: len(array) // 2]
    elif kind == 3:
        array = np.concatenate([array, array])
    elif kind == 4:
        array = array.astype(dice.choice(["f4", "f8", "i4", "i8", "u1", "?"]))
    elif kind == 5:
        del arrays[name]
        arrays["model" if dice.random() < 0.5 else name + "x"] = array
        return repacked(document, arrays)
    elif array.size:
        odd = {"f": [np.nan, np.inf, 0, -1, 1, 3e38, 1e30], "i": [-1, 0, 3, 127]}
        array.flat[dice.randrange(array.size)] = dice.choice(odd.get(array.dtype.kind, [0, 1]))
    arrays[name] = array
    return repacked(document, arrays)


def repacked(document, arrays):
    try:
        return packed(document, arrays)
    except (ValueError, RecursionError, TypeError):  # not even JSON
        return b""


DAMAGE = (bytes_changed, header_changed, document_changed, document_changed, arrays_changed)


def outcome(data, damage):
    try:
        model = multiplane.load(io.BytesIO(data))
    except multiplane.ModelFileError:
        try:  # where the fault is in what prediction does not need
            model = multiplane.compile(io.BytesIO(data))
        except multiplane.ModelFileError:
            return "refused"
    X = np.random.RandomState(0).randn(5, model.n_features_in_).astype(np.float32)
    forged = damage not in (bytes_changed, header_changed)  # its numbers may be absurd
    try:
        labels, scores = model.predict(X), model.decision_function(X)
    except ValueError as error:
        if forged and "contains a value" in str(error):  # so large are rows after scaling
            return "read"
        raise
    assert len(labels) == len(scores) == 5
    assert forged or np.all(np.isfinite(scores))
    if hasattr(model, "partial_fit"):
        with contextlib.suppress(ValueError, TypeError):  # parameters are not all checked
            model.partial_fit(X, np.resize(model.classes_, 5))
    return "read"


def main(seed, n):
    dice = random.Random(seed)
    files = [path.read_bytes() for path in sorted(FOLDER.glob("*/*.mpl"))]
    for data in files:  # all that is imported later is imported now
        assert outcome(data, bytes_changed) == "read"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    counts = {"refused": 0, "read": 0}
    for number in range(n):
        damage = dice.choice(DAMAGE)
        data = damage(dice, dice.choice(files), files)
        try:
            counts[outcome(data, damage)] += 1
        except BaseException:
            traceback.print_exc()
            raise SystemExit(f"file {number} of seed {seed}: {damage.__name__}") from None
    print(counts)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
