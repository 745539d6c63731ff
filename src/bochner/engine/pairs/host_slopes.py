"""Slopes in weights of the columns, on the cores of the host.

See :mod:`bochner.engine.pairs.slopes`. A thread computes the distances of a tile, the results of
its values and their slopes before it goes on: no matrix of all pairs is held, except one that is a
result. If rows are paired with themselves, each pair counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.pairs.forms import Form
from bochner.engine.pairs.host import distances_of, tiles, value_numbers
from bochner.engine.threads import Scratch, default_threads, for_each, ordered_map

Array = NDArray[Any]

_FEW = 2  # columns


def upper_values(X: Array, form: Form, n_threads: int | None) -> Array:
    """Return kernel values on and above the diagonal; entries below are undefined."""
    from bochner.engine.pairs.compiled import radial_tile

    n, dtype, scratch = len(X), X.dtype, Scratch()
    fill, numbers = distances_of(X, X, form, scratch), value_numbers(form, dtype)
    result = np.empty((n, n), dtype)

    def work(rows: slice) -> None:
        tile = scratch.array("tile", (rows.stop - rows.start, n - rows.start), dtype)
        fill(rows, tile, rows.start)
        radial_tile(tile, *numbers)
        result[rows, rows.start :] = tile

    for_each(work, tiles(n, n, dtype), n_threads)
    return result


def within(X: Array, form: Form, left: Array, right: Array, n_threads: int | None) -> Array:
    """See :meth:`bochner.engine.pairs.slopes.Within.slopes`."""
    n, dtype, scratch = len(X), X.dtype, Scratch()
    fill, sums = distances_of(X, X, form, scratch), _Sums(form, X)
    left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    one, other = np.hstack([left, right]), np.ascontiguousarray(np.hstack([right, left]).T)

    def work(rows: slice) -> Array:
        first, height = rows.start, rows.stop - rows.start
        shape = height, n - first
        distances, products = (scratch.array(name, shape, dtype) for name in ("tile", "products"))
        fill(rows, distances, first)
        _write_products(one[rows], other[:, first:], products)
        products[:, :height] = left[rows] @ right[rows].T  # with both orders of a pair
        return sums(X[rows], products, distances, first)

    return _added(ordered_map(work, tiles(n, n, dtype), n_threads or default_threads()))


def residuals(
    X: Array, Z: Array, form: Form, coefficients: Array, targets: Array, n_threads: int | None
) -> tuple[Array, Array, Array]:
    """See :func:`bochner.engine.pairs.slopes.residuals_and_slopes`."""
    from bochner.engine.pairs.compiled import radial_tile

    n, m, dtype, scratch = len(X), len(Z), X.dtype, Scratch()
    fill, sums, numbers = (
        distances_of(X, Z, form, scratch),
        _Sums(form, Z),
        value_numbers(form, dtype),
    )
    a = coefficients.astype(dtype, copy=False)
    across, e = np.ascontiguousarray(a.T), np.empty((n, a.shape[1]), dtype)

    def work(rows: slice) -> tuple[Array, Array]:
        shape = rows.stop - rows.start, m
        distances, tile = (scratch.array(name, shape, dtype) for name in ("tile", "values"))
        fill(rows, distances, 0)
        tile[...] = distances
        radial_tile(tile, *numbers)
        e[rows] = tile @ a - targets[rows]
        products = tile.T @ e[rows]
        _write_products(e[rows], across, tile)
        return products, sums(X[rows], tile, distances, 0)

    parts = list(ordered_map(work, tiles(n, m, dtype), n_threads or default_threads()))
    products, slopes = (_added(some) for some in zip(*parts, strict=True))
    return e, products.astype(dtype), slopes


class _Sums:
    """Sums over a tile of products times kernel slopes times differences by column."""

    def __init__(self, form: Form, Z: Array) -> None:
        self._center, self._radial = Z.mean(axis=0), form.radial
        points = Z - self._center
        # the last column makes sums over the tile's rows
        self._points = np.hstack([points, np.ones_like(points[:, :1])])
        self._squares, self._by_axis = points**2, np.ascontiguousarray(points.T)
        cusp, *others = form.slope if form.radial else (0.0, form.outer[0], 0.0, 0.0)
        outer = form.outer if form.radial else (0.0, form.outer[0])  # of sums, not squares
        self._numbers = [Z.dtype.type(c) for c in (cusp, *others, *outer)]

    def __call__(self, X: Array, products: Array, distances: Array, first: int) -> Array:
        """Return the sums for rows, and landmarks from `first` on; `products` is overwritten."""
        from bochner.engine.pairs import compiled

        block = np.ascontiguousarray(X - self._center, X.dtype)
        compiled.slope_tile(products, distances, *self._numbers)
        if not self._radial:
            total = np.zeros(X.shape[1])
            by_axis = np.ascontiguousarray(self._by_axis[:, first:])
            compiled.absolute_products(products, block, by_axis, total)
            return total
        along = products @ self._points[first:]
        mixed = np.einsum("ic,ic->c", block, along[:, :-1], dtype=np.float64)
        by_landmark = np.ones(len(block), X.dtype) @ products
        own = along[:, -1] @ block**2 + by_landmark @ self._squares[first:]
        slopes: Array = 2 * (own - 2 * mixed)
        return slopes


def _write_products(left: Array, right: Array, out: Array) -> None:
    """Write ``left @ right``; BLAS is slow for one or two columns."""
    if left.shape[1] > _FEW:
        np.matmul(left, right, out=out)
        return
    np.multiply(left[:, :1], right[:1], out=out)
    for column in range(1, left.shape[1]):
        out += left[:, column : column + 1] * right[column]


def _added(parts: Any) -> Array:
    return np.asarray(np.sum(list(parts), axis=0, dtype=np.float64))
