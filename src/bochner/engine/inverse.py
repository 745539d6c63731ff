"""Positive definite systems of equations, solved where the matrix is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import linalg

from bochner.engine.places import identity, is_host, is_torch, namespace
from bochner.engine.threads import single_threaded_blas

_LARGE = 3000  # rows from which several threads are worth waiting for


def inverse(H: Any, ridge: Any = 0.0) -> Callable[[Any], Any]:
    r"""The function :math:`B \mapsto (H + \lambda I)^{-1} B` for a positive definite matrix.

    The host never waits for a device. In NumPy a matrix that is not positive definite raises
    LinAlgError; elsewhere the result is undefined.
    """
    if is_host(H):
        # SciPy's BLAS has threads of its own, which would wait for NumPy's to stop spinning.
        threads = single_threaded_blas if len(H) < _LARGE else nullcontext()
        A = np.array(H, order="C")  # the only copy: its transpose is factorised in its place
        A.flat[:: len(A) + 1] += ridge
        with threads:
            factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)

        def on_host(B: Any) -> Any:
            with threads:
                return linalg.cho_solve(factor, B, check_finite=False)

        return on_host
    if is_torch(H):
        import torch

        # cholesky itself would wait for the device to say whether it succeeded
        lower = torch.linalg.cholesky_ex(H + ridge * identity(H.shape[0], H, H.dtype)).L
        return lambda B: torch.cholesky_solve(B, lower)
    xp = namespace(H)
    A = H + ridge * identity(H.shape[0], H, H.dtype)
    return lambda B: xp.linalg.solve(A, B)
