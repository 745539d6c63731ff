"""The operations written as plain formulas: slow, memory-hungry, and easy to read.

Nothing in the package calls these. They are the oracle that every fast path is tested against,
and the baseline that the benchmarks measure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def _float64(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def features(X: Any, W: Any, scale: Any = 1.0, offset: Any = None) -> NDArray[np.float64]:
    """``scale * [cos(X W) | sin(X W)]``, or ``scale * cos(X W + offset)`` with an offset."""
    phases = _float64(X) @ _float64(W)
    if offset is not None:
        return np.asarray(scale * np.cos(phases + offset))
    return np.hstack([scale * np.cos(phases), scale * np.sin(phases)])


def grouped_waves(X: Any, W: Any, coefficients: Any, size: int) -> NDArray[np.float64]:
    """``S[i, g] = sum over the m of group g of Re(conj(c_m) exp(1j <w_m, x_i>))``."""
    waves = np.exp(1j * (_float64(X) @ _float64(W))) * np.conj(coefficients)
    return waves.real.reshape(len(waves), -1, size).sum(axis=2)


def mixed_waves(X: Any, W: Any, coefficients: Any) -> NDArray[np.float64]:
    """``S[i, k] = sum_m Re(conj(c_mk) exp(1j <w_m, x_i>))``."""
    mixed: NDArray[np.complex128] = np.exp(1j * (_float64(X) @ _float64(W))) @ np.conj(
        coefficients
    )
    return mixed.real


def fourier_sums(X: Any, W: Any, A: Any) -> NDArray[np.complex128]:
    """``F[m, k] = sum_i A[i, k] exp(1j <w_m, x_i>)``."""
    sums: NDArray[np.complex128] = np.exp(1j * (_float64(X) @ _float64(W))).T @ _float64(A)
    return sums


def kernel_rows(X: Any, Z: Any, kernel: Any, normalization: Any = None) -> NDArray[np.float64]:
    """Compute ``k(x_i, z_j)`` from all differences, times a normalization."""
    X, Z = _float64(X), _float64(Z)
    distances = np.abs(X[:, None, :] - Z)
    if getattr(kernel, "isotropic", False):
        values = np.exp(kernel.log_profile(np.sqrt((distances**2).sum(axis=2))))
    elif getattr(kernel, "product", False):
        values = np.exp(kernel.log_profile(distances).sum(axis=2))
    else:
        values = np.asarray(kernel(X, Z), dtype=np.float64)
    return values if normalization is None else values @ _float64(normalization)


def potential_and_gradient(
    X: Any, W: Any, A: Any, signs: Any = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``v(w) = sum_k s_k |F_k(w)|^2`` and its gradient in `w`, one column per frequency."""
    X, W, A = _float64(X), _float64(W), _float64(A)
    A = A[:, None] if A.ndim == 1 else A
    signs = np.broadcast_to(np.asarray(signs, dtype=np.float64), A.shape[1])
    sums = fourier_sums(X, W, A)
    potential = np.zeros(W.shape[1])
    gradient = np.zeros(W.shape)
    for m in range(W.shape[1]):
        waves = np.exp(1j * (X @ W[:, m]))
        for k in range(A.shape[1]):
            potential[m] += signs[k] * abs(sums[m, k]) ** 2
            slope = ((1j * A[:, k] * waves)[:, None] * X).sum(axis=0)  # dF_k / dw
            gradient[:, m] += signs[k] * 2 * (np.conj(sums[m, k]) * slope).real
    return potential, gradient


def gradient_outer_product(
    X: Any, W: Any, coefficients: Any, diagonal: bool = False
) -> NDArray[np.float64]:
    """``sum_i sum_k g g^T`` with ``g`` the gradient of ``sum_m Re(conj(c_mk) e^(i <w_m, x>))``."""
    X, W = _float64(X), _float64(W)
    total = np.zeros((len(W), len(W)))
    for x in X:
        for c in np.asarray(coefficients).T:
            gradient = W @ (1j * np.conj(c) * np.exp(1j * (x @ W))).real
            total += np.outer(gradient, gradient)
    return np.diag(total).copy() if diagonal else total
