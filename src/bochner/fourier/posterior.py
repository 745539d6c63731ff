r"""Posteriors over candidate frequencies: functions of their losses alone.

Given losses :math:`L_m` of `N` candidates and the uniform prior, both learn weights `Q` that trade
a small average loss against staying near the prior:

- the Gibbs posterior minimises :math:`\sum Q L + \mathrm{KL}(Q \| P) / (\beta \sqrt n)`
  (Letarte et al.'s PBRFF, equation 19),
- the power posterior minimises :math:`\sum Q L` subject to
  :math:`D_\mu(Q \| P) = N^{\mu - 1} \sum Q^\mu - 1 \le \rho`; :math:`\mu = 2` is chi-square
  (Sinha and Duchi's kernel alignment, OKRFF).
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]


def gibbs_posterior(losses: ArrayLike, beta: float, n_rows: float) -> Float:
    r"""Return the weights :math:`Q_m \propto \exp(-\beta \sqrt n L_m)` along the last axis.

    Parameters
    ----------
    losses : array of shape (..., N)
        Alignment losses.
    beta : float
        Inverse temperature, positive.
    n_rows : float
        Number of rows that the losses were computed from, or the sum of their weights.

    Examples
    --------
    >>> from bochner.fourier.posterior import gibbs_posterior
    >>> gibbs_posterior([0.4, 0.5, 0.5], beta=0.1, n_rows=400).round(4)
    array([0.3792, 0.3104, 0.3104])
    """
    weights = np.exp(gibbs_log_weights(losses, beta, n_rows))
    return weights / weights.sum(axis=-1, keepdims=True)


def gibbs_log_weights(losses: ArrayLike, beta: float, n_rows: float) -> Float:
    """Return the logarithms of the Gibbs weights, shifted so that the largest is 0."""
    if not 0 < beta < np.inf:
        raise ValueError(f"beta must be a positive finite number, got {beta!r}.")
    logarithms = -float(beta) * np.sqrt(n_rows) * np.asarray(losses, dtype=np.float64)
    largest: Float = logarithms.max(axis=-1, keepdims=True)
    return logarithms - largest


def power_log_weights(weights: Float, losses: ArrayLike) -> Float:
    """Return logarithms of power-posterior weights; weights of 0 come last, by their loss."""
    excluded = weights == 0
    logarithms = np.log(np.where(excluded, 1.0, weights))
    return np.where(excluded, -1e9 * (1 + np.asarray(losses)), logarithms)


def power_posterior(losses: ArrayLike, rho: float, mu: float = 2.0) -> Float:
    """Return the weights of least average loss within a divergence `rho` of the uniform prior.

    Parameters
    ----------
    losses : array of shape (N,)
        Alignment losses.
    rho : float
        Largest divergence allowed, at least 0 (the prior itself). From ``N^(mu-1) - 1`` on, all
        weight is on the best candidates.
    mu : float, default=2
        Order of the divergence, above 1. For 2 the solution is exact in O(N log N); other orders
        need the root of an equation.

    Examples
    --------
    >>> from bochner.fourier.posterior import power_posterior
    >>> power_posterior([0.1, 0.2, 0.9], rho=1.0).round(4)
    array([0.7887, 0.2113, 0.    ])
    """
    u = np.asarray(losses, dtype=np.float64)
    if u.ndim != 1 or not u.size or not np.isfinite(u).all():
        raise ValueError(f"losses must be a finite one-dimensional array, got shape {u.shape}.")
    if not 0 <= rho < np.inf:
        raise ValueError(f"rho must be a finite number, at least 0, got {rho!r}.")
    if not 1 < mu < np.inf:
        raise ValueError(f"mu must be a finite number above 1, got {mu!r}.")
    u, n = u - u.min(), u.size
    ties = int(np.count_nonzero(u == 0))
    if ties == n or rho == 0:
        return np.full(n, 1 / n)
    if (n / ties) ** (mu - 1) - 1 <= rho:  # a vertex of the simplex, or a face of ties
        return np.where(u == 0, 1 / ties, 0.0)
    return _chi_square(u, rho) if mu == 2 else _general(u, rho, mu)


def _chi_square(u: Float, rho: float) -> Float:
    """``Q_i = 1/K + (mean - u_i) / lam`` on the K best; K from a binary search."""
    n = u.size
    order = np.argsort(u, kind="stable")
    sorted_u = u[order]
    first, second = np.cumsum(sorted_u), np.cumsum(sorted_u**2)

    def divergence(k: int) -> float:
        """Return the divergence of the weights that just reach zero at candidate ``k + 1``."""
        b = sorted_u[k]
        spread = k * b - first[k - 1]
        if spread <= 0:
            return np.inf  # all k are tied with the next one
        return float(n * (k * b * b - 2 * b * first[k - 1] + second[k - 1]) / spread**2 - 1)

    low, high = 1, n  # the answer is the smallest k with divergence(k) <= rho, else n
    while low < high:
        middle = (low + high) // 2
        if divergence(middle) <= rho:
            high = middle
        else:
            low = middle + 1
    active = sorted_u[:low]
    mean = active.mean()
    variance = ((active - mean) ** 2).sum()
    lam = np.sqrt(variance / ((1 + rho) / n - 1 / low))
    weights = np.zeros(n)
    weights[order[:low]] = np.maximum(1 / low + (mean - active) / lam, 0.0)
    return weights / weights.sum()


def _general(u: Float, rho: float, mu: float) -> Float:
    """``Q_i ~ (tau - u_i)_+^(1/(mu-1))`` with tau such that the divergence is rho."""
    from scipy.optimize import brentq

    n, power = u.size, 1 / (mu - 1)

    def weights(z: float) -> Float:
        tau = np.exp(z)
        q = np.maximum(1 - u / tau, 0.0) ** power
        return q / q.sum()

    def excess(z: float) -> float:
        return float(n ** (mu - 1) * (weights(z) ** mu).sum() - 1 - rho)

    smallest = u[u > 0].min()
    low, high = np.log(smallest) - 1.0, np.log(u.max()) + 1.0
    while excess(high) > 0:  # the divergence falls to 0 as tau grows
        high += 5.0
    return weights(brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))


def draw_without_replacement(
    log_weights: Float, size: int, random_state: RandomState
) -> NDArray[np.intp]:
    """Draw `size` different candidates in turn, with probability proportional to their weights.

    Adding independent Gumbel noise to the log-weights and keeping the largest is the same draw
    (Gumbel top-k), without a loop; working with logarithms, it does not underflow either.
    """
    keys = log_weights + random_state.gumbel(size=log_weights.size)
    return np.argpartition(-keys, size - 1)[:size]


def draw_with_replacement(
    weights: Float, size: int, random_state: RandomState
) -> tuple[NDArray[np.intp], Float]:
    """Draw `size` candidates as in the paper, and merge repeats: candidates and their shares."""
    drawn = random_state.choice(weights.size, size, p=weights)
    index, counts = np.unique(drawn, return_counts=True)
    return index, counts / size


def heaviest(weights: Float, size: int) -> tuple[NDArray[np.intp], Float]:
    """Return the `size` candidates of largest weight, and their weights scaled to sum to one."""
    index = np.argsort(-weights, kind="stable")[:size]
    share = weights[index]
    return index, share / share.sum()


def effective_size(weights: Float) -> float:
    """Return ``1 / sum Q^2``, the number of candidates that effectively share the weight."""
    return float(1 / np.square(weights).sum())
