r"""The margin bound of Bullins, Zhang and Zhang (2018), "Not-So-Random Features": Theorem 4.3.

It bounds the error rate on new rows of a classifier whose kernel was learned on the same rows as
the classifier itself.

The constants were derived anew and are not those in print; each function says what differs.
Lengths of rows may be measured from any fixed point, as no kernel here changes when all rows are
moved. So `R_x` is the radius of the data, not their distance from the origin. Their Theorem 4.1 is
in :mod:`bochner.guarantees.regret`, Theorem 4.4 in :mod:`bochner.guarantees.potential`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bochner.guarantees.checks import (
    ROUNDING,
    at_most_one,
    check_above,
    check_count,
    check_delta,
    check_length,
    check_same_shape,
    check_signs,
)
from bochner.guarantees.complexity import fourier_complexity
from bochner.guarantees.guarantee import Guarantee


def wave_norm(coefficients: ArrayLike, *, scale: ArrayLike = 1.0, intercept: float = 0.0) -> float:
    r"""Norm of a linear classifier on Fourier features, as needed by :func:`margin_bound`.

    For :math:`f(x) = b + \sum_j s_j (a_j \cos \langle w_j, x \rangle + b_j \sin \langle w_j, x
    \rangle)` it is the sum of the amplitudes,

    .. math:: |b| + \sum_j s_j \sqrt{a_j^2 + b_j^2},

    the smallest :math:`\sqrt{\mathrm{mass}}` times RKHS norm of `f` over all kernels. So it is
    never more than ``norm * sqrt(mass) + |intercept|`` for the kernel that was learned.

    Parameters
    ----------
    coefficients : array of shape (2 N,)
        Coefficients of the columns of :func:`bochner.engine.features`: cosines first, then sines.
    scale : float or array of shape (N,), default=1
        Amplitude of the columns: ``N ** -0.5`` for unit rows.
    intercept : float, default=0
        Constant term `b`.

    Examples
    --------
    >>> from bochner.guarantees import wave_norm
    >>> wave_norm([3.0, 0.0, 4.0, 2.0], intercept=-1.0)
    8.0
    """
    w = np.asarray(coefficients, dtype=np.float64)
    if w.ndim != 1 or len(w) % 2:
        raise ValueError(
            "coefficients must have shape (2 N,), the cosines' before the sines', "
            f"got shape {w.shape}."
        )
    s = np.asarray(scale, dtype=np.float64)
    if s.shape not in ((), (len(w) // 2,)):
        raise ValueError(
            f"scale must be a number or have shape ({len(w) // 2},), got shape {s.shape}."
        )
    amplitudes = np.abs(s) * np.hypot(w[: len(w) // 2], w[len(w) // 2 :])
    return float(amplitudes.sum() + abs(intercept))


def margin_bound(
    scores: ArrayLike,
    y: ArrayLike,
    *,
    norm: float,
    R_w: float,
    R_x: float,
    d: int | None = None,
    mass: float = 1.0,
    intercept: float = 0.0,
    delta: float = 0.05,
    grid: ArrayLike | None = None,
    radius_from_rows: bool = False,
    n_settings: int = 1,
) -> Guarantee:
    r"""Theorem 4.3, corrected: bound the error rate of a classifier whose kernel was learned too.

    For all kernels of total mass :math:`R_\lambda` over frequencies up to :math:`R_w`, all `f` of
    RKHS norm `B` in one of them, and all :math:`\theta` of a grid of `g` values at once,

    .. math:: P(y f(x) \le 0) \le \frac1n \sum_i
              \min \Bigl( 1, \max \bigl( 0, 1 - \tfrac{y_i f(x_i)}{\theta} \bigr) \Bigr)
              + \frac{2 L}{\theta} \frac{c}{\sqrt n}
              + \sqrt{\frac{\ln (g G / \delta)}{2 n}}, \qquad L = B \sqrt{R_\lambda} + |b|,

    with :math:`c` from :func:`fourier_complexity`, :math:`b` an intercept and :math:`G`
    `n_settings`. The average is at most the share of rows with :math:`y_i f(x_i) \le \theta`.

    It holds with probability ``1 - delta`` if the rows are independent and identically
    distributed, and `R_w`, `R_x`, the grid and everything that came before (such as a scaler) were
    fixed without looking at them. Frequencies, their number, `f`, its norm and the margin may
    depend on the rows in any way: the grid is of :math:`\theta / L`, and only this ratio matters.
    A limit `R_w` picked among several after the fact costs `n_settings`.

    Most often the bound is vacuous. To be below 1 it needs :math:`\sqrt n` greater than
    :math:`2 c L / \theta`: tens of thousands of rows for a classifier of a few frequencies. To
    know an error rate, hold rows out and use :func:`bochner.guarantees.certify`; this bound says
    what the rate depends on.

    Parameters
    ----------
    scores : array of shape (n,)
        Values :math:`f(x_i)`, the intercept included.
    y : array of shape (n,)
        Labels, -1 or +1.
    norm : float
        RKHS norm `B` in the kernel of mass `mass`: the length of the coefficients for features
        whose rows have the length ``sqrt(mass)``. Alternatively :func:`wave_norm` with ``mass=1``,
        which is smaller.
    R_w : float
        Largest length that a frequency was allowed to have.
    R_x : float
        Bound on the root mean square distance of a row from a fixed point.
    d : int, optional
        Number of columns of the rows, for a bound that is better in low dimension.
    mass : float, default=1
        Total mass of the kernel, its value at equal points.
    intercept : float, default=0
        Constant term of `f`, unless it is included in `norm`.
    delta : float, default=0.05
        Probability that the bound may fail.
    grid : array of shape (g,), optional
        Values of :math:`\theta / L` to try, in (0, 1]; by default 16 values from ``2 / sqrt(n)``
        to 1, evenly spaced on a log scale. Each gets its part of `delta`.
    radius_from_rows : bool, default=False
        Whether `R_x` was measured on these rows (about their mean, for example). Then the last
        term is :math:`3 \sqrt{\ln (2 g G / \delta) / (2 n)}`.
    n_settings : int, default=1
        Number of limits `R_w`, listed beforehand, from which this one was picked.

    Returns
    -------
    Guarantee
        Bound on the error rate. Its details are the ``margin`` at which the bound is smallest and
        the terms whose sum is the value: the ``margin loss``, the average on the rows of
        ``1 - y f(x) / margin`` clipped to [0, 1]; the ``complexity``, the price for having learned
        the function, and its kernel, on the same rows; and the ``confidence``, the price for
        `delta` and for the choice of the margin.

    Notes
    -----
    The printed bound is valid for functions of norm 1 only, lacks the constants and pays nothing
    for the choice of :math:`\theta`: see :doc:`/errata`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import margin_bound
    >>> x = np.linspace(-1, 1, 20000)
    >>> print(margin_bound(np.cos(4 * x), np.sign(np.cos(4 * x)), norm=1, R_w=5, R_x=0.6, d=1))
    With probability 0.95, the error rate on new rows is at most 28.29 %
    (margin bound: 20000 training rows, margin 0.5668, margin loss 0.1459, complexity 0.125,
    confidence 0.01201). Holds for independent rows of one distribution;
    limits, margins to try and scaling that were fixed without them.
    """
    f, labels = np.asarray(scores, dtype=np.float64), np.asarray(y)
    check_same_shape("scores and y", "(n,)", f, labels)
    check_signs("y", labels)
    n, delta = len(f), check_delta(delta)
    mass, norm = check_above("mass", mass, 0), check_length("norm", norm)
    largest = norm * np.sqrt(mass) + abs(intercept)
    if not np.abs(f).max() <= largest * (1 + ROUNDING) + ROUNDING:  # catches NaN as well
        raise ValueError(
            "norm * sqrt(mass) + |intercept| must be at least the largest score, "
            f"{np.abs(f).max():.6g}, got {largest:.6g}: no function of this norm has this score."
        )
    ratios = np.geomspace(min(1.0, 2 * n**-0.5), 1.0, 16) if grid is None else np.ravel(grid)
    if len(ratios) == 0 or not ((ratios > 0) & (ratios <= 1)).all():
        raise ValueError(f"grid must have values in (0, 1], got {ratios}.")
    share = delta / (len(ratios) * check_count("n_settings", n_settings, 1))
    # A complexity measured on these rows is near its mean, at the price of a part of delta.
    factor, parts = (3, 2) if radius_from_rows else (1, 1)
    confidence = factor * np.sqrt(np.log(parts / share) / (2 * n))
    complexities = 2 / ratios * fourier_complexity(n, R_w, R_x, d) / np.sqrt(n)
    # A function of norm 0 is 0: the loss of every row is 1 at any margin.
    margins = labels * f / (largest or 1.0)
    losses = np.array([np.clip(1 - margins / ratio, 0, 1).mean() for ratio in ratios])
    best = int(np.argmin(losses + complexities))
    return Guarantee(
        "error rate",
        float(at_most_one(losses[best] + complexities[best] + confidence)),
        delta,
        "margin bound",
        f"{n} training rows",
        (
            "independent rows of one distribution",
            "limits, margins to try and scaling that were fixed without them",
        ),
        details={
            "margin": float(ratios[best] * largest),
            "margin loss": float(losses[best]),
            "complexity": float(complexities[best]),
            "confidence": float(confidence),
        },
        percent=True,
    )
