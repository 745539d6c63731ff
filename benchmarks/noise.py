"""``python -m benchmarks noise``: how often `compare` recommends a line for pure noise.

Labels are independent of the rows; every other table is a regression. All main methods are
measured on three random splits, as in the program. Each table is one line of a file: an
interrupted run continues where it stopped, and parts (``--lane 3/16``) may run as separate
processes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.models import last_commit
from bochner.compare.document import make_document
from bochner.compare.measure import Measurer
from bochner.compare.plan import Setup, plan_cells
from bochner.compare.race import worth_measuring
from bochner.data.tables import Table
from bochner.linear.scoring import choose_measure
from bochner.models.methods import METHODS
from bochner.records.cells import Cell, Notebook, Result

FILE = Path("bochner-results/noise.jsonl")
TASKS = ("classification", "regression")


def noise_table(seed: int, rows: int) -> Table:
    """Return five columns of normal numbers, and labels independent of them."""
    rng, task = np.random.default_rng(seed), TASKS[seed % 2]
    X = rng.normal(size=(rows, 5))
    y = rng.normal(size=rows) if task == "regression" else rng.integers(2, size=rows)
    return Table("noise", X, y, task, None, rows)


def measure(cell: Cell, widths: list[int], n_splits: int) -> Result:
    """Compare on one table; the score is 1 if something is recommended."""
    table = noise_table(cell.seed, cell.max_train or 0)
    setup = Setup(table, choose_measure(table.y, table.task))
    methods = [m.name for m in METHODS.values() if m.main and table.task in m.tasks]
    methods = [name for name in methods if not METHODS[name].images]
    begun, measurer = time.process_time(), Measurer(setup)
    cells, _ = plan_cells(setup, methods, widths, n_splits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results: list[Result] = []
        while missing := [
            each
            for each in worth_measuring(cells, results)
            if all(each != one.cell for one in results)
        ]:
            results.append(measurer(missing[0]))
    found = make_document(setup, results, command="", seconds=0.0)["recommendation"]["sentence"]
    seconds = time.process_time() - begun
    return Result(cell, float(found.startswith("Use ")), seconds, seconds, {"sentence": found})


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks noise")
    parser.add_argument("--tables", type=int, default=200, help="how many")
    parser.add_argument("--rows", type=int, default=200, help="of each")
    parser.add_argument("--widths", default="32,128", help="columns")
    parser.add_argument("--splits", type=int, default=3, help="how many")
    parser.add_argument("--lane", default="0/1", help="which of how many: 3/16, from 0 on")
    parser.add_argument("--version", default=last_commit(), help="the commit that is measured")
    parser.add_argument("--file", type=Path, default=FILE, help="where tables are kept")
    given = parser.parse_args(arguments)
    lane, n_lanes = map(int, given.lane.split("/"))
    settings = (("version", given.version), ("widths", given.widths), ("splits", given.splits))
    cells = [
        Cell("noise", TASKS[seed % 2], "compare", None, seed, given.rows, settings)
        for seed in range(given.tables)
    ]
    widths, notebook = [int(width) for width in given.widths.split(",")], Notebook(given.file)
    for cell in cells[lane::n_lanes]:
        if cell not in notebook:
            notebook.add(measure(cell, widths, given.splits))
            found = notebook[cell]
            said = found.details["sentence"]
            print(f"table {cell.seed}, {cell.task}: {said} ({found.seconds:.1f} s)", flush=True)
    for task in TASKS:
        scores = [notebook[cell].score for cell in cells if cell.task == task and cell in notebook]
        print(f"{task}: recommended on {sum(scores):.0f} of {len(scores)}")
