"""The three operations on dask arrays: block by block, sums along a tree.

Each block is handed to the engine again, so a block may be a NumPy array, a CSR matrix or an
array on a GPU. `features` stays lazy. The sums are computed at once: the blocks go through the
workers one by one and only ``(N, k)`` numbers a block travel, so that the data may be far larger
than the memory of any worker, and a block whose worker died is simply computed again.
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

from bochner.engine import operations
from bochner.engine.operations import is_host

_FAN_IN = 8  # partial results that one task adds


def _one_block_of_columns(X: Any) -> Any:
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _coefficient_blocks(X: Any, A: Any) -> list[Any]:
    """`A` cut like the rows of `X`."""
    if not isinstance(A, da.Array):
        if any(np.isnan(length) for length in X.chunks[0]):
            raise ValueError(
                "X does not know the lengths of its blocks, so A cannot be cut to match: give A "
                "as a dask array with the same blocks, or call X.compute_chunk_sizes() first."
            )
        # Each slice travels with its own task; the whole of A does not.
        ends = np.cumsum(X.chunks[0])
        return [A[end - length : end] for end, length in zip(ends, X.chunks[0], strict=True)]
    A = _one_block_of_columns(A)
    if A.numblocks[0] != X.numblocks[0] or not np.array_equal(
        A.chunks[0], X.chunks[0], equal_nan=True
    ):
        A = A.rechunk({0: X.chunks[0]})
    return list(A.to_delayed().ravel())


def _result_dtype(X: Any) -> np.dtype[Any]:
    return np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)


def _result_meta(X: Any, dtype: np.dtype[Any]) -> Any:
    return np.empty((0, 0), dtype) if is_host(X._meta) else X._meta


def _numpy(array: Any) -> NDArray[Any]:
    """A partial result on the host, where the tree adds it; it is small."""
    if hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def _add(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.asarray(np.sum(parts, axis=0))


def _tree_sum(parts: list[Any]) -> NDArray[Any]:
    add = dask.delayed(_add, pure=True)
    while len(parts) > 1:
        parts = [add(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    total: NDArray[Any] = parts[0].compute()
    return total


def _block_features(block: Any, W: Any, **options: Any) -> Any:
    return operations.features(block, W, **options)


def _block_sums(block: Any, W: Any, A: Any, memory_budget: int | None) -> NDArray[Any]:
    options = {"n_threads": 1, "memory_budget": memory_budget}
    return _numpy(operations.fourier_sums(block, W, A, **options))


def _block_gradient(
    block: Any, W: Any, A: Any, signs: Any, sums: Any, memory_budget: int | None
) -> NDArray[Any]:
    _, gradient = operations.potential_and_gradient(
        block, W, A, signs=signs, sums=sums, n_threads=1, memory_budget=memory_budget
    )
    return _numpy(gradient)


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
    X = _one_block_of_columns(X)
    width = W.shape[1] * (2 if offset is None else 1)
    dtype = _result_dtype(X)
    return X.map_blocks(
        _block_features,
        W=dask.delayed(W, pure=True),  # once in the graph, not once a block
        scale=scale,
        offset=offset,
        n_threads=1,  # the blocks themselves run side by side
        memory_budget=memory_budget,
        chunks=(X.chunks[0], (width,)),
        dtype=dtype,
        meta=_result_meta(X, dtype),
    )


def _block_grouped_waves(block: Any, W: Any, coefficients: Any, size: int, **options: Any) -> Any:
    return operations.grouped_waves(block, W, coefficients, size, **options)


def grouped_waves(
    X: Any,
    W: Any,
    coefficients: Any,
    size: int,
    *,
    n_threads: int | None,
    memory_budget: int | None,
) -> Any:
    X = _one_block_of_columns(X)
    dtype = _result_dtype(X)
    return X.map_blocks(
        _block_grouped_waves,
        W=dask.delayed(W, pure=True),
        coefficients=dask.delayed(coefficients, pure=True),
        size=size,
        n_threads=1,
        memory_budget=memory_budget,
        chunks=(X.chunks[0], (W.shape[1] // size,)),
        dtype=dtype,
        meta=_result_meta(X, dtype),
    )


def fourier_sums(
    X: Any, W: Any, A: Any, *, n_threads: int | None, memory_budget: int | None
) -> NDArray[np.complex128]:
    X = _one_block_of_columns(X)
    W = dask.delayed(W, pure=True)
    block_sums = dask.delayed(_block_sums, pure=True)
    return _tree_sum(
        [
            block_sums(block, W, coefficients, memory_budget)
            for block, coefficients in zip(
                X.to_delayed().ravel(), _coefficient_blocks(X, A), strict=True
            )
        ]
    )


def potential_and_gradient(
    X: Any,
    W: Any,
    A: Any,
    signs: NDArray[np.float64],
    *,
    sums: Any,
    small_phases: bool,
    n_threads: int | None,
    memory_budget: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two passes over the blocks: the sums, then every block's share of the gradient."""
    X = _one_block_of_columns(X)
    if sums is None:
        sums = fourier_sums(X, W, A, n_threads=n_threads, memory_budget=memory_budget)
    potential = (sums.real**2 + sums.imag**2) @ signs
    W, shared_sums = dask.delayed(W, pure=True), dask.delayed(sums, pure=True)
    block_gradient = dask.delayed(_block_gradient, pure=True)
    gradient = _tree_sum(
        [
            block_gradient(block, W, coefficients, signs, shared_sums, memory_budget)
            for block, coefficients in zip(
                X.to_delayed().ravel(), _coefficient_blocks(X, A), strict=True
            )
        ]
    )
    return potential, gradient
