"""Plots of rows in the plane with their dual weights, and of the decisions of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.plots.canvas import (
    DIVERGING,
    Float,
    Function,
    check_points,
    check_resolution,
    check_values,
    finish,
    grid_points,
    new_figure,
    scatter_classes,
    symmetric_limit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def dual_weights(X: Any, y: ArrayLike, weights: ArrayLike) -> Figure:
    """Plot the rows with size and opacity by their dual weights (Figure 1a, top).

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Labels of two classes.
    weights : array of shape (n,)
        Dual weights, zero or more. Only their ratios matter: the row of largest weight is drawn at
        full size and opacity. Rows of weight zero are drawn as faint points.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import windmill
    >>> from bochner.plots import dual_weights
    >>> X, y = windmill(200, random_state=0)
    >>> figure = dual_weights(X, y, np.ones(200))
    >>> len(figure.axes[0].collections)  # one per class
    2
    """
    figure = new_figure(4.8, 4.6)
    axes = figure.subplots()
    draw_weights(axes, X, y, weights)
    finish(axes, "Dual weights", "x")
    return figure


def draw_weights(axes: Any, X: Any, y: ArrayLike, weights: ArrayLike) -> None:
    """Draw the rows on axes; the parameters are those of :func:`dual_weights`."""
    points = check_points("X", X, 2)
    w = check_values("weights", weights, len(points))
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError(f"weights must be finite and zero or more, got {w.min()!r}.")
    share = w / (w.max() or 1.0)
    scatter_classes(axes, points, y, 2 + 22 * share, 0.12 + 0.78 * share)
    axes.set_aspect("equal")


def decision_regions(
    X: Any,
    y: ArrayLike,
    score: Function,
    *,
    extent: tuple[float, float, float, float] | None = None,
    resolution: int = 201,
) -> Figure:
    """Plot the score of a classifier as shades and its boundary as a line (Figure 1a, bottom).

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Labels of two classes.
    score : callable
        Function that takes points of shape (m, 2) and returns scores of shape (m,), positive for
        the second class, such as the ``decision_function`` of a pipeline. A solid line is drawn
        at 0, dashed lines at -1 and 1.
    extent : (left, right, bottom, top), optional
        Part of the plane to show; by default a little more than the range of the rows.
    resolution : int, default=201
        Number of grid points along an axis.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bochner.data import windmill
    >>> from bochner.plots import decision_regions
    >>> X, y = windmill(200, random_state=0)
    >>> figure = decision_regions(X, y, lambda points: points[:, 0])
    >>> figure.axes[0].get_xlabel()
    'x 1'
    """
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    image = draw_decisions(axes, X, y, score, extent, resolution)
    figure.colorbar(image, ax=axes, label="score", shrink=0.85, extend="both")
    finish(axes, "Score of the classifier", "x")
    return figure


def draw_decisions(
    axes: Any,
    X: Any,
    y: ArrayLike,
    score: Function,
    extent: tuple[float, float, float, float] | None,
    resolution: int,
    size: float = 5,
) -> Any:
    """Draw on axes and return the shades; the parameters are those of :func:`decision_regions`."""
    points = check_points("X", X, 2)
    left, right, bottom, top = extent = extent or _around(points)
    if not (left < right and bottom < top):
        raise ValueError(
            f"extent must be (left, right, bottom, top), left to right and upwards, got {extent}."
        )
    count = check_resolution(resolution)
    xs, ys = np.linspace(left, right, count), np.linspace(bottom, top, count)
    values = check_values("score(points)", score(grid_points(xs, ys)), count**2)
    values = values.reshape(count, count)
    # A single high peak would leave the rest without colour.
    limit = symmetric_limit(np.quantile(np.abs(values), [0.98]))
    image = axes.pcolormesh(
        xs, ys, values, cmap=DIVERGING, vmin=-limit, vmax=limit, shading="gouraud", alpha=0.6
    )
    for level, style, width in ((-1, "dashed", 0.8), (0, "solid", 1.6), (1, "dashed", 0.8)):
        # Matplotlib warns about a level that is not reached.
        if values.min() < level < values.max():
            line = {"colors": "black", "linestyles": style, "linewidths": width}
            axes.contour(xs, ys, values, levels=[level], **line)
    scatter_classes(axes, points, y, size)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    return image


def _around(points: Float) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of a frame a little larger than the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.05 * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = low - room, high + room
    return left, right, bottom, top
