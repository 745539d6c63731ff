"""Quality against width, and against time: the charts of a comparison."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bochner.report.charts import Figure, Spec, layout, level, line, set_log
from bochner.report.comparison.document import Comparison, Line
from bochner.report.numbers import chart_text, number, score_text, seconds_text
from bochner.report.section import Section
from bochner.report.series import Series
from bochner.report.ticks import time_ticks

SHORTEST = 1e-6  # seconds; zero has no logarithm


@dataclass(frozen=True, kw_only=True)
class Curves(Section):
    """Charts with a line per method, and the switches of the methods."""

    template: ClassVar[str] = "curves.html"
    methods: tuple[Series, ...]


def curves_section(comparison: Comparison) -> Curves | None:
    figures = (draw(comparison) for draw in CHARTS)
    drawn = tuple(figure for figure in figures if figure is not None)
    methods = tuple(comparison.looks.values())
    if not drawn:
        return None
    return Curves(name="charts", heading="Charts", figures=drawn, methods=methods)


def total_time(summary: Line) -> float | None:
    """Return the seconds to fit and transform, None if either is unknown."""
    fit, transform = number(summary.get("fit")), number(summary.get("transform"))
    return None if fit is None or transform is None else fit + transform


def width_figure(comparison: Comparison) -> Figure | None:
    """Draw quality against width, with bars of one standard error; None without any width.

    Marks at the same width are shifted a little, so that their error bars can be told apart. A
    method without a width is a level line.
    """
    widths = comparison.widths
    if not widths:
        return None
    groups = _by_method(comparison, comparison.summaries)
    shifts, ends = _spread([name for name, g in groups.items() if g[-1].get("width")], widths)
    traces = []
    for name, group in groups.items():
        look, wide = comparison.looks[name], [s for s in group if s.get("width")]
        if wide:
            x = [int(s["width"]) * shifts[name] for s in wide]
            error = [number(s.get("standard_error")) for s in wide]
            traces.append(line(look, x, *_marks(comparison, wide), error))
        for summary in group:
            score = number(summary.get("score"))
            if not summary.get("width") and score is not None:
                traces.append(level(look, *ends, score, _hover(comparison, summary)))
    chart = layout("width (number of columns of the map)", comparison.measure.label)
    set_log(chart["xaxis"], widths)
    if len(widths) == 1:
        chart["xaxis"]["range"] = [math.log10(widths[0]) - 0.25, math.log10(widths[0]) + 0.25]
    errors = "Bars are one standard error over the seeds."
    note = errors if comparison.has_errors else "One seed: no error bars."
    if any(not s.get("width") for s in comparison.summaries):
        note += " A level line is a model that has no width to choose."
    return _figure(comparison, "width", traces, chart, note)


def _spread(
    names: Sequence[str], widths: Sequence[int]
) -> tuple[dict[str, float], tuple[float, float]]:
    """Return factors that shift the marks of each method, and the ends of level lines."""
    gaps = [math.log10(b / a) for a, b in itertools.pairwise(widths)]
    spread = 0.22 * min(gaps) if gaps else 0.3
    steps = max(len(names) - 1, 1)
    places = {name: (i - (len(names) - 1) / 2) / steps for i, name in enumerate(names)}
    margin = 10 ** (spread / 2 + (0.04 * sum(gaps) if gaps else 0.05))
    shifts = {name: 10 ** (spread * place) for name, place in places.items()}
    return shifts, (widths[0] / margin, widths[-1] * margin)


def time_figure(comparison: Comparison) -> Figure | None:
    """Draw quality against seconds to fit and transform; None if no time was measured."""
    timed = [s for s in comparison.summaries if total_time(s) is not None]
    if not timed:
        return None
    widths = sorted({int(s["width"]) for s in timed if s.get("width")})
    traces, seen = [], []
    for name, group in _by_method(comparison, timed).items():
        times = [max(total_time(s) or 0, SHORTEST) for s in group]
        seen += times
        sizes = [_mark_size(s.get("width"), widths) for s in group]
        marks = _marks(comparison, group)
        traces.append(line(comparison.looks[name], times, *marks, sizes=sizes))
    chart = layout("time to fit and transform", comparison.measure.label)
    set_log(chart["xaxis"], seen, time_ticks)
    note = "Up and to the left is better. " * comparison.measure.higher_is_better
    note += "A line joins the widths of one method; a larger mark is a wider map."
    return _figure(comparison, "time", traces, chart, note)


# A new chart needs a function and an entry here; None if there is nothing to draw.
CHARTS: list[Callable[[Comparison], Figure | None]] = [width_figure, time_figure]


def _figure(
    comparison: Comparison, against: str, traces: list[Spec], chart: Spec, note: str
) -> Figure:
    measure, best = comparison.measure, comparison.best
    count = len(comparison.looks)
    label = f"Chart of {measure.label} against {against}, {count} method{'s' * (count != 1)}."
    if best is not None:
        width = f" at width {best['width']}" if best.get("width") else ""
        score = score_text(best["score"], unit=measure.unit)
        label += f" Best: {best['method']}{width}, {score}."
    return Figure(
        against,
        f"{measure.title} against {against}",
        f"{label} The table has the same numbers.",
        {"data": traces, "layout": chart},
        note,
    )


def _marks(comparison: Comparison, group: Sequence[Line]) -> tuple[list[float | None], list[str]]:
    """Return the scores of the summaries, and their texts."""
    return [number(s.get("score")) for s in group], [_hover(comparison, s) for s in group]


def _mark_size(width: Any, widths: Sequence[int]) -> float:
    if not width or len(widths) < 2:
        return 8
    return 6 + 6 * widths.index(int(width)) / (len(widths) - 1)


def _by_method(comparison: Comparison, summaries: Sequence[Line]) -> dict[str, list[Line]]:
    """Group by method, baselines first, so that ours are drawn over them; narrow to wide."""
    quiet_first = sorted(comparison.looks.values(), key=lambda look: not look.quiet)
    ordered = sorted(summaries, key=lambda s: int(s.get("width") or 0))
    groups = {k.name: [s for s in ordered if str(s["method"]) == k.name] for k in quiet_first}
    return {name: group for name, group in groups.items() if group}


def _hover(comparison: Comparison, summary: Line) -> str:
    measure, width = comparison.measure, summary.get("width")
    lines = (
        f"<b>{chart_text(summary['method'])}</b>",
        f"width {width}" if width else "exact kernel",
        f"{chart_text(measure.name)} {measure.text(summary)}{chart_text(measure.unit)}",
        f"fit {seconds_text(summary.get('fit'))}, "
        f"transform {seconds_text(summary.get('transform'))}",
    )
    return "<br>".join(lines)
