"""Which lines go on to further splits: they are compared row by row on the first one."""

from __future__ import annotations

import base64
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
_LARGEST = float(np.finfo(np.float16).max)


def written(by_row: NDArray[np.float64]) -> str:
    """Numbers of test rows, or of as many as are needed, as text."""
    some = by_row[:: -(-len(by_row) // _MOST_ROWS) or 1]
    half = np.clip(some, -_LARGEST, _LARGEST).astype("<f2")
    return base64.b64encode(half.tobytes()).decode()


def read(text: str) -> NDArray[np.float64]:
    """What :func:`written` wrote, to three digits."""
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


def measured_once(results: Sequence[Result]) -> set[Line]:
    """Lines that need no other split than the first.

    Those that the best is ahead of by far more than the noise: two standard errors of the
    difference on the same test rows. And those of other packages whose counterpart of ours was
    measured with the same width: one split tells what they cost, and the kernel is the same.
    Empty unless the best is known.
    """
    first = [one for one in results if one.cell.seed == 0 and BY_ROW in one.details]
    if not first:
        return set()
    best = max(first, key=lambda one: one.score)
    leading = read(str(best.details[BY_ROW]))
    lines = {line_of(one.cell) for one in first}

    def is_far(one: Result) -> bool:
        return is_clearly_lower(read(str(one.details[BY_ROW])), leading, errors=_FAR)

    def is_there_twice(line: Line) -> bool:
        method, *others = line
        return (METHODS[method].counterpart, *others) in lines

    far = {line_of(one.cell) for one in first if is_far(one)}
    return far | {line for line in lines if is_there_twice(line)}


def worth_measuring(cells: Sequence[Cell], results: Sequence[Result]) -> list[Cell]:
    """Cells of the first split, and of the lines that are not :func:`measured_once`."""
    once = measured_once(results)
    return [cell for cell in cells if cell.seed == 0 or line_of(cell) not in once]
