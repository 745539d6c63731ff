"""Studies cut into cells: measured once, kept on file, shown as tables of plain text.

One *cell* is one method at one width on one task with one seed. Cells are independent of each
other. A :class:`Notebook` writes each down as soon as it is done, so that a study that was
stopped, started again, does only what is missing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bochner.records.statistics import mean_and_error as mean_and_error
from bochner.records.statistics import plus_minus as plus_minus


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
        # In one order, and as tuples, which a file of JSON does not have.
        settings = tuple(sorted((str(name), value) for name, value in self.settings))
        object.__setattr__(self, "settings", settings)

    def __str__(self) -> str:
        width = "" if self.width is None else f" {self.width}"
        settings = "".join(f" {name} {_short(value)}" for name, value in self.settings)
        return f"{self.study} {self.task} {self.method}{width}{settings} seed {self.seed}"

    def setting(self, name: str, default: Any = None) -> Any:
        """The value of a setting."""
        return dict(self.settings).get(name, default)


@dataclass(frozen=True)
class Result:
    """What came out of a cell.

    `score` is of the test rows: the share classified rightly, or R2. `fit` is the time in seconds
    that the feature map needs to learn from all training rows, `seconds` that of everything, with
    all choices made on held-out rows. `details` has what was chosen, and other figures.
    """

    cell: Cell
    score: float
    fit: float
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


class Notebook:
    """Results on file, one a line: what has been measured is not measured again.

    Parameters
    ----------
    path : Path or None
        The file, to which lines are only ever added, but that a last line which was cut short
        makes room for the next; None keeps the results in memory.
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
        end = self._mended() if self._unended else ""
        with self.path.open("a") as file:
            file.write(end + json.dumps(asdict(result)) + "\n")
        self._unended = ""

    def _mended(self) -> str:
        """Take away a last line that was cut short; what a whole one needs as its end."""
        assert self.path is not None
        if _is_json(self._unended):
            return "\n"
        tail = self._unended.encode()
        with self.path.open("r+b") as file:
            # Another program may have mended it, and gone on.
            if file.read().endswith(tail):
                file.truncate(file.tell() - len(tail))
        return ""


def run(
    cells: Iterable[Cell],
    measure: Callable[[Cell], Result],
    notebook: Notebook,
    n_jobs: int = 1,
) -> list[Result]:
    """The results of the cells, in order; those not in the notebook are measured.

    Parameters
    ----------
    cells : iterable of Cell
        What is wanted.
    measure : callable
        Measures one cell. With several jobs it must be importable by name.
    notebook : Notebook
        What has been measured. Only the calling process writes to its file.
    n_jobs : int, default=1
        Processes that measure; times are those of a busy machine when there are several.
    """
    cells = list(cells)
    missing = [cell for cell in dict.fromkeys(cells) if cell not in notebook]
    results: Iterable[Result]
    if n_jobs == 1:
        results = map(measure, missing)
    else:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results = parallel(delayed(measure)(cell) for cell in missing)
    for number, result in enumerate(results, start=1):
        notebook.add(result)
        chosen = ", ".join(f"{name} {value:.4g}" for name, value in result.details.items())
        print(
            f"[{number}/{len(missing)}] {result.cell}: {result.score:.4f}"
            f" ({chosen}{', ' * bool(chosen)}{result.seconds:.1f} s)",
            file=sys.stderr,
            flush=True,
        )
    return [notebook[cell] for cell in cells]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines with columns of equal width: the first to the left, the others right.

    Examples
    --------
    >>> from bochner.records.cells import aligned
    >>> print(aligned([("task", "score"), ("windmill", "99")]))
    task      score
    windmill     99
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)
