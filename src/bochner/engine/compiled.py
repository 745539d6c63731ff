"""The compiled inner loops: sine and cosine together, and products with sparse rows.

Importing this module imports Numba, so :mod:`bochner.engine.cpu` does it on the first call only.
Machine code is cached on disk: a new process loads it instead of compiling.

Sine and cosine share one argument reduction. With ``k = round(2 x / pi)`` the remainder
``r = x - k pi / 2`` is formed by subtracting ``pi / 2`` in three parts whose leading bits make
``k * part`` exact (Cody and Waite), ``sin r`` and ``cos r`` are short minimax polynomials on
``[-pi / 4, pi / 4]``, and the quadrant ``k mod 4`` swaps and negates them.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from bochner.engine.jit import compiled
from bochner.engine.uncompiled import QUADRANTS_32, QUADRANTS_64

# Contraction to fused multiply-adds is wanted. Re-association is not: it would undo the
# three-part reduction.
_FAST = {"contract", "nsz", "nnan", "ninf"}

_ROWS_PER_PART = 64  # float32 terms added before the sum goes over to float64

_F32 = np.float32

# sin r = r + r z p(z), cos r = 1 - z / 2 + z^2 q(z) with z = r^2: p and q are minimax on
# [0, (pi / 4)^2] for the error of sin r / r and of cos r (Remez exchange in 60 digits; 6e-9 and
# 2e-10 in single precision, 6e-18 and 2e-19 in double).
_SIN_32 = (_F32(-1.6666654616478e-1), _F32(8.3320967716258e-3), _F32(-1.9503377893826e-4))
_COS_32 = (_F32(4.1666654579798e-2), _F32(-1.3887649463075e-3), _F32(2.4463166399242e-5))
_SIN_64 = (
    -1.6666666666666641999e-1,
    8.3333333333236015398e-3,
    -1.9841269830083894513e-4,
    2.7557313628146661699e-6,
    -2.5050730573094093213e-8,
    1.5894467492154199326e-10,
)
_COS_64 = (
    4.1666666666666651163e-2,
    -1.3888888888882784595e-3,
    2.4801587294577866662e-5,
    -2.7557315719804795306e-7,
    2.0875894652409497218e-9,
    -1.1367797757242893089e-11,
)
# pi / 2 in three parts; the first two have 8 and 11 bits (single), 33 and 33 bits (double).
_HALF_PI_32 = (_F32(1.5703125), _F32(4.837512969970703125e-4), _F32(7.549789954891882169e-8))
_HALF_PI_64 = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595073240e-21)
_TWO_OVER_PI_32 = _F32(2 / np.pi)
_ONE_32, _HALF_32 = _F32(1), _F32(0.5)
_BIT_1_32, _BIT_2_32 = np.int32(1), np.int32(2)


def _wave(x):
    """Cosine and sine of a number, and how many quadrants it is away from zero."""


@overload(_wave, inline="always")
def _wave_in_dtype(x):
    return _wave_32 if x == types.float32 else _wave_64


def _wave_32(x):
    k = np.rint(x * _TWO_OVER_PI_32)
    r = ((x - k * _HALF_PI_32[0]) - k * _HALF_PI_32[1]) - k * _HALF_PI_32[2]
    quadrant = np.int32(k)
    z = r * r
    s = r + r * z * (_SIN_32[0] + z * (_SIN_32[1] + z * _SIN_32[2]))
    c = _ONE_32 - _HALF_32 * z + z * z * (_COS_32[0] + z * (_COS_32[1] + z * _COS_32[2]))
    if quadrant & _BIT_1_32 != 0:
        s, c = c, s
    if (quadrant + _BIT_1_32) & _BIT_2_32 != 0:
        c = -c
    if quadrant & _BIT_2_32 != 0:
        s = -s
    return c, s, quadrant ^ (quadrant >> np.int32(31))


def _wave_64(x):
    k = np.rint(x * (2 / np.pi))
    r = ((x - k * _HALF_PI_64[0]) - k * _HALF_PI_64[1]) - k * _HALF_PI_64[2]
    quadrant = np.int64(k)
    z = r * r
    p = _SIN_64[3] + z * (_SIN_64[4] + z * _SIN_64[5])
    s = r + r * z * (_SIN_64[0] + z * (_SIN_64[1] + z * (_SIN_64[2] + z * p)))
    p = _COS_64[3] + z * (_COS_64[4] + z * _COS_64[5])
    c = 1.0 - 0.5 * z + z * z * (_COS_64[0] + z * (_COS_64[1] + z * (_COS_64[2] + z * p)))
    if quadrant & 1 != 0:
        s, c = c, s
    if (quadrant + 1) & 2 != 0:
        c = -c
    if quadrant & 2 != 0:
        s = -s
    return c, s, quadrant ^ (quadrant >> 63)


# The row functions stay apart, and take one-dimensional slices: only in this form does LLVM turn
# the loop into vector instructions (0.4 ns per pair in float32, 1.0 ns in float64 on one AVX-512
# core, against 10 ns when written over a two-dimensional array). For the same reason the check for
# large phases is an integer "or": a running maximum costs the vectorisation. The exclusive or
# with the sign makes a negative number of quadrants positive; NaN and infinity count as beyond.


@compiled(inline="always")
def _too_large(quadrants, phase):
    return quadrants >= (QUADRANTS_32 if phase.itemsize == 4 else QUADRANTS_64)


@compiled(fastmath=_FAST, inline="never")
def _row(phase, scale, cosine, sine):
    quadrants = 0
    for j in range(phase.shape[0]):
        c, s, turned = _wave(phase[j])
        quadrants |= turned
        cosine[j] = c * scale[j]
        sine[j] = s * scale[j]
    return _too_large(quadrants, phase)


@compiled(fastmath=_FAST, inline="never")
def _add_row(phase, weight, cosine, sine):
    quadrants = 0
    for j in range(phase.shape[0]):
        c, s, turned = _wave(phase[j])
        quadrants |= turned
        cosine[j] += c * weight
        sine[j] += s * weight
    return _too_large(quadrants, phase)


@compiled(fastmath=_FAST, inline="never")
def _mix_row(phase, with_cosine, with_sine, out):
    quadrants = 0
    for j in range(phase.shape[0]):
        c, s, turned = _wave(phase[j])
        quadrants |= turned
        out[j] = c * with_cosine[j] + s * with_sine[j]
    return _too_large(quadrants, phase)


@compiled(fastmath=True, inline="never")
def _add_up(values):
    total = values[0] * 0
    for j in range(values.shape[0]):
        total += values[j]
    return total


@compiled()
def sum_tile(phases, weights, part, total):
    """Add ``weights @ cos(phases)`` to ``total[0]`` and ``weights @ sin(phases)`` to ``total[1]``.

    `total` is float64; float32 waves are added up in `part` a few rows at a time. The waves
    themselves are never stored. Returns whether a phase was too large to trust; the total is
    then worthless.
    """
    n_rows = phases.shape[0]
    height = _ROWS_PER_PART if phases.itemsize == 4 else max(1, n_rows)
    beyond = False
    for first in range(0, n_rows, height):
        part[:] = 0
        for i in range(first, min(first + height, n_rows)):
            beyond |= _add_row(phases[i], weights[i], part[0], part[1])
        total += part
    return beyond


@compiled()
def sincos_tile(phases, scale, out, first_row, first_cosine, first_sine, large):
    """Write ``scale * cos(phases)`` and ``scale * sin(phases)`` into two windows of `out`.

    Row ``i`` of `phases` goes to row ``first_row + i`` of `out`; the cosines start at column
    `first_cosine`, the sines at `first_sine`. ``large[i]``, a boolean, tells
    whether a phase of row ``i`` is too large to trust. All arrays are C-contiguous and, but
    for `large`, of one dtype, float32 or float64.
    """
    width = phases.shape[1]
    for i in range(phases.shape[0]):
        row = out[first_row + i]
        large[i] = _row(
            phases[i],
            scale,
            row[first_cosine : first_cosine + width],
            row[first_sine : first_sine + width],
        )


@compiled()
def group_tile(phases, with_cosine, with_sine, buffer, size, out, large):
    """``out[i, g] = sum over group g of with_cosine * cos(phases[i]) + with_sine * sin(...)``.

    Groups are `size` neighbouring columns; `buffer` has room for one row of phases.
    """
    for i in range(phases.shape[0]):
        large[i] = _mix_row(phases[i], with_cosine, with_sine, buffer)
        for g in range(out.shape[1]):
            out[i, g] = _add_up(buffer[g * size : (g + 1) * size])


@compiled(fastmath=_FAST, inline="never")
def _slope_row(weight, with_cosine, with_sine, cosine, sine, out):
    for j in range(out.shape[0]):
        out[j] += weight * (with_cosine[j] * cosine[j] - with_sine[j] * sine[j])


@compiled()
def slope_tile(weights, with_cosine, with_sine, first, waves, row, cosine, sine, out):
    """``out = (weights @ with_cosine) * cosines - (weights @ with_sine) * sines``.

    The cosines and sines are windows of `waves`, as :func:`sincos_tile` wrote them; of the two
    coefficient matrices, ``(k, N)``, the columns from `first` on are used.
    """
    width = out.shape[1]
    for i in range(out.shape[0]):
        cosines = waves[row + i, cosine : cosine + width]
        sines = waves[row + i, sine : sine + width]
        out[i, :] = 0
        for k in range(weights.shape[1]):
            _slope_row(
                weights[i, k],
                with_cosine[k, first : first + width],
                with_sine[k, first : first + width],
                cosines,
                sines,
                out[i],
            )


@compiled(fastmath={"contract"})
def csr_product(data, indices, indptr, first_row, W, first, stop, out):
    """``out = X[first_row : first_row + len(out)] @ W[:, first:stop]`` for CSR rows.

    `W` and `out` are C-contiguous; `W` is passed whole so that its rows are known to be.
    """
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0
        for p in range(indptr[first_row + i], indptr[first_row + i + 1]):
            value = data[p]
            weights = W[indices[p], first:stop]
            for j in range(row.shape[0]):
                row[j] += value * weights[j]


@compiled(fastmath={"contract"})
def csr_transposed_product(data, indices, indptr, first_row, M, out):
    """``out += X[first_row : first_row + len(M)].T @ M`` for CSR rows; `out` is float64."""
    for i in range(M.shape[0]):
        row = M[i]
        for p in range(indptr[first_row + i], indptr[first_row + i + 1]):
            value = data[p]
            total = out[indices[p]]
            for j in range(row.shape[0]):
                total[j] += value * row[j]
