r"""Numerical eigenfunctions along one axis, for kernels that are products over the axes.

For :math:`k(x, y) = \prod_j \kappa(x_j - y_j)` and a density with independent axes the
eigenfunctions are products of one-dimensional ones, as for the Gaussian. Along an axis the density
is replaced by nodes :math:`t_i` at quantiles with weights :math:`w_i`. The eigenvectors of
:math:`W^{1/2} K W^{1/2} = U L U^\top` give the functions

.. math::

    f_n(x) = l_n^{-1/2} \sum_i \sqrt{w_i}\, U_{in}\, \kappa(x - t_i),

which are orthonormal in the Hilbert space of :math:`\kappa` whatever the nodes and weights are. So
products of them are orthonormal in the space of `k`, any number of them gives
:math:`k_{app} \le k`, and a density whose axes are not independent only costs accuracy. These
kernels change under rotations, so the axes are those of the data as given.

Where the axes are independent, few features are enough; on correlated columns, landmarks of the
data (Nystroem) are better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from bochner.kernels import StandardKernel

Float = NDArray[np.float64]

_LARGE = 0.9  # part of the largest entry from which an entry counts as large
_SMALLEST_COST = 1e-12  # equal eigenvalues still cost something, as the search requires
_TIED = 1e-10  # eigenvalues this close, relative to the largest, count as equal
_TINY = 1e-200


@dataclass(frozen=True, eq=False)
class Marginal:
    """Eigenfunctions along one axis, in order of decreasing eigenvalue."""

    kernel: StandardKernel  # its profile along one axis is used, with its gamma
    nodes: Float  # (m,): t_i
    coefficients: Float  # (m, r): U_in sqrt(w_i / l_n)
    values: Float  # (r,): l_n, decreasing

    def ratios(self, x: ArrayLike, n_orders: int | None = None) -> tuple[Float, Float]:
        """Return ``log f_0`` and ``f_n / f_0``, correct even where ``f_0`` underflows in float64.

        `f_0` is positive everywhere: it belongs to the largest eigenvalue of a positive matrix.
        """
        x = np.asarray(x, dtype=np.float64)
        logarithms = self.kernel.log_profile(x[:, None] - self.nodes)
        top = logarithms.max(axis=1)
        scaled = np.exp(logarithms - top[:, None]) @ self.coefficients[:, :n_orders]
        ground = scaled[:, 0]
        return top + np.log(ground), scaled / ground[:, None]


def quantile_nodes(x: ArrayLike, count: int) -> tuple[Float, Float]:
    """Return at most `count` nodes at evenly spaced quantiles of `x`, and their weights.

    Equal nodes, as in discrete data, are merged into one node with their total weight. With no
    more than `count` values the nodes are the values.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.marginals import quantile_nodes
    >>> quantile_nodes(np.array([0.0, 0.0, 0.0, 2.0]), 10)
    (array([0., 2.]), array([0.75, 0.25]))
    """
    x = np.asarray(x, dtype=np.float64)
    if x.size > count:
        x = np.quantile(x, (np.arange(count) + 0.5) / count)
    nodes, repeats = np.unique(x, return_counts=True)
    return nodes, repeats / repeats.sum()


def eigenfunctions(
    kernel: StandardKernel, nodes: ArrayLike, weights: ArrayLike, tolerance: float = 1e-10
) -> Marginal:
    """Return the eigenfunctions of the kernel along one axis under a density given by nodes.

    Eigenvalues below `tolerance` times the largest are dropped, as their functions are known only
    to rounding.
    """
    nodes, weights = np.asarray(nodes, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    roots = np.sqrt(weights)
    K = np.exp(kernel.log_profile(nodes[:, None] - nodes))
    values, vectors = linalg.eigh(roots[:, None] * K * roots)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > tolerance * values[0]
    values, vectors = values[kept], _positive_first(values[kept], vectors[:, kept], roots)
    coefficients = roots[:, None] * vectors / np.sqrt(values)
    return Marginal(kernel, nodes, np.ascontiguousarray(coefficients), values)


def _positive_first(values: Float, vectors: Float, start: Float) -> Float:
    """Fix the signs of the eigenvectors and make the first positive (Perron and Frobenius).

    Parts of an axis too far apart to be coupled in float64 give equal eigenvalues, with an
    arbitrary basis of eigenvectors. The projection of a positive vector is positive in all parts.
    """
    tied = int(np.sum(values > values[0] * (1 - _TIED)))
    if tied > 1:
        inside = start @ vectors[:, :tied]
        basis, _ = np.linalg.qr(np.column_stack([inside, np.eye(tied)]))
        vectors = np.hstack([vectors[:, :tied] @ basis, vectors[:, tied:]])
    # The signs of the others are a convention: positive at the last of their large entries, of
    # which functions that are odd about their middle have two.
    sizes = np.abs(vectors)
    last = len(vectors) - 1 - np.argmax((sizes > _LARGE * sizes.max(axis=0))[::-1], axis=0)
    vectors = vectors * np.where(vectors[last, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    vectors[:, 0] = np.maximum(np.abs(vectors[:, 0]), _TINY)  # so that it has a logarithm
    return vectors


def fit_marginals(X: ArrayLike, kernel: StandardKernel, n_nodes: int = 200) -> list[Marginal]:
    """Return the eigenfunctions along every column of `X`, from at most `n_nodes` nodes each."""
    return [eigenfunctions(kernel, *quantile_nodes(x, n_nodes)) for x in np.transpose(X)]


def marginal_costs(marginals: Sequence[Marginal]) -> tuple[list[Float], float]:
    r"""Costs :math:`g_j(n) = \log(l_{j,0} / l_{j,n})` and the base :math:`\sum_j \log l_{j,0}`.

    They are arguments of :func:`~bochner.mercer.products.select_products`.
    """
    costs = [
        np.maximum.accumulate(np.maximum(np.log(axis.values[0] / axis.values[1:]), _SMALLEST_COST))
        for axis in marginals
    ]
    return costs, float(sum(np.log(axis.values[0]) for axis in marginals))
