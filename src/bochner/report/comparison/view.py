"""The registry of the sections of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bochner.report.comparison.curves import curves_section
from bochner.report.comparison.document import Comparison
from bochner.report.comparison.guarantees import guarantees_section
from bochner.report.comparison.lead import Lead, read_lead
from bochner.report.comparison.metric import metric_section
from bochner.report.comparison.notes import notes_section
from bochner.report.comparison.patches import patches_section
from bochner.report.comparison.plane import plane_section
from bochner.report.comparison.results import results_section
from bochner.report.section import Section, View

# In the order of the page; a function returns None if its section has nothing to show.
SECTIONS: list[Callable[[Comparison], Section | None]] = [
    curves_section,
    results_section,
    metric_section,
    plane_section,
    patches_section,
    guarantees_section,
    notes_section,
]


@dataclass(frozen=True, kw_only=True)
class ComparisonView(View):
    """Sections below a recommendation."""

    lead: Lead


def comparison_view(document: Mapping[str, Any]) -> ComparisonView:
    """Read a results document of the kind "comparison"."""
    comparison = Comparison(document)
    sections = (read(comparison) for read in SECTIONS)
    shown = tuple(section for section in sections if section is not None)
    return ComparisonView(lead=read_lead(comparison), sections=shown)
