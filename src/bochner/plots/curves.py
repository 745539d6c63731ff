"""Curves with error bars: ours drawn through, published ones dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bochner.plots.canvas import new_figure
from bochner.records.sections import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart by the colour-blind too (Okabe and Ito), and by their marks.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")


def curves_figure(chart: Chart, title: str = "") -> Figure:
    """The curves of a chart in one frame.

    Parameters
    ----------
    chart : Chart
        Curves and the names of the axes.
    title : str, default=""
        Above the frame.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bochner.records.sections import Chart, Series
    >>> from bochner.plots.curves import curves_figure
    >>> series = Series("ours", (10, 100), (5.0, 2.0), (0.2, 0.1))
    >>> figure = curves_figure(Chart("columns", "error", (series,), log_x=True))
    >>> figure.axes[0].get_xscale()
    'log'
    """
    figure = new_figure(6.4, 4.2)
    axis = figure.add_subplot()
    subjects = list(dict.fromkeys(series.subject for series in chart.series))
    for series in chart.series:
        number = subjects.index(series.subject)  # published curves look like ours
        errors = None if series.error is None else np.nan_to_num(np.asarray(series.error))
        axis.errorbar(
            series.x,
            series.y,
            yerr=errors,
            label=series.name,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKS[number % len(MARKS)],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            linestyle="--" if series.published else "-",
            alpha=0.6 if series.published else 1.0,
        )
    axis.set_xscale("log" if chart.log_x else "linear")
    axis.set_yscale("log" if chart.log_y else "linear")
    axis.set(xlabel=chart.x_title, ylabel=chart.y_title, title=title)
    axis.grid(alpha=0.3)
    if chart.series:
        axis.legend(fontsize="small")
    return figure
