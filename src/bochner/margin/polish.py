r"""Moving all frequencies of a game together, so that the linear model on them fits better.

At the optimum of a penalised linear model, :math:`w = \sum_i a_i \phi_i`, the derivative of its
objective with respect to the frequencies follows from that of the Fourier potential of the
coefficients `a`: for the kernel that gives each of `m` waves the weight `1 / m`,

.. math:: \nabla_{w_j} J = -\frac{1}{2 m} \nabla v_a(w_j),

so that a step costs one model and one pass over the rows. More steps fit the training rows better,
but new rows worse if the labels are noisy: held-out rows decide how many steps are kept, if any.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bochner import engine
from bochner.engine.places import convert, is_device, to_numpy
from bochner.engine.summaries import rows_at
from bochner.linear.paired import is_clearly_lower
from bochner.linear.ridge import GrowingRidge
from bochner.linear.squared_hinge import solve_squared_hinge
from bochner.margin.looks import computed
from bochner.targets import Target

Float = NDArray[np.float64]

_FIRST_STEP, _LONGER, _SHORTER = 0.02, 1.3, 0.4  # of the frequencies' length, and its changes
_PATIENCE = 5  # steps without a better held-out loss


class Model:
    """The linear model on the waves of some frequencies, fitted to some rows.

    It is a support vector machine with the squared hinge for two classes, else a ridge regression;
    `strength` weighs the mean loss. `objective` is the minimum that it reaches, and
    `coefficients` are those of the rows there.
    """

    def __init__(
        self, rows: Any, columns: Any, W: NDArray[Any], strength: float, *, margin: bool, **o: Any
    ) -> None:
        self.W, self.margin, self.options, m = W, margin, o, W.shape[1]
        features = computed(engine.features(rows, W, scale=1.0, **o))
        C = strength / features.shape[0]
        if margin:
            with warnings.catch_warnings():  # convergence is not needed
                warnings.simplefilter("ignore", ConvergenceWarning)
                solution = solve_squared_hinge(features, columns, C / m)
            self.V, self.b = to_numpy(solution.coefficients), to_numpy(solution.intercepts)
            lacking = np.maximum(0, 1 - to_numpy(solution.margins))
            self.coefficients = 2 * C * lacking * to_numpy(columns)
        else:
            V, b = GrowingRidge(columns).append(features).solve(m / (2 * C))
            self.V, self.b = to_numpy(V), to_numpy(b)
            lacking = to_numpy(columns) - to_numpy(features) @ self.V - self.b
            self.coefficients = 2 * C * lacking
        self.objective = float(m * np.sum(self.V**2) / 2 + C * np.sum(lacking**2))

    def losses(self, rows: Any, columns: Any) -> Float:
        """Return the loss of every row."""
        features = to_numpy(computed(engine.features(rows, self.W, scale=1.0, **self.options)))
        fitted, columns = features @ self.V + self.b, to_numpy(columns)
        lacking = np.maximum(0, 1 - columns * fitted) if self.margin else columns - fitted
        return np.asarray(np.sum(lacking**2, axis=1), np.float64)


def polish(
    target: Target,
    rows: Any,
    columns: Any,
    used: NDArray[np.intp],
    held: NDArray[np.intp],
    W: NDArray[Any],
    n_steps: int,
    strength: float,
    **options: Any,
) -> NDArray[Any]:
    """Return the frequencies `W` after at most `n_steps` steps, or unchanged.

    `columns` are the targets of all `rows`; the model is fitted to those in `used` and judged on
    those in `held`. Steps that do not lower the objective are undone and followed by shorter ones.
    """
    two = target.classes is not None and len(target.classes) == 2
    X, Y, held_X, held_Y = (rows_at(A, some) for some in (used, held) for A in (rows, columns))
    how: dict[str, Any] = {"margin": two, **options}
    model = Model(X, Y, W, strength, **how)
    best, before = W, model.losses(held_X, held_Y)
    lowest, in_vain, length = before, 0, _FIRST_STEP
    for _ in range(n_steps):
        A = convert(model.coefficients, X) if is_device(X) else model.coefficients
        slope = to_numpy(engine.potential_and_gradient(X, model.W, A, **options)[1])
        unit = np.linalg.norm(model.W) / (np.linalg.norm(slope) or 1.0)
        moved = (model.W + length * unit * slope).astype(W.dtype)
        trial = Model(X, Y, moved, strength, **how)
        if trial.objective >= model.objective:
            length *= _SHORTER
            continue
        model, length = trial, length * _LONGER
        losses = model.losses(held_X, held_Y)
        in_vain += 1
        if losses.mean() < lowest.mean():
            best, lowest, in_vain = moved, losses, 0
        if in_vain == _PATIENCE:
            break
    return best if is_clearly_lower(lowest, before) else W
