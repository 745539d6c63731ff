"""Kernel rows on arrays of any array-API namespace: PyTorch, CuPy, and others.

As on the host, there is one product of centred rows and landmarks per chunk of rows, and the few
squared distances that have lost their digits are computed from the differences. A kernel that can
only be called is called on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.engine import tiles
from bochner.engine.pairs.forms import Form, form_of
from bochner.engine.pairs.host import NEAR
from bochner.engine.places import (
    as_float,
    cast,
    convert,
    dense,
    detached,
    device_of,
    float_dtype,
    namespace,
    result_dtype,
    to_numpy,
    wide_dtype,
    write_at,
    zeros,
)
from bochner.engine.rowwise import row_slices

_DEFAULT_BUDGET = 2**30
_LARGEST_BUDGET = 2**28  # for the kernels of tiles
_ARRAYS = 4  # arrays of the size of a chunk of kernel values held at once


def kernel_rows(
    X: Any,
    Z: Any,
    kernel: Any,
    *,
    normalization: Any,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    X, form = detached(X), form_of(kernel)
    if form is not None and form.radial and tiles.suit(X, Z.shape[0]):
        return _in_tiles(X, dense(Z), form, normalization, memory_budget or _DEFAULT_BUDGET)
    X = as_float(X)
    R = None if normalization is None else convert(normalization, X)
    values = _values(kernel, X, dense(Z))
    width = Z.shape[0] if R is None else R.shape[1]
    result = namespace(X).empty((X.shape[0], width), dtype=X.dtype, device=device_of(X))
    row = _ARRAYS * max(1, Z.shape[0]) * float_dtype(X).itemsize
    for rows in row_slices(X.shape[0], (memory_budget or _DEFAULT_BUDGET) // row):
        K = values(X[rows, :])
        result[rows, :] = K if R is None else K @ R
    return result


def _in_tiles(X: Any, Z: Any, form: Form, normalization: Any, budget: int) -> Any:
    from bochner.engine.tiles import pairs
    from bochner.engine.tiles.halves import TILE, in_halves
    from bochner.engine.tiles.products import write_product

    xp, dtype = namespace(X), result_dtype(X)
    Z = convert(Z, X, wide_dtype(X))
    center, near = xp.mean(Z, axis=0), NEAR[float_dtype(X)]
    points, R = in_halves(Z, center), None
    if normalization is not None:
        R = in_halves(convert(normalization, X, dtype).T)
    width, held = (len(Z), 0) if R is None else (R.n_rows, len(Z))
    result = xp.empty((X.shape[0], width), dtype=dtype, device=device_of(X))

    def write(block: Any, out: Any) -> None:  # a function: its arrays are freed before the next
        x = in_halves(block, center)
        if R is None:
            pairs.write_values(x, points, form, near, out)
        else:
            write_product(pairs.split_values(x, points, form, near), R, out)

    height = min(budget, _LARGEST_BUDGET) // (4 * max(1, X.shape[1] + held))
    for rows in row_slices(X.shape[0], max(TILE, height // TILE * TILE)):
        write(X[rows, :], result[rows, :])
    return result


def _values(kernel: Any, X: Any, Z: Any) -> Any:
    form = form_of(kernel)
    if form is None:
        Z = to_numpy(Z).astype(float_dtype(X))
        return lambda rows: convert(np.asarray(kernel(to_numpy(rows), Z)), X)
    if not form.radial:
        points = convert(Z, X).T
        return lambda rows: _over_axes(form, rows, points)
    wide = wide_dtype(X)
    Z = convert(Z, X, wide)
    center = namespace(X).mean(Z, axis=0)
    points, near = Z - center, NEAR[float_dtype(X)]
    narrow = cast(points, X.dtype)

    def radial(rows: Any) -> Any:
        block = cast(cast(rows, wide) - center, X.dtype)
        return _of_squares(form, _squares(block, narrow, near, wide))

    return radial


def distances_between(X: Any, Z: Any, form: Form, n_threads: int | None = None) -> Any:
    """Return the argument of a form: squared distances, or sums of absolute differences."""
    xp, wide = namespace(X), wide_dtype(X)
    if form.radial:
        center = xp.mean(cast(Z, wide), axis=0)
        rows, points = (cast(cast(part, wide) - center, X.dtype) for part in (X, Z))
        return _squares(rows, points, NEAR[float_dtype(X)], wide)
    sums = zeros((X.shape[0], Z.shape[0]), X, X.dtype)
    for axis in range(X.shape[1]):
        sums += xp.abs(X[:, axis : axis + 1] - Z[:, axis][None, :])
    return sums


def turned_into_values(distances: Any, form: Form, n_threads: int | None = None) -> Any:
    """Return kernel values from the argument of the form."""
    if form.radial:
        return _of_squares(form, distances + 0)
    return namespace(distances).exp(form.outer[0] * distances)


def axis_slopes(X: Any, Z: Any, distances: Any, form: Form, left: Any, right: Any) -> Any:
    """Return slopes in weights of the columns, see :mod:`bochner.engine.pairs.slopes`."""
    xp, products = namespace(X), cast(left, X.dtype) @ cast(right, X.dtype).T
    if form.radial:
        (cusp, first, second, third), (c, e) = form.slope, form.outer
        t = xp.sqrt(distances)
        edge = xp.where(t > 0, cusp / xp.where(t > 0, t, xp.ones_like(t)), xp.zeros_like(t))
        products *= (edge + first + second * t + third * distances) * xp.exp(c * t + e * distances)
        center = xp.mean(Z, axis=0)
        rows, points = X - center, Z - center
        mixed = xp.sum(rows * (products @ points), axis=0)
        own = xp.sum(products, axis=1) @ rows**2 + xp.sum(products, axis=0) @ points**2
        return 2 * (own - 2 * mixed)
    products *= form.outer[0] * xp.exp(form.outer[0] * distances)
    sums = [
        xp.sum(products * xp.abs(X[:, axis : axis + 1] - Z[:, axis][None, :]))
        for axis in range(X.shape[1])
    ]
    return xp.stack(sums)


def _squares(X: Any, Z: Any, near: float, wide: Any) -> Any:
    xp = namespace(X)
    length, lengths = (_squared_lengths(rows, wide) for rows in (X, Z))
    both = cast(length, X.dtype)[:, None] + cast(lengths, X.dtype)[None, :]
    squares = both - 2 * (X @ Z.T)
    i, j = xp.nonzero(squares < near * both)
    for some in row_slices(i.shape[0], X.shape[0] * Z.shape[0] // X.shape[1]):
        apart = xp.take(X, i[some], axis=0) - xp.take(Z, j[some], axis=0)
        write_at(squares, i[some], j[some], xp.sum(apart * apart, axis=1))
    return squares


def _squared_lengths(rows: Any, wide: Any) -> Any:
    rows = cast(rows, wide)
    return namespace(rows).sum(rows * rows, axis=1)


def _of_squares(form: Form, squares: Any) -> Any:
    xp = namespace(squares)
    (a, b), (c, e) = form.inner, form.outer
    if not (a or b or c):
        squares *= e
        return xp.exp(squares)
    distances = xp.sqrt(squares)
    values = xp.exp(c * distances + e * squares if e else c * distances)
    return values * (1 + a * distances + b * squares) if a or b else values


def _over_axes(form: Form, rows: Any, points: Any) -> Any:
    xp = namespace(rows)
    (a, b), (c, e) = form.inner, form.outer
    shape = (rows.shape[0], points.shape[1])
    exponent = zeros(shape, rows, rows.dtype)
    factor = exponent + 1
    for axis in range(rows.shape[1]):
        t = xp.abs(rows[:, axis : axis + 1] - points[axis : axis + 1, :])
        if c or e:
            exponent += t * (c + e * t)
        if a or b:
            factor *= 1 + t * (a + b * t)
    return xp.exp(exponent) / factor
