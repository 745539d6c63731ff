"""What all commands share: where they print, and how they give up."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

console = Console()
errors = Console(stderr=True, soft_wrap=True)


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
