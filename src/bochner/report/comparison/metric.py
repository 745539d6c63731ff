"""The learned metric: the columns and directions that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bochner.report.charts import Figure, layout
from bochner.report.comparison.document import Comparison
from bochner.report.numbers import chart_text, shortened, value_text
from bochner.report.section import Section

_BAR = 22  # pixels of height
_MODES = {
    None: "None was better than no metric on held-out rows, so that none is used. The importances "
    "are those of a model without one.",
    "diagonal": "It weighs the columns.",
    "relevance": "It weighs the columns by what a kernel of theirs predicts best with.",
}
_TURNS = "It turns the rows and weighs the directions."

Pair = tuple[str, float]  # the name of a column, and a number


@dataclass(frozen=True, kw_only=True)
class MetricSection(Section):
    """Bars of the importances, and directions in words."""

    template: ClassVar[str] = "metric.html"
    mode: str
    directions: tuple[str, ...]


def metric_section(comparison: Comparison) -> MetricSection | None:
    found = comparison.document.get("metric")
    if not found:
        return None
    return MetricSection(
        name="metric",
        heading="The metric",
        figures=(_bars(found),),
        mode=_MODES.get(found.get("mode"), _TURNS),
        directions=tuple(_sentence(one) for one in found.get("directions") or ()),
    )


def _bars(found: Mapping[str, Any]) -> Figure:
    pairs: list[Pair] = [(str(name), float(share)) for name, share in found["importances"]]
    n_columns = int(found.get("columns") or len(pairs))
    chart = layout("importance (all columns together have 1)", "")
    chart["height"] = 90 + _BAR * len(pairs)
    places = list(range(len(pairs)))
    names = [chart_text(shortened(name, 30)) for name, _ in pairs]
    chart["yaxis"].update(
        {"autorange": "reversed", "tickmode": "array", "tickvals": places, "ticktext": names}
    )
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [share for _, share in pairs],
        "y": places,
        "text": [f"{chart_text(name)}: {share:.3f}" for name, share in pairs],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": "@series-0"},
    }
    first = ", ".join(f"{name} {share:.2f}" for name, share in pairs[:3])
    return Figure(
        "importances",
        "Importances of the columns",
        f"Bars of the importances of {len(pairs)} columns; the largest: {first}.",
        {"data": [trace], "layout": chart},
        f"The {len(pairs)} largest of {n_columns}." * (n_columns > len(pairs)),
    )


def _sentence(entries: Sequence[Sequence[Any]]) -> str:
    """Write a direction as a sum of columns, its largest entries first."""
    terms = [
        f"{'+' if float(weight) >= 0 else '-'} {value_text(round(abs(float(weight)), 2))} "
        f"{shortened(str(name), 30)}"
        for name, weight in entries
    ]
    return " ".join(terms).removeprefix("+ ") + " …"
