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
