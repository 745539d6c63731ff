"""What all commands share: where they print, what they check, and how they give up."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console

if TYPE_CHECKING:
    from bochner.data.tables import Table

console = Console()
errors = Console(stderr=True, soft_wrap=True)

RESULTS = Path("bochner-results")
MAX_COLUMNS = 1_000_000  # of a map
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def fail(message: object, code: int = 2) -> NoReturn:
    """Say in one line on stderr what is wrong and what would be accepted, and end the program."""
    warn(f"bochner: {' '.join(str(message).split())}")
    raise typer.Exit(code)


def warn(line: str) -> None:
    """Print a line on stderr as it is."""
    errors.print(line, highlight=False, markup=False)


def say(*lines: str, style: str | None = None, wrap: bool = False) -> None:
    """Print lines as they are, whatever the user's names hold; broken at words with `wrap`."""
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=not wrap)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What the user did wrong is one line, not a traceback."""
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
    """The command that was given, to be repeated."""
    return shlex.join(["bochner", *sys.argv[1:]])


def introduce(table: Table) -> None:
    """What the data is, and what is done to it before anything is learned."""
    from bochner.models.preparation import preparation_notes
    from bochner.records.wording import counted

    kind = "numbers to predict"
    if table.task == "classification":
        kind = f"{len(set(table.y.tolist()))} classes"
    columns = counted(table.X.shape[1], "column")
    say(f"{table.name}: {len(table.y)} rows, {columns}, {kind}", style="bold")
    say(*table.notes, *preparation_notes(table.X, table.image_shape), style="dim")


def write_page(document: Mapping[str, Any], folder: Path) -> Path | None:
    """Write the page of a document; where its packages are missing, say so and return None."""
    try:
        from bochner.report import write_page as write

        return write(document, folder / "page.html")
    except ModuleNotFoundError as error:
        say(f"No page: it needs {error.name} (pip install 'bochner[cli]').")
        return None


def whole_numbers(option: str, text: str, what: str = "") -> list[int]:
    """Numbers separated by commas, each once; `what` says in brackets what is counted."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        counted = f" ({what})" if what else ""
        fail(
            f"{option} must be whole numbers of at least 1{counted}, separated by commas, "
            f"got {text!r}"
        )
    return list(dict.fromkeys(map(int, parts)))


def check_device(device: str) -> None:
    """Give up unless the computation can run there: cpu, or a device of PyTorch."""
    if device == "cpu":
        return
    try:
        import torch

        torch.zeros(1, device=device)
    except ModuleNotFoundError:
        fail(f"--device {device} needs PyTorch: pip install 'bochner[gpu]'")
    except (RuntimeError, AssertionError) as error:
        fail(f"--device {device} cannot be used: {str(error).splitlines()[0]}")


def check_free(path: Path, force: bool) -> None:
    """Give up where a file cannot be written, or would be replaced without `force`."""
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to")
    if path.is_dir():
        fail(f"{path} is a folder")
    if path.is_file() and not force:
        fail(f"{path} is there already: use --force to replace it, or another name")


def check_positive(option: str, value: float | None) -> None:
    """Give up where an option is given that is not a positive finite number."""
    if value is not None and not 0 < value < float("inf"):
        fail(f"{option} must be a positive finite number, got {value}")


def check_width(option: str, widths: Sequence[int], n_rows: int = 0) -> None:
    """Give up where the columns of a map are too many, or those of `n_rows` too much memory."""
    largest = max(widths)
    if largest > MAX_COLUMNS:
        fail(f"{option} must be at most {MAX_COLUMNS}, got {largest}")
    memory, needed = _memory(), 8 * n_rows * largest
    if memory is not None and needed > memory / 2:
        fail(
            f"{option} {largest}: the columns of {n_rows} rows would take {needed / 1e9:.3g} GB, "
            f"more than half of the memory ({memory / 1e9:.3g} GB); use fewer columns or rows "
            "(--max-rows)"
        )


def file_size(path: Path) -> str:
    """The size of a file, as people say it."""
    kilobytes = path.stat().st_size / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"


def score_text(measure: str, value: float) -> str:
    """A score with its name: R2 as a number, shares in percent."""
    return f"R2 {value:.3f}" if measure == "R2" else f"{measure.replace('-', ' ')} {value:.1%}"


def _memory() -> int | None:
    """The bytes of memory that this process may have, where the system tells."""
    limits = []
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _LIMITS:  # of a container
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(file).read_text()))
    return min(limits, default=None)
