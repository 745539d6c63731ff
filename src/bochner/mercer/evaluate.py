r"""Evaluation of products of one-dimensional features, wherever the rows are.

The Gaussian features of a row are

.. math::

    \varphi_S(x) = F(x) \prod_{(j, n) \in S} R_{j,n}(z_j), \qquad
    F = \prod_j f_{j,0}, \qquad R_{j,n} = f_{j,n} / f_{j,0},

with :math:`z = V^\top (x - \mu)`. A product is its parent times one ratio: one multiplication per
feature, after one matrix product for the :math:`z`. Directions of which only order 0 is used need
not be treated one by one: with one :math:`B` for all of them, the length of :math:`x - \mu`
outside the span of the columns of :math:`V` is enough.

As :math:`|\varphi_S| \le 1`, no product of ratios exceeds :math:`1 / F`. Where :math:`F` is too
small for that to be representable, the row is computed in float64, and beyond that in logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.engine.places import cast, namespace, wide_dtype
from bochner.engine.rowwise import map_batches, map_rows
from bochner.mercer.plan import Plan

_CHUNK = 2**26  # bytes of features reduced at once


def plan_features(
    X: Any,
    plan: Plan,
    *,
    normalize: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Return the features of rows of any kind, under a density of any kind.

    They are of the same kind, device and floating dtype as `X`, and lazy when `X` is a dask
    array. With `normalize` each row is scaled to length one; one that is all zero stays so.
    """
    options = {"normalize": normalize, "n_threads": n_threads, "memory_budget": memory_budget}
    return map_rows(_features, X, plan.width, shared={"plan": plan}, **options)


def _features(
    X: Any, plan: Plan, normalize: bool, n_threads: int | None, memory_budget: int | None
) -> Any:
    return plan.features(X, normalize, n_threads, memory_budget)


def plan_residuals(
    X: Any, plan: Plan, *, n_threads: int | None = None, memory_budget: int | None = None
) -> Any:
    """Return ``1 - |phi(x)|^2`` for every row, in float64 where it is available.

    Values that rounding makes negative are set to zero. Rounding is some 1e-15 for one Gaussian,
    and up to 1e-7 where whitening enlarges it.
    """
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return map_rows(_residuals, X, None, shared={"plan": plan}, dtype=np.float64, **options)


def _residuals(X: Any, plan: Plan, n_threads: int | None, memory_budget: int | None) -> Any:
    xp, wide = namespace(X), wide_dtype(X)

    def left(rows: Any) -> Any:
        phi = plan.features(cast(rows, wide), False, n_threads, memory_budget)
        rest = 1.0 - xp.sum(phi * phi, axis=1)
        return xp.where(rest > 0, rest, xp.zeros_like(rest))

    return map_batches(left, X, max(16, (memory_budget or _CHUNK) // (8 * plan.width)))
