r"""Real orthonormal spherical harmonics in any dimension, without angles.

With partial radii :math:`r_j^2 = x_1^2 + \dots + x_j^2`, a harmonic of :math:`S^{d-1}` is a
product of one factor per dimension,

.. math::

    H_0 = \tfrac{1}{\sqrt{2 \pi}}, \quad
    H_{m}, H_{-m} = \tfrac{1}{\sqrt \pi}\, \mathrm{Re}, \mathrm{Im}\, (x_1 + i x_2)^m, \qquad
    H_{\dots, k, l} = q^{(j, k)}_{l - k}(x_j, r_j)\, H_{\dots, k} \quad (j = 3, \dots, d),

where :math:`q_n` are the orthonormal Gegenbauer polynomials of parameter
:math:`\lambda = k + (j - 2) / 2`, made homogeneous so that nothing is divided by a radius that
may be zero at a pole:

.. math::

    q_0 = \Bigl(\tfrac{\sqrt \pi\, \Gamma(\lambda + 1/2)}{\Gamma(\lambda + 1)}\Bigr)^{-1/2}, \quad
    q_{n+1} = \frac{x\, q_n - a_n r^2 q_{n-1}}{a_{n+1}}, \quad
    a_n^2 = \frac{n (n - 1 + 2 \lambda)}{4 (n - 1 + \lambda)(n + \lambda)}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bochner.engine.places import (
    cast,
    convert,
    dense,
    is_host,
    namespace,
    result_dtype,
    wide_dtype,
)
from bochner.engine.rowwise import map_batches, row_slices
from bochner.engine.threads import for_each

Integers = NDArray[np.int64]

_HOST_BYTES = 2**22  # of a block of rows: stays in cache
_DEVICE_BYTES = 2**28


def sphere_area(d: int) -> float:
    r"""Surface area :math:`2 \pi^{d/2} / \Gamma(d/2)` of the unit sphere of :math:`R^d`."""
    return 2 * math.exp(d / 2 * math.log(math.pi) - math.lgamma(d / 2))


def n_harmonics(d: int, degree: int) -> int:
    r"""Number :math:`N(d, l) = \binom{d+l-1}{l} - \binom{d+l-3}{l-2}` of harmonics of a degree."""
    fewer = math.comb(d + degree - 3, degree - 2) if degree >= 2 else 0
    return math.comb(d + degree - 1, degree) - fewer


def largest_degree(d: int, budget: int) -> int:
    """Return the largest degree up to which there are at most `budget` harmonics.

    Examples
    --------
    >>> from bochner.margin.sphere.harmonics import largest_degree
    >>> largest_degree(3, 1024), largest_degree(10, 1024)
    (31, 4)
    """
    degree, count = 0, 1
    while (count := count + n_harmonics(d, degree + 1)) <= budget:
        degree += 1
    return degree


def harmonic_orders(d: int, max_degree: int) -> Integers:
    r"""Multi-indices :math:`(l_{d-1}, \dots, l_2, l_1)` of all harmonics up to a degree.

    They satisfy :math:`l_{d-1} \ge \dots \ge l_2 \ge |l_1|`. The first index is the degree (for
    ``d = 2``, its absolute value is); the last is signed: positive for the real part (cosine),
    negative for the imaginary part (sine) of :math:`(x_1 + i x_2)^{|l_1|}`. The multi-indices are
    sorted by degree, then by :math:`l_{d-2}`, and so on to :math:`|l_1|`; of two that differ only
    in sign, the positive one comes first. So those up to a smaller degree come first.

    Examples
    --------
    >>> from bochner.margin.sphere.harmonics import harmonic_orders
    >>> harmonic_orders(3, 1).tolist()
    [[0, 0], [1, 0], [1, 1], [1, -1]]
    """
    exact = [np.array([[m], [-m]][: 1 + (m > 0)], np.int64) for m in range(max_degree + 1)]
    for _ in range(3, d + 1):
        upto = np.vstack(exact)
        ends = np.cumsum([len(orders) for orders in exact])
        exact = [
            np.hstack([np.full((end, 1), degree), upto[:end]]) for degree, end in enumerate(ends)
        ]
    return np.vstack(exact)


def harmonics_at(
    X: Any, orders: Any, *, n_threads: int | None = None, memory_budget: int | None = None
) -> Any:
    """Evaluate chosen harmonics, orthonormal in the surface measure of the sphere.

    Factors that several of them share are computed once. The arithmetic is in float64 where the
    device supports it, because the recursion over hundreds of degrees needs the range and loses a
    few digits; the result is rounded to the dtype of `X`.

    `X` holds rows of unit norm (not checked), dense, CSR or on a device; on other rows the
    functions are the homogeneous harmonic polynomials that extend the harmonics. `orders` holds
    multi-indices as in :func:`harmonic_orders`, of shape (count, d - 1), in any order.
    `memory_budget` is the number of bytes of scratch memory, per thread on the CPU. The result has
    the shape (n, count) and the kind and floating dtype of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.harmonics import harmonics_at
    >>> pole = np.array([[0.0, 0.0, 1.0]])
    >>> (harmonics_at(pole, [[1, 0], [100, 0]]) ** 2 * 4 * np.pi).round(9)
    array([[  3., 201.]])
    """
    d = X.shape[1]
    orders = _check_orders(orders, d)
    plan, own, host = recursion_plan(orders), result_dtype(X), is_host(X)
    width = plan.width + len(orders) + 4 * d
    height = max(16, (memory_budget or (_HOST_BYTES if host else _DEVICE_BYTES)) // (8 * width))
    if host:
        result = np.empty((X.shape[0], len(orders)), own)

        def work(rows: slice) -> None:
            result[rows] = _evaluate(cast(dense(X[rows]), np.float64), plan).T

        for_each(work, row_slices(X.shape[0], height), n_threads)
        return result
    X, wide = dense(X), wide_dtype(X)
    plan = plan.at(X, wide)
    return map_batches(lambda rows: cast(_evaluate(cast(rows, wide), plan), own).T, X, height)


@dataclass(frozen=True)
class Level:
    """Contribution of one dimension: polynomials ``q``, and the products that are needed.

    The polynomials are computed for all ``k`` at once. The values of ``k`` are sorted so that
    those whose recursion goes furthest come first, and step ``n`` needs only the first few.
    """

    first: Any  # (K, 1): q_0
    steps: list[tuple[Any, Any]]  # a_n (None for n = 0) and a_{n+1}, of shape (active, 1)
    pairs: Any  # (P,): which polynomial, as a row of all of them stacked
    parents: Any  # (P,): which function of the dimension below
    width: int  # numbers of scratch memory per row of X

    def at(self, X: Any, dtype: Any) -> Level:
        def real(values: Any) -> Any:
            return None if values is None else convert(values, X, dtype)

        return Level(
            real(self.first),
            [(real(a), real(b)) for a, b in self.steps],
            convert(self.pairs, X, namespace(X).int64),
            convert(self.parents, X, namespace(X).int64),
            self.width,
        )


@dataclass(frozen=True)
class RecursionPlan:
    """Recursion from the first two dimensions through the levels above them."""

    highest: int  # power of x_1 + i x_2
    powers: Any  # (P,): which real part, or highest + 1 and which imaginary part
    factors: Any  # (P, 1)
    levels: list[Level]

    @property
    def width(self) -> int:
        return 2 * self.highest + 2 + max([level.width for level in self.levels], default=0)

    def at(self, X: Any, dtype: Any) -> RecursionPlan:
        return RecursionPlan(
            self.highest,
            convert(self.powers, X, namespace(X).int64),
            convert(self.factors, X, dtype),
            [level.at(X, dtype) for level in self.levels],
        )


def recursion_plan(orders: Integers) -> RecursionPlan:
    """Build the levels from the top down, each with only the functions that the next one needs."""
    levels: list[Level] = []
    while orders.shape[1] > 1:
        below, parents = np.unique(orders[:, 1:], axis=0, return_inverse=True)
        levels.append(_gegenbauer_level(orders, np.ravel(parents), len(below)))
        orders = below
    m = orders[:, 0]
    highest = int(np.abs(m).max())
    return RecursionPlan(
        highest,
        np.where(m < 0, highest + 1, 0) + np.abs(m),
        np.where(m == 0, 1 / math.sqrt(2 * math.pi), 1 / math.sqrt(math.pi))[:, None],
        levels[::-1],
    )


def _gegenbauer_level(orders: Integers, parents: Integers, n_below: int) -> Level:
    j = orders.shape[1] + 1
    k, n = np.abs(orders[:, 1]), orders[:, 0] - np.abs(orders[:, 1])
    values, which = np.unique(k, return_inverse=True)
    longest = np.zeros(len(values), np.int64)
    np.maximum.at(longest, which, n)
    order = np.argsort(-longest, kind="stable")
    rank = np.argsort(order)[which]
    longest, lam = longest[order], values[order] + (j - 2) / 2
    active = [int(np.count_nonzero(longest >= step)) for step in range(longest[0] + 1)]
    offsets = np.concatenate([[0], np.cumsum(active)])

    def a(step: int, count: int) -> Any:
        c = lam[:count, None]
        return np.sqrt(step * (step - 1 + 2 * c) / (4 * (step - 1 + c) * (step + c)))

    log_square = 0.5 * math.log(math.pi) + gammaln(lam + 0.5) - gammaln(lam + 1)
    return Level(
        np.exp(-0.5 * log_square)[:, None],
        [
            (a(step, count) if step else None, a(step + 1, count))
            for step, count in enumerate(active[1:])
        ],
        offsets[n] + rank,
        parents,
        int(offsets[-1]) + n_below + 2 * len(orders),
    )


def _evaluate(X: Any, plan: RecursionPlan) -> Any:
    """Return functions by rows, shape (count, n), so that the rows of `X` are contiguous."""
    xp = namespace(X)
    columns = [X[:, j] + 0.0 for j in range(X.shape[1])]  # contiguous copies
    values = _powers(xp, columns[0], columns[1], plan.highest)
    values = plan.factors * xp.take(values, plan.powers, axis=0)
    square = columns[0] ** 2 + columns[1] ** 2
    for x, level in zip(columns[2:], plan.levels, strict=True):
        square = square + x**2
        polynomials = _gegenbauer(xp, x, square, level)
        values = xp.take(polynomials, level.pairs, axis=0) * xp.take(values, level.parents, axis=0)
    return values


def _powers(xp: Any, x: Any, y: Any, highest: int) -> Any:
    """Return the real, then the imaginary parts of ``(x + i y)^m`` for m = 0 .. highest."""
    real, imaginary = [xp.ones_like(x)], [xp.zeros_like(x)]
    for _ in range(highest):
        c, s = real[-1], imaginary[-1]
        real.append(c * x - s * y)
        imaginary.append(s * x + c * y)
    return xp.stack(real + imaginary, axis=0)


def _gegenbauer(xp: Any, x: Any, square: Any, level: Level) -> Any:
    """Return all polynomials of a level, ordered by ``n``."""
    current = level.first * xp.ones_like(x)[None, :]
    polynomials, previous = [current], current
    for a, b in level.steps:
        count = b.shape[0]
        following = x * current[:count, :]
        if a is not None:
            following = following - a * square * previous[:count, :]
        previous, current = current, following / b
        polynomials.append(current)
    return xp.concat(polynomials, axis=0)


def _check_orders(orders: Any, d: int) -> Integers:
    orders = np.asarray(orders)
    if (
        orders.ndim != 2
        or orders.shape[1] != d - 1
        or orders.dtype.kind not in "iu"
        or not len(orders)
    ):
        raise ValueError(
            f"orders must be integers of shape (count, {d - 1}), at least one, for rows with {d} "
            f"columns, got {orders.dtype} of shape {orders.shape}."
        )
    orders = orders.astype(np.int64)
    sizes = np.hstack([orders[:, :-1], np.abs(orders[:, -1:])])
    wrong = ((np.diff(sizes, axis=1) > 0).any(axis=1)) | (sizes < 0).any(axis=1)
    if wrong.any():
        raise ValueError(
            "orders must be (l_{d-1}, .., l_2, l_1) with l_{d-1} >= .. >= l_2 >= |l_1|, got "
            f"{tuple(orders[np.argmax(wrong)].tolist())}."
        )
    return orders
