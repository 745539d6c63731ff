"""The kinds of array an operation must accept, as functions from a NumPy array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bochner.engine.places import to_numpy


def _fortran(X):
    return np.asfortranarray(X)


def _strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _torch(X):
    return pytest.importorskip("torch", reason="PyTorch is not installed").from_numpy(X.copy())


def _strict(X):
    return pytest.importorskip("array_api_strict").asarray(X)


def _dask(X):
    # several blocks along both axes, the last ones shorter
    chunks = (max(1, len(X) // 3), max(1, X.shape[1] // 2))
    return pytest.importorskip("dask.array").from_array(X, chunks=chunks)


def _dask_sparse(X):
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(max(1, len(X) // 3), -1))
    return rows.map_blocks(sparse.csr_matrix, dtype=X.dtype, meta=sparse.csr_matrix((0, 0)))


PLACES: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": np.asarray,
    "fortran": _fortran,
    "strided": _strided,
    "csr": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "torch": _torch,
    "strict": _strict,
    "dask": _dask,
    "dask_sparse": _dask_sparse,
}


def on_host(result: Any) -> np.ndarray:
    """The numbers of a result, wherever it was computed."""
    if hasattr(result, "compute"):
        result = result.compute(scheduler="sync")
    return to_numpy(result.toarray() if sparse.issparse(result) else result)
