"""Blocks of the columns themselves ([LS] A.2.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from multiplane._arrays import chunks, to_numpy
from multiplane.features._base import AnywhereGenerator, FeatureGenerator, Gradient, Source
from multiplane.models._maps import Columns, FeatureMap, Same
from multiplane.solvers._rows import Local, Rows


@dataclass
class SubsetSource(Source):
    """Hands out columns, each once in a pass."""

    input: FeatureMap
    order: str
    reorder: str
    counts: NDArray[np.float64]  # non-zeros of each column, weighted
    left: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # of this pass

    def draw(
        self, n_features: int, random: np.random.RandomState, gradient: Gradient | None = None
    ) -> Columns:
        """The next columns in order; the last block of a pass may be smaller."""
        if len(self.left) == 0:
            self.left = self._sorted(np.arange(len(self.counts)), random, gradient)
        elif self.reorder == "block":
            self.left = self._sorted(np.sort(self.left), random, gradient)
        columns, self.left = self.left[:n_features], self.left[n_features:]
        return Columns(columns)

    def _sorted(
        self,
        columns: NDArray[np.int64],
        random: np.random.RandomState,
        gradient: Gradient | None,
    ) -> NDArray[np.int64]:
        if self.order == "random":
            return random.permutation(columns)
        if self.order == "gradient" and gradient is not None:
            rank = np.asarray(to_numpy(gradient()))
        else:
            rank = self.counts
        return columns[np.argsort(-rank[columns], kind="stable")]


class FeatureSubset(AnywhereGenerator):
    """The columns themselves, a block at a time.

    For inputs that are good features already but too many for one least-squares problem: words of
    a text above all. Columns are given without replacement until all have been used; then a new
    pass begins, in an order computed anew, and corrects what the first one could not know. Sparse
    rows stay sparse.

    Parameters
    ----------
    n_features : int
        Columns in a block; of `fit`, at most as many as there are.
    order : {"gradient", "frequency", "random"}
        Which come first. "gradient": where the loss falls fastest, that is, in descending order of
        ‖Σᵢ rᵢ xᵢⱼ‖ for column j and residuals rᵢ; used alone, without a learner, there are no
        residuals, and the order is by frequency. "frequency": the columns with most non-zeros.
    reorder : {"pass", "block"}
        When an order by gradient is renewed: before each pass, or before each block (for what is
        left of the pass). The paper did the first on NEWS20 and the second on RCV1.
    random_state : int, RandomState or None

    Attributes
    ----------
    map_ : FeatureMap
        ``map_.columns`` are the chosen columns.
    n_features_in_ : int

    References
    ----------
    [LS] §2.4, A.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from multiplane.features import FeatureSubset
    >>> X = np.array([[0, 1, 1], [0, 2, 0], [3, 1, 2]])
    >>> FeatureSubset(2, order="frequency").fit(X).map_.columns
    array([1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FeatureGenerator._parameter_constraints,
        "order": [StrOptions({"gradient", "frequency", "random"})],
        "reorder": [StrOptions({"pass", "block"})],
    }

    def __init__(
        self,
        n_features: int = 500,
        *,
        order: str = "gradient",
        reorder: str = "pass",
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.order = order
        self.reorder = reorder
        self.random_state = random_state

    def learn(self, rows: Rows, random: np.random.RandomState) -> SubsetSource:
        (counts,) = rows.add(_count_nonzero)
        return SubsetSource(Same(rows.n_features), self.order, self.reorder, counts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the chosen columns."""
        check_is_fitted(self)
        columns = self.map_.columns  # type: ignore[attr-defined]
        return np.asarray(_check_feature_names_in(self, input_features)[columns])


def _count_nonzero(local: Local, _: None) -> tuple[NDArray[np.float64]]:
    """The weight of the rows in which a column is not zero, (n_inputs,)."""
    X, n, d = local.X, local.n, local.X.shape[1]
    weight = np.ones(n) if local.weight is None else local.weight
    if sp.issparse(X):
        return (np.asarray((X != 0).astype(np.float64).T @ weight),)
    place = local.place
    counts = place.zeros((d,), place.float64)
    for part in chunks(n, max(1, 2**24 // d)):
        present = place.xp.astype(X[part, :] != 0, place.float64)
        counts += place.put(weight[part], place.float64) @ present
    return (np.asarray(to_numpy(counts)),)
