"""The original map of convolutional kernel networks: centres and weights found by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from bochner.engine.places import (
    convert,
    is_device,
    is_host,
    namespace,
    to_numpy,
    wide_dtype,
)
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import default_threads, ordered_map, single_threaded_blas
from bochner.images.bumps import Bumps

Float = NDArray[np.float64]

_BATCH_BYTES, _DEVICE_BATCH_BYTES = 2**22, 2**28
_KMEANS_ROWS = 20_000


@dataclass(frozen=True)
class OptimizedMap:
    """Settings for fitting the original map.

    Parameters
    ----------
    n_pairs : int, default=100000
        Number of pairs of patches on which the kernel is compared. The papers use 300000.
    max_iter : int, default=100
        Maximum number of iterations of L-BFGS-B.

    Examples
    --------
    >>> from bochner.images.optimized import OptimizedMap
    >>> OptimizedMap(max_iter=20)
    OptimizedMap(n_pairs=100000, max_iter=20)
    """

    n_pairs: int = 100_000
    max_iter: int = 100

    def __post_init__(self) -> None:
        for name, value in (("n_pairs", self.n_pairs), ("max_iter", self.max_iter)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


def random_pairs(
    n: int, count: int, random_state: RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw pairs of different integers below `n`."""
    first = random_state.randint(n, size=count)
    return first, (first + random_state.randint(1, n, size=count)) % n


def pair_loss(
    centers: Float,
    weights: Float,
    sums: Any,
    squares: Any,
    kernel: Any,
    gamma: float,
    n_threads: int = 1,
) -> tuple[float, Float, Float]:
    r"""Mean squared error of the map on pairs of rows, and its gradient.

    .. math::

        \frac{1}{n} \sum_i \Bigl( k(u_i, u_i') - \sum_l \eta_l\, e^{-2 \gamma |u_i - w_l|^2}\,
        e^{-2 \gamma |u_i' - w_l|^2} \Bigr)^2 , \qquad k(u, u') = e^{-\gamma |u - u'|^2},

    with :math:`\gamma = 1 / (2 \sigma^2)`. A product of bumps depends on a pair through
    :math:`u + u'` (`sums`) and :math:`|u|^2 + |u'|^2` (`squares`) only, so that one matrix
    product serves both rows. The gradient is taken with respect to the centres :math:`w_l`, of
    shape (m, d), and the weights :math:`\eta_l`; both parts are returned on the host. It is
    computed where the pairs are, and does not depend on `n_threads`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.optimized import pair_loss
    >>> u = np.array([[1.0]])
    >>> loss, *slopes = pair_loss(u, np.ones(1), u + u, 2 * u[0], np.ones(1), 0.5)
    >>> loss, [float(abs(slope).max()) for slope in slopes]
    (0.0, [0.0, 0.0])
    """
    n, d = sums.shape
    xp, m = namespace(sums), len(weights)
    directions, shares = convert(4 * gamma * centers.T, sums), convert(weights, sums)
    lengths = convert(2 * (centers * centers).sum(axis=1), sums)

    def part(rows: slice) -> tuple[Any, Any, Any, Any]:
        some = sums[rows, :]
        products = some @ directions
        products -= 2 * gamma * (squares[rows][:, None] + lengths)
        products = xp.exp(products)
        missed = kernel[rows] - products @ shares
        by_weight = missed @ products
        products *= missed[:, None]
        return missed @ missed, by_weight, products.T @ some, xp.sum(products, axis=0)

    batch = _BATCH_BYTES if is_host(sums) else _DEVICE_BATCH_BYTES
    parts = ordered_map(part, row_slices(n, batch // (8 * (m + d))), n_threads)
    totals = reduce(lambda one, other: tuple(map(add, one, other)), parts)
    loss, by_weight, moved, mass = map(to_numpy, totals)
    by_center = -4 * gamma * weights[:, None] * (moved - 2 * mass[:, None] * centers)
    return float(loss) / n, 2 / n * by_center, -2 / n * by_weight


def fit_optimized(
    U: Any,
    n_maps: int,
    gamma: float,
    settings: OptimizedMap,
    random_state: RandomState,
    n_threads: int | None = None,
    like: Any = None,
) -> Bumps:
    r"""Fit the original map to random pairs of rows.

    The features are :math:`\sqrt{\eta_l}\, e^{-|u - w_l|^2 / \sigma^2}` with :math:`\eta \ge 0`.
    The optimisation starts from k-means centres and one weight for all, and runs L-BFGS-B until it
    stops or reaches the limit in `settings`. The result is a local minimum of :func:`pair_loss`,
    not necessarily the best one. There must be at least `n_maps` rows, and at least two. The loss
    is computed where the array `like` is, by default on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.images.optimized import OptimizedMap, fit_optimized
    >>> angles = np.linspace(0, 3, 50)
    >>> U = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    >>> phi = fit_optimized(U, 6, 1.0, OptimizedMap(1000), np.random.RandomState(0))(U)
    >>> kernel = np.exp(2 * (U @ U.T) - 2)
    >>> bool(abs(phi @ phi.T - kernel).max() < 0.05)
    True
    """
    n = len(U)
    first, second = random_pairs(n, settings.n_pairs, random_state)
    sums = np.empty((settings.n_pairs, U.shape[1]))
    squares, kernel = np.empty(settings.n_pairs), np.empty(settings.n_pairs)
    for rows in row_slices(settings.n_pairs, _BATCH_BYTES // (16 * U.shape[1])):
        one, other = U[first[rows]].astype(np.float64), U[second[rows]].astype(np.float64)
        sums[rows] = one + other
        squares[rows] = (one * one).sum(axis=1) + (other * other).sum(axis=1)
        kernel[rows] = np.exp(-gamma * ((one - other) ** 2).sum(axis=1))
    if is_device(like):
        sums, squares, kernel = (
            convert(p, like, wide_dtype(like)) for p in (sums, squares, kernel)
        )
    chosen = random_state.permutation(n)[: max(_KMEANS_ROWS, n_maps)]
    # so few rows are clustered in less time than it takes to wake threads
    with threadpool_limits(limits=1):
        from sklearn.cluster import MiniBatchKMeans  # late: `import bochner` is light

        means = MiniBatchKMeans(
            n_maps, n_init=1, batch_size=max(1024, 4 * n_maps), random_state=random_state
        ).fit(U[chosen].astype(np.float64))
    start = means.cluster_centers_
    n_threads = 1 if is_device(like) else n_threads or default_threads()
    size = n_maps * U.shape[1]

    def loss_of(centers: Float, weights: Float) -> tuple[float, Float, Float]:
        return pair_loss(centers, weights, sums, squares, kernel, gamma, n_threads)

    def objective(values: Float) -> tuple[float, Float]:
        loss, by_center, by_weight = loss_of(values[:size].reshape(n_maps, -1), values[size:])
        return loss, np.concatenate([by_center.ravel(), by_weight])

    # SciPy's BLAS and NumPy's would wait for each other's threads.
    with single_threaded_blas:
        # the least-squares common weight, from the parabola through 0 and 1
        at_zero, _, slope = loss_of(start, np.zeros(n_maps))
        at_one, _, _ = loss_of(start, np.ones(n_maps))
        curvature = at_one - at_zero - slope.sum()
        weight = max(0.0, -slope.sum() / (2 * curvature)) if curvature > 0 else 1.0
        solution = minimize(
            objective,
            np.concatenate([start.ravel(), np.full(n_maps, weight)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * size + [(0, None)] * n_maps,
            options={"maxiter": settings.max_iter, "ftol": 1e-10, "gtol": 1e-9},
        ).x
    return Bumps(solution[:size].reshape(n_maps, -1), 2 * gamma, np.sqrt(solution[size:]))
