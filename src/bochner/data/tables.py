"""A user's own file as rows and labels: CSV, Parquet, svmlight, npz, or a dataset by name.

Large files are read in pieces. Of more rows than are wanted a random sample is kept while
reading, so that no more than that is ever in memory; the table says so in its notes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.bundled import BUNDLED, load_bundled
from bochner.data.images import Shape, Wanted, check_image_shape, flatten_images
from bochner.data.table_files import (
    FORMATS,
    TableError,
    csv_frames,
    decimal_commas_note,
    file_format,
    npz_arrays,
    parquet_frames,
    parquet_names,
    svmlight_rows,
    text_form,
)
from bochner.models.preparation import column_kinds
from bochner.models.wording import counted

__all__ = [
    "MAX_ROWS",
    "NAMED",
    "TASKS",
    "Table",
    "TableError",
    "read_table",
    "recognise_task",
    "take_rows",
]

MAX_ROWS = 20_000
TASKS = ("auto", "classification", "regression")
_MOST_INTEGER_CLASSES = 30  # more distinct whole numbers than this are taken for numbers
_FEWEST_OF_A_CLASS = 4  # rows: two to learn from, one to choose on, one to test
_MOST_CLASSES = 1000
_FEWEST_ROWS = 20
_MOST_COLUMNS = 20_000  # of a dense table
_MOST_ENTRIES = 100_000_000  # of a dense table whose rows are sampled


@dataclass(frozen=True)
class Table:
    """Rows and their labels, as they were in a file.

    Attributes
    ----------
    name : str
        Of the data.
    X : DataFrame, ndarray or CSR matrix of shape (n, d)
        Rows: a DataFrame from CSV and Parquet, a CSR matrix from svmlight, otherwise an array.
    y : ndarray of shape (n,)
        Labels, or float64 numbers; nothing is missing.
    task : {"classification", "regression"}
        What the labels are.
    target : str or None
        Name of the target column, where it has one.
    n_rows_in_file : int
        More than ``len(y)`` when rows were sampled or left out.
    notes : tuple of str
        Sentences for the user.
    image_shape : tuple (height, width, channels) or None
        What every row is an image of, where it is one.
    """

    name: str
    X: Any
    y: NDArray[Any]
    task: str
    target: str | None
    n_rows_in_file: int
    notes: tuple[str, ...] = ()
    image_shape: Shape | None = None


def take_rows(X: Any, rows: Any) -> Any:
    """Rows of a table by their positions, whether it is a DataFrame, an array or sparse."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def _bundled(name: str) -> tuple[Any, Any]:
    dataset = load_bundled(name)
    return dataset.X, dataset.y


def _diabetes(_: str) -> tuple[Any, Any]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y


def _windmill(_: str) -> tuple[Any, Any]:
    from bochner.data.toys import windmill

    return windmill(2000, random_state=0)


# Data without a file, by name.
NAMED: dict[str, Callable[[str], tuple[Any, Any]]] = {
    **dict.fromkeys(BUNDLED, _bundled),
    "diabetes": _diabetes,
    "windmill": _windmill,
}
IMAGES: dict[str, Shape] = {"digits": (8, 8, 1)}
_SUFFIXES = frozenset(
    [
        ".gz",
        ".csv",
        ".tsv",
        ".txt",
        ".parquet",
        ".pq",
        ".npz",
        ".svm",
        ".libsvm",
        ".svmlight",
        ".data",
    ]
)


def read_table(
    source: str | Path,
    target: str | None = None,
    task: str = "auto",
    max_rows: int | None = None,
    random_state: int = 0,
    image_shape: Wanted = "auto",
) -> Table:
    """Rows and labels from a file, or from a dataset by name.

    Parameters
    ----------
    source : str or Path
        A name of `NAMED`, or a CSV, Parquet, svmlight or npz file (text also with .gz).
    target : str, optional
        The target column, by name or by position (1 is the first, -1 the last). By default the
        last column. In a npz file, the name of the array of labels.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is; see :func:`recognise_task`.
    max_rows : int, optional
        Of more rows than this, so many are drawn at random.
    random_state : int, default=0
        Decides which.
    image_shape : tuple (height, width, channels), "auto" or None, default="auto"
        What every row is an image of. ``"auto"``: what the data are known to be, that is the
        digits and arrays of three or four dimensions in a npz file. None: no images.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        In one line, when there is no such file, or it cannot be used.

    Examples
    --------
    >>> from bochner.data.tables import read_table
    >>> table = read_table("iris")
    >>> table.X.shape, table.task
    ((150, 4), 'classification')
    """
    if task not in TASKS:
        raise TableError(f"task must be one of {', '.join(TASKS)}, got {task!r}.")
    if max_rows is not None and max_rows < _FEWEST_ROWS:
        raise TableError(f"max_rows must be at least {_FEWEST_ROWS}, got {max_rows}.")
    generator = np.random.RandomState(random_state)
    if str(source) in NAMED:
        if target is not None:
            raise TableError(f"the dataset {source} has its own target: leave out --target.")
        X, y = NAMED[str(source)](str(source))
        read = _Read(str(source), X, y, None, len(y), (), IMAGES.get(str(source)))
        return _finish(_sampled(read, max_rows, generator), task, image_shape)
    path = Path(source)
    if not path.exists():
        close = difflib.get_close_matches(str(source), NAMED, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise TableError(
            f"there is no file and no dataset {str(source)!r}{meant}; datasets are "
            f"{', '.join(NAMED)}."
        )
    if not path.is_file():
        raise TableError(f"{path} is not a file; what can be read is {FORMATS}.")
    if path.stat().st_size == 0:
        raise TableError(f"the file {path} is empty.")
    kind = file_format(path)
    if kind in ("csv", "parquet"):
        read = _read_frames(path, kind, target, max_rows, generator)
        return _finish(read, task, image_shape)
    if kind == "npz":
        X, y, name, notes = npz_arrays(path, target)
        given = X.shape[1:]
        X, shape = flatten_images(X, image_shape)
        if len(given) > 1 and shape is None:
            notes = (*notes, f"Rows of shape {given} were made flat.")
        read = _Read(_stem(path), X, y, name, len(y), notes, shape)
        return _finish(_sampled(read, max_rows, generator), task, image_shape)
    if target is not None:
        raise TableError(
            f"{path} is a svmlight file, where the target comes first in every line: leave out "
            "--target."
        )
    X, y, n = svmlight_rows(path, max_rows, generator)
    return _finish(_Read(_stem(path), X, y, None, n, _drawn(n, len(y))), task, image_shape)


def recognise_task(y: Any) -> str:
    """Whether labels are classes or numbers.

    Text, truth values and up to 30 different whole numbers (which come twice on average) are
    classes; other numbers are numbers.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.

    Returns
    -------
    {"classification", "regression"}

    Examples
    --------
    >>> from bochner.data.tables import recognise_task
    >>> recognise_task(["a", "b", "a"]), recognise_task([1, 2, 1, 2]), recognise_task([0.5, 1.0])
    ('classification', 'classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return "classification"
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        return "regression"
    distinct = len(np.unique(y))
    few = distinct <= _MOST_INTEGER_CLASSES and 2 * distinct <= len(y)
    return "classification" if few else "regression"


@dataclass(frozen=True)
class _Read:
    """What came out of a file, before the target was looked at."""

    name: str
    X: Any
    y: Any
    target: str | None
    n_rows_in_file: int
    notes: tuple[str, ...] = ()
    image_shape: Shape | None = None


def _stem(path: Path) -> str:
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() in _SUFFIXES:
            name = name.removesuffix(suffix)
    return name or path.name


def _drawn(n: int, kept: int) -> tuple[str, ...]:
    return (f"{n} rows in the file, {kept} drawn at random.",) if kept < n else ()


def _without_target(count: int) -> str:
    return f"{counted(count, 'row')} without a target {'was' if count == 1 else 'were'} left out."


def _sampled(read: _Read, max_rows: int | None, generator: np.random.RandomState) -> _Read:
    n = len(read.y)
    if max_rows is None or n <= max_rows:
        return read
    rows = np.sort(generator.permutation(n)[:max_rows])
    notes = (*read.notes, *_drawn(n, max_rows))
    return replace(read, X=read.X[rows], y=read.y[rows], notes=notes)


def _read_frames(
    path: Path,
    kind: str,
    target: str | None,
    max_rows: int | None,
    generator: np.random.RandomState,
) -> _Read:
    notes: list[str] = []
    form = text_form(path) if kind == "csv" else None
    names = list(form.names) if form else parquet_names(path)
    if len(names) < 2:
        raise TableError(f"the file {path} has one column only; a target and others are needed.")
    if len(names) > _MOST_COLUMNS:
        raise TableError(
            f"the file {path} has {len(names)} columns, more than the {_MOST_COLUMNS} that are "
            "read from a dense table; write it in svmlight form if most entries are zero."
        )
    if form and not form.header:
        notes.append(f"No header line: columns are called {names[0]} to {names[-1]}.")
    column = _find_target(target, names, path)
    if target is None:
        notes.append(f"No --target given: the last column, {column}, is taken.")

    if max_rows is not None:
        max_rows = min(max_rows, max(_FEWEST_ROWS, _MOST_ENTRIES // len(names)))
    seed = generator.randint(2**31 - 1)

    def sample(frames: Iterable[Any]) -> _Sample:
        return _sample(frames, column, max_rows, np.random.RandomState(seed))

    commas: set[str] = set()
    if form is None:
        found = sample(parquet_frames(path))
    else:
        found = sample(csv_frames(path, form, commas=commas))
        if found.mixed:
            # Numbers in one piece of the file and text in another: all of it is text.
            commas.clear()
            found = sample(csv_frames(path, form, as_text=found.mixed, commas=commas))
    if commas:
        notes.append(decimal_commas_note(name for name in names if name in commas))
    if found.n_rows == 0:
        raise TableError(f"the file {path} has a header but no rows.")
    if found.n_missing == found.n_rows:
        raise TableError(f"the target column {column!r} of {path} is empty.")
    kept = len(found.frame)
    drawn = kept < found.n_rows - found.n_missing
    if found.n_missing:
        notes.append(_without_target(found.n_missing))
    if drawn:
        notes.append(f"{found.n_rows} rows in the file, {kept} drawn at random.")
    X = found.frame.drop(columns=[column])
    y = found.frame[column]
    return _Read(_stem(path), X, y, column, found.n_rows, tuple(notes))


@dataclass(frozen=True)
class _Sample:
    frame: Any
    n_rows: int
    n_missing: int  # rows without a target
    mixed: tuple[str, ...]  # columns that are numbers in one piece and something else in another


def _sample(
    frames: Iterable[Any],
    target: str,
    max_rows: int | None,
    generator: np.random.RandomState,
) -> _Sample:
    """The rows with the `max_rows` smallest of random keys: a uniform sample, one piece a time."""
    import pandas as pd

    kept, keys = None, np.empty(0)
    n_rows = n_missing = 0
    kinds: dict[str, set[bool]] = {}
    for frame in frames:
        n_rows += len(frame)
        for name in frame.columns:
            if not frame[name].isna().all():
                number = pd.api.types.is_numeric_dtype(frame[name].dtype)
                kinds.setdefault(name, set()).add(bool(number))
        labelled = frame[frame[target].notna()]
        n_missing += len(frame) - len(labelled)
        kept = labelled if kept is None else pd.concat([kept, labelled])
        keys = np.concatenate([keys, generator.uniform(size=len(labelled))])
        if max_rows is not None and len(keys) > max_rows:
            smallest = np.sort(np.argpartition(keys, max_rows)[:max_rows])
            kept, keys = kept.iloc[smallest], keys[smallest]
    mixed = tuple(name for name, found in kinds.items() if len(found) > 1)
    return _Sample(kept, n_rows, n_missing, mixed)


def _find_target(target: str | None, names: list[str], path: Path) -> str:
    if target is None:
        return names[-1]
    if target in names:
        return target
    position = int(target) if _is_whole(target) else 0
    if 1 <= position <= len(names):
        return names[position - 1]  # as columns without a name are counted: column1 is the first
    if -len(names) <= position <= -1:
        return names[position]
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(target.lower(), lowered, n=3, cutoff=0.5)
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    meant = f"; did you mean {' or '.join(lowered[name] for name in close)}?" if close else ""
    counts = " Positions count from 1, or from the end with -1." if _is_whole(target) else ""
    raise TableError(f"there is no column {target!r} in {path}{meant} (columns: {shown}).{counts}")


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{1,9}", text.strip()) is not None


def _finish(read: _Read, task: str, image_shape: Wanted) -> Table:
    """The target made labels or numbers; rows that cannot be used left out."""
    y, notes = read.y, list(read.notes)
    X = read.X
    if hasattr(y, "iloc"):
        y = _values(y, read.target)
    y = np.asarray(y)
    if y.dtype.kind not in "fiubUO":
        raise TableError(f"the target holds {y.dtype}: numbers or text are needed.")
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            notes.append(_without_target(int((~finite).sum())))
            X, y = X[finite], y[finite]
    if len(y) < _FEWEST_ROWS:
        raise TableError(
            f"{read.name} has {counted(len(y), 'row')} with a target; at least {_FEWEST_ROWS} are "
            "needed."
        )
    found = recognise_task(y) if task == "auto" else task
    if task == "auto" and read.name not in NAMED:
        notes += _said_of_the_task(y, found)
    if found == "regression":
        if y.dtype.kind in "UO":
            raise TableError(
                f"the target {read.target!r} is text, such as {str(y[0])!r}: that is no "
                "regression; use --task classification."
            )
        y = y.astype(np.float64)
        if np.ptp(y) == 0:
            raise TableError(f"the target is {y[0]:g} in every row: there is nothing to learn.")
    else:
        X, y = _classes(X, y, notes)
    if X.shape[1] == 0:
        raise TableError(f"{read.name} has no column besides the target.")
    if hasattr(X, "iloc"):
        X = _finite(X.reset_index(drop=True), notes)
    elif hasattr(X, "toarray"):
        if X.data.size and not np.isfinite(X.data).all():
            raise TableError(f"{read.name} holds values that are not finite.")
    elif X.dtype.kind == "f" and np.isinf(X).any():
        raise TableError(f"{read.name} holds infinite values.")
    shape = read.image_shape if image_shape == "auto" else image_shape
    if shape is not None:
        X = check_image_shape(X, shape, read.name)
    return Table(read.name, X, y, found, read.target, read.n_rows_in_file, tuple(notes), shape)


def _said_of_the_task(y: NDArray[Any], task: str) -> list[str]:
    """Where whole numbers could be meant either way, how they were taken."""
    if y.dtype.kind == "f" and not _whole(y):
        return []
    if y.dtype.kind not in "iuf" or (distinct := len(np.unique(y))) <= 2:
        return []
    if task == "classification":
        return [
            f"The target's {distinct} whole numbers are taken for classes (--task regression for "
            "numbers)."
        ]
    return [
        f"The target's {distinct} whole numbers are taken for numbers (--task classification for "
        "classes)."
    ]


def _values(column: Any, name: str | None) -> NDArray[Any]:
    """A column of a DataFrame as numbers, truth values or text."""
    import pandas as pd

    kind = column.dtype
    dates = TableError(f"the target {name!r} holds dates: numbers or classes are needed.")
    if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
        raise dates
    if pd.api.types.is_bool_dtype(kind):
        return np.asarray(column, dtype=bool)
    if pd.api.types.is_numeric_dtype(kind):
        values = np.asarray(column, dtype=np.float64)
        whole = pd.api.types.is_integer_dtype(kind) or _whole(values)
        return values.astype(np.int64) if whole else values
    if column_kinds(column.to_frame("target"))["target"] == "date":
        raise dates
    return np.asarray([str(value).strip() for value in column])


def _whole(values: NDArray[np.float64]) -> bool:
    """Whether numbers are whole: a column of integers with gaps is read as floats."""
    small = np.abs(values) < 2**53
    return bool(small.all() and np.array_equal(values, np.round(values)))


def _classes(X: Any, y: NDArray[Any], notes: list[str]) -> tuple[Any, NDArray[Any]]:
    """Rows of classes that are large enough to be learned and tested."""
    if y.dtype.kind == "f" and not _whole(y):
        raise TableError(
            "the target holds numbers that are not whole, such as "
            f"{y[y != np.round(y)][0]:g}: that is no classification; use --task regression."
        )
    if y.dtype.kind == "f":
        y = y.astype(np.int64)
    if y.dtype.kind == "O":
        y = np.asarray([str(value) for value in y])
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        raise TableError(
            f"the target has one class only, {classes[0]!s}: there is nothing to tell apart."
        )
    large = counts >= _FEWEST_OF_A_CLASS
    if large.sum() < 2:
        raise TableError(
            f"the target has {len(classes)} different values in {len(y)} rows, fewer than two of "
            f"which come {_FEWEST_OF_A_CLASS} times: these are no classes."
        )
    if large.sum() > _MOST_CLASSES:
        raise TableError(
            f"the target has {int(large.sum())} classes, the most is {_MOST_CLASSES}; for "
            "numbers use --task regression."
        )
    if not large.all():
        kept = np.isin(y, classes[large])
        n_small, n_kept = int((~large).sum()), int(kept.sum())
        small = counted(n_small, "class", "classes")
        if n_kept < _FEWEST_ROWS or 2 * n_kept < len(y):
            raise TableError(
                f"of the target's {len(classes)} different values {n_small} come fewer than "
                f"{_FEWEST_OF_A_CLASS} times; without them {counted(n_kept, 'row')} of {len(y)} "
                f"would be left, and at least half of the rows and {_FEWEST_ROWS} are needed."
            )
        notes.append(
            f"{small} of fewer than {_FEWEST_OF_A_CLASS} rows {'was' if n_small == 1 else 'were'} "
            f"left out, {counted(len(y) - n_kept, 'row')}."
        )
        X, y = X[kept], y[kept]
    return X, y


def _finite(X: Any, notes: list[str]) -> Any:
    """Infinite entries of a DataFrame made missing."""
    numbers = X.select_dtypes("number")
    infinite = np.isinf(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    if not infinite.any():
        return X
    count = int(infinite.sum())
    verb = "counts" if count == 1 else "count"
    notes.append(f"{counted(count, 'infinite value')} {verb} as missing.")
    return X.assign(**{name: X[name].where(np.isfinite(X[name])) for name in numbers.columns})
