"""Problems without an end: rows are made as they are asked for, in constant memory.

The rows of a stream depend on the seed alone, not on how they are cut into blocks or how many
are asked for. They are drawn in chunks of fixed size, each from a seed of its own, and the
chunks are then cut anew into the caller's blocks.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from ._synthetic import Floats, Ints, Seed, _check_board, _check_count

Block: TypeAlias = tuple[Floats, Ints]
Draw: TypeAlias = Callable[[int, Any], Block]  # (number of rows, RandomState) -> rows

# Rows drawn at once: 2.8 MB of waves in float64, while seeding a chunk (23 µs) stays below a
# tenth of drawing it (0.36 ms for a checkerboard). Another number makes other streams.
_CHUNK = 16_384

_BITS = 24  # digits of a float32: it holds multiples of 2^-24 between -1 and 1 exactly

# Breiman's three waves at instants 1 to 21, and the two that each class mixes.
_WAVES = np.maximum(6 - abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0.0)  # (3, 21)
_FIRST, _SECOND = _WAVES[[0, 0, 1]], _WAVES[[1, 2, 2]]  # (n_classes, 21)


def stream_checkerboard(
    rows: int = 4,
    cols: int = 4,
    n: int | None = None,
    *,
    block_size: int = 10_000,
    random_state: Seed = None,
) -> Iterator[Block]:
    """Stream points that are uniform on a checkerboard, block by block, without end.

    Square (r, c) has class (r + c) % 2, as for :func:`make_checkerboard`. That one deals exactly
    half of its points to each class; here a point falls anywhere on the board, so classes are
    equally likely if the number of squares is even. An odd board has one square more of class 0.

    Ten million points take about half a second; memory is that of one block and a chunk of
    16,384 rows.

    Parameters
    ----------
    rows, cols : int
        Size of the board; at least two squares in all.
    n : int or None
        Number of points; None never ends. The last block may be shorter.
    block_size : int
        Points in a block. It changes neither the points nor their order.
    random_state : int, RandomState or None
        The same integer gives the same points, of which a larger n has more.

    Returns
    -------
    blocks : iterator of (X, y)
        X is a float32 array (block_size, 2) on [-1, 1], with ``X[:, 0]`` across the columns and
        ``X[:, 1]`` across the rows; y is an int64 array (block_size,) of 0 and 1. Blocks are the
        caller's own: later ones do not overwrite them.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic, Multi-class Pegasos on a budget, ICML 2010, section 5,
    streams 10 million points. It does not tell the board; 4 x 4 is that of the GAMM paper.

    Examples
    --------
    >>> from multiplane.datasets import stream_checkerboard
    >>> for X, y in stream_checkerboard(2, 2, n=2_500, block_size=1_000, random_state=0):
    ...     print(len(y), bool(((X[:, 0] * X[:, 1] < 0) == y).all()))  # XOR of the signs
    1000 True
    1000 True
    500 True
    """
    _check_board(rows, cols)
    return _stream(partial(_draw_board, rows, cols), n, block_size, random_state)


def stream_waveform(
    n: int | None = None, *, block_size: int = 10_000, random_state: Seed = None
) -> Iterator[Block]:
    """Stream Breiman's waveform problem, block by block, without end.

    The rows are those of :func:`make_waveform`, which tells how they are drawn. Two million take
    about two seconds; memory is that of one block and a chunk of 16,384 rows.

    Parameters
    ----------
    n : int or None
        Number of rows; None never ends. The last block may be shorter.
    block_size : int
        Rows in a block. It changes neither the rows nor their order.
    random_state : int, RandomState or None
        The same integer gives the same rows, of which a larger n has more.

    Returns
    -------
    blocks : iterator of (X, y)
        X is a float32 array (block_size, 21), y an int64 array (block_size,) of 0, 1 and 2.
        Blocks are the caller's own: later ones do not overwrite them.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic, Multi-class Pegasos on a budget, ICML 2010, section 5,
    streams 2 million rows.

    Examples
    --------
    >>> from itertools import islice
    >>> from multiplane.datasets import stream_waveform
    >>> blocks = stream_waveform(block_size=500, random_state=0)  # endless
    >>> [X.shape for X, y in islice(blocks, 3)]
    [(500, 21), (500, 21), (500, 21)]
    """
    return _stream(_draw_waves, n, block_size, random_state)


def make_waveform(n: int = 5_000, *, random_state: Seed = None) -> Block:
    """Draw noisy mixtures of two of three triangular waves; which two is the class.

    The waves have height 6 and fall to 0 within 6 instants of their peaks, at 7, 15 and 11 of
    the instants 1 to 21. Classes 0, 1 and 2 mix the first and second, the first and third, the
    second and third wave, and are equally likely. With u uniform on [0, 1] and one standard
    normal ε for each instant,

        x = u · wave_a + (1 − u) · wave_b + ε.

    Codes are those of :func:`load_waveform`, whose 5,000 rows were drawn alike and rounded to
    two decimals. Classes overlap: the best classifier there can be gets 86.7 % right.

    Parameters
    ----------
    n : int
        Number of rows; for more than memory holds there is :func:`stream_waveform`.
    random_state : int, RandomState or None
        The same integer gives the same rows, of which a larger n has more.

    Returns
    -------
    X : float32 array (n, 21)
        Unscaled: about -4 to 10.
    y : int64 array (n,)
        0, 1 or 2.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and regression trees, 1984,
    pages 49-55.

    Examples
    --------
    >>> from multiplane.datasets import make_waveform
    >>> X, y = make_waveform(30_000, random_state=0)
    >>> [round(float(X[y == code, 10].mean())) for code in range(3)]  # the third wave peaks there
    [2, 4, 4]
    """
    _check_count("n", n, 1)
    return next(_stream(_draw_waves, n, n, random_state))


def _draw_board(rows: int, cols: int, size: int, rng: Any) -> Block:
    # Points are odd multiples of 2^-24: exact in float32, and on no edge between squares, as
    # edges are even multiples or none at all (up to millions of squares a side). So labels come
    # from integers, and rounding cannot turn one.
    odd = 2 * rng.randint(1 << _BITS, size=(size, 2), dtype=np.int64) + 1  # of 2^25, from the left
    X = ((odd - (1 << _BITS)) / (1 << _BITS)).astype(np.float32)  # (size, 2)
    square = (odd * [cols, rows]) >> (_BITS + 1)  # (size, 2): column and row
    return X, (square[:, 0] + square[:, 1]) & 1


def _draw_waves(size: int, rng: Any) -> Block:
    y = rng.randint(3, size=size, dtype=np.int64)
    u = rng.uniform(size=(size, 1))
    X = u * _FIRST[y] + (1 - u) * _SECOND[y] + rng.normal(size=(size, 21))
    return X.astype(np.float32), y


def _stream(draw: Draw, n: int | None, block_size: int, random_state: Seed) -> Iterator[Block]:
    """Check and seed at once; a generator alone would wait with both until its first block."""
    if n is not None:
        _check_count("n", n, 1, "use n=None for a stream without end")
    _check_count("block_size", block_size, 1, "try block_size=10_000")
    seed = check_random_state(random_state).randint(1 << 32, size=4, dtype=np.uint32)
    return _cut(_chunks(draw, seed), n, block_size)


def _chunks(draw: Draw, seed: Any) -> Iterator[Block]:
    """Draw chunks of fixed size without end, each from the seed and its number."""
    for number in count():
        bits = np.random.PCG64(np.random.SeedSequence(seed.tolist(), spawn_key=(number,)))
        # A RandomState on top, not a Generator, whose numbers may change with NumPy's version.
        yield draw(_CHUNK, np.random.RandomState(bits))


def _cut(chunks: Iterator[Block], n: int | None, block_size: int) -> Iterator[Block]:
    """Cut chunks anew into blocks of block_size rows, n in all."""
    X, y = next(chunks)
    used = done = 0  # rows of the chunk at hand, rows of all blocks so far
    while n is None or done < n:
        size = block_size if n is None else min(block_size, n - done)
        X_block, y_block = np.empty((size, X.shape[1]), X.dtype), np.empty(size, y.dtype)
        filled = 0
        while filled < size:
            if used == len(y):
                (X, y), used = next(chunks), 0
            step = min(size - filled, len(y) - used)
            X_block[filled : filled + step] = X[used : used + step]
            y_block[filled : filled + step] = y[used : used + step]
            filled, used = filled + step, used + step
        done += size
        yield X_block, y_block
