r"""PAC-Bayes bounds on the alignment loss of a learned kernel.

The alignment loss of a kernel `k` is the average over two independent examples of
:math:`(1 - \lambda(y, y') k(x, x')) / 2`, where the similarity :math:`\lambda` of the labels lies
in [-1, 1]. It is 0 for a perfect kernel and 1/2 for an uninformative one, so a bound of 1/2 or
more says nothing. A kernel learned as a distribution `Q` over `N` candidate frequencies has the
loss :math:`\sum_m Q_m L(w_m)`, and what follows bounds it from the empirical losses, seen on `n`
rows, and a divergence of `Q` from the uniform distribution.

The bounds are those of Letarte, Morvant and Germain (2019), "Pseudo-Bayesian learning with
kernel Fourier transform as prior", and sharper ones. Two kinds of loss are bounded:

* *global*, over all pairs of rows. The pairs are not independent: they are worth
  ``m = n // 2`` independent ones (:func:`effective_pairs`);
* *landmark*, over the pairs of one given point with the others. These are independent:
  ``m = n - 1``, or `n` if the point is not one of the rows (:func:`landmark_pairs`).

Every bound here holds with probability ``1 - delta`` over the sample, for all `Q` at once, if

* the rows are independent and identically distributed;
* the candidates were drawn without looking at those rows. The same goes for everything that
  came before them: the bandwidth, a scaler, a PCA, the centre and scale of a regression target.
  A StandardScaler fitted on the same rows voids the guarantee. A bandwidth selected from a fixed
  list of G on the same rows costs ``delta / G`` (`n_settings` below);
* the landmarks are rows or independent points; centroids of k-means have no guarantee.

Because of "for all `Q`", the strength of the posterior (`beta` or `rho`) may be tuned on the same
rows for free, and the frequencies finally drawn can be certified themselves, as the `Q` that
gives each its share of the draws. Taking the smallest of several bounds does have a price: give
each a part of `delta`.

=============================  ===============================================================
:func:`pac_bayes_kl`           the default: nothing to choose beforehand
:func:`catoni`, :func:`sharp`  `t` fixed beforehand, or :func:`t_grid`; Catoni is the smaller
:func:`corollary_5`            for chi-square posteriors; no logarithm, but ``1 / delta``
:func:`theorem_4`              for power divergences, corrected
:func:`theorem_1` and others   as printed in the paper: valid and looser
=============================  ===============================================================

All are about the kernel, not about a classifier on top of it: see
:mod:`bochner.guarantees.predictor` for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Float = NDArray[np.float64]

# Losses and weights come from sums of cosines, perhaps of float32 rows: rounding may carry them
# this far outside their range.
ROUNDING = 1e-6


def _check_count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def _check_delta(delta: Any) -> float:
    if not 0 < delta < 1:
        raise ValueError(
            f"delta must be a probability strictly between 0 and 1, such as 0.05, got {delta!r}."
        )
    return float(delta)


def _check_above(name: str, value: Any, least: float) -> float:
    if not (np.isfinite(value) and value > least):
        raise ValueError(f"{name} must be a finite number greater than {least}, got {value!r}.")
    return float(value)


def _check_unit(name: str, values: ArrayLike) -> Float:
    """Numbers in [0, 1], up to rounding."""
    array = np.asarray(values, dtype=np.float64)
    wrong = ~((array >= -ROUNDING) & (array <= 1 + ROUNDING))
    if wrong.any():
        raise ValueError(f"{name} must lie in [0, 1], got {array[wrong].flat[0]!r}.")
    return np.asarray(np.clip(array, 0.0, 1.0))


def _check_not_negative(name: str, values: ArrayLike) -> Float:
    array = np.asarray(values, dtype=np.float64)
    wrong = ~(array >= -ROUNDING)
    if wrong.any():
        raise ValueError(f"{name} must be zero or more, got {array[wrong].flat[0]!r}.")
    return np.asarray(np.maximum(array, 0.0))


def _check_weights(weights: ArrayLike) -> Float:
    array = _check_unit("weights", weights)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(
            "weights must have shape (N,), or (n_landmarks, D) for one row a landmark, "
            f"got shape {array.shape}."
        )
    total = array.sum(axis=-1)
    wrong = np.abs(total - 1) > ROUNDING
    if wrong.any():
        raise ValueError(f"weights must sum to 1, got a sum of {total[wrong].flat[0]!r}.")
    return array


def _at_most_one(bound: Any) -> Any:
    # The loss is in [0, 1] anyway.
    return np.minimum(bound, 1.0)


# --------------------------------------------------------------------------- divergences


def kl_to_uniform(weights: ArrayLike) -> Any:
    r"""Kullback-Leibler divergence of `Q` from the uniform distribution on its `N` candidates.

    .. math:: \mathrm{KL}(Q \| P) = \ln N + \sum_m Q_m \ln Q_m, \qquad 0 \ln 0 = 0

    Parameters
    ----------
    weights : array of shape (N,) or (n_landmarks, D)
        `Q`; one distribution a row when there are two dimensions.

    Returns
    -------
    float or array of shape (n_landmarks,)
        From 0, `Q` uniform, to ``ln N``, all the weight on one candidate.

    Examples
    --------
    >>> from bochner.guarantees.alignment import kl_to_uniform
    >>> round(float(kl_to_uniform([0.5, 0.5, 0, 0])), 4)
    0.6931
    """
    Q = _check_weights(weights)
    return np.maximum(np.log(Q.shape[-1]) - special.entr(Q).sum(axis=-1), 0.0)


def power_divergence(weights: ArrayLike, mu: float = 2.0) -> Any:
    r"""The divergence of Theorem 4 from the uniform distribution; chi-square for ``mu=2``.

    .. math:: D_\mu(Q \| P) = N^{\mu - 1} \sum_m Q_m^\mu - 1

    Parameters
    ----------
    weights : array of shape (N,) or (n_landmarks, D)
        `Q`; one distribution a row when there are two dimensions.
    mu : float, default=2
        The power, greater than 1.

    Returns
    -------
    float or array of shape (n_landmarks,)
        From 0, `Q` uniform, to ``N ** (mu - 1) - 1``, all the weight on one candidate.

    Examples
    --------
    >>> from bochner.guarantees.alignment import power_divergence
    >>> float(power_divergence([0.5, 0.5, 0, 0]))
    1.0
    """
    Q = _check_weights(weights)
    mu = _check_above("mu", mu, 1)
    # An overflow is an infinite divergence, which every bound turns into 1.
    with np.errstate(over="ignore"):
        return np.maximum(((Q.shape[-1] * Q) ** mu).mean(axis=-1) - 1, 0.0)


# --------------------------------------------------------------------------- binary kl


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


def binary_kl(q: ArrayLike, p: ArrayLike) -> Any:
    r"""Kullback-Leibler divergence between coins of probabilities `q` and `p`.

    .. math:: \mathrm{kl}(q \| p) = q \ln \frac{q}{p} + (1 - q) \ln \frac{1 - q}{1 - p}

    Infinite when `p` is 0 or 1 and `q` is not. Accurate also when `p` and `q` nearly agree.

    Examples
    --------
    >>> from bochner.guarantees.alignment import binary_kl
    >>> round(float(binary_kl(0.5, 0.75)), 4)
    0.1438
    """
    q, p = np.broadcast_arrays(_check_unit("q", q), _check_unit("p", p))
    return _binary_kl_at_distance(q, p - q)[()]


def inverse_binary_kl(q: ArrayLike, budget: ArrayLike) -> Any:
    r"""The largest `p`, at least `q`, with :math:`\mathrm{kl}(q \| p)` within the budget.

    .. math:: \mathrm{kl}^{-1}(q, b) = \max \{ p \in [q, 1] : \mathrm{kl}(q \| p) \le b \}

    Parameters
    ----------
    q : float or array
        Observed frequency or loss, in [0, 1].
    budget : float or array
        Zero or more; may be infinite.

    Returns
    -------
    float or array
        Of the common shape of `q` and `budget`, right to rounding and rounded upwards.

    Examples
    --------
    >>> from bochner.guarantees.alignment import inverse_binary_kl
    >>> inverse_binary_kl([0, 0.1, 1], 0.05).round(4)
    array([0.0488, 0.2201, 1.    ])
    """
    q, budget = np.broadcast_arrays(_check_unit("q", q), _check_not_negative("budget", budget))
    low = np.zeros(q.shape)
    high = np.minimum(1 - q, np.sqrt(budget / 2))  # Pinsker: kl(q || q + d) >= 2 d^2
    for _ in range(60):
        middle = 0.5 * (low + high)
        within = _binary_kl_at_distance(q, middle) <= budget
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return _at_most_one(q + high)


# --------------------------------------------------------------------------- sample sizes


def effective_pairs(n: int) -> int:
    """How many independent pairs all pairs of `n` rows are worth, ``n // 2``.

    Hoeffding's argument: the mean over all pairs is the mean, over the orders of the rows, of the
    mean of ``n // 2`` pairs without a row in common.

    Examples
    --------
    >>> from bochner.guarantees.alignment import effective_pairs
    >>> effective_pairs(101)
    50
    """
    return _check_count("n", n, 2) // 2


def landmark_pairs(n: int, *, in_sample: bool = True) -> int:
    """How many independent pairs a landmark makes with `n` rows.

    One less than `n` when the landmark is one of them.

    Examples
    --------
    >>> from bochner.guarantees.alignment import landmark_pairs
    >>> landmark_pairs(100), landmark_pairs(100, in_sample=False)
    (99, 100)
    """
    n = _check_count("n", n, 2)
    return n - 1 if in_sample else n


def variance_bound(n: int, *, binary: bool = True) -> float:
    r"""Largest variance that the empirical loss of one candidate over all pairs can have.

    .. math:: v_n = \frac{n - 1}{2 n (2 n - 3)} \text{ for two classes}, \qquad
              v_n = \frac{1}{2 n} \text{ in general}

    The first is attained. Lemma 6 of the paper has :math:`1 / (4 n)`, which is too small: half of
    the truth at ``n = 2``.

    Parameters
    ----------
    n : int
        Number of rows.
    binary : bool, default=True
        Whether there are two classes.

    Examples
    --------
    >>> from bochner.guarantees.alignment import variance_bound
    >>> variance_bound(2), variance_bound(10, binary=False)
    (0.25, 0.05)
    """
    n = _check_count("n", n, 2)
    return (n - 1) / (2 * n * (2 * n - 3)) if binary else 1 / (2 * n)


# --------------------------------------------------------------------------- bounds, as printed


def _linear(
    empirical_loss: ArrayLike, divergence: ArrayLike, delta: float, t: float, square: float
) -> Any:
    """``loss + (KL + t^2 square + ln(1 / delta)) / t``, the common form."""
    loss = _check_unit("empirical_loss", empirical_loss)
    kl = _check_not_negative("divergence", divergence)
    delta, t = _check_delta(delta), _check_above("t", t, 0)
    return _at_most_one(loss + (kl + t**2 * square - np.log(delta)) / t)


def theorem_1(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Theorem 1 as printed: the loss of one landmark that is one of the `n` rows.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{2 (n - 1)}
              + \ln \frac{1}{\delta} \right)

    Holds for all `Q` at once, for one landmark picked without looking at the data and `t` fixed
    before seeing the sample. Valid, but :func:`sharp` has a fourth of the second term.

    Parameters
    ----------
    empirical_loss : float or array
        :math:`\sum_m Q_m \hat L(w_m)`, in [0, 1].
    divergence : float or array
        :func:`kl_to_uniform` of `Q`.
    n : int
        Number of rows, the landmark among them.
    delta : float
        Probability that the bound may fail.
    t : float
        Greater than 0; the paper's posterior has ``t = beta * sqrt(n)``, but another is allowed.

    Returns
    -------
    float or array
        Clipped at 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import theorem_1
    >>> round(float(theorem_1(0.2, 1.0, n=101, delta=0.05, t=20)), 4)
    0.4998
    """
    n = _check_count("n", n, 2)
    return _linear(empirical_loss, divergence, delta, t, 1 / (2 * (n - 1)))


def landmark_bound(
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    n: int,
    delta: float,
    t: float,
    n_landmarks: int,
) -> Any:
    r"""Theorem 1 for `n_landmarks` landmarks together, as printed in section 4.2.

    .. math:: \hat L_l + \frac{1}{t} \left( \mathrm{KL}(Q_l) + \frac{t^2}{2 (n - 1)}
              + \ln \frac{n_L}{\delta} \right)

    Holds for all landmarks and all their `Q` at once, for landmarks picked without looking at the
    data and `t` fixed before seeing the sample. If they were picked by looking at the rows or at
    their labels, `n` instead of `n_landmarks` covers any choice among the `n` rows.
    Parameters as for :func:`theorem_1`; the losses and divergences have one value a landmark.

    Examples
    --------
    >>> from bochner.guarantees.alignment import landmark_bound
    >>> landmark_bound([0.2, 0.4], [1.0, 0.5], 101, 0.05, 20, n_landmarks=2).round(4)
    array([0.5344, 0.7094])
    """
    n_landmarks = _check_count("n_landmarks", n_landmarks, 1)
    return theorem_1(empirical_loss, divergence, n, _check_delta(delta) / n_landmarks, t)


def corollary_2(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Corollary 2 as printed: the global loss, by way of every row as a landmark.

    .. math:: \hat L + \frac{2}{t} \left( \mathrm{KL} + \frac{t^2}{2 (n - 1)}
              + \ln \frac{n + 1}{\delta} \right)

    Holds for all `Q` at once, `t` fixed before seeing the sample. Valid and far looser than the
    others. Parameters as for :func:`theorem_1`.

    Examples
    --------
    >>> from bochner.guarantees.alignment import corollary_2
    >>> round(float(corollary_2(0.2, 1.0, n=501, delta=0.05, t=50)), 4)
    0.7086
    """
    n = _check_count("n", n, 2)
    delta, t = _check_delta(delta), _check_above("t", t, 0)
    # 2 / t (KL + t^2 / (2 (n - 1)) + ...) is the common form at t / 2, with four times the square.
    return _linear(empirical_loss, divergence, delta / (n + 1), t / 2, 4 / (2 * (n - 1)))


def theorem_3(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, t: float
) -> Any:
    r"""Theorem 3 as printed (Lever et al. 2013): the global loss.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{2 n}
              + \ln \frac{1}{\delta} \right)

    Holds for all `Q` at once, `t` fixed before seeing the sample. Valid, but :func:`sharp` has
    half of the second term. Parameters as for :func:`theorem_1`.

    Examples
    --------
    >>> from bochner.guarantees.alignment import theorem_3
    >>> round(float(theorem_3(0.2, 1.0, n=100, delta=0.05, t=20)), 4)
    0.4998
    """
    n = _check_count("n", n, 2)
    return _linear(empirical_loss, divergence, delta, t, 1 / (2 * n))


def theorem_4_as_printed(
    empirical_loss: ArrayLike, divergence: ArrayLike, n: int, delta: float, mu: float
) -> Any:
    r"""Theorem 4 as printed, which is **wrong** for :math:`\mu > 2`: use :func:`theorem_4`.

    .. math:: \hat L + (D_\mu + 1)^{1/\mu} \, \delta^{-(1 - 1/\mu)} \times
              \begin{cases} (2 \sqrt{n})^{-(\mu - 1)} & 1 < \mu \le 2 \\
              (4 n)^{-(1 - 1/\mu)} & \mu > 2 \end{cases}

    Its proof takes the moment of order :math:`\mu` where Hoelder's inequality needs the conjugate
    :math:`\mu / (\mu - 1)`. With a single candidate, a thousand rows and ``delta=0.05`` it fails
    with probability 0.12 for ``mu=4`` and 0.30 for ``mu=10``. It is here to show that, and for no
    other purpose.

    Examples
    --------
    >>> from bochner.guarantees.alignment import theorem_4, theorem_4_as_printed
    >>> round(float(theorem_4_as_printed(0.25, 0.0, n=1000, delta=0.05, mu=4)), 4)
    0.2688
    >>> round(float(theorem_4(0.25, 0.0, n=1000, delta=0.05, mu=4)), 4)
    0.3996
    """
    loss = _check_unit("empirical_loss", empirical_loss)
    divergence = _check_not_negative("divergence", divergence)
    n, delta, mu = _check_count("n", n, 2), _check_delta(delta), _check_above("mu", mu, 1)
    size = (4 * n) ** (-(mu - 1) / 2) if mu <= 2 else (4 * n) ** -(1 - 1 / mu)
    return _at_most_one(loss + size * delta ** -(1 - 1 / mu) * (divergence + 1) ** (1 / mu))


# --------------------------------------------------------------------------- bounds, corrected


def theorem_4(
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    n: int,
    delta: float,
    mu: float,
    *,
    binary: bool = True,
) -> Any:
    r"""Theorem 4, corrected: the global loss by a power divergence.

    .. math:: \hat L + (D_\mu + 1)^{1/\mu} \times \begin{cases}
              (v_n / \delta)^{1 - 1/\mu} & 1 < \mu \le 2 \\
              \sqrt{v_n} \, \delta^{-(1 - 1/\mu)} & \mu > 2 \end{cases}

    with :math:`v_n` from :func:`variance_bound`. Hoelder's inequality with the exponents
    :math:`\mu` and :math:`\mu / (\mu - 1)`, then Markov's. Holds for all `Q` at once, `mu` fixed
    before seeing the sample.

    Parameters
    ----------
    empirical_loss : float or array
        :math:`\sum_m Q_m \hat L(w_m)`, in [0, 1].
    divergence : float or array
        :func:`power_divergence` of `Q` for the same `mu`.
    n : int
        Number of rows.
    delta : float
        Probability that the bound may fail.
    mu : float
        Greater than 1.
    binary : bool, default=True
        Whether there are two classes; more classes, or a regression target, need False.

    Returns
    -------
    float or array
        Clipped at 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import theorem_4
    >>> round(float(theorem_4(0.1, 0.5, n=1000, delta=0.05, mu=1.5)), 4)
    0.3241
    """
    loss = _check_unit("empirical_loss", empirical_loss)
    divergence = _check_not_negative("divergence", divergence)
    delta, mu = _check_delta(delta), _check_above("mu", mu, 1)
    v, rest = variance_bound(n, binary=binary), 1 - 1 / mu
    size = (v / delta) ** rest if mu <= 2 else v**0.5 * delta**-rest
    return _at_most_one(loss + size * (divergence + 1) ** (1 / mu))


def corollary_5(
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    n: int,
    delta: float,
    *,
    binary: bool = True,
) -> Any:
    r"""Corollary 5, corrected: the global loss by the chi-square divergence.

    .. math:: \hat L + \sqrt{v_n (\chi^2 + 1) / \delta}

    :func:`theorem_4` with ``mu=2``. Holds for all `Q` at once. The ``1 / delta`` is not under a
    logarithm: for small `delta`, or a concentrated `Q`, :func:`pac_bayes_kl` is much smaller.

    Examples
    --------
    >>> from bochner.guarantees.alignment import corollary_5
    >>> round(float(corollary_5(0.1, 0.5, n=1000, delta=0.05)), 4)
    0.1866
    """
    return theorem_4(empirical_loss, divergence, n, delta, 2.0, binary=binary)


# --------------------------------------------------------------------------- sharper bounds


def pac_bayes_kl(empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float) -> Any:
    r"""PAC-Bayes-kl (Seeger, Maurer), the default: global or landmark loss.

    .. math:: \mathrm{kl}^{-1} \left( \hat L, \frac{\mathrm{KL} + \ln (2 \sqrt{m} / \delta)}{m}
              \right)

    Holds for all `Q` at once with nothing to fix beforehand. That it holds for the mean over all
    pairs, with ``m = n // 2``, follows by Jensen's inequality from Hoeffding's argument
    (:func:`effective_pairs`).

    Parameters
    ----------
    empirical_loss : float or array
        :math:`\sum_m Q_m \hat L(w_m)`, in [0, 1].
    divergence : float or array
        :func:`kl_to_uniform` of `Q`.
    m : int
        :func:`effective_pairs` for all pairs, :func:`landmark_pairs` for a landmark.
    delta : float
        Probability that the bound may fail.

    Returns
    -------
    float or array
        At most 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import effective_pairs, pac_bayes_kl
    >>> round(float(pac_bayes_kl(0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
    0.2764
    """
    loss = _check_unit("empirical_loss", empirical_loss)
    kl = _check_not_negative("divergence", divergence)
    m, delta = _check_count("m", m, 1), _check_delta(delta)
    return inverse_binary_kl(loss, (kl + np.log(2 * np.sqrt(m) / delta)) / m)


def sharp(empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float, t: float) -> Any:
    r"""Theorems 1 and 3 with the constant of Hoeffding's lemma: global or landmark loss.

    .. math:: \hat L + \frac{1}{t} \left( \mathrm{KL} + \frac{t^2}{8 m}
              + \ln \frac{1}{\delta} \right)

    Holds for all `Q` at once, `t` fixed before seeing the sample; :func:`t_grid` tries several.
    It need not be the `t` of the posterior. Never smaller than :func:`catoni`.

    Parameters
    ----------
    empirical_loss, divergence, m, delta
        As for :func:`pac_bayes_kl`.
    t : float
        Greater than 0; the best is :math:`\sqrt{8 m (\mathrm{KL} + \ln (1 / \delta))}`, which
        depends on the sample through KL and so may only be guessed.

    Returns
    -------
    float or array
        Clipped at 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import effective_pairs, sharp
    >>> round(float(sharp(0.2, 1.0, effective_pairs(1000), delta=0.05, t=126)), 4)
    0.2632
    """
    m = _check_count("m", m, 1)
    return _linear(empirical_loss, divergence, delta, t, 1 / (8 * m))


def catoni(
    empirical_loss: ArrayLike, divergence: ArrayLike, m: int, delta: float, t: float
) -> Any:
    r"""Catoni's bound: global or landmark loss.

    .. math:: \frac{1 - \exp(-(t \hat L + \mathrm{KL} + \ln (1 / \delta)) / m)}{1 - \exp(-t / m)}

    Holds for all `Q` at once, `t` fixed before seeing the sample; :func:`t_grid` tries several.
    Linearised it is :func:`sharp`, which is never smaller. At the best `t` it is
    :func:`pac_bayes_kl` without the term :math:`\ln (2 \sqrt{m})`; but the best `t` depends on the
    sample, so a part of that gain is paid for the grid.

    Parameters
    ----------
    empirical_loss, divergence, m, delta, t
        As for :func:`sharp`.

    Returns
    -------
    float or array
        Clipped at 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import catoni, effective_pairs
    >>> round(float(catoni(0.2, 1.0, effective_pairs(1000), delta=0.05, t=160)), 4)
    0.2536
    """
    loss = _check_unit("empirical_loss", empirical_loss)
    kl = _check_not_negative("divergence", divergence)
    m, delta, t = _check_count("m", m, 1), _check_delta(delta), _check_above("t", t, 0)
    return _at_most_one(np.expm1(-(t * loss + kl - np.log(delta)) / m) / np.expm1(-t / m))


def t_grid(
    bound: Callable[[Any, Any, int, float, float], Any],
    empirical_loss: ArrayLike,
    divergence: ArrayLike,
    size: int,
    delta: float,
    grid: ArrayLike | None = None,
) -> Any:
    r"""The smallest of a bound over a grid of `t`, at the price of :math:`\ln g` for `g` values.

    Each value of `t` gets its part of `delta`, ``delta / g``. Holds, like the bound, for all `Q`
    at once; the grid must be fixed before seeing the sample, but which of its values is best may
    be found on the sample.

    Parameters
    ----------
    bound : callable
        :func:`catoni`, :func:`sharp`, :func:`theorem_1`, :func:`corollary_2` or
        :func:`theorem_3`.
    empirical_loss, divergence, delta
        As for `bound`.
    size : int
        The bound's `m` or `n`.
    grid : array of shape (g,), optional
        By default 16 values from ``2 sqrt(size)`` to ``64 sqrt(size)``, in proportion.

    Returns
    -------
    float or array
        Clipped at 1.

    Examples
    --------
    >>> from bochner.guarantees.alignment import catoni, effective_pairs, t_grid
    >>> round(float(t_grid(catoni, 0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
    0.2712
    """
    delta, size = _check_delta(delta), _check_count("size", size, 1)
    values = np.sqrt(size) * np.geomspace(2, 64, 16) if grid is None else np.ravel(grid)
    if len(values) == 0:
        raise ValueError("grid must have at least one value of t, got none.")
    share = delta / len(values)
    return np.minimum.reduce(
        [bound(empirical_loss, divergence, size, share, float(t)) for t in values]
    )


# --------------------------------------------------------------------------- what to report


@dataclass(frozen=True)
class Bound:
    """A bound on the alignment loss, beside the loss of an uninformative kernel.

    Attributes
    ----------
    value : float
        With probability ``1 - delta`` over the sample, the true loss is at most this.
    name : str
        Which bound it is.
    delta : float
        Probability that it may fail, all choices paid for. For several landmarks: that any fails.
    empirical_loss : float
        The loss on the sample.
    divergence : float
        Of the posterior from the prior.
    uninformative : float, default=0.5
        Loss of a kernel that knows nothing of the labels.

    Examples
    --------
    >>> from bochner.guarantees import Bound
    >>> print(Bound(0.31, "PAC-Bayes-kl", 0.05, 0.2, 1.0))
    alignment loss <= 0.3100 with probability 0.95, below the 0.5 of an uninformative kernel
    (PAC-Bayes-kl: 0.2000 on the sample, divergence 1)
    """

    value: float
    name: str
    delta: float
    empirical_loss: float
    divergence: float
    uninformative: float = 0.5

    @property
    def informative(self) -> bool:
        """Whether the bound says anything."""
        return self.value < self.uninformative

    def __str__(self) -> str:
        place = "below" if self.informative else "which does not improve on"
        return (
            f"alignment loss <= {self.value:.4f} with probability {1 - self.delta:.6g}, {place} "
            f"the {self.uninformative:g} of an uninformative kernel ({self.name}: "
            f"{self.empirical_loss:.4f} on the sample, divergence {self.divergence:.4g})"
        )


def _check_pair(weights: ArrayLike, losses: ArrayLike, ndim: int, shape: str) -> tuple[Any, Any]:
    Q, L = _check_weights(weights), _check_unit("losses", losses)
    if Q.ndim != ndim or Q.shape != L.shape:
        raise ValueError(
            f"weights and losses must both have shape {shape}, got {Q.shape} and {L.shape}."
        )
    return Q, L


def tightest_global_bound(
    weights: ArrayLike, losses: ArrayLike, n: int, delta: float, *, n_settings: int = 1
) -> Bound:
    r"""The bound to report for one kernel learned from all pairs: PAC-Bayes-kl.

    .. math:: \mathrm{kl}^{-1} \left( \sum_m Q_m \hat L_m,
              \frac{\mathrm{KL} + \ln (2 \sqrt{m} G / \delta)}{m} \right), \qquad
              m = \lfloor n / 2 \rfloor

    Of the bounds of this module it is the tightest that leaves nothing to be fixed before seeing
    the sample. As only one is computed, `delta` is not split. It holds for any number of classes
    and for regression, and for all `weights` at once, so that `beta` or `rho` may have been tuned
    on the same rows. :func:`catoni` over a :func:`t_grid` has the larger gap (bound less empirical
    loss) up to a hundred rows, and a smaller one beyond: by 5 per cent at 500 rows, 10 at 5000,
    15 at 50 000. It may be reported instead if that is decided before seeing the sample.

    Parameters
    ----------
    weights : array of shape (N,)
        The posterior, or the share of each candidate among the frequencies drawn.
    losses : array of shape (N,)
        Empirical alignment losses of the candidates on the `n` rows.
    n : int
        Number of rows.
    delta : float
        Probability that the bound may fail.
    n_settings : int, default=1
        How many settings (bandwidths, say), the one in use included, were compared on the same
        rows before this one was selected. They must have been listed before seeing the rows.

    Returns
    -------
    Bound

    Examples
    --------
    >>> from bochner.guarantees import tightest_global_bound
    >>> print(tightest_global_bound([0.7, 0.3], [0.2, 0.3], n=1000, delta=0.05))
    alignment loss <= 0.3043 with probability 0.95, below the 0.5 of an uninformative kernel
    (PAC-Bayes-kl: 0.2300 on the sample, divergence 0.08228)
    """
    Q, L = _check_pair(weights, losses, 1, "(N,)")
    share = _check_delta(delta) / _check_count("n_settings", n_settings, 1)
    loss, kl = float(Q @ L), float(kl_to_uniform(Q))
    value = float(pac_bayes_kl(loss, kl, effective_pairs(n), share))
    return Bound(value, "PAC-Bayes-kl", float(delta), loss, kl)


def tightest_landmark_bounds(
    weights: ArrayLike,
    losses: ArrayLike,
    m: int,
    delta: float,
    *,
    n_settings: int = 1,
    chosen_among: int | None = None,
) -> list[Bound]:
    r"""The bounds to report for one kernel a landmark: PAC-Bayes-kl for all of them together.

    .. math:: \mathrm{kl}^{-1} \left( \sum_j Q_{lj} \hat L_{lj},
              \frac{\mathrm{KL}(Q_l) + \ln (2 \sqrt{m} \, n_L G / \delta)}{m} \right)

    With probability ``1 - delta`` none of them fails, for all `weights` at once. Each is about the
    pairs of its own landmark with a new example, not about the classifier built on the landmarks.

    Parameters
    ----------
    weights : array of shape (n_landmarks, D)
        The posterior of each landmark.
    losses : array of shape (n_landmarks, D)
        Empirical losses of its candidates.
    m : int
        :func:`landmark_pairs`: the rows other than the landmark.
    delta : float
        Probability that any of the bounds may fail.
    n_settings : int, default=1
        As for :func:`tightest_global_bound`.
    chosen_among : int, optional
        Give the number of rows here if the landmarks are rows chosen by looking at the rows or at
        their labels (so many of each class, say): then the price is paid for every possible
        choice, :math:`\ln n` in place of :math:`\ln n_L`. By default they were chosen blindly.

    Returns
    -------
    list of Bound
        One a landmark.

    Examples
    --------
    >>> from bochner.guarantees import tightest_landmark_bounds
    >>> Q, losses = [[0.5, 0.5], [1, 0]], [[0.1, 0.2], [0.3, 0.4]]
    >>> [round(bound.value, 4) for bound in tightest_landmark_bounds(Q, losses, 500, 0.05)]
    [0.2185, 0.3866]
    """
    Q, L = _check_pair(weights, losses, 2, "(n_landmarks, D)")
    events = len(Q)
    if chosen_among is not None:
        events = _check_count("chosen_among", chosen_among, len(Q))
    share = _check_delta(delta) / (max(events, 1) * _check_count("n_settings", n_settings, 1))
    loss, kl = (Q * L).sum(axis=1), kl_to_uniform(Q)
    value = pac_bayes_kl(loss, kl, m, share)
    name = f"PAC-Bayes-kl, {len(Q)} landmarks together"
    return [
        Bound(float(v), name, float(delta), float(e), float(k))
        for v, e, k in zip(value, loss, kl, strict=True)
    ]
