"""Helpers for formats read as DataFrames: finding the target and sampling rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data.errors import EmptyFileError, TableError
from bochner.data.formats.base import Contents, Piece, Request
from bochner.data.labels import FEWEST_ROWS
from bochner.records.wording import listed

_MOST_COLUMNS = 20_000
_MOST_ENTRIES = 100_000_000  # most entries of sampled rows


def find_target(target: str | None, names: Sequence[str], path: Path) -> tuple[str, list[str]]:
    """Return the name of the target column, and a sentence for the user if none was given.

    A target is a name or a position; 1 is the first column, -1 the last. The default is the last
    column.
    """
    if len(names) < 2:
        raise TableError(f"the file {path} has one column only; a target and others are needed.")
    if len(names) > _MOST_COLUMNS:
        raise TableError(
            f"the file {path} has {len(names)} columns, more than the {_MOST_COLUMNS} that are "
            "read from a dense table; write it in svmlight form if most entries are zero."
        )
    if target is None:
        return names[-1], [f"No --target given: the last column, {names[-1]}, is taken."]
    if target in names:
        return target, []
    is_position = re.fullmatch(r"[+-]?[0-9]{1,9}", target.strip()) is not None
    position = int(target) if is_position else 0
    if 1 <= position <= len(names):
        return names[position - 1], []  # as in column1, the name of a first column without one
    if -len(names) <= position <= -1:
        return names[position], []
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(target.lower(), lowered, n=3, cutoff=0.5)
    meant = f"; did you mean {' or '.join(lowered[name] for name in close)}?" if close else ""
    counts = " Positions count from 1, or from the end with -1." if is_position else ""
    raise TableError(
        f"there is no column {target!r} in {path}{meant} (columns: {listed(names, 12)}).{counts}"
    )


@dataclass(frozen=True)
class FrameSample:
    """Rows with a target drawn from a file, and counts for the whole file."""

    frame: Any
    n_rows: int
    n_missing: int  # rows without a target
    mixed: tuple[str, ...]  # columns that are numbers in one piece and something else in another

    def contents(self, path: Path, target: str, notes: Iterable[str]) -> Contents:
        """Separate rows and labels, or raise an error if there are none."""
        if self.n_rows == 0:
            raise EmptyFileError(f"the file {path} has a header but no rows.")
        if self.n_missing == self.n_rows:
            raise EmptyFileError(f"the target column {target!r} of {path} is empty.")
        X, y = self.frame.drop(columns=[target]), self.frame[target]
        return Contents(X, y, target, self.n_rows, tuple(notes), n_missing=self.n_missing)


def sample_frames(frames: Iterable[Any], target: str, request: Request) -> FrameSample:
    """Draw a uniform sample of the rows with a target: those with the smallest random keys.

    Only the requested rows, and those of one piece, are in memory at a time.
    """
    import pandas as pd

    seed = np.random.RandomState(request.random_state).randint(2**31 - 1)
    generator = np.random.RandomState(seed)
    kept, keys = None, np.empty(0)
    n_rows = n_missing = 0
    numeric: dict[str, set[bool]] = {}
    for frame in frames:
        n_rows += len(frame)
        for name in frame.columns:
            if not frame[name].isna().all():
                is_number = bool(pd.api.types.is_numeric_dtype(frame[name].dtype))
                numeric.setdefault(name, set()).add(is_number)
        labelled = frame[frame[target].notna()]
        n_missing += len(frame) - len(labelled)
        kept = labelled if kept is None else pd.concat([kept, labelled])
        keys = np.concatenate([keys, generator.uniform(size=len(labelled))])
        most = _most_rows(request.max_rows, frame.shape[1])
        if most is not None and len(keys) > most:
            smallest = np.sort(np.argpartition(keys, most)[:most])
            kept, keys = kept.iloc[smallest], keys[smallest]
    mixed = tuple(name for name, answers in numeric.items() if len(answers) > 1)
    return FrameSample(kept, n_rows, n_missing, mixed)


def split_frames(frames: Iterable[Any], target: str | None) -> Iterator[Piece]:
    """Yield rows and labels of every frame that has rows; missing labels are None."""
    for frame in frames:
        if len(frame):
            has_target = target is not None and target in frame.columns
            yield (
                frame.drop(columns=[target]) if has_target else frame,
                frame[target] if has_target else None,
            )


def _most_rows(max_rows: int | None, n_columns: int) -> int | None:
    """Return the most rows to keep: fewer than requested if there are very many columns."""
    if max_rows is None:
        return None
    return min(max_rows, max(FEWEST_ROWS, _MOST_ENTRIES // n_columns))
