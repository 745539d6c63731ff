"""Features of few rows in a basis of their span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular


@dataclass(frozen=True)
class RowSpace:
    """Features in an orthonormal basis V of (almost) all of the span of their rows.

    As V is orthonormal, a penalty on the coefficients of ``features @ V`` is the same as one on
    those of the features. With more columns than rows, V is never formed: it is the transposed
    features times a small matrix.
    """

    features: NDArray[np.float64]  # in the basis
    coefficients: Callable[
        [NDArray[Any]], NDArray[Any]
    ]  # of the features, from those in the basis

    @classmethod
    def of(cls, features: NDArray[Any], smallest: float = 1e-9) -> RowSpace:
        """Use the basis of a Cholesky factor, or of eigenvectors if rows are nearly dependent.

        In the latter case, directions in which the squares of the rows sum to less than `smallest`
        times the largest such sum are left out.
        """
        features = features.astype(np.float64, copy=False)
        n, width = features.shape
        gram = features @ features.T if n < width else features.T @ features
        if n < width and (L := _factor(gram, smallest)) is not None:
            return cls(L, lambda W: features.T @ solve_triangular(L, W, lower=True, trans=1))
        values, vectors = np.linalg.eigh(gram)
        if not values[-1] > 0:  # all zero: one direction is as good as another
            return cls(np.zeros((n, 1)), lambda W: np.eye(width, 1) @ W)
        large = values > smallest * values[-1]
        roots, vectors = np.sqrt(values[large]), vectors[:, large]
        if n < width:
            return cls(vectors * roots, lambda W: features.T @ ((vectors / roots) @ W))
        return cls(features @ vectors, lambda W: vectors @ W)


def _factor(gram: NDArray[np.float64], smallest: float) -> NDArray[np.float64] | None:
    """Return the Cholesky factor, or None if it would divide by almost zero."""
    try:
        L: NDArray[np.float64] = cholesky(gram, lower=True, check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diag(L) ** 2
    return L if pivots.min() > smallest * pivots.max() else None
