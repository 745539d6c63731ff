"""Rows that come in blocks, and sums over them, with one block held at a time.

Blocks are tuples ``(X, y)`` or ``(X, y, weights)``: from anything that can be iterated over
repeatedly, from arrays in memory or of dask, or from an object of one's own with a method
``reduce``, such as the files of :mod:`bochner.models.streaming`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bochner.engine.places import is_dask, is_dask_table, is_device, table_as_array, to_numpy
from bochner.engine.rowwise import reduce_rows, with_known_lengths
from bochner.engine.summaries import rows_at

HEIGHT, DEVICE_HEIGHT = 2**12, 2**15  # rows whose features are computed at a time


@runtime_checkable
class Blocks(Protocol):
    """Protocol of rows in blocks, wherever these are."""

    def reduce(
        self,
        function: Callable[..., Any],
        shared: Mapping[str, Any] | None = None,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        """Return ``function(X, y[, weights], **shared)`` of all blocks, merged into one result."""
        ...


class IteratedBlocks:
    """Blocks taken one after the other from an iterable of tuples."""

    def __init__(self, blocks: Iterable[tuple[Any, ...]]) -> None:
        self._blocks, self._passes = blocks, 0

    def reduce(
        self,
        function: Callable[..., Any],
        shared: Mapping[str, Any] | None = None,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        self._passes += 1
        if self._passes > 1 and isinstance(self._blocks, Iterator):
            raise ValueError(
                "blocks are gone through several times, and a generator can be only once: give a "
                "list, or an object whose __iter__ begins anew."
            )
        results = (function(*block, **(shared or {})) for block in self._blocks)
        first = next(results, None)
        if first is None:
            raise ValueError("there are no blocks.")
        return reduce(merge, results, first)


@dataclass(frozen=True)
class ArrayBlocks:
    """Blocks of arrays: a single one in memory, on disk or on a device, or the blocks of dask."""

    X: Any
    y: Any
    weights: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any = None) -> ArrayBlocks:
        """Return the blocks of arrays or dataframes; lengths unknown to dask are counted."""
        X = table_as_array(X) if is_dask_table(X) else X
        y, weights = (A.to_dask_array() if is_dask_table(A) else A for A in (y, weights))
        if not all(is_dask(A) for A in (y, weights) if A is not None):
            X = with_known_lengths(X)
        return cls(X, y, weights)

    def rows(self, index: NDArray[np.intp]) -> list[Any]:
        """Return some rows with their targets and weights, on the host."""
        aligned = (None if A is None else np.asarray(A)[index] for A in (self.y, self.weights))
        return [rows_at(with_known_lengths(self.X), index), *aligned]

    def reduce(
        self,
        function: Callable[..., Any],
        shared: Mapping[str, Any] | None = None,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        aligned = (self.y,) if self.weights is None else (self.y, self.weights)
        return reduce_rows(function, self.X, *aligned, merge=merge, shared=shared)


def block_height(X: Any) -> int:
    """Return how many rows get features at a time; more on a device, which waits for each call."""
    return DEVICE_HEIGHT if is_device(X) else HEIGHT


def unchanged(X: Any) -> Any:
    """Return rows that are features already."""
    return X


def as_blocks(blocks: Any) -> Blocks:
    """Turn anything that is accepted as blocks into :class:`Blocks`."""
    return blocks if isinstance(blocks, Blocks) else IteratedBlocks(blocks)


def label_counts(blocks: Blocks) -> Counter[Any]:
    """Return how often each label occurs."""
    if isinstance(blocks, ArrayBlocks) and not is_dask(blocks.y):
        return _count(blocks.X, blocks.y)
    counts: Counter[Any] = blocks.reduce(_count)
    return counts


def _count(X: Any, y: Any, weights: Any = None) -> Counter[Any]:
    labels, counts = np.unique(to_numpy(y), return_counts=True)
    return Counter(dict(zip(labels.tolist(), counts.tolist(), strict=True)))


@dataclass(frozen=True)
class TargetColumns:
    """Conversion of the targets of a block to columns, with the weights of its rows.

    `classes` is None for numbers; `class_weight` holds weights by position of the class.
    """

    classes: NDArray[Any] | None = None
    class_weight: NDArray[np.float64] | None = None

    def __call__(self, y: Any, weights: Any = None) -> tuple[NDArray[np.float64], Any]:
        y = to_numpy(y)
        weights = None if weights is None else to_numpy(weights).astype(np.float64)
        if weights is not None and not np.all(np.isfinite(weights) & (weights >= 0)):
            raise ValueError("sample_weight must be finite and zero or more.")
        if self.classes is None:
            columns = y.astype(np.float64)
            return columns[:, None] if columns.ndim == 1 else columns, weights
        own = y[:, None] == self.classes
        if not (known := own.any(axis=1)).all():
            raise ValueError(f"y holds the class {y[~known][0]}, which is not among the classes.")
        if self.class_weight is not None:
            of_rows = own @ self.class_weight
            weights = of_rows if weights is None else weights * of_rows
        return class_columns(y, self.classes), weights


def class_columns(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return one column of -1 and +1 per class; a single column for two classes."""
    columns = np.where(y[:, None] == classes, 1.0, -1.0)
    return columns[:, 1:] if len(classes) == 2 else columns


def balanced(counts: Mapping[Any, int], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights that give all classes the same total, and sum to the number of rows."""
    n = np.array([max(1, counts[label]) for label in classes.tolist()], dtype=np.float64)
    return n.sum() / (len(n) * n)
