r"""Least squares by conjugate gradients, stopped early: the number of steps is the penalty.

After `t` steps the coefficients minimise :math:`|\Phi c + b - Y|^2` over the Krylov space of
:math:`\Phi^\top Y` (features and targets centred). The first step is along :math:`\Phi^\top Y`
itself, each feature by itself; every further one takes account of how features go together, the
directions of largest variance first. A few dozen steps do what a ridge regression does whose
penalty was chosen, without a matrix of all pairs of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bochner.engine.places import cast, convert, namespace, wide_dtype, zeros
from bochner.linear.design import TINY
from bochner.linear.normal_equations import Solution


def conjugate_path(features: Any, targets: Any, n_steps: int) -> Iterator[Solution]:
    """Coefficients of shape (D, k) and intercepts of shape (k,) after 1, 2, ..., `n_steps` steps.

    Parameters
    ----------
    features : array of shape (n, D)
        float32 or float64, NumPy or on a device; products are in this dtype, all else is wide.
    targets : array of shape (n, k)
        Numbers to predict; every column has its own steps.
    n_steps : int
        How many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.conjugate import conjugate_path
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> *_, (coefficients, intercepts) = conjugate_path(X, X[:, :1] - 2 * X[:, 2:] + 5, 3)
    >>> coefficients.ravel().round(6) + 0.0, intercepts.round(6)
    (array([ 1.,  0., -2.]), array([5.]))
    """
    xp, wide, narrow = namespace(features), wide_dtype(features), features.dtype
    targets = convert(targets, features, wide)
    ones = xp.ones_like(features[:, 0])
    means = cast(ones @ features, wide) / features.shape[0]
    target_means = xp.sum(targets, axis=0) / features.shape[0]

    def adjoint(residuals: Any) -> Any:
        sums = cast(features.T @ cast(residuals, narrow), wide)
        return sums - means[:, None] * xp.sum(residuals, axis=0)

    residuals = targets - target_means
    coefficients = zeros((features.shape[1], targets.shape[1]), features, wide)
    direction = gradient = adjoint(residuals)
    size = xp.sum(gradient**2, axis=0)
    for _ in range(n_steps):
        change = cast(features @ cast(direction, narrow), wide) - means @ direction
        # a column that is fitted exactly has neither a gradient nor a direction left
        step = size / (xp.sum(change**2, axis=0) + TINY)
        coefficients = coefficients + step * direction
        residuals = residuals - step * change
        yield coefficients, target_means - means @ coefficients
        gradient, before = adjoint(residuals), size
        size = xp.sum(gradient**2, axis=0)
        direction = gradient + size / (before + TINY) * direction
