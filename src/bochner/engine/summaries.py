"""Summaries of rows that estimators need: their variance, products with them, and samples."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.random import sample_without_replacement

from bochner.engine.places import (
    cast,
    convert,
    dense,
    float_dtype,
    is_dask,
    is_host,
    namespace,
    to_numpy,
    wide_dtype,
)
from bochner.engine.rowwise import (
    columns_in_one_block,
    reduce_rows,
    row_slices,
    with_known_lengths,
)

_BATCH, _BATCH_ENTRIES = 2**16, 2**22  # most rows and entries copied at a time
_COLLECTED_BYTES = 2**30  # most bytes taken from a dask array, by default
_FEWEST_TAKEN = 1000  # rows taken whatever the memory: two rows could be of one class


def variance(X: Any, weights: Any = None) -> float:
    """Return the variance of all entries of `X`, in one pass, accumulated in float64.

    Each row counts as often as its entry of `weights`, an array on the host.
    """
    count, _, squares = entry_moments(X, weights)
    return float(squares / count)


Moments = tuple[float, float, float]  # number of entries, their mean, sum of squares about it


def entry_moments(X: Any, weights: Any = None) -> Moments:
    """Return the moments that give the variance of all entries; see :func:`merge_moments`."""
    aligned = () if weights is None else (weights,)
    found: Moments = reduce_rows(_moments, X, *aligned, merge=merge_moments)
    return found


def merge_moments(one: Moments, other: Moments) -> Moments:
    """Return the moments of the union of two sets (Chan, Golub and LeVeque)."""
    count = one[0] + other[0]
    if count == 0:
        return one
    shift, share = other[1] - one[1], other[0] / count
    return count, one[1] + shift * share, one[2] + other[2] + shift**2 * one[0] * share


def _moments(X: Any, weights: Any = None) -> Moments:
    if sparse.issparse(X):
        values, counts = X.data.astype(np.float64), None
        zeros = X.shape[0] * X.shape[1] - values.size
        if weights is not None:
            counts = np.repeat(weights, np.diff(X.indptr))
            zeros = np.sum(weights) * X.shape[1] - counts.sum()
        return merge_moments((float(zeros), 0.0, 0.0), _batch_moments(np, values, counts))
    xp, wide = namespace(X), wide_dtype(X)

    def of_batch(rows: slice) -> Moments:
        values = cast(X[rows, :], wide)
        if weights is None:
            return _batch_moments(xp, values)
        counts = convert(weights[rows], values)[:, None]
        return _batch_moments(xp, values, counts + xp.zeros_like(values))

    height = min(_BATCH, _BATCH_ENTRIES // max(1, X.shape[1]))
    batches = row_slices(X.shape[0], height)
    return reduce(merge_moments, map(of_batch, batches), (0.0, 0.0, 0.0))


def _batch_moments(xp: Any, values: Any, counts: Any = None) -> Moments:
    size = math.prod(values.shape) if counts is None else float(xp.sum(counts))
    if size == 0:
        return 0.0, 0.0, 0.0
    if counts is None:
        return size, float(xp.mean(values)), float(xp.var(values)) * size
    mean = float(xp.sum(counts * values)) / size
    return size, mean, float(xp.sum(counts * (values - mean) ** 2))


def constant_columns(X: Any) -> NDArray[np.bool_]:
    """Return a mask of the columns with a single value, for rows in memory or on a device."""
    if sparse.issparse(X):
        low, high = (getattr(X, name)(axis=0).toarray()[0] for name in ("min", "max"))
        return np.asarray(low == high)
    xp = namespace(X)
    return np.asarray(to_numpy(xp.min(X, axis=0) == xp.max(X, axis=0)))


def second_moment_product(X: Any, Y: Any) -> Any:
    """Return ``X^T (X Y)``, where `X` is, to find principal directions without ``X^T X``."""
    return reduce_rows(_product, X, shared={"Y": Y})


def _product(X: Any, Y: Any) -> Any:
    return X.T @ (X @ Y)


def sample_rows(X: Any, n_rows: int, random_state: RandomState) -> Any:
    """Draw at most `n_rows` distinct rows of `X`, on the host, in their order in `X`.

    If a dask array does not know the lengths of its blocks, they are counted first: rows from its
    beginning alone would not be representative.
    """
    X = with_known_lengths(X)
    return take_rows(X, choose_rows(X.shape[0], n_rows, random_state))


def take_rows(X: Any, index: NDArray[np.intp]) -> Any:
    """Return the rows `index` of `X` on the host; a dask array must know its block lengths."""
    rows = rows_at(X, index)
    return rows if is_host(rows) else to_numpy(rows)


def rows_at(X: Any, index: NDArray[np.intp]) -> Any:
    """Return the rows `index` of `X` where it is; those of a dask array come to the host."""
    if is_dask(X):
        order = np.argsort(index, kind="stable")
        return _from_blocks(X, index[order])[np.argsort(order)]
    if is_host(X):
        return X[index]
    xp = namespace(X)
    return xp.take(X, convert(index, X, xp.int64), axis=0)


def keep_rows(X: Any, index: NDArray[np.intp]) -> Any:
    """Return the rows `index`, which increase, where `X` is; a dask array stays lazy."""
    if not is_dask(X):
        return rows_at(X, index)
    # block by block: dask would cut repeated rows into very many blocks
    X = columns_in_one_block(X)
    starts = np.concatenate([[0], np.cumsum(X.chunks[0])])
    parts = np.split(index, np.searchsorted(index, starts[1:-1]))
    inside = [part - start for part, start in zip(parts, starts, strict=False)]
    chunks = tuple(map(len, inside)), X.chunks[1]
    return X.map_blocks(_of_block, inside=inside, chunks=chunks, dtype=X.dtype, meta=X._meta)


def _of_block(rows: Any, inside: list[NDArray[np.intp]], block_id: tuple[int, ...]) -> Any:
    return rows[inside[block_id[0]]]


def are_rows(
    X: Any, labels: NDArray[Any], points: Any, of_points: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return a mask of the `points` (host) that exactly equal a row of `X` of the same label."""
    shared = {"points": points.astype(float_dtype(X)), "of_points": of_points}
    found: NDArray[np.bool_] = reduce_rows(
        _are_rows, X, labels, merge=np.logical_or, shared=shared
    )
    return found


def _are_rows(X: Any, labels: Any, points: Any, of_points: Any) -> NDArray[np.bool_]:
    direction = RandomState(0).standard_normal(
        X.shape[1]
    )  # equal rows have equal products with it
    keys, wanted = _products(X, direction), _products(points, direction)
    order = np.argsort(keys)
    rounding = 1e-9 * np.abs(wanted)
    first = np.searchsorted(keys, wanted - rounding, sorter=order)
    last = np.searchsorted(keys, wanted + rounding, side="right", sorter=order)
    found = np.zeros(len(wanted), bool)
    for index in np.flatnonzero(first < last):
        near = order[first[index] : last[index]]
        same = labels[near] == of_points[index]
        near = near[same.reshape(len(near), -1).all(axis=1)][:16]
        if near.size:
            same = dense(take_rows(X, near)) == dense(points[index : index + 1])
            found[index] = same.all(axis=1).any()
    return found


def _products(X: Any, direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``X @ direction`` in float64, a batch of rows at a time."""
    if is_host(X):
        parts = [X[rows] @ direction for rows in row_slices(X.shape[0], _BATCH)]
    else:
        there, wide = convert(direction, X, wide_dtype(X)), wide_dtype(X)
        batches = row_slices(X.shape[0], _BATCH)
        parts = [to_numpy(cast(X[rows, :], wide) @ there) for rows in batches]
    return np.concatenate([np.empty(0), *parts])


def take_part(
    X: Any,
    y: NDArray[Any],
    random_state: RandomState,
    *,
    most_rows: int | None = None,
    memory_budget: int | None = None,
) -> tuple[Any, NDArray[Any]]:
    """Return the rows that a game or a chain reads again and again, and their labels.

    These are all rows, or a sample of `most_rows`. Rows of a dask array come to the host, since
    every read would be a round trip: as many as fit in `memory_budget` bytes (None: one gigabyte),
    but no fewer than a thousand.
    """
    n = len(y)
    most = n if most_rows is None else min(n, most_rows)
    if is_dask(X):
        most = min(
            most, max(_FEWEST_TAKEN, int((memory_budget or _COLLECTED_BYTES) // _row_bytes(X, n)))
        )
    elif most == n:
        return X, y
    index = np.arange(n) if most == n else np.sort(random_state.permutation(n)[:most])
    return rows_at(X, index), y[index]


def _row_bytes(X: Any, n_rows: int) -> float:
    """Return the bytes per row of a dask array; the mean if rows are sparse."""
    if not sparse.issparse(X._meta):
        return float(X.shape[1] * X.dtype.itemsize)
    stored = reduce_rows(_n_stored, X)
    return float(stored / n_rows * (X.dtype.itemsize + 4) + 8)


def _n_stored(X: Any) -> int:
    return int(X.nnz)


def choose_rows(n: int, n_rows: int, random_state: RandomState) -> NDArray[np.intp]:
    """Draw at most `n_rows` distinct numbers below `n`, in increasing order."""
    if n <= n_rows:
        return np.arange(n)
    return np.sort(sample_without_replacement(n, n_rows, random_state=random_state))


def _from_blocks(X: Any, index: NDArray[np.intp]) -> Any:
    """Return rows of a dask array; each block, dense or sparse, yields its own."""
    import dask

    X = columns_in_one_block(X)
    ends = np.cumsum(X.chunks[0])
    take = dask.delayed(operator.getitem, pure=True)
    parts = []
    for block, end, length in zip(X.to_delayed().ravel(), ends, X.chunks[0], strict=True):
        here = index[(index >= end - length) & (index < end)] - (end - length)
        if here.size:
            parts.append(take(block, here))
    return _stack(dask.compute(*parts))


def _stack(blocks: Sequence[Any]) -> Any:
    if sparse.issparse(blocks[0]):
        return sparse.vstack(blocks).tocsr()
    return np.vstack([to_numpy(block) for block in blocks])
