"""The command `compare`: which kernel helps on this data, what it costs, what is guaranteed."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.comparison_table import footnote, guarantee_lines, make_grid
from bochner.cli.console import (
    RESULTS,
    ProgressLine,
    check_device,
    check_memory,
    check_positive,
    check_width,
    command_line,
    console,
    fail,
    fits_memory,
    introduce,
    jobs_that_fit,
    one_line_errors,
    say,
    whole_numbers,
    write_page,
)
from bochner.cli.options import (
    Device,
    Gamma,
    ImageShape,
    MaxRows,
    MeasureName,
    Metric,
    Target,
    Task,
    data_help,
    metric_mode,
)
from bochner.records.processes import prepare_processes

if TYPE_CHECKING:
    from bochner.compare.plan import Setup
    from bochner.data.tables import Table
    from bochner.records.cells import Cell, Notebook
    from bochner.records.run import Event, Run

MAX_ROWS = 20_000
_IMPORTED = ("bochner.compare.measure", "numba")  # by workers, while this process reads the data


def compare(
    data: Annotated[str, typer.Argument(help=data_help())] = "digits",
    target: Target = None,
    task: Task = "auto",
    image_shape: ImageShape = None,
    widths: Annotated[
        str, typer.Option(help="Widths of the maps, separated by commas.")
    ] = "32,128,512",
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="Only this method; may be given several times."),
    ] = None,
    all_methods: Annotated[
        bool, typer.Option("--all-methods", help="Variants of the main methods as well.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Random splits, at most.")] = 3,
    every_split: Annotated[
        bool,
        typer.Option(
            "--every-split",
            help="Measure every line on all splits, also those far behind after one or two.",
        ),
    ] = False,
    measure: MeasureName = "auto",
    gamma: Gamma = None,
    metric: Metric = "none",
    max_rows: MaxRows = MAX_ROWS,
    time_budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds after which no further measurement begins; until then, the best map is "
            "also tried with twice its columns, as long as that is better.",
        ),
    ] = None,
    device: Device = "cpu",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes, one thread each. [default: one per core]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results. [default: bochner-results/NAME, or NAME-TARGET with "
            "--target]"
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything again and ignore results on file.")
    ] = False,
) -> None:
    """Compare kernels on your data: quality, cost, and what is guaranteed.

    Every method is measured at every width on random splits. Gamma, the strength of a posterior
    and C are chosen on held-out training rows. With --metric, methods are measured both without
    and with a learned metric. Finished cells are kept on file: stopped and started again, the
    command continues where it was.
    """
    started = time.monotonic()
    if device == "cpu" and jobs != 1 and (os.cpu_count() or 1) > 1:
        prepare_processes(_IMPORTED)
    with one_line_errors():
        from bochner.compare.plan import plan_cells

        columns = _even_widths(widths)
        check_positive("--gamma", gamma)
        where = check_device(device)
        mode = metric_mode(metric)
        setup = _setup(data, target, task, max_rows, image_shape, measure, gamma, where, mode)
        check_memory("--widths", columns, setup.table, jobs or 1)
        chosen = _methods(methods, all_methods, setup.table)
        cells, left_out = plan_cells(setup, chosen, columns, seeds)
        if not cells:
            fail(f"there is nothing to measure: {'; '.join(left_out)}")
        folder = output or RESULTS / _folder_name(data, target and setup.table.target)
        notebook = _open_notebook(folder, fresh)
        _introduce(setup, seeds, every_split)
        deadline = None if time_budget is None else started + time_budget
        most_jobs = jobs_that_fit(columns, setup.table)
        run = _measure(setup, cells, notebook, jobs, most_jobs, deadline, every_split)
        left_out += _not_measured(run, cells)
        _report(setup, run, left_out, folder, started)


def _measure(
    setup: Setup,
    cells: Sequence[Cell],
    notebook: Notebook,
    jobs: int | None,
    most_jobs: int,
    deadline: float | None,
    every_split: bool,
) -> Run:
    """Measure the cells that are not on file, and show the progress."""
    from bochner.compare.document import wider_cells
    from bochner.compare.measure import Measurer
    from bochner.compare.race import worth_measuring
    from bochner.records.cells import Cell, Result
    from bochner.records.run import Run, default_jobs

    n_missing = sum(cell not in notebook for cell in cells)
    if n_missing < len(cells):
        say(f"{len(cells) - n_missing} of {len(cells)} results were found on file.")

    wider: list[Cell] = []

    def then(results: Sequence[Result]) -> list[Cell]:
        wanted = [*(cells if every_split else worth_measuring(cells, results)), *wider]
        done = all(cell in notebook or cell in run.failures for cell in wanted)
        if deadline is not None and time.monotonic() < deadline and done and results:
            more = wider_cells(setup, results)
            wider.extend(cell for cell in more if fits_memory(cell.width or 1, setup.table))
        return list(dict.fromkeys([*wanted, *wider]))

    progress = ProgressLine(n_missing)

    def watch(event: Event, n_done: int, n_cells: int) -> None:
        if isinstance(event, Cell):
            progress.begin(_describe(event))
        else:
            progress.done(n_done, n_cells, _time_left(run))

    n_jobs = jobs or min(most_jobs, default_jobs(n_missing, setup.device))
    run = Run(Measurer(setup), notebook, n_jobs, watch, deadline)
    with progress:
        run((), then)
    return run


def _time_left(run: Run) -> str:
    """Estimate the time left: cells take as long as the same method and width did before."""
    known = {(one.cell.method, one.cell.width): one.seconds for one in run.results}
    typical = sum(known.values()) / max(1, len(known))
    costs = [known.get((cell.method, cell.width), typical) for cell in run.missing]
    minutes, seconds = divmod(round(sum(costs) / run.n_jobs), 60)
    return f"about {minutes} min {seconds} s left" if minutes else f"about {seconds} s left"


def _not_measured(run: Run, cells: Sequence[Cell]) -> list[str]:
    """List what failed, what was not begun, and what was not worth measuring."""
    from bochner.compare.plan import line_of
    from bochner.compare.race import is_decided
    from bochner.records.wording import counted

    lines = [f"{_describe(cell)} failed: {reason}" for cell, reason in run.failures.items()]
    behind = {line_of(cell) for cell in set(cells).difference(run.planned)}
    if behind and is_decided(run.results):
        lines.append(
            "further splits: one line is far ahead of all others (--every-split measures them)"
        )
    elif behind:
        lines.append(
            f"further splits of {counted(len(behind), 'line')}, far behind or there as a "
            "reference (--every-split measures them)"
        )
    if run.missing:
        reason = "it was interrupted" if run.interrupted else "the time budget was spent"
        lines.append(f"{len(run.missing)} of {len(run.planned)} cells, as {reason}")
    return lines


def _report(setup: Setup, run: Run, left_out: Sequence[str], folder: Path, started: float) -> None:
    """Print, write and draw the results; exit as an interrupted command does if it was one."""
    from bochner.compare.document import make_document
    from bochner.records.files import write_text_whole

    if run.results:
        document = make_document(
            setup,
            run.results,
            command=command_line(),
            seconds=time.monotonic() - started,
            left_out=left_out,
            interrupted=bool(run.missing),
            pictures=_pictures(setup, run),
        )
        console.print(make_grid(document, console.width))
    say(*(f"Left out: {line}." for line in left_out), style="dim", wrap=True)
    if not run.results:
        if run.interrupted:
            say("Interrupted before the first cell was measured.")
            raise typer.Exit(130)
        fail("no cell was measured", code=1 if run.failures else 2)
    advice = document["recommendation"]
    console.print(f"\n[bold]{advice['sentence']}[/bold] {advice['reason']}", highlight=False)
    say(*guarantee_lines(document), wrap=True)
    say(footnote(document), style="dim", wrap=True)
    results = write_text_whole(folder / "results.json", json.dumps(document, indent=1))
    say(f"Results: {results}")
    page = write_page(document, folder)
    if page is not None:
        say(f"Page: {page}")
    if run.interrupted:
        say("Interrupted: the same command goes on from here.")
        raise typer.Exit(130)


def _pictures(setup: Setup, run: Run) -> dict[str, Any]:
    from bochner.compare.pictures.patches import patches
    from bochner.compare.pictures.plane import plane

    pictures = {"plane": plane(setup, run.results), "patches": patches(setup, run.results)}
    for name in pictures:
        drawn: list[Any] = [one.details.get(name) or {} for one in run.results]
        for failed in dict.fromkeys(one["failed"] for one in drawn if "failed" in one):
            say(f"No picture of the {name}: {failed}", style="dim")
    return {name: picture for name, picture in pictures.items() if picture}


def _introduce(setup: Setup, seeds: int, every_split: bool) -> None:
    introduce(setup.table)
    if setup.measure.balanced:
        say(
            "Measured by balanced accuracy: all classes weigh the same, however few rows they "
            "have (--measure accuracy for the plain one).",
            style="dim",
        )
    splits = f"{seeds} random splits" if every_split else f"At most {seeds} random splits"
    splits = "One random split" if seeds == 1 else splits
    say(f"{splits}, a quarter of the rows to test.", style="dim")


def _describe(cell: Cell) -> str:
    from bochner.compare.plan import line_name

    width = "" if cell.width is None else f" {cell.width}"
    return f"{line_name(cell)}{width}, split {cell.seed + 1}"


def _setup(
    data: str,
    target: str | None,
    task: str,
    max_rows: int,
    image_shape: str | None,
    measure: str,
    gamma: float | None,
    device: Any,
    metric: str | None,
) -> Setup:
    from bochner.compare.plan import Setup
    from bochner.data.images import parse_image_shape
    from bochner.data.tables import read_table
    from bochner.linear.scoring import choose_measure
    from bochner.models.preparation import make_preparation

    shape = parse_image_shape(image_shape)
    table = read_table(data, target, task, max_rows, image_shape=shape)
    make_preparation(table.X, table.image_shape)  # raises if there is nothing to learn from
    return Setup(table, choose_measure(table.y, table.task, measure), gamma, device, metric)


def _methods(given: Sequence[str] | None, everything: bool, table: Table) -> list[str]:
    """Return the given methods, otherwise the main ones (or all) that apply to such rows."""
    from bochner.models.methods import METHODS, find_method

    if given:
        return list(dict.fromkeys(find_method(name).name for name in given))
    asked = [method for method in METHODS.values() if everything or method.main]
    images = table.image_shape is not None
    return [m.name for m in asked if table.task in m.tasks and (images or not m.images)]


def _even_widths(text: str) -> list[int]:
    widths = whole_numbers("--widths", text)
    odd = [width for width in widths if width % 2]
    if odd:
        fail(f"--widths must be even numbers from 2 on, got {odd[0]}")
    check_width("--widths", widths)
    return widths


def _open_notebook(folder: Path, fresh: bool) -> Notebook:
    from bochner.compare.measure import is_complete
    from bochner.records.cells import Notebook

    file = folder / "cells.jsonl"
    cannot = f"the results cannot be kept in {folder}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            file.unlink(missing_ok=True)
        if not os.access(file if file.exists() else folder, os.W_OK):
            fail(f"{cannot}: it cannot be written to")
        return Notebook(file, is_complete)
    except (FileExistsError, NotADirectoryError):
        fail(f"{cannot}: that is a file, and a folder is needed")
    except OSError as error:
        fail(f"{cannot}: {error.strerror or error}")
    except UnicodeDecodeError:
        fail(f"{cannot}: {file.name} there is not text")


def _folder_name(data: str, target: str | None) -> str:
    """Return a folder for each question: the file, its format unless CSV, and a given target."""
    from bochner.data.bundled import BUNDLED
    from bochner.data.formats import result_name
    from bochner.data.sources import find_source

    name = data
    if data not in BUNDLED:
        found = find_source(data)
        name = found.label if found.several else result_name(Path(data), taken=BUNDLED)
    name = f"{name}-{target}" if target else name
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"
