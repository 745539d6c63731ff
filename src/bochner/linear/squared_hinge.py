r"""Linear support vector machines with the squared hinge loss, many at once, in the primal.

For each column `k` of labels :math:`y_{ik} = \pm 1`

.. math:: \min_{w, b} \; \frac{1}{2} |w|^2
          + C \sum_i s_i \max(0, 1 - y_{ik} (\phi_i \cdot w + b))^2 .

The loss is quadratic wherever no row crosses the margin, so Newton's method with the Hessian of
the rows inside the margin, :math:`I + 2 C \Phi_a^T S \Phi_a`, ends after a few steps; along each
step the loss is piecewise quadratic, and its minimum is found by Newton's method in one
dimension. Two ways to the direction, chosen by predicted cost:

* *dense*: the Gram matrix of the rows inside the margin, brought up to date from the rows that
  entered and left, and its Cholesky factorisation;
* *conjugate*: conjugate gradients on all columns together, preconditioned by one factorisation
  of the Gram matrix of all rows, which every column and every step share.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from bochner.engine.arrays import (
    cast,
    convert,
    identity,
    inverse,
    is_host,
    machine_epsilon,
    namespace,
    wide_dtype,
    zeros,
)
from bochner.engine.replay import Replayed
from bochner.engine.threads import default_threads, ordered_map

Method = Literal["auto", "dense", "conjugate"]

_LINE_STEPS = 12
_CONJUGATE_STEPS = 12  # a Newton step, when the host must not look
_MOST_CONJUGATE_STEPS = 60  # a Newton step, when it may
_DENSE_MEMORY = 2**30  # bytes of Gram matrices
_GRID = 16  # step lengths tried at once on a device
_LONGEST = 2.0  # of them
_MOST_REPLAYED = 500  # features up to which Newton steps on a GPU are recorded; an estimate
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class SquaredHingeSolution:
    r"""The minimiser, of one problem a column.

    Attributes
    ----------
    coefficients : array of shape (D, k)
        In the dtype of the features.
    intercepts : array of shape (k,)
        Zero without `fit_intercept`.
    margins : array of shape (n, k)
        :math:`y_{ik} (\phi_i \cdot w_k + b_k)` of the training rows.
    n_steps : int
        Newton steps taken.
    optimality : float or None
        Norm of the gradient relative to its norm at zero, the largest of the columns. None when
        nothing was measured, with ``tol=None``.
    sample_weight : array of shape (n,) or None
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import solve_squared_hinge
    >>> features, signs = np.array([[-1.0], [1.0], [2.0]]), np.array([-1, 1, 1])
    >>> solution = solve_squared_hinge(features, signs, C=10.0)
    >>> bool(abs(signs @ solution.duals(10.0)).max() < 1e-9)
    True
    """

    coefficients: Any
    intercepts: Any
    margins: Any
    n_steps: int
    optimality: float | None
    sample_weight: Any = None
    _kept: _KeptGrams | None = field(default=None, repr=False, compare=False)

    def duals(self, C: float) -> Any:
        r"""The dual weights :math:`\alpha_i = 2 C s_i \max(0, 1 - \mathrm{margin}_i)`.

        At the optimum :math:`w = \sum_i \alpha_i y_i \phi_i`, and with an intercept
        :math:`\sum_i \alpha_i y_i = 0`.

        Parameters
        ----------
        C : float
            The one the problem was solved with.

        Returns
        -------
        array of shape (n, k)
        """
        alpha = 2 * C * _positive(namespace(self.margins), 1 - self.margins)
        return alpha if self.sample_weight is None else alpha * self.sample_weight[:, None]


def solve_squared_hinge(
    features: Any,
    signs: Any,
    C: float,
    *,
    start: SquaredHingeSolution | None = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float | None = 1e-6,
    max_steps: int = 50,
    method: Method = "auto",
) -> SquaredHingeSolution:
    r"""Squared-hinge support vector machines on given features, one for each column of signs.

    Parameters
    ----------
    features : array of shape (n, D)
        float32 or float64; NumPy, PyTorch, or another array-API library. The products with the
        features are done in their dtype, everything of size `D` in float64.
    signs : array of shape (n,) or (n, k)
        Labels, -1 or +1, one problem a column.
    C : float
        Weight of the loss, greater than 0.
    start : SquaredHingeSolution, optional
        Where to begin: an earlier solution. It may have fewer features, if the others have been
        appended after them since; in NumPy its Gram matrices are then extended, not made anew.
        It may come from anywhere else as well: that costs time and never changes the result.
    sample_weight : array of shape (n,), optional
        Weights :math:`s_i \ge 0`; an integer weight is that many copies of the row.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    tol : float or None, default=1e-6
        Largest norm of the gradient relative to its norm at zero. A column is also done when
        the predicted decrease of its objective is lost in the rounding of the features' dtype.
        None takes `max_steps` steps without looking: on a device the host then never waits.
    max_steps : int, default=50
        Most Newton steps. Ten are usually enough.
    method : {"auto", "dense", "conjugate"}, default="auto"
        How the direction is found.

    Returns
    -------
    SquaredHingeSolution

    Warns
    -----
    ConvergenceWarning
        If `tol` was given and not reached.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import solve_squared_hinge
    >>> features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> solution = solve_squared_hinge(features, np.array([-1, -1, 1, 1]), C=100.0)
    >>> solution.coefficients.round(3), solution.intercepts.round(3)
    (array([[0.998]]), array([0.]))
    """
    return squared_hinge_path(
        features,
        signs,
        [C],
        start=start,
        sample_weight=sample_weight,
        fit_intercept=fit_intercept,
        tol=tol,
        max_steps=max_steps,
        method=method,
    )[0]


def squared_hinge_path(
    features: Any,
    signs: Any,
    Cs: Sequence[float],
    *,
    start: SquaredHingeSolution | None = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float | None = 1e-6,
    max_steps: int = 50,
    method: Method = "auto",
) -> list[SquaredHingeSolution]:
    """Solutions for several `C`, each starting from the one before; Gram matrices are shared.

    Parameters
    ----------
    Cs : sequence of float
        Solved from the smallest to the largest.
    features, signs, start, sample_weight, fit_intercept, tol, max_steps, method
        As for :func:`solve_squared_hinge`; `start` is for the smallest `C`.

    Returns
    -------
    list of SquaredHingeSolution
        In the order of `Cs`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import squared_hinge_path
    >>> features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> path = squared_hinge_path(features, np.array([-1, -1, 1, 1]), [0.1, 1.0])
    >>> [round(float(solution.coefficients[0, 0]), 3) for solution in path]
    [0.4, 0.8]
    """
    design = _Design.of(features, sample_weight, fit_intercept)
    Y = _check_signs(signs, design)
    for C in Cs:
        if not (np.isfinite(C) and C > 0):
            raise ValueError(f"C must be a finite number greater than 0, got {C!r}.")
    if max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, got {max_steps!r}.")
    directions = _choose(method, design, Y.shape[0])
    V = _start(start, design, Y.shape[0])
    margins = Y * design.product(V)
    if isinstance(directions, _DenseHost) and start is not None and _follows(start, margins):
        directions.take_over(start._kept)
    # Small problems on a GPU: the same step again and again, for every C.
    step = None
    if tol is None and isinstance(directions, _DenseDevice) and design.size <= _MOST_REPLAYED:
        step = Replayed(partial(_blind_step, design, Y, directions))
    solutions: list[Any] = [None] * len(Cs)
    for index in sorted(range(len(Cs)), key=lambda i: Cs[i]):
        C = float(Cs[index])
        if step is None:
            newton = _Newton(design, Y, C, directions)
            V, margins, n_steps, optimality = newton.run(V, margins, tol, max_steps)
        else:
            n_steps, optimality = max_steps, None
            for _ in range(max_steps):
                V, margins = step(V, margins, C)
        solution = design.solution(V, margins, n_steps, optimality)
        if isinstance(directions, _DenseHost):
            solution = replace(solution, _kept=directions.keep())
        solutions[index] = solution
    return solutions


def newton_steps(features: Any, signs: Any, C: Any, V: Any, n_steps: int) -> tuple[Any, Any]:
    """Newton steps and nothing else, for a caller that repeats them on a device.

    What :func:`solve_squared_hinge` does there with ``tol=None``, without its checks: the host
    neither waits nor copies, so that the steps can be recorded
    (:class:`~bochner.engine.replay.Replayed`). Columns of zeros may stand for features to come;
    their coefficients stay zero.

    Parameters
    ----------
    features : array of shape (n, D)
        On a device.
    signs : array of shape (n, k)
        Labels in the features' dtype, -1 or +1.
    C : float, or array without dimensions
        Weight of the loss.
    V : array of shape (k, D + 1)
        Where to begin: coefficients and, last, the intercepts; float64 where the device has it.
    n_steps : int
        How many.

    Returns
    -------
    V : array of shape (k, D + 1)
    margins : array of shape (n, k)
    """
    design, Y = _Design(features, None, True), signs.T
    newton = _Newton(design, Y, C, _DenseDevice(design))
    V, margins, _, _ = newton.run(V, Y * design.product(V), None, n_steps)
    return V, margins.T


def _blind_step(
    design: _Design, Y: Any, directions: _Directions, V: Any, margins: Any, C: Any
) -> tuple[Any, Any]:
    return _Newton(design, Y, C, directions).blind_step(V, margins)


class _Design:
    """The features with a column of ones behind them, without making that array.

    Vectors of coefficients are rows of ``(k, D + 1)``, vectors over the data rows of ``(k, n)``,
    so that sums run along the memory.
    """

    def __init__(self, features: Any, weights: Any, fit_intercept: bool) -> None:
        self.xp, self.features, self.weights = namespace(features), features, weights
        self.n, self.D = features.shape
        self.fit_intercept = fit_intercept
        self.size = self.D + int(fit_intercept)
        self.wide = wide_dtype(features)
        self.epsilon = machine_epsilon(features.dtype, self.xp)
        self.host = is_host(features)

    @classmethod
    def of(cls, features: Any, sample_weight: Any, fit_intercept: bool) -> _Design:
        if not hasattr(features, "dtype"):
            features = np.asarray(features, dtype=np.float64)
        if len(features.shape) != 2 or features.shape[0] == 0:
            raise ValueError(
                f"features must have shape (n, D) with n > 0, got {tuple(features.shape)}."
            )
        xp = namespace(features)
        if features.dtype not in (xp.float32, xp.float64):
            raise ValueError(f"features must be float32 or float64, got {features.dtype}.")
        if hasattr(features, "detach"):
            features = features.detach()
        weights = None
        if sample_weight is not None:
            weights = convert(sample_weight, features)
            if tuple(weights.shape) != (features.shape[0],):
                raise ValueError(
                    f"sample_weight must have shape ({features.shape[0]},), "
                    f"got {tuple(weights.shape)}."
                )
            if is_host(features) and not np.all(np.isfinite(weights) & (weights >= 0)):
                raise ValueError("sample_weight must be finite and zero or more.")
        return cls(features, weights, fit_intercept)

    def product(self, V: Any) -> Any:
        """``V [Phi | 1]^T``, of shape (k, n), in the features' dtype."""
        V = cast(V, self.features.dtype)
        if not self.fit_intercept:
            return V @ self.features.T
        return V[:, : self.D] @ self.features.T + V[:, self.D :]

    def adjoint(self, R: Any) -> Any:
        """``R [Phi | 1]``, of shape (k, D + 1), wide."""
        sums = cast(R @ self.features, self.wide)
        if not self.fit_intercept:
            return sums
        ones = cast(self.xp.sum(R, axis=1, keepdims=True), self.wide)
        return self.xp.concat([sums, ones], axis=1)

    def weighted(self, R: Any) -> Any:
        return R if self.weights is None else R * self.weights

    def gram(self, rows: Any = None, factors: Any = None) -> Any:
        """``[Phi | 1]^T S [Phi | 1]`` over some rows, or with factors on all rows; wide."""
        xp, Phi, scale = self.xp, self.features, self.weights
        if rows is not None:
            Phi, scale = Phi[rows], None if scale is None else scale[rows]
        if factors is not None:
            scale = factors if scale is None else scale * factors
        if scale is not None:
            Phi = Phi * xp.sqrt(scale)[:, None]
        # the product of an array with its own transpose takes half the time in BLAS
        inner = cast(Phi.T @ Phi, self.wide)
        if not self.fit_intercept:
            return inner
        if scale is None:
            scale = xp.ones_like(Phi[:, 0])
            sums = cast(xp.sum(Phi, axis=0), self.wide) if not self.host else _column_sums(Phi)
        else:
            sums = cast(xp.sqrt(scale) @ Phi, self.wide)
        total = xp.sum(cast(scale, self.wide))
        right = xp.concat([sums, xp.reshape(total, (1,))])[:, None]
        return xp.concat([xp.concat([inner, sums[None, :]], axis=0), right], axis=1)

    def zeros(self, k: int) -> Any:
        return zeros((k, self.size), self.features, self.wide)

    def solution(
        self, V: Any, margins: Any, n_steps: int, optimality: float | None
    ) -> SquaredHingeSolution:
        V = cast(V, self.features.dtype)
        intercepts = V[:, self.D] if self.fit_intercept else self.xp.zeros_like(V[:, 0])
        return SquaredHingeSolution(
            V[:, : self.D].T, intercepts, margins.T, n_steps, optimality, self.weights
        )


def _column_sums(Phi: Any) -> Any:
    # one BLAS product: NumPy's own sum along the first axis adds float32 numbers one by one
    return (np.ones(Phi.shape[0], Phi.dtype) @ Phi).astype(np.float64)


def _start(start: SquaredHingeSolution | None, design: _Design, k: int) -> Any:
    V = design.zeros(k)
    if start is None:
        return V
    D, columns = start.coefficients.shape
    if D > design.D or columns != k:
        raise ValueError(
            f"start has {D} features and {columns} columns; at most {design.D} features and "
            f"exactly {k} columns are accepted."
        )
    xp, like = design.xp, design.features
    parts = [convert(start.coefficients, like, design.wide).T, V[:, D : design.D]]
    if design.fit_intercept:
        parts.append(convert(start.intercepts, like, design.wide)[:, None])
    return xp.concat(parts, axis=1)


def _check_signs(signs: Any, design: _Design) -> Any:
    signs = convert(signs, design.features)
    if len(signs.shape) == 1:
        signs = signs[:, None]
    if len(signs.shape) != 2 or signs.shape[0] != design.n or signs.shape[1] == 0:
        raise ValueError(
            f"signs must have shape ({design.n},) or ({design.n}, k), got {tuple(signs.shape)}."
        )
    if design.host:
        wrong = ~((signs == 1) | (signs == -1))
        if wrong.any():
            raise ValueError(f"signs must hold -1 and +1 only, got {signs[wrong].flat[0]!r}.")
        return np.ascontiguousarray(signs.T)
    return signs.T


class _Directions(Protocol):
    """A way to solve ``(I + 2 C Gram of the active rows) direction = -gradient``."""

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        """Directions (k, size) of `columns`; `enough` is the residual that need not be beaten."""
        ...


class _Newton:
    """Newton's method for all columns together."""

    def __init__(self, design: _Design, Y: Any, C: Any, directions: _Directions) -> None:
        self.design, self.Y, self.C, self.directions = design, Y, C, directions
        self.xp = design.xp

    def run(
        self, V: Any, margins: Any, tol: float | None, max_steps: int
    ) -> tuple[Any, Any, int, float | None]:
        """From `V` and its margins: the solution, its margins, steps taken, optimality."""
        if tol is not None and self.design.host:
            return self._watched(V, margins, tol, max_steps)
        return self._run(V, margins, tol, max_steps)

    def _gradient(self, V: Any, margins: Any, Y: Any) -> Any:
        rest = _positive(self.xp, 1 - margins)
        pull = self.design.adjoint(self.design.weighted(Y * rest))
        return self._penalised(V) - 2 * self.C * pull

    def _penalised(self, V: Any) -> Any:
        if not self.design.fit_intercept:
            return V
        return self.xp.concat([V[:, :-1], self.xp.zeros_like(V[:, :1])], axis=1)

    def _scale(self, Y: Any) -> Any:
        """The norm of the gradient at zero."""
        pull = self.design.adjoint(self.design.weighted(Y))
        return 2 * self.C * _norm(self.xp, pull)

    def _step(self, V: Any, margins: Any, Y: Any, direction: Any) -> tuple[Any, Any]:
        change = Y * self.design.product(direction)
        t = self._line(V, margins, direction, change)
        return V + t * direction, margins + cast(t, margins.dtype) * change

    def _line(self, V: Any, margins: Any, direction: Any, change: Any) -> Any:
        """The step length that minimises the loss, (k, 1)."""
        line = _Line(self.design, self.C, V, self._penalised(direction), margins, change)
        return line.watched() if self.design.host else line.unwatched()

    def blind_step(self, V: Any, margins: Any) -> tuple[Any, Any]:
        """One step of all columns, without looking whether it is needed."""
        gradient = self._gradient(V, margins, self.Y)
        nothing, columns = self.xp.zeros_like(gradient[:, :1]), list(range(self.Y.shape[0]))
        direction = self.directions(self.C, margins < 1, gradient, columns, nothing)
        return self._step(V, margins, self.Y, direction)

    def _run(
        self, V: Any, margins: Any, tol: float | None, max_steps: int
    ) -> tuple[Any, Any, int, Any]:
        """All columns to the end; the host waits only if there is a `tol`."""
        xp, Y = self.xp, self.Y
        columns = list(range(Y.shape[0]))
        if tol is None:
            for _ in range(max_steps):
                V, margins = self.blind_step(V, margins)
            return V, margins, max_steps, None
        scale = self._scale(Y)
        for steps in range(max_steps + 1):
            gradient = self._gradient(V, margins, Y)
            optimality = float(xp.max(_ratio(xp, _norm(xp, gradient), scale)))
            if steps == max_steps or optimality <= tol:
                break
            direction = self.directions(self.C, margins < 1, gradient, columns, 0.3 * tol * scale)
            if bool(xp.all(self._negligible(V, margins, gradient, direction))):
                return V, margins, steps, optimality
            V, margins = self._step(V, margins, Y, direction)
        if not optimality <= tol:  # larger, or not a number
            self._warn(optimality, tol, steps)
        return V, margins, steps, optimality

    def _watched(
        self, V: Any, margins: Any, tol: float, max_steps: int
    ) -> tuple[Any, Any, int, float]:
        """On the host: columns that are done drop out."""
        Y, scale = self.Y, self._scale(self.Y)
        V_out, margins_out, optimality = V.copy(), margins.copy(), np.zeros(len(V))
        columns = np.arange(len(V))
        failed: list[int] = []
        for steps in range(max_steps + 1):
            gradient = self._gradient(V, margins, Y)
            ratio = _ratio(np, _norm(np, gradient), scale)[:, 0]
            done = ratio <= tol
            if steps == max_steps:
                failed = list(columns[~done])
                done[:] = True
            elif not done.all():
                active = margins < 1
                direction = np.zeros_like(V)
                direction[~done] = self.directions(
                    self.C,
                    active[~done],
                    gradient[~done],
                    list(columns[~done]),
                    0.3 * tol * scale[~done],
                )
                done |= self._negligible(V, margins, gradient, direction)[:, 0]
            out = columns[done]
            V_out[out], margins_out[out], optimality[out] = V[done], margins[done], ratio[done]
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

    def _negligible(self, V: Any, margins: Any, gradient: Any, direction: Any) -> Any:
        """Whether the gradient is the rounding of its terms, as the predicted decrease tells."""
        xp, flat = self.xp, self._penalised(V)
        rest = cast(_positive(xp, 1 - margins), self.design.wide)
        weights = self.design.weights
        squares = rest**2 if weights is None else rest**2 * cast(weights, rest.dtype)
        value = _dot(xp, V, flat) / 2 + self.C * xp.sum(squares, axis=1, keepdims=True)
        return -_dot(xp, gradient, direction) / 2 <= (10 * self.design.epsilon) ** 2 * value

    def _warn(self, optimality: float, tol: float, steps: int) -> None:
        warnings.warn(
            f"the gradient is still {optimality:.1e} of that at zero after {steps} Newton steps, "
            f"more than tol={tol}: increase max_steps, tol, or the precision of the features.",
            ConvergenceWarning,
            stacklevel=5,
        )


@dataclass(frozen=True)
class _KeptGrams:
    """What the next solution on more features can use: active rows and Gram matrix by column."""

    n: int
    D: int
    fit_intercept: bool
    weights: Any
    state: dict[int, tuple[Any, Any]]


def _follows(start: SquaredHingeSolution, margins: Any) -> bool:
    """Whether the features that `start` was solved with seem to be among those of `margins`.

    A wrong yes would make the Newton directions worse; gradients, steps and so the solution
    come from the features themselves.
    """
    if not is_host(start.margins) or start.margins.shape != margins.T.shape:
        return False
    rounding = 1e3 * machine_epsilon(margins.dtype, np) * (1 + np.abs(margins).max())
    return bool(np.abs(start.margins.T - margins).max() <= rounding)


class _Line:
    """The loss along a direction: convex and piecewise quadratic, its slope piecewise linear."""

    def __init__(
        self, design: _Design, C: float, V: Any, direction: Any, margins: Any, change: Any
    ) -> None:
        self.xp, self.C, self.wide = design.xp, C, design.wide
        self.linear = _dot(self.xp, V, direction)
        self.square = _dot(self.xp, direction, direction)
        self.room, self.change = 1 - margins, change
        self.weighted = design.weighted(change)

    def watched(self) -> Any:
        """Newton's method within a bracket, as far as needed; NumPy."""
        steep = self.weighted * self.change
        t = np.ones_like(self.linear)
        low, high = np.zeros_like(t), np.full_like(t, np.inf)
        at_zero = self.linear - 2 * self.C * _dot(np, np.maximum(self.room, 0), self.weighted)
        for _ in range(_LINE_STEPS):
            rest = self.room - cast(t, self.room.dtype) * self.change
            loss = _dot(np, np.maximum(rest, 0), self.weighted)
            slope = self.linear + t * self.square - 2 * self.C * loss
            inside = (rest > 0).astype(rest.dtype)
            curvature = self.square + 2 * self.C * _dot(np, inside, steep) + _TINY
            falling = slope < 0
            low, high = np.where(falling, t, low), np.where(falling, high, t)
            guess = t - slope / curvature
            good = (guess > low) & (guess < high)
            near = np.abs(slope) <= 0.02 * curvature * t
            # Where many rows enter at once the curvature alone would call a steep slope near.
            if np.all(near & (np.abs(slope) <= 0.5 * np.abs(at_zero))):
                # The next guess is better still; exact if no row crosses between the two.
                return np.where(good, guess, t)
            t = np.where(good, guess, np.where(np.isfinite(high), (low + high) / 2, 2 * t))
        return t

    def unwatched(self) -> Any:
        """A grid of step lengths at once, then grids inside the interval that holds the zero.

        Few operations, and none that the host must wait for. At the end the slope is taken for
        linear between two points.
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
        share = -first / (second - first + _TINY)
        share = xp.minimum(xp.maximum(share, xp.zeros_like(share)), xp.ones_like(share))
        return low + share * width

    def _slopes(self, t: Any) -> Any:
        """Slopes at several step lengths `t`, (k, T)."""
        xp = self.xp
        narrow = cast(t, self.room.dtype)
        rest = self.room[:, None, :] - narrow[:, :, None] * self.change[:, None, :]
        loss = _positive(xp, rest) @ self.weighted[:, :, None]
        return self.linear + t * self.square - 2 * self.C * cast(loss[:, :, 0], self.wide)


class _DenseHost:
    """Gram matrices of the active rows, kept and brought up to date; NumPy."""

    def __init__(self, design: _Design) -> None:
        self.design = design
        self._state: dict[int, tuple[Any, Any]] = {}
        self._all: Any = None

    def keep(self) -> _KeptGrams:
        design = self.design
        return _KeptGrams(
            design.n, design.D, design.fit_intercept, design.weights, dict(self._state)
        )

    def take_over(self, kept: _KeptGrams | None) -> None:
        """Extend what was kept by the columns that are new, O(n D p) for `p` of them."""
        design = self.design
        if (
            kept is None
            or (kept.n, kept.fit_intercept) != (design.n, design.fit_intercept)
            or not np.array_equal(kept.weights, design.weights)
        ):
            return
        for column, (active, gram) in kept.state.items():
            if kept.D < design.D:
                gram = self._extended(active, gram, kept.D)
            self._state[column] = (active, gram)

    def _extended(self, active: Any, gram: Any, D: int) -> Any:
        design, size = self.design, self.design.size
        rows = design.weighted(active.astype(design.features.dtype))
        new = design.features[:, D:] * rows[:, None]
        cross = design.features.T @ new
        larger = np.empty((size, size))
        larger[:D, :D] = gram[:D, :D]
        larger[: design.D, D : design.D] = cross
        larger[D : design.D, : design.D] = cross.T
        if design.fit_intercept:
            larger[:D, -1] = larger[-1, :D] = gram[:D, -1]
            larger[D:-1, -1] = larger[-1, D:-1] = _column_sums(new)
            larger[-1, -1] = gram[-1, -1]
        return larger

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        def one(row: int) -> Any:
            return -self._solve(2 * C * self._gram(columns[row], active[row]), gradient[row], C)

        if len(columns) > 1 and active.all():
            self._from_scratch(active[0])  # all columns share it: not in every thread
        return np.stack(list(ordered_map(one, range(len(columns)), default_threads())))

    def _gram(self, column: int, active: Any) -> Any:
        design = self.design
        if column not in self._state:
            self._state[column] = (active, self._from_scratch(active))
            return self._state[column][1]
        before, gram = self._state[column]
        entered, left = active & ~before, before & ~active
        moved = np.count_nonzero(entered) + np.count_nonzero(left)
        if moved < np.count_nonzero(active):
            if entered.any():
                gram = gram + design.gram(entered)
            if left.any():
                gram = gram - design.gram(left)
        else:
            gram = self._from_scratch(active)
        self._state[column] = (active, gram)
        return gram

    def _from_scratch(self, active: Any) -> Any:
        n_active = np.count_nonzero(active)
        if n_active == 0:
            return np.zeros((self.design.size, self.design.size))
        if n_active == self.design.n:
            if self._all is None:
                self._all = self.design.gram()
            return self._all
        return self.design.gram(active)

    def _solve(self, H: Any, gradient: Any, C: float) -> Any:
        diagonal = np.einsum("ii->i", H)
        bare = diagonal.copy()
        rounding = self.design.epsilon * bare.sum()
        for jitter in (0.0, 1.0, 100.0):
            diagonal[:] = bare + _penalty(self.design, C) + jitter * rounding
            try:
                return inverse(H)(gradient)
            except LinAlgError:
                continue
        # not even positive up to rounding: the rows are not finite, or enormous
        return gradient / (1 + bare)


class _DenseDevice:
    """Gram matrices of the active rows, made anew in each step; the host never waits."""

    def __init__(self, design: _Design) -> None:
        self.design = design
        self._identity = identity(design.size, design.features, design.wide)
        self._penalised: tuple[Any, Any] | None = None  # by which C, and the diagonal matrix

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        design, xp = self.design, self.design.xp
        if self._penalised is None or self._penalised[0] is not C:
            self._penalised = C, _penalty(design, C) * self._identity
        rows = []
        for index in range(len(columns)):
            gram = 2 * C * design.gram(factors=cast(active[index, :], design.features.dtype))
            rounding = design.epsilon * xp.linalg.trace(gram)
            H = gram + self._penalised[1] + rounding * self._identity
            rows.append(-inverse(H)(gradient[index, :][:, None])[:, 0])
        return xp.stack(rows)


class _Conjugate:
    """Conjugate gradients, preconditioned by the Gram matrix of all rows."""

    def __init__(self, design: _Design) -> None:
        self.design = design
        self._all: Any = None

    def __call__(
        self, C: float, active: Any, gradient: Any, columns: list[int], enough: Any
    ) -> Any:
        design, xp = self.design, self.design.xp
        penalty = _penalty(design, C)
        weights = design.weighted(cast(active, design.features.dtype))
        precondition = self._preconditioner(C, weights, penalty)
        watched = design.host
        # The Newton direction is wanted precisely only near the end.
        goal = xp.maximum(0.1 * _norm(xp, gradient), enough) if watched else None

        solution, residual = xp.zeros_like(gradient), -gradient
        z = precondition(residual)
        p, rz = z, _dot(xp, residual, z)
        for _ in range(_MOST_CONJUGATE_STEPS if watched else _CONJUGATE_STEPS):
            Hp = penalty * p + 2 * C * design.adjoint(weights * design.product(p))
            length = _ratio(xp, rz, _dot(xp, p, Hp))
            solution, residual = solution + length * p, residual - length * Hp
            if watched and np.all(_norm(xp, residual) <= goal):
                break
            z = precondition(residual)
            rz, before = _dot(xp, residual, z), rz
            p = z + _ratio(xp, rz, before) * p
        return solution

    def _preconditioner(self, C: float, weights: Any, penalty: Any) -> Any:
        design, xp = self.design, self.design.xp
        if self._all is None:
            self._all = design.gram()
        total = design.n if design.weights is None else xp.sum(cast(design.weights, design.wide))
        # the share of the rows that is active, on average over the columns
        share = xp.sum(cast(xp.mean(weights, axis=0), design.wide)) / total
        gram = 2 * C * share * self._all
        rounding = design.epsilon * xp.linalg.trace(gram)
        solve = inverse(
            gram + (penalty + rounding) * identity(design.size, design.features, design.wide)
        )
        return lambda R: solve(R.T).T


def _choose(method: Method, design: _Design, k: int) -> _Directions:
    if method not in ("auto", "dense", "conjugate"):
        raise ValueError(f"method must be 'auto', 'dense' or 'conjugate', got {method!r}.")
    dense = _DenseHost if design.host else _DenseDevice
    if method == "auto":
        method = "dense" if _dense_is_cheaper(design, k) else "conjugate"
    return _Conjugate(design) if method == "conjugate" else dense(design)


def _dense_is_cheaper(design: _Design, k: int) -> bool:
    # Measured. Both need the Gram matrix of all rows to begin with, so that conjugate gradients
    # can save time only where each of several columns would need its own.
    if not design.host:
        return design.D * k <= 5000
    return (k == 1 or design.D <= 1500) and 8 * k * design.size**2 <= _DENSE_MEMORY


def _penalty(design: _Design, C: float) -> Any:
    """The diagonal that the Hessian adds to the Gram matrix, (size,)."""
    ones = zeros((design.D,), design.features, design.wide) + 1.0
    if not design.fit_intercept:
        return ones
    # Without active rows nothing would hold the intercept: stay where it is.
    held = zeros((1,), design.features, design.wide) + 2 * C * design.n * 1e-12
    return design.xp.concat([ones, held])


def _positive(xp: Any, values: Any) -> Any:
    return xp.maximum(values, xp.zeros_like(values))


def _dot(xp: Any, A: Any, B: Any) -> Any:
    """Inner products of rows, (k, 1)."""
    return xp.sum(A * B, axis=1, keepdims=True)


def _norm(xp: Any, A: Any) -> Any:
    return xp.sqrt(_dot(xp, A, A))


def _ratio(xp: Any, numerator: Any, denominator: Any) -> Any:
    """The quotient of numbers that are zero together, and not negative otherwise."""
    return numerator / (denominator + _TINY)
