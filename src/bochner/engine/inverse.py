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
