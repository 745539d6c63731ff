r"""Kernel ridge regression: a coefficient for every row, from the kernel matrix itself.

.. math:: \min_{a, b} \; \sum_i s_i |y_i - f(x_i) - b|^2 + \alpha \|f\|_k^2, \qquad
    f = \sum_i a_i k(\cdot, x_i), \qquad
    \left(K + \alpha\, \mathrm{diag}(1 / s)\right) a = y - b, \quad \textstyle\sum_i a_i = 0.

This is what :mod:`bochner.linear.normal_equations` computes for as many features as rows; one
factorisation of the kernel matrix takes a fraction of the work of products with features, and it
can be extended by more rows.

The coefficients sum to zero, so that they are the same for the kernel of centred features,

.. math:: k_c(x, z) = k(x, z) - m(x) - m(z) + \bar m, \qquad
    m(x) = \textstyle\frac1n \sum_i k(x, x_i),

whose values, and thus their rounding, are smaller. Its factor in float32, at half the time and
memory, is precise enough unless a pivot is nearly zero: this can be checked once it has been
computed, whatever the kernel and the penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.linalg import LinAlgError

from bochner.engine.places import (
    cast,
    convert,
    identity,
    machine_epsilon,
    namespace,
    single_dtype,
    to_numpy,
    wide_dtype,
    zeros,
)
from bochner.linear.growing import ExtendedFactor, GrowingFactor
from bochner.linear.normal_equations import NormalEquations, Solution, factor_ridge

SINGLE_ROWS = 500  # fewer rows are little work in float64
# Fractions of the mean of the diagonal. Pivots are too small for float32 if the root mean square
# of their inverses is larger than the inverse of the first. Predictions that pass were wrong by up
# to 3 hundredths of the residuals, a thousandth of the squared error, on three tables with four
# kernels and penalties of 1e-4 to 1e-9 per row. Duplicate rows need a penalty.
_SMALL_PIVOT, _LEAST_PENALTY = 1e-3, 3e-5


class KernelEquations:
    """Equations of kernel ridge regression: the kernel matrix of rows, their targets and weights.

    Parameters
    ----------
    kernel : callable
        Function that returns the values between the rows, of shape (n, n), in an array that may be
        overwritten. Its argument says whether they are to be float32.
    targets : array of shape (n, k)
        Numbers to predict.
    weights : array of shape (n,) or None
        Weights of the rows; None is one each.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.kernel_ridge import KernelEquations
    >>> x = np.arange(5.0)
    >>> K = np.minimum.outer(x, x)                    # a kernel of piecewise linear functions
    >>> a, b = KernelEquations(lambda single: K.copy(), 3 * x[:, None] + 1).solve(1e-9)
    >>> (K @ a + b).round(6).ravel()
    array([ 1.,  4.,  7., 10., 13.])
    """

    def __init__(self, kernel: Callable[[bool], Any], targets: Any, weights: Any = None) -> None:
        self._kernel, self.targets, self.weights = kernel, targets, weights
        self._kept: tuple[bool, CentredKernel] | None = None  # only one, as it is large
        self.drowned = 0.0  # the largest penalty for which float32 was not enough

    @property
    def n_features(self) -> int:
        """Number of coefficients: one for every row."""
        return int(self.targets.shape[0])

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_features if self.weights is None else to_numpy(self.weights).sum())

    def solve(self, alpha: float) -> Solution:
        """Return coefficients of shape (n, k) and intercepts of shape (k,) for one penalty."""
        return self.settled(alpha).solve()

    def settled(self, alpha: float, *, last: bool = False) -> FactorisedKernel:
        """Factorise with one penalty; with `last`, nothing is kept for another penalty."""
        if self.n_features >= SINGLE_ROWS and alpha > self.drowned:
            with suppress(LinAlgError):
                found = self._settled(alpha, single=True, last=last)
                if found.will_do:
                    return found
            self._kept, self.drowned = None, alpha
        return self._settled(alpha, single=False, last=last)

    def _settled(self, alpha: float, *, single: bool, last: bool) -> FactorisedKernel:
        if self._kept is None or self._kept[0] != single:
            self._kept = None  # freed before another is made
            self._kept = single, CentredKernel.of(self._kernel(single), self.weights)
        kernel = self._kept[1]
        if last:  # the factor takes its place
            self._kept = None
        return kernel.settled(alpha, self.targets, overwrite=last, checked=single)


class Means(NamedTuple):
    """Means subtracted from a kernel to centre its features, and a constant that is added.

    Coefficients that sum to zero do not depend on the constant; without it the matrix of centred
    features would be singular.
    """

    n_averaged: int  # number of rows, the first ones, that the means are taken over
    by_row: Any  # of shape (n,)
    offset: Any

    @classmethod
    def of(cls, kernel: Any) -> Means:
        """Return the means of a kernel matrix, over all of its rows."""
        xp, n = namespace(kernel), kernel.shape[0]
        by_row = xp.mean(kernel, axis=1)
        mean = xp.mean(by_row)
        size = xp.mean(xp.linalg.diagonal(kernel)) - mean
        return cls(n, by_row, mean + size * n**-0.5)

    def with_rows(self, kernel: Any) -> Means:
        """Return the means extended by more rows, from their values with the rows so far."""
        xp = namespace(kernel)
        new = xp.mean(kernel[:, : self.n_averaged], axis=1)
        return self._replace(by_row=xp.concat([self.by_row, new]))

    def taken_from(self, kernel: Any) -> Any:
        """Return the kernel between the last rows and all rows, centred in place."""
        kernel -= self.by_row[-kernel.shape[0] :, None]
        kernel -= self.by_row - self.offset
        return kernel


@dataclass(frozen=True)
class CentredKernel:
    """Kernel values of centred features between rows, times the roots of their weights."""

    values: Any
    means: Means
    roots: Any

    @classmethod
    def of(cls, kernel: Any, weights: Any = None) -> CentredKernel:
        """Centre a kernel matrix in place."""
        means, roots = Means.of(kernel), _roots(weights, kernel)
        kernel = means.taken_from(kernel)
        if weights is not None:
            narrow = cast(roots, kernel.dtype)
            kernel *= narrow
            kernel *= narrow.T
        return cls(kernel, means, roots)

    def settled(
        self, alpha: float, targets: Any, *, overwrite: bool, checked: bool
    ) -> FactorisedKernel:
        """Return the factorised equations for a penalty.

        If rounding drowns the penalty, this raises a LinAlgError with `checked` and uses a larger
        penalty otherwise.
        """
        K, xp, small = self.values, namespace(self.values), None
        if checked:
            size = float(xp.mean(xp.linalg.diagonal(K)))
            small, shift = _SMALL_PIVOT * size, max(alpha, _LEAST_PENALTY * size)
            factor = GrowingFactor(K, shift, overwrite=overwrite)
        else:
            epsilon = machine_epsilon(K.dtype, xp)
            shift, factor = factor_ridge(K, alpha, epsilon, overwrite=overwrite)
        targets = convert(targets, K, wide_dtype(K))
        return FactorisedKernel(alpha, shift, factor, targets, self.roots, small, self.means)


@dataclass(frozen=True)
class FactorisedKernel:
    """Equations with a fixed penalty, to which more rows may be added."""

    alpha: float
    shift: Any  # the penalty plus what rounding requires
    factor: Any
    targets: Any
    roots: Any
    small: float | None  # size of pivots that is too small for the dtype; None for the widest
    means: Means

    @property
    def n_features(self) -> int:
        """Number of coefficients: one for every row."""
        return self.factor.size

    @property
    def dtype(self) -> Any:
        """Dtype of the kernel's values."""
        return self.factor.dtype

    @property
    def will_do(self) -> bool:
        """Whether the rounding of the factor is negligible."""
        if self.small is None:
            return True
        xp, pivots = namespace(self.factor.pivots), self.factor.pivots
        # a device that has failed may leave negative ones, or NaN
        return bool(xp.all(pivots > 0) & (xp.mean((self.small / pivots) ** 2) <= 1))

    def solve(self, alpha: float | None = None) -> Solution:
        """Return coefficients of shape (n, k) and intercepts of shape (k,); `alpha` is ignored."""
        centre = namespace(self.targets).mean(self.targets, axis=0)
        # an offset would cost digits of float32
        coefficients, intercepts = self._solve(self.roots * (self.targets - centre))
        return coefficients, intercepts + centre

    def solve_with_slope(self, alpha: float | None = None) -> tuple[Solution, Solution]:
        """Return the solution, and its derivative with respect to the logarithm of the penalty."""
        solution, xp = self.solve(), namespace(self.targets)
        roots = xp.where(self.roots > 0, self.roots, xp.ones_like(self.roots))
        return solution, self._solve(-self.shift * solution[0] / roots)

    def _solve(self, right: Any) -> Solution:
        """Solve for a right-hand side that is already multiplied by the roots."""
        xp, roots = namespace(right), self.roots
        both = xp.concat([right, roots], axis=1)
        solved = roots * cast(self.factor.solve(cast(both, self.dtype)), right.dtype)
        values, ones = solved[:, :-1], solved[:, -1:]
        intercepts = xp.sum(values, axis=0) / xp.sum(ones)
        coefficients = values - ones * intercepts
        return coefficients, intercepts - cast(self.means.by_row, right.dtype) @ coefficients

    def with_rows(self, kernel: Any, targets: Any, weights: Any = None) -> FactorisedKernel:
        """Return the equations extended by more rows, in a fraction of the time of new ones.

        Parameters
        ----------
        kernel : array of shape (p, n + p)
            Values between the new rows and all rows, the new ones last, in an array that may be
            overwritten.
        targets, weights : arrays of shape (p, k) and (p,)
            Targets and weights of the new rows.
        """
        xp, p = namespace(kernel), kernel.shape[0]
        means = self.means.with_rows(kernel)
        kernel = means.taken_from(kernel)
        roots = xp.concat([self.roots, _roots(weights, kernel)], axis=0)
        if not bool(xp.all(roots == 1)):  # this copies a large array
            narrow = cast(roots, kernel.dtype)
            kernel = narrow[-p:, :] * kernel * narrow.T
        corner = kernel[:, -p:] + self.shift * identity(p, kernel, kernel.dtype)
        factor = ExtendedFactor(self.factor, kernel[:, :-p].T, corner)
        both = xp.concat([self.targets, convert(targets, self.targets)], axis=0)
        return replace(self, factor=factor, targets=both, roots=roots, means=means)

    def with_targets(self, scale: Any, shift: Any) -> FactorisedKernel:
        """Return the equations for the targets ``scale * y + shift``, column by column."""
        scale, shift = convert(scale, self.targets), convert(shift, self.targets)
        return replace(self, targets=self.targets * scale + shift)


def _roots(weights: Any, kernel: Any) -> Any:
    """Return the roots of the row weights as a column; a row of weight 0 counts as absent."""
    dtype = wide_dtype(kernel)
    if weights is None:
        return 1 + zeros((kernel.shape[0], 1), kernel, dtype)
    return namespace(kernel).sqrt(convert(weights, kernel, dtype))[:, None]


RidgeEquations = NormalEquations | FactorisedKernel


def ridge_equations(
    feature_map: Any, X: Any, targets: Any, weights: Any = None
) -> NormalEquations | KernelEquations:
    """Return the equations of a ridge regression on the features of rows.

    The columns of a map are features, of which sums are kept; or, if its ``expands_rows`` is true,
    values of a kernel at the rows it was fitted to, which must be `X`.
    """
    if not getattr(feature_map, "expands_rows", False):
        return NormalEquations.from_map(feature_map.transform, X, targets, weights)

    def kernel(single: bool) -> Any:
        return feature_map.transform(cast(X, single_dtype(X) if single else wide_dtype(X)))

    return KernelEquations(kernel, targets, weights)
