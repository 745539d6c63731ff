"""Table 2: numbers of rows and columns of the datasets, split as in the authors' program."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bochner.papers.letarte import common, svm
from bochner.papers.study import Request, Runner, Study, Version, timed_result
from bochner.records.cells import Cell, Result
from bochner.records.sections import Claim, Row, Section, value

COLUMNS = ("train", "validation", "test", "columns")
PUBLISHED: dict[str, tuple[int, int, int, int]] = {
    "ads": (1967, 492, 820, 1554),
    "adult": (26048, 6513, 16281, 108),
    "breast": (340, 86, 143, 30),
    "farm": (2485, 622, 1036, 54877),
    "mnist17": (9101, 2276, 3793, 784),
    "mnist49": (8268, 2068, 3446, 784),
    "mnist56": (7912, 1979, 3298, 784),
}


def collect(request: Request, run: Runner) -> list[Result]:
    """Measure the authors' split of each dataset; further seeds are further splits."""
    seeds = range(svm.AUTHORS_SEED, svm.AUTHORS_SEED + request.seeds)
    return run([Cell("table2", task, "split", None, s) for task in request.tasks for s in seeds])


def measure(cell: Cell) -> Result:
    """Measure one cell; the score is the share of numbers that equal the published ones."""
    start = time.perf_counter()
    sizes = common.load_split(cell.task, cell.seed, None).sizes
    same = sum(ours == theirs for ours, theirs in zip(sizes, PUBLISHED[cell.task], strict=True))
    details = dict(zip(COLUMNS, sizes, strict=True))
    return timed_result(cell, same / len(sizes), 0.0, start, details)


def sections(results: Sequence[Result]) -> list[Section]:
    """Report our numbers beside the published ones."""
    titles = (title for column in COLUMNS for title in (column, "(paper)"))
    rows: list[Row] = [("dataset", *titles)]
    claim = Claim("the authors' split of our files has the published numbers of rows and columns")
    for result in results:
        theirs = PUBLISHED[result.cell.task]
        pairs = zip((result.details[name] for name in COLUMNS), theirs, strict=True)
        rows.append((result.cell.task, *(value(n, ".0f") for pair in pairs for n in pair)))
        claim.check(result.score == 1, result.cell.task)
    return [Section("Rows and columns of the datasets", tuple(rows), claims=(claim,))]


TABLE2 = Study(
    paper=common.PAPER,
    item="Table 2",
    summary="rows and columns of the datasets",
    tasks=common.DATASETS,
    files=common.FILES,
    full=Version(1, "10 s"),
    quick=Version(1, "10 s", "there is no smaller one"),
    collect=collect,
    measure=measure,
    sections=sections,
)
