"""The operations on dask arrays, block by block, with sums along a tree.

Each block is handed to the engine again, so a block may be a NumPy array, a CSR matrix or an
array on a GPU. `features` stays lazy. The sums are computed at once: the workers process one block
after the other and only ``(N, k)`` numbers per block travel, so that the data may be far larger
than the memory of any worker, and a block whose worker died is simply computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine import operations
from bochner.engine.places import to_numpy
from bochner.engine.rowwise import map_rows, reduce_rows


def features(X: Any, W: Any, *, offset: Any, out: None, **options: Any) -> Any:
    width = W.shape[1] * (2 if offset is None else 1)
    return map_rows(operations.features, X, width, shared={"W": W}, offset=offset, **options)


def grouped_waves(X: Any, W: Any, coefficients: Any, size: int, **options: Any) -> Any:
    shared = {"W": W, "coefficients": coefficients}
    width = W.shape[1] // size
    return map_rows(operations.grouped_waves, X, width, shared=shared, size=size, **options)


def mixed_waves(X: Any, W: Any, coefficients: Any, **options: Any) -> Any:
    shared = {"W": W, "coefficients": coefficients}
    width = coefficients.shape[1]
    return map_rows(operations.mixed_waves, X, width, shared=shared, **options)


def kernel_rows(X: Any, Z: Any, kernel: Any, *, normalization: Any, **options: Any) -> Any:
    width = Z.shape[0] if normalization is None else normalization.shape[1]
    shared = {"Z": Z, "normalization": normalization}
    return map_rows(operations.kernel_rows, X, width, shared=shared, kernel=kernel, **options)


def fourier_sums(X: Any, W: Any, A: Any, **options: Any) -> NDArray[np.complex128]:
    sums: NDArray[np.complex128] = reduce_rows(_block_sums, X, A, shared={"W": W}, **options)
    return sums


def potential_and_gradient(
    X: Any,
    W: Any,
    A: Any,
    signs: NDArray[np.float64],
    *,
    sums: Any,
    small_phases: bool,
    **options: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make two passes over the blocks: the sums, then every block's share of the gradient."""
    if sums is None:
        sums = fourier_sums(X, W, A, **options)
    potential = (sums.real**2 + sums.imag**2) @ signs
    shared = {"W": W, "sums": sums}
    return potential, reduce_rows(_block_gradient, X, A, shared=shared, signs=signs, **options)


def gradient_outer_product(X: Any, W: Any, coefficients: Any, **options: Any) -> NDArray[Any]:
    shared = {"W": W, "coefficients": coefficients}
    total: NDArray[Any] = reduce_rows(_block_outer_product, X, shared=shared, **options)
    return total


def _block_sums(block: Any, A: Any, W: Any, **options: Any) -> NDArray[Any]:
    """Return the sums of a block, a few numbers, on the host, where the tree adds them."""
    return to_numpy(operations.fourier_sums(block, W, A, **options))


def _block_gradient(block: Any, A: Any, W: Any, **options: Any) -> NDArray[Any]:
    return to_numpy(operations.potential_and_gradient(block, W, A, **options)[1])


def _block_outer_product(block: Any, W: Any, coefficients: Any, **options: Any) -> NDArray[Any]:
    return to_numpy(operations.gradient_outer_product(block, W, coefficients, **options))
