r"""The features of the Gaussian kernel under a Gaussian density, in one dimension.

For the kernel :math:`e^{-b (x - y)^2}`, the density :math:`N(\mu, s^2)` and :math:`z = x - \mu`,

.. math::

    B = \frac{8 b s^2}{(1 + \sqrt{1 + 8 b s^2})^2}, \qquad \lambda_n = (1 - B) B^n,

and the features :math:`f_n = \sqrt{\lambda_n}\, \psi_n`, with :math:`\psi_n` the orthonormal
eigenfunctions, follow

.. math::

    f_0 = (1 - B^2)^{1/4} e^{-b (1 - B) z^2}, \qquad
    f_{n+1} = \sqrt{\tfrac{2 b (1 - B^2)}{n + 1}}\, z f_n - B \sqrt{\tfrac{n}{n + 1}}\, f_{n-1}.

By Mehler's formula :math:`\sum_n f_n(x) f_n(y) = e^{-b (x - y)^2}` for every mean and every
:math:`B` in [0, 1). Hence :math:`|f_n| \le 1`, and a badly estimated density only costs accuracy
per feature.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_SMALL, _LARGE = 1e-100, 1e100  # beyond these the two running terms are rescaled
_LOG_2 = float(np.log(2.0))
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def ratio(gamma: ArrayLike, variance: ArrayLike) -> Any:
    r"""Return the ratio :math:`B` of neighbouring eigenvalues, in [0, 1); zero without spread.

    Examples
    --------
    >>> from bochner.mercer.hermite import ratio
    >>> round(float(ratio(0.5, 2.0)), 15)
    0.5
    """
    spread = np.sqrt(8.0 * np.asarray(gamma, np.float64)) * np.sqrt(variance)
    root = spread / (np.hypot(1.0, spread) + 1.0)  # no cancellation, no overflow
    return np.minimum(root * root, _BELOW_ONE)


def hermite_log_ratios(
    z: ArrayLike, gamma: float, B: ArrayLike, n_orders: int
) -> tuple[Floats, Floats]:
    """Return ``log |f_n / f_0|`` (minus infinity for zero) and the sign, orders on the last axis.

    Examples
    --------
    >>> from bochner.mercer.hermite import hermite_log_ratios
    >>> logs, signs = hermite_log_ratios([-1e200], 0.5, 0.0, 3)
    >>> logs.round(2), signs                        # 1e400 does not fit in float64
    (array([[  0.  , 460.52, 920.69]]), array([[ 1., -1.,  1.]]))
    """
    z, B = np.broadcast_arrays(np.asarray(z, np.float64), np.asarray(B, np.float64))
    logs, signs = np.empty((*z.shape, n_orders)), np.empty((*z.shape, n_orders))
    base = np.sqrt(2.0 * gamma * (1.0 - B * B)) * z
    for order, (g, exponent) in enumerate(scaled_ratios(base, B, n_orders)):
        with np.errstate(divide="ignore"):
            logs[..., order] = np.log(np.abs(g)) + exponent * _LOG_2
        signs[..., order] = np.sign(g)
    return logs, signs


def scaled_ratios(
    base: Floats, B: Any, n_orders: int
) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
    r"""Yield the ratios ``g_n = f_n / f_0``, order by order, as a number and a power of two.

    .. math:: g_{n+1} = \mathrm{base}\, g_n / \sqrt{n + 1} - B \sqrt{n / (n + 1)}\, g_{n-1}
    """
    exponent = np.zeros(base.shape, np.int64)
    g, before = np.ones(base.shape), np.zeros(base.shape)
    for order in range(n_orders):
        yield g, exponent
        share = order / (order + 1.0)
        g, before = base / np.sqrt(order + 1.0) * g - B * np.sqrt(share) * before, g
        size = np.maximum(np.abs(g), np.abs(before))
        if size.size and not (size.min() > _SMALL and size.max() < _LARGE):
            shift = np.where((size < _SMALL) | (size > _LARGE), np.frexp(size)[1], 0)
            g, before = np.ldexp(g, -shift), np.ldexp(before, -shift)
            exponent = exponent + shift


def log_ground(z: Any, gamma: float, B: Any) -> Any:
    """Return ``log f_0``."""
    return 0.25 * np.log1p(-B * B) - gamma * (1.0 - B) * z * z


def recurrence(gamma: float, B: ArrayLike, n_orders: int) -> tuple[Floats, Floats]:
    """Return the factors of ``f_{n+1} = up_n z f_n - down_n f_{n-1}``, orders on the last axis."""
    B = np.asarray(B, np.float64)[..., None]
    n = np.arange(n_orders, dtype=np.float64)
    return np.sqrt(2.0 * gamma * (1.0 - B * B) / (n + 1.0)), B * np.sqrt(n / (n + 1.0))
