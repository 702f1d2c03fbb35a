"""Digits without an end, made of the training images of MNIST."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._real import Folder, load_mnist
from ._synthetic import _check_count

if TYPE_CHECKING:
    from multiplane.data import Source


def make_infinite_digits(
    seed: int = 0,
    n: int | None = None,
    *,
    block_size: int = 1_000,
    data_home: Folder = None,
    download_if_missing: bool = True,
) -> Source:
    """Make deformed handwritten digits, as many as wanted, from MNIST's 60,000 training images.

    Each row is a training image drawn at random, under a small affine map (rotation, scaling, shear
    and shift) and a small elastic deformation, all drawn anew. It stands in for mnist8m, 8.1
    million rows of the same kind, without its 18 GB of text; the test images of :func:`load_mnist`,
    whose grey values are scaled alike, are the test set of both. Decision 16 tells how strong the
    deformations are, and why.

    A row takes a few microseconds, and memory is that of the training images (47 MB) and of a
    block. All is done in integers: the same bytes on every machine.

    Parameters
    ----------
    seed : int
        The same seed gives the same rows, of which a larger n has more. Row i depends on `seed` and
        i alone.
    n : int or None
        Number of rows; None never ends.
    block_size : int
        Rows in a block. It changes neither the rows nor their order.
    data_home, download_if_missing
        As for :func:`load_mnist`.

    Returns
    -------
    rows : Source
        For `fit_stream`, or to be gone through as often as wanted: blocks ``(X, y, None)``, where X
        is a float32 array (block_size, 784) on [0, 1] and y an int64 array of digits 0 to 9.
        ``rows.load()`` gives all rows at once. There is no need to shuffle them.

    See Also
    --------
    round_digits : the two-class task that papers make of these labels.

    References
    ----------
    The idea, with other deformations: G. Loosli, S. Canu and L. Bottou, Training invariant support
    vector machines using selective sampling, Large-scale kernel machines, MIT Press, 2007. Elastic
    deformations: P. Y. Simard, D. Steinkraus and J. C. Platt, Best practices for convolutional
    neural networks, ICDAR 2003.

    Examples
    --------
    >>> from multiplane import AMMClassifier
    >>> from multiplane.datasets import load_mnist, make_infinite_digits
    >>> rows = make_infinite_digits(0, 20_000)  # doctest: +SKIP
    >>> clf = AMMClassifier(random_state=0).fit_stream(rows, max_iter=2)  # doctest: +SKIP
    >>> digits = load_mnist()  # doctest: +SKIP
    >>> clf.score(digits.X_test, digits.y_test)  # doctest: +SKIP
    0.9368
    """
    # Here, so that other data sets can be had without the compiled module.
    from ._digit_source import DigitSource

    _check_count("seed", seed, 0, "try seed=0")
    if seed >= 1 << 64:
        raise ValueError(f"seed must be less than 2 ** 64, got {seed}; try seed=0")
    if n is not None:
        _check_count("n", n, 1, "use n=None for rows without end")
    _check_count("block_size", block_size, 1, "try block_size=1_000")
    data = load_mnist(data_home=data_home, download_if_missing=download_if_missing)
    images = np.rint(data.X_train * 255).astype(np.uint8)
    return DigitSource(images, data.y_train, int(seed), n, int(block_size))
