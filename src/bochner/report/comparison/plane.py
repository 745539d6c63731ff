r"""Data in the plane: what each method decides where, and the Fourier potential.

Margin features search the peaks of the potential
:math:`v(w) = \sum_k | \sum_i A_{ik} e^{i \langle w, x_i \rangle} |^2`; the chosen ones are marked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bochner.report.charts import Figure, Spec, layout
from bochner.report.comparison.document import Comparison
from bochner.report.numbers import chart_text, finite, number
from bochner.report.section import Section
from bochner.report.series import Series, numbered

Grid = Sequence[Sequence[Any]]
Limits = tuple[float, float]

COLOUR_BAR: Spec = {
    "thickness": 8,
    "outlinewidth": 0,
    "nticks": 5,
    "tickfont": {"color": "@soft", "size": 11},
}


@dataclass(frozen=True, kw_only=True)
class Plane(Section):
    """The decisions in the plane, the classes, and the width if all maps have the same."""

    template: ClassVar[str] = "plane.html"
    decisions: tuple[Figure, ...]
    potential: Figure | None
    classes: tuple[Series, ...]
    width: int | None


def plane_section(comparison: Comparison) -> Plane | None:
    plane = comparison.pictures.get("plane") or {}
    decisions, potential = decision_figures(comparison, plane), potential_figure(plane)
    figures = (*decisions, potential) if potential else decisions
    if not figures:
        return None
    widths = _widths(plane)
    return Plane(
        name="plane",
        heading="In the plane",
        figures=figures,
        decisions=decisions,
        potential=potential,
        classes=tuple(_class_series(plane)),
        width=widths.pop() if len(widths) == 1 else None,
    )


def _class_series(plane: Mapping[str, Any]) -> list[Series]:
    """Return a look for each class of the decisions; none for regression."""
    decisions = plane.get("decisions", [])
    classes: Sequence[Any] = next((d["classes"] for d in decisions if d.get("classes")), ())
    return [numbered(i, f"c{i}", str(label)) for i, label in enumerate(classes)]


def _widths(plane: Mapping[str, Any]) -> set[int]:
    return {int(d["width"]) for d in plane.get("decisions", []) if d.get("width")}


def decision_figures(comparison: Comparison, plane: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Draw a square per method: what it predicts at every point, and the rows."""
    classes = _class_series(plane)
    decisions = plane.get("decisions", [])
    numbers = finite(v for d in decisions for row in d["values"] for v in row)
    limits = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    first, second = (str(name) for name in plane.get("names", ("x", "y")))
    several = len(_widths(plane)) > 1
    figures = []
    for i, decision in enumerate(decisions):
        method, width = str(decision["method"]), decision.get("width")
        style = _class_colours(classes) if classes else _number_colours(limits)
        surface = _heatmap(plane["x"], plane["y"], decision["values"], style)
        points = _points(plane.get("points"), classes, limits)
        title = f"{method}, width {width}" if width and several else method
        label = f"Map of what {title} predicts over {first} and {second}."
        chart = _square(first, second, plane["x"], plane["y"])
        spec = {"data": [surface, *points], "layout": chart}
        key = comparison.key(decision)
        figures.append(Figure(f"decisions-{i}", title, label, spec, key=key, square=True))
    return tuple(figures)


def potential_figure(plane: Mapping[str, Any]) -> Figure | None:
    """Draw the potential over the plane of frequencies, and the chosen frequencies."""
    potential = plane.get("potential")
    if not potential:
        return None
    x, y = potential["frequency_x"], potential["frequency_y"]
    first, second = (f"frequency along {name}" for name in plane.get("names", ("x", "y")))
    colours = {
        "colorscale": [[0, "@heat-0"], [0.4, "@heat-1"], [1, "@heat-2"]],
        "colorbar": COLOUR_BAR,
        "hovertemplate": "frequency (%{x:.3g}, %{y:.3g})<br>potential %{z:.3g}<extra></extra>",
    }
    traces = [_heatmap(x, y, potential["values"], colours)]
    chosen = potential.get("chosen") or {}
    if chosen.get("x"):
        ring = {"width": 2, "color": "@mark"}
        marker = {"symbol": "circle-open", "size": 10, "color": "@mark", "line": ring}
        hover = "chosen: (%{x:.3g}, %{y:.3g})<extra></extra>"
        traces.append(_marks(chosen["x"], chosen["y"], marker, hovertemplate=hover))
    return Figure(
        "potential",
        "The Fourier potential",
        f"Map of the potential over frequencies, {len(chosen.get('x') or [])} chosen ones marked.",
        {"data": traces, "layout": _square(first, second, x, y)},
        "Peaks are frequencies at which the weighted rows add up."
        + " Rings are the frequencies that were chosen." * bool(chosen.get("x")),
        square=True,
    )


def _square(x_title: str, y_title: str, x: Sequence[float], y: Sequence[float]) -> Spec:
    chart = layout(x_title, y_title)
    chart["margin"] = {"l": 36, "r": 10, "t": 30, "b": 44}
    for name, values in (("xaxis", x), ("yaxis", y)):
        numbers = finite(values)
        chart[name].update({"showgrid": False, "fixedrange": True, "nticks": 6})
        if numbers:
            chart[name]["range"] = [min(numbers), max(numbers)]
    return chart


def _heatmap(x: Sequence[Any], y: Sequence[Any], values: Grid, style: Spec) -> Spec:
    z = [[_rounded(number(value)) for value in row] for row in values]
    return {"type": "heatmap", "x": list(x), "y": list(y), "z": z} | style


def _class_colours(classes: Sequence[Series]) -> Spec:
    """Give each class its own colour, in steps of equal length on the scale."""
    steps = [
        [edge / len(classes), f"@{series.colour}"]
        for i, series in enumerate(classes)
        for edge in (i, i + 1)
    ]
    return {
        "zmin": -0.5,
        "zmax": len(classes) - 0.5,
        "colorscale": steps,
        "opacity": 0.28,
        "showscale": False,
        "hoverinfo": "skip",
    }


def _number_colours(limits: Limits) -> Spec:
    return {
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": "Cividis",
        "colorbar": COLOUR_BAR,
        "hovertemplate": "(%{x:.3g}, %{y:.3g})<br>prediction %{z:.3g}<extra></extra>",
    }


def _marks(x: Sequence[Any], y: Sequence[Any], marker: Spec, **rest: Any) -> Spec:
    common = {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "marker": marker}
    return common | rest


def _points(
    points: Mapping[str, Any] | None, classes: Sequence[Series], limits: Limits
) -> list[Spec]:
    """Draw the rows: one trace per class, or one in the colours of the numbers."""
    if not points:
        return []
    x, y, labels = points["x"], points["y"], points["label"]

    def trace(rows: Sequence[int], look: Spec, edge: float, **rest: Any) -> Spec:
        marker = {"size": 5} | look | {"line": {"width": edge, "color": "@card"}}
        text = [chart_text(labels[i]) for i in rows]
        hover = "(%{x:.3g}, %{y:.3g})<br>%{text}<extra></extra>"
        at = [x[i] for i in rows], [y[i] for i in rows]
        return _marks(*at, marker, text=text, hovertemplate=hover, **rest)

    if not classes:
        numbers = {"color": [number(label) for label in labels], "colorscale": "Cividis"}
        return [trace(range(len(labels)), numbers | {"cmin": limits[0], "cmax": limits[1]}, 0.8)]
    traces = []
    for series in classes:
        own = [i for i, label in enumerate(labels) if str(label) == series.name]
        look = {"symbol": series.mark, "color": f"@{series.colour}"}
        traces.append(trace(own, look, 0.6, meta={"mark": series.mark_path}))
    return traces


def _rounded(value: float | None) -> float | None:
    """Round to four digits, which are more than a picture shows."""
    if value is None or value == 0:
        return value
    return round(value, 3 - math.floor(math.log10(abs(value))))
