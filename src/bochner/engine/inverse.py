"""Positive definite systems of equations, solved where the matrix is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import linalg

from bochner.engine.places import is_host, is_torch, namespace
from bochner.engine.threads import single_threaded_blas


def inverse(H: Any) -> Callable[[Any], Any]:
    r"""The function :math:`B \mapsto H^{-1} B` for a positive definite `H`.

    The host never waits for a device. In NumPy an `H` that is not positive definite raises
    LinAlgError; elsewhere the result is undefined.
    """
    if is_host(H):
        # SciPy's BLAS has threads of its own, which would wait for NumPy's to stop spinning.
        with single_threaded_blas:
            factor = linalg.cho_factor(H, lower=True, check_finite=False)

        def on_host(B: Any) -> Any:
            with single_threaded_blas:
                return linalg.cho_solve(factor, B, check_finite=False)

        return on_host
    if is_torch(H):
        import torch

        # cholesky itself would wait for the device to say whether it succeeded
        lower = torch.linalg.cholesky_ex(H).L
        return lambda B: torch.cholesky_solve(B, lower)
    xp = namespace(H)
    return lambda B: xp.linalg.solve(H, B)


def cholesky(H: Any) -> Any:
    """The lower factor of a positive definite `H`; in NumPy a LinAlgError for any other."""
    if is_host(H):
        with single_threaded_blas:
            return linalg.cholesky(H, lower=True, check_finite=False)
    if is_torch(H):
        import torch

        return torch.linalg.cholesky_ex(H).L
    return namespace(H).linalg.cholesky(H)


def solve_triangular(lower: Any, B: Any, *, transposed: bool = False) -> Any:
    r"""The solution of :math:`L Z = B`, or of :math:`L^\top Z = B`."""
    if is_host(lower):
        with single_threaded_blas:
            return linalg.solve_triangular(
                lower, B, trans=int(transposed), lower=True, check_finite=False
            )
    triangle = lower.T if transposed else lower
    if is_torch(lower):
        import torch

        return torch.linalg.solve_triangular(triangle, B, upper=transposed)
    return namespace(lower).linalg.solve(triangle, B)
