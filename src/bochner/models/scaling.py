r"""Scaling of numeric columns to comparable size, on whatever device the rows are.

============  ==========================================================================
scaling       result for a number `x` of a column
============  ==========================================================================
``none``      `x` itself
``standard``  ``(x - mean) / standard deviation``
``robust``    ``z / sqrt(1 + (z / 3)^2)`` with ``z = (x - median) / interquartile range``:
              outliers are pulled in, and no value is farther from 0 than 3
``quantile``  the normal score of the rank of `x`, between -3 and 3
============  ==========================================================================

With ``robust`` and ``quantile``, columns of two values are scaled so that these stay two apart.
Sparse rows keep their zeros: they are only divided by the standard deviation. (scikit-learn's
scalers support neither devices nor dask arrays, and none of them bends outliers.)
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from bochner.base import FeatureMap
from bochner.engine.places import by_rows, convert, is_dask, namespace
from bochner.engine.rowwise import map_rows
from bochner.engine.summaries import sample_rows

Scaling = Literal["none", "standard", "robust", "quantile"]
SCALINGS: tuple[Scaling, ...] = ("standard", "none", "robust", "quantile")  # the simplest first

_SAMPLE = 50_000  # rows used to find the location and scale of a column
_KNOTS = 1000
FARTHEST = 3.0

Float = NDArray[np.float64]


class ColumnScaler(FeatureMap):
    r"""Scale columns of numbers to comparable size, each by itself.

    Parameters
    ----------
    scaling : {"standard", "none", "robust", "quantile"}, default="standard"
        The kind of scaling, see the table of :mod:`bochner.models.scaling`.

    Attributes
    ----------
    center_, scale_ : ndarray of shape (n_features_in_,)
        The value subtracted from each column, and the one that the difference is divided by.
    knots_, scores_ : ndarray of shape (n_knots, n_features_in_) and (n_knots,), or None
        Quantiles of the columns and their normal scores for ``"quantile"``, otherwise None.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.models.scaling import ColumnScaler
    >>> X = np.r_[np.arange(9.0), 1e6][:, None]
    >>> ColumnScaler("robust").fit_transform(X)[[0, 4, 9]].ravel().round(2)
    array([-0.95, -0.11,  3.  ])
    """

    n_jobs = None
    memory_budget = None
    _learned: ClassVar[str] = "scale_"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scaling": [StrOptions(set(SCALINGS))]
    }

    def __init__(self, scaling: Scaling = "standard") -> None:
        self.scaling = scaling

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the center and the scale of the columns, and their quantiles if needed.

        Parameters
        ----------
        X : array-like, sparse matrix, device array or dask array of shape (n, n_features)
            Rows, of which at most 50000 are used.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        X = self._validate_rows(X, reset=True)
        sample = sample_rows(X, _SAMPLE, RandomState(0)).astype(np.float64)
        self._kind = self.scaling
        if sparse.issparse(sample) and self.scaling != "none":
            self._kind = "standard"
        if sparse.issparse(sample):
            mean = np.asarray(sample.mean(axis=0)).ravel()
            square = np.asarray(sample.multiply(sample).mean(axis=0)).ravel()
            center, spread = np.zeros_like(mean), np.sqrt(np.maximum(square - mean**2, 0))
        else:
            center, spread = sample.mean(axis=0), sample.std(axis=0)
        self.knots_ = self.scores_ = None
        if self._kind in ("robust", "quantile"):
            self._binary = _two_values(sample)
            ordered = np.sort(np.ascontiguousarray(sample.T), axis=1)
            center, spread = _robust(ordered, self._binary)
            if self._kind == "quantile":
                shares = np.linspace(0, 1, min(_KNOTS, len(sample)))
                self.knots_ = _quantiles(ordered, shares)
                self.scores_ = np.clip(ndtri(shares), -FARTHEST, FARTHEST)
        self.center_ = center
        self.scale_ = np.where(spread > 0, spread, 1.0)
        return self

    def _features(self, X: Any) -> Any:
        meta = X._meta if is_dask(X) else None
        return map_rows(self._scaled, X, X.shape[1], meta=meta)

    def _scaled(self, X: Any) -> Any:
        if self._kind == "none":
            return X
        if sparse.issparse(X):
            return (X @ sparse.diags_array((1 / self.scale_).astype(X.dtype))).tocsr()
        X = by_rows(X)
        scaled = (X - convert(self.center_, X)) / convert(self.scale_, X)
        if self._kind == "standard":
            return scaled
        xp, binary = namespace(X), convert(self._binary, X)
        if self._kind == "robust":
            bent = scaled / xp.sqrt(1 + (scaled / FARTHEST) ** 2)
        else:
            columns = (xp.asarray(X[:, j], copy=True) for j in range(X.shape[1]))
            bent = xp.stack(
                [x if self._binary[j] else self._ranked(x, j) for j, x in enumerate(columns)],
                axis=1,
            )
        return binary * scaled + (1 - binary) * bent

    def _ranked(self, x: Any, j: int) -> Any:
        """Return normal scores by interpolation between the knots."""
        xp = namespace(x)
        values, scores = self.curve(j)
        knots, scores = convert(values, x), convert(scores, x)
        right = xp.clip(xp.searchsorted(knots, x), 1, len(values) - 1)
        left = right - 1
        gaps = xp.take(knots, right) - xp.take(knots, left)
        # knots that differ in float64 may be the same in float32
        share = (x - xp.take(knots, left)) / xp.where(gaps > 0, gaps, xp.ones_like(gaps))
        share = xp.clip(share, 0.0, 1.0)
        return xp.take(scores, left) * (1 - share) + xp.take(scores, right) * share

    def curve(self, j: int) -> tuple[Float, Float]:
        """Return the distinct knots of a column, at least two, and their scores for "quantile".

        Ties get the middle of their scores.
        """
        assert self.knots_ is not None
        assert self.scores_ is not None
        values, first = np.unique(self.knots_[:, j], return_index=True)
        last = np.r_[first[1:], len(self.scores_)] - 1
        scores = 0.5 * (self.scores_[first] + self.scores_[last])
        if len(values) == 1:
            return np.array([values[0], values[0] + 1]), np.zeros(2)
        return values, scores

    @property
    def _n_features_out(self) -> int:
        return len(self.scale_)


def _two_values(sample: Float) -> Float:
    """Return 1 for each column that holds at most two values, else 0."""
    low, high = sample.min(axis=0), sample.max(axis=0)
    return np.all((sample == low) | (sample == high), axis=0).astype(np.float64)


def _robust(ordered: Float, binary: Float) -> tuple[Float, Float]:
    """Return medians, and interquartile ranges or half the ranges.

    Half the range is used for columns of two values, and where the interquartile range is zero.
    """
    low, middle, high = _quantiles(ordered, np.array([0.25, 0.5, 0.75]))
    half = 0.5 * (ordered[:, -1] - ordered[:, 0])
    return middle, np.where((high > low) & (binary == 0), high - low, half)


def _quantiles(ordered: Float, shares: Float) -> Float:
    """Return quantiles of sorted rows, one per row of the result, by NumPy's linear interpolation.

    NumPy would partition the values once more: ten times as slow where many of them are equal.
    """
    position = shares * (ordered.shape[1] - 1)
    below = position.astype(int)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    low = ordered[:, below]
    return np.ascontiguousarray((low + (position - below) * (ordered[:, above] - low)).T)
