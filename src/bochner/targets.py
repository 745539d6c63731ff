"""Labels as columns: what "similar" means for two classes, many classes, or numbers.

Every supervised map compares a kernel with a similarity of the labels,

    lambda_ij = sum_k s_k A_ik A_jk   in [-1, 1],

so that all it needs of the labels is the columns ``A`` and the signs ``s``:

=============  ==================================  ==================  =======================
target         columns A                           signs s             lambda_ij
=============  ==================================  ==================  =======================
two classes    y = +-1                             1                   y_i y_j
many classes   one column per class, and ones      2, ..., 2, -1       1 if equal, else -1
regression     (y - mean) / max |y - mean|         1                   product of the two
=============  ==================================  ==================  =======================
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
    """What kind of labels there are; `classes` is None for regression."""

    classes: NDArray[Any] | None

    @classmethod
    def of(cls, y: Any, kind: TargetKind = "auto") -> Target:
        """Recognise the target, as scikit-learn does; `kind` overrules it."""
        y = np.asarray(y)
        with np.errstate(invalid="ignore"):  # it tries integers, which huge numbers are not
            recognised = type_of_target(y, input_name="y")
        if recognised not in ("binary", "multiclass", "continuous"):
            raise ValueError(
                f"Unknown label type: y must hold one label or number per row, got {recognised}."
            )
        continuous = recognised == "continuous"
        if kind == "regression" and y.dtype.kind not in "fiub":
            raise ValueError(
                f"target='regression' needs numbers, but y holds {y.dtype} such as {y[0]!s}; use "
                "target='classification' or 'auto'."
            )
        if kind == "regression" or (kind == "auto" and continuous):
            _check_numbers(y)
            return cls(None)
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
        """Number of raw columns, see :meth:`raw_columns`."""
        if self.classes is None:
            return 2
        return 1 if len(self.classes) == 2 else len(self.classes)

    def indices(self, y: Any) -> NDArray[np.intp]:
        """Positions of the labels in `classes`."""
        assert self.classes is not None
        index = np.searchsorted(self.classes, y)
        index = np.minimum(index, len(self.classes) - 1)
        if not np.array_equal(self.classes[index], y):
            unknown = np.setdiff1d(y, self.classes)
            raise ValueError(f"y holds labels that are not in classes: {unknown[:5]}.")
        return index

    def raw_columns(self, y: Any) -> Float:
        """Columns that need no knowledge of other rows, from which ``A`` follows linearly.

        Two classes: +-1. Many classes: one column per class. Regression: y and ones, because the
        mean and the largest deviation are known only when all rows have been seen.
        """
        if self.classes is None:
            values = np.asarray(y, dtype=np.float64)
            return np.column_stack([values, np.ones_like(values)])
        index = self.indices(y)
        if len(self.classes) == 2:
            return np.where(index == 1, 1.0, -1.0)[:, None]
        columns: Float = np.eye(len(self.classes))[index]
        return columns

    def columns_and_signs(self, y: Any) -> tuple[Float, Float]:
        """``A`` and ``s`` of the table above, for all rows at once."""
        columns = self.raw_columns(y)
        if self.classes is None:
            return _scaled(columns[:, :1] - columns[:, :1].mean()), np.ones(1)
        if columns.shape[1] == 1:
            return columns, np.ones(1)
        ones = np.ones((len(columns), 1))
        return np.hstack([columns, ones]), np.r_[np.full(columns.shape[1], 2.0), -1.0]

    def similarities(self, labels: Any, y: Any) -> list[tuple[NDArray[np.intp], Float, Float]]:
        """``lambda(labels_l, y_j)`` as a few products: positions of labels, factors, a column.

        ``lambda(labels[p], y) = factor[p] * column``: one entry for two classes and for
        regression, one per class for many classes.
        """
        if self.classes is None:
            numbers = np.asarray(y, np.float64), np.asarray(labels, np.float64)
            scaled = _scaled(np.concatenate(numbers) - numbers[0].mean())
            return [(np.arange(len(labels)), scaled[len(y) :], scaled[: len(y)])]
        if len(self.classes) == 2:
            factors = self.raw_columns(labels)[:, 0]
            return [(np.arange(len(labels)), factors, self.raw_columns(y)[:, 0])]
        own, index = self.indices(labels), self.indices(y)
        return [
            (np.flatnonzero(own == c), np.ones(np.count_nonzero(own == c)), 2.0 * (index == c) - 1)
            for c in np.unique(own)
        ]


def _check_numbers(y: Any) -> None:
    try:
        np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"target='regression' needs numbers, but y holds {np.ravel(y)[0]!s}."
        ) from None


def _scaled(values: Float) -> Float:
    largest = np.abs(values).max()
    if not largest > 0:
        raise ValueError("y is constant: there is nothing to align with.")
    return values / largest


def check_labels(y: Any, n_rows: float) -> NDArray[Any]:
    """Labels on the host, one per row."""
    if is_dask(y):
        y = y.compute()
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if is_device(y):
        y = to_numpy(y)
    y = column_or_1d(y, warn=True)
    if not len(y):
        raise ValueError("y is empty: one label per row is needed.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    if n_rows == n_rows and len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        )
    return y
