"""The compiled passes from products, or from rows, to kernel values.

Numba's exponential is a call per number. Here ``exp(-u) = 2^k e^r`` with ``k`` a whole number and
``|r| <= log(2) / 2``, found by adding a number so large that only ``k`` is left of the sum: its
last bits are ``k``, which shifted become ``2^k``. No integer is converted, so that loops over rows
become vector instructions on every processor; for what else that takes see
:mod:`bochner.engine.compiled`.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from bochner.engine.jit import compiled

_FAST = {"contract", "nsz", "nnan", "ninf"}  # no re-association: it would undo the rounding
_F32 = np.float32

# e^r = 1 + r + r^2 q(r), so that k(x, x) is 1 exactly: interpolated at Chebyshev nodes,
# relative error 2e-17 and 1e-8.
_EXP_64 = (
    0.50000000000000010211,
    0.16666666666666667452,
    0.041666666666624161903,
    0.0083333333333300644495,
    0.0013888888917196719077,
    0.00019841269863040545271,
    0.000024801521322368693266,
    2.7557268480310025526e-6,
    2.7620075879983366586e-7,
    2.5100375832561233664e-8,
)
_EXP_32 = tuple(
    _F32(c)
    for c in (
        0.5,
        0.1666657702559798819,
        0.041666554662050533982,
        0.0083631730745137109028,
        0.0013926176119935578884,
    )
)
# log(2) in two parts, the first of so few bits that k times it is exact.
_LOG_2_64 = (0.6931471805598903, 5.497923018708371174712e-14)
_LOG_2_32 = (_F32(0.693359375), _F32(-2.121944400546905827679e-4))
_SHIFT_64, _SHIFT_32 = 1.5 * 2**52, _F32(1.5 * 2**23)
_LEAST_64, _LEAST_32 = -708.0, _F32(-87.0)  # whose exponential is still a normal number
_LOG2_E_32 = _F32(1.4426950408889634)
_BIAS_64, _BITS_64 = np.int64(1023), np.int64(52)
_BIAS_32, _BITS_32 = np.int32(127), np.int32(23)
_ONE_32, _ZERO_32 = _F32(1), _F32(0)
_LANDMARKS = 1024  # columns of these are near a core, while all rows of a tile pass by


def _exp(x):
    """The exponential of a number that is not positive."""


@overload(_exp, inline="always")
def _exp_in_dtype(x):
    return _exp_32 if x == types.float32 else _exp_64


def _exp_64(x):
    inside = x if x > _LEAST_64 else _LEAST_64
    shifted = inside * 1.4426950408889634 + _SHIFT_64
    k = shifted - _SHIFT_64
    r = (inside - k * _LOG_2_64[0]) - k * _LOG_2_64[1]
    q = _EXP_64[6] + r * (_EXP_64[7] + r * (_EXP_64[8] + r * _EXP_64[9]))
    q = _EXP_64[2] + r * (_EXP_64[3] + r * (_EXP_64[4] + r * (_EXP_64[5] + r * q)))
    q = _EXP_64[0] + r * (_EXP_64[1] + r * q)
    bits = np.float64(shifted).view(np.int64)
    power = np.int64((bits + _BIAS_64) << _BITS_64).view(np.float64)
    value = (1.0 + (r + r * r * q)) * power
    return value if x > _LEAST_64 else 0.0


def _exp_32(x):
    inside = x if x > _LEAST_32 else _LEAST_32
    shifted = inside * _LOG2_E_32 + _SHIFT_32
    k = shifted - _SHIFT_32
    r = (inside - k * _LOG_2_32[0]) - k * _LOG_2_32[1]
    q = _EXP_32[2] + r * (_EXP_32[3] + r * _EXP_32[4])
    q = _EXP_32[0] + r * (_EXP_32[1] + r * q)
    bits = np.int32(np.float32(shifted).view(np.int32) + _BIAS_32)
    power = np.int32(bits << _BITS_32).view(np.float32)
    value = (_ONE_32 + (r + r * r * q)) * power
    return value if x > _LEAST_32 else _ZERO_32


@compiled(fastmath=_FAST, inline="never")
def _square_row(row, length, lengths, near):
    found = 0
    for j in range(row.shape[0]):
        both = length + lengths[j]
        square = both + row[j]
        found |= square < near * both
        row[j] = square
    return found != 0


@compiled(fastmath=True, inline="never")
def _difference(x, z):
    total = x[0] * 0
    for c in range(x.shape[0]):
        total += (x[c] - z[c]) * (x[c] - z[c])
    return total


@compiled(fastmath=_FAST, inline="never")
def _gaussian_row(row, slope):
    for j in range(row.shape[0]):
        row[j] = _exp(slope * row[j])


@compiled(fastmath=_FAST, inline="never")
def _radial_row(row, one, inner_1, inner_2, outer_1, outer_2):
    for j in range(row.shape[0]):
        square = row[j]
        t = np.sqrt(square)
        row[j] = (one + inner_1 * t + inner_2 * square) * _exp(outer_1 * t + outer_2 * square)


@compiled()
def squares_tile(products, length, lengths, near, flags):
    """From ``-2 <x, z>`` to squared distances, in place; ``flags[i]``: some may not be known.

    `length` and `lengths` are squared lengths of rows and landmarks. A squared distance below
    `near` times their sum has lost digits to cancellation.
    """
    for i in range(products.shape[0]):
        flags[i] = _square_row(products[i], length[i], lengths, near)


@compiled()
def exact_squares(squares, length, lengths, near, flags, X, Z):
    """The squared distances that :func:`squares_tile` is not sure of, from the differences."""
    for i in range(squares.shape[0]):
        if flags[i]:
            for j in range(squares.shape[1]):
                if squares[i, j] < near * (length[i] + lengths[j]):
                    squares[i, j] = _difference(X[i], Z[j])


@compiled()
def radial_tile(squares, one, inner_1, inner_2, outer_1, outer_2):
    """``(1 + a t + b t^2) exp(c t + e t^2)`` of distances ``t``, in place of their squares."""
    for i in range(squares.shape[0]):
        if inner_1 == 0 and inner_2 == 0 and outer_1 == 0:
            _gaussian_row(squares[i], outer_2)
        else:
            _radial_row(squares[i], one, inner_1, inner_2, outer_1, outer_2)


@compiled(fastmath=_FAST, inline="never")
def _add_axis(exponent, factor, x, z, inner_1, inner_2, outer_1, outer_2):
    for j in range(exponent.shape[0]):
        t = np.abs(x - z[j])
        exponent[j] += outer_1 * t + outer_2 * t * t
        factor[j] *= inner_1 * t + inner_2 * t * t + (x * 0 + 1)


@compiled(fastmath={"contract", "nsz"}, inline="never")
def _finish_axes(exponent, factor, out):
    for j in range(exponent.shape[0]):
        out[j] = _exp(exponent[j]) / factor[j]


# Four columns at a time: a row of results is read and written once for them. Factors of another
# type would make double precision of single.
@compiled(fastmath=_FAST, inline="never")
def _add_absolute(out, x, Z):
    whole = x.shape[0] - x.shape[0] % 4
    for c in range(0, whole, 4):
        x_0, x_1, x_2, x_3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        for j in range(out.shape[0]):
            one = np.abs(x_0 - Z[c, j]) + np.abs(x_1 - Z[c + 1, j])
            two = np.abs(x_2 - Z[c + 2, j]) + np.abs(x_3 - Z[c + 3, j])
            out[j] += one + two
    for c in range(whole, x.shape[0]):
        for j in range(out.shape[0]):
            out[j] += np.abs(x[c] - Z[c, j])


@compiled()
def sums_tile(X, Z, out):
    """Sums of absolute differences between rows, `Z` of shape (d, m)."""
    for first in range(0, Z.shape[1], _LANDMARKS):
        last = min(first + _LANDMARKS, Z.shape[1])
        some = Z[:, first:last].copy()
        for i in range(X.shape[0]):
            out[i, first:last] = 0
            _add_absolute(out[i, first:last], X[i], some)


@compiled(fastmath=_FAST, inline="never")
def _slope_row(row, squares, cusp, first, second, third, outer_1, outer_2):
    for j in range(row.shape[0]):
        square = squares[j]
        apart = square > 0
        t = np.sqrt(square)
        # the differences that this is multiplied with are zero where the distance is
        edge = cusp / (t if apart else square + cusp * 0 + 1) if apart else cusp * 0
        slope = edge + first + second * t + third * square
        row[j] *= slope * _exp(outer_1 * t + outer_2 * square)


@compiled(fastmath=_FAST, inline="never")
def _smooth_slope_row(row, squares, first, third, outer_2):
    for j in range(row.shape[0]):
        row[j] *= (first + third * squares[j]) * _exp(outer_2 * squares[j])


@compiled()
def slope_tile(products, squares, cusp, first, second, third, outer_1, outer_2):
    """Products times ``(p / t + q + r t + s t^2) exp(c t + e t^2)``, in place."""
    for i in range(products.shape[0]):
        if cusp == 0 and second == 0 and outer_1 == 0:
            _smooth_slope_row(products[i], squares[i], first, third, outer_2)
        else:
            _slope_row(products[i], squares[i], cusp, first, second, third, outer_1, outer_2)


@compiled(fastmath=True, inline="never")
def _add_products(row, x, Z, out):
    for c in range(x.shape[0]):
        total = row.dtype.type(0)
        for j in range(row.shape[0]):
            total += row[j] * np.abs(x[c] - Z[c, j])
        out[c] += total


@compiled()
def absolute_products(products, X, Z, out):
    """``sum_ij products[i, j] |x_ic - z_cj|`` for every column, `Z` of shape (d, m)."""
    for first in range(0, Z.shape[1], _LANDMARKS):
        last = min(first + _LANDMARKS, Z.shape[1])
        some = Z[:, first:last].copy()
        for i in range(X.shape[0]):
            _add_products(products[i, first:last], X[i], some, out)


@compiled()
def axes_tile(X, Z, inner_1, inner_2, outer_1, outer_2, exponent, factor, out):
    """The product over the axes of ``exp(c t + e t^2) / (1 + a t + b t^2)``, ``t = |x_j - z_j|``.

    `Z` is of shape (d, m), the others are by rows; `exponent` and `factor` have room for a row.
    """
    if inner_1 == 0 and inner_2 == 0 and outer_2 == 0:
        sums_tile(X, Z, out)
        for i in range(X.shape[0]):
            _gaussian_row(out[i], outer_1)
        return
    for i in range(X.shape[0]):
        exponent[:] = 0
        factor[:] = 1
        for c in range(X.shape[1]):
            _add_axis(exponent, factor, X[i, c], Z[c], inner_1, inner_2, outer_1, outer_2)
        _finish_axes(exponent, factor, out[i])
