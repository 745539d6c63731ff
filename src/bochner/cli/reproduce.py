"""The command `reproduce`: tables and figures of three papers, beside what they published."""

from __future__ import annotations

import difflib
import os
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bochner.cli.console import console, errors, fail
from bochner.records.cells import Notebook
from bochner.records.run import Run
from bochner.records.sections import as_text

if TYPE_CHECKING:
    from bochner.papers.study import Request, Study
    from bochner.records.cells import Cell, Result

FOLDER = Path("bochner-results")
DEVICE_BUDGET = 2**33  # bytes of scratch memory on a device


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(reproduce)


def reproduce(
    study: Annotated[
        str | None, typer.Argument(help="One of the names that --list shows.", show_default=False)
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show all studies, and end.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, in a minute or two.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as planned.", show_default=False)
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(help="Only these, separated by commas; default: all.", show_default=False),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            help="Numbers of columns, frequencies or maps, separated by commas; default: as "
            "planned.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that measure.")] = 1,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="File of finished cells to go on from; default: cells.jsonl in the output.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help=f"Folder of the results; default: {FOLDER}/STUDY, or STUDY-quick with --quick.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the data files; default: what BOCHNER_DATA names.", show_default=False
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Download no data that is missing.")
    ] = False,
    device: Annotated[
        str,
        typer.Option(help="cpu, or a device of PyTorch such as cuda; only networks can use it."),
    ] = "cpu",
) -> None:
    """Rebuild a table or figure of a paper, beside the published numbers.

    What was measured is kept: the same command started again goes on where it stopped. A cell
    that fails is reported, and does not stop the others.
    """
    # Imported here: other commands need none of it.
    from bochner.papers.registry import STUDIES
    from bochner.papers.study import Request

    if show_list or study is None:
        for line in _listing(list(STUDIES.values())):
            _line(line)
        if not show_list:
            fail("name a study to reproduce; there are those above")
        return
    if study not in STUDIES:
        close = difflib.get_close_matches(study, STUDIES, n=3)
        # Nothing like it: the first study of each paper shows what names look like.
        first = {s.paper: name for name, s in reversed(STUDIES.items())}
        named = " or ".join(close or list(first.values())[::-1][:3])
        fail(f"there is no study {study!r}; did you mean {named}? (--list shows all)")
    if data is not None:
        if not data.is_dir():
            fail(f"--data must be a folder, got {str(data)!r}")
        os.environ["BOCHNER_DATA"] = str(data)  # processes that measure read it
    chosen = STUDIES[study]
    folder = output or FOLDER / (study + "-quick" * quick)
    if folder.exists() and not folder.is_dir():
        fail(f"--output must be a folder, got the file {str(folder)!r}")
    request = Request(
        _tasks(chosen, tasks, quick),
        seeds or chosen.version(quick).seeds,
        quick,
        _widths(chosen, widths),
    )
    measure = chosen.measure if device == "cpu" else _on_device(chosen, device)
    tasks_found, left_out = chosen.find_data(request.tasks, offline, _say)
    request = replace(request, tasks=tasks_found)
    for line in left_out:
        _line(f"Left out: {line}")
    if not request.tasks:
        fail(f"{study} has no data; set BOCHNER_DATA or --data to the folder of the data files")
    run = Run(measure, Notebook(resume or folder / "cells.jsonl"), jobs, _say)
    _introduce(chosen, quick, run)
    options = {"--quick": quick, "--seeds": seeds, "--tasks": tasks, "--widths": widths}
    options |= {"--jobs": jobs * (jobs > 1), "--device": device if device != "cpu" else None}
    command = f"bochner reproduce {study}" + "".join(
        f" {name}" if value is True else f" {name} {shlex.quote(str(value))}"
        for name, value in options.items()
        if value
    )
    _report(chosen, request, run, left_out, folder, command, device)


def _introduce(study: Study, quick: bool, run: Run) -> None:
    """What is about to be measured, how long it takes, and what is there."""
    version = f"a small version ({study.quick.note})" if quick else "the full version"
    duration = study.version(quick).time
    _line(f"{study.paper}, {study.item}: {study.summary}", style="bold")
    elsewhere = ", minutes on a GPU" * (study.on_devices and not quick)
    _line(f"This is {version}; {duration} on 2 cores{elsewhere}.")
    if len(run.notebook):
        _line(f"{len(run.notebook)} finished cells in {run.notebook.path}")


def _report(
    study: Study,
    request: Request,
    run: Run,
    left_out: Sequence[str],
    folder: Path,
    command: str,
    device: str,
) -> None:
    """Measure the cells; print, write and draw what they say."""
    from bochner.papers.document import draw, failure_lines, make_document, write_outcome

    start = time.perf_counter()
    results = study.collect(request, run)
    elapsed = time.perf_counter() - start
    failures = failure_lines(run)
    if not results:
        if run.interrupted:
            fail("interrupted before there was anything to show", 130)
        fail(f"{study.name}: nothing could be measured. {' '.join(failures)}")
    sections = study.sections(results)
    note = f"A small version: {study.quick.note}. It decides little about what the paper claims."
    quick = [note] * request.quick
    for line in (f"\n{as_text(sections)}", *quick, *failures):
        _line(line)
    drawn, undrawn = draw(sections)
    for line in undrawn:
        _line(line)
    missing = sum(cell not in run.notebook for cell in run.planned)
    cut = f"Interrupted: {missing} of the cells planned so far were not measured."
    notes = [*quick, *(f"Left out: {line}" for line in left_out), *undrawn]
    notes += [cut] * run.interrupted
    made = make_document(study, request, run, drawn, command=command, notes=notes, device=device)
    paths = write_outcome(made, drawn, folder)
    files = [_notebook_name(run.notebook.path, folder), "results.json", *_page(made, folder)]
    figures = len({Path(path).stem for path in paths} - {"results"})
    files += [f"{figures} figure{'s' * (figures != 1)}"] if figures else []
    _line(f"\n{elapsed:.0f} s. Results are in {folder}: {', '.join(files)}")
    if run.interrupted:
        _say(f"bochner: {cut} The same command goes on from there.")
        raise typer.Exit(130)


def _on_device(study: Study, device: str) -> Callable[[Cell], Result]:
    """The measurement on a device, which must be there."""
    if not study.on_devices:
        fail(f"{study.name} does not use a device; --device is for studies of networks")
    try:
        import torch

        torch.zeros(1, device=device)
    except ImportError:
        fail(f"--device {device} needs PyTorch (pip install 'bochner[gpu]')")
    except (RuntimeError, AssertionError) as error:
        fail(f"--device {device} cannot be used: {str(error).splitlines()[0]}")
    return partial(study.measure, device=device, budget=DEVICE_BUDGET)


def _notebook_name(path: Path | None, folder: Path) -> str:
    """The file of the cells, as seen from the folder of the results."""
    return path.name if path is not None and path.parent == folder else str(path)


def _page(made: dict[str, object], folder: Path) -> list[str]:
    try:
        from bochner.report import write_page
    except ModuleNotFoundError as error:
        _line(f"No page: it needs {error.name} (pip install 'bochner[cli]').")
        return []
    return [write_page(made, folder / "page.html").name]


def _widths(study: Study, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    if not study.widths:
        fail(f"{study.name} has no widths to choose; --widths is for other studies")
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        fail(
            f"--widths must be whole numbers of at least 1 ({study.widths}), separated by commas, "
            f"got {text!r}"
        )
    return tuple(dict.fromkeys(map(int, parts)))


def _tasks(study: Study, text: str | None, quick: bool) -> tuple[str, ...]:
    if text is None:
        return study.tasks_of(quick)
    wanted = tuple(part.strip() for part in text.split(",") if part.strip())
    wrong = [task for task in wanted if task not in study.tasks]
    if wrong or not wanted:
        fail(
            f"--tasks must be of {', '.join(study.tasks)}, separated by commas, "
            f"got {(wrong or [text])[0]!r}"
        )
    return wanted


def _line(text: str, style: str | None = None) -> None:
    """Print as it is: neither cut to the width of the terminal nor read as markup."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _say(line: str) -> None:
    errors.print(line, markup=False, highlight=False)


def _listing(studies: list[Study]) -> list[str]:
    """Two lines per study, for a terminal of 80 columns; the papers are headings."""
    lines = ["Times on 2 cores, of the small version (--quick) and the full one; data files."]
    width = max(len(study.name) for study in studies)
    paper = None
    for study in studies:
        if study.paper != paper:
            lines += ["", study.paper]
        paper = study.paper
        full = study.full.time + " (GPU: minutes)" * study.on_devices
        files = ", ".join(Path(name).stem for name in study.all_files()) or "no data files"
        lines += [f"{study.name:{width}}  {study.summary}"]
        lines += [f"    quick {study.quick.time}, full {full}; {files}"]
    return lines
