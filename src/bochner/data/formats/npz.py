"""Arrays that NumPy saved together: rows, which may be images, and labels."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data.errors import DamagedFileError, TableError
from bochner.data.formats.base import (
    Contents,
    Expected,
    Piece,
    Request,
    TableFormat,
    check_size,
    cut_rows,
    reading,
    sample_rows,
)
from bochner.data.images import flatten_images, shape_text

# Names of rows and of their labels, in the order of search.
_TRAINING = {"X": "y", "X_train": "y_train", "x_train": "y_train", "data": "target"}
_NEW = {
    "X": "y",
    "X_test": "y_test",
    "X_train": "y_train",
    "x_test": "y_test",
    "x_train": "y_train",
    "data": "target",
}


class Npz(TableFormat):
    """An archive of arrays without pickles, which is read as a whole."""

    name = "npz"
    suffixes = (".npz",)

    def recognises(self, head: bytes) -> bool:
        return head.startswith(b"PK\x03\x04") and b".npy" in head

    def read(self, path: Path, request: Request) -> Contents:
        with _archive(path) as archive:
            names = list(archive.files)
            rows = next((name for name in _TRAINING if name in names), "")
            labels = request.target or _TRAINING.get(rows, "")
            if not rows or labels not in names:
                wanted = "X and y, or X_train and y_train"
                if request.target is not None:
                    wanted = f"X and {request.target!r}"
                raise TableError(
                    f"the file {path} must hold arrays {wanted}; it holds {', '.join(names)}."
                )
            with reading(path):
                X, y = (_array(archive, name, path) for name in (rows, labels))
        _check_rows(X, rows, path)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim != 1 or len(y) != len(X):
            raise TableError(
                f"{labels} in {path} must have shape ({len(X)},), got {y.shape}: one label per "
                "row."
            )
        notes = []
        if f"{rows[0]}_test" in names:
            notes.append(f"Only {rows} and {labels} are used; the test arrays are not looked at.")
        shape_of_row = X.shape[1:]
        X, shape = flatten_images(X, request.image_shape)
        if len(shape_of_row) > 1 and shape is None:
            notes.append(f"Rows of shape {shape_of_row} were made flat.")
        return sample_rows(Contents(X, y, labels, len(y), tuple(notes), shape), request)

    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        with _archive(path) as archive:
            rows = next((name for name in _NEW if name in archive.files), None)
            if rows is None:
                raise TableError(
                    f"the file {path} must hold an array {next(iter(_NEW))!r}; it holds "
                    f"{', '.join(archive.files)}."
                )
            with reading(path):
                X = _array(archive, rows, path)
                labels = _NEW[rows] if _NEW[rows] in archive.files else expected.target
                y = None
                if labels is not None and labels in archive.files:
                    y = _array(archive, labels, path)
        _check_rows(X, rows, path)
        X, shape = flatten_images(X, expected.image_shape)
        if expected.image_shape is not None and shape not in (None, expected.image_shape):
            raise TableError(
                f"the model takes images of {shape_text(expected.image_shape)}, those in {path} "
                f"are {shape_text(shape)}."
            )
        yield from cut_rows(X, y.ravel() if y is not None and y.size == len(X) else None)


def _archive(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        raise DamagedFileError(f"the file {path} is not an npz file, which numpy.savez writes.")
    with reading(path):
        return np.load(path, allow_pickle=False)


def _array(archive: Any, name: str, path: Path) -> Any:
    """Read one array, unless the archive or its header declares more than fits in memory."""
    member = archive.zip.getinfo(name if name in archive.zip.namelist() else f"{name}.npy")
    declared = member.file_size
    with archive.zip.open(member) as file:
        version = np.lib.format.read_magic(file)
        # The header of version 1.0 is short; all others are read alike.
        read = np.lib.format.read_array_header_1_0
        read = read if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        declared = max(declared, math.prod(shape) * dtype.itemsize)
    check_size(path, declared, name)
    return archive[name]


def _check_rows(X: Any, name: str, path: Path) -> None:
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise TableError(
            f"{name} in {path} must be numbers of shape (rows, columns), got {X.dtype} of shape "
            f"{X.shape}."
        )
