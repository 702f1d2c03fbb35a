"""Training and prediction on a Dask cluster: two processes of this machine."""

import copy
import io
import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import problem, run_python
from sklearn.base import clone

import multiplane
from multiplane.data import Block, DataError
from multiplane.estimators._parts import survey
from multiplane.solvers._engine import Here, Part, groups

pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
mpd = pytest.importorskip("multiplane.dask")

from multiplane.dask._engine import DaskEngine, pickled_bytes  # noqa: E402
from multiplane.dask._inputs import as_block, parts_of, rows_of  # noqa: E402

NAMES = [name for name in mpd.__all__ if name.endswith("Classifier")]
LEAST_SQUARES = [name for name in NAMES if "LeastSquares" in name]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    X, y = problem(n=120, d=6)
    return X, y


def engine_of(client, *data, **options):
    return DaskEngine(client, parts_of(client, rows_of(client, *data)), **options)


def fitted(name, X, y, **parameters):
    plain = getattr(multiplane, name)(random_state=0, **parameters).fit(X, y)
    return plain, getattr(mpd, name).from_local(plain)


# --- steps: rows as they arrive ------------------------------------------------------------


def all_rows(state, part):
    """What a part has, brought here: of tests alone."""
    return [(part.number, *part.rows)]


def joined(deltas):
    return [item for delta in deltas for item in delta]


def rows_at(engine):
    parts = engine.run(all_rows, None, joined)
    assert [part[0] for part in parts] == list(range(engine.n_parts))
    X = sp.vstack if any(sp.issparse(part[1]) for part in parts) else np.concatenate
    weights = [part[3] for part in parts]
    return (
        X([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        None if weights[0] is None else np.concatenate(weights),
    )


def written(folder, X, y, kind):
    """The rows in two files."""
    paths = []
    for i, some in enumerate(np.array_split(np.arange(len(y)), 2)):
        path = folder / f"part-{i}.{kind}"
        if kind == "svm":
            lines = (
                f"{y[r]} " + " ".join(f"{c + 1}:{X[r, c]!s}" for c in range(X.shape[1]))
                for r in some
            )
            path.write_text("\n".join(lines) + "\n")
        elif kind == "npz":
            np.savez(path, X=X[some], y=y[some])
        else:
            columns = [f"c{j}" for j in range(X.shape[1])]
            table = pd.DataFrame(X[some], columns=columns).assign(label=y[some])
            # The second file has its columns in another order.
            table = table if i == 0 else table[table.columns[::-1]]
            table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
        paths.append(str(path))
    return paths


def collections(X, y):
    """The same rows in many ways."""
    weight = np.arange(len(y)) % 3 + 0.5
    some = ((40, 0, 50, 30), X.shape[1:])
    dX, dy, dw = (da.from_array(a, chunks=((40, 0, 50, 30), *a.shape[1:])) for a in (X, y, weight))
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, w=weight)
    parts = dd.from_pandas(frame, npartitions=3)
    delayed = [
        dask.delayed(lambda i, j: (X[i:j], y[i:j], weight[i:j]))(i, i + 60) for i in (0, 60)
    ]
    return {
        "array": (dX, dy, dw),
        "columns": (dX.rechunk((50, 2)), dy.rechunk(35), dw.rechunk(120)),
        "sparse": (dX.map_blocks(sp.csr_matrix), dy, dw),
        "unknown": (dX[dX[:, 0] > -np.inf], dy[dX[:, 0] > -np.inf], dw[dX[:, 0] > -np.inf]),
        "labels-here": (dX, y, weight),
        "frame": (parts[list("abcdef")], parts["y"], parts["w"]),
        "frame-values": (parts[list("abcdef")].values, parts["y"].values, parts["w"]),
        "delayed": (delayed, None, None),
        "delayed-lists": tuple([piece[k] for piece in delayed] for k in range(3)),
        "memory": (X, y, weight),
        "memory-sparse": (sp.csr_matrix(X), y, weight),
        "memory-frame": (frame[list("abcdef")], frame["y"], frame["w"]),
    } | ({} if some else {})


@pytest.mark.parametrize("kind", collections(*problem(n=120, d=6)))
def test_rows_of_all_kinds(client, rows, kind):
    X, y = rows
    engine = engine_of(client, *collections(X, y)[kind])
    found_X, found_y, found_weight = rows_at(engine)
    assert sp.issparse(found_X) == ("sparse" in kind)
    np.testing.assert_array_equal(found_X.toarray() if sp.issparse(found_X) else found_X, X)
    np.testing.assert_array_equal(found_y, y)
    np.testing.assert_array_equal(found_weight, np.arange(len(y)) % 3 + 0.5)
