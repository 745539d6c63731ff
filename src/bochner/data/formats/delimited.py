"""Text with separators, such as CSV; the first lines of a file show its form."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bochner.data.errors import DamagedFileError, EmptyFileError, TableError
from bochner.data.formats.base import (
    Contents,
    Expected,
    Piece,
    Request,
    TableFormat,
    TableWriter,
    chunk_rows,
    read_head,
    reading,
)
from bochner.data.formats.frames import find_target, sample_frames, split_frames
from bochner.records.wording import listed

_LINES = 50  # most lines that are inspected for separators
_SEPARATORS = ",;\t|"

# Matches 3,14 and 1.234,5; a column of such numbers may also have 3 and 1.234.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+(e[-+]?\d+)?\s*", re.I)
_COMMA_OR_WHOLE = r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][-+]?\d+)?\s*"
_NEARLY_ALL = 0.95


@dataclass(frozen=True)
class TextForm:
    """Form of a text file with separators: what pandas needs to know."""

    separator: str
    names: tuple[str, ...]
    header: bool
    encoding: str


class DelimitedText(TableFormat):
    """Lines of fields, with or without a header, possibly with decimal commas."""

    name = "CSV"
    suffixes = (".csv", ".tsv", ".txt", ".data")

    writes = True

    def recognises(self, head: bytes) -> bool:
        return b"\0" not in head

    def read(self, path: Path, request: Request) -> Contents:
        form = text_form(path)
        target, notes = find_target(request.target, form.names, path)
        if not form.header:
            named = f"columns are called {form.names[0]} to {form.names[-1]}"
            notes.insert(0, f"No header line: {named}.")
        commas: set[str] = set()
        sample = sample_frames(_frames(path, form, (), commas), target, request)
        if sample.mixed:
            # Numbers in one piece of the file and text in another: all of it is text.
            commas.clear()
            sample = sample_frames(_frames(path, form, sample.mixed, commas), target, request)
        notes += _commas_note(form, commas)
        return sample.contents(path, target, notes)

    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        form = _expected_form(path, expected.columns)
        as_text = [name for name in form.names if name in expected.text_columns]
        commas: set[str] = set()
        yield from split_frames(_frames(path, form, as_text, commas), expected.target)
        notes += _commas_note(form, commas)

    def writer(self, file: BinaryIO) -> TableWriter:
        return _CsvWriter(file)


class _CsvWriter(TableWriter):
    def __init__(self, file: BinaryIO) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = csv.writer(self._text)
        self._begun = False

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        if not self._begun:
            self._writer.writerow(columns)
        self._begun = True
        self._writer.writerows(zip(*columns.values(), strict=True))

    def close(self) -> None:
        self._text.flush()
        self._text.detach()  # otherwise it would close the file


def text_form(path: Path) -> TextForm:
    """Find the separator and header of a text file from its first lines.

    The separator is the one that cuts all lines into the same number of fields, more than one; it
    is not a comma if another separator leaves numbers with decimal commas.
    The first line is a header if it has text where all others have numbers, if it has no number
    at all, or if it counts the columns from 0.
    """
    lines, encoding = _first_lines(path)
    if not lines:
        raise EmptyFileError(f"the file {path} is empty.")
    lines = lines[:_LINES]
    separator, fewest = ",", 0
    for candidate in (*_SEPARATORS, " "):
        n_fields = _n_fields(_cut(lines, candidate))
        if n_fields > max(fewest, 1):
            separator, fewest = candidate, n_fields
    if separator == ",":
        separator = next((other for other in ";\t" if _leaves_commas(lines, other)), ",")
    rows = _cut(lines, separator)
    if separator != ",":
        rows = [[_with_point(field) for field in row] for row in rows]
    first, header = rows[0], _has_header(rows)
    numbered = [f"column{i + 1}" for i in range(len(first))]
    names = numbered
    if header:
        names = [field.strip() or name for field, name in zip(first, numbered, strict=True)]
    if len(names) < 2:
        raise TableError(
            f"the file {path} has one column only ({names[0][:60]!r}); a target and at least one "
            "other column are needed, separated by a comma, semicolon, tab or bar."
        )
    return TextForm(separator, _different(names), header, encoding)


def _first_lines(path: Path) -> tuple[list[str], str]:
    """Return the first lines that are not blank, and their encoding."""
    start, whole = read_head(path)
    if b"\0" in start:
        raise DamagedFileError(f"the file {path} is not text.")
    encoding = "utf-8-sig"
    try:
        # the last character may be cut
        text = start.decode(encoding, errors="strict" if whole else "ignore")
        start[: max(0, len(start) - 4)].decode("utf-8-sig")
    except UnicodeDecodeError:
        encoding = "latin-1"
        text = start.decode(encoding)
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()], encoding


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _n_fields(rows: list[list[str]]) -> int:
    """Return the number of fields that all lines have; 0 if it differs."""
    counts = {len(row) for row in rows if row}
    return min(counts) if len(counts) == 1 else 0


def _leaves_commas(lines: list[str], separator: str) -> bool:
    """Whether cutting here leaves fields with commas, all of them decimal commas."""
    rows = _cut(lines, separator)
    with_comma = [field for row in rows for field in row if "," in field]
    decimal = all(_DECIMAL_COMMA.fullmatch(field) for field in with_comma)
    return _n_fields(rows) > 1 and bool(with_comma) and decimal


def _with_point(field: str) -> str:
    return field.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(field) else field


def _has_header(rows: list[list[str]]) -> bool:
    first = rows[0]
    if not any(_is_number(field) for field in first):
        return True
    if len(first) > 2 and first == [str(i) for i in range(len(first))]:
        return len(rows) > 1 and first != rows[1]
    for field, *others in zip(*rows, strict=False):
        filled = [other for other in others if other.strip()]
        if field.strip() and not _is_number(field) and filled and all(map(_is_number, filled)):
            return True
    return False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return field.strip().lower() not in ("nan", "inf", "infinity")


def _different(names: Iterable[str]) -> tuple[str, ...]:
    """Make all names different: a repeated one gets a number."""
    different: dict[str, None] = {}
    for name in names:
        new, number = name, 1
        while new in different:
            number += 1
            new = f"{name}.{number}"
        different[new] = None
    return tuple(different)


def _expected_form(path: Path, columns: tuple[str, ...]) -> TextForm:
    """Return the form of the file; without a header, it has these columns in order."""
    try:
        form = text_form(path)
    except TableError:
        if len(columns) != 1:
            raise
        with reading(path), path.open(encoding="utf-8-sig") as file:
            header = file.readline().strip().strip('"') == columns[0]
        # One column has no separator; a comma would cut decimal commas.
        return TextForm(";", columns, header, "utf-8-sig")
    numbered = {f"column{i + 1}" for i in range(len(columns) + 1)}
    if not form.header and len(form.names) == len(columns) and numbered.issuperset(columns):
        return TextForm(form.separator, columns, False, form.encoding)
    return form


def _frames(path: Path, form: TextForm, as_text: Iterable[str], commas: set[str]) -> Iterator[Any]:
    """Yield a text file as DataFrames of some rows each; columns `as_text` remain text.

    If the separator is not a comma, other columns with decimal commas are converted to numbers,
    and their names are added to `commas`.
    """
    import pandas as pd

    kinds = dict.fromkeys(as_text, str)
    with (
        reading(path),
        pd.read_csv(
            path,
            sep=form.separator,
            names=list(form.names),
            header=0 if form.header else None,
            index_col=False,
            dtype=kinds,
            encoding=form.encoding,
            skipinitialspace=True,
            chunksize=chunk_rows(len(form.names)),
            low_memory=False,
        ) as chunks,
    ):
        for frame in chunks:
            if form.separator != ",":
                for name in frame.columns:
                    if name not in kinds and _has_decimal_commas(frame[name]):
                        frame[name] = _with_points(frame[name])
                        commas.add(name)
            yield frame


def _has_decimal_commas(column: Any) -> bool:
    """Whether text is nearly all numbers, at least one of them with a decimal comma."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    values = column.dropna().astype(str)
    if not len(values) or not _nearly_all_numbers(values.iloc[:100]):
        return False
    return _nearly_all_numbers(values) and bool(values.str.fullmatch(_DECIMAL_COMMA).any())


def _nearly_all_numbers(values: Any) -> bool:
    return bool(values.str.fullmatch(_COMMA_OR_WHOLE).mean() >= _NEARLY_ALL)


def _with_points(column: Any) -> Any:
    """Convert decimal commas to points; return numbers, or text if not all are numbers."""
    import pandas as pd

    there = column.notna()
    text = column.astype(object).where(there, None)
    values = column[there].astype(str)
    number = values.str.fullmatch(_COMMA_OR_WHOLE)
    points = values.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    text[there] = values.where(~number, points).astype(object)
    return pd.to_numeric(text) if number.all() else text


def _commas_note(form: TextForm, commas: set[str]) -> list[str]:
    if not commas:
        return []
    shown = listed(name for name in form.names if name in commas)
    return [f"Commas are read as decimal points: {shown}."]
