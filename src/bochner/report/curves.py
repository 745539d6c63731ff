"""Quality against width, and against time: the two charts of a comparison."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bochner.report.charts import Figure, layout, level, line, set_log, tidy_log
from bochner.report.numbers import (
    chart_text,
    finite,
    number,
    score_text,
    seconds_text,
    time_ticks,
)
from bochner.report.series import Series

Summary = Mapping[str, Any]
# A clock's reading of nothing has no logarithm.
SHORTEST = 1e-6


def measure_text(measure: Mapping[str, Any]) -> str:
    """The measure with its unit.

    Examples
    --------
    >>> from bochner.report.curves import measure_text
    >>> measure_text({"name": "accuracy", "unit": "%"}), measure_text({"name": "R2", "unit": ""})
    ('accuracy, %', 'R²')
    """
    name = str(measure.get("name", "score"))
    name = {"R2": "R²"}.get(name, name)
    unit = measure.get("unit") or ""
    return f"{name}, {unit}" if unit else name


def total_time(summary: Summary) -> float | None:
    """Seconds to fit and transform, None if either is unknown."""
    fit, transform = number(summary.get("fit")), number(summary.get("transform"))
    return None if fit is None or transform is None else fit + transform


def width_figure(
    summaries: Sequence[Summary], looks: Mapping[str, Series], measure: Mapping[str, Any]
) -> Figure | None:
    """Quality against width, with error bars of one standard error; None if nothing has a width.

    Marks at one width stand a little beside each other, so that their error bars can be told
    apart. A method without a width is a horizontal line.
    """
    groups = _by_method(summaries, looks)
    widths = sorted({int(s["width"]) for s in summaries if s.get("width")})
    if not widths:
        return None
    several = len(widths) > 1
    gaps = [math.log10(b / a) for a, b in itertools.pairwise(widths)]
    spread = 0.22 * min(gaps) if several else 0.3
    with_width = [name for name, group in groups.items() if any(s.get("width") for s in group)]
    margin = 10 ** (spread / 2 + (0.04 * math.log10(widths[-1] / widths[0]) if several else 0.05))

    traces = []
    for name, group in groups.items():
        series = looks[name]
        wide = sorted((s for s in group if s.get("width")), key=lambda s: int(s["width"]))
        if wide:
            place = with_width.index(name) - (len(with_width) - 1) / 2
            shift = 10 ** (spread * place / max(len(with_width) - 1, 1))
            traces.append(
                line(
                    series,
                    [int(s["width"]) * shift for s in wide],
                    [number(s.get("score")) for s in wide],
                    [_hover(s, measure) for s in wide],
                    [number(s.get("standard_error")) for s in wide],
                )
            )
        for summary in (s for s in group if not s.get("width")):
            score = number(summary.get("score"))
            if score is not None:
                left, right = widths[0] / margin, widths[-1] * margin
                traces.append(level(series, left, right, score, _hover(summary, measure)))
    chart = layout("width (number of columns of the map)", measure_text(measure))
    tidy_log(chart["xaxis"], widths)
    if not several:
        chart["xaxis"]["range"] = [math.log10(widths[0]) - 0.25, math.log10(widths[0]) + 0.25]
    errors = finite(s.get("standard_error") for s in summaries)
    note = "Bars are one standard error over the seeds." if errors else "One seed: no error bars."
    if any(not s.get("width") for s in summaries):
        note += " A level line is a machine without a map, whose kernel is exact."
    return Figure(
        "width",
        f"{_name(measure)} against width",
        _label(f"{measure_text(measure)} against width", summaries, measure),
        {"data": traces, "layout": chart},
        note,
    )


def time_figure(
    summaries: Sequence[Summary], looks: Mapping[str, Series], measure: Mapping[str, Any]
) -> Figure | None:
    """Quality against the seconds to fit and transform; None if no time was measured."""
    timed = [s for s in summaries if total_time(s) is not None]
    if not timed:
        return None
    widths = sorted({int(s["width"]) for s in timed if s.get("width")})
    traces, seen = [], []
    for name, group in _by_method(timed, looks).items():
        ordered = sorted(group, key=lambda s: int(s.get("width") or 0))
        times = [max(total_time(s) or 0, SHORTEST) for s in ordered]
        seen += times
        sizes = [_mark_size(s.get("width"), widths) for s in ordered]
        scores = [number(s.get("score")) for s in ordered]
        hover = [_hover(s, measure) for s in ordered]
        traces.append(line(looks[name], times, scores, hover, sizes=sizes))
    chart = layout("time to fit and transform", measure_text(measure))
    set_log(chart["xaxis"], time_ticks(seen))
    return Figure(
        "time",
        f"{_name(measure)} against time",
        _label(f"{measure_text(measure)} against time", summaries, measure),
        {"data": traces, "layout": chart},
        "Up and to the left is better." * bool(measure.get("higher_is_better", True))
        + " A line joins the widths of one method; a larger mark is a wider map.",
    )


def _mark_size(width: Any, widths: Sequence[int]) -> float:
    if not width or len(widths) < 2:
        return 8
    return 6 + 6 * widths.index(int(width)) / (len(widths) - 1)


def _by_method(
    summaries: Sequence[Summary], looks: Mapping[str, Series]
) -> dict[str, list[Summary]]:
    """Baselines first, so that ours are drawn over them."""
    quiet_first = sorted(looks, key=lambda name: not looks[name].quiet)
    groups = {name: [s for s in summaries if str(s["method"]) == name] for name in quiet_first}
    return {name: group for name, group in groups.items() if group}


def _hover(summary: Summary, measure: Mapping[str, Any]) -> str:
    unit = str(measure.get("unit") or "")
    score = score_text(summary.get("score"), summary.get("standard_error"), unit)
    width = summary.get("width")
    return (
        f"<b>{chart_text(summary['method'])}</b><br>"
        + (f"width {width}" if width else "exact kernel")
        + f"<br>{chart_text(_name(measure).lower() if unit else _name(measure))} "
        + f"{score}{chart_text(unit)}"
        + f"<br>fit {seconds_text(summary.get('fit'))}, "
        + f"transform {seconds_text(summary.get('transform'))}"
    )


def _name(measure: Mapping[str, Any]) -> str:
    name = measure_text({**measure, "unit": ""})
    return name[:1].upper() + name[1:]


def _label(what: str, summaries: Sequence[Summary], measure: Mapping[str, Any]) -> str:
    top = best(summaries, measure)
    count = len({str(s["method"]) for s in summaries})
    words = f"Chart of {what}, {count} method{'s' * (count != 1)}."
    if top is not None:
        score = score_text(top["score"], unit=str(measure.get("unit") or ""))
        words += f" Best: {top['method']}"
        words += f" at width {top['width']}" if top.get("width") else ""
        words += f", {score}."
    return words + " The table has the same numbers."


def best(summaries: Sequence[Summary], measure: Mapping[str, Any]) -> Summary | None:
    """The summary with the best score, None if no score is a number."""
    scored = [s for s in summaries if number(s.get("score")) is not None]
    if not scored:
        return None
    pick = max if measure.get("higher_is_better", True) else min
    return pick(scored, key=lambda s: float(s["score"]))
