r"""Data in the plane: what each method decides where, and the Fourier potential.

The potential :math:`v(w) = \sum_k | \sum_i A_{ik} e^{i \langle w, x_i \rangle} |^2` is what margin
features climb; the frequencies they chose are marked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bochner.report.charts import Figure, Spec, layout
from bochner.report.numbers import chart_text, finite, number
from bochner.report.series import Series, numbered

Grid = Sequence[Sequence[Any]]


def class_series(plane: Mapping[str, Any]) -> list[Series]:
    """A look for each class of the decisions; none for regression."""
    decisions = plane.get("decisions", [])
    classes: Sequence[Any] = next((d["classes"] for d in decisions if d.get("classes")), ())
    return [numbered(i, f"c{i}", str(label)) for i, label in enumerate(classes)]


def widths_of(plane: Mapping[str, Any]) -> list[int]:
    """The widths of the maps whose decisions are drawn."""
    return sorted({int(d["width"]) for d in plane.get("decisions", []) if d.get("width")})


def decision_figures(plane: Mapping[str, Any], looks: Mapping[str, Series]) -> list[Figure]:
    """One square a method: what it predicts at every point, and the rows."""
    classes = class_series(plane)
    decisions = plane.get("decisions", [])
    numbers = finite(v for d in decisions for row in d["values"] for v in row)
    limits = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    first, second = (str(name) for name in plane.get("names", ("x", "y")))
    several = len(widths_of(plane)) > 1
    figures = []
    for i, decision in enumerate(decisions):
        method, width = str(decision["method"]), decision.get("width")
        surface = _classes_surface(decision, plane, classes)
        if not classes:
            surface = _number_surface(decision, plane, limits)
        chart = _square(first, second, plane["x"], plane["y"])
        points = _points(plane.get("points"), classes, limits)
        title = f"{method}, width {width}" if width and several else method
        figures.append(
            Figure(
                f"decisions-{i}",
                title,
                f"Map of what {title} predicts over {first} and {second}.",
                {"data": [surface, *points], "layout": chart},
                key=looks[method].key if method in looks else "",
                square=True,
            )
        )
    return figures


def potential_figure(plane: Mapping[str, Any]) -> Figure | None:
    """The potential over the plane of frequencies, and those that were chosen."""
    potential = plane.get("potential")
    if not potential:
        return None
    x, y = potential["frequency_x"], potential["frequency_y"]
    names = [str(name) for name in plane.get("names", ("x", "y"))]
    chart = _square(f"frequency along {names[0]}", f"frequency along {names[1]}", x, y)
    traces: list[Spec] = [
        {
            "type": "heatmap",
            "x": list(x),
            "y": list(y),
            "z": _rounded(potential["values"]),
            "colorscale": [[0, "@heat-0"], [0.4, "@heat-1"], [1, "@heat-2"]],
            "colorbar": _colour_bar(),
            "hovertemplate": "frequency (%{x:.3g}, %{y:.3g})<br>potential %{z:.3g}<extra></extra>",
        }
    ]
    chosen = potential.get("chosen") or {}
    if chosen.get("x"):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": list(chosen["x"]),
                "y": list(chosen["y"]),
                "marker": {
                    "symbol": "circle-open",
                    "size": 10,
                    "color": "@mark",
                    "line": {"width": 2, "color": "@mark"},
                },
                "hovertemplate": "chosen: (%{x:.3g}, %{y:.3g})<extra></extra>",
            }
        )
    return Figure(
        "potential",
        "The Fourier potential",
        f"Map of the potential over frequencies, {len(chosen.get('x') or [])} chosen ones marked.",
        {"data": traces, "layout": chart},
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


def _classes_surface(
    decision: Mapping[str, Any], plane: Mapping[str, Any], classes: Sequence[Series]
) -> Spec:
    """Each class in a colour of its own: steps of equal length on the scale."""
    steps = [
        [edge / len(classes), f"@{series.colour}"]
        for i, series in enumerate(classes)
        for edge in (i, i + 1)
    ]
    return {
        "type": "heatmap",
        "x": list(plane["x"]),
        "y": list(plane["y"]),
        "z": _rounded(decision["values"]),
        "zmin": -0.5,
        "zmax": len(classes) - 0.5,
        "colorscale": steps,
        "opacity": 0.28,
        "showscale": False,
        "hoverinfo": "skip",
    }


def _number_surface(
    decision: Mapping[str, Any], plane: Mapping[str, Any], limits: tuple[float, float]
) -> Spec:
    return {
        "type": "heatmap",
        "x": list(plane["x"]),
        "y": list(plane["y"]),
        "z": _rounded(decision["values"]),
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": "Cividis",
        "colorbar": _colour_bar(),
        "hovertemplate": "(%{x:.3g}, %{y:.3g})<br>prediction %{z:.3g}<extra></extra>",
    }


def _colour_bar() -> Spec:
    return {
        "thickness": 8,
        "outlinewidth": 0,
        "nticks": 5,
        "tickfont": {"color": "@soft", "size": 11},
    }


def _points(
    points: Mapping[str, Any] | None, classes: Sequence[Series], limits: tuple[float, float]
) -> list[Spec]:
    if not points:
        return []
    labels = points["label"]
    rows = list(zip(points["x"], points["y"], labels, strict=True))
    common: Spec = {
        "type": "scatter",
        "mode": "markers",
        "hovertemplate": "(%{x:.3g}, %{y:.3g})<br>%{text}<extra></extra>",
    }
    if not classes:
        marker = {
            "size": 5,
            "color": [number(label) for label in labels],
            "colorscale": "Cividis",
            "cmin": limits[0],
            "cmax": limits[1],
            "line": {"width": 0.8, "color": "@card"},
        }
        return [
            common
            | {
                "x": [x for x, _, _ in rows],
                "y": [y for _, y, _ in rows],
                "text": [chart_text(label) for label in labels],
                "marker": marker,
            }
        ]
    traces = []
    for series in classes:
        own = [(x, y) for x, y, label in rows if str(label) == series.name]
        traces.append(
            common
            | {
                "x": [x for x, _ in own],
                "y": [y for _, y in own],
                "text": [chart_text(series.name)] * len(own),
                "marker": {
                    "size": 5,
                    "symbol": series.mark,
                    "color": f"@{series.colour}",
                    "line": {"width": 0.6, "color": "@card"},
                },
            }
        )
    return traces


def _rounded(values: Grid) -> list[list[float | None]]:
    """Four digits are more than a picture shows."""
    return [[_digits(number(value)) for value in row] for row in values]


def _digits(value: float | None) -> float | None:
    if value is None or value == 0:
        return value
    return round(value, 3 - math.floor(math.log10(abs(value))))
