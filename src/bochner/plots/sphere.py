"""Plots of functions and classes on the sphere: Figure 1c of Bullins, Zhang and Zhang (2018)."""

from __future__ import annotations

from collections.abc import Sequence
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
    new_figure,
    symmetric_limit,
    two_classes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {"sphere": "3d", "map": "mollweide"}
AXIS_NAME: dict[str, Any] = {"fontsize": "small", "ha": "center", "va": "center"}
BEHIND_TEXT = {"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 1}


def harmonic_on_sphere(
    functions: Function | Sequence[Function],
    *,
    titles: Sequence[str] | None = None,
    kind: str = "sphere",
    resolution: int = 120,
    view: tuple[float, float] = (25.0, 30.0),
) -> Figure:
    """Plot functions on the sphere in three dimensions, such as spherical harmonics, side by side.

    Negative values are blue, positive ones red, and values near zero white. The colours of each
    function are scaled by its own largest modulus.

    Parameters
    ----------
    functions : callable or sequence of callables
        Functions that take unit vectors of shape (m, 3) and return real values of shape (m,).
    titles : sequence of str, optional
        Titles, one per function.
    kind : {"sphere", "map"}, default="sphere"
        Whether to show the ball from a point of view, which hides its back, or the whole sphere
        in Mollweide's projection, which preserves areas.
    resolution : int, default=120
        Number of grid points from pole to pole; there are twice as many around.
    view : (float, float), default=(25, 30)
        Elevation and azimuth of the point of view in degrees, for ``kind="sphere"``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bochner.plots import harmonic_on_sphere
    >>> figure = harmonic_on_sphere(lambda x: x[:, 0] * x[:, 1], titles=["xy"], resolution=20)
    >>> figure.axes[0].get_title()
    'xy'
    """
    several = [functions] if callable(functions) else list(functions)
    names = [""] * len(several) if titles is None else list(titles)
    if not several or len(names) != len(several):
        raise ValueError(
            "functions and titles must have the same length, at least 1, "
            f"got {len(several)} and {len(names)}."
        )
    projection, count = _projection(kind), check_resolution(resolution)
    wide = kind == "map"
    figure = new_figure((5.2 if wide else 3.4) * len(several) + 0.8, 3.4)
    longitude, latitude = _edges(count)
    for position, (function, name) in enumerate(zip(several, names, strict=True), start=1):
        axes = figure.add_subplot(1, len(several), position, projection=projection)
        values = _values(function, longitude, latitude)
        if wide:
            colours = _draw_map(axes, longitude, latitude, values)
        else:
            colours = _draw_ball(axes, longitude, latitude, values)
            _look(axes, view)
        axes.set_title(name)
        figure.colorbar(colours, ax=axes, shrink=0.7, pad=0.04 if wide else 0.0, label="value")
    return figure


def checkerboard_on_sphere(
    X: Any, y: ArrayLike, *, kind: str = "sphere", view: tuple[float, float] = (25.0, 30.0)
) -> Figure:
    """Plot rows of two classes on the sphere, such as :func:`bochner.data.checkerboard_sphere`.

    Parameters
    ----------
    X : array of shape (n, 3)
        Rows; each is drawn at its direction from the origin.
    y : array of shape (n,)
        Labels of two classes.
    kind : {"sphere", "map"}, default="sphere"
        As for :func:`harmonic_on_sphere`; on the ball only the rows on the near side are drawn.
    view : (float, float), default=(25, 30)
        As for :func:`harmonic_on_sphere`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bochner.data import checkerboard_sphere
    >>> from bochner.plots import checkerboard_on_sphere
    >>> X, y = checkerboard_sphere(100, random_state=0)
    >>> figure = checkerboard_on_sphere(X, y, kind="map")
    >>> len(figure.axes[0].collections)
    2
    """
    points = check_points("X", X, 3)
    classes = two_classes(y, len(points))
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ValueError("X must have no row of zeros to be drawn on a sphere, got one.")
    points = points / lengths
    projection = _projection(kind)
    figure = new_figure(6.4, 3.8) if kind == "map" else new_figure(4.6, 4.4)
    axes: Any = figure.add_subplot(projection=projection)
    if kind == "map":
        shown, places = np.ones(len(points), bool), _angles(points)
        _degrees(axes)
    else:
        shown, places = points @ _eye(view) >= 0, points
        # Matplotlib would order the ball and the points by their centres.
        axes.computed_zorder = False
        ball = np.moveaxis(_directions(*np.meshgrid(*_edges(60))), -1, 0)
        axes.plot_surface(*ball, color="0.93", shade=False, linewidth=0, zorder=0)
        _look(axes, view)
    for drawn in classes:
        look = {"color": drawn.colour, "marker": drawn.marker, "label": drawn.name}
        axes.scatter(*places[drawn.rows & shown].T, s=9, linewidths=0, alpha=0.85, **look)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", markerscale=2)
    return figure


def _draw_ball(axes: Any, longitude: Float, latitude: Float, values: Float) -> Any:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    limit = symmetric_limit(values)
    colours = ScalarMappable(Normalize(-limit, limit), colormaps[DIVERGING])
    axes.plot_surface(
        *np.moveaxis(_directions(*np.meshgrid(longitude, latitude)), -1, 0),
        facecolors=colours.to_rgba(values),
        rstride=1,
        cstride=1,
        shade=False,
        linewidth=0,
        antialiased=False,
    )
    return colours


def _draw_map(axes: Any, longitude: Float, latitude: Float, values: Float) -> Any:
    limit = symmetric_limit(values)
    colours = {"cmap": DIVERGING, "vmin": -limit, "vmax": limit}
    _degrees(axes)
    return axes.pcolormesh(longitude, latitude, values, rasterized=True, **colours)


def _values(function: Function, longitude: Float, latitude: Float) -> Float:
    """Evaluate a function at the centres of the cells between longitudes and latitudes."""
    middles = [(edges[1:] + edges[:-1]) / 2 for edges in (longitude, latitude)]
    directions = _directions(*np.meshgrid(*middles))
    values = function(directions.reshape(-1, 3))
    values = check_values("function(points)", values, directions[..., 0].size)
    if not np.isfinite(values).all():
        raise ValueError("function(points) must be finite, got NaN or infinity.")
    return values.reshape(directions.shape[:2])


def _directions(longitude: Float, latitude: Float) -> Float:
    radius, height = np.cos(latitude), np.sin(latitude)
    return np.stack([radius * np.cos(longitude), radius * np.sin(longitude), height], axis=-1)


def _angles(points: Float) -> Float:
    longitude = np.arctan2(points[:, 1], points[:, 0])
    return np.column_stack([longitude, np.arcsin(np.clip(points[:, 2], -1, 1))])


def _edges(count: int) -> tuple[Float, Float]:
    """Return longitudes and latitudes that bound ``2 count`` times ``count`` cells."""
    return np.linspace(-np.pi, np.pi, 2 * count + 1), np.linspace(-np.pi / 2, np.pi / 2, count + 1)


def _eye(view: tuple[float, float]) -> Float:
    """Return the direction of the point of view."""
    elevation, azimuth = np.deg2rad(view)
    return _directions(np.asarray(azimuth), np.asarray(elevation))


def _projection(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {sorted(KINDS)}, got {kind!r}.")
    return KINDS[kind]


def _look(axes: Any, view: tuple[float, float]) -> None:
    """Hide the box around the ball and draw only the ends of the axes that face the viewer."""
    axes.view_init(*view)
    axes.set_box_aspect((1, 1, 1), zoom=1.3)
    axes.set_axis_off()
    for number, end in enumerate(np.eye(3), start=1):
        if end @ _eye(view) >= 0:
            axes.plot(*np.outer(end, [1.0, 1.3]), color="black", linewidth=1, zorder=3)
            axes.text(*(1.45 * end), f"x {number}", bbox=BEHIND_TEXT, zorder=4, **AXIS_NAME)
    for set_limits in (axes.set_xlim, axes.set_ylim, axes.set_zlim):
        set_limits(-1.1, 1.1)


def _degrees(axes: Any) -> None:
    axes.set(xlabel="longitude", ylabel="latitude")
    axes.set_longitude_grid(60)
    axes.set_latitude_grid(30)
    axes.grid(alpha=0.4)
    axes.tick_params(labelsize="x-small")
    for label in axes.get_xticklabels():  # they are drawn over the picture
        label.set_bbox(BEHIND_TEXT)
