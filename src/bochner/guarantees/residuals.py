r"""Certificates for features that nest in a kernel, from their residuals.

Features :math:`\varphi` *nest* in a kernel `k` when the remainder
:math:`k(x, y) - \varphi(x) \cdot \varphi(y)` is itself a positive semi-definite kernel. Mercer
features do, whatever the density they assume, and so do Nystroem features, whose remainder is a
Schur complement. Then one number per row, the *residual*

.. math:: r(x) = k(x, x) - \|\varphi(x)\|^2 \ge 0 ,

says how good the features are at that row, without any knowledge of how the rows were drawn.
The residuals are computed in float64 from the given features. float32 features carry a rounding
error of about 1e-6 in :math:`r`: a residual below that is not certified by them. For features that
do not nest, see :mod:`bochner.guarantees.kernel_error`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.guarantees.checks import Float, check_above, check_delta, check_not_negative
from bochner.guarantees.concentration import chernoff_bound, empirical_bernstein_bound
from bochner.guarantees.guarantee import ConditionsNotMet

# How far below zero rounding may carry a residual, relative to the kernel's diagonal.
_ROUNDING = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-6}
_POWER_STEPS = 30


def rounding_of(features: NDArray[Any]) -> float:
    """Largest rounding error allowed in squared lengths of features."""
    return _ROUNDING.get(features.dtype, 1e-6)


def residuals(features: ArrayLike, diagonal: ArrayLike = 1.0) -> Float:
    r"""Return what nested features miss at each row, :math:`r(x) = k(x, x) - \|\varphi(x)\|^2`.

    The residuals have shape (n,) and are zero or more: those that rounding made negative are zero.
    For Nystroem features of landmarks `Z` this is the Schur complement
    :math:`k(x, x) - k(x, Z) K_{ZZ}^{-1} k(Z, x)`, or a little more where small eigenvalues of
    :math:`K_{ZZ}` were cut.

    Parameters
    ----------
    features : array of shape (n, D)
        Rows of features that nest in the kernel. The only check made is that no residual is
        negative.
    diagonal : float or array of shape (n,), default=1.0
        Values :math:`k(x, x)`; 1 for translation-invariant kernels.

    Raises
    ------
    ConditionsNotMet
        When a row is longer than the kernel allows: the features do not nest in it.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import residuals
    >>> residuals([[0.8, 0.0], [0.6, 0.8]]).round(2)
    array([0.36, 0.  ])
    """
    array = np.asarray(features)
    if array.ndim != 2:
        raise ValueError(f"features must have shape (n, D), got {array.shape}.")
    limits = np.broadcast_to(np.asarray(diagonal, dtype=np.float64), len(array))
    if not (limits >= 0).all():
        raise ValueError(f"diagonal must be zero or more, got {limits.min()!r}.")
    slack = rounding_of(array) * limits
    rows = array.astype(np.float64, copy=False)
    r = limits - np.einsum("ij,ij->i", rows, rows)
    wrong = ~(r >= -slack)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ConditionsNotMet(
            f"features of row {row} have the squared length {limits[row] - r[row]:.6g}, which is "
            f"more than k(x, x) = {limits[row]:.6g}: they do not nest in this kernel, and have "
            "no residual. Normalised rows and random features have none either."
        )
    return np.asarray(np.maximum(r, 0.0))


def pointwise_bound(r_x: ArrayLike, r_y: ArrayLike) -> Float:
    r"""Bound on the error of a kernel value, :math:`\sqrt{r(x) r(y)}` (Cauchy and Schwarz).

    It holds for every pair of points, however they were drawn, when the features nest in the
    kernel.

    Residuals are known only up to rounding, about 1e-15 (1e-7 in float32; more for Nystroem
    features with landmarks that are nearly equal). That matters under the root: where a residual
    is near zero, add its rounding to it.

    Parameters
    ----------
    r_x, r_y : float or array
        Residuals of the two points, see :func:`residuals`. Arrays are broadcast: use
        ``r[:, None], r`` for all pairs.

    Examples
    --------
    >>> from bochner.guarantees import pointwise_bound
    >>> float(pointwise_bound(0.04, 0.01).round(4))
    0.02
    """
    x, y = check_not_negative("r_x", r_x), check_not_negative("r_y", r_y)
    return np.asarray(np.sqrt(x) * np.sqrt(y))


def gram_bound(r: ArrayLike) -> float:
    r"""Bound on the spectral norm of :math:`K - \Phi \Phi^\top` over rows: the sum of residuals.

    The remainder is positive semi-definite, so that its largest eigenvalue is at most its trace.
    It is also the exact trace norm and a bound on the Frobenius norm. It holds for any rows. It is
    large compared with the true spectral norm when many eigenvalues of the remainder are alike.

    Parameters
    ----------
    r : array of shape (n,)
        Residuals of the rows, see :func:`residuals`.

    Examples
    --------
    >>> from bochner.guarantees import gram_bound
    >>> gram_bound([0.25, 0.5, 0.0])
    0.75
    """
    return float(np.sum(check_not_negative("r", r)))


def relative_gram_bound(features: ArrayLike, r: ArrayLike) -> float:
    r"""Bound on :math:`\|K - \Phi \Phi^\top\|_2 / \|K\|_2` that needs no kernel value.

    .. math:: \frac{\sum_i r(x_i)}{\|\Phi\|_2^2}

    As the features nest, :math:`\|K\|_2 \ge \|\Phi \Phi^\top\|_2 = \|\Phi\|_2^2`. This norm is
    found by power iteration, which approaches it from below and so never makes the bound too
    small. It costs :math:`O(n D)`. The bound is at most 1, and 0 where all residuals are zero.

    Parameters
    ----------
    features : array of shape (n, D)
        Features of the rows.
    r : array of shape (n,)
        Residuals of the features, see :func:`residuals`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.guarantees import relative_gram_bound, residuals
    >>> features = np.full((10, 1), 0.9)
    >>> round(relative_gram_bound(features, residuals(features)), 4)    # 10 * 0.19 / 8.1
    0.2346
    """
    rows = np.asarray(features)
    if rows.ndim != 2:
        raise ValueError(f"features must have shape (n, D), got {rows.shape}.")
    total = gram_bound(r)
    if total == 0:
        return 0.0
    # A random start has a part along the leading direction with probability one.
    v = np.asarray(np.random.RandomState(0).standard_normal(rows.shape[1]), dtype=rows.dtype)
    norm = 0.0
    for _ in range(_POWER_STEPS):
        v /= max(float(np.linalg.norm(v)), np.finfo(np.float64).tiny)
        image = rows @ v
        norm = max(norm, float(np.dot(image, image)))
        v = rows.T @ image
    # The remainder is part of K: the ratio cannot exceed 1.
    return min(1.0, total / norm) if norm > 0 else 1.0


def residual_bound(r: ArrayLike, delta: float = 0.05, *, limit: float = 1.0) -> float:
    r"""Bound to report for unseen rows: the smaller of two bounds, each with half of `delta`.

    With probability ``1 - delta`` over the held-out rows, :math:`\mathbb{E}\, r(x)` of a new row
    is at most this bound. Then, for two independent new rows, the mean squared error of the kernel
    is at most its square, as :math:`\mathbb{E}\, r(x) r(y) = (\mathbb{E}\, r)^2`; and the expected
    spectral error of a Gram matrix of `n` new rows is at most `n` times it.

    It holds if the held-out rows are independent, identically distributed and took no part in
    fitting the features, their bandwidth or a scaler, nor in choosing among several maps (for the
    best of `g` use ``delta / g``). The two bounds are :func:`chernoff_bound` and
    :func:`empirical_bernstein_bound`.

    Parameters
    ----------
    r : array of shape (m,)
        Residuals of the held-out rows, see :func:`residuals`.
    delta : float, default=0.05
        Probability that the bound may fail.
    limit : float, default=1.0
        Largest value of :math:`k(x, x)`.

    Examples
    --------
    >>> from bochner.guarantees import residual_bound
    >>> round(residual_bound([0.01] * 1000), 4)
    0.0202
    """
    share = check_delta(delta) / 2
    bound = chernoff_bound(r, share, limit=limit)
    if np.size(r) < 2:
        return bound
    return min(bound, empirical_bernstein_bound(r, share, limit=limit))


def predicted_residual(eigenvalues: ArrayLike, total: float = 1.0) -> float:
    r"""Mean residual that the assumed density predicts: the tail of its eigenvalues.

    .. math:: 1 - \sum_{i \le D} \lambda_i

    This is a *prediction*, exact if the rows have the density that the eigenvalues belong to, and
    nothing more. Mukuta and Harada (2016), Theorem 3.1, add the total-variation distance to the
    true density, which is unknown. For a guarantee use :func:`residual_bound`.

    Parameters
    ----------
    eigenvalues : array of shape (D,)
        Eigenvalues of the features that were kept.
    total : float, default=1.0
        Sum of all eigenvalues, the mean of :math:`k(x, x)`.

    Examples
    --------
    >>> from bochner.guarantees import predicted_residual
    >>> round(predicted_residual([0.5, 0.25, 0.125]), 4)
    0.125
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    total = check_above("total", total, 0)
    captured = float(np.sum(values))
    if not (values >= 0).all() or captured > total * (1 + 1e-9):
        raise ValueError(
            f"eigenvalues must be zero or more with a sum of at most {total:g}, "
            f"got values from {values.min()!r} on with the sum {captured!r}."
        )
    return max(0.0, total - captured)
