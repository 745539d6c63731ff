r"""Distance of a margin kernel from the best one: Theorem 4.1, Corollary 4.2 of Bullins et al.

Their method (2018, "Not-So-Random Features") plays a game. With dual weights :math:`\alpha \in K =
\{0 \le \alpha_i \le C, \langle y, \alpha \rangle = 0\}` and a measure :math:`\lambda` of mass 1
over frequencies,

.. math:: F(\alpha, \lambda) = \sum_i \alpha_i - \frac12 \int \lambda(w) v_\alpha(w) \, dw,
          \qquad v_\alpha(w) = \Bigl| \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2 .

:func:`regret_bound` bounds how far the kernel is from the one of the largest margin before the
rounds are played. After the rounds, :func:`realised_regret_bound` bounds it and
:func:`duality_gap_estimate` estimates it. The constants were derived anew and are not those in
print; each function says what differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.guarantees.checks import (
    Float,
    check_above,
    check_count,
    check_not_negative,
    check_same_shape,
)


def gradient_norm_bound(n: int, C: float) -> float:
    r"""Largest possible length of the gradient of the game in the dual weights.

    .. math:: \bigl| \nabla_\alpha F(\alpha, \lambda) \bigr| \le (1 + n C) \sqrt n

    Its components are :math:`1 - y_i \mathrm{Re}(\bar S(w) e^{i \langle w, x_i \rangle})` with
    :math:`S(w) = \sum_j \alpha_j y_j e^{i \langle w, x_j \rangle}`, a sum of `n` terms that can
    all point the same way: :math:`|S| \le n C`. The paper has :math:`(1 + 2 C) \sqrt n`, where
    the 2 is due to kernels of mass 2 and a factor `n` is lost. The bound is attained up to the
    sign of the 1.
    """
    n, C = check_count("n", n, 1), check_above("C", C, 0)
    return (1 + n * C) * float(np.sqrt(n))


def regret_step(n: int, C: float, t: int) -> float:
    r"""Step size that :func:`regret_bound` assumes.

    .. math:: \eta_t = \frac{D}{G \sqrt t} = \frac{C}{(1 + n C) \sqrt t}

    This is the diameter of the feasible weights, :math:`D = C \sqrt n`, over
    :func:`gradient_norm_bound` times the square root of `t`. For steps that shrink, `t` is the
    round, counted from 1; for a constant step it is the number of rounds, if known beforehand. The
    step is made for the worst case and therefore small; longer steps often do better, and
    :func:`realised_regret_bound` says how well they did.

    Examples
    --------
    >>> from bochner.guarantees import regret_step
    >>> regret_step(99, C=1.0, t=4)
    0.005
    """
    return float(C * np.sqrt(n) / (gradient_norm_bound(n, C) * np.sqrt(check_count("t", t, 1))))


def regret_bound(
    n: int, C: float, T: int, *, errors: ArrayLike = 0.0, constant_step: bool = False
) -> float:
    r"""Theorem 4.1, corrected: bound how far the kernel is from the best after `T` rounds.

    .. math:: \max_\alpha F(\alpha, \hat\lambda) - \min_\lambda \max_\alpha F(\alpha, \lambda)
              \le \frac{3 n C (1 + n C)}{2 \sqrt T} + \frac{1}{2 T} \sum_t \epsilon_t

    for :math:`\hat\lambda` the average of the measures of all rounds, each half a point mass at
    :math:`w_t` and half at :math:`-w_t`, with :math:`v_{\alpha_t}(w_t) \ge \max_w v_{\alpha_t}(w)
    - \epsilon_t`; :math:`\alpha` moved by projected gradient ascent from any feasible start with
    the steps of :func:`regret_step`. For a constant step the 3/2 is 1 (Zinkevich 2003). No
    probability is involved: the bound is about these rows.

    The left side is never more than :math:`n C`, so the bound says something only for
    :math:`T > (3/2)^2 (1 + n C)^2` rounds. After the rounds :func:`duality_gap_estimate` is
    far smaller.

    Parameters
    ----------
    n : int
        Number of rows.
    C : float
        Upper limit of the dual weights.
    T : int
        Number of rounds.
    errors : float or array of shape (T,), default=0
        Values of :math:`\epsilon_t`, by how much the peak may have been missed. A search that is
        not exhaustive does not reveal them.
    constant_step : bool, default=False
        Whether the step was ``regret_step(n, C, T)`` in all rounds.

    Notes
    -----
    In the printed last term the gradient is too short by a factor `n`
    (:func:`gradient_norm_bound`); the tests contain a game in which it fails. The "alternate form"
    cannot be right either: see :doc:`/errata`.

    Examples
    --------
    >>> from bochner.guarantees import regret_bound
    >>> regret_bound(16, C=0.25, T=400)
    1.5
    >>> regret_bound(16, C=0.25, T=400, errors=0.5, constant_step=True)
    1.25
    """
    T = check_count("T", T, 1)
    missed = _missed(errors, T)
    factor = 1.0 if constant_step else 1.5
    product = C * np.sqrt(n) * gradient_norm_bound(n, C)
    return float(factor * product / np.sqrt(T) + missed.mean() / 2)


def realised_regret_bound(
    steps: ArrayLike, gradient_norms: ArrayLike, *, n: int, C: float, errors: ArrayLike = 0.0
) -> float:
    r""":func:`regret_bound` after the rounds, with the gradients that occurred.

    .. math:: \frac1T \left( \frac{n C^2}{2 \eta_T} + \frac12 \sum_t \eta_t |g_t|^2 \right)
              + \frac{1}{2 T} \sum_t \epsilon_t

    bounds the same gap, for any steps that do not grow. No support vector machine has to be
    solved; where one is solved, :func:`duality_gap_estimate` is smaller.

    Parameters
    ----------
    steps : array of shape (T,)
        Steps :math:`\eta_t`, positive and not growing.
    gradient_norms : array of shape (T,)
        Norms :math:`|g_t|` of the gradient in the dual weights, in the convention of mass 1.
    n, C, errors
        As for :func:`regret_bound`.

    Examples
    --------
    >>> from bochner.guarantees import realised_regret_bound
    >>> realised_regret_bound([0.25, 0.25], [3.0, 1.0], n=16, C=0.25)
    1.625
    """
    eta = np.asarray(steps, dtype=np.float64)
    g = check_not_negative("gradient_norms", gradient_norms)
    check_same_shape("steps and gradient_norms", "(T,)", eta, g)
    if not (eta > 0).all() or (np.diff(eta) > 0).any():
        raise ValueError(f"steps must be positive and must not grow, got {eta}.")
    n, C = check_count("n", n, 1), check_above("C", C, 0)
    regret = n * C**2 / (2 * eta[-1]) + eta @ g**2 / 2
    return float(regret / len(eta) + _missed(errors, len(eta)).mean() / 2)


def _missed(errors: ArrayLike, T: int) -> Float:
    missed = check_not_negative("errors", errors)
    if missed.shape not in ((), (T,)):
        raise ValueError(
            f"errors must be a number or have one value per round, shape ({T},), "
            f"got shape {missed.shape}."
        )
    return missed


def duality_gap_estimate(svm_optimum: ArrayLike, alpha_sum: ArrayLike, peak: ArrayLike) -> Any:
    r"""*Estimate* how far the kernel is from the one of the largest margin.

    .. math:: \max_\alpha F(\alpha, \hat\lambda)
              - \Bigl( \sum_i \alpha_i - \tfrac12 \hat v \Bigr)

    With :math:`\hat v = \max_w v_\alpha(w)` this would be a bound: no kernel can have a game value
    below the bracket, for any feasible :math:`\alpha`, however it was found. But the highest peak
    *found* may be lower than the highest peak there is, and then the true gap is larger than this
    number by half the difference. For several rounds with one kernel, use the smallest value.

    Parameters
    ----------
    svm_optimum : float or array
        Largest value of the dual of the support vector machine with the learned kernel of mass 1.
    alpha_sum : float or array
        Sum :math:`\sum_i \alpha_i` of any feasible weights.
    peak : float or array
        Highest value of :math:`v_\alpha` found for the same weights.

    Examples
    --------
    >>> from bochner.guarantees import duality_gap_estimate
    >>> float(duality_gap_estimate(3.0, alpha_sum=4.0, peak=2.5))
    0.25
    """
    optimum = np.asarray(svm_optimum, dtype=np.float64)
    total, v = check_not_negative("alpha_sum", alpha_sum), check_not_negative("peak", peak)
    return optimum - (total - v / 2)


def competitive_ratio(svm_optimum: ArrayLike, gap: ArrayLike) -> Any:
    r"""Corollary 4.2, corrected: the margin as a share of the largest margin of any kernel.

    .. math:: \frac{M}{M^*} = \sqrt{\frac{F^*}{\hat F}} \ge \sqrt{1 - \frac{\mathrm{gap}}{\hat F}},
              \qquad M = \frac{1}{\sqrt{2 \hat F}}

    :math:`M` is the margin where the rows can be separated and no weight is at its limit `C`;
    otherwise it is a soft margin. In print the gap is not divided by :math:`\hat F`: that is too
    strong where :math:`F^* < 1/2`, as with a small `C`, and too weak elsewhere. The result is as
    certain as `gap`: a bound with :func:`regret_bound`, an estimate with
    :func:`duality_gap_estimate`.

    Parameters
    ----------
    svm_optimum : float or array
        Value of :math:`\hat F`, as for :func:`duality_gap_estimate`.
    gap : float or array
        Bound or estimate of :math:`\hat F - F^*`.

    Examples
    --------
    >>> from bochner.guarantees import competitive_ratio
    >>> round(float(competitive_ratio(3.0, gap=0.25)), 4)
    0.9574
    """
    optimum, gap = np.asarray(svm_optimum, dtype=np.float64), check_not_negative("gap", gap)
    if not (optimum > 0).all():
        raise ValueError(f"svm_optimum must be greater than 0, got {optimum.min()!r}.")
    return np.sqrt(np.maximum(0.0, 1 - gap / optimum))
