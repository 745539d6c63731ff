r"""Least squares by conjugate gradients, stopped early: the number of steps is the penalty.

After `t` steps the coefficients minimise :math:`|\Phi c + b - Y|^2` over the Krylov space of
:math:`\Phi^\top Y` (features and targets centred). The first step is along :math:`\Phi^\top Y`
itself, which treats each feature on its own; every further step takes account of correlations
between features, the directions of largest variance first. A few dozen steps do as well as a ridge
regression with a chosen penalty, without a matrix of all pairs of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bochner.engine.places import cast, convert, namespace, wide_dtype, zeros
from bochner.linear.design import TINY
from bochner.linear.normal_equations import Solution

_ROUNDING = 1e-12  # relative to the targets


def conjugate_path(features: Any, targets: Any, n_steps: int) -> Iterator[Solution]:
    """Yield the solutions after 1, 2, ..., `n_steps` steps.

    Each is a pair of coefficients of shape (D, k) and intercepts of shape (k,).

    Parameters
    ----------
    features : array of shape (n, D)
        Features in float32 or float64, in NumPy or on a device; products are computed in this
        dtype, all else is wide.
    targets : array of shape (n, k)
        Numbers to predict; every column has its own steps.
    n_steps : int
        Number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.conjugate import conjugate_path
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> *_, (coefficients, intercepts) = conjugate_path(X, X[:, :1] - 2 * X[:, 2:] + 5, 3)
    >>> coefficients.ravel().round(6) + 0.0, intercepts.round(6)
    (array([ 1.,  0., -2.]), array([5.]))
    """
    xp, wide = namespace(features), wide_dtype(features)
    targets = convert(targets, features, wide)
    target_means = xp.sum(targets, axis=0) / features.shape[0]
    centred = targets - target_means
    sums, size = xp.sum(centred, axis=1), xp.max(xp.abs(centred))
    if centred.shape[1] == 2 and bool(xp.max(xp.abs(sums)) <= _ROUNDING * size):
        # The columns of two classes are opposite: BLAS takes a fifth of the time for one column.
        signs = convert([[1.0, -1.0]], features, wide)
        for coefficients, shifts in _path(features, centred[:, :1], n_steps):
            yield coefficients * signs, target_means + (shifts * signs)[0, :]
        return
    for coefficients, shifts in _path(features, centred, n_steps):
        yield coefficients, target_means + shifts


def _path(features: Any, residuals: Any, n_steps: int) -> Iterator[Solution]:
    """Yield coefficients for centred targets, and what the features' means add to intercepts."""
    xp, wide, narrow = namespace(features), wide_dtype(features), features.dtype
    means = cast(xp.ones_like(features[:, 0]) @ features, wide) / features.shape[0]

    def adjoint(residuals: Any) -> Any:
        sums = cast(features.T @ cast(residuals, narrow), wide)
        return sums - means[:, None] * xp.sum(residuals, axis=0)

    coefficients = zeros((features.shape[1], residuals.shape[1]), features, wide)
    direction = gradient = adjoint(residuals)
    size = xp.sum(gradient**2, axis=0)
    before: list[Any] = []  # directions of earlier gradients
    for _ in range(n_steps):
        change = cast(features @ cast(direction, narrow), wide) - means @ direction
        # a column that is fitted exactly has neither a gradient nor a direction left
        step = size / (xp.sum(change**2, axis=0) + TINY)
        coefficients = coefficients + step * direction
        residuals = residuals - step * change
        yield coefficients, -means @ coefficients
        before.append(gradient / (xp.sqrt(size) + TINY))
        gradient, last = adjoint(residuals), size
        for other in before:
            # Orthogonal except for rounding, which would grow from step to step.
            gradient = gradient - other * xp.sum(other * gradient, axis=0)
        size = xp.sum(gradient**2, axis=0)
        direction = gradient + size / (last + TINY) * direction
