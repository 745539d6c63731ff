r"""The rounds of margin features in the plane, as in Figure 1 of Bullins, Zhang and Zhang (2018).

Three things are drawn: the rows with their dual weights, the Fourier potential

.. math:: v(w) = \sum_k \Bigl| \sum_i A_{ik} e^{i \langle w, x_i \rangle} \Bigr|^2

with the frequencies chosen at its peaks, and the score of a classifier on the features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.engine import fourier_sums
from bochner.plots.canvas import (
    CLASSES,
    DIVERGING,
    Float,
    check_points,
    check_resolution,
    check_values,
    new_figure,
    symmetric_limit,
    two_classes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Score = Callable[[Float], ArrayLike]

# The paper's colours of the frequencies; a ring in black or white keeps them visible on any grey.
CHOSEN, NEWEST = "magenta", "cyan"


@dataclass(frozen=True)
class Panel:
    """One column of :func:`rounds_figure`: the state after some round.

    Attributes
    ----------
    title : str
        Written above the column.
    weights : array of shape (n,)
        Dual weights.
    score : callable
        Takes points of shape (m, 2), returns scores of shape (m,).
    frequencies : array of shape (2, N), optional
        Chosen so far, one a column.
    newest : array of shape (2, M), optional
        Those among them that this round added.
    """

    title: str
    weights: ArrayLike
    score: Score
    frequencies: ArrayLike | None = None
    newest: ArrayLike | None = None


def potential_landscape(
    X: Any,
    coefficients: ArrayLike,
    frequencies: ArrayLike | None = None,
    newest: ArrayLike | None = None,
    *,
    extent: float | None = None,
    resolution: int = 201,
) -> Figure:
    r"""The Fourier potential over the plane of frequencies (Figure 1b, and 1a in the middle).

    Drawn is :math:`v(w) / \sum_k (\sum_i |A_{ik}|)^2`, which lies in [0, 1]; shades of grey go
    with its root, so that lower peaks are seen beside the highest. Each frequency stands for two,
    :math:`\pm w`, and both are marked: magenta, the newest cyan.

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    coefficients : array of shape (n,) or (n, k)
        ``alpha * y`` for a support vector machine; several columns add up their potentials.
    frequencies : array of shape (2, N), optional
        Frequencies chosen, one a column.
    newest : array of shape (2, M), optional
        Frequencies to mark as the newest.
    extent : float, optional
        Frequencies from ``-extent`` to ``extent`` are shown along both axes. By default a little
        more than the frequencies given, or, without any, ten over the spread of the rows.
    resolution : int, default=201
        Grid points along an axis.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import windmill
    >>> from bochner.plots import potential_landscape
    >>> X, y = windmill(200, random_state=0)
    >>> figure = potential_landscape(X, y / 200, frequencies=[[3.0], [1.0]])
    >>> [axes.get_title() for axes in figure.axes][:1]
    ['Fourier potential']
    """
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    image = _draw_potential(axes, X, coefficients, frequencies, newest, extent, resolution)
    axes.set_title("Fourier potential")
    _label(axes, "w")
    figure.colorbar(image, ax=axes, label="share of the largest possible", shrink=0.85)
    _legend(axes)
    return figure


def dual_weights(X: Any, y: ArrayLike, weights: ArrayLike) -> Figure:
    """The rows, each as large and as opaque as its dual weight (Figure 1a, top).

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Two classes.
    weights : array of shape (n,)
        Zero or more. Only their ratios matter: the largest is drawn in full. Rows of weight zero
        are drawn as faint points.

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
    >>> len(figure.axes[0].collections)  # one a class
    2
    """
    figure = new_figure(4.8, 4.6)
    axes = figure.subplots()
    _draw_weights(axes, X, y, weights)
    axes.set_title("Dual weights")
    _label(axes, "x")
    _legend(axes)
    return figure


def decision_regions(
    X: Any,
    y: ArrayLike,
    score: Score,
    *,
    extent: tuple[float, float, float, float] | None = None,
    resolution: int = 201,
) -> Figure:
    """The score of a classifier as shades, its boundary as a line (Figure 1a, bottom).

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Two classes.
    score : callable
        Takes points of shape (m, 2), returns scores of shape (m,), positive for the second class:
        the ``decision_function`` of a pipeline, say. The line is drawn at 0, dashes at -1 and 1.
    extent : (left, right, bottom, top), optional
        The part of the plane to show; by default a little more than the rows.
    resolution : int, default=201
        Grid points along an axis.

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
    image = _draw_score(axes, X, y, score, extent, resolution)
    axes.set_title("Score of the classifier")
    _label(axes, "x")
    figure.colorbar(image, ax=axes, label="score", shrink=0.85, extend="both")
    _legend(axes)
    return figure


def rounds_figure(
    X: Any,
    y: ArrayLike,
    panels: Sequence[Panel],
    *,
    extent: float | None = None,
    resolution: int = 151,
) -> Figure:
    """How weights, potential and classifier change from round to round: all of Figure 1a.

    One column a panel; rows from the top are :func:`dual_weights`, :func:`potential_landscape` and
    :func:`decision_regions`. All columns show the same part of the plane of frequencies. Shades of
    the potential and of the score are each column's own.

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Two classes.
    panels : sequence of Panel
        The rounds to show.
    extent : float, optional
        As for :func:`potential_landscape`; by default enough for the frequencies of all panels.
    resolution : int, default=151
        Grid points along an axis.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import windmill
    >>> from bochner.plots import Panel, rounds_figure
    >>> X, y = windmill(100, random_state=0)
    >>> panels = [Panel("T = 1", np.ones(100), lambda points: points[:, 0])]
    >>> len(rounds_figure(X, y, panels, resolution=31).axes)
    3
    """
    if len(panels) == 0:
        raise ValueError("panels must have at least one Panel, got none.")
    points = check_points("X", X, 2)
    _, second = two_classes(y, len(points))
    signs = np.where(second, 1.0, -1.0)
    if extent is None:
        marks = [_columns("frequencies", p.frequencies) for p in panels]
        marks += [_columns("newest", p.newest) for p in panels]
        extent = _frequency_extent(points, *marks)
    figure = new_figure(2.9 * len(panels) + 0.6, 8.6)
    grid = figure.subplots(3, len(panels), squeeze=False)
    for (top, middle, bottom), panel in zip(grid.T, panels, strict=True):
        _draw_weights(top, X, y, panel.weights)
        coefficients = check_values("weights", panel.weights, len(points)) * signs
        marks_of_panel = panel.frequencies, panel.newest
        _draw_potential(middle, X, coefficients, *marks_of_panel, extent, resolution)
        _draw_score(bottom, X, y, panel.score, None, resolution, size=2)
        top.set_title(panel.title)
    names = "dual weights", "Fourier potential", "score"
    for row, name, letter in zip(grid, names, "xwx", strict=True):
        for axes in row:
            axes.set_xlabel(f"{letter} 1")
        row[0].set_ylabel(f"{name}\n{letter} 2")
    entries: dict[Any, Any] = {}
    for axes in (*grid[0], *grid[1]):
        entries |= {handle.get_label(): handle for handle in axes.get_legend_handles_labels()[0]}
    figure.legend(handles=list(entries.values()), loc="outside lower center", ncols=len(entries))
    return figure


# --------------------------------------------------------------------------- drawing on axes


def _draw_weights(axes: Any, X: Any, y: ArrayLike, weights: ArrayLike) -> None:
    from matplotlib.colors import to_rgba

    points = check_points("X", X, 2)
    names, second = two_classes(y, len(points))
    w = check_values("weights", weights, len(points))
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError(f"weights must be finite and zero or more, got {w.min()!r}.")
    share = w / (w.max() or 1.0)
    for name, mine, (colour, marker) in zip(names, (~second, second), CLASSES, strict=True):
        colours = np.tile(to_rgba(colour), (int(mine.sum()), 1))
        colours[:, 3] = 0.12 + 0.78 * share[mine]
        axes.scatter(
            *points[mine].T, s=2 + 22 * share[mine], c=colours, marker=marker, linewidths=0
        )
        _key(axes, f"class {name}", colour, marker)
    axes.set_aspect("equal")


def _draw_potential(
    axes: Any,
    X: Any,
    coefficients: ArrayLike,
    frequencies: ArrayLike | None,
    newest: ArrayLike | None,
    extent: float | None,
    resolution: int,
) -> Any:
    from matplotlib.colors import PowerNorm

    points = check_points("X", X, 2)
    A = np.asarray(coefficients, dtype=np.float64)
    if A.ndim not in (1, 2) or len(A) != len(points):
        raise ValueError(
            f"coefficients must have shape ({len(points)},) or ({len(points)}, k), "
            f"got shape {A.shape}."
        )
    chosen, latest = _columns("frequencies", frequencies), _columns("newest", newest)
    if extent is None:
        extent = _frequency_extent(points, chosen, latest)
    elif not (np.isfinite(extent) and extent > 0):
        raise ValueError(f"extent must be a finite number greater than 0, got {extent!r}.")
    axis = np.linspace(-extent, extent, check_resolution(resolution))
    W = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
    A = A.reshape(len(points), -1)
    v = (np.abs(fourier_sums(points, W, A)) ** 2).sum(axis=1)
    v /= (np.abs(A).sum(axis=0) ** 2).sum() or 1.0
    # The outer pixels are centred on the ends of the axis.
    edge = extent + (axis[1] - axis[0]) / 2
    image = axes.imshow(
        v.reshape(len(axis), -1),
        origin="lower",
        extent=(-edge, edge, -edge, edge),
        cmap="gray",
        norm=PowerNorm(0.5, vmin=0, vmax=v.max() or 1.0),
        interpolation="bilinear",
    )
    # Many marks would hide the landscape: they shrink as they grow in number.
    size = float(np.clip(400 / max(1, chosen.shape[1]), 8, 40))
    for marks, colour, name, area in (
        (chosen, CHOSEN, "chosen", size),
        (latest, NEWEST, "newest", 1.6 * max(size, 20)),
    ):
        if marks.shape[1]:
            axes.scatter(
                *np.hstack([marks, -marks]),
                s=area,
                color=colour,
                edgecolors="black",
                linewidths=0.5,
            )
            _key(axes, name, colour, "o", edge="black")
    axes.set_xlim(-edge, edge)
    axes.set_ylim(-edge, edge)
    return image


def _draw_score(
    axes: Any,
    X: Any,
    y: ArrayLike,
    score: Score,
    extent: tuple[float, float, float, float] | None,
    resolution: int,
    size: float = 5,
) -> Any:
    points = check_points("X", X, 2)
    names, second = two_classes(y, len(points))
    if extent is None:
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.05 * np.where(high > low, high - low, 1.0)
        left, bottom = low - room
        right, top = high + room
    else:
        left, right, bottom, top = extent
    if not (left < right and bottom < top):
        raise ValueError(
            f"extent must be (left, right, bottom, top), left to right and upwards, got {extent}."
        )
    count = check_resolution(resolution)
    xs, ys = np.linspace(left, right, count), np.linspace(bottom, top, count)
    grid = np.stack(np.meshgrid(xs, ys)).reshape(2, -1).T
    values = check_values("score(points)", score(grid), len(grid)).reshape(count, count)
    # One far peak would leave the rest without colour.
    limit = symmetric_limit(np.quantile(np.abs(values), [0.98]))
    image = axes.pcolormesh(
        xs, ys, values, cmap=DIVERGING, vmin=-limit, vmax=limit, shading="gouraud", alpha=0.6
    )
    for level, style, width in ((-1, "dashed", 0.8), (0, "solid", 1.6), (1, "dashed", 0.8)):
        # A level that is not reached would be a warning.
        if values.min() < level < values.max():
            axes.contour(
                xs, ys, values, levels=[level], colors="black", linestyles=style, linewidths=width
            )
    for name, mine, (colour, marker) in zip(names, (~second, second), CLASSES, strict=True):
        axes.scatter(*points[mine].T, s=size, color=colour, marker=marker, alpha=0.8, linewidths=0)
        _key(axes, f"class {name}", colour, marker)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    return image


# --------------------------------------------------------------------------- small parts


def _columns(name: str, frequencies: ArrayLike | None) -> Float:
    if frequencies is None:
        return np.empty((2, 0))
    W = np.asarray(frequencies, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != 2 or not np.isfinite(W).all():
        raise ValueError(
            f"{name} must be finite and have shape (2, N), one frequency a column, "
            f"got shape {W.shape}."
        )
    return W


def _frequency_extent(points: Float, *marks: Float) -> float:
    largest = max((float(np.abs(m).max()) for m in marks if m.size), default=0.0)
    spread = float(points.std(axis=0).max()) or 1.0
    return 1.15 * largest if largest > 0 else 10 / spread


def _label(axes: Any, letter: str) -> None:
    axes.set_xlabel(f"{letter} 1")
    axes.set_ylabel(f"{letter} 2")


def _key(axes: Any, label: str, colour: str, marker: str, edge: str | None = None) -> None:
    """An entry for the legend: opaque and of one size, whatever the marks are."""
    style = {"color": colour, "marker": marker, "markeredgecolor": edge or colour}
    axes.plot([], [], linestyle="none", markersize=5, markeredgewidth=0.5, label=label, **style)


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize="small", framealpha=0.9)
