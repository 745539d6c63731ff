"""Chains that walk over frequencies along the gradient of a potential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bochner import engine
from bochner.engine.places import to_numpy

Float = NDArray[np.float64]
Potential = Callable[[Any], tuple[Any, Any]]

_TARGET_ACCEPTANCE = 0.57  # optimal for Metropolis-adjusted Langevin in many dimensions


def sample_tilted_gaussian(
    potential: Potential,
    shape: tuple[int, int],
    *,
    strength: float,
    n_steps: int,
    random_state: RandomState,
    after_step: Callable[[], bool | None] = lambda: None,
) -> tuple[Float, Float]:
    r"""Draw from :math:`q(z) \propto e^{c v(z) - \|z\|^2 / 2}` with independent chains.

    Metropolis-adjusted Langevin (MALA): each step follows the gradient of
    :math:`\log q`, adds noise, and is accepted or rejected so that `q` stays exact. Over the
    first half of the steps the strength `c` rises to its value (tempering) and the step size
    adapts to an acceptance of 0.57; both are then fixed.

    The potential maps points of shape (d, m), one column per chain, to ``v`` of shape (m,) and
    its gradient. Returns the end points of the chains, and the share of chains that moved in each
    step; the chains end early if `after_step` returns True.
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
        if after_step():
            return z, acceptance[: k + 1]
    return z, acceptance


def sample_frequencies(
    X: Any,
    A: Float,
    signs: Float,
    n_chains: int,
    *,
    beta: float,
    spread: float,
    dtype: Any,
    n_steps: int,
    random_state: RandomState,
    after_step: Callable[[], bool | None],
    **options: Any,
) -> NDArray[Any]:
    r"""Draw frequencies from :math:`p(w) e^{\beta \sqrt n S(w) / 2}`, one per column.

    The prior `p` is Gaussian with standard deviation `spread`, and `S` is the agreement with the
    labels, whose similarity is given by the columns `A` and `signs`.
    """
    n_rows = len(A)

    def potential(z: Any) -> tuple[Any, Any]:
        W = (spread * z).astype(dtype)
        v, slope = engine.potential_and_gradient(X, W, A / n_rows, signs=signs, **options)
        return to_numpy(v), spread * to_numpy(slope)

    points, _ = sample_tilted_gaussian(
        potential,
        (X.shape[1], n_chains),
        strength=beta * np.sqrt(n_rows) * n_rows / (2 * (n_rows - 1)),
        n_steps=n_steps,
        random_state=random_state,
        after_step=after_step,
    )
    return (spread * points).astype(dtype)
