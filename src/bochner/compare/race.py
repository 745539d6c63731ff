"""Which lines go on to further splits: they are compared row by row on the first one.

Splits are there to tell lines apart. What is far behind on the first needs no other; and where
all others are far behind one line, on many test rows, nothing is left to tell.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.compare.plan import Line, line_of
from bochner.linear.paired import is_clearly_lower
from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Result

BY_ROW = "by row"  # of a cell's details: what each test row contributes to the score
_FAR = 2.0  # standard errors of the difference: what is dropped by chance was tied at best
_MOST_ROWS = 4000  # that are written down
_MANY_ROWS = 1000  # of the first split's test rows: with fewer, fits are cheap and luck is large
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
    first = _first_split(results)
    lines = {line_of(one.cell) for one in first}

    def is_there_twice(line: Line) -> bool:
        method, *others = line
        return (METHODS[method].counterpart, *others) in lines

    return _far_behind(first) | {line for line in lines if is_there_twice(line)}


def is_decided(results: Sequence[Result]) -> bool:
    """Whether all lines are far behind one of them, by many test rows of the first split."""
    first = _first_split(results)
    far = _far_behind(first)
    open_lines = {line_of(one.cell) for one in first} - measured_once(results)
    many = all(len(read(str(one.details[BY_ROW]))) >= _MANY_ROWS for one in first)
    return bool(far) and len(open_lines) == 1 and many


def worth_measuring(cells: Sequence[Cell], results: Sequence[Result]) -> list[Cell]:
    """Cells of the first split, and of the lines that are not :func:`measured_once`.

    Of no other split where the first was measured, and :func:`is_decided`.
    """
    once, known = measured_once(results), {line_of(one.cell) for one in _first_split(results)}
    if known.issuperset(map(line_of, cells)) and is_decided(results):
        return [cell for cell in cells if cell.seed == 0]
    return [cell for cell in cells if cell.seed == 0 or line_of(cell) not in once]


def _first_split(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if one.cell.seed == 0 and BY_ROW in one.details]


def _far_behind(first: Sequence[Result]) -> set[Line]:
    """Lines that are behind the best of the first split by far more than the noise."""
    if not first:
        return set()
    best = max(first, key=lambda one: one.score)
    leading = read(str(best.details[BY_ROW]))

    def is_far(one: Result) -> bool:
        return is_clearly_lower(read(str(one.details[BY_ROW])), leading, errors=_FAR)

    return {line_of(one.cell) for one in first if is_far(one)}
