r"""A mixture of Gaussians as density: several families of eigenfunctions, made orthogonal.

The features of one component, :math:`f^{(k)}_n` of :mod:`bochner.mercer.hermite`, are an
orthonormal basis of the kernel's Hilbert space `H` whatever the component is. The features of
several components can be combined in two ways:

- weighted, :math:`\sqrt{\pi_k} f^{(k)}_n`, as Mukuta and Harada do. The sum over all features is
  the kernel, but any finite part of it counts several times what components share;
- whitened by their Gram matrix in `H`, which projects onto their joint span and does not depend on
  the weights. This is what ``density="mixture"`` does.

The Gram matrix is made of overlaps of one-dimensional features, which are integrals of Hermite
functions. With :math:`g(x, t) = (4b / \pi)^{1/4} e^{-2b (x - t)^2}` the kernel is
:math:`e^{-b (x - y)^2} = \int g(x, t) g(y, t) dt`, so that :math:`u \mapsto \int g(\cdot, t) u(t)
dt` is an isometry from :math:`L_2` onto `H`; it takes the Hermite functions of the scale
:math:`a` about the component's mean to the component's features,

.. math::

    f_n = \int g(\cdot, t) \sqrt a\, h_n(a (t - \mu)) dt, \qquad
    a^2 = 4 b \frac{1 - B}{1 + B}, \qquad
    O_{mn} = \int \sqrt{a_1 a_2}\, h_m(a_1 (t - \mu_1))\, h_n(a_2 (t - \mu_2)) dt.

There is also a recurrence for `O` from closed-form values (the tests compare), but it loses all
digits at orders of about 60; the trapezoidal rule for this integral is exact to rounding at any
order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn import config_context

from bochner.engine.places import as_array, cast
from bochner.mercer.gaussian import principal_axes
from bochner.mercer.hermite import scaled_ratios
from bochner.mercer.products import Products

Float = NDArray[np.float64]
Orders = NDArray[np.intp]

_MARGIN = 9.0  # this far beyond its turning point a Hermite function is below 1e-17
_NEGLIGIBLE = 1e-12  # variances below this part of the largest count as zero
_FLOOR = 1e-6  # part of the mean variance added to keep the likelihood of a component bounded
_BATCH = 2**21  # numbers in one batch of overlaps


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians that are diagonal in shared axes."""

    center: Float  # (d,): the mean of the rows
    rotation: Float  # (d, d): the axes, one per column; coordinates are (X - center) @ rotation
    weights: Float  # (K,): pi_k, which sum to one
    means: Float  # (K, d): of the components, in these coordinates
    variances: Float  # (K, d): of the components along the axes

    def __len__(self) -> int:
        return len(self.weights)


def fit_mixture(X: Any, n_mixture: int, random_state: RandomState) -> Mixture:
    """Fit a :class:`Mixture` to the rows of `X`.

    The axes are the principal axes of the rows about their k-means centres, which gave a smaller
    error than the principal axes of the rows themselves on clusters that are not round. The
    components are those of scikit-learn's ``GaussianMixture`` in these axes. A mixture that has
    not converged is as valid as any other, so no warning is issued. There are fewer than
    `n_mixture` components when there are fewer distinct rows. A single component has the mean and
    the principal axes of the rows.
    """
    from sklearn.mixture import GaussianMixture

    X = cast(as_array(X), np.float64)
    if not 1 <= n_mixture <= len(X):
        raise ValueError(
            f"n_mixture must be from 1 to the number of rows, {len(X)}, got {n_mixture!r}."
        )
    center = X.mean(axis=0)
    Z = X - center
    labels, n_clusters = _clusters(Z, n_mixture, random_state)
    means = np.array([Z[labels == k].mean(axis=0) for k in range(n_clusters)])
    scatter = Z - means[labels]
    _, rotation = principal_axes(scatter.T @ scatter)
    Z, means = Z @ rotation, means @ rotation
    if n_clusters == 1:
        weights, variances = np.ones(1), Z.var(axis=0, keepdims=True)
    else:
        weights = np.bincount(labels) / len(Z)
        floor = _FLOOR * Z.var(axis=0).mean()
        spread = np.array([Z[labels == k].var(axis=0) for k in range(n_clusters)])
        model = GaussianMixture(
            n_clusters,
            covariance_type="diag",
            reg_covar=floor,
            weights_init=weights / weights.sum(),
            means_init=means,
            precisions_init=1 / (spread + floor),
            random_state=random_state,
        )
        # The rows are on the host, so array API dispatch is not needed.
        with warnings.catch_warnings(), config_context(array_api_dispatch=False):
            warnings.simplefilter("ignore")
            model.fit(Z)
        weights, means = model.weights_, model.means_
        variances = np.maximum(model.covariances_ - floor, 0.0)
    variances[variances < _NEGLIGIBLE * variances.max()] = 0.0
    return Mixture(center, rotation, weights, means, variances)


def _clusters(Z: Float, count: int, random_state: RandomState) -> tuple[NDArray[Any], int]:
    """Return labels of the rows, counted from 0, and the number of k-means clusters found."""
    from sklearn.cluster import KMeans

    if count == 1 or not np.ptp(Z, axis=0).any():
        return np.zeros(len(Z), dtype=np.intp), 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than clusters
        labels = KMeans(count, n_init=1, random_state=random_state).fit(Z).labels_
    present, labels = np.unique(labels, return_inverse=True)
    return labels, len(present)


def overlaps(gamma: float, B1: ArrayLike, B2: ArrayLike, shift: ArrayLike, n_orders: int) -> Float:
    r"""Return the inner products in `H` of the one-dimensional features of two components.

    .. math:: O_{mn} = \langle f^{(1)}_m, f^{(2)}_n \rangle_H, \qquad
              f^{(1)}_m = \sum_n O_{mn} f^{(2)}_n

    `B1` and `B2` are the ratios of the components, below 1, and `shift` is
    :math:`\mu_2 - \mu_1`; the three are broadcast. The result has shape
    ``(..., n_orders, n_orders)`` and an error of about 1e-14 in every entry.

    Examples
    --------
    >>> from bochner.mercer.mixtures import overlaps
    >>> overlaps(0.5, 0.3, 0.5, 1.0, 2).round(4)
    array([[ 0.8024, -0.5723],
           [ 0.4503,  0.4588]])
    """
    B1, B2, shift = np.broadcast_arrays(
        *(np.asarray(values, dtype=np.float64) for values in (B1, B2, shift))
    )
    shape = B1.shape
    a1, a2 = (np.sqrt(4 * gamma * (1 - B) / (1 + B)).ravel() for B in (B1, B2))
    delta = shift.ravel()
    reach = np.sqrt(2 * n_orders - 1) + _MARGIN  # in space and in frequency, in units of a
    low = np.maximum(-reach / a1, delta - reach / a2)
    width = np.maximum(np.minimum(reach / a1, delta + reach / a2) - low, 0.0)
    # The trapezoidal rule is exact to rounding once its frequency is beyond the integrand's.
    n_points = 2 + int(np.ceil((width * reach * (a1 + a2)).max(initial=0.0) / (2 * np.pi)))
    result = np.empty((delta.size, n_orders, n_orders))
    size = max(1, _BATCH // (n_points * n_orders))
    for begin in range(0, delta.size, size):
        part = slice(begin, begin + size)
        t = low[part, None] + width[part, None] * np.linspace(0, 1, n_points)
        one = _hermite_functions(a1[part, None] * t, n_orders)
        other = _hermite_functions(a2[part, None] * (t - delta[part, None]), n_orders)
        steps = np.sqrt(a1 * a2)[part] * width[part] / (n_points - 1)
        result[part] = steps[:, None, None] * (one @ other.swapaxes(1, 2))
    return result.reshape(*shape, n_orders, n_orders)


def _hermite_functions(x: Float, n_orders: int) -> Float:
    r"""Orthonormal Hermite functions :math:`h_0, \dots` of `x` (r, p), shape (r, n_orders, p).

    .. math:: h_0 = \pi^{-1/4} e^{-x^2 / 2}, \qquad
              h_{n+1} = \sqrt{\tfrac{2}{n + 1}}\, x h_n - \sqrt{\tfrac{n}{n + 1}}\, h_{n-1}
    """
    result = np.empty((x.shape[0], n_orders, x.shape[1]))
    # h_0 underflows far out where later orders do not.
    logarithm = -0.5 * x**2 / np.log(2)
    power = np.floor(logarithm)
    ground = np.pi**-0.25 * np.exp2(logarithm - power)
    for n, (g, exponent) in enumerate(scaled_ratios(np.sqrt(2) * x, 1.0, n_orders)):
        result[:, n] = np.ldexp(ground * g, np.maximum(power + exponent, -5000).astype(np.intc))
    return result


def ground_overlap(gamma: float, B1: ArrayLike, B2: ArrayLike, shift: ArrayLike) -> Float:
    r"""Return the overlap of order zero with order zero, in closed form.

    .. math::

        O_{00} = \frac{((1 - B_1^2)(1 - B_2^2))^{1/4}}{w^{1/2}}
            \exp\Bigl(-\frac{b (1 - B_1)(1 - B_2) (\mu_2 - \mu_1)^2}{w}\Bigr),
        \qquad w = 1 - B_1 B_2
    """
    B1, B2, shift = (np.asarray(values, dtype=np.float64) for values in (B1, B2, shift))
    w = 1 - B1 * B2
    scale = ((1 - B1**2) * (1 - B2**2)) ** 0.25 / np.sqrt(w)
    return scale * np.exp(-gamma * (1 - B1) * (1 - B2) * shift**2 / w)


def union_gram(gamma: float, ratios: Float, means: Float, orders: Sequence[Orders]) -> Float:
    r"""Return the Gram matrix in `H` of the features of all components together.

    The feature of component `k` with orders :math:`n_1, \dots, n_d` is a product over axes, and
    so is the inner product of two such features. The block of a component with itself is the
    identity.

    `ratios` and `means` have shape (K, d), and `orders` are K arrays of shape (D_k, d) with the
    orders of the features of each component. The result is positive semi-definite to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.mixtures import union_gram
    >>> orders = [np.array([[0, 0], [1, 0]]), np.array([[0, 0]])]
    >>> ratios, means = np.full((2, 2), 0.3), np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> union_gram(0.5, ratios, means, orders).round(4)
    array([[1.    , 0.    , 0.764 ],
           [0.    , 1.    , 0.5606],
           [0.764 , 0.5606, 1.    ]])
    """
    places = [slice(*pair) for pair in pairwise(np.cumsum([0, *map(len, orders)]))]
    gram = np.eye(sum(map(len, orders)))
    present = [k for k, part in enumerate(orders) if len(part)]
    pairs = list(combinations(present, 2))
    if not pairs:
        return gram
    first, second = np.array(pairs).T
    shifts = means[second] - means[first]
    highest = np.max([orders[k].max(axis=0) for k in present], axis=0)
    rest = highest == 0  # axes that no feature uses: a factor for the whole block
    ground = ground_overlap(gamma, ratios[first], ratios[second], shifts)[:, rest].prod(axis=1)
    shapes = [(len(orders[i]), len(orders[j])) for i, j in pairs]
    blocks = [np.full(shape, scale) for shape, scale in zip(shapes, ground, strict=True)]
    for axis in np.flatnonzero(~rest):
        B1, B2, shift = ratios[first, axis], ratios[second, axis], shifts[:, axis]
        tables = overlaps(gamma, B1, B2, shift, highest[axis] + 1)
        for (i, j), block, table in zip(pairs, blocks, tables, strict=True):
            block *= table[orders[i][:, axis]][:, orders[j][:, axis]]
    for (i, j), block in zip(pairs, blocks, strict=True):
        gram[places[i], places[j]] = block
        gram[places[j], places[i]] = block.T
    return gram


def order_matrix(products: Products, n_axes: int) -> Orders:
    """Return the order of every product along every axis, of shape (D, n_axes)."""
    orders = np.zeros((len(products), n_axes), dtype=np.intp)
    for index, parent in enumerate(products.parents.tolist()):
        if parent >= 0:
            orders[index] = orders[parent]
            orders[index, products.axes[index]] = products.orders[index]
    return orders


def share_features(log_values: Sequence[Float], weights: Float, count: int) -> list[int]:
    r"""Number of features per component among those of largest :math:`\pi_k \lambda^{(k)}_n`.

    This ranks features by what they capture on average over the mixture. On clusters of unequal
    sizes it left a smaller mean residual than :math:`\sqrt{\pi_k} \lambda`, whose spectral error
    was often slightly smaller. `log_values` holds those of each component, decreasing.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.mixtures import share_features
    >>> values = np.log([0.5, 0.25, 0.125])
    >>> share_features([values, values], np.array([0.8, 0.2]), 4)
    [3, 1]
    """
    with np.errstate(divide="ignore"):
        logarithms = np.concatenate(
            [values + np.log(weight) for values, weight in zip(log_values, weights, strict=True)]
        )
    owners = np.repeat(np.arange(len(weights)), [len(values) for values in log_values])
    chosen = owners[np.argsort(-logarithms, kind="stable")[:count]]
    return np.bincount(chosen, minlength=len(weights)).tolist()


def whitening(gram: Float, tolerance: float = 1e-8) -> Float:
    r"""Return the matrix `W` that makes features with this Gram matrix orthonormal.

    .. math:: G = U \operatorname{diag}(e) U^T, \qquad W = U \operatorname{diag}(e^{-1/2}) U^T

    This is the `W` that changes the features least, so that each column of the result still
    corresponds to the feature it was made from, and it does not depend on the basis of
    eigenvectors. Eigenvalues below `tolerance` times the largest, whose directions are known only
    to rounding, are dropped. In that case there are fewer columns, and `W` is
    :math:`U \operatorname{diag}(e^{-1/2})` of the other eigenvalues.
    """
    values, vectors = linalg.eigh(gram)
    kept = values > tolerance * values[-1]
    roots = vectors[:, kept] / np.sqrt(values[kept])
    if kept.all():
        return roots @ vectors.T
    roots = roots[:, ::-1]
    largest = roots[np.argmax(np.abs(roots), axis=0), np.arange(roots.shape[1])]
    return np.ascontiguousarray(roots * np.sign(largest))
