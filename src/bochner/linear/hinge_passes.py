r"""The squared hinge loss minimised in passes over blocks of rows.

The problem is that of :mod:`bochner.linear.squared_hinge`, for rows that are not held in memory.
Each Newton step takes one pass, which adds up the loss, its gradient and the Gram matrix of the
active rows at the full step, and the loss alone at shorter ones; only if the full step is
rejected, which is rare, another pass follows at the best of these. The memory needed is one matrix
of ``(D + 1)^2`` per column, and a block.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bochner.engine.places import cast, convert, is_device, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.linear.blocks import Blocks, TargetColumns, block_height
from bochner.linear.design import Design, positive
from bochner.linear.directions import solve_penalised

_SHORTER = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4)  # step lengths that are tried
_ARMIJO = 1e-4
_ROUNDING = 1e-12  # relative to the objective

Float = NDArray[np.float64]


@dataclass(frozen=True)
class HingeSums:
    """Sums over rows, for each of `k` columns.

    `losses`, of shape (k, T), holds the losses at the step lengths; `pull`, of shape (k, D + 1),
    and `gram`, of shape (k, D + 1, D + 1), are the parts of the gradient and of the Hessian at the
    full step. They are where the features are.
    """

    n: int
    losses: Any
    pull: Any
    gram: Any
    epsilon: float

    def __add__(self, other: HingeSums) -> HingeSums:
        return HingeSums(
            self.n + other.n,
            self.losses + other.losses,
            self.pull + other.pull,
            self.gram + other.gram,
            max(self.epsilon, other.epsilon),
        )


def hinge_sums(
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    function: Callable[[Any], Any],
    targets: TargetColumns,
    start: Float | None,
    step: Float | None,
) -> HingeSums:
    """Return the sums of a block along ``start + t * step``; None is zero."""
    columns, weights = targets(y, weights)
    parts = (
        _few_rows(function(X[rows, :]), columns[rows], _at(weights, rows), start, step)
        for rows in row_slices(X.shape[0], block_height(X)) or [slice(0, 0)]
    )
    return reduce(add, parts)


def _at(weights: Any, rows: slice) -> Any:
    return None if weights is None else weights[rows]


def _few_rows(
    features: Any, columns: Float, weights: Any, start: Float | None, step: Float | None
) -> HingeSums:
    features = features if is_device(features) else to_numpy(features)
    weights = None if weights is None else convert(weights, features)
    design = Design(features, weights, True)
    xp, Y = design.xp, convert(np.ascontiguousarray(columns.T), features)
    lengths = _SHORTER if step is not None else _SHORTER[:1]
    rest = 1 - (0 * Y if start is None else Y * design.product(_there(start, design)))
    change = None if step is None else Y * design.product(_there(step, design))
    losses, at = [], rest
    for t in reversed(lengths):  # the full step comes last
        at = rest if change is None else rest - t * change
        inside = cast(positive(xp, at), design.wide)
        losses.append(xp.sum(inside * design.weighted(inside), axis=1))
    pull = design.adjoint(design.weighted(Y * positive(xp, at)))
    gram = _active_grams(design, at > 0)
    return HingeSums(design.n, xp.stack(losses[::-1], axis=1), pull, gram, design.epsilon)


def _there(V: Float, design: Design) -> Any:
    return convert(V, design.features, design.wide)


def _active_grams(design: Design, active: Any) -> Any:
    """Return the Gram matrix of the active rows for each column."""
    if not design.host:  # the host need not know which rows are active
        rows = cast(active, design.features.dtype)
        return design.xp.stack([design.gram(factors=rows[i, :]) for i in range(rows.shape[0])])
    if active.all():  # as at zero: all columns share it
        return np.broadcast_to(design.gram(), (len(active), design.size, design.size))
    return np.stack([design.gram(rows) for rows in active])


class HingePasses:
    """Newton's method for all columns together, with one pass per step."""

    def __init__(
        self, blocks: Blocks, function: Callable[[Any], Any], targets: TargetColumns, C: float
    ) -> None:
        self._blocks, self._C = blocks, C
        self._shared = {"function": function, "targets": targets}

    @cached_property
    def _first(self) -> HingeSums:
        """Sums at zero, where all rows are active."""
        return self._sums(None, None)

    def energy(self) -> float:
        """Return the sum of the squares of all features."""
        return float(np.trace(self._first.gram[0]) - self._first.gram[0, -1, -1])

    def run(self, tol: float, max_steps: int) -> tuple[Float, Float]:
        """Return coefficients of shape (D, k) and intercepts of shape (k,)."""
        sums = self._first
        V = np.zeros_like(sums.pull)
        scale = np.linalg.norm(2 * self._C * sums.pull, axis=1)
        at_zero = values = self._values(V, sums.losses[:, 0])
        for steps in range(max_steps + 1):
            gradient = _flat(V) - 2 * self._C * sums.pull
            ratios = np.linalg.norm(gradient, axis=1) / np.maximum(scale, np.finfo(float).tiny)
            step = self._directions(sums, gradient)
            slopes = (gradient * step).sum(axis=1)
            decrease, rounding = -slopes / 2, (10 * sums.epsilon) ** 2 * values
            enough = tol * (values + tol * at_zero)  # the values alone are 0 for a single class
            done = (ratios <= tol) & (decrease <= enough) | (decrease <= rounding)
            if done.all():
                break
            if steps == max_steps:
                self._warn(float(ratios.max()), tol, steps)
                break
            step[done] = 0.0
            V, values, sums = self._advance(V, step, values, slopes)
        return V[:, :-1].T, V[:, -1]

    def _advance(
        self, V: Float, step: Float, before: Float, slopes: Float
    ) -> tuple[Float, Float, HingeSums]:
        """Return the next point, its objective, and the sums there."""
        sums = self._sums(V, step)
        tried = np.stack(
            [
                self._values(V + t * step, losses)
                for t, losses in zip(_SHORTER, sums.losses.T, strict=True)
            ],
            axis=1,
        )
        enough = before + _ARMIJO * slopes + _ROUNDING * before
        good = ~(tried[:, 0] > enough)
        if good.all():
            return V + step, tried[:, 0], sums
        lengths = np.where(good, 1.0, np.take(_SHORTER, tried.argmin(axis=1)))
        V = V + lengths[:, None] * step
        sums = self._sums(V, None)
        return V, self._values(V, sums.losses[:, 0]), sums

    def _sums(self, start: Float | None, step: Float | None) -> HingeSums:
        shared = {**self._shared, "start": start, "step": step}
        found: HingeSums = self._blocks.reduce(hinge_sums, shared)
        losses, pull, gram = (to_numpy(A) for A in (found.losses, found.pull, found.gram))
        sums = HingeSums(found.n, losses, pull, gram, found.epsilon)
        if not (np.isfinite(sums.losses).all() and np.isfinite(sums.pull).all()):
            raise ValueError("the features of the squared-hinge classifier are not finite.")
        return sums

    def _values(self, V: Float, losses: Float) -> Float:
        values: Float = (_flat(V) ** 2).sum(axis=1) / 2 + self._C * losses
        return values

    def _directions(self, sums: HingeSums, gradient: Float) -> Float:
        # Without active rows nothing would determine the intercept: it stays where it is.
        penalty = np.ones(gradient.shape[1])
        penalty[-1] = 2 * self._C * sums.n * 1e-12
        return -np.stack(
            [
                solve_penalised(2 * self._C * gram, g, penalty, sums.epsilon)
                for gram, g in zip(sums.gram, gradient, strict=True)
            ]
        )

    def _warn(self, optimality: float, tol: float, steps: int) -> None:
        warnings.warn(
            f"the squared hinge is not at its least to tol={tol} after {steps} Newton steps, the "
            f"gradient is {optimality:.1e} of that at zero: increase max_steps or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _flat(V: Float) -> Float:
    """Return the coefficients that are penalised: all but the intercept."""
    flat = V.copy()
    flat[:, -1] = 0.0
    return flat
