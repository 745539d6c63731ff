"""The three operations on arrays of any array-API namespace: PyTorch, CuPy, and others.

The work stays on the device of ``X`` and never waits for the host inside the loop over chunks,
unless the phases may be too large for float32. Chunks are small enough for the cosines and sines
to pass through the device's cache instead of its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

_DEFAULT_BUDGET = 2**28
_CACHE = 2**25  # bytes of phases that a data-centre GPU keeps in its second-level cache
_LIMIT_32 = 2.0**12  # see compiled.py: beyond this a float32 phase is too uncertain


class _Rows:
    """Rows on a device with the frequencies beside them, in one floating dtype."""

    def __init__(self, X: Any, W: Any, memory_budget: int | None) -> None:
        if is_torch_array(X):
            X = X.detach()  # results are written in place, which a recorded tensor forbids
        xp = self.xp = array_namespace(X)
        if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
            raise TypeError(f"X must hold real numbers, got dtype {X.dtype}.")
        self.device = device(X)
        available = xp.__array_namespace_info__().dtypes(device=self.device)
        # Accumulators: float64 wherever the device has it.
        self.wide = xp.float64 if "float64" in available else xp.float32
        self.wide_complex = xp.complex128 if "complex128" in available else xp.complex64
        if X.dtype == xp.float64 or not xp.isdtype(X.dtype, "real floating"):
            self.dtype = self.wide
        else:
            self.dtype = xp.float32
        self.X, self.W = xp.astype(X, self.dtype, copy=False), self.asarray(W)
        self.n_rows, self.n_features = X.shape
        self.n_frequencies = self.W.shape[1]
        self.budget = memory_budget or _DEFAULT_BUDGET
        self.offset: Any = None

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        xp = self.xp
        dtype = self.dtype if dtype is None else dtype
        if hasattr(values, "dtype") and not isinstance(values, np.ndarray):
            return xp.astype(xp.asarray(values, device=self.device), dtype, copy=False)
        return xp.asarray(np.asarray(values), dtype=dtype, device=self.device)

    @property
    def itemsize(self) -> int:
        return 4 if self.dtype == self.xp.float32 else 8

    def chunks(self, arrays: int = 4) -> Iterator[slice]:
        """Slices of rows of which `arrays` matrices of phases fit into the budget."""
        row = max(1, self.n_frequencies * self.itemsize)
        height = max(1, min(self.budget // (arrays * row), _CACHE // row))
        for first in range(0, self.n_rows, height):
            yield slice(first, min(first + height, self.n_rows))

    def may_be_large(self) -> bool:
        """Whether a float32 phase can exceed the limit (by Cauchy and Schwarz: one wait)."""
        xp = self.xp
        if self.dtype != xp.float32 or self.n_rows == 0 or self.n_frequencies == 0:
            return False
        longest = [
            math.sqrt(float(xp.max(xp.sum(M * M, axis=axis))))
            for M, axis in ((self.X, 1), (self.W, 0))
        ]
        return not longest[0] * longest[1] <= _LIMIT_32

    def phases(self) -> Callable[[slice], Any]:
        """The function that gives ``X[rows] W + offset``."""
        xp = self.xp
        check = self.may_be_large() and self.wide != self.dtype

        def product(rows: slice, dtype: Any) -> Any:
            X, W = (xp.astype(M, dtype, copy=False) for M in (self.X[rows, :], self.W))
            P = X @ W
            return P if self.offset is None else P + xp.astype(self.offset, dtype, copy=False)

        def phases(rows: slice) -> Any:
            P = product(rows, self.dtype)
            if check and not float(xp.max(xp.abs(P))) <= _LIMIT_32:
                # Reduced to one turn in float64, where the phase is still known.
                exact = product(rows, self.wide)
                turn = 2 * math.pi
                P = xp.astype(exact - turn * xp.round(exact / turn), self.dtype)
            return P

        return phases


def _write(rows: _Rows, function: str, phases: Any, scale: Any, window: Any) -> None:
    """``window = scale * function(phases)``, in place and without temporaries where possible."""
    if is_torch_array(phases):
        import torch

        getattr(torch, function)(phases, out=window)
        window.mul_(scale)
    else:
        window[...] = scale * getattr(rows.xp, function)(phases)


def features(
    X: Any,
    W: Any,
    *,
    scale: Any,
    offset: Any,
    out: None,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    rows = _Rows(X, W, memory_budget)
    xp, N = rows.xp, rows.n_frequencies
    scale = xp.broadcast_to(rows.asarray(scale), (N,))
    rows.offset = None if offset is None else rows.asarray(offset)
    width = 2 * N if offset is None else N
    result = xp.empty((rows.n_rows, width), dtype=rows.dtype, device=rows.device)
    phases = rows.phases()
    for chunk in rows.chunks():
        P = phases(chunk)
        _write(rows, "cos", P, scale, result[chunk, :N])
        if offset is None:
            _write(rows, "sin", P, scale, result[chunk, N:])
    return result


def _as_complex(rows: _Rows, real: Any, imaginary: Any) -> Any:
    xp, dtype = rows.xp, rows.wide_complex
    return xp.astype(real, dtype) + 1j * xp.astype(imaginary, dtype)


def _sums(rows: _Rows, A: Any, keep: list[tuple[slice, Any, Any]] | None) -> tuple[Any, Any]:
    xp, shape = rows.xp, (rows.n_frequencies, A.shape[1])
    real = xp.zeros(shape, dtype=rows.wide, device=rows.device)
    imaginary = xp.zeros(shape, dtype=rows.wide, device=rows.device)
    phases = rows.phases()
    for chunk in rows.chunks():
        P = phases(chunk)
        cosines, sines = xp.cos(P), xp.sin(P)
        weights = A[chunk, :]
        real += xp.astype(cosines.T @ weights, rows.wide)
        imaginary += xp.astype(sines.T @ weights, rows.wide)
        if keep is not None:
            keep.append((chunk, cosines, sines))
    return real, imaginary


def fourier_sums(
    X: Any, W: Any, A: Any, *, n_threads: int | None, memory_budget: int | None
) -> Any:
    rows = _Rows(X, W, memory_budget)
    return _as_complex(rows, *_sums(rows, rows.asarray(A), None))


def potential_and_gradient(
    X: Any,
    W: Any,
    A: Any,
    signs: Any,
    *,
    sums: Any,
    n_threads: int | None,
    memory_budget: int | None,
) -> tuple[Any, Any]:
    rows = _Rows(X, W, memory_budget)
    xp, A = rows.xp, rows.asarray(A)
    signs = rows.asarray(signs, rows.wide)
    kept: list[tuple[slice, Any, Any]] | None = None
    if sums is None:
        if 2 * rows.n_rows * rows.n_frequencies * rows.itemsize <= rows.budget:
            kept = []
        real, imaginary = _sums(rows, A, kept)
    else:
        sums = rows.asarray(sums, rows.wide_complex)
        real, imaginary = xp.real(sums), xp.imag(sums)
    potential = (real * real + imaginary * imaginary) @ signs
    with_cosine = xp.astype(2 * signs * imaginary, rows.dtype).T
    with_sine = xp.astype(2 * signs * real, rows.dtype).T

    def waves() -> Iterator[tuple[slice, Any, Any]]:
        phases = rows.phases()
        for chunk in rows.chunks():
            P = phases(chunk)
            yield chunk, xp.cos(P), xp.sin(P)

    shape = (rows.n_features, rows.n_frequencies)
    gradient = xp.zeros(shape, dtype=rows.wide, device=rows.device)
    for chunk, cosines, sines in waves() if kept is None else kept:
        weights = A[chunk, :]
        M = (weights @ with_cosine) * cosines - (weights @ with_sine) * sines
        gradient += xp.astype(rows.X[chunk, :].T @ M, rows.wide)
    return potential, gradient
