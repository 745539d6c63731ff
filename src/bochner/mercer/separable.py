"""Features that are products of numerical eigenfunctions along the axes, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import convert, dense, float_dtype, is_host, result_dtype, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import for_each
from bochner.kernels import StandardKernel
from bochner.mercer.evaluate import evaluate
from bochner.mercer.marginals import Marginal, fit_marginals, marginal_costs
from bochner.mercer.plan import unit_rows
from bochner.mercer.products import Products, is_array, select_products

Floats = NDArray[np.float64]

_FEWEST_NODES, _MOST_NODES = 100, 1000
_NODES_PER_ORDER = 4
_LIMIT = -600.0  # below this log F the ratios may overflow
_TASK = 2**22  # bytes of features that a task writes
_LONGEST = 512  # rows per task


@dataclass(frozen=True, eq=False)
class SeparablePlan:
    """All that is needed to compute the features of a row.

    Parameters
    ----------
    marginals : tuple of Marginal
        One per axis.
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

    def features(
        self,
        X: Any,
        *,
        normalize: bool = False,
        n_threads: int | None = None,
        memory_budget: int | None = None,
    ) -> Any:
        """The features of rows that are not lazy; :func:`~.evaluate.plan_features` takes any.

        Computed in float64 on the host, where the scratch memory is small.
        """
        rows = X if is_host(X) else to_numpy(X)
        return convert(_on_host(rows, self, normalize, n_threads), X, result_dtype(X))

    def orders(self) -> list[tuple[tuple[int, int], ...]]:
        """Every feature as its pairs (axis, order >= 1)."""
        return self.products.multi_indices()

    def __bochner_check__(self) -> bool:
        """Whether compiled loops may follow the indices, within the arrays."""
        n_axes = len(self.marginals)
        if not (isinstance(self.products, Products) and np.all(self.products.axes < n_axes)):
            return False
        return all(
            isinstance(marginal, Marginal)
            and is_array(marginal.nodes, "f", len(marginal.nodes))
            and is_array(marginal.coefficients, "f", *marginal.coefficients.shape)
            and marginal.coefficients.ndim == 2
            and len(marginal.coefficients) == len(marginal.nodes)
            and marginal.coefficients.shape[1] >= n_orders
            for marginal, n_orders in zip(
                self.marginals, self.products.n_orders(n_axes), strict=True
            )
        )


def fit_separable(X: NDArray[Any], kernel: StandardKernel, count: int) -> SeparablePlan:
    """The `count` products of the largest eigenvalue, by the quantiles of every column of `X`.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, dense.
    kernel : kernel object
        With a `log_profile`, see :mod:`bochner.kernels`.
    count : int
        Number of features; fewer come back where the columns have few distinct values.

    Returns
    -------
    SeparablePlan

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> from bochner.mercer.evaluate import plan_features
    >>> from bochner.mercer.separable import fit_separable
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> phi = plan_features(X, fit_separable(X, Laplacian(gamma=0.5), 100))
    >>> bool(np.abs(phi @ phi.T - Laplacian(gamma=0.5)(X)).max() < 0.02)
    True
    """
    # with few axes each goes to a high order, and a high order wants many nodes
    n_nodes = int(np.ceil(_NODES_PER_ORDER * count ** (1 / X.shape[1])))
    n_nodes = min(max(n_nodes, _FEWEST_NODES), _MOST_NODES)
    marginals = fit_marginals(X, kernel, n_nodes)
    return SeparablePlan(tuple(marginals), select_products(*marginal_costs(marginals), count))


def _on_host(X: Any, plan: SeparablePlan, normalize: bool, n_threads: int | None) -> NDArray[Any]:
    result = np.empty((X.shape[0], plan.width), float_dtype(X))
    n_orders = plan.products.n_orders(len(plan.marginals))

    def work(rows: slice) -> None:
        block = dense(X[rows])
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
        result[rows] = unit_rows(np, values) if normalize else values

    height = min(max(16, _TASK // (8 * plan.width)), _LONGEST)
    for_each(work, row_slices(X.shape[0], height), n_threads)
    return result


def _by_logarithms(
    plan: SeparablePlan, ground: Floats, tables: list[Floats], normalize: bool
) -> Floats:
    """Features of rows where the product of all ``f_0`` does not fit in float64."""
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
