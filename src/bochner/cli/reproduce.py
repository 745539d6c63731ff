"""The command `reproduce`: tables and figures of three papers, beside what they published."""

from __future__ import annotations

import difflib
import os
import shlex
import time
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bochner.cli.console import console, errors, fail

if TYPE_CHECKING:
    from bochner.papers.study import Study

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
    """Rebuild a table or figure of a paper, beside the published figures.

    What was measured is kept: the same command started again goes on where it stopped.
    """
    # Imported here: other commands need none of it.
    from bochner.papers.study import STUDIES

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
    if device != "cpu":
        chosen = _on_device(chosen, device)
    options = {"--quick": quick, "--seeds": seeds, "--tasks": tasks, "--jobs": jobs * (jobs > 1)}
    options["--device"] = device if device != "cpu" else None
    command = f"bochner reproduce {study}" + "".join(
        f" {name}" if value is True else f" {name} {shlex.quote(str(value))}"
        for name, value in options.items()
        if value
    )
    _run(
        chosen, _tasks(chosen, tasks, quick), quick, seeds, jobs, resume, folder, offline, command
    )


def _run(
    study: Study,
    tasks: tuple[str, ...],
    quick: bool,
    seeds: int | None,
    jobs: int,
    resume: Path | None,
    folder: Path,
    offline: bool,
    command: str,
) -> None:
    from bochner.papers.outcome import (
        NO_PICTURES,
        document,
        draw,
        shown_of,
        without_empty,
        write_outcome,
    )
    from bochner.papers.study import Request, find_data
    from bochner.records.cells import Cell, Notebook, Result, run
    from bochner.records.sections import as_text

    tasks, left_out = find_data(tasks, offline, _say)
    for line in left_out:
        _line(f"Left out: {line}")
    if not tasks:
        fail(
            f"{study.name} has no data; set BOCHNER_DATA or --data to the folder of the data files"
        )
    request = Request(tasks, seeds or (study.quick_seeds if quick else study.seeds), quick)
    notebook = Notebook(resume or folder / "cells.jsonl")
    version = f"a small version ({study.small})" if quick else "the full version"
    duration = study.quick_time if quick else study.full_time
    _line(f"{study.paper}, {study.item}: {study.summary}", style="bold")
    elsewhere = ", minutes on a GPU" * (study.on_devices and not quick)
    _line(f"This is {version}; {duration} on 2 cores{elsewhere}.")
    if len(notebook):
        _line(f"{len(notebook)} finished cells in {notebook.path}")

    planned: list[Cell] = []

    def measured(cells: Sequence[Cell]) -> list[Result]:
        planned.extend(cells)
        return run(cells, study.measure, notebook, jobs)

    start = time.perf_counter()
    interrupted = False
    try:
        study.collect(request, measured)
    except KeyboardInterrupt:
        interrupted = True
    except FileNotFoundError as error:
        fail(error)
    except zipfile.BadZipFile as error:
        fail(f"a data file is not a NumPy archive, or is cut short: {error}")
    elapsed = time.perf_counter() - start
    results = [notebook[cell] for cell in dict.fromkeys(planned) if cell in notebook]
    shown = shown_of(study, results)
    if not shown:
        fail("interrupted before there was anything to show", 130)
    sections = study.sections(shown)
    _line(f"\n{as_text(sections)}")

    notes = []
    if quick:
        notes = [f"A small version: {study.small}. It decides little about what the paper claims."]
        _line(notes[0])
    notes += [f"Left out: {line}" for line in left_out]
    if interrupted:
        missing = sum(cell not in notebook for cell in planned)
        cut = f"Interrupted: {missing} of the cells planned so far were not measured."
        notes.append(cut)
    pictures = draw(sections)
    if any(s.picture and picture is None for s, picture in zip(sections, pictures, strict=True)):
        notes.append(NO_PICTURES)
        _line(NO_PICTURES)
    sections, pictures = without_empty(sections, pictures)
    made = document(study, request, results, sections, pictures, command=command, notes=notes)
    paths = write_outcome(made, sections, pictures, folder)
    files = [_notebook_name(notebook.path, folder), "results.json", *_page(made, folder)]
    figures = len({Path(path).stem for path in paths} - {"results"})
    files += [f"{figures} figure{'s' * (figures != 1)}"] if figures else []
    _line(f"\n{elapsed:.0f} s. Results are in {folder}: {', '.join(files)}")
    if interrupted:
        _say(f"bochner: {cut} The same command goes on from there.")
        raise typer.Exit(130)


def _on_device(study: Study, device: str) -> Study:
    """The study with its measurements on a device, which must be there."""
    if not study.on_devices:
        fail(f"{study.name} does not use a device; --device is for studies of networks")
    try:
        import torch

        torch.zeros(1, device=device)
    except ImportError:
        fail(f"--device {device} needs PyTorch (pip install 'bochner[gpu]')")
    except (RuntimeError, AssertionError) as error:
        fail(f"--device {device} cannot be used: {str(error).splitlines()[0]}")
    return replace(study, measure=partial(study.measure, device=device, budget=DEVICE_BUDGET))


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
    """Two lines a study, for a terminal of 80 columns; the papers are headings."""
    lines = ["Times on 2 cores, of the small version (--quick) and the full one; data files."]
    width = max(len(study.name) for study in studies)
    paper = None
    for study in studies:
        if study.paper != paper:
            lines += ["", study.paper]
        paper = study.paper
        full = study.full_time + " (GPU: minutes)" * study.on_devices
        files = ", ".join(name.removesuffix(".npz") for name in study.files()) or "no data files"
        lines += [f"{study.name:{width}}  {study.summary}"]
        lines += [f"    quick {study.quick_time}, full {full}; {files}"]
    return lines
