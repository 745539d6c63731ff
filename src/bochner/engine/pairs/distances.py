"""Distances between rows, computed once for kernels of every bandwidth."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from bochner.engine.operations import kernel_rows
from bochner.engine.pairs import device, host
from bochner.engine.pairs.forms import Form, fits_in_single, form_of
from bochner.engine.places import float_dtype, is_host


class Distances:
    """Distances between dense rows and landmarks, on the host or a device, for many kernels.

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (m, d)
        Rows and landmarks, of one floating dtype.
    n_threads : int, optional
        As in :func:`bochner.engine.kernel_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.pairs.distances import Distances
    >>> from bochner.kernels import Exponential
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> pairs = Distances(X, X)
    >>> pairs.kernel_rows(Exponential(gamma=0.2)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(self, X: Any, Z: Any, n_threads: int | None = None) -> None:
        self.X, self.Z, self.n_threads = X, Z, n_threads
        self._place: Any = host if is_host(X) else device
        self._known: dict[bool, Any] = {}  # squared distances, or sums of absolute differences
        self._lock = Lock()  # threads with different kernels wait for the distances

    def kernel_rows(self, kernel: Any) -> Any:
        """Return the values of a kernel in a new array, as the operation of the engine does."""
        form = form_of(kernel)
        holds = float_dtype(self.X) == np.float64 or fits_in_single(kernel)
        if form is None or not (form.is_of_one_distance and holds):
            return kernel_rows(self.X, self.Z, kernel, n_threads=self.n_threads)
        return self._place.turned_into_values(self._distances(form), form, self.n_threads)

    def _distances(self, form: Form) -> Any:
        with self._lock:
            if form.radial not in self._known:
                found = self._place.distances_between(self.X, self.Z, form, self.n_threads)
                self._known[form.radial] = found
            return self._known[form.radial]
