"""Chains that climb the Fourier potential: one kernel for all work between two evaluations.

This is :func:`bochner.margin.peaks.ascend_potential` without a temperature, with one program per
chain. Here points have one row per chain.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.tiles.halves import (
    DEPTH,
    Halves,
    halves_of,
    in_halves,
    launch,
    padded,
    units_below,
)
from bochner.engine.tiles.products import parts_over_rows
from bochner.engine.tiles.waves import potential, slopes, sums_of_tiles

_ENTRIES = 4096  # entries of the shares of a gradient that are added up at once


@triton.jit
def _evaluated(
    chain, parts, n_parts, potential, units, ahead, band, height, width, n_columns, game,
    BANDED: tl.constexpr, PARTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Return the point of a chain, and the potential and its gradient there, within the band."""
    column = tl.arange(0, COLUMNS)
    there = column < n_columns
    total = tl.zeros((COLUMNS,), tl.float64)
    for first in range(0, n_parts, PARTS):
        part = first + tl.arange(0, PARTS)
        at = (part.to(tl.int64)[:, None] * height + chain) * width + column[None, :]
        mask = (part < n_parts)[:, None] & there[None, :]
        some = tl.load(parts + at, mask=mask, other=0.0)
        total += tl.sum(some.to(tl.float64), axis=0)
    slope = (total * tl.load(units + chain).to(tl.float64)).to(tl.float32)
    value = tl.load(potential + chain).to(tl.float32)
    point = tl.load(ahead + chain * n_columns + column, mask=there, other=0.0)
    if BANDED:
        width_of_band = tl.load(band + game)
        square = (width_of_band * width_of_band).to(tl.float32)
        share = tl.exp(-tl.sum(point * point, axis=0) / (2 * square))
        slope = share * (slope - (value / square) * point)
        value = share * value
    return point, value, slope


@triton.jit
def _write_ahead(
    chain, point, longest, ahead, high, low, units, n_columns, depth,
    LIMITED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write the next point to evaluate, also in halves; entries beyond the columns are zero."""
    column = tl.arange(0, COLUMNS)
    if LIMITED:
        limit = tl.load(longest).to(tl.float32)
        length = tl.sqrt(tl.sum(point * point, axis=0))
        point = point * (limit / tl.maximum(length, limit))
    tl.store(ahead + chain * n_columns + column, point, mask=column < n_columns)
    scale, unit = units_below(tl.max(tl.abs(point), axis=0))
    tl.store(units + chain, unit)
    first_half, second_half = halves_of(point * scale)
    tl.store(high + chain * depth + column, first_half, mask=column < depth)
    tl.store(low + chain * depth + column, second_half, mask=column < depth)


@triton.jit(do_not_specialize=["n_parts", "n_columns", "own_chains"])
def _begin(
    parts, potential, slope_units, ahead, band, values, gradients, norms, paces,
    n_parts, height, width, n_columns, own_chains,
    BANDED: tl.constexpr, PARTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    chain = tl.program_id(0)
    column = tl.arange(0, COLUMNS)
    point, value, slope = _evaluated(
        chain, parts, n_parts, potential, slope_units, ahead, band, height, width, n_columns,
        chain // own_chains, BANDED, PARTS, COLUMNS,
    )  # fmt: skip
    tl.store(values + chain, value)
    tl.store(gradients + chain * n_columns + column, slope, mask=column < n_columns)
    tl.store(norms + chain, tl.sqrt(tl.sum(point * point, axis=0)))
    tl.store(paces + chain, tl.sqrt(tl.sum(slope * slope, axis=0)))


@triton.jit(do_not_specialize=["n_columns", "own_chains"])
def _first_step(
    points, gradients, norm, pace, steps, longest, ahead, high, low, units,
    n_columns, depth, own_chains, first_move, LIMITED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    chain = tl.program_id(0)
    column = tl.arange(0, COLUMNS)
    at, there = chain * n_columns + column, column < n_columns
    first = chain // own_chains * own_chains
    usual = tl.load(pace + first)
    usual = tl.where(usual > 0, usual, 1.0)  # flat: stay in place
    step = first_move * tl.load(norm + first) / usual
    tl.store(steps + chain, step)
    slope = tl.load(gradients + at, mask=there, other=0.0)
    point = tl.load(points + at, mask=there, other=0.0) + step * slope
    _write_ahead(
        chain, point, longest, ahead, high, low, units, n_columns, depth, LIMITED, COLUMNS
    )


@triton.jit(do_not_specialize=["n_parts", "n_columns", "own_chains"])
def _step(
    parts, potential, slope_units, band, longest,
    points, ahead, gradients, values, steps,
    new_points, new_ahead, new_gradients, new_values, new_steps, high, low, units,
    n_parts, height, width, n_columns, depth, own_chains, growth, shrinkage,
    BANDED: tl.constexpr, LIMITED: tl.constexpr, PARTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    # Inputs are never overwritten: threads may hold the same entry, and do not synchronize.
    chain = tl.program_id(0)
    column = tl.arange(0, COLUMNS)
    at, there = chain * n_columns + column, column < n_columns
    point, value, slope = _evaluated(
        chain, parts, n_parts, potential, slope_units, ahead, band, height, width, n_columns,
        chain // own_chains, BANDED, PARTS, COLUMNS,
    )  # fmt: skip
    before, step = tl.load(values + chain), tl.load(steps + chain)
    up = value > before
    step = step * tl.where(up, growth, shrinkage)
    point = tl.where(up, point, tl.load(points + at, mask=there, other=0.0))
    slope = tl.where(up, slope, tl.load(gradients + at, mask=there, other=0.0))
    tl.store(new_values + chain, tl.where(up, value, before))
    tl.store(new_steps + chain, step)
    tl.store(new_points + at, point, mask=there)
    tl.store(new_gradients + at, slope, mask=there)
    _write_ahead(
        chain, point + step * slope, longest, new_ahead, high, low, units, n_columns, depth,
        LIMITED, COLUMNS,
    )  # fmt: skip


class Chains:
    """Chains for rows in halves with coefficients `A` of shape (n, k), in float32.

    They climb the potential within the `band`; points beyond the norm `longest` are brought back
    to it. Both are numbers, tensors without dimensions, or None.
    """

    def __init__(self, x: Halves, A: Any, starts: Any, band: Any, longest: Any) -> None:
        import torch

        self.x, self.A = x, A.T.contiguous().T  # in the order that kernels read
        self.points = starts.T.clone(memory_format=torch.contiguous_format)
        self.n_chains, self.n_columns = self.points.shape
        self.w = in_halves(self.points)
        self.phases = A.new_empty((self.n_chains, len(x.units)))
        self.signs = torch.ones((A.shape[1],), dtype=torch.float64, device=A.device)
        self.weights = self.A * x.units[: x.n_rows, None]  # includes the unit of each row
        self.largest = torch.amax(torch.abs(self.weights), dim=0)
        self.band, self.longest = (self._there(value) for value in (band, longest))
        self.limits = {"BANDED": band is not None, "LIMITED": longest is not None}
        columns = triton.next_power_of_2(padded(self.n_columns, DEPTH))
        self.block = {"PARTS": max(1, _ENTRIES // columns), "COLUMNS": columns}

    def _there(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            return value.to(torch.float64)
        value = 0.0 if value is None else float(value)
        return torch.full((), value, dtype=torch.float64, device=self.A.device)

    def climb(
        self, n_steps: int, first_move: float, growth: float, shrinkage: float, n_games: int = 1
    ) -> tuple[Any, Any]:
        """Return the points after all steps, of shape (d, m), and their potential.

        With several games, the chains of one game follow those of another, the same number for
        each; every game has its own coefficients and its own band.
        """
        import torch

        grid, own = (self.n_chains,), self.n_chains // n_games
        width = self.n_columns, self.w.depth, own
        halves, lengths = (self.w.high, self.w.low, self.w.units), self.A.new_empty((2, *grid))
        _, ahead, slope, values, steps = self._room()
        parts, *given = self._evaluate(n_games)
        launch(
            _begin, grid,
            parts, *given, self.points, self.band, values, slope, *lengths,
            *parts.shape, self.n_columns, own, BANDED=self.limits["BANDED"], **self.block,
        )  # fmt: skip
        norm, pace = torch.sort(lengths.reshape(2, -1, own), dim=2).values[..., own // 2]
        launch(
            _first_step, grid,
            self.points, slope, norm, pace, steps, self.longest, ahead, *halves,
            *width, first_move, LIMITED=self.limits["LIMITED"], COLUMNS=self.block["COLUMNS"],
        )  # fmt: skip
        now, then = [self.points, ahead, slope, values, steps], self._room()
        for _ in range(n_steps):
            parts, *given = self._evaluate(n_games)
            launch(
                _step, grid,
                parts, *given, self.band, self.longest, *now, *then, *halves,
                *parts.shape, *width, growth, shrinkage, **self.limits, **self.block,
            )  # fmt: skip
            now, then = then, now
        return now[0].T, now[3]

    def _room(self) -> list[Any]:
        """Return empty arrays for points, the next points, gradients, values and steps."""
        shapes = [tuple(self.points.shape)] * 3 + [(self.n_chains,)] * 2
        return [self.points.new_empty(shape) for shape in shapes]

    def _evaluate(self, n_games: int) -> tuple[Any, Any, Any]:
        """Return shares of the gradients, one row per chain, potentials and gradient units."""
        sums = sums_of_tiles(self.x, self.w, self.A, self.phases)
        v, with_cosine, with_sine, bounds = potential(sums, self.signs, self.largest, n_games)
        both = with_cosine, with_sine, bounds, self.phases
        slope = slopes(self.x, self.w, self.weights, *both)
        return parts_over_rows(slope, self.x), v, slope.units
