"""Divergences of a posterior from the prior, and the inverse of the binary divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bochner.guarantees.checks import (
    Float,
    at_most_one,
    check_above,
    check_not_negative,
    check_unit,
    check_weights,
)


def kl_to_uniform(weights: ArrayLike) -> Any:
    r"""Kullback-Leibler divergence of `Q` from the uniform distribution on its `N` candidates.

    .. math:: \mathrm{KL}(Q \| P) = \ln N + \sum_m Q_m \ln Q_m, \qquad 0 \ln 0 = 0

    Parameters
    ----------
    weights : array of shape (N,) or (n_landmarks, D)
        Posterior `Q`; one distribution per row when there are two dimensions.

    Returns
    -------
    float or array of shape (n_landmarks,)
        Divergence, from 0 for uniform `Q` to ``ln N`` for all the weight on one candidate.

    Examples
    --------
    >>> from bochner.guarantees import kl_to_uniform
    >>> round(float(kl_to_uniform([0.5, 0.5, 0, 0])), 4)
    0.6931
    """
    Q = check_weights(weights)
    return np.maximum(np.log(Q.shape[-1]) - special.entr(Q).sum(axis=-1), 0.0)


def power_divergence(weights: ArrayLike, mu: float = 2.0) -> Any:
    r"""Divergence of :func:`theorem_4` from the uniform distribution; chi-square for ``mu=2``.

    .. math:: D_\mu(Q \| P) = N^{\mu - 1} \sum_m Q_m^\mu - 1

    Parameters
    ----------
    weights : array of shape (N,) or (n_landmarks, D)
        Posterior `Q`; one distribution per row when there are two dimensions.
    mu : float, default=2
        The power, greater than 1.

    Returns
    -------
    float or array of shape (n_landmarks,)
        Divergence, from 0 for uniform `Q` to ``N ** (mu - 1) - 1`` for all the weight on one
        candidate.

    Examples
    --------
    >>> from bochner.guarantees import power_divergence
    >>> float(power_divergence([0.5, 0.5, 0, 0]))
    1.0
    """
    Q = check_weights(weights)
    mu = check_above("mu", mu, 1)
    # An overflow is an infinite divergence, which every bound turns into 1.
    with np.errstate(over="ignore"):
        return np.maximum(((Q.shape[-1] * Q) ** mu).mean(axis=-1) - 1, 0.0)


def _u_minus_log1p(u: Float) -> Float:
    """``u - log(1 + u)`` without cancellation near 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        direct = u - np.log1p(u)
        series = u**2 * np.polyval([-1 / 9, 1 / 8, -1 / 7, 1 / 6, -1 / 5, 1 / 4, -1 / 3, 1 / 2], u)
    return np.where(np.abs(u) < 1e-2, series, direct)


def _binary_kl_at_distance(q: Float, d: Float) -> Float:
    """kl(q || q + d) as two terms that are each zero or more, exact also for tiny `d`."""

    def term(weight: Float, change: Float) -> Float:
        present = weight > 1e-300
        ratio = np.maximum(change / np.where(present, weight, 1.0), -1.0)
        return np.where(present, weight * _u_minus_log1p(ratio), change)

    return term(q, d) + term(1 - q, -d)


def inverse_binary_kl(q: ArrayLike, budget: ArrayLike) -> Any:
    r"""Return the largest `p`, at least `q`, with :math:`\mathrm{kl}(q \| p)` within the budget.

    .. math:: \mathrm{kl}^{-1}(q, b) = \max \{ p \in [q, 1] : \mathrm{kl}(q \| p) \le b \}

    `q` is an observed frequency or loss, in [0, 1]; the budget may be infinite. The result is
    correct to rounding, and rounded upwards.

    >>> inverse_binary_kl([0, 0.1, 1], 0.05).round(4)
    array([0.0488, 0.2201, 1.    ])
    """
    q, budget = np.broadcast_arrays(check_unit("q", q), check_not_negative("budget", budget))
    low = np.zeros(q.shape)
    high = np.minimum(1 - q, np.sqrt(budget / 2))  # Pinsker: kl(q || q + d) >= 2 d^2
    for _ in range(60):
        middle = 0.5 * (low + high)
        within = _binary_kl_at_distance(q, middle) <= budget
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return at_most_one(q + high)
