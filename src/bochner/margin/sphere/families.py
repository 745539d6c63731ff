"""The kernel player on the sphere: families of functions, and the search for the best one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import convert, namespace, to_numpy
from bochner.engine.rowwise import row_slices
from bochner.engine.summaries import rows_at
from bochner.margin.game import Proposal, share_of_largest
from bochner.margin.sphere.harmonics import (
    harmonics_at,
    largest_degree,
    n_harmonics,
    sphere_area,
)
from bochner.margin.sphere.zonal import (
    ascend_directions,
    starting_directions,
    zonal_functions,
    zonal_scores,
)

Float = NDArray[np.float64]

_ZONAL_DEGREE = 4
_MOST_HARMONICS = 100_000
_KEEP_BYTES = 2**30
_BLOCK_ROWS = 2**13
_TIE = 1e-9  # functions whose potentials differ by less, relatively, are equally good

_STARTS = 24
_CHAINS = 16
_STEPS = 12
_SEARCH_ROWS = 4000
_NEAR = 0.9  # |cosine| above which a direction chosen before is compared with a new one
_AS_GOOD = 0.01  # share of the potential that may be lost by choosing the old one again


class HarmonicFamily:
    """All harmonics of a list, scaled to mean square one over the sphere.

    Their values on the rows are kept if they fit into the memory budget, and are computed anew
    in every round otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.families import HarmonicFamily
    >>> family = HarmonicFamily(np.eye(3), np.array([[0, 0], [1, 0], [1, 1]]))
    >>> family.propose(np.array([[0.0], [1.0], [-3.0]])).functions
    1
    """

    def __init__(self, X: Any, orders: NDArray[np.int64], **options: Any) -> None:
        self.X, self.orders, self.options = X, orders, options
        self.scale = float(np.sqrt(sphere_area(X.shape[1])))
        budget = options.get("memory_budget") or _KEEP_BYTES
        fits = 8 * X.shape[0] * len(orders) <= budget
        self.blocks = row_slices(X.shape[0], X.shape[0] if fits else _BLOCK_ROWS)
        self.kept = self._values(self.blocks[0], orders) if fits else None

    def _values(self, rows: slice, orders: Any) -> Any:
        return self.scale * harmonics_at(self.X[rows, :], orders, **self.options)

    def sums(self, A: Float) -> Float:
        """Return the sums of each function with the columns of `A`, of shape (count, k)."""
        total = np.zeros((len(self.orders), A.shape[1]))
        for rows in self.blocks:
            values = self._values(rows, self.orders) if self.kept is None else self.kept
            total += to_numpy(values.T @ convert(A[rows], values))
        return total

    def propose(self, coefficients: Float, n_wanted: int = 1) -> Proposal:
        """Return the function of largest potential, exactly; the first one if there are ties."""
        potentials = (self.sums(coefficients) ** 2).sum(axis=1)
        index = int(np.argmax(potentials >= (1 - _TIE) * potentials.max()))
        column = self.values(np.array([index]))
        return _proposal(index, column, potentials[index], coefficients)

    def values(self, chosen: NDArray[np.int64], rows: Any = None) -> Float:
        """Return values of some functions on the rows of the game, or others, on the host."""
        if rows is not None:
            values = self.scale * harmonics_at(rows, self.orders[chosen], **self.options)
            return to_numpy(values).astype(np.float64)
        if self.kept is not None:
            xp = namespace(self.kept)
            kept = xp.take(self.kept, convert(chosen, self.kept, xp.int64), axis=1)
            return to_numpy(kept).astype(np.float64)
        parts = [to_numpy(self._values(rows, self.orders[chosen])) for rows in self.blocks]
        return np.concatenate(parts).astype(np.float64)

    def describe(self, chosen: NDArray[np.int64]) -> dict[str, Any]:
        """Return the attributes of the estimator that describe some functions of the family."""
        return {
            "orders_": self.orders[chosen],
            "degrees_": np.abs(self.orders[chosen, 0]),
            "_scales": np.full(len(chosen), self.scale),
        }


class ZonalFamily:
    """Zonal functions of degree 1 to `max_degree` in all directions, of unit root mean square.

    Directions are found by a few geodesic chains, so that the best one is only the best one found.
    Functions are listed in the order in which they are chosen. A function chosen before that is
    close to the best and nearly as good is chosen again.
    """

    def __init__(self, X: Any, max_degree: int, random_state: RandomState, **options: Any) -> None:
        self.X, self.max_degree, self.random_state = X, max_degree, random_state
        self.options = options
        self.directions: Float = np.empty((X.shape[1], 0))
        self.degrees: NDArray[np.int64] = np.empty(0, np.int64)
        self.scales: Float = np.empty(0)  # factors that give each a unit root mean square
        self._warm: tuple[Float, NDArray[np.int64]] = self.directions, self.degrees

    def propose(self, coefficients: Float, n_wanted: int = 1) -> Proposal:
        """Return the best function that the chains found; its potential is a lower estimate."""
        direction, degree = self._search(coefficients)
        near = np.flatnonzero(
            (self.degrees == degree) & (np.abs(direction @ self.directions) > _NEAR)
        )
        trial = np.column_stack([direction, self.directions[:, near]])
        values = zonal_functions(self.X, trial, np.full(trial.shape[1], degree), **self.options)
        columns = to_numpy(values).astype(np.float64)
        sizes = np.sqrt((columns**2).mean(axis=0))
        scales = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 1e-10)
        columns *= scales
        potentials = ((columns.T @ coefficients) ** 2).sum(axis=1)
        again = near.size > 0 and potentials[1:].max() >= (1 - _AS_GOOD) * potentials[0]
        best = 1 + int(np.argmax(potentials[1:])) if again else 0
        index = int(near[best - 1]) if again else len(self.degrees)
        if not again:
            self.directions = np.column_stack([self.directions, direction])
            self.degrees = np.append(self.degrees, degree)
            self.scales = np.append(self.scales, scales[0])
        return _proposal(index, columns[:, best : best + 1], potentials[best], coefficients)

    def values(self, chosen: NDArray[np.int64], rows: Any = None) -> Float:
        """Return values of some functions on the rows of the game, or others, on the host."""
        directions, degrees = self.directions[:, chosen], self.degrees[chosen]
        rows = self.X if rows is None else rows
        values = zonal_functions(rows, directions, degrees, **self.options)
        return to_numpy(values).astype(np.float64) * self.scales[chosen]

    def describe(self, chosen: NDArray[np.int64]) -> dict[str, Any]:
        """Return the attributes of the estimator that describe some functions of the family."""
        return {
            "directions_": self.directions[:, chosen],
            "degrees_": self.degrees[chosen],
            "_scales": self.scales[chosen],
        }

    def _search(self, A: Float) -> tuple[Float, int]:
        X, A = self._sample(A)
        starts = starting_directions(X, A, _STARTS, self.random_state)
        every = np.arange(1, self.max_degree + 1)
        directions = np.hstack([np.repeat(starts, len(every), axis=1), self._warm[0]])
        degrees = np.concatenate([np.tile(every, starts.shape[1]), self._warm[1]])
        scores, _ = zonal_scores(X, directions, degrees, A, **self.options)
        chosen = np.argsort(-scores, kind="stable")[:_CHAINS]
        degrees = degrees[chosen]

        def score(Z: Float) -> tuple[Float, Float]:
            return zonal_scores(X, Z, degrees, A, **self.options)

        directions, scores = ascend_directions(score, directions[:, chosen], n_steps=_STEPS)
        order = np.argsort(-scores, kind="stable")
        self._warm = directions[:, order[: _CHAINS // 2]], degrees[order[: _CHAINS // 2]]
        return directions[:, order[0]], int(degrees[order[0]])

    def _sample(self, A: Float) -> tuple[Any, Float]:
        n = self.X.shape[0]
        if n <= _SEARCH_ROWS:
            return self.X, A
        index = np.sort(self.random_state.choice(n, _SEARCH_ROWS, replace=False))
        return rows_at(self.X, index), A[index]


def degree_to_search(
    d: int, max_degree: int | Literal["auto"], budget: int, *, harmonics: bool
) -> int:
    """Return the largest degree; raise a ValueError for too many functions or none."""
    if not harmonics:
        return _ZONAL_DEGREE if max_degree == "auto" else int(max_degree)
    if max_degree == "auto":
        degree = largest_degree(d, budget)
        if degree < 1:
            raise ValueError(
                f"budget={budget} is less than the {d + 1} harmonics up to degree 1 in "
                f"{d} dimensions; use a larger budget or functions='zonal'."
            )
        return degree
    degree = int(max_degree)
    count = sum(n_harmonics(d, low) for low in range(degree + 1))
    if count > _MOST_HARMONICS:
        raise ValueError(
            f"max_degree={degree} means {count} harmonics in {d} dimensions, at most "
            f"{_MOST_HARMONICS} are accepted; use a smaller degree or functions='zonal'."
        )
    return degree


def _proposal(index: int, column: Float, potential: Any, coefficients: Float) -> Proposal:
    return Proposal(index, 1, column, potential, share_of_largest(potential, coefficients))
