r"""Bounds to report on the alignment loss of a learned kernel, and when they hold.

The alignment loss of a kernel `k` is the average over two independent examples of
:math:`(1 - \lambda(y, y') k(x, x')) / 2`, where the similarity :math:`\lambda` of the labels lies
in [-1, 1]. It is 0 for a perfect kernel. A kernel that knows nothing of the labels has a loss of
at least :math:`\min(1/2, 1 - \sum_c \pi_c^2)` for classes of shares :math:`\pi_c`
(:func:`uninformative_loss`), so a bound of that or more says nothing. A kernel learned as a
distribution `Q` over `N` candidate frequencies has the loss :math:`\sum_m Q_m L(w_m)`. The
functions below bound it from the empirical losses on `n` rows and a divergence of `Q` from the
uniform distribution.

The bounds are those of Letarte, Morvant and Germain (2019), "Pseudo-Bayesian learning with
kernel Fourier transform as prior", and sharper ones. Two kinds of loss are bounded:

* *global*, over all pairs of rows. The pairs are not independent: they are worth
  ``m = n // 2`` independent ones (:func:`effective_pairs`);
* *landmark*, over the pairs of one given point with the others. These are independent:
  ``m = n - 1``, or `n` if the point is not one of the rows (:func:`landmark_pairs`).

Every bound here holds with probability ``1 - delta`` over the sample, for all `Q` at once, if

* the rows are independent and identically distributed;
* the candidates were drawn without looking at those rows. The same applies to everything that
  came before them: the bandwidth, a scaler, a PCA, the centre and scale of a regression target.
  A StandardScaler fitted on the same rows voids the guarantee. A bandwidth selected from a fixed
  list of G on the same rows costs ``delta / G`` (`n_settings` below);
* the landmarks are rows or independent points; centroids of k-means have no guarantee.

Because the bounds hold for all `Q`, the strength of the posterior (`beta` or `rho`) may be tuned
on the same rows for free, and the frequencies finally drawn can be certified themselves, as the
`Q` that gives each its share of the draws. Taking the smallest of several bounds does have a
price: each must be given a part of `delta`.

All bounds are about the kernel, not about a classifier on top of it: see
:mod:`bochner.guarantees.predictor` for that.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.guarantees.checks import (
    check_count,
    check_delta,
    check_same_shape,
    check_unit,
    check_weights,
)
from bochner.guarantees.divergences import kl_to_uniform
from bochner.guarantees.guarantee import Guarantee
from bochner.guarantees.pac_bayes import pac_bayes_kl
from bochner.guarantees.samples import effective_pairs

_alignment_loss = partial(
    Guarantee,
    "alignment loss",
    bound="PAC-Bayes-kl",
    assumptions=(
        "independent rows of one distribution",
        "candidates, gamma and scaling of the columns that were fixed without them",
    ),
)


def uninformative_loss(shares: ArrayLike) -> float:
    r"""Least alignment loss that a kernel without any relation to the labels can have.

    .. math:: \min \Bigl( \tfrac12, 1 - \sum_c \pi_c^2 \Bigr)

    If the labels are independent of the rows, the loss is
    :math:`(1 - \mathbb{E} \lambda \, \mathbb{E} k) / 2` with
    :math:`\mathbb{E} \lambda = 2 \sum_c \pi_c^2 - 1`, and the mean of a positive definite kernel
    of diagonal 1 lies in [0, 1]: the constant 1 is best for unequal classes, 0 for many.

    Parameters
    ----------
    shares : array of shape (n_classes,)
        Shares of the classes, which sum to 1.

    Examples
    --------
    >>> from bochner.guarantees import uninformative_loss
    >>> uninformative_loss([0.5, 0.5]), round(uninformative_loss([0.9, 0.1]), 3)
    (0.5, 0.18)
    """
    pi = check_weights(shares)
    return min(0.5, float(1 - pi @ pi))


def tightest_global_bound(
    weights: ArrayLike,
    losses: ArrayLike,
    n: int,
    delta: float,
    *,
    n_settings: int = 1,
    shares: ArrayLike = (0.5, 0.5),
) -> Guarantee:
    r"""PAC-Bayes-kl, the bound to report for one kernel learned from all pairs.

    .. math:: \mathrm{kl}^{-1} \left( \sum_m Q_m \hat L_m,
              \frac{\mathrm{KL} + \ln (2 \sqrt{m} G / \delta)}{m} \right), \qquad
              m = \lfloor n / 2 \rfloor

    This is the tightest of the bounds here that leave nothing to be fixed before seeing the
    sample. As only one bound is computed, `delta` is not split. It holds for any number of classes
    and for regression, and for all `weights` at once, so that `beta` or `rho` may have been tuned
    on the same rows. :func:`smallest_over_t` of :func:`catoni` has the larger gap (bound minus
    empirical loss) up to a hundred rows, and a smaller one beyond: by 5 per cent at 500 rows, 10
    at 5000, 15 at 50 000. It may be reported instead if that is decided before seeing the sample.

    Parameters
    ----------
    weights : array of shape (N,)
        Posterior, or the share of each candidate among the frequencies drawn.
    losses : array of shape (N,)
        Empirical alignment losses of the candidates on the `n` rows.
    n : int
        Number of rows.
    delta : float
        Probability that the bound may fail.
    n_settings : int, default=1
        Number of settings (such as bandwidths), including the one in use, that were compared on
        the same rows before this one was selected. They must have been listed before seeing the
        rows.
    shares : array of shape (n_classes,), default=(0.5, 0.5)
        Shares of the classes. They give the level at which the bound says nothing, see
        :func:`uninformative_loss`.

    Returns
    -------
    Guarantee
        The bound. The loss on the sample is `observed`; the details hold the ``divergence`` of the
        posterior from the prior.

    Examples
    --------
    >>> from bochner.guarantees import tightest_global_bound
    >>> print(tightest_global_bound([0.7, 0.3], [0.2, 0.3], n=1000, delta=0.05))
    With probability 0.95, the alignment loss on new pairs of rows is at most 0.3043, where 0.5
    would say nothing (PAC-Bayes-kl: 0.23 on 1000 rows, divergence 0.08228).
    Holds for independent rows of one distribution; candidates, gamma and scaling of the columns
    that were fixed without them.
    """
    Q, L = _check_pair(weights, losses, 1, "(N,)")
    share = check_delta(delta) / check_count("n_settings", n_settings, 1)
    loss, kl = float(Q @ L), float(kl_to_uniform(Q))
    value = float(pac_bayes_kl(loss, kl, effective_pairs(n), share))
    return _alignment_loss(
        value=value,
        delta=float(delta),
        sample=f"{n} rows",
        observed=loss,
        details={"divergence": kl},
        uninformative=uninformative_loss(shares),
        scope="on new pairs of rows",
    )


def tightest_landmark_bounds(
    weights: ArrayLike,
    losses: ArrayLike,
    m: int,
    delta: float,
    *,
    n_settings: int = 1,
    chosen_among: int | None = None,
    shares: ArrayLike = 0.5,
) -> list[Guarantee]:
    r"""PAC-Bayes-kl bounds to report for one kernel per landmark, all holding together.

    .. math:: \mathrm{kl}^{-1} \left( \sum_j Q_{lj} \hat L_{lj},
              \frac{\mathrm{KL}(Q_l) + \ln (2 \sqrt{m} \, n_L G / \delta)}{m} \right)

    With probability ``1 - delta`` none of them fails, for all `weights` at once. Each is about the
    pairs of its own landmark with a new example, not about the classifier built on the landmarks.

    Parameters
    ----------
    weights : array of shape (n_landmarks, D)
        Posterior of each landmark.
    losses : array of shape (n_landmarks, D)
        Empirical losses of the candidates of each landmark.
    m : int
        Number of independent pairs of each landmark, see :func:`landmark_pairs`: the number of
        rows other than the landmark.
    delta : float
        Probability that any of the bounds may fail.
    n_settings : int, default=1
        As for :func:`tightest_global_bound`.
    chosen_among : int, optional
        Number of rows, to be given if the landmarks are rows chosen by looking at the rows or at
        their labels (for example, equally many of each class). The price is then paid for every
        possible choice, :math:`\ln n` in place of :math:`\ln n_L`. By default the landmarks are
        taken to have been chosen without looking.
    shares : float or array of shape (n_landmarks,), default=0.5
        Share of each landmark's own class. A similarity without any relation to the labels, of
        which it is known only that it lies in [-1, 1], has a loss of at least
        :math:`\min(\pi_l, 1 - \pi_l)`; a bound at or above this level says nothing.

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
    own = np.broadcast_to(check_unit("shares", shares), loss.shape)
    return [
        _alignment_loss(
            value=float(v),
            delta=float(delta),
            sample=f"{m} pairs",
            observed=float(e),
            details={"divergence": float(k)},
            uninformative=float(min(pi, 1 - pi)),
            scope="of its landmark and a new row",
            together=len(Q),
        )
        for v, e, k, pi in zip(value, loss, kl, own, strict=True)
    ]


def _check_pair(weights: ArrayLike, losses: ArrayLike, ndim: int, shape: str) -> tuple[Any, Any]:
    Q, L = check_weights(weights), check_unit("losses", losses)
    check_same_shape("weights and losses", shape, Q, L, ndim)
    return Q, L
