"""Shared helpers of the plots: figures without a window, classes of rows, grids and checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Float = NDArray[np.float64]
Function = Callable[[Float], ArrayLike]

# Distinguishable for the colour-blind (Okabe and Ito), and by their marks.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
# For values below and above zero, in the hues of the first two colours.
DIVERGING = "RdBu_r"


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of this size in inches, with a layout that leaves room for the labels."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "bochner.plots needs the package matplotlib: pip install bochner[plots]"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def check_points(name: str, X: Any, d: int) -> Float:
    """Return points in `d` dimensions, one per row, after checking them."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != d or len(points) == 0:
        raise ValueError(
            f"{name} must have shape (n, {d}) to be drawn, got shape {points.shape}; "
            f"of data with more columns, select {d} or project to {d}."
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite to be drawn, got NaN or infinity.")
    return points


def check_values(name: str, values: Any, n: int) -> Float:
    """Return an array of one number per point, after checking its shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one value per point, shape ({n},), got shape {array.shape}."
        )
    return array


@dataclass(frozen=True)
class DrawnClass:
    """A class of the rows: its name, its rows, and how they are drawn."""

    name: str
    rows: NDArray[np.bool_]
    colour: str
    marker: str


def two_classes(y: ArrayLike, n: int) -> tuple[DrawnClass, DrawnClass]:
    """Return the two classes, in the order of their labels."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label per point, shape ({n},), got {labels.shape}.")
    names = np.unique(labels)
    if len(names) != 2:
        raise ValueError(f"y must have two classes to be drawn, got {names[:5]}.")
    first, second = (
        DrawnClass(f"class {name}", labels == name, COLOURS[i], MARKS[i])
        for i, name in enumerate(names)
    )
    return first, second


def scatter_classes(
    axes: Any, points: Float, y: ArrayLike, sizes: ArrayLike = 5, opacities: ArrayLike = 0.8
) -> None:
    """Draw points in the colours and marks of their classes, with entries for the legend."""
    sizes, opacities = (np.broadcast_to(v, len(points)) for v in (sizes, opacities))
    for drawn in two_classes(y, len(points)):
        axes.scatter(
            *points[drawn.rows].T,
            s=sizes[drawn.rows],
            color=drawn.colour,
            marker=drawn.marker,
            alpha=opacities[drawn.rows],
            linewidths=0,
        )
        legend_entry(axes, drawn.name, drawn.colour, drawn.marker)


def legend_entry(axes: Any, label: str, colour: str, marker: str, edge: str | None = None) -> None:
    """Add an entry to the legend, opaque and of one size, whatever the marks are."""
    style = {"color": colour, "marker": marker, "markeredgecolor": edge or colour}
    axes.plot([], [], linestyle="none", markersize=5, markeredgewidth=0.5, label=label, **style)


def finish(axes: Any, title: str, letter: str) -> None:
    """Set the title, the names of both axes, and the legend if it has entries."""
    axes.set(title=title, xlabel=f"{letter} 1", ylabel=f"{letter} 2")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize="small", framealpha=0.9)


def grid_points(xs: Float, ys: Float) -> Float:
    """Return all pairs as rows; reshaped to ``(len(ys), len(xs))`` their values are an image."""
    return np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def check_resolution(resolution: Any) -> int:
    if not 2 <= resolution <= 5000:
        raise ValueError(
            f"resolution must be a number of grid points from 2 to 5000, got {resolution!r}."
        )
    return int(resolution)


def symmetric_limit(values: Float) -> float:
    """Return the largest modulus, for colours that are neutral at zero; 1 if all are zero."""
    return float(np.abs(values).max()) or 1.0
