"""The program, assembled from its commands."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Annotated, Any

import typer

from bochner import __version__
from bochner.cli import compare, fit, predict, reproduce
from bochner.cli.console import console

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"bochner {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Kernels that are learned."""
    console.stderr = False


def _help_of(command: Callable[..., Any]) -> str:
    """Return the docstring with one line per paragraph, which the terminal wraps."""
    return "\n\n".join(" ".join(part.split()) for part in (getdoc(command) or "").split("\n\n"))


for command in (compare.compare, fit.fit, predict.predict, reproduce.reproduce):
    app.command(help=_help_of(command))(command)
