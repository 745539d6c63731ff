"""Charts as plotly.js draws them: plain dictionaries of traces and a layout.

Colours are names of the style sheet's custom properties with an @ in front, which the page's
script looks up: so a chart follows the theme. All text goes through
:func:`~bochner.report.numbers.chart_text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bochner.report.numbers import chart_text, finite
from bochner.report.series import Series
from bochner.report.ticks import log_ticks

Spec = dict[str, Any]
MANY_MARKS = 25


@dataclass(frozen=True)
class Figure:
    """A chart and the words around it.

    Attributes
    ----------
    name : str
        Unique on the page: letters, digits and hyphens.
    title : str
        The heading above it.
    label : str
        What a screen reader says in its place.
    spec : dict
        ``data`` and ``layout``.
    note : str
        Below it, may be empty.
    key : str
        The series it belongs to as a whole, if any: switched off, it disappears.
    square : bool
        As high as it is wide.
    """

    name: str
    title: str
    label: str
    spec: Spec
    note: str = ""
    key: str = ""
    square: bool = False


def layout(x_title: str, y_title: str) -> Spec:
    """A calm layout: the vertical axis is named above it, in reading direction."""
    axis: Spec = {
        "gridcolor": "@grid",
        "linecolor": "@line",
        "tickcolor": "@line",
        "tickfont": {"color": "@soft", "size": 12},
        "zeroline": False,
        "automargin": True,
    }
    x_axis = axis | {
        "showline": True,
        "showgrid": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickangle": 0,
        "title": {
            "text": chart_text(x_title),
            "font": {"color": "@soft", "size": 13},
            "standoff": 8,
        },
    }
    return {
        "autosize": True,
        "showlegend": False,
        "hovermode": "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 44, "r": 14, "t": 34, "b": 50},
        "font": {"color": "@ink", "size": 13},
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@line",
            "font": {"color": "@ink", "size": 13},
            "align": "left",
        },
        "title": {
            "text": chart_text(y_title),
            "font": {"color": "@soft", "size": 13},
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


def set_log(axis: Spec, ticks: tuple[list[float], list[str]]) -> None:
    """Make an axis logarithmic, with these ticks."""
    values, texts = ticks
    axis["type"] = "log"
    if values:
        axis.update({"tickmode": "array", "tickvals": values, "ticktext": texts})


def line(
    series: Series,
    x: Sequence[float | None],
    y: Sequence[float | None],
    hover: Sequence[str],
    error: Sequence[float | None] | None = None,
    sizes: Sequence[float] | float = 8,
) -> Spec:
    """One series: a line with marks, and error bars if there are errors.

    `hover` is text already made safe by :func:`chart_text`.
    """
    colour = f"@{series.colour}"
    if isinstance(sizes, int | float):
        # So many marks would be a band.
        sizes = [sizes if len(x) <= MANY_MARKS else sizes / 2] * len(x)
    trace: Spec = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(series.name),
        "meta": {"key": series.key},
        "x": list(x),
        "y": list(y),
        "text": list(hover),
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 1.5 if series.quiet else 2, "dash": series.dash},
        "marker": {
            "color": colour,
            "symbol": series.symbol,
            "size": [size * series.scale for size in sizes],
            "line": {"width": 1.5 if series.quiet else 0, "color": colour},
            "opacity": 1,
        },
        "connectgaps": False,
    }
    if error is not None and finite(error):
        trace["error_y"] = {
            "type": "data",
            "array": list(error),
            "color": colour,
            "thickness": 1.2,
            "width": 3,
        }
    return trace


def level(series: Series, left: float, right: float, y: float, hover: str) -> Spec:
    """A horizontal line, for a method without a width. Many points, so that all of it hovers."""
    n = 25
    ratio = (right / left) ** (1 / (n - 1))
    trace = line(series, [left * ratio**i for i in range(n)], [y] * n, [hover] * n)
    trace["mode"] = "lines"
    return trace


def tidy_log(axis: Spec, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with ticks that suit these values."""
    set_log(axis, log_ticks(values))
