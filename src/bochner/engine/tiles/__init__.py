"""Triton kernels for float32 rows on a CUDA device: a product of tiles, used where it is made.

The modules of this package import Triton, which comes with PyTorch for CUDA; this one does not.
"""

from __future__ import annotations

from typing import Any

from bochner.engine.places import runs_triton

_FEWEST = 2**22  # multiplications: with fewer, launching kernels takes the time


def suit(X: Any, n_columns: int) -> bool:
    """Whether the kernels compute ``X W`` for so many columns of ``W`` faster than a library."""
    return run(X) and X.shape[0] * X.shape[1] * n_columns >= max(1, _FEWEST)


def run(X: Any) -> bool:
    """Whether the kernels run where `X` is."""
    return runs_triton(X)
