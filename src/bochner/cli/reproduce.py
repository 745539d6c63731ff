"""The command `reproduce`: tables and figures of three papers, with the published numbers."""

from __future__ import annotations

import difflib
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.console import (
    RESULTS,
    check_device,
    fail,
    one_line_errors,
    say,
    warn,
    whole_numbers,
    write_page,
)
from bochner.records.cells import Cell, Notebook, Result
from bochner.records.provenance import commit, machine_text
from bochner.records.run import Event, Failure, Run
from bochner.records.sections import as_text
from bochner.records.wording import counted

if TYPE_CHECKING:
    from bochner.papers.study import LeftOut, Request, Study


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
            help="File of finished cells to go on from; default: those on record with "
            "--write-docs, else cells.jsonl in the output.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help=f"Folder of the results; default: {RESULTS}/STUDY, or STUDY-quick with --quick.",
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
        typer.Option(help="cpu, or a device of PyTorch such as cuda; --list says who uses it."),
    ] = "cpu",
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Begin no cell after so many minutes; 0 shows what is on file.",
            show_default=False,
        ),
    ] = None,
    write_docs: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the documentation: put the results on record there, and write its "
            "pages of results anew.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Rebuild a table or figure of a paper, with the published numbers next to ours.

    Measurements are kept: the same command, started again, continues where it stopped. A cell
    that fails is reported, and does not stop the others.
    """
    # Imported here: other commands need none of it.
    from bochner.papers.registry import STUDIES
    from bochner.papers.study import Request

    if write_docs is not None:
        _check_docs(write_docs, quick)
        if study is None:
            _write_pages(write_docs)
            return
    if show_list or study is None:
        say(*_listing(list(STUDIES.values())))
        if not show_list:
            fail("name a study to reproduce; there are those above")
        return
    chosen = _find_study(study)
    folder = output or RESULTS / (study + "-quick" * quick)
    _check_folders(data, folder)
    request = Request(
        _tasks(chosen, tasks, quick),
        seeds or chosen.version(quick).seeds,
        quick,
        _widths(chosen, widths),
    )
    measure = chosen.measure if device == "cpu" else _on_device(chosen, device)
    tasks_found, left_out = chosen.find_data(request.tasks, offline, warn)
    request = replace(request, tasks=tasks_found)
    say(*map(str, left_out))
    if not request.tasks:
        fail(f"{study} has no data; set BOCHNER_DATA or --data to the folder of the data files")
    with one_line_errors():
        deadline = None if minutes is None else time.monotonic() + 60 * minutes
        notebook = _notebook(study, folder, resume, write_docs)
        run = Run(measure, notebook, jobs, _watch, deadline, commit(), machine_text(device))
        _introduce(chosen, quick, run)
        options = {"--quick": quick, "--seeds": seeds, "--tasks": tasks, "--widths": widths}
        options |= {"--jobs": jobs * (jobs > 1), "--device": device if device != "cpu" else None}
        document = _report(
            chosen, request, run, left_out, folder, _command(study, options), device
        )
        if write_docs is not None:
            from bochner.papers.pages import store

            say(f"On record: {store(document, write_docs)}")
            _write_pages(write_docs)
    if run.interrupted:
        fail(f"{_cut(run)} The same command goes on from there.", 130)
    say(*[_cut(run)] * bool(run.missing))


def _find_study(name: str) -> Study:
    from bochner.papers.registry import STUDIES

    if name not in STUDIES:
        close = difflib.get_close_matches(name, STUDIES, n=3)
        # No similar name: the first study of each paper shows what names look like.
        first = {study.paper: name for name, study in reversed(STUDIES.items())}
        meant = " or ".join(close or list(first.values())[::-1][:3])
        fail(f"there is no study {name!r}; did you mean {meant}? (--list shows all)")
    return STUDIES[name]


def _check_folders(data: Path | None, output: Path) -> None:
    """Check both folders, and set that of the data for this process and those that measure."""
    if data is not None:
        if not data.is_dir():
            fail(f"--data must be a folder, got {str(data)!r}")
        os.environ["BOCHNER_DATA"] = str(data)
    if output.exists() and not output.is_dir():
        fail(f"--output must be a folder, got the file {str(output)!r}")


def _check_docs(folder: Path, quick: bool) -> None:
    if quick:
        fail("--write-docs is for full versions; leave out --quick")
    if not folder.is_dir():
        fail(f"--write-docs must be a folder, got {str(folder)!r}")


def _notebook(study: str, output: Path, resume: Path | None, docs: Path | None) -> Notebook:
    """Return the finished cells; results to be put on record continue from those on record.

    Studies of the same paper have cells in common, which another study may have put on record.
    """
    from bochner.papers.pages import cells_on_record

    if docs is None:
        return Notebook(resume or output / "cells.jsonl")
    own = resume or cells_on_record(study, docs)
    others = cells_on_record(study, docs).parent.glob("*.jsonl")
    return Notebook(own, also=[file for file in sorted(others) if file != own])


def _write_pages(folder: Path) -> None:
    from bochner.papers.pages import write_pages

    with one_line_errors():
        say(f"Written in {folder}: {', '.join(write_pages(folder))}")


def _cut(run: Run) -> str:
    begun = "Interrupted" if run.interrupted else "Stopped in time"
    return f"{begun}: {len(run.missing)} of the cells planned so far were not measured."


def _command(study: str, options: Mapping[str, object]) -> str:
    """Return the command that repeats a study, with the options that are not at their defaults."""
    words = ["bochner", "reproduce", study]
    for name, value in options.items():
        words += [name] * bool(value) + [str(value)] * bool(value and value is not True)
    return shlex.join(words)


def _watch(event: Event, n_done: int, n_cells: int) -> None:
    """Print one line per cell that is done."""
    if isinstance(event, Cell):
        return
    if isinstance(event, Failure):
        text = f"failed: {event.message}"
    else:
        notes = [f"{name} {value:.4g}" for name, value in event.details.items()]
        text = f"{event.score:.4f} ({', '.join([*notes, f'{event.seconds:.1f} s'])})"
    warn(f"[{n_done}/{n_cells}] {event.cell}: {text}")


def _introduce(study: Study, quick: bool, run: Run) -> None:
    """Say what is about to be measured, how long it takes, and what is already on file."""
    version = f"a small version ({study.quick.note})" if quick else "the full version"
    duration = study.version(quick).time
    elsewhere = ", or with --device on a GPU" * (study.on_devices and not quick)
    say(f"{study.paper}, {study.item}: {study.summary}", style="bold")
    say(f"This is {version}; {duration} on 2 cores{elsewhere}.")
    if len(run.notebook):
        say(f"{len(run.notebook)} finished cells in {run.notebook.path}")


def _report(
    study: Study,
    request: Request,
    run: Run,
    left_out: Sequence[LeftOut],
    folder: Path,
    command: str,
    device: str,
) -> dict[str, Any]:
    """Measure the cells; print, write and draw the results, and return them as a document."""
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
    note = f"A small version: {study.quick.note}. It is too small to decide most claims."
    quick = [note] * request.quick
    drawn, undrawn = draw(sections)
    say(f"\n{as_text(sections)}", *quick, *failures, *undrawn)
    notes = [*quick, *(task.note for task in left_out), *undrawn]
    notes += [_cut(run)] * bool(run.interrupted or run.missing)
    document = make_document(
        study, request, run, drawn, command=command, notes=notes, device=device
    )
    paths = write_outcome(document, drawn, folder)
    page = write_page(document, folder)
    files = [_notebook_name(run.notebook.path, folder), "results.json"]
    files += [] if page is None else [page.name]
    n_figures = len({Path(path).stem for path in paths} - {"results"})
    files += [counted(n_figures, "figure")] * bool(n_figures)
    say(f"\n{elapsed:.0f} s. Results are in {folder}: {', '.join(files)}")
    return document


def _on_device(study: Study, device: str) -> Callable[[Cell], Result]:
    """Return the measurement on a device, which must be available."""
    if not study.on_devices:
        fail(f"{study.name} does not use a device; --list names those that do")
    check_device(device)
    return partial(study.measure, device=device)


def _notebook_name(path: Path | None, folder: Path) -> str:
    """Return the name of the file of cells, or its path if it is not among the results."""
    return path.name if path is not None and path.parent == folder else str(path)


def _widths(study: Study, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    if not study.widths:
        fail(f"{study.name} has no widths to choose; --widths is for other studies")
    return tuple(whole_numbers("--widths", text, study.widths))


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


def _listing(studies: list[Study]) -> list[str]:
    """List the studies in two lines each, for 80 columns, with the papers as headings."""
    lines = ["Times on 2 cores, of the small version (--quick) and the full one; data files."]
    width = max(len(study.name) for study in studies)
    paper = None
    for study in studies:
        if study.paper != paper:
            lines += ["", study.paper]
        paper = study.paper
        full = study.full.time + " (or on a GPU)" * study.on_devices
        files = ", ".join(Path(name).stem for name in study.all_files()) or "no data files"
        lines += [f"{study.name:{width}}  {study.summary}"]
        lines += [f"    quick {study.quick.time}, full {full}; {files}"]
    return lines
