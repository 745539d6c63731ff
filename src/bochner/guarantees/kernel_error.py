r"""Mean squared error of any features of a kernel, over pairs of held-out rows.

Random Fourier features do not nest in their kernel: :math:`\|\varphi(x)\| = 1` at every row,
however poor they are, so they have no residual. For them, and for any bounded features, there is
an unbiased estimate from pairs of rows, and a confidence bound on it.

The mean squared error of nested features over two independent rows is at most
:math:`(\mathbb{E}\, r)^2`, so that :func:`bochner.guarantees.residual_bound` and the square root
of :func:`mean_squared_kernel_error_bound` bound the same quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.guarantees.checks import Float, check_above, check_count, check_delta
from bochner.guarantees.divergences import inverse_binary_kl
from bochner.guarantees.guarantee import ConditionsNotMet
from bochner.guarantees.samples import effective_pairs

Kernel = Callable[[Any, Any], Any]

_BLOCK = 1024  # rows of a block of pairs


def mean_squared_kernel_error(features: ArrayLike, kernel: Kernel, X: Any) -> float:
    r"""Unbiased estimate of :math:`\mathbb{E} (k(x, y) - \varphi(x) \cdot \varphi(y))^2`.

    The expectation is over two independent rows `x`, `y`; the estimate is the mean over all pairs
    of different rows. It is unbiased if the rows took no part in fitting the features. It costs
    :math:`O(n^2 (d + D))` and is computed in blocks; a few thousand rows are plenty.

    Parameters
    ----------
    features : array of shape (n, D)
        Any features of the rows `X`.
    kernel : callable
        Function such that ``kernel(X, Y)`` gives the exact values between rows, such as the
        kernels of :mod:`bochner.kernels`.
    X : array or sparse matrix of shape (n, d)
        Rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import mean_squared_kernel_error
    >>> from bochner.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> round(mean_squared_kernel_error(np.zeros((3, 1)), Gaussian(gamma=0.5), X), 4)
    0.2514
    """
    return pairwise_error(features, kernel, X)


def mean_squared_kernel_error_bound(
    estimate: float, n: int, delta: float = 0.05, *, limit: float = 2.0
) -> float:
    r"""Confidence bound on the mean squared error of the kernel, from all pairs of `n` rows.

    .. math:: B\, \mathrm{kl}^{-1} \left( \frac{\hat e}{B}, \frac{\ln(1 / \delta)}{m} \right),
              \qquad B = \mathrm{limit}^2, \quad m = \lfloor n / 2 \rfloor

    This is Hoeffding's bound for averages over pairs, which are worth ``n // 2`` independent ones.
    It holds with probability ``1 - delta`` over rows that are independent, identically distributed
    and took no part in fitting the features.

    Parameters
    ----------
    estimate : float
        Estimate from :func:`mean_squared_kernel_error`.
    n : int
        Number of rows that the estimate was computed from.
    delta : float, default=0.05
        Probability that the bound may fail.
    limit : float, default=2.0
        Largest possible error of a kernel value: 2 for features of length 1 (paired cosines and
        sines), 3 for single cosines with an offset, 1 for features that nest.

    Examples
    --------
    >>> from bochner.guarantees import mean_squared_kernel_error_bound
    >>> round(mean_squared_kernel_error_bound(0.001, 2000), 4)
    0.0157
    """
    top = check_above("limit", limit, 0) ** 2
    if not 0 <= estimate <= top:
        raise ValueError(f"estimate must lie in [0, limit^2] = [0, {top:g}], got {estimate!r}.")
    budget = np.log(1 / check_delta(delta)) / effective_pairs(n)
    return top * float(inverse_binary_kl(estimate / top, budget))


def pairwise_error(
    features: ArrayLike, kernel: Kernel, X: Any, lengths: Float | None = None
) -> float:
    """Mean squared error over pairs of different rows.

    The remainder of features that nest in the kernel is itself a kernel, so that no error is
    larger than the product of two rows' `lengths`, the square roots of their residuals. Where one
    is larger, the features belong to another kernel, and ConditionsNotMet is raised.
    """
    features = _check_rows(features, X)
    n = check_count("the number of rows", len(features), 2)
    total = 0.0
    for first, second in _blocks(n):
        exact = _values(kernel, X[first], X[second])
        errors = np.abs(exact - features[first] @ features[second].T)
        if first == second:
            np.fill_diagonal(errors, 0.0)
        if lengths is not None and (errors > np.outer(lengths[first], lengths[second])).any():
            raise ConditionsNotMet(
                f"this kernel is not the one of the features: its values differ by up to "
                f"{errors.max():.3g} from theirs, which is more than their residuals allow. They "
                "do not nest in it."
            )
        total += (1 if first == second else 2) * float(np.square(errors).sum())
    return total / (n * (n - 1))


def kernel_diagonal(kernel: Kernel, X: Any) -> Float:
    """Return ``k(x, x)`` for every row."""
    few = _slices(X.shape[0], 64)
    return np.concatenate([_values(kernel, X[rows], X[rows]).diagonal() for rows in few])


def _values(kernel: Kernel, X: Any, Y: Any) -> Float:
    values = np.asarray(kernel(X, Y), dtype=np.float64)
    wanted = (X.shape[0], Y.shape[0])
    if values.shape != wanted:
        raise ValueError(f"kernel(X, Y) must give an array of shape {wanted}, got {values.shape}.")
    return values


def _slices(n: int, height: int) -> list[slice]:
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield all pairs of blocks of rows, each once."""
    slices = _slices(n, _BLOCK)
    for index, first in enumerate(slices):
        for second in slices[index:]:
            yield first, second


def _check_rows(features: ArrayLike, X: Any) -> NDArray[Any]:
    array = np.asarray(features)
    if array.ndim != 2 or len(array) != X.shape[0]:
        raise ValueError(
            f"features must have shape (n, D) with one row for each of the {X.shape[0]} rows of "
            f"X, got {array.shape}."
        )
    return array.astype(np.float64, copy=False) if array.dtype != np.float32 else array
