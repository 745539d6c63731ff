"""Preparation: columns of any kind as numbers of comparable size, by scikit-learn's preprocessing.

What is done to a column follows from its kind, which is determined from the rows once, before
anything is fitted: numbers are imputed and standardised, categories become columns of zeros and
ones, and dates become days. Columns that cannot help are left out: constant ones, and text in
which nearly every row has a value of its own. Images are different: their pixels share one scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils import gen_batches
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from bochner.data.columns import (
    MOST_CATEGORIES,
    USED_KINDS,
    Kind,
    column_kinds,
    day_comes_first,
    parse_times,
)
from bochner.records.wording import listed

FEWEST_OF_A_CATEGORY = 5  # rows; rarer categories share a column
_DENSE_COLUMNS = 500  # columns up to which the result is dense, however many zeros there are
_MOST_OF_TREES = 250  # most categories of a column that trees are given
_DAY = 86_400e6  # microseconds
_PIXEL_ROWS = 1000  # images looked at together


class _FrameTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base class of transformers of the columns of a DataFrame, whatever they hold."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the columns."""
        self._frame(X, reset=True)
        return self

    def _frame(self, X: Any, reset: bool = False) -> Any:
        import pandas as pd

        if not reset:
            check_is_fitted(self, "n_features_in_")
        validate_data(self, X, skip_check_array=True, reset=reset)
        return pd.DataFrame(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


class DaysSinceEpoch(_FrameTransformer):
    """Convert columns of dates, or of text that says dates, to days since 1 January 1970.

    Values that cannot be read as a date are missing, which is NaN. The attribute `day_first_` says
    for each column whether the day comes before the month, which is assumed only if more of the
    first values are dates that way.

    >>> import pandas as pd
    >>> DaysSinceEpoch().fit_transform(pd.DataFrame({"day": ["1970-01-02", "soon"]})).tolist()
    [[1.0], [nan]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the order of day and month."""
        frame = self._frame(X, reset=True)
        self.day_first_ = [day_comes_first(column) for _, column in frame.items()]
        return self

    def transform(self, X: Any) -> Any:
        """Return the days of every column, an array of shape (n, columns)."""
        frame = self._frame(X)
        days = [
            _days(column, first)
            for (_, column), first in zip(frame.items(), self.day_first_, strict=True)
        ]
        return np.column_stack(days) if days else np.empty((len(frame), 0))


def _days(column: Any, day_first: bool) -> Any:
    times = parse_times(column, day_first)
    # Not in nanoseconds, whose range ends in the year 2262.
    values = times.dt.tz_localize(None).astype("datetime64[us]").astype("int64")
    return np.where(times.isna(), np.nan, values / _DAY)


class CategoryNames(_FrameTransformer):
    """Convert columns of categories to text, with a category ``"(missing)"`` for missing values.

    >>> import pandas as pd
    >>> CategoryNames().fit_transform(pd.DataFrame({"a": ["x", None, 3]})).tolist()
    [['x'], ['(missing)'], ['3']]
    """

    def transform(self, X: Any) -> Any:
        """Return the text of every column, an object array of shape (n, columns)."""
        frame = self._frame(X).astype(object)
        return frame.map(str).where(frame.notna(), "(missing)").to_numpy(dtype=object)


class PixelScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Shift and scale all pixels of images by the same two numbers.

    .. math:: z = (x - m) / s

    where `m` is the mean of all pixels of all images, and `s` the root of their mean squared
    distance to it. Pixels that hardly vary stay small, where a scale of their own would amplify
    their noise, and patterns are preserved. No column is left out. Missing pixels become 0, the
    mean; sparse rows become dense. The attributes are `mean_` and `scale_`, which is 1 if all
    pixels are the same.

    >>> PixelScaler().fit_transform([[0, 0, 4], [0, 0, 8]]).round(2).tolist()
    [[-0.65, -0.65, 0.65], [-0.65, -0.65, 1.96]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the mean and the scale."""
        # converted to floats a few rows at a time: images are often of one byte per pixel
        X = self._validate(X, reset=True, dtype="numeric")
        total = squares = 0.0
        count = 0
        for part in gen_batches(X.shape[0], _PIXEL_ROWS):
            pixels = _dense(X[part], np.float64)
            there = np.isfinite(pixels)
            count += int(there.sum())
            total += float(pixels.sum(where=there))
            squares += float(np.square(pixels).sum(where=there))
        self.mean_ = total / count if count else 0.0
        variance = squares / count - self.mean_**2 if count else 0.0
        self.scale_ = variance**0.5 if variance > 1e-12 * squares / max(count, 1) else 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Return the scaled pixels, an array of shape (n, columns), float32 for float32."""
        check_is_fitted(self, "scale_")
        X = self._validate(X, reset=False, dtype=FLOAT_DTYPES)
        Z = _dense(X, X.dtype, copy=True)
        Z -= self.mean_
        Z /= self.scale_
        Z[np.isnan(Z)] = 0.0
        return Z

    def _validate(self, X: Any, *, reset: bool, dtype: Any) -> Any:
        return validate_data(
            self, X, reset=reset, dtype=dtype, accept_sparse="csr", ensure_all_finite="allow-nan"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _dense(X: Any, dtype: Any, copy: bool = False) -> Any:
    X = X.toarray() if sparse.issparse(X) else X
    return np.array(X, dtype=dtype, copy=True if copy else None)


def make_preparation(
    X: Any, image_shape: Sequence[int] | None = None, *, standardize: bool = True
) -> Any:
    """Return an unfitted transformer that converts rows like these to numbers.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n, d)
        Rows, used to determine the kinds of their columns.
    image_shape : sequence of int or None, default=None
        Shape of the images, if the rows are images: then all columns are pixels, of one scale.
    standardize : bool, default=True
        Whether dense numbers are standardised; if not, missing values are only imputed.

    Returns
    -------
    transformer
        For a DataFrame, a transformer that finds its columns by name. Dense arrays are imputed and
        standardised; sparse ones are divided by the largest entry of each column, and stay sparse.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.models.preparation import make_preparation
    >>> X = pd.DataFrame({"size": [1.0, None, 3.0, 8.0], "colour": ["red", "red", "blue", "red"]})
    >>> make_preparation(X).fit_transform(X).shape        # size, its gaps, two colours
    (4, 4)
    """
    if image_shape is not None:
        return PixelScaler()
    if sparse.issparse(X):
        return MaxAbsScaler()
    if not hasattr(X, "iloc"):
        _check_varies(X)
        fill, *scale = _fill_and_scale(standardize)
        return Pipeline([fill, ("vary", VarianceThreshold()), *scale])
    return _prepare_columns(X, standardize)


class TreeColumns(_FrameTransformer):
    """Convert columns for trees: numbers keep missing values, dates become days.

    Categories become categorical columns; if there are very many, the rarest count as missing. The
    result is a DataFrame.

    >>> import pandas as pd
    >>> made = TreeColumns().fit_transform(pd.DataFrame({"a": [1, None, 2], "b": ["x", "y", "x"]}))
    >>> made["a"].tolist(), made["b"].cat.codes.tolist()
    ([1.0, nan, 2.0], [0, 1, 0])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the kinds and the categories of the columns."""
        frame = self._frame(X, reset=True)
        self.kinds_ = {k: kind for k, kind in column_kinds(frame).items() if kind in USED_KINDS}
        self.day_first_ = {name: day_comes_first(frame[name]) for name in self._of_kind("date")}
        self.categories_ = {
            name: sorted(frame[name].dropna().map(str).value_counts().index[:_MOST_OF_TREES])
            for name in self._of_kind("category")
        }
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns that can be used, as a DataFrame."""
        import pandas as pd

        frame, made = self._frame(X), {}
        for name, kind in self.kinds_.items():
            column = frame[name]
            if kind == "category":
                text, known = column.astype(object).map(str), self.categories_[name]
                made[name] = pd.Categorical(
                    text.where(column.notna() & text.isin(known)), categories=known
                )
            elif kind == "date":
                made[name] = _days(column, self.day_first_[name])
            else:
                made[name] = column.astype(np.float64).to_numpy()
        return pd.DataFrame(made)

    def _of_kind(self, kind: Kind) -> list[Any]:
        return [name for name, one in self.kinds_.items() if one == kind]


def make_tree_preparation(X: Any, image_shape: Sequence[int] | None = None) -> Any:
    """Return an unfitted transformer for models that accept missing values and categories.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n, d)
        Rows; all but a DataFrame are left as they are.
    image_shape : sequence of int or None, default=None
        Ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.preparation import make_tree_preparation
    >>> make_tree_preparation(np.eye(2)).fit_transform([[1.0, np.nan]])
    [[1.0, nan]]
    """
    return TreeColumns() if hasattr(X, "iloc") else FunctionTransformer()


def _check_varies(X: Any) -> None:
    """Raise a ValueError if no column varies, and none has missing values in some rows only."""
    X = np.asarray(X)
    if X.ndim == 2 and X.size and bool((X[:1] == X).all()):
        raise ValueError(f"there is no column to learn from: none of {X.shape[1]} varies.")


def _fill_and_scale(standardize: bool) -> list[tuple[str, Any]]:
    fill = ("fill", SimpleImputer(strategy="median", add_indicator=True))
    return [fill, ("scale", StandardScaler())] if standardize else [fill]


def _prepare_columns(X: Any, standardize: bool) -> ColumnTransformer:
    """Return the transformer for a DataFrame, which treats each column according to its kind."""
    kinds = column_kinds(X)
    names = {kind: [name for name in kinds if kinds[name] == kind] for kind in USED_KINDS}
    if not any(names.values()):
        raise ValueError(
            "there is no column to learn from: columns must hold numbers, dates or categories, "
            f"and vary; got {listed(f'{name} ({kind})' for name, kind in kinds.items())}."
        )
    rarest = min(FEWEST_OF_A_CATEGORY, max(1, len(X) // 100))
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=rarest if rarest > 1 else None,
        max_categories=MOST_CATEGORIES,
    )
    days, text = ("days", DaysSinceEpoch()), ("text", CategoryNames())
    parts = [
        ("numbers", Pipeline(_fill_and_scale(standardize)), names["number"]),
        ("dates", Pipeline([days, *_fill_and_scale(standardize)]), names["date"]),
        ("categories", Pipeline([text, ("columns", encoder)]), names["category"]),
    ]
    width = len(kinds) + sum(min(X[name].nunique(), MOST_CATEGORIES) for name in names["category"])
    return ColumnTransformer(
        [part for part in parts if part[2]],
        sparse_threshold=0.0 if width <= _DENSE_COLUMNS else 0.3,
    )


def prepared_names(prepare: Any) -> list[str]:
    """Return readable names of the columns that a fitted preparation makes.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.models.preparation import make_preparation, prepared_names
    >>> X = pd.DataFrame({"size": [1.0, None, 3.0, 8.0], "colour": ["red", "red", "blue", "red"]})
    >>> prepared_names(make_preparation(X).fit(X))
    ['size', 'missingindicator_size', 'colour_blue', 'colour_red']
    """
    names = [str(name) for name in prepare.get_feature_names_out()]
    if isinstance(prepare, ColumnTransformer):  # prefixes each with the name of a part
        return [name.partition("__")[2] for name in names]
    return names


def preparation_notes(X: Any, image_shape: Sequence[int] | None = None) -> tuple[str, ...]:
    """Return sentences about what the preparation does that users might not expect.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix
        Rows.
    image_shape : sequence of int or None, default=None
        Shape of the images, if the rows are images.

    Examples
    --------
    >>> import pandas as pd
    >>> from bochner.models.preparation import preparation_notes
    >>> preparation_notes(pd.DataFrame({"a": [1, 2], "b": [0, 0]}))
    ('Left out because they do not vary: b.',)
    """
    if image_shape is not None:
        sides = " x ".join(map(str, image_shape[:2]))
        channels = f", {image_shape[2]} channels" if image_shape[2] > 1 else ""
        return (f"Images of {sides} pixels{channels}: all pixels are scaled alike.",)
    if not hasattr(X, "iloc"):
        return ()
    kinds = column_kinds(X)
    sentences: dict[Kind, str] = {
        "constant": "Left out because they do not vary",
        "text": "Left out because most rows have a value of their own",
        "date": "Dates made numbers, in days",
        "category": "Categories made columns of zeros and ones",
    }
    notes = []
    for kind, sentence in sentences.items():
        if names := [name for name in kinds if kinds[name] == kind]:
            notes.append(f"{sentence}: {listed(names)}.")
    used = [name for name in kinds if kinds[name] in USED_KINDS]
    if gaps := [name for name in used if X[name].isna().any()]:
        notes.append(f"Missing values filled in, with a column that says where: {listed(gaps)}.")
    return tuple(notes)
