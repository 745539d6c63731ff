"""Apply a function to rows, wherever they are.

A map defines a function of rows in memory or on a device. It is called here as it is, or block by
block if the rows are a dask array: lazily for a result with one row per row, at once and along a
tree for a sum over rows. What all blocks need (frequencies, a plan) is sent to the workers once,
and blocks, which run in parallel, use one thread each.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from bochner.engine.places import float_dtype, is_dask, is_host, namespace, zeros

_FAN_IN = 8  # partial results that one task merges


def columns_in_one_block(X: Any) -> Any:
    """Rechunk a dask array so that blocks hold whole rows; return anything else as it is."""
    return X.rechunk({1: -1}) if is_dask(X) and max(X.numblocks[1:], default=1) > 1 else X


def with_known_lengths(X: Any) -> Any:
    """Return a dask array with known block lengths, which may have to be computed."""
    if not (is_dask(X) and _unknown_lengths(X)):
        return X
    return X.copy().compute_chunk_sizes()  # which would change the caller's array


def _unknown_lengths(X: Any) -> bool:
    return any(math.isnan(length) for length in X.chunks[0])


def map_rows(
    function: Callable[..., Any],
    X: Any,
    width: int | None,
    *,
    shared: Mapping[str, Any] | None = None,
    dtype: Any = None,
    meta: Any = None,
    **options: Any,
) -> Any:
    """Compute ``function(X, **shared, **options)``, one row per row; lazy if `X` is a dask array.

    The result has `width` columns (None: a vector) and by default the dtype
    :func:`~bochner.engine.places.float_dtype` of `X`. Large arguments are `shared`: a dask graph
    holds them once, not once per block. `meta` is an empty array of the same kind as the blocks of
    the result, by default a dense one of the library of the blocks of `X`.
    """
    shared = shared or {}
    if not is_dask(X):
        return function(X, **shared, **options)
    X = columns_in_one_block(X)
    dtype = float_dtype(X) if dtype is None else np.dtype(dtype)
    if meta is None:
        meta = _empty((0,) if width is None else (0, 0), X._meta, dtype)
    shape = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    return X.map_blocks(
        function,
        **_sent_once(shared),
        **_single_threaded(options),
        **shape,
        dtype=dtype,
        meta=meta,
    )


def reduce_rows(
    function: Callable[..., Any],
    X: Any,
    *aligned: Any,
    merge: Callable[[Any, Any], Any] = operator.add,
    shared: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Compute ``function(X, *aligned, **shared, **options)``, merging results of blocks of rows.

    The arrays `aligned` are cut into blocks that match those of `X`. `merge` combines the results
    for two sets of rows into the result for both together. With a dask array only results travel,
    not rows.
    """
    shared = shared or {}
    if not is_dask(X):
        return function(X, *aligned, **shared, **options)
    import dask

    X = columns_in_one_block(X)
    sent, options = _sent_once(shared), _single_threaded(options)
    of_block = dask.delayed(function, pure=True)
    blocks = zip(X.to_delayed().ravel(), *(_cut_like(X, A) for A in aligned), strict=True)
    parts = [of_block(*block, **sent, **options) for block in blocks]
    return merge_tree(parts, merge).compute()


def merge_tree(parts: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge the delayed results of blocks into one, a few at a time along a tree."""
    import dask

    merge_some = dask.delayed(_merge_some, pure=True)
    while len(parts) > 1:
        parts = [merge_some(merge, parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return parts[0]


def row_slices(n_rows: int, height: int) -> list[slice]:
    """Return slices of at least one and at most `height` rows that cover all rows."""
    n_rows, height = int(n_rows), max(1, height)
    return [slice(i, min(i + height, n_rows)) for i in range(0, n_rows, height)]


def map_batches(function: Callable[[Any], Any], X: Any, height: int) -> Any:
    """Compute ``function(X)`` for `height` rows at a time, for rows that are not lazy."""
    batches = row_slices(X.shape[0], height) or [slice(0, 0)]
    parts = [function(X[rows, ...]) for rows in batches]
    return parts[0] if len(parts) == 1 else concat_rows(parts)


def concat_rows(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of several arrays or sparse matrices, where they are."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concat(list(parts), axis=0)


def concat_columns(parts: Sequence[Any]) -> Any:
    """Concatenate the columns of several arrays of the same rows, wherever they are."""
    if len(parts) == 1:
        return parts[0]
    if is_dask(parts[0]):
        import dask.array as da

        return columns_in_one_block(da.concatenate(parts, axis=1))
    return namespace(parts[0]).concat(parts, axis=1)


def _sent_once(shared: Mapping[str, Any]) -> dict[str, Any]:
    import dask

    return {name: dask.delayed(value, pure=True) for name, value in shared.items()}


def _single_threaded(options: dict[str, Any]) -> dict[str, Any]:
    return options | ({"n_threads": 1} if "n_threads" in options else {})


def _empty(shape: tuple[int, ...], like: Any, dtype: np.dtype[Any]) -> Any:
    return zeros(shape, like, dtype if is_host(like) else getattr(namespace(like), dtype.name))


def _merge_some(merge: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    return reduce(merge, parts)


def _cut_like(X: Any, A: Any) -> list[Any]:
    """Cut the rows of `A` into blocks that match those of `X`."""
    if not is_dask(A):
        if _unknown_lengths(X):
            raise ValueError(
                "X does not know the lengths of its blocks, so A cannot be cut to match: give A "
                "as a dask array with the same blocks, or call X.compute_chunk_sizes() first."
            )
        # Each slice travels with its own task; the whole of A does not.
        ends = np.cumsum(X.chunks[0])
        return [A[end - length : end] for end, length in zip(ends, X.chunks[0], strict=True)]
    A = columns_in_one_block(A)
    if A.numblocks[0] != X.numblocks[0] or not np.array_equal(
        A.chunks[0], X.chunks[0], equal_nan=True
    ):
        A = A.rechunk({0: X.chunks[0]})
    return list(A.to_delayed().ravel())
