"""Places and dtypes of rows: every decision about kinds of arrays is made here.

==================  =====================================================================
place               kinds of arrays
==================  =====================================================================
``"host"``          NumPy arrays and memory maps, SciPy sparse matrices and arrays
``"device"``        arrays of another array-API library: PyTorch, CuPy, ...
``"cluster"``       dask arrays (and dataframes, which the maps turn into arrays)
==================  =====================================================================

The dtype of the rows decides the floating dtype of the results:

==============================  ==============  ===================================
dtype of the rows               of the result   of the result, for images
==============================  ==============  ===================================
float32                         float32         float32
float64, and longer             float64         float64
float16, bfloat16               float32         float32
bool, integers up to 16 bits    float64         float32, which holds them exactly
longer integers                 float64         float64
complex, text, objects          an error        an error
==============================  ==============  ===================================

On a device without float64, float32 takes its place. Nothing here imports an array library: arrays
of a library come only from callers that have imported it.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Place = Literal["host", "device", "cluster"]

_NAMESPACES: dict[type, Any] = {}

_HALF = ("float16", "bfloat16")
_SHORT = ("bool", "uint8", "int8", "uint16", "int16")
_DOUBLE = ("float64", "float80", "float96", "float128", "longdouble")
_DASK = ("dask.array.", "dask.dataframe.", "dask_expr.")


def is_host(X: Any) -> bool:
    """Whether `X` is a NumPy array or a SciPy sparse matrix."""
    return _is_host_type(type(X))  # type: ignore[arg-type]  # types are hashable


@cache
def _is_host_type(kind: type) -> bool:
    return issubclass(kind, (np.ndarray, np.generic, sparse.spmatrix, sparse.sparray))


def is_dask(X: Any) -> bool:
    """Whether `X` is a dask array, dataframe or series.

    Other objects that hold a dask graph, such as xarray arrays, do not count.
    """
    return _is_dask_type(type(X))  # type: ignore[arg-type]  # types are hashable


@cache
def _is_dask_type(kind: type) -> bool:
    return any(f"{base.__module__}.".startswith(_DASK) for base in kind.__mro__)


def is_dask_table(X: Any) -> bool:
    """Whether `X` is a dask dataframe."""
    return is_dask(X) and hasattr(X, "to_dask_array")


def is_device(X: Any) -> bool:
    """Whether `X` is an array of another array-API library, such as a PyTorch tensor."""
    return hasattr(X, "__dlpack__") and not is_host(X)


def _library(X: Any) -> str:
    return _library_of(type(X))  # type: ignore[arg-type]  # types are hashable


@cache
def _library_of(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def is_torch(X: Any) -> bool:
    """Whether `X` is a PyTorch tensor."""
    return _library(X) == "torch"


def on_cuda(X: Any) -> bool:
    """Whether `X` is a PyTorch tensor on a CUDA device."""
    return is_torch(X) and bool(X.is_cuda)


def device_memory(X: Any) -> int:
    """Return the bytes of memory of the CUDA device of a tensor."""
    import torch

    return int(torch.cuda.get_device_properties(X.device).total_memory)


def runs_triton(X: Any) -> bool:
    """Whether results for `X` are float32 on a CUDA device that runs Triton kernels."""
    if not on_cuda(X) or float_dtype(X) != np.float32 or find_spec("triton") is None:
        return False
    import torch

    return torch.version.hip is None and _capability(X.device) >= (8, 0)


@cache
def _capability(device: Any) -> tuple[int, int]:
    import torch

    return torch.cuda.get_device_capability(device)


def place_of(X: Any) -> Place:
    """Return where `X` is, by the first table of this module."""
    check_layout(X)
    if is_host(X):
        return "host"
    if is_dask(X):
        return "cluster"
    if is_device(X):
        return "device"
    raise TypeError(
        "X must be a NumPy array, a SciPy sparse matrix, an array-API array such as a "
        f"PyTorch tensor, or a dask array, got {type(X).__name__}."
    )


def check_layout(X: Any) -> None:
    """Raise a ValueError for a sparse PyTorch tensor, which supports too few operations."""
    if is_torch(X) and str(X.layout) != "torch.strided":
        raise ValueError(
            f"X is a sparse PyTorch tensor ({X.layout}), which is not supported: give "
            "X.to_dense(), or a SciPy sparse matrix."
        )


def table_as_array(X: Any) -> Any:
    """Convert a dask dataframe to a dask array; nullable numbers become floats with NaN."""
    kinds = {name: getattr(dtype, "numpy_dtype", None) for name, dtype in X.dtypes.items()}
    floats = {
        name: dtype if dtype.kind == "f" else np.dtype(np.float64)
        for name, dtype in kinds.items()
        if dtype is not None and dtype.kind in "fiub"
    }
    return (X.astype(floats) if floats else X).to_dask_array()


def namespace(X: Any) -> Any:
    """Return the namespace of the library of `X`: NumPy on the host, else an array-API one."""
    if is_host(X):
        return np
    kind = type(X)
    if kind not in _NAMESPACES:  # asked for several times per step of a game
        _NAMESPACES[kind] = _find_namespace(X)
    return _NAMESPACES[kind]


def _find_namespace(X: Any) -> Any:
    if is_dask(X):  # blocks have a library; a lazy solver would be slow, or silently wrong
        raise ValueError(
            "a dask array is not taken here: give an array in memory or on a device, such as "
            "X.compute(). Maps, and the classifiers and regressors of bochner.linear, take dask "
            "arrays and go through their blocks."
        )
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{type(X).__module__} arrays need the package array-api-compat: "
            "pip install array-api-compat"
        ) from error
    return array_namespace(X)


def device_of(X: Any) -> Any:
    """Return the device of an array-API array."""
    if is_torch(X):
        return X.device
    from array_api_compat import device

    return device(X)


def _name(dtype: Any) -> str:
    """Return the name of a dtype of any library, such as ``float32``."""
    return str(getattr(dtype, "name", None) or dtype).rpartition(".")[2]


def is_real(X: Any) -> bool:
    """Whether `X` holds Booleans, integers or real numbers."""
    name = _name(X.dtype)
    return name in (*_HALF, *_DOUBLE, "float32", "bool") or name.startswith(("int", "uint"))


def without_half(X: Any) -> Any:
    """Convert host rows to float32 if all columns have half precision; return others as is.

    scikit-learn's checks, which come next, would convert them to float64.
    """
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ()))
    half = bool(dtypes) and all(_name(dtype) in _HALF for dtype in dtypes)
    return X.astype(np.float32) if half else X


def float_dtype(X: Any, *, images: bool = False) -> np.dtype[Any]:
    """Return the floating dtype of results for the rows `X`, as a NumPy dtype.

    It follows the second table of this module; `images` selects the last column. A dtype that is
    not real raises a TypeError.
    """
    if not is_real(X):
        raise TypeError(f"X must hold real numbers, got dtype {X.dtype}.")
    single = ("float32", *_HALF, *(_SHORT if images else ()))
    return np.dtype(np.float32 if _name(X.dtype) in single else np.float64)


def result_dtype(X: Any, *, images: bool = False) -> Any:
    """Return :func:`float_dtype` as a dtype of the library of `X` that its device has."""
    dtype = float_dtype(X, images=images)
    if is_host(X):
        return dtype
    return namespace(X).float32 if dtype == np.float32 else wide_dtype(X)


def wide_dtype(X: Any) -> Any:
    """Return float64 of the library of `X`, or float32 if the device has no float64."""
    if is_host(X):
        return np.float64
    xp = namespace(X)
    return xp.float64 if "float64" in available_dtypes(xp, device_of(X)) else xp.float32


def single_dtype(X: Any) -> Any:
    """Return float32 of the library of `X`."""
    return np.float32 if is_host(X) else namespace(X).float32


@cache
def available_dtypes(xp: Any, device: Any) -> frozenset[str]:
    """Return the names of the dtypes of a device; cached, since PyTorch finds them by trial."""
    return frozenset(xp.__array_namespace_info__().dtypes(device=device))


def machine_epsilon(dtype: Any, xp: Any) -> float:
    """Return the distance from 1 to the next larger number."""
    return float(xp.finfo(dtype).eps)


def item_size(X: Any) -> int:
    """Return the size in bytes of one entry of a result for `X`."""
    return float_dtype(X).itemsize


def cast(X: Any, dtype: Any) -> Any:
    """Return `X` in another dtype, or `X` itself if it already has it."""
    if X.dtype == dtype:
        return X
    return X.astype(dtype) if is_host(X) else namespace(X).astype(X, dtype)


def single_rows(X: Any) -> Any:
    """Return dense rows on the host in float32, to save work, and others as they are.

    This is meant for scaled columns: rounding is then a ten-millionth of their variation.
    """
    return cast(X, np.float32) if isinstance(X, np.ndarray) else X


def as_float(X: Any, *, images: bool = False) -> Any:
    """Return `X` in the dtype of its results, or `X` itself if it already has it."""
    return cast(X, result_dtype(X, images=images))


def as_array(values: Any) -> Any:
    """Return an array of any library as it is, and lists and numbers as a NumPy array."""
    return values if hasattr(values, "shape") else np.asarray(values)


def by_rows(X: Any) -> Any:
    """Return a NumPy array in C order, and arrays of other kinds as they are."""
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def convert(values: Any, like: Any, dtype: Any = None) -> Any:
    """Convert `values` to the library, the device and by default the dtype of `like`."""
    dtype = like.dtype if dtype is None else dtype
    if is_host(like):
        return np.asarray(values, dtype=dtype)
    xp, device = namespace(like), device_of(like)
    if is_torch(values) and values.device == device:
        return cast(values, dtype)
    if not is_device(values):
        values = np.asarray(values)
        if values.dtype.name not in available_dtypes(xp, device):
            return xp.asarray(values, dtype=dtype, device=device)
    # A GPU casts faster than the host.
    return cast(xp.asarray(values, device=device), dtype)


def zeros(shape: tuple[int, ...], like: Any, dtype: Any) -> Any:
    """Return an array of zeros in the library and on the device of `like`."""
    if is_host(like):
        return np.zeros(shape, dtype)
    return namespace(like).zeros(shape, dtype=dtype, device=device_of(like))


def identity(size: int, like: Any, dtype: Any) -> Any:
    """Return the identity matrix in the library and on the device of `like`."""
    if is_host(like):
        return np.eye(size, dtype=dtype)
    return namespace(like).eye(size, dtype=dtype, device=device_of(like))


def write_at(X: Any, i: Any, j: Any, values: Any) -> None:
    """Set ``X[i, j] = values``, by way of the host if the library has no such assignment."""
    try:
        X[i, j] = values
    except IndexError:
        host = np.array(to_numpy(X))
        host[to_numpy(i), to_numpy(j)] = to_numpy(values)
        X[...] = convert(host, X)


def detached(X: Any) -> Any:
    """Return `X` detached from PyTorch's autograd graph, and other arrays as they are."""
    return X.detach() if is_torch(X) else X


def asks_for_gradients(X: Any) -> bool:
    """Whether PyTorch records operations on `X` for gradients."""
    if not is_torch(X) or not X.requires_grad:
        return False
    import torch

    return torch.is_grad_enabled()


def dense(X: Any) -> Any:
    """Return `X` as a dense array, where it is."""
    return X.toarray() if sparse.issparse(X) else X


def to_numpy(X: Any) -> NDArray[Any]:
    """Return a dense array as a NumPy array; bfloat16, which NumPy lacks, becomes float32."""
    if is_torch(X):
        X = X.detach().cpu()
        X = X.float() if _name(X.dtype) == "bfloat16" else X
    elif _library(X) == "cupy":
        X = X.get()
    elif is_device(X):  # which NumPy can read on the default device of its library
        default = namespace(X).__array_namespace_info__().default_device()
        X = X if device_of(X) == default else X.to_device(default)
    return np.asarray(X)


def is_numpy_device(device: Any) -> bool:
    """Whether a device named by the user, ``"cpu"``, means NumPy and not PyTorch."""
    return isinstance(device, str) and device == "cpu"


def on_device(X: Any, device: Any, dtype: Any = np.float32) -> Any:
    """Move host rows where the user wants them: NumPy for ``"cpu"``, else a PyTorch tensor.

    Sparse rows stay on the host.
    """
    if is_numpy_device(device) or sparse.issparse(X):
        return X
    import torch

    return torch.as_tensor(X, dtype=getattr(torch, np.dtype(dtype).name), device=device)


def largest_squared(dtype: Any) -> float:
    """Return a bound on entries below which sums of their squares do not overflow."""
    return 1e15 if np.dtype(dtype) == np.float32 else 1e150


def check_entries(X: Any, largest: float = np.inf) -> None:
    """Raise a ValueError if an array that is not lazy has NaN, infinity or more than `largest`."""
    if "float" not in _name(X.dtype) or 0 in X.shape:
        return
    values = X.data if sparse.issparse(X) else X
    xp = namespace(values)
    limit = min(largest, float(xp.finfo(values.dtype).max))
    if _all_within(values, limit, xp):
        return
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError("Input X contains NaN or infinity.")
    raise ValueError(
        f"Input X contains values too large to compute with, up to "
        f"{float(xp.max(xp.abs(values))):.3g} in size, where at most {limit:g} is accepted: "
        "squares would overflow. Scale the columns first, for example with MaxAbsScaler."
    )


def _all_within(values: Any, limit: float, xp: Any) -> bool:
    if is_host(values):  # without a copy
        ends = values.max(initial=0), values.min(initial=0)
        return bool(ends[0] <= limit and ends[1] >= -limit)  # NaN is neither
    return bool(xp.all(xp.abs(values) <= limit))
