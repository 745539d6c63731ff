r"""The data player of the game: the coefficients against which functions are chosen.

The potential of a function :math:`\phi` is :math:`v(\phi) = \sum_k (\sum_i A_{ik} \phi(x_i))^2`.
For classes ``A = alpha * signs``, one column for two classes and one a class for more, with dual
weights :math:`\alpha` of a support vector machine; for numbers ``A`` is a residual. Each round
ends with a move that makes the function just chosen less attractive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.linear.dual_set import project_onto_dual_set
from bochner.linear.squared_hinge import SquaredHingeSolution, solve_squared_hinge
from bochner.margin.players import ascend
from bochner.targets import Target

Float = NDArray[np.float64]
DualUpdate = Literal["gradient", "corrective"]


class DataPlayer(Protocol):
    """What the rounds need of either target."""

    @property
    def coefficients(self) -> Float:
        """The columns ``A``."""

    def terms(self, potential: float) -> dict[str, float]:
        """Numbers for the history, given the potential of the best function."""

    def move(self, column: Float, features: Callable[[], Float]) -> None:
        """Answer to a function with these values; `features` are all so far, weighted."""


def data_player(
    target: Target, y: NDArray[Any], update: DualUpdate, *, C: float, step: float
) -> DataPlayer:
    """The player for these labels."""
    if target.classes is None:
        return Residuals(target.columns_and_signs(y)[0], update, C=C, step=step)
    columns = target.raw_columns(y)
    signs = columns if columns.shape[1] == 1 else 2 * columns - 1
    return MarginDuals(signs, update, C=C, step=step)


class MarginDuals:
    r"""Dual weights :math:`\alpha` in :math:`K = \{0 \le \alpha_i \le C, \; y \cdot \alpha = 0\}`.

    ``update="gradient"``: one step of projected gradient ascent on the game's value,

    .. math::

        \alpha \leftarrow \Pi_K\bigl(\alpha + \eta\, (1 - y_i \phi(x_i) c)\bigr), \qquad
        c = \sum_j \alpha_j y_j \phi(x_j), \qquad \eta = \kappa \Big/ \sum_i \phi(x_i)^2,

    so that without the projection :math:`\kappa = 1` would bring :math:`c` to about zero.
    ``update="corrective"``: a share :math:`\kappa` of the way to the dual weights of a linear
    squared-hinge machine on the features so far; these have no upper limit.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.duals import MarginDuals
    >>> player = MarginDuals(np.array([[1.0], [1.0], [-1.0]]), "gradient", C=1.0, step=0.5)
    >>> player.alpha.ravel()
    array([0.5, 0.5, 1. ])
    """

    def __init__(self, signs: Float, update: DualUpdate, *, C: float, step: float) -> None:
        self.signs, self.C, self.step, self.update = signs, C, step, update
        self._solution: SquaredHingeSolution | None = None
        self.alpha: Float = project_onto_dual_set(np.full_like(signs, C), signs, C)

    @property
    def coefficients(self) -> Float:
        return self.alpha * self.signs

    def terms(self, potential: float) -> dict[str, float]:
        total = float(self.alpha.sum())
        shrunk = min(1.0, total / potential) if potential > 0 else 1.0
        return {"dual_sum": total, "value": shrunk * total - shrunk**2 * potential / 2}

    def move(self, column: Float, features: Callable[[], Float]) -> None:
        if self.update == "corrective":
            self._solution = solve_squared_hinge(
                features(), self.signs, self.C, start=self._solution
            )
            duals = self._solution.duals(self.C)
            self.alpha = (1 - self.step) * self.alpha + self.step * duals
            return
        rate = self.step / max(float(column @ column), np.finfo(np.float64).tiny)
        self.alpha = ascend(self.alpha, self.signs, column[:, None], step=rate, C=self.C)


class Residuals:
    r"""Residuals of a regression, in the place of :math:`\alpha y`.

    ``update="gradient"`` takes a share :math:`\kappa` of the residual's part along the function,
    centred, out of it (matching pursuit with shrinkage); ``update="corrective"`` goes that share
    of the way to the residual of a ridge fit on the features so far,
    :math:`\min_w \frac12 |w|^2 + C \sum_i (y_i - b - w \cdot \phi(x_i))^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.duals import Residuals
    >>> player = Residuals(np.array([[1.0], [0.0], [-1.0]]), "gradient", C=1.0, step=0.5)
    >>> player.move(np.array([2.0, 0.0, -2.0]), lambda: np.empty((3, 0)))
    >>> player.coefficients.ravel()
    array([ 0.5,  0. , -0.5])
    """

    def __init__(self, y: Float, update: DualUpdate, *, C: float, step: float) -> None:
        self.y, self.C, self.step, self.update = y, C, step, update
        self.coefficients: Float = y

    def terms(self, potential: float) -> dict[str, float]:
        return {"squared_residual": float((self.coefficients**2).sum())}

    def move(self, column: Float, features: Callable[[], Float]) -> None:
        if self.update == "gradient":
            centred = column - column.mean()
            size = max(float(centred @ centred), np.finfo(np.float64).tiny)
            fitted = np.outer(centred, centred @ self.coefficients) / size
            self.coefficients = self.coefficients - self.step * fitted
            return
        A = features()
        A = A - A.mean(axis=0)
        gram = A.T @ A + np.eye(A.shape[1]) / (2 * self.C)
        residual = self.y - A @ np.linalg.solve(gram, A.T @ self.y)
        self.coefficients = (1 - self.step) * self.coefficients + self.step * residual
