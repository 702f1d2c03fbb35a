"""A reader of one's own: rows of a query, from a database in a file.

>>> import os, sqlite3, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "rows.db")
>>> with sqlite3.connect(path) as database:
...     _ = database.execute("CREATE TABLE t (a REAL, b REAL, label TEXT)")
...     rows = [(i % 7, i % 3, "even" if i % 2 == 0 else "odd") for i in range(1000)]
...     _ = database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
>>> source = SqliteSource(path, "SELECT a, b, label FROM t", block_size=400)
>>> [(X.shape, y[0].item()) for X, y, _ in source]
[((400, 2), 'even'), ((400, 2), 'even'), ((200, 2), 'even')]
>>> from multiplane import AMMClassifier
>>> clf = AMMClassifier(random_state=0).fit_stream(source, max_iter=2, scale="standard")
>>> clf.t_ - 1  # rows learnt
2000
"""

import sqlite3
from contextlib import closing

import numpy as np

from multiplane.data import Block, DataError, Source


class SqliteSource(Source):
    """Columns of a query: features, and last the label."""

    def __init__(self, path, query, block_size=10_000):
        self.path, self.query, self.block_size = path, query, block_size
        self.name = path
        with closing(sqlite3.connect(path)) as database:
            columns = [column[0] for column in database.execute(query).description]
        self.feature_names = columns[:-1]
        self.n_features = len(self.feature_names)

    def read(self, order=None):
        # Here, not in __init__: a reading is made by another thread, and there may be several.
        with closing(sqlite3.connect(self.path, check_same_thread=False)) as database:
            cursor = database.execute(self.query)
            while rows := cursor.fetchmany(self.block_size):
                *features, labels = zip(*rows, strict=True)
                try:
                    X = np.array(features, dtype=np.float32).T
                except ValueError as error:
                    raise DataError(f"{self.name}: {error}") from error
                yield Block(X, np.array(labels))
