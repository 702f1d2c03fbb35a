"""Parquet, Arrow and CSV."""

import bz2
import decimal
import gzip
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from multiplane.data import DataError, open_source


def table(n=60, seed=0):
    random = np.random.RandomState(seed)
    return pa.table(
        {
            "a": random.randn(n),
            "b": random.randint(9, size=n).astype(np.int16),
            "label": random.randint(3, size=n),
            "c": random.rand(n).astype(np.float32),
            "w": random.rand(n),
        }
    )


WRITE = {
    "parquet": lambda t, p: parquet.write_table(t, p, row_group_size=7),
    "feather": lambda t, p: feather.write_feather(t, str(p), chunksize=7),
    "csv": lambda t, p: csv.write_csv(t, p),
    "tsv": lambda t, p: csv.write_csv(t, p, csv.WriteOptions(delimiter="\t")),
}


@pytest.mark.parametrize("kind", WRITE)
def test_round_trip(tmp_path, kind):
    whole = table()
    path = tmp_path / f"a.{kind}"
    WRITE[kind](whole, path)
    source = open_source(path, weight="w", n_jobs=2)
    for _ in range(2):
        X, y, weight = source.load()
        assert X.dtype == np.float32
        assert np.array_equal(X, np.column_stack([whole[n].to_numpy() for n in "abc"]).astype("f4"))
        assert np.array_equal(y, whole["label"].to_numpy())
        assert np.array_equal(weight, whole["w"].to_numpy())
    assert source.feature_names == ["a", "b", "c"]
    assert source.bytes_read <= 1.2 * source.n_bytes
    if kind in ("parquet", "feather"):  # these can be read in any order, and tell of it beforehand
        source = open_source(path, weight="w")
        assert (source.n_rows, source.n_features, source.n_blocks) == (60, 3, 9)
        turned = list(source.read(list(range(9))[::-1]))
        assert np.array_equal(turned[-1].y, y[:7])


@pytest.mark.parametrize("kind", WRITE)
def test_columns_go_by_name(tmp_path, kind):
    for part, names in enumerate((["a", "b", "label"], ["label", "b", "a"])):
        WRITE[kind](table(seed=part).select(names), tmp_path / f"{part}.{kind}")
    X = open_source(tmp_path, n_jobs=3).load().X
    assert np.array_equal(X[60:, 1], table(seed=1)["b"].to_numpy())
    WRITE[kind](table().select(["a", "c", "label"]), tmp_path / f"2.{kind}")
    with pytest.raises(DataError, match=r"2\..*missing: 'b'; new: 'c'"):
        open_source(tmp_path).load()


@pytest.mark.parametrize("kind", WRITE)
def test_labels(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    WRITE[kind](pa.table({"x": [1.0, 2.0], "class": ["dog", "cat"]}), path)
    assert open_source(path).load().y.tolist() == ["dog", "cat"]
    with pytest.raises(DataError, match=r"a\..*no column 'species'; it has x, class"):
        open_source(path, label="species").load()
    with pytest.raises(DataError, match="no column 'w' of weights"):
        open_source(path, weight="w").load()
    WRITE[kind](pa.table({"x": [1.0, 2.0], "z": [1, 2]}), path)
    assert open_source(path).load().y is None
    WRITE[kind](pa.table({"label": [1, 2]}), path)
    with pytest.raises(DataError, match="no columns of features"):
        open_source(path).load()
    WRITE[kind](pa.table({"x": [1.0, 2.0], "y": [1, None]}), path)
    with pytest.raises(DataError, match="a label is missing in column 'y'"):
        open_source(path).load()


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_types(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    columns = {
        "bool": pa.array([True, None, False]),
        "decimal": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2")]),
        "whole": pa.array([1, None, 3], pa.int64()),
        "half": pa.array(np.array([1, 2, 3], np.float16)),
        "nothing": pa.nulls(3),
        "label": pa.array(["a", "b", "a"]).dictionary_encode(),
    }
    WRITE[kind](pa.table(columns), path)
    X, y, _ = open_source(path).load()
    nan = np.nan
    wanted = [[1, 1.5, 1, 1, nan], [nan, nan, nan, 2, nan], [0, -2, 3, 3, nan]]
    np.testing.assert_array_equal(X, np.array(wanted, np.float32))
    assert y.tolist() == ["a", "b", "a"]
    for bad in (["x", "y", "z"], pa.array(["x", "y", "z"]).dictionary_encode()):
        WRITE[kind](pa.table({"colour": bad, "label": [1, 2, 3]}), path)
        with pytest.raises(DataError, match=r"column 'colour' holds .*features must be numbers"):
            open_source(path).load()


def test_two_columns_of_one_name(tmp_path):
    whole = pa.Table.from_arrays([pa.array([1.0])] * 2 + [pa.array([1])], names=["x", "x", "y"])
    feather.write_feather(whole, str(tmp_path / "a.feather"))
    (tmp_path / "a.csv").write_text("x,x,y\n1,2,0\n")
    for name in ("a.feather", "a.csv"):
        with pytest.raises(DataError, match="several columns are called 'x'"):
            open_source(tmp_path / name).load()


def test_many_columns(tmp_path):
    """A fifth of a second for 20,000; to count each name among all of them took five."""
    path = tmp_path / "a.feather"
    feather.write_feather(pa.table({f"f{i}": [0.0] for i in range(20_000)}), str(path))
    start = time.process_time()
    assert open_source(path).n_features == 20_000
    assert time.process_time() - start < 3


def lists(**columns):
    indices = pa.array([[0, 3], [], [5], [2, 1]], pa.list_(pa.int32()))
    values = pa.array([[1.0, 2.0], [], [3.0], [4.0, 5.0]], pa.list_(pa.float32()))
    return pa.table({"label": [0, 1, 0, 1], "indices": indices, "values": values, **columns})


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_lists(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    dense = [[1, 0, 0, 2, 0, 0], [0] * 6, [0, 0, 0, 0, 0, 3], [0, 5, 4, 0, 0, 0]]
    long = pa.concat_tables([lists()] * 5)  # in chunks, with slices
    for whole, wanted in (
        (lists(), dense),
        (long, dense * 5),
        (long.slice(3, 6), (dense * 5)[3:9]),
    ):
        WRITE[kind](whole, path)
        assert open_source(path).load().X.toarray().tolist() == wanted
    large = [pa.array([[1], [], [2], [0]], pa.large_list(pa.int64())), [[1.5], [], [2.5], [0.0]]]
    WRITE[kind](lists(indices=large[0], values=large[1]), path)
    assert open_source(path).load().X.toarray().tolist()[:3] == [[0, 1.5, 0], [0] * 3, [0, 0, 2.5]]
    for indices, what in (
        ([[0], [], [5], [2, 1]], "differ in length"),
        ([[0, 3], [], [-5], [2, 1]], "an index is not within"),
        ([[0, 3], [], [2**31 - 1], [2, 1]], "an index is not within"),
        ([[0, 3], [], [5], [1, 1]], "an index comes twice"),
        ([[0, 3], None, [5], [2, 1]], "a list is missing in column 'indices'"),
        ([[0, 3], [], [0.5], [2, 1]], "indices must be whole numbers"),
    ):
        WRITE[kind](lists(indices=indices), path)
        with pytest.raises(DataError, match=what):
            open_source(path).load()


def test_indices_and_values_can_be_mere_names(tmp_path):
    parquet.write_table(
        pa.table({"indices": [1, 2], "values": [3, 4], "y": [0, 1]}), tmp_path / "a.pq"
    )
    assert open_source(tmp_path / "a.pq").load().X.tolist() == [[1, 3], [2, 4]]


def test_empty_groups(tmp_path):
    whole = table().select(["a", "b", "label"])
    with parquet.ParquetWriter(tmp_path / "a.parquet", whole.schema) as writer:
        for part in (whole.slice(0, 0), whole.slice(0, 5), whole.slice(0, 0), whole.slice(5, 5)):
            writer.write_table(part)
    assert len(open_source(tmp_path / "a.parquet").load().y) == 10
    parquet.write_table(whole.slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: there are no rows"):
        open_source(tmp_path / "a.parquet").load()


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_damage(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    WRITE[kind](table(), path)
    whole = path.read_bytes()
    for size in (0, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=rf"a\.{kind}"):
            open_source(path).load()
    with pytest.raises(DataError, match="cannot be read from a pipe"):
        open_source("-", format="parquet")


# --- CSV -------------------------------------------------------------------------------------


def test_csv_types_of_later_rows(tmp_path, monkeypatch):
    """Whole numbers, or nothing, in the first block are no promise."""
    monkeypatch.setattr("multiplane.data._tables._BLOCK_BYTES", 64)
    lines = ["a,b,label", *(f"{i},,{i % 2}" for i in range(40)), "0.5,7,1"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert open_source(tmp_path / "a.csv", weight="a").load().sample_weight[-1] == 0.5
    X = open_source(tmp_path / "a.csv").load().X
    assert X[-1].tolist() == [0.5, 7]
    assert np.isnan(X[:-1, 1]).all()
    (tmp_path / "a.csv").write_text("\n".join([*lines, "0.5,x,1"]))
    with pytest.raises(DataError, match=r"a\.csv: .*invalid value 'x'"):
        open_source(tmp_path / "a.csv").load()


def test_csv_without_a_header_packed_and_with_words(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2,0\r\n3,true,1\r\n"))
    with pytest.raises(DataError, match="column 'f1' holds string"):
        open_source(tmp_path / "a.csv.gz", header=False, label="f2").load()
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(b"\xef\xbb\xbf1,false,0\n3,true,1"))
    X, y, _ = open_source(tmp_path / "a.csv.bz2", header=False, label="f2").load()
    assert (X.tolist(), y.tolist()) == ([[1, 0], [3, 1]], [0, 1])
    packed = gzip.compress(b"a,y\n" + b"1,0\n" * 9999)
    (tmp_path / "a.csv.gz").write_bytes(packed[:-20])
    with pytest.raises(DataError, match="cut short"):
        open_source(tmp_path / "a.csv.gz").load()


@pytest.mark.parametrize("text", ["", "a,b,label\n1,2\n", "a,b,label\n1,2,3,4\n"])
def test_malformed_csv(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=r"a\.csv"):
        open_source(tmp_path / "a.csv").load()
