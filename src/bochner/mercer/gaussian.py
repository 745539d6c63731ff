"""Features of one Gaussian density, from its mean and covariance."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bochner.engine.rowwise import row_slices
from bochner.mercer.hermite import ratio
from bochner.mercer.plan import GaussianPlan
from bochner.mercer.products import Products, geometric_costs, select_products

Floats = NDArray[np.float64]

_ZERO = 1e-12  # part of the largest variance below which the rows do not vary in a direction
_SHARE_LOSS = 1e-5  # part of the captured mass that sharing one ratio among axes may cost
_FEWEST_SHARED = 16  # number of axes below which sharing gains nothing
_TIE = 1e-9  # difference of log eigenvalues below which they count as equal
_ISOTROPIC = 0.8  # ratio of the B of axes that count as alike
_APART = 0.5  # ratio of the B of axes that count as different
_CHUNK_BYTES = 2**25


def principal_axes(covariance: Floats) -> tuple[Floats, Floats]:
    """Return the variances, largest first, and the axes, one per column.

    The largest entry of each axis is positive. Variances below 1e-12 of the largest are zero.
    """
    variances, axes = linalg.eigh(covariance)
    variances, axes = variances[::-1].copy(), axes[:, ::-1]
    variances[variances <= _ZERO * max(variances[0], 0.0)] = 0.0
    largest = np.argmax(np.abs(axes), axis=0)
    signs = np.where(axes[largest, np.arange(len(axes))] < 0, -1.0, 1.0)
    return variances, np.ascontiguousarray(axes * signs) + 0.0  # no negative zeros


def gaussian_plan(
    gamma: float, mean: Floats, variances: Floats, rotation: Floats, count: int
) -> GaussianPlan:
    """Return the plan of the `count` features of largest eigenvalue under a Gaussian density.

    `variances` are those along the axes, the columns of `rotation`, largest first. Where the rows
    vary in no direction there is only one product, and the plan has one feature.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.evaluate import plan_features
    >>> from bochner.mercer.gaussian import gaussian_plan
    >>> plan = gaussian_plan(0.5, np.zeros(2), np.ones(2), np.eye(2), 200)
    >>> phi = plan_features(np.array([[0.0, 0.0], [1.0, 1.0]]), plan)
    >>> bool(np.isclose(phi[0] @ phi[1], np.exp(-1)))
    True
    """
    ratios = np.asarray(ratio(gamma, variances))
    products = select_products(geometric_costs(ratios), float(np.sum(np.log1p(-ratios))), count)
    used = int(products.axes.max()) + 1
    kept, rest = _shared(gamma, variances, used)
    return GaussianPlan(
        gamma, mean, np.ascontiguousarray(rotation[:, :kept]), ratios[:kept], rest, products
    )


def _shared(gamma: float, variances: Floats, used: int) -> tuple[int, float]:
    """Return the number of axes to treat one by one, and the ratio shared by all others.

    The mass that order 0 with ratio B captures of an axis of variance s^2 is
    ``sqrt((1 - B^2) / (1 + 4 gamma (1 - B) s^2))``, at most ``1 - B(s^2)``. The smallest number of
    axes is kept that gives away at most 1e-5 of the mass, if that saves a tenth of the rotation.
    """
    d = len(variances)
    candidates = np.unique(np.linspace(used, d, 33).astype(int))
    for kept in candidates[(d - candidates >= _FEWEST_SHARED) & (candidates <= 0.9 * d)]:
        rest = variances[kept:]
        shared = float(ratio(gamma, rest.mean()))
        with_one = np.log1p(-shared * shared) - np.log1p(4.0 * gamma * (1.0 - shared) * rest)
        if np.sum(np.log1p(-ratio(gamma, rest)) - 0.5 * with_one) <= _SHARE_LOSS:
            return int(kept), shared
    return d, 0.0


def rerank(plan: GaussianPlan, X: Any, count: int, n_threads: int | None = None) -> GaussianPlan:
    """Select the `count` features of `plan` with the largest mean square on the rows of `X`.

    No other `count` of them capture more of the trace of the kernel matrix. Their order is kept.
    """
    moments = second_moments(plan, X, n_threads)
    best = np.sort(np.argsort(-moments, kind="stable")[:count])
    products, columns = plan.products.restrict(best)
    return replace(plan, products=products, columns=columns)


def second_moments(plan: GaussianPlan, X: Any, n_threads: int | None = None) -> Floats:
    """Return the mean square of every feature on rows on the host, computed in batches of rows."""
    total = np.zeros(plan.width)
    height = max(16, _CHUNK_BYTES // (8 * plan.width))
    for rows in row_slices(X.shape[0], height):
        block = plan.features(X[rows], False, n_threads, None)
        total += np.einsum("ij,ij->j", block, block, dtype=np.float64)
    return total / X.shape[0]


def shell(ratios: Floats, products: Products, count: int) -> tuple[int, int | None] | None:
    """Return the widths at which the shell that `count` products cut begins and ends.

    Products of nearly equal eigenvalues belong together: with r similar axes, those of total
    degree m; shells up to degree m have ``comb(r + m, m)`` products. Taking half a shell is a
    choice among equals, and much of its cost is wasted.

    `ratios` are the ``B`` of all axes, largest first, and there are more than `count` `products`.
    The result is None where no shell is cut; the end is None where it is beyond ``4 * count``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.gaussian import shell
    >>> from bochner.mercer.products import geometric_costs, select_products
    >>> ratios = np.full(10, 0.1)
    >>> products = select_products(geometric_costs(ratios), 0.0, 70)
    >>> shell(ratios, products, 40), shell(ratios, products, 66)
    ((11, 66), None)
    """
    alike = int(np.sum(ratios >= _ISOTROPIC * ratios[0])) if ratios[0] > 0 else 0
    if alike >= 2 and not np.any(ratios[alike:] > _APART * ratios[alike - 1]):
        below, degree = 1, 1
        while (above := comb(alike + degree, degree)) < count:
            below, degree = above, degree + 1
        lowest = ratios[alike - 1] ** degree
        apart = lowest > ratios[0] ** (degree + 1) and not np.any(ratios[alike:] >= lowest)
        if below < count < above and apart:
            return below, above
    values = products.log_values
    if len(values) <= count or values[count - 1] - values[count] > _TIE:
        return None
    more = select_products(geometric_costs(ratios), float(values[0]), 4 * count).log_values
    equal = np.flatnonzero(np.abs(more - values[count]) <= _TIE)
    end = int(equal[-1]) + 1
    return int(equal[0]), end if end < len(more) else None
