"""The linear machine of a comparison: by task, number of classes, and whether classes weigh alike.

Squared hinge for two classes, ridge otherwise, as in :mod:`bochner.models.linear_machine`;
here also with weights that make all classes count the same, for targets that are unbalanced.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight

from bochner.linear.squared_hinge import squared_hinge_path
from bochner.models.linear_machine import (
    MANY_CLASSES,
    NUMBERS,
    PENALTIES,
    RIDGES,
    TOLERANCE,
    TWO_CLASSES,
    Linear,
    Machine,
    one_column_a_class,
    one_sign,
)

Float = NDArray[np.float64]


def machine_for(n_classes: int | None, balanced: bool = False) -> Machine:
    """How to fit and judge a linear machine.

    Parameters
    ----------
    n_classes : int or None
        None for regression. Labels are -1 and +1 for two classes, 0, 1, .. for more.
    balanced : bool, default=False
        Whether every class weighs the same, in fitting and in the score.

    Examples
    --------
    >>> from bochner.models.comparison_machines import machine_for
    >>> machine_for(None).classes
    False
    """
    if n_classes is None:
        return NUMBERS
    if not balanced:
        return TWO_CLASSES if n_classes == 2 else MANY_CLASSES
    if n_classes == 2:
        return Machine(
            one_sign, balanced_hinge_path, PENALTIES, _balanced_accuracy_of_signs, _balanced_hinge
        )
    return Machine(
        one_column_a_class,
        balanced_ridge_path,
        RIDGES,
        _balanced_accuracy_of_classes,
        _balanced_accuracy_of_classes,
    )


def strength_to_C(strength: float, n_classes: int | None, n_rows: int) -> float:
    r"""The weight `C` of the summed loss beside :math:`|w|^2 / 2`.

    A machine of squares is given an ``alpha`` for each row, :math:`1 / (2 C n)`.

    Examples
    --------
    >>> from bochner.models.comparison_machines import strength_to_C
    >>> strength_to_C(0.01, 2, 50), strength_to_C(0.01, 3, 50)
    (0.01, 1.0)
    """
    return strength if n_classes == 2 else 1 / (2 * strength * n_rows)


def balanced_hinge_path(
    features: NDArray[Any], signs: Float, penalties: Sequence[float]
) -> Iterator[Linear]:
    """Squared-hinge machines for two classes that weigh the same, each from the last."""
    features = features.astype(np.float32, copy=False)
    weights = compute_sample_weight("balanced", signs[:, 0]).astype(np.float32)
    last = None
    for C in penalties:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # judged on held-out rows
            (last,) = squared_hinge_path(
                features, signs, [C], start=last, sample_weight=weights, tol=TOLERANCE
            )
        yield Linear(last.coefficients, last.intercepts)


def balanced_ridge_path(
    features: NDArray[Any], targets: Float, alphas: Sequence[float]
) -> Iterator[Linear]:
    r"""Least squares for classes that weigh the same, one machine for each alpha.

    .. math:: \min_{W, b} \sum_i s_i |y_i - W^\top x_i - b|^2 + \alpha n \|W\|^2
    """
    weights = compute_sample_weight("balanced", targets.argmax(axis=1))
    total = weights.sum()
    mean, target_mean = weights @ features / total, weights @ targets / total
    rows = np.sqrt(weights)[:, None] * (features - mean)
    gram = rows.T @ rows
    moments = rows.T @ (np.sqrt(weights)[:, None] * (targets - target_mean))
    diagonal = gram.diagonal().copy()
    for alpha in alphas:
        np.fill_diagonal(gram, diagonal + alpha * len(features))
        factor = linalg.cho_factor(gram, check_finite=False)
        coefficients = linalg.cho_solve(factor, moments, check_finite=False)
        yield Linear(coefficients, target_mean - mean @ coefficients)


def _balanced_mean(values: Float, y: NDArray[Any]) -> float:
    return float(np.mean([values[y == label].mean() for label in np.unique(y)]))


def _balanced_accuracy_of_signs(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    return _balanced_mean((np.where(decisions[:, 0] > 0, 1, -1) == y).astype(np.float64), y)


def _balanced_hinge(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    return -_balanced_mean(np.maximum(0, 1 - decisions[:, 0] * y).astype(np.float64), y)


def _balanced_accuracy_of_classes(decisions: NDArray[Any], y: NDArray[Any]) -> float:
    return _balanced_mean((decisions.argmax(axis=1) == y).astype(np.float64), y)
