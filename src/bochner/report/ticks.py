"""Ticks of logarithmic axes: few, with few digits, and within the range of the values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bochner.report.numbers import seconds_text

MOST_TICKS = 7

# Steps read as seconds, minutes and hours, from fine ones to those for long spans.
_LONG: list[float] = [10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000, 86400]
_TIMES = [
    [f * 10.0**k for k in range(-6, 1) for f in (1, 1.5, 2, 3, 5, 7)] + _LONG,
    [f * 10.0**k for k in range(-6, 1) for f in (1, 2, 5)] + _LONG,
    [10.0**k for k in range(-6, 2)] + [60.0, 600.0, 3600.0, 36000.0],
]


def time_ticks(seconds: Sequence[float]) -> tuple[list[float], list[str]]:
    """Return the ticks of a logarithmic axis of times, and their texts.

    >>> from bochner.report.ticks import time_ticks
    >>> time_ticks([0.012, 0.2])[1]
    ['10 ms', '20 ms', '50 ms', '100 ms', '200 ms']
    >>> time_ticks([0.001, 100])[1]
    ['1 ms', '10 ms', '100 ms', '1 s', '10 s', '1 min']
    """
    values = _ticks(seconds, _TIMES, digits=2)
    # "1.0 s" is how precise a measurement is, not a tick.
    return values, [seconds_text(value).replace(".0 ", " ") for value in values]


def log_ticks(numbers: Sequence[float]) -> tuple[list[float], list[str]]:
    """Return ticks of a log axis: the numbers themselves if few, else 1, 2, 5 or powers of 10.

    >>> from bochner.report.ticks import log_ticks
    >>> log_ticks([32, 128, 512, 128])
    ([32.0, 128.0, 512.0], ['32', '128', '512'])
    >>> log_ticks([10.0**-k for k in range(12)])[1][:2]
    ['10<sup>-11</sup>', '10<sup>-9</sup>']
    """
    own = sorted({float(value) for value in numbers})
    if own and len(own) <= MOST_TICKS and all(value >= 1 and value % 1 == 0 for value in own):
        values = _thinned(own, apart=0.12)
    else:
        low = math.floor(math.log10(own[0])) - 1 if own else 0
        high = math.ceil(math.log10(own[-1])) + 1 if own else 0
        tens = [10.0**k for k in range(low, high + 1)]
        factors = (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1,)
        values = _ticks(own, [[f * ten for ten in tens for f in some] for some in factors], 3)
    return values, [_tick_text(value) for value in values]


def _thinned(values: list[float], apart: float) -> list[float]:
    """Drop values closer to the previous one than this share of the whole span."""
    span = math.log(values[-1] / values[0])
    kept = values[:1]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= apart * span:
            kept.append(value)
    return kept


def _ticks(
    values: Sequence[float], choices: Sequence[Sequence[float]], digits: int
) -> list[float]:
    """Return the first choice that has few enough ticks within the range of the values.

    If the values are close together, return numbers of at most `digits` digits between them.
    """
    if not values:
        return []
    low, high = min(values) / 1.3, max(values) * 1.3
    ticks = _close_ticks(min(values), max(values), choices[0], digits)
    if ticks:
        return ticks
    for candidates in choices:
        ticks = [tick for tick in candidates if low <= tick <= high]
        if len(ticks) <= MOST_TICKS:
            return ticks
    return ticks[:: -(-len(ticks) // MOST_TICKS)]


def _close_ticks(low: float, high: float, usual: Sequence[float], most_digits: int) -> list[float]:
    """Return numbers of few digits within the range, if it has fewer than two usual ticks.

    The axis ends where the values do, and ticks beyond are not seen.
    """
    if sum(low <= tick <= high for tick in usual) >= 2:
        return []
    exponent = math.floor(math.log10(low))
    for digits in range(1, most_digits):
        unit = 10.0 ** (exponent - digits)
        first, last = math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9)
        if last > first:
            step = -(-(last - first + 1) // MOST_TICKS)
            # A power of ten divides more exactly than a fraction multiplies.
            return [
                k * unit if unit >= 1 else k / 10.0 ** (digits - exponent)
                for k in range(first, last + 1, step)
            ]
    return []


def _tick_text(value: float) -> str:
    if 1e-3 <= value < 1e6:
        return f"{value:,.10g}".replace(",", "\N{THIN SPACE}" if value >= 1e4 else "")
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10.0**exponent
    power = f"10<sup>{exponent}</sup>"
    return power if abs(factor - 1) < 1e-9 else f"{factor:.3g}·{power}"
