"""Engines: over `concurrent.futures`, and such as meet with misfortune; rows cut into parts."""

import pickle
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from multiplane.data import Block
from multiplane.solvers._engine import Here, OneByOne, Part, exchanges, groups, on_part


class Futures(OneByOne):
    """All that another engine needs: `run` and `exchange`."""

    def __init__(self, executor, parts):
        self.executor, self.parts, self.n_parts = executor, parts, len(parts)

    def run(self, local_step, state, merge, finish=None, only=None):
        submit, parts = self.executor.submit, self.parts if only is None else [self.parts[only]]
        deltas = [f.result() for f in [submit(on_part, local_step, state, p) for p in parts]]
        for level in groups(len(deltas)):
            deltas = [f.result() for f in [submit(merge, deltas[group]) for group in level]]
        return deltas[0] if finish is None else submit(finish, deltas[0]).result()

    def exchange(self, split, state, join):
        submit = self.executor.submit
        for routes in exchanges(self.n_parts):
            splits = [submit(on_part, split, state, part) for part in self.parts]
            pieces = [[] for _ in self.parts]
            for found, route in zip(splits, routes, strict=True):
                for piece, q in zip(found.result(), route, strict=True):
                    pieces[q].append(piece)
            made = [submit(join, q, own) for q, own in enumerate(pieces)]
            self.parts = [future.result() for future in made]


class Forgetful(Here):
    """Each step finds that its part was lost and read anew; results cannot be written to."""

    def run(self, *args, **options):
        self.parts = [pickle.loads(pickle.dumps(part)) for part in self.parts]
        found = super().run(*args, **options)
        for array in found if isinstance(found, tuple) else ():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return found


@contextmanager
def local_cluster(**settings):
    """Two processes under Dask, which begin with all that they need imported."""
    import dask
    import distributed
    from distributed.utils import get_mp_context

    settings["distributed.worker.multiprocessing-method"] = "forkserver"
    with dask.config.set(settings):
        get_mp_context().set_forkserver_preload(["distributed", "multiplane.dask"])
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            yield cluster


def cut(X, y, cuts, weight=None):
    """Parts of rows, cut before these."""
    ends = [0, *sorted(cuts), len(y)]
    return [
        Part(i, Block(X[a:b], np.asarray(y)[a:b], None if weight is None else weight[a:b]))
        for i, (a, b) in enumerate(pairwise(ends))
    ]
