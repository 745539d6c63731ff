"""The best of many points that are apart, and the best of the others, without the host.

One program makes the choice of :func:`bochner.margin.peaks.distinct_peaks`, one peak after the
other.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.tiles.halves import launch

_ENTRIES = 2**14  # entries of the points that a program compares at once
_WIDEST = 1024  # most columns that a program copies at once


@triton.jit
def _heights(values, point, n_points):
    height = tl.load(values + point, mask=point < n_points, other=float("-inf"))
    return tl.where(height == height, height, float("-inf"))


@triton.jit(do_not_specialize=["n_points", "n_columns", "n_peaks"])
def _choose(
    points, values, places, n_points, n_columns, n_peaks, square_apart,
    POINTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    game, point = tl.program_id(0), tl.arange(0, POINTS)
    points += game.to(tl.int64) * n_points * n_columns
    values += game * n_points
    places += game * n_points
    there = point < n_points
    height = _heights(values, point, n_points)
    start = points + point[:, None] * n_columns
    squares = tl.zeros((POINTS,), tl.float32)
    for first in range(0, n_columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        mask = there[:, None] & (column < n_columns)[None, :]
        x = tl.load(start + column[None, :], mask=mask, other=0.0)
        squares += tl.sum(x * x, axis=1)
    # How many neighbours of a point were taken; those with the fewest come first. One that was
    # taken, and then what is no point, comes behind all others.
    crowd = tl.where(there, 0, 1 << 30)
    place = tl.full((POINTS,), -1, tl.int32)
    for k in range(n_peaks):
        free = crowd == tl.min(crowd, axis=0)
        highest = tl.max(tl.where(free, height, float("-inf")), axis=0)
        chosen = tl.min(tl.where(free & (height == highest), point, POINTS), axis=0)
        products = tl.zeros((POINTS,), tl.float32)
        for first in range(0, n_columns, COLUMNS):
            column = first + tl.arange(0, COLUMNS)
            mask = there[:, None] & (column < n_columns)[None, :]
            x = tl.load(start + column[None, :], mask=mask, other=0.0)
            row = tl.load(points + chosen * n_columns + column, mask=column < n_columns, other=0.0)
            products += tl.sum(x * row[None, :], axis=1)
        own = tl.sum(tl.where(point == chosen, squares, 0.0), axis=0)
        near = squares + own - 2 * tl.abs(products) < square_apart
        crowd = tl.where(near, crowd + 1, crowd)
        crowd = tl.where(point == chosen, 1 << 29, crowd)
        place = tl.where(point == chosen, k, place)
    tl.store(places + point, place, mask=there)


@triton.jit(do_not_specialize=["n_points", "n_columns", "n_peaks", "n_left"])
def _gather(
    points, values, places, peaks, left, n_points, n_columns, n_peaks, n_left,
    POINTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    own, game, point = tl.program_id(0), tl.program_id(1), tl.arange(0, POINTS)
    points += game.to(tl.int64) * n_points * n_columns
    values += game * n_points
    places += game * n_points
    peaks += game.to(tl.int64) * n_columns * n_peaks
    left += game.to(tl.int64) * n_columns * n_left
    there = point < n_points
    taken = tl.load(places + point, mask=there, other=0) >= 0
    height = tl.where(taken, float("-inf"), _heights(values, point, n_points))
    own_height = tl.max(tl.where(point == own, height, float("-inf")), axis=0)
    before = (height > own_height) | ((height == own_height) & (point < own))
    rank = tl.sum(tl.where(before & there, 1, 0), axis=0)
    place = tl.load(places + own)
    for first in range(0, n_columns, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        inside = column < n_columns
        x = tl.load(points + own * n_columns + column, mask=inside, other=0.0)
        if place >= 0:
            tl.store(peaks + column * n_peaks + place, x, mask=inside)
        if rank < n_left:
            tl.store(left + column * n_left + rank, x, mask=inside)


def peaks_and_rest(
    points: Any, values: Any, n_peaks: int, apart: float, n_left: int, n_games: int = 1
) -> tuple[Any, Any]:
    """Choose `n_peaks` points that are apart, and the best others, from points (d, m) in float32.

    This is done for each game; the points of games follow each other, and the results are
    stacked.
    """
    import torch

    (d, total), rows = points.shape, points.T.contiguous()
    m = total // n_games
    n_left = min(n_left, m)
    places = torch.empty((total,), dtype=torch.int32, device=points.device)
    peaks, left = (points.new_empty((n_games, d, count)) for count in (n_peaks, n_left))
    size = triton.next_power_of_2(m)
    columns = min(triton.next_power_of_2(d), max(1, _ENTRIES // size))
    launch(
        _choose, (n_games,), rows, values, places, m, d, n_peaks, apart**2,
        POINTS=size, COLUMNS=columns, num_warps=8,
    )  # fmt: skip
    launch(
        _gather, (m, n_games), rows, values, places, peaks, left, m, d, n_peaks, n_left,
        POINTS=size, COLUMNS=min(_WIDEST, triton.next_power_of_2(d)),
    )  # fmt: skip
    return peaks, left
