"""Sums over rows by the kernels of tiles, for the operations of :mod:`bochner.engine.device`.

`waves` holds the rows and frequencies of one such operation: the frequencies in halves, and the
rows in halves chunk by chunk.
"""

from __future__ import annotations

from typing import Any, cast

from bochner.engine.tiles.halves import TILE, Halves, in_halves, padded
from bochner.engine.tiles.products import product_over_rows, split_product, write_product
from bochner.engine.tiles.waves import potential, slopes, sums_of_tiles


def _chunks(waves: Any, A: Any) -> list[slice]:
    """Return chunks with room for rows in halves, slopes of their waves, and sums of tiles."""
    N = waves.n_frequencies
    return waves.chunks(waves.n_features + N + 2 * N * A.shape[1] // TILE)


def fourier_sums(waves: Any, A: Any) -> Any:
    """Return real parts above imaginary parts, in float64: shape ``(2 N, k)``."""
    total = waves.xp.sum(_parts(waves, A), axis=0, dtype=waves.wide)
    return waves.xp.reshape(waves.xp.permute_dims(total, (0, 2, 1)), (-1, A.shape[1]))


def _parts(waves: Any, A: Any, kept: Any = None) -> Any:
    """Return sums of shape (parts, 2, k, N): of every tile, or of all rows if in many chunks."""
    chunks, total = _chunks(waves, A), cast(Any, 0.0)
    for rows in chunks:
        parts = sums_of_tiles(waves.halves(rows), waves.frequencies, A[rows, :], kept)
        if len(chunks) == 1:
            return parts
        total = total + waves.xp.sum(parts, axis=0, dtype=waves.wide)
    return total[None, ...]


def _room_for_phases(waves: Any) -> Any:
    """Return an array for phases if all fits half the budget; else None: compute them twice."""
    shape = waves.n_frequencies, padded(waves.n_rows, TILE)
    held = (waves.n_features + 3 * waves.n_frequencies) * shape[1] * waves.itemsize
    return waves.empty(shape) if 2 * held <= waves.budget else None


def potential_and_gradient(waves: Any, A: Any, signs: Any, sums: Any) -> tuple[Any, Any]:
    """Like the function of :mod:`bochner.engine.operations`; `sums` are over all rows or None."""
    xp, gradient, kept = waves.xp, 0.0, None
    if sums is None:
        kept = _room_for_phases(waves)
        parts = _parts(waves, A, kept)
    else:
        parts = xp.stack([xp.real(sums).T, xp.imag(sums).T])[None, ...]
    v, with_cosine, with_sine, sizes = potential(parts, signs)
    for chunk in _chunks(waves, A):
        x = waves.halves(chunk)
        weights = A[chunk, :] * x.units[: x.n_rows, None]  # includes the unit of each row
        bounds = xp.linalg.vector_norm(weights, axis=0, ord=xp.inf) @ sizes
        slope = slopes(x, waves.frequencies, weights, with_cosine, with_sine, bounds, kept)
        part = product_over_rows(x, slope, waves.n_features)
        gradient = part if isinstance(gradient, float) else gradient + part
    return v, gradient


def square_of_phases(waves: Any, A: Any) -> Any:
    """Return the square of a bound on the phases, by Cauchy and Schwarz."""
    xp = waves.xp
    rows = [xp.max(waves.halves(chunk).squares) for chunk in _chunks(waves, A)]
    longest = rows[0] if len(rows) == 1 else xp.max(xp.stack(rows))
    return longest * xp.max(waves.frequencies.squares)


def outer_product_of_gradients(waves: Any, real: Any, imaginary: Any, diagonal: bool) -> Any:
    """Return ``sum_i sum_k g g^T`` or its diagonal, ``g`` the gradient of function k at row i."""
    xp, d, total = waves.xp, waves.n_features, 0.0
    axes, lengths = in_halves(waves.W), xp.abs(waves.W)
    for chunk in waves.chunks(3 * d + waves.n_frequencies):
        x = waves.halves(chunk)
        once = xp.ones((x.n_rows, 1), dtype=waves.dtype, device=waves.device)
        for k in range(real.shape[1]):
            c, s = imaginary[:, k : k + 1], real[:, k : k + 1]
            sizes = xp.abs(c) + xp.abs(s)
            same = xp.max(sizes) + 0 * sizes[:, 0]  # one unit for all frequencies
            slope = slopes(x, waves.frequencies, once, c.T, s.T, same)
            units = slope.units[:1] + 0 * x.units
            rows = Halves(slope.high, slope.low, units, x.squares, x.n_rows)
            if diagonal:
                gradients = waves.empty((x.n_rows, d))
                write_product(rows, axes, gradients)
                total = total + xp.sum(xp.astype(gradients, waves.wide) ** 2, axis=0)
            else:
                g = split_product(rows, axes, (lengths @ sizes)[:, 0])
                total = total + product_over_rows(g, g)
    return total
