"""Limits of a search: how many rows it uses, and up to how many rows all may be landmarks."""

from __future__ import annotations

from typing import Any

from bochner.engine.places import device_memory, is_host, on_cuda
from bochner.records.memory import memory_limit

SEARCH_ROWS = 20_000  # at most these choose the settings; the model is fitted to all rows
EXACT_ROWS = 2 * SEARCH_ROWS  # the most rows that may all be landmarks
MANY_ROWS = 12_500  # more rows may be better off with the squared hinge loss
_FOLDED_ROWS = 5000  # rows of all splits together: if rows are few, each is held out once
FEW_COLUMNS = 200  # more columns make more work of the same rows
_TIMES_ON_CUDA = 5  # times as many rows for the search, in less time
# Memory for each pair of rows, of which a factor in float32 takes a third, and one in float64, for
# tables where that is not precise enough, two thirds. On a device there are more copies.
_EXACT_BYTES, _EXACT_BYTES_ON_CUDA = 24, 48


def search_rows(X: Any) -> int:
    """Return the largest number of rows that settings are chosen with."""
    return SEARCH_ROWS * (_TIMES_ON_CUDA if on_cuda(X) else 1)


def count_splits(X: Any, fraction: float) -> int:
    """Return how many splits settings are judged with; each holds out a fraction of the rows."""
    n_rows, most = int(X.shape[0]), max(2, round(1 / fraction))
    if n_rows > search_rows(X) or are_many(n_rows):
        return 1
    work = n_rows * max(1, int(X.shape[1]) // FEW_COLUMNS)
    return max(1, min(most, n_rows, _FOLDED_ROWS // work))


def are_many(n_rows: int) -> bool:
    """Whether there are so many rows that the squared hinge loss is tried on features of them."""
    return n_rows > MANY_ROWS


def may_be_exact(X: Any, n_rows: int, *, hurried: bool = False) -> bool:
    """Whether memory and time allow the kernel values of all pairs of rows, where `X` is.

    If `hurried`, and for blocks of rows and devices whose memory is not known, they are allowed
    for no more rows than settings are chosen with.
    """
    limit: int | None
    if on_cuda(X):
        most, limit, needed = search_rows(X), device_memory(X), _EXACT_BYTES_ON_CUDA
    else:
        most, limit, needed = EXACT_ROWS, memory_limit(), _EXACT_BYTES
    if hurried or not (is_host(X) or on_cuda(X)):
        most = min(most, search_rows(X))
    return n_rows <= most and (limit is None or needed * n_rows**2 <= limit)
