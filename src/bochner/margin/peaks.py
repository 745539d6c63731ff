"""Chains that climb a potential, and the distinct peaks among the points where they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.random import RandomState

from bochner.engine import tiles
from bochner.engine.places import cast, convert, namespace

Potential = Callable[[Any], tuple[Any, Any]]

_FIRST_MOVE = 0.05  # of the median chain, relative to its length
_GROWTH, _SHRINKAGE = 1.5, 0.4  # of a step size after success and failure
_MOST_POINTS = 1024  # from which one program of a GPU kernel can choose


def ascend_potential(
    potential: Potential,
    starts: Any,
    *,
    n_steps: int,
    first_move: float = _FIRST_MOVE,
    temperature: float = 0.0,
    longest: Any = None,
    random_state: RandomState | None = None,
) -> tuple[Any, Any]:
    r"""Search for peaks of a potential with parallel chains (the paper's Algorithm 1).

    Every chain moves along the gradient, :math:`w \leftarrow w + \eta \nabla v(w)`, with a step
    size of its own, which grows after a move uphill and shrinks after any other move, which is
    undone. The first step is such that the median chain moves by `first_move` of its length;
    nothing else has to be tuned to the scale of the data. With a `temperature`, noise of that
    multiple of the gradient step is added, and no move is undone (Langevin dynamics).

    `potential` maps points of shape ``(d, m)`` to ``v`` of shape ``(m,)`` and its gradient
    ``(d, m)``. Points beyond the norm `longest` are brought back to it. The best point of each
    chain is returned, with its potential. The host never waits for a device unless `potential`
    does, or there is a temperature.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.peaks import ascend_potential
    >>> hill = lambda w: (-((w - 2) ** 2).sum(axis=0), -2 * (w - 2))
    >>> points, values = ascend_potential(hill, np.array([[1.0, -1.0]]), n_steps=30)
    >>> bool(abs(points - 2).max() < 1e-3)
    True
    """
    if temperature and random_state is None:
        raise ValueError("a temperature needs a random_state for its noise.")
    xp = namespace(starts)
    points = starts
    values, slopes = potential(points)
    best, highest = points, values
    norms = xp.sort(xp.linalg.vector_norm(points, axis=0))
    paces = xp.sort(xp.linalg.vector_norm(slopes, axis=0))
    middle = norms.shape[0] // 2
    pace = xp.where(paces[middle] > 0, paces[middle], 1 + 0 * paces[middle])  # flat: stay there
    steps = first_move * norms[middle] / pace + 0 * values
    for _ in range(n_steps):
        move = steps * slopes
        if temperature and random_state is not None:
            noise = convert(random_state.standard_normal(tuple(points.shape)), points)
            size = xp.linalg.vector_norm(move, axis=0) / points.shape[0] ** 0.5
            move = move + temperature * size * noise
        ahead = cast(points + move, points.dtype)
        if longest is not None:
            length = xp.linalg.vector_norm(ahead, axis=0)
            ahead = ahead * (longest / xp.maximum(length, 0 * length + longest))
        new_values, new_slopes = potential(ahead)
        up = new_values > values
        steps = xp.where(up, _GROWTH * steps, _SHRINKAGE * steps)
        if temperature:
            points, values, slopes = ahead, new_values, new_slopes
            better = values > highest
            best, highest = xp.where(better, points, best), xp.where(better, values, highest)
        else:
            points, slopes = xp.where(up, ahead, points), xp.where(up, new_slopes, slopes)
            values = xp.where(up, new_values, values)
    return (best, highest) if temperature else (points, values)


def climb_in_tiles(
    rows: Any,
    A: Any,
    starts: Any,
    *,
    n_steps: int,
    longest: Any,
    band: Any,
    memory_budget: int | None,
    n_threads: int | None,
    n_games: int = 1,
) -> tuple[Any, Any] | None:
    """Run :func:`ascend_potential` on the Fourier potential in few GPU kernels.

    Returns None where they do not run. Several games have their chains, coefficients and bands
    side by side.
    """
    from bochner.engine import device

    how = {"first_move": _FIRST_MOVE, "growth": _GROWTH, "shrinkage": _SHRINKAGE}
    return device.climb_potential(
        rows,
        A,
        starts,
        band=band,
        longest=longest,
        memory_budget=memory_budget,
        n_steps=n_steps,
        n_games=n_games,
        **how,
    )


def peaks_and_rest(
    points: Any, values: Any, n_peaks: int, apart: float, n_left: int
) -> tuple[Any, Any]:
    """Return the points of :func:`distinct_peaks`, and the highest of the others."""
    return peaks_and_rest_of_games(points, values, n_peaks, apart, n_left, 1)[0]


def peaks_and_rest_of_games(
    points: Any, values: Any, n_peaks: int, apart: float, n_left: int, n_games: int
) -> list[tuple[Any, Any]]:
    """Return :func:`peaks_and_rest` of each game; all games have equally many points in turn."""
    m = int(points.shape[1]) // n_games
    if m <= _MOST_POINTS and tiles.run(points):
        from bochner.engine.tiles import peaks

        both = peaks.peaks_and_rest(points, values, n_peaks, apart, n_left, n_games)
        return [(both[0][k, ...], both[1][k, ...]) for k in range(n_games)]
    xp, found = namespace(points), []
    for k in range(n_games):
        own, heights = points[:, k * m : (k + 1) * m], values[k * m : (k + 1) * m]
        best = distinct_peaks(own, heights, n_peaks, apart)
        others = xp.argsort(-_without(xp, heights, best), stable=True)
        found.append((xp.take(own, best, axis=1), xp.take(own, others[:n_left], axis=1)))
    return found


def distinct_peaks(points: Any, values: Any, count: int, apart: float) -> Any:
    r"""Return positions of the highest points, none within `apart` of another or its mirror image.

    :math:`w` and :math:`-w` give the same cosine and sine. The highest remaining point is taken
    repeatedly and its neighbours are skipped; if none are left, neighbours are taken after all,
    so that there are always `count` points, which must be at most ``m``. The host does not wait
    for a device.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.margin.peaks import distinct_peaks
    >>> points = np.array([[1.0, 1.01, -1.0, 3.0]])
    >>> distinct_peaks(points, np.array([4.0, 3.0, 2.0, 1.0]), 2, apart=0.1)
    array([0, 3])
    """
    xp = namespace(points)
    squares = xp.sum(points * points, axis=0)
    products = points.T @ points
    distances = squares[:, None] + squares[None, :] - 2 * xp.abs(products)
    near = distances < apart**2
    # Ranks replace heights, which may be too small to be lowered without rounding. A neighbour of
    # a point that was taken falls behind all others, and a point that was taken behind those.
    positions = _positions(xp, values)
    ranks = -cast(xp.argsort(xp.argsort(-values, stable=True), stable=True), values.dtype)
    chosen = []
    for _ in range(count):
        chosen.append(xp.reshape(xp.argmax(ranks), (1,)))
        neighbours = xp.take(near, chosen[-1], axis=0)[0, :]
        ranks = ranks - values.shape[0] * cast(neighbours, ranks.dtype)
        ranks = xp.where(positions == chosen[-1], -xp.inf, ranks)
    return xp.concat(chosen)


def _without(xp: Any, values: Any, chosen: Any) -> Any:
    taken = xp.any(_positions(xp, values)[:, None] == chosen[None, :], axis=1)
    return xp.where(taken, -xp.inf, values)


def _positions(xp: Any, values: Any) -> Any:
    """Return 0, 1, ... on the device of `values`, without a copy from the host."""
    return xp.cumulative_sum(xp.ones_like(values, dtype=xp.int64)) - 1
