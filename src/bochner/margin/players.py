r"""The data player of the margin game: coefficients against which functions are chosen.

A function is good if it correlates with the coefficients `A`: its potential is
:math:`v(\phi) = \sum_k |\sum_i A_{ik} \phi(x_i)|^2`. For two classes :math:`A = \alpha y` with the
dual weights :math:`\alpha` of a support vector machine; for numbers, and for many classes coded as
columns, `A` may be the residual of a regression. After each choice of functions the player answers
with one of four moves:

=================  =======================================  =================================
..                 towards the optimum on all of them       a step along the gradient
=================  =======================================  =================================
dual weights       :class:`CorrectiveMargin`                :class:`GradientMargin`
residuals          :class:`CorrectiveResidual`              :class:`GradientResidual`
=================  =======================================  =================================

The values of new functions are given as columns. A wave has two parts, its cosine and its sine,
with amplitude one; a function on the sphere has one (`n_parts`). All first parts come before all
second parts. With `m` functions the kernel gives each the weight ``1 / m`` (a function chosen
again is repeated), so that a linear model on the kernel is one on these columns with its penalty
multiplied by `m`. Arrays may be of any array-API library; the host does not wait for a device.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner.engine.places import cast, convert, is_host, namespace, on_cuda, wide_dtype, zeros
from bochner.engine.replay import Replayed
from bochner.linear.dual_set import project_onto_dual_set
from bochner.linear.growing import GrowingColumns
from bochner.linear.newton import newton_steps
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import SquaredHingeSolution, solve_squared_hinge
from bochner.targets import Target

DualUpdate = Literal["corrective", "gradient"]

NEWTON_STEPS = 4  # on a device, from a warm start; the damped move does not need more
_MOST_NEWTON_STEPS, _TOLERANCE = 12, 1e-6  # on the host, which checks for convergence
_EXACT, _STRETCH = 128, 1.25  # number of functions up to which penalties are exact; see _steady
MOST_REPLAYED = 10**10  # of n D^2; beyond this, we estimate, the products cost more than syncing


class DataPlayer(Protocol):
    """Interface of a data player, as the rounds of a game use it."""

    @property
    def coefficients(self) -> Any:
        """Coefficients of the rows, of shape (n, k)."""

    def value(self, potential: Any) -> Any:
        """Return the value of the coefficients, optimally scaled, if `potential` is the peak."""

    def move(self, columns: Any) -> Any:
        """Answer new functions; return the optimum on all functions, or None if unknown."""

    def resume(self, columns: Any, coefficients: Any) -> None:
        """Continue with the functions and the coefficients of an earlier game."""


def columns_of(target: Target, y: Any) -> Any:
    """Return signs for two classes, one column per class for more, numbers for regression."""
    return target.columns_to_predict(y)


def make_player(
    target: Target,
    columns: Any,
    update: DualUpdate,
    *,
    damping: float,
    strength: float,
    C: float = 1.0,
    n_parts: int = 2,
    rescale: bool = True,
    capacity: int = 0,
) -> DataPlayer:
    """Make the player for the columns of :func:`columns_of`, on their device.

    It has dual weights for classes, one column per class against the rest if there are more than
    two, and residuals for numbers. With `rescale` the corrective update uses residuals for more
    than two classes too, which did better than rescaled weights of each class.
    """
    many = target.classes is not None and len(target.classes) > 2
    margin = target.classes is not None and not (many and rescale and update == "corrective")
    columns = 2 * columns - 1 if many and margin else columns
    if update == "gradient":
        if margin:
            return GradientMargin(columns, C=C, step=damping, n_parts=n_parts)
        return GradientResidual(columns, step=damping, n_parts=n_parts)
    how: dict[str, Any] = {"strength": strength, "damping": damping, "n_parts": n_parts}
    if margin:
        return CorrectiveMargin(columns, **how, rescale=rescale, capacity=capacity)
    return CorrectiveResidual(columns, **how)


class _DualWeights:
    """Dual weights of labels, both of shape (n, k)."""

    signs: Any
    weights: Any

    @property
    def coefficients(self) -> Any:
        return self.weights * self.signs

    def resume(self, columns: Any, coefficients: Any) -> None:
        self.weights = convert(coefficients, self.signs) * self.signs


class CorrectiveMargin(_DualWeights):
    r"""Dual weights that move a fraction of the way to those of a squared-hinge model.

    The model is :math:`\min_w \frac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i))^2` on the
    functions so far, with :math:`C = \mathrm{strength} / n`, and
    :math:`\alpha \leftarrow (1 - h) \alpha + h\, \alpha_{\mathrm{svm}}`.

    The weights are kept at mean one; without `rescale` they have the scale of the model, and start
    with the largest in :math:`[0, C]` for which :math:`y \cdot \alpha = 0`. Room for `capacity`
    columns is allocated at first.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.players import CorrectiveMargin
    >>> x = np.array([-2.0, -0.1, 0.1, 2.0])
    >>> player = CorrectiveMargin(np.sign(x)[:, None], strength=100.0, damping=0.5)
    >>> objective = player.move(np.column_stack([np.cos(x), np.sin(x)]))
    >>> player.weights.ravel().round(2).tolist()          # heavier near the boundary
    [0.5, 1.5, 1.5, 0.5]
    """

    def __init__(
        self,
        signs: Any,
        *,
        strength: float,
        damping: float,
        n_parts: int = 2,
        rescale: bool = True,
        capacity: int = 0,
    ) -> None:
        self._xp, self.signs = namespace(signs), signs
        self.damping, self.n_parts, self.rescale = damping, n_parts, rescale
        self.C = strength / signs.shape[0]
        self.weights = _balanced(signs) if rescale else _largest(signs, self.C)
        self._columns = GrowingColumns(signs.shape[0], capacity)
        self._solution: SquaredHingeSolution | None = None
        self._replayed: _ReplayedNewton | None = None

    def value(self, potential: Any) -> Any:
        total, squares = self._xp.sum(self.weights), self._xp.sum(self.weights**2)
        return _best_scaled(total, potential + squares / (2 * self.C))

    def move(self, columns: Any) -> Any:
        m = self._columns.append(columns).n_columns // self.n_parts
        room = self._columns.room
        if on_cuda(columns) and room.shape[0] * room.shape[1] ** 2 <= MOST_REPLAYED:
            if self._replayed is None or self._replayed.features is not room:
                before = None if self._replayed is None else self._replayed.V
                how = self.C, self.damping, self.rescale
                self._replayed = _ReplayedNewton(room, self.signs, *how, before)
            self.weights, objective = self._replayed(self.weights, m)
            return objective
        looks = is_host(columns)
        with warnings.catch_warnings():
            # Convergence is not needed: the weights only move towards the solution.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._solution = solution = solve_squared_hinge(
                self._columns.array,
                self.signs,
                self.C / m,
                start=self._solution,
                tol=_TOLERANCE if looks else None,
                max_steps=_MOST_NEWTON_STEPS if looks else NEWTON_STEPS,
            )
        square = self._xp.sum(solution.coefficients**2)
        self.weights, objective = weights_towards(
            self.weights, solution.margins, square, m, self.C, self.damping, self.rescale
        )
        return objective

    def resume(self, columns: Any, coefficients: Any) -> None:
        self._columns.append(columns)
        super().resume(columns, coefficients)


class _ReplayedNewton:
    """The corrective move on a GPU, always on all allocated columns.

    Every round then does the same work; the columns still to come are zero and change nothing.
    """

    def __init__(
        self, features: Any, signs: Any, C: float, damping: float, rescale: bool, before: Any
    ) -> None:
        self.features = features
        shape = (signs.shape[1], features.shape[1] + 1)
        self.V = zeros(shape, features, wide_dtype(features))
        if before is not None:  # there was less room
            self.V[:, : before.shape[1] - 1], self.V[:, -1] = before[:, :-1], before[:, -1]
        self._move = Replayed(partial(_newton_move, rescale), (features, signs, C, damping))

    def __call__(self, weights: Any, m: int) -> tuple[Any, Any]:
        weights, self.V, objective = self._move(weights, self.V, float(m))
        return weights, objective


def _newton_move(
    rescale: bool,
    features: Any,
    signs: Any,
    C: Any,
    damping: Any,
    weights: Any,
    V: Any,
    m: Any,
) -> tuple[Any, Any, Any]:
    """Take Newton steps from `V`, and move the weights towards the result."""
    V, margins = newton_steps(features, signs, C / m, V, NEWTON_STEPS)
    square = namespace(V).sum(V[:, :-1] ** 2)
    weights, objective = weights_towards(weights, margins, square, m, C, damping, rescale)
    return weights, V, objective


def weights_towards(
    weights: Any, margins: Any, square: Any, m: Any, C: Any, damping: Any, rescale: bool
) -> tuple[Any, Any]:
    """Return weights moved a fraction of the way to those of a model, and its objective."""
    xp = namespace(margins)
    lacking = xp.maximum(1 - margins, xp.zeros_like(margins))
    scale = xp.sum(weights) / _positive(xp.sum(lacking)) if rescale else 2 * C
    objective = m * square / 2 + C * xp.sum(lacking**2)
    return (1 - damping) * weights + damping * (scale * lacking), objective


class GradientMargin(_DualWeights):
    r"""Dual weights in :math:`K = \{0 \le \alpha_i \le C, y \cdot \alpha = 0\}`, Algorithm 2.

    For each new function :math:`\phi` in turn, one step of projected gradient ascent on the value
    of the game is taken,

    .. math::

        \alpha \leftarrow \Pi_K\Bigl(\alpha + \eta
            \bigl(1 - y_i \mathrm{Re}(\bar c\, \phi(x_i))\bigr)\Bigr), \qquad
        c = \sum_j \alpha_j y_j \phi(x_j), \qquad
        \eta = \kappa\, p \Big/ \sum_i |\phi(x_i)|^2,

    with `p` the number of its parts (for a wave :math:`\eta = 2 \kappa / n`) and the step
    :math:`\kappa`. Without the projection :math:`\kappa = 1` would bring :math:`c` to about zero.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.players import GradientMargin
    >>> x = np.array([-2.0, -0.1, 0.1, 2.0])
    >>> player = GradientMargin(np.sign(x)[:, None], C=1.0, step=0.5)
    >>> player.move(np.column_stack([np.cos(x), np.sin(x)]))
    >>> player.weights.ravel().round(2).tolist()
    [0.79, 1.0, 1.0, 0.79]
    """

    def __init__(self, signs: Any, *, C: float, step: float, n_parts: int = 2) -> None:
        self.signs, self.C, self.step, self.n_parts = signs, C, step, n_parts
        self.weights = _largest(signs, C)
        self._ascend = Replayed(partial(_ascend, n_parts), (signs, C, step))

    def value(self, potential: Any) -> Any:
        # The box forbids larger weights, so that they can only be scaled down.
        xp = namespace(self.signs)
        total = xp.sum(self.weights)
        share = total / _positive(xp.maximum(total + 0 * potential, potential))
        return share * total - share**2 * potential / 2

    def move(self, columns: Any) -> None:
        (self.weights,) = self._ascend(self.weights, columns)


def _ascend(n_parts: int, signs: Any, C: Any, step: Any, weights: Any, columns: Any) -> tuple[Any]:
    for function in _functions(columns, n_parts):
        slope = 1 - signs * (function @ (function.T @ cast(weights * signs, function.dtype)))
        weights = project_onto_dual_set(weights + step / _size(function) * slope, signs, C)
    return (weights,)


class _Residuals:
    """Residuals of centred targets, both of shape (n, k)."""

    def __init__(self, targets: Any) -> None:
        self.targets = self.coefficients = _centred(targets)

    def resume(self, columns: Any, coefficients: Any) -> None:
        self.coefficients = convert(coefficients, self.targets)


class CorrectiveResidual(_Residuals):
    r"""Residuals that move a fraction of the way to those of a ridge regression.

    The ridge regression is on the functions so far,
    :math:`\min_{w, b} \frac12 |w|^2 + C \sum_i (y_i - f(x_i))^2` with
    :math:`C = \mathrm{strength} / n`, for every column of targets. Beyond 128 functions the
    penalty may be up to a fifth too small, so that the objective is a little above the optimum.
    """

    def __init__(self, targets: Any, *, strength: float, damping: float, n_parts: int = 2) -> None:
        super().__init__(targets)
        self.C, self.damping, self.n_parts = strength / targets.shape[0], damping, n_parts
        self._ridge = GrowingRidge(self.targets)

    def value(self, potential: Any) -> Any:
        xp, A = namespace(self.targets), self.coefficients
        return _best_scaled(xp.sum(A * self.targets), potential + xp.sum(A**2) / (2 * self.C))

    def move(self, columns: Any) -> Any:
        m = self._ridge.append(columns).n_features // self.n_parts
        residual, square = self._ridge.residuals_and_square(_steady(m) / (2 * self.C))
        self.coefficients = (1 - self.damping) * self.coefficients + self.damping * residual
        return m * square / 2 + self.C * namespace(residual).sum(residual**2)

    def resume(self, columns: Any, coefficients: Any) -> None:
        self._ridge.append(columns)
        super().resume(columns, coefficients)


class GradientResidual(_Residuals):
    r"""Residuals from which a fraction of the projection onto each new function is subtracted.

    :math:`A \leftarrow A - \kappa\, P A` with `P` the projection onto the centred function; for a
    wave, approximately that onto its centred cosine and sine (matching pursuit with shrinkage).
    """

    def __init__(self, targets: Any, *, step: float, n_parts: int = 2) -> None:
        super().__init__(targets)
        self.step, self.n_parts = step, n_parts

    def value(self, potential: Any) -> Any:
        # Without a linear model there is no penalty: this is the value for an infinite C.
        A = self.coefficients
        return _best_scaled(namespace(A).sum(A * self.targets), potential)

    def move(self, columns: Any) -> None:
        for function in map(_centred, _functions(columns, self.n_parts)):
            part = function @ (function.T @ cast(self.coefficients, function.dtype))
            self.coefficients = self.coefficients - self.step / _size(function) * part


def _steady(m: int) -> float:
    """Return a number of functions that stays the same while `m` grows by a quarter.

    A new penalty in each round would need a new Cholesky factor of the ridge regression.
    """
    return m if m <= _EXACT else _EXACT * _STRETCH ** int(np.log(m / _EXACT) / np.log(_STRETCH))


def _functions(columns: Any, n_parts: int) -> Iterator[Any]:
    """Yield the parts of each function in turn."""
    m = columns.shape[1] // n_parts
    return (columns[:, j::m] for j in range(m))


def _size(function: Any) -> Any:
    """Return the mean squared norm of a function's parts: n / 2 for a wave (cos^2 + sin^2 = 1)."""
    n, n_parts = function.shape
    return n / 2 if n_parts == 2 else _positive(namespace(function).sum(function**2))


def _centred(columns: Any) -> Any:
    return columns - namespace(columns).mean(columns, axis=0)


def _largest(signs: Any, C: float) -> Any:
    """Return the largest weights of the dual set."""
    return project_onto_dual_set(namespace(signs).zeros_like(signs) + C, signs, C)


def _balanced(signs: Any) -> Any:
    """Return weights of mean one with equal sums over both signs, column by column."""
    xp = namespace(signs)
    positive = xp.mean((1 + signs) / 2, axis=0)
    # If there is one sign only, it takes all the weight.
    share = xp.where(signs > 0, positive, 1 - positive)
    both = (positive > 0) & (positive < 1)
    return 1 / xp.where(both, 2 * share, xp.ones_like(share))


def _best_scaled(linear: Any, quadratic: Any) -> Any:
    """Return the maximum over ``c`` of ``c * linear - c^2 * quadratic / 2``."""
    return linear**2 / (2 * _positive(quadratic))


def _positive(value: Any) -> Any:
    xp = namespace(value)
    return xp.where(value > 0, value, xp.ones_like(value))
