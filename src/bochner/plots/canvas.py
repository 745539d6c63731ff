"""What all figures share: a figure without a window, colours, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Float = NDArray[np.float64]

# Negative and positive class: told apart by the colour-blind too, and by their shapes.
CLASSES = (("#0072B2", "o"), ("#D55E00", "^"))
# Values below and above zero, in the same two hues.
DIVERGING = "RdBu_r"


def new_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches, with a layout that leaves room for the labels."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "bochner.plots needs the package matplotlib: pip install bochner[plots]"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def check_points(name: str, X: Any, d: int) -> Float:
    """Points of a space of `d` dimensions, one a row."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != d or len(points) == 0:
        raise ValueError(
            f"{name} must have shape (n, {d}) to be drawn, got shape {points.shape}; "
            "of data with more columns, pick or project to as many."
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite to be drawn, got NaN or infinity.")
    return points


def check_values(name: str, values: Any, n: int) -> Float:
    """One number a point."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one value a point, shape ({n},), got shape {array.shape}."
        )
    return array


def two_classes(y: ArrayLike, n: int) -> tuple[Any, NDArray[np.bool_]]:
    """The two labels in order, and which points have the second."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label a point, shape ({n},), got {labels.shape}.")
    names = np.unique(labels)
    if len(names) != 2:
        raise ValueError(f"y must have two classes to be drawn, got {names[:5]}.")
    return names, labels == names[1]


def check_resolution(resolution: Any) -> int:
    if not 2 <= resolution <= 5000:
        raise ValueError(
            f"resolution must be a number of grid points from 2 to 5000, got {resolution!r}."
        )
    return int(resolution)


def symmetric_limit(values: Float) -> float:
    """The largest modulus, for colours that are neutral at zero; 1 if all are zero."""
    return float(np.abs(values).max()) or 1.0
