"""Plans: all that is needed to compute features, and the order of their computation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import is_host
from bochner.mercer.products import Products, is_array

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Below this log F the ratios may overflow; keyed by the number of bytes of a float.
LIMITS = {4: -60.0, 8: -600.0}


class Plan(Protocol):
    """All that is needed to compute the features of rows, under a density of any kind."""

    @property
    def width(self) -> int:
        """The number of features."""

    @property
    def log_values(self) -> Floats:
        """Logarithms of the eigenvalues of the features."""

    def orders(self) -> list[Any]:
        """Return the factors that each feature is a product of."""

    def features(self, X: Any, normalize: bool, n_threads: int | None, budget: int | None) -> Any:
        """Compute features of rows that are not lazy; `budget` is scratch memory on a device."""


@dataclass(frozen=True, eq=False)
class GaussianPlan:
    """All that is needed to compute the features of a row under one Gaussian."""

    gamma: float
    mean: Floats
    rotation: Floats  # (d, m), orthonormal columns: the axes that are treated one by one
    ratios: Floats  # (m,): the B of each
    rest_ratio: float  # the one B of the other d - m directions
    products: Products  # over the m axes
    columns: Indices | None = None  # the products that are features; None means all

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.products) if self.columns is None else len(self.columns)

    @property
    def n_rest(self) -> int:
        """The number of directions that share one ratio."""
        return self.rotation.shape[0] - self.rotation.shape[1]

    @property
    def rest_weight(self) -> float:
        """Amount subtracted from ``log F`` per squared length in the other directions."""
        return self.gamma * (1.0 - self.rest_ratio)

    @property
    def log_values(self) -> Floats:
        """Logarithms of the eigenvalues of the features."""
        values = self.products.log_values
        return values if self.columns is None else values[self.columns]

    @property
    def log_constant(self) -> float:
        """The logarithm of ``F`` at the mean."""
        rest = self.n_rest * math.log1p(-(self.rest_ratio**2))
        return 0.25 * (float(np.sum(np.log1p(-self.ratios * self.ratios))) + rest)

    def first(self, count: int) -> GaussianPlan:
        """Return the plan of the first `count` products; all products must be features."""
        p = self.products
        fewer = Products(p.parents[:count], p.axes[:count], p.orders[:count], p.log_values[:count])
        return replace(self, products=fewer)

    def orders(self) -> list[tuple[tuple[int, int], ...]]:
        """Return the pairs (axis, order >= 1) of every feature."""
        indices = self.products.multi_indices()
        return indices if self.columns is None else [indices[k] for k in self.columns]

    def features(self, X: Any, normalize: bool, n_threads: int | None, budget: int | None) -> Any:
        """See :class:`Plan`."""
        if is_host(X):
            from bochner.mercer import host

            return host.features(X, self, normalize, n_threads)
        from bochner.mercer import device

        return device.features(X, self, normalize, budget)

    def __bochner_check__(self) -> bool:
        """Whether compiled loops that follow the indices stay within the arrays."""
        d, m = self.rotation.shape
        n = len(self.products)
        columns = np.arange(n) if self.columns is None else self.columns
        return bool(
            is_array(self.rotation, "f", d, m)
            and m <= d
            and is_array(self.mean, "f", d)
            and is_array(self.ratios, "f", m)
            and isinstance(self.products, Products)
            and np.all(self.products.axes < m)
            and is_array(columns, "i", columns.size)
            and np.all((columns >= 0) & (columns < n))
        )


class Levels:
    """Products grouped by their number of pairs, each group computed from the one before.

    `pairs` gives the position of the last factor of each product in a table of all ratios, and
    `columns` the products that are wanted (None means all).
    """

    def __init__(self, products: Products, columns: Indices | None, pairs: Indices) -> None:
        level = products.levels()
        order = np.argsort(level, kind="stable")
        place = np.empty(len(products), np.intp)  # position of a product within its level
        self.steps: list[tuple[Indices, Indices]] = []
        for number in range(int(level.max()) + 1):
            members = np.flatnonzero(level == number)
            place[members] = np.arange(len(members))
            if number:
                self.steps.append((place[products.parents[members]], pairs[members]))
        where = np.argsort(order, kind="stable")  # position of each product in the joined groups
        self.columns = where if columns is None else where[columns]

    def __call__(
        self, xp: Any, root: Any, table: Any, join: Callable[[Any, Any], Any], index: Any
    ) -> Any:
        values = [root]
        for parents, pairs in self.steps:
            above = xp.take(values[-1], index(parents), axis=1)
            values.append(join(above, xp.take(table, index(pairs), axis=1)))
        return xp.take(xp.concat(values, axis=1), index(self.columns), axis=1)


def unit_rows(xp: Any, features: Any) -> Any:
    """Scale rows to length one; rows of zeros stay zero."""
    # divide by the largest entry first, so that squares neither overflow nor vanish
    features = features / _positive(xp, xp.max(xp.abs(features), axis=1, keepdims=True))
    squares = xp.sum(features * features, axis=1, keepdims=True)
    return features / _positive(xp, xp.sqrt(squares))


def _positive(xp: Any, values: Any) -> Any:
    return xp.where(values > 0, values, xp.ones_like(values))
