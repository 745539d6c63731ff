"""svmlight, also called LIBSVM: a label, then pairs of a position and a value in every line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data.errors import DamagedFileError, EmptyFileError, TableError
from bochner.data.formats import base
from bochner.data.formats.base import (
    Contents,
    Expected,
    Piece,
    Request,
    TableFormat,
    open_binary,
    reading,
)

_LINE = re.compile(rb"^[-+]?[\d.]+(e[-+]?\d+)?\s+(qid:\d+\s+)?(\d+:\S+\s*)+(#.*)?$", re.I)
_POSITION_0 = re.compile(rb"\s0+:")
_FREE_COLUMNS = 2**20  # allowed however few have entries: hashed words spread over as many
_EMPTY_PER_COLUMN = 100  # columns allowed per column with entries, beyond that
_INSPECTED = 20  # lines by which a file is recognised


class Svmlight(TableFormat):
    """Rows that are mostly zeros, as a CSR matrix."""

    name = "svmlight"
    suffixes = (".svm", ".libsvm", ".svmlight", ".txt", ".data")

    def recognises(self, head: bytes) -> bool:
        lines = [line for line in head.splitlines() if line.strip() and not line.startswith(b"#")]
        return bool(lines) and all(_LINE.match(line) for line in lines[:_INSPECTED])

    def read(self, path: Path, request: Request) -> Contents:
        if request.target is not None:
            raise TableError(
                f"{path} is an svmlight file, where the target comes first in every line: leave "
                "out --target."
            )
        most, generator = request.max_rows, np.random.RandomState(request.random_state)
        kept: list[tuple[int, bytes]] = []
        n, from_zero = 0, False
        for line in _lines(path):
            if most is None or n < most:
                kept.append((n, line))
            else:
                # Reservoir sampling: row n replaces one kept with probability most / (n + 1).
                replaced = generator.randint(n + 1)
                if replaced < most:
                    kept[replaced] = (n, line)
            n += 1
            from_zero = from_zero or _has_position_0(line)
        if n == 0:
            raise EmptyFileError(f"the file {path} is empty.")
        X, y = _parse(path, (line for _, line in sorted(kept)), from_zero)
        _check_width(path, X)
        return Contents(X, y, None, n)

    def stream(self, path: Path, expected: Expected, notes: list[str]) -> Iterator[Piece]:
        # Whether positions count from 0 or from 1 is known at the end only: two passes.
        from_zero = any(map(_has_position_0, _lines(path)))
        lines = _lines(path)
        while piece := list(islice(lines, base.CHUNK)):
            yield _parse(path, piece, from_zero)


def _lines(path: Path) -> Iterator[bytes]:
    with reading(path), open_binary(path) as file:
        for line in file:
            if line.strip() and not line.lstrip().startswith(b"#"):
                yield line if line.endswith(b"\n") else line + b"\n"


def _has_position_0(line: bytes) -> bool:
    return b"0:" in line and _POSITION_0.search(line.partition(b"#")[0]) is not None


def _check_width(path: Path, X: Any) -> None:
    """Raise an error if nearly all columns are empty: models and scales grow with them."""
    n_seen = len(np.unique(X.indices))
    if X.shape[1] > max(_FREE_COLUMNS, _EMPTY_PER_COLUMN * n_seen):
        raise TableError(
            f"the positions in {path} are those of {X.shape[1]} columns, but only {n_seen} have "
            "entries: number the columns without gaps."
        )


def _parse(path: Path, lines: Iterable[bytes], from_zero: bool) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    with reading(path):
        try:
            X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=from_zero)
        except (ValueError, OverflowError) as error:
            raise DamagedFileError(
                f"the file {path} is not in svmlight form (lines 'label index:value ...'): {error}"
            ) from error
    return X.tocsr(), y
