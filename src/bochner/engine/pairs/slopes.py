r"""Slopes of kernel values with respect to weights of the columns.

Take a weighted sum of values :math:`k(s \circ x_i, s \circ z_j)`. All its slopes with respect to
:math:`\log s_c`, at `s = 1`, cost about as much as the values: the changes of the distances are
products of few columns, see :meth:`bochner.engine.pairs.forms.Form.slope`.
"""

from __future__ import annotations

from typing import Any

from bochner.engine.pairs import device, host_slopes
from bochner.engine.pairs.forms import Form, form_of
from bochner.engine.places import is_host


class Within:
    """Kernel matrix of dense rows with themselves, on the host or a device.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    kernel : kernel object
        Kernel that is a function of one distance.
    n_threads : int, optional
        As in :func:`bochner.engine.kernel_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.pairs.slopes import Within
    >>> from bochner.kernels import Exponential
    >>> pairs = Within(np.array([[0.0, 0.0], [3.0, 4.0]]), Exponential(gamma=0.2))
    >>> np.triu(pairs.values()).round(4)
    array([[1.    , 0.3679],
           [0.    , 1.    ]])
    """

    def __init__(self, X: Any, kernel: Any, n_threads: int | None = None) -> None:
        self.X, self._form, self.n_threads = X, _form_of_one_distance(kernel), n_threads
        self._distances: Any = None  # on a device only, where they take long

    def values(self) -> Any:
        """Return the (n, n) kernel matrix; on the host, only its upper triangle is defined."""
        if is_host(self.X):
            return host_slopes.upper_values(self.X, self._form, self.n_threads)
        self._distances = device.distances_between(self.X, self.X, self._form)
        return device.turned_into_values(self._distances, self._form)

    def slopes(self, left: Any, right: Any) -> Any:
        r"""Return the slopes of :math:`\sum_{ij} \langle l_i, r_j \rangle\, k(x_i, x_j)`.

        The slopes have shape (d,); `left` and `right` have shape (n, k).
        """
        if is_host(self.X):
            return host_slopes.within(self.X, self._form, left, right, self.n_threads)
        distances = self._distances
        if distances is None:
            distances = device.distances_between(self.X, self.X, self._form)
        return device.axis_slopes(self.X, self.X, distances, self._form, left, right)


def residuals_and_slopes(
    X: Any, Z: Any, kernel: Any, coefficients: Any, targets: Any, n_threads: int | None = None
) -> tuple[Any, Any, Any]:
    r"""Return the residuals of a sum of kernels, and their slopes in weights of the columns.

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (m, d)
        Rows and landmarks, dense.
    kernel : kernel object
        Kernel that is a function of one distance.
    coefficients, targets : arrays of shape (m, k) and (n, k)
        Coefficients `a` of the landmarks and targets `y` of the rows.
    n_threads : int, optional
        As in :func:`bochner.engine.kernel_rows`.

    Returns
    -------
    residuals : array of shape (n, k)
        The residuals ``e = k(X, Z) a - y``.
    products : array of shape (m, k)
        The products ``k(Z, X) e``.
    slopes : array of shape (d,)
        Slopes of half the sum of squares of `e`.
    """
    form = _form_of_one_distance(kernel)
    if is_host(X):
        return host_slopes.residuals(X, Z, form, coefficients, targets, n_threads)
    distances = device.distances_between(X, Z, form)
    K = device.turned_into_values(distances, form)
    e = K @ coefficients - targets
    return e, K.T @ e, device.axis_slopes(X, Z, distances, form, e, coefficients)


def _form_of_one_distance(kernel: Any) -> Form:
    form = form_of(kernel)
    if form is None or not form.is_of_one_distance:
        raise ValueError(f"{kernel!r} is no function of one distance between rows.")
    return form
