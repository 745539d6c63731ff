"""Plots of similarities to landmarks in the plane, and of a classifier that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.plots.canvas import (
    DIVERGING,
    Float,
    check_points,
    check_resolution,
    grid_points,
    new_figure,
    two_classes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 400  # points that are drawn: more would hide the regions


@dataclass(frozen=True)
class Similarities:
    """A row of the figure: a fitted map to landmarks, and a fitted classifier on its columns."""

    name: str
    feature_map: Any
    classifier: Any


def similarity_maps(
    rows: Sequence[Similarities], X: ArrayLike, y: ArrayLike, resolution: int = 100
) -> Figure:
    """Plot the similarity to each landmark, and the decision of the classifier.

    `rows` are maps with the same number of landmarks, such as plain and learned ones. `X` has
    points of the plane, of which some are drawn, and `y` their labels of two classes.
    """
    if not rows:
        raise ValueError("rows must have at least one map, got none.")
    points = check_points("X", X, 2)
    classes = two_classes(y, len(points))
    resolution = check_resolution(resolution)
    low, high = points.min(axis=0), points.max(axis=0)
    grid = grid_points(*np.linspace(low, high, resolution).T)
    n_landmarks = rows[0].feature_map.landmarks_.shape[0]
    figure = new_figure(2.1 * (n_landmarks + 1), 2.3 * len(rows))
    axes = figure.subplots(len(rows), n_landmarks + 1, squeeze=False)

    def show(axis: Any, values: Float, limit: float) -> None:
        axis.imshow(
            values.reshape(resolution, resolution),
            origin="lower",
            extent=(low[0], high[0], low[1], high[1]),
            cmap=DIVERGING,
            vmin=-limit,
            vmax=limit,
            aspect="auto",
        )

    for line, row in zip(axes, rows, strict=True):
        values = np.asarray(row.feature_map.transform(grid))
        if values.shape[1] != n_landmarks:
            raise ValueError(
                f"rows must have the same number of landmarks, got {values.shape[1]} and"
                f" {n_landmarks}."
            )
        landmarks = row.feature_map.landmarks_
        for axis, column, landmark in zip(line[:-1], values.T, landmarks, strict=True):
            show(axis, column, 1.0)
            axis.plot(*np.asarray(landmark), marker="*", color="black", markersize=9)
        is_last = row.classifier.predict(values) == row.classifier.classes_[-1]
        show(line[-1], np.where(is_last, 1.0, -1.0), 2.5)
        for drawn in classes:
            some = points[:_MOST_POINTS][drawn.rows[:_MOST_POINTS]]
            line[-1].scatter(*some.T, s=5, color=drawn.colour, marker=drawn.marker)
        line[-1].set_title("decision", fontsize="small")
        line[0].set_ylabel(row.name)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    return figure
