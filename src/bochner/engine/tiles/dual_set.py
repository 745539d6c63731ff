"""The shift for which clipped numbers sum to zero, by bisection, with one program per row."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from bochner.engine.tiles.halves import launch

_BLOCK = 4096


@triton.jit(do_not_specialize=["n", "n_corners", "n_steps"])
def _shift(z, low, high, corners, out, n, n_corners, n_steps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    corners += row.to(tl.int64) * n_corners
    begin = row.to(tl.int64) * n
    first = row * 0
    last = first + n_corners - 1
    for _ in range(n_steps):
        middle = (first + last) // 2
        t = tl.load(corners + middle)
        total = tl.zeros((BLOCK,), tl.float64)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            value = tl.load(z + begin + i, mask=i < n, other=0.0) - t
            above = tl.load(low + begin + i, mask=i < n, other=0.0)
            below = tl.load(high + begin + i, mask=i < n, other=0.0)
            total += tl.minimum(tl.maximum(value, above), below)
        positive = tl.sum(total, axis=0) >= 0
        first, last = tl.where(positive, middle, first), tl.where(positive, last, middle)
    t, s = tl.load(corners + first), tl.load(corners + last)
    left_total, right_total = tl.zeros((BLOCK,), tl.float64), tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(z + begin + i, mask=i < n, other=0.0)
        above = tl.load(low + begin + i, mask=i < n, other=0.0)
        below = tl.load(high + begin + i, mask=i < n, other=0.0)
        left_total += tl.minimum(tl.maximum(value - t, above), below)
        right_total += tl.minimum(tl.maximum(value - s, above), below)
    left_sum, right_sum = tl.sum(left_total, axis=0), tl.sum(right_total, axis=0)
    fall = tl.where(left_sum > right_sum, left_sum - right_sum, 1.0)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(z + begin + i, mask=i < n, other=0.0)
        above = tl.load(low + begin + i, mask=i < n, other=0.0)
        below = tl.load(high + begin + i, mask=i < n, other=0.0)
        left = tl.minimum(tl.maximum(value - t, above), below)
        right = tl.minimum(tl.maximum(value - s, above), below)
        mixed = left + (left_sum / fall) * (right - left)
        tl.store(out + begin + i, tl.minimum(tl.maximum(mixed, above), below), mask=i < n)


def shifted(z: Any, low: Any, high: Any, corners: Any) -> Any:
    """Return ``clip(z - t, low, high)`` with the `t` for which each row sums to zero.

    Everything is float64; the sorted `corners` are where a sum stops being linear in `t`."""
    import torch

    z, low, high, corners = (part.contiguous() for part in (z, low, high, corners))
    (k, n), n_corners, result = z.shape, corners.shape[1], torch.empty_like(z)
    launch(
        _shift, (k,), z, low, high, corners, result, n, n_corners, n_corners.bit_length(),
        BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return result
