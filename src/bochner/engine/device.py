"""The operations on arrays of any array-API namespace: PyTorch, CuPy, and others.

The work stays on the device of ``X``, in chunks of rows whose phases and waves fit into the
memory budget, and the host waits for it at most once per call: to learn whether phases may be too
large for float32. If they are not, and Triton is available, the kernels of
:mod:`bochner.engine.tiles` compute float32 results without storing phases in memory.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from bochner.engine import tiles
from bochner.engine.pairs.device import kernel_rows as kernel_rows
from bochner.engine.places import (
    available_dtypes,
    convert,
    detached,
    device_of,
    is_torch,
    namespace,
    result_dtype,
    wide_dtype,
    zeros,
)
from bochner.engine.replay import Replayed
from bochner.engine.rowwise import row_slices

_DEFAULT_BUDGET = 2**28
_LARGEST_BUDGET = 2**30  # for the kernels of tiles, which index with 32 bits
_TILE = 128  # rows of a tile
_WIDEST = 1024  # most columns of a chain's point, which one program holds
_MOST_SUMS = 16  # most sums by these kernels: with more, each costs as much as cosines and sines
_LIMIT_32 = 2.0**12  # see compiled.py: beyond this a float32 phase is too uncertain


class _Waves:
    """Cosines and sines of ``X W + offset`` on the device of `X`, chunk by chunk."""

    def __init__(
        self,
        X: Any,
        W: Any,
        memory_budget: int | None,
        scale: Any = 1.0,
        offset: Any = None,
        small_phases: bool = False,
    ) -> None:
        # Results are written in place, which a tensor with a record of gradients forbids.
        self.X = detached(X)
        xp = self.xp = namespace(X)
        # Accumulators are float64 wherever the device has it.
        self.dtype, self.wide, self.device = result_dtype(X), wide_dtype(X), device_of(X)
        available = available_dtypes(xp, self.device)
        self.wide_complex = xp.complex128 if "complex128" in available else xp.complex64
        self.itemsize = 4 if self.dtype == xp.float32 else 8
        self.W = self.asarray(W)
        self.n_rows, self.n_features = X.shape
        self.n_frequencies = self.W.shape[1]
        self.budget = memory_budget or _DEFAULT_BUDGET
        self._scale = scale
        self.offset = None if offset is None else self.asarray(offset)
        self.in_tiles = False
        self.may_be_large = not small_phases and self._may_be_large()
        self.in_tiles = not self.may_be_large and tiles.suit(self.X, self.n_frequencies)
        if self.in_tiles:
            from bochner.engine.tiles.halves import in_halves

            self.frequencies = in_halves(self.W.T)
            self._halves: tuple[slice, Any] = slice(0, 0), None

    @cached_property
    def scale(self) -> Any:
        """Scale as an array of one number per frequency, as kernels read it."""
        scale = self._scale if isinstance(self._scale, float) else self.asarray(self._scale)
        return self.zeros((self.n_frequencies,), self.dtype) + scale

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        return convert(values, self.X, self.dtype if dtype is None else dtype)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return zeros(shape, self.X, dtype)

    def empty(self, shape: tuple[int, ...]) -> Any:
        return self.xp.empty(shape, dtype=self.dtype, device=self.device)

    def chunks(self, held: int | None = None) -> list[slice]:
        """Return slices of rows that fit into the budget, with `held` numbers for each row.

        By default these are phases, cosines and sines.
        """
        row = max(1, 3 * self.n_frequencies if held is None else held) * self.itemsize
        height = self.budget // row
        if self.in_tiles:
            height = max(_TILE, min(height, _LARGEST_BUDGET // row) // _TILE * _TILE)
        return row_slices(self.n_rows, height)

    def sums_in_tiles(self, A: Any) -> bool:
        """Whether the kernels of tiles compute the sums with the columns of `A`."""
        return self.in_tiles and 0 < A.shape[1] <= _MOST_SUMS

    def halves(self, rows: slice) -> Any:
        """Return rows as the kernels take them; those requested last are kept."""
        from bochner.engine.tiles.halves import in_halves

        if self._halves[0] != rows:
            self._halves = slice(0, 0), None  # free them before there are more
            self._halves = rows, in_halves(self.X[rows, :])
        return self._halves[1]

    def _may_be_large(self) -> bool:
        """Whether a float32 phase can exceed the limit, by Cauchy and Schwarz."""
        xp = self.xp
        if self.dtype == self.wide or self.n_rows == 0 or self.n_frequencies == 0:
            return False
        longest = xp.max(xp.linalg.vector_norm(self.W, axis=0))
        if self.X.dtype == self.dtype:
            longest = longest * xp.max(xp.linalg.vector_norm(self.X, axis=1))
        else:  # half precision, a few rows at a time in single
            parts = (xp.astype(self.X[rows, :], self.dtype) for rows in self.chunks())
            norms = [xp.max(xp.linalg.vector_norm(part, axis=1)) for part in parts]
            longest = longest * xp.max(xp.stack(norms))
        return not float(longest) <= _LIMIT_32

    def _product(self, rows: slice, dtype: Any) -> Any:
        X, W = (self.xp.astype(M, dtype, copy=False) for M in (self.X[rows, :], self.W))
        if self.offset is None:
            return X @ W
        return X @ W + self.xp.astype(self.offset, dtype, copy=False)

    def phases(self, rows: slice) -> Any:
        xp = self.xp
        phases = self._product(rows, self.dtype)
        if self.may_be_large and not float(xp.max(xp.abs(phases))) <= _LIMIT_32:
            # Reduced to one turn in float64, in which the phase is still accurate.
            exact, turn = self._product(rows, self.wide), 2 * math.pi
            phases = xp.astype(exact - turn * xp.round(exact / turn), self.dtype)
        return phases

    def write(self, rows: slice, out: Any) -> None:
        """Write ``scale * [cos | sin]`` to `out`; the cosines alone if it has room for no more."""
        if self.in_tiles:
            from bochner.engine.tiles.waves import write_features

            write_features(self.halves(rows), self.frequencies, self.scale, self.offset, out)
            return
        phases, N = self.phases(rows), self.n_frequencies
        if not is_torch(phases):
            out[:, :N] = self.scale * self.xp.cos(phases)
            if out.shape[1] > N:
                out[:, N:] = self.scale * self.xp.sin(phases)
            return
        import torch

        if phases.is_cuda and out.shape[1] > N and out.is_contiguous() and find_spec("triton"):
            from bochner.engine import fused

            fused.waves(phases.contiguous(), self.scale, out)
            return
        torch.cos(phases, out=out[:, :N])
        out[:, :N].mul_(self.scale)
        if out.shape[1] > N:
            torch.sin(phases, out=out[:, N:])
            out[:, N:].mul_(self.scale)


def features(
    X: Any,
    W: Any,
    *,
    scale: Any,
    offset: Any,
    out: None,
    n_threads: int | None,
    memory_budget: int | None,
    small_phases: bool = False,
) -> Any:
    waves = _Waves(X, W, memory_budget, scale, offset, small_phases)
    result = waves.empty((waves.n_rows, waves.n_frequencies * (2 if offset is None else 1)))
    for chunk in waves.chunks(waves.n_features if waves.in_tiles else None):
        waves.write(chunk, result[chunk, :])
    return result


def grouped_waves(
    X: Any,
    W: Any,
    coefficients: Any,
    size: int,
    *,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    waves = _Waves(X, W, memory_budget)
    xp, N = waves.xp, waves.n_frequencies
    real, imaginary = waves.asarray(coefficients.real), waves.asarray(coefficients.imag)
    result = waves.empty((waves.n_rows, N // size))
    for chunk in waves.chunks():
        height = chunk.stop - chunk.start
        tile = waves.empty((height, 2 * N))
        waves.write(chunk, tile)
        mixed = tile[:, :N] * real + tile[:, N:] * imaginary
        result[chunk, :] = xp.sum(xp.reshape(mixed, (height, N // size, size)), axis=2)
    return result


def mixed_waves(
    X: Any,
    W: Any,
    coefficients: Any,
    *,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    waves = _Waves(X, W, memory_budget)
    mixture = waves.asarray(np.vstack([coefficients.real, coefficients.imag]), waves.dtype)
    result = waves.empty((waves.n_rows, coefficients.shape[1]))
    for chunk in waves.chunks():
        tile = waves.empty((chunk.stop - chunk.start, 2 * waves.n_frequencies))
        waves.write(chunk, tile)
        result[chunk, :] = tile @ mixture
    return result


def _sums(waves: _Waves, A: Any, keep: Any) -> Any:
    """Return real parts above imaginary parts: shape ``(2 N, k)``."""
    xp = waves.xp
    if waves.sums_in_tiles(A):
        from bochner.engine.tiles.operations import fourier_sums

        return fourier_sums(waves, A)
    total = tile = None
    for chunk in waves.chunks():
        if keep is not None:
            tile = keep[chunk, :]
        elif tile is None or tile.shape[0] != chunk.stop - chunk.start:
            tile = waves.empty((chunk.stop - chunk.start, 2 * waves.n_frequencies))
        waves.write(chunk, tile)
        part = xp.astype(tile.T @ A[chunk, :], waves.wide)
        total = part if total is None else total + part
    if total is None:  # no rows
        total = waves.zeros((2 * waves.n_frequencies, A.shape[1]), waves.wide)
    return total


def fourier_sums(
    X: Any, W: Any, A: Any, *, n_threads: int | None, memory_budget: int | None
) -> Any:
    waves = _Waves(X, W, memory_budget)
    sums, N = _sums(waves, waves.asarray(A), None), waves.n_frequencies
    real, imaginary = (
        waves.xp.astype(part, waves.wide_complex) for part in (sums[:N, :], sums[N:, :])
    )
    return real + 1j * imaginary


def potential_and_gradient(
    X: Any,
    W: Any,
    A: Any,
    signs: Any,
    *,
    sums: Any,
    small_phases: bool,
    n_threads: int | None,
    memory_budget: int | None,
) -> tuple[Any, Any]:
    if sums is None and 0 < A.shape[1] <= _MOST_SUMS and tiles.suit(X, W.shape[1]):
        found = _recorded_potential(X, W, A, signs, small_phases, memory_budget)
        if found is not None:
            return found
    waves = _Waves(X, W, memory_budget, small_phases=small_phases)
    xp, N, A = waves.xp, waves.n_frequencies, waves.asarray(A)
    signs = _signs_at(X, signs)
    if sums is not None:
        sums = waves.asarray(sums, waves.wide_complex)
    if waves.sums_in_tiles(A):
        from bochner.engine.tiles import operations

        return operations.potential_and_gradient(waves, A, signs, sums)
    keep = None  # the waves of all rows, if they fit: they are needed twice
    if sums is None:
        shape = (waves.n_rows, 2 * N)
        if math.prod(shape) * waves.itemsize <= waves.budget:
            keep = waves.empty(shape)
        both = _sums(waves, A, keep)
        real, imaginary = both[:N, :], both[N:, :]
    else:
        real, imaginary = xp.real(sums), xp.imag(sums)
    potential = (real * real + imaginary * imaginary) @ signs
    with_cosine = xp.astype((2 * signs * imaginary).T, waves.dtype)
    with_sine = xp.astype((2 * signs * real).T, waves.dtype)

    gradient = None
    for chunk in waves.chunks():
        if keep is None:
            tile = waves.empty((chunk.stop - chunk.start, 2 * N))
            waves.write(chunk, tile)
        else:
            tile = keep[chunk, :]
        weights = A[chunk, :]
        slope = (weights @ with_cosine) * tile[:, :N] - (weights @ with_sine) * tile[:, N:]
        rows = xp.astype(waves.X[chunk, :], waves.dtype, copy=False)
        part = xp.astype(rows.T @ slope, waves.wide)
        gradient = part if gradient is None else gradient + part
    if gradient is None:  # no rows
        gradient = waves.zeros((waves.n_features, N), waves.wide)
    return potential, gradient


def _signs_at(X: Any, signs: Any) -> Any:
    """Return the signs where the rows are, in float64."""
    if np.all(signs == 1):  # nothing to copy to the device
        return namespace(X).ones((len(signs),), dtype=wide_dtype(X), device=device_of(X))
    return convert(signs, X, wide_dtype(X))


def _recorded_potential(
    X: Any, W: Any, A: Any, signs: Any, small_phases: bool, memory_budget: int | None
) -> tuple[Any, Any] | None:
    """Evaluate the potential by the kernels of tiles, in one recording for these shapes.

    Return None if phases may be large."""
    X, dtype = detached(X), result_dtype(X)
    there = None if np.all(signs == 1) else _signs_at(X, signs)
    given = X, convert(W, X, dtype), convert(A, X, dtype), there
    work = Replayed(partial(_potential_in_tiles, small_phases, memory_budget), given)
    potential, gradient, square = work()
    if small_phases or float(square) <= _LIMIT_32**2:
        return potential, gradient
    return None


def _potential_in_tiles(
    small_phases: bool, memory_budget: int | None, X: Any, W: Any, A: Any, signs: Any
) -> tuple[Any, Any, Any]:
    """Return the potential, its gradient, and the square of a bound on the phases."""
    from bochner.engine.tiles.operations import potential_and_gradient, square_of_phases

    waves = _Waves(X, W, memory_budget, small_phases=True)
    square = None if small_phases else square_of_phases(waves, A)
    signs = _signs_at(X, np.ones(A.shape[1])) if signs is None else signs
    return *potential_and_gradient(waves, A, signs, None), square


def climb_potential(
    X: Any, A: Any, starts: Any, band: Any, longest: Any, memory_budget: int | None, **steps: Any
) -> tuple[Any, Any] | None:
    """Climb the potential from `starts`, see :mod:`bochner.engine.tiles.chains`.

    Return None if its kernels do not run. Within the norm `longest` no phase may exceed the
    limit."""
    n, d = X.shape
    held = 8 * (d + 3 * starts.shape[1]) * n  # half of the budget, as for potentials
    few = 0 < A.shape[1] <= _MOST_SUMS and d <= _WIDEST
    if longest is None or not few or held > (memory_budget or _DEFAULT_BUDGET):
        return None
    if starts.shape[1] == 0 or not tiles.suit(X, starts.shape[1]):
        return None
    from bochner.engine.tiles.chains import Chains
    from bochner.engine.tiles.halves import in_halves

    X, dtype = detached(X), result_dtype(X)
    rows, A, starts = in_halves(X), convert(A, X, dtype), convert(starts, X, dtype)
    return Chains(rows, A, starts, band, longest).climb(**steps)


def gradient_outer_product(
    X: Any,
    W: Any,
    coefficients: Any,
    *,
    diagonal: bool,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    waves = _Waves(X, W, memory_budget)
    xp, N, d = waves.xp, waves.n_frequencies, waves.n_features
    real, imaginary = waves.asarray(coefficients.real), waves.asarray(coefficients.imag)
    if waves.in_tiles and d >= _TILE // 2:  # at least half of a tile of products is used
        from bochner.engine.tiles.operations import outer_product_of_gradients

        return outer_product_of_gradients(waves, real, imaginary, diagonal)
    total = waves.zeros((d,) if diagonal else (d, d), waves.wide)
    for chunk in waves.chunks():
        tile = waves.empty((chunk.stop - chunk.start, 2 * N))
        waves.write(chunk, tile)
        for k in range(coefficients.shape[1]):
            slope = tile[:, :N] * imaginary[:, k] - tile[:, N:] * real[:, k]
            gradients = slope @ waves.W.T
            part = xp.sum(gradients * gradients, axis=0) if diagonal else gradients.T @ gradients
            total = total + xp.astype(part, waves.wide)
    return total
