"""Cholesky factors and triangular systems of NumPy arrays, in several threads at once.

SciPy's functions hold Python's global lock while LAPACK works, so that threads wait for each
other. Here the same routines of SciPy's own LAPACK are called without the lock.

Large matrices are factorised block by block: on its own, OpenBLAS 0.3.30 crashes with AVX-512 and
several threads on matrices of 28 000 rows in float32 and of 16 384 in float64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[Any]

_PREFIXES = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_NUMBERS = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}
_LARGE = 2**16  # bytes in a row: matrices with longer ones are factorised by blocks
_BLOCK = 4096  # rows of a block


@cache
def _routine(name: str) -> Callable[..., None] | None:
    """Return a LAPACK or BLAS routine, which takes only pointers, or None if not available."""
    from scipy.linalg import cython_blas, cython_lapack

    capsule = (cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__).get(name)
    get_name, get_pointer = (
        ctypes.pythonapi.PyCapsule_GetName,
        ctypes.pythonapi.PyCapsule_GetPointer,
    )
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = b"" if capsule is None else get_name(capsule)
    if not (signature.startswith(b"void (char *, ") and b" int *" in signature):
        return None  # integers of another size
    n_arguments = signature.count(b",") + 1
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return kind(get_pointer(capsule, signature))


def _call(routine: Callable[..., None], *arguments: Any) -> int:
    """Call a LAPACK routine and return its info, which is 0 on success."""
    info = ctypes.c_int(0)
    _call_blas(routine, *arguments, info)
    return info.value


def _call_blas(routine: Callable[..., None], *arguments: Any) -> None:
    values = [*map(_in_memory, arguments)]  # kept alive until the routine is done
    addresses = (
        one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one) for one in values
    )
    routine(*addresses)


def _in_memory(argument: Any) -> Any:
    """Return an integer or a letter as a C value, and an array or a C value as it is."""
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    return ctypes.c_char(argument) if isinstance(argument, bytes) else argument


def _is_square(A: Array) -> bool:
    """Whether a matrix is square and not empty; others go to SciPy, which says what is wrong."""
    return A.ndim == 2 and A.shape[0] == A.shape[1] > 0


def cholesky(A: Array) -> Array:
    """Return the lower factor of a positive definite matrix in C order, computed in place.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.lapack import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    routine = _routine(f"{_PREFIXES[A.dtype]}potrf") if A.dtype in _PREFIXES else None
    in_place = _is_square(A) and A.flags.c_contiguous and A.flags.writeable
    if routine is None or not in_place:
        return np.asarray(linalg.cholesky(A.T, lower=True, overwrite_a=True, check_finite=False))
    n = len(A)
    large = n * A.itemsize > _LARGE
    failed = _by_blocks(routine, A) if large else _call(routine, b"L", n, A, n)
    if failed:
        raise LinAlgError(f"{failed}-th leading minor of the array is not positive definite")
    for row in range(1, n):
        A[row, :row] = 0.0  # the entries above the diagonal of the transpose
    return A.T


def _by_blocks(potrf: Callable[..., None], A: Array) -> int:
    r"""Factorise the upper triangle in place, a block of rows at a time; return LAPACK's info.

    With :math:`A = U^\top U`, the rows of a block are :math:`U_{kk}^{-\top} A_{k,:}`, and what is
    below and to the right loses their products. In LAPACK's order, all of this is transposed.
    """
    prefix, number = _PREFIXES[A.dtype], _NUMBERS[A.dtype]
    trsm, gemm = _routine(f"{prefix}trsm"), _routine(f"{prefix}gemm")
    n, one, minus_one = len(A), number(1.0), number(-1.0)
    if trsm is None or gemm is None:
        return _call(potrf, b"L", n, A, n)
    blocks = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
    for k, own in enumerate(blocks):
        size, corner = own.stop - own.start, A[own, own]
        failed = _call(potrf, b"L", size, corner, n)
        if failed:
            return own.start + failed
        right = blocks[k + 1 :]
        for some in right:
            width, part = some.stop - some.start, A[own, some]
            factor = b"R", b"L", b"T", b"N", width, size, one, corner, n
            _call_blas(trsm, *factor, part, n)
        for rows in right:
            beyond = slice(rows.start, n)  # the diagonal and what is to its right
            shape = n - rows.start, rows.stop - rows.start, size
            products = *shape, minus_one, A[own, beyond], n, A[own, rows], n
            _call_blas(gemm, b"N", b"T", *products, one, A[rows, beyond], n)
    return 0


def solve_triangular(lower: Array, B: Array, *, transposed: bool = False) -> Array:
    r"""Return the solution of :math:`L Z = B`, or of :math:`L^\top Z = B`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.engine.lapack import solve_triangular
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([4.0, 4.0]))
    array([2., 1.])
    """
    same = lower.dtype in _PREFIXES and B.dtype == lower.dtype
    routine = _routine(f"{_PREFIXES[lower.dtype]}trtrs") if same else None
    in_order = lower.flags.f_contiguous or lower.flags.c_contiguous
    fits = _is_square(lower) and B.ndim in (1, 2) and len(B) == len(lower) and B.size > 0
    if routine is None or not (in_order and fits):
        return np.asarray(
            linalg.solve_triangular(
                lower, B, trans=int(transposed), lower=True, check_finite=False
            )
        )
    # in C order the memory is that of the transpose, an upper triangle in LAPACK's order
    columns_first = lower.flags.f_contiguous
    triangle = b"L" if columns_first else b"U"
    trans = b"T" if transposed == columns_first else b"N"
    Z = np.array(B, order="F")
    n, n_columns = len(lower), Z.size // len(lower)
    if _call(routine, triangle, trans, b"N", n, n_columns, lower, n, Z, n):
        raise LinAlgError("the triangle is singular")
    return Z
