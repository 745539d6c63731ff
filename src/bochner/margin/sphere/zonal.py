r"""Zonal functions :math:`P_l(\langle \zeta, x \rangle)`, and the search for good directions.

In many dimensions there are far too many harmonics to list. The span of those of degree `l` is
also the span of the zonal functions of that degree, which need one direction each: :math:`P_l`
is the Legendre polynomial of dimension `d`,

.. math::

    P_0 = 1, \quad P_1 = t, \quad
    (l + d - 2)\, P_{l+1} = (2 l + d - 2)\, t\, P_l - l\, P_{l-1}, \qquad P_l(1) = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import (
    convert,
    dense,
    is_host,
    item_size,
    namespace,
    result_dtype,
    to_numpy,
)
from bochner.engine.rowwise import row_slices
from bochner.engine.summaries import take_rows
from bochner.engine.threads import default_threads, ordered_map

Float = NDArray[np.float64]

_HOST_BYTES = 2**22
_DEVICE_BYTES = 2**28
_FIRST_ANGLE = 0.3
_SMALLEST = 1e-20  # a mean square below this is rounding: the function is zero on these rows


def legendre(t: Any, max_degree: int, d: int) -> Iterator[tuple[Any, Any]]:
    """Yield values and derivatives of the Legendre polynomials of dimension `d`, by degree.

    Dimension 3 gives the ordinary Legendre and 2 the Chebyshev polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.zonal import legendre
    >>> [(float(p), float(q)) for p, q in legendre(np.asarray(0.5), 2, d=3)]
    [(1.0, 0.0), (0.5, 1.0), (-0.125, 1.5)]
    """
    xp = namespace(t)
    before, before_slope = xp.ones_like(t), xp.zeros_like(t)
    yield before, before_slope
    if max_degree < 1:
        return
    value, slope = t, xp.ones_like(t)
    yield value, slope
    for degree in range(1, max_degree):
        up, back = (2 * degree + d - 2) / (degree + d - 2), degree / (degree + d - 2)
        following = up * t * value - back * before
        following_slope = up * (value + t * slope) - back * before_slope
        before, before_slope = value, slope
        value, slope = following, following_slope
        yield value, slope


def zonal_functions(
    X: Any,
    directions: Any,
    degrees: Any,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    r"""Return the functions :math:`P_{l_j}(\langle \zeta_j, x_i \rangle)`, of shape (n, m).

    The rows of `X` must have unit norm (not checked), and so must the columns of `directions`.
    `memory_budget` is the number of bytes of scratch memory, per thread on the CPU.
    """
    scan = _Scan(X, directions, degrees, n_threads, memory_budget)

    parts = list(scan.over(lambda rows: scan.functions(rows)[0]))
    return parts[0] if len(parts) == 1 else scan.xp.concat(parts, axis=0)


def zonal_scores(
    X: Any,
    directions: Any,
    degrees: Any,
    A: Any,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> tuple[Float, Float]:
    r"""Return the score of zonal functions and its gradient with respect to the directions.

    .. math::

        s(\zeta) = \sum_k \Bigl(\sum_i A_{ik} P_l(\langle \zeta, x_i \rangle)\Bigr)^2 \Big/
            \frac1n \sum_i P_l(\langle \zeta, x_i \rangle)^2,

    is the counterpart of the Fourier potential on the sphere: the squared inner product of the
    coefficients and the function, scaled to unit root mean square on the rows. A function that
    vanishes on all rows has score zero. Scores and the gradient (in the space around the sphere;
    only its tangent part matters) are float64, of shape (m,) and (d, m).

    The largest arrays made have a block of rows by the directions. Sums over rows are accumulated
    in float64, in an order that does not depend on the number of threads.
    """
    scan = _Scan(X, directions, degrees, n_threads, memory_budget)
    A = np.asarray(A, np.float64)
    A = A[:, None] if A.ndim == 1 else A
    n, kept = X.shape[0], len(scan.blocks) == 1
    coefficients = scan.put(A)
    stored: list[tuple[Any, Any]] = []

    def first(rows: slice) -> tuple[Float, Float]:
        both = scan.functions(rows)
        if kept:
            stored.append(both)
        value = both[0]
        sums = coefficients[rows, :].T @ value
        squares = scan.xp.sum(value * value, axis=0)
        return _wide(sums), _wide(squares)

    sums = np.zeros((A.shape[1], scan.m))
    squares = np.zeros(scan.m)
    for part, square in scan.over(first):
        sums += part
        squares += square
    mean = squares / n
    safe = np.where(mean > _SMALLEST, mean, np.inf)
    scores = (sums**2).sum(axis=0) / safe
    weights = scan.put(2 * sums / safe)  # (k, m)
    shrink = scan.put(2 * scores / (safe * n))

    def second(rows: slice) -> Float:
        value, slope = stored[0] if kept else scan.functions(rows)
        slope = slope * (coefficients[rows, :] @ weights - value * shrink)
        return _wide(scan.X[rows, :].T @ slope)

    gradient = np.zeros((X.shape[1], scan.m))
    for part in scan.over(second):
        gradient += part
    return scores, gradient


def starting_directions(X: Any, A: Any, count: int, random_state: RandomState) -> Float:
    """Draw directions to ascend from: rows, and differences of rows with opposite coefficients.

    Rows are drawn in proportion to the size of their coefficients, and the two rows of a
    difference from those with coefficients above and below zero in one column. The directions are
    unit vectors, one per column, about half of each kind.
    """
    A = np.asarray(A, np.float64)
    single = _draw(np.abs(A).sum(axis=1), count - count // 2, random_state)
    columns = random_state.randint(A.shape[1], size=count // 2)
    plus, minus = np.empty_like(columns), np.empty_like(columns)
    for column in np.unique(columns):
        here = columns == column
        number = int(np.count_nonzero(here))
        plus[here] = _draw(np.maximum(A[:, column], 0), number, random_state)
        minus[here] = _draw(np.maximum(-A[:, column], 0), number, random_state)
    rows = take_rows(X, np.concatenate([single, plus, minus]))
    rows = dense(rows).astype(np.float64)
    ends = len(single), len(single) + len(plus)
    differences = rows[ends[0] : ends[1]] - rows[ends[1] :]
    norms = np.linalg.norm(differences, axis=1, keepdims=True)
    # two equal rows have no difference: take the row itself
    differences = np.where(norms > 1e-6, differences, rows[ends[0] : ends[1]])
    return _unit(np.vstack([rows[: ends[0]], differences]).T)


def ascend_directions(
    score: Callable[[Float], tuple[Float, Float]],
    directions: Float,
    *,
    n_steps: int,
) -> tuple[Float, Float]:
    r"""Ascend along geodesics from all directions at once, each with its own step.

    Every direction turns by an angle towards the tangent gradient,
    :math:`\zeta \cos \theta + u \sin \theta`. If the score rises, the turn is kept and the angle
    grows; otherwise it is undone and the angle shrinks, so that no score ever falls. `score` maps
    directions ``(d, m)`` to scores ``(m,)`` and gradients ``(d, m)``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.sphere.zonal import ascend_directions
    >>> north = lambda z: (z[2], np.zeros_like(z) + np.array([[0.0], [0.0], [1.0]]))
    >>> z, s = ascend_directions(north, np.array([[1.0], [0.0], [0.0]]), n_steps=30)
    >>> bool(s[0] > 0.999)
    True
    """
    z = np.array(directions, np.float64)
    best, slope = score(z)
    angles = np.full(z.shape[1], _FIRST_ANGLE)
    for _ in range(n_steps):
        tangent = slope - z * (z * slope).sum(axis=0)
        size = np.linalg.norm(tangent, axis=0)
        heading = tangent / np.where(size > 0, size, 1)
        trial = _unit(z * np.cos(angles) + heading * np.sin(angles))
        trial_score, trial_slope = score(trial)
        better = trial_score > best
        z = np.where(better, trial, z)
        slope = np.where(better, trial_slope, slope)
        best = np.where(better, trial_score, best)
        angles = np.where(better, np.minimum(1.5 * angles, 1.0), 0.4 * angles)
    return z, best


def _unit(Z: Float) -> Float:
    return Z / np.linalg.norm(Z, axis=0)


def _draw(weights: Float, count: int, random_state: RandomState) -> NDArray[np.intp]:
    total = weights.sum()
    p = weights / total if total > 0 else None
    return random_state.choice(len(weights), size=count, p=p)


def _wide(array: Any) -> Float:
    return to_numpy(array).astype(np.float64)


class _Scan:
    """Zonal functions of blocks of rows, on the host or on the device of the rows."""

    def __init__(
        self,
        X: Any,
        directions: Any,
        degrees: Any,
        n_threads: int | None,
        memory_budget: int | None,
    ) -> None:
        directions, degrees = np.asarray(directions), np.asarray(degrees)
        self.d, self.m = X.shape[1], directions.shape[-1]
        self.X = X
        self.host, self.xp, self.dtype = is_host(X), namespace(X), result_dtype(X)
        # Directions of one degree are contiguous, so that each degree's recursion is on a slice.
        order = np.argsort(degrees, kind="stable")
        self.sorted = bool((order == np.arange(self.m)).all())
        self.back = self.put(np.argsort(order), self.xp.int64)
        self.Z = self.put(directions[:, order])
        values, starts = np.unique(degrees[order], return_index=True)
        ends = [*starts[1:].tolist(), self.m]
        groups = zip(values.tolist(), starts.tolist(), ends, strict=True)
        self.groups = [(degree, slice(start, end)) for degree, start, end in groups]
        budget = memory_budget or (_HOST_BYTES if self.host else _DEVICE_BYTES)
        height = max(64, budget // (6 * max(1, self.m) * item_size(X)))
        self.blocks = row_slices(X.shape[0], height)
        self.n_threads = (n_threads or default_threads()) if self.host else 1

    def put(self, values: Any, dtype: Any = None) -> Any:
        """Copy numbers from the host to the device of the rows."""
        return convert(values, self.X, self.dtype if dtype is None else dtype)

    def over(self, work: Callable[[slice], Any]) -> Iterator[Any]:
        if not self.host:
            return map(work, self.blocks)
        return ordered_map(work, self.blocks, self.n_threads)

    def functions(self, rows: slice) -> tuple[Any, Any]:
        """Return values and derivatives, in the given order of the directions."""
        t = self.X[rows, :] @ self.Z
        values, slopes = [], []
        for degree, columns in self.groups:
            *_, (value, slope) = legendre(t[:, columns], degree, self.d)
            values.append(value)
            slopes.append(slope)
        return self._joined(values), self._joined(slopes)

    def _joined(self, parts: list[Any]) -> Any:
        whole = parts[0] if len(parts) == 1 else self.xp.concat(parts, axis=1)
        return whole if self.sorted else self.xp.take(whole, self.back, axis=1)
