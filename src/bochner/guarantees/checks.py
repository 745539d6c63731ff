"""Checks of the numbers given to a bound."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]

# Losses and weights come from sums of cosines, perhaps of float32 rows: rounding may carry them
# this far outside their range.
ROUNDING = 1e-6


def check_count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_delta(delta: Any) -> float:
    if not 0 < delta < 1:
        raise ValueError(
            f"delta must be a probability strictly between 0 and 1, such as 0.05, got {delta!r}."
        )
    return float(delta)


def check_above(name: str, value: Any, least: float) -> float:
    if not (np.isfinite(value) and value > least):
        raise ValueError(f"{name} must be a finite number greater than {least}, got {value!r}.")
    return float(value)


def check_length(name: str, value: Any) -> float:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


def check_same_shape(names: str, shape: str, first: Any, second: Any, ndim: int = 1) -> None:
    """Check that two arrays have the same shape, described by `shape`, and at least one row."""
    if first.ndim != ndim or first.shape != second.shape or len(first) == 0:
        raise ValueError(
            f"{names} must both have shape {shape}, got {first.shape} and {second.shape}."
        )


def check_signs(name: str, labels: ArrayLike) -> NDArray[Any]:
    array = np.asarray(labels)
    if not np.isin(array, (-1, 1)).all():
        raise ValueError(
            f"{name} must be -1 or +1, got {np.unique(array)[:5]}; "
            "np.where(y == positive_class, 1, -1) makes them so."
        )
    return array


def check_unit(name: str, values: ArrayLike) -> Float:
    """Return the values as an array, checked to lie in [0, 1] up to rounding."""
    array = np.asarray(values, dtype=np.float64)
    wrong = ~((array >= -ROUNDING) & (array <= 1 + ROUNDING))
    if wrong.any():
        raise ValueError(f"{name} must lie in [0, 1], got {array[wrong].flat[0]!r}.")
    return np.asarray(np.clip(array, 0.0, 1.0))


def check_not_negative(name: str, values: ArrayLike) -> Float:
    array = np.asarray(values, dtype=np.float64)
    wrong = ~(array >= -ROUNDING)
    if wrong.any():
        raise ValueError(f"{name} must be zero or more, got {array[wrong].flat[0]!r}.")
    return np.asarray(np.maximum(array, 0.0))


def check_weights(weights: ArrayLike) -> Float:
    array = check_unit("weights", weights)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(
            "weights must have shape (N,), or (n_landmarks, D) for one row per landmark, "
            f"got shape {array.shape}."
        )
    total = array.sum(axis=-1)
    wrong = np.abs(total - 1) > ROUNDING
    if wrong.any():
        raise ValueError(f"weights must sum to 1, got a sum of {total[wrong].flat[0]!r}.")
    return array


def at_most_one(bound: Any) -> Any:
    """Clip a bound on a quantity in [0, 1]."""
    return np.minimum(bound, 1.0)
