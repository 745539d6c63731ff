r"""Margin features (Bullins, Zhang and Zhang 2018, "Not-So-Random Features"): what is guaranteed.

Their method plays a game. With dual weights :math:`\alpha \in K = \{0 \le \alpha_i \le C,
\langle y, \alpha \rangle = 0\}` and a measure :math:`\lambda` of mass 1 over frequencies,

.. math:: F(\alpha, \lambda) = \sum_i \alpha_i - \frac12 \int \lambda(w) v_\alpha(w) \, dw,
          \qquad v_\alpha(w) = \Bigl| \sum_i \alpha_i y_i e^{i \langle w, x_i \rangle} \Bigr|^2 .

Three questions have an answer with a number in it:

* how wrong is the classifier on new rows? :func:`margin_bound` (Theorem 4.3);
* how far is the kernel from the one of the largest margin? :func:`regret_bound` before the rounds
  are played, :func:`realised_regret_bound` and :func:`duality_gap_estimate` after
  (Theorem 4.1, Corollary 4.2);
* how many rows until the Fourier potential looks like that of the whole population?
  :func:`potential_sample_size` and :func:`potential_deviation` (Theorem 4.4).

The constants were derived anew, and are not those in print: each function says what differs.
Lengths of rows may be measured from any fixed point, as no kernel here changes when all rows are
moved; so `R_x` is the radius of the data, not their distance from the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.guarantees.checks import (
    ROUNDING,
    at_most_one,
    check_above,
    check_count,
    check_delta,
    check_not_negative,
)

Float = NDArray[np.float64]

# A complex number z is at most max_k Re(exp(-2 pi i k / DIRECTIONS) z) / cos(pi / DIRECTIONS)
# long: real sums in so many directions stand for one complex sum.
DIRECTIONS = 16
SLACK = float(np.cos(np.pi / DIRECTIONS))


def _length(name: str, value: Any) -> float:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


# --------------------------------------------------------------------------- Theorem 4.3


def _without_dimension(phase: float) -> float:
    return min(1 + 3 * phase, np.pi + phase)


def fourier_complexity(n: int, R_w: float, R_x: float, d: int | None = None) -> float:
    r"""How well the best frequency fits random signs: a bound on

    .. math:: \frac{1}{\sqrt n} \, E \sup_{|w| \le R_w}
              \Bigl| \sum_{i=1}^n \sigma_i e^{i \langle w, x_i \rangle} \Bigr|,
              \qquad \sigma_i = \pm 1 \text{ at random.}

    Divided by :math:`\sqrt n` it is the Rademacher complexity of all functions of norm 1 in *any*
    kernel of mass 1 over frequencies up to `R_w`: the supremum over kernels is that over single
    frequencies, whose kernels have rank one (the paper's argument, Appendix D). The kernel may
    therefore be learned on the same rows. The smallest of three numbers, with
    :math:`\rho = R_w R_x`:

    * :math:`\pi + \rho`. The modulus is the largest of :math:`\sum_i \sigma_i \cos(\langle w, x_i
      \rangle - \psi)` over phases :math:`|\psi| \le \pi`; the cosine is 1-Lipschitz and drops out
      by contraction, which leaves :math:`R_w |\sum \sigma_i x_i| + \pi |\sum \sigma_i|`;
    * :math:`1 + 3 \rho`, the paper's way: contraction for cosine and sine apart. In print it is
      :math:`3 \rho`, which is wrong for small :math:`\rho`: at the frequency 0 the cosine is 1,
      and the constants that it spans have a complexity of their own;
    * if `d` is given, :math:`\sqrt{2 \ln(16 N)} / \cos(\pi / 16) + \sqrt n R_x h` with a net of
      :math:`N = (1 + 2 R_w / h)^d` frequencies, for the best :math:`h`. It grows with the root of
      the dimension but only with the logarithm of :math:`\rho`.

    Parameters
    ----------
    n : int
        Number of rows.
    R_w : float
        Largest length of a frequency.
    R_x : float
        Root mean square of the distance of a row from some fixed point, or more.
    d : int, optional
        Number of columns of the rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from bochner.guarantees.margin import fourier_complexity
    >>> round(fourier_complexity(1000, R_w=50.0, R_x=1.0), 2)
    53.14
    >>> round(fourier_complexity(1000, R_w=50.0, R_x=1.0, d=2), 2)
    6.95
    """
    n, phase = check_count("n", n, 1), _length("R_w", R_w) * _length("R_x", R_x)
    smallest = _without_dimension(phase)
    if d is not None:
        d = check_count("d", d, 1)
        rest = np.geomspace(0.01, 10, 50)  # sqrt(n) R_x h; any value of h gives a valid bound
        sizes = np.log(DIRECTIONS) + d * np.log1p(2 * np.sqrt(n) * phase / rest)
        smallest = min(smallest, float(np.min(np.sqrt(2 * sizes) / SLACK + rest)))
    return float(smallest)


def wave_norm(coefficients: ArrayLike, *, scale: ArrayLike = 1.0, intercept: float = 0.0) -> float:
    r"""The norm that :func:`margin_bound` needs, of a linear classifier on Fourier features.

    For :math:`f(x) = b + \sum_j s_j (a_j \cos \langle w_j, x \rangle + b_j \sin \langle w_j, x
    \rangle)` it is the sum of the amplitudes,

    .. math:: |b| + \sum_j s_j \sqrt{a_j^2 + b_j^2},

    the smallest :math:`\sqrt{\mathrm{mass}}` times RKHS norm of `f` over all kernels. So it is
    never more than ``norm * sqrt(mass) + |intercept|`` for the kernel that was learned.

    Parameters
    ----------
    coefficients : array of shape (2 N,)
        Of the columns of :func:`bochner.engine.features`: cosines first, then sines.
    scale : float or array of shape (N,), default=1
        Amplitude of the columns: ``N ** -0.5`` for unit rows.
    intercept : float, default=0
        The constant `b`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bochner.guarantees.margin import wave_norm
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


@dataclass(frozen=True)
class MarginBound:
    """What :func:`margin_bound` found: ``value = margin_loss + complexity + confidence``.

    Attributes
    ----------
    value : float
        With probability ``1 - delta`` the error rate on new rows is at most this; at most 1.
    delta : float
        Probability that it may fail, all choices paid for.
    theta : float
        The margin at which the bound is smallest.
    margin_loss : float
        Average on the rows of ``1 - y f(x) / theta``, cut to [0, 1].
    complexity : float
        Price for having learned the function, and its kernel, on the same rows.
    confidence : float
        Price for `delta` and for the choice of `theta`.

    Examples
    --------
    >>> from bochner.guarantees.margin import MarginBound
    >>> print(MarginBound(1.0, 0.05, 0.1, 0.02, 3.1, 0.04))
    error rate <= 1.0000 with probability 0.95, vacuous
    (at margin 0.1: loss 0.0200, complexity 3.1000, confidence 0.0400)
    """

    value: float
    delta: float
    theta: float
    margin_loss: float
    complexity: float
    confidence: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, being 1."""
        return self.value >= 1

    def __str__(self) -> str:
        vacuous = ", vacuous" if self.vacuous else ""
        return (
            f"error rate <= {self.value:.4f} with probability {1 - self.delta:.6g}{vacuous} "
            f"(at margin {self.theta:.4g}: loss {self.margin_loss:.4f}, "
            f"complexity {self.complexity:.4f}, confidence {self.confidence:.4f})"
        )


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
) -> MarginBound:
    r"""Theorem 4.3, corrected: the error rate of a classifier whose kernel was learned as well.

    For all kernels of total mass :math:`R_\lambda` over frequencies up to :math:`R_w`, all `f` of
    RKHS norm `B` in one of them, and all :math:`\theta` of a grid of `g` values at once,

    .. math:: P(y f(x) \le 0) \le \frac1n \sum_i
              \min \Bigl( 1, \max \bigl( 0, 1 - \tfrac{y_i f(x_i)}{\theta} \bigr) \Bigr)
              + \frac{2 L}{\theta} \frac{c}{\sqrt n}
              + \sqrt{\frac{\ln (g G / \delta)}{2 n}}, \qquad L = B \sqrt{R_\lambda} + |b|,

    with :math:`c` from :func:`fourier_complexity`, :math:`b` an intercept and :math:`G`
    `n_settings`. The average is at most the share of rows with :math:`y_i f(x_i) \le \theta`.

    It holds with probability ``1 - delta`` if the rows are independent and identically
    distributed, and `R_w`, `R_x`, the grid and all that came before (a scaler, say) were fixed
    without looking at them. Frequencies, their number, `f`, its norm and the margin may depend on
    the rows in any way: the grid is of :math:`\theta / L`, and only this ratio matters. A limit
    `R_w` picked among several after the fact costs `n_settings`.

    Most often it is vacuous. Below 1 it needs :math:`\sqrt n` greater than :math:`2 c L / \theta`:
    tens of thousands of rows for a classifier of a few frequencies. To know an error rate, hold
    rows out and use :func:`bochner.guarantees.certify`; this bound says what the rate depends on.

    Parameters
    ----------
    scores : array of shape (n,)
        :math:`f(x_i)`, the intercept included.
    y : array of shape (n,)
        -1 or +1.
    norm : float
        `B`, in the kernel of mass `mass`; the length of the coefficients for features whose rows
        have the length ``sqrt(mass)``. Or, smaller, :func:`wave_norm` with ``mass=1``.
    R_w : float
        Largest length that a frequency was allowed to have.
    R_x : float
        Bound on the root mean square distance of a row from a fixed point.
    d : int, optional
        Number of columns of the rows, for a bound that suits low dimension.
    mass : float, default=1
        Total mass of the kernel, its value at equal points.
    intercept : float, default=0
        The constant in `f`, unless in `norm` already.
    delta : float, default=0.05
        Probability that the bound may fail.
    grid : array of shape (g,), optional
        Values of :math:`\theta / L` to try, in (0, 1]; by default 16 from ``2 / sqrt(n)`` to 1, in
        proportion. Each gets its part of `delta`.
    radius_from_rows : bool, default=False
        Whether `R_x` was measured on these rows (about their mean, say). Then the last term is
        :math:`3 \sqrt{\ln (2 g G / \delta) / (2 n)}`.
    n_settings : int, default=1
        How many limits `R_w`, listed beforehand, this one was picked from.

    Returns
    -------
    MarginBound

    Notes
    -----
    In print the bound is the share of rows with margin up to :math:`\theta`, plus
    :math:`6 R_w R_x \sqrt{R_\lambda / n} / \theta + 3 \sqrt{\ln (2 / \delta) / n}`. What differs:
    the proof is for functions of norm 1 but the statement is for any, and then larger scores
    alone make the complexity vanish; the complexity misses the constants (see
    :func:`fourier_complexity`); nothing is paid for the choice of :math:`\theta`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import margin_bound
    >>> x = np.linspace(-1, 1, 20000)
    >>> print(margin_bound(np.cos(4 * x), np.sign(np.cos(4 * x)), norm=1, R_w=5, R_x=0.6, d=1))
    error rate <= 0.2829 with probability 0.95
    (at margin 0.5668: loss 0.1459, complexity 0.1250, confidence 0.0120)
    """
    f, labels = np.asarray(scores, dtype=np.float64), np.asarray(y)
    if f.ndim != 1 or labels.shape != f.shape or len(f) == 0:
        raise ValueError(
            f"scores and y must both have shape (n,), got {f.shape} and {labels.shape}."
        )
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError(
            f"y must be -1 or +1, got {np.unique(labels)[:5]}; "
            "np.where(y == positive_class, 1, -1) makes them so."
        )
    n, delta = len(f), check_delta(delta)
    mass, norm = check_above("mass", mass, 0), _length("norm", norm)
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
    if radius_from_rows:
        # The complexity is that of these rows; it is near its mean with a part of delta.
        confidence = 3 * np.sqrt(np.log(2 / share) / (2 * n))
    else:
        confidence = np.sqrt(np.log(1 / share) / (2 * n))
    complexities = 2 / ratios * fourier_complexity(n, R_w, R_x, d) / np.sqrt(n)
    # A function of norm 0 is 0: every row is lost at any margin.
    margins = labels * f / (largest or 1.0)
    losses = np.array([np.clip(1 - margins / ratio, 0, 1).mean() for ratio in ratios])
    best = int(np.argmin(losses + complexities))
    return MarginBound(
        value=float(at_most_one(losses[best] + complexities[best] + confidence)),
        delta=delta,
        theta=float(ratios[best] * largest),
        margin_loss=float(losses[best]),
        complexity=float(complexities[best]),
        confidence=float(confidence),
    )


# --------------------------------------------------------------------------- Theorem 4.1


def gradient_norm_bound(n: int, C: float) -> float:
    r"""The longest that the gradient of the game in the dual weights can be.

    .. math:: \bigl| \nabla_\alpha F(\alpha, \lambda) \bigr| \le (1 + n C) \sqrt n

    Its components are :math:`1 - y_i \mathrm{Re}(\bar S(w) e^{i \langle w, x_i \rangle})` with
    :math:`S(w) = \sum_j \alpha_j y_j e^{i \langle w, x_j \rangle}`, a sum of `n` terms that can
    all point the same way: :math:`|S| \le n C`. The paper has :math:`(1 + 2 C) \sqrt n`, where
    the 2 is due to kernels of mass 2 and a factor `n` is lost. Attained up to the sign of the 1.

    Examples
    --------
    >>> from bochner.guarantees.margin import gradient_norm_bound
    >>> gradient_norm_bound(100, C=1.0)
    1010.0
    """
    n, C = check_count("n", n, 1), check_above("C", C, 0)
    return (1 + n * C) * float(np.sqrt(n))


def regret_step(n: int, C: float, t: int) -> float:
    r"""The step size that :func:`regret_bound` is about.

    .. math:: \eta_t = \frac{D}{G \sqrt t} = \frac{C}{(1 + n C) \sqrt t}

    The diameter of the feasible weights, :math:`D = C \sqrt n`, over :func:`gradient_norm_bound`
    times a root: of the round `t`, counted from 1, for steps that shrink; or of the number of
    rounds, if known beforehand, for a constant step. A guarantee for the worst case and therefore
    small; longer steps often do better, and :func:`realised_regret_bound` says how well they did.

    Examples
    --------
    >>> from bochner.guarantees.margin import regret_step
    >>> regret_step(99, C=1.0, t=4)
    0.005
    """
    return float(C * np.sqrt(n) / (gradient_norm_bound(n, C) * np.sqrt(check_count("t", t, 1))))


def regret_bound(
    n: int, C: float, T: int, *, errors: ArrayLike = 0.0, constant_step: bool = False
) -> float:
    r"""Theorem 4.1, corrected: how far the kernel is from the best after `T` rounds.

    .. math:: \max_\alpha F(\alpha, \hat\lambda) - \min_\lambda \max_\alpha F(\alpha, \lambda)
              \le \frac{3 n C (1 + n C)}{2 \sqrt T} + \frac{1}{2 T} \sum_t \epsilon_t

    for :math:`\hat\lambda` the average of the measures of all rounds, each half a point mass at
    :math:`w_t` and half at :math:`-w_t`, with :math:`v_{\alpha_t}(w_t) \ge \max_w v_{\alpha_t}(w)
    - \epsilon_t`; :math:`\alpha` moved by projected gradient ascent from any feasible start with
    the steps of :func:`regret_step`. For a constant step the 3/2 is 1 (Zinkevich 2003). No
    probability is involved: it is about these rows.

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
        :math:`\epsilon_t`, by how much the peak may have been missed. They are not known from a
        search that is not exhaustive.
    constant_step : bool, default=False
        Whether the step was ``regret_step(n, C, T)`` in all rounds.

    Returns
    -------
    float

    Notes
    -----
    The printed last term, :math:`3 n (C + 2 C^2) / (4 \sqrt T)`, has the gradient too short by a
    factor `n` (:func:`gradient_norm_bound`), and a half from taking `F` as linear in
    :math:`\lambda`, which it is only up to :math:`\sum_i \alpha_i`. The tests have a game in which
    it fails. Nor can the "alternate form" be right: where the peaks are at least :math:`\rho`, it
    bounds the game from above by :math:`\rho`, which may be 0; the average of :math:`\sum_i
    \alpha_{t,i}`, less :math:`\rho / 2`, is what takes its place.

    Examples
    --------
    >>> from bochner.guarantees.margin import regret_bound
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


def _missed(errors: ArrayLike, T: int) -> Float:
    missed = check_not_negative("errors", errors)
    if missed.shape not in ((), (T,)):
        raise ValueError(
            f"errors must be a number or have one value a round, shape ({T},), "
            f"got shape {missed.shape}."
        )
    return missed


def realised_regret_bound(
    steps: ArrayLike, gradient_norms: ArrayLike, *, n: int, C: float, errors: ArrayLike = 0.0
) -> float:
    r""":func:`regret_bound` after the rounds: with the gradients that were met.

    .. math:: \frac1T \left( \frac{n C^2}{2 \eta_T} + \frac12 \sum_t \eta_t |g_t|^2 \right)
              + \frac{1}{2 T} \sum_t \epsilon_t

    bounds the same gap, for any steps that do not grow. It needs no support vector machine to be
    solved; where one is solved, :func:`duality_gap_estimate` is smaller.

    Parameters
    ----------
    steps : array of shape (T,)
        :math:`\eta_t`, positive and not growing.
    gradient_norms : array of shape (T,)
        :math:`|g_t|`, of the gradient in the dual weights, in the convention of mass 1.
    n, C, errors
        As for :func:`regret_bound`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bochner.guarantees.margin import realised_regret_bound
    >>> realised_regret_bound([0.25, 0.25], [3.0, 1.0], n=16, C=0.25)
    1.625
    """
    eta = np.asarray(steps, dtype=np.float64)
    g = check_not_negative("gradient_norms", gradient_norms)
    if eta.ndim != 1 or len(eta) == 0 or g.shape != eta.shape:
        raise ValueError(
            f"steps and gradient_norms must both have shape (T,), got {eta.shape} and {g.shape}."
        )
    if not (eta > 0).all() or (np.diff(eta) > 0).any():
        raise ValueError(f"steps must be positive and must not grow, got {eta}.")
    n, C = check_count("n", n, 1), check_above("C", C, 0)
    regret = n * C**2 / (2 * eta[-1]) + eta @ g**2 / 2
    return float(regret / len(eta) + _missed(errors, len(eta)).mean() / 2)


def duality_gap_estimate(svm_optimum: ArrayLike, alpha_sum: ArrayLike, peak: ArrayLike) -> Any:
    r"""An *estimate* of how far the kernel is from the one of the largest margin.

    .. math:: \max_\alpha F(\alpha, \hat\lambda)
              - \Bigl( \sum_i \alpha_i - \tfrac12 \hat v \Bigr)

    With :math:`\hat v = \max_w v_\alpha(w)` it would be a proof: no kernel can have a game value
    below the bracket, whatever the feasible :math:`\alpha`, however it was found. But the highest
    peak *found* may be lower than the highest there is, and then the true gap is larger than this
    number, by half the difference. Of several rounds with one kernel, the smallest counts.

    Parameters
    ----------
    svm_optimum : float or array
        Largest value of the dual of the support vector machine with the learned kernel, of
        mass 1.
    alpha_sum : float or array
        :math:`\sum_i \alpha_i` of any feasible weights.
    peak : float or array
        The highest value of :math:`v_\alpha` found, for the same weights.

    Returns
    -------
    float or array

    Examples
    --------
    >>> from bochner.guarantees.margin import duality_gap_estimate
    >>> float(duality_gap_estimate(3.0, alpha_sum=4.0, peak=2.5))
    0.25
    """
    optimum = np.asarray(svm_optimum, dtype=np.float64)
    total, v = check_not_negative("alpha_sum", alpha_sum), check_not_negative("peak", peak)
    return optimum - (total - v / 2)


def competitive_ratio(svm_optimum: ArrayLike, gap: ArrayLike) -> Any:
    r"""Corollary 4.2, corrected: the margin as a share of the largest that any kernel has.

    .. math:: \frac{M}{M^*} = \sqrt{\frac{F^*}{\hat F}} \ge \sqrt{1 - \frac{\mathrm{gap}}{\hat F}},
              \qquad M = \frac{1}{\sqrt{2 \hat F}}

    :math:`M` is the margin where the rows can be separated and no weight is at its limit `C`; it
    is a soft margin otherwise. In print the gap is not divided by :math:`\hat F`: that is too
    strong where :math:`F^* < 1/2`, as with a small `C`, and too weak elsewhere. As sure as `gap`
    is: a bound with :func:`regret_bound`, an estimate with :func:`duality_gap_estimate`.

    Parameters
    ----------
    svm_optimum : float or array
        :math:`\hat F`, as for :func:`duality_gap_estimate`.
    gap : float or array
        Bound or estimate of :math:`\hat F - F^*`.

    Returns
    -------
    float or array
        In [0, 1].

    Examples
    --------
    >>> from bochner.guarantees.margin import competitive_ratio
    >>> round(float(competitive_ratio(3.0, gap=0.25)), 4)
    0.9574
    """
    optimum, gap = np.asarray(svm_optimum, dtype=np.float64), check_not_negative("gap", gap)
    if not (optimum > 0).all():
        raise ValueError(f"svm_optimum must be greater than 0, got {optimum.min()!r}.")
    return np.sqrt(np.maximum(0.0, 1 - gap / optimum))


# --------------------------------------------------------------------------- Theorem 4.4


def _rows_needed(eps: float, delta: float, d: int, phase: float) -> float:
    # v / n^2 and its ideal are squares of moduli up to 1: they are within eps if the complex
    # means are within `near`, where 1 - (1 - near)^2 = eps.
    near = eps / (1 + np.sqrt(1 - eps))
    # `rest` of it is for frequencies between the points of the net.
    rest = np.linspace(0.02, 0.6, 30)
    net = np.log(DIRECTIONS / delta) + d * np.log1p(4 * phase / (rest * near))
    by_net = 2 * net / (SLACK * (1 - rest) * near) ** 2
    by_contraction = ((2 * _without_dimension(phase) + np.sqrt(2 * np.log(1 / delta))) / near) ** 2
    return float(min(by_net.min(), by_contraction))


def potential_sample_size(eps: float, delta: float, d: int, R_w: float, R_x: float) -> int:
    r"""Theorem 4.4, corrected: rows until the Fourier potential is that of the population.

    With probability ``1 - delta`` over so many independent rows,

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

    The first is Hoeffding's inequality in 16 directions at the points of a net, and the mean's
    Lipschitz constant :math:`R_x` between them, for the best :math:`s`; the second is
    :func:`fourier_complexity` and McDiarmid's inequality, and does not depend on `d`.

    It is about equal weights. Dual weights that depend on the rows have no ideal potential to be
    compared with, and the paper's remedy, :math:`\epsilon / C^2`, does not apply to them.

    Parameters
    ----------
    eps : float
        Largest deviation, strictly between 0 and 1.
    delta : float
        Probability that it may be exceeded.
    d : int
        Number of columns of the rows.
    R_w : float
        Largest length of the frequencies looked at.
    R_x : float
        Largest distance of a row, with certainty, from some fixed point.

    Returns
    -------
    int

    Notes
    -----
    In print: :math:`8 R_x^2 R_w^2 (d \ln(\cdot) + \ln (1 / \delta)) / \epsilon^2`. It tends to no
    rows at all for small `R_w`, where the potential still has to learn how many rows are of either
    class: the proof moves :math:`x_i` and leaves :math:`y_i` where it is. For large `R_w` it asks
    for many more rows than needed, as one row never changes :math:`v / n^2` by more than
    :math:`4 / n`. Besides, :math:`v / n^2` has the mean :math:`v_{\mathrm{ideal}} + (1 -
    v_{\mathrm{ideal}}) / n`, and the deviation has two sides.

    Examples
    --------
    >>> from bochner.guarantees.margin import potential_sample_size
    >>> potential_sample_size(0.1, delta=0.05, d=2, R_w=20.0, R_x=1.0)
    23054
    """
    if not 0 < eps < 1:
        raise ValueError(f"eps must be a number strictly between 0 and 1, got {eps!r}.")
    delta, d = check_delta(delta), check_count("d", d, 1)
    phase = _length("R_w", R_w) * _length("R_x", R_x)
    return int(np.ceil(_rows_needed(eps, delta, d, phase)))


def potential_deviation(n: int, delta: float, d: int, R_w: float, R_x: float) -> float:
    r"""The smallest `eps` that :func:`potential_sample_size` grants to `n` rows.

    With probability ``1 - delta``, :math:`|v(w) / n^2 - v_{\mathrm{ideal}}(w)|` is at most this
    for all :math:`|w| \le R_w`. It is 1, which says nothing, where the rows are too few.
    Parameters as there.

    Examples
    --------
    >>> from bochner.guarantees.margin import potential_deviation
    >>> round(potential_deviation(23054, delta=0.05, d=2, R_w=20.0, R_x=1.0), 4)
    0.1
    """
    n, d, delta = check_count("n", n, 1), check_count("d", d, 1), check_delta(delta)
    phase = _length("R_w", R_w) * _length("R_x", R_x)
    # The rows needed fall as eps grows: bisect its logarithm, keeping the end that holds.
    low, high = 1e-12, 1.0
    for _ in range(100):
        middle = np.sqrt(low * high)
        if _rows_needed(middle, delta, d, phase) <= n:
            high = middle
        else:
            low = middle
    return float(high)
