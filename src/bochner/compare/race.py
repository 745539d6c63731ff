"""Choice of the lines that go on to further splits, compared row by row after each split.

Splits serve to tell lines apart. A line that is far behind needs no further split; and if all
others are far behind one line, on many test rows, nothing is left to tell.
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

BY_ROW = "by row"  # key of a cell's details: what each test row contributes to the score
_FAR = 2.0  # standard errors of the difference: a line dropped by chance was tied at best
_MOST_ROWS = 4000  # test rows that are written down
_MANY_ROWS = 1000  # test rows that decide: with fewer, fits are cheap and luck is large
_LARGEST = float(np.finfo(np.float16).max)


def written(by_row: NDArray[np.float64]) -> str:
    """Encode the numbers of the test rows, thinned out if there are many, as text."""
    some = by_row[:: -(-len(by_row) // _MOST_ROWS) or 1]
    half = np.clip(some, -_LARGEST, _LARGEST).astype("<f2")
    return base64.b64encode(half.tobytes()).decode()


def read(text: str) -> NDArray[np.float64]:
    """Decode what :func:`written` encoded, to three digits."""
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


def error_by_rows(result: Result) -> float:
    """Return the standard error of a score over the test rows; NaN where they are not known."""
    by_row = read(str(result.details.get(BY_ROW, "")))
    return float(by_row.std(ddof=1) / len(by_row) ** 0.5) if len(by_row) > 1 else math.nan


def measured_once(results: Sequence[Result]) -> set[Line]:
    """Return the lines that need no split but the first.

    These are the lines that are behind the best by more than the noise, two standard errors of
    the difference on the same test rows, and the lines of other packages whose counterpart of ours
    was measured with the same width: one split tells what they cost, and the kernel is the same.
    Empty unless the best is known.
    """
    lines = {line_of(one.cell): [one] for one in _first_split(results)}

    def is_there_twice(line: Line) -> bool:
        method, *others = line
        return (METHODS[method].counterpart, *others) in lines

    return {*_far_behind(lines), *filter(is_there_twice, lines)}


def set_aside(results: Sequence[Result]) -> dict[Line, int]:
    """Return the lines that need no further split, with the number of splits that decided it.

    These are the lines of :func:`measured_once` and, among the others, those that are far behind
    on all splits so far. Random splits share rows, so that the error of a difference over `J`
    splits is the one over all their rows times the square root of :math:`1 + (J - 1) q`, where `q`
    is the share of the rows that a split tests on.
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
    """Whether all lines but one are set aside, far behind it on many test rows."""
    first, aside = _first_split(results), set_aside(results)
    ahead = [one for one in first if line_of(one.cell) not in aside]
    n_splits = max(aside.values(), default=0)
    behind = n_splits > 1 or _far_behind({line_of(one.cell): [one] for one in first})
    if len(ahead) != 1 or not behind:  # references are set aside, but not behind
        return False
    return n_splits * len(read(str(ahead[0].details[BY_ROW]))) >= _MANY_ROWS


def worth_measuring(cells: Sequence[Cell], results: Sequence[Result]) -> list[Cell]:
    """Return the cells of lines that are not :func:`set_aside`, one split after the other.

    Lines that are set aside keep the cells that led to it. Once all lines are known and the
    comparison :func:`is_decided`, no further split is measured. In further splits the costliest
    cells come first: no process is left with a long one when there is nothing more to do.
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
    """Return the lines that are behind the best by more than the noise, on the same splits."""
    if not lines:
        return []
    best = max(lines, key=lambda line: sum(one.score for one in lines[line]))

    def rows_of(line: Line) -> NDArray[np.float64]:
        return np.concatenate([read(str(one.details[BY_ROW])) for one in lines[line]])

    leading = rows_of(best)
    return [line for line in lines if is_clearly_lower(rows_of(line), leading, errors=errors)]
