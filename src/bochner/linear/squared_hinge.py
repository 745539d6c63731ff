r"""Linear support vector machines with the squared hinge loss, many at once, in the primal.

For each column `k` of labels :math:`y_{ik} = \pm 1`, the problem is

.. math:: \min_{w, b} \; \frac{1}{2} |w|^2
          + C \sum_i s_i \max(0, 1 - y_{ik} (\phi_i \cdot w + b))^2 .

It is solved by Newton's method (:mod:`bochner.linear.newton`) with directions from
:mod:`bochner.linear.directions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bochner.engine.places import cast, convert, is_host, machine_epsilon, namespace
from bochner.engine.replay import Replayed
from bochner.linear.design import Design, check_signs, positive
from bochner.linear.directions import (
    DenseDevice,
    DenseHost,
    KeptGrams,
    Method,
    choose_directions,
)
from bochner.linear.newton import (
    Newton,
    are_in_kernels,
    blind_steps,
    newton_steps_of_several,
)

_MOST_REPLAYED = 500  # features up to which Newton steps on a GPU are recorded; an estimate


@dataclass(frozen=True)
class SquaredHingeSolution:
    r"""Minimiser of squared-hinge problems, one per column.

    Attributes
    ----------
    coefficients : array of shape (D, k)
        Coefficients, in the dtype of the features.
    intercepts : array of shape (k,)
        Intercepts; zero without `fit_intercept`.
    margins : array of shape (n, k)
        Margins :math:`y_{ik} (\phi_i \cdot w_k + b_k)` of the training rows.
    n_steps : int
        Number of Newton steps taken.
    optimality : float or None
        Norm of the gradient relative to its norm at zero, the largest over the columns. None with
        ``tol=None``, when nothing is measured.
    sample_weight : array of shape (n,) or None
        Weights of the rows, as given.

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
    _kept: KeptGrams | None = field(default=None, repr=False, compare=False)

    def duals(self, C: float) -> Any:
        r"""Return the dual weights :math:`\alpha_i = 2 C s_i \max(0, 1 - \mathrm{margin}_i)`.

        At the optimum, :math:`w = \sum_i \alpha_i y_i \phi_i`, and with an intercept
        :math:`\sum_i \alpha_i y_i = 0`.

        Parameters
        ----------
        C : float
            Value that the problem was solved with.

        Returns
        -------
        array of shape (n, k)
        """
        alpha = 2 * C * positive(namespace(self.margins), 1 - self.margins)
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
    r"""Solve squared-hinge support vector machines on given features, one per column of signs.

    Parameters
    ----------
    features : array of shape (n, D)
        Features in float32 or float64; NumPy, PyTorch, or another array-API library. Products with
        the features are computed in their dtype, everything of size `D` in float64.
    signs : array of shape (n,) or (n, k)
        Labels, -1 or +1, one problem per column.
    C : float
        Weight of the loss, greater than 0.
    start : SquaredHingeSolution, optional
        Earlier solution to start from. It may have fewer features, if the others have been
        appended after them since; in NumPy its Gram matrices are then extended rather than
        recomputed. A solution of another problem works too: it costs time but never changes the
        result.
    sample_weight : array of shape (n,), optional
        Weights :math:`s_i \ge 0`; an integer weight is that many copies of the row.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    tol : float or None, default=1e-6
        Tolerance for both the norm of the gradient relative to its norm at zero, and the predicted
        decrease of the objective relative to the objective. A column is also done when that
        decrease is lost in the rounding of the features' dtype. None takes `max_steps` steps
        without any checks: on a device the host then never waits.
    max_steps : int, default=50
        Maximum number of Newton steps. Ten are usually enough.
    method : {"auto", "dense", "conjugate", "rows"}, default="auto"
        How the direction is found, see :mod:`bochner.linear.directions`.

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
    """Solve for several `C`, each starting from the solution before; Gram matrices are shared.

    Parameters
    ----------
    Cs : sequence of float
        Values of `C`, solved from the smallest to the largest.
    features, signs, start, sample_weight, fit_intercept, tol, max_steps, method
        As for :func:`solve_squared_hinge`; `start` is for the smallest `C`.

    Returns
    -------
    list of SquaredHingeSolution
        Solutions in the order of `Cs`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import squared_hinge_path
    >>> features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> path = squared_hinge_path(features, np.array([-1, -1, 1, 1]), [0.1, 1.0])
    >>> [round(float(solution.coefficients[0, 0]), 3) for solution in path]
    [0.4, 0.8]
    """
    design = Design.of(features, sample_weight, fit_intercept)
    Y = _sign_rows(signs, design)
    for C in Cs:
        if not (np.isfinite(C) and C > 0):
            raise ValueError(f"C must be a finite number greater than 0, got {C!r}.")
    if max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, got {max_steps!r}.")
    directions = choose_directions(method, design, Y.shape[0], growing=start is not None)
    V = _start(start, design, Y.shape[0])
    margins = Y * design.product(V)
    if isinstance(directions, DenseHost) and start is not None and _follows(start, margins):
        directions.take_over(start._kept)
    # Small problems on a GPU: the recorded steps are replayed for every C.
    step = None
    if tol is None and isinstance(directions, DenseDevice) and design.size <= _MOST_REPLAYED:
        steps = partial(blind_steps, fit_intercept, max_steps)
        step = Replayed(steps, (design.features, design.weights, Y))
    solutions: list[Any] = [None] * len(Cs)
    for index in sorted(range(len(Cs)), key=lambda i: Cs[i]):
        C = float(Cs[index])
        if step is None:
            newton = Newton(design, Y, C, directions)
            V, margins, n_steps, optimality = newton.run(V, margins, tol, max_steps)
        else:
            n_steps, optimality = max_steps, None
            V, margins = step(V, margins, C)
        solution = _solution(design, V, margins, n_steps, optimality)
        if isinstance(directions, DenseHost):
            solution = replace(solution, _kept=directions.keep())
        solutions[index] = solution
    return solutions


def squared_hinge_paths(
    features: Sequence[Any], signs: Any, Cs: Sequence[float], *, n_steps: int
) -> list[list[SquaredHingeSolution]]:
    """Run :func:`squared_hinge_path` for each of several features, in a fixed number of steps.

    Every `C` takes `n_steps` steps, without checks. With one column of signs on a GPU, all
    problems are solved together.
    """
    designs = [Design.of(each, None, True) for each in features]
    Y, first = _sign_rows(signs, designs[0]), designs[0]
    few = first.size <= _MOST_REPLAYED and len(designs) > 1
    if not few or not are_in_kernels(designs, Y):
        options: dict[str, Any] = {"tol": None, "max_steps": n_steps}
        return [squared_hinge_path(each, signs, Cs, **options) for each in features]
    steps = Replayed(partial(_path_steps, n_steps), (Y.T, *(each.features for each in designs)))
    V = first.zeros(len(designs))
    solutions: list[list[Any]] = [[None] * len(Cs) for _ in designs]
    for index in sorted(range(len(Cs)), key=lambda i: Cs[i]):
        V, margins = steps(V, float(Cs[index]))
        for k, design in enumerate(designs):
            found = V[k : k + 1, :], margins[k : k + 1, :]
            solutions[k][index] = _solution(design, *found, n_steps, None)
    return solutions


def _path_steps(n_steps: int, signs: Any, *arguments: Any) -> tuple[Any, Any]:
    *features, V, C = arguments
    return newton_steps_of_several(n_steps, signs, C, V, *features)


def _solution(
    design: Design, V: Any, margins: Any, n_steps: int, optimality: float | None
) -> SquaredHingeSolution:
    V = cast(V, design.features.dtype)
    intercepts = V[:, design.D] if design.fit_intercept else design.xp.zeros_like(V[:, 0])
    return SquaredHingeSolution(
        V[:, : design.D].T, intercepts, margins.T, n_steps, optimality, design.weights
    )


def _start(start: SquaredHingeSolution | None, design: Design, k: int) -> Any:
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


def _sign_rows(signs: Any, design: Design) -> Any:
    signs = convert(signs, design.features)
    if len(signs.shape) == 1:
        signs = signs[:, None]
    if len(signs.shape) != 2 or signs.shape[0] != design.n or signs.shape[1] == 0:
        raise ValueError(
            f"signs must have shape ({design.n},) or ({design.n}, k), got {tuple(signs.shape)}."
        )
    if not design.host:
        return signs.T
    check_signs("signs", signs)
    return np.ascontiguousarray(signs.T)


def _follows(start: SquaredHingeSolution, margins: Any) -> bool:
    """Whether the features that `start` was solved with seem to be among those of `margins`.

    A false positive would make the Newton directions worse, but gradients and steps, and thus the
    solution, come from the features themselves.
    """
    if not is_host(start.margins) or start.margins.shape != margins.T.shape:
        return False
    rounding = 1e3 * machine_epsilon(margins.dtype, np) * (1 + np.abs(margins).max())
    return bool(np.abs(start.margins.T - margins).max() <= rounding)
