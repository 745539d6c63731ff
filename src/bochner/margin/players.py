r"""The data player of the margin game: coefficients against which features are chosen.

A feature is good when it correlates with the coefficients `A`: the potential of a frequency is
:math:`v(w) = \sum_k |\sum_i A_{ik} e^{i \langle w, x_i \rangle}|^2`. For two classes
:math:`A = \alpha y` with the dual weights :math:`\alpha` of a support vector machine; for numbers,
and for many classes coded as columns, `A` is the residual of a regression. After each choice of
features the player answers, by one of four moves:

=================  ==========================================  =================================
..                 towards the optimum on all features so far  a step along the gradient
=================  ==========================================  =================================
dual weights       :class:`CorrectiveMargin`                   :class:`GradientMargin`
residuals          :class:`CorrectiveResidual`                 :class:`GradientResidual`
=================  ==========================================  =================================

New features come as columns of pairs, all cosines before all sines, with amplitude one. With `m`
frequencies the kernel gives each the weight ``1 / m``, so that a machine on the kernel is one on
these columns with its penalty multiplied by `m`. Arrays may be of any array-API library; the host
does not wait for a device.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Protocol

from sklearn.exceptions import ConvergenceWarning

from bochner.engine.places import cast, convert, is_host, namespace, on_cuda, wide_dtype, zeros
from bochner.engine.replay import Replayed
from bochner.linear.dual_set import project_onto_dual_set
from bochner.linear.newton import newton_steps
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import SquaredHingeSolution, solve_squared_hinge

_NEWTON_STEPS = 4  # on a GPU, from a warm start; the damped move does not need more
_MOST_NEWTON_STEPS, _TOLERANCE = 12, 1e-6  # elsewhere
_MOST_REPLAYED = 10**10  # of n D^2; beyond this, we estimate, the products count more than asking


class DataPlayer(Protocol):
    """What the rounds need."""

    @property
    def coefficients(self) -> Any:
        """Of shape (n, k)."""

    def value(self, potential: Any) -> Any:
        """What the coefficients, scaled at best, are worth when `potential` is the peak."""

    def move(self, columns: Any) -> Any:
        """Answer to new features; returns the optimum on all features, or None if unknown."""

    def resume(self, columns: Any, coefficients: Any) -> None:
        """Go on with these features, and with the coefficients of an earlier game."""


class CorrectiveMargin:
    r"""Dual weights that go a share of the way to those of a squared-hinge machine.

    The machine is :math:`\min_w \frac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i))^2` on the
    features so far, with :math:`C = \mathrm{strength} / n`; weights are kept at mean one, and
    :math:`\alpha \leftarrow (1 - h) \alpha + h\, \alpha_{\mathrm{svm}}`.

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

    def __init__(self, signs: Any, *, strength: float, damping: float) -> None:
        self._xp, self.signs, self.damping = namespace(signs), signs, damping
        self.C = strength / signs.shape[0]
        self.weights = _balanced(signs)
        self._features = GrowingColumns(signs.shape[0])
        self._solution: SquaredHingeSolution | None = None
        self._replayed: _ReplayedNewton | None = None

    @property
    def coefficients(self) -> Any:
        return self.weights * self.signs

    def value(self, potential: Any) -> Any:
        total, squares = self._xp.sum(self.weights), self._xp.sum(self.weights**2)
        return _best_scaled(total, potential + squares / (2 * self.C))

    def expect(self, n_columns: int) -> None:
        """Make room for that many columns beyond those there are."""
        self._features.reserve(self._features.n_columns + n_columns)

    def move(self, columns: Any) -> Any:
        m = self._features.append(columns).n_columns // 2
        room = self._features.room
        if on_cuda(columns) and room.shape[0] * room.shape[1] ** 2 <= _MOST_REPLAYED:
            if self._replayed is None or self._replayed.features is not room:
                before = None if self._replayed is None else self._replayed.V
                self._replayed = _ReplayedNewton(room, self.signs, self.C, self.damping, before)
            self.weights, objective = self._replayed(self.weights, m)
            return objective
        with warnings.catch_warnings():
            # As far as it came will do: the weights only move towards it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._solution = solution = solve_squared_hinge(
                self._features.array,
                self.signs,
                self.C / m,
                start=self._solution,
                tol=_TOLERANCE if is_host(columns) else None,
                max_steps=_MOST_NEWTON_STEPS,
            )
        square = self._xp.sum(solution.coefficients**2)
        self.weights, objective = _towards(
            self.weights, solution.margins, square, m, self.C, self.damping
        )
        return objective

    def resume(self, columns: Any, coefficients: Any) -> None:
        self._features.append(columns)
        self.weights = convert(coefficients, self.signs) * self.signs


class _ReplayedNewton:
    """The corrective move on a GPU: always on all columns there is room for, so that it is the
    same work in every round; those to come are zero and change nothing."""

    def __init__(
        self, features: Any, signs: Any, C: float, damping: float, before: Any = None
    ) -> None:
        self.features = features
        shape = (signs.shape[1], features.shape[1] + 1)
        self.V = zeros(shape, features, wide_dtype(features))
        if before is not None:  # there was less room
            self.V[:, : before.shape[1] - 1], self.V[:, -1] = before[:, :-1], before[:, -1]
        self._move = Replayed(partial(_newton_move, features, signs, C, damping))

    def __call__(self, weights: Any, m: int) -> tuple[Any, Any]:
        weights, self.V, objective = self._move(weights, self.V, float(m))
        return weights, objective


def _newton_move(
    features: Any, signs: Any, C: float, damping: float, weights: Any, V: Any, m: Any
) -> tuple[Any, Any, Any]:
    """Newton steps from `V`, and the weights towards what they give."""
    V, margins = newton_steps(features, signs, C / m, V, _NEWTON_STEPS)
    square = namespace(V).sum(V[:, :-1] ** 2)
    weights, objective = _towards(weights, margins, square, m, C, damping)
    return weights, V, objective


def _towards(
    weights: Any, margins: Any, square: Any, m: Any, C: float, damping: float
) -> tuple[Any, Any]:
    """Weights a share of the way to those of a machine, and its objective."""
    xp = namespace(margins)
    lacking = xp.maximum(1 - margins, xp.zeros_like(margins))
    target = lacking * (xp.sum(weights) / _positive(xp, xp.sum(lacking)))
    objective = m * square / 2 + C * xp.sum(lacking**2)
    return (1 - damping) * weights + damping * target, objective


class GradientMargin:
    r"""Dual weights in :math:`K = \{0 \le \alpha_i \le C, y \cdot \alpha = 0\}`, Algorithm 2.

    Online gradient ascent: for each new frequency in turn, with
    :math:`F = \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle}`,

    .. math::

        \alpha \leftarrow \Pi_K\Bigl(\alpha + \tfrac{2 \kappa}{n}
            \bigl(1 - y_i \mathrm{Re}(\bar F e^{i \langle w, x_i \rangle})\bigr)\Bigr),

    where :math:`\kappa = 1` would remove the correlation with the new frequency in one step.

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

    def __init__(self, signs: Any, *, C: float, step: float) -> None:
        self._xp, self.signs, self.C, self.step = namespace(signs), signs, C, step
        full = self._xp.zeros_like(signs) + C
        self.weights = project_onto_dual_set(full, signs, C)
        self._ascend = Replayed(partial(_ascent, signs, C, 2 * step / signs.shape[0]))

    @property
    def coefficients(self) -> Any:
        return self.weights * self.signs

    def value(self, potential: Any) -> Any:
        # The box forbids larger weights, so that they are scaled down at most.
        xp, total = self._xp, self._xp.sum(self.weights)
        share = total / _positive(xp, xp.maximum(total + 0 * potential, potential))
        return share * total - share**2 * potential / 2

    def move(self, columns: Any) -> None:
        m = columns.shape[1] // 2
        for j in range(m):
            (self.weights,) = self._ascend(self.weights, columns[:, j::m])

    def resume(self, columns: Any, coefficients: Any) -> None:
        self.weights = convert(coefficients, self.signs) * self.signs


def _ascent(signs: Any, C: float, step: float, weights: Any, pair: Any) -> tuple[Any]:
    return (ascend(weights, signs, pair, step=step, C=C),)


def ascend(weights: Any, signs: Any, columns: Any, *, step: float, C: float) -> Any:
    r"""One step of projected gradient ascent on the game's value against a kernel.

    :math:`\alpha \leftarrow \Pi_K(\alpha + \eta (1 - y \, \Phi \Phi^T (\alpha y)))`, with the
    projection onto :math:`K = \{0 \le \alpha_i \le C, y \cdot \alpha = 0\}`.

    Parameters
    ----------
    weights, signs : arrays of shape (n, k)
        Dual weights and labels, one machine a column.
    columns : array of shape (n, p)
        The kernel's features.
    step : float
        The step size.
    C : float
        Upper limit of the weights.

    Returns
    -------
    array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.players import ascend
    >>> signs = np.array([[1.0], [-1.0]])
    >>> ascend(np.ones((2, 1)), signs, np.array([[1.0], [-1.0]]), step=0.25, C=1.0).ravel()
    array([0.75, 0.75])
    """
    slope = 1 - signs * (columns @ (columns.T @ cast(weights * signs, columns.dtype)))
    return project_onto_dual_set(weights + step * slope, signs, C)


class CorrectiveResidual:
    r"""The residual of a ridge regression on the features so far, or a share of the way to it.

    :math:`\min_{w, b} \frac12 |w|^2 + C \sum_i (y_i - f(x_i))^2` with
    :math:`C = \mathrm{strength} / n`, for every column of targets.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.players import CorrectiveResidual
    >>> x = np.linspace(-1, 1, 50)
    >>> player = CorrectiveResidual(np.sin(x)[:, None], strength=1e6, damping=1.0)
    >>> _ = player.move(np.column_stack([np.cos(x), np.sin(x)]))
    >>> bool(np.abs(player.coefficients).max() < 1e-4)
    True
    """

    def __init__(self, targets: Any, *, strength: float, damping: float) -> None:
        xp = self._xp = namespace(targets)
        self.C, self.damping = strength / targets.shape[0], damping
        self.targets = targets - xp.mean(targets, axis=0)
        self.coefficients = self.targets
        self._ridge = GrowingRidge(self.targets)

    def value(self, potential: Any) -> Any:
        xp, A = self._xp, self.coefficients
        return _best_scaled(xp.sum(A * self.targets), potential + xp.sum(A**2) / (2 * self.C))

    def move(self, columns: Any) -> Any:
        xp, m = self._xp, self._ridge.append(columns).n_features // 2
        penalty = m / (2 * self.C)
        coefficients, _ = self._ridge.solve(penalty)
        residual, square = self._ridge.residuals(penalty), xp.sum(coefficients**2)
        self.coefficients = (1 - self.damping) * self.coefficients + self.damping * residual
        return m * square / 2 + self.C * xp.sum(residual**2)

    def resume(self, columns: Any, coefficients: Any) -> None:
        self._ridge.append(columns)
        self.coefficients = convert(coefficients, self.targets)


class GradientResidual:
    r"""A residual out of which each new frequency takes a share of its part.

    :math:`A \leftarrow A - \kappa\, P A` with `P` about the projection onto the centred cosine
    and sine (matching pursuit with shrinkage).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.players import GradientResidual
    >>> x = np.linspace(-np.pi, np.pi, 101)[:-1]
    >>> player = GradientResidual(np.sin(x)[:, None], step=0.5)
    >>> player.move(np.column_stack([np.cos(x), np.sin(x)]))
    >>> bool(np.allclose(player.coefficients[:, 0], 0.5 * np.sin(x)))
    True
    """

    def __init__(self, targets: Any, *, step: float) -> None:
        xp = self._xp = namespace(targets)
        self.targets, self.step = targets - xp.mean(targets, axis=0), step
        self.coefficients = self.targets

    def value(self, potential: Any) -> Any:
        # Without a machine there is no penalty: the worth against an infinite C.
        return _best_scaled(self._xp.sum(self.coefficients * self.targets), potential)

    def move(self, columns: Any) -> None:
        xp, (n, width) = self._xp, columns.shape
        for j in range(width // 2):
            pair = columns[:, j :: width // 2]
            pair = pair - xp.mean(pair, axis=0)
            part = pair @ (pair.T @ cast(self.coefficients, pair.dtype))
            self.coefficients = self.coefficients - (2 * self.step / n) * part

    def resume(self, columns: Any, coefficients: Any) -> None:
        self.coefficients = convert(coefficients, self.targets)


class GrowingColumns:
    """Columns appended one block after the other, in room that doubles when it is full."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.n_columns = n_rows, 0
        self._wanted = 0
        self._store: Any = None
        self._room: Any = None

    @property
    def array(self) -> Any:
        """All columns, of shape (n, D); a view."""
        return self._store[: self.n_columns, :].T

    @property
    def room(self) -> Any:
        """The columns, and zeros where there is room for more; the same object until it grows."""
        return self._room

    def reserve(self, n_columns: int) -> None:
        """Room for that many columns, made with the next block."""
        self._wanted = n_columns

    def append(self, columns: Any) -> GrowingColumns:
        before, after = self.n_columns, self.n_columns + columns.shape[1]
        room = 0 if self._store is None else self._store.shape[0]
        if after > room:
            old = self._store
            shape = (max(after, 2 * room, self._wanted), self.n_rows)
            self._store = zeros(shape, columns, columns.dtype)
            if old is not None:
                self._store[:before, :] = old[:before, :]
            self._room = self._store.T
        self._store[before:after, :] = columns.T
        self.n_columns = after
        return self


def _balanced(signs: Any) -> Any:
    """Weights of mean one whose sum is the same on both sides, column by column."""
    xp = namespace(signs)
    positive = xp.mean((1 + signs) / 2, axis=0)
    # One side only: it takes all the weight.
    share = xp.where(signs > 0, positive, 1 - positive)
    both = (positive > 0) & (positive < 1)
    return 1 / xp.where(both, 2 * share, xp.ones_like(share))


def _best_scaled(linear: Any, quadratic: Any) -> Any:
    """The largest value over ``c`` of ``c * linear - c^2 * quadratic / 2``."""
    xp = namespace(quadratic)
    return linear**2 / (2 * _positive(xp, quadratic))


def _positive(xp: Any, value: Any) -> Any:
    return xp.where(value > 0, value, xp.ones_like(value))
