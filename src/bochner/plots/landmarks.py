"""Similarities to landmarks in the plane, and what a linear machine makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.plots.canvas import (
    CLASSES,
    DIVERGING,
    check_points,
    check_resolution,
    new_figure,
    two_classes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 400  # that are drawn: more hide the regions


@dataclass(frozen=True)
class Similarities:
    """A row of the figure: a fitted map to landmarks, and a fitted machine on its columns."""

    name: str
    feature_map: Any
    machine: Any


def similarity_maps(
    rows: Sequence[Similarities], X: ArrayLike, y: ArrayLike, resolution: int = 100
) -> Figure:
    """One panel for each landmark's similarity, and one for the machine's decision.

    Parameters
    ----------
    rows : sequence of Similarities
        Maps with the same number of landmarks, such as plain and learned ones.
    X, y : arrays of shape (n, 2) and (n,)
        Points of the plane with two classes; some of them are drawn.
    resolution : int, default=100
        Grid points a side.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> from bochner import LandmarkSimilarities
    >>> from bochner.plots.landmarks import Similarities, similarity_maps
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> plain = LandmarkSimilarities(n_components=2, posterior=None, random_state=0).fit(X, y)
    >>> machine = LinearSVC().fit(plain.transform(X), y)
    >>> len(similarity_maps([Similarities("plain", plain, machine)], X, y, 10).axes)
    3
    """
    if not rows:
        raise ValueError("rows must have at least one map, got none.")
    points = check_points("X", X, 2)
    _, positive = two_classes(y, len(points))
    resolution = check_resolution(resolution)
    low, high = points.min(axis=0), points.max(axis=0)
    grid = np.stack(
        np.meshgrid(*(np.linspace(low[k], high[k], resolution) for k in range(2))), axis=-1
    ).reshape(-1, 2)
    extent = (low[0], high[0], low[1], high[1])
    n_landmarks = rows[0].feature_map.landmarks_.shape[0]
    figure = new_figure(2.1 * (n_landmarks + 1), 2.3 * len(rows))
    axes = figure.subplots(len(rows), n_landmarks + 1, squeeze=False)
    for line, row in zip(axes, rows, strict=True):
        values = np.asarray(row.feature_map.transform(grid))
        if values.shape[1] != n_landmarks:
            raise ValueError(
                f"rows must have the same number of landmarks, got {values.shape[1]} and"
                f" {n_landmarks}."
            )
        landmarks = np.asarray(row.feature_map.landmarks_)
        for index, axis in enumerate(line[:-1]):
            _image(axis, values[:, index], resolution, extent, DIVERGING, 1.0)
            axis.plot(*landmarks[index], marker="*", color="black", markersize=9)
        classes = row.machine.classes_
        decision = np.where(row.machine.predict(values) == classes[-1], 1.0, -1.0)
        _image(line[-1], decision, resolution, extent, DIVERGING, 2.5)
        for (colour, mark), chosen in zip(CLASSES, (~positive, positive), strict=True):
            drawn = points[:_MOST_POINTS][chosen[:_MOST_POINTS]]
            line[-1].scatter(*drawn.T, s=5, color=colour, marker=mark)
        line[-1].set_title("decision", fontsize="small")
        line[0].set_ylabel(row.name)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    return figure


def _image(
    axis: Any,
    values: NDArray[Any],
    resolution: int,
    extent: tuple[float, ...],
    colours: str,
    limit: float,
) -> None:
    axis.imshow(
        values.reshape(resolution, resolution),
        origin="lower",
        extent=extent,
        cmap=colours,
        vmin=-limit,
        vmax=limit,
        aspect="auto",
    )
