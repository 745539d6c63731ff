"""Cosines and sines of a tile of phases, used where they are computed.

The phases of float32 rows are reduced to a quarter turn as in :mod:`bochner.engine.compiled`, with
the same polynomials. A fused multiply-add is exact before it rounds, so that two parts of pi / 2
are enough.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.tiles.halves import TILE, ColumnHalves, Halves, launch, write_halves
from bochner.engine.tiles.products import launch_tiles, tile_at, tile_product, tiles_of


@triton.jit
def cosine_and_sine(x):
    shifted = tl.fma(x, 0.6366197723675814, 12582912.0)  # 1.5 * 2^23: a whole number is left
    quadrant = shifted.to(tl.int32, bitcast=True)
    k = shifted - 12582912.0
    r = tl.fma(k, -1.5707963705062866, x)
    r = tl.fma(k, 4.371139000186241e-08, r)
    z = r * r
    p = tl.fma(tl.fma(z, -1.9503377893826e-4, 8.3320967716258e-3), z, -1.6666654616478e-1)
    q = tl.fma(tl.fma(z, 2.4463166399242e-5, -1.3887649463075e-3), z, 4.1666654579798e-2)
    sine = tl.fma(r * z, p, r)
    cosine = tl.fma(z * z, q, tl.fma(z, -0.5, 1.0))
    odd = (quadrant & 1) != 0
    c = tl.where(odd, sine, cosine).to(tl.int32, bitcast=True) ^ (
        ((quadrant + 1) << 30) & -2147483648
    )
    s = tl.where(odd, cosine, sine).to(tl.int32, bitcast=True) ^ ((quadrant << 30) & -2147483648)
    return c.to(tl.float32, bitcast=True), s.to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["n_rows"])
def _features(
    x_high, x_low, x_units, w_high, w_low, w_units, scale, offset, out,
    n_rows, n_frequencies, depth, out_stride, OFFSET: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    i, j = tile_at(tl.program_id(0), n_rows, n_frequencies, ROWS, COLUMNS)
    phases = tile_product(
        x_high, x_low, x_units, i, w_high, w_low, w_units, j, depth, ROWS, COLUMNS, DEPTH
    )  # fmt: skip
    row, column = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS)
    there = column < n_frequencies
    mask = (row < n_rows)[:, None] & there[None, :]
    if OFFSET:
        phases += tl.load(offset + column, mask=there, other=0.0)[None, :]
    cosine, sine = cosine_and_sine(phases)
    amplitude = tl.load(scale + column, mask=there, other=0.0)[None, :]
    at = out + row.to(tl.int64)[:, None] * out_stride + column[None, :]
    tl.store(at, cosine * amplitude, mask=mask)
    if not OFFSET:
        tl.store(at + n_frequencies, sine * amplitude, mask=mask)


def write_features(x: Halves, w: Halves, scale: Any, offset: Any, out: Any) -> None:
    """Write ``out = scale * [cos | sin]`` of the phases, or ``scale * cos`` with an offset."""
    launch_tiles(
        _features, tiles_of(x.n_rows, w.n_rows),
        x.high, x.low, x.units, w.high, w.low, w.units,
        scale, scale if offset is None else offset, out,
        x.n_rows, w.n_rows, x.depth, out.stride(0), OFFSET=offset is not None,
    )  # fmt: skip


@triton.jit(do_not_specialize=["n_rows", "n_sums"])
def _sums(
    w_high, w_low, w_units, x_high, x_low, x_units, A, parts, kept,
    n_rows, n_frequencies, n_sums, depth, kept_stride, KEEP: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    # Frequencies along the rows of the tile: a sum over its columns is mostly within a thread.
    j, i = tile_at(tl.program_id(0), n_rows, n_frequencies, COLUMNS, ROWS)
    phases = tile_product(
        w_high, w_low, w_units, i, x_high, x_low, x_units, j, depth, ROWS, COLUMNS, DEPTH
    )  # fmt: skip
    cosine, sine = cosine_and_sine(phases)
    frequency, row = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS)
    if KEEP:
        at = frequency.to(tl.int64)[:, None] * kept_stride + row[None, :]
        tl.store(kept + at, phases, mask=(frequency < n_frequencies)[:, None])
    at = parts + (j // COLUMNS).to(tl.int64) * 2 * n_sums * n_frequencies + frequency
    for k in range(n_sums):
        weight = tl.load(A + k * n_rows + row, mask=row < n_rows, other=0.0)[None, :]
        real, imaginary = tl.sum(cosine * weight, axis=1), tl.sum(sine * weight, axis=1)
        tl.store(at + k * n_frequencies, real, mask=frequency < n_frequencies)
        tl.store(at + (n_sums + k) * n_frequencies, imaginary, mask=frequency < n_frequencies)


def sums_of_tiles(x: Halves, w: Halves, A: Any, kept: Any = None) -> Any:
    """Return sums of cosines and of sines with the columns of `A`, for each tile of rows.

    They are float32 of shape (tiles, 2, k, N). The phases, of shape (N, padded rows), may be
    kept."""
    n_sums = A.shape[1]
    parts = A.new_empty((-(-x.n_rows // TILE), 2, n_sums, w.n_rows))
    launch_tiles(
        _sums, tiles_of(w.n_rows, x.n_rows),
        w.high, w.low, w.units, x.high, x.low, x.units, A.T.contiguous(), parts,
        parts if kept is None else kept,
        x.n_rows, w.n_rows, n_sums, x.depth, len(x.units), KEEP=kept is not None,
    )  # fmt: skip
    return parts


@triton.jit(
    do_not_specialize=["n_parts", "n_sums", "n_frequencies", "own_sums", "own_frequencies"]
)
def _potential(
    parts, signs, largest, potential, with_cosine, with_sine, sizes,
    n_parts, n_sums, n_frequencies, own_sums, own_frequencies,
    BOUNDED: tl.constexpr, PARTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there = column < n_frequencies
    total = tl.zeros((COLUMNS,), tl.float64)
    bound = tl.zeros((COLUMNS,), tl.float32)
    for k in range(n_sums):
        real, imaginary = tl.zeros((COLUMNS,), tl.float64), tl.zeros((COLUMNS,), tl.float64)
        for first in range(0, n_parts, PARTS):
            part = first + tl.arange(0, PARTS)
            mask = (part < n_parts)[:, None] & there[None, :]
            at = (part[:, None] * 2 * n_sums + k) * n_frequencies + column[None, :]
            some = tl.load(parts + at, mask=mask, other=0.0)
            real += tl.sum(some.to(tl.float64), axis=0)
            some = tl.load(parts + at + n_sums * n_frequencies, mask=mask, other=0.0)
            imaginary += tl.sum(some.to(tl.float64), axis=0)
        own = (column // own_frequencies) == (k // own_sums)
        sign = tl.where(own, tl.load(signs + k), 0.0)
        total += sign * (real * real + imaginary * imaginary)
        c, s = (2 * sign * imaginary).to(tl.float32), (2 * sign * real).to(tl.float32)
        tl.store(with_cosine + k * n_frequencies + column, c, mask=there)
        tl.store(with_sine + k * n_frequencies + column, s, mask=there)
        size = tl.abs(c) + tl.abs(s)
        if BOUNDED:
            bound += tl.load(largest + k) * size
        else:
            tl.store(sizes + k * n_frequencies + column, size, mask=there)
    if BOUNDED:
        tl.store(sizes + column, bound, mask=there)
    tl.store(potential + column, total, mask=there)


def potential(
    parts: Any, signs: Any, largest: Any = None, n_groups: int = 1
) -> tuple[Any, Any, Any, Any]:
    """Return the potential and the coefficients of its gradient, from sums and float64 signs.

    The sums have shape (tiles, 2, k, N). The coefficients, with cosines and with sines, have shape
    (k, N) and are followed by the sums of their sizes; or, if `largest` bounds the sizes of the
    coefficients `A`, by bounds on the slopes, of shape (N,). The frequencies fall into groups of
    equal size, and each group has its own sums."""
    import torch

    n_parts, _, n_sums, N = parts.shape
    result = signs.new_empty((N,))
    shapes = (n_sums, N), (n_sums, N), (n_sums, N) if largest is None else (N,)
    slopes = [signs.new_empty(shape, dtype=torch.float32) for shape in shapes]
    launch(
        _potential, (-(-N // 16),),
        parts, signs, parts if largest is None else largest, result, *slopes,
        n_parts, n_sums, N, n_sums // n_groups, max(1, N // n_groups),
        BOUNDED=largest is not None, PARTS=128, COLUMNS=16,
    )  # fmt: skip
    return result, *slopes


@triton.jit(do_not_specialize=["n_rows", "n_sums"])
def _slopes(
    x_high, x_low, x_units, w_high, w_low, w_units, A, with_cosine, with_sine, bounds, kept,
    high, low, units, n_rows, n_frequencies, n_sums, depth, kept_stride, out_stride,
    KEPT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    i, j = tile_at(tl.program_id(0), n_rows, n_frequencies, ROWS, COLUMNS)
    row, column = i + tl.arange(0, ROWS), j + tl.arange(0, COLUMNS)
    there, inside = column < n_frequencies, row < n_rows
    if KEPT:
        at = column.to(tl.int64)[None, :] * kept_stride + row[:, None]
        phases = tl.load(kept + at, mask=there[None, :], other=0.0)
    else:
        phases = tile_product(
            x_high, x_low, x_units, i, w_high, w_low, w_units, j, depth, ROWS, COLUMNS, DEPTH
        )  # fmt: skip
    cosine, sine = cosine_and_sine(phases)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(n_sums):
        c = tl.load(with_cosine + k * n_frequencies + column, mask=there, other=0.0)
        s = tl.load(with_sine + k * n_frequencies + column, mask=there, other=0.0)
        weight = tl.load(A + k * n_rows + row, mask=inside, other=0.0)
        total += weight[:, None] * (c[None, :] * cosine - s[None, :] * sine)
    write_halves(total, row, column, bounds, n_frequencies, high, low, units, out_stride)


def slopes(
    x: Halves,
    w: Halves,
    A: Any,
    with_cosine: Any,
    with_sine: Any,
    bounds: Any,
    kept: Any = None,
) -> ColumnHalves:
    """Return ``sum_k A[i, k] (with_cosine[k, m] cos - with_sine[k, m] sin)`` in halves.

    Its size is at most ``bounds[m]``.
    """
    result = ColumnHalves.like(x, w.n_rows)
    launch_tiles(
        _slopes, tiles_of(x.n_rows, w.n_rows),
        x.high, x.low, x.units, w.high, w.low, w.units,
        A.T.contiguous(), with_cosine.contiguous(), with_sine.contiguous(), bounds,
        bounds if kept is None else kept, *result,
        x.n_rows, w.n_rows, A.shape[1], x.depth, len(x.units), result.high.stride(0),
        KEPT=kept is not None,
    )  # fmt: skip
    return result
