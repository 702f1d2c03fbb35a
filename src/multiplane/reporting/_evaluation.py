"""One pass over the data: counts, and a few rows to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.validation import _num_samples

from multiplane._arrays import chunks, detached, to_numpy
from multiplane.estimators._labels import check_alike, find
from multiplane.reporting._subject import Subject

Block = tuple[Any, Any, Any]  # X, y, sample_weight or None

_SCORES = 1 << 21  # numbers scored at once
_SAMPLE = 1 << 24  # numbers kept in the sample of rows, at most
_TIMED = 10_000  # rows kept as they came, to predict against the clock
_BINS = 10  # of probabilities
SHOWN = 24  # rows that are wrong with the greatest confidence


@dataclass(frozen=True)
class Mistake:
    """`true`, `predicted`: codes; for several labels a row, zeros and ones."""

    margin: float
    number: int  # in the data
    true: Any
    predicted: Any
    row: Any  # (1, d), as the estimator is given it


@dataclass
class Evaluation:
    """Sums over all rows, weighted where the data is."""

    subject: Subject
    max_rows: int
    n_rows: int = 0
    weight: float = 0.0
    weight_squared: float = 0.0
    wrong: float = 0.0
    wrong_labels: float = 0.0  # of several labels a row
    log_loss: float = 0.0
    weighted: bool = False
    # For each class, and at the end for labels that the model does not know: rows, rows predicted
    # to be of it, and those of them that are.
    of_class: NDArray[np.float64] = field(init=False)
    as_class: NDArray[np.float64] = field(init=False)
    right: NDArray[np.float64] = field(init=False)
    confusion: Any = field(init=False)  # CSR (n_classes + 1, n_classes); empty for several labels
    wins: NDArray[np.int64] = field(init=False)  # rows that each hyperplane decides
    wins_right: NDArray[np.int64] = field(init=False)  # and rightly
    # For each tenth of probabilities: weight, sum of probabilities, how much of it came true.
    bins: NDArray[np.float64] = field(default_factory=lambda: np.zeros((3, _BINS)))
    mistakes: list[Mistake] = field(default_factory=list)
    timed: Any = None  # first rows of the data, as they came

    def __post_init__(self) -> None:
        k, m = len(self.subject.classes), self.subject.n_hyperplanes
        self.of_class, self.as_class, self.right = np.zeros((3, k + 1))
        self.confusion = sp.csr_matrix((k + 1, k))
        self.wins, self.wins_right = np.zeros((2, m), dtype=np.int64)
        self._random = np.random.RandomState(0)
        self._sample: Any = None  # rows
        self._codes = np.zeros(0, dtype=np.int32)
        self._keys = np.zeros(0)

    # --- what was found --------------------------------------------------------------------

    @property
    def sample(self) -> Any:
        """Some rows as the estimator is given them, each as likely as the others."""
        return self._sample

    @property
    def sample_codes(self) -> NDArray[np.int32]:
        """Their true classes; zeros for several labels a row."""
        return self._codes

    @property
    def n_features(self) -> int:
        return int(self._sample.shape[1])

    @property
    def error(self) -> float:
        return self.wrong / self.weight

    @property
    def n_effective(self) -> float:
        """As many rows of weight 1 tell as much."""
        return self.weight**2 / self.weight_squared

    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each feature, (d,); ones if nothing varies."""
        mean = np.asarray(self._sample.mean(axis=0, dtype=np.float64)).ravel()
        if sp.issparse(self._sample):
            square = self._sample.astype(np.float64).power(2).mean(axis=0)
            variance = np.asarray(square).ravel() - mean**2
        else:
            variance = self._sample.var(axis=0, dtype=np.float64)
        found = np.sqrt(np.maximum(np.nan_to_num(variance), 0.0))
        return found if found.any() else np.ones_like(found)

    # --- adding rows -----------------------------------------------------------------------

    def add(self, X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
        subject, n = self.subject, len(y)
        w = np.ones(n) if weight is None else weight
        self.weighted |= weight is not None
        predicted, scores = subject.predict(X), subject.scores(X)
        if subject.multilabel:
            true = y
            wrong, margin = self._add_labels(true, predicted, scores, w)
            codes = np.zeros(n, dtype=np.int32)
        else:
            check_alike(y, subject.classes)
            true = codes = find(y, subject.classes)
            wrong, margin = self._add_codes(true, predicted, scores, w)
        if subject.n_hyperplanes:
            winners, m = subject.winners(X), subject.n_hyperplanes
            won = winners >= 0  # nobody has, where no score is a number
            self.wins += np.bincount(winners[won], minlength=m)
            self.wins_right += np.bincount(winners[won & ~wrong], minlength=m)
        self._keep_mistakes(X, np.flatnonzero(wrong & (w > 0)), margin, true, predicted)
        self._keep_some(X, codes)
        if self.timed is None:
            self.timed = _safe_indexing(X, slice(0, _TIMED))
        self.n_rows += n
        self.weight += float(w.sum())
        self.weight_squared += float(w @ w)
        self.wrong += float(w @ wrong)

    def _add_codes(
        self, true: NDArray[Any], predicted: NDArray[Any], scores: Any, w: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        k, n = len(self.subject.classes), len(true)
        row = np.where(true < 0, k, true)
        wrong = true != predicted
        self.of_class += np.bincount(row, w, k + 1)
        self.as_class += np.bincount(predicted, w, k + 1)
        self.right += np.bincount(row, w * ~wrong, k + 1)
        self.confusion += sp.csr_matrix((w, (row, predicted)), shape=(k + 1, k))
        if scores is None:
            return wrong, np.zeros(n)
        at = np.arange(n)
        chosen, own = scores[at, predicted], scores[at, np.maximum(true, 0)]
        for i in np.flatnonzero(true < 0):  # no score of its own: that of the runner-up
            own[i] = np.sort(scores[i])[-2:][0]
        if self.subject.has_probabilities:
            own = np.where(true < 0, 0.0, own)
            self._add_probabilities(chosen, ~wrong, w)
            self.log_loss -= float(w @ np.log(_clipped(own, scores.dtype)))
        return wrong, (chosen - own).astype(np.float64)

    def _add_labels(
        self, true: NDArray[Any], predicted: NDArray[Any], P: Any, w: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        differ = true != predicted
        self.of_class[:-1] += w @ true
        self.as_class[:-1] += w @ predicted
        self.right[:-1] += w @ (true * predicted)
        self.wrong_labels += float(w @ differ.mean(axis=1))
        each = np.repeat(w, true.shape[1]) / true.shape[1]
        self._add_probabilities(P.ravel(), true.ravel() == 1, each)
        came_true = _clipped(np.where(true == 1, P, 1 - P), P.dtype)
        self.log_loss -= float(w @ np.log(came_true).mean(axis=1))
        return differ.any(axis=1), np.abs(P - true).max(axis=1).astype(np.float64)

    def _add_probabilities(self, p: NDArray[Any], true: NDArray[np.bool_], w: NDArray[Any]) -> None:
        bin = np.clip((p * _BINS).astype(int), 0, _BINS - 1)
        self.bins += [np.bincount(bin, v, _BINS) for v in (w, w * p, w * true)]

    def _keep_mistakes(
        self, X: Any, wrong: NDArray[Any], margin: NDArray[Any], true: Any, predicted: Any
    ) -> None:
        worst = wrong[np.argsort(-margin[wrong], kind="stable")[:SHOWN]]
        if len(self.mistakes) == SHOWN:
            worst = worst[margin[worst] > self.mistakes[-1].margin]
        if not len(worst):
            return
        rows = self.subject.rows(_safe_indexing(X, worst))
        self.mistakes += [
            Mistake(float(margin[i]), self.n_rows + int(i), true[i], predicted[i], rows[[j]])
            for j, i in enumerate(worst)
        ]
        self.mistakes = sorted(self.mistakes, key=lambda m: -m.margin)[:SHOWN]

    def _keep_some(self, X: Any, codes: NDArray[np.int32]) -> None:
        """The rows with the smallest random numbers stay: however the data is cut into blocks."""
        keys, size = self._random.random_sample(len(codes)), self._size()
        limit = self._keys.max() if len(self._keys) >= size else np.inf
        new = np.flatnonzero(keys < limit)
        new = new[np.argsort(keys[new])[:size]]
        if not len(new):
            return
        rows = self.subject.rows(_safe_indexing(X, new))
        if self._sample is None:
            self._sample, self._keys, self._codes = rows, keys[new], codes[new]
        else:
            both = [self._sample, rows]
            sparse = any(sp.issparse(part) for part in both)
            self._sample = sp.vstack(both, format="csr") if sparse else np.concatenate(both)
            self._keys = np.append(self._keys, keys[new])
            self._codes = np.append(self._codes, codes[new])
        if len(self._keys) > self._size():
            kept = np.argsort(self._keys)[: self._size()]
            self._sample = self._sample[kept]
            self._keys, self._codes = self._keys[kept], self._codes[kept]

    def _size(self) -> int:
        if self._sample is None or sp.issparse(self._sample):
            return self.max_rows
        return max(1, min(self.max_rows, _SAMPLE // max(1, self.n_features)))


def evaluate(subject: Subject, data: Any, max_rows: int) -> Evaluation:
    found = Evaluation(subject, max_rows)
    size = max(64, _SCORES // len(subject.classes))
    for X, y, weight in blocks(data):
        y, weight = _checked(subject, X, y, weight)
        X = X.tocsr() if sp.issparse(X) else X
        for part in chunks(len(y), size) if len(y) else ():
            w = None if weight is None else weight[part]
            found.add(_safe_indexing(X, part), y[part], w)
    if not found.weight > 0:
        raise ValueError(
            f"report needs at least one row of a weight above 0, got {found.n_rows} rows"
        )
    return found


def blocks(data: Any) -> Iterator[Block]:
    """Data is one block, or yields blocks; a block is (X, y) or (X, y, sample_weight)."""
    one = isinstance(data, tuple) and len(data) in (2, 3) and not isinstance(data[0], tuple)
    if not one and (not isinstance(data, Iterable) or hasattr(data, "shape")):
        raise TypeError(
            f"data must be (X, y), or yield blocks (X, y), got {type(data).__name__}; pass "
            f"labels with the rows"
        )
    for block in [data] if one else data:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            raise TypeError(
                f"a block must be (X, y) or (X, y, sample_weight), got {type(block).__name__}; "
                f"pass arrays as a tuple: (X, y)"
            )
        X, y, *weight = block
        yield X, y, weight[0] if weight else None


def _checked(subject: Subject, X: Any, y: Any, weight: Any) -> tuple[NDArray[Any], Any]:
    if y is None:
        raise ValueError("report compares predictions with labels, and these rows have none")
    y = y.toarray() if sp.issparse(y) else np.asarray(to_numpy(detached(y)))
    k = len(subject.classes)
    if subject.multilabel:
        if y.ndim != 2 or y.shape[1] != k or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"y must be a matrix of zeros and ones with {k} columns, as in training, got "
                f"shape {y.shape}"
            )
        y = y.astype(np.int64)
    else:
        y = column_or_1d(y)
    n = _num_samples(X)
    if len(y) != n:
        raise ValueError(f"X and y must have as many rows, got {n} and {len(y)}")
    if weight is None:
        return y, None
    weight = column_or_1d(np.asarray(to_numpy(detached(weight)), dtype=np.float64))
    if len(weight) != n or not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError(
            f"sample_weight must be {n} finite numbers of at least 0, one a row, got "
            f"{len(weight)} from {weight.min(initial=0):g} to {weight.max(initial=0):g}"
        )
    return y, weight


def _clipped(p: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """No probability is less than what its type can tell from zero beside one."""
    clipped: NDArray[Any] = np.maximum(p, np.finfo(dtype).eps)
    return clipped
