r"""From the kernel matrix of the landmarks to the matrix that makes its rows features.

With :math:`K = U \mathrm{diag}(e) U^\top` any `R` with :math:`R R^\top = U \mathrm{diag}(1 / e)
U^\top` gives features :math:`K(x, Z) R` of the same inner products: rotations of each other. The
one taken here is (upper) triangular, the transposed inverse of the Cholesky factor of `K`: it
takes a fraction of the time of eigenvectors, it is unique, so that places and dtypes agree, and a
product with it costs half of one with a full matrix. Where eigenvalues are too small to be known,
the others give a trapezoid in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Float = NDArray[np.float64]

_STEPS = 20  # of the power method
_CLOSE = 2.0  # times the floor: too close to be told by it
_NEGATIVE = 100.0  # times the floor of float64: what rounding does not do to an eigenvalue


@dataclass(frozen=True)
class Normalization:
    """`R`, of as many columns as there are directions, and what it was made from."""

    matrix: Float
    largest: float  # eigenvalue
    least: float  # eigenvalue that was kept


def normalize(K: Float, epsilon: float, kernel: Any = None) -> Normalization:
    """The normalization of a kernel matrix, without eigenvalues below ``epsilon m e_1``.

    A ValueError where the matrix is not one of a kernel; `kernel` is for its message.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.nystroem.normalization import normalize
    >>> normalize(np.array([[4.0, 4.0], [4.0, 4.0]]), 1e-16).matrix
    array([[0.25],
           [0.25]])
    """
    K = _checked(K, kernel)
    try:
        lower = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return _from_eigenvectors(K, epsilon, kernel)
    inverse, _ = linalg.lapack.dtrtri(lower, lower=1)
    size = len(K)
    largest = largest_eigenvalue(lambda v: K @ v, size)
    least = 1 / largest_eigenvalue(lambda v: inverse.T @ (inverse @ v), size)
    if least <= _CLOSE * floor(size, largest, epsilon):
        return _from_eigenvectors(K, epsilon, kernel)
    return Normalization(np.ascontiguousarray(inverse.T), largest, least)


def floor(size: int, largest: float, epsilon: float) -> float:
    """What an eigenvalue must exceed: the rounding of numbers of a precision of `epsilon`."""
    return float(epsilon * size * max(largest, 0.0))


def largest_eigenvalue(product: Callable[[Float], Float], size: int) -> float:
    """Of a positive matrix, by the power method: nearly, and never too large."""
    vector = np.random.RandomState(0).standard_normal(size)
    for _ in range(_STEPS):
        vector = product(vector / np.linalg.norm(vector))
    return float(np.linalg.norm(vector))


def _checked(K: Float, kernel: Any) -> Float:
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel!r} has values that are not finite between landmarks.")
    largest = float(np.abs(K).max())
    if float(np.abs(K - K.T).max()) > 1e-5 * largest:
        raise ValueError(f"kernel={kernel!r} is not symmetric: k(x, y) differs from k(y, x).")
    return 0.5 * (K + K.T)


def _from_eigenvectors(K: Float, epsilon: float, kernel: Any) -> Normalization:
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    size, largest = len(K), float(values[0])
    rounding = floor(size, largest, np.finfo(np.float64).eps)
    limit = max(_NEGATIVE * rounding, 1e-6 * max(largest, 0.0))
    if values[-1] < -limit:
        raise ValueError(
            f"kernel={kernel!r} is not positive semi-definite: of the {len(values)} eigenvalues "
            f"of its matrix of landmarks {int(np.sum(values < -limit))} are negative, the least "
            f"is {values[-1]:.3g} and the largest {values[0]:.3g}."
        )
    kept = values > floor(size, largest, epsilon)
    root = vectors[:, kept] / np.sqrt(values[kept])
    if kept.any():
        root = linalg.rq(root, mode="r", check_finite=False)
        signs = np.copysign(1.0, root[np.arange(-root.shape[1], 0), np.arange(root.shape[1])])
        root = root * signs
    least = float(values[kept][-1]) if kept.any() else 0.0
    return Normalization(np.ascontiguousarray(root), largest, least)
