"""Large data sets whose files you have to bring, except where scikit-learn has a copy.

Recipes as in `_real`. Where a file comes in one piece, the parts are shares of its rows, so that
the beginning of a file can be cut too.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.datasets as skd
from sklearn.utils import Bunch

from ._real import (
    Folder,
    Loaded,
    Parts,
    _absent,
    _as_sparse,
    _find,
    _load,
    _read_pair,
    _Recipe,
    data_directory,
    load_mnist,
    read_libsvm,
)

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_N_WORDS = 47_236
_RCV1_ROWS = 677_399, 20_242  # of rcv1_test.binary and rcv1_train.binary
# As scikit-learn keeps them in its own data_home.
_RCV1_FILES = tuple(
    f"RCV1/{name}_py3.pkl" for name in ("samples", "sample_id", "sample_topics", "topics_names")
)
_TOPICS = ["CCAT", "ECAT", "GCAT", "MCAT"]


def load_webspam(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load webspam, 280,000 + 70,000 web pages described by the frequencies of 254 bytes.

    CSR, rows of unit length; labels -1 and +1, the latter for spam. The file is LIBSVM's
    ``webspam_wc_normalized_unigram.svm``. It has no official split: of its rows, in an order drawn
    once and for all, the first four fifths are the training set. There is nobody to ask for a copy.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`; the last one is without effect.

    Returns
    -------
    data : Bunch, or 4-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    S. Webb, J. Caverlee and C. Pu, Introducing the Webb spam corpus, CEAS 2006. Sizes of the parts:
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic, KDD 2011, Table 2.
    """
    recipe = _Recipe(
        name="webspam",
        descr="Web pages, frequencies of 254 bytes, 2 classes.",
        files=("webspam_wc_normalized_unigram.svm",),
        read=_read_webspam,
        origin=f"{_LIBSVM}binary.html#webspam",
        target_names=("ham", "spam"),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_url(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load url, 1,976,130 + 420,000 addresses described by 3,231,961 mostly binary features.

    CSR (2.2 GB); labels -1 and +1, the latter for malicious ones. The file is LIBSVM's
    ``url_combined``, and its last 420,000 rows are the test set (of a shorter file, the same share
    of rows). There is nobody to ask for a copy.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`; the last one is without effect.

    Returns
    -------
    data : Bunch, or 4-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    J. Ma, L. K. Saul, S. Savage and G. M. Voelker, Identifying suspicious URLs: an application of
    large-scale online learning, ICML 2009. Sizes of the parts: Z. Wang, N. Djuric, K. Crammer and
    S. Vucetic, KDD 2011, Table 2.
    """
    recipe = _Recipe(
        name="url",
        descr="Addresses of web pages, 3,231,961 features, 2 classes.",
        files=("url_combined",),
        read=_read_url,
        origin=f"{_LIBSVM}binary.html#url",
        target_names=("benign", "malicious"),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_rcv1(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load RCV1 in two classes, 677,399 + 20,242 news stories described by 47,236 stemmed words.

    CSR, logarithmic tf-idf in rows of unit length; labels +1 (corporate or economics) and -1
    (government or markets). The files are LIBSVM's ``rcv1_test.binary`` and ``rcv1_train.binary``,
    with their roles swapped, as papers on large data have it. Without them: scikit-learn's
    ``fetch_rcv1``, less the stories that belong to both classes or to neither.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`.

    Returns
    -------
    data : Bunch, or 4-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    D. D. Lewis, Y. Yang, T. G. Rose and F. Li, RCV1: a new benchmark collection for text
    categorization research, JMLR 5, 2004; two classes: LIBSVM data page.
    """
    recipe = _Recipe(
        name="rcv1",
        descr="Reuters news stories, tf-idf of 47,236 words, 2 classes.",
        files=("rcv1_test.binary", "rcv1_train.binary"),
        read=lambda paths: _read_pair(paths, _N_WORDS, dense=False),
        fetch=_fetch_rcv1,
        origin="scikit-learn's fetch_rcv1",
        target_names=("government or markets", "corporate or economics"),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_rcv1_topics(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load RCV1 in four classes: news stories on one of corporate, economics, government, markets.

    CSR, 47,236 words, logarithmic tf-idf in rows of unit length; labels 0 to 3, in the order above.
    Stories on several of these topics, or on none, are left out, and the roles of training and test
    part are swapped, as in the least-squares paper, whose features were logarithmic counts of some
    20,000 words. The files are those that scikit-learn's ``fetch_rcv1`` leaves behind, in a folder
    ``RCV1``. Without them: ``fetch_rcv1`` itself.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`. The files are pickles: only your own should be loaded.

    Returns
    -------
    data : Bunch, or 4-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    D. D. Lewis, Y. Yang, T. G. Rose and F. Li, JMLR 5, 2004; four classes: A. Agarwal, S. M.
    Kakade, N. Karampatziakis, L. Song and G. Valiant, Least squares revisited, ICML 2014, A.2.2.
    """
    recipe = _Recipe(
        name="rcv1_topics",
        descr="Reuters news stories on one topic, tf-idf of 47,236 words, 4 classes.",
        files=_RCV1_FILES,
        read=lambda paths: _fetch_topics(
            data_home=str(paths[0].parents[1]), download_if_missing=False
        ),
        fetch=_fetch_topics,
        origin="scikit-learn's fetch_rcv1",
        target_names=("corporate", "economics", "government", "markets"),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_mnist8m(*, data_home: Folder = None, download_if_missing: bool = True) -> Bunch:
    """Load mnist8m, 8,100,000 deformed digits as a source of rows, and MNIST's test set.

    As arrays the rows would take 25 GB; a source gives them block by block, as CSR on [0, 1], to
    `fit_stream`. The file is LIBSVM's ``mnist8m.scale``, or ``mnist8m``, whose bytes are divided by
    255. There is nobody to ask for a copy; :func:`make_infinite_digits` needs none.

    Parameters
    ----------
    data_home : path or None
        Folder with the file, as for :func:`load_usps`.
    download_if_missing : bool
        Whether MNIST's test set may be downloaded; see :func:`load_mnist`.

    Returns
    -------
    data : Bunch
        ``train``, a `multiplane.data.Source` of blocks ``(X, y, None)``; ``X_test, y_test`` dense;
        ``classes``, ``source`` (where `train` came from) and ``DESCR``.

    References
    ----------
    G. Loosli, S. Canu and L. Bottou, Training invariant support vector machines using selective
    sampling, Large-scale kernel machines, MIT Press, 2007.
    """
    folder = data_directory(data_home)
    path = _find(folder, "mnist8m.scale")
    scaled = path is not None
    path = path or _find(folder, "mnist8m")
    if path is None:
        why = f"it is to be had from {_LIBSVM}multiclass.html#mnist8m"
        raise _absent("mnist8m", folder, ["mnist8m.scale or mnist8m"], why)
    # Here, so that other data sets can be had without the compiled module.
    from multiplane.data import open_source

    from ._digit_source import GreySource

    train = open_source(path, format="libsvm", n_features=784)
    digits = load_mnist(data_home=data_home, download_if_missing=download_if_missing)
    return Bunch(
        train=train if scaled else GreySource(train),
        X_test=digits.X_test,
        y_test=digits.y_test,
        classes=np.arange(10),
        source=str(path),
        DESCR="Deformed digits, 28 x 28 grey values in [0, 1], 10 classes.",
    )


# --- reading files ------------------------------------------------------------------------


def _read_webspam(paths: list[Path]) -> Parts:
    X, y = read_libsvm(paths[0], 254)
    order = np.random.RandomState(0).permutation(len(y))
    return _cut(X[order], y[order], len(y) * 4 // 5)


def _read_url(paths: list[Path]) -> Parts:
    X, y = read_libsvm(paths[0], 3_231_961)
    return _cut(X, y, len(y) - len(y) * 42_000 // 239_613)


def _cut(X: Any, y: Any, n_train: int) -> Parts:
    return {
        "X_train": X[:n_train],
        "y_train": y[:n_train],
        "X_test": X[n_train:],
        "y_test": y[n_train:],
    }


# --- asking scikit-learn for a copy -------------------------------------------------------


def _fetch_rcv1() -> Parts:
    parts: Parts = {}
    for part, (X, topics) in _stories().items():
        positive = (topics[:, :2] > 0).any(axis=1)  # corporate, economics
        one = positive != (topics[:, 2:] > 0).any(axis=1)  # of the two sides
        parts[f"X_{part}"] = X[np.flatnonzero(one)]
        parts[f"y_{part}"] = np.where(positive[one], 1, -1)
    sizes = len(parts["y_train"]), len(parts["y_test"])
    if sizes != _RCV1_ROWS:
        raise ValueError(f"there must be {_RCV1_ROWS} stories, got {sizes}: this is another copy")
    return parts


def _fetch_topics(**options: Any) -> Parts:
    parts: Parts = {}
    for part, (X, topics) in _stories(**options).items():
        one = topics.sum(axis=1) == 1
        parts[f"X_{part}"] = X[np.flatnonzero(one)]
        parts[f"y_{part}"] = topics[one].argmax(axis=1)
    return parts


def _stories(**options: Any) -> dict[str, tuple[Any, Any]]:
    """Words and topics of each part, the larger one, RCV1's test part, being for training."""
    stories = {}
    for part, subset in (("train", "test"), ("test", "train")):
        data = skd.fetch_rcv1(subset=subset, **options)
        names = list(data.target_names)
        topics = sp.csr_matrix(data.target)[:, [names.index(topic) for topic in _TOPICS]]
        stories[part] = _as_sparse(data.data), topics.toarray().astype(np.int64)
    return stories
