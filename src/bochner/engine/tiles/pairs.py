"""Kernel values of a tile of squared distances, used where they are computed.

The method is that of :mod:`bochner.engine.pairs.device`. Entries that have lost their digits are
marked by a value of -1, and a second kernel mends the tiles with such marks: the host does not
wait.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.pairs.forms import Form
from bochner.engine.tiles.halves import (
    ColumnHalves,
    Halves,
    halves_of,
    units_below,
    write_halves,
)
from bochner.engine.tiles.products import launch_tiles, tile_at, tile_product, tiles_of


@triton.jit
def _profile(squares, a, b, c, e, ROOT: tl.constexpr):
    if ROOT:
        distance = tl.sqrt(squares)
        return tl.exp(c * distance + e * squares) * (1 + a * distance + b * squares)
    return tl.exp(e * squares)


@triton.jit(do_not_specialize=["n_rows"])
def _values(
    x_high, x_low, x_units, x_squares, z_high, z_low, z_units, z_squares,
    near, a, b, c, e, lost, out, low, units, bounds,
    n_rows, n_points, depth, out_stride, ROOT: tl.constexpr, SPLIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    i, j = tile_at(tl.program_id(0), n_rows, n_points, ROWS, COLUMNS)
    products = tile_product(
        x_high, x_low, x_units, i, z_high, z_low, z_units, j, depth, ROWS, COLUMNS, DEPTH
    )  # fmt: skip
    row, column = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS)
    both = tl.load(x_squares + row)[:, None] + tl.load(z_squares + column)[None, :]
    squares = both - 2 * products
    values = _profile(tl.maximum(squares, 0.0), a, b, c, e, ROOT)
    inside = (row < n_rows)[:, None] & (column < n_points)[None, :]
    values = tl.where(inside, values, 0.0)
    values = tl.where(squares < near * both, -1.0, values)  # lost entries; padding is not lost
    tl.store(lost + tl.program_id(0), tl.min(tl.min(values, axis=1), axis=0))
    if SPLIT:
        write_halves(values, row, column, bounds, n_points, out, low, units, out_stride)
    else:
        at = row.to(tl.int64)[:, None] * out_stride + column[None, :]
        tl.store(out + at, values, mask=inside)


@triton.jit
def _entries(high, low, units, row, k, depth):
    value = tl.load(high + row * depth + k).to(tl.float32)
    return (value + tl.load(low + row * depth + k).to(tl.float32)) * tl.load(units + row)


@triton.jit(do_not_specialize=["n_rows"])
def _mend(
    x_high, x_low, x_units, x_squares, z_high, z_low, z_units, z_squares,
    near, a, b, c, e, lost, out, low, units, bounds,
    n_rows, n_points, depth, out_stride, ROOT: tl.constexpr, SPLIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Recompute the lost entries of a quarter of a tile from the differences."""
    if tl.load(lost + tl.program_id(0)) < 0:
        i, j = tile_at(tl.program_id(0), n_rows, n_points, ROWS, COLUMNS)
        row = i + tl.program_id(1) * (ROWS // 4) + tl.arange(0, ROWS // 4)
        column = j + tl.arange(0, COLUMNS)
        squares = tl.zeros((ROWS // 4, COLUMNS), tl.float32)
        for k in range(depth):
            x = _entries(x_high, x_low, x_units, row, k, depth)
            z = _entries(z_high, z_low, z_units, column, k, depth)
            apart = x[:, None] - z[None, :]
            squares += apart * apart
        values = _profile(squares, a, b, c, e, ROOT)
        at = row.to(tl.int64)[:, None] * out_stride + column[None, :]
        inside = (row < n_rows)[:, None] & (column < n_points)[None, :]
        mask = inside & (tl.load(out + at, mask=inside, other=0.0) < 0)
        if SPLIT:
            scale, _ = units_below(tl.load(bounds + column, mask=column < n_points, other=1.0))
            first_half, second_half = halves_of(values * scale[None, :])
            tl.store(out + at, first_half, mask=mask)
            tl.store(low + at, second_half, mask=mask)
        else:
            tl.store(out + at, values, mask=mask)


def _launch(
    x: Halves, z: Halves, form: Form, near: float, result: tuple[Any, ...], *, split: bool
) -> None:
    (a, b), (c, e) = form.inner, form.outer
    tiles = tiles_of(x.n_rows, z.n_rows)
    lost = x.units.new_empty(tiles)
    for kernel, programs in ((_values, tiles), (_mend, (*tiles, 4))):
        launch_tiles(
            kernel, programs,
            x.high, x.low, x.units, x.squares, z.high, z.low, z.units, z.squares,
            near, float(a), float(b), float(c), float(e), lost, *result,
            x.n_rows, z.n_rows, x.depth, result[0].stride(0),
            ROOT=bool(a or b or c), SPLIT=split,
        )  # fmt: skip


def write_values(x: Halves, z: Halves, form: Form, near: float, out: Any) -> None:
    """Write ``out[i, j] = k(x_i, z_j)`` for a radial kernel."""
    _launch(x, z, form, near, (out, out, out, out), split=False)


def split_values(x: Halves, z: Halves, form: Form, near: float) -> Halves:
    """Return the kernel values in halves."""
    result = ColumnHalves.like(x, z.n_rows)
    _launch(x, z, form, near, (*result, x.units.new_ones((z.n_rows,))), split=True)
    units = result.units[:1] + 0 * x.units  # one unit for all columns, thus for all rows
    return Halves(result.high, result.low, units, x.squares, x.n_rows)
