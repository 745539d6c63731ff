r"""Kernel ridge regression: a coefficient for every row, from the kernel matrix itself.

.. math:: \min_{a, b} \; \sum_i s_i |y_i - f(x_i) - b|^2 + \alpha \|f\|_k^2, \qquad
    f = \sum_i a_i k(\cdot, x_i), \qquad
    \left(K + \alpha\, \mathrm{diag}(1 / s)\right) a = y - b, \quad \textstyle\sum_i a_i = 0.

This is what :mod:`bochner.linear.normal_equations` computes for as many features as rows; one
factorisation of the kernel matrix is a fraction of the work of products with features, and it
grows with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
from bochner.linear.growing import ExtendedFactor
from bochner.linear.normal_equations import NormalEquations, Solution, factor_ridge

_SINGLE_ROWS = 3000  # more of them are worth float32
_SINGLE_ALPHA = 2e-3  # rounding of float32 moves eigenvalues by a hundredth of this


@dataclass(frozen=True)
class KernelEquations:
    """The kernel matrix of rows, their targets and weights.

    Attributes
    ----------
    kernel : array of shape (n, n)
        Values between the rows.
    targets : array of shape (n, k)
        Numbers to predict.
    weights : array of shape (n,) or None
        Of the rows; None is one each.
    epsilon : float
        Relative rounding of the kernel's values.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.kernel_ridge import KernelEquations
    >>> x = np.arange(5.0)
    >>> K = np.minimum.outer(x, x)                    # a kernel of piecewise linear functions
    >>> a, b = KernelEquations(K, 3 * x[:, None] + 1).solve(1e-9)
    >>> (K @ a + b).round(6).ravel()
    array([ 1.,  4.,  7., 10., 13.])
    """

    kernel: Any
    targets: Any
    weights: Any = None
    epsilon: float = 2.0**-52

    @property
    def n_features(self) -> int:
        """Number of coefficients: one for every row."""
        return int(self.kernel.shape[0])

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_features if self.weights is None else to_numpy(self.weights).sum())

    def solve(self, alpha: float) -> Solution:
        """Coefficients of shape (n, k) and intercepts of shape (k,) for one penalty."""
        return self.settled(alpha).solve()

    def settled(
        self, alpha: float, *, last: bool = False, roughly: bool = False
    ) -> FactorisedKernel:
        """The kernel matrix with one penalty; nothing is left for another one with `last`.

        With `roughly` in float32 where the penalty bears it, to compare penalties.
        """
        K, roots = self.kernel, _roots(self.weights, self.kernel)
        epsilon, single = self.epsilon, single_dtype(K)
        if roughly and alpha >= _SINGLE_ALPHA and K.dtype != single:
            K, last = cast(K, single), True  # a copy, which nobody else needs
            epsilon = machine_epsilon(single, namespace(K))
        if self.weights is not None:
            narrow = cast(roots, K.dtype)
            K = narrow * K * narrow.T
        shift, factor = factor_ridge(K, alpha, epsilon, overwrite=last)
        targets = convert(self.targets, K, wide_dtype(K))
        return FactorisedKernel(alpha, shift, factor, targets, roots)


@dataclass(frozen=True)
class FactorisedKernel:
    """Equations with a penalty that is settled, to which more rows may be added."""

    alpha: float
    shift: Any  # the penalty, and what rounding asks for
    factor: Any
    targets: Any
    roots: Any

    @property
    def n_features(self) -> int:
        """Number of coefficients: one for every row."""
        return self.factor.size

    @property
    def dtype(self) -> Any:
        """Of the kernel's values."""
        return self.factor.dtype

    def solve(self, alpha: float | None = None) -> Solution:
        """Coefficients of shape (n, k) and intercepts of shape (k,); `alpha` is known."""
        xp, roots = namespace(self.targets), self.roots
        centre = xp.mean(self.targets, axis=0)  # an offset would take float32's digits
        right = xp.concat([roots * (self.targets - centre), roots], axis=1)
        solved = roots * cast(self.factor.solve(cast(right, self.dtype)), right.dtype)
        values, ones = solved[:, :-1], solved[:, -1:]
        intercepts = xp.sum(values, axis=0) / xp.sum(ones)
        return values - ones * intercepts, intercepts + centre

    def with_rows(self, kernel: Any, targets: Any, weights: Any = None) -> FactorisedKernel:
        """The equations of more rows, in a fraction of the time of new ones.

        Parameters
        ----------
        kernel : array of shape (p, n + p)
            Values between the new rows, and the rows so far with the new ones after them.
        targets, weights : arrays of shape (p, k) and (p,)
            Of the new rows.
        """
        xp, p = namespace(kernel), kernel.shape[0]
        roots = xp.concat([self.roots, _roots(weights, kernel)], axis=0)
        if not bool(xp.all(roots == 1)):  # a copy of many numbers
            narrow = cast(roots, kernel.dtype)
            kernel = narrow[-p:, :] * kernel * narrow.T
        corner = kernel[:, -p:] + self.shift * identity(p, kernel, kernel.dtype)
        factor = ExtendedFactor(self.factor, kernel[:, :-p].T, corner)
        both = xp.concat([self.targets, convert(targets, self.targets)], axis=0)
        return replace(self, factor=factor, targets=both, roots=roots)

    def with_targets(self, scale: Any, shift: Any) -> FactorisedKernel:
        """The same with the targets ``scale * y + shift``, column by column."""
        scale, shift = convert(scale, self.targets), convert(shift, self.targets)
        return replace(self, targets=self.targets * scale + shift)


def _roots(weights: Any, kernel: Any) -> Any:
    """Roots of the weights of rows, as a column: a row of weight 0 is one that is not there."""
    dtype = wide_dtype(kernel)
    if weights is None:
        return 1 + zeros((kernel.shape[0], 1), kernel, dtype)
    return namespace(kernel).sqrt(convert(weights, kernel, dtype))[:, None]


RidgeEquations = NormalEquations | FactorisedKernel


def kernel_dtype(X: Any, alpha: float) -> Any:
    """The dtype of kernel values between rows, for penalties from `alpha` on.

    float32, at half the time and memory, is for many rows and a penalty to which its rounding is
    nothing; weak ones need the digits.
    """
    enough = X.shape[0] > _SINGLE_ROWS and alpha >= _SINGLE_ALPHA
    return single_dtype(X) if enough else wide_dtype(X)


def ridge_equations(
    feature_map: Any, X: Any, targets: Any, weights: Any = None, alpha: float = 0.0
) -> NormalEquations | KernelEquations:
    """What a ridge regression on the features of rows needs.

    The columns of a map are features, of which sums are kept; or, where it says so by
    ``expands_rows``, values of a kernel at the rows it was fitted to: these ones, as exact as
    penalties from `alpha` on need.
    """
    if not getattr(feature_map, "expands_rows", False):
        return NormalEquations.from_map(feature_map.transform, X, targets, weights)
    K = feature_map.transform(cast(X, kernel_dtype(X, alpha)))
    return KernelEquations(K, targets, weights, machine_epsilon(K.dtype, namespace(K)))
