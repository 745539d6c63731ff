"""Targets of tables: whether they are classes or numbers, and which rows have a usable one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.columns import column_kinds
from bochner.data.errors import TableError
from bochner.records.wording import counted

_MOST_INTEGER_CLASSES = 30  # more distinct integers than this are not taken for classes
_FEWEST_OF_A_CLASS = 4  # rows: two to learn from, one for selection, one to test
_MOST_CLASSES = 1000
FEWEST_ROWS = 20  # fewest rows of a table to learn from


def recognise_task(y: Any) -> str:
    """Decide whether labels are classes or numbers.

    Text, Booleans and up to 30 distinct integers (that occur at least twice on average) are
    classes; all other labels are numbers.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.

    Returns
    -------
    {"classification", "regression"}
        Task that the labels call for.

    Examples
    --------
    >>> from bochner.data.labels import recognise_task
    >>> recognise_task(["a", "b", "a"]), recognise_task([1, 2, 1, 2]), recognise_task([0.5, 1.0])
    ('classification', 'classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return "classification"
    if not np.array_equal(y, np.round(y)):
        return "regression"
    distinct = len(np.unique(y))
    few = distinct <= _MOST_INTEGER_CLASSES and 2 * distinct <= len(y)
    return "classification" if few else "regression"


def task_notes(y: NDArray[Any], task: str) -> list[str]:
    """Return a sentence about how integers were taken, if they could be classes or numbers."""
    if y.dtype.kind not in "iuf" or (y.dtype.kind == "f" and not _are_whole(y)):
        return []
    distinct = len(np.unique(y))
    if distinct <= 2:
        return []
    taken, other, meaning = "numbers", "classification", "classes"
    if task == "classification":
        taken, other, meaning = "classes", "regression", "numbers"
    return [
        f"The target's {distinct} whole numbers are taken for {taken} (--task {other} for "
        f"{meaning})."
    ]


def column_values(column: Any, name: str | None) -> NDArray[Any]:
    """Return a column of a DataFrame as numbers, Booleans or text; dates are refused."""
    from pandas.api import types

    kind = column.dtype
    if types.is_bool_dtype(kind):
        return np.asarray(column, dtype=bool)
    if types.is_numeric_dtype(kind):
        values = np.asarray(column, dtype=np.float64)
        whole = types.is_integer_dtype(kind) or _are_whole(values)
        return values.astype(np.int64) if whole else values
    is_time = types.is_datetime64_any_dtype(kind) or types.is_timedelta64_dtype(kind)
    if is_time or column_kinds(column.to_frame("target"))["target"] == "date":
        raise TableError(f"the target {name!r} holds dates: numbers or classes are needed.")
    return np.asarray([str(value).strip() for value in column])


def known_classes(labels: Any, classes: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return a mask of the labels of a file that are learned classes, and their classes.

    >>> known_classes([1.0, None, 7.0, 2.0], np.array([1, 2]))
    (array([ True, False, False,  True]), array([1, 2]))
    """
    import pandas as pd

    codes, found = pd.factorize(pd.Series(labels))  # -1 where a label is missing
    positions = {class_text(label): position for position, label in enumerate(classes)}
    of_found = np.array([positions.get(class_text(label), -1) for label in found] + [-1])
    of_rows = of_found[codes]
    known = of_rows >= 0
    return known, classes[of_rows[known]]


def known_numbers(labels: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return a mask of the labels of a file that are finite numbers, and these numbers.

    >>> known_numbers([1, None, 2])
    (array([ True, False,  True]), array([1., 2.]))
    """
    import pandas as pd

    try:
        values = pd.Series(labels).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise TableError(f"the target does not hold numbers: {error}") from error
    known = np.isfinite(values)
    return known, values[known]


def class_text(label: Any) -> str:
    """Return a class as text; 3.0 is the class 3, as read from a column with gaps."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label).strip()


def without_target_note(count: int) -> str:
    """Return the sentence about rows that have no target."""
    return f"{counted(count, 'row')} without a target {'was' if count == 1 else 'were'} left out."


def numbers(y: NDArray[Any], name: str | None) -> NDArray[np.float64]:
    """Return the target of a regression as float64, or raise an error if it is not one."""
    if y.dtype.kind in "UO":
        raise TableError(
            f"the target {name!r} is text, such as {str(y[0])!r}: that is not a regression; use "
            "--task classification."
        )
    y = y.astype(np.float64)
    if y.min() == y.max():
        raise TableError(f"the target is {y[0]:g} in every row: there is nothing to learn.")
    with np.errstate(all="ignore"):
        squares = np.var(y) * len(y)
    if not 0 < squares < np.inf:
        largest, way = np.abs(y).max(), "large" if squares != 0 else "close together"
        raise TableError(
            f"the target has values up to {largest:.3g} that are too {way} for their squared "
            "errors to fit in float64: multiply them by a constant."
        )
    return y


def classes(X: Any, y: NDArray[Any], notes: list[str]) -> tuple[Any, NDArray[Any]]:
    """Return the rows of classes that are large enough to be learned and tested."""
    if y.dtype.kind == "f" and not _are_whole(y):
        raise TableError(
            "the target holds numbers that are not whole, such as "
            f"{y[y != np.round(y)][0]:g}: they are not classes; use --task regression."
        )
    if y.dtype.kind == "f":
        y = y.astype(np.int64)
    if y.dtype.kind == "O":
        y = np.asarray([str(value) for value in y])
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) == 1:
        raise TableError(
            f"the target has one class only, {labels[0]!s}: there is nothing to tell apart."
        )
    large = labels[counts >= _FEWEST_OF_A_CLASS]
    if len(large) < 2:
        raise TableError(
            f"the target has {len(labels)} different values in {len(y)} rows, fewer than two of "
            f"which come {_FEWEST_OF_A_CLASS} times: these are not classes."
        )
    if len(large) > _MOST_CLASSES:
        raise TableError(
            f"the target has {len(large)} classes, the most is {_MOST_CLASSES}; for numbers use "
            "--task regression."
        )
    kept = np.isin(y, large)
    n_rare, n_kept = len(labels) - len(large), int(kept.sum())
    if not n_rare:
        return X, y
    if n_kept < FEWEST_ROWS or 2 * n_kept < len(y):
        raise TableError(
            f"of the target's {len(labels)} different values {n_rare} come fewer than "
            f"{_FEWEST_OF_A_CLASS} times; without them {counted(n_kept, 'row')} of {len(y)} "
            f"would be left, and at least half of the rows and {FEWEST_ROWS} are needed."
        )
    notes.append(
        f"{counted(n_rare, 'class', 'classes')} of fewer than {_FEWEST_OF_A_CLASS} rows "
        f"{'was' if n_rare == 1 else 'were'} left out, {counted(len(y) - n_kept, 'row')}."
    )
    return X[kept], y[kept]


def _are_whole(values: NDArray[np.float64]) -> bool:
    """Whether numbers are whole: a column of integers with gaps is read as floats."""
    exact = np.abs(values) < 2**53
    return bool(exact.all() and np.array_equal(values, np.round(values)))
