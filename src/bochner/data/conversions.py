"""Conversion of raw files, as published, into the arrays of our data files.

Every function takes the paths of the downloaded files and returns the arrays that
:mod:`bochner.data.local` reads, by name. Nothing is unpickled, and archives are read member by
member, never unpacked.
"""

from __future__ import annotations

import csv
import gzip
import tarfile
import zipfile
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import gen_batches

Arrays = dict[str, NDArray[Any]]

SIDE = 32  # pixels along a side of a CIFAR image
SHEET = 50  # images per row and column of a sheet
_ORIENTATIONS, _CELL = 8, 4

_ADULT_NUMBERS = [0, 2, 4, 10, 11, 12]  # the numeric columns
_ADULT_CATEGORIES = [1, 3, 5, 6, 7, 8, 9, 13]


def mnist(images: Path, labels: Path, test_images: Path, test_labels: Path) -> Arrays:
    """Convert MNIST's four idx files, compressed with gzip."""
    X, y, X_test, y_test = map(_idx, (images, labels, test_images, test_labels))
    return {
        "X_train": X.reshape(len(X), -1),
        "y_train": y,
        "X_test": X_test.reshape(len(X_test), -1),
        "y_test": y_test,
    }


def svmlight_parts(train: Path, test: Path, n_features: int, dtype: Any) -> Arrays:
    """Convert training and test files in LIBSVM's format; labels -1 and +1 become int8."""
    arrays: Arrays = {}
    for part, path in (("train", train), ("test", test)):
        X, y = _svmlight(str(path), n_features)
        signs = np.isin(y, (-1, 1)).all()
        arrays[f"X_{part}"] = X.toarray().astype(dtype)
        arrays[f"y_{part}"] = y.astype(np.int8 if signs else np.float32)
    return arrays


def svmlight_numbers(path: Path, n_features: int) -> Arrays:
    """Convert one file in LIBSVM's format with numbers to predict to dense float32."""
    X, y = _svmlight(str(path), n_features)
    return {"X": X.toarray().astype(np.float32), "y": y.astype(np.float32)}


def adult(archive: Path) -> Arrays:
    """Convert UCI's Adult: six numeric columns, then one for each value of each other column.

    Values are sorted by name, and the question mark is one of them: 108 columns. The label is +1
    for more than 50K.
    """
    parts = []
    with zipfile.ZipFile(archive) as files:
        for name in ("adult.data", "adult.test"):
            with TextIOWrapper(files.open(name)) as text:
                parts.append(np.array([row for row in csv.reader(text) if len(row) == 15]))
    values, n = np.concatenate(parts), len(parts[0])
    encoder = OneHotEncoder(sparse_output=False, dtype=np.int32)
    categories = encoder.fit_transform(values[:, _ADULT_CATEGORIES])
    X = np.hstack([values[:, _ADULT_NUMBERS].astype(np.int32), categories])
    y = np.where([">50K" in value for value in values[:, -1]], 1, -1).astype(np.int8)
    return {"X_train": X[:n], "y_train": y[:n], "X_test": X[n:], "y_test": y[n:]}


def internet_ads(archive: Path) -> Arrays:
    """Convert UCI's Internet Advertisements, less its first four columns; -1 is an ad."""
    with zipfile.ZipFile(archive) as files:
        rows = [row for row in csv.reader(StringIO(files.read("ad.data").decode())) if row]
    # Few of these values are missing ("?"), and only in the columns that are left out or in one
    # that is nearly always zero.
    X = np.array([[value.strip() == "1" for value in row[4:-1]] for row in rows], dtype=np.uint8)
    y = np.array([-1 if row[-1].strip() == "ad." else 1 for row in rows], dtype=np.int8)
    return {"X": X, "y": y}


def farm_ads(archive: Path) -> Arrays:
    """Convert UCI's Farm Ads to a sparse matrix of ones."""
    with zipfile.ZipFile(archive) as files:
        X, y = _svmlight(BytesIO(files.read("farm-ads-vect")), 54877)
    X.sort_indices()
    return {
        "indices": X.indices.astype(np.uint16),
        "indptr": X.indptr.astype(np.int32),
        "shape": np.array(X.shape, dtype=np.int32),
        "y": y.astype(np.int8),
    }


def covtype(folder: Path) -> Arrays:
    """Fetch Covertype through scikit-learn, which checks what it downloads."""
    from sklearn.datasets import fetch_covtype

    data = fetch_covtype(data_home=folder)
    return {"X": data.data.astype(np.int16), "y": data.target.astype(np.uint8)}


def cadata(folder: Path) -> Arrays:
    """Fetch Californian houses through scikit-learn, with the columns of the original file.

    scikit-learn has averages over households where the original has totals. These are integers,
    so that they are recovered by rounding.
    """
    from sklearn.datasets import fetch_california_housing

    return california(*fetch_california_housing(data_home=folder, return_X_y=True))


def california(X: NDArray[Any], y: NDArray[Any]) -> Arrays:
    """Recover the original columns: totals from averages, dollars from units of 100000.

    >>> averages = np.array([[8.3252, 41, 880 / 126, 129 / 126, 322, 322 / 126, 37.88, -122.23]])
    >>> california(averages, np.array([4.526]))["X"][0, 2:6]
    array([880., 129., 322., 126.], dtype=float32)
    """
    income, age, rooms, bedrooms, population, occupants, latitude, longitude = X.T
    households = np.rint(population / occupants)
    totals = [np.rint(average * households) for average in (rooms, bedrooms)]
    columns = [income, age, *totals, population, households, latitude, longitude]
    return {
        "X": np.column_stack(columns).astype(np.float32),
        "y": np.rint(100_000 * y).astype(np.float32),
    }


def cifar10_sheets(archive: Path, part: str) -> Arrays:
    """Convert images of CIFAR-10 to sheets, each the bytes of a PNG file, and labels."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("CIFAR-10 is stored as pictures: install Pillow to write it.") from None
    images, labels = cifar_images(archive, part)
    arrays: Arrays = {"labels": labels, "grid": np.array([SHEET, SHEET])}
    for number, rows in enumerate(gen_batches(len(images), SHEET**2)):
        sheet = images[rows].reshape(SHEET, SHEET, SIDE, SIDE, 3)
        pixels = sheet.transpose(0, 2, 1, 3, 4).reshape(SHEET * SIDE, SHEET * SIDE, 3)
        file = BytesIO()
        Image.fromarray(pixels).save(file, format="PNG")
        arrays[f"sheet_{number:02d}"] = np.frombuffer(file.getvalue(), dtype=np.uint8)
    return arrays


def cifar10_hog(archive: Path) -> Arrays:
    """Convert CIFAR-10 to histograms of oriented gradients."""
    arrays: Arrays = {}
    for part in ("train", "test"):
        images, labels = cifar_images(archive, part)
        arrays[f"X_{part}"] = oriented_gradients(images).astype(np.float16)
        arrays[f"y_{part}"] = labels
    return arrays


def cifar_images(archive: Path, part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return images (n, 32, 32, 3) and labels from the binary version of CIFAR-10.

    A record is a label, then red, green and blue planes.
    """
    stem = {"train": "data_batch", "test": "test_batch"}[part]
    with tarfile.open(archive) as files:
        names = [Path(name) for name in sorted(files.getnames())]
        parts = []
        for name in names:
            if name.suffix == ".bin" and name.stem.startswith(stem):
                member = files.extractfile(str(name))
                assert member is not None
                parts.append(np.frombuffer(member.read(), dtype=np.uint8))
    if not parts:
        raise ValueError(f"{archive.name} has no files of images to {part}.")
    records = np.concatenate(parts).reshape(-1, 1 + 3 * SIDE**2)
    images = records[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0].copy()


def oriented_gradients(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    r"""Compute histograms of oriented gradients: 8 orientations in cells of 4 x 4 pixels.

    The gradient of the grey image is a central difference, zero at the border. A cell's histogram
    sums the lengths of the gradients by direction, up to sign, and is divided by its sum.

    >>> ramp = np.tile(np.arange(32, dtype=np.uint8)[None, :, None], (32, 1, 3))
    >>> oriented_gradients(ramp[None]).reshape(8, 8, 8)[4, 4].round(2)
    array([1., 0., 0., 0., 0., 0., 0., 0.])
    """
    return np.concatenate([_oriented(images[rows]) for rows in gen_batches(len(images), 5000)])


def _oriented(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    grey = (images / 255) @ np.array([0.2125, 0.7154, 0.0721])
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    right[:, :, 1:-1] = grey[:, :, 2:] - grey[:, :, :-2]
    length = np.hypot(down, right)
    angle = np.rad2deg(np.arctan2(down, right)) % 180
    n, cells = len(images), SIDE // _CELL
    histograms = np.empty((n, cells, cells, _ORIENTATIONS))
    width = 180 / _ORIENTATIONS
    for k in range(_ORIENTATIONS):
        inside = (angle >= k * width) & (angle < (k + 1) * width)
        split = np.where(inside, length, 0).reshape(n, cells, _CELL, cells, _CELL)
        histograms[..., k] = split.mean(axis=(2, 4))
    histograms /= histograms.sum(axis=-1, keepdims=True) + 1e-5  # the sum of a flat cell is zero
    return histograms.reshape(n, -1)


def _idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes: two zeros, the type, the number of axes, lengths, values."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name} is not an idx file of bytes.")
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes)
    return values.reshape(*map(int, shape))


def _svmlight(file: Any, n_features: int) -> tuple[Any, NDArray[np.float64]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(file, n_features=n_features)
    return X, y
