"""The tables: every method at every width, and every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.report.comparison.document import Comparison, Line
from bochner.report.comparison.fields import (
    CHOSEN,
    FIT,
    METHOD,
    TRANSFORM,
    WIDTH,
    number_field,
    score_field,
)
from bochner.report.comparison.guarantees import bound_field, bound_names
from bochner.report.numbers import seconds_text
from bochner.report.section import Section
from bochner.report.tables import Table


@dataclass(frozen=True, kw_only=True)
class Results(Section):
    """The table of the summaries, and that of the cells."""

    template: ClassVar[str] = "results.html"
    table: Table
    cells: Table | None
    has_errors: bool


def results_section(comparison: Comparison) -> Results:
    return Results(
        name="table",
        heading="The numbers",
        table=_summaries(comparison),
        cells=_cells(comparison),
        has_errors=comparison.has_errors,
    )


def _summaries(comparison: Comparison) -> Table:
    summaries, best = comparison.summaries, comparison.best
    fields = [METHOD, WIDTH, score_field(comparison.measure), FIT, TRANSFORM]
    fields += [number_field("seeds")] * (len({s.get("seeds") for s in summaries}) > 1)
    fields += [bound_field(name, f"bound: {name}") for name in bound_names(summaries)]
    fields += [CHOSEN] * any(s.get("chosen") for s in summaries)

    def tags(summary: Line) -> tuple[str, ...]:
        recommended = comparison.is_recommended(summary)
        return ("best",) * (summary is best) + ("recommended",) * recommended

    return Table.of("Results", fields, ((s, comparison.look(s), tags(s)) for s in summaries))


def _cells(comparison: Comparison) -> Table | None:
    if not comparison.cells:
        return None
    fields = [METHOD, WIDTH, number_field("seed"), score_field(comparison.measure)]
    fields += [FIT, TRANSFORM, number_field("seconds", seconds_text, "whole cell"), CHOSEN]
    return Table.of("Every cell", fields, ((c, comparison.look(c), ()) for c in comparison.cells))
