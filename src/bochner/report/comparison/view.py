"""The registry of sections, and what the template of a comparison is filled with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bochner.report.charts import Figure
from bochner.report.comparison.curves import curves_section
from bochner.report.comparison.document import Comparison
from bochner.report.comparison.guarantees import guarantees_section
from bochner.report.comparison.lead import Lead, read_lead
from bochner.report.comparison.notes import notes_section
from bochner.report.comparison.patches import patches_section
from bochner.report.comparison.plane import plane_section
from bochner.report.comparison.results import results_section
from bochner.report.comparison.section import Section

# In the order of the page; None for a section that has nothing to show.
SECTIONS: list[Callable[[Comparison], Section | None]] = [
    curves_section,
    results_section,
    plane_section,
    patches_section,
    guarantees_section,
    notes_section,
]


@dataclass(frozen=True)
class ComparisonView:
    """What the template is filled with."""

    lead: Lead
    sections: tuple[Section, ...]

    @property
    def all_figures(self) -> list[Figure]:
        """Every chart of the page."""
        return [figure for section in self.sections for figure in section.figures]


def comparison_view(document: Mapping[str, Any]) -> ComparisonView:
    """Read a results document of the kind "comparison"."""
    comparison = Comparison(document)
    sections = (read(comparison) for read in SECTIONS)
    return ComparisonView(read_lead(comparison), tuple(s for s in sections if s is not None))
