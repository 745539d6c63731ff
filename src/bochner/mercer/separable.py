"""Products of numerical eigenfunctions along the axes as features, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import convert, dense, float_dtype, is_host, result_dtype, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.engine.threads import for_each
from bochner.kernels import StandardKernel
from bochner.mercer.logarithms import products_by_logarithms
from bochner.mercer.marginals import Marginal, fit_marginals, marginal_costs
from bochner.mercer.plan import LIMITS, Levels, unit_rows
from bochner.mercer.products import Products, is_array, select_products

Floats = NDArray[np.float64]

_FEWEST_NODES, _MOST_NODES = 100, 1000
_NODES_PER_ORDER = 4
_TASK = 2**22  # bytes of features written by a task
_LONGEST = 512  # rows per task


@dataclass(frozen=True, eq=False)
class SeparablePlan:
    """All that is needed to compute the features of a row: a marginal per axis, and products."""

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
        """Return the pairs (axis, order >= 1) of every feature."""
        return self.products.multi_indices()

    def __bochner_check__(self) -> bool:
        """Whether compiled loops that follow the indices stay within the arrays."""
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

    def features(self, X: Any, normalize: bool, n_threads: int | None, budget: int | None) -> Any:
        """See :class:`Plan`. Computed in float64 on the host, with little scratch memory."""
        rows = X if is_host(X) else to_numpy(X)
        return convert(_on_host(rows, self, normalize, n_threads), X, result_dtype(X))


def fit_separable(X: NDArray[Any], kernel: StandardKernel, count: int) -> SeparablePlan:
    """Fit the `count` products of largest eigenvalue from the quantiles of every column of `X`.

    There are fewer products where the columns have few distinct values.

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
    # with few axes each reaches a high order, and a high order needs many nodes
    n_nodes = int(np.ceil(_NODES_PER_ORDER * count ** (1 / X.shape[1])))
    n_nodes = min(max(n_nodes, _FEWEST_NODES), _MOST_NODES)
    marginals = fit_marginals(X, kernel, n_nodes)
    return SeparablePlan(tuple(marginals), select_products(*marginal_costs(marginals), count))


def _on_host(X: Any, plan: SeparablePlan, normalize: bool, n_threads: int | None) -> NDArray[Any]:
    from bochner.mercer.compiled import product_tile

    result = np.empty((X.shape[0], plan.width), float_dtype(X))
    n_orders = plan.products.n_orders(len(plan.marginals))
    pairs = plan.products.positions(np.concatenate([[0], np.cumsum(n_orders)]))
    levels = Levels(plan.products, None, pairs)
    indices = plan.products.parents.astype(np.int32), pairs.astype(np.int32)

    def work(rows: slice) -> None:
        block = dense(X[rows])
        ground, tables = np.zeros(block.shape[0]), []
        for x, axis, count in zip(block.T, plan.marginals, n_orders, strict=True):
            logarithm, ratios = axis.ratios(x, int(count))
            ground += logarithm
            tables.append(ratios)
        table = np.ascontiguousarray(np.concatenate(tables, axis=1))
        values = np.empty((len(table), plan.width))
        far = ground < LIMITS[8]
        with np.errstate(over="ignore", invalid="ignore"):  # in the rows that are far
            product_tile(table, *indices, values)
            if not normalize:
                values *= np.exp(ground)[:, None]
        if far.any():
            with np.errstate(divide="ignore"):
                logs, signs = np.log(np.abs(table[far])), np.sign(table[far])
            values[far] = products_by_logarithms(levels, ground[far], logs, signs, normalize)
        result[rows] = unit_rows(np, values) if normalize else values

    height = min(max(16, _TASK // (8 * plan.width)), _LONGEST)
    for_each(work, row_slices(X.shape[0], height), n_threads)
    return result
