"""Parquet files, read with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from bochner.data.errors import TableError
from bochner.data.formats.base import (
    Contents,
    Expected,
    Part,
    Piece,
    Request,
    TableFormat,
    TableWriter,
    chunk_rows,
    reading,
)
from bochner.data.formats.frames import find_target, sample_frames, split_frames

_PIECES_OF_A_PART = 4


class Parquet(TableFormat):
    """Columns of one type each; decimal numbers and durations (in seconds) become floats."""

    name = "Parquet"
    suffixes = (".parquet", ".pq")
    writes = True

    def recognises(self, head: bytes) -> bool:
        return head.startswith(b"PAR1")

    def read(self, path: Path, request: Request) -> Contents:
        with reading(path), _open(path) as file:
            # pandas may have stored its index as one more column, which it takes back here
            names = [str(name) for name in file.schema_arrow.empty_table().to_pandas().columns]
        target, notes = find_target(request.target, names, path)
        return sample_frames(_frames(path), target, request).contents(path, target, notes)

    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        return split_frames(_frames(path), expected.target)

    def parts(self, path: Path) -> list[Part]:
        """Return row groups; small ones are combined, up to a few pieces."""
        parts, n_rows = list[list[int]](), 0
        with reading(path), _open(path) as file:
            most = _PIECES_OF_A_PART * chunk_rows(len(file.schema_arrow.names))
            for group in range(file.num_row_groups):
                height = file.metadata.row_group(group).num_rows
                if not parts or n_rows + height > most:
                    parts.append([])
                    n_rows = 0
                parts[-1].append(group)
                n_rows += height
        return [tuple(groups) for groups in parts] or [None]

    def stream_part(
        self, path: Path, part: Part, expected: Expected, notes: list[str]
    ) -> Iterator[Piece]:
        return split_frames(_frames(path, part), expected.target)

    def writer(self, file: BinaryIO) -> TableWriter:
        return _ParquetWriter(file)


class _ParquetWriter(TableWriter):
    def __init__(self, file: BinaryIO) -> None:
        self._file, self._writer = file, cast(Any, None)

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        import pyarrow
        from pyarrow import parquet

        if self._writer is None:
            rows = pyarrow.table(dict(columns))
            self._writer = parquet.ParquetWriter(self._file, rows.schema)
        else:
            rows = pyarrow.table(dict(columns), schema=self._writer.schema)
        self._writer.write_table(rows)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _open(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise TableError(
            f"reading {path} needs pyarrow: pip install pyarrow, or save the table as CSV."
        ) from error
    # With buffers of its own, pyarrow keeps all that it has read until the file is closed.
    return parquet.ParquetFile(path, pre_buffer=False)


@contextmanager
def _released() -> Iterator[None]:
    """Release the memory that pyarrow keeps for the next file, as much as several pieces."""
    from pyarrow import default_memory_pool

    try:
        yield
    finally:
        default_memory_pool().release_unused()


def _frames(path: Path, groups: Part = None) -> Iterator[Any]:
    import pandas as pd

    with reading(path), _open(path) as file, _released():
        from pyarrow import float64, types

        most = chunk_rows(len(file.schema_arrow.names))
        for batch in file.iter_batches(batch_size=most, row_groups=groups):
            frame = batch.to_pandas()
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if types.is_decimal(column.type):
                    frame[name] = column.cast(float64()).to_numpy(zero_copy_only=False)
                elif types.is_duration(column.type):
                    frame[name] = frame[name] / pd.Timedelta(1, "s")
            frame.columns = [str(name) for name in frame.columns]
            yield frame
