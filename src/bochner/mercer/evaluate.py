r"""The values of products of one-dimensional features, wherever the rows are.

A row's gaussian features are

.. math::

    \varphi_S(x) = F(x) \prod_{(j, n) \in S} R_{j,n}(z_j), \qquad
    F = \prod_j f_{j,0}, \qquad R_{j,n} = f_{j,n} / f_{j,0},

with :math:`z = V^\top (x - \mu)`. A product is its parent times one ratio: one multiplication per
feature, after one matrix product for the :math:`z`. Directions of which only order 0 is used
need not be looked at one by one: with one :math:`B` for all of them, the length of :math:`x - \mu`
outside of the columns of :math:`V` is enough.

As :math:`|\varphi_S| \le 1` no product of ratios exceeds :math:`1 / F`. Where :math:`F` is too
small for that to be representable, the row is computed in float64, and beyond that in logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import cast, namespace, wide_dtype
from bochner.engine.rowwise import map_batches, map_rows
from bochner.mercer.plan import Plan
from bochner.mercer.products import Products

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_CHUNK = 2**26  # bytes of features that are reduced at once
_NONE = np.empty(0, np.int32)


def evaluate_plain(products: Products, tables: Sequence[Any]) -> Floats:
    """The products, one column after another: what :func:`evaluate` is tested against."""
    columns: list[Any] = []
    for parent, axis, order in zip(products.parents, products.axes, products.orders, strict=True):
        if parent < 0:
            columns.append(np.ones(len(tables[0]) if len(tables) else 1))
        else:
            columns.append(columns[parent] * np.asarray(tables[axis])[:, order])
    return np.stack(columns, axis=1)


def evaluate(products: Products, tables: Sequence[Any], columns: Indices | None = None) -> Array:
    """The products of the entries of `tables`, without the factors of order 0.

    Parameters
    ----------
    products : Products
    tables : sequence over the axes of arrays of shape (n, n_orders)
        Values of every order at every row, from order 0, which is not looked at.
    columns : int array, optional
        Which products; all by default.

    Returns
    -------
    ndarray of shape (n, D)
        In the dtype of the tables.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.mercer.evaluate import evaluate
    >>> from bochner.mercer.products import select_products
    >>> products = select_products([[1.0], [1.5]], 0.0, 4)
    >>> evaluate(products, [np.array([[1.0, 2.0]]), np.array([[1.0, 5.0]])])
    array([[ 1.,  2.,  5., 10.]])
    """
    from bochner.mercer.compiled import product_tile

    tables = [np.asarray(table) for table in tables]
    if not tables:
        raise ValueError("tables must hold at least one axis, got none.")
    starts = np.concatenate([[0], np.cumsum([table.shape[1] for table in tables])])
    joined = np.ascontiguousarray(np.concatenate(tables, axis=1))
    if joined.dtype not in (np.float32, np.float64):
        joined = joined.astype(np.float64)
    pairs = np.where(products.axes >= 0, starts[products.axes] + products.orders, 0)
    chosen = _NONE if columns is None else np.asarray(columns, np.int32)
    values = np.empty(len(products), joined.dtype)
    width = len(products) if columns is None else len(chosen)
    out = np.empty((len(joined), width), joined.dtype)
    parents = products.parents.astype(np.int32)
    product_tile(joined, parents, pairs.astype(np.int32), chosen, values, out)
    return out


def plan_features(
    X: Any,
    plan: Plan,
    *,
    normalize: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """The features of rows of any kind, under a density of any kind.

    Parameters
    ----------
    X : array of shape (n, d)
        Any input the engine accepts.
    plan : GaussianPlan, UnionPlan or SeparablePlan
        A :class:`~bochner.mercer.separable.SeparablePlan` computes on the host, in float64.
    normalize : bool, default=False
        Scale each row of features to length one; a row whose features are all zero stays so.
    n_threads : int, optional
        CPU threads; by default as many as BLAS may use.
    memory_budget : int, optional
        Bytes of scratch memory on a device.

    Returns
    -------
    array of shape (n, plan.width)
        Of the same kind, device and floating dtype as `X`; lazy when `X` is a dask array. float32
        rows are computed in float64 where the features of a mixture would enlarge the rounding
        too much.
    """
    return map_rows(
        _features,
        X,
        plan.width,
        shared={"plan": plan},
        normalize=normalize,
        n_threads=n_threads,
        memory_budget=memory_budget,
    )


def _features(X: Any, plan: Plan, **options: Any) -> Any:
    return plan.features(X, **options)


def plan_residuals(
    X: Any, plan: Plan, *, n_threads: int | None = None, memory_budget: int | None = None
) -> Any:
    """``1 - |phi(x)|^2`` of every row, in float64 where there is float64.

    What rounding takes below zero counts as zero: some 1e-15 for one gaussian, up to 1e-7 where
    whitening enlarges it. Parameters as in :func:`plan_features`.
    """
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return map_rows(_residuals, X, None, shared={"plan": plan}, dtype=np.float64, **options)


def _residuals(X: Any, plan: Plan, **options: Any) -> Any:
    xp, wide = namespace(X), wide_dtype(X)

    def left(rows: Any) -> Any:
        phi = plan.features(cast(rows, wide), **options)
        rest = 1.0 - xp.sum(phi * phi, axis=1)
        return xp.where(rest > 0, rest, xp.zeros_like(rest))

    return map_batches(left, X, max(16, (options["memory_budget"] or _CHUNK) // (8 * plan.width)))
