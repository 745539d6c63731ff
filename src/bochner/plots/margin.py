"""Plots of the rounds of margin features: Figure 1 of Bullins, Zhang and Zhang (2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.plots.canvas import Function, check_points, check_values, new_figure, two_classes
from bochner.plots.decisions import draw_decisions, draw_weights
from bochner.plots.potential import check_frequencies, draw_potential, frequency_extent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Panel:
    """One column of :func:`rounds_figure`: the state after some round.

    Attributes
    ----------
    title : str
        Title above the column.
    weights : array of shape (n,)
        Dual weights.
    score : callable
        Function that takes points of shape (m, 2) and returns scores of shape (m,).
    frequencies : array of shape (2, N), optional
        Frequencies chosen so far, one per column.
    newest : array of shape (2, M), optional
        Those of the chosen frequencies that this round added.
    """

    title: str
    weights: ArrayLike
    score: Function
    frequencies: ArrayLike | None = None
    newest: ArrayLike | None = None


def rounds_figure(
    X: Any,
    y: ArrayLike,
    panels: Sequence[Panel],
    *,
    extent: float | None = None,
    resolution: int = 151,
) -> Figure:
    """Plot weights, potential and classifier from round to round: all of Figure 1a.

    There is one column per panel; the rows from the top are :func:`dual_weights`,
    :func:`potential_landscape` and :func:`decision_regions`. All columns show the same part of
    the plane of frequencies. The shades of the potential and of the score are scaled separately
    in each column.

    Parameters
    ----------
    X : array of shape (n, 2)
        Rows.
    y : array of shape (n,)
        Labels of two classes.
    panels : sequence of Panel
        Rounds to show.
    extent : float, optional
        As for :func:`potential_landscape`; by default large enough for the frequencies of all
        panels.
    resolution : int, default=151
        Number of grid points along an axis.

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
    signs = np.where(two_classes(y, len(points))[1].rows, 1.0, -1.0)
    if extent is None:
        marks = [check_frequencies("frequencies", p.frequencies) for p in panels]
        marks += [check_frequencies("newest", p.newest) for p in panels]
        extent = frequency_extent(points, *marks)
    figure = new_figure(2.9 * len(panels) + 0.6, 8.6)
    grid = figure.subplots(3, len(panels), squeeze=False)
    for (top, middle, bottom), panel in zip(grid.T, panels, strict=True):
        draw_weights(top, X, y, panel.weights)
        coefficients = check_values("weights", panel.weights, len(points)) * signs
        frequencies = panel.frequencies, panel.newest
        draw_potential(middle, X, coefficients, *frequencies, extent, resolution)
        draw_decisions(bottom, X, y, panel.score, None, resolution, size=2)
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
