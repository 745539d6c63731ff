"""Kinds of the columns of a DataFrame: numbers, categories, dates, or nothing to learn from."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from bochner.records.wording import counted

Kind = Literal["number", "category", "date", "text", "constant"]
USED_KINDS: tuple[Kind, ...] = ("number", "category", "date")  # others cannot help

MOST_CATEGORIES = 50  # distinct values, above which text may not be a category
_INSPECTED = 1000  # values inspected to recognise dates


def column_kinds(X: Any) -> dict[Any, Kind]:
    """Return what the columns of a DataFrame hold.

    Parameters
    ----------
    X : DataFrame
        Rows.

    Returns
    -------
    dict
        Kind of each column, by its name: ``"number"``, ``"category"``, ``"date"``, or a kind that
        is left out, ``"text"`` (most rows have a value of their own) or ``"constant"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.data.columns import column_kinds
    >>> column_kinds(pd.DataFrame({"a": [1.5, None], "b": ["x", "y"], "c": [1, 1]}))
    {'a': 'constant', 'b': 'category', 'c': 'constant'}
    """
    return {name: _kind(X[name]) for name in X.columns}


def _kind(column: Any) -> Kind:
    from pandas.api import types

    values = column.dropna()
    try:
        distinct = values.nunique()
    except TypeError:  # lists and the like
        return "text"
    is_number = types.is_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype)
    if distinct == 0 or (distinct == 1 and (len(values) == len(column) or is_number)):
        return "constant"
    if is_number:
        return "number"
    if types.is_datetime64_any_dtype(column.dtype) or _says_dates(values):
        return "date"
    if distinct > MOST_CATEGORIES and distinct > len(values) / 2:
        return "text"
    return "category"


def _says_dates(values: Any) -> bool:
    """Whether text holds dates: all values start with digits and can be read as dates."""
    sample = values.iloc[:_INSPECTED].astype(str)
    if not sample.str.match(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").all():
        return False
    return bool(parse_times(sample, day_comes_first(sample)).notna().all())


def value_kind(values: Any) -> str | None:
    """Return what a column or an array of labels holds: "numbers", "dates" or "text".

    Booleans are numbers, also in a column with gaps. The result is None if there are no values.

    >>> import pandas as pd
    >>> value_kind(pd.Series([True, None])), value_kind(pd.Series(["1"])), value_kind([None])
    ('numbers', 'text', None)
    """
    from pandas.api.types import infer_dtype

    kind = infer_dtype(values, skipna=True)
    if kind == "categorical":
        kind = infer_dtype(values.cat.categories, skipna=True)
    if kind == "empty" or (kind == "floating" and bool(np.isnan(np.asarray(values, float)).all())):
        return None
    if kind.startswith(("integer", "floating", "mixed-integer-float", "decimal", "boolean")):
        return "numbers"
    return "dates" if kind.startswith(("date", "time", "period")) else "text"


def parse_times(column: Any, day_first: bool) -> Any:
    """Convert a Series of times or text to times in UTC, missing where a value is neither."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a format that could not be guessed
        if not pd.api.types.is_datetime64_any_dtype(column.dtype):
            column = column.astype(object).where(column.notna(), None)
        return pd.to_datetime(column, errors="coerce", utc=True, dayfirst=day_first)


def day_comes_first(column: Any) -> bool:
    """Whether more of the first values are dates if the day comes before the month."""
    sample = column.dropna().iloc[:_INSPECTED]
    by_day, by_month = (parse_times(sample, first).notna().sum() for first in (True, False))
    return bool(by_day > by_month)


def count_infinite(X: Any) -> int:
    """Count the infinite entries in the numeric columns of a DataFrame.

    >>> import pandas as pd
    >>> count_infinite(pd.DataFrame({"a": [1.0, float("inf")], "b": ["x", "inf"]}))
    1
    """
    numbers = X.select_dtypes("number")
    return int(np.isinf(numbers.to_numpy(dtype=np.float64, na_value=np.nan)).sum())


def infinite_note(count: int) -> str:
    """Return the sentence about infinite entries of a DataFrame, without its full stop."""
    return f"{counted(count, 'infinite value')} {'counts' if count == 1 else 'count'} as missing"
