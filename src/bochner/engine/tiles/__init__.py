"""Triton kernels for float32 rows on a CUDA device: tiles of products, used where computed.

The modules of this package import Triton, which comes with PyTorch for CUDA; this one does not.
"""

from __future__ import annotations

from typing import Any

from bochner.engine.places import runs_triton

_FEWEST = 2**22  # multiplications: with fewer, launching kernels dominates


def suit(X: Any, n_columns: int) -> bool:
    """Whether these kernels compute ``X W``, with `n_columns` columns, faster than a library."""
    return run(X) and X.shape[0] * X.shape[1] * n_columns >= max(1, _FEWEST)


def run(X: Any) -> bool:
    """Whether these kernels run where `X` is."""
    return runs_triton(X)
