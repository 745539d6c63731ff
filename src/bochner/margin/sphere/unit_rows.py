"""Rows on the unit sphere: dense, sparse, or on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import inplace_csr_row_scale

from bochner.engine.places import cast, namespace

TOLERANCE = 1e-5  # how far from one the norm of a "unit" row may be; float32 rows are within 1e-6


def unit_rows(X: Any, dtype: Any, *, normalize: bool = True, first: int = 0) -> Any:
    """Return the rows divided by their norms, in `dtype`; the input is not changed.

    Without `normalize` the rows must have unit norm already, and are returned unchanged. A zero
    row has no direction and stays zero. `first` is the number of the first row, for error messages
    about a part of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.unit_rows import unit_rows
    >>> unit_rows(np.array([[3e200, 4e200], [0.0, -1e-200]]), np.float64)
    array([[ 0.6,  0.8],
           [ 0. , -1. ]])
    """
    if sparse.issparse(X):
        return _unit_sparse(X, dtype, normalize, first)
    xp, X = namespace(X), cast(X, dtype)
    if not normalize:
        _check_norms(xp.linalg.vector_norm(X, axis=1), xp, first)
        return X
    # Divide by the largest entry first: squares of very large or small numbers overflow.
    X = X / _or_one(xp.max(xp.abs(X), axis=1, keepdims=True), xp)
    return X / _or_one(xp.linalg.vector_norm(X, axis=1, keepdims=True), xp)


def nonzero_rows(X: Any) -> Any:
    """Return a mask of the rows that are not zero, on their device."""
    if sparse.issparse(X):
        return np.asarray((X != 0).sum(axis=1)).ravel() > 0
    return namespace(X).any(X != 0, axis=1)


def _or_one(sizes: Any, xp: Any) -> Any:
    return xp.where(sizes > 0, sizes, xp.ones_like(sizes))


def _unit_sparse(X: Any, dtype: Any, normalize: bool, first: int) -> Any:
    X = X.tocsr().astype(dtype)  # astype makes a copy
    if normalize:
        largest = abs(X).max(axis=1).toarray().ravel()
        inplace_csr_row_scale(X, (1 / _or_one(largest, np)).astype(dtype))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    if normalize:
        inplace_csr_row_scale(X, (1 / _or_one(norms, np)).astype(dtype))
    else:
        _check_norms(norms, np, first)
    return X


def _check_norms(norms: Any, xp: Any, first: int) -> None:
    off = xp.where(norms > 0, xp.abs(norms - 1), xp.zeros_like(norms))
    if not bool(xp.all(off <= TOLERANCE)):
        row = int(xp.argmax(off))
        raise ValueError(
            f"normalize=False needs rows of unit norm, but row {first + row} of X has norm "
            f"{float(norms[row]):g}; use normalize=True."
        )
