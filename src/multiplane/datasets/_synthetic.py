"""Two-class problems whose right answer is known from their construction.

All are as in the experiments of the growing adaptive multi-hyperplane machine (GAMM).
X comes back as float32; every label is that of the point *after* rounding to float32, so
that labels recomputed from X agree to the last example.
"""

from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Seed: TypeAlias = int | np.random.RandomState | None

_BLOCK = 16_384  # rows scored at once in make_weights: 50 weights then take 6.5 MB


def make_checkerboard(
    rows: int = 4,
    cols: int = 4,
    n: int = 15_000,
    noise: float = 0.0,
    *,
    random_state: Seed = None,
) -> tuple[Floats, Ints]:
    """Draw points on a checkerboard whose two colours are the two classes.

    Square (r, c) has class (r + c) % 2. Half of the points (give or take one) fall on each
    colour, whatever the number of squares of that colour: first the class is dealt, then a
    square of that class, then a place in the square, each uniformly. The board is stretched to
    [-1, 1] along both axes, so squares of a 2 x 4 board are not square.

    Parameters
    ----------
    rows, cols : int
        Size of the board; at least two squares in all. Every row or column more is one more
        change of class that a model has to follow.
    n : int
        Number of points.
    noise : float
        This fraction of the points (rounded to whole points) has its label replaced by the toss
        of a fair coin, so half of them stay right. Classes are balanced before the toss.
    random_state : int, RandomState or None
        The same integer gives the same points.

    Returns
    -------
    X : float32 array (n, 2)
        ``X[:, 0]`` runs across the columns, ``X[:, 1]`` across the rows.
    y : int64 array (n,)
        0 or 1.

    References
    ----------
    The GAMM paper, section 6.1.1 and Table 1.

    Examples
    --------
    >>> from multiplane.datasets import make_checkerboard
    >>> X, y = make_checkerboard(2, 2, n=1_000, random_state=0)
    >>> bool(((X[:, 0] * X[:, 1] < 0) == y).all())  # 2 x 2 is XOR of the signs
    True
    >>> int(y.sum())
    500
    """
    _check_board(rows, cols)
    _check_count("n", n, 1)
    _check_noise(noise)
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n, dtype=np.int64) % 2)
    r, c = _squares(y, rows, cols, rng)
    X = np.column_stack([_place(c, cols, rng), _place(r, rows, rng)])  # (n, 2)
    return X, _relabel(y, noise, rng)


def make_xor_strip(
    n_blocks: int = 7,
    n: int = 2_000,
    noise: float = 0.0,
    *,
    random_state: Seed = None,
) -> tuple[Floats, Ints]:
    """Draw points on a line cut into equal blocks of alternating class.

    Block b = 0, 1, ... of [-1, 1], from the left, has class b % 2, and points are uniform on the
    whole line. So an odd number of blocks gives class 0 one block more: of seven, four.
    One feature makes it the smallest problem where a piecewise-linear model can be drawn.

    Parameters
    ----------
    n_blocks : int
        Number of blocks, at least 2; a max of linear functions needs one hyperplane for each.
    n : int
        Number of points.
    noise : float
        This fraction of the points has its label replaced by the toss of a fair coin.
    random_state : int, RandomState or None
        The same integer gives the same points.

    Returns
    -------
    X : float32 array (n, 1)
    y : int64 array (n,)
        0 or 1.

    References
    ----------
    The GAMM paper, Figure 1b (seven blocks).

    Examples
    --------
    >>> from multiplane.datasets import make_xor_strip
    >>> X, y = make_xor_strip(2, n=1_000, random_state=0)
    >>> bool(((X[:, 0] > 0) == y).all())  # two blocks: the sign tells
    True
    """
    _check_count("n_blocks", n_blocks, 2)
    _check_count("n", n, 1)
    _check_noise(noise)
    rng = check_random_state(random_state)
    block = rng.randint(n_blocks, size=n, dtype=np.int64)
    X = _place(block, n_blocks, rng)[:, np.newaxis]  # (n, 1)
    return X, _relabel(block % 2, noise, rng)


@overload
def make_weights(
    n_features: int = ...,
    n_weights: int = ...,
    n: int = ...,
    *,
    random_state: Seed = ...,
    return_weights: Literal[False] = ...,
) -> tuple[Floats, Ints]: ...


@overload
def make_weights(
    n_features: int = ...,
    n_weights: int = ...,
    n: int = ...,
    *,
    random_state: Seed = ...,
    return_weights: Literal[True],
) -> tuple[Floats, Ints, Doubles, Ints]: ...


def make_weights(
    n_features: int = 20,
    n_weights: int = 50,
    n: int = 20_000,
    *,
    random_state: Seed = None,
    return_weights: bool = False,
) -> tuple[Floats, Ints] | tuple[Floats, Ints, Doubles, Ints]:
    """Draw points labelled by a random multi-hyperplane model, so that a perfect model exists.

    Hyperplanes have n_features + 1 entries, the last being the bias; entries are uniform on
    [0, 1], then each hyperplane is scaled to unit length and given to one of two classes by the
    toss of a fair coin. Points are uniform on [0, 1]. A point's label is the owner of the
    hyperplane with the greatest value there.

    Tosses that leave a class without a hyperplane are tossed again (the paper does not say), so
    both classes own at least one. A class can still win few points or none: classes are not
    balanced, least of all with few hyperplanes.

    Parameters
    ----------
    n_features : int
        Dimension of the points.
    n_weights : int
        Number of hyperplanes, at least 2; more of them make a more broken boundary.
    n : int
        Number of points; the paper takes 15,000 of 20,000 for training.
    random_state : int, RandomState or None
        The same integer gives the same points.
    return_weights : bool
        Whether to return the model as well.

    Returns
    -------
    X : float32 array (n, n_features)
    y : int64 array (n,)
        0 or 1.
    W : float64 array (n_weights, n_features + 1)
        Only with ``return_weights=True``: the hyperplanes, bias in the last column.
    owner : int64 array (n_weights,)
        Only with ``return_weights=True``: the class of each hyperplane.

    References
    ----------
    The GAMM paper, section 6.1.2.

    Examples
    --------
    >>> from multiplane.datasets import make_weights
    >>> X, y, W, owner = make_weights(3, 5, n=100, random_state=0, return_weights=True)
    >>> bool((owner[(X @ W[:, :-1].T + W[:, -1]).argmax(axis=1)] == y).all())
    True
    """
    _check_count("n_features", n_features, 1)
    _check_count("n_weights", n_weights, 2)
    _check_count("n", n, 1)
    rng = check_random_state(random_state)
    W = rng.uniform(size=(n_weights, n_features + 1))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    owner = _owners(n_weights, rng)
    X = rng.uniform(size=(n, n_features)).astype(np.float32)
    y = owner[_winners(X, W)]
    return (X, y, W, owner) if return_weights else (X, y)


def _squares(y: Ints, rows: int, cols: int, rng: Any) -> tuple[Ints, Ints]:
    """Pick for each example one of the squares of its class, all equally likely."""
    colour = np.add.outer(np.arange(rows), np.arange(cols)).ravel() % 2
    square = np.empty(len(y), dtype=np.int64)
    for code in (0, 1):
        mine = y == code
        square[mine] = rng.choice(np.flatnonzero(colour == code), size=mine.sum())
    return square // cols, square % cols


def _place(cell: Ints, n_cells: int, rng: Any) -> Floats:
    """Place each point uniformly inside its cell, [-1, 1] being cut into n_cells."""
    # float32 steps by 6e-8 just below 1, so a point closer than that to the edge of its cell
    # could be rounded into the next one and get the wrong class: keep 2e-7 away from edges.
    margin = 1e-7 * n_cells
    inside = rng.uniform(margin, 1 - margin, size=len(cell))
    place: Floats = ((cell + inside) * (2 / n_cells) - 1).astype(np.float32)
    return place


def _relabel(y: Ints, noise: float, rng: Any) -> Ints:
    """Replace the labels of a fraction of the examples by the toss of a fair coin."""
    chosen = rng.permutation(len(y))[: round(noise * len(y))]
    noisy = y.copy()
    noisy[chosen] = rng.randint(2, size=len(chosen))
    return noisy


def _owners(n_weights: int, rng: Any) -> Ints:
    """Deal hyperplanes to two classes, again until both have one (at once in most draws)."""
    while True:
        owner: Ints = rng.randint(2, size=n_weights, dtype=np.int64)
        if 0 < owner.sum() < n_weights:
            return owner


def _winners(X: Floats, W: Doubles) -> Ints:
    """Index of the greatest hyperplane for each row, by blocks so that memory stays small."""
    winners = np.empty(len(X), dtype=np.int64)
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK].astype(np.float64)  # (p, d)
        winners[start : start + _BLOCK] = (block @ W[:, :-1].T + W[:, -1]).argmax(axis=1)
    return winners


def _check_count(name: str, value: Any, least: int, advice: str | None = None) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least:
        advice = advice or f"try {name}={least} for the smallest problem"
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}; {advice}")


def _check_board(rows: Any, cols: Any) -> None:
    _check_count("rows", rows, 1)
    _check_count("cols", cols, 1)
    if rows * cols < 2:
        raise ValueError(
            "a checkerboard needs at least two squares to have two classes, got rows=1, cols=1; "
            "use rows=1, cols=2 for the smallest one"
        )


def _check_noise(noise: Any) -> None:
    if not (isinstance(noise, Real) and 0 <= float(noise) <= 1):
        raise ValueError(
            f"noise must be a fraction between 0 and 1, got {noise!r}; "
            "use 0 for clean labels, 0.1 to randomise one label in ten"
        )
