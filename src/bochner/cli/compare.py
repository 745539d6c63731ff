"""The command `compare`: which kernel helps on this data, what it costs, what is guaranteed."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bochner.cli.comparison_table import footnote, guaranteed_statements, make_grid
from bochner.cli.console import check_width, console, data_help, fail

if TYPE_CHECKING:
    from bochner.compare.plan import Setup
    from bochner.data.tables import Table
    from bochner.records.cells import Cell, Notebook, Result

MAX_ROWS = 20_000


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(compare)


def compare(
    data: Annotated[str, typer.Argument(help=data_help())] = "digits",
    target: Annotated[
        str | None,
        typer.Option(
            help="Target column: name or position, 1 is the first. [default: the last column]"
        ),
    ] = None,
    task: Annotated[
        str, typer.Option(help="auto, classification or regression: what the target is.")
    ] = "auto",
    image_shape: Annotated[
        str | None,
        typer.Option(
            help="What every row is an image of: 28x28, 32x32x3; none for rows that are no "
            "images. [default: known for digits and for .npz]"
        ),
    ] = None,
    widths: Annotated[
        str, typer.Option(help="Numbers of columns, separated by commas.")
    ] = "32,128,512",
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="Only this method; may be given several times."),
    ] = None,
    all_methods: Annotated[
        bool, typer.Option("--all-methods", help="Variants of the main methods as well.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Random splits.")] = 3,
    measure: Annotated[
        str,
        typer.Option(help="auto, accuracy or balanced-accuracy (all classes weigh the same)."),
    ] = "auto",
    gamma: Annotated[
        float | None,
        typer.Option(help="Of the kernel, for prepared rows. [default: chosen on held-out rows]"),
    ] = None,
    max_rows: Annotated[
        int, typer.Option(min=20, help="Of more rows, so many are drawn at random.")
    ] = MAX_ROWS,
    time_budget: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds after which no further cell is begun."),
    ] = None,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda (needs PyTorch): where the maps work.")
    ] = "cpu",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes, one thread each. [default: one per core]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results. [default: bochner-results/NAME, or NAME-TARGET with "
            "--target]"
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure all cells again; forget those on file.")
    ] = False,
) -> None:
    """Compare kernels on your data: quality, cost, and what is guaranteed.

    Every method at every width is measured on random splits. Gamma, the strength of a posterior
    and C are chosen on held-out training rows. Finished cells are kept on file: stopped and
    started again, the command goes on where it was.
    """
    started = time.monotonic()
    wide = _widths(widths)
    _check_device(device)
    chosen = _methods(methods, all_methods)
    table = _read(data, target, task, max_rows, image_shape)
    check_width("--widths", wide, len(table.y))
    if not methods and table.image_shape is None:
        chosen = _not_for_images(chosen)
    setup = _setup(table, measure, gamma, device)

    from bochner.compare.plan import plan_cells
    from bochner.records.cells import Notebook

    try:
        cells, left_out = plan_cells(setup, chosen, wide, seeds)
    except ValueError as error:
        fail(error)
    if not cells:
        fail(f"there is nothing to measure: {'; '.join(left_out)}")
    folder = output or Path("bochner-results") / _folder_name(data, target and table.target)
    file = folder / "cells.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            file.unlink(missing_ok=True)
        notebook = Notebook(file)
    except (FileExistsError, NotADirectoryError):
        fail(f"the results cannot be kept in {folder}: that is a file, and a folder is needed")
    except OSError as error:
        fail(f"the results cannot be kept in {folder}: {error.strerror or error}")
    except UnicodeDecodeError:
        fail(f"the results cannot be kept in {folder}: {file.name} there is not text")
    _introduce(setup, seeds)
    failures, unfinished, interrupted = _measure(
        setup, cells, notebook, jobs, None if time_budget is None else started + time_budget
    )
    results = [notebook[cell] for cell in cells if cell in notebook]
    left_out = [*left_out, *failures, *unfinished]
    if not results:
        _left_out(left_out)
        if interrupted:
            _say("Interrupted before the first cell was measured.")
            raise typer.Exit(130)
        fail("no cell was measured", code=1 if failures else 2)
    _report(setup, results, folder, started, left_out, interrupted or bool(unfinished))
    if interrupted:
        _say("Interrupted: the same command goes on from here.")
        raise typer.Exit(130)


def _measure(
    setup: Setup,
    cells: Sequence[Cell],
    notebook: Notebook,
    jobs: int | None,
    deadline: float | None,
) -> tuple[list[str], list[str], bool]:
    """Measure what is not on file; failures, what time did not allow, and whether interrupted."""
    from bochner.compare.measure import Measurer
    from bochner.records.cells import Result
    from bochner.records.run import Failure, default_jobs, measure_all, stoppable

    missing = [cell for cell in cells if cell not in notebook]
    if len(missing) < len(cells):
        _say(f"{len(cells) - len(missing)} of {len(cells)} cells were found on file.")
    n_jobs = min(jobs or default_jobs(len(missing), setup.device), max(1, len(missing)))
    clock = _Clock(cells, notebook, n_jobs)
    failures: dict[str, None] = {}
    n_done = interrupted = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with (
        stoppable() as stop,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("", total=len(missing), left="")
        try:
            for event in measure_all(missing, Measurer(setup), n_jobs=n_jobs, deadline=deadline):
                if stop.asked:
                    raise KeyboardInterrupt
                if isinstance(event, Result):
                    notebook.add(event)
                    clock.took(event)
                if isinstance(event, Failure):
                    failures[f"{_described(event.cell)} failed: {event.message}"] = None
                    clock.gone(event.cell)
                if isinstance(event, (Result, Failure)):
                    n_done += 1
                    progress.update(task, completed=n_done, left=clock.left())
                else:
                    progress.update(task, description=_described(event))
        except KeyboardInterrupt:
            interrupted = True
    unfinished = []
    if not interrupted and n_done < len(missing):
        unfinished.append(
            f"{len(missing) - n_done} of {len(cells)} cells, as the time budget was spent"
        )
    if interrupted:
        unfinished.append(f"{len(missing) - n_done} of {len(cells)} cells, as it was interrupted")
    return list(failures), unfinished, bool(interrupted)


class _Clock:
    """How long it will take: cells cost what the same method and width cost before."""

    def __init__(self, cells: Sequence[Cell], notebook: Notebook, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self.missing = {cell for cell in cells if cell not in notebook}
        self.known: dict[tuple[str, int | None], float] = {}
        for cell in cells:
            if cell in notebook:
                self.known[cell.method, cell.width] = notebook[cell].seconds

    def took(self, result: Result) -> None:
        self.known[result.cell.method, result.cell.width] = result.seconds
        self.gone(result.cell)

    def gone(self, cell: Cell) -> None:
        self.missing.discard(cell)

    def left(self) -> str:
        typical = sum(self.known.values()) / max(1, len(self.known))
        costs = (self.known.get((cell.method, cell.width), typical) for cell in self.missing)
        seconds = sum(costs) / self.n_jobs
        minutes, rest = divmod(round(seconds), 60)
        return f"about {minutes} min {rest} s left" if minutes else f"about {rest} s left"


def _report(
    setup: Setup,
    results: Sequence[Result],
    folder: Path,
    started: float,
    left_out: Sequence[str],
    interrupted: bool,
) -> None:
    from bochner.compare.document import make_document
    from bochner.compare.pictures.patches import patches
    from bochner.compare.pictures.plane import plane
    from bochner.records.files import write_text_whole

    pictures: dict[str, Any] = {}
    for name, what, draw in (("plane", "the plane", plane), ("patches", "patches", patches)):
        try:
            drawn: Any = draw(setup, results)
        except Exception as error:  # no picture is worth the results
            _say(f"No picture of {what}: {error}", style="dim")
            continue
        if drawn:
            pictures[name] = drawn
    document = make_document(
        setup,
        results,
        command=shlex.join(["bochner", *sys.argv[1:]]),
        seconds=time.monotonic() - started,
        left_out=left_out,
        interrupted=interrupted,
        pictures=pictures,
    )
    console.print(make_grid(document, console.width))
    _left_out(left_out)
    found = document["recommendation"]
    console.print(f"\n[bold]{found['sentence']}[/bold] {found['reason']}", highlight=False)
    for statement in guaranteed_statements(document):
        _say(f"Guaranteed: {statement}")
    _say(footnote(document), style="dim")
    try:
        written = write_text_whole(folder / "results.json", json.dumps(document, indent=1))
        _say(f"Results: {written}", whole=True)
    except OSError as error:
        fail(error, code=1)
    _write_page(document, folder / "page.html")


def _write_page(document: Mapping[str, Any], path: Path) -> None:
    try:
        from bochner.report import write_page
    except ModuleNotFoundError as error:
        _say(f"No page: it needs {error.name} (pip install 'bochner[cli]').")
        return
    try:
        page = write_page(document, path)
    except ModuleNotFoundError as error:
        _say(f"No page: it needs {error.name} (pip install 'bochner[cli]').")
        return
    except OSError as error:
        fail(f"the page cannot be written to {path}: {error.strerror or error}", code=1)
    _say(f"Page: {page}", whole=True)


def _introduce(setup: Setup, seeds: int) -> None:
    from bochner.models.preparation import preparation_notes
    from bochner.records.wording import counted

    table = setup.table
    n, d = len(table.y), table.X.shape[1]
    kind = "numbers to predict"
    if table.task == "classification":
        kind = f"{len(set(table.y.tolist()))} classes"
    _say(f"{table.name}: {n} rows, {counted(d, 'column')}, {kind}", style="bold")
    for note in (*table.notes, *preparation_notes(table.X, table.image_shape)):
        _say(note, style="dim")
    if setup.measure.balanced:
        _say(
            "Measured by balanced accuracy: all classes weigh the same, however few rows they "
            "have (--measure accuracy for the plain one).",
            style="dim",
        )
    splits = "One random split" if seeds == 1 else f"{seeds} random splits"
    _say(f"{splits}, a quarter of the rows to test.", style="dim")


def _say(text: str, *, style: str | None = None, whole: bool = False) -> None:
    """Print text as it is, whatever the user's names hold; `whole` lines are not broken."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=whole)


def _left_out(lines: Sequence[str]) -> None:
    for line in lines:
        _say(f"Left out: {line}.", style="dim")


def _described(cell: Cell) -> str:
    width = "" if cell.width is None else f" {cell.width}"
    return f"{cell.method}{width}, split {cell.seed + 1}"


def _read(
    data: str, target: str | None, task: str, max_rows: int, image_shape: str | None
) -> Table:
    from bochner.data.images import parse_image_shape
    from bochner.data.tables import TableError, read_table

    try:
        shape = parse_image_shape(image_shape)
        return read_table(data, target, task, max_rows, image_shape=shape)
    except TableError as error:
        fail(error)
    except ModuleNotFoundError as error:
        fail(f"reading {data} needs {error.name}: pip install 'bochner[cli]'")


def _setup(table: Table, measure: str, gamma: float | None, device: str) -> Setup:
    from bochner.compare.plan import Setup
    from bochner.linear.scoring import choose_measure
    from bochner.models.preparation import make_preparation

    if gamma is not None and not 0 < gamma < float("inf"):
        fail(f"--gamma must be a positive finite number, got {gamma}")
    try:
        make_preparation(table.X, table.image_shape)
        return Setup(table, choose_measure(table.y, table.task, measure), gamma, device)
    except ValueError as error:
        fail(error)


def _methods(given: Sequence[str] | None, everything: bool) -> list[str]:
    from bochner.models.methods import METHODS, find_method

    if not given:
        return [name for name, method in METHODS.items() if everything or method.main]
    try:
        return list(dict.fromkeys(find_method(name).name for name in given))
    except ValueError as error:
        fail(error)


def _not_for_images(names: Sequence[str]) -> list[str]:
    from bochner.models.methods import METHODS

    return [name for name in names if not METHODS[name].images]


def _widths(text: str) -> list[int]:
    try:
        widths = [int(part) for part in text.split(",")]
    except ValueError:
        fail(f"--widths must be whole numbers separated by commas, got {text!r}")
    wrong = [width for width in widths if width < 2 or width % 2]
    if wrong:
        fail(f"--widths must be even numbers from 2 on, got {wrong[0]}")
    check_width("--widths", widths)
    return list(dict.fromkeys(widths))


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    if not re.fullmatch(r"cuda(:\d+)?", device):
        fail(f"--device must be cpu or cuda, got {device!r}")
    try:
        import torch
    except ModuleNotFoundError:
        fail("--device cuda needs PyTorch: pip install 'bochner[gpu]'")
    if not torch.cuda.is_available():
        fail("--device cuda: PyTorch finds no CUDA device here; use --device cpu")


def _folder_name(data: str, target: str | None) -> str:
    """A folder for each question: the file, what it is unless CSV, and the target if given."""
    from bochner.data.bundled import BUNDLED
    from bochner.data.formats import result_name

    name = data
    if data not in BUNDLED:
        name = result_name(Path(data), taken=BUNDLED)
    return _file_name(f"{name}-{target}" if target else name) or "data"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")
