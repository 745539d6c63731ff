"""Mean, covariance and higher moments of the rows for shrinkage, in parts that can be merged.

Every part holds its moments about its own mean, so that merging (Chan, Golub and LeVeque) loses
nothing to cancellation, whatever the order and the size of the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bochner.engine.places import by_rows, cast, namespace, to_numpy, wide_dtype
from bochner.engine.rowwise import reduce_rows, row_slices

Floats = NDArray[np.float64]

_BATCH_BYTES = 2**25


@dataclass(frozen=True, eq=False)
class Moments:
    r"""Moments of rows about their mean, with :math:`c_i = x_i - \bar x`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.moments import moments
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    >>> both = moments(X[:1]).merge(moments(X[1:]))
    >>> both.mean, np.allclose(both.covariance(), np.cov(X.T, bias=True))
    (array([2., 2.]), True)
    """

    count: int
    mean: Floats  # (d,)
    scatter: Floats  # (d, d): sum of c_i c_i^T
    third: Floats  # (d,): sum of |c_i|^2 c_i
    fourth: float  # sum of |c_i|^4

    def about(self, point: Floats) -> tuple[Floats, Floats, float]:
        """Return the scatter, third and fourth moment about another point."""
        shift = point - self.mean
        square, trace = float(shift @ shift), float(np.trace(self.scatter))
        turned = self.scatter @ shift
        scatter = self.scatter + self.count * np.outer(shift, shift)
        third = self.third - 2.0 * turned - (trace + self.count * square) * shift
        fourth = (
            self.fourth
            - 4.0 * float(shift @ self.third)
            + 4.0 * float(shift @ turned)
            + 2.0 * square * trace
            + self.count * square * square
        )
        return scatter, third, fourth

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together."""
        count = self.count + other.count
        mean = self.mean + (other.mean - self.mean) * (other.count / count)
        one, two = self.about(mean), other.about(mean)
        return Moments(count, mean, one[0] + two[0], one[1] + two[1], one[2] + two[2])

    def variance(self) -> float:
        """Return the variance of all entries of the rows, as used by ``gamma="scale"``."""
        centred = self.mean - self.mean.mean()
        total = float(np.trace(self.scatter)) / self.count + float(centred @ centred)
        return total / len(self.mean)

    def covariance(self, shrinkage: float | Literal["auto"] | None = None) -> Floats:
        r"""Return the covariance, shrunk towards a multiple of the identity.

        It is :math:`(1 - a)\, S + a\, \tfrac{\mathrm{tr} S}{d} I`, with `a` the given number or
        zero for None. For ``"auto"`` it is the estimate of Ledoit and Wolf where there are fewer
        rows than columns, and zero otherwise.
        """
        S = self.scatter / self.count
        if shrinkage is None:
            return S
        if shrinkage == "auto":
            shrinkage = self.ledoit_wolf() if self.count < len(S) else 0.0
        S = (1.0 - shrinkage) * S
        S[np.diag_indices_from(S)] += shrinkage * np.trace(self.scatter) / self.count / len(S)
        return S

    def ledoit_wolf(self) -> float:
        r"""Return the shrinkage of least expected squared error, estimated from the same rows.

        It is :math:`a = \min(1, b^2 / d^2)` with
        :math:`b^2 = n^{-2} \sum_i \| c_i c_i^\top - S \|_F^2` and
        :math:`d^2 = \| S - \tfrac{\mathrm{tr} S}{d} I \|_F^2`, after Ledoit and Wolf (2004).
        """
        S = self.scatter / self.count
        square = float(np.sum(S * S))
        spread = square - float(np.trace(S)) ** 2 / len(S)
        noise = (self.fourth / self.count - square) / self.count
        return min(1.0, max(0.0, noise) / spread) if spread > 0 else 0.0


def moments(X: Any) -> Moments:
    """Compute the moments of the rows of `X`, wherever they are, in one pass and in float64.

    Sparse rows are not made dense, and the blocks of a dask array stay on the workers.
    """
    total: Moments | None = reduce_rows(_of_rows, X, merge=_merge)
    if total is None:
        raise ValueError("Found an array with no rows; at least one row is required.")
    return total


def _of_rows(X: Any) -> Moments | None:
    if not X.shape[0]:
        return None
    if sparse.issparse(X):
        return _of_sparse(X)
    height = max(1, _BATCH_BYTES // (8 * X.shape[1]))
    return reduce(
        Moments.merge, (_of_dense(X[rows, :]) for rows in row_slices(X.shape[0], height))
    )


def _merge(one: Moments | None, other: Moments | None) -> Moments | None:
    return one.merge(other) if one and other else one or other


def _of_dense(rows: Any) -> Moments:
    xp, centred = namespace(rows), by_rows(cast(rows, wide_dtype(rows)))
    mean = xp.mean(centred, axis=0)
    centred = centred - mean[None, :]
    squares = xp.sum(centred * centred, axis=1)
    return Moments(
        rows.shape[0],
        _double(mean),
        _double(centred.T @ centred),
        _double(squares @ centred),
        float(squares @ squares),
    )


def _double(array: Any) -> Floats:
    return to_numpy(array).astype(np.float64, copy=False)


def _of_sparse(X: Any) -> Moments:
    X, n = X.tocsr().astype(np.float64), X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ mean) + mean @ mean
    scatter = (X.T @ X).toarray() - n * np.outer(mean, mean)
    third = X.T @ squares - squares.sum() * mean
    return Moments(n, mean, scatter, third, float(squares @ squares))
