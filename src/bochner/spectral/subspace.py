"""The principal directions of the rows, in which a search for frequencies may stay."""

from __future__ import annotations

from typing import Any

from numpy.random import RandomState

from bochner.engine.arrays import convert, namespace
from bochner.engine.operations import is_dask
from bochner.engine.summaries import second_moment_product

_OVERSAMPLING = 10
_PASSES = 4


def principal_directions(X: Any, n_directions: int, random_state: RandomState) -> Any:
    r"""An orthonormal basis of the directions in which the rows spread most.

    Subspace iteration :math:`Q \leftarrow \mathrm{qr}(X^T X Q)` from a random start: a few
    passes over the rows wherever they are, and never a ``d x d`` matrix. The rows are not
    centred: a shift turns the phase of a Fourier sum and leaves its modulus.

    Parameters
    ----------
    X : array of shape (n, d)
        Any rows the engine takes.
    n_directions : int
        Number of directions, at most ``d``.
    random_state : RandomState
        The start.

    Returns
    -------
    array of shape (d, n_directions)
        Beside the rows; NumPy for sparse rows and dask arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.spectral.subspace import principal_directions
    >>> X = np.random.RandomState(0).randn(100, 3) * [10, 1, 0.1]
    >>> principal_directions(X, 1, np.random.RandomState(0)).round(1).ravel().tolist()
    [1.0, -0.0, 0.0]
    """
    width = min(n_directions + _OVERSAMPLING, X.shape[1])
    like = X._meta if is_dask(X) else X
    start = random_state.standard_normal((X.shape[1], width))
    Q = start.astype(X.dtype) if hasattr(like, "tocsr") else convert(start, like)
    for _ in range(_PASSES):
        Q = _orthonormal(second_moment_product(X, Q))
    return Q[:, :n_directions]


def _orthonormal(Y: Any) -> Any:
    """The Q of a QR factorisation with the signs for which it is unique."""
    xp = namespace(Y)
    Q, R = xp.linalg.qr(Y)
    diagonal = xp.linalg.diagonal(R)
    return xp.where(diagonal < 0, -Q, Q)
