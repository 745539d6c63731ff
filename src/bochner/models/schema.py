"""The schema of a model: which columns, and of which kinds, the rows to predict must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, Self, cast, get_args

import numpy as np
from scipy import sparse

from bochner.data.columns import USED_KINDS, Kind, column_kinds
from bochner.records.wording import listed

_PIXEL: Kind = "number"
_MOST_VALUES = 1000  # values of a category that are kept
_SHOWN = 5  # names in a message
_WORDS = {"true": 1.0, "false": 0.0}


class SchemaError(ValueError):
    """Error for rows that do not have the columns of the model, in one line for the user."""


@dataclass(frozen=True)
class Column:
    """A column as the model was trained with it."""

    name: str
    kind: Kind  # see bochner.data.columns.column_kinds; text and constants are not used
    dtype: str  # "bool", "number", "datetime" or "str"
    # the values of a category, so that new ones can be counted; None if there are very many
    values: tuple[str, ...] | None = None

    @property
    def used(self) -> bool:
        """Whether the model uses the column."""
        return self.kind in USED_KINDS


@dataclass(frozen=True)
class Schema:
    """The columns that a model was trained with.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    columns : tuple of Column or None
        The columns; None if they have no names, as in arrays and sparse matrices.
    sparse : bool
        Whether the rows were a sparse matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.models.schema import Schema
    >>> schema = Schema.of(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}))
    >>> [(column.name, column.kind) for column in schema.columns]
    [('age', 'number'), ('town', 'category')]
    >>> rows, notes = schema.arrange(pd.DataFrame({"town": ["Rom"], "x": [0], "age": ["31"]}))
    >>> rows
       age town
    0   31  Rom
    >>> notes
    ["columns that the model does not use were ignored: 'x'"]
    >>> schema.unseen(rows)
    {'town': 1}
    """

    n_columns: int
    columns: tuple[Column, ...] | None = None
    sparse: bool = False

    @classmethod
    def of(cls, X: Any, *, pixels: bool = False) -> Self:
        """Return the schema of rows: a pandas table, an array or a sparse matrix.

        If the columns are `pixels`, all of them are numbers that the model uses, including those
        that do not vary.
        """
        if not hasattr(X, "columns"):
            return cls(int(X.shape[1]), None, sparse.issparse(X))
        kinds = dict.fromkeys(X.columns, _PIXEL) if pixels else column_kinds(X)
        columns = (_column(str(name), kinds[name], X[name]) for name in X.columns)
        return cls(X.shape[1], tuple(columns))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the schema that :meth:`to_json` wrote; raise an error for anything else."""
        n_columns, is_sparse = document["n_columns"], document["sparse"]
        if not isinstance(n_columns, int) or not isinstance(is_sparse, bool):
            raise ValueError(f"n_columns={n_columns!r} and sparse={is_sparse!r} are not a schema.")
        if document["columns"] is None:
            return cls(n_columns, None, is_sparse)
        columns = tuple(_read_column(**column) for column in document["columns"])
        if not len(columns) == len({column.name for column in columns}) == n_columns:
            raise ValueError(
                f"a schema of {n_columns} columns lists {len(columns)} or repeats one."
            )
        return cls(n_columns, columns, is_sparse)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as lists, numbers and strings."""
        return asdict(self)

    def arrange(self, X: Any) -> tuple[Any, list[str]]:
        """Return rows as the model takes them, and notes for the user.

        Columns with names may come in any order, and there may be more of them. A sparse matrix
        may be wider or narrower: absent columns are zero. A column that is missing, or that holds
        values of the wrong kind, raises a SchemaError.
        """
        if self.columns is not None:
            return self._arrange_table(X)
        if hasattr(X, "columns"):
            return self._arrange_unnamed(X)
        if self.sparse:
            return _fit_width(X, self.n_columns)
        if X.shape[1] != self.n_columns:
            raise SchemaError(
                f"the model takes {self.n_columns} columns, the data have {X.shape[1]}"
            )
        return X, []

    def unseen(self, X: Any) -> dict[str, int]:
        """Return, for each category, how many rows hold a value not seen in training."""
        counts: dict[str, int] = {}
        for column in self.columns or ():
            if column.used and column.values is not None:
                given = X[column.name].dropna().map(str)
                counts[column.name] = int((~given.isin(column.values)).sum())
        return {name: count for name, count in counts.items() if count}

    def text_columns(self) -> list[str]:
        """Return the columns to read as text from a text file, even if they look like numbers."""
        columns = self.columns or ()
        return [column.name for column in columns if column.used and column.dtype == "str"]

    def _arrange_table(self, X: Any) -> tuple[Any, list[str]]:
        assert self.columns is not None
        used = [column for column in self.columns if column.used]
        names = [column.name for column in used]
        if not hasattr(X, "columns"):
            raise SchemaError(
                f"the model takes columns by name ({_quoted(names)}), the data have none"
            )
        given = X.rename(columns=str)
        missing = [name for name in names if name not in given.columns]
        if missing:
            raise SchemaError(_missing(missing, [str(name) for name in given.columns]))
        repeated = [name for name in names if int((given.columns == name).sum()) > 1]
        if repeated:
            raise SchemaError(f"the data have the column {_quoted(repeated)} more than once")
        known = {column.name for column in self.columns}
        more = [name for name in given.columns if name not in known]
        note = f"columns that the model does not use were ignored: {_quoted(more)}"
        rows = given[names].copy()
        for column in used:
            rows[column.name] = _as(column, rows[column.name])
        return rows, [note] if more else []

    def _arrange_unnamed(self, X: Any) -> tuple[Any, list[str]]:
        """Arrange a table, by position, for a model that was trained without column names."""
        if X.shape[1] != self.n_columns:
            raise SchemaError(
                f"the model takes {self.n_columns} columns without names, the data have "
                f"{X.shape[1]}"
            )
        numbers = [_as(Column(str(name), "number", "number"), X[name]) for name in X.columns]
        rows = np.column_stack([np.asarray(column, np.float64) for column in numbers])
        return (sparse.csr_matrix(rows) if self.sparse else rows), []


def _column(name: str, kind: Kind, values: Any) -> Column:
    from pandas.api import types

    if types.is_bool_dtype(values.dtype):
        dtype = "bool"
    elif types.is_numeric_dtype(values.dtype):
        dtype = "number"
    else:
        dtype = "datetime" if types.is_datetime64_any_dtype(values.dtype) else "str"
    if kind != "category":
        return Column(name, kind, dtype)
    known = sorted(set(values.dropna().map(str)))
    return Column(name, kind, dtype, tuple(known) if len(known) <= _MOST_VALUES else None)


def _read_column(name: str, kind: str, dtype: str, values: Sequence[Any] | None) -> Column:
    if not isinstance(name, str) or not isinstance(dtype, str) or kind not in get_args(Kind):
        raise ValueError(f"{name!r} of kind {kind!r} and dtype {dtype!r} is not a column.")
    return Column(name, cast(Kind, kind), dtype, None if values is None else tuple(values))


def _as(column: Column, values: Any) -> Any:
    """Convert the values of a column to the kind that the model was trained with."""
    from pandas.api import types

    is_number = types.is_numeric_dtype(values.dtype)
    if column.kind == "number":
        return _finite(values if is_number else _numbers(column, values))
    if column.kind == "date":
        return _dates(column, values)
    if is_number and not types.is_bool_dtype(values.dtype):
        values = values.map(_written)
    return values.astype(object)


def _numbers(column: Column, values: Any) -> Any:
    import pandas as pd

    if values.dtype.kind in "mM":
        raise _not(column, "numbers", values)
    numbers = pd.to_numeric(values, errors="coerce")
    if column.dtype == "bool":
        words = values.map(lambda value: _WORDS.get(str(value).strip().lower(), np.nan))
        numbers = words.fillna(numbers).astype(np.float64)
    wrong = values[values.notna() & numbers.isna()]
    if len(wrong):
        raise _not(column, "numbers", wrong)
    return numbers


def _finite(numbers: Any) -> Any:
    """Replace infinite numbers by missing values, as in training."""
    if numbers.dtype.kind == "f" and np.isinf(numbers).any():
        return numbers.where(np.isfinite(numbers))
    return numbers


def _dates(column: Column, values: Any) -> Any:
    """Check dates, or text that says dates: some may be unreadable (missing), but not all."""
    import pandas as pd

    there = values.dropna()
    if not len(there) or pd.api.types.is_datetime64_any_dtype(values.dtype):
        return values
    is_number = pd.api.types.is_numeric_dtype(values.dtype)
    if is_number or pd.to_datetime(there, errors="coerce", utc=True, format="mixed").isna().all():
        raise _not(column, "dates", there)
    return values


def _written(value: Any) -> Any:
    """Return a number as a file would write it: 3, not 3.0."""
    if value != value:
        return None
    return str(int(value)) if float(value).is_integer() else str(value)


def _not(column: Column, what: str, wrong: Any) -> SchemaError:
    label = wrong.index[0]
    row = int(label) + 1 if isinstance(label, (int, np.integer)) else label
    return SchemaError(
        f"column {column.name!r} should hold {what}, but row {row} has {str(wrong.iloc[0])[:40]!r}"
    )


def _fit_width(X: Any, n_columns: int) -> tuple[Any, list[str]]:
    """Cut a sparse matrix to this many columns, or add columns of zeros; also return notes."""
    X = sparse.csr_matrix(X, copy=True)
    note = f"the model knows {n_columns} columns only: others were ignored"
    notes = [note] if np.any(X.indices >= n_columns) else []
    X.resize(X.shape[0], n_columns)
    return X, notes


def _missing(missing: list[str], given: list[str]) -> str:
    message = f"the data lack {_quoted(missing)}, with which the model was trained"
    close = get_close_matches(missing[0], given, n=1)
    if close:
        return f"{message}; did you mean that by {close[0]!r}?"
    return f"{message}; there are {_quoted(given)}"


def _quoted(names: Sequence[str]) -> str:
    return listed(map(repr, names), _SHOWN)
