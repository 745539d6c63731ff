"""The program, assembled from its commands."""

from __future__ import annotations

from typing import Annotated

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


for command in (compare.compare, fit.fit, predict.predict, reproduce.reproduce):
    app.command()(command)
