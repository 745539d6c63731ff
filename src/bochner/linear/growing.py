"""Columns that arrive a few at a time, and the Cholesky factor of their Gram matrix."""

from __future__ import annotations

from typing import Any, Self

from bochner.engine.inverse import cholesky, solve_triangular
from bochner.engine.places import namespace, zeros


class GrowingColumns:
    """Columns appended block by block, in an allocation that doubles when it is full.

    At first there is room for `capacity` columns.
    """

    def __init__(self, n_rows: int, capacity: int = 0) -> None:
        self.n_rows, self.capacity, self.n_columns = n_rows, capacity, 0
        self.room: Any = None  # all columns, followed by zeros as room for more

    @property
    def array(self) -> Any:
        """All columns, of shape (n, D): a view, stored column by column."""
        return self.room[:, : self.n_columns]

    def append(self, columns: Any) -> Self:
        """Append `columns`, of shape (n, p); `room` is the same object until it grows."""
        before, after = self.n_columns, self.n_columns + columns.shape[1]
        if self.room is None or after > self.room.shape[1]:
            old, double = self.room, 0 if self.room is None else 2 * self.room.shape[1]
            shape = (max(after, double, self.capacity), self.n_rows)
            self.room = zeros(shape, columns, columns.dtype).T
            if old is not None:
                self.room[:, :before] = old[:, :before]
        self.room[:, before:after] = columns
        self.n_columns = after
        return self


class GrowingFactor:
    r"""Cholesky factor of a positive definite matrix that grows by rows and columns.

    .. math::

        L = \begin{pmatrix} L_{11} & 0 \\ L_{21} & L_{22} \end{pmatrix}, \qquad
        L_{21} = A_{21} L_{11}^{-\top}, \quad
        L_{22} L_{22}^\top = A_{22} - L_{21} L_{21}^\top :

    Adding `p` rows and columns to `D` costs O(D^2 p), a new factor O(D^3). In NumPy a matrix that
    is not positive definite raises LinAlgError, and nothing is changed. `ridge` is added to the
    diagonal of the first matrix, in place with `overwrite`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear.growing import GrowingFactor
    >>> factor = GrowingFactor(np.array([[4.0]]))
    >>> factor.append(np.array([[2.0], [5.0]])).lower
    array([[2., 0.],
           [1., 2.]])
    """

    def __init__(self, matrix: Any, ridge: Any = 0.0, *, overwrite: bool = False) -> None:
        self.lower = cholesky(matrix, ridge, overwrite=overwrite)

    @property
    def size(self) -> int:
        """Number of rows and columns so far."""
        return int(self.lower.shape[0])

    @property
    def dtype(self) -> Any:
        """Dtype of the entries."""
        return self.lower.dtype

    @property
    def pivots(self) -> Any:
        """Remainder of each row given the rows before it; negative where a device has failed."""
        roots = namespace(self.lower).linalg.diagonal(self.lower)
        return roots * abs(roots)

    def append(self, columns: Any) -> Self:
        """Append the last columns of the larger matrix, of shape ``(D + p, p)``."""
        before, after = self.size, int(columns.shape[0])
        above, corner = columns[:before, :], columns[before:, :]
        left = solve_triangular(self.lower, above).T
        right = cholesky(corner - left @ left.T)
        # stored column by column, as LAPACK takes it
        lower = zeros((after, after), columns, columns.dtype).T
        lower[:before, :before], lower[before:, :before] = self.lower, left
        lower[before:, before:] = right
        self.lower = lower
        return self

    def solve(self, B: Any) -> Any:
        """Return the solution of the equations for right-hand sides `B`, of shape (D, k)."""
        return solve_triangular(self.lower, solve_triangular(self.lower, B), transposed=True)


class ExtendedFactor:
    """A factor extended by rows and columns, whose blocks stay where they are.

    This takes less memory than :meth:`GrowingFactor.append`, for a matrix that grows once, by
    columns of which `above` holds the first rows and `corner` the new ones.
    """

    def __init__(self, factor: GrowingFactor, above: Any, corner: Any) -> None:
        self._first = factor
        self._above = solve_triangular(factor.lower, above)
        self._last = GrowingFactor(corner - self._above.T @ self._above, overwrite=True)

    @property
    def size(self) -> int:
        """Number of rows and columns."""
        return self._first.size + self._last.size

    @property
    def dtype(self) -> Any:
        """Dtype of the entries."""
        return self._last.dtype

    @property
    def pivots(self) -> Any:
        """Remainder of each row given the rows before it."""
        return namespace(self._above).concat([self._first.pivots, self._last.pivots])

    def solve(self, B: Any) -> Any:
        """Return the solution of the equations for right-hand sides `B`, of shape (D, k)."""
        before, first = self._first.size, self._first.lower
        top = solve_triangular(first, B[:before, :])
        low = self._last.solve(B[before:, :] - self._above.T @ top)
        top = solve_triangular(first, top - self._above @ low, transposed=True)
        return namespace(B).concat([top, low], axis=0)
