r"""Newton's method for many squared-hinge problems at once.

The loss is quadratic as long as no row crosses the margin, so that Newton's method ends after a
few steps; along each step the loss is piecewise quadratic, and its minimum is found by Newton's
method in one dimension, or on a device from a grid of step lengths.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner.engine import tiles
from bochner.engine.places import cast, zeros
from bochner.linear.design import TINY, Design, dot, norm, positive, ratio
from bochner.linear.directions import DenseDevice, Directions

_LINE_STEPS = 12
_GRID = 16  # step lengths tried at once on a device
_LONGEST = 2.0  # the longest of them
_MOST_IN_KERNELS = 1024  # a program of a kernel holds fewer features than this


class Newton:
    """Newton's method for all columns together."""

    def __init__(self, design: Design, Y: Any, C: Any, directions: Directions) -> None:
        self.design, self.Y, self.C, self.directions = design, Y, C, directions
        self.xp = design.xp

    def run(
        self, V: Any, margins: Any, tol: float | None, max_steps: int
    ) -> tuple[Any, Any, int, float | None]:
        """Start from `V` and its margins; return the solution, margins, step count, optimality."""
        if tol is not None and self.design.host:
            return self._watched(V, margins, tol, max_steps)
        return self._run(V, margins, tol, max_steps)

    def _gradient(self, V: Any, margins: Any, Y: Any) -> Any:
        rest = positive(self.xp, 1 - margins)
        pull = self.design.adjoint(self.design.weighted(Y * rest))
        return self._penalised(V) - 2 * self.C * pull

    def _penalised(self, V: Any) -> Any:
        if not self.design.fit_intercept:
            return V
        return self.xp.concat([V[:, :-1], self.xp.zeros_like(V[:, :1])], axis=1)

    def _scale(self, Y: Any) -> Any:
        """Return the norm of the gradient at zero."""
        pull = self.design.adjoint(self.design.weighted(Y))
        return 2 * self.C * norm(self.xp, pull)

    def _step(self, V: Any, margins: Any, Y: Any, direction: Any) -> tuple[Any, Any]:
        change = Y * self.design.product(direction)
        line = Line(self.design, self.C, V, self._penalised(direction), margins, change)
        t = line.watched() if self.design.host else line.unwatched()
        return V + t * direction, margins + cast(t, margins.dtype) * change

    def blind_step(self, V: Any, margins: Any) -> tuple[Any, Any]:
        """Take one step in all columns, without checking whether it is needed."""
        gradient = self._gradient(V, margins, self.Y)
        columns = list(range(self.Y.shape[0]))
        enough = self.xp.zeros_like(gradient[:, :1]) if self.design.host else None
        direction = self.directions(self.C, margins < 1, gradient, columns, enough)
        return self._step(V, margins, self.Y, direction)

    def _run(
        self, V: Any, margins: Any, tol: float | None, max_steps: int
    ) -> tuple[Any, Any, int, Any]:
        """Iterate on all columns to the end; the host waits only if there is a `tol`."""
        xp, Y = self.xp, self.Y
        columns = list(range(Y.shape[0]))
        if tol is None:
            for _ in range(max_steps):
                V, margins = self.blind_step(V, margins)
            return V, margins, max_steps, None
        scale = self._scale(Y)
        for steps in range(max_steps + 1):
            gradient, value = self._gradient(V, margins, Y), self._value(V, margins)
            ratios = ratio(xp, norm(xp, gradient), scale)
            optimality = float(xp.max(ratios))
            flat = ratios <= tol
            if bool(xp.all(flat & self._is_surely_near(gradient, value, tol))):
                break
            direction = self.directions(self.C, margins < 1, gradient, columns, 0.3 * tol * scale)
            if bool(xp.all(self._is_near(gradient, direction, value, flat, tol))):
                break
            if steps == max_steps:
                self._warn(optimality, tol, steps)
                break
            V, margins = self._step(V, margins, Y, direction)
        return V, margins, steps, optimality

    def _watched(
        self, V: Any, margins: Any, tol: float, max_steps: int
    ) -> tuple[Any, Any, int, float]:
        """Iterate on the host, where columns that are done drop out."""
        Y, scale = self.Y, self._scale(self.Y)
        V_out, margins_out, optimality = V.copy(), margins.copy(), np.zeros(len(V))
        columns = np.arange(len(V))
        failed: list[int] = []
        for steps in range(max_steps + 1):
            gradient, value = self._gradient(V, margins, Y), self._value(V, margins)
            ratios = ratio(np, norm(np, gradient), scale)[:, 0]
            flat = ratios <= tol
            done = flat & self._is_surely_near(gradient, value, tol)[:, 0]
            if not done.all():
                active = margins < 1
                direction = np.zeros_like(V)
                direction[~done] = self.directions(
                    self.C,
                    active[~done],
                    gradient[~done],
                    list(columns[~done]),
                    0.3 * tol * scale[~done],
                )
                done |= self._is_near(gradient, direction, value, flat[:, None], tol)[:, 0]
            if steps == max_steps:
                failed = list(columns[~done])
                done[:] = True
            out = columns[done]
            V_out[out], margins_out[out], optimality[out] = V[done], margins[done], ratios[done]
            if done.all():
                break
            if done.any():
                V, margins, Y, scale = (A[~done] for A in (V, margins, Y, scale))
                direction, columns = direction[~done], columns[~done]
            V, margins = self._step(V, margins, Y, direction)
        worst = float(optimality.max())
        if failed:
            self._warn(worst, tol, steps)
        return V_out, margins_out, steps, worst

    def _value(self, V: Any, margins: Any) -> Any:
        """Return the objective, of shape (k, 1)."""
        xp = self.xp
        rest = cast(positive(xp, 1 - margins), self.design.wide)
        weights = self.design.weights
        squares = rest**2 if weights is None else rest**2 * cast(weights, rest.dtype)
        flat = self._penalised(V)
        return dot(xp, flat, flat) / 2 + self.C * xp.sum(squares, axis=1, keepdims=True)

    def _is_surely_near(self, gradient: Any, value: Any, tol: float) -> Any:
        """Whether the predicted decrease is small even with the penalty alone as the Hessian.

        The intercept has no penalty, but the rows that determine it count far more.
        """
        return dot(self.xp, gradient, gradient) / 2 <= tol * self._level(value, tol)

    def _is_near(self, gradient: Any, direction: Any, value: Any, flat: Any, tol: float) -> Any:
        """Whether the predicted decrease is small: with a flat gradient, or lost in rounding.

        A flat gradient alone says little where features are nearly collinear: there are directions
        in which a small gradient leads far.
        """
        decrease = -dot(self.xp, gradient, direction) / 2
        rounding = (10 * self.design.epsilon) ** 2 * value
        return (flat & (decrease <= tol * self._level(value, tol))) | (decrease <= rounding)

    def _level(self, value: Any, tol: float) -> Any:
        """Return what a decrease is compared with: the objective, plus a little of that at zero.

        For rows that an intercept alone gets right, the objective is zero.
        """
        weights = self.design.weights
        total = self.design.n if weights is None else self.xp.sum(cast(weights, value.dtype))
        return value + tol * self.C * total

    def _warn(self, optimality: float, tol: float, steps: int) -> None:
        warnings.warn(
            f"the squared hinge is not at its least to tol={tol} after {steps} Newton steps, the "
            f"gradient is {optimality:.1e} of that at zero: increase max_steps, tol, or the "
            "precision of the features.",
            ConvergenceWarning,
            stacklevel=5,
        )


def newton_steps(features: Any, signs: Any, C: Any, V: Any, n_steps: int) -> tuple[Any, Any]:
    """Take Newton steps and do nothing else, for a caller that repeats them on a device.

    This is what :func:`solve_squared_hinge` does there with ``tol=None``, without its checks: the
    host neither waits nor copies, so that the steps can be recorded
    (:class:`~bochner.engine.replay.Replayed`). Columns of zeros may stand for features to come;
    their coefficients stay zero. `signs`, of shape (n, k), is in the features' dtype; `V`, of
    shape (k, D + 1), is the starting point, with the intercepts last. Returns `V` after the steps
    and the margins, of shape (n, k).
    """
    design, Y = Design(features, None, True), signs.T
    if _is_in_kernels(design, Y):
        V, margins = _steps_in_kernels(design, Y, C, V, n_steps)
        return V, margins.T
    newton = Newton(design, Y, C, DenseDevice(design))
    V, margins, _, _ = newton.run(V, Y * design.product(V), None, n_steps)
    return V, margins.T


def blind_steps(
    fit_intercept: bool,
    n_steps: int,
    features: Any,
    weights: Any,
    Y: Any,
    V: Any,
    margins: Any,
    C: Any,
) -> tuple[Any, Any]:
    """Take `n_steps` unchecked steps from `V` and its margins, by Gram matrices on a device."""
    design = Design(features, weights, fit_intercept)
    if _is_in_kernels(design, Y):
        return _steps_in_kernels(design, Y, C, V, n_steps)
    return Newton(design, Y, C, DenseDevice(design)).run(V, margins, None, n_steps)[:2]


def _is_in_kernels(design: Design, Y: Any) -> bool:
    """Whether there are kernels for the steps of this problem."""
    plain = design.weights is None and design.fit_intercept and design.D > 0
    return plain and Y.shape[0] == 1 and design.D < _MOST_IN_KERNELS and tiles.run(design.features)


def _steps_in_kernels(design: Design, Y: Any, C: Any, V: Any, n_steps: int) -> tuple[Any, Any]:
    from bochner.engine.tiles import hinge

    how: dict[str, Any] = {"n_lengths": _GRID, "longest": _LONGEST, "epsilon": design.epsilon}
    features = design.features.T.contiguous()[None, ...]
    return hinge.newton_steps(features, Y[0, :].contiguous(), C, V, n_steps, **how)


def are_in_kernels(designs: Sequence[Design], Y: Any) -> bool:
    """Whether there are kernels for the steps of all of these together."""
    return all(_is_in_kernels(design, Y) and design.D == designs[0].D for design in designs)


def newton_steps_of_several(
    n_steps: int, signs: Any, C: Any, V: Any, *features: Any
) -> tuple[Any, Any]:
    """Run :func:`newton_steps` on several problems with the same signs and their own features.

    The signs have shape (n, 1); `V` has a row per problem, as have the margins, of shape (p, n).
    """
    Y, designs = signs.T, [Design(each, None, True) for each in features]
    if are_in_kernels(designs, Y):
        from bochner.engine.tiles import hinge

        how: dict[str, Any] = {"n_lengths": _GRID, "longest": _LONGEST}
        how["epsilon"] = designs[0].epsilon
        together = designs[0].xp.stack([each.T for each in features])
        return hinge.newton_steps(together, Y[0, :].contiguous(), C, V, n_steps, **how)
    found = [
        newton_steps(each, signs, C, V[k : k + 1, :], n_steps) for k, each in enumerate(features)
    ]
    xp = designs[0].xp
    return xp.concat([V for V, _ in found], axis=0), xp.concat([m for _, m in found], axis=1).T


class Line:
    """The loss along a direction: convex and piecewise quadratic, with a piecewise linear slope.

    The methods find the step length that minimises the loss, of shape (k, 1).
    """

    def __init__(
        self, design: Design, C: float, V: Any, direction: Any, margins: Any, change: Any
    ) -> None:
        self.xp, self.C, self.wide = design.xp, C, design.wide
        self.linear = dot(self.xp, V, direction)
        self.square = dot(self.xp, direction, direction)
        self.room, self.change = 1 - margins, change
        self.weighted = design.weighted(change)

    def watched(self) -> Any:
        """Find it by Newton's method within a bracket, with as many steps as needed; NumPy."""
        steep = self.weighted * self.change
        t = np.ones_like(self.linear)
        low, high = np.zeros_like(t), np.full_like(t, np.inf)
        at_zero = self.linear - 2 * self.C * dot(np, np.maximum(self.room, 0), self.weighted)
        for _ in range(_LINE_STEPS):
            rest = self.room - cast(t, self.room.dtype) * self.change
            loss = dot(np, np.maximum(rest, 0), self.weighted)
            slope = self.linear + t * self.square - 2 * self.C * loss
            inside = (rest > 0).astype(rest.dtype)
            curvature = self.square + 2 * self.C * dot(np, inside, steep) + TINY
            falling = slope < 0
            low, high = np.where(falling, t, low), np.where(falling, high, t)
            guess = t - slope / curvature
            good = (guess > low) & (guess < high)
            near = np.abs(slope) <= 0.02 * curvature * t
            # Where many rows enter at once, a large curvature could make a steep slope seem near.
            if np.all(near & (np.abs(slope) <= 0.5 * np.abs(at_zero))):
                # The next guess is better still; exact if no row crosses between the two.
                return np.where(good, guess, t)
            t = np.where(good, guess, np.where(np.isfinite(high), (low + high) / 2, 2 * t))
        return t

    def unwatched(self) -> Any:
        """Find it from a grid of step lengths, refined inside the interval that holds the zero.

        This takes few operations, and none that the host must wait for. At the end the slope is
        taken to be linear between two points.
        """
        xp = self.xp
        ones = zeros((1, _GRID), self.linear, self.linear.dtype) + 1.0
        grid = (xp.cumulative_sum(ones, axis=1) - 1) / (_GRID - 1)
        low, width = xp.zeros_like(self.linear), xp.zeros_like(self.linear) + _LONGEST
        for _ in range(2):
            t = low + width * grid
            slopes = self._slopes(t)
            # the last point with a negative slope, but not the last of all
            before = xp.sum(cast(slopes < 0, xp.int64), axis=1, keepdims=True) - 1
            before = xp.minimum(xp.maximum(before, xp.zeros_like(before)), 0 * before + _GRID - 2)
            low, width = xp.take_along_axis(t, before, axis=1), width / (_GRID - 1)
        first, second = (xp.take_along_axis(slopes, before + offset, axis=1) for offset in (0, 1))
        share = -first / (second - first + TINY)
        share = xp.minimum(xp.maximum(share, xp.zeros_like(share)), xp.ones_like(share))
        return low + share * width

    def _slopes(self, t: Any) -> Any:
        """Return the slopes at several step lengths `t`, of shape (k, T)."""
        steps = cast(t, self.room.dtype)[:, :, None]
        rest = self.room[:, None, :] - steps * self.change[:, None, :]
        loss = positive(self.xp, rest) @ self.weighted[:, :, None]
        return self.linear + t * self.square - 2 * self.C * cast(loss[:, :, 0], self.wide)
