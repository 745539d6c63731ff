"""The contract of the operations, and the choice of where they run.

==================  ====================================================================
type of ``X``       where it runs
==================  ====================================================================
NumPy array or      :mod:`bochner.engine.cpu`; memory-mapped files are read block by
memory map          block
SciPy sparse        :mod:`bochner.engine.cpu`, in CSR form, never made dense
array-API array     :mod:`bochner.engine.device`, on the array's own device (PyTorch,
                    CuPy, ...); :mod:`bochner.engine.gradients` where it is a PyTorch
                    tensor that asks for gradients
dask array          :mod:`bochner.engine.cluster`, each block by the rules above
==================  ====================================================================

``W`` always has shape ``(d, N)``, one frequency per column. The arithmetic is done in the dtype
that :mod:`bochner.engine.places` assigns to results for ``X`` (float32 or float64), with sums over
rows accumulated in float64. The answer is the same up to rounding in any place, for any chunking
and any number of threads.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bochner.engine.pairs.forms import fits_in_single
from bochner.engine.places import (
    as_array,
    as_float,
    asks_for_gradients,
    cast,
    float_dtype,
    is_dask,
    is_host,
    place_of,
    result_dtype,
    wide_dtype,
)

_MODULES = {"host": "cpu", "device": "device", "cluster": "cluster"}


def _engine_for(X: Any) -> ModuleType:
    """Return the engine module that can work on `X` where it is."""
    module = "gradients" if asks_for_gradients(X) else _MODULES[place_of(X)]
    return import_module(f"bochner.engine.{module}")


def _check_shapes(X: Any, W: Any) -> None:
    for name, array in (("X", X), ("W", W)):
        if len(array.shape) != 2:
            raise ValueError(f"{name} must have two dimensions, got shape {tuple(array.shape)}.")
    if X.shape[1] != W.shape[0]:
        raise ValueError(
            f"X has {X.shape[1]} columns but W has {W.shape[0]} rows: W holds one frequency "
            "of X's space in each column."
        )


def _check_coefficients(X: Any, A: Any) -> tuple[Any, bool]:
    """Return the coefficients in two dimensions, and whether they came with only one."""
    A = as_array(A)
    if len(A.shape) not in (1, 2):
        raise ValueError(f"A must have one or two dimensions, got shape {tuple(A.shape)}.")
    # A dask array made from a table does not know its length (NaN): nothing to compare.
    if X.shape[0] != A.shape[0] and X.shape[0] == X.shape[0] and A.shape[0] == A.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows but A has {A.shape[0]}.")
    return (A[:, None], True) if len(A.shape) == 1 else (A, False)


def features(
    X: Any,
    W: Any,
    *,
    scale: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    out: Any = None,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Compute the Fourier features ``scale * [cos(X W) | sin(X W)]``.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of any type in the table above.
    W : array of shape (d, N)
        Frequencies, one per column.
    scale : float or array of shape (N,), default=``N ** -0.5``
        Amplitude of each frequency. The default makes every row a unit vector.
    offset : array of shape (N,), optional
        With an offset the result is ``scale * cos(X W + offset)``, one column per frequency.
    out : array, optional
        Where to write the result, for instance a memory-mapped file. NumPy and sparse `X` only.
    n_threads : int, optional
        Number of CPU threads; by default as many as BLAS may use.
    memory_budget : int, optional
        Bytes of scratch memory on a device. The CPU needs a few megabytes per thread at any size.

    Returns
    -------
    array of shape (n, 2 N), or (n, N) with an offset
        Features, of the kind, device and floating dtype of `X`; lazy when `X` is a dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import features
    >>> features(np.zeros((1, 3)), np.ones((3, 2))).round(3)
    array([[0.707, 0.707, 0.   , 0.   ]])
    """
    _check_shapes(X, W)
    if scale is None:
        scale = max(1, W.shape[1]) ** -0.5
    place = _engine_for(X)
    if out is not None and not is_host(X):
        raise ValueError("out is for NumPy and sparse X only.")
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return place.features(X, W, scale=scale, offset=offset, out=out, **options)


def grouped_waves(
    X: Any,
    W: Any,
    coefficients: Any,
    size: int,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Sum waves in groups: one column for every `size` neighbouring frequencies.

    ``S[i, g] = sum_m Re(conj(c_m) exp(1j <w_m, x_i>))`` over the frequencies ``m`` of group
    ``g``. With ``c_m = Q_m exp(1j <w_m, z>)`` this is a learned similarity to the point ``z``,
    ``sum_m Q_m cos <w_m, x_i - z>``.

    Parameters
    ----------
    X, W : arrays of shape (n, d) and (d, N)
        Rows and frequencies, as in :func:`features`.
    coefficients : complex array of shape (N,)
        The coefficients ``c`` above.
    size : int
        Number of frequencies in a group; must divide ``N``.
    n_threads, memory_budget : int, optional
        As in :func:`features`.

    Returns
    -------
    array of shape (n, N / size)
        Sums, of the kind, device and floating dtype of `X`; lazy when `X` is a dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import grouped_waves
    >>> grouped_waves(np.zeros((1, 1)), np.ones((1, 4)), np.array([1, 2, 3, 4j]), size=2)
    array([[3., 3.]])
    """
    _check_shapes(X, W)
    coefficients = np.asarray(coefficients, dtype=np.complex128)
    if coefficients.shape != (W.shape[1],) or size < 1 or W.shape[1] % size:
        raise ValueError(
            f"coefficients must have shape ({W.shape[1]},) and size must divide it, got shape "
            f"{coefficients.shape} and size {size}."
        )
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return _engine_for(X).grouped_waves(X, W, coefficients, size, **options)


def mixed_waves(
    X: Any,
    W: Any,
    coefficients: Any,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Mix waves by a matrix: linear functions of the Fourier features of every row.

    ``S[i, k] = sum_m Re(conj(c_mk) exp(1j <w_m, x_i>))``. This is a matrix product with the
    features, of which no more than a block of rows is ever held.

    Parameters
    ----------
    X, W : arrays of shape (n, d) and (d, N)
        Rows and frequencies, as in :func:`features`.
    coefficients : complex array of shape (N, k)
        The coefficients ``c`` above, one column per function.
    n_threads, memory_budget : int, optional
        As in :func:`features`.

    Returns
    -------
    array of shape (n, k)
        Values, of the kind, device and floating dtype of `X`; lazy when `X` is a dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import mixed_waves
    >>> mixed_waves(np.zeros((1, 1)), np.ones((1, 2)), np.array([[1, 0], [2, 1j]]))
    array([[3., 0.]])
    """
    _check_shapes(X, W)
    coefficients = np.asarray(coefficients, dtype=np.complex128)
    if coefficients.ndim != 2 or coefficients.shape[0] != W.shape[1]:
        raise ValueError(
            f"coefficients must have one row per frequency, {W.shape[1]}, got shape "
            f"{coefficients.shape}."
        )
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return _engine_for(X).mixed_waves(X, W, coefficients, **options)


def kernel_rows(
    X: Any,
    Z: Any,
    kernel: Any,
    *,
    normalization: Any = None,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Compute kernel values ``k(x_i, z_j)`` of rows and landmarks, times a normalization.

    If the normalization has few columns, for example because it is multiplied by the coefficients
    of a linear model, no array of the size of all kernel values is ever held.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of any type in the table above.
    Z : array or sparse matrix of shape (m, d)
        Landmarks, on the host.
    kernel : kernel object
        Kernel to evaluate: by a matrix product and a compiled pass if it has a profile in closed
        form (:mod:`bochner.engine.pairs.forms`), otherwise by calling it on the host.
    normalization : array of shape (m, c), optional
        The matrix `R` in ``K(X, Z) R``. Zeros at the end of its columns cost nothing.
    n_threads, memory_budget : int, optional
        As in :func:`features`.

    Returns
    -------
    array of shape (n, m), or (n, c)
        Values, of the kind, device and floating dtype of `X`; lazy when `X` is a dask array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import kernel_rows
    >>> from bochner.kernels import Exponential
    >>> kernel_rows(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]),
    ...             Exponential(gamma=0.2)).round(4)
    array([[0.3679, 1.    ]])
    """
    for name, array in (("X", X), ("Z", Z)):
        if len(array.shape) != 2:
            raise ValueError(f"{name} must have two dimensions, got shape {tuple(array.shape)}.")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns but Z has {Z.shape[1]}.")
    if normalization is not None:
        normalization = as_array(normalization)
        if len(normalization.shape) != 2 or normalization.shape[0] != Z.shape[0]:
            raise ValueError(
                f"normalization must have one row for each of the {Z.shape[0]} landmarks, got "
                f"shape {tuple(normalization.shape)}."
            )
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    place, own = _engine_for(X), float_dtype(X)
    if not is_dask(X) and own == np.float32 and not fits_in_single(kernel):
        values = place.kernel_rows(
            cast(as_float(X), wide_dtype(X)), Z, kernel, normalization=normalization, **options
        )
        return cast(values, result_dtype(X))
    return place.kernel_rows(X, Z, kernel, normalization=normalization, **options)


def fourier_sums(
    X: Any,
    W: Any,
    A: Any,
    *,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    """Compute the weighted Fourier sums ``F[m, k] = sum_i A[i, k] exp(1j <w_m, x_i>)``.

    Parameters
    ----------
    X, W : arrays of shape (n, d) and (d, N)
        Rows and frequencies, as in :func:`features`.
    A : array of shape (n,) or (n, k)
        Real coefficients, one column per sum.
    n_threads, memory_budget : int, optional
        As in :func:`features`; the memory budget applies on the CPU as well.

    Returns
    -------
    complex array of shape (N,) or (N, k)
        Sums, on the device of `X`; for a dask array, a NumPy array computed in one pass over the
        blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import fourier_sums
    >>> X = np.array([[0.0], [np.pi]])
    >>> fourier_sums(X, np.array([[0.0, 1.0]]), [1.0, 1.0]).round(12).real
    array([2., 0.])
    """
    _check_shapes(X, W)
    A, squeeze = _check_coefficients(X, A)
    sums = _engine_for(X).fourier_sums(X, W, A, n_threads=n_threads, memory_budget=memory_budget)
    return sums[:, 0] if squeeze else sums


def potential_and_gradient(
    X: Any,
    W: Any,
    A: Any,
    *,
    signs: ArrayLike | None = None,
    sums: Any = None,
    small_phases: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> tuple[Any, Any]:
    r"""Compute the Fourier potential at every frequency, and its gradient.

    With :math:`F_k(w) = \sum_i A_{ik} e^{i \langle w, x_i \rangle}`,

    .. math::

        v(w) = \sum_k s_k |F_k(w)|^2, \qquad
        \nabla v(w) = 2 \sum_k s_k \sum_i A_{ik}\, x_i
            \bigl(\mathrm{Im} F_k \cos \langle w, x_i \rangle
                 - \mathrm{Re} F_k \sin \langle w, x_i \rangle\bigr).

    Parameters
    ----------
    X, W : arrays of shape (n, d) and (d, N)
        Rows and frequencies, as in :func:`features`.
    A : array of shape (n,) or (n, k)
        Real coefficients.
    signs : array of shape (k,), optional
        The signs (or weights) ``s``; ones by default.
    sums : complex array of shape (N, k), optional
        Sums over all rows, when `X` and `A` are only a part of them. The gradient is then
        this part's share: the shares of all parts add up to the gradient.
    small_phases : bool, default=False
        Whether the caller knows that no phase exceeds 4096, so that float32 is accurate enough:
        the device then need not be asked, and the host never waits for it.
    n_threads, memory_budget : int, optional
        As in :func:`fourier_sums`. If all cosines and sines fit into the budget, they are
        kept between the two passes; otherwise they are computed twice.

    Returns
    -------
    potential : float64 array of shape (N,)
    gradient : float64 array of shape (d, N)

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import potential_and_gradient
    >>> potential, gradient = potential_and_gradient(
    ...     np.array([[0.0], [1.0]]), np.array([[0.5]]), [1.0, 1.0])
    >>> potential.round(6), gradient.round(6)         # 2 + 2 cos w, and -2 sin w
    (array([3.755165]), array([[-0.958851]]))
    """
    _check_shapes(X, W)
    A, _ = _check_coefficients(X, A)
    s = np.ones(A.shape[1]) if signs is None else np.asarray(signs, dtype=np.float64)
    if s.shape != (A.shape[1],):
        raise ValueError(f"signs must have shape ({A.shape[1]},), got {s.shape}.")
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return _engine_for(X).potential_and_gradient(
        X, W, A, s, sums=sums, small_phases=small_phases, **options
    )


def gradient_outer_product(
    X: Any,
    W: Any,
    coefficients: Any,
    *,
    diagonal: bool = False,
    n_threads: int | None = None,
    memory_budget: int | None = None,
) -> Any:
    r"""Sum the outer products of the gradients of linear functions of Fourier features.

    For :math:`f_k(x) = \sum_m \mathrm{Re}(\bar c_{mk} e^{i \langle w_m, x \rangle})`, which is
    :math:`\sum_m a_{mk} \cos \langle w_m, x \rangle + b_{mk} \sin \langle w_m, x \rangle` with
    :math:`c = a + i b`,

    .. math::

        M = \sum_i \sum_k \nabla f_k(x_i) \nabla f_k(x_i)^\top , \qquad
        \nabla f_k(x) = \sum_m w_m \bigl(b_{mk} \cos \langle w_m, x \rangle
            - a_{mk} \sin \langle w_m, x \rangle\bigr) .

    ``M`` is additive over rows, and holds what all gradients have in common: the directions in
    which the functions change.

    Parameters
    ----------
    X, W : arrays of shape (n, d) and (d, N)
        Rows and frequencies, as in :func:`features`.
    coefficients : complex array of shape (N,) or (N, k)
        The coefficients ``c`` above, one column per function.
    diagonal : bool, default=False
        Whether to compute only the diagonal of ``M``, for rows with very many columns.
    n_threads, memory_budget : int, optional
        As in :func:`fourier_sums`.

    Returns
    -------
    float64 array of shape (d, d), or (d,) for the diagonal
        The matrix ``M``, on the device of `X`; for a dask array, a NumPy array computed in one
        pass over the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine import gradient_outer_product
    >>> X, W = np.array([[0.0, 5.0], [np.pi, 7.0]]), np.array([[2.0], [0.0]])
    >>> gradient_outer_product(X, W, np.array([1j]))          # of sin(2 x_1): (2 cos(2 x_1))^2
    array([[8., 0.],
           [0., 0.]])
    """
    _check_shapes(X, W)
    c = np.asarray(coefficients, dtype=np.complex128)
    c = c[:, None] if c.ndim == 1 else c
    if c.ndim != 2 or c.shape[0] != W.shape[1]:
        raise ValueError(
            f"coefficients must have one row per frequency, {W.shape[1]}, got shape {c.shape}."
        )
    options = {"n_threads": n_threads, "memory_budget": memory_budget}
    return _engine_for(X).gradient_outer_product(X, W, c, diagonal=diagonal, **options)
