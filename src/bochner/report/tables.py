"""A table as the page shows it: text to read, and numbers to sort by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bochner.report.series import Series


@dataclass(frozen=True)
class Column:
    """A heading; a numeric column is set to the right and sorted by value."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Entry:
    """The text of an entry, and the number it is sorted by (None: last, whatever the order)."""

    text: str
    value: float | None = None


class Field(NamedTuple):
    """A column, and its entry for an object of the document."""

    column: Column
    entry: Callable[[Mapping[str, Any]], Entry]


@dataclass(frozen=True)
class Row:
    """Entries, the look of the series they belong to, and tags after the first entry."""

    entries: tuple[Entry, ...]
    look: Series | None = None
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the series with which the row is switched off."""
        return self.look.key if self.look else ""


@dataclass(frozen=True)
class Table:
    """A caption, columns and rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(
        cls,
        caption: str,
        fields: Sequence[Field],
        lines: Iterable[tuple[Mapping[str, Any], Series | None, tuple[str, ...]]],
    ) -> Table:
        """Make a table from objects of a document, each with its look and its tags."""
        rows = (
            Row(tuple(f.entry(line) for f in fields), look, tags) for line, look, tags in lines
        )
        return cls(caption, tuple(field.column for field in fields), tuple(rows))
