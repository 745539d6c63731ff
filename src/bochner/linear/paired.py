"""Losses on the same held-out rows, compared row by row: whether one is clearly lower."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def is_clearly_lower(
    losses: Float, others: Float, *, errors: float = 1.0, weights: Float | None = None
) -> bool:
    """Whether losses are lower on average, by more than some standard errors of the difference.

    Parameters
    ----------
    losses, others : arrays of shape (n,)
        Losses on the same rows.
    errors : float, default=1.0
        Number of standard errors.
    weights : array of shape (n,), optional
        Counts of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.paired import is_clearly_lower
    >>> others = np.array([1.0, 5.0, 9.0])
    >>> is_clearly_lower(others - [0.1, 0.2, 0.1], others)
    True
    >>> is_clearly_lower(others - [3.0, -3.0, 0.1], others)
    False
    """
    gain = others - losses
    counts = np.ones(len(gain)) if weights is None else weights
    n = counts.sum()
    mean = counts @ gain / n
    variance = counts @ (gain - mean) ** 2 / max(n - 1, 1.0)
    return bool(mean > errors * np.sqrt(variance / n))


def best_or_first(losses: Sequence[Float], weights: Float | None = None) -> int:
    """Return which losses are lowest on average: the first, unless beaten by a standard error.

    Parameters
    ----------
    losses : sequence of arrays of shape (n,)
        Losses on the same rows, the simplest choice first.
    weights : array of shape (n,), optional
        Counts of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.paired import best_or_first
    >>> first = np.array([1.0, 5.0, 9.0])
    >>> best_or_first([first, first - [0.1, 0.2, 0.1], first - [0.0, 0.1, 0.0]])
    1
    >>> best_or_first([first, first - [3.0, -3.0, 0.1]])
    0
    """
    best = int(np.argmin([np.average(each, weights=weights) for each in losses]))
    return best if is_clearly_lower(losses[best], losses[0], weights=weights) else 0
