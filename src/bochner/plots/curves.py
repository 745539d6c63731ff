"""Curves with error bars: ours as solid lines, published ones dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bochner.plots.canvas import COLOURS, MARKS, new_figure
from bochner.records.sections import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves_figure(chart: Chart, title: str = "") -> Figure:
    """Plot the curves of a chart in one frame, with a title above it."""
    figure = new_figure(6.4, 4.2)
    axis = figure.add_subplot()
    subjects = list(dict.fromkeys(series.subject for series in chart.series))
    for series in chart.series:
        number = subjects.index(series.subject)  # published curves get the colour of ours
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
