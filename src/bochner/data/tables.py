"""A user's own file, or a dataset by name, as rows and labels.

Large files are read in pieces. If a file has more rows than are wanted, a random sample is kept
while reading, so that no more than the sample is ever in memory; the notes of the table say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import labels
from bochner.data.bundled import BUNDLED, load_bundled
from bochner.data.columns import count_infinite, infinite_note
from bochner.data.errors import TableError
from bochner.data.formats import find_format
from bochner.data.formats.base import (
    Contents,
    Expected,
    Part,
    Piece,
    Request,
    cut_rows,
    sample_rows,
)
from bochner.data.images import ImageShape, Shape, check_image_shape
from bochner.data.labels import FEWEST_ROWS
from bochner.data.sources import check_one_format, find_source, read_files
from bochner.records.wording import counted

__all__ = ["TASKS", "Expected", "Table", "TableError", "read_table", "stream_table", "take_rows"]

TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True)
class Table:
    """Rows and their labels, as they were in a file.

    Attributes
    ----------
    name : str
        Name of the table.
    X : DataFrame, ndarray or CSR matrix of shape (n, d)
        Rows: a DataFrame if columns have names and types, otherwise an array or a CSR matrix.
    y : ndarray of shape (n,)
        Class labels, or float64 numbers; no value is missing.
    task : {"classification", "regression"}
        Whether the labels are classes or numbers.
    target : str or None
        Name of the target column, if it has one.
    n_rows_in_file : int
        Number of rows in the file; more than ``len(y)`` when rows were sampled or left out.
    notes : tuple of str
        Sentences for the user.
    image_shape : tuple (height, width, channels) or None
        Shape of the image in every row, if rows are images.
    files : tuple of Path
        Files that were read; empty for a dataset by name.
    n_drawn_from : int or None
        Number of rows with a target in the files, if the table is a sample of them; otherwise
        None.
    """

    name: str
    X: Any
    y: NDArray[Any]
    task: str
    target: str | None
    n_rows_in_file: int
    notes: tuple[str, ...] = ()
    image_shape: Shape | None = None
    files: tuple[Path, ...] = ()
    n_drawn_from: int | None = None


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of a table by position, whether it is a DataFrame, an array or sparse."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def read_table(
    source: str | Path,
    target: str | None = None,
    task: str = "auto",
    max_rows: int | None = None,
    random_state: int = 0,
    image_shape: ImageShape = "auto",
    skip_bad_files: bool = False,
) -> Table:
    """Read rows and labels from a file, several files of one table, or a dataset by name.

    Parameters
    ----------
    source : str or Path
        A key of :data:`bochner.data.BUNDLED`, or a file of a format in
        :data:`bochner.data.formats.FORMATS` (text also with .gz); a folder of such files, or a
        pattern, see :func:`bochner.data.sources.find_source`.
    target : str, optional
        The target column, by name or by position (1 is the first, -1 the last). By default the
        last column. For an npz file, the name of the array of labels.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target holds classes or numbers. ``"auto"`` decides as
        :func:`bochner.data.labels.recognise_task`.
    max_rows : int, optional
        Maximum number of rows; if there are more, this many are drawn at random.
    random_state : int, default=0
        Seed of the random draw.
    image_shape : tuple (height, width, channels), "auto" or None, default="auto"
        Shape of the image in every row. ``"auto"`` takes the shape the data are known to have:
        that of the digits, and of arrays with three or four dimensions in an npz file. None means
        that rows are not images.
    skip_bad_files : bool, default=False
        Whether to leave out those of several files that cannot be read; the notes say which.

    Returns
    -------
    Table
        Rows and labels.

    Raises
    ------
    TableError
        If there is no such file, or it cannot be used; the message is one line.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> table = read_table("iris")
    >>> table.X.shape, table.task
    ((150, 4), 'classification')
    """
    if task not in TASKS:
        raise TableError(f"task must be one of {', '.join(TASKS)}, got {task!r}.")
    if max_rows is not None and max_rows < FEWEST_ROWS:
        raise TableError(f"max_rows must be at least {FEWEST_ROWS}, got {max_rows}.")
    request = Request(target, max_rows, random_state, image_shape)
    if str(source) in BUNDLED:
        if target is not None:
            raise TableError(f"the dataset {source} has its own target: leave out --target.")
        data = load_bundled(str(source))
        contents = Contents(data.X, data.y, None, len(data.y), image_shape=data.image_shape)
        return _finish(data.name, sample_rows(contents, request), (), task, image_shape)
    found = find_source(source)
    files = found.files
    if found.several:
        contents, files = read_files(files, request, skip_bad_files)
    else:
        contents = find_format(files[0]).read(files[0], request)
    return _finish(found.name, contents, files, task, image_shape)


def stream_table(source: str | Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
    """Yield rows to predict, piece by piece, so that for most formats memory use does not grow.

    If there are several files, those without rows are left out.

    The source is as in :func:`read_table`, but the target may be missing: labels are None, or
    missing in some rows. Sentences for the user are added to `notes`, the last of them with the
    last piece. A file that does not exist or cannot be used raises a TableError of one line.

    >>> [(X.shape, y.shape) for X, y in stream_table("iris", Expected(), [])]
    [((150, 4), (150,))]
    """
    if str(source) in BUNDLED:
        data = load_bundled(str(source))
        return cut_rows(data.X, data.y)
    found = find_source(source)
    if not found.several:
        return stream_file(found.files[0], expected, notes)
    check_one_format(found.files)
    return chain.from_iterable(stream_file(path, expected, notes) for path in found.files)


def stream_file(
    path: Path, expected: Expected, notes: list[str], part: Part = None
) -> Iterator[Piece]:
    """Yield rows to predict from a file or a part of it, as :func:`stream_table` does."""
    yield from find_format(path).stream_part(path, part, expected, notes)


def file_parts(path: Path) -> list[Part]:
    """Return the parts of a file that :func:`stream_file` can read: row groups of Parquet."""
    return find_format(path).parts(path)


def _finish(
    name: str, contents: Contents, files: tuple[Path, ...], task: str, image_shape: ImageShape
) -> Table:
    """Convert the target to labels or numbers, and leave out rows that cannot be used."""
    X, y, target, notes = contents.X, contents.y, contents.target, list(contents.notes)
    drawn_from = contents.n_labelled if len(y) < contents.n_labelled else None
    if contents.n_missing:
        notes.append(labels.without_target_note(contents.n_missing))
    if drawn_from is not None:
        where = "the file" if len(files) < 2 else f"{len(files)} files"
        notes.append(f"{contents.n_rows_in_file} rows in {where}, {len(y)} drawn at random.")
    y = labels.column_values(y, target) if hasattr(y, "iloc") else np.asarray(y)
    if y.dtype.kind not in "fiubUO":
        raise TableError(f"the target holds {y.dtype}: numbers or text are needed.")
    if y.dtype.kind == "f" and not (finite := np.isfinite(y)).all():
        notes.append(labels.without_target_note(int((~finite).sum())))
        X, y = X[finite], y[finite]
    if len(y) < FEWEST_ROWS:
        raise TableError(
            f"{name} has {counted(len(y), 'row')} with a target; at least {FEWEST_ROWS} are "
            "needed."
        )
    chosen = labels.recognise_task(y) if task == "auto" else task
    if task == "auto" and files:
        notes += labels.task_notes(y, chosen)
    if chosen == "regression":
        y = labels.numbers(y, target)
    else:
        X, y = labels.classes(X, y, notes)
    if X.shape[1] == 0:
        raise TableError(f"{name} has no column besides the target.")
    X = _finite(name, X, notes)
    _check_magnitude(X)
    shape = contents.image_shape if image_shape == "auto" else image_shape
    if shape is not None:
        X = check_image_shape(X, shape, name)
    n_rows = contents.n_rows_in_file
    return Table(name, X, y, chosen, target, n_rows, tuple(notes), shape, files, drawn_from)


def _finite(name: str, X: Any, notes: list[str]) -> Any:
    """Replace infinite entries of a DataFrame by missing values; refuse those of an array."""
    if hasattr(X, "toarray"):
        if X.data.size and not np.isfinite(X.data).all():
            raise TableError(f"{name} holds values that are not finite.")
        return X
    if not hasattr(X, "iloc"):
        if X.dtype.kind == "f" and np.isinf(X).any():
            raise TableError(f"{name} holds infinite values.")
        return X
    X = X.reset_index(drop=True)
    if not (count := count_infinite(X)):
        return X
    notes.append(f"{infinite_note(count)}.")
    numbers = X.select_dtypes("number").columns
    return X.assign(**{name: X[name].where(np.isfinite(X[name])) for name in numbers})


def _check_magnitude(X: Any) -> None:
    """Raise an error if numbers are so large that a column has no variance in float64."""
    if hasattr(X, "toarray"):  # divided by its largest entries, not by a standard deviation
        return
    columns = X.select_dtypes("number") if hasattr(X, "iloc") else X
    values = np.asarray(columns, dtype=None if columns is X else np.float64)
    if values.dtype.kind != "f" or not values.size:
        return
    largest = np.fmax.reduce(np.abs(values), axis=0)
    with np.errstate(over="ignore"):
        wrong = np.flatnonzero(np.isinf(len(values) * np.float64(2 * largest) ** 2))
    if len(wrong):
        column = repr(columns.columns[wrong[0]]) if columns is not X else str(wrong[0] + 1)
        raise TableError(
            f"column {column} has values up to {largest[wrong[0]]:.3g}, whose squares do not fit "
            "in float64: divide it by a constant."
        )
