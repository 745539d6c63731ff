"""Weights of rows are counts: a row of weight 2 is that row twice, one of weight 0 is absent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from bochner.engine.places import is_dask, is_device, to_numpy
from bochner.engine.summaries import keep_rows

Float = NDArray[np.float64]

_COPIES = (10_000, 200_000)  # limits of the most copies in all, which is ten per row


def rows_with_weight(
    X: Any, y: NDArray[Any], sample_weight: Any, *, least: int = 1
) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights without the rows of weight 0, for sums of weighted rows.

    At least `least` rows must be left.
    """
    if sample_weight is None:
        return X, y, None
    weights = _checked(y, sample_weight)
    kept = np.flatnonzero(weights)
    if len(kept) < least:
        raise ValueError(
            f"sample_weight must be above zero for at least {least} row{'s' * (least > 1)}, but "
            f"is for {len(kept)} of {len(y)}."
        )
    if len(kept) == len(y):
        return X, y, weights
    return keep_rows(X, kept), y[kept], weights[kept]


def repeated_rows(
    X: Any, y: NDArray[Any], sample_weight: Any, random_state: RandomState
) -> tuple[Any, NDArray[Any]]:
    """Return rows and labels, each repeated as its weight says, for use without weights."""
    if sample_weight is None:
        return X, y
    index = copies(_checked(y, sample_weight), y, random_state)
    if not len(index):
        raise ValueError(f"sample_weight is zero for all of {len(y)} rows.")
    return (X, y) if np.array_equal(index, np.arange(len(y))) else (keep_rows(X, index), y[index])


def copies(weights: Float, y: NDArray[Any], random_state: RandomState) -> NDArray[np.intp]:
    """Return positions of rows in increasing order, each as often as its weight says.

    The fractional part of a weight is the probability of one more copy, drawn so that all parts of
    `y` get their share (systematic sampling). The number of copies is limited to ten times the
    number of rows, but to no less than 10000, and to no more than 200000 or the number of rows if
    that is larger: weights that sum to more are scaled down to this limit.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.weights import copies
    >>> y, state = np.array([0, 0, 1, 1]), np.random.RandomState(0)
    >>> copies(np.array([1.0, 0.0, 3.0, 1.0]), y, state).tolist()
    [0, 2, 2, 2, 3]
    >>> y[copies(np.full(4, 0.5), y, state)].tolist()          # one of each class
    [0, 1]
    """
    most, total = max(len(y), int(np.clip(10 * len(y), *_COPIES))), weights.sum()
    if total > most:
        weights = weights * (most / total)
    counts = np.floor(weights)
    rest = weights - counts
    if rest.any():
        labels = np.unique(y if y.ndim == 1 else y[:, 0], return_inverse=True)[1]
        order = np.lexsort((random_state.random_sample(len(y)), labels))
        start = random_state.random_sample()
        counts[order] += np.diff(np.floor(start + np.r_[0.0, np.cumsum(rest[order])]))
    index = np.repeat(np.arange(len(y)), counts.astype(np.intp))
    present = int(np.count_nonzero(weights))
    if len(index) < min(2, present):
        raise ValueError(
            f"sample_weight counts rows: the weights of {present} rows sum to {total:g}; multiply "
            "them so that their mean is about 1."
        )
    return index


def _checked(y: NDArray[Any], sample_weight: Any) -> Float:
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    weights: Float = _check_sample_weight(
        to_numpy(sample_weight) if is_device(sample_weight) else sample_weight,
        y,
        dtype=np.float64,
        ensure_non_negative=True,
        allow_all_zero_weights=True,
    )
    return weights
