"""Positive definite systems of equations, solved where the matrix is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from bochner.engine import lapack
from bochner.engine.places import identity, is_host, is_torch, namespace
from bochner.engine.threads import single_threaded_blas

_LARGE = 3000  # rows from which several threads pay off


def inverse(H: Any, ridge: float = 0.0, *, overwrite: bool = False) -> Callable[[Any], Any]:
    r"""Return the function :math:`B \mapsto (H + \lambda I)^{-1} B` of a positive definite matrix.

    With `overwrite`, a NumPy `H` is destroyed. The host never waits for a device. In NumPy, a
    matrix that is not positive definite raises LinAlgError; elsewhere the result is undefined.
    """
    if is_host(H):
        lower = cholesky(H, ridge, overwrite=overwrite)

        def on_host(B: Any) -> Any:
            return solve_triangular(lower, solve_triangular(lower, B), transposed=True)

        return on_host
    if is_torch(H):
        import torch

        factor = cholesky(H, ridge)
        if factor.ndim == 2:
            return lambda B: torch.cholesky_solve(B, factor)
        # One after the other: a batched solver cannot be recorded.
        return lambda B: torch.stack(list(map(torch.cholesky_solve, B, factor)))
    xp, A = namespace(H), with_ridge(H, ridge)
    return lambda B: xp.linalg.solve(A, B)


def inverse_or_none(
    H: Any, ridge: float = 0.0, *, overwrite: bool = False
) -> Callable[[Any], Any] | None:
    """Return :func:`inverse`, or None if not positive definite; the host waits."""
    if is_torch(H):
        import torch

        factor, failed = torch.linalg.cholesky_ex(with_ridge(H, ridge))
        return None if bool(failed) else lambda B: torch.cholesky_solve(B, factor)
    try:
        return inverse(H, ridge, overwrite=overwrite)
    except LinAlgError:
        return None


def cholesky(H: Any, ridge: Any = 0.0, *, overwrite: bool = False) -> Any:
    r"""Return the lower factor of :math:`H + \lambda I`; NumPy raises LinAlgError without one.

    In NumPy only entries on and above the diagonal of `H` are used, and `overwrite` destroys it.
    On a device there is one factor for each of several `ridge`, of shape (p, 1, 1), and for each
    of several matrices, of shape (..., 1, D, D).
    """
    if is_host(H):
        # at most one copy: the transpose is factorised in its place
        A = np.asarray(H, order="C") if overwrite else np.array(H, order="C")
        A.flat[:: len(A) + 1] += ridge
        with _threads(A):
            return lapack.cholesky(A)
    A = with_ridge(H, ridge)
    if is_torch(H):
        import torch

        # cholesky itself would wait for the device to say whether it succeeded
        return torch.linalg.cholesky_ex(A).L
    return namespace(A).linalg.cholesky(A)


def with_ridge(H: Any, ridge: Any) -> Any:
    r"""Return :math:`H + \lambda I`, or `H` itself without a ridge."""
    bare = isinstance(ridge, float) and ridge == 0
    return H if bare else H + ridge * identity(H.shape[-1], H, H.dtype)


def solve_triangular(lower: Any, B: Any, *, transposed: bool = False) -> Any:
    r"""Return the solution of :math:`L Z = B`, or of :math:`L^\top Z = B`."""
    if is_host(lower):
        with _threads(lower):
            return lapack.solve_triangular(lower, B, transposed=transposed)
    triangle = lower.mT if transposed else lower
    if is_torch(lower):
        import torch

        return torch.linalg.solve_triangular(triangle, B, upper=transposed)
    return namespace(lower).linalg.solve(triangle, B)


def _threads(matrix: Any) -> AbstractContextManager[Any]:
    """Limit SciPy's BLAS, whose own threads would wait for NumPy's to stop spinning."""
    return single_threaded_blas if len(matrix) < _LARGE else nullcontext()
