"""Products of two tiles of rows in halves, and the matrix products made of them alone.

Three products of halves make one of float32; the fourth, of the two low halves, is below its
rounding. Tensor cores round towards zero whenever they add, so that a long sum drifts. Here no sum
is longer than a step of the loop, and steps are added with rounding to nearest.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import triton
import triton.language as tl

from bochner.engine.tiles.halves import (
    DEPTH,
    TILE,
    ColumnHalves,
    Halves,
    launch,
    padded,
    write_halves,
)

# The fastest of seven tile shapes on an H200 for 784 columns; for 100 columns, features
# are as fast with it as with any, and sums of tiles of 64 rows would take a tenth less.
_SHAPE = {"ROWS": TILE, "COLUMNS": TILE, "num_warps": 8, "num_stages": 3}
_DEEP = 200_000  # bytes of shared memory that steps of 64 columns need; steps of 32 need half
_COLUMNS = 256  # columns of a row that a program adds up
_PROGRAMS = 264  # programs that fill a large device, two on each of its processors


@triton.jit
def tile_at(program, n_rows, n_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """First row and column of a program's tile: 16 tiles side by side stay in the cache."""
    high, wide = tl.cdiv(n_rows, ROWS), tl.cdiv(n_columns, COLUMNS)
    group = program // (16 * high)
    width = tl.minimum(wide - group * 16, 16)
    within = program % (16 * high)
    return (within // width) * ROWS, (group * 16 + within % width) * COLUMNS


@triton.jit
def three_products(a_high, a_low, b_high, b_low):
    small = tl.dot(a_low, b_high)
    small = tl.dot(a_high, b_low, small)
    return tl.dot(a_high, b_high, small)


@triton.jit
def tile_product(
    a_high, a_low, a_units, first_a, b_high, b_low, b_units, first_b, depth,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Products of rows of A with rows of B, from `first_a` and `first_b` on."""
    row, column, inner = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    depth = tl.multiple_of(depth, DEPTH)
    a_start, b_start = first_a.to(tl.int64) * depth, first_b.to(tl.int64) * depth
    a_at = row[:, None] * depth + inner[None, :]
    b_at = column[None, :] * depth + inner[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(0, depth, DEPTH):
        total += three_products(
            tl.load(a_high + a_start + k + a_at),
            tl.load(a_low + a_start + k + a_at),
            tl.load(b_high + b_start + k + b_at),
            tl.load(b_low + b_start + k + b_at),
        )
    a_unit = tl.load(a_units + first_a + row)
    b_unit = tl.load(b_units + first_b + column)
    return total * a_unit[:, None] * b_unit[None, :]


@triton.jit(do_not_specialize=["n_rows"])
def _product(
    a_high, a_low, a_units, b_high, b_low, b_units, out, low, units, bounds,
    n_rows, n_columns, depth, out_stride, SPLIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    i, j = tile_at(tl.program_id(0), n_rows, n_columns, ROWS, COLUMNS)
    tile = tile_product(
        a_high, a_low, a_units, i, b_high, b_low, b_units, j, depth, ROWS, COLUMNS, DEPTH
    )  # fmt: skip
    row, column = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS)
    if SPLIT:
        write_halves(tile, row, column, bounds, n_columns, out, low, units, out_stride)
    else:
        mask = (row < n_rows)[:, None] & (column < n_columns)[None, :]
        tl.store(out + row.to(tl.int64)[:, None] * out_stride + column[None, :], tile, mask=mask)


def write_product(a: Halves, b: Halves, out: Any) -> None:
    """Write ``out = A B^T`` in float32, for an `out` with contiguous rows."""
    launch_tiles(
        _product, tiles_of(a.n_rows, b.n_rows),
        a.high, a.low, a.units, b.high, b.low, b.units, out, out, out, out,
        a.n_rows, b.n_rows, a.depth, out.stride(0), SPLIT=False,
    )  # fmt: skip


def split_product(a: Halves, b: Halves, bounds: Any) -> ColumnHalves:
    """Return ``A B^T`` in halves, for entries not larger than the bound of their column."""
    result = ColumnHalves.like(a, b.n_rows)
    launch_tiles(
        _product, tiles_of(a.n_rows, b.n_rows),
        a.high, a.low, a.units, b.high, b.low, b.units, result.high, result.low, result.units,
        bounds, a.n_rows, b.n_rows, a.depth, result.high.stride(0), SPLIT=True,
    )  # fmt: skip
    return result


@triton.jit(do_not_specialize=["n_rows", "share"])
def _product_over_rows(
    a_high, a_low, b_high, b_low, out, n_rows, share, a_depth, b_depth,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    a_depth, b_depth = tl.multiple_of(a_depth, 32), tl.multiple_of(b_depth, 32)
    i, j = tile_at(tl.program_id(0), a_depth, b_depth, ROWS, COLUMNS)
    first = tl.program_id(1) * share
    row, column, inner = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    a_at = inner[None, :] * a_depth + row[:, None]
    b_at = inner[:, None] * b_depth + column[None, :]
    a_mask, b_mask = (row < a_depth)[:, None], (column < b_depth)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(first, tl.minimum(first + share, n_rows), DEPTH):
        a_start, b_start = k * a_depth, k * b_depth
        total += three_products(
            tl.load(a_high + a_start + a_at, mask=a_mask, other=0.0),
            tl.load(a_low + a_start + a_at, mask=a_mask, other=0.0),
            tl.load(b_high + b_start + b_at, mask=b_mask, other=0.0),
            tl.load(b_low + b_start + b_at, mask=b_mask, other=0.0),
        )
    start = tl.program_id(1).to(tl.int64) * a_depth * b_depth
    at = start + row[:, None].to(tl.int64) * b_depth + column[None, :]
    tl.store(out + at, total, mask=a_mask & b_mask)


@triton.jit(do_not_specialize=["n_parts", "n_rows", "n_columns"])
def _add_up(
    parts, a_units, b_units, out, n_parts, n_rows, n_columns, height, width,
    SCALED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = column < n_columns
    at = row.to(tl.int64) * width + column
    total = tl.zeros((COLUMNS,), tl.float64)
    for _ in range(n_parts):
        total += tl.load(parts + at, mask=there, other=0.0).to(tl.float64)
        at += height.to(tl.int64) * width
    total *= tl.load(b_units + column, mask=there, other=0.0).to(tl.float64)
    if SCALED:
        total *= tl.load(a_units + row).to(tl.float64)
    tl.store(out + row.to(tl.int64) * n_columns + column, total, mask=there)


def parts_over_rows(a: Halves | ColumnHalves, b: Halves | ColumnHalves) -> Any:
    """Return float32 shares that sum to ``A^T B`` without units, padded as the halves are."""
    import torch

    (n_rows, a_depth), b_depth = a.high.shape, b.high.shape[1]
    n_tiles = tiles_of(a_depth, b_depth)[0]
    n_shares = min(n_rows // TILE, max(1, _PROGRAMS // n_tiles))
    share = padded(-(-n_rows // n_shares), DEPTH)
    parts = a.high.new_empty((-(-n_rows // share), a_depth, b_depth), dtype=torch.float32)
    launch_tiles(
        _product_over_rows, (n_tiles, parts.shape[0]),
        a.high, a.low, b.high, b.low, parts, n_rows, share, a_depth, b_depth,
    )  # fmt: skip
    return parts


def product_over_rows(
    a: Halves | ColumnHalves, b: ColumnHalves, n_columns: int | None = None
) -> Any:
    """Return ``A^T B`` of halves of the same rows, in float64.

    With `n_columns`, ``A`` is taken without the units of its rows, which ``B`` must include.
    """
    import torch

    parts = parts_over_rows(a, b)
    a_depth, b_depth = parts.shape[1:]
    shape = len(a.units) if n_columns is None else n_columns, len(b.units)
    result = parts.new_empty(shape, dtype=torch.float64)
    launch(
        _add_up, (shape[0], -(-shape[1] // _COLUMNS)),
        parts, a.units, b.units, result, parts.shape[0], *shape, a_depth, b_depth,
        SCALED=n_columns is None, COLUMNS=_COLUMNS,
    )  # fmt: skip
    return result


def launch_tiles(
    kernel: Any, programs: tuple[int, ...], *arguments: Any, **constants: Any
) -> None:
    """Launch a kernel of tiles, with the tile shape for the device."""
    depth = _depth(arguments[0].device)
    launch(kernel, programs, *arguments, DEPTH=depth, **_SHAPE, **constants)


@cache
def _depth(device: Any) -> int:
    if device.type != "cuda":  # Triton's interpreter
        return DEPTH // 2
    import torch

    memory = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    return DEPTH if memory >= _DEEP else DEPTH // 2


def tiles_of(n_rows: int, n_columns: int) -> tuple[int]:
    return (-(-n_rows // TILE) * -(-n_columns // TILE),)
