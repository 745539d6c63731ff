"""What methods need of an array library: its functions, dtypes, a factorisation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg

from bochner.engine.summaries import _namespace as namespace
from bochner.engine.threads import single_threaded_blas

__all__ = [
    "available_dtypes",
    "cast",
    "convert",
    "identity",
    "inverse",
    "is_host",
    "is_torch",
    "machine_epsilon",
    "namespace",
    "wide_dtype",
    "zeros",
]


def is_host(array: Any) -> bool:
    """Whether reading a number of `array` costs nothing, as it does in NumPy."""
    return isinstance(array, np.ndarray)


def is_torch(array: Any) -> bool:
    """Whether `array` is a PyTorch tensor; does not import PyTorch."""
    return type(array).__module__.partition(".")[0] == "torch"


def cast(array: Any, dtype: Any) -> Any:
    """`array` in another dtype; itself if it has it already."""
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if is_host(array) else namespace(array).astype(array, dtype)


def convert(values: Any, like: Any, dtype: Any = None) -> Any:
    """`values` as an array of the library, on the device and by default in the dtype of `like`."""
    dtype = like.dtype if dtype is None else dtype
    if is_host(like):
        return np.asarray(values, dtype=dtype)
    from array_api_compat import device

    xp = namespace(like)
    if not hasattr(values, "dtype"):
        values = np.asarray(values, dtype=np.float64)
    return cast(xp.asarray(values, device=device(like)), dtype)


def zeros(shape: tuple[int, ...], like: Any, dtype: Any) -> Any:
    """Zeros in the library and on the device of `like`."""
    if is_host(like):
        return np.zeros(shape, dtype)
    from array_api_compat import device

    return namespace(like).zeros(shape, dtype=dtype, device=device(like))


def identity(size: int, like: Any, dtype: Any) -> Any:
    """The identity matrix in the library and on the device of `like`."""
    if is_host(like):
        return np.eye(size, dtype=dtype)
    from array_api_compat import device

    return namespace(like).eye(size, dtype=dtype, device=device(like))


def wide_dtype(array: Any) -> Any:
    """float64, or the array's own dtype on a device that has no float64."""
    if is_host(array):
        return np.float64
    from array_api_compat import device

    xp = namespace(array)
    return xp.float64 if "float64" in available_dtypes(xp, device(array)) else array.dtype


@cache
def available_dtypes(xp: Any, device: Any) -> frozenset[str]:
    """Names of the dtypes that a device has. PyTorch finds out by trying, hence the cache."""
    return frozenset(xp.__array_namespace_info__().dtypes(device=device))


def machine_epsilon(dtype: Any, xp: Any) -> float:
    """The distance from 1 to the next number."""
    return float(xp.finfo(dtype).eps)


def inverse(H: Any) -> Callable[[Any], Any]:
    r"""The function :math:`B \mapsto H^{-1} B` for a positive definite `H`.

    The host never waits for a device. In NumPy an `H` that is not positive definite raises
    LinAlgError; elsewhere the result is undefined.
    """
    if is_host(H):
        # SciPy's BLAS has threads of its own, which would wait for NumPy's to stop spinning.
        with single_threaded_blas:
            factor = linalg.cho_factor(H, lower=True, check_finite=False)

        def on_host(B: Any) -> Any:
            with single_threaded_blas:
                return linalg.cho_solve(factor, B, check_finite=False)

        return on_host
    if is_torch(H):
        import torch

        # cholesky itself would wait for the device to say whether it succeeded
        lower = torch.linalg.cholesky_ex(H).L
        return lambda B: torch.cholesky_solve(B, lower)
    xp = namespace(H)
    return lambda B: xp.linalg.solve(H, B)
