"""Real data sets with one calling convention.

Each loader is a recipe: which files to look for, how to read them, whom to ask for a copy where
they are absent. `_load` follows the recipe. The sum of the labels of each part is written in
the recipe, because a downloaded copy may come in another order than the one whose first rows
are the training set; a wrong cut shows in these sums.
"""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import sklearn.datasets as skd
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

Folder: TypeAlias = str | os.PathLike[str] | None
Parts: TypeAlias = dict[str, Any]  # X_train, y_train, X_test, y_test or X, y; names where known
Loaded: TypeAlias = Any  # a Bunch, or a tuple with return_X_y=True

_OPENERS: dict[str, Callable[..., Any]] = {
    "": open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".gz": gzip.open,
}
_LIBSVM = "LIBSVM data page, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_LETTER_FEATURES = (
    "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
)
_COVTYPE_FEATURES = (
    "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology "
    "Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm "
    "Horizontal_Distance_To_Fire_Points"
)
_COVTYPES = "Spruce/Fir,Lodgepole Pine,Ponderosa Pine,Cottonwood/Willow,Aspen,Douglas-fir,Krummholz"
_CIFAR = "airplane automobile bird cat deer dog frog horse ship truck"


@dataclass(frozen=True)
class _Recipe:
    name: str
    descr: str
    files: tuple[str, ...]  # names without the suffix of their compression
    read: Callable[[list[Path]], Parts]
    origin: str  # whom `fetch` asks, or where the files are, for messages
    fetch: Callable[[], Parts] | None = None  # None: nobody can be asked
    label_sums: tuple[int, ...] = ()  # of y_train and y_test (or y); empty: not to be checked
    target_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()


# --- the public loaders -------------------------------------------------------------------


def load_usps(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load USPS, 7,291 + 2,007 handwritten digits of 16 x 16 grey values in [-1, 1].

    The files number classes from 1 to 10; labels here are the digits 0 to 9. Without files:
    OpenML's ``usps`` version 2, whose first 7,291 rows are the training set.

    Parameters
    ----------
    data_home : path or None
        Folder with the files, compressed with xz, bzip2, gzip or not at all.
        None: see :func:`data_directory`.
    return_X_y : bool
        Return plain arrays instead of a Bunch.
    download_if_missing : bool
        Whether scikit-learn may download (into its own cache) what is not on disk. False
        makes an absent file an error.

    Returns
    -------
    data : Bunch
        ``X_train, y_train, X_test, y_test`` (``X, y`` for a set without official split);
        ``classes`` (the sorted labels) and ``target_names`` (their names, in the same order);
        ``feature_names`` where known, else None; ``source`` (where it came from); ``DESCR``.
        X is float32, dense or CSR as told in each loader; y is int64.
        With ``return_X_y=True`` the tuple of these two or four arrays.

    References
    ----------
    J. J. Hull, A database for handwritten text recognition research, IEEE PAMI 16, 1994.
    """
    recipe = _Recipe(
        name="usps",
        descr="USPS digits, 16 x 16 grey values in [-1, 1], 10 classes.",
        files=("usps", "usps.t"),
        read=lambda paths: _digits_from_one(_read_pair(paths, 256)),
        fetch=lambda: _digits_from_one(_openml_pair("usps", 2, 7_291)),
        origin="OpenML 'usps' version 2",
        label_sums=(28_460, 7_728),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_letter(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load letter, 15,000 + 5,000 printed capitals described by 16 numbers in [-1, 1].

    Dense; labels 1 to 26 for A to Z. This is LIBSVM's ``letter.scale``. Without files: OpenML's
    ``letter`` version 1, cut at row 15,000; its features, integers from 0 to 15, are scaled to
    [-1, 1] by the range of the training rows.

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
    P. W. Frey and D. J. Slate, Machine Learning 6, 1991; split and scale: LIBSVM data page.
    """
    recipe = _Recipe(
        name="letter",
        descr="Letter recognition, 16 features scaled to [-1, 1], 26 classes.",
        files=("letter", "letter.t"),
        read=lambda paths: _read_pair(paths, 16),
        fetch=lambda: _unit_range(_openml_pair("letter", 1, 15_000, _letters_to_numbers)),
        origin="OpenML 'letter' version 1",
        label_sums=(203_433, 66_902),
        target_names=tuple(ascii_uppercase),
        feature_names=tuple(_LETTER_FEATURES.split()),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_ijcnn1(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load ijcnn1, 49,990 + 91,701 moments of an engine, 22 features, 9.7 % misfires.

    Dense; labels -1 and +1 (the rare class). Training values lie in [-1, 1], test values can
    lie a little outside. Without files: OpenML's ``ijcnn`` version 1. That copy has more rows
    than the two parts together; the first 49,990 and the next 91,701 are taken, and refused if
    their labels do not add up to those of the official parts.

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
    D. Prokhorov, IJCNN 2001 neural network competition; encoding: C.-C. Chang and C.-J. Lin,
    IJCNN 2001.
    """
    recipe = _Recipe(
        name="ijcnn1",
        descr="IJCNN 2001 challenge as encoded by its winners, 22 features, 2 classes.",
        files=("ijcnn1", "ijcnn1.t"),
        read=lambda paths: _read_pair(paths, 22),
        fetch=lambda: _openml_pair("ijcnn", 1, 49_990, n_test=91_701),
        origin="OpenML 'ijcnn' version 1",
        label_sums=(-40_284, -74_277),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_a9a(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load a9a, 32,561 + 16,281 persons of the 1994 census described by 123 yes-no features.

    CSR with 123 columns in both parts (the last one is empty in the test set); labels -1 and
    +1, the latter for an income above 50,000 dollars. Without files: OpenML's ``a9a`` version 1,
    cut at row 32,561.

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
    UCI Adult; binary encoding: J. C. Platt, Sequential minimal optimization, 1998.
    """
    recipe = _Recipe(
        name="a9a",
        descr="UCI Adult as 123 binary features, 2 classes.",
        files=("a9a", "a9a.t"),
        read=lambda paths: _read_pair(paths, 123, dense=False),
        fetch=lambda: _openml_pair("a9a", 1, 32_561, dense=False),
        origin="OpenML 'a9a' version 1",
        label_sums=(-16_879, -8_589),
        target_names=("<=50K", ">50K"),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_mnist(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load MNIST, 60,000 + 10,000 handwritten digits of 28 x 28 grey values in [0, 1].

    Dense, one row of 784 values an image; labels 0 to 9 (see :func:`round_digits` for the
    two-class task of some papers). Without files: OpenML's ``mnist_784`` version 1.

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
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Proceedings of the IEEE 86, 1998.
    """
    recipe = _Recipe(
        name="mnist",
        descr="MNIST digits, 28 x 28 grey values in [0, 1], 10 classes.",
        files=("mnist.npz",),
        read=_read_images,
        fetch=lambda: _grey(_openml_pair("mnist_784", 1, 60_000)),
        origin="OpenML 'mnist_784' version 1",
        label_sums=(267_236, 44_434),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_cifar10_small(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load a small part of CIFAR-10: 200 + 50 colour photographs for each of ten classes.

    Dense, one row of 32 x 32 x 3 values in [0, 1] an image, colour running fastest; labels
    0 to 9. Meant for tests. Without files: the first 200 and the next 50 images of each class
    in OpenML's ``CIFAR_10_small`` version 1, which are *other images*: accuracies differ.

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
    A. Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """
    recipe = _Recipe(
        name="cifar10-small",
        descr="Part of CIFAR-10, 32 x 32 x 3 values in [0, 1], 10 classes.",
        files=("cifar10-small.npz",),
        read=_read_images,
        fetch=_fetch_cifar10_small,
        origin="OpenML 'CIFAR_10_small' version 1",
        label_sums=(9_000, 2_250),
        target_names=tuple(_CIFAR.split()),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_cifar10(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load CIFAR-10, 50,000 + 10,000 colour photographs of ten kinds of things.

    Dense, one row of 32 x 32 x 3 values in [0, 1] an image, colour running fastest; labels
    0 to 9. The file is ``cifar10.npz`` with arrays ``x_train, y_train, x_test, y_test`` of bytes.
    Without it: OpenML's ``CIFAR_10`` version 1, whose last 10,000 rows are the test set.

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
    A. Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """
    recipe = _Recipe(
        name="cifar10",
        descr="CIFAR-10, 32 x 32 x 3 values in [0, 1], 10 classes.",
        files=("cifar10.npz",),
        read=_read_images,
        fetch=_fetch_cifar10,
        origin="OpenML 'CIFAR_10' version 1",
        label_sums=(225_000, 45_000),
        target_names=tuple(_CIFAR.split()),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_news20(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load 20 newsgroups, 11,314 + 7,532 posts split by date, as counts of 46,818 words.

    CSR, raw counts (most classifiers want rows scaled to unit length first); labels 1 to 20.
    Words are lower-case, of two or more letters, found in two or more training posts; headers
    are kept. Without files: ``fetch_20newsgroups`` counted by the same rule; rows then come
    in scikit-learn's order, and the number of columns may differ by a few odd words.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`.

    Returns
    -------
    data : Bunch, or 4-tuple with ``return_X_y=True``
        As for :func:`load_usps`; ``feature_names`` are the words.

    References
    ----------
    K. Lang, NewsWeeder: learning to filter netnews, ICML 1995.
    """
    recipe = _Recipe(
        name="news20",
        descr="20 newsgroups by date, word counts, 20 classes.",
        files=("news20", "news20.t", "news20.vocab.txt", "news20.classes.txt"),
        read=_read_news20,
        fetch=_fetch_news20,
        origin="scikit-learn's fetch_20newsgroups",
        label_sums=(116_455, 77_530),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_covtype(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load forest cover types, 581,012 patches of land described by 54 numbers, unscaled.

    Dense (126 MB); labels 1 to 7. There is no official split, and rows come in their original
    order, in which the types clump: shuffle before you cut. Without files: scikit-learn's
    ``fetch_covtype``, which has the same rows in the same order.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`.

    Returns
    -------
    data : Bunch with ``X`` and ``y``, or 2-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    J. A. Blackard and D. J. Dean, Computers and Electronics in Agriculture 24, 1999.
    """
    areas = [f"Wilderness_Area_{i}" for i in range(4)]
    soils = [f"Soil_Type_{i}" for i in range(40)]
    recipe = _Recipe(
        name="covtype",
        descr="Forest cover types, 54 raw features, 7 classes, no official split.",
        files=("covtype",),
        read=lambda paths: _read_whole(paths, 54),
        fetch=_fetch_covtype,
        origin="scikit-learn's fetch_covtype",
        label_sums=(1_191_929,),
        target_names=tuple(_COVTYPES.split(",")),
        feature_names=(*_COVTYPE_FEATURES.split(), *areas, *soils),
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


def load_waveform(
    *, data_home: Folder = None, return_X_y: bool = False, download_if_missing: bool = True
) -> Loaded:
    """Load waveform, 5,000 noisy mixtures of two of three triangular waves at 21 instants.

    Dense, unscaled; labels 0 to 2; no official split. Without files: the first 21 of the 40
    columns of OpenML's ``waveform-5000`` version 1, which is *another draw* of the same
    generator (the other 19 columns are pure noise): accuracies agree only statistically.

    Parameters
    ----------
    data_home, return_X_y, download_if_missing
        As for :func:`load_usps`.

    Returns
    -------
    data : Bunch with ``X`` and ``y``, or 2-tuple with ``return_X_y=True``
        As for :func:`load_usps`.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and regression trees, 1984.
    """
    recipe = _Recipe(
        name="waveform",
        descr="Breiman's waves, 21 features, 3 classes, no official split.",
        files=("waveform",),
        read=lambda paths: _read_whole(paths, 21),
        fetch=_fetch_waveform,
        origin="OpenML 'waveform-5000' version 1",
    )
    return _load(recipe, data_home, return_X_y, download_if_missing)


# --- helpers in the public face -----------------------------------------------------------


def data_directory(data_home: Folder = None) -> Path | None:
    """Find the folder with the data files.

    It is `data_home` if given, else the environment variable ``MULTIPLANE_DATA``, else
    ``../shared/data`` seen from the current folder or from the root of the repository. The
    first two are taken at their word: one that does not exist is an error, because a
    misspelt folder should not end in a silent download.

    Parameters
    ----------
    data_home : path or None

    Returns
    -------
    Path, or None where there is no such folder.

    Examples
    --------
    >>> from multiplane.datasets import data_directory
    >>> data_directory(".").is_dir()
    True
    """
    asked = {"data_home": data_home, "MULTIPLANE_DATA": os.environ.get("MULTIPLANE_DATA")}
    for name, value in asked.items():
        if not value:
            continue
        if not Path(value).is_dir():
            raise FileNotFoundError(
                f"{name} must be a folder that exists, got {os.fspath(value)!r}; "
                "correct it, or leave it out to let scikit-learn download the data"
            )
        return Path(value)
    return next((folder for folder in _usual_places() if folder.is_dir()), None)


def read_libsvm(path: str | os.PathLike[str], n_features: int) -> tuple[Any, NDArray[np.int64]]:
    """Read LIBSVM text with indices from 1, plain or packed.

    Parameters
    ----------
    path : path
    n_features : int
        Number of columns, so that a test file without the last features still fits its model.

    Returns
    -------
    X : float32 CSR matrix (n, n_features)
    y : int64 array (n,)

    Examples
    --------
    >>> from multiplane.datasets import read_libsvm
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny"
    ...     _ = path.write_text("+1 2:0.5\\n-1 1:3\\n")
    ...     X, y = read_libsvm(path, 3)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.0, 0.5, 0.0], [3.0, 0.0, 0.0]], [1, -1])
    """
    # Here, so that other data sets can be had without the compiled module.
    from multiplane.data import open_source, widened

    try:
        source = open_source(path, format="libsvm", n_features=n_features)
        X, y, _ = source.load()
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{path} must hold LIBSVM text with indices from 1 to {n_features}, got: {error}; "
            "check n_features, or fetch the file again"
        ) from error
    return widened(X, n_features), y


def round_digits(y: ArrayLike) -> NDArray[np.int64]:
    """Map digits to 1 where their shape is round (0, 3, 6, 8, 9) and to 0 elsewhere.

    Papers use this to make one large two-class problem of MNIST or USPS.

    Parameters
    ----------
    y : array of digits 0 to 9

    Returns
    -------
    int64 array of the same shape, 0 or 1.

    Examples
    --------
    >>> from multiplane.datasets import round_digits
    >>> round_digits([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).tolist()
    [1, 0, 0, 1, 0, 0, 1, 0, 1, 1]
    """
    digits = np.asarray(y)
    strange = digits[~np.isin(digits, np.arange(10))]
    if strange.size:
        raise ValueError(
            f"round_digits needs digits 0 to 9, got {strange[0]!r}; "
            "labels 1 to 10 of a raw USPS file need a 1 taken off first"
        )
    return np.isin(digits, [0, 3, 6, 8, 9]).astype(np.int64)


# --- following a recipe -------------------------------------------------------------------


def _load(recipe: _Recipe, data_home: Folder, return_X_y: bool, download: bool) -> Loaded:
    folder = data_directory(data_home)
    paths = [_find(folder, name) for name in recipe.files]
    found = [path for path in paths if path is not None]
    if len(found) == len(paths):
        parts, source = recipe.read(found), str(folder)
    else:
        absent = [name for name, path in zip(recipe.files, paths, strict=True) if path is None]
        parts, source = _download(recipe, folder, absent, download), recipe.origin
    if return_X_y:
        return tuple(parts[key] for key in _array_names(parts))
    return _bunch(recipe, parts, source)


def _find(folder: Path | None, name: str) -> Path | None:
    """The file of that name in the folder, under whichever compression it is there."""
    if folder is None:
        return None
    paths = (folder / (name + suffix) for suffix in _OPENERS)
    return next((path for path in paths if path.is_file()), None)


def _usual_places() -> list[Path]:
    repository = Path(__file__).resolve().parents[3]
    return [base.parent / "shared" / "data" for base in (Path.cwd(), repository)]


def _download(recipe: _Recipe, folder: Path | None, absent: list[str], allowed: bool) -> Parts:
    if recipe.fetch is None:
        raise _absent(recipe.name, folder, absent, f"they are to be had from {recipe.origin}")
    if not allowed:
        raise _absent(recipe.name, folder, absent, "download_if_missing=False forbids a download")
    try:
        parts = recipe.fetch()
        _check_labels(recipe, parts)
    except (OSError, EOFError, HTTPException, ValueError, ImportError) as error:
        why = f"{recipe.origin} could not be had either ({type(error).__name__}: {error})"
        raise _absent(recipe.name, folder, absent, why) from error
    return parts


def _check_labels(recipe: _Recipe, parts: Parts) -> None:
    sums = tuple(int(parts[key].sum()) for key in _array_names(parts) if key.startswith("y"))
    if recipe.label_sums and sums != recipe.label_sums:
        raise ValueError(
            f"labels must add up to {recipe.label_sums} as in the official parts, got {sums}: "
            "this copy has other rows or another order"
        )


def _absent(name: str, folder: Path | None, absent: list[str], why: str) -> FileNotFoundError:
    looked = [folder] if folder else _usual_places()
    return FileNotFoundError(
        f"{name} needs {', '.join(absent)} (plain, .xz, .bz2 or .gz), not found in "
        f"{' or '.join(str(place) for place in looked)}; {why}; put the files in a folder and "
        f"pass data_home=... or set MULTIPLANE_DATA (most are on the {_LIBSVM})"
    )


def _array_names(parts: Parts) -> list[str]:
    return ["X_train", "y_train", "X_test", "y_test"] if "X_train" in parts else ["X", "y"]


def _bunch(recipe: _Recipe, parts: Parts, source: str) -> Bunch:
    y = parts["y_train"] if "y_train" in parts else parts["y"]
    classes = np.unique(y)
    names = {
        "target_names": list(recipe.target_names) or [str(code) for code in classes],
        "feature_names": list(recipe.feature_names) or None,
    }
    return Bunch(**{**names, **parts}, classes=classes, source=source, DESCR=recipe.descr)


# --- reading files ------------------------------------------------------------------------


def _open(path: Path, mode: str, **options: Any) -> Any:
    return _OPENERS.get(path.suffix, open)(path, mode, **options)


def _read_pair(paths: list[Path], n_features: int, dense: bool = True) -> Parts:
    (X_train, y_train), (X_test, y_test) = (read_libsvm(path, n_features) for path in paths[:2])
    if dense:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test}


def _read_whole(paths: list[Path], n_features: int) -> Parts:
    X, y = read_libsvm(paths[0], n_features)
    return {"X": X.toarray(), "y": y}


def _read_images(paths: list[Path]) -> Parts:
    with _open(paths[0], "rb") as file, np.load(file) as arrays:
        parts: Parts = {}
        for part in ("train", "test"):
            images = arrays[f"x_{part}"]
            parts[f"X_{part}"] = images.reshape(len(images), -1)
            parts[f"y_{part}"] = arrays[f"y_{part}"].astype(np.int64)
    return _grey(parts)


def _read_news20(paths: list[Path]) -> Parts:
    words, groups = (_lines(path) for path in paths[2:])
    parts = _read_pair(paths, len(words), dense=False)
    return {**parts, "feature_names": words, "target_names": groups}


def _lines(path: Path) -> list[str]:
    with _open(path, "rt", encoding="utf-8") as file:
        return [str(line).rstrip("\n") for line in file]


# --- asking scikit-learn for a copy -------------------------------------------------------


def _openml(name: str, version: int) -> tuple[Any, Any]:
    # The default parser wants pandas, which is no dependency of ours; the other one is slow.
    parser = "auto" if find_spec("pandas") else "liac-arff"
    data = skd.fetch_openml(name=name, version=version, as_frame=False, parser=parser)
    return data.data, data.target


def _integers(target: Any) -> NDArray[np.int64]:
    """Labels as integers, whether OpenML gave numbers or text such as '1' or '-1.0'."""
    return np.asarray(target).astype(np.float64).astype(np.int64)


def _letters_to_numbers(target: Any) -> NDArray[np.int64]:
    return np.array([1 + ascii_uppercase.index(letter) for letter in target], dtype=np.int64)


def _openml_pair(
    name: str,
    version: int,
    n_train: int,
    labels: Callable[[Any], NDArray[np.int64]] = _integers,
    *,
    n_test: int | None = None,
    dense: bool = True,
) -> Parts:
    """Cut OpenML's copy after n_train rows, and again n_test rows further on if given."""
    X, target = _openml(name, version)
    y = labels(target)
    end = None if n_test is None else n_train + n_test
    convert = _as_dense if dense else _as_sparse
    return {
        "X_train": convert(X[:n_train]),
        "y_train": y[:n_train],
        "X_test": convert(X[n_train:end]),
        "y_test": y[n_train:end],
    }


def _as_dense(X: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)


def _as_sparse(X: Any) -> Any:
    return sp.csr_matrix(X, dtype=np.float32)


def _digits_from_one(parts: Parts) -> Parts:
    return {key: part - 1 if key.startswith("y") else part for key, part in parts.items()}


def _grey(parts: Parts) -> Parts:
    """Bytes to float32 in [0, 1]."""
    white = np.float32(255)
    return {
        key: part.astype(np.float32) / white if key.startswith("X") else part
        for key, part in parts.items()
    }


def _unit_range(parts: Parts) -> Parts:
    """Scale each feature so that the training rows span [-1, 1]."""
    low, high = parts["X_train"].min(axis=0), parts["X_train"].max(axis=0)
    width = np.where(high > low, high - low, 1)
    return {
        key: (2 * (part - low) / width - 1).astype(np.float32) if key.startswith("X") else part
        for key, part in parts.items()
    }


def _fetch_cifar10() -> Parts:
    parts = _openml_pair("CIFAR_10", 1, 50_000)
    return _grey(parts | {key: _colour_last(parts[key]) for key in ("X_train", "X_test")})


def _colour_last(X: Any) -> Any:
    """OpenML's rows hold the red plane, then green, then blue."""
    return np.asarray(X).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).reshape(-1, 3072)


def _fetch_cifar10_small() -> Parts:
    X, target = _openml("CIFAR_10_small", 1)
    y = _integers(target)
    places = [np.flatnonzero(y == code) for code in range(10)]
    train = np.sort(np.concatenate([place[:200] for place in places]))
    test = np.sort(np.concatenate([place[200:250] for place in places]))
    images = _colour_last(X)
    return _grey(
        {"X_train": images[train], "y_train": y[train], "X_test": images[test], "y_test": y[test]}
    )


def _fetch_covtype() -> Parts:
    X, y = skd.fetch_covtype(return_X_y=True)
    return {"X": _as_dense(X), "y": _integers(y)}


def _fetch_waveform() -> Parts:
    X, target = _openml("waveform-5000", 1)
    return {"X": _as_dense(X[:, :21]), "y": _integers(target)}


def _fetch_news20() -> Parts:
    train, test = (skd.fetch_20newsgroups(subset=part, shuffle=False) for part in ("train", "test"))
    counter = CountVectorizer(token_pattern=r"[a-z]{2,}", min_df=2, dtype=np.float32)
    X_train = counter.fit_transform(train.data)
    return {
        "X_train": X_train,
        "y_train": _integers(train.target) + 1,
        "X_test": counter.transform(test.data),
        "y_test": _integers(test.target) + 1,
        "feature_names": counter.get_feature_names_out().tolist(),
        "target_names": list(train.target_names),
    }
