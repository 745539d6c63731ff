"""Labels as columns: what "similar" means for two classes, many classes, or numbers.

Every supervised map compares a kernel with a similarity of the labels,

    lambda_ij = sum_k s_k A_ik A_jk   in [-1, 1],

so that all it needs from the labels are the columns ``A`` and the signs ``s``:

=============  ==================================  ==================  =======================
target         columns A                           signs s             lambda_ij
=============  ==================================  ==================  =======================
two classes    y = +-1                             1                   y_i y_j
many classes   one column per class, and ones      2, ..., 2, -1       1 if equal, else -1
regression     (y - mean) / max |y - mean|         1                   product of the two
several        the same for each of K columns      1/K, ..., 1/K       mean of their products
=============  ==================================  ==================  =======================

For classes, the mean of lambda over all pairs is ``2 sum_c pi_c^2 - 1`` with shares ``pi_c``: far
from 0 with many or unequal classes, where the sum over all rows then outweighs what tells the
classes apart. The centred similarity has one column ``[y = c] - pi_c`` per class, all with the
sign ``1 / |C|_F`` for their covariance ``C = diag(pi) - pi pi^T``. Its mean is 0, it equals the
similarity above for two equal classes, and its sums over uninformative labels have the same spread
for any number and shares of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from bochner.engine.places import is_dask, is_device, to_numpy

TargetKind = Literal["auto", "classification", "regression"]
Float = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """Kind of the labels; `classes` is None for regression on one or more columns."""

    classes: NDArray[Any] | None
    n_columns: int = 1

    @classmethod
    def of(cls, y: Any, kind: TargetKind = "auto") -> Target:
        """Recognise the target as scikit-learn does, unless `kind` overrules it."""
        y = np.asarray(y)
        with np.errstate(invalid="ignore"):  # it casts to integers, which huge numbers overflow
            recognised = type_of_target(y, input_name="y")
        continuous = recognised.startswith("continuous")
        if kind == "regression" or (kind == "auto" and continuous):
            _check_numbers(y)
            return cls(None, 1 if y.ndim == 1 else y.shape[1])
        if y.ndim > 1:
            raise ValueError(
                f"Unknown label type: y must hold one class per row, got {y.shape[1]} columns "
                f"({recognised}). Several columns may be numbers: target='regression'."
            )
        if recognised not in ("binary", "multiclass", "continuous"):
            raise ValueError(
                f"Unknown label type: y must hold one label or number per row, got {recognised}."
            )
        if continuous:
            raise ValueError(
                "Unknown label type: target='classification' needs classes, but y holds "
                "continuous numbers; use target='regression' or 'auto'."
            )
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes[0]}: there is nothing to tell apart."
            )
        return cls(classes)

    @property
    def n_sums(self) -> int:
        """Number of :meth:`sum_columns`."""
        return self.n_columns + 1 if self.classes is None else len(self.classes)

    def indices(self, y: Any) -> NDArray[np.intp]:
        """Return the positions of the labels in `classes`."""
        assert self.classes is not None
        index = np.searchsorted(self.classes, y)
        index = np.minimum(index, len(self.classes) - 1)
        if not np.array_equal(self.classes[index], y):
            unknown = np.setdiff1d(y, self.classes)
            raise ValueError(f"y holds labels that are not in classes: {unknown[:5]}.")
        return index

    def raw_columns(self, y: Any) -> Float:
        """Return columns that need no knowledge of other rows and give ``A`` linearly.

        Two classes: +-1. Many classes: one column per class. Regression: y and ones, because the
        mean and the largest deviation are known only when all rows have been seen.
        """
        if self.classes is None:
            return np.column_stack([np.asarray(y, dtype=np.float64), np.ones(len(y))])
        index = self.indices(y)
        if len(self.classes) == 2:
            return np.where(index == 1, 1.0, -1.0)[:, None]
        columns: Float = np.eye(len(self.classes))[index]
        return columns

    def sum_columns(self, y: Any) -> Float:
        """Return raw columns for the centred similarity as well: one per class, even for two."""
        if self.classes is None:
            return self.raw_columns(y)
        columns: Float = np.eye(len(self.classes))[self.indices(y)]
        return columns

    def columns_to_predict(self, y: Any) -> Float:
        """Return signs for two classes, one column per class for more, or scaled numbers."""
        return self.columns_and_signs(y)[0] if self.classes is None else self.raw_columns(y)

    def columns_and_signs(self, y: Any, *, centred: bool = False) -> tuple[Float, Float]:
        """Return ``A`` and ``s`` of the table above, for all rows at once."""
        if self.classes is None:
            columns = _scaled(as_columns(y))
            return columns, np.full(columns.shape[1], 1 / columns.shape[1])
        if centred:
            columns = self.sum_columns(y)
            shares = columns.mean(axis=0)
            if not spread_of(shares) > 0:
                raise ValueError("the rows that were drawn hold one class only: more are needed.")
            return columns - shares, np.full(len(shares), 1 / spread_of(shares))
        columns = self.raw_columns(y)
        if columns.shape[1] == 1:
            return columns, np.ones(1)
        ones = np.ones((len(columns), 1))
        return np.hstack([columns, ones]), np.r_[np.full(columns.shape[1], 2.0), -1.0]

    def similarities(self, labels: Any, y: Any) -> list[tuple[NDArray[np.intp], Float, Float]]:
        """Return ``lambda(labels_l, y_j)`` as a few products: label positions, factors, a column.

        ``lambda(labels[p], y) = factor[p] * column``, summed over the entries: one for two
        classes, one per column of numbers, one per class for many classes.
        """
        if self.classes is None:
            scaled = _scaled(np.concatenate([as_columns(y), as_columns(labels)]), len(y))
            positions, K = np.arange(len(labels)), scaled.shape[1]
            return [(positions, column[len(y) :], column[: len(y)] / K) for column in scaled.T]
        if len(self.classes) == 2:
            factors = self.raw_columns(labels)[:, 0]
            return [(np.arange(len(labels)), factors, self.raw_columns(y)[:, 0])]
        own, index = self.indices(labels), self.indices(y)
        return [
            (np.flatnonzero(own == c), np.ones(np.count_nonzero(own == c)), 2.0 * (index == c) - 1)
            for c in np.unique(own)
        ]


def as_columns(y: Any) -> Float:
    """Return numbers of shape (n,) or (n, K) with shape (n, K)."""
    numbers = np.asarray(y, np.float64)
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _check_numbers(y: Any) -> None:
    try:
        np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"target='regression' needs numbers, but y holds text such as {np.ravel(y)[0]!s}; use "
            "target='classification' or 'auto'."
        ) from None


def spread_of(shares: Float) -> float:
    """Return ``|diag(pi) - pi pi^T|_F``, the norm of the covariance of the columns of classes."""
    squares = shares @ shares
    return float(np.sqrt(squares - 2 * np.sum(shares**3) + squares**2))


def unit_of(numbers: Float) -> Float:
    """Return the power of two below the largest entry of each column, to divide by before sums."""
    exponents = np.frexp(np.abs(numbers).max(axis=0))[1] - 1
    return np.asarray(np.ldexp(1.0, np.maximum(exponents, -1022)))


def _scaled(numbers: Float, n_rows: int | None = None) -> Float:
    """Centre columns by the mean of their first `n_rows`, and scale the largest entry to 1."""
    numbers = numbers / unit_of(numbers)
    centred = numbers - numbers[:n_rows].mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    if not largest.any():
        raise ValueError("y is constant: there is nothing to align with.")
    scaled: Float = centred / np.where(largest > 0, largest, 1.0)
    return scaled


def check_labels(y: Any, n_rows: float) -> NDArray[Any]:
    """Return the labels on the host, one per row, or several columns of numbers."""
    if is_dask(y):
        y = y.compute()
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if is_device(y):
        y = to_numpy(y)
    y = np.asarray(y) if isinstance(y, (list, tuple)) else y
    shape: tuple[int, ...] = getattr(y, "shape", ())
    y = np.asarray(y if len(shape) == 2 and shape[1] > 1 else column_or_1d(y, warn=True))
    if not len(y):
        raise ValueError("y is empty: one label per row is needed.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    if n_rows == n_rows and len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        )
    return y
