"""The complexity of all Fourier kernels at once: how well the best frequency fits random signs."""

from __future__ import annotations

import numpy as np

from bochner.guarantees.checks import check_count, check_length

# A complex number z is at most max_k Re(exp(-2 pi i k / DIRECTIONS) z) / cos(pi / DIRECTIONS)
# long: real sums in this many directions stand for one complex sum.
DIRECTIONS = 16
SLACK = float(np.cos(np.pi / DIRECTIONS))


def fourier_complexity(n: int, R_w: float, R_x: float, d: int | None = None) -> float:
    r"""Bound how well the best frequency fits random signs.

    The quantity that is bounded is

    .. math:: \frac{1}{\sqrt n} \, E \sup_{|w| \le R_w}
              \Bigl| \sum_{i=1}^n \sigma_i e^{i \langle w, x_i \rangle} \Bigr|,
              \qquad \sigma_i = \pm 1 \text{ at random.}

    Divided by :math:`\sqrt n` it is the Rademacher complexity of all functions of norm 1 in *any*
    kernel of mass 1 over frequencies up to `R_w`: the supremum over kernels is that over single
    frequencies, whose kernels have rank one (the paper's argument, Appendix D). The kernel may
    therefore be learned on the same rows. The bound is the smallest of three numbers, with
    :math:`\rho = R_w R_x`:

    * :math:`\pi + \rho`. The modulus is the largest of :math:`\sum_i \sigma_i \cos(\langle w, x_i
      \rangle - \psi)` over phases :math:`|\psi| \le \pi`; the cosine is 1-Lipschitz and drops out
      by contraction, which leaves :math:`R_w |\sum \sigma_i x_i| + \pi |\sum \sigma_i|`;
    * :math:`1 + 3 \rho`, by the paper's argument: contraction for cosine and sine separately. In
      print it is :math:`3 \rho`, which is wrong for small :math:`\rho`: at the frequency 0 the
      cosine is 1, and the constants that it spans have a complexity of their own;
    * if `d` is given, :math:`\sqrt{2 \ln(16 N)} / \cos(\pi / 16) + \sqrt n R_x h` with a net of
      :math:`N = (1 + 2 R_w / h)^d` frequencies, for the best :math:`h`. It grows with the root of
      the dimension but only with the logarithm of :math:`\rho`.

    `n` is the number of rows, `d` the number of their columns, `R_w` the largest length of a
    frequency, and `R_x` at least the root mean square distance of a row from some fixed point.

    >>> round(fourier_complexity(1000, R_w=50.0, R_x=1.0), 2)
    53.14
    >>> round(fourier_complexity(1000, R_w=50.0, R_x=1.0, d=2), 2)
    6.95
    """
    n, phase = check_count("n", n, 1), check_length("R_w", R_w) * check_length("R_x", R_x)
    smallest = dimension_free_complexity(phase)
    if d is not None:
        d = check_count("d", d, 1)
        rest = np.geomspace(0.01, 10, 50)  # sqrt(n) R_x h; any value of h gives a valid bound
        sizes = np.log(DIRECTIONS) + d * np.log1p(2 * np.sqrt(n) * phase / rest)
        smallest = min(smallest, float(np.min(np.sqrt(2 * sizes) / SLACK + rest)))
    return float(smallest)


def dimension_free_complexity(phase: float) -> float:
    """The smaller of the two bounds that hold in any dimension, for ``phase = R_w R_x``."""
    return min(1 + 3 * phase, np.pi + phase)
