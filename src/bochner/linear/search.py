"""Searching a list of values for the best one, from neighbour to neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def search_along(values: Sequence[float], start: float, judge: Callable[[float], float]) -> float:
    """Return the value reached by moving to a neighbour in the list as long as it is better."""
    here = list(values).index(start)
    best = judge(values[here])
    for step in (1, -1):
        begun = here
        while 0 <= here + step < len(values):
            score = judge(values[here + step])
            if not score > best:
                break
            here, best = here + step, score
        if here != begun:
            break
    return values[here]


def search_by_slope(
    values: Sequence[float],
    start: float,
    judge: Callable[[float], tuple[float, float]],
    least_gain: float = 0.0,
) -> float:
    """Search as :func:`search_along`, with a `judge` that also returns the slope of the score.

    The slope is the gain per step. A positive slope means that the score grows along the list:
    values on the other side are not judged, nor those beyond a value whose slope points back or
    promises less than `least_gain`, a fraction of the score.
    """
    here = list(values).index(start)
    best, slope = judge(values[here])
    step = 1 if slope > 0 else -1
    while 0 <= here + step < len(values) and slope * step > least_gain * abs(best):
        score, slope = judge(values[here + step])
        if not score > best:
            break
        here, best = here + step, score
    return values[here]
