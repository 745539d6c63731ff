"""Inner loops in NumPy, for so few rows that loading the compiled loops would take longer.

Importing Numba and loading a compiled loop from its cache takes about half a second: more than a
program that predicts a thousand rows needs for all the rest of its work. Within
:func:`few_rows` the operations used by such predictions run these loops instead. They give the
same numbers up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Beyond this many quadrants the reduction of the compiled loops loses bits, and a single-precision
# phase is itself uncertain by more than 2e-4. Rows with such a phase are reported, and cpu.py
# computes them again. Powers of two: then the "or" of all |k| of a row shows one beyond.
QUADRANTS_32 = 2**12
QUADRANTS_64 = 2**20

_few: ContextVar[bool] = ContextVar("few", default=False)


@contextmanager
def few_rows(few: bool = True) -> Iterator[None]:
    """Context in which operations on few rows on the host do without compiled loops.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import features
    >>> from bochner.engine.uncompiled import few_rows
    >>> with few_rows():
    ...     features(np.zeros((1, 2)), np.ones((2, 1)))
    array([[1., 0.]])
    """
    token = _few.set(few)
    try:
        yield
    finally:
        _few.reset(token)


def wave_loops() -> Any:
    """Return the module or object with ``sincos_tile`` for this call."""
    if _few.get():
        return _UNCOMPILED
    from bochner.engine import compiled

    return compiled


def pair_loops() -> Any:
    """Return the source of ``squares_tile``, ``exact_squares`` and ``radial_tile``."""
    if _few.get():
        return _UNCOMPILED
    from bochner.engine.pairs import compiled

    return compiled


class _Uncompiled:
    """Loops with the names and arguments of the compiled ones."""

    @staticmethod
    def sincos_tile(
        phases: Array, scale: Array, out: Array, row: int, cosine: int, sine: int, large: Array
    ) -> None:
        height, width = phases.shape
        quadrants = QUADRANTS_32 if phases.dtype == np.float32 else QUADRANTS_64
        large[:] = ~(np.abs(phases).max(axis=1, initial=0) < quadrants * np.pi / 2)  # or NaN
        for function, first in ((np.cos, cosine), (np.sin, sine)):
            out[row : row + height, first : first + width] = function(phases) * scale

    @staticmethod
    def squares_tile(
        products: Array, length: Array, lengths: Array, near: float, flags: Array
    ) -> None:
        both = length[:, None] + lengths
        products += both
        flags[:] = (products < near * both).any(axis=1)

    @staticmethod
    def exact_squares(
        squares: Array,
        length: Array,
        lengths: Array,
        near: float,
        flags: Array,
        X: Array,
        Z: Array,
    ) -> None:
        for i in np.flatnonzero(flags):
            some = np.flatnonzero(squares[i] < near * (length[i] + lengths))
            squares[i, some] = ((X[i] - Z[some]) ** 2).sum(axis=1)

    @staticmethod
    def radial_tile(
        squares: Array, one: Any, inner_1: Any, inner_2: Any, outer_1: Any, outer_2: Any
    ) -> None:
        if inner_1 == inner_2 == outer_1 == 0:
            squares *= outer_2
            np.exp(squares, out=squares)
            return
        t = np.sqrt(squares)
        factor = one + inner_1 * t + inner_2 * squares
        np.exp(outer_1 * t + outer_2 * squares, out=squares)
        squares *= factor


_UNCOMPILED = _Uncompiled()
