"""Newton steps for several squared-hinge problems on few features, in few kernels.

This is what :class:`bochner.linear.newton.Newton` does without checks by the host, with a line
search on grids of step lengths. Problems have their own features and the same signs. Here features
are float32 with one row per column; sums over rows are accumulated in float64.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.inverse import inverse
from bochner.engine.tiles.halves import launch

_ROWS, _COLUMNS = 128, 32  # rows and columns of the features that a program reads at once
_MOST_PROGRAMS = 512  # each adds up the results of all
_TINY = tl.constexpr(1.1754943508222875e-38)


@triton.jit(do_not_specialize=["n_columns", "span"])
def _product(
    features, signs, margins, direction, change, losses, n_rows, n_columns, span,
    SEARCH: tl.constexpr, LONGEST: tl.constexpr, GRID: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write signs times features times a direction, and losses along it on a first grid."""
    problem, grid, first = tl.program_id(1), tl.arange(0, GRID), tl.program_id(0) * span
    features += problem.to(tl.int64) * n_columns * n_rows
    margins += problem * n_rows
    change += problem * n_rows
    direction += problem * (n_columns + 1)
    losses += problem * tl.num_programs(0) * GRID
    t = grid.to(tl.float32) * (LONGEST / (GRID - 1))
    loss = tl.zeros((GRID,), tl.float32)
    for start in range(first, tl.minimum(first + span, n_rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = row < n_rows
        total = tl.zeros((ROWS,), tl.float32)
        for j in range(0, n_columns, COLUMNS):
            column = j + tl.arange(0, COLUMNS)
            there = column < n_columns
            at = column.to(tl.int64)[:, None] * n_rows + row[None, :]
            x = tl.load(features + at, mask=there[:, None] & inside[None, :], other=0.0)
            share = tl.load(direction + column, mask=there, other=0.0).to(tl.float32)
            total += tl.sum(x * share[:, None], axis=0)
        total += tl.load(direction + n_columns).to(tl.float32)
        moved = tl.load(signs + row, mask=inside, other=0.0) * total
        tl.store(change + row, moved, mask=inside)
        if SEARCH:
            room = 1 - tl.load(margins + row, mask=inside, other=1.0)
            rest = tl.maximum(room[None, :] - t[:, None] * moved[None, :], 0.0)
            loss += tl.sum(rest * moved[None, :], axis=1)
    if SEARCH:
        tl.store(losses + tl.program_id(0) * GRID + grid, loss)


@triton.jit
def _slopes(
    t, losses, V, direction, C, n_columns, n_programs,
    GRID: tl.constexpr, SIZE: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """Return slopes of the objective at step lengths `t`, and the index of the last below 0."""
    grid, column = tl.arange(0, GRID), tl.arange(0, SIZE)
    total = tl.zeros((GRID,), tl.float64)
    for first in range(0, n_programs, PROGRAMS):
        program = first + tl.arange(0, PROGRAMS)
        at = program[:, None] * GRID + grid[None, :]
        some = tl.load(losses + at, mask=(program < n_programs)[:, None], other=0.0)
        total += tl.sum(some.to(tl.float64), axis=0)
    there = column < n_columns  # the intercept has no penalty
    now = tl.load(V + column, mask=there, other=0.0)
    ahead = tl.load(direction + column, mask=there, other=0.0)
    linear, square = tl.sum(now * ahead, axis=0), tl.sum(ahead * ahead, axis=0)
    slopes = linear + t * square - 2 * tl.load(C) * total
    before = tl.sum(tl.where(slopes < 0, 1, 0), axis=0) - 1
    return slopes, tl.minimum(tl.maximum(before, 0), GRID - 2)


@triton.jit(do_not_specialize=["n_columns", "span", "n_programs"])
def _narrow(
    margins, change, V, direction, C, losses, new_losses, lowest,
    n_rows, n_columns, span, n_programs,
    LONGEST: tl.constexpr, GRID: tl.constexpr, SIZE: tl.constexpr, PROGRAMS: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Write losses on a grid between the two step lengths where the slope changes sign."""
    problem, grid, first = tl.program_id(1), tl.arange(0, GRID), tl.program_id(0) * span
    margins += problem * n_rows
    change += problem * n_rows
    V += problem * (n_columns + 1)
    direction += problem * (n_columns + 1)
    losses += problem * n_programs * GRID
    new_losses += problem * n_programs * GRID
    width = LONGEST / (GRID - 1)
    _, before = _slopes(
        grid.to(tl.float64) * width, losses, V, direction, C, n_columns, n_programs,
        GRID, SIZE, PROGRAMS,
    )  # fmt: skip
    low = before.to(tl.float64) * width
    if tl.program_id(0) == 0:
        tl.store(lowest + problem, low)
    t = (low + width * grid.to(tl.float64) / (GRID - 1)).to(tl.float32)
    loss = tl.zeros((GRID,), tl.float32)
    for start in range(first, tl.minimum(first + span, n_rows), ROWS):
        row = start + tl.arange(0, ROWS)
        room = 1 - tl.load(margins + row, mask=row < n_rows, other=1.0)
        moved = tl.load(change + row, mask=row < n_rows, other=0.0)
        rest = tl.maximum(room[None, :] - t[:, None] * moved[None, :], 0.0)
        loss += tl.sum(rest * moved[None, :], axis=1)
    tl.store(new_losses + tl.program_id(0) * GRID + grid, loss)


@triton.jit(do_not_specialize=["n_columns", "span", "n_programs"])
def _apply(
    features, signs, margins, change, V, direction, C, losses, lowest, new_margins, new_V, active,
    n_rows, n_columns, span, n_programs,
    STEP: tl.constexpr, ACTIVE: tl.constexpr, LONGEST: tl.constexpr, GRID: tl.constexpr,
    SIZE: tl.constexpr, PROGRAMS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Take the step; write features, ones and shortfalls of the rows inside the margin."""
    problem, first = tl.program_id(1), tl.program_id(0) * span
    features += problem.to(tl.int64) * n_columns * n_rows
    active += problem.to(tl.int64) * (n_columns + 2) * n_rows
    margins += problem * n_rows
    new_margins += problem * n_rows
    change += problem * n_rows
    V += problem * (n_columns + 1)
    new_V += problem * (n_columns + 1)
    direction += problem * (n_columns + 1)
    losses += problem * n_programs * GRID
    if STEP:
        grid, column = tl.arange(0, GRID), tl.arange(0, SIZE)
        width = LONGEST / (GRID - 1) / (GRID - 1)
        low = tl.load(lowest + problem)
        slopes, before = _slopes(
            low + width * grid.to(tl.float64), losses, V, direction, C, n_columns, n_programs,
            GRID, SIZE, PROGRAMS,
        )  # fmt: skip
        # the slope is taken for linear between the two
        left = tl.sum(tl.where(grid == before, slopes, 0.0), axis=0)
        right = tl.sum(tl.where(grid == before + 1, slopes, 0.0), axis=0)
        share = tl.minimum(tl.maximum(-left / (right - left + _TINY), 0.0), 1.0)
        t = low + width * (before.to(tl.float64) + share)
        if tl.program_id(0) == 0:
            now = tl.load(V + column, mask=column <= n_columns, other=0.0)
            ahead = tl.load(direction + column, mask=column <= n_columns, other=0.0)
            tl.store(new_V + column, now + t * ahead, mask=column <= n_columns)
    for start in range(first, tl.minimum(first + span, n_rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = row < n_rows
        margin = tl.load(margins + row, mask=inside, other=1.0)
        if STEP:
            margin += t.to(tl.float32) * tl.load(change + row, mask=inside, other=0.0)
            tl.store(new_margins + row, margin, mask=inside)
        if ACTIVE:
            among = tl.where(margin < 1, 1.0, 0.0)
            for j in range(0, n_columns, COLUMNS):
                each = j + tl.arange(0, COLUMNS)
                at = each.to(tl.int64)[:, None] * n_rows + row[None, :]
                mask = (each < n_columns)[:, None] & inside[None, :]
                x = tl.load(features + at, mask=mask, other=0.0)
                tl.store(active + at, x * among[None, :], mask=mask)
            lacking = tl.load(signs + row, mask=inside, other=0.0) * tl.maximum(1 - margin, 0.0)
            last = n_columns.to(tl.int64) * n_rows + row
            tl.store(active + last, among, mask=inside)
            tl.store(active + last + n_rows, lacking, mask=inside)


@triton.jit(do_not_specialize=["n_rows", "n_columns"])
def _system(gram, V, C, H, right, n_rows, n_columns, epsilon, SIZE: tl.constexpr):
    """Write the Hessian, plus an allowance for rounding, and the negative gradient."""
    problem, i, column = tl.program_id(1), tl.program_id(0), tl.arange(0, SIZE)
    gram += problem * (n_columns + 2) * (n_columns + 2)
    H += problem * (n_columns + 1) * (n_columns + 1)
    V += problem * (n_columns + 1)
    right += problem * (n_columns + 1)
    there, factor = column <= n_columns, 2 * tl.load(C)
    diagonal = tl.load(gram + column * (n_columns + 3), mask=there, other=0.0).to(tl.float64)
    rounding = epsilon * factor * tl.sum(diagonal, axis=0)
    start = gram + i * (n_columns + 2)
    row = factor * tl.load(start + column, mask=there, other=0.0).to(tl.float64)
    # without active rows nothing would hold the intercept
    penalty = tl.where(i < n_columns, 1.0, factor * n_rows * 1e-12)
    row = tl.where(column == i, row + penalty + rounding, row)
    tl.store(H + i * (n_columns + 1) + column, row, mask=there)
    pull = factor * tl.load(start + n_columns + 1).to(tl.float64)
    tl.store(right + i, pull - tl.where(i < n_columns, tl.load(V + i), 0.0))


def newton_steps(
    features: Any,
    signs: Any,
    C: Any,
    V: Any,
    n_steps: int,
    *,
    n_lengths: int,
    longest: float,
    epsilon: float,
) -> tuple[Any, Any]:
    """Return coefficients (p, D + 1) in float64, with intercepts last, and margins (p, n).

    `features` of shape (p, D, n), for `p` problems, and `signs` of shape (n,) are float32 and
    contiguous. Step lengths up to `longest` are tried, `n_lengths` of them at once.
    """
    import torch

    p, D, n = features.shape
    span = -(-max(1, -(-n // _MOST_PROGRAMS)) // _ROWS) * _ROWS
    programs = -(-n // span)
    if not isinstance(C, torch.Tensor):
        C = torch.full((), C, dtype=torch.float64, device=features.device)
    size = triton.next_power_of_2(D + 1)
    tile, grid = {"ROWS": _ROWS, "COLUMNS": _COLUMNS}, {"LONGEST": longest, "GRID": n_lengths}
    line = {**grid, "SIZE": size, "PROGRAMS": 64}

    def room(*shape: int, like: Any = features) -> Any:
        return like.new_empty((p, *shape))

    losses, narrow = (room(programs, n_lengths) for _ in range(2))
    margins, moved, change, lowest = room(n), room(n), room(n), room(like=V)
    active, H, right = room(D + 2, n), room(D + 1, D + 1, like=V), room(D + 1, like=V)
    V = direction = V.contiguous()
    launch(
        _product, (programs, p), features, signs, margins, V, margins, losses, n, D, span,
        SEARCH=False, **grid, **tile,
    )  # fmt: skip
    for step in range(n_steps + 1):
        ahead = room(D + 1, like=V)
        launch(
            _apply, (programs, p),
            features, signs, margins, change, V, direction, C, narrow, lowest, moved, ahead,
            active, n, D, span, programs, STEP=step > 0, ACTIVE=step < n_steps, **line, **tile,
        )  # fmt: skip
        if step > 0:
            margins, moved, V = moved, margins, ahead
        if step == n_steps:
            break
        # a single problem is not batched: libraries are faster that way
        gram = active @ active.mT if p > 1 else active[0] @ active[0].T
        launch(_system, (D + 1, p), gram, V, C, H, right, n, D, epsilon, SIZE=size)
        solve = inverse(H if p > 1 else H[0])
        direction = solve((right if p > 1 else right[0])[..., None])[..., 0].contiguous()
        launch(
            _product, (programs, p), features, signs, margins, direction, change, losses,
            n, D, span, SEARCH=True, **grid, **tile,
        )  # fmt: skip
        launch(
            _narrow, (programs, p), margins, change, V, direction, C, losses, narrow, lowest,
            n, D, span, programs, ROWS=_ROWS, **line,
        )  # fmt: skip
    return V, margins
