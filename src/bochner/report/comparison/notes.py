"""Notes on what was not measured, and on the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.report.comparison.document import Comparison
from bochner.report.section import Section


@dataclass(frozen=True, kw_only=True)
class Notes(Section):
    """Lines of text."""

    template: ClassVar[str] = "notes.html"
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def notes_section(comparison: Comparison) -> Notes | None:
    left_out = tuple(map(str, comparison.document.get("left_out") or ()))
    notes = tuple(map(str, comparison.data.get("notes") or ()))
    if not left_out and not notes:
        return None
    heading = "Left out, and notes" if left_out and notes else "Left out" if left_out else "Notes"
    return Notes(name="notes", heading=heading, left_out=left_out, notes=notes)
