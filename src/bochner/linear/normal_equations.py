r"""Ridge regression from sums over rows.

.. math:: \min_{W, b} \; \sum_i s_i |y_i - W^\top x_i - b|^2 + \alpha \|W\|^2

needs only the weighted mean, Gram matrix and moments of the rows. These are added up block by
block, and the sums of two parts of the rows combine to those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from scipy.linalg import LinAlgError

from bochner.engine.places import (
    cast,
    convert,
    is_host,
    machine_epsilon,
    namespace,
    wide_dtype,
    zeros,
)
from bochner.engine.rowwise import reduce_rows, row_slices
from bochner.linear.blocks import block_height
from bochner.linear.growing import GrowingFactor

_BLOCK, _DEVICE_BLOCK = 2**10, 2**13  # rows that are made wide at a time
_ONE_FACTORISATION = 16  # penalties, for fewer of which one Cholesky factor each costs less

Solution = tuple[Any, Any]


def factor_ridge(
    gram: Any, penalty: float, epsilon: float, *, overwrite: bool = False
) -> tuple[Any, GrowingFactor]:
    r"""Return the penalty used and the Cholesky factor of :math:`G + \lambda I`, where `G` is.

    If rounding, by a relative `epsilon` of the features, leaves the matrix indefinite, the penalty
    is increased accordingly. A device does not report whether the factorisation succeeds: there
    the penalty is increased at once, and the host does not wait. The same holds with `overwrite`,
    which destroys the matrix.
    """
    xp = namespace(gram)
    rounding = epsilon * xp.max(xp.linalg.diagonal(gram), axis=-1)
    if len(gram.shape) > 2:
        rounding = rounding[..., None, None]
    once = overwrite or not is_host(gram)
    for jitter in (1.0,) if once else (0.0, 1.0, 100.0):
        shift = penalty + jitter * rounding
        with suppress(LinAlgError):
            return shift, GrowingFactor(gram, shift, overwrite=overwrite)
    raise ValueError(
        "the features of the ridge regression are not finite, or its kernel is not positive "
        "semi-definite."
    )


@dataclass(frozen=True)
class NormalEquations:
    r"""Sums over rows: their weight, means, centred Gram matrix and moments.

    The sums are float64 wherever the device has it: float32 sums of squares would hide the
    weakest penalties. On the host, products of 1024 centred float32 rows are float32 and their sum
    is float64, in two thirds of the time: for features of norm one the error is 3e-10 per row,
    where the weakest penalty is 1e-9.

    Attributes
    ----------
    weight : float
        Sum of the weights; the number of rows if there are none.
    means, target_means : arrays of shape (D,) and (k,)
        Weighted means of the features and of the targets.
    gram, moments : arrays of shape (D, D) and (D, k)
        :math:`\sum_i s_i (x_i - \bar x)(x_i - \bar x)^\top` and
        :math:`\sum_i s_i (x_i - \bar x)(y_i - \bar y)^\top`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.normal_equations import NormalEquations
    >>> x = np.arange(5.0)[:, None]
    >>> first = NormalEquations.from_rows(x[:2], 3 * x[:2] + 1)
    >>> both = first + NormalEquations.from_rows(x[2:], 3 * x[2:] + 1)
    >>> coefficients, intercepts = both.solve(1e-9)
    >>> coefficients.round(6), intercepts.round(6)
    (array([[3.]]), array([1.]))
    """

    weight: float
    means: Any
    target_means: Any
    gram: Any
    moments: Any
    epsilon: float

    @classmethod
    def from_rows(cls, features: Any, targets: Any, weights: Any = None) -> NormalEquations:
        """Add up rows of features and targets.

        Parameters
        ----------
        features : array of shape (n, D)
            Features in float32 or float64, in NumPy or on a device.
        targets : array of shape (n, k)
            Numbers to predict.
        weights : array of shape (n,) or None, default=None
            Weights of the rows; None is one each.
        """
        xp, wide = namespace(features), wide_dtype(features)
        n, D = features.shape
        targets = convert(targets, features, wide)
        weights = None if weights is None else convert(weights, features, wide)
        total = float(n) if weights is None else float(xp.sum(weights))
        blocks = row_slices(n, _BLOCK if is_host(features) else _DEVICE_BLOCK)

        def weighted(rows: Any, block: slice) -> Any:
            return rows if weights is None else rows * weights[block][:, None]

        means = sum(xp.sum(weighted(cast(features[b, :], wide), b), axis=0) for b in blocks)
        means = means / (total or 1.0)
        target_means = xp.sum(weighted(targets, slice(0, n)), axis=0) / (total or 1.0)
        gram = zeros((D, D), features, wide)
        moments = zeros((D, targets.shape[1]), features, wide)
        product = features.dtype if is_host(features) else wide
        for block in blocks:
            rows, aims = cast(features[block, :], wide) - means, targets[block, :] - target_means
            if weights is not None:
                roots = xp.sqrt(weights[block])[:, None]
                rows, aims = rows * roots, aims * roots
            moments = moments + rows.T @ aims
            rows = cast(rows, product)
            # the product of an array with its own transpose takes half the time in BLAS
            gram += rows.T @ rows  # in place: these matrices take most of the memory
        epsilon = machine_epsilon(features.dtype, xp)
        return cls(total, means, target_means, gram, moments, epsilon)

    @classmethod
    def from_map(
        cls, function: Callable[[Any], Any], X: Any, targets: Any, weights: Any = None
    ) -> NormalEquations:
        """Add up the features of rows, wherever these are, one block at a time.

        Parameters
        ----------
        function : callable
            Function from rows to their features, of which no more than a block is ever held.
        X : array of shape (n, d)
            Rows: NumPy, sparse, on a device, or a dask array.
        targets, weights : arrays of shape (n, k) and (n,)
            As in :meth:`from_rows`, on the host.
        """
        aligned = (targets,) if weights is None else (targets, weights)
        result: NormalEquations = reduce_rows(
            _block_by_block, X, *aligned, shared={"function": function}
        )
        return result

    def __add__(self, other: NormalEquations) -> NormalEquations:
        """Combine the sums of two parts of the rows (Chan, Golub and LeVeque)."""
        if not (self.weight and other.weight):  # an empty part adds nothing
            return self if self.weight else other
        total = self.weight + other.weight
        share = other.weight / total
        step, target_step = other.means - self.means, other.target_means - self.target_means
        factor = self.weight * share
        gram = self.gram + other.gram
        gram += (factor * step)[:, None] * step[None, :]
        return NormalEquations(
            total,
            self.means + share * step,
            self.target_means + share * target_step,
            gram,
            self.moments + other.moments + factor * step[:, None] * target_step[None, :],
            max(self.epsilon, other.epsilon),
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.gram.shape[0])

    def with_targets(self, scale: Any, shift: Any) -> NormalEquations:
        """Return the sums for the targets ``scale * y + shift``, column by column."""
        scale, shift = convert(scale, self.moments), convert(shift, self.moments)
        moments, means = self.moments * scale, self.target_means * scale + shift
        return replace(self, moments=moments, target_means=means)

    def settled(self, alpha: float, *, last: bool = False) -> NormalEquations:
        """Return these equations, since there is nothing to gain from fixing one penalty."""
        return self

    def solve(self, alpha: float) -> Solution:
        """Return coefficients of shape (D, k) and intercepts of shape (k,) for one penalty."""
        return self._with_intercepts(
            factor_ridge(self.gram, alpha, self.epsilon)[1].solve(self.moments)
        )

    def solve_with_slope(self, alpha: float) -> tuple[Solution, Solution]:
        """Return the solution, and its derivative with respect to the logarithm of the penalty."""
        shift, factor = factor_ridge(self.gram, alpha, self.epsilon)
        coefficients = factor.solve(self.moments)
        slope = -shift * factor.solve(coefficients)
        return self._with_intercepts(coefficients), (slope, -self.means @ slope)

    def path(self, alphas: Sequence[float]) -> Iterator[Solution]:
        """Yield solutions for several penalties, in order; for many, from one factorisation."""
        if len(alphas) < _ONE_FACTORISATION:
            yield from map(self.solve, alphas)
            return
        xp = namespace(self.gram)
        values, vectors = xp.linalg.eigh(self.gram)
        values = xp.clip(values, 0.0, None)  # rounding may make them negative
        turned = vectors.T @ self.moments
        for alpha in alphas:
            yield self._with_intercepts(vectors @ (turned / (values + alpha)[:, None]))

    def _with_intercepts(self, coefficients: Any) -> Solution:
        return coefficients, self.target_means - self.means @ coefficients


def _block_by_block(
    X: Any, targets: Any, weights: Any = None, *, function: Callable[[Any], Any]
) -> NormalEquations:
    parts = (
        NormalEquations.from_rows(
            function(X[block, :]), targets[block], None if weights is None else weights[block]
        )
        for block in row_slices(X.shape[0], block_height(X)) or [slice(0, 0)]
    )
    return reduce(add, parts)
