"""The principal directions of the rows, in which a search for frequencies may stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import (
    as_float,
    by_rows,
    cast,
    convert,
    is_dask,
    is_device,
    namespace,
    on_cuda,
    result_dtype,
    to_numpy,
    wide_dtype,
)
from bochner.engine.summaries import rows_at, second_moment_product
from bochner.engine.threads import single_threaded_blas

_DIRECTION_ROWS = 8192  # rows that the principal directions are taken from
_OVERSAMPLING = 30
_PASSES = 4
_SHIFT = 1e-13  # of a Gram matrix in float64, relative to its trace


@dataclass(frozen=True)
class Coordinates:
    """Rows and frequencies as a game sees them: scaled, in some directions, where they are."""

    basis: NDArray[Any] | None  # orthonormal directions, one per column; None is all
    scale: float  # that gives the rows a length of one

    def rows(self, X: Any) -> Any:
        """The rows as the game sees them."""
        rows = as_float(X)
        rows = rows if self.basis is None else rows @ convert(self.basis, rows)
        # by row, so that a table, which is stored by column, gives the same products
        return by_rows(rows * self.scale)

    def inside(self, frequencies: NDArray[Any]) -> NDArray[Any]:
        """Frequencies as the game sees them."""
        frequencies = frequencies / frequencies.dtype.type(self.scale)
        return frequencies if self.basis is None else self.basis.T @ frequencies

    def outside(self, frequencies: Any) -> Any:
        """Frequencies of the game for the rows as they are."""
        if is_device(frequencies):
            inside = self.scale * frequencies
            return inside if self.basis is None else convert(self.basis, inside) @ inside
        with single_threaded_blas:  # several threads are slower on such narrow matrices
            outside = frequencies if self.basis is None else self.basis @ frequencies
        return np.ascontiguousarray(self.scale * outside, dtype=frequencies.dtype)


def directions_of_rows(
    X: Any, n_directions: int | None, random_state: RandomState
) -> NDArray[Any] | None:
    """Principal directions of a sample of the rows, on the host; None where all are wanted."""
    if n_directions is None or n_directions >= X.shape[1]:
        return None
    n = int(X.shape[0])
    if n > _DIRECTION_ROWS:
        X = rows_at(X, np.sort(random_state.permutation(n)[:_DIRECTION_ROWS]))
    return to_numpy(principal_directions(X, n_directions, random_state))


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
    Q = _random_start((X.shape[1], width), like, random_state)
    between = _nearly_orthonormal if on_cuda(Q) else _orthonormal
    for _ in range(_PASSES - 2):
        Q = between(second_moment_product(X, Q))
    Q = _orthonormal(second_moment_product(X, Q))
    return _largest(Q, second_moment_product(X, Q), n_directions)


def _random_start(shape: tuple[int, int], like: Any, random_state: RandomState) -> Any:
    """Normal numbers in the dtype of results; a GPU, which draws them faster, has its own."""
    if not on_cuda(like):
        return convert(random_state.standard_normal(shape), like, result_dtype(like))
    import torch

    generator = torch.Generator(like.device).manual_seed(int(random_state.randint(2**31 - 1)))
    dtype = result_dtype(like)
    return torch.randn(shape, generator=generator, dtype=dtype, device=like.device)


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
    directions = Q @ cast(xp.flip(vectors, axis=1)[:, :n_directions], Q.dtype)
    # An eigenvector has no sign of its own: its entries shall sum to something positive.
    return xp.where(xp.sum(directions, axis=0) < 0, -directions, directions)


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
