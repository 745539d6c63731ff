"""Kernel rows on the cores of the host, for dense and sparse rows.

A thread fills a tile with one matrix product of rows and landmarks, turns it into kernel values
in a compiled pass, and multiplies it into the result. The product of centred rows and the squared
lengths give squared distances up to the rounding of the lengths; distances much smaller than the
lengths are recomputed from the differences. Equal rows are therefore at distance zero, in float32
as well, and a square root keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.pairs.forms import Form, form_of
from bochner.engine.places import by_rows, dense, float_dtype
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import Scratch, for_each
from bochner.engine.uncompiled import pair_loops

Array = NDArray[Any]

_TILE = 2**23  # bytes of kernel values in a tile: high enough for BLAS
_SMALL_TILE = 2**20  # if values are little more than computed: small enough for cache
_NARROW = 64  # columns of a normalization from which high tiles pay off
_COLUMNS = 128  # columns of a normalization per product, which skips zeros below them
_DENSE_LANDMARKS = 2**25  # most entries of sparse landmarks that are made dense
_DENSE_ROWS = 2**18  # most entries of sparse rows that are made dense at once
NEAR = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}

Fill = Callable[[slice, Array], None]
FillFrom = Callable[..., None]  # with the landmarks from an index on, by default the first


def kernel_rows(
    X: Any,
    Z: Any,
    kernel: Any,
    *,
    normalization: Any,
    n_threads: int | None,
    memory_budget: int | None,  # the scratch memory is a few tiles, whatever the budget
) -> Array:
    dtype, n, m = float_dtype(X), X.shape[0], Z.shape[0]
    X = X.tocsr() if sparse.issparse(X) else X
    scratch, form = Scratch(), form_of(kernel)
    fill = _calls(kernel, X, Z) if form is None else _fill(form, X, Z, dtype, scratch)
    if normalization is None:
        result = np.empty((n, m), dtype)
        for_each(lambda rows: fill(rows, result[rows]), tiles(n, m, dtype), n_threads)
        return result
    R = np.ascontiguousarray(normalization, dtype)
    blocks = _column_blocks(R)
    result = np.empty((n, R.shape[1]), dtype)

    def work(rows: slice) -> None:
        tile = scratch.array("tile", (rows.stop - rows.start, m), dtype)
        fill(rows, tile)
        for columns, stop in blocks:
            np.matmul(tile[:, :stop], R[:stop, columns], out=result[rows, columns])

    for_each(work, tiles(n, m, dtype, R.shape[1]), n_threads)
    return result


def distances_between(X: Array, Z: Array, form: Form, n_threads: int | None) -> Array:
    """Return the argument of a form: squared distances, or sums of absolute differences."""
    fill, dtype = distances_of(X, Z, form, Scratch()), X.dtype
    result = np.empty((len(X), len(Z)), dtype)
    for_each(lambda rows: fill(rows, result[rows]), tiles(len(X), len(Z), dtype), n_threads)
    return result


def distances_of(X: Array, Z: Array, form: Form, scratch: Scratch) -> FillFrom:
    """Return a function that writes the distances of some rows to a tile."""
    return (_dense_squares if form.radial else _dense_sums)(X, Z, X.dtype, scratch)


def turned_into_values(distances: Array, form: Form, n_threads: int | None) -> Array:
    """Return kernel values from the argument of the form."""
    loops, result = pair_loops(), np.empty_like(distances)
    numbers = value_numbers(form, distances.dtype)

    def work(rows: slice) -> None:
        result[rows] = distances[rows]
        loops.radial_tile(result[rows], *numbers)

    n, m = distances.shape
    for_each(work, tiles(n, m, distances.dtype), n_threads)
    return result


def value_numbers(form: Form, dtype: np.dtype[Any]) -> list[Any]:
    """Return the constants with which the loops turn distances into values."""
    # an exponential of sums is computed like the Gaussian kernel of squares
    numbers = (*form.inner, *form.outer) if form.radial else (0, 0, 0, form.outer[0])
    return [dtype.type(c) for c in (1, *numbers)]


def tiles(n: int, m: int, dtype: np.dtype[Any], columns: int = 0) -> list[slice]:
    """Return slices of rows for one thread; larger for many `columns` of a normalization."""
    size = _TILE if columns >= _NARROW else _SMALL_TILE
    height = min(max(size // (max(1, m) * dtype.itemsize), 16), 4096, math.ceil(n / 8))
    return row_slices(n, max(height, 16))


def _column_blocks(R: Array) -> list[tuple[slice, int]]:
    """Return blocks of columns, and the number of rows of each until only zeros follow.

    A triangular matrix then takes half the work.
    """
    blocks = []
    for columns in row_slices(R.shape[1], _COLUMNS):
        used = np.flatnonzero(R[:, columns].any(axis=1))
        blocks.append((columns, int(used[-1]) + 1 if used.size else 0))
    return blocks


def _calls(kernel: Any, X: Any, Z: Any) -> Fill:
    """Fill tiles by calling the kernel itself."""

    def fill(rows: slice, out: Array) -> None:
        values = np.asarray(kernel(X[rows], Z))
        if values.shape != out.shape:
            raise ValueError(
                f"{type(kernel).__name__} must give a value for each of the {out.shape[0]} rows "
                f"and {out.shape[1]} landmarks, got shape {values.shape}."
            )
        out[...] = values

    return fill


def _fill(form: Form, X: Any, Z: Any, dtype: np.dtype[Any], scratch: Scratch) -> Fill:
    if not form.radial:
        return _over_axes(form, X, Z, dtype, scratch)
    squares = (_sparse_squares if sparse.issparse(X) else _dense_squares)(X, Z, dtype, scratch)
    numbers, loops = [dtype.type(c) for c in (1, *form.inner, *form.outer)], pair_loops()

    def fill(rows: slice, out: Array) -> None:
        squares(rows, out)
        loops.radial_tile(out, *numbers)

    return fill


def _dense_squares(X: Array, Z: Any, dtype: np.dtype[Any], scratch: Scratch) -> FillFrom:
    Z = np.asarray(dense(Z), np.float64)
    center = Z.mean(axis=0)
    points = np.ascontiguousarray(Z - center, dtype)
    lengths = _squared_lengths(points)
    factor, near = np.ascontiguousarray(-2 * points.T), dtype.type(NEAR[dtype])
    loops = pair_loops()

    def squares(rows: slice, out: Array, first: int = 0) -> None:
        block = np.ascontiguousarray(X[rows] - center, dtype)
        length, some = _squared_lengths(block), lengths[first:]
        flags = scratch.array("flags", (len(block),), np.dtype(np.bool_))
        np.matmul(block, factor[:, first:], out=out)
        loops.squares_tile(out, length, some, near, flags)
        if flags.any():
            loops.exact_squares(out, length, some, near, flags, block, points[first:])

    return squares


def _dense_sums(X: Array, Z: Any, dtype: np.dtype[Any], scratch: Scratch) -> FillFrom:
    points = np.ascontiguousarray(Z.T, dtype)

    def sums(rows: slice, out: Array, first: int = 0) -> None:
        from bochner.engine.pairs.compiled import sums_tile

        sums_tile(by_rows(X[rows]), np.ascontiguousarray(points[:, first:]), out)

    return sums


def _squared_lengths(rows: Array) -> Array:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(rows.dtype)


def _sparse_squares(X: Any, Z: Any, dtype: np.dtype[Any], scratch: Scratch) -> Fill:
    """Fill tiles with squared distances in float64, since sparse rows cannot be centred."""
    wide = np.dtype(np.float64)
    product = _sparse_product(X, Z)
    row_lengths, lengths = _sparse_lengths(X), _sparse_lengths(Z)
    near, loops = NEAR[wide], pair_loops()

    def squares(rows: slice, out: Array) -> None:
        tile = out if dtype == wide else scratch.array("wide", out.shape, wide)
        product(rows, tile)
        tile *= -2
        length = row_lengths[rows]
        flags = scratch.array("flags", (len(tile),), np.dtype(np.bool_))
        loops.squares_tile(tile, length, lengths, near, flags)
        some = np.flatnonzero(flags)
        i, j = np.nonzero(tile[some] < near * (length[some, None] + lengths))
        for pairs in row_slices(len(i), max(1, _DENSE_ROWS // X.shape[1])):
            apart = X[rows.start + some[i[pairs]]].astype(wide) - Z[j[pairs]]
            tile[some[i[pairs]], j[pairs]] = _sparse_lengths(apart)
        if tile is not out:
            out[...] = tile

    return squares


def _sparse_lengths(X: Any) -> NDArray[np.float64]:
    if not sparse.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    X = X.astype(np.float64)
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _sparse_product(X: Any, Z: Any) -> Fill:
    """Fill tiles with ``<x, z>`` in float64; many wide sparse landmarks stay sparse."""
    if sparse.issparse(Z) and math.prod(Z.shape) > _DENSE_LANDMARKS:
        transposed = Z.T.tocsr().astype(np.float64)

        def by_both(rows: slice, out: Array) -> None:
            (X[rows] @ transposed).toarray(out=out)

        return by_both
    factor = np.ascontiguousarray(dense(Z).T, np.float64)
    data = X.data.astype(np.float64, copy=False)

    def by_rows_alone(rows: slice, out: Array) -> None:
        from bochner.engine.compiled import csr_product

        csr_product(data, X.indices, X.indptr, rows.start, factor, 0, factor.shape[1], out)

    return by_rows_alone


def _over_axes(form: Form, X: Any, Z: Any, dtype: np.dtype[Any], scratch: Scratch) -> Fill:
    """Fill tiles for a kernel without a matrix product, row by row and axis by axis."""
    points = np.ascontiguousarray(np.asarray(dense(Z), dtype).T)
    numbers = [dtype.type(c) for c in (*form.inner, *form.outer)]

    def fill(rows: slice, out: Array) -> None:
        from bochner.engine.pairs.compiled import axes_tile

        buffers = [scratch.array(name, out.shape[1:], dtype) for name in ("exponent", "factor")]
        height = _DENSE_ROWS // X.shape[1] if sparse.issparse(X) else len(out)
        for part in row_slices(len(out), height):
            block = dense(X[rows.start + part.start : rows.start + part.stop])
            axes_tile(by_rows(np.asarray(block, dtype)), points, *numbers, *buffers, out[part])

    return fill
