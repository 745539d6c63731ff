"""The principal directions of the rows, in which a search for frequencies may stay."""

from __future__ import annotations

from typing import Any

from numpy.random import RandomState

from bochner.engine.places import (
    cast,
    convert,
    is_dask,
    namespace,
    on_cuda,
    result_dtype,
    wide_dtype,
)
from bochner.engine.summaries import second_moment_product
from bochner.engine.threads import single_threaded_blas

_OVERSAMPLING = 30
_PASSES = 4
_SHIFT = 1e-13  # of a Gram matrix in float64, relative to its trace


def principal_directions(X: Any, n_directions: int, random_state: RandomState) -> Any:
    r"""An orthonormal basis of the directions in which the rows spread most.

    Subspace iteration :math:`Q \leftarrow \mathrm{qr}(X^T X Q)` from a random start with a few
    columns to spare, then the eigenvectors within that space (Rayleigh-Ritz): four passes over
    the rows wherever they are, and never a ``d x d`` matrix. The rows are not centred: a shift
    turns the phase of a Fourier sum and leaves its modulus. The directions, one per column, are
    where the rows are; NumPy for sparse rows and dask arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.subspace import principal_directions
    >>> X = np.random.RandomState(0).randn(100, 3) * [10, 1, 0.1]
    >>> principal_directions(X, 1, np.random.RandomState(0)).round(1).ravel().tolist()
    [1.0, -0.0, 0.0]
    """
    width = min(n_directions + _OVERSAMPLING, X.shape[1])
    like = X._meta if is_dask(X) else X
    start = random_state.standard_normal((X.shape[1], width))
    Q = convert(start, like, result_dtype(like))
    between = _nearly_orthonormal if on_cuda(Q) else _orthonormal
    for _ in range(_PASSES - 2):
        Q = between(second_moment_product(X, Q))
    Q = _orthonormal(second_moment_product(X, Q))
    return _largest(Q, second_moment_product(X, Q), n_directions)


def _orthonormal(Y: Any) -> Any:
    """The Q of a QR factorisation with the signs for which it is unique."""
    xp = namespace(Y)
    with single_threaded_blas:  # several threads are slower on such narrow matrices
        Q, R = xp.linalg.qr(Y)
    diagonal = xp.linalg.diagonal(R)
    return xp.where(diagonal < 0, -Q, Q)


def _largest(Q: Any, Y: Any, n_directions: int) -> Any:
    """Eigenvectors of the largest eigenvalues within the space of `Q`, given ``Y = X^T X Q``."""
    xp = namespace(Q)
    inner = cast(Q.T @ Y, wide_dtype(Q))
    with single_threaded_blas:
        _, vectors = xp.linalg.eigh((inner + inner.T) / 2)
    vectors = xp.flip(vectors, axis=1)[:, :n_directions]
    # An eigenvector has no sign of its own: its entries shall sum to something positive.
    vectors = xp.where(xp.sum(vectors, axis=0) < 0, -vectors, vectors)
    return Q @ cast(vectors, Q.dtype)


def _nearly_orthonormal(Y: Any) -> Any:
    """Another basis of the same space by a Cholesky factorisation, PyTorch; Q but for rounding.

    Few operations for a GPU. Directions lost in rounding come out shorter than one, which the
    next pass does not mind.
    """
    import torch

    wide = Y.double()
    gram = wide.T @ wide
    shift = _SHIFT * gram.trace() + torch.finfo(torch.float32).tiny
    lower = torch.linalg.cholesky_ex(
        gram + shift * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ).L
    return torch.linalg.solve_triangular(lower, wide.T, upper=False).T.to(Y.dtype)
