"""A table as the page shows it: text to read, and numbers to sort by."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.report.series import Series


@dataclass(frozen=True)
class Column:
    """A heading; a numeric column is set to the right and sorted by value."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Entry:
    """What is read, and the number it is sorted by (None: last, whatever the order)."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """Entries, the key of the series they belong to, its look, and tags beside the first."""

    entries: tuple[Entry, ...]
    key: str = ""
    look: Series | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A caption, columns and rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
