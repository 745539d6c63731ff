"""Charts as the page draws them: plain dictionaries of traces and a layout, in plotly's format.

The script `templates/charts.js` draws the part of that format that is used here. Colours are
names of the style sheet's custom properties with an @ in front, which the page's script looks up,
so that a chart follows the theme. All text goes through `chart_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bochner.report.numbers import chart_text, finite
from bochner.report.series import Series
from bochner.report.ticks import log_ticks

Spec = dict[str, Any]
MANY_MARKS = 25


@dataclass(frozen=True)
class Figure:
    """A chart and the words around it."""

    name: str  # unique on the page: letters, digits and hyphens
    title: str
    label: str  # what a screen reader says instead
    spec: Spec  # `data` and `layout`
    note: str = ""  # below the chart
    key: str = ""  # key of the series with which the whole chart is switched off
    square: bool = False


def _font(colour: str, size: int) -> Spec:
    return {"color": f"@{colour}", "size": size}


def layout(x_title: str, y_title: str) -> Spec:
    """Return the layout of all charts; the title of the vertical axis is above it, unrotated."""
    axis: Spec = {
        "gridcolor": "@grid",
        "linecolor": "@line",
        "tickcolor": "@line",
        "tickfont": _font("soft", 12),
        "zeroline": False,
        "automargin": True,
    }
    x_axis = axis | {
        "showline": True,
        "showgrid": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickangle": 0,
        "title": {"text": chart_text(x_title), "font": _font("soft", 13), "standoff": 8},
    }
    return {
        "autosize": True,
        "showlegend": False,
        "hovermode": "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 44, "r": 14, "t": 34, "b": 50},
        "font": _font("ink", 13),
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@line",
            "font": _font("ink", 13),
            "align": "left",
        },
        "title": {
            "text": chart_text(y_title),
            "font": _font("soft", 13),
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6, "l": 4},
        },
        "xaxis": x_axis,
        "yaxis": axis,
    }


def set_log(
    axis: Spec,
    values: Sequence[float],
    ticks: Callable[[Sequence[float]], tuple[list[float], list[str]]] = log_ticks,
) -> None:
    """Make an axis logarithmic, with ticks that suit these values."""
    places, texts = ticks(values)
    axis["type"] = "log"
    if places:
        axis.update({"tickmode": "array", "tickvals": places, "ticktext": texts})


def line(
    series: Series,
    x: Sequence[float | None],
    y: Sequence[float | None],
    hover: Sequence[str],
    error: Sequence[float | None] | None = None,
    sizes: Sequence[float] | float = 8,
) -> Spec:
    """Make a line with marks, and error bars for errors; `hover` is made by `chart_text`."""
    colour = f"@{series.colour}"
    if isinstance(sizes, int | float):
        # At full size that many marks would look like a band.
        sizes = [sizes if len(x) <= MANY_MARKS else sizes / 2] * len(x)
    trace: Spec = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(series.name),
        "meta": {"key": series.key, "mark": series.mark_path},
        "x": list(x),
        "y": list(y),
        "text": list(hover),
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 1.5 if series.quiet else 2, "dash": series.dash},
        "marker": {
            "color": colour,
            "symbol": series.symbol,
            "size": list(sizes),
            "line": {"width": 1.5 if series.quiet else 0, "color": colour},
            "opacity": 1,
        },
        "connectgaps": False,
    }
    if error is not None and finite(error):
        look = {"color": colour, "thickness": 1.2, "width": 3}
        trace["error_y"] = {"type": "data", "array": list(error)} | look
    return trace


def level(series: Series, left: float, right: float, y: float, hover: str) -> Spec:
    """Make a horizontal line for a method without a width, of many points for the hover text."""
    n = 25
    ratio = (right / left) ** (1 / (n - 1))
    trace = line(series, [left * ratio**i for i in range(n)], [y] * n, [hover] * n)
    trace["mode"] = "lines"
    return trace
