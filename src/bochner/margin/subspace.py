"""Principal directions of the rows, to which a search for frequencies can be restricted."""

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
    """Coordinates of a game: rows and frequencies scaled, and restricted to some directions."""

    basis: NDArray[Any] | None  # orthonormal directions, one per column; None is all
    scale: float  # factor that gives the rows a length scale of one

    def rows(self, X: Any) -> Any:
        """Convert rows to the coordinates of the game."""
        rows = as_float(X)
        rows = rows if self.basis is None else rows @ convert(self.basis, rows)
        # in row order, so that a data frame, which is stored by column, gives the same products
        return by_rows(rows * self.scale)

    def inside(self, frequencies: NDArray[Any]) -> NDArray[Any]:
        """Convert frequencies to the coordinates of the game."""
        frequencies = frequencies / frequencies.dtype.type(self.scale)
        return frequencies if self.basis is None else self.basis.T @ frequencies

    def outside(self, frequencies: Any) -> Any:
        """Convert frequencies of the game to those of the original rows."""
        if is_device(frequencies):
            inside = self.scale * frequencies
            return inside if self.basis is None else convert(self.basis, inside) @ inside
        with single_threaded_blas:  # several threads are slower on such narrow matrices
            outside = frequencies if self.basis is None else self.basis @ frequencies
        return np.ascontiguousarray(self.scale * outside, dtype=frequencies.dtype)


def directions_of_rows(
    X: Any, n_directions: int | None, random_state: RandomState
) -> NDArray[Any] | None:
    """Return principal directions of a sample of the rows, on the host; None if all are used."""
    if n_directions is None or n_directions >= X.shape[1]:
        return None
    n = int(X.shape[0])
    if n > _DIRECTION_ROWS:
        X = rows_at(X, np.sort(random_state.permutation(n)[:_DIRECTION_ROWS]))
    return to_numpy(principal_directions(X, n_directions, random_state))


def principal_directions(X: Any, n_directions: int, random_state: RandomState) -> Any:
    r"""Return an orthonormal basis of the directions in which the rows spread most.

    Subspace iteration :math:`Q \leftarrow \mathrm{qr}(X^T X Q)` from a random start with a few
    extra columns is followed by the eigenvectors within that space (Rayleigh-Ritz). This takes
    four passes over the rows, on whatever device they are, and never forms a ``d x d`` matrix. The
    rows are not centred, since a shift changes the phase of a Fourier sum but not its modulus. The
    directions, one per column, are on the device of the rows, and NumPy arrays for sparse rows and
    dask arrays.

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
    """Draw normal numbers in the dtype of results; a GPU draws its own, which is faster."""
    if not on_cuda(like):
        return convert(random_state.standard_normal(shape), like, result_dtype(like))
    import torch

    generator = torch.Generator(like.device).manual_seed(int(random_state.randint(2**31 - 1)))
    dtype = result_dtype(like)
    return torch.randn(shape, generator=generator, dtype=dtype, device=like.device)


def _orthonormal(Y: Any) -> Any:
    """Return the Q of a QR factorisation, with the signs that make it unique."""
    xp = namespace(Y)
    with single_threaded_blas:  # several threads are slower on such narrow matrices
        Q, R = xp.linalg.qr(Y)
    diagonal = xp.linalg.diagonal(R)
    return xp.where(diagonal < 0, -Q, Q)


def _largest(Q: Any, Y: Any, n_directions: int) -> Any:
    """Return the leading eigenvectors within the space of `Q`, given ``Y = X^T X Q``."""
    xp = namespace(Q)
    inner = cast(Q.T @ Y, wide_dtype(Q))
    with single_threaded_blas:
        _, vectors = xp.linalg.eigh((inner + inner.T) / 2)
    directions = Q @ cast(xp.flip(vectors, axis=1)[:, :n_directions], Q.dtype)
    # The sign of an eigenvector is arbitrary: make the sum of its entries positive.
    return xp.where(xp.sum(directions, axis=0) < 0, -directions, directions)


def _nearly_orthonormal(Y: Any) -> Any:
    """Return another basis of the same space by Cholesky factorisation in PyTorch.

    It is orthonormal up to rounding, and takes few operations on a GPU. Directions lost in
    rounding come out shorter than one, which does not matter to the next pass.
    """
    import torch

    wide = Y.double()
    gram = wide.T @ wide
    shift = _SHIFT * gram.trace() + torch.finfo(torch.float32).tiny
    lower = torch.linalg.cholesky_ex(
        gram + shift * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ).L
    return torch.linalg.solve_triangular(lower, wide.T, upper=False).T.to(Y.dtype)
