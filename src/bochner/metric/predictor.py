r"""Ridge regression on Fourier features, judged on held-out rows, and its gradients.

.. math:: f_k(x) = \sum_m a_{mk} \cos \langle w_m, x \rangle + b_{mk} \sin \langle w_m, x \rangle

It is fitted from sums over blocks of rows: no array of all rows by all features is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import cast, convert, namespace, to_numpy, wide_dtype
from bochner.linear.normal_equations import NormalEquations, Solution
from bochner.linear.search import search_by_slope
from bochner.targets import Target, unit_of

PENALTIES = tuple(10.0**k for k in range(0, -10, -1))  # alpha per row
_MOST_FUNCTIONS = 16  # the gradients of more functions are those of 16 random combinations

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Predictor:
    """A fitted ridge regression, with its settings and its results on held-out rows.

    `error` is the mean squared error relative to that of the mean, `score` is the accuracy for
    classes and one minus the error for numbers, and `losses` are the squared errors row by row.
    """

    frequencies: Float
    coefficients: NDArray[np.complex128]
    penalty: float
    error: float
    score: float
    losses: Float

    def gradients(self, X: Any, *, diagonal: bool, random_state: Any, **options: Any) -> Float:
        """Return the sum over rows of the outer products of the gradients; see the engine."""
        c = self.coefficients
        if c.shape[1] > _MOST_FUNCTIONS:
            # the expectation of the sum over random combinations is the sum over all functions
            mix = random_state.standard_normal((c.shape[1], _MOST_FUNCTIONS))
            c = c @ (mix / _MOST_FUNCTIONS**0.5)
        result = engine.gradient_outer_product(
            X, self.frequencies, c, diagonal=diagonal, **options
        )
        return to_numpy(result)


@dataclass(frozen=True)
class Rows:
    """Rows with their targets as columns; `classes` says what these stand for."""

    X: Any
    columns: Float
    classes: bool

    def first(self, n_rows: int) -> Rows:
        """Return the first `n_rows` rows."""
        return Rows(self.X[:n_rows, :], self.columns[:n_rows], self.classes)

    @cached_property
    def spread(self) -> float:
        """Mean squared distance of the targets from their mean."""
        return float(np.mean((self.columns - self.columns.mean(axis=0)) ** 2))


def standard_columns(target: Target, y: NDArray[Any]) -> Float:
    """Return the columns to fit: one per class, one for two classes; numbers of variance one."""
    columns = target.raw_columns(y)
    if target.classes is not None:
        return columns
    numbers = columns[:, :-1] / unit_of(columns[:, :-1])  # squares of large ones overflow
    numbers = numbers - numbers.mean(axis=0)
    spread = numbers.std(axis=0)
    if not spread.any():
        raise ValueError("y is constant: there is nothing to learn from.")
    return np.asarray(numbers / np.where(spread > 0, spread, 1.0))


def fit_predictor(
    W: Float, rows: Rows, held: Rows, start: float = PENALTIES[3], **options: Any
) -> Predictor:
    """Fit a ridge regression with the best penalty on held-out rows, searched from `start`."""
    equations = add_up(rows.X, rows.columns, W, **options)
    features = engine.features(held.X, W, **options)  # held-out rows are few
    found: dict[float, tuple[Any, float, float, Float]] = {}

    def judge(penalty: float) -> tuple[float, float]:
        solution, slopes = equations.solve_with_slope(penalty * equations.weight)
        found[penalty] = solution[0], *_judge(held, features, solution)
        # penalties become weaker along the list
        return -found[penalty][1], _error_slope(held, features, solution, slopes)

    penalty = search_by_slope(PENALTIES, start, judge)
    coefficients, error, score, losses = found[penalty]
    return Predictor(W, _complex(coefficients), penalty, error, score, losses)


def refit(W: Float, X: Any, columns: Float, penalty: float, **options: Any) -> Predictor:
    """Fit the ridge regression with a known penalty, on all rows."""
    equations = add_up(X, columns, W, **options)
    coefficients, _ = equations.solve(penalty * equations.weight)
    return Predictor(W, _complex(coefficients), penalty, float("nan"), float("nan"), np.zeros(0))


def add_up(X: Any, columns: Float, W: Float, **options: Any) -> NormalEquations:
    """Return the sums over rows that the regression needs, wherever the rows are."""
    return NormalEquations.from_map(partial(engine.features, W=W, **options), X, columns)


def _complex(coefficients: Any) -> NDArray[np.complex128]:
    """Convert coefficients of features, cosines before sines, to those of waves of amplitude 1."""
    both = to_numpy(coefficients).astype(np.float64)
    N = len(both) // 2
    return np.asarray((both[:N] + 1j * both[N:]) * N**-0.5)


def _values(features: Any, solution: Solution) -> Any:
    coefficients, intercepts = solution
    return cast(features, wide_dtype(features)) @ coefficients + intercepts


def _error_slope(held: Rows, features: Any, solution: Solution, slopes: Solution) -> float:
    """Return how fast the squared error grows if the solution changes by `slopes`."""
    values, changes = (_values(features, each) for each in (solution, slopes))
    return float(namespace(values).mean((values - convert(held.columns, values)) * changes))


def _judge(held: Rows, features: Any, solution: Solution) -> tuple[float, float, Float]:
    """Return relative squared error, score, and squared errors on held-out rows."""
    xp, values = namespace(features), _values(features, solution)
    targets = convert(held.columns, values)
    losses = to_numpy(xp.mean((values - targets) ** 2, axis=1))
    error = float(losses.mean()) / held.spread if held.spread else 1.0
    if not held.classes:
        return error, 1 - error, losses
    right = cast(_decisions(xp, values) == _decisions(xp, targets), xp.int64)
    return error, int(xp.sum(right)) / len(losses), losses


def _decisions(xp: Any, values: Any) -> Any:
    return values[:, 0] > 0 if values.shape[1] == 1 else xp.argmax(values, axis=1)
