r"""Eigenfunctions along one axis found numerically, for kernels that are products over the axes.

For :math:`k(x, y) = \prod_j \kappa(x_j - y_j)` and a density with independent axes the
eigenfunctions are products of one-dimensional ones, as for the gaussian. Along an axis the density
is replaced by nodes :math:`t_i` at quantiles with weights :math:`w_i`; from the eigenvectors of
:math:`W^{1/2} K W^{1/2} = U L U^\top` come

.. math::

    f_n(x) = l_n^{-1/2} \sum_i \sqrt{w_i}\, U_{in}\, \kappa(x - t_i),

which are orthonormal in the Hilbert space of :math:`\kappa` whatever the nodes and weights are. So
products of them are orthonormal in the space of `k`, any number of them gives
:math:`k_{app} \le k`, and a density whose axes are not independent costs accuracy, nothing else.
These kernels change under rotations, so that the axes are those of the data as given.

Where the axes are independent few features go far; on correlated columns landmarks of the data
(Nystroem) are better, and it is well to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from bochner.kernels import StandardKernel

Float = NDArray[np.float64]

_SMALLEST_COST = 1e-12  # equal eigenvalues still cost something, as the search wants
_TIED = 1e-10  # eigenvalues closer than this part of the largest count as equal
_TINY = 1e-200


@dataclass(frozen=True, eq=False)
class Marginal:
    """The eigenfunctions along one axis.

    Parameters
    ----------
    kernel : kernel object
        Whose profile along one axis is meant, with its `gamma`.
    nodes : array of shape (m,)
        :math:`t_i`.
    coefficients : array of shape (m, r)
        :math:`l_n^{-1/2} w_i^{1/2} U_{in}`, those of the largest eigenvalue first.
    values : array of shape (r,)
        :math:`l_n`, decreasing.
    """

    kernel: StandardKernel
    nodes: Float
    coefficients: Float
    values: Float

    def features(self, x: ArrayLike, n_orders: int | None = None) -> Float:
        """``f_0, ..., f_{n_orders - 1}`` at the points `x`; all of them when None."""
        logarithm, ratios = self.ratios(x, n_orders)
        return np.exp(logarithm)[:, None] * ratios

    def ratios(self, x: ArrayLike, n_orders: int | None = None) -> tuple[Float, Float]:
        """``log f_0`` and ``f_n / f_0``, right also where ``f_0`` is too small for a number.

        `f_0` is positive everywhere: it belongs to the largest eigenvalue of a positive matrix.
        """
        x = np.asarray(x, dtype=np.float64)
        logarithms = self.kernel.log_profile(x[:, None] - self.nodes)
        top = logarithms.max(axis=1)
        scaled = np.exp(logarithms - top[:, None]) @ self.coefficients[:, :n_orders]
        ground = scaled[:, 0]
        return top + np.log(ground), scaled / ground[:, None]


def quantile_nodes(x: ArrayLike, count: int) -> tuple[Float, Float]:
    """At most `count` nodes at evenly spaced quantiles of `x`, and their weights.

    Equal nodes, as discrete data has, are one node with the weight of all.

    Parameters
    ----------
    x : array of shape (n,)
        Values along an axis.
    count : int
        Number of quantiles. With no more than `count` values the nodes are the values.

    Returns
    -------
    nodes : array of shape (m,)
        Increasing.
    weights : array of shape (m,)
        They add up to one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.marginals import quantile_nodes
    >>> quantile_nodes(np.array([0.0, 0.0, 0.0, 2.0]), 10)
    (array([0., 2.]), array([0.75, 0.25]))
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"x must hold one axis and at least one value, got shape {x.shape}.")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count!r}.")
    if x.size > count:
        x = np.quantile(x, (np.arange(count) + 0.5) / count)
    nodes, repeats = np.unique(x, return_counts=True)
    return nodes, repeats / repeats.sum()


def eigenfunctions(
    kernel: StandardKernel, nodes: ArrayLike, weights: ArrayLike, tolerance: float = 1e-10
) -> Marginal:
    r"""The eigenfunctions of the kernel along one axis under a density given by nodes.

    Parameters
    ----------
    kernel : kernel object
        With a `log_profile`, see :mod:`bochner.kernels`.
    nodes, weights : arrays of shape (m,)
        See :func:`quantile_nodes`.
    tolerance : float, default=1e-10
        Eigenvalues below this part of the largest are dropped: those functions are known only to
        rounding.

    Returns
    -------
    Marginal

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> from bochner.mercer.marginals import eigenfunctions
    >>> axis = eigenfunctions(Laplacian(gamma=0.5), [0.0, 1.0, 2.0], np.full(3, 1 / 3))
    >>> f = axis.features([0.0, 1.0])         # between nodes the kernel itself
    >>> bool(np.isclose(f[0] @ f[1], np.exp(-0.5)))
    True
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
    """The eigenvectors with a positive first one, as Perron and Frobenius promise it.

    Parts of an axis too far apart to be coupled in float64 make equal eigenvalues with any
    basis of eigenvectors. The projection of a positive vector is positive in all of the parts.
    """
    tied = int(np.sum(values > values[0] * (1 - _TIED)))
    if tied > 1:
        inside = start @ vectors[:, :tied]
        basis, _ = np.linalg.qr(np.column_stack([inside, np.eye(tied)]))
        vectors = np.hstack([vectors[:, :tied] @ basis, vectors[:, tied:]])
    vectors[:, 0] = np.maximum(np.abs(vectors[:, 0]), _TINY)  # so that it has a logarithm
    return vectors


def fit_marginals(X: ArrayLike, kernel: StandardKernel, n_nodes: int = 200) -> list[Marginal]:
    """The eigenfunctions along every column of `X`.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, dense.
    kernel : kernel object
        With a `log_profile`, see :mod:`bochner.kernels`.
    n_nodes : int, default=200
        Quantiles along an axis. An axis has at most this many functions.

    Returns
    -------
    list of d Marginals
    """
    return [eigenfunctions(kernel, *quantile_nodes(x, n_nodes)) for x in np.transpose(X)]


def marginal_costs(marginals: Sequence[Marginal]) -> tuple[list[Float], float]:
    r"""What :func:`~bochner.mercer.products.select_products` takes.

    Returns
    -------
    costs : list of arrays
        :math:`g_j(n) = \log(l_{j,0} / l_{j,n})` for n from 1.
    base : float
        :math:`\sum_j \log l_{j,0}`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> from bochner.mercer.marginals import fit_marginals, marginal_costs
    >>> costs, base = marginal_costs(fit_marginals([[0.0], [1.0]], Laplacian(gamma=1.0)))
    >>> costs[0].round(4)                     # the eigenvalues are (1 +- exp(-1)) / 2
    array([0.7719])
    """
    costs = [
        np.maximum.accumulate(np.maximum(np.log(axis.values[0] / axis.values[1:]), _SMALLEST_COST))
        for axis in marginals
    ]
    return costs, float(sum(np.log(axis.values[0]) for axis in marginals))
