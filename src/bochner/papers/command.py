"""What the commands of all studies share: their options, and how cells are run and reported."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bochner.records.cells import Cell, Notebook, Result, run
from bochner.records.sections import Report


def new_parser(module: str, paper: str) -> argparse.ArgumentParser:
    """The parser of ``python -m module``."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=f"The experiments of {paper}, done again. The environment variable "
        "BOCHNER_DATA names the folder of the data files.",
    )


def add_options(
    study: argparse.ArgumentParser, tasks: Sequence[str], seeds: int, quick: str
) -> None:
    """Tasks where there are several, seeds, processes, the file to go on from, a small version."""
    if len(tasks) > 1:
        study.add_argument(
            "--tasks", nargs="+", choices=tasks, metavar="TASK", help="(default: all)"
        )
    study.add_argument("--seeds", type=positive, help=f"how many (default: {seeds})")
    study.add_argument("--jobs", type=positive, default=1, help="processes (default: 1)")
    study.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="results as JSON lines; what is in it is not measured again",
    )
    study.add_argument("--quick", action="store_true", help=quick)


def run_and_report(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    planned: Sequence[Cell],
    measure: Callable[[Cell], Result],
    reports: Mapping[str, Report],
) -> None:
    """Measure what is not on file and print the study's table; a missing file is one line."""
    try:
        results = run(planned, measure, Notebook(options.resume), options.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(reports[options.study](results))


def positive(text: str) -> int:
    """A whole number of at least 1.

    Examples
    --------
    >>> from bochner.papers.command import positive
    >>> positive("3")
    3
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def even(text: str) -> int:
    """A number of columns of cosines and sines.

    Examples
    --------
    >>> from bochner.papers.command import even
    >>> even("4")
    4
    """
    value = positive(text)
    if value % 2:
        raise argparse.ArgumentTypeError(f"must be even (a cosine and a sine each), got {value}")
    return value
