"""Heads with squared loss: everything that is learned comes from sums over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from bochner.engine.places import is_dask, to_numpy
from bochner.linear.base import Columns, LinearHead
from bochner.linear.blocks import ArrayBlocks, Blocks, TargetColumns, as_blocks, unchanged
from bochner.linear.kernel_ridge import RidgeEquations, ridge_equations
from bochner.linear.normal_equations import NormalEquations

_RIDGES = tuple(float(10.0**k) for k in range(0, -9, -1))  # alpha per row


def ridge_sums(
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    function: Callable[[Any], Any],
    targets: TargetColumns,
) -> NormalEquations:
    """Return the sums of a block."""
    columns, weights = targets(y, weights)
    return NormalEquations.from_map(function, X, columns, weights)


def _add_up(
    blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
) -> NormalEquations:
    shared = {"function": function, "targets": targets}
    equations: NormalEquations = blocks.reduce(ridge_sums, shared)
    if not equations.weight > 0:
        raise ValueError("sample_weight must be positive for at least one row.")
    if not all(np.isfinite(to_numpy(A)).all() for A in (equations.gram, equations.moments)):
        raise ValueError("the features or the targets of the ridge regression are not finite.")
    return equations


def penalty_is_given(head: LinearHead) -> bool:
    """Return True, or raise an AttributeError: rows in parts cannot choose a penalty."""
    if head.C == "auto":
        raise AttributeError("partial_fit needs a number for C, got 'auto'.")
    return True


class RidgeHead(LinearHead):
    """Base class of the heads with squared loss, which need only sums over rows."""

    squares = True

    @staticmethod
    def default_Cs(n_rows: int) -> tuple[float, ...]:
        """Return penalties in proportion to the number of rows: alpha from `n` to ``1e-8 n``."""
        return tuple(1 / (2 * alpha * n_rows) for alpha in _RIDGES)

    def _solutions(
        self, features: Any, columns: Columns, weights: Any, Cs: Sequence[float]
    ) -> Iterator[tuple[Any, Any]]:
        equations = NormalEquations.from_rows(features, columns, weights)
        return equations.path([1 / (2 * C) for C in Cs])

    def _solve_blocks(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns
    ) -> tuple[Any, Any]:
        equations = _add_up(blocks, function, targets)
        self._one_target = len(equations.target_means) == 1
        return equations.solve(1 / (2 * self.C_))

    def sums(
        self, blocks: Any, function: Callable[[Any], Any] | None = None, *, classes: Any = None
    ) -> NormalEquations:
        """Return the sums over blocks of rows that this head is fitted from, in one pass.

        Parameters
        ----------
        blocks, function, classes
            As in :meth:`fit_blocks`.

        Returns
        -------
        NormalEquations
            Sums for :meth:`fit_sums`, whatever the penalty.
        """
        blocks = as_blocks(blocks)
        return _add_up(blocks, function or unchanged, self._target_columns(blocks, classes))

    def _fit_map(self, feature_map: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        y, weights = self._check_targets(y, sample_weight)
        columns = self._columns(y)
        alpha = 1 / (2 * float(self.C))
        equations = ridge_equations(feature_map, X, columns, weights)
        return self.fit_sums(equations.settled(alpha, last=True), y)

    def fit_sums(self, equations: RidgeEquations, y: Any) -> Self:
        """Fit from the sums over rows of their features and targets.

        Parameters
        ----------
        equations : NormalEquations or FactorisedKernel
            Sums of the features and of the columns that this head fits: numbers as they are,
            classes as -1 and 1.
        y : array of shape (n,)
            Targets, from which the classes are taken.

        Returns
        -------
        self
            Head with coefficients on the host; `C` must be a number.
        """
        self._columns(y)
        self.C_, self.n_features_in_ = float(self.C), equations.n_features
        coefficients, intercepts = equations.solve(1 / (2 * self.C_))
        return self._keep(to_numpy(coefficients), to_numpy(intercepts), np.float64)

    def _add_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Add rows to the sums of those before, and solve again."""
        before = getattr(self, "_sums", None)
        self._check_C()
        if not is_dask(X):
            X, y, _ = self._check(X, y, sample_weight, reset=before is None)
        equations = self.sums(ArrayBlocks.of(X, y, sample_weight), classes=classes)
        if before is not None:
            equations = before + equations
        if classes is None:
            self._one_target = np.ndim(y) == 1
        self.C_, self.n_features_in_ = float(self.C), equations.n_features
        coefficients, intercepts = equations.solve(1 / (2 * self.C_))
        self._keep(to_numpy(coefficients), to_numpy(intercepts), np.float64)
        self._sums = equations
        return self

    def _keep(self, coefficients: Any, intercepts: Any, dtype: Any) -> Self:
        self.__dict__.pop("_sums", None)  # a fit begins anew
        return super()._keep(coefficients, intercepts, dtype)
