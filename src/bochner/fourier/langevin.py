"""Chains that walk over frequencies along the gradient of a potential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner.engine.places import cast, convert, namespace

Float = NDArray[np.float64]
Potential = Callable[[Any], tuple[Any, Any]]

_TARGET_ACCEPTANCE = 0.57  # optimal for Metropolis-adjusted Langevin in many dimensions
_GROWTH, _SHRINKAGE = 1.5, 0.4  # of a step size after success and failure


def sample_tilted_gaussian(
    potential: Potential,
    shape: tuple[int, int],
    *,
    strength: float,
    n_steps: int,
    random_state: RandomState,
) -> tuple[Float, Float]:
    r"""Draw from :math:`q(z) \propto e^{c v(z) - \|z\|^2 / 2}` with independent chains.

    Metropolis-adjusted Langevin (MALA): each step follows the gradient of
    :math:`\log q`, adds noise, and is accepted or rejected so that `q` stays exact. Over the
    first half of the steps the strength `c` rises to its value (tempering) and the step size
    adapts to an acceptance of 0.57; both are then fixed.

    Parameters
    ----------
    potential : callable
        Maps ``(d, m)`` points to ``v`` of shape ``(m,)`` and its gradient ``(d, m)``.
    shape : (int, int)
        Dimensions and chains, ``(d, m)``.
    strength : float
        The constant ``c``.
    n_steps : int
        Steps of each chain.
    random_state : RandomState
        Starts and noise.

    Returns
    -------
    points : array of shape (d, m)
        Where the chains ended.
    acceptance : array of shape (n_steps,)
        Share of the chains that moved, by step.

    Examples
    --------
    Without a potential the chains stay standard normal:

    >>> import numpy as np
    >>> from bochner.fourier.langevin import sample_tilted_gaussian
    >>> flat = lambda z: (np.zeros(z.shape[1]), np.zeros_like(z))
    >>> z, _ = sample_tilted_gaussian(flat, (2, 5000), strength=1.0, n_steps=20,
    ...                               random_state=np.random.RandomState(0))
    >>> bool(abs(z.var() - 1) < 0.05)
    True
    """
    z = random_state.standard_normal(shape)
    v, slope = potential(z)
    step = 0.5 * shape[0] ** (-1 / 6)
    acceptance = np.empty(n_steps)
    for k in range(n_steps):
        c = strength * min(1.0, 2 * (k + 1) / n_steps)
        drift = z + 0.5 * step**2 * (c * slope - z)
        proposal = drift + step * random_state.standard_normal(shape)
        new_v, new_slope = potential(proposal)
        back = proposal + 0.5 * step**2 * (c * new_slope - proposal)
        log_ratio = (
            c * (new_v - v)
            - 0.5 * ((proposal**2).sum(axis=0) - (z**2).sum(axis=0))
            - (((z - back) ** 2).sum(axis=0) - ((proposal - drift) ** 2).sum(axis=0))
            / (2 * step**2)
        )
        moved = np.log(random_state.uniform(size=shape[1])) < log_ratio
        z = np.where(moved, proposal, z)
        v = np.where(moved, new_v, v)
        slope = np.where(moved, new_slope, slope)
        acceptance[k] = moved.mean()
        if k < n_steps // 2:
            step *= np.exp(0.3 * (acceptance[k] - _TARGET_ACCEPTANCE))
    return z, acceptance


def climb(
    potential: Potential,
    starts: Any,
    *,
    n_steps: int,
    first_move: float = 0.05,
    temperature: float = 0.0,
    longest: float | None = None,
    random_state: RandomState | None = None,
) -> tuple[Any, Any]:
    r"""Search for peaks of a potential with parallel chains (the paper's Algorithm 1).

    Every chain moves along the gradient, :math:`w \leftarrow w + \eta \nabla v(w)`, with a step
    size of its own: it grows after a move that went up and shrinks after one that did not, which
    is taken back. The first step is such that the median chain moves by `first_move` of its
    length; nothing else has to be tuned to the scale of the data. With a `temperature` noise of
    that multiple of the gradient step is added, and no move is taken back (Langevin dynamics).
    Each chain's best point is what counts.

    Parameters
    ----------
    potential : callable
        Maps ``(d, m)`` points to ``v`` of shape ``(m,)`` and its gradient ``(d, m)``.
    starts : array of shape (d, m)
        Where the chains start, one per column: NumPy or another array-API library. On a device the
        host never waits for it unless `potential` does, or there is a temperature.
    n_steps : int
        Steps of each chain.
    first_move : float, default=0.05
        Length of the first move, relative to that of the points.
    temperature : float, default=0.0
        Size of the noise, relative to the gradient step.
    longest : float, optional
        Points beyond this norm are brought back to it.
    random_state : RandomState, optional
        The noise; needed with a temperature.

    Returns
    -------
    points : array of shape (d, m)
        The best point of each chain.
    values : array of shape (m,)
        Their potentials.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.fourier.langevin import climb
    >>> hill = lambda w: (-((w - 2) ** 2).sum(axis=0), -2 * (w - 2))
    >>> points, values = climb(hill, np.array([[1.0, -1.0]]), n_steps=30)
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


def distinct_peaks(points: Any, values: Any, count: int, apart: float) -> Any:
    r"""Positions of the highest points, none within `apart` of another or of its mirror image.

    :math:`w` and :math:`-w` are the same cosine and sine. One after the other the highest is
    taken and its neighbours are left out; when none is left, neighbours are taken after all, so
    that there are always `count`.

    Parameters
    ----------
    points : array of shape (d, m)
        One point per column.
    values : array of shape (m,)
        Their heights.
    count : int
        How many, at most ``m``.
    apart : float
        Smallest distance.

    Returns
    -------
    integer array of shape (count,)
        From the highest down. Made without the host waiting for a device.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.fourier.langevin import distinct_peaks
    >>> points = np.array([[1.0, 1.01, -1.0, 3.0]])
    >>> distinct_peaks(points, np.array([4.0, 3.0, 2.0, 1.0]), 2, apart=0.1)
    array([0, 3])
    """
    xp = namespace(points)
    squares = xp.sum(points * points, axis=0)
    products = points.T @ points
    distances = squares[:, None] + squares[None, :] - 2 * xp.abs(products)
    near = distances < apart**2
    # Ranks in place of heights, which may be too small to be lowered without rounding. A
    # neighbour of one that was taken falls behind all others, one that was taken behind those.
    places = xp.cumulative_sum(xp.ones_like(values, dtype=xp.int64)) - 1
    ranks = -cast(xp.argsort(xp.argsort(-values, stable=True), stable=True), values.dtype)
    chosen = []
    for _ in range(count):
        chosen.append(xp.reshape(xp.argmax(ranks), (1,)))
        beside = xp.take(near, chosen[-1], axis=0)[0, :]
        ranks = ranks - values.shape[0] * cast(beside, ranks.dtype)
        ranks = xp.where(places == chosen[-1], -xp.inf, ranks)
    return xp.concat(chosen)
