"""Limits of a search: how many rows it uses, and up to how many rows all may be landmarks."""

from __future__ import annotations

from typing import Any

from bochner.engine.places import device_memory, on_cuda
from bochner.records.memory import memory_limit

SEARCH_ROWS = 20_000  # at most these choose the settings; the model is fitted to all rows
EXACT_ROWS = SEARCH_ROWS  # the most rows that may all be landmarks
MANY_ROWS = 12_500  # more rows may be better off with the squared hinge loss
_FOLDED_ROWS = 5000  # rows of all splits together: if rows are few, each is held out once
FEW_COLUMNS = 200  # more columns make more work of the same rows
_TIMES_ON_CUDA = 5  # times as many rows, in less time
_EXACT_BYTES = 24  # per pair of rows, out of at most half of the memory


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


def may_be_exact(X: Any, n_rows: int) -> bool:
    """Whether time and memory allow the kernel values of all pairs of rows, where `X` is."""
    limit = device_memory(X) if on_cuda(X) else memory_limit()
    room = limit is None or 2 * _EXACT_BYTES * n_rows**2 <= limit
    return room and n_rows <= EXACT_ROWS * (_TIMES_ON_CUDA if on_cuda(X) else 1)
