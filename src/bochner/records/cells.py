"""Cells, what is measured, and results: kept on file, so that nothing is measured twice.

One *cell* is one method at one width on one task with one seed. Cells are independent of each
other. A :class:`Notebook` writes each result down as soon as it is there, so that a run that was
stopped and is started again does only what is missing.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """What to measure.

    `width` is the number of columns of a feature map, None for a method that has none. More than
    `max_train` training rows are cut to a random subset. `settings` are names and values of
    whatever else decides the result, in any order.

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
        # In one order, and as tuples, which JSON does not have.
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
        """The value of a setting."""
        return dict(self.settings).get(name, default)


@dataclass(frozen=True)
class Result:
    """What came out of a cell.

    `score` is on the test rows: the share classified correctly, or R2. `fit` is the time in
    seconds that the feature map needs to learn from all training rows, `seconds` that of
    everything, with all choices made on held-out rows. `details` has what was chosen, and other
    numbers.
    """

    cell: Cell
    score: float
    fit: float
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


class Notebook:
    """Results on file, one per line: what has been measured is not measured again.

    Lines are only ever added to the file, except that a last line which was cut short is replaced
    by the next. Without a path the results are kept in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._results: dict[Cell, Result] = {}
        self._unended = ""  # the last line, if it has no end
        if path is not None and path.exists():
            text = path.read_text()
            self._unended = text.rpartition("\n")[2]
            for line in text.splitlines():
                try:
                    record = json.loads(line)
                    record["cell"] = Cell(**record["cell"])
                    result = Result(**record)
                except (ValueError, TypeError, KeyError):
                    continue  # a line cut short when the program was stopped: measured again
                self._results[result.cell] = result

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, cell: object) -> bool:
        return cell in self._results

    def __getitem__(self, cell: Cell) -> Result:
        return self._results[cell]

    def add(self, result: Result) -> None:
        """Keep a result, and write it down."""
        self._results[result.cell] = result
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        end = self._mend(self.path) if self._unended else ""
        with self.path.open("a") as file:
            file.write(end + json.dumps(asdict(result)) + "\n")
        self._unended = ""

    def _mend(self, path: Path) -> str:
        """Remove a last line that was cut short; return what a whole one needs as its end."""
        with suppress(ValueError):
            json.loads(self._unended)
            return "\n"
        tail = self._unended.encode()
        with path.open("r+b") as file:
            # Another program may have mended it, and gone on.
            if file.read().endswith(tail):
                file.truncate(file.tell() - len(tail))
        return ""
