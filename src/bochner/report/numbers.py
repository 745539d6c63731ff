"""Values of a document as short text: scores, seconds, settings, names."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

from bochner.records.statistics import format_mean

MISSING = "–"  # noqa: RUF001


def number(value: Any) -> float | None:
    """Return a finite number, or None for everything else."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        return None
    return result if math.isfinite(result) else None


def finite(values: Iterable[Any]) -> list[float]:
    """Return the finite numbers among the values."""
    return [kept for kept in map(number, values) if kept is not None]


def score_text(score: Any, error: Any = None, unit: str = "") -> str:
    """Format a score with its standard error: two decimals for percent, three otherwise."""
    form = ".2f" if unit == "%" else ".3f"
    return format_mean(number(score), number(error), form, missing=MISSING)


def seconds_text(seconds: Any) -> str:
    """Format a time in the unit that suits it.

    >>> from bochner.report.numbers import seconds_text
    >>> [seconds_text(t) for t in (2e-5, 0.0123, 1.25, 75, 7260)]
    ['20 µs', '12 ms', '1.2 s', '1 min 15 s', '2 h 1 min']
    """
    value = number(seconds)
    if value is None:
        return MISSING
    if value < 59.5:
        scale, unit = 1.0, "s"
        if value < 0.9995:
            scale, unit = (1e3, "ms") if value >= 0.9995e-3 else (1e6, "µs")
        scaled = value * scale
        return f"{scaled:.1f} {unit}" if 0 < scaled < 9.95 else f"{scaled:.0f} {unit}"
    whole, units = round(value), ("min", "s")
    if whole >= 3600:
        whole, units = round(whole / 60), ("h", "min")
    long, rest = divmod(whole, 60)
    return f"{long} {units[0]}" + (f" {rest} {units[1]}" if rest else "")


def value_text(value: Any) -> str:
    """Format any value of a results document in a few characters."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def bound_text(value: Any) -> str:
    """Format the value of a guarantee, with digits that line up in a column."""
    known = number(value)
    if known is None:
        return MISSING
    return f"{known:.4f}" if abs(known) < 100 else f"{known:.4g}"


def settings_text(settings: Mapping[str, Any] | None) -> str:
    """Format chosen settings as ``name value``, with commas; lines may break before words."""
    pairs = (
        name + (" " if isinstance(v, str) else "\N{NO-BREAK SPACE}") + value_text(v)
        for name, v in (settings or {}).items()
    )
    return ", ".join(pairs)


def shortened(text: Any, length: int = 40) -> str:
    """Return the text on one line, cut to at most this many characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def chart_text(text: Any, length: int = 60) -> str:
    """Return text as a chart should draw it, with its few tags made harmless."""
    return html.escape(shortened(text, length), quote=False)
