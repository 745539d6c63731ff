"""Rows on the unit sphere, wherever they are: dense, sparse, or on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import inplace_csr_row_scale

from bochner.engine.places import cast, detached, namespace

TOLERANCE = 1e-5  # how far from one the norm of a "unit" row may be; float32 rows are within 1e-6


def unit_rows(X: Any, dtype: Any, *, normalize: bool = True, first: int = 0) -> Any:
    """Rows divided by their norms, in `dtype`; the input is not changed.

    Without `normalize` they must have unit norm already, and are returned as they are. A zero row
    has no direction and is an error. `first` is the number of the first row, for error messages
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
    xp, X = namespace(X), cast(detached(X), dtype)
    if not normalize:
        _check_norms(xp.linalg.vector_norm(X, axis=1), xp, first)
        return X
    # Divided by the largest entry first: squares of very large or small numbers overflow.
    largest = xp.max(xp.abs(X), axis=1, keepdims=True)
    _check_not_zero(largest, xp, first)
    X = X / largest
    return X / xp.linalg.vector_norm(X, axis=1, keepdims=True)


def _unit_sparse(X: Any, dtype: Any, normalize: bool, first: int) -> Any:
    X = X.tocsr().astype(dtype)  # astype makes a copy
    if normalize:
        largest = abs(X).max(axis=1).toarray().ravel()
        _check_not_zero(largest, np, first)
        inplace_csr_row_scale(X, (1 / largest).astype(dtype))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    if normalize:
        inplace_csr_row_scale(X, (1 / norms).astype(dtype))
    else:
        _check_norms(norms, np, first)
    return X


def _check_not_zero(largest: Any, xp: Any, first: int) -> None:
    if not bool(xp.all(largest > 0)):
        row = int(xp.argmin(xp.reshape(largest, (-1,))))
        raise ValueError(
            f"row {first + row} of X is zero: it has no direction and cannot be put on the "
            "sphere. Leave such rows out, or add a column of ones."
        )


def _check_norms(norms: Any, xp: Any, first: int) -> None:
    off = xp.abs(norms - 1)
    if not bool(xp.all(off <= TOLERANCE)):
        row = int(xp.argmax(off))
        raise ValueError(
            f"normalize=False needs rows of unit norm, but row {first + row} of X has norm "
            f"{float(norms[row]):g}; use normalize=True."
        )
