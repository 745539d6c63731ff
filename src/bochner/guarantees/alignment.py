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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.guarantees.checks import (
    at_most_one,
    check_above,
    check_count,
    check_delta,
    check_not_negative,
    check_unit,
    check_weights,
)
from bochner.guarantees.divergences import (
    inverse_binary_kl,
    kl_to_uniform,
)
from bochner.guarantees.samples import effective_pairs
from bochner.guarantees.theorems import (
    linear_bound,
)

Float = NDArray[np.float64]


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
    >>> from bochner.guarantees.samples import effective_pairs
    >>> from bochner.guarantees.alignment import pac_bayes_kl
    >>> round(float(pac_bayes_kl(0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
    0.2764
    """
    loss = check_unit("empirical_loss", empirical_loss)
    kl = check_not_negative("divergence", divergence)
    m, delta = check_count("m", m, 1), check_delta(delta)
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
    >>> from bochner.guarantees.samples import effective_pairs
    >>> from bochner.guarantees.alignment import sharp
    >>> round(float(sharp(0.2, 1.0, effective_pairs(1000), delta=0.05, t=126)), 4)
    0.2632
    """
    m = check_count("m", m, 1)
    return linear_bound(empirical_loss, divergence, delta, t, 1 / (8 * m))


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
    >>> from bochner.guarantees.alignment import catoni
    >>> from bochner.guarantees.samples import effective_pairs
    >>> round(float(catoni(0.2, 1.0, effective_pairs(1000), delta=0.05, t=160)), 4)
    0.2536
    """
    loss = check_unit("empirical_loss", empirical_loss)
    kl = check_not_negative("divergence", divergence)
    m, delta, t = check_count("m", m, 1), check_delta(delta), check_above("t", t, 0)
    return at_most_one(np.expm1(-(t * loss + kl - np.log(delta)) / m) / np.expm1(-t / m))


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
    >>> from bochner.guarantees.alignment import catoni, t_grid
    >>> from bochner.guarantees.samples import effective_pairs
    >>> round(float(t_grid(catoni, 0.2, 1.0, effective_pairs(1000), delta=0.05)), 4)
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
    Q, L = check_weights(weights), check_unit("losses", losses)
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
    share = check_delta(delta) / check_count("n_settings", n_settings, 1)
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
        events = check_count("chosen_among", chosen_among, len(Q))
    share = check_delta(delta) / (max(events, 1) * check_count("n_settings", n_settings, 1))
    loss, kl = (Q * L).sum(axis=1), kl_to_uniform(Q)
    value = pac_bayes_kl(loss, kl, m, share)
    name = f"PAC-Bayes-kl, {len(Q)} landmarks together"
    return [
        Bound(float(v), name, float(delta), float(e), float(k))
        for v, e, k in zip(value, loss, kl, strict=True)
    ]
