"""Cells to measure and their results, kept on file so that nothing is measured twice.

A *cell* is one method at one width on one task with one seed. Cells are independent of each
other. A :class:`Notebook` writes each result to a file as soon as it is there, so that a run that
was stopped and is started again measures only what is missing.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bochner.records.files import WriteError


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a method on a task with a seed.

    `width` is the number of columns of a feature map, None for a method that has none. If there
    are more than `max_train` training rows, a random subset of them is used. `settings` are names
    and values of everything else that decides the result, in any order.

    Examples
    --------
    >>> from bochner.records.cells import Cell
    >>> cell = Cell("table1", "breast", "PB", None, 0, settings=(("gamma", 0.5),))
    >>> cell.setting("gamma"), cell.setting("solver", "converged")
    (0.5, 'converged')
    """

    study: str
    task: str
    method: str
    width: int | None
    seed: int
    max_train: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        # Sorted, and as tuples, which JSON does not have.
        settings = tuple(sorted((str(name), value) for name, value in self.settings))
        object.__setattr__(self, "settings", settings)

    def __str__(self) -> str:
        width = "" if self.width is None else f" {self.width}"
        settings = "".join(
            f" {name} {value:g}" if isinstance(value, float) else f" {name} {value}"
            for name, value in self.settings
        )
        return f"{self.study} {self.task} {self.method}{width}{settings} seed {self.seed}"

    def setting(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting."""
        return dict(self.settings).get(name, default)


@dataclass(frozen=True)
class Result:
    """The result of a cell.

    `score` is the score on the test rows: the share classified correctly, or R2. `fit` is the time
    of a fit in seconds: in a study that of the feature map alone, in a comparison that of the
    model with all choices made on held-out rows. `seconds` is the time of everything. `details`
    has the chosen settings and other numbers. `commit` is the commit of the program that measured
    the cell, and `machine` describes the machine, if these are known.
    """

    cell: Cell
    score: float
    fit: float
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)
    commit: str | None = None
    machine: str | None = None


class Notebook:
    """Results on file, one per line, so that no cell is measured again.

    Lines are only ever added to the file, except that a last line which was cut short is replaced
    by the next. Lines that hold no result are ignored, as are results for which `is_complete` is
    false, so that their cells are measured again. Without a path the results are kept in memory.

    Cells with results in the files `also` are not measured again either. These files are only
    read: their results are neither counted nor written to the file of this notebook.
    """

    def __init__(
        self,
        path: Path | None = None,
        is_complete: Callable[[Result], bool] = lambda result: True,
        also: Iterable[Path] = (),
    ) -> None:
        self.path = path
        self._results: dict[Cell, Result] = {}
        others = (Notebook(file, is_complete)._results for file in also)
        self._elsewhere = {cell: result for of_file in others for cell, result in of_file.items()}
        self._unended = ""  # the last line, if it lacks a line end
        if path is not None and path.exists():
            text = path.read_text()
            self._unended = text.rpartition("\n")[2]
            results = filter(None, map(_read_result, text.splitlines()))
            self._results = {result.cell: result for result in results if is_complete(result)}

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, cell: object) -> bool:
        return cell in self._results or cell in self._elsewhere

    def __getitem__(self, cell: Cell) -> Result:
        return self._results[cell] if cell in self._results else self._elsewhere[cell]

    def add(self, result: Result) -> None:
        """Keep a result, and write it to the file."""
        self._results[result.cell] = result
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            end = self._mend(self.path) if self._unended else ""
            self._append(self.path, f"{end}{json.dumps(asdict(result))}\n".encode())
        except OSError as error:
            reason = error.strerror or error
            raise WriteError(
                f"{self.path} cannot be written: {reason}; what was there before is kept"
            ) from error
        self._unended = ""

    def _append(self, path: Path, line: bytes) -> None:
        """Append a whole line, or nothing."""
        with path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                file.truncate(size)
                raise

    def _mend(self, path: Path) -> str:
        """Remove a last line that was cut short; return the line end that a whole one lacks."""
        with suppress(ValueError):
            json.loads(self._unended)
            return "\n"
        tail = self._unended.encode()
        with path.open("r+b") as file:
            # Another program may have mended it, and gone on.
            if file.read().endswith(tail):
                file.truncate(file.tell() - len(tail))
        return ""


def _read_result(line: str) -> Result | None:
    """Return the result of a line; None if it was cut short, or holds something else."""
    try:
        record = json.loads(line)
        record["cell"] = Cell(**record["cell"])
        result = Result(**record)
        hash(result.cell)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    cell: Any = result.cell  # whose fields may be anything
    numbers: tuple[Any, ...] = (result.score, result.fit, result.seconds)
    right = (
        *(isinstance(text, str) for text in (cell.study, cell.task, cell.method)),
        *(number is None or _is_whole(number) for number in (cell.width, cell.max_train)),
        _is_whole(cell.seed),
        *(isinstance(number, float) or _is_whole(number) for number in numbers),
        isinstance(result.details, dict),
        *(text is None or isinstance(text, str) for text in (result.commit, result.machine)),
    )
    return result if all(right) else None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
