"""Which lines go on to further splits: they are compared row by row on the first one."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.compare.plan import Line, line_of
from bochner.linear.paired import is_clearly_lower
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


def far_behind(results: Sequence[Result]) -> set[Line]:
    """Lines that need no other split: on the first the best is ahead by far more than the noise.

    That is two standard errors of the difference on the same test rows. Empty unless the best
    is known.
    """
    first = [one for one in results if one.cell.seed == 0 and BY_ROW in one.details]
    if not first:
        return set()
    best = max(first, key=lambda one: one.score)
    leading = read(str(best.details[BY_ROW]))

    def is_far(one: Result) -> bool:
        return is_clearly_lower(read(str(one.details[BY_ROW])), leading, errors=_FAR)

    return {line_of(one.cell) for one in first if is_far(one)}


def worth_measuring(cells: Sequence[Cell], results: Sequence[Result]) -> list[Cell]:
    """Cells of the first split, and of the lines that are not :func:`far_behind` on it."""
    far = far_behind(results)
    return [cell for cell in cells if cell.seed == 0 or line_of(cell) not in far]
