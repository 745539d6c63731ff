"""Writing of files, whole or not at all, and values that JSON can hold."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


class WriteError(OSError):
    """Error for a file that cannot be written, in one line for the user."""


def is_stdout(path: str | Path) -> bool:
    """Whether a path means standard output.

    >>> is_stdout("-"), is_stdout("rows-")
    (True, False)
    """
    return str(path) in ("-", "/dev/stdout")


@contextmanager
def _writing_to_stdout() -> Iterator[BinaryIO]:
    try:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        # The reader is gone: what is left in buffers would fail again when the program ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise WriteError(
            f"standard output cannot be written: {error.strerror or error}"
        ) from error


@contextmanager
def writing_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open a binary file that gets its name when it is complete, and is removed otherwise.

    Links are followed, and anything but a regular file (a pipe, a terminal) is written to
    directly; ``-`` is standard output. If the file cannot be written, a :class:`WriteError` is
    raised, and what was at `path` before is still there.
    """
    if is_stdout(path):
        with _writing_to_stdout() as file:
            yield file
        return
    # The path with links resolved; the message names the path that the caller gave.
    target = Path(os.path.realpath(path))
    special = target.exists() and not target.is_file()
    part = target if special else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            if not special:
                file.flush()
                os.fsync(file.fileno())
        if not special:
            part.replace(target)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if not special:
            with suppress(OSError):  # the folder itself may be missing
                part.unlink(missing_ok=True)


@contextmanager
def writing_folder(path: str | Path) -> Iterator[Path]:
    """Open a folder whose files go to `path` when all are complete, and are removed otherwise.

    If the folder `path` exists already, files of the same names are replaced, and others stay.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.mkdir()
        yield part
        if target.exists():
            for file in [file for file in part.rglob("*") if file.is_file()]:
                place = target / file.relative_to(part)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.replace(place)
        else:
            part.replace(target)
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_text_whole(path: str | Path, text: str) -> Path:
    """Write a text file whole or not at all, in UTF-8."""
    with writing_whole(path) as file:
        file.write(text.encode())
    return Path(path)


def plain_values(value: Any) -> Any:
    """Convert values to what JSON can hold: nothing of NumPy, and None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(name): plain_values(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain_values(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
