r"""From the gradients of a function to the matrix that rows are multiplied by.

The average outer product of the gradients is a positive semi-definite matrix ``M``. The matrix
``L`` of the metric is a square root that depends on the mode:

============  =====================  =====================================================
mode          ``L L^T``              what it does
============  =====================  =====================================================
``diagonal``  the diagonal of ``M``  weights the columns
``root``      ``M^(1/2)``            rotates and weights directions, mildly
``full``      ``M``                  rotates and weights directions
============  =====================  =====================================================

A matrix that is diagonal is kept as the vector of its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import by_rows, convert, dense
from bochner.engine.summaries import variance

MOST_COLUMNS = 4096  # limit for a matrix of directions, and for one that is held dense
_MANY_COLUMNS = 2  # columns per wave, from which eigenvectors in the waves' span are cheaper

Float = NDArray[np.float64]


def _diagonal(M: Float, span: Float | None) -> Float:
    weights = np.diagonal(M) if M.ndim == 2 else M
    return np.asarray(np.sqrt(weights / weights.max()))


def _power(exponent: float) -> Callable[[Float, Float | None], Float]:
    def matrix(M: Float, span: Float | None) -> Float:
        basis = None
        if span is not None and _MANY_COLUMNS * span.shape[1] <= len(M):
            basis = np.linalg.qr(span)[0]
            M = basis.T @ M @ basis
        values, vectors = np.linalg.eigh(M / np.diagonal(M).max())
        vectors = vectors if basis is None else basis @ vectors
        result: Float = (vectors * np.clip(values / values[-1], 0, None) ** exponent) @ vectors.T
        return result

    return matrix


DIAGONAL = "diagonal"

# From the outer product to `L` with largest singular value 1.
# Ordered from the simplest mode to the one with most freedom, which is how ties are decided.
MODES: dict[str, Callable[[Float, Float | None], Float]] = {
    DIAGONAL: _diagonal,
    "root": _power(0.25),
    "full": _power(0.5),
}


def metric_matrix(M: Float, mode: str | None, span: Float | None = None) -> Float:
    """Return the matrix ``L`` of a mode, or its diagonal; its largest singular value is 1.

    The mode None gives the identity, as does a function that does not change. The columns of
    `span`, of shape (d, N), span the range of `M`: with few of them less is computed.
    """
    if mode is None or not M.any():
        return np.ones(len(M))
    return MODES[mode](M, span)


def times(L: Float, W: Float) -> Float:
    """Return ``L W``, for a matrix `L` or the diagonal of one."""
    return L @ W if L.ndim == 2 else L[:, None] * W


def transformed(X: Any, L: Float) -> Any:
    """Return ``X L`` where `X` is, in its dtype; sparse rows stay sparse if `L` is diagonal."""
    if sparse.issparse(X) and L.ndim == 1:
        return (X @ sparse.diags_array(L.astype(X.dtype))).tocsr()
    # by row, so that a table, which is stored by column, gives the same products
    X = by_rows(dense(X))
    return X * convert(L, X) if L.ndim == 1 else X @ convert(L, X)


def as_matrix(L: Float, largest: int) -> Any:
    """Return `L` as a matrix; a sparse one for a diagonal with more than `largest` entries."""
    if L.ndim == 2:
        return L
    return np.diag(L) if len(L) <= largest else sparse.diags_array(L).tocsr()


def scale_keeping_variance(X: Any, L: Float) -> float:
    """Return the factor of the matrix for which all entries together keep their variance."""
    before, after = variance(X), variance(transformed(X, L))
    return (before / after) ** 0.5 if before > 0 and after > 0 else 1.0
