"""``python -m benchmarks advice``: is the line that `compare` recommends the best on other splits?

The program's comparison, on at most three random splits, recommends a line. The lines that were
not far behind, and the best of those that were, are then measured on other splits of the same
rows, and the recommended line is compared with the best line there, split by split. Results are
saved as they are measured: an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import heading, row
from benchmarks.tables import TABLES
from bochner.compare.document import make_document, overlap_of
from bochner.compare.measure import Measurer
from bochner.compare.plan import Line, Setup, line_of, plan_cells
from bochner.compare.race import set_aside, worth_measuring
from bochner.data.tables import Table
from bochner.linear.scoring import choose_measure
from bochner.models.methods import METHODS
from bochner.records.cells import Notebook, Result
from bochner.records.run import Run
from bochner.records.statistics import format_mean, mean_and_error

FOLDER = Path("bochner-results/advice")
NAMES = ("adult", "a9a", "ijcnn1", "covtype", "cpusmall", "cadata", "internet_ads", "friedman")
_WIDTHS = (14, 46, 46, 18, 10)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks advice")
    parser.add_argument("--tables", default=",".join(NAMES), help="names, with commas")
    parser.add_argument("--rows", type=int, default=8000, help="of each, at most")
    parser.add_argument("--splits", type=int, default=3, help="to recommend by; as many others")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args(arguments)
    heading("what compare recommends, on other splits; difference from the best line there")
    row("", "recommended", "best there", "difference", "seconds", widths=_WIDTHS)
    for name in given.tables.split(","):
        row(name, *judge(name, given.rows, given.splits, given.jobs), widths=_WIDTHS)


def judge(name: str, n_rows: int, n_splits: int, n_jobs: int) -> list[str]:
    """Return the recommended line, the best on other splits, its lead, and the seconds taken."""
    task = TABLES[name](0).first(n_rows)
    kind = "classification" if task.classes else "regression"
    table = Table(name, task.X, task.y, kind, None, len(task.y))
    setup = Setup(table, choose_measure(table.y, table.task))
    methods = [m.name for m in METHODS.values() if m.main and kind in m.tasks and not m.images]
    cells, _ = plan_cells(setup, methods, [32, 128, 512], 2 * n_splits)
    first = [cell for cell in cells if cell.seed < n_splits]
    run = Run(Measurer(setup), Notebook(FOLDER / f"{name}.jsonl"), n_jobs)
    begun = time.perf_counter()
    results = run((), lambda results: worth_measuring(first, results))
    seconds = time.perf_counter() - begun
    found = make_document(setup, results, command="", seconds=seconds)["recommendation"]
    near = _still_open(results)
    fresh = run([c for c in cells if c.seed >= n_splits and line_of(c) in near])
    scores: dict[Any, list[float]] = {}
    for result in fresh:
        scores.setdefault(line_of(result.cell), []).append(setup.measure.factor * result.score)
    recommended = next(k for k in scores if k[:2] == (found["method"], found["width"]))
    best = max(scores, key=lambda line: float(np.mean(scores[line])))
    apart = [a - b for a, b in zip(scores[recommended], scores[best], strict=True)]
    digits = ".2f" if setup.measure.classes else ".4f"
    overlap = overlap_of(setup, fresh[0])
    texts = (_text(line, scores[line], overlap, digits) for line in (recommended, best))
    return [*texts, format_mean(*mean_and_error(apart, overlap), digits), f"{seconds:.0f}"]


def _still_open(results: Sequence[Result]) -> set[Line]:
    """Return the lines not far behind, and the best of those that were on the first split."""
    aside = set_aside(results)
    ranked = sorted((one for one in results if one.cell.seed == 0), key=lambda one: -one.score)
    lines = [line_of(one.cell) for one in ranked]
    behind = [line for line in lines if line in aside]
    return {line for line in lines if line not in aside} | set(behind[:1])


def _text(line: Any, scores: list[float], overlap: float, digits: str) -> str:
    method, width, _ = line
    name = method if width is None else f"{method} {width}"
    return f"{name}: {format_mean(*mean_and_error(scores, overlap), digits)}"
