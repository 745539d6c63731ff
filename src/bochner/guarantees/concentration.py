"""Upper confidence bounds on a mean of independent values in a known interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bochner.guarantees.checks import Float, check_above, check_count, check_delta
from bochner.guarantees.divergences import inverse_binary_kl


def hoeffding_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""Upper confidence bound on a mean, :math:`\bar v + B \sqrt{\ln(1 / \delta) / (2 m)}`.

    It holds with probability ``1 - delta`` for `m` independent values in ``[0, limit]`` with a
    common mean. Residuals qualify when the rows took no part in fitting the features.

    Parameters
    ----------
    values : array of shape (m,)
        Values in ``[0, limit]``.
    delta : float
        Probability that the bound may fail.
    limit : float, default=1.0
        Largest possible value, :math:`B`; known beforehand, not the largest value seen. The bound
        never exceeds it.

    Examples
    --------
    >>> from bochner.guarantees import hoeffding_bound
    >>> round(hoeffding_bound([0.01] * 1000, delta=0.05), 4)
    0.0487
    """
    v, limit = _check_values(values, limit)
    radius = limit * np.sqrt(np.log(1 / check_delta(delta)) / (2 * len(v)))
    return float(min(limit, v.mean() + radius))


def chernoff_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""Upper confidence bound on a mean, in Hoeffding's own sharp form.

    The bound is :math:`B\, \mathrm{kl}^{-1}(\bar v / B, \ln(1/\delta) / m)`. It is never larger
    than :func:`hoeffding_bound`, under the same conditions, and much smaller when the mean is
    small: about :math:`B \ln(1 / \delta) / m` where all values are zero.

    Parameters
    ----------
    values, delta, limit
        As for :func:`hoeffding_bound`.

    Examples
    --------
    >>> from bochner.guarantees import chernoff_bound
    >>> round(chernoff_bound([0.01] * 1000, delta=0.05), 4)
    0.0198
    """
    v, limit = _check_values(values, limit)
    budget = np.log(1 / check_delta(delta)) / len(v)
    return limit * float(inverse_binary_kl(v.mean() / limit, budget))


def empirical_bernstein_bound(values: ArrayLike, delta: float, *, limit: float = 1.0) -> float:
    r"""Upper confidence bound on a mean that benefits from a small variance.

    .. math:: \bar v + \sqrt{\frac{2 V \ln(2 / \delta)}{m}}
              + \frac{7 B \ln(2 / \delta)}{3 (m - 1)}

    with the sample variance `V` (Maurer and Pontil 2009). The conditions are those of
    :func:`hoeffding_bound`. The bound is smaller than :func:`chernoff_bound` when the values vary
    little about a mean that is not small.

    Parameters
    ----------
    values, delta, limit
        As for :func:`hoeffding_bound`; at least two values are needed.

    Examples
    --------
    >>> from bochner.guarantees import empirical_bernstein_bound
    >>> round(empirical_bernstein_bound([0.01] * 1000, delta=0.05), 4)
    0.0186
    """
    v, limit = _check_values(values, limit)
    m = check_count("the number of values", len(v), 2)
    logarithm = np.log(2 / check_delta(delta))
    radius = np.sqrt(2 * v.var(ddof=1) * logarithm / m) + 7 * limit * logarithm / (3 * (m - 1))
    return float(min(limit, v.mean() + radius))


def _check_values(values: ArrayLike, limit: float) -> tuple[Float, float]:
    limit = check_above("limit", limit, 0)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"values must have shape (m,) with m >= 1, got {array.shape}.")
    # Rounding may carry a value a little beyond the limit.
    wrong = ~((array >= 0) & (array <= limit * (1 + 1e-9)))
    if wrong.any():
        raise ValueError(f"values must lie in [0, {limit:g}], got {array[wrong][0]!r}.")
    return np.minimum(array, limit), limit
