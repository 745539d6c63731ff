"""The theorems of Letarte, Morvant and Germain (2019): as printed where valid, else corrected.

"Pseudo-Bayesian learning with kernel Fourier transform as prior".
See :mod:`bochner.guarantees.alignment` for what they bound and when they hold, and
:mod:`bochner.guarantees.pac_bayes` for sharper bounds. All are clipped at 1.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bochner.guarantees.checks import (
    at_most_one,
    check_above,
    check_count,
    check_delta,
    check_not_negative,
    check_unit,
)
from bochner.guarantees.pac_bayes import linear_bound
from bochner.guarantees.samples import variance_bound


def theorem_1(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Theorem 1 as printed, on the loss of one landmark that is one of the `n` rows.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{2 (n - 1)}
              + \ln \frac{1}{\delta} \right)

    It holds for all `Q` at once, for one landmark picked without looking at the data and `t` fixed
    before seeing the sample. It is valid, but :func:`sharp` has a fourth of the second term. For
    `n_L` landmarks together (section 4.2) use ``delta / n_L``; if they were picked by looking at
    the rows or at their labels, ``delta / n`` covers any choice among the `n` rows.

    Parameters
    ----------
    empirical_loss, divergence, delta
        As for :func:`pac_bayes_kl`.
    n : int
        Number of rows, including the landmark.
    t : float
        Free parameter, greater than 0. The paper's posterior has ``t = beta * sqrt(n)``, but any
        other value is allowed.

    Examples
    --------
    >>> from bochner.guarantees import theorem_1
    >>> round(float(theorem_1(0.2, 1.0, n=101, delta=0.05, t=20)), 4)
    0.4998
    """
    n = check_count("n", n, 2)
    return linear_bound(empirical_loss, divergence, delta, t, 1 / (2 * (n - 1)))


def corollary_2(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Corollary 2 as printed, on the global loss, with every row as a landmark.

    .. math:: \hat L + \frac{2}{t} \left( \mathrm{KL} + \frac{t^2}{2 (n - 1)}
              + \ln \frac{n + 1}{\delta} \right)

    It holds for all `Q` at once if `t` is fixed before seeing the sample. It is valid, and far
    looser than the other bounds. The parameters are those of :func:`theorem_1`.

    Examples
    --------
    >>> from bochner.guarantees import corollary_2
    >>> round(float(corollary_2(0.2, 1.0, n=501, delta=0.05, t=50)), 4)
    0.7086
    """
    n = check_count("n", n, 2)
    delta, t = check_delta(delta), check_above("t", t, 0)
    # 2 / t (KL + t^2 / (2 (n - 1)) + ...) is the common form at t / 2, with four times the square.
    return linear_bound(empirical_loss, divergence, delta / (n + 1), t / 2, 4 / (2 * (n - 1)))


def theorem_3(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Theorem 3 as printed (Lever et al. 2013), on the global loss.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{2 n}
              + \ln \frac{1}{\delta} \right)

    It holds for all `Q` at once if `t` is fixed before seeing the sample. It is valid, but
    :func:`sharp` has half of the second term. The parameters are those of :func:`theorem_1`.

    Examples
    --------
    >>> from bochner.guarantees import theorem_3
    >>> round(float(theorem_3(0.2, 1.0, n=100, delta=0.05, t=20)), 4)
    0.4998
    """
    n = check_count("n", n, 2)
    return linear_bound(empirical_loss, divergence, delta, t, 1 / (2 * n))


def theorem_4(
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    n: int,
    delta: float,
    mu: float,
    *,
    binary: bool = True,
) -> Any:
    r"""Theorem 4, corrected, on the global loss, with a power divergence.

    .. math:: \hat L + (D_\mu + 1)^{1/\mu} \times \begin{cases}
              (v_n / \delta)^{1 - 1/\mu} & 1 < \mu \le 2 \\
              \sqrt{v_n} \, \delta^{-(1 - 1/\mu)} & \mu > 2 \end{cases}

    with :math:`v_n` from :func:`variance_bound`. It follows from Hoelder's inequality with the
    exponents :math:`\mu` and :math:`\mu / (\mu - 1)`, then Markov's inequality. It holds for all
    `Q` at once if `mu` is fixed before seeing the sample.

    Parameters
    ----------
    empirical_loss, delta
        As for :func:`pac_bayes_kl`.
    divergence : float or array
        Divergence of `Q` from :func:`power_divergence` with the same `mu`.
    n : int
        Number of rows.
    mu : float
        Power of the divergence, greater than 1.
    binary : bool, default=True
        Whether there are two classes; more classes, or a regression target, need False.

    Examples
    --------
    >>> from bochner.guarantees import theorem_4
    >>> round(float(theorem_4(0.1, 0.5, n=1000, delta=0.05, mu=1.5)), 4)
    0.3241
    """
    loss = check_unit("empirical_loss", empirical_loss)
    divergence = check_not_negative("divergence", divergence)
    delta, mu = check_delta(delta), check_above("mu", mu, 1)
    v, rest = variance_bound(n, binary=binary), 1 - 1 / mu
    size = (v / delta) ** rest if mu <= 2 else v**0.5 * delta**-rest
    return at_most_one(loss + size * (divergence + 1) ** (1 / mu))


def corollary_5(
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    n: int,
    delta: float,
    *,
    binary: bool = True,
) -> Any:
    r"""Corollary 5, corrected, on the global loss, with the chi-square divergence.

    .. math:: \hat L + \sqrt{v_n (\chi^2 + 1) / \delta}

    This is :func:`theorem_4` with ``mu=2``. It holds for all `Q` at once. The ``1 / delta`` is not
    under a logarithm: for small `delta`, or a concentrated `Q`, :func:`pac_bayes_kl` is much
    smaller. The parameters are those of :func:`theorem_4`.

    Examples
    --------
    >>> from bochner.guarantees import corollary_5
    >>> round(float(corollary_5(0.1, 0.5, n=1000, delta=0.05)), 4)
    0.1866
    """
    return theorem_4(empirical_loss, divergence, n, delta, 2.0, binary=binary)
