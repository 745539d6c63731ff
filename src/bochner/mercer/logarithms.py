"""Features of rows so far out that the ratios of their features do not fit in float64."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bochner.engine.rowwise import row_slices
from bochner.mercer.hermite import hermite_log_ratios, log_ground
from bochner.mercer.plan import GaussianPlan, Levels, unit_rows

Floats = NDArray[np.float64]

_SCRATCH = 2**25  # bytes
_FURTHEST = 1e120  # coordinates are clipped here, where nothing is left of the kernel


def by_logarithms(plan: GaussianPlan, Z: Floats, rest: Floats, normalize: bool) -> Floats:
    """Return features of rows with coordinates `Z`; `rest` is subtracted from ``log F``.

    `rest` accounts for the directions without coordinates. With `normalize` each row is scaled to
    length one; ``F``, which cancels, is then left out.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.gaussian import gaussian_plan
    >>> from bochner.mercer.logarithms import by_logarithms
    >>> plan = gaussian_plan(0.5, np.zeros(1), np.ones(1), np.eye(1), 3)
    >>> by_logarithms(plan, np.array([[1e9]]), np.zeros(1), normalize=True).round(3)
    array([[0., 0., 1.]])
    """
    products = plan.products
    n_orders = products.n_orders(plan.rotation.shape[1])
    axes, highest = np.flatnonzero(n_orders > 1), int(n_orders.max(initial=1))
    rank = np.zeros(len(n_orders) + 1, np.intp)
    rank[axes] = np.arange(len(axes))
    levels = Levels(products, plan.columns, rank[products.axes] * highest + products.orders)
    result = np.empty((len(Z), plan.width))
    height = _SCRATCH // (16 * (len(products) + len(axes) * highest + plan.width))
    for here in row_slices(len(Z), height):
        z = np.clip(Z[here], -_FURTHEST, _FURTHEST)
        tables = hermite_log_ratios(z[:, axes], plan.gamma, plan.ratios[axes], highest)
        logs, signs = (table.reshape(len(z), -1) for table in tables)
        ground = np.sum(log_ground(z, plan.gamma, plan.ratios), axis=1) - rest[here]
        ground += 0.25 * plan.n_rest * math.log1p(-(plan.rest_ratio**2))
        values = products_by_logarithms(levels, ground, logs, signs, normalize)
        result[here] = unit_rows(np, values) if normalize else values
    return result


def products_by_logarithms(
    levels: Levels, ground: Floats, logs: Floats, signs: Floats, normalize: bool
) -> Floats:
    """Compute products by sums of logarithms and products of signs.

    The constant product is ``exp(ground)``. With `normalize` that factor is left out, and the
    largest product of each row is one.
    """
    root = np.zeros((len(ground), 1)) if normalize else ground[:, None]
    log = levels(np, root, logs, np.add, np.asarray)
    sign = levels(np, np.ones((len(ground), 1)), signs, np.multiply, np.asarray)
    if normalize:
        top = log.max(axis=1, keepdims=True)
        log -= np.where(np.isfinite(top), top, 0.0)
    return sign * np.exp(log)
