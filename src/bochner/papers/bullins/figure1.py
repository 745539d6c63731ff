"""Figure 1: the windmill in the plane and the checkerboard on the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bochner.papers.bullins import checkerboard, windmill
from bochner.papers.bullins.common import PAPER, collect
from bochner.papers.study import Request, Runner, Study, Version
from bochner.records.cells import Cell, Result
from bochner.records.sections import Section

PARTS = {part.EXPERIMENT.name: part for part in (windmill, checkerboard)}


def collect_parts(request: Request, run: Runner) -> list[Result]:
    """Measure both experiments on their wanted tasks; widths are those of the windmill."""
    results: list[Result] = []
    for part, widths in ((windmill, request.widths), (checkerboard, ())):
        tasks = tuple(task for task in request.tasks if task in part.TASKS)
        results += collect(part.EXPERIMENT, replace(request, tasks=tasks, widths=widths), run)
    return results


def measure(cell: Cell) -> Result:
    """Measure one cell."""
    return PARTS[cell.study].measure(cell)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report the results of both experiments."""
    sections: list[Section] = []
    for name, part in PARTS.items():
        own = [result for result in results if result.cell.study == name]
        sections += part.sections(own) if own else []
    return sections


FIGURE1 = Study(
    paper=PAPER,
    item="Figure 1",
    summary="a windmill in the plane, a checkerboard on the sphere",
    tasks=(*windmill.TASKS, *checkerboard.TASKS),
    full=Version(3, "about 20 min"),
    quick=Version(1, "40 s", "1000 training rows, 30 frequencies in the plane, one seed"),
    collect=collect_parts,
    measure=measure,
    sections=sections,
    widths="frequencies in the plane",
)
