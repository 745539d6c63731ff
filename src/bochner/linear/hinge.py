"""An upper bound on the optimum of a support vector machine with hinge loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bochner.linear.squared_hinge import solve_squared_hinge

Float = NDArray[np.float64]


def hinge_optimum(features: Float, signs: Float, C: float) -> float:
    r"""Return a close upper bound on the optimum of a support vector machine with hinge loss.

    .. math:: \min_{w, b} \tfrac12 |w|^2 + C \sum_i \max(0, 1 - y_i (w \cdot \phi_i + b)) .

    Any `w` and `b` give an upper bound. Here they are the solution for the squared hinge, with
    the best length of `w` and the best `b` for it. By duality, the optimum is what the data player
    of the margin game can reach against the kernel of these features. The columns of `signs`, of
    shape (n, k), are separate problems, whose values are added.
    """
    # float32 is as good at this tolerance, in half the time; the value is computed in float64
    rounded = features.astype(np.float32, copy=False)
    w = np.asarray(solve_squared_hinge(rounded, signs, C, tol=1e-4).coefficients, np.float64)
    outputs, square = features @ w, float((w**2).sum())

    def value(length: float) -> float:
        return 0.5 * length**2 * square + _loss(length * outputs, signs, C)

    # Convex in the length, as the minimum over b of a function that is convex in both.
    return float(minimize_scalar(value, bounds=(0, 10), method="bounded").fun)


def _loss(outputs: Float, signs: Float, C: float) -> float:
    """Return the least hinge loss over the intercept: piecewise linear in it, so at a corner."""
    corners = np.sort(signs - outputs, axis=0)
    # The slope rises by C at each corner, from -C times the number of positive rows.
    positives = np.count_nonzero(signs > 0, axis=0)
    b = np.take_along_axis(corners, np.maximum(positives - 1, 0)[None, :], axis=0)
    return float(C * np.maximum(0, 1 - signs * (outputs + b)).sum())
