"""Rows of float32 numbers as pairs of float16 numbers, which tensor cores can multiply.

With a power of two per row that brings its largest entry to between 2^14 and 2^15, ``x`` becomes
``high + low``, each rounded to 11 bits. Of every entry of at least 2^-17 times the largest, 22
bits are kept; smaller entries are kept to 2^-40 times the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import triton
import triton.language as tl

TILE = 128  # rows are padded to a multiple of it, with zeros
_ENTRIES, _WIDEST = 4096, 1024  # most entries split by a program, and columns in one piece
DEPTH = 64  # and columns to a multiple of this


@dataclass(frozen=True)
class Halves:
    """``units[i] (high[i, :] + low[i, :])`` for every row ``i``."""

    high: Any
    low: Any
    units: Any
    squares: Any  # squared lengths of the rows
    n_rows: int

    @property
    def depth(self) -> int:
        return int(self.high.shape[1])


class ColumnHalves(NamedTuple):
    """``(high[:, j] + low[:, j]) units[j]`` for every column ``j``; padding is zero."""

    high: Any
    low: Any
    units: Any

    @classmethod
    def like(cls, rows: Halves, n_columns: int) -> ColumnHalves:
        """Return empty halves with `n_columns` columns and the same rows."""
        shape = rows.high.shape[0], padded(n_columns, DEPTH)
        high, low = (rows.high.new_empty(shape) for _ in range(2))
        return cls(high, low, rows.units.new_empty((n_columns,)))


@triton.jit
def units_below(bound):
    """Return powers of two that scale numbers up to `bound` below 2^15, and back."""
    exponent = (bound.to(tl.int32, bitcast=True) >> 23) & 255
    exponent = tl.minimum(tl.maximum(exponent, 15), 254)
    scale = ((268 - exponent) << 23).to(tl.float32, bitcast=True)
    return scale, ((exponent - 14) << 23).to(tl.float32, bitcast=True)


@triton.jit
def halves_of(values):
    high = values.to(tl.float16)
    return high, (values - high.to(tl.float32)).to(tl.float16)


@triton.jit
def write_halves(values, row, column, bounds, n_columns, high, low, units, stride):
    """Write a tile as :class:`ColumnHalves`; values beyond the last column must be zero."""
    there = column < n_columns
    scale, unit = units_below(tl.load(bounds + column, mask=there, other=0.0))
    tl.store(units + column, unit, mask=there)
    first_half, second_half = halves_of(values * scale[None, :])
    at = row.to(tl.int64)[:, None] * stride + column[None, :]
    tl.store(high + at, first_half, mask=(column < stride)[None, :])
    tl.store(low + at, second_half, mask=(column < stride)[None, :])


@triton.jit
def _entries(start, center, column, column_stride, inside, n_columns, CENTERED: tl.constexpr):
    there = column < n_columns
    mask = inside[:, None] & there[None, :]
    values = tl.load(start + column.to(tl.int64)[None, :] * column_stride, mask=mask, other=0.0)
    if CENTERED:
        middle = tl.load(center + column, mask=there, other=0.0)
        values = tl.where(mask, values.to(tl.float64) - middle[None, :], 0.0)
    return values.to(tl.float32)


@triton.jit(do_not_specialize=["n_rows", "n_columns", "height"])
def _split(
    source, center, high, low, units, squares,
    n_rows, n_columns, height, depth, row_stride, column_stride,
    CENTERED: tl.constexpr, WHOLE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < n_rows
    start = source + row.to(tl.int64)[:, None] * row_stride
    largest = tl.zeros((ROWS,), tl.float32)
    square = tl.zeros((ROWS,), tl.float64)
    if WHOLE:
        column = tl.arange(0, COLUMNS)
        x = _entries(start, center, column, column_stride, inside, n_columns, CENTERED)
        largest = tl.max(tl.abs(x), axis=1)
        square = tl.sum(x * x, axis=1).to(tl.float64)
    else:
        for first in range(0, depth, COLUMNS):
            column = first + tl.arange(0, COLUMNS)
            x = _entries(start, center, column, column_stride, inside, n_columns, CENTERED)
            largest = tl.maximum(largest, tl.max(tl.abs(x), axis=1))
            square += tl.sum(x * x, axis=1).to(tl.float64)
    scale, unit = units_below(largest)
    there = row < height
    tl.store(units + row, unit, mask=there)
    tl.store(squares + row, square.to(tl.float32), mask=there)
    for first in range(0, depth, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        if not WHOLE:
            x = _entries(start, center, column, column_stride, inside, n_columns, CENTERED)
        first_half, second_half = halves_of(x * scale[:, None])
        at = row.to(tl.int64)[:, None] * depth + column[None, :]
        mask = there[:, None] & (column < depth)[None, :]
        tl.store(high + at, first_half, mask=mask)
        tl.store(low + at, second_half, mask=mask)


def in_halves(rows: Any, center: Any = None) -> Halves:
    """Split a matrix on a CUDA device into halves, first minus a float64 `center`, if given."""
    import torch

    n_rows, n_columns = rows.shape
    height, depth = padded(n_rows, TILE), padded(n_columns, DEPTH)
    high, low = (rows.new_empty((height, depth), dtype=torch.float16) for _ in range(2))
    units, squares = (rows.new_empty((height,), dtype=torch.float32) for _ in range(2))
    whole = depth <= _WIDEST  # a row is read once
    columns = triton.next_power_of_2(depth) if whole else _WIDEST // 4
    group = _ENTRIES // columns
    launch(
        _split, (-(-height // group),),
        rows, rows if center is None else center, high, low, units, squares,
        n_rows, n_columns, height, depth, *rows.stride(),
        CENTERED=center is not None, WHOLE=whole, ROWS=group, COLUMNS=columns,
    )  # fmt: skip
    return Halves(high, low, units, squares, n_rows)


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Start a kernel on the device of its first argument."""
    import torch

    with torch.cuda.device_of(arguments[0]):
        kernel[grid](*arguments, **constants)


def padded(count: int, multiple: int) -> int:
    return max(1, -(-count // multiple)) * multiple
