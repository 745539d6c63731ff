"""Sharp PAC-Bayes bounds on the alignment loss: the formulas.

See :mod:`bochner.guarantees.alignment` for what they bound and when they hold. All of them take
the empirical loss of a posterior `Q`, its divergence from the uniform distribution and a number
`m` of independent pairs, and are clipped at 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.guarantees.checks import (
    at_most_one,
    check_above,
    check_count,
    check_delta,
    check_not_negative,
    check_unit,
)
from bochner.guarantees.divergences import inverse_binary_kl


def pac_bayes_kl(empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float) -> Any:
    r"""PAC-Bayes-kl bound (Seeger, Maurer) on the global or landmark loss, the default bound.

    .. math:: \mathrm{kl}^{-1} \left( \hat L, \frac{\mathrm{KL} + \ln (2 \sqrt{m} / \delta)}{m}
              \right)

    It holds for all `Q` at once with nothing to fix beforehand. That it holds for the mean over
    all pairs, with ``m = n // 2``, follows by Jensen's inequality from Hoeffding's argument
    (:func:`effective_pairs`).

    Parameters
    ----------
    empirical_loss : float or array
        Empirical loss of the posterior, :math:`\sum_m Q_m \hat L(w_m)`, in [0, 1].
    divergence : float or array
        Divergence of `Q` from the uniform distribution, see :func:`kl_to_uniform`.
    m : int
        Number of independent pairs: :func:`effective_pairs` for all pairs, :func:`landmark_pairs`
        for a landmark.
    delta : float
        Probability that the bound may fail.

    Returns
    -------
    float or array
        Bound on the loss, at most 1.

    Examples
    --------
    >>> from bochner.guarantees import effective_pairs, pac_bayes_kl
    >>> round(float(pac_bayes_kl(0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
    0.2764
    """
    loss = check_unit("empirical_loss", empirical_loss)
    kl = check_not_negative("divergence", divergence)
    m, delta = check_count("m", m, 1), check_delta(delta)
    return inverse_binary_kl(loss, (kl + np.log(2 * np.sqrt(m) / delta)) / m)


def sharp(empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float, t: float) -> Any:
    r"""Theorems 1 and 3 with the constant of Hoeffding's lemma, for the global or landmark loss.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{8 m}
              + \ln \frac{1}{\delta} \right)

    It holds for all `Q` at once if `t` is fixed before seeing the sample; :func:`smallest_over_t`
    tries several values. `t` need not be that of the posterior. The bound is never smaller than
    :func:`catoni`.

    Parameters
    ----------
    empirical_loss, divergence, m, delta
        As for :func:`pac_bayes_kl`.
    t : float
        Free parameter, greater than 0. The best value is
        :math:`\sqrt{8 m (\mathrm{KL} + \ln (1 / \delta))}`, which depends on the sample through KL
        and so can only be guessed.

    Examples
    --------
    >>> from bochner.guarantees import effective_pairs, sharp
    >>> round(float(sharp(0.2, 1.0, effective_pairs(1000), delta=0.05, t=126)), 4)
    0.2632
    """
    m = check_count("m", m, 1)
    return linear_bound(empirical_loss, divergence, delta, t, 1 / (8 * m))


def catoni(
    empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float, t: float
) -> Any:
    r"""Catoni's bound on the global or landmark loss.

    .. math:: \frac{1 - \exp(-(t \hat L + \mathrm{KL} + \ln (1 / \delta)) / m)}{1 - \exp(-t / m)}

    It holds for all `Q` at once if `t` is fixed before seeing the sample; :func:`smallest_over_t`
    tries several values. Linearised it is :func:`sharp`, which is never smaller. At the best `t`
    it is :func:`pac_bayes_kl` without the term :math:`\ln (2 \sqrt{m})`; but the best `t` depends
    on the sample, so a part of that gain is paid for the grid.

    Parameters
    ----------
    empirical_loss, divergence, m, delta, t
        As for :func:`sharp`.

    Examples
    --------
    >>> from bochner.guarantees import catoni, effective_pairs
    >>> round(float(catoni(0.2, 1.0, effective_pairs(1000), delta=0.05, t=160)), 4)
    0.2536
    """
    loss = check_unit("empirical_loss", empirical_loss)
    kl = check_not_negative("divergence", divergence)
    m, delta, t = check_count("m", m, 1), check_delta(delta), check_above("t", t, 0)
    return at_most_one(np.expm1(-(t * loss + kl - np.log(delta)) / m) / np.expm1(-t / m))


def smallest_over_t(
    bound: Callable[[Any, Any, int, float, float], Any],
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    size: int,
    delta: float,
    grid: ArrayLike | None = None,
) -> Any:
    r"""Smallest value of a bound over a grid of `t`, at the price of :math:`\ln g` for `g` values.

    Each value of `t` gets its part of `delta`, ``delta / g``. Like the bound, the result holds for
    all `Q` at once. The grid must be fixed before seeing the sample, but the best of its values
    may be found on the sample.

    Parameters
    ----------
    bound : callable
        One of :func:`catoni`, :func:`sharp`, or the functions of
        :mod:`bochner.guarantees.letarte_theorems` that take a `t`.
    empirical_loss, divergence, delta
        As for `bound`.
    size : int
        Value of the bound's `m` or `n`.
    grid : array of shape (g,), optional
        Values of `t` to try; by default 16 values from ``2 sqrt(size)`` to ``64 sqrt(size)``,
        evenly spaced on a log scale.

    Examples
    --------
    >>> from bochner.guarantees import catoni, effective_pairs, smallest_over_t
    >>> round(float(smallest_over_t(catoni, 0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
    0.2712
    """
    delta, size = check_delta(delta), check_count("size", size, 1)
    values = np.sqrt(size) * np.geomspace(2, 64, 16) if grid is None else np.ravel(grid)
    if len(values) == 0:
        raise ValueError("grid must have at least one value of t, got none.")
    share = delta / len(values)
    return np.minimum.reduce(
        [bound(empirical_loss, divergence, size, share, float(t)) for t in values]
    )


def linear_bound(
    empirical_loss: ArrayLike, divergence: ArrayLike, delta: float, t: float, square: float
) -> Any:
    """``loss + (KL + t^2 square + ln(1 / delta)) / t``, the common form."""
    loss = check_unit("empirical_loss", empirical_loss)
    kl = check_not_negative("divergence", divergence)
    delta, t = check_delta(delta), check_above("t", t, 0)
    return at_most_one(loss + (kl + t**2 * square - np.log(delta)) / t)
