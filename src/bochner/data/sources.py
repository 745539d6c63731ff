"""Data that a user names as a file, a folder or a pattern. Several files are one table.

All files of a table have one format and the same columns, of the same types; if one differs, the
error names it and the column. If there are more rows than are wanted, a uniform sample of all
files is kept: only this sample, and that of one file, are in memory at a time.
"""

from __future__ import annotations

import difflib
import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from bochner.data.bundled import BUNDLED
from bochner.data.columns import value_kind
from bochner.data.errors import DamagedFileError, EmptyFileError, TableError
from bochner.data.formats import describe_formats, find_format, has_format, name_without_suffixes
from bochner.data.formats.base import Contents, Request
from bochner.records.wording import counted, listed


@dataclass(frozen=True)
class Source:
    """Files named by a user: one, or several that are one table."""

    name: str
    files: tuple[Path, ...]
    several: bool  # a folder or a pattern, even if it has one file
    pattern: str = ""  # the part of a pattern about names, without their suffix

    @property
    def label(self) -> str:
        """Name for results measured on several files: that of the folder, plus the pattern's.

        >>> Source("data", (), True, "2020-*").label, Source("data", (), True, "*").label
        ('data-2020', 'data')
        """
        names = re.findall(r"[\w.-]*\w", re.sub(r"\[.*?\]", "*", self.pattern))
        label = "-".join([self.name, *names])
        return f"{label}-files" if label in BUNDLED else label


def find_source(source: str | Path) -> Source:
    """Return the files that a path, folder or pattern stands for, sorted by name.

    Parameters
    ----------
    source : str or Path
        A file; a folder, which stands for its files of a known format, except those whose names
        begin with a dot or an underscore; or a pattern with ``*``, ``?`` and ``**``.

    Returns
    -------
    Source
        The files and their name.

    Raises
    ------
    TableError
        If there is no such file; the message is one line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bochner.data.sources import find_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "_log.csv"):
    ...         _ = (Path(folder) / name).write_text("x,y")
    ...     [path.name for path in find_source(folder).files]
    ['a.csv', 'b.csv']
    """
    path, what = Path(source), f"what can be read is {describe_formats()}"
    if path.is_dir():
        found = (file for file in path.iterdir() if not file.name.startswith((".", "_")))
        files = tuple(sorted(file for file in found if file.is_file() and has_format(file)))
        if not files:
            raise TableError(f"the folder {path} has no file that can be read; {what}.")
        return Source(path.resolve().name, files, several=True)
    if path.exists():
        return Source(name_without_suffixes(path), (path,), several=False)
    if glob.has_magic(str(source)):
        matches = map(Path, glob.glob(str(source), recursive=True))
        files = tuple(sorted(file for file in matches if file.is_file()))
        if not files:
            raise TableError(f"there is no file that matches {str(source)!r}.")
        folders = list(takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
        rest = name_without_suffixes(Path("/".join(path.parts[len(folders) :])))
        return Source(Path(*folders).resolve().name, files, several=True, pattern=rest)
    close = difflib.get_close_matches(str(source), BUNDLED, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    raise TableError(
        f"there is no file and no dataset {str(source)!r}{meant}; {what}, and the datasets "
        f"{', '.join(BUNDLED)}."
    )


def check_one_format(files: Iterable[Path]) -> None:
    """Raise a TableError unless all files that are not empty have one format."""
    first: tuple[Path, str] | None = None
    for path in files:
        try:
            name = find_format(path).name
        except EmptyFileError:
            continue
        if first is not None and name != first[1]:
            raise TableError(
                f"{first[0]} is {first[1]} and {path} is {name}: the files of one table have one "
                f"format; give a pattern such as '{path.parent / '*'}{path.suffix}'."
            )
        first = first or (path, name)


def read_files(
    files: Sequence[Path], request: Request, skip_bad: bool = False
) -> tuple[Contents, tuple[Path, ...]]:
    """Read rows and labels of several files, or a uniform sample of all; also return the files.

    Files without rows are left out, and with `skip_bad` also those that cannot be read; the notes
    say how many.
    """
    check_one_format(files)
    generator = np.random.RandomState(request.random_state)
    merged: Contents | None = None
    columns, used, empty, bad = _Columns(), list[Path](), list[Path](), list[Path]()
    for path in files:
        try:
            part = find_format(path).read(path, request)
        except EmptyFileError:
            empty.append(path)
            continue
        except DamagedFileError:
            if not skip_bad:
                raise
            bad.append(path)
            continue
        part = columns.arranged(path, part)
        used.append(path)
        merged = part if merged is None else _merge(merged, part, request.max_rows, generator)
        # a position becomes the name it has in the first file; each file draws other rows
        seed = int(generator.randint(2**31 - 1))
        request = replace(request, target=part.target, random_state=seed)
    if merged is None:
        raise TableError(f"none of {counted(len(files), 'file')} has rows that can be read.")
    notes = [f"{left_out_note(empty, 'no rows')}."] if empty else []
    notes += [f"{left_out_note(bad, 'damage')}."] if bad else []
    return replace(merged, notes=(*merged.notes, *notes)), tuple(used)


def left_out_note(files: Sequence[Path], why: str) -> str:
    """Return the sentence about files that were left out, without its full stop.

    >>> left_out_note([Path("data/a.csv"), Path("data/b.csv")], "no rows")
    '2 files were left out (no rows): a.csv, b.csv'
    """
    verb = "was" if len(files) == 1 else "were"
    names = listed((path.name for path in files), 3)
    return f"{counted(len(files), 'file')} {verb} left out ({why}): {names}"


@dataclass
class _Columns:
    """Columns that the files so far agree on, and the kinds of their values, if known."""

    first: Path | None = None
    names: list[Any] = field(default_factory=list)
    width: int = 0
    kinds: dict[Any, tuple[str, Path]] = field(default_factory=dict)

    def arranged(self, path: Path, part: Contents) -> Contents:
        """Arrange the columns of contents as in the first file, or raise an error."""
        named = hasattr(part.X, "columns")
        names = list(part.X.columns) if named else []
        if self.first is None:
            self.first, self.names, self.width = path, names, part.X.shape[1]
        if missing := [name for name in self.names if name not in names]:
            raise TableError(f"{path} lacks the column {missing[0]!r}, which {self.first} has.")
        if more := [name for name in names if name not in self.names]:
            raise TableError(f"{path} has a column {more[0]!r}, which {self.first} lacks.")
        if part.X.shape[1] != self.width and not sparse.issparse(part.X):
            raise TableError(
                f"{path} has {counted(part.X.shape[1], 'column')}, {self.first} has {self.width}."
            )
        for name in names:
            self._check_kind(path, f"column {name!r}", value_kind(part.X[name]))
        self._check_kind(path, f"the target {part.target or ''}".rstrip(), value_kind(part.y))
        return replace(part, X=part.X[self.names]) if named else part

    def _check_kind(self, path: Path, name: str, kind: str | None) -> None:
        if kind is None:
            return
        known, where = self.kinds.setdefault(name, (kind, path))
        if kind != known:
            raise TableError(f"{name} holds {kind} in {path}, but {known} in {where}.")


def _merge(
    one: Contents, other: Contents, most: int | None, generator: np.random.RandomState
) -> Contents:
    """Merge two contents; from samples, draw a uniform sample of all rows behind them."""
    n, m = len(one.y), len(other.y)
    size = n + m if most is None else min(most, n + m)
    if n < one.n_labelled or m < other.n_labelled:  # a sample has as many rows as were wanted
        size = max(n, m)
    if size < n + m:
        share = generator.hypergeometric(one.n_labelled, other.n_labelled, size)
        one, other = _drawn(one, share, generator), _drawn(other, size - share, generator)
    if one.image_shape != other.image_shape:
        raise TableError(f"images of {one.image_shape} and {other.image_shape} in one table.")
    return replace(
        one,
        X=_stacked(one.X, other.X),
        y=_stacked(one.y, other.y),
        n_rows_in_file=one.n_rows_in_file + other.n_rows_in_file,
        n_missing=one.n_missing + other.n_missing,
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def _drawn(contents: Contents, n_rows: int, generator: np.random.RandomState) -> Contents:
    rows = np.sort(generator.permutation(len(contents.y))[:n_rows])
    X, y = (A.iloc[rows] if hasattr(A, "iloc") else A[rows] for A in (contents.X, contents.y))
    return replace(contents, X=X, y=y)


def _stacked(one: Any, other: Any) -> Any:
    if hasattr(one, "iloc"):
        import pandas as pd

        return pd.concat([one, other], ignore_index=True)
    if not sparse.issparse(one):
        return np.concatenate([one, other])
    width = max(one.shape[1], other.shape[1])  # svmlight does not write zeros at the end
    for part in (one, other):
        part.resize(part.shape[0], width)
    return sparse.vstack([one, other]).tocsr()
