r"""Descent of the held-out error of kernel ridge regression, over weights of the columns.

Some rows `A` are fitted and others `B` are held out. With the kernel `k` of columns multiplied by
the weights `w`,

.. math:: G = k(A, A) + \alpha I, \qquad a = G^{-1} (y_A - \bar y_A), \qquad
    e = k(B, A)\, a + \bar y_A - y_B .

The squared error :math:`|e|^2` changes with the kernel's values by

.. math:: d\,|e|^2 / 2 = \langle e\, a^\top, d k(B, A) \rangle
    - \langle b\, a^\top, d k(A, A) + d\alpha\, I \rangle, \qquad b = G^{-1} k(A, B)\, e :

two products with few columns, however many weights there are. Each step fits and judges different
rows, so that the weights cannot follow the noise of a few. (The method is known as automatic
relevance determination, here by cross-validation, and with random splits as kernel flows.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.inverse import inverse_or_none
from bochner.engine.pairs.slopes import Within, residuals_and_slopes
from bochner.engine.places import (
    by_rows,
    cast,
    convert,
    dense,
    namespace,
    single_dtype,
    to_numpy,
    wide_dtype,
)
from bochner.engine.summaries import rows_at

FIRST_PENALTY, LEAST_PENALTY = 1e-4, 1e-6  # alpha per row; float32 bears no less
_MOMENTS = (0.9, 0.99)  # decay rates of Adam for slopes and for their squares
_NOISE = 1e-3  # fraction of the largest slope: columns with smaller slopes move less

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """Logarithms of the weights of columns and of the penalty."""

    weights: Float
    penalty: float

    def moved(self, step: Float) -> Point:
        """Return the point moved by a step, whose last entry is for the penalty."""
        penalty = max(self.penalty + float(step[-1]), float(np.log(LEAST_PENALTY)))
        return Point(self.weights + step[:-1], penalty)


@dataclass(frozen=True)
class Part:
    """Rows in float32, before weighting, and their targets as columns."""

    X: Any
    columns: Float


def error_and_slopes(
    point: Point, fitted: Part, held: Part, kernel: Any, n_threads: int | None = None
) -> tuple[float, Float]:
    """Return the mean squared error of held-out rows, and its slopes along a :class:`Point`.

    The error is relative to that of the mean of the fitted rows. Where rounding makes the
    factorisation fail, the error is infinite and the slopes are zero.
    """
    weights = convert(np.exp(point.weights), fitted.X)
    A, B = fitted.X * weights, held.X * weights
    own, alpha = Within(A, kernel, n_threads), float(np.exp(point.penalty)) * A.shape[0]
    solve = inverse_or_none(own.values(), alpha, overwrite=True)
    if solve is None:
        return np.inf, np.zeros(len(point.weights) + 1)
    mean = fitted.columns.mean(axis=0)
    a = solve(convert(fitted.columns - mean, A))
    # the mean of the targets is subtracted in float64
    targets = held.columns - mean
    e, back, slopes = residuals_and_slopes(B, A, kernel, a, convert(targets, A), n_threads)
    b = solve(back)
    by_column = to_numpy(slopes - own.slopes(b, a))
    xp, wide = namespace(A), wide_dtype(A)
    by_penalty = -alpha * float(xp.sum(cast(a, wide) * cast(b, wide)))
    whole = float(np.sum(targets**2)) or 1.0
    error = float(xp.sum(cast(e, wide) ** 2)) / whole
    return error, 2 * np.append(by_column.astype(np.float64), by_penalty) / whole


@dataclass
class Adam:
    """Steps of one size, whatever the slopes, but shorter where slopes change their sign."""

    rate: float
    _mean: Any = 0.0
    _square: Any = 0.0
    _n_steps: int = 0

    def step(self, slopes: Float) -> Float:
        """Return a step down the slopes."""
        first, second = _MOMENTS
        self._n_steps += 1
        self._mean = first * self._mean + (1 - first) * slopes
        self._square = second * self._square + (1 - second) * slopes**2
        mean = self._mean / (1 - first**self._n_steps)
        size = np.sqrt(self._square / (1 - second**self._n_steps))
        floor = _NOISE * size.max(initial=0.0)
        result: Float = -self.rate * mean / (size + floor) if floor > 0 else np.zeros_like(slopes)
        return result


@dataclass
class Descent:
    """Stochastic descent of the held-out error, from given weights.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows, on the host or a device.
    columns : array of shape (n, k)
        Targets, centred or not.
    kernel : kernel object
        Kernel of unit length scale.
    n_rows : int
        Number of rows to fit in a step, and of rows to judge it by; at most half of all. Half as
        many in the first half of the steps, which then take a quarter of the work and go far.
    seed : int
        Seed of the choice of rows.
    n_threads : int or None
        Number of threads on the host.

    Attributes
    ----------
    errors : list of float
        Errors of all steps, relative to the error of the mean.
    """

    X: Any
    columns: Float
    kernel: Any
    n_rows: int
    seed: int
    n_threads: int | None = None
    errors: list[float] = field(default_factory=list)

    def run(self, weights: Float, n_steps: int, rate: float) -> Point:
        """Return the mean of the points of the second half of the steps, since each is noisy."""
        point, adam = Point(np.log(weights), float(np.log(FIRST_PENALTY))), Adam(rate)
        state, late = RandomState(self.seed), []
        for step in range(n_steps):
            late_step = 2 * step >= n_steps - 1
            fitted, held = self._parts(state, self.n_rows if late_step else -(-self.n_rows // 2))
            error, slopes = error_and_slopes(point, fitted, held, self.kernel, self.n_threads)
            self.errors.append(error)
            point = point.moved(adam.step(slopes))
            if late_step:
                late.append(point)
        mean = np.mean([one.weights for one in late], axis=0)
        return Point(mean, float(np.mean([one.penalty for one in late])))

    def _parts(self, state: RandomState, n_rows: int) -> tuple[Part, Part]:
        n = min(n_rows, len(self.columns) // 2)
        order = state.permutation(len(self.columns))
        return self._part(order[:n]), self._part(order[n : 2 * n])

    def _part(self, index: NDArray[np.intp]) -> Part:
        rows = by_rows(dense(rows_at(self.X, index)))
        return Part(cast(rows, single_dtype(rows)), self.columns[index])
