r"""Ridge regression on features that arrive a few columns at a time.

.. math:: \min_{W, b} \; |Y - \Phi W - 1 b^T|^2 + \lambda |W|^2

Only products with the new columns are needed when columns are appended.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError

from bochner.engine.places import (
    cast,
    convert,
    identity,
    is_device,
    machine_epsilon,
    namespace,
    wide_dtype,
    zeros,
)
from bochner.linear.growing import GrowingColumns, GrowingFactor
from bochner.linear.normal_equations import factor_ridge

_ROWS = 2**13  # rows per product: partial sums in the features' dtype, their total in float64


class GrowingRidge:
    r"""Ridge regression of several targets, with the Gram matrix kept as features are appended.

    With :math:`\Phi_c` the features less their column means, the coefficients solve
    :math:`(\Phi_c^T \Phi_c + \lambda I) W = \Phi_c^T Y`. Appending `p` columns to `D` costs
    O(n D p) instead of the O(n D^2) of a new Gram matrix. Solving does not touch the rows: it
    costs O(D^3), or O(D^2 p) if the penalty is the last one again, whose Cholesky factor grows.

    Parameters
    ----------
    targets : array of shape (n,) or (n, k)
        Numbers to predict.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    capacity : int, optional
        Number of feature columns to allocate at first. Without it, and beyond it, the capacity
        doubles whenever it is reached.

    Notes
    -----
    The features stay in their dtype, float32 or float64, and in their library, on their device:
    NumPy, PyTorch, or another array-API library. The Gram matrix is accumulated in float64 from
    products of a few thousand rows each. On a device the host never waits.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import GrowingRidge
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> ridge = GrowingRidge(x[:, 0] ** 3).append(x)
    >>> before = np.abs(ridge.residuals(1e-3)).max()
    >>> after = np.abs(ridge.append(x**3).residuals(1e-3)).max()
    >>> bool(after < before / 100)
    True
    """

    def __init__(
        self, targets: Any, *, fit_intercept: bool = True, capacity: int | None = None
    ) -> None:
        if not hasattr(targets, "shape"):
            targets = np.asarray(targets)
        if len(targets.shape) not in (1, 2) or targets.shape[0] == 0:
            raise ValueError(
                f"targets must have shape (n,) or (n, k) with n > 0, got {tuple(targets.shape)}."
            )
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity!r}.")
        self.targets, self.fit_intercept = targets, fit_intercept
        self._factored: tuple[float, Any, GrowingFactor] | None = None
        self._columns = GrowingColumns(targets.shape[0], capacity or 0)

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        return self._columns.n_columns

    @property
    def features(self) -> Any:
        """Features so far, of shape (n, D): a view, stored column by column."""
        self._check_not_empty()
        return self._columns.array

    def append(self, columns: Any) -> Self:
        """Append columns as further features.

        Parameters
        ----------
        columns : array of shape (n, p)
            New features in float32 or float64; all appended columns must have the same dtype.

        Returns
        -------
        self
        """
        n = self.targets.shape[0]
        columns = columns.detach() if hasattr(columns, "detach") else columns
        if len(columns.shape) != 2 or columns.shape[0] != n:
            raise ValueError(f"columns must have shape ({n}, p), got {tuple(columns.shape)}.")
        if not self.n_features:
            self._begin(columns)
        if columns.dtype != self._like.dtype:
            raise ValueError(
                f"columns must have the dtype of those before, {self._like.dtype}, "
                f"got {columns.dtype}."
            )
        before = self.n_features
        after = self._columns.append(columns).n_columns
        self._make_room(before)
        rows = columns.T
        if self.fit_intercept:
            means = self._xp.mean(cast(rows, self._wide), axis=1)
        else:
            means = self._zeros(after - before)
        self._means[before:after] = means
        # Centring one side is enough; products centred afterwards would lose digits to the means.
        centred = (rows - cast(means, rows.dtype)[:, None]).T
        block = self._products(slice(0, after), centred)
        self._gram[:after, before:after] = block
        self._gram[before:after, :after] = block.T
        # Exactly symmetric, whatever the order of summation in the product.
        corner = block[before:, :]
        self._gram[before:after, before:after] = (corner + corner.T) / 2
        new = slice(before, after)
        self._right[before:after, :] = self._products(new, self._centred_targets)
        return self

    def solve(self, penalty: float, some: Any = None) -> tuple[Any, Any]:
        r"""Solve for one penalty :math:`\lambda`.

        Parameters
        ----------
        penalty : float
            Greater than 0; scikit-learn's ``alpha``.
        some : integer array of shape (D,) or None, default=None
            Positions of the features to use, on the device of the features; None is all.

        Returns
        -------
        coefficients : array of shape (D, k)
            Coefficients, wide: in float64 where the device has it.
        intercepts : array of shape (k,)
            Intercepts; zero without `fit_intercept`.
        """
        self._check_not_empty()
        if not (np.isfinite(penalty) and penalty > 0):
            raise ValueError(f"penalty must be a finite number greater than 0, got {penalty!r}.")
        D, penalty = self.n_features, float(penalty)
        if some is not None:
            return self.solver(some)(penalty)
        coefficients = self._factor(penalty).solve(self._right[:D, :])
        return coefficients, self._target_means - self._means[:D] @ coefficients

    def solver(self, some: Any) -> Callable[[Any], tuple[Any, Any]]:
        """Return a function that solves as :meth:`solve` with the features at positions `some`.

        It takes one penalty at a time, or on a device an array of them at once, with results
        stacked. There `some` may also be several sets of equally many positions, of shape (s, D):
        results for an array of penalties have shapes (s, p, D, k) and (s, p, k).
        """
        self._check_not_empty()
        xp = self._xp

        def part(positions: Any) -> tuple[Any, Any, Any]:
            gram = xp.take(xp.take(self._gram, positions, axis=0), positions, axis=1)
            means = xp.take(self._means, positions)[None, :]
            return gram, xp.take(self._right, positions, axis=0), means

        if len(some.shape) == 1:
            gram, right, means = part(some)
        else:
            parts = zip(*(part(some[k, :]) for k in range(some.shape[0])), strict=True)
            gram, right, means = (xp.stack(own)[:, None, :, :] for own in parts)

        def solve(penalty: Any) -> tuple[Any, Any]:
            if is_device(penalty):
                penalty = penalty[:, None, None]
            coefficients = factor_ridge(gram, penalty, self._epsilon)[1].solve(right)
            return coefficients, self._target_means - (means @ coefficients)[..., 0, :]

        return solve

    def residuals(self, penalty: float) -> Any:
        """Return the residuals of the solution, ``Y - Phi W - b``, of shape (n, k)."""
        return self.residuals_and_square(penalty)[0]

    def residuals_and_square(self, penalty: float) -> tuple[Any, Any]:
        """Return the residuals, and the sum of squared coefficients that the penalty weights.

        Parameters
        ----------
        penalty : float
            As for :meth:`solve`.

        Returns
        -------
        residuals : array of shape (n, k)
            Residuals, in the dtype of the features.
        square : array of shape ()
            Sum of squares over all columns together; wide.
        """
        coefficients, intercepts = self.solve(penalty)
        dtype = self._like.dtype
        shift = cast(intercepts - self._target_means, dtype)
        fitted = self.features @ cast(coefficients, dtype)
        return self._centred_targets - shift - fitted, self._xp.sum(coefficients**2)

    def _begin(self, columns: Any) -> None:
        xp = self._xp = namespace(columns)
        if columns.dtype not in (xp.float32, xp.float64):
            raise ValueError(f"columns must be float32 or float64, got {columns.dtype}.")
        self._wide = wide_dtype(columns)
        self._like, self._epsilon = columns[:0, :], machine_epsilon(columns.dtype, xp)
        Y = convert(self.targets, columns, self._wide)
        Y = Y[:, None] if len(Y.shape) == 1 else Y
        means = xp.mean(Y, axis=0) if self.fit_intercept else xp.zeros_like(Y[0, :])
        self._target_means = means
        self._centred_targets = cast(Y - means, columns.dtype)
        self._gram, self._means = self._zeros(0, 0), self._zeros(0)
        self._right = self._zeros(0, Y.shape[1])

    def _factor(self, penalty: float) -> GrowingFactor:
        """Return the factor of the equations: the last one, grown, if the penalty is the same."""
        D = self.n_features
        if self._factored is not None and self._factored[0] == penalty:
            _, shift, factor = self._factored
            with suppress(LinAlgError):  # due to rounding: factored anew, with a larger shift
                if factor.size < D:
                    new = self._gram[:D, factor.size : D]
                    factor.append(new + shift * identity(D, new, new.dtype)[:, factor.size :])
                return factor
        shift, factor = factor_ridge(self._gram[:D, :D], penalty, self._epsilon)
        self._factored = penalty, shift, factor
        return factor

    def _zeros(self, *shape: int) -> Any:
        return zeros(shape, self._like, self._wide)

    def _make_room(self, D: int) -> None:
        """Make as much room here as there is for columns; `D` of them are in it already."""
        room, gram, means, right = (
            self._columns.room.shape[1],
            self._gram,
            self._means,
            self._right,
        )
        if room == gram.shape[0]:
            return
        self._gram, self._means = self._zeros(room, room), self._zeros(room)
        self._right = self._zeros(room, right.shape[1])
        self._gram[:D, :D], self._means[:D] = gram[:D, :D], means[:D]
        self._right[:D, :] = right[:D, :]

    def _products(self, columns: slice, B: Any) -> Any:
        """Return ``Phi_c^T B`` for some columns of the features and a centred `B`; wide."""
        Phi = self._columns.room.T[columns, :]
        total = self._zeros(Phi.shape[0], B.shape[1])
        for first in range(0, B.shape[0], _ROWS):
            part = slice(first, min(first + _ROWS, B.shape[0]))
            total = total + cast(Phi[:, part] @ B[part, :], self._wide)
        # B was centred, but only as well as its dtype allows.
        rest = self._xp.sum(cast(B, self._wide), axis=0)
        return total - self._means[columns][:, None] * rest if self.fit_intercept else total

    def _check_not_empty(self) -> None:
        if not self.n_features:
            raise ValueError("there are no features yet: call append(columns) first.")
