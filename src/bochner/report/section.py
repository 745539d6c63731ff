"""The parts of a page: sections, each with a template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.report.charts import Figure


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and charts; a subclass adds what its own template shows."""

    template: ClassVar[str] = "section.html"  # in the templates folder; the section is its `part`
    name: str  # unique on the page: letters, digits and hyphens
    heading: str
    figures: tuple[Figure, ...] = ()  # all charts of the section


@dataclass(frozen=True, kw_only=True)
class View:
    """The contents of a page; a subclass adds what its template shows above the sections."""

    sections: tuple[Section, ...]

    @property
    def all_figures(self) -> list[Figure]:
        """Every chart of the page."""
        return [figure for section in self.sections for figure in section.figures]
