"""Which lines go on to further splits: after each they are compared row by row.

Splits are there to tell lines apart. What is far behind needs no other; and where all others are
far behind one line, on many test rows, nothing is left to tell.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.compare.plan import TEST, Line, line_of
from bochner.linear.paired import is_clearly_lower
from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Result

BY_ROW = "by row"  # of a cell's details: what each test row contributes to the score
_FAR = 2.0  # standard errors of the difference: what is dropped by chance was tied at best
_MOST_ROWS = 4000  # that are written down
_MANY_ROWS = 1000  # test rows that decide: with fewer, fits are cheap and luck is large
_LARGEST = float(np.finfo(np.float16).max)


def written(by_row: NDArray[np.float64]) -> str:
    """Numbers of test rows, or of as many as are needed, as text."""
    some = by_row[:: -(-len(by_row) // _MOST_ROWS) or 1]
    half = np.clip(some, -_LARGEST, _LARGEST).astype("<f2")
    return base64.b64encode(half.tobytes()).decode()


def read(text: str) -> NDArray[np.float64]:
    """What :func:`written` wrote, to three digits."""
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


def error_by_rows(result: Result) -> float:
    """The standard error of a score over the test rows; NaN where they are not known."""
    by_row = read(str(result.details.get(BY_ROW, "")))
    return float(by_row.std(ddof=1) / len(by_row) ** 0.5) if len(by_row) > 1 else math.nan


def measured_once(results: Sequence[Result]) -> set[Line]:
    """Lines that need no other split than the first.

    Those that the best is ahead of by far more than the noise: two standard errors of the
    difference on the same test rows. And those of other packages whose counterpart of ours was
    measured with the same width: one split tells what they cost, and the kernel is the same.
    Empty unless the best is known.
    """
    lines = {line_of(one.cell): [one] for one in _first_split(results)}

    def is_there_twice(line: Line) -> bool:
        method, *others = line
        return (METHODS[method].counterpart, *others) in lines

    return {*_far_behind(lines), *filter(is_there_twice, lines)}


def set_aside(results: Sequence[Result]) -> dict[Line, int]:
    """Lines that need no further split, and after how many.

    Those that are :func:`measured_once`, and of the others those that are far behind on all
    splits so far. Random splits share rows, so that the error of a difference over `J` of them is
    that over all their rows times the root of :math:`1 + (J - 1) q`, where `q` is the share of
    the rows that a split tests on.
    """
    found = dict.fromkeys(measured_once(results), 1)
    by_line: dict[Line, dict[int, Result]] = {}
    for one in results:
        if BY_ROW in one.details:
            by_line.setdefault(line_of(one.cell), {})[one.cell.seed] = one
    for n in range(2, 1 + max(map(len, by_line.values()), default=0)):
        errors = _FAR * (1 + (n - 1) * TEST) ** 0.5
        there = {
            line: [splits[seed] for seed in range(n)]
            for line, splits in by_line.items()
            if line not in found and splits.keys() >= set(range(n))
        }
        found |= dict.fromkeys(_far_behind(there, errors), n)
    return found


def is_decided(results: Sequence[Result]) -> bool:
    """Whether all lines but one are set aside, far behind it by many test rows."""
    first, aside = _first_split(results), set_aside(results)
    ahead = [one for one in first if line_of(one.cell) not in aside]
    n_splits = max(aside.values(), default=0)
    behind = n_splits > 1 or _far_behind({line_of(one.cell): [one] for one in first})
    if len(ahead) != 1 or not behind:  # references are aside, but not behind
        return False
    return n_splits * len(read(str(ahead[0].details[BY_ROW]))) >= _MANY_ROWS


def worth_measuring(cells: Sequence[Cell], results: Sequence[Result]) -> list[Cell]:
    """Cells of lines that are not :func:`set_aside`, and what led to that; one split at a time.

    Where all lines are known, and it :func:`is_decided`, no others. Of further splits the
    costliest come first: no process is left with a long one when there is nothing more to do.
    """
    first, aside = _first_split(results), set_aside(results)
    seconds = {line_of(one.cell): one.seconds for one in first}
    most = math.inf
    if seconds.keys() >= set(map(line_of, cells)) and is_decided(results):
        most = max(aside.values())
    wanted = [cell for cell in cells if cell.seed < min(most, aside.get(line_of(cell), most))]

    def turn(cell: Cell) -> tuple[int, float]:
        return cell.seed, -seconds.get(line_of(cell), 0.0) if cell.seed else 0.0

    return sorted(wanted, key=turn)


def _first_split(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if one.cell.seed == 0 and BY_ROW in one.details]


def _far_behind(lines: Mapping[Line, Sequence[Result]], errors: float = _FAR) -> list[Line]:
    """Lines that are behind the best by far more than the noise, on the same splits."""
    if not lines:
        return []
    best = max(lines, key=lambda line: sum(one.score for one in lines[line]))

    def rows_of(line: Line) -> NDArray[np.float64]:
        return np.concatenate([read(str(one.details[BY_ROW])) for one in lines[line]])

    leading = rows_of(best)
    return [line for line in lines if is_clearly_lower(rows_of(line), leading, errors=errors)]
