"""An engine over `concurrent.futures`, and rows cut into parts."""

from itertools import pairwise

import numpy as np

from multiplane.data import Block
from multiplane.solvers._engine import Part, groups, on_part


class Futures:
    """All that another engine needs: `run`."""

    def __init__(self, executor, parts):
        self.executor, self.parts, self.n_parts = executor, parts, len(parts)

    def run(self, local_step, state, merge, finish=None):
        submit = self.executor.submit
        deltas = [f.result() for f in [submit(on_part, local_step, state, p) for p in self.parts]]
        for level in groups(len(deltas)):
            deltas = [f.result() for f in [submit(merge, deltas[group]) for group in level]]
        return deltas[0] if finish is None else submit(finish, deltas[0]).result()


def cut(X, y, cuts, weight=None):
    """Parts of rows, cut before these."""
    ends = [0, *sorted(cuts), len(y)]
    return [
        Part(i, Block(X[a:b], np.asarray(y)[a:b], None if weight is None else weight[a:b]))
        for i, (a, b) in enumerate(pairwise(ends))
    ]
