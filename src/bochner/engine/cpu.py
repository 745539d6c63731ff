"""The operations on the cores of the host, for dense and sparse rows.

The work is cut into tiles of two megabytes of phases. A thread fills a tile with a matrix product,
turns it into cosines and sines while it is still in cache, and either leaves them in the result
(`features`) or reduces them at once (the sums). Scratch memory is a few tiles per thread, whatever
the number of rows and frequencies.

How the work is cut depends on the shapes and the memory budget alone, and partial sums are added
in a fixed order, so the number of threads does not change a single bit of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bochner.engine.pairs.host import kernel_rows as kernel_rows
from bochner.engine.places import float_dtype
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import Scratch, default_threads, for_each, ordered_map
from bochner.engine.uncompiled import wave_loops

Array = NDArray[Any]

_TILE = 2**21  # bytes of phases per tile: small enough for cache, large enough for BLAS
_WIDEST = 2048  # frequencies per tile
_CHUNK_WORK = 2**23  # multiply-adds per task at least, so that handing it out costs nothing
_TASKS = 64  # enough to share out evenly
_MOST_ROWS = 4096  # per task, so that a file is read once and in order
_PRODUCTS_FROM = 8  # columns of A from which matrix products are faster than a loop
_DEFAULT_BUDGET = 2**26


class _DenseRows:
    """Rows of a dense array, in any memory order, possibly mapped from a file."""

    density = 1.0

    def __init__(self, X: Array, dtype: np.dtype[Any]) -> None:
        self._X, self.dtype = X, dtype

    def _block(self, rows: slice) -> Array:
        return np.asarray(self._X[rows], dtype=self.dtype)

    def phases(self, rows: slice, W: Array, columns: slice, out: Array) -> None:
        """``out = X[rows] @ W[:, columns]``."""
        np.matmul(self._block(rows), W[:, columns], out=out)

    def exact_phases(self, rows: Array, W: Array, columns: slice) -> NDArray[np.float64]:
        """``X[rows] @ W[:, columns]`` in float64."""
        return np.asarray(self._X[rows], np.float64) @ W[:, columns].astype(np.float64)

    def add_transposed(self, rows: slice, M: Array, total: NDArray[np.float64]) -> None:
        """``total += X[rows].T @ M``."""
        total += self._block(rows).T @ M


class _SparseRows:
    """Rows of a CSR matrix, which is never made dense; same interface as `_DenseRows`."""

    def __init__(self, X: Any, dtype: np.dtype[Any]) -> None:
        self._X = X.astype(dtype, copy=False)
        self.density = X.nnz / max(1, X.shape[0] * X.shape[1])

    def phases(self, rows: slice, W: Array, columns: slice, out: Array) -> None:
        from bochner.engine.compiled import csr_product

        X = self._X
        first, stop = columns.start, columns.stop
        csr_product(X.data, X.indices, X.indptr, rows.start, W, first, stop, out)

    def exact_phases(self, rows: Array, W: Array, columns: slice) -> NDArray[np.float64]:
        X, weights = self._X[rows].astype(np.float64), W[:, columns]
        used = np.unique(X.indices)  # a few rows touch few of the columns
        exact: NDArray[np.float64] = X[:, used] @ weights[used].astype(np.float64)
        return exact

    def add_transposed(self, rows: slice, M: Array, total: NDArray[np.float64]) -> None:
        from bochner.engine.compiled import csr_transposed_product

        X = self._X
        csr_transposed_product(X.data, X.indices, X.indptr, rows.start, M, total)


class _Tile(NamedTuple):
    """Location of the cosines and sines of a tile: two windows of a C-contiguous array."""

    array: Array
    rows: slice
    cosine: int
    sine: int
    width: int

    @classmethod
    def kept(cls, keep: Array, rows: slice, columns: slice) -> _Tile:
        """Return the tile at its place in ``[cos(X W) | sin(X W)]``."""
        sine = keep.shape[1] // 2 + columns.start
        return cls(keep, rows, columns.start, sine, columns.stop - columns.start)

    @property
    def cosines(self) -> Array:
        return self.array[self.rows, self.cosine : self.cosine + self.width]

    @property
    def sines(self) -> Array:
        return self.array[self.rows, self.sine : self.sine + self.width]


class _Waves:
    """Cosines and sines of ``X W + offset``, tile by tile."""

    def __init__(
        self, X: Any, W: Array, scale: ArrayLike = 1.0, offset: ArrayLike | None = None
    ) -> None:
        self.dtype = float_dtype(X)
        self.rows: _DenseRows | _SparseRows
        if sparse.issparse(X):
            self.rows = _SparseRows(X.tocsr(), self.dtype)
        else:
            self.rows = _DenseRows(X, self.dtype)
        self.n_rows, self.n_features = X.shape
        self.W = np.ascontiguousarray(W, self.dtype)
        self.n_frequencies = self.W.shape[1]
        self.scale = np.ascontiguousarray(np.broadcast_to(scale, self.n_frequencies), self.dtype)
        self.offset = None if offset is None else np.asarray(offset, self.dtype)
        self.scratch, self._loops = Scratch(), wave_loops()

    def tasks(
        self, bytes_per_chunk: int, memory_budget: int, multiple: int = 16
    ) -> list[tuple[slice, slice]]:
        """Cut the work into (rows, columns), rows in order so that a file is read once.

        `bytes_per_chunk` is the size of the partial result of one chunk of rows; chunks are made
        longer until all their results together stay within the budget.
        """
        n, d, N = self.n_rows, self.n_features, self.n_frequencies
        if n == 0 or N == 0:
            return []
        widths = row_slices(N, _even(N, max(_WIDEST, multiple), multiple))
        width = widths[0].stop
        work = n * width * (d * self.rows.density + 8)
        wanted = min(work / _CHUNK_WORK, _TASKS / len(widths))
        rows = min(math.ceil(n / 2 ** int(math.log2(max(1.0, wanted)))), _MOST_ROWS)
        if bytes_per_chunk:
            rows = max(rows, math.ceil(n / max(1, memory_budget // bytes_per_chunk)))
        if rows > self._height(width):
            rows = _even(n, rows, multiple=self._height(width))
        return [(r, c) for r in row_slices(n, rows) for c in widths]

    def _height(self, width: int) -> int:
        # Limited, since a tile is reduced in its own dtype before float64 takes over.
        return min(max(_TILE // (width * self.dtype.itemsize), 64), 2048)

    def tiles(self, rows: slice, columns: slice) -> Iterator[slice]:
        height = self._height(columns.stop - columns.start)
        for piece in row_slices(rows.stop - rows.start, height):
            yield slice(rows.start + piece.start, rows.start + piece.stop)

    def phases(self, rows: slice, columns: slice) -> Array:
        shape = rows.stop - rows.start, columns.stop - columns.start
        phases = self.scratch.array("phases", shape, self.dtype)
        self.rows.phases(rows, self.W, columns, phases)
        if self.offset is not None:
            phases += self.offset[columns]
        return phases

    def exact_phases(
        self, rows: slice, columns: slice, large: Array, phases: Array
    ) -> NDArray[np.float64]:
        """Return the phases of the rows reported as too large, in float64."""
        if self.dtype != np.float32:
            return phases[large]
        exact = self.rows.exact_phases(rows.start + large, self.W, columns)
        return exact if self.offset is None else exact + self.offset[columns]

    def add(self, rows: slice, columns: slice, A: Array, total: NDArray[np.complex128]) -> bool:
        """Add a tile's share of the sums of one column of `A`, without storing its waves.

        Return False, and add nothing, if a phase is too large for that.
        """
        from bochner.engine.compiled import sum_tile

        phases = self.phases(rows, columns)
        part = self.scratch.array("part", (2, phases.shape[1]), self.dtype)
        sums = self.scratch.array("sums", (2, phases.shape[1]), np.dtype(np.float64))
        sums[:] = 0
        beyond = sum_tile(phases, np.asarray(A[rows, 0], self.dtype), part, sums)
        if not beyond:
            total.real += sums[0]
            total.imag += sums[1]
        return not beyond

    def write(self, rows: slice, columns: slice, tile: _Tile) -> None:
        """Compute the cosines and sines of ``X[rows] W[:, columns]`` into `tile`."""
        phases = self.phases(rows, columns)
        flags = self.scratch.array("flags", (len(phases),), np.dtype(np.bool_))
        scale = self.scale[columns]
        window = tile.array, tile.rows.start, tile.cosine, tile.sine
        self._loops.sincos_tile(phases, scale, *window, flags)

        if flags.any():
            large = np.flatnonzero(flags)
            exact = self.exact_phases(rows, columns, large, phases)
            tile.cosines[large] = scale * np.cos(exact)
            tile.sines[large] = scale * np.sin(exact)

    def tile(self, rows: slice, columns: slice, keep: Array | None = None) -> _Tile:
        """Compute a tile, into `keep` if given, else into scratch memory."""
        if keep is None:
            height, width = rows.stop - rows.start, columns.stop - columns.start
            waves = self.scratch.array("waves", (height, 2 * width), self.dtype)
            tile = _Tile(waves, slice(0, height), 0, width, width)
        else:
            tile = _Tile.kept(keep, rows, columns)
        self.write(rows, columns, tile)
        return tile


def _even(total: int, largest: int, multiple: int) -> int:
    """Return the length of the fewest equal pieces of `total`, each at most `largest` long."""
    length = math.ceil(total / math.ceil(total / largest))
    return math.ceil(length / multiple) * multiple


def features(
    X: Any,
    W: Array,
    *,
    scale: ArrayLike,
    offset: ArrayLike | None,
    out: Array | None,
    n_threads: int | None,
    memory_budget: int | None,  # the scratch memory is a few tiles, whatever the budget
) -> Array:
    waves = _Waves(X, W, scale, offset)
    N = waves.n_frequencies
    shape = (waves.n_rows, 2 * N if offset is None else N)
    result = np.empty(shape, waves.dtype) if out is None else out
    contiguous = result.flags.c_contiguous
    if result.shape != shape or result.dtype != waves.dtype or not contiguous:
        raise ValueError(
            f"out must be a C-contiguous {waves.dtype} array of shape {shape}, got "
            f"{'a' if contiguous else 'a non-contiguous'} {result.dtype} array of "
            f"shape {result.shape}."
        )

    def work(task: tuple[slice, slice]) -> None:
        rows, columns = task
        for tile in waves.tiles(rows, columns):
            if offset is None:
                waves.tile(tile, columns, keep=result)
            else:
                result[tile, columns] = waves.tile(tile, columns).cosines

    for_each(work, waves.tasks(0, 0), n_threads)
    return result


def _sums(
    waves: _Waves, A: Array, keep: Array | None, n_threads: int, memory_budget: int
) -> NDArray[np.complex128]:
    n_columns = A.shape[1]
    total = np.zeros((waves.n_frequencies, n_columns), np.complex128)
    tasks = waves.tasks(total.nbytes, memory_budget)

    def work(task: tuple[slice, slice]) -> NDArray[np.complex128]:
        rows, columns = task
        partial = np.zeros((columns.stop - columns.start, n_columns), np.complex128)
        for tile in waves.tiles(rows, columns):
            if n_columns == 1 and keep is None and waves.add(tile, columns, A, partial[:, 0]):
                continue
            wave = waves.tile(tile, columns, keep)
            weights = np.asarray(A[tile], waves.dtype).T
            partial.real += (weights @ wave.cosines).T
            partial.imag += (weights @ wave.sines).T
        return partial

    for (_, columns), partial in zip(tasks, ordered_map(work, tasks, n_threads), strict=True):
        total[columns] += partial
    return total


def grouped_waves(
    X: Any,
    W: Array,
    coefficients: NDArray[np.complex128],
    size: int,
    *,
    n_threads: int | None,
    memory_budget: int | None,
) -> Array:
    from bochner.engine.compiled import group_tile

    waves = _Waves(X, W)
    real = np.ascontiguousarray(coefficients.real, waves.dtype)
    imaginary = np.ascontiguousarray(coefficients.imag, waves.dtype)
    result = np.empty((waves.n_rows, waves.n_frequencies // size), waves.dtype)

    def work(task: tuple[slice, slice]) -> None:
        rows, columns = task
        groups = slice(columns.start // size, columns.stop // size)
        for tile in waves.tiles(rows, columns):
            phases = waves.phases(tile, columns)
            buffer = waves.scratch.array("buffer", (phases.shape[1],), waves.dtype)
            shape = (len(phases), groups.stop - groups.start)
            out = waves.scratch.array("out", shape, waves.dtype)
            flags = waves.scratch.array("flags", (len(phases),), np.dtype(np.bool_))
            group_tile(phases, real[columns], imaginary[columns], buffer, size, out, flags)
            if flags.any():
                large = np.flatnonzero(flags)
                exact = waves.exact_phases(tile, columns, large, phases)
                mixed = np.cos(exact) * real[columns] + np.sin(exact) * imaginary[columns]
                out[large] = mixed.reshape(len(large), -1, size).sum(axis=2)
            result[tile, groups] = out

    for_each(work, waves.tasks(0, 0, multiple=size), n_threads)
    return result


def mixed_waves(
    X: Any,
    W: Array,
    coefficients: NDArray[np.complex128],
    *,
    n_threads: int | None,
    memory_budget: int | None,  # the scratch memory is a few tiles, whatever the budget
) -> Array:
    waves = _Waves(X, W)
    mixture = np.vstack([coefficients.real, coefficients.imag]).astype(waves.dtype)
    result = np.zeros((waves.n_rows, mixture.shape[1]), waves.dtype)
    everything = slice(0, waves.n_frequencies)  # a row needs all frequencies

    def work(rows: slice) -> None:
        for tile in waves.tiles(rows, everything):
            np.matmul(waves.tile(tile, everything).array, mixture, out=result[tile])

    chunks = [rows for rows, columns in waves.tasks(0, 0) if columns.start == 0]
    for_each(work, chunks, n_threads)
    return result


def fourier_sums(
    X: Any, W: Array, A: Array, *, n_threads: int | None, memory_budget: int | None
) -> NDArray[np.complex128]:
    waves = _Waves(X, W)
    return _sums(waves, A, None, n_threads or default_threads(), memory_budget or _DEFAULT_BUDGET)


def potential_and_gradient(
    X: Any,
    W: Array,
    A: Array,
    signs: NDArray[np.float64],
    *,
    sums: NDArray[np.complex128] | None,
    small_phases: bool,
    n_threads: int | None,
    memory_budget: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from bochner.engine.compiled import slope_tile

    waves = _Waves(X, W)
    budget, n_threads = memory_budget or _DEFAULT_BUDGET, n_threads or default_threads()
    # The gradient needs the sums first, then the same cosines and sines again: keep them if all
    # of them fit into the budget (small searches), otherwise compute them twice.
    keep = None
    if sums is None:
        shape = (waves.n_rows, 2 * waves.n_frequencies)
        if math.prod(shape) * waves.dtype.itemsize <= budget:
            keep = np.empty(shape, waves.dtype)
        sums = _sums(waves, A, keep, n_threads, budget)
    potential = (sums.real**2 + sums.imag**2) @ signs

    # grad v = X^T M with M = (A u) cos - (A v) sin, u = 2 s Im F, v = 2 s Re F
    with_cosine = np.ascontiguousarray((2 * signs * sums.imag).T, waves.dtype)
    with_sine = np.ascontiguousarray((2 * signs * sums.real).T, waves.dtype)
    gradient = np.zeros((waves.n_features, waves.n_frequencies))
    tasks = waves.tasks(gradient.nbytes, budget)

    def work(task: tuple[slice, slice]) -> NDArray[np.float64]:
        rows, columns = task
        width = columns.stop - columns.start
        partial = np.zeros((waves.n_features, width))
        for tile in waves.tiles(rows, columns):
            wave = waves.tile(tile, columns) if keep is None else _Tile.kept(keep, tile, columns)
            weights = np.ascontiguousarray(A[tile], waves.dtype)
            M = waves.scratch.array("phases", (len(weights), width), waves.dtype)
            if weights.shape[1] < _PRODUCTS_FROM:
                windows = wave.array, wave.rows.start, wave.cosine, wave.sine
                slope_tile(weights, with_cosine, with_sine, columns.start, *windows, M)
            else:
                other = waves.scratch.array("other", M.shape, waves.dtype)
                np.matmul(weights, with_cosine[:, columns], out=M)
                np.matmul(weights, with_sine[:, columns], out=other)
                M *= wave.cosines
                other *= wave.sines
                M -= other
            waves.rows.add_transposed(tile, M, partial)
        return partial

    for (_, columns), partial in zip(tasks, ordered_map(work, tasks, n_threads), strict=True):
        gradient[:, columns] += partial
    return potential, gradient


def gradient_outer_product(
    X: Any,
    W: Array,
    coefficients: NDArray[np.complex128],
    *,
    diagonal: bool,
    n_threads: int | None,
    memory_budget: int | None,
) -> NDArray[np.float64]:
    from bochner.engine.compiled import slope_tile

    waves = _Waves(X, W)
    d, N = waves.n_features, waves.n_frequencies
    with_cosine = np.ascontiguousarray(coefficients.imag.T, waves.dtype)
    with_sine = np.ascontiguousarray(coefficients.real.T, waves.dtype)
    transposed = np.ascontiguousarray(waves.W.T)
    # gradients are combinations of the frequencies: if there are fewer of these than columns,
    # their coefficients are multiplied with each other instead of the gradients
    few = d > N
    total = np.zeros((N, N) if few else (d,) if diagonal else (d, d))
    everything = slice(0, N)  # a gradient needs all frequencies
    tasks = waves.tasks(total.nbytes, memory_budget or _DEFAULT_BUDGET)
    chunks = [rows for rows, columns in tasks if columns.start == 0]

    def work(rows: slice) -> NDArray[np.float64]:
        partial = np.zeros_like(total)
        for tile in waves.tiles(rows, everything):
            wave, height = waves.tile(tile, everything), tile.stop - tile.start
            windows = wave.array, wave.rows.start, wave.cosine, wave.sine
            slope = waves.scratch.array("phases", (height, N), waves.dtype)
            gradients = waves.scratch.array("gradients", (height, d), waves.dtype)
            ones = np.ones((height, 1), waves.dtype)
            for a, b in zip(with_sine, with_cosine, strict=True):
                slope_tile(ones, b[None, :], a[None, :], 0, *windows, slope)
                if few:
                    partial += slope.T @ slope
                    continue
                np.matmul(slope, transposed, out=gradients)
                if diagonal:
                    partial += np.einsum("ij,ij->j", gradients, gradients)
                else:
                    partial += gradients.T @ gradients
        return partial

    for partial in ordered_map(work, chunks, n_threads or default_threads()):
        total += partial
    if not few:
        return total
    turned = waves.W @ total
    return np.einsum("ij,ij->i", turned, waves.W) if diagonal else turned @ waves.W.T
