"""All rows at once, for those who cannot learn block by block."""

from __future__ import annotations

from typing import Any

import click


def loaded(source: Any, weighs: bool) -> Any:
    """A block with dense rows, if half of their values are there; `weighs`: whether its weights
    will be looked at."""
    import scipy.sparse as sp

    rows = source.load()
    if rows.sample_weight is not None and not weighs:
        raise click.UsageError(
            f"the rows of {source.name} have weights, which are not looked at here; leave out "
            f"--weight, convert the data without it, or train a classifier other than auto"
        )
    X, y = rows.X, rows.y
    if sp.issparse(X) and 2 * X.nnz >= X.shape[0] * X.shape[1]:
        X = X.toarray()
    return rows._replace(X=X, y=y.toarray() if sp.issparse(y) else y)
