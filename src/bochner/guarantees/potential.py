"""Convergence of the Fourier potential to that of the population: Bullins et al., Theorem 4.4."""

from __future__ import annotations

import numpy as np

from bochner.guarantees.checks import check_count, check_delta, check_length
from bochner.guarantees.complexity import DIRECTIONS, SLACK, dimension_free_complexity


def potential_sample_size(eps: float, delta: float, d: int, R_w: float, R_x: float) -> int:
    r"""Theorem 4.4, corrected: rows until the potential is close to that of the population.

    With probability ``1 - delta`` over this many independent rows, the Fourier potential satisfies

    .. math:: \sup_{|w| \le R_w} \left| \frac{v(w)}{n^2} - v_{\mathrm{ideal}}(w) \right|
              \le \epsilon, \qquad
              \frac{v(w)}{n^2} = \Bigl| \frac1n \sum_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2,
              \quad v_{\mathrm{ideal}}(w) = \bigl| E \, y e^{i \langle w, x \rangle} \bigr|^2 .

    Let :math:`\Delta = 1 - \sqrt{1 - \epsilon}`, which is more than :math:`\epsilon / 2`. It
    suffices that the complex means are within :math:`\Delta` of each other, for which, with
    :math:`\rho = R_w R_x`, either of these is enough:

    .. math:: n \ge \frac{2}{\cos^2(\pi / 16) (1 - s)^2 \Delta^2} \left( d \ln \Bigl( 1 +
              \frac{4 \rho}{s \Delta} \Bigr) + \ln \frac{16}{\delta} \right), \qquad
              n \ge \frac{1}{\Delta^2} \Bigl( 2 \min(\pi + \rho, 1 + 3 \rho)
              + \sqrt{2 \ln (1 / \delta)} \Bigr)^2 .

    The first condition comes from Hoeffding's inequality in 16 directions at the points of a net,
    and the mean's Lipschitz constant :math:`R_x` between them, for the best :math:`s`; the second
    comes from :func:`fourier_complexity` and McDiarmid's inequality, and does not depend on `d`.

    The theorem is about equal weights. Dual weights that depend on the rows have no ideal
    potential to be compared with, and the paper's remedy, :math:`\epsilon / C^2`, does not apply
    to them.

    Parameters
    ----------
    eps : float
        Largest deviation, strictly between 0 and 1.
    delta : float
        Probability that the deviation may exceed `eps`.
    d : int
        Number of columns of the rows.
    R_w : float
        Largest length of the frequencies looked at.
    R_x : float
        Largest distance, with certainty, of a row from some fixed point.

    Notes
    -----
    The printed number tends to zero for small `R_w`, where the potential still has to learn how
    many rows are of either class, and is far larger than needed for large `R_w`: see
    :doc:`/errata`.

    Examples
    --------
    >>> from bochner.guarantees import potential_sample_size
    >>> potential_sample_size(0.1, delta=0.05, d=2, R_w=20.0, R_x=1.0)
    23054
    """
    if not 0 < eps < 1:
        raise ValueError(f"eps must be a number strictly between 0 and 1, got {eps!r}.")
    delta, d = check_delta(delta), check_count("d", d, 1)
    phase = check_length("R_w", R_w) * check_length("R_x", R_x)
    return int(np.ceil(_rows_needed(eps, delta, d, phase)))


def potential_deviation(n: int, delta: float, d: int, R_w: float, R_x: float) -> float:
    r"""Smallest `eps` for which :func:`potential_sample_size` is at most `n` rows.

    With probability ``1 - delta``, :math:`|v(w) / n^2 - v_{\mathrm{ideal}}(w)|` is at most this
    for all :math:`|w| \le R_w`. It is 1, which says nothing, where there are too few rows. The
    parameters are those of :func:`potential_sample_size`.

    Examples
    --------
    >>> from bochner.guarantees import potential_deviation
    >>> round(potential_deviation(23054, delta=0.05, d=2, R_w=20.0, R_x=1.0), 4)
    0.1
    """
    n, d, delta = check_count("n", n, 1), check_count("d", d, 1), check_delta(delta)
    phase = check_length("R_w", R_w) * check_length("R_x", R_x)
    # The number of rows needed falls as eps grows: bisect log(eps), keeping the end that holds.
    low, high = 1e-12, 1.0
    for _ in range(100):
        middle = np.sqrt(low * high)
        if _rows_needed(middle, delta, d, phase) <= n:
            high = middle
        else:
            low = middle
    return float(high)


def _rows_needed(eps: float, delta: float, d: int, phase: float) -> float:
    # v / n^2 and its ideal are squares of moduli up to 1: they are within eps if the complex
    # means are within `near`, where 1 - (1 - near)^2 = eps.
    near = eps / (1 + np.sqrt(1 - eps))
    # The share `rest` of `near` is for frequencies between the points of the net.
    rest = np.linspace(0.02, 0.6, 30)
    net = np.log(DIRECTIONS / delta) + d * np.log1p(4 * phase / (rest * near))
    by_net = 2 * net / (SLACK * (1 - rest) * near) ** 2
    far = 2 * dimension_free_complexity(phase) + np.sqrt(2 * np.log(1 / delta))
    return float(min(by_net.min(), (far / near) ** 2))
