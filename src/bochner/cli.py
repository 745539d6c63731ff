"""The command line: arguments in, tables out. What is measured lives in bochner.experiments."""

from __future__ import annotations

import math
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bochner import __version__
from bochner.datasets import BUNDLED, load_bundled
from bochner.experiments import comparison

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
console = Console()


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


@app.command()
def compare(
    data: Annotated[str, typer.Argument(help=f"One of {', '.join(BUNDLED)}.")] = "digits",
    widths: Annotated[
        str, typer.Option(help="Numbers of columns, separated by commas.")
    ] = "32,128,512",
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="Only this method; may be given several times."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Random splits.")] = 3,
) -> None:
    """Compare feature maps on a dataset: accuracy, and the time they take."""
    if data not in BUNDLED:
        _fail(f"there is no dataset {data!r}; there are {', '.join(BUNDLED)}")
    chosen = methods or list(comparison.METHODS)
    for method in chosen:
        if method not in comparison.METHODS:
            _fail(f"there is no method {method!r}; there are {'; '.join(comparison.METHODS)}")
    dataset = load_bundled(data)
    cells, left_out = comparison.plan(chosen, _widths(widths), seeds, dataset.X.shape)

    console.print(f"[bold]{dataset}[/bold]; {seeds} random splits, a quarter of the rows to test")
    measurements: list[comparison.Measurement] = []
    interrupted = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cells))
        try:
            for cell in cells:
                progress.update(task, description=f"{cell.method} {cell.width or ''}")
                measurements.append(comparison.measure(cell, dataset))
                progress.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    if measurements:
        console.print(_table(comparison.summarise(measurements)))
    for line in left_out:
        console.print(f"[dim]Left out: {line}.[/dim]")
    if interrupted:
        console.print(f"Interrupted: {len(measurements)} of {len(cells)} cells were measured.")
        raise typer.Exit(130)
    console.print(
        "[dim]One gamma and one linear model (ridge, regularisation by leave-one-out) for all; "
        "± is the standard error over the splits. Times are seconds: transform is all rows, "
        "for the exact machine it is the prediction of the test rows.[/dim]"
    )


def _table(summaries: list[comparison.Summary]) -> Table:
    best = max(summary.accuracy for summary in summaries)
    table = Table(box=None, pad_edge=False)
    table.add_column("method")
    for name in ("columns", "accuracy %", "fit s", "transform s"):
        table.add_column(name, justify="right")
    previous = None
    for summary in summaries:
        if previous not in (None, summary.method):
            table.add_section()
        error = "" if math.isnan(summary.standard_error) else f" ± {summary.standard_error:.1%}"
        accuracy = f"{summary.accuracy:.1%}{error}".replace("%", "")
        table.add_row(
            summary.method if summary.method != previous else "",
            str(summary.width or "-"),
            f"[bold]{accuracy}[/bold]" if summary.accuracy == best else accuracy,
            f"{summary.fit:.4f}",
            f"{summary.transform:.4f}",
        )
        previous = summary.method
    return table


def _widths(text: str) -> list[int]:
    try:
        widths = [int(part) for part in text.split(",")]
    except ValueError:
        _fail(f"--widths must be whole numbers separated by commas, got {text!r}")
    wrong = [width for width in widths if width < 2 or width % 2]
    if wrong:
        _fail(f"--widths must be even numbers from 2 on, got {wrong[0]}")
    return widths


def _fail(message: str) -> NoReturn:
    Console(stderr=True).print(f"bochner: {message}", highlight=False, markup=False)
    raise typer.Exit(2)
