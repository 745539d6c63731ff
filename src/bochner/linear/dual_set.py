r"""The feasible set of the dual of a support vector machine, and the projection onto it.

.. math:: K = \{ a : 0 \le a_i \le C, \; \sum_i y_i a_i = 0 \}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.engine import tiles
from bochner.engine.places import cast, convert, is_host, namespace, wide_dtype
from bochner.linear.design import check_signs

_MOST_IN_KERNEL = 2**16  # most rows that one program of a kernel can go over repeatedly


def project_onto_dual_set(alpha: Any, y: Any, C: Any) -> Any:
    r"""Return the point of `K` nearest to `alpha`, for each column.

    By the optimality conditions it is

    .. math:: a_i = \min(\max(\alpha_i - t y_i, 0), C), \qquad \sum_i y_i a_i = 0

    for some number `t`. The sum is a decreasing, piecewise linear function of `t`: bisection
    over its sorted corners finds the two between which it changes sign, and between those it is
    linear. No tolerance is involved. Not-So-Random Features alternates clipping with removing
    the component along `y` instead, which ends at a different point, and only approximately in
    `K`.

    Parameters
    ----------
    alpha : array of shape (n,) or (n, k)
        Points to project, one per column. NumPy, PyTorch, or another array-API library.
    y : array of shape (n,) or (n, k)
        Labels, -1 or +1. Not checked on a device, where the host would have to wait.
    C : float or array that broadcasts with `alpha`
        Upper limit, greater than 0; may be infinite.

    Returns
    -------
    array
        Projected points, with the shape and dtype of `alpha`. The arithmetic is done in float64
        where the device has it.

    Notes
    -----
    The cost is O(n log n) per column. If all labels are equal, `K` is the single point 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.linear import project_onto_dual_set
    >>> y = np.array([1, 1, -1])
    >>> project_onto_dual_set(np.array([0.5, 2.0, 0.25]), y, C=1.0)
    array([0., 1., 1.])
    """
    xp = namespace(alpha)
    shape = alpha.shape
    _check_shapes(shape, np.shape(y) if is_host(alpha) else tuple(y.shape))
    if is_host(alpha):
        check_signs("y", np.asarray(y))
    if isinstance(C, (int, float, np.ndarray)) and not np.all(np.asarray(C) > 0):
        raise ValueError(f"C must be greater than 0, got {C!r}.")
    # One row per column of alpha: sums and sorts then run along the memory.
    wide = wide_dtype(alpha)
    points = xp.reshape(cast(alpha, wide), (shape[0], -1)).T
    signs = xp.reshape(convert(y, alpha, wide), (shape[0], -1)).T + xp.zeros_like(points)
    limit = xp.zeros_like(points) + (C if isinstance(C, (int, float)) else _limits(C, alpha, wide))

    # With z = y a, the sum is that of clip(z - t, low, high).
    z = signs * points
    zero = xp.zeros_like(z)
    low, high = xp.where(signs > 0, zero, -limit), xp.where(signs > 0, limit, zero)
    in_kernel = shape[0] <= _MOST_IN_KERNEL and tiles.run(alpha)
    clipped = _project(xp, z, low, high, in_kernel)
    # adding zero turns -0.0 into 0.0
    return cast(xp.reshape((signs * clipped + 0.0).T, shape), alpha.dtype)


def _limits(C: Any, alpha: Any, wide: Any) -> Any:
    limit = convert(C, alpha, wide)
    return limit.T if limit.ndim == 2 else limit


def _project(xp: Any, z: Any, low: Any, high: Any, in_kernel: bool) -> Any:
    """Return ``clip(z - t, low, high)`` with the `t` for which each row sums to zero."""
    # An infinite limit is never reached; z stands in for it, as an extra corner does no harm.
    corners = [xp.where(xp.isfinite(limit), z - limit, z) for limit in (low, high)]
    t = xp.sort(xp.concat(corners, axis=1), axis=1)
    if in_kernel:
        from bochner.engine.tiles.dual_set import shifted

        return shifted(z, low, high, t)
    first = xp.zeros_like(t[:, :1], dtype=xp.int64)
    last = first + (t.shape[1] - 1)
    # The sum is not negative at t[first] and not positive at t[last].
    for _ in range(t.shape[1].bit_length()):
        middle = (first + last) // 2
        sums = _sum(xp, _clip(xp, z - xp.take_along_axis(t, middle, axis=1), low, high))
        first, last = xp.where(sums >= 0, middle, first), xp.where(sums >= 0, last, middle)
    # Between two corners all entries are linear in t: the point whose sum is zero lies on the
    # segment between theirs. It is never solved for t, whose rounding could exceed C.
    left, right = (
        _clip(xp, z - xp.take_along_axis(t, end, axis=1), low, high) for end in (first, last)
    )
    above, below = _sum(xp, left), _sum(xp, right)
    fall = xp.where(above > below, above - below, xp.ones_like(above))
    return _clip(xp, left + (above / fall) * (right - left), low, high)


def _clip(xp: Any, values: Any, low: Any, high: Any) -> Any:
    return xp.minimum(xp.maximum(values, low), high)


def _sum(xp: Any, values: Any) -> Any:
    return xp.sum(values, axis=1, keepdims=True)


def _check_shapes(alpha: tuple[int, ...], y: tuple[int, ...]) -> None:
    if len(alpha) not in (1, 2) or alpha[0] == 0:
        raise ValueError(f"alpha must have shape (n,) or (n, k) with n > 0, got {alpha}.")
    if y not in (alpha, alpha[:1]):
        raise ValueError(f"y must have the shape of alpha, {alpha}, or {alpha[:1]}, got {y}.")
