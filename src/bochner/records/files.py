"""The one writer of files: a file is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


class WriteError(OSError):
    """A file that cannot be written, in one line for the user."""


@contextmanager
def writing_whole(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when it is complete, or vanishes.

    Links are followed, and what is no regular file (a pipe, a terminal) is written to directly.

    Parameters
    ----------
    path : str or Path
        Replaced if it is there.

    Yields
    ------
    binary file

    Raises
    ------
    WriteError
        Where the system does not allow it; what was at `path` before is still there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bochner.records.files import writing_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.txt"
    ...     with writing_whole(path) as file:
    ...         _ = file.write(b"1 2")
    ...         seen_early = path.exists()
    ...     seen_early, path.read_bytes()
    (False, b'1 2')
    """
    # An absolute path as far as links go; the message names what the caller named.
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


def write_text_whole(path: str | Path, text: str) -> Path:
    """Write a text file whole or not at all, in UTF-8.

    Parameters
    ----------
    path : str or Path
        Replaced if it is there.
    text : str
        What it will hold.

    Returns
    -------
    Path
    """
    with writing_whole(path) as file:
        file.write(text.encode())
    return Path(path)
