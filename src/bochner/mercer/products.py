r"""Exact selection of the `D` products of one-dimensional features of largest eigenvalue.

A product has an order for every axis, nearly all of them zero. Its eigenvalue is the product of
those of its factors. With the cost :math:`g_j(n) = \log(\lambda_{j,0} / \lambda_{j,n})` of order
:math:`n` on axis :math:`j`, the largest eigenvalue is the smallest sum of costs. The search costs
:math:`O(D \log D)`, whatever the number of axes.
"""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count as counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cost = NDArray[np.float64] | Sequence[float] | Callable[[int], float]

_HIGHEST = 2**20  # order of a Hermite function; the loops count in 32 bits


def is_array(values: Any, kind: str, *shape: int) -> bool:
    """Whether `values` is a NumPy array of this dtype kind and shape."""
    return isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == shape


@dataclass(frozen=True, eq=False)
class Products:
    """Products of one-dimensional features, largest eigenvalue first.

    A product is its parent times one more pair (axis, order >= 1), so each is computed by one
    multiplication. Parents come before their children, and the constant product () comes first.

    Examples
    --------
    >>> from bochner.mercer.products import select_products
    >>> products = select_products([lambda n: n * 1.0, lambda n: n * 1.5], 0.0, 4)
    >>> products.multi_indices()
    [(), ((0, 1),), ((1, 1),), ((0, 2),)]
    >>> products.parents
    array([-1,  0,  0,  0])
    """

    parents: NDArray[np.intp]  # the product without the last pair; -1 for ()
    axes: NDArray[np.intp]  # axis of the last pair; -1 for ()
    orders: NDArray[np.intp]  # order of the last pair; 0 for ()
    log_values: NDArray[np.float64]  # logarithms of the eigenvalues

    def __len__(self) -> int:
        return len(self.parents)

    def multi_indices(self) -> list[tuple[tuple[int, int], ...]]:
        """Return the pairs (axis, order >= 1) of every product."""
        indices: list[tuple[tuple[int, int], ...]] = []
        for parent, axis, order in zip(
            self.parents.tolist(), self.axes.tolist(), self.orders.tolist(), strict=True
        ):
            indices.append(() if parent < 0 else (*indices[parent], (axis, order)))
        return indices

    def levels(self) -> NDArray[np.intp]:
        """Return the number of pairs of every product."""
        levels = np.zeros(len(self), np.intp)
        for index, parent in enumerate(self.parents.tolist()):
            levels[index] = levels[parent] + 1 if parent >= 0 else 0
        return levels

    def positions(self, starts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Positions of the last factors in joined tables, that of axis `j` at ``starts[j]``."""
        return np.where(self.axes >= 0, starts[self.axes] + self.orders, 0)

    def n_orders(self, n_axes: int) -> NDArray[np.intp]:
        """Return the number of orders used on each axis, order 0 included."""
        highest = np.zeros(n_axes, np.intp)
        np.maximum.at(highest, self.axes[self.axes >= 0], self.orders[self.axes >= 0])
        return highest + 1

    def restrict(self, columns: NDArray[np.intp]) -> tuple[Products, NDArray[np.intp]]:
        """Return the products `columns` with the parents they need, and their new positions."""
        needed = np.zeros(len(self), bool)
        needed[columns] = True
        for index in range(len(self) - 1, 0, -1):  # children come after their parents
            if needed[index]:
                needed[self.parents[index]] = True
        new = np.cumsum(needed) - 1
        parents = self.parents[needed]
        parents = np.where(parents >= 0, new[parents], -1)
        fewer = Products(parents, self.axes[needed], self.orders[needed], self.log_values[needed])
        return fewer, new[columns]

    def __bochner_check__(self) -> bool:
        """Whether compiled loops may follow the indices: parents precede their children."""
        n = len(self.parents)
        arrays = (self.parents, self.axes, self.orders)
        if not all(is_array(array, "i", n) for array in arrays):
            return False
        if not is_array(self.log_values, "f", n):
            return False
        if n == 0:
            return True
        parents, axes, orders = (array[1:] for array in arrays)
        first = self.parents[0] == -1 and self.axes[0] == -1 and self.orders[0] == 0
        return bool(
            first
            and np.all((parents >= 0) & (parents <= np.arange(n - 1)))
            and np.all(axes >= 0)
            and np.all((orders >= 1) & (orders <= _HIGHEST))
        )


def select_products(costs: Sequence[Cost], base: float, count: int) -> Products:
    r"""Select the `count` products of largest eigenvalue, without enumerating the others.

    With the axes sorted by :math:`g_j(1)`, every product but the constant one has a single
    predecessor that costs no more: its last pair :math:`(i, n)` with the order lowered, moved to
    the axis before, or removed. A heap that receives the successors of each product it yields
    therefore yields all products in order, each once. Ties are broken by lower total degree, then
    by which product was found first. Fewer than `count` are returned where there are fewer.

    The costs :math:`g_j(1), g_j(2), \dots` of an axis are positive and increasing, given as an
    array (whose length is the number of orders) or as a function of the order; an infinite cost
    means that the order is not available. `base` is :math:`\sum_j \log \lambda_{j,0}`, the
    logarithm of the largest eigenvalue.

    Examples
    --------
    >>> from bochner.mercer.products import select_products
    >>> select_products([[1.0, 3.0], [2.0]], -0.5, 10).log_values
    array([-0.5, -1.5, -2.5, -3.5, -3.5, -5.5])
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    functions = [_as_function(cost) for cost in costs]
    first = np.array([cost(1) for cost in functions], np.float64)
    if np.isnan(first).any() or (first <= 0).any():
        raise ValueError(
            f"costs must be positive and increasing along the orders, got {first.min()} for "
            "the first order of an axis."
        )
    axes = [int(axis) for axis in np.argsort(first, kind="stable") if first[axis] < np.inf]
    functions = [functions[axis] for axis in axes]

    arrival = counter()
    # cost, degree, order of discovery; then cost of the parent, its index, axis (sorted), order
    heap: list[tuple[float, int, int, float, int, int, int]] = []

    def push(below: float, degree: int, parent: int, axis: int, order: int) -> None:
        cost = below + functions[axis](order)
        if cost < np.inf:
            heapq.heappush(heap, (cost, degree, next(arrival), below, parent, axis, order))

    parents, used, orders, values = [-1], [-1], [0], [0.0]
    if axes:
        push(0.0, 1, 0, 0, 1)
    while heap and len(parents) < count:
        cost, degree, _, below, parent, axis, order = heapq.heappop(heap)
        here = len(parents)
        parents.append(parent)
        used.append(axes[axis])
        orders.append(order)
        values.append(cost)
        push(below, degree + 1, parent, axis, order + 1)
        if axis + 1 < len(axes):
            push(cost, degree + 1, here, axis + 1, 1)
            if order == 1:
                push(below, degree, parent, axis + 1, 1)
    return Products(
        np.array(parents, np.intp),
        np.array(used, np.intp),
        np.array(orders, np.intp),
        base - np.array(values),
    )


def _as_function(cost: Cost) -> Callable[[int], float]:
    if callable(cost):
        return cost
    table = [float(value) for value in cost]
    return lambda order: table[order - 1] if order <= len(table) else np.inf


def geometric_costs(ratios: NDArray[np.float64]) -> list[Callable[[int], float]]:
    r"""Return the costs :math:`-n \log B_j` of axes with eigenvalues :math:`(1 - B_j) B_j^n`."""
    with np.errstate(divide="ignore"):
        slopes = (-np.log(np.asarray(ratios, np.float64))).tolist()
    return [partial(operator.mul, slope) for slope in slopes]
