"""What all commands share: where they print, and how they give up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

import typer
from rich.console import Console

console = Console()
errors = Console(stderr=True, soft_wrap=True)

MOST_COLUMNS = 1_000_000  # of a map


def fail(message: object, code: int = 2) -> NoReturn:
    """Say in one line on stderr what is wrong, and end the program.

    Parameters
    ----------
    message : object
        What is wrong, and what would be accepted; line breaks become blanks.
    code : int, default=2
        The exit status.
    """
    line = " ".join(str(message).split())
    errors.print(f"bochner: {line}", highlight=False, markup=False)
    raise typer.Exit(code)


def check_width(option: str, widths: Sequence[int], n_rows: int = 0) -> None:
    """Give up where the columns of a map are too many, or would fill half of the memory.

    Parameters
    ----------
    option : str
        The option that gave the widths.
    widths : sequence of int
        Numbers of columns.
    n_rows : int, default=0
        Rows that there will be columns of; 0 where that is not yet known.
    """
    largest = max(widths)
    if largest > MOST_COLUMNS:
        fail(f"{option} must be at most {MOST_COLUMNS}, got {largest}")
    memory, needed = _memory(), 8 * n_rows * largest
    if memory is not None and needed > memory / 2:
        fail(
            f"{option} {largest}: the columns of {n_rows} rows would take {needed / 1e9:.3g} GB, "
            f"more than half of the memory ({memory / 1e9:.3g} GB); use fewer columns or rows "
            "(--max-rows)"
        )


def _memory() -> int | None:
    """The bytes of the machine's memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
