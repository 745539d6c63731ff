"""What all commands share: where they print, what they check, and how they give up."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

console = Console()
errors = Console(stderr=True, soft_wrap=True)

MOST_COLUMNS = 1_000_000  # of a map
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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


def say(*lines: str, style: str | None = None) -> None:
    """Print lines as they are, whatever the user's names hold; they are not broken."""
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


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
        fail("this does not fit into memory: use fewer rows (--max-rows) or a smaller --width")
    except KeyboardInterrupt:
        fail("interrupted; nothing was written", 130)


def data_help() -> str:
    """What can be given as data, for the help of a command."""
    from bochner.data.bundled import BUNDLED
    from bochner.data.formats import FORMATS

    return f"A file ({', '.join(FORMATS)}), or a dataset by name: {', '.join(BUNDLED)}."


def check_free(path: Path, force: bool) -> None:
    """Give up where a file cannot be written, or would be replaced without `force`."""
    if not path.parent.is_dir():
        fail(f"there is no folder {path.parent} to write {path.name} to")
    if path.is_dir():
        fail(f"{path} is a folder")
    if path.is_file() and not force:
        fail(f"{path} is there already: use --force to replace it, or another name")


def check_positive(option: str, value: float | None) -> None:
    """Give up where an option is given that is no positive finite number."""
    if value is not None and not 0 < value < float("inf"):
        fail(f"{option} must be a positive number, got {value}")


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


def file_size(path: Path) -> str:
    """The size of a file, as people say it."""
    kilobytes = path.stat().st_size / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{kilobytes:.0f} kB"


def score_text(measure: str, value: float) -> str:
    """A score with its name: R2 as a number, shares in percent."""
    return f"R2 {value:.3f}" if measure == "R2" else f"{measure.replace('-', ' ')} {value:.1%}"


def _memory() -> int | None:
    """The bytes of memory that this process may have, where the system tells."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _LIMITS:  # of a container
        with suppress(OSError, ValueError):  # no such file, or "max"
            found.append(int(Path(file).read_text()))
    return min(found, default=None)
