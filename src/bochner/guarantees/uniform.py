"""The largest error of random Fourier features over a whole domain (Rahimi and Recht)."""

from __future__ import annotations

import numpy as np

from bochner.guarantees.checks import check_above, check_count, check_delta


def fourier_uniform_bound(
    n_frequencies: int, n_features: int, diameter: float, spread: float, delta: float = 0.05
) -> float:
    r"""Bound the largest error of random Fourier features over a domain, before they are drawn.

    With probability ``1 - delta`` over `N` independent frequencies, for all `x`, `y` in a set of
    diameter :math:`\ell`, :math:`|k(x, y) - \varphi(x) \cdot \varphi(y)| \le \varepsilon`, where
    :math:`\varepsilon` makes

    .. math:: \min_s \; 2 \left( 1 + \frac{2 \ell}{s} \right)^d e^{- N \varepsilon^2 / 8}
              + \left( \frac{4 \sigma s}{\varepsilon} \right)^2

    equal to `delta`. This is the argument of Rahimi and Recht (2007), Claim 1, in the form of
    Sutherland and Schneider (2015), Proposition 1, for paired cosines and sines. The first term
    comes from Hoeffding's inequality at the centres of a cover with balls of radius `s`, the
    second from Markov's inequality for the steepest slope between them. Rahimi and Recht have a
    factor 2 in place of 4: they take the mean slope at the steepest point as if that point did not
    depend on the frequencies. With 4 nothing is assumed, and :math:`\varepsilon` hardly changes.

    The bound is a worst case over a domain: usually many times the observed error, and not
    comparable with :func:`residual_bound`, which is about the rows at hand. It covers independent
    draws only, not ``sampling="orthogonal"`` or the quasi-random ones. It is at most 2, the
    largest possible error.

    Parameters
    ----------
    n_frequencies : int
        Number of frequencies `N`, half the number of output columns.
    n_features : int
        Number of input columns `d`.
    diameter : float
        Diameter :math:`\ell` of a set, fixed beforehand, that contains all rows; the largest
        distance among the rows at hand says nothing about other rows.
    spread : float
        Spread of the frequencies, :math:`\sigma = \sqrt{\mathbb{E} \|w\|^2}`;
        ``sqrt(2 * gamma * d)`` for the Gaussian kernel, infinite for the Laplacian one, which has
        no such bound.
    delta : float, default=0.05
        Probability that the bound may fail.

    Examples
    --------
    >>> from bochner.guarantees import fourier_uniform_bound
    >>> round(fourier_uniform_bound(5000, 10, diameter=6.0, spread=1.0), 3)
    0.337
    """
    N, d = check_count("n_frequencies", n_frequencies, 1), check_count("n_features", n_features, 1)
    delta, sigma = check_delta(delta), check_above("spread", spread, 0)
    length = check_above("diameter", diameter, 0)
    # Any radius gives a bound: those tried need not include the best.
    radii = length * np.geomspace(1e-9, 1e3, 600)
    cover = np.log(2) + d * np.log1p(2 * length / radii)

    def probability(error: float) -> float:
        anchors = np.exp(np.minimum(cover - N * error**2 / 8, 0.0))
        return float(np.min(anchors + (4 * sigma * radii / error) ** 2))

    low, high = 0.0, 2.0
    if probability(high) > delta:
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if probability(middle) <= delta else (middle, high)
    return high
