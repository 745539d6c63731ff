"""Datasets in files of the user's own, in the folder named by ``BOCHNER_DATA``.

Nothing is downloaded. Each file is a NumPy archive without pickles:

=================  =====================================================================
adult.npz          ``X_train``, ``y_train``, ``X_test``, ``y_test``
internet_ads.npz   ``X``, ``y``
farm_ads.npz       ``indices``, ``indptr``, ``shape`` (of a sparse matrix of ones), ``y``
mnist.npz          ``X_train``, ``y_train``, ``X_test``, ``y_test``: grey levels, digits
=================  =====================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

VARIABLE = "BOCHNER_DATA"


@dataclass(frozen=True)
class LocalDataset:
    """Rows with labels -1 and +1; the test part is None where the data has no fixed split."""

    name: str
    X_train: Any  # dense, or sparse CSR
    y_train: NDArray[np.int64]
    X_test: Any = None
    y_test: NDArray[np.int64] | None = None

    def __str__(self) -> str:
        n, d = self.X_train.shape
        fixed = "no fixed split" if self.X_test is None else f"{self.X_test.shape[0]} to test"
        return f"{self.name}: {n} rows, {d} columns, {fixed}"


def data_folder() -> Path:
    """The folder named by the environment variable ``BOCHNER_DATA``.

    Raises
    ------
    FileNotFoundError
        When the variable is not set, or what it names is not a folder.
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


def load_local(name: str) -> LocalDataset:
    """Load a two-class dataset from the folder named by ``BOCHNER_DATA``.

    Values are as they are in the file, except that grey levels are divided by 255. The rows are
    in the order of the file, which may be sorted by class: shuffle before splitting.

    Parameters
    ----------
    name : {"adult", "ads", "breast", "farm", "mnist17", "mnist49", "mnist56"}
        Which one. ``"breast"`` comes with scikit-learn and needs no folder. ``"farm"`` is a
        sparse CSR matrix in float32, all others are dense in float64. The pairs of digits are
        one pool of MNIST's training and test images, all of the lower digit (-1) before all of
        the higher (+1).

    Raises
    ------
    FileNotFoundError
        When the folder or the file is not there.

    Examples
    --------
    >>> from bochner.datasets.local import load_local
    >>> print(load_local("breast"))
    breast: 569 rows, 30 columns, no fixed split
    """
    if name not in _LOADERS:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(LOCAL)}.")
    return _LOADERS[name](name)


def _read(file: str, *keys: str) -> list[NDArray[Any]]:
    path = data_folder() / file
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {file} in {path.parent} ({VARIABLE}).")
    with np.load(path) as archive:
        missing = [key for key in keys if key not in archive]
        if missing:
            raise ValueError(f"{path} has no array {missing[0]!r}; it has {sorted(archive)}.")
        return [archive[key] for key in keys]


def _signs(y: Any) -> NDArray[np.int64]:
    y = np.asarray(y).astype(np.int64)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(f"labels must be -1 and +1, got {np.unique(y)[:5].tolist()}.")
    return y


def _adult(name: str) -> LocalDataset:
    X, y, X_test, y_test = _read("adult.npz", "X_train", "y_train", "X_test", "y_test")
    return LocalDataset(
        name, X.astype(np.float64), _signs(y), X_test.astype(np.float64), _signs(y_test)
    )


def _ads(name: str) -> LocalDataset:
    X, y = _read("internet_ads.npz", "X", "y")
    return LocalDataset(name, X.astype(np.float64), _signs(y))


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


def _mnist(name: str, low: int, high: int) -> LocalDataset:
    X, y, X_test, y_test = _read("mnist.npz", "X_train", "y_train", "X_test", "y_test")
    parts = [
        rows[digits == digit]
        for digit in (low, high)
        for rows, digits in ((X, y), (X_test, y_test))
    ]
    n_low = len(parts[0]) + len(parts[1])
    pool = np.concatenate(parts).astype(np.float64) / 255
    return LocalDataset(name, pool, np.where(np.arange(len(pool)) < n_low, -1, 1))


_LOADERS: dict[str, Callable[[str], LocalDataset]] = {
    "ads": _ads,
    "adult": _adult,
    "breast": _breast,
    "farm": _farm,
    "mnist17": partial(_mnist, low=1, high=7),
    "mnist49": partial(_mnist, low=4, high=9),
    "mnist56": partial(_mnist, low=5, high=6),
}
LOCAL = tuple(_LOADERS)
