"""ONNX graphs of classifiers.

Only operators of the default domain, as they stand in opset 13, which every runtime of the last
years reads. Scores are computed in the type of float that the model was trained in; rows come in
and scores go out as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from multiplane.exporting._contents import (
    Affine,
    Contents,
    Hyperplanes,
    Kernel,
    UnitLength,
    foreign_map,
    function_names,
    projection,
)
from multiplane.models._image_maps import _FLOOR, Pairs, Pooled, patch_columns, pooling_matrix
from multiplane.models._least_squares import (
    Basis,
    CalibratedModel,
    StagewiseModel,
    Standard,
)
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

OPSET, IR_VERSION = 13, 7  # ONNX 1.8, onnxruntime 1.6: of the year 2020
_MOST_BYTES = 2**31 - 1  # of a protobuf message


class Graph:
    """Nodes and constants, as they come. Values are names; arrays become constants.

    ``g("Add", x, 1.0)`` adds a node and returns the name of what it computes.
    """

    def __init__(self, dtype: Any) -> None:
        import onnx

        self.onnx = onnx
        self.dtype = np.dtype(dtype)  # of plain numbers, and of arrays of floats
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}  # what is in them → tensors
        self.n_bytes = 0

    def __call__(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self.nodes)}"
        # TopK has a second output, which nobody needs.
        outputs = [output, f"{output}_index"] if operator == "TopK" else [output]
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, outputs, **attributes))
        return output

    def constant(self, value: Any) -> str:
        """Its name; what is there already is used again."""
        array = np.asarray(value)
        if array.dtype.kind in "fi":
            array = array.astype(self.dtype if array.dtype.kind == "f" else np.int64)
        key = (array.shape, array.dtype.str, sha256(array.tobytes()).digest())
        if key not in self.constants:
            self.n_bytes += array.nbytes
            if self.n_bytes > _MOST_BYTES:
                raise ValueError(
                    "an ONNX file holds at most 2 GB, and the model has more numbers than that; "
                    "train one with fewer features, stages or hyperplanes"
                )
            self.constants[key] = self._tensor(array, f"c{len(self.constants)}")
        return str(self.constants[key].name)

    def _tensor(self, array: Any, name: str) -> Any:
        if array.dtype.kind != "U":
            return self.onnx.numpy_helper.from_array(array, name)
        words = [word.encode() for word in array.tolist()]
        text = self.onnx.TensorProto.STRING
        return self.onnx.helper.make_tensor(name, text, array.shape, words)

    def cast(self, value: str, dtype: Any, **attributes: Any) -> str:
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self("Cast", value, to=to, **attributes)

    def columns(self, value: str, first: int, last: int) -> str:
        """Those from `first` to before `last`."""
        return self("Slice", value, np.array([first]), np.array([last]), np.array([1]))


def onnx_model(contents: Contents, name: str) -> Any:
    """A ModelProto: X (n, n_features) to label, probabilities (if there are) and scores."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            'export to ONNX needs the package onnx: pip install "multiplane[onnx]"'
        ) from error
    from multiplane import __version__

    g = Graph(np.float64)
    x = _prepared(g, contents.steps)
    if contents.steps or contents.dtype is not np.float32:
        x = g.cast(x, contents.dtype)
    g.dtype = np.dtype(contents.dtype)
    n_classes = len(contents.labels)
    scores = _scores(g, contents.model, x, n_classes, contents.n_features)

    describe, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    outputs = [describe("scores", kinds.FLOAT, ["n", n_classes])]
    g.cast(scores, np.float32, output="scores")
    P = ""
    if contents.probabilities is not None:
        P = _LINKS[contents.probabilities](g, scores, n_classes)
        g.cast(P, np.float32, output="probabilities")
        outputs.insert(0, describe("probabilities", kinds.FLOAT, ["n", n_classes]))
    if contents.multilabel:
        g.cast(g("GreaterOrEqual", P, 0.5), np.int64, output="label")
        outputs.insert(0, describe("label", kinds.INT64, ["n", n_classes]))
    else:
        code = g("ArgMax", scores, axis=1, keepdims=0)  # the first among equals
        g("Gather", np.asarray(contents.labels), code, axis=0, output="label")
        kind = kinds.STRING if isinstance(contents.labels[0], str) else kinds.INT64
        outputs.insert(0, describe("label", kind, ["n"]))

    helper = onnx.helper
    inputs = [describe("X", kinds.FLOAT, ["n", contents.n_features])]
    graph = helper.make_graph(g.nodes, name, inputs, outputs, list(g.constants.values()))
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="multiplane",
        producer_version=__version__,
    )
    facts = {"producer": "multiplane", "version": __version__, "estimator": contents.made_by}
    helper.set_model_props(model, facts)
    return model


def _prepared(g: Graph, steps: tuple[Affine | UnitLength, ...]) -> str:
    """Rows as the model wants them, in float64."""
    x = g.cast("X", np.float64) if steps else "X"
    for step in steps:
        if isinstance(step, Affine):
            x = g("Mul", g("Sub", x, step.shift), step.factor)
        else:
            square = g("ReduceSum", g("Mul", x, x), np.array([1]), keepdims=1)
            x = g("Div", x, g("Sqrt", g("Max", square, np.finfo(np.float64).tiny)))
    return x


def _scores(g: Graph, model: Any, x: str, n_classes: int, n_features: int) -> str:
    if isinstance(model, StagewiseModel):
        return _stagewise(g, model, x)
    if isinstance(model, CalibratedModel):
        return _calibrated(g, model, x)
    if not len(model.coef):  # nothing has been learnt yet
        return g("MatMul", x, np.zeros((n_features, n_classes)))
    return _highest(g, model, x) if isinstance(model, Hyperplanes) else _kernel(g, model, x)


# --- hyperplanes and kernels --------------------------------------------------------------


def _highest(g: Graph, model: Hyperplanes, x: str) -> str:
    """The highest score among the hyperplanes of each class.

    Classes with about the same number of hyperplanes, from 2ⁱ to 2ⁱ⁺¹ − 1, are reduced together:
    some of their scores are there twice, which a maximum does not mind. So there are a few nodes,
    and at most twice the numbers, however many classes there are and however they differ.
    """
    scores = g("Gemm", x, model.coef, model.intercept, transB=1)
    counts = np.diff(model.first)
    place = np.empty(len(counts), dtype=np.int64)  # of a class among the maxima
    parts: list[str] = []
    n_placed = 0
    for bits in range(int(counts.max()).bit_length()):
        classes = np.flatnonzero((counts >= 2**bits) & (counts < 2 ** (bits + 1)))
        if not len(classes):
            continue
        width = counts[classes].max()
        lanes = model.first[classes, None] + np.arange(width) % counts[classes, None]
        parts.append(g("ReduceMax", g("Gather", scores, lanes, axis=1), axes=[2], keepdims=0))
        place[classes] = n_placed + np.arange(len(classes))
        n_placed += len(classes)
    highest = g("Concat", *parts, axis=1)
    if not counts.all():
        # A class without hyperplanes gets a little less than the lowest: it never wins.
        lowest = g("ReduceMin", highest, axes=[1], keepdims=1)
        ulp = g("Add", g("Mul", g("Abs", lowest), 2.0**-23), 1e-37)
        highest = g("Concat", highest, g("Sub", lowest, ulp), axis=1)
        place[counts == 0] = n_placed
    return g("Gather", highest, place, axis=1)


def _kernel(g: Graph, model: Kernel, x: str) -> str:
    V = model.vectors
    if model.kind == "rbf":
        wide = V.astype(np.float64)
        squares = g("ReduceSum", g("Mul", x, x), np.array([1]), keepdims=1)
        distances = g("Add", squares, (wide**2).sum(axis=1))
        distances = g("Add", distances, g("MatMul", x, -2 * V.T))
        values = g("Exp", g("Mul", g("Max", distances, 0.0), -model.gamma))
    else:
        values = g("MatMul", x, V.T)
        if model.kind != "linear":
            values = g("Add", g("Mul", values, model.gamma), model.coef0)
        if model.kind == "poly":
            values = g("Pow", values, float(model.degree))
        elif model.kind == "sigmoid":
            values = g("Tanh", values)
    return g("MatMul", values, model.coef)


# --- least squares ------------------------------------------------------------------------


def _expand(g: Graph, basis: Basis, P: str) -> list[str]:
    """Functions of the predictions, entry by entry."""
    ways: dict[str, Callable[[], str]] = {
        "identity": lambda: P,
        "square": lambda: g("Mul", P, P),
        "cube": lambda: g("Mul", g("Mul", P, P), P),
    }
    return [ways[name]() for name in function_names(basis)]


def _stagewise(g: Graph, model: StagewiseModel, x: str) -> str:
    rows = _features(g, model.input, x)
    total = ""
    for stages in model.sums:
        P = ""
        for stage in stages:
            F, W = _features(g, stage.map, rows), stage.linear.W
            if stage.basis and P:
                F = g("Concat", F, *_expand(g, stage.basis, P), axis=1)
            elif stage.basis:  # functions of zero are zero
                W = W[: stage.map.n_features]
            added = g("Gemm", F, W, stage.linear.b)
            P = g("Add", P, added) if P else added
        total = g("Add", total, P) if total else P
    return g("Div", total, float(len(model.sums))) if len(model.sums) > 1 else total


def _calibrated(g: Graph, model: CalibratedModel, x: str) -> str:
    F = _features(g, model.map, _features(g, model.input, x))
    project = _LINKS[projection(model)]
    # One product serves all rounds.
    W = np.concatenate([r.fit.W for r in model.rounds], axis=1)
    b = np.concatenate([r.fit.b for r in model.rounds])
    fitted, k = g("Gemm", F, W, b), len(model.rounds[0].fit.b)
    P = ""
    for number, r in enumerate(model.rounds):
        fit = g.columns(fitted, number * k, (number + 1) * k)
        P = g("Add", project(g, P, k), fit) if P else fit
        P = g("Clip", P, -1.0, 2.0)
        G = g("Concat", *_expand(g, model.basis, P), axis=1)
        P = g("Add", P, g("Gemm", G, r.calibration.W, r.calibration.b))
    return P


def _simplex(g: Graph, S: str, k: int) -> str:
    """max(s − θ, 0), where θ is the greatest of (the sum of the j greatest entries − 1)/j."""
    S = g("Sub", S, g("ReduceMax", S, axes=[1], keepdims=1))
    sums = g("CumSum", g("TopK", S, np.array([k]), axis=1), np.array(1))
    shares = g("Div", g("Sub", sums, 1.0), np.arange(1.0, k + 1))
    return g("Relu", g("Sub", S, g("ReduceMax", shares, axes=[1], keepdims=1)))


_LINKS: dict[str, Callable[[Graph, str, int], str]] = {
    "softmax": lambda g, S, k: g("Softmax", S, axis=1),
    "logistic": lambda g, S, k: g("Sigmoid", S),
    "simplex": _simplex,
    "cube": lambda g, S, k: g("Clip", S, 0.0, 1.0),
}


# --- feature maps -------------------------------------------------------------------------


def _features(g: Graph, map: FeatureMap, rows: str) -> str:
    if type(map) not in _MAPS:
        raise foreign_map(map)
    return _MAPS[type(map)](g, map, rows)


def _chain(g: Graph, map: Chain, rows: str) -> str:
    return _features(g, map.then, _features(g, map.first, rows))


def _standard(g: Graph, map: Standard, rows: str) -> str:
    return g("Mul", g("Sub", rows, map.shift), map.scale)


def _project(g: Graph, map: Project, rows: str) -> str:
    return g("MatMul", g("Sub", rows, map.mean), map.axes)


def _fourier(g: Graph, map: Fourier, rows: str) -> str:
    angles = g("MatMul", rows, map.weights)
    cosines = g("Cos", angles)
    if map.n_sines < map.weights.shape[1]:
        angles = g.columns(angles, 0, map.n_sines)
    both = g("Concat", cosines, g("Sin", angles), axis=1)
    return g("Mul", both, float(np.sqrt(2 / map.n_features)))


def _products(g: Graph, map: Products, rows: str) -> str:
    factors = g("Gemm", rows, map.weights, map.offsets)
    p = map.n_features
    features = g.columns(factors, 0, p)
    for start in range(p, map.degree * p, p):
        features = g("Mul", features, g.columns(factors, start, start + p))
    return features


def _logits(g: Graph, map: Logits, rows: str) -> str:
    halves = g("Tanh", g("Gemm", rows, map.weights, map.offsets))
    return g("Add", g("Mul", halves, 0.5), 0.5)


def _columns(g: Graph, map: Columns, rows: str) -> str:
    return g("Gather", rows, np.asarray(map.columns), axis=1)


def _pooled(g: Graph, map: Pooled, rows: str) -> str:
    rows = g("Sub", rows, map.shift)
    pooled = _cells(g, map, rows, False)
    if map.mirror:
        pooled = g("Mul", g("Add", pooled, _cells(g, map, rows, True)), 0.5)
    pooled = g("Reshape", pooled, np.array([0, map.n_features]))
    return g("Sqrt", g("Add", g("Relu", pooled), _FLOOR)) if map.root else pooled


def _cells(g: Graph, map: Pooled, rows: str, mirrored: bool) -> str:
    """Both rectified responses, averaged over cells: (n, pool², 2·n_filters)."""
    P = g("Gather", rows, patch_columns(map.geometry, mirrored), axis=1)  # (n, positions, inputs)
    R = g("MatMul", P, map.filters)
    if map.flat is not None:
        square = g("ReduceSum", g("Mul", P, P), np.array([2]), keepdims=1)
        mean = g("ReduceSum", P, np.array([2]), keepdims=1)
        square, mean = (g("Div", total, float(map.geometry.inputs)) for total in (square, mean))
        variance = g("Relu", g("Sub", square, g("Mul", mean, mean)))
        R = g("Div", R, g("Sqrt", g("Add", variance, map.flat)))
    bent = g("Concat", g("Max", R, map.high), g("Min", R, map.low), axis=2)
    # Cell by cell: a product with the pooling matrix on the left fails where there are no rows.
    means = [
        g("ReduceMean", g("Gather", bent, np.flatnonzero(cell), axis=1), axes=[1], keepdims=1)
        for cell in pooling_matrix(map.geometry)
    ]
    signs = np.repeat([1.0, -1.0], len(map.high))
    high_low = np.concatenate([map.high, map.low])
    return g("Mul", g("Sub", g("Concat", *means, axis=1), high_low), signs)


def _pairs(g: Graph, map: Pairs, rows: str) -> str:
    Z = g("Mul", g("Sub", rows, map.mean), map.scale)
    parts = [g("Gather", Z, np.asarray(map.kept), axis=1)]
    if len(map.left):
        factors = (g("Gather", Z, np.asarray(side), axis=1) for side in (map.left, map.right))
        products = g("Sub", g("Mul", *factors), map.product_mean)
        parts.append(g("Mul", products, map.product_scale))
    return g("Concat", *parts, axis=1)


_MAPS: dict[type, Callable[[Graph, Any, str], str]] = {
    Same: lambda g, map, rows: rows,
    Chain: _chain,
    Standard: _standard,
    Project: _project,
    Fourier: _fourier,
    Products: _products,
    Logits: _logits,
    Columns: _columns,
    Pooled: _pooled,
    Pairs: _pairs,
}
