"""Preparation of raw tables for a kernel model: categories, dates and missing values.

Rows of numbers without missing values are left alone; so are rows on a device or on a cluster, and
sparse rows, whose zeros are numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bochner.engine.places import is_dask, is_device
from bochner.engine.rowwise import row_slices
from bochner.models.preparation import make_preparation

_BLOCK = 10_000  # rows that are searched for missing values at a time


def fit_preparation(X: Any) -> Any:
    """Return a fitted transformer that converts rows like these to numbers, or None.

    Parameters
    ----------
    X : array-like, table or anything else that a kernel model takes
        Rows. Tables need the transformer if a column does not hold numbers or has missing values,
        arrays if they hold NaN; None is returned if it is not needed.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bochner.models.tables import fit_preparation
    >>> X = pd.DataFrame({"size": [1.0, None, 3.0, 8.0], "colour": ["red", "red", "blue", "red"]})
    >>> fit_preparation(X).transform(X)[1]                # the median, missing, not blue, red
    array([3., 1., 0., 1.])
    >>> fit_preparation(np.eye(2)) is None
    True
    """
    if sparse.issparse(X) or is_device(X) or is_dask(X):
        return None
    rows = as_frame(X)
    needed = _has_gaps(rows) if isinstance(rows, np.ndarray) else not _holds_numbers(rows)
    return make_preparation(rows, standardize=False).fit(rows) if needed else None


def as_frame(X: Any) -> Any:
    """Return a table as a DataFrame, with floats for nullable numbers; otherwise an array."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "iloc"):
        return np.asarray(X)
    nullable = [name for name, dtype in X.dtypes.items() if _may_be_missing(dtype)]
    return X.astype(dict.fromkeys(nullable, np.float64)) if nullable else X


def _may_be_missing(dtype: Any) -> bool:
    """Whether a column of a DataFrame has numbers that pandas marks as missing in its own way."""
    inner = getattr(dtype, "numpy_dtype", None)
    return inner is not None and inner.kind in "biuf"


def _holds_numbers(frame: Any) -> bool:
    """Whether a DataFrame holds only numbers; an empty one is left to later checks."""
    from pandas.api.types import is_numeric_dtype

    if not len(frame) or not len(frame.columns):
        return True
    return all(map(is_numeric_dtype, frame.dtypes)) and not bool(frame.isna().any(axis=None))


def _has_gaps(X: Any) -> bool:
    if X.ndim != 2 or X.dtype.kind != "f":
        return False
    return any(bool(np.isnan(X[rows]).any()) for rows in row_slices(len(X), _BLOCK))
