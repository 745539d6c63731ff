"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that gets its name when it is complete, or vanishes.

    Parameters
    ----------
    path : Path
        Replaced if it is there.

    Yields
    ------
    binary file
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):  # the folder itself may be missing
            part.unlink(missing_ok=True)
