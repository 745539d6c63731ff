"""Helpers that all commands share: printing, checks and errors."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer
from rich.console import Console

from bochner.records.files import is_stdout
from bochner.records.memory import memory_limit
from bochner.records.wording import counted, printable

if TYPE_CHECKING:
    from bochner.data.tables import Table

console = Console()
errors = Console(stderr=True, soft_wrap=True)

RESULTS = Path("bochner-results")
MAX_COLUMNS = 1_000_000  # of a map
_SECONDS_BETWEEN_LINES = 5.0
_SHARE_OF_MEMORY = 0.8  # for data; the rest is for the program
_ROWS_IN_BLOCKS = 10_000  # whose features are in memory at once, where not all are


def fail(message: object, code: int = 2) -> NoReturn:
    """Say in one line on stderr what is wrong and what would be accepted, and end the program."""
    warn(f"bochner: {' '.join(str(message).split())}")
    raise typer.Exit(code)


def warn(line: str) -> None:
    """Print a line on stderr as it is, except for control characters."""
    errors.print(printable(line), highlight=False, markup=False)


def say(*lines: str, style: str | None = None, wrap: bool = False) -> None:
    """Print lines as they are, except for control characters; `wrap` breaks them at words."""
    for line in map(printable, lines):
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=not wrap)


class ProgressLine:
    """Progress of a run: a bar on a terminal, or a line every few seconds in a file."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, left="")
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, what: str) -> None:
        """Show what is begun."""
        self._bar.update(self._task, description=what)

    def done(self, n_done: int, total: int, left: str) -> None:
        """Show how much of the total is done, and the time left."""
        self._bar.update(self._task, completed=n_done, total=total, left=left)
        if not console.is_terminal and time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            say(f"{n_done} of {total} done, {left}", style="dim")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Report errors of the user in one line, without a traceback."""
    from bochner.records.files import WriteError

    try:
        yield
    except ModuleNotFoundError as error:
        fail(f"this needs {error.name}: pip install 'bochner[cli]'")
    except (ValueError, NotImplementedError, WriteError) as error:
        fail(error)
    except MemoryError:
        fail("this does not fit into memory: use fewer rows (--max-rows) or fewer columns")
    except KeyboardInterrupt:
        fail("interrupted before it was finished", 130)


def command_line() -> str:
    """Return the command that was given, so that it can be repeated."""
    return shlex.join(["bochner", *sys.argv[1:]])


def introduce(table: Table, *notes: str, n_rows: int | None = None) -> None:
    """Describe the data, of `n_rows` rows, and how it is prepared before anything is learned."""
    from bochner.models.preparation import preparation_notes

    kind = "numbers to predict"
    if table.task == "classification":
        kind = f"{len(set(table.y.tolist()))} classes"
    columns = counted(table.X.shape[1], "column")
    say(f"{table.name}: {n_rows or len(table.y)} rows, {columns}, {kind}", style="bold")
    say(*table.notes, *notes, *preparation_notes(table.X, table.image_shape), style="dim")


@contextmanager
def row_progress(title: str, n_rows: int) -> Iterator[Callable[[int], None]]:
    """Show a bar of rows done and time left on a terminal.

    Yields a function to call with the number of rows of the pass done so far.
    """
    from rich import progress as bars

    columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn()
    with bars.Progress(
        bars.TextColumn("{task.description}"),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task(title, total=None)  # until there are rows to count
        yield lambda done: progress.update(bar, completed=done, total=n_rows)


def write_page(document: Mapping[str, Any], folder: Path) -> Path | None:
    """Write the page of a document; where its packages are missing, say so and return None."""
    try:
        from bochner.report import write_page as write

        return write(document, folder / "page.html")
    except ModuleNotFoundError as error:
        say(f"No page: it needs {error.name} (pip install 'bochner[cli]').")
        return None


def whole_numbers(option: str, text: str, what: str = "") -> list[int]:
    """Parse distinct numbers separated by commas; an error names in brackets `what` they count."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        of_what = f" ({what})" if what else ""
        fail(
            f"{option} must be whole numbers of at least 1{of_what}, separated by commas, "
            f"got {text!r}"
        )
    return list(dict.fromkeys(map(int, parts)))


def check_device(device: str) -> Any:
    """Exit with an error unless the computation can run on cpu, or on this device of PyTorch."""
    if device == "cpu":
        return device
    for package in ("torch", "array_api_compat"):
        if find_spec(package) is None:
            fail(f"--device {device} needs {package}: pip install 'bochner[gpu]'")
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # no such device, or PyTorch without CUDA
        fail(f"--device {device} cannot be used: {str(error).splitlines()[0]}")
    return device


def check_free(path: Path, force: bool) -> None:
    """Exit with an error if a file cannot be written, or would be replaced without `force`.

    If the file is standard output, nothing else is printed there.
    """
    if is_stdout(path):
        console.stderr = True
        return
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to")
    if path.is_dir():
        fail(f"{path} is a folder")
    if path.is_file() and not force:
        fail(f"{path} is there already: use --force to replace it, or another name")


def check_free_folder(path: Path, force: bool) -> None:
    """Exit with an error if a folder cannot be made, or holds files and `force` is not set."""
    if not path.absolute().parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to")
    if path.exists() and not path.is_dir():
        fail(f"{path} is a file, and a folder is to be written: give another name")
    if path.is_dir() and any(path.iterdir()) and not force:
        fail(f"the folder {path} is not empty: use --force to replace files in it")


def check_positive(option: str, value: float | None) -> None:
    """Exit with an error if an option is given that is not a positive finite number."""
    if value is not None and not 0 < value < float("inf"):
        fail(f"{option} must be a positive finite number, got {value}")


def check_width(option: str, widths: Sequence[int]) -> None:
    """Exit with an error if a map would have too many columns."""
    if max(widths) > MAX_COLUMNS:
        fail(f"{option} must be at most {MAX_COLUMNS}, got {max(widths)}")


def check_memory(
    option: str, widths: Sequence[int], table: Table, n_jobs: int = 1, *, blocks: bool = False
) -> None:
    """Exit with an error if the widest map of these rows would take too much memory.

    With `blocks`, features are made a few rows at a time, and summed in width x width matrices.
    """
    most, largest = _usable_memory(), max(widths)
    needed = n_jobs * _memory_needed(largest, table, blocks)
    if needed > most:
        n, d = table.X.shape
        at_once = f" in {n_jobs} processes" if n_jobs > 1 else ""
        fail(
            f"{option} {largest}: a map of {n} rows and {counted(d, 'column')}{at_once} would "
            f"take about {needed / 1e9:.3g} GB, more than the {most / 1e9:.3g} GB of memory that "
            "can be used; use fewer columns or rows (--max-rows)"
        )


def fits_memory(width: int, table: Table) -> bool:
    """Whether a map of these rows fits into the memory."""
    return _memory_needed(width, table) <= _usable_memory()


def jobs_that_fit(widths: Sequence[int], table: Table) -> int:
    """Return how many processes may measure the widest map of these rows at the same time."""
    return max(1, int(min(_usable_memory() / _memory_needed(max(widths), table), 2**20)))


def _memory_needed(width: int, table: Table, blocks: bool = False) -> int:
    """Return the bytes at the peak of training: features and rows, each twice, and frequencies."""
    n, d = table.X.shape
    held = min(n, 2 * width + _ROWS_IN_BLOCKS) if blocks else n
    return 8 * (2 * (held * width + getattr(table.X, "nnz", n * d)) + d * width)


def _usable_memory() -> float:
    """Return the memory that is left for data, in bytes."""
    limit = memory_limit()
    return float("inf") if limit is None else _SHARE_OF_MEMORY * limit


def written(path: Path) -> str:
    """Return where a file was written to, and its size in readable units."""
    if is_stdout(path):
        return "standard output"
    kilobytes = path.stat().st_size / 1000
    size = f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"
    return f"{path} ({size})"


def score_text(measure: str, value: float) -> str:
    """Format a score with its name: R2 as a number, shares in percent."""
    if not math.isfinite(value):  # R2, where all rows have the same target
        return f"no {measure}"
    return f"R2 {value:.3f}" if measure == "R2" else f"{measure.replace('-', ' ')} {value:.1%}"
