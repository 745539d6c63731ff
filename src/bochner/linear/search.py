"""The best of a list of values, found by going from neighbour to neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def search_along(values: Sequence[float], start: float, judge: Callable[[float], float]) -> float:
    """The value reached by going to a neighbour in the list as long as that is better."""
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
    """As :func:`search_along`, where `judge` gives a slope beside the score: its gain for a step.

    A positive slope says that the score grows along the list: nothing is looked at on the other
    side, nor beyond a value whose slope points back, or promises less than the `least_gain`, a
    share of the score.
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
