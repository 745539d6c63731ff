"""Datasets in files of the user's own, in the folder named by ``BOCHNER_DATA``.

Nothing is downloaded here. Files are looked for in the folder first, then in the cache of
:mod:`bochner.data.download`; a file that is in neither raises a FileNotFoundError. Each file is a
NumPy archive without pickles:

=================  =====================================================================
adult.npz          ``X_train``, ``y_train``, ``X_test``, ``y_test``
a9a.npz            the same four arrays: Adult as 123 columns of zeros and ones
ijcnn1.npz         the same four arrays
covtype.npz        ``X``, ``y``: classes 1 to 7
internet_ads.npz   ``X``, ``y``
farm_ads.npz       ``indices``, ``indptr``, ``shape`` (of a sparse matrix of ones), ``y``
mnist.npz          ``X_train``, ``y_train``, ``X_test``, ``y_test``: grey levels, digits
cifar10_hog.npz    the same four arrays: histograms of oriented gradients, classes 0 to 9
cifar10_train.npz  ``labels``, ``grid`` (rows and columns of a sheet), ``sheet_00``, .. : sheets
                   of 32 x 32 images side by side, each the bytes of a picture file
cifar10_test.npz   the same
cadata.npz         ``X``, ``y``: numbers to predict
cpusmall.npz       ``X``, ``y``: numbers to predict
yearmsd.npz        ``X_train``, ``y_train``, ``X_test``, ``y_test``: numbers to predict
=================  =====================================================================

:func:`load_local` returns the rows of the file, with grey levels divided by 255;
:func:`load_images` and :func:`load_yearmsd` return them unchanged. :func:`load_pair`,
:func:`load_mnist` and :func:`load_cifar10_hog` keep the split of the file and subtract the mean of
the training rows. :func:`load_regression` makes a random split and standardises the columns by its
training rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

VARIABLE, CACHE_VARIABLE = "BOCHNER_DATA", "BOCHNER_CACHE"

# name: file, the class that becomes -1, the class that becomes +1
PAIRS: dict[str, tuple[str, int, int]] = {
    "mnist17": ("mnist.npz", 1, 7),
    "mnist49": ("mnist.npz", 4, 9),
    "mnist56": ("mnist.npz", 5, 6),
    "cifar_plane_bird": ("cifar10_hog.npz", 0, 2),
    "cifar_auto_truck": ("cifar10_hog.npz", 1, 9),
    "cifar_dog_frog": ("cifar10_hog.npz", 5, 6),
    "cifar_auto_ship": ("cifar10_hog.npz", 1, 8),
    "cifar_auto_deer": ("cifar10_hog.npz", 1, 4),
}
IMAGES = ("mnist", "cifar10")
# name: file
REGRESSION = {"cadata": "cadata.npz", "cpusmall": "cpusmall.npz"}
_UNITS = {"mnist.npz": 255}  # what grey levels are divided by
_PARTS = ("X_train", "y_train", "X_test", "y_test")


@dataclass(frozen=True)
class LocalDataset:
    """Rows and their labels; the test part is None if the data has no fixed split.

    Labels are -1 and +1, except from :func:`load_mnist` and :func:`load_cifar10_hog` (classes 0
    to 9) and :func:`load_regression` (numbers).
    """

    name: str
    X_train: Any  # dense, or sparse CSR
    y_train: NDArray[Any]
    X_test: Any = None
    y_test: NDArray[Any] | None = None

    def __str__(self) -> str:
        n, *shape = self.X_train.shape
        fixed = "no fixed split" if self.X_test is None else f"{self.X_test.shape[0]} to test"
        if len(shape) > 1:
            return f"{self.name}: {n} images of {' x '.join(map(str, shape))}, {fixed}"
        return f"{self.name}: {n} rows, {shape[0]} columns, {fixed}"


def data_folder() -> Path:
    """Return the folder named by the environment variable ``BOCHNER_DATA``.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or does not name a folder.
    """
    value = os.environ.get(VARIABLE)
    if not value:
        raise FileNotFoundError(
            f"set the environment variable {VARIABLE} to the folder that holds the data files."
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{VARIABLE} is {value!r}, which is not a folder.")
    return folder


def cache_folder() -> Path:
    """Return the folder named by ``BOCHNER_CACHE``, or ``bochner`` in the user's cache folder."""
    value = os.environ.get(CACHE_VARIABLE)
    if value:
        return Path(value).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bochner"


def find_file(file: str) -> Path | None:
    """Return the path of a data file in the user's folder or the cache; None if in neither."""
    folders = [Path(os.environ[VARIABLE]).expanduser()] if os.environ.get(VARIABLE) else []
    paths = [folder / file for folder in (*folders, cache_folder())]
    return next((path for path in paths if path.is_file()), None)


def load_local(name: str) -> LocalDataset:
    """Load a two-class dataset from the folder named by ``BOCHNER_DATA``.

    Values are as they are in the file, except that grey levels are divided by 255. The rows are
    in the order of the file, which may be sorted by class: shuffle before splitting.

    Parameters
    ----------
    name : {"a9a", "adult", "ads", "breast", "covtype", "farm", "ijcnn1", "mnist17", "mnist49", \
            "mnist56"}
        Name of the dataset. ``"breast"`` comes with scikit-learn and needs no folder. ``"farm"``
        is a sparse CSR matrix in float32; the others are dense, in float64 except for
        ``"covtype"``, whose half a million rows are float32 and whose labels tell the second class
        (+1) from all others. The pairs of digits pool MNIST's training and test images, all of
        the lower digit (-1) before all of the higher (+1).

    Returns
    -------
    LocalDataset
        Rows and labels.

    Examples
    --------
    >>> from bochner.data.local import load_local
    >>> print(load_local("breast"))
    breast: 569 rows, 30 columns, no fixed split
    """
    if name not in _LOADERS:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(LOCAL)}.")
    return _LOADERS[name](name)


def load_pair(name: str) -> LocalDataset:
    """Load two classes of MNIST or CIFAR-10, with the training and test rows of their files.

    Pixels of MNIST are divided by 255; rows of CIFAR-10 are histograms of oriented gradients.
    The mean of the training rows is subtracted from both parts. Rows are float32. This is the
    protocol of Bullins, Zhang and Zhang (2018); the pairs of digits of :func:`load_local` are one
    pool.

    Parameters
    ----------
    name : {"mnist17", "mnist49", "mnist56", "cifar_plane_bird", "cifar_auto_truck", \
            "cifar_dog_frog", "cifar_auto_ship", "cifar_auto_deer"}
        Name of the pair; the class that is named first has the label -1.

    Returns
    -------
    LocalDataset
        Rows of both classes, with labels -1 and +1.
    """
    if name not in PAIRS:
        raise ValueError(f"unknown pair {name!r}; there are {', '.join(PAIRS)}.")
    file, first, second = PAIRS[name]
    data = _centred(name, file, (first, second))
    parts = data.y_train, np.asarray(data.y_test)
    for wanted in (first, second):
        if not all(wanted in labels for labels in parts):
            raise ValueError(f"{file} lacks rows of class {wanted}, to train or to test on.")
    y, y_test = (np.where(labels == second, 1, -1) for labels in parts)
    return replace(data, y_train=y, y_test=y_test)


def load_mnist() -> LocalDataset:
    """Load all ten digits of MNIST: 60000 rows to train, 10000 to test; labels 0 to 9.

    Pixels are divided by 255, and the mean of the training rows is subtracted. Rows are float32.
    """
    return _centred("mnist", "mnist.npz", range(10))


def load_cifar10_hog() -> LocalDataset:
    """Load all ten classes of CIFAR-10 as histograms of oriented gradients; labels 0 to 9.

    There are 50000 rows to train, 10000 to test, and 512 columns. The mean of the training rows is
    subtracted. Rows are float32.
    """
    return _centred("cifar10_hog", "cifar10_hog.npz", range(10))


def load_images(name: str) -> LocalDataset:
    """Load images with their shape from the folder named by ``BOCHNER_DATA``.

    Parameters
    ----------
    name : {"mnist", "cifar10"}
        Name of the dataset: 60000 and 10000 images of 28 x 28 grey levels, or 50000 and 10000 of
        32 x 32 pixels in red, green and blue; classes are 0 to 9. CIFAR-10 is stored as pictures,
        which Pillow reads.

    Returns
    -------
    LocalDataset
        Images and labels. `X_train` and `X_test` are uint8, of shape (n, 28, 28) or
        (n, 32, 32, 3).
    """
    if name not in IMAGES:
        raise ValueError(f"unknown images {name!r}; there are {', '.join(IMAGES)}.")
    if name == "mnist":
        X, y, X_test, y_test = _read("mnist.npz", *_PARTS)
        X, X_test = X.reshape(-1, 28, 28), X_test.reshape(-1, 28, 28)
    else:
        X, y = read_sheets("cifar10_train.npz")
        X_test, y_test = read_sheets("cifar10_test.npz")
    return LocalDataset(name, X, y.astype(np.int64), X_test, y_test.astype(np.int64))


def load_regression(name: str, *, test_size: float = 0.25, random_state: int = 0) -> LocalDataset:
    """Load a regression dataset: a random split, with columns standardised by training rows.

    A column that is constant on the training rows becomes zero there. Rows and targets are
    float64; the targets are those of the file.

    Parameters
    ----------
    name : {"cadata", "cpusmall"}
        Name of the dataset: Californian house values, or the share of time that a computer spends
        in user mode.
    test_size : float, default=0.25
        Share of the rows to test on.
    random_state : int, default=0
        Seed of the random split.

    Returns
    -------
    LocalDataset
        Rows and targets.
    """
    if name not in REGRESSION:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(REGRESSION)}.")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1, got {test_size!r}.")
    X, y = _read(REGRESSION[name], "X", "y")
    order = np.random.RandomState(random_state).permutation(len(y))
    n_test = max(1, round(test_size * len(y)))
    test, train = order[:n_test], order[n_test:]
    if not len(train):
        raise ValueError(f"{name} has {len(y)} rows, too few for test_size={test_size!r}.")
    X, y = X.astype(np.float64), y.astype(np.float64)
    mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1)
    return LocalDataset(name, X[train], y[train], X[test], y[test])


def load_yearmsd() -> LocalDataset:
    """Load YearPredictionMSD: the year of a song from 90 numbers, with its published split.

    There are 463715 rows to train and 51630 to test, as they are in the file; targets are float64.
    """
    X, y, X_test, y_test = _read("yearmsd.npz", *_PARTS)
    return LocalDataset("yearmsd", X, y.astype(np.float64), X_test, y_test.astype(np.float64))


def _path(file: str) -> Path:
    path = find_file(file)
    if path is None:
        raise FileNotFoundError(f"there is no file {file} in {data_folder()} ({VARIABLE}).")
    return path


def _read(file: str, *keys: str) -> list[NDArray[Any]]:
    path = _path(file)
    try:
        opened = np.load(path)
    except BadZipFile as error:
        raise ValueError(f"{path} is not a NumPy archive, or is cut short.") from error
    with opened as archive:
        missing = [key for key in keys if key not in archive]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r}; it has {sorted(archive)}.")
        return [archive[key] for key in keys]


def read_sheets(file: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Cut images out of the sheets of a file; return them and their labels."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{file} holds pictures: install Pillow to read it.") from None
    labels, (rows, columns) = _read(file, "labels", "grid")
    with np.load(_path(file)) as archive:
        sheets = [archive[name].tobytes() for name in sorted(archive) if name.startswith("sheet")]
    images = []
    for picture in (np.asarray(Image.open(BytesIO(sheet))) for sheet in sheets):
        if picture.ndim != 3 or picture.shape[:2] != (rows * 32, columns * 32):
            raise ValueError(
                f"{file} has a sheet of shape {picture.shape}, not of {rows} x {columns} images."
            )
        cut = picture[:, :, :3].reshape(rows, 32, columns, 32, 3).transpose(0, 2, 1, 3, 4)
        images.append(cut.reshape(-1, 32, 32, 3))
    return np.concatenate(images), labels


def _centred(name: str, file: str, classes: Iterable[int]) -> LocalDataset:
    """Load rows of some classes in float32, minus the mean of the training rows."""
    X, y, X_test, y_test = _read(file, *_PARTS)
    wanted, unit = list(classes), _UNITS.get(file, 1)
    kept, test_kept = np.isin(y, wanted), np.isin(y_test, wanted)
    X, X_test = X[kept].astype(np.float32) / unit, X_test[test_kept].astype(np.float32) / unit
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    y, y_test = y[kept].astype(np.int64), y_test[test_kept].astype(np.int64)
    return LocalDataset(name, X - mean, y, X_test - mean, y_test)


def _signs(y: Any) -> NDArray[np.int64]:
    y = np.asarray(y).astype(np.int64)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(f"labels must be -1 and +1, got {np.unique(y)[:5].tolist()}.")
    return y


def _two_parts(name: str) -> LocalDataset:
    X, y, X_test, y_test = _read(f"{name}.npz", *_PARTS)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    return LocalDataset(name, X, _signs(y), X_test, _signs(y_test))


def _ads(name: str) -> LocalDataset:
    X, y = _read("internet_ads.npz", "X", "y")
    return LocalDataset(name, X.astype(np.float64), _signs(y))


def _covtype(name: str) -> LocalDataset:
    X, y = _read("covtype.npz", "X", "y")
    return LocalDataset(name, X.astype(np.float32), np.where(y == 2, 1, -1))


def _breast(name: str) -> LocalDataset:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return LocalDataset(name, np.asarray(X, dtype=np.float64), _signs(2 * y - 1))


def _farm(name: str) -> LocalDataset:
    indices, indptr, shape, y = _read("farm_ads.npz", "indices", "indptr", "shape", "y")
    # The file stores 16-bit column numbers, which scikit-learn does not take.
    X = sparse.csr_matrix(
        (np.ones(len(indices), dtype=np.float32), indices.astype(np.int32), indptr),
        shape=tuple(int(length) for length in shape),
    )
    return LocalDataset(name, X, _signs(y))


def _digits(name: str) -> LocalDataset:
    file, low, high = PAIRS[name]
    X, y, X_test, y_test = _read(file, *_PARTS)
    digits = np.concatenate([y, y_test])
    order = np.concatenate([np.flatnonzero(digits == digit) for digit in (low, high)])
    pool = np.concatenate([X, X_test])[order].astype(np.float64) / _UNITS[file]
    return LocalDataset(name, pool, np.where(digits[order] == high, 1, -1))


_LOADERS: dict[str, Callable[[str], LocalDataset]] = {
    "a9a": _two_parts,
    "ads": _ads,
    "adult": _two_parts,
    "breast": _breast,
    "covtype": _covtype,
    "farm": _farm,
    "ijcnn1": _two_parts,
    "mnist17": _digits,
    "mnist49": _digits,
    "mnist56": _digits,
}
LOCAL = tuple(_LOADERS)
