"""All rows of a table as blocks, read, arranged and prepared a piece at a time in every pass.

A model is chosen on a sample; its linear model is then fitted to every row of the files. Rows are
read by the same readers and with the same schema as rows to predict. Locally, one piece is in
memory at a time; on a cluster, every file, or every few row groups of a Parquet file, is one task,
whose sums are merged along a tree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bochner.data.errors import TableError
from bochner.data.formats.base import Part
from bochner.data.images import Shape
from bochner.data.labels import known_classes, known_numbers
from bochner.data.tables import Expected, Table, file_parts, stream_file, take_rows
from bochner.engine.rowwise import merge_tree
from bochner.engine.transfer import staged
from bochner.linear.base import LinearHead
from bochner.linear.blocks import IteratedBlocks
from bochner.models.cluster import Cluster
from bochner.models.schema import Schema, SchemaError


def expected_rows(schema: Schema, target: str | None, image_shape: Any) -> Expected:
    """Return what a model that was trained with these columns expects of files."""
    is_shape = isinstance(image_shape, (list, tuple)) and len(image_shape) == 3
    shape: Shape | None = None
    if is_shape:
        shape = int(image_shape[0]), int(image_shape[1]), int(image_shape[2])
    return Expected(
        columns=tuple(column.name for column in schema.columns or ()),
        text_columns=frozenset(schema.text_columns()),
        target=target,
        image_shape=shape,
    )


@dataclass
class RowCount:
    """Counts of the rows of one pass over files."""

    n_read: int = 0
    n_used: int = 0
    n_unknown: int = 0  # rows of classes that are not in the sample

    def __add__(self, other: RowCount) -> RowCount:
        return RowCount(
            self.n_read + other.n_read,
            self.n_used + other.n_used,
            self.n_unknown + other.n_unknown,
        )


@dataclass(frozen=True)
class RowReader:
    """Reader of a file as blocks of prepared rows and their targets."""

    schema: Schema
    expected: Expected
    classes: NDArray[Any] | None  # None for numbers
    prepare: Any

    def blocks(
        self, path: Path, count: RowCount, part: Part = None
    ) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield rows that have a target, a piece at a time, counting them as they are read."""
        for rows, labels in stream_file(path, self.expected, [], part):
            if labels is None:
                raise TableError(f"{path} has no target {self.expected.target!r}.")
            try:
                known, y = self._targets(labels)
                X, _ = self.schema.arrange(rows)
            except (SchemaError, TableError) as error:
                raise type(error)(f"{path}: {error}") from error
            count.n_read += len(known)
            count.n_used += int(known.sum())
            if self.classes is not None:
                count.n_unknown += int(np.sum(~known & ~_missing(labels)))
            if known.any():
                X = X if known.all() else take_rows(X, np.flatnonzero(known))
                yield self.prepare.transform(X), y

    def _targets(self, labels: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        if self.classes is None:
            return known_numbers(labels)
        return known_classes(labels, self.classes)


def _missing(labels: Any) -> NDArray[np.bool_]:
    import pandas as pd

    return np.asarray(pd.isna(labels), bool)


@dataclass
class RowStream:
    """Every row of a table's files that has a target, as blocks for the heads of this package.

    Attributes
    ----------
    count : RowCount
        Counts of the rows of the last pass.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bochner.data.tables import read_table
    >>> from bochner.linear import RidgeRegressor
    >>> from bochner.models.preparation import make_preparation
    >>> from bochner.models.streaming import RowStream
    >>> frame = pd.DataFrame({"x": np.arange(200.0)}).assign(y=lambda rows: 2 * rows["x"] + 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         frame[part::2].to_csv(f"{folder}/{part}.csv", index=False)
    ...     table = read_table(folder, "y", max_rows=50)
    ...     prepare = make_preparation(table.X, standardize=False).fit(table.X)
    ...     stream = RowStream.of(table).prepared_by(prepare)
    ...     head = RidgeRegressor(C=1e6).fit_blocks(stream)
    >>> stream.count.n_used, head.coef_.round(6)
    (200, array([2.]))
    """

    files: tuple[Path, ...]
    reader: RowReader
    watch: Callable[[int], None] = lambda n_rows: None  # told how many rows a pass has read
    cluster: Cluster | None = None
    device: Any = "cpu"  # of the blocks; on a cluster they stay with the workers
    count: RowCount = field(default_factory=RowCount)

    @classmethod
    def of(
        cls,
        table: Table,
        watch: Callable[[int], None] = lambda n_rows: None,
        cluster: Cluster | None = None,
        device: Any = "cpu",
    ) -> RowStream:
        """Return all rows of the files that a table is a sample of."""
        schema = Schema.of(table.X, pixels=table.image_shape is not None)
        expected = expected_rows(schema, table.target, table.image_shape)
        classes = np.unique(table.y) if table.task == "classification" else None
        reader = RowReader(schema, expected, classes, None)
        return cls(table.files, reader, watch, cluster, device)

    def prepared_by(self, prepare: Any) -> RowStream:
        """Return the same rows after a fitted preparation."""
        return replace(self, reader=replace(self.reader, prepare=prepare), count=RowCount())

    def reduce(
        self,
        function: Callable[..., Any],
        shared: Mapping[str, Any] | None = None,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        """Apply ``function(X, y, **shared)`` to every block, and merge the results into one."""
        if self.cluster is None:
            blocks = staged(self._blocks(), self.device)
            return IteratedBlocks(blocks).reduce(function, shared, merge)
        total, self.count = self.cluster.compute(self._on_cluster(function, shared or {}, merge))
        if total is None:
            raise TableError("none of the files has rows with a target any more.")
        return total

    def _blocks(self) -> Iterator[tuple[Any, NDArray[Any]]]:
        self.count = RowCount()
        for path in self.files:
            for block in self.reader.blocks(path, self.count):
                yield block
                self.watch(self.count.n_read)

    def _on_cluster(
        self,
        function: Callable[..., Any],
        shared: Mapping[str, Any],
        merge: Callable[[Any, Any], Any],
    ) -> Any:
        import dask

        of_part = dask.delayed(_part_and_count, pure=True)
        sent = [dask.delayed(value, pure=True) for value in (self.reader, function, dict(shared))]
        tasks = [(path.resolve(), part) for path in self.files for part in file_parts(path)]
        parts = [of_part(path, part, *sent, merge) for path, part in tasks]
        return merge_tree(parts, _Pairwise(merge))


@dataclass(frozen=True)
class _Pairwise:
    """Merge results that come with counts; a file without rows has no result."""

    merge: Callable[[Any, Any], Any]

    def __call__(self, one: tuple[Any, RowCount], other: tuple[Any, RowCount]) -> Any:
        results = [result for result, _ in (one, other) if result is not None]
        return reduce(self.merge, results) if results else None, one[1] + other[1]


def _part_and_count(
    path: Path,
    part: Part,
    reader: RowReader,
    function: Callable[..., Any],
    shared: Mapping[str, Any],
    merge: Callable[[Any, Any], Any],
) -> tuple[Any, RowCount]:
    count = RowCount()
    results = (function(X, y, **shared) for X, y in reader.blocks(path, count, part))
    first = next(results, None)
    return None if first is None else reduce(merge, results, first), count


def can_stream(pipeline: Pipeline) -> bool:
    """Whether the last step of a pipeline can be fitted to rows that come in blocks."""
    return isinstance(pipeline.steps[-1][1], LinearHead)


def refit_head(pipeline: Pipeline, stream: RowStream, C: float) -> tuple[Pipeline, RowCount]:
    """Refit the linear model of a fitted pipeline to all rows of a stream, and count them.

    Preparation, metric and map stay as they are.
    """
    (_, prepare), *between, (name, head) = pipeline.steps
    blocks = stream.prepared_by(prepare)
    steps = [(key, step) for key, step in between if step not in (None, "passthrough")]
    function = Pipeline(steps).transform if steps else None
    fresh = clone(head).set_params(C=C)
    fresh.fit_blocks(blocks, function, classes=getattr(head, "classes_", None))
    return Pipeline([*pipeline.steps[:-1], (name, fresh)]), blocks.count
