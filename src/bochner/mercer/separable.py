"""Features that are products of numerical eigenfunctions along the axes, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bochner.engine.arrays import convert
from bochner.engine.operations import is_dask, is_device
from bochner.engine.summaries import to_numpy
from bochner.engine.threads import default_threads, ordered_map
from bochner.kernels import StandardKernel
from bochner.mercer.evaluate import evaluate
from bochner.mercer.marginals import Marginal, fit_marginals, marginal_costs
from bochner.mercer.products import Products, select_products

Floats = NDArray[np.float64]

_FEWEST_NODES, _MOST_NODES = 100, 1000
_NODES_AN_ORDER = 4
_LIMIT = -600.0  # below this log F the ratios may overflow
_TASK = 2**22  # bytes of features a task writes
_LONGEST = 512  # rows a task


@dataclass(frozen=True, eq=False)
class SeparablePlan:
    """All that is needed to compute the features of a row.

    Parameters
    ----------
    marginals : tuple of Marginal
        One an axis.
    products : Products
        Over the axes.
    """

    marginals: tuple[Marginal, ...]
    products: Products

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.products)

    @property
    def log_values(self) -> Floats:
        """Logarithms of the eigenvalues of the features."""
        return self.products.log_values

    def orders(self) -> list[tuple[tuple[int, int], ...]]:
        """Every feature as its pairs (axis, order >= 1)."""
        return self.products.multi_indices()


def fit_separable(X: ArrayLike, kernel: StandardKernel, count: int) -> SeparablePlan:
    """The `count` products of the largest eigenvalue, by the quantiles of every column of `X`.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, dense.
    kernel : kernel object
        See :func:`bochner.mercer.marginals.log_profile`.
    count : int
        Number of features; fewer come back where the columns have few distinct values.

    Returns
    -------
    SeparablePlan

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> from bochner.mercer.separable import fit_separable, separable_features
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> phi = separable_features(X, fit_separable(X, Laplacian(gamma=0.5), 100))
    >>> bool(np.abs(phi @ phi.T - Laplacian(gamma=0.5)(X)).max() < 0.02)
    True
    """
    X = np.asarray(X, dtype=np.float64)
    # with few axes each goes to a high order, and a high order wants many nodes
    n_nodes = int(np.ceil(_NODES_AN_ORDER * count ** (1 / X.shape[1])))
    n_nodes = min(max(n_nodes, _FEWEST_NODES), _MOST_NODES)
    marginals = fit_marginals(X, kernel, n_nodes)
    return SeparablePlan(tuple(marginals), select_products(*marginal_costs(marginals), count))


def separable_features(
    X: Any,
    plan: SeparablePlan,
    *,
    normalize: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """The features of rows of any kind, computed in float64 on the host.

    Parameters
    ----------
    X : array of shape (n, d)
        Any input the engine accepts; rows on a device are copied to the host.
    plan : SeparablePlan
    normalize : bool, default=False
        Scale each row of features to length one; a row whose features are all zero stays so.
    n_threads : int, optional
        CPU threads; by default as many as BLAS may use.
    memory_budget : int, optional
        Not used: the scratch memory is small.

    Returns
    -------
    array of shape (n, plan.width)
        Of the same kind, device and floating dtype as `X`; lazy when `X` is a dask array.
    """
    if is_dask(X):
        return _on_cluster(X, plan, normalize)
    if is_device(X):
        values = _on_host(to_numpy(X), plan, normalize, n_threads)
        return convert(values, X, _device_dtype(X))
    return _on_host(X, plan, normalize, n_threads)


def _device_dtype(X: Any) -> Any:
    from bochner.engine.arrays import namespace, wide_dtype

    xp = namespace(X)
    narrow = X.dtype == xp.float32 or str(X.dtype).endswith("float16")
    return xp.float32 if narrow else wide_dtype(X)


def _on_host(X: Any, plan: SeparablePlan, normalize: bool, n_threads: int | None) -> NDArray[Any]:
    dtype = np.float32 if X.dtype in (np.float32, np.float16) else np.float64
    result = np.empty((X.shape[0], plan.width), dtype)
    n_orders = plan.products.n_orders(len(plan.marginals))

    def work(rows: slice) -> None:
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        ground, tables = np.zeros(block.shape[0]), []
        for x, axis, count in zip(block.T, plan.marginals, n_orders, strict=True):
            logarithm, ratios = axis.ratios(x, int(count))
            ground += logarithm
            tables.append(ratios)
        far = ground < _LIMIT
        with np.errstate(over="ignore", invalid="ignore"):  # in the rows that are far
            values = evaluate(plan.products, tables)
            if not normalize:
                values *= np.exp(ground)[:, None]
        if far.any():
            values[far] = _by_logarithms(plan, ground[far], [t[far] for t in tables], normalize)
        result[rows] = _unit_rows(values) if normalize else values

    height = min(max(16, _TASK // (8 * plan.width)), _LONGEST)
    tasks = [slice(first, first + height) for first in range(0, X.shape[0], height)]
    for _ in ordered_map(work, tasks, n_threads or default_threads()):
        pass
    return result


def _by_logarithms(
    plan: SeparablePlan, ground: Floats, tables: list[Floats], normalize: bool
) -> Floats:
    """Features of rows where the product of all ``f_0`` is no number of the machine."""
    products = plan.products
    log, sign = np.empty((2, len(ground), len(products)))
    log[:, 0], sign[:, 0] = 0.0 if normalize else ground, 1.0
    for index in range(1, len(products)):
        parent, factor = products.parents[index], tables[products.axes[index]]
        factor = factor[:, products.orders[index]]
        with np.errstate(divide="ignore"):
            log[:, index] = log[:, parent] + np.log(np.abs(factor))
        sign[:, index] = sign[:, parent] * np.sign(factor)
    if normalize:
        log -= log.max(axis=1, keepdims=True)  # the constant product has a finite one
    return sign * np.exp(log)


def _unit_rows(values: Floats) -> Floats:
    # by the largest first: the squares of the others are then numbers of the machine
    top = np.abs(values).max(axis=1, keepdims=True)
    values = values / np.where(top > 0, top, 1.0)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(norms > 0, norms, 1.0)


def _on_cluster(X: Any, plan: SeparablePlan, normalize: bool) -> Any:
    import dask

    from bochner.engine.cluster import _one_block_of_columns, _result_dtype, _result_meta

    X = _one_block_of_columns(X)
    dtype = _result_dtype(X)
    return X.map_blocks(
        _block_features,
        plan=dask.delayed(plan, pure=True),  # once in the graph, not once a block
        normalize=normalize,
        chunks=(X.chunks[0], (plan.width,)),
        dtype=dtype,
        meta=_result_meta(X, dtype),
    )


def _block_features(block: Any, plan: SeparablePlan, normalize: bool) -> Any:
    # one thread: the blocks themselves run side by side
    return separable_features(block, plan, normalize=normalize, n_threads=1)
