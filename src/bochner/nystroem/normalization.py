r"""From the kernel matrix of the landmarks to the matrix that turns kernel rows into features.

With :math:`K = U \mathrm{diag}(e) U^\top`, any `R` with :math:`R R^\top = U \mathrm{diag}(1 / e)
U^\top` gives features :math:`K(x, Z) R` with the same inner products: rotations of each other. The
one used here is (upper) triangular, the transposed inverse of the Cholesky factor of `K`: it takes
a fraction of the time of eigenvectors, it is unique, so that places and dtypes agree, and a
product with it costs half of one with a full matrix. Where eigenvalues are too small to be known,
landmarks that the others explain to rounding are left out, as determined by the pivots of a
Cholesky factorisation: their rows are zero, and the triangle becomes a trapezoid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Float = NDArray[np.float64]

_STEPS = 20  # steps of the power method
_CLOSE = 2.0  # times the floor, below which an eigenvalue is too close to it to tell
_COARSER = 10.0  # factor for a pivot that has left an eigenvalue below the floor
_NEGATIVE = 1e-6  # of the largest eigenvalue: rounding makes no eigenvalue as negative as this


@dataclass(frozen=True)
class Normalization:
    """The matrix `R`, with one column per direction, and the range of the eigenvalues."""

    matrix: Float
    largest: float  # largest eigenvalue
    least: float  # least eigenvalue that was kept


def normalize(K: Float, epsilon: float, kernel: Any = None) -> Normalization:
    """Return the normalization of a kernel matrix, without eigenvalues below ``epsilon m e_1``.

    Raises a ValueError if the matrix is not that of a kernel; `kernel` is for its message.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.nystroem.normalization import normalize
    >>> normalize(np.array([[4.0, 4.0], [4.0, 4.0]]), 1e-16).matrix
    array([[0.5],
           [0. ]])
    """
    K = _checked(K, kernel)
    size = len(K)
    largest = largest_eigenvalue(lambda v: K @ v, size)
    limit = floor(size, largest, epsilon)
    kept, pivot = np.arange(size), limit
    inverse, least = _inverse_factor(K)
    while len(kept) and least <= _CLOSE * limit:
        kept, pivot = _independent(K, pivot), _COARSER * pivot
        inverse, least = _inverse_factor(K[np.ix_(kept, kept)])
    if len(kept) < size:
        _check_positive(K, kept, inverse, _NEGATIVE * largest, kernel)
    matrix = np.zeros((size, len(kept)))
    matrix[kept] = inverse.T
    return Normalization(matrix, largest, least)


def floor(size: int, largest: float, epsilon: float) -> float:
    """Return what an eigenvalue must exceed: the rounding at a precision of `epsilon`."""
    return float(epsilon * size * max(largest, 0.0))


def largest_eigenvalue(product: Callable[[Float], Float], size: int) -> float:
    """Estimate the largest eigenvalue of a positive matrix, from below, by the power method."""
    vector = np.random.RandomState(0).standard_normal(size)
    for _ in range(_STEPS):
        vector = product(vector / (np.linalg.norm(vector) or 1.0))
    return float(np.linalg.norm(vector))


def _checked(K: Float, kernel: Any) -> Float:
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel!r} has values that are not finite between landmarks.")
    largest = float(np.abs(K).max())
    if float(np.abs(K - K.T).max()) > 1e-5 * largest:
        raise ValueError(f"kernel={kernel!r} is not symmetric: k(x, y) differs from k(y, x).")
    return 0.5 * (K + K.T)


def _inverse_factor(K: Float) -> tuple[Float, float]:
    """Return the inverse of the Cholesky factor and the least eigenvalue, 0 if there is none."""
    try:
        lower = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return np.zeros_like(K), 0.0
    inverse, _ = linalg.lapack.dtrtri(lower, lower=1)
    if not len(K):
        return inverse, 0.0
    return inverse, 1 / largest_eigenvalue(lambda v: inverse.T @ (inverse @ v), len(K))


def _independent(K: Float, pivot: float) -> NDArray[np.intp]:
    """Return the landmarks with more than `pivot` left unexplained by those chosen before them."""
    _, order, rank, _ = linalg.lapack.dpstrf(K, tol=pivot, lower=1)
    return np.sort(order[:rank] - 1)


def _check_positive(
    K: Float, kept: NDArray[np.intp], inverse: Float, limit: float, kernel: Any
) -> None:
    """Raise a ValueError if the matrix has eigenvalues below ``-limit``."""
    left_out = np.setdiff1d(np.arange(len(K)), kept)
    explained = inverse @ K[np.ix_(kept, left_out)]
    rest = K[np.ix_(left_out, left_out)] - explained.T @ explained
    if np.linalg.norm(rest) <= limit:
        return  # this norm bounds the negative eigenvalues as well
    values = np.linalg.eigvalsh(K)
    if values[0] < -limit:
        raise ValueError(
            f"kernel={kernel!r} is not positive semi-definite: of the {len(K)} eigenvalues "
            f"of its matrix of landmarks {int(np.sum(values < -limit))} are negative, the least "
            f"is {values[0]:.3g} and the largest {values[-1]:.3g}."
        )
